//! The placement does no more with a revision than compare its order, no more with a token than test
//! equality, and nothing at all with a copy of itself.

mod hostile;
mod sources;

use hostile::{HostileRevision, HostileToken};
use moorline_model::placement::{Attempt, Correction, Outcome, Placement, Verdict};
use moorline_model::wire::{Revision, ShardToken};

type HostileOutcome = Outcome<HostileRevision, HostileToken>;

// spec-test: PLC-22
#[test]
fn runs_on_data_that_allows_comparison_alone() {
    let run: [(HostileOutcome, Verdict); 14] = [
        (Outcome::DestinationFailure, Verdict::TokenlessFailure),
        (moved(7, 1), Verdict::Installed),
        (Outcome::DestinationFailure, Verdict::FailureCounted),
        (Outcome::DestinationFailure, Verdict::FailureCounted),
        (Outcome::DestinationFailure, Verdict::Evicted),
        (moved(7, 1), Verdict::Restored),
        (moved(7, 2), Verdict::RoundExhausted),
        (moved(7, 1), Verdict::Restored),
        (Outcome::Success, Verdict::Success),
        (moved(6, 3), Verdict::StaleRevision),
        (moved(7, 3), Verdict::Conflicted),
        (Outcome::Neutral, Verdict::Neutral),
        (Outcome::Cancelled, Verdict::Cancelled),
        (moved(u64::MAX, 3), Verdict::RoundExhausted),
    ];
    let mut seen = Vec::new();
    let mut placement = Placement::new();
    let early = placement.snapshot();
    for (outcome, expected) in run {
        let attempt = placement.snapshot();
        let verdict = placement.commit(attempt, outcome);
        assert_eq!(verdict, expected, "after {seen:?}");
        seen.push(verdict);
    }
    seen.push(placement.commit(early, moved(9, 2)));
    assert_eq!(seen.last(), Some(&Verdict::Late));
    for verdict in Verdict::ALL {
        assert!(seen.contains(&verdict), "{verdict}");
    }
}

fn moved(revision: u64, token: u8) -> HostileOutcome {
    Outcome::Correction(Correction {
        revision: HostileRevision::new(revision),
        token: HostileToken::new(token),
    })
}

// spec-test: PLC-22
#[test]
fn the_step_asks_for_order_and_equality_alone() {
    let mut lists = 0;
    for (name, text) in sources::OF_THE_STEP {
        let code = sources::code_of(text);
        for word in sources::FORBIDDEN {
            assert!(
                !sources::words(&code).any(|found| found == word),
                "{name}: {word}"
            );
        }
        for list in sources::parameter_lists(&code) {
            lists += 1;
            for (parameter, bounds) in sources::bounds(&list) {
                let allowed: &[&str] = match parameter.as_str() {
                    "R" => &["Copy", "Ord"],
                    "T" => &["Clone", "Eq"],
                    _ => panic!("{name}: <{list}> has another parameter"),
                };
                for bound in bounds {
                    assert!(allowed.contains(&bound.as_str()), "{name}: <{list}>");
                }
            }
        }
    }
    // 4 in state.rs, 1 in commit.rs, 2 in invariants.rs, 1 in attempt.rs.
    assert_eq!(lists, 8, "the scan must find every parameter list");
}

/// Whether a type is `Clone`, decided by which of two methods the compiler finds.
struct IsClone<T>(std::marker::PhantomData<T>);

trait NotCloneByDefault {
    const IS_CLONE: bool = false;
}

impl<T> NotCloneByDefault for IsClone<T> {}

impl<T: Clone> IsClone<T> {
    const IS_CLONE: bool = true;
}

// spec-test: PLC-1, PLC-3
#[test]
fn neither_a_placement_nor_an_attempt_can_be_copied() {
    let found = [
        IsClone::<Placement<Revision, ShardToken>>::IS_CLONE,
        IsClone::<Attempt<ShardToken>>::IS_CLONE,
        IsClone::<ShardToken>::IS_CLONE,
    ];
    assert_eq!(
        found,
        [false, false, true],
        "the last shows that the test can tell"
    );
}
