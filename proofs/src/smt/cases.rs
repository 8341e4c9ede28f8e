//! Every small case on which the restatement is held against the step, so that a slip in writing it down
//! shows.

use moorline_model::placement::{
    AcceptedParts, AttemptParts, Correction, Generation, Outcome, PlacementParts, Verdict,
};

/// How many cases there are: 109 placements in each of 2 generations, 5 attempts, 13 outcomes.
pub const CASE_COUNT: usize = 109 * 2 * 5 * 13;

/// What a step came to.
pub(super) type After = (PlacementParts<u64, u8>, Verdict);

/// Revisions of each relation, and on both sides of every bound that a number could be cut at: a signed
/// comparison, or one in 53 bits, would show.
const REVISIONS: [u64; 3] = [7, 9_007_199_254_740_991, u64::MAX];
/// The accepted token and two others.
const TOKENS: [u8; 3] = [0, 1, 2];
/// The last one wraps.
const GENERATIONS: [u64; 2] = [0, u64::MAX];
/// Counters never show more.
const COUNTS: [u8; 3] = [0, 1, 2];

/// One case: what there is before the step, and what comes in.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The placement.
    pub before: PlacementParts<u64, u8>,
    /// The attempt that ends.
    pub attempt: AttemptParts<u8>,
    /// What it brought.
    pub outcome: Outcome<u64, u8>,
}

/// Every case: each placement that satisfies the invariants, each attempt that fits it, each outcome.
#[must_use]
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::with_capacity(CASE_COUNT);
    for before in placements() {
        for attempt in attempts(&before) {
            let with = |outcome| Case {
                before,
                attempt,
                outcome,
            };
            cases.extend(outcomes().map(with));
        }
    }
    cases
}

/// Words that the claims of `agreement` need: distinct tokens.
#[must_use]
pub(super) fn tokens() -> String {
    let declared = TOKENS.map(|token| format!("(declare-const t{token} Token)\n"));
    declared.concat() + "(assert (distinct t0 t1 t2))\n"
}

/// The claim, as a definition named `case-<number>`, that the restatement does with a case what the step
/// did: the same next state, and the same verdict.
#[must_use]
pub(super) fn agreement(number: usize, case: &Case, (after, verdict): &After) -> String {
    let input = format!(
        "{} {} {}",
        state(&case.before),
        attempt(&case.attempt),
        outcome(&case.outcome)
    );
    format!(
        "(define-fun case-{number} () Bool\n  (and (= (step {input}) {})\n       (= (verdict {input}) said-{})))\n",
        state(after),
        verdict.name()
    )
}

fn placements() -> Vec<PlacementParts<u64, u8>> {
    let mut placements = Vec::new();
    for generation in GENERATIONS.map(Generation::from_count) {
        let with = |accepted, corrections, failures| PlacementParts {
            generation,
            accepted,
            corrections,
            failures,
        };
        placements.push(with(None, 0, 0));
        for accepted in accepted() {
            for corrections in COUNTS {
                placements.push(with(Some(accepted), corrections, 0));
                if accepted.active {
                    placements.push(with(Some(accepted), corrections, 1));
                    placements.push(with(Some(accepted), corrections, 2));
                }
            }
        }
    }
    placements
}

fn accepted() -> impl Iterator<Item = AcceptedParts<u64, u8>> {
    pairs().flat_map(|(revision, token)| {
        [false, true].map(|active| AcceptedParts {
            revision,
            token,
            active,
        })
    })
}

/// The current attempt, which carries the active token, and late ones, which may carry any.
fn attempts(before: &PlacementParts<u64, u8>) -> Vec<AttemptParts<u8>> {
    let active = before
        .accepted
        .filter(|accepted| accepted.active)
        .map(|accepted| accepted.token);
    let late = Generation::from_count(before.generation.get().wrapping_sub(1));
    let mut attempts = vec![
        AttemptParts {
            generation: before.generation,
            token: active,
        },
        AttemptParts {
            generation: late,
            token: None,
        },
    ];
    attempts.extend(TOKENS.map(|token| AttemptParts {
        generation: late,
        token: Some(token),
    }));
    attempts
}

fn outcomes() -> impl Iterator<Item = Outcome<u64, u8>> {
    let corrections =
        pairs().map(|(revision, token)| Outcome::Correction(Correction { revision, token }));
    [
        Outcome::Cancelled,
        Outcome::DestinationFailure,
        Outcome::Neutral,
        Outcome::Success,
    ]
    .into_iter()
    .chain(corrections)
}

fn pairs() -> impl Iterator<Item = (u64, u8)> {
    REVISIONS
        .into_iter()
        .flat_map(|revision| TOKENS.map(|token| (revision, token)))
}

fn state(parts: &PlacementParts<u64, u8>) -> String {
    let (mark, active) = match parts.accepted {
        None => ("unknown".to_owned(), None),
        Some(accepted) => (
            format!("(known {} t{})", wide(accepted.revision), accepted.token),
            accepted.active.then_some(accepted.token),
        ),
    };
    format!(
        "(state {} {mark} {} #x{:02x} #x{:02x})",
        wide(parts.generation.get()),
        carried(active),
        parts.corrections,
        parts.failures
    )
}

fn attempt(parts: &AttemptParts<u8>) -> String {
    let generation = wide(parts.generation.get());
    format!("(attempt {generation} {})", carried(parts.token))
}

fn carried(token: Option<u8>) -> String {
    token.map_or_else(
        || "tokenless".to_owned(),
        |token| format!("(carrying t{token})"),
    )
}

fn outcome(outcome: &Outcome<u64, u8>) -> String {
    match outcome {
        Outcome::Cancelled => "cancelled".to_owned(),
        Outcome::Correction(Correction { revision, token }) => {
            format!("(correction {} t{token})", wide(*revision))
        }
        Outcome::DestinationFailure => "failure".to_owned(),
        Outcome::Neutral => "neutral".to_owned(),
        Outcome::Success => "success".to_owned(),
    }
}

fn wide(number: u64) -> String {
    format!("#x{number:016x}")
}
