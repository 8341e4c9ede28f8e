//! A second writing of the step, with one thing wrong.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU8};

use moorline_model::placement::{
    AcceptedParts, AttemptParts, CORRECTION_LIMIT, Correction, FAILURE_LIMIT, Generation, Outcome,
    PlacementParts, Verdict,
};

use super::Fault;
use crate::step::Step;

/// A step with this fault.
///
/// It follows `model/src/placement/commit.rs` line by line, so that each fault is a small change of that
/// file. [`same_as_shipped`](super::same_as_shipped) holds it against the shipped step where the fault is
/// [`Fault::Nothing`].
#[derive(Clone, Debug)]
pub struct Faulty {
    fault: Fault,
    /// What [`Fault::FailuresShared`] keeps outside of the placement.
    shared: Arc<AtomicU8>,
}

enum StateBearing<R, T> {
    Correction(Correction<R, T>),
    Failure,
    Success,
}

impl Faulty {
    /// A step with this fault, and with nothing remembered.
    #[must_use]
    pub fn new(fault: Fault) -> Self {
        Self {
            fault,
            shared: Arc::default(),
        }
    }
}

impl Step for Faulty {
    fn snapshot<R: Copy + Ord, T: Clone + Eq>(
        &self,
        placement: PlacementParts<R, T>,
    ) -> AttemptParts<T> {
        let carried = placement.accepted.filter(|accepted| match self.fault {
            Fault::SnapshotCarriesCleared => true,
            Fault::SnapshotCarriesNothing => false,
            _ => accepted.active,
        });
        let mut generation = placement.generation;
        if self.is(Fault::SnapshotStampedEarly) {
            generation = moved(generation, u64::MAX);
        }
        AttemptParts {
            generation,
            token: carried.map(|accepted| accepted.token),
        }
    }

    fn commit<R: Copy + Ord, T: Clone + Eq>(
        &self,
        mut placement: PlacementParts<R, T>,
        attempt: AttemptParts<T>,
        outcome: Outcome<R, T>,
    ) -> (PlacementParts<R, T>, Verdict) {
        let verdict = self.decide(&mut placement, &attempt, outcome);
        (placement, verdict)
    }
}

impl Faulty {
    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn decide<R: Copy + Ord, T: Clone + Eq>(
        &self,
        placement: &mut PlacementParts<R, T>,
        attempt: &AttemptParts<T>,
        outcome: Outcome<R, T>,
    ) -> Verdict {
        let bearing = match self.taken_for(outcome) {
            Outcome::Cancelled => {
                self.fences_if(Fault::CancelledFences, placement);
                return Verdict::Cancelled;
            }
            Outcome::Neutral => {
                self.fences_if(Fault::NeutralFences, placement);
                return Verdict::Neutral;
            }
            Outcome::DestinationFailure if self.is_tokenless(placement, attempt) => {
                self.fences_if(Fault::TokenlessFences, placement);
                if self.is(Fault::TokenlessCounts) {
                    placement.failures = placement.failures.saturating_add(1);
                }
                return Verdict::TokenlessFailure;
            }
            Outcome::DestinationFailure => StateBearing::Failure,
            Outcome::Correction(correction) => StateBearing::Correction(correction),
            Outcome::Success => StateBearing::Success,
        };
        if self.is_late(placement.generation, attempt.generation, &bearing) {
            self.fences_if(Fault::LateFences, placement);
            return if self.is(Fault::LateIsToldAsSuccess) {
                Verdict::Success
            } else {
                Verdict::Late
            };
        }
        self.advance(placement, &bearing);
        match bearing {
            StateBearing::Failure => self.fail(placement),
            StateBearing::Correction(correction) => self.correct(placement, correction),
            StateBearing::Success => self.succeed(placement),
        }
    }

    fn taken_for<R, T>(&self, outcome: Outcome<R, T>) -> Outcome<R, T> {
        match (self.fault, outcome) {
            (Fault::CancelledIsFailure, Outcome::Cancelled)
            | (Fault::NeutralIsFailure, Outcome::Neutral) => Outcome::DestinationFailure,
            (Fault::NeutralIsSuccess, Outcome::Neutral) => Outcome::Success,
            (_, outcome) => outcome,
        }
    }

    fn is_tokenless<R, T>(
        &self,
        placement: &PlacementParts<R, T>,
        attempt: &AttemptParts<T>,
    ) -> bool {
        match self.fault {
            Fault::TokenlessIsFailure => false,
            Fault::TokenlessByPlacement => {
                let accepted = placement.accepted.as_ref();
                accepted.is_none_or(|accepted| !accepted.active)
            }
            _ => attempt.token.is_none(),
        }
    }

