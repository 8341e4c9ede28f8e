//! The one kind of number that is not generic: generations.
//!
//! Explorers and inductive step call the step with one generation for the placement and one for
//! late requests. This checks that nothing else about them matters: for generations near every
//! edge, a commit does exactly what it does with those two, as long as the same ones are equal.

use moorline_model::placement::{
    AcceptedParts, AttemptParts, Correction, Generation, Outcome, PlacementParts, Verdict,
};

use crate::step::Step;
use crate::system::Shape;

/// The name of what is checked here.
pub const FENCE_PROPERTY: &str = "generation-fences-by-equality";

/// The statement of what is checked here.
pub const FENCE_STATEMENT: &str = "\
    What a commit does depends on generations only by whether the request's equals the \
    placement's, and it rises past the greatest number to 0.";

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fence {
    /// How many commits were compared.
    pub cases: u64,
    /// The first that differs.
    pub broken: Option<String>,
}

const EDGES: [u64; 9] = [0, 1, 2, 6, 7, 1 << 32, 1 << 63, u64::MAX - 1, u64::MAX];

/// Compares commits at the edges of generations.
// spec-test: PLC-4, PLC-5
pub fn fence<S: Step>(step: &S) -> Fence {
    let mut fence = Fence::default();
    for shape in shapes() {
        for token in [None, Some(0), Some(1)] {
            for outcome in outcomes() {
                for (now, taken) in pairs() {
                    // A current attempt carries the active token.
                    if now != taken || token == shape.active().copied() {
                        fence.compare(step, shape, (now, taken, token), outcome);
                    }
                }
            }
        }
    }
    fence
}

impl Fence {
    fn compare<S: Step>(
        &mut self,
        step: &S,
        shape: Shape<u8, u8>,
        (now, taken, token): (u64, u64, Option<u8>),
        outcome: Outcome<u8, u8>,
    ) {
        self.cases += 1;
        let usual = if now == taken { 7 } else { 6 };
        let found = commit(step, shape, (now, taken, token), outcome);
        let expected = commit(step, shape, (7, usual, token), outcome);
        if found != expected && self.broken.is_none() {
            self.broken = Some(format!(
                "placement at generation {now}: {}\nrequest of generation {taken} ends: {}\n\
                 does {found:?}, with generations 7 and {usual} {expected:?}",
                crate::trace::shape_text(&shape),
                crate::trace::outcome_text(&outcome),
            ));
        }
    }
}

/// What a commit did: the placement after it, by how much the generation rose, and the verdict.
fn commit<S: Step>(
    step: &S,
    shape: Shape<u8, u8>,
    (now, taken, token): (u64, u64, Option<u8>),
    outcome: Outcome<u8, u8>,
) -> (Shape<u8, u8>, u64, Verdict) {
    let attempt = AttemptParts {
        generation: Generation::from_count(taken),
        token,
    };
    let (after, verdict): (PlacementParts<u8, u8>, _) =
        step.commit(shape.at(now), attempt, outcome);
    let rise = after.generation.get().wrapping_sub(now);
    (Shape::of(after), rise, verdict)
}

fn pairs() -> impl Iterator<Item = (u64, u64)> {
    EDGES
        .into_iter()
        .flat_map(|now| EDGES.into_iter().map(move |taken| (now, taken)))
}

/// Every placement that satisfies the invariants, up to data: 1 fresh, 9 active, 3 cleared.
fn shapes() -> Vec<Shape<u8, u8>> {
    let with = |active, corrections, failures| Shape {
        accepted: Some(AcceptedParts {
            revision: 1,
            token: 0,
            active,
        }),
        corrections,
        failures,
    };
    let mut shapes = vec![Shape::new()];
    for corrections in 0..3 {
        shapes.push(with(false, corrections, 0));
        shapes.extend((0..3).map(|failures| with(true, corrections, failures)));
    }
    shapes
}

fn outcomes() -> Vec<Outcome<u8, u8>> {
    let mut outcomes = vec![
        Outcome::Cancelled,
        Outcome::DestinationFailure,
        Outcome::Neutral,
        Outcome::Success,
    ];
    for revision in 0..3 {
        outcomes.extend((0..2).map(|token| Outcome::Correction(Correction { revision, token })));
    }
    outcomes
}
