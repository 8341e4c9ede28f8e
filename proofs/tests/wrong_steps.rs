//! A step that is wrong in one place breaks the properties that speak of that place, by every
//! method, and no others.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use moorline_proofs::explorer::explore;
use moorline_proofs::induction::{Supposed, by_oracle, by_orders, fence};
use moorline_proofs::properties::{ALL, index_of};
use moorline_proofs::recovery::{blocked_closed, greatest_blocks, inductive, rank_falls, worst};
use moorline_proofs::stateright_check;
use moorline_proofs::step::Shipped;
use moorline_proofs::system::{Bounds, System};
use moorline_proofs::trace::mermaid;
use moorline_proofs::two_clients::two_clients;
use support::Wrong;

/// What each wrong step breaks. Explorers and inductive step name the same, but for one step that
/// the explorers catch before the requests in flight show it.
const BROKEN: [(Wrong, &[&str]); 10] = [
    (Wrong::Nothing, &[]),
    (
        Wrong::CommitsLate,
        &[
            "row-late",
            "clears-only-on-third-or-conflict",
            "cleared-stays-cleared",
            "generation-rises-by-one-on-commit",
            "verdict-tells-whether-it-committed",
            "watermark-is-the-greatest-committed",
            "accepted-token-is-the-first-committed",
            "current-means-nothing-committed-since",
            "failures-imply-an-active-token",
            "corrections-counted-as-observed",
            "failures-counted-as-observed",
            "at-most-three-failures-count",
            "next-request-carries-the-active-token-or-none",
            "no-token-that-no-correction-gave",
        ],
    ),
    (
        Wrong::ConflictKeepsToken,
        &[
            "row-correction-equal-other",
            "conflict-clears",
            "next-request-carries-the-active-token-or-none",
        ],
    ),
    (
        Wrong::EqualInstalls,
        &[
            "row-correction-equal-other",
            "one-accepted-token-per-watermark",
            "conflict-clears",
            "cleared-stays-cleared",
            "accepted-token-is-the-first-committed",
            "next-request-carries-the-active-token-or-none",
        ],
    ),
    (
        Wrong::FourFailures,
        &[
            "row-failure-with-token",
            "third-failure-clears",
            "counters-at-most-two",
            "failures-counted-as-observed",
            "at-most-three-failures-count",
            "next-request-carries-the-active-token-or-none",
        ],
    ),
    (
        Wrong::NeutralFences,
        &[
            "row-neutral-cancelled",
            "generation-rises-by-one-on-commit",
            "current-means-nothing-committed-since",
        ],
    ),
    (
        Wrong::NeverRestores,
        &[
            "row-correction-equal-accepted",
            "next-request-carries-the-active-token-or-none",
        ],
    ),
    (
        Wrong::SendsCleared,
        &[
            "current-attempts-carry-the-active-token",
            "next-request-carries-the-active-token-or-none",
        ],
    ),
    (
        Wrong::StaleClears,
        &[
            "row-correction-older",
            "clears-only-on-third-or-conflict",
            "next-request-carries-the-active-token-or-none",
        ],
    ),
    (
        Wrong::SuccessKeepsFailures,
        &["row-success", "failures-counted-as-observed"],
    ),
];

/// A case of the inductive step is told in words too.
#[test]
fn a_case_can_be_read() {
    let oracle = by_oracle(&Wrong::ConflictKeepsToken, Supposed::all()).unwrap();
    let index = index_of("conflict-clears").unwrap();
    assert_eq!(
        oracle.broken[&index],
        "before: a watermark, its token active, corrections 0, failures 0; a request that is \
         current, with a token, fresh to the observer; the observer knows a greatest revision, \
         knows a first token, expects that to be sent, counted 0 corrections and 0 failures\n\
         event: the request ends with a correction (conflicted)\n\
         data: watermark's revision = observer's greatest revision, \
         watermark's revision = correction's revision, \
         observer's greatest revision = correction's revision, \
         accepted token = observer's first token, accepted token = request's token, \
         accepted token != correction's token, observer's first token = request's token, \
         observer's first token != correction's token, request's token != correction's token"
    );
}

fn system(step: Wrong) -> System<Wrong> {
    System::new(step, Bounds::observed(2, 2, 2)).unwrap()
}

