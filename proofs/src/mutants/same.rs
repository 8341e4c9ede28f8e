//! The second writing of the step does what the shipped one does, where nothing is wrong with it.

use moorline_model::placement::{AcceptedParts, AttemptParts, Correction, Generation, Outcome};

use super::{Fault, Faulty};
use crate::step::{Shipped, Step};
use crate::system::Shape;

/// Commits and snapshots that are compared.
pub const COMPARED: u64 = 8_614;

const REVISIONS: u8 = 3;
const TOKENS: u8 = 2;

/// The placement's generation, and those of requests: current, and late on either side.
const NOW: u64 = 7;
const TAKEN: [u64; 3] = [NOW, NOW - 1, NOW + 1];

/// Compares both on every placement that satisfies the invariants, with 3 revisions and 2 tokens, on every
/// request that can be in flight there, and on every outcome; returns how many comparisons were made.
///
/// # Errors
///
/// The first case in which they differ.
pub fn same_as_shipped() -> Result<u64, String> {
    let faulty = Faulty::new(Fault::Nothing);
    let mut compared = 0;
    for shape in shapes() {
        let placement = shape.at(NOW);
        compared += 1;
        if faulty.snapshot(placement) != Shipped.snapshot(placement) {
            return Err(format!("snapshots of {shape:?}"));
        }
        for attempt in attempts(&shape) {
            for outcome in outcomes() {
                compared += 1;
                let found = faulty.commit(placement, attempt, outcome);
                let expected = Shipped.commit(placement, attempt, outcome);
                if found != expected {
                    return Err(format!("{outcome:?} of {attempt:?} at {shape:?}"));
                }
            }
        }
    }
    Ok(compared)
}

fn shapes() -> Vec<Shape<u8, u8>> {
    let mut shapes = vec![Shape::new()];
    for revision in 0..REVISIONS {
        for token in 0..TOKENS {
            for (active, failures) in [(false, 0), (true, 0), (true, 1), (true, 2)] {
                shapes.extend((0..3).map(|corrections| Shape {
                    accepted: Some(AcceptedParts {
                        revision,
                        token,
                        active,
                    }),
                    corrections,
                    failures,
                }));
            }
        }
    }
    shapes
}

/// A current request carries the active token; a late one may carry any.
fn attempts(shape: &Shape<u8, u8>) -> Vec<AttemptParts<u8>> {
    let mut attempts = Vec::new();
    for taken in TAKEN {
        let tokens = std::iter::once(None).chain((0..=TOKENS).map(Some));
        let possible = tokens.filter(|token| taken != NOW || token.as_ref() == shape.active());
        attempts.extend(possible.map(|token| AttemptParts {
            generation: Generation::from_count(taken),
            token,
        }));
    }
    attempts
}

fn outcomes() -> Vec<Outcome<u8, u8>> {
    let mut outcomes = vec![
        Outcome::Cancelled,
        Outcome::DestinationFailure,
        Outcome::Neutral,
        Outcome::Success,
    ];
    for revision in 0..REVISIONS {
        outcomes
            .extend((0..=TOKENS).map(|token| Outcome::Correction(Correction { revision, token })));
    }
    outcomes
}
