//! The function under proof, and the place where another can be put.

use moorline_model::placement::{
    Attempt, AttemptParts, Outcome, Placement, PlacementParts, Verdict,
};

/// The two operations of a placement, on plain data.
///
/// [`Shipped`] runs the code of `moorline-model` that the client runs. Whatever takes a `Step` can
/// be given a wrong one instead, to see that the properties notice.
pub trait Step: Clone + Send + Sync + 'static {
    /// Takes the snapshot that one request is made from.
    fn snapshot<R: Copy + Ord, T: Clone + Eq>(
        &self,
        placement: PlacementParts<R, T>,
    ) -> AttemptParts<T>;

    /// Commits the outcome of one attempt.
    fn commit<R: Copy + Ord, T: Clone + Eq>(
        &self,
        placement: PlacementParts<R, T>,
        attempt: AttemptParts<T>,
        outcome: Outcome<R, T>,
    ) -> (PlacementParts<R, T>, Verdict);
}

/// The step that the client runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shipped;

impl Step for Shipped {
    #[inline]
    fn snapshot<R: Copy + Ord, T: Clone + Eq>(
        &self,
        placement: PlacementParts<R, T>,
    ) -> AttemptParts<T> {
        Placement::from_parts(placement).snapshot().into_parts()
    }

    #[inline]
    fn commit<R: Copy + Ord, T: Clone + Eq>(
        &self,
        placement: PlacementParts<R, T>,
        attempt: AttemptParts<T>,
        outcome: Outcome<R, T>,
    ) -> (PlacementParts<R, T>, Verdict) {
        let mut placement = Placement::from_parts(placement);
        let verdict = placement.commit(Attempt::from_parts(attempt), outcome);
        (placement.into_parts(), verdict)
    }
}