    fn is_late<R, T>(
        &self,
        now: Generation,
        taken: Generation,
        bearing: &StateBearing<R, T>,
    ) -> bool {
        match (self.fault, bearing) {
            (Fault::FenceDropped, _)
            | (Fault::FenceDroppedForCorrections, StateBearing::Correction(_))
            | (Fault::FenceDroppedForFailures, StateBearing::Failure)
            | (Fault::FenceDroppedForSuccesses, StateBearing::Success) => false,
            (Fault::FenceInverted, _) => taken == now,
            (Fault::FenceStopsGreaterOnly, _) => taken.get() > now.get(),
            (Fault::FenceStopsLesserOnly, _) => taken.get() < now.get(),
            _ => taken != now,
        }
    }

    fn advance<R, T>(&self, placement: &mut PlacementParts<R, T>, bearing: &StateBearing<R, T>) {
        let by = match (self.fault, bearing) {
            (Fault::GenerationStays, _)
            | (Fault::SuccessDoesNotFence, StateBearing::Success)
            | (Fault::FailureDoesNotFence, StateBearing::Failure) => 0,
            (Fault::GenerationByTwo, _) => 2,
            (Fault::GenerationSaturates, _) if placement.generation.get() == u64::MAX => 0,
            _ => 1,
        };
        placement.generation = moved(placement.generation, by);
    }

    fn fences_if<R, T>(&self, fault: Fault, placement: &mut PlacementParts<R, T>) {
        if self.is(fault) {
            placement.generation = moved(placement.generation, 1);
        }
    }

    fn succeed<R, T>(&self, placement: &mut PlacementParts<R, T>) -> Verdict {
        if !self.is(Fault::SuccessKeepsFailures) {
            placement.failures = 0;
        }
        if !self.is(Fault::SuccessKeepsCorrections) {
            placement.corrections = 0;
        }
        match self.fault {
            Fault::SuccessClears => set_active(placement, false),
            Fault::SuccessRestores => set_active(placement, true),
            Fault::SuccessForgetsCleared => {
                let accepted = placement.accepted.take();
                placement.accepted = accepted.filter(|accepted| accepted.active);
            }
            _ => {}
        }
        Verdict::Success
    }

    fn correct<R: Copy + Ord, T: Clone + Eq>(
        &self,
        placement: &mut PlacementParts<R, T>,
        correction: Correction<R, T>,
    ) -> Verdict {
        if !self.is(Fault::CorrectionKeepsFailures) {
            placement.failures = 0;
        }
        if !self.is(Fault::CorrectionNotCounted) {
            placement.corrections = placement.corrections.saturating_add(1);
        }
        let limit = match self.fault {
            Fault::SecondCorrectionClears => 2,
            Fault::FourthCorrectionClears => 4,
            _ => CORRECTION_LIMIT,
        };
        let clears_first = self.is(Fault::ThirdClearedFirst) && placement.corrections >= limit;
        if clears_first {
            set_active(placement, false);
        }
        let verdict = if self.is(Fault::ThirdNotApplied) && placement.corrections >= limit {
            Verdict::RoundExhausted
        } else {
            self.place(placement, correction)
        };
        if placement.corrections < limit {
            return verdict;
        }
        if !self.is(Fault::ThirdKeepsCounter) {
            placement.corrections = 0;
        }
        if self.is(Fault::ThirdForgets) {
            placement.accepted = None;
        }
        if !clears_first && !self.is(Fault::ThirdNotCleared) {
            set_active(placement, false);
        }
        Verdict::RoundExhausted
    }

    fn place<R: Copy + Ord, T: Clone + Eq>(
        &self,
        placement: &mut PlacementParts<R, T>,
        correction: Correction<R, T>,
    ) -> Verdict {
        let Some(accepted) = &placement.accepted else {
            return self.install(placement, correction);
        };
        let order = correction.revision.cmp(&accepted.revision);
        match order {
            Ordering::Greater => self.place_newer(placement, correction),
            Ordering::Less => self.place_older(placement, correction),
            Ordering::Equal if self.is(Fault::EqualInstalls) => self.install(placement, correction),
            Ordering::Equal => {
                let same = correction.token == accepted.token;
                if same == self.is(Fault::EqualTokensSwapped) {
                    self.conflict(placement, correction)
                } else {
                    self.restore(placement)
                }
            }
        }
    }

