//! Taking a snapshot and committing a result allocate nothing.
#![allow(
    clippy::expect_used,
    reason = "the data of a test is valid, or the test fails"
)]

use allocation_counter::measure;
use moorline_model::placement::{Correction, Outcome, Placement, Verdict};
use moorline_model::wire::{Revision, ShardToken};

type PollOutcome = Outcome<Revision, ShardToken>;

#[test]
fn a_snapshot_and_a_commit_of_every_verdict_allocate_nothing() {
    let [one, two] = ["a", "b"].map(|byte| token(&byte.repeat(4096)));
    let moved = |revision, token: &ShardToken| correction(revision, token.clone());
    let mut placement = Placement::new();
    let mut early = Some(placement.snapshot());
    let run: [(PollOutcome, Verdict); 13] = [
        (Outcome::DestinationFailure, Verdict::TokenlessFailure),
        (moved(7, &one), Verdict::Installed),
        (moved(7, &two), Verdict::Conflicted),
        (Outcome::Success, Verdict::Success),
        (moved(7, &one), Verdict::Restored),
        (moved(6, &two), Verdict::StaleRevision),
        (moved(8, &two), Verdict::RoundExhausted),
        (moved(8, &two), Verdict::Restored),
        (Outcome::DestinationFailure, Verdict::FailureCounted),
        (Outcome::DestinationFailure, Verdict::FailureCounted),
        (Outcome::DestinationFailure, Verdict::Evicted),
        (Outcome::Neutral, Verdict::Neutral),
        (Outcome::Cancelled, Verdict::Cancelled),
    ];
    let steps = run.len();
    let mut seen = 0;
    for (outcome, expected) in run {
        let mut verdict = None;
        let counted = measure(|| {
            let attempt = placement.snapshot();
            verdict = Some(placement.commit(attempt, outcome));
        });
        assert_eq!(verdict, Some(expected));
        assert_eq!(counted.count_total, 0, "{expected}");
        seen += 1;
    }
    assert_eq!(seen, steps);

    let late = measure(|| {
        let verdict = early
            .take()
            .map(|early| placement.commit(early, Outcome::Success));
        assert_eq!(verdict, Some(Verdict::Late));
    });
    assert_eq!(late.count_total, 0);
}

#[test]
fn the_counter_counts() {
    assert_eq!(
        measure(|| drop(token("route-a"))).count_total,
        1,
        "a token is one allocation"
    );
}

fn token(text: &str) -> ShardToken {
    ShardToken::from_bytes(text.as_bytes()).expect("a valid token")
}

fn correction(revision: u64, token: ShardToken) -> PollOutcome {
    let revision = Revision::new(revision).expect("a small revision");
    Outcome::Correction(Correction { revision, token })
}
