//! Steps that are wrong in one place each.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses its own part"
)]

use std::cell::Cell;
use std::cmp::Ordering;

use moorline_model::placement::{
    AcceptedParts, AttemptParts, Generation, Outcome, PlacementParts, Verdict,
};
use moorline_proofs::step::Step;

/// A step of its own, written once more for these tests, with one thing wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Nothing: it does what the shipped step does.
    Nothing,
    /// Late results are committed.
    CommitsLate,
    /// A conflict leaves the active token.
    ConflictKeepsToken,
    /// A correction with the greatest revision is taken, whatever its token.
    EqualInstalls,
    /// A result is late only if its generation is the smaller number.
    FencesByOrder,
    /// A fourth failure is awaited.
    FourFailures,
    /// A neutral result advances the generation.
    NeutralFences,
    /// A cleared token is not made active again by the accepted pair.
    NeverRestores,
    /// The failure counter is one for all clients.
    SharedFailures,
    /// Requests carry the accepted token even where it was cleared.
    SendsCleared,
    /// An older correction clears the active token.
    StaleClears,
    /// A success leaves the failure counter.
    SuccessKeepsFailures,
}

thread_local! {
    static SHARED: Cell<u8> = const { Cell::new(0) };
}

impl Step for Wrong {
    fn snapshot<R: Copy + Ord, T: Clone + Eq>(
        &self,
        placement: PlacementParts<R, T>,
    ) -> AttemptParts<T> {
        let carried = placement
            .accepted
            .filter(|accepted| accepted.active || *self == Self::SendsCleared);
        AttemptParts {
            generation: placement.generation,
            token: carried.map(|accepted| accepted.token),
        }
    }

    fn commit<R: Copy + Ord, T: Clone + Eq>(
        &self,
        mut placement: PlacementParts<R, T>,
        attempt: AttemptParts<T>,
        outcome: Outcome<R, T>,
    ) -> (PlacementParts<R, T>, Verdict) {
        match outcome {
            Outcome::Cancelled => return (placement, Verdict::Cancelled),
            Outcome::Neutral => {
                if *self == Self::NeutralFences {
                    advance(&mut placement);
                }
                return (placement, Verdict::Neutral);
            }
            Outcome::DestinationFailure if attempt.token.is_none() => {
                return (placement, Verdict::TokenlessFailure);
            }
            _ => {}
        }
        let late = match self {
            Self::CommitsLate => false,
            Self::FencesByOrder => attempt.generation.get() < placement.generation.get(),
            _ => attempt.generation != placement.generation,
        };
        if late {
            return (placement, Verdict::Late);
        }
        advance(&mut placement);
        let verdict = match outcome {
            Outcome::Success => {
                placement.corrections = 0;
                if *self != Self::SuccessKeepsFailures {
                    placement.failures = 0;
                }
                Verdict::Success
            }
            Outcome::Correction(correction) => {
                self.correct(&mut placement, correction.revision, correction.token)
            }
            _ => self.fail(&mut placement),
        };
        (placement, verdict)
    }
}

impl Wrong {
    fn correct<R: Copy + Ord, T: Clone + Eq>(
        self,
        placement: &mut PlacementParts<R, T>,
        revision: R,
        token: T,
    ) -> Verdict {
        placement.failures = 0;
        placement.corrections += 1;
        let order = placement
            .accepted
            .as_ref()
            .map_or(Ordering::Greater, |known| revision.cmp(&known.revision));
        let verdict = match (&mut placement.accepted, order) {
            (Some(known), Ordering::Equal) if known.token == token => {
                known.active |= self != Self::NeverRestores;
                Verdict::Restored
            }
            (Some(known), Ordering::Equal) if self != Self::EqualInstalls => {
                known.active &= self == Self::ConflictKeepsToken;
                Verdict::Conflicted
            }
            (Some(known), Ordering::Less) => {
                known.active &= self != Self::StaleClears;
                Verdict::StaleRevision
            }
            (accepted, _) => {
                *accepted = Some(AcceptedParts {
                    revision,
                    token,
                    active: true,
                });
                Verdict::Installed
            }
        };
        if placement.corrections < 3 {
            return verdict;
        }
        placement.corrections = 0;
        clear(placement);
        Verdict::RoundExhausted
    }

    fn fail<R, T>(self, placement: &mut PlacementParts<R, T>) -> Verdict {
        let limit = if self == Self::FourFailures { 4 } else { 3 };
        placement.failures += 1;
        if self == Self::SharedFailures {
            placement.failures = SHARED.get() + 1;
            SHARED.set(placement.failures % limit);
        }
        if placement.failures < limit {
            return Verdict::FailureCounted;
        }
        placement.failures = 0;
        clear(placement);
        Verdict::Evicted
    }
}

fn advance<R, T>(placement: &mut PlacementParts<R, T>) {
    let next = placement.generation.get().wrapping_add(1);
    placement.generation = Generation::from_count(next);
}

fn clear<R, T>(placement: &mut PlacementParts<R, T>) {
    if let Some(accepted) = &mut placement.accepted {
        accepted.active = false;
    }
}
