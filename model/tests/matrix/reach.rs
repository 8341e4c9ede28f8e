//! What a client can reach from a new placement, found by trying everything.

use std::collections::BTreeSet;

use moorline_model::placement::{Correction, Generation, Outcome, Placement, PlacementParts};

/// What tells states apart: whether there is a watermark whose token is active, and the counters.
pub(crate) type Shape = (Option<bool>, u8, u8);

pub(crate) fn shape(parts: &PlacementParts<u64, char>) -> Shape {
    let active = parts.accepted.map(|accepted| accepted.active);
    (active, parts.corrections, parts.failures)
}

/// The shapes of all states that any sequence of current attempts with revisions 0 to 2 and two
/// tokens leads to. The generation is left out: it does not bear on what a current attempt does.
pub(crate) fn shapes() -> BTreeSet<Shape> {
    let start = Placement::new().into_parts();
    let mut known = vec![start];
    let mut next = 0;
    while let Some(parts) = known.get(next).copied() {
        next += 1;
        for outcome in outcomes() {
            let mut placement = Placement::from_parts(parts);
            let attempt = placement.snapshot();
            placement.commit(attempt, outcome);
            let mut after = placement.into_parts();
            after.generation = Generation::FIRST;
            if !known.contains(&after) {
                known.push(after);
            }
        }
    }
    known.iter().map(shape).collect()
}

fn outcomes() -> Vec<Outcome<u64, char>> {
    let mut outcomes = vec![
        Outcome::Cancelled,
        Outcome::DestinationFailure,
        Outcome::Neutral,
        Outcome::Success,
    ];
    for revision in 0..3 {
        for token in ['a', 'b'] {
            outcomes.push(Outcome::Correction(Correction { revision, token }));
        }
    }
    outcomes
}