#[test]
fn the_inductive_step_names_what_is_wrong() {
    for (step, expected) in BROKEN {
        let oracle = by_oracle(&step, Supposed::all()).unwrap();
        assert_eq!(oracle.broken_names(), expected, "{step:?}");
        let orders = by_orders(&step, Supposed::all());
        assert_eq!(orders.broken_names(), expected, "{step:?}");
        assert!(oracle.seen == orders.seen, "{step:?}: both see the same");
    }
}

#[test]
fn both_explorers_name_what_is_wrong() {
    for (step, expected) in BROKEN {
        let expected = match step {
            Wrong::SendsCleared => &expected[1..],
            _ => expected,
        };
        let own = explore(&system(step)).unwrap();
        assert_eq!(own.broken_names(), expected, "{step:?}");
        let found = stateright_check::check(system(step)).broken;
        let names: Vec<&str> = found.iter().map(|(index, _)| ALL[*index].name).collect();
        assert_eq!(names, expected, "{step:?}");
    }
}

/// The step of these tests, with nothing wrong, is the shipped one.
#[test]
fn nothing_wrong_is_as_shipped() {
    let shipped = System::new(Shipped, Bounds::observed(2, 2, 2)).unwrap();
    let shipped = explore(&shipped).unwrap();
    let found = explore(&system(Wrong::Nothing)).unwrap();
    assert_eq!(found.states, shipped.states);
    assert_eq!(found.transitions, shipped.transitions);
    assert_eq!(found.verdicts, shipped.verdicts);
}

#[test]
fn only_the_fence_notices_an_order_of_generations() {
    let oracle = by_oracle(&Wrong::FencesByOrder, Supposed::all()).unwrap();
    assert_eq!(oracle.broken_names(), [""; 0]);
    let told = fence(&Wrong::FencesByOrder).broken.unwrap();
    assert!(told.starts_with("placement at generation 0: "), "{told}");
    for (step, _) in BROKEN {
        assert_eq!(fence(&step).broken, None, "{step:?}");
    }
}

#[test]
fn only_what_is_shared_shows_in_another_client() {
    let told = two_clients(&Wrong::SharedFailures).unwrap().broken.unwrap();
    assert!(told.contains("does not do what it does alone"), "{told}");
    for (step, _) in BROKEN {
        assert_eq!(two_clients(&step).unwrap().broken, None, "{step:?}");
    }
}

/// Which of rank, bound, blocking and the greatest revision break.
fn recovery_breaks(step: Wrong) -> [bool; 4] {
    let system = System::new(step, Bounds::plain(2, 2, 2)).unwrap();
    let found = explore(&system).unwrap();
    let rank = rank_falls(&system, &found).broken.is_some();
    let blocked = blocked_closed(&system, &found).broken.is_some();
    let induced = inductive(&step).unwrap();
    assert_eq!(induced.rank.broken.is_some(), rank, "{step:?}");
    assert_eq!(induced.blocked.broken.is_some(), blocked, "{step:?}");
    [
        rank,
        worst(&system, &found).broken.is_some(),
        blocked,
        greatest_blocks(&step).broken.is_some(),
    ]
}

#[test]
fn recovery_depends_on_what_it_says() {
    assert_eq!(recovery_breaks(Wrong::Nothing), [false; 4]);
    assert_eq!(
        recovery_breaks(Wrong::NeverRestores),
        [true, true, false, false]
    );
    assert_eq!(
        recovery_breaks(Wrong::EqualInstalls),
        [false, false, true, true]
    );
}

/// A counterexample is a shortest run, in the words of the protocol, from either explorer.
#[test]
fn a_counterexample_can_be_read() {
    let expected = "\
sequenceDiagram
    %% conflict
    participant C as client
    participant S as service
    Note over C: no watermark, corrections 0, failures 0
    C->>S: poll 1, no token
    S-->>C: to poll 1: 409 wrong_cluster, revision 0, token-a (installed)
    Note over C: watermark 0, token-a active, corrections 1, failures 0
    C->>S: poll 2, token-a
    S-->>C: to poll 2: 409 wrong_cluster, revision 0, token-b (conflicted)
    Note over C: watermark 0, token-a active, corrections 2, failures 0
";
    let system = system(Wrong::ConflictKeepsToken);
    let index = index_of("conflict-clears").unwrap();
    let own = explore(&system).unwrap();
    let path = own.path(&system, own.broken(index).unwrap());
    assert_eq!(mermaid(&system, "conflict", &path), expected);

    let found = stateright_check::check(system.clone()).broken;
    let (_, path) = found.iter().find(|(broken, _)| *broken == index).unwrap();
    assert_eq!(mermaid(&system, "conflict", path), expected);
}
