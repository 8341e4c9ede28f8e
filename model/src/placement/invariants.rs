use super::{Attempt, CORRECTION_LIMIT, FAILURE_LIMIT, Placement};

/// An invariant of placement that does not hold. No reachable placement breaks one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Broken {
    /// A current attempt must carry exactly the active token.
    AttemptToken,
    /// Corrections are counted only where a watermark is known.
    CorrectionsWithoutWatermark,
    /// The correction counter stays below its limit.
    CorrectionsOverLimit,
    /// The failure counter stays below its limit.
    FailuresOverLimit,
    /// Failures are counted only against an active token.
    FailuresWithoutToken,
}

/// Checks the invariants of a placement.
///
/// # Errors
///
/// The first one that does not hold.
pub fn check<R, T>(placement: &Placement<R, T>) -> Result<(), Broken> {
    require(
        placement.corrections < CORRECTION_LIMIT,
        Broken::CorrectionsOverLimit,
    )?;
    require(
        placement.failures < FAILURE_LIMIT,
        Broken::FailuresOverLimit,
    )?;
    require(
        placement.failures == 0 || placement.has_token(),
        Broken::FailuresWithoutToken,
    )?;
    require(
        placement.corrections == 0 || placement.accepted.is_some(),
        Broken::CorrectionsWithoutWatermark,
    )
}

/// Checks that an attempt in flight fits the placement that it was taken from: late, or carrying
/// exactly the active token.
///
/// # Errors
///
/// [`Broken::AttemptToken`] where it does not.
pub fn check_attempt<R, T: Eq>(
    placement: &Placement<R, T>,
    attempt: &Attempt<T>,
) -> Result<(), Broken> {
    let late = attempt.generation != placement.generation;
    require(
        late || attempt.token() == placement.active_token(),
        Broken::AttemptToken,
    )
}

fn require(holds: bool, broken: Broken) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(broken) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::{AcceptedParts, AttemptParts, Generation, PlacementParts};

    fn placement(active: Option<bool>, corrections: u8, failures: u8) -> Placement<u64, u64> {
        Placement::from_parts(PlacementParts {
            generation: Generation::from_count(7),
            accepted: active.map(|active| AcceptedParts {
                revision: 1,
                token: 1,
                active,
            }),
            corrections,
            failures,
        })
    }

    #[test]
    fn names_each_invariant_that_is_broken() {
        for (active, corrections, failures, expected) in [
            (None, 0, 0, Ok(())),
            (Some(true), 2, 2, Ok(())),
            (Some(false), 2, 0, Ok(())),
            (Some(true), 3, 0, Err(Broken::CorrectionsOverLimit)),
            (Some(true), 0, 3, Err(Broken::FailuresOverLimit)),
            (Some(false), 0, 1, Err(Broken::FailuresWithoutToken)),
            (None, 0, 1, Err(Broken::FailuresWithoutToken)),
            (None, 1, 0, Err(Broken::CorrectionsWithoutWatermark)),
        ] {
            let found = check(&placement(active, corrections, failures));
            assert_eq!(found, expected, "{active:?} {corrections} {failures}");
        }
    }

    #[test]
    fn a_current_attempt_carries_exactly_the_active_token() {
        let fits = |active, generation, token| {
            let generation = Generation::from_count(generation);
            let attempt = Attempt::from_parts(AttemptParts { generation, token });
            check_attempt(&placement(active, 0, 0), &attempt).is_ok()
        };
        assert!(fits(Some(true), 7, Some(1)));
        assert!(fits(Some(false), 7, None));
        assert!(fits(None, 7, None));
        assert!(!fits(Some(true), 7, Some(2)));
        assert!(!fits(Some(true), 7, None));
        assert!(!fits(Some(false), 7, Some(1)));
        // A late one may carry anything.
        assert!(fits(Some(true), 6, Some(2)));
        assert!(fits(None, 8, Some(1)));
    }
}
