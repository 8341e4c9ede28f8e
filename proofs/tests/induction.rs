//! The inductive step: counts, agreement of both ways, and which invariant is needed for what.

mod support;

use std::collections::BTreeMap;

use moorline_proofs::induction::{
    Supposed, by_oracle, by_orders, fence, needed_for, start_satisfies,
};
use moorline_proofs::properties::{ALL, Subject};
use moorline_proofs::step::Shipped;
use support::Wrong;

#[test]
fn every_property_holds_on_all_data() {
    let oracle = by_oracle(&Shipped, Supposed::all()).unwrap();
    let orders = by_orders(&Shipped, Supposed::all());
    assert_eq!(oracle.broken, BTreeMap::new());
    assert_eq!(orders.broken, BTreeMap::new());
    assert_eq!(
        (oracle.skeletons, oracle.cases, oracle.pruned),
        (414_720, 1_552, 1_140_252)
    );
    assert_eq!(
        (orders.skeletons, orders.cases, orders.pruned),
        (414_720, 4_259, 2_676_113)
    );
    assert_eq!(oracle.seen.len(), 1_368);
    assert!(oracle.seen == orders.seen);
    for (property, concerned) in ALL.iter().zip(&oracle.concerned) {
        assert!(*concerned > 0, "{} speaks of nothing", property.name);
    }
}

#[test]
fn a_client_that_has_just_started_satisfies_the_invariants() {
    let judged = start_satisfies(&Shipped);
    assert_eq!((judged.broken, judged.concerned.count_ones()), (0, 6));
}

#[test]
fn generations_are_compared_for_equality_alone() {
    let found = fence(&Shipped);
    assert_eq!((found.cases, found.broken), (29_250, None));
}

/// Counterexamples to induction: for each invariant, what no longer follows when it is not
/// supposed. Each is told in `README.md`.
#[test]
fn invariants_that_others_need() {
    // The shipped step asserts its invariants in debug builds, so one that does the same without is
    // used.
    let needed = needed_for(&Wrong::Nothing).unwrap();
    let standing = ALL
        .iter()
        .filter(|found| found.subject == Subject::Standing);
    assert_eq!(needed.len(), standing.count());
    let expected: [(&str, &[&str]); 13] = [
        (
            "accepted-token-is-the-first-committed",
            &[
                "conflict-clears",
                "accepted-token-is-the-first-committed",
                "next-request-carries-the-active-token-or-none",
            ],
        ),
        ("active-token-is-the-accepted-one", &[]),
        (
            "at-most-three-failures-count",
            &[
                "failures-counted-as-observed",
                "at-most-three-failures-count",
                "next-request-carries-the-active-token-or-none",
            ],
        ),
        (
            "corrections-counted-as-observed",
            &[
                "third-correction-clears",
                "corrections-counted-as-observed",
                "next-request-carries-the-active-token-or-none",
            ],
        ),
        (
            "corrections-imply-a-watermark",
            &["corrections-imply-a-watermark"],
        ),
        ("counters-at-most-two", &[]),
        (
            "current-attempts-carry-the-active-token",
            &[
                "current-attempts-carry-the-active-token",
                "failures-imply-an-active-token",
                "failures-counted-as-observed",
                "at-most-three-failures-count",
            ],
        ),
        (
            "current-means-nothing-committed-since",
            &[
                "third-correction-clears",
                "third-failure-clears",
                "conflict-clears",
                "watermark-is-the-greatest-committed",
                "accepted-token-is-the-first-committed",
                "current-means-nothing-committed-since",
                "corrections-counted-as-observed",
                "failures-counted-as-observed",
                "at-most-three-failures-count",
                "next-request-carries-the-active-token-or-none",
                "no-token-that-no-correction-gave",
            ],
        ),
        (
            "failures-counted-as-observed",
            &[
                "third-failure-clears",
                "failures-counted-as-observed",
                "at-most-three-failures-count",
                "next-request-carries-the-active-token-or-none",
            ],
        ),
        (
            "failures-imply-an-active-token",
            &["failures-imply-an-active-token"],
        ),
        (
            "next-request-carries-the-active-token-or-none",
            &["next-request-carries-the-active-token-or-none"],
        ),
        ("no-token-that-no-correction-gave", &[]),
        (
            "watermark-is-the-greatest-committed",
            &[
                "conflict-clears",
                "watermark-is-the-greatest-committed",
                "accepted-token-is-the-first-committed",
                "next-request-carries-the-active-token-or-none",
            ],
        ),
    ];
    for (name, broken) in expected {
        assert_eq!(needed[name], broken, "without {name}");
    }
}