    fn place_newer<R: Copy, T: Clone + Eq>(
        &self,
        placement: &mut PlacementParts<R, T>,
        Correction { revision, token }: Correction<R, T>,
    ) -> Verdict {
        match (self.fault, &mut placement.accepted) {
            (Fault::NewerIgnored, _) => return Verdict::StaleRevision,
            (Fault::NewerBeginsRound, _) => placement.corrections = 1,
            (Fault::NewerKeepsToken, Some(accepted)) => {
                (accepted.revision, accepted.active) = (revision, true);
                return Verdict::Installed;
            }
            (Fault::NewerKeepsRevision, Some(accepted)) if accepted.token == token => {
                accepted.active = true;
                return Verdict::Restored;
            }
            _ => {}
        }
        self.install(placement, Correction { revision, token })
    }

    fn place_older<R, T>(
        &self,
        placement: &mut PlacementParts<R, T>,
        correction: Correction<R, T>,
    ) -> Verdict {
        match self.fault {
            Fault::OlderInstalls => return self.install(placement, correction),
            Fault::OlderClears => set_active(placement, false),
            Fault::OlderRestores => set_active(placement, true),
            Fault::OlderNotCounted => uncount(placement),
            Fault::OlderIsToldAsRestored => return Verdict::Restored,
            // It was advanced before.
            Fault::OlderDoesNotFence => {
                placement.generation = moved(placement.generation, u64::MAX);
            }
            _ => {}
        }
        Verdict::StaleRevision
    }

    fn restore<R, T>(&self, placement: &mut PlacementParts<R, T>) -> Verdict {
        if !self.is(Fault::EqualDoesNotRestore) {
            set_active(placement, true);
        }
        Verdict::Restored
    }

    fn conflict<R, T>(
        &self,
        placement: &mut PlacementParts<R, T>,
        correction: Correction<R, T>,
    ) -> Verdict {
        match (self.fault, &mut placement.accepted) {
            (Fault::EqualRestoresAny, _) => return self.restore(placement),
            (Fault::ConflictKeepsActive, _) => return Verdict::Conflicted,
            (Fault::ConflictTakesToken, Some(accepted)) => accepted.token = correction.token,
            (Fault::ConflictForgets, accepted) => *accepted = None,
            (Fault::ConflictNotCounted, _) => uncount(placement),
            _ => {}
        }
        set_active(placement, false);
        Verdict::Conflicted
    }

    fn install<R, T>(
        &self,
        placement: &mut PlacementParts<R, T>,
        Correction { revision, token }: Correction<R, T>,
    ) -> Verdict {
        placement.accepted = Some(AcceptedParts {
            revision,
            token,
            active: !self.is(Fault::NewerInactive),
        });
        Verdict::Installed
    }

    fn fail<R, T>(&self, placement: &mut PlacementParts<R, T>) -> Verdict {
        placement.failures = placement.failures.saturating_add(1);
        if self.is(Fault::FailuresShared) {
            placement.failures = self.shared.load(atomic::Ordering::Relaxed) + 1;
            let kept = placement.failures % FAILURE_LIMIT;
            self.shared.store(kept, atomic::Ordering::Relaxed);
        }
        if self.is(Fault::FailureResetsCorrections) {
            placement.corrections = 0;
        }
        let limit = match self.fault {
            Fault::SecondFailureClears => 2,
            Fault::FourthFailureClears => 4,
            _ => FAILURE_LIMIT,
        };
        if placement.failures < limit {
            if self.is(Fault::FailureCountsAsCorrection) {
                placement.corrections = placement.corrections.saturating_add(1);
            }
            return Verdict::FailureCounted;
        }
        if !self.is(Fault::EvictionKeepsCounter) {
            placement.failures = 0;
        }
        match self.fault {
            Fault::EvictionResetsCorrections => placement.corrections = 0,
            Fault::EvictionForgets => placement.accepted = None,
            _ => {}
        }
        if !self.is(Fault::EvictionDoesNotClear) {
            set_active(placement, false);
        }
        Verdict::Evicted
    }
}

fn set_active<R, T>(placement: &mut PlacementParts<R, T>, active: bool) {
    if let Some(accepted) = &mut placement.accepted {
        accepted.active = active;
    }
}

/// Takes back what was counted before.
fn uncount<R, T>(placement: &mut PlacementParts<R, T>) {
    placement.corrections = placement.corrections.saturating_sub(1);
}

fn moved(generation: Generation, by: u64) -> Generation {
    Generation::from_count(generation.get().wrapping_add(by))
}
