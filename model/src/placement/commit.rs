use std::cmp::Ordering;

use super::invariants::{check, check_attempt};
use super::state::Accepted;
use super::{Attempt, CORRECTION_LIMIT, Correction, FAILURE_LIMIT, Outcome, Placement, Verdict};

/// The outcomes that may change a placement.
enum StateBearing<R, T> {
    Correction(Correction<R, T>),
    Failure,
    Success,
}

// spec: PLC-22
impl<R: Copy + Ord, T: Clone + Eq> Placement<R, T> {
    /// Commits the result of one attempt and says what that did.
    ///
    /// Cancelled and neutral outcomes and failures of tokenless requests change nothing. So does any
    /// outcome whose attempt was taken before the last state-bearing commit. All else advances the
    /// generation by one.
    pub fn commit(&mut self, attempt: Attempt<T>, outcome: Outcome<R, T>) -> Verdict {
        debug_assert_eq!(check_attempt(self, &attempt), Ok(()), "of the attempt");
        let verdict = self.decide(&attempt, outcome);
        debug_assert_eq!(check(self), Ok(()), "after {verdict:?}");
        verdict
    }

    /// Whether this is the token accepted at the watermark, active or not.
    #[must_use]
    pub fn has_accepted(&self, token: &T) -> bool {
        self.accepted_token() == Some(token)
    }

    fn decide(&mut self, attempt: &Attempt<T>, outcome: Outcome<R, T>) -> Verdict {
        let bearing = match outcome {
            // spec: PLC-20
            Outcome::Cancelled => return Verdict::Cancelled,
            // spec: PLC-19
            Outcome::Neutral => return Verdict::Neutral,
            // spec: PLC-18
            Outcome::DestinationFailure if attempt.token.is_none() => {
                return Verdict::TokenlessFailure;
            }
            Outcome::DestinationFailure => StateBearing::Failure,
            Outcome::Correction(correction) => StateBearing::Correction(correction),
            Outcome::Success => StateBearing::Success,
        };
        // spec: PLC-4, PLC-5
        if attempt.generation != self.generation {
            return Verdict::Late;
        }
        // spec: PLC-4
        self.generation = self.generation.next();
        match bearing {
            StateBearing::Failure => self.fail(),
            StateBearing::Correction(correction) => self.correct(correction),
            StateBearing::Success => self.succeed(),
        }
    }

    // spec: PLC-7
    fn succeed(&mut self) -> Verdict {
        self.failures = 0;
        self.corrections = 0;
        Verdict::Success
    }

    fn correct(&mut self, correction: Correction<R, T>) -> Verdict {
        // spec: PLC-13
        self.failures = 0;
        self.corrections = self.corrections.saturating_add(1);
        let verdict = self.place(correction);
        if self.corrections < CORRECTION_LIMIT {
            return verdict;
        }
        // spec: PLC-14, PLC-15
        self.corrections = 0;
        self.clear();
        Verdict::RoundExhausted
    }

    fn place(&mut self, correction: Correction<R, T>) -> Verdict {
        // spec: PLC-9
        let Some(accepted) = &mut self.accepted else {
            return self.install(correction);
        };
        match correction.revision.cmp(&accepted.revision) {
            // spec: PLC-9, PLC-21
            Ordering::Greater => self.install(correction),
            // spec: PLC-12, PLC-21
            Ordering::Less => Verdict::StaleRevision,
            // spec: PLC-10
            Ordering::Equal if correction.token == accepted.token => {
                accepted.active = true;
                Verdict::Restored
            }
            // spec: PLC-11
            Ordering::Equal => {
                accepted.active = false;
                Verdict::Conflicted
            }
        }
    }

    fn install(&mut self, Correction { revision, token }: Correction<R, T>) -> Verdict {
        self.accepted = Some(Accepted {
            revision,
            token,
            active: true,
        });
        Verdict::Installed
    }

    fn fail(&mut self) -> Verdict {
        // spec: PLC-16
        self.failures = self.failures.saturating_add(1);
        if self.failures < FAILURE_LIMIT {
            return Verdict::FailureCounted;
        }
        // spec: PLC-17
        self.failures = 0;
        self.clear();
        Verdict::Evicted
    }

    /// Makes the next attempt tokenless; watermark and accepted token stay.
    // spec: PLC-21
    fn clear(&mut self) {
        if let Some(accepted) = &mut self.accepted {
            accepted.active = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_the_accepted_token_from_others_active_or_not() {
        let mut placement = Placement::new();
        assert!(!placement.has_accepted(&"a"));
        for token in ["a", "b"] {
            let attempt = placement.snapshot();
            placement.commit(
                attempt,
                Outcome::Correction(Correction { revision: 1, token }),
            );
            assert!(placement.has_accepted(&"a") && !placement.has_accepted(&"b"));
        }
        assert!(!placement.has_token(), "the second was in conflict");
    }
}
