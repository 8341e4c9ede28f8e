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
