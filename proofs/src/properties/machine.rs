//! What holds of the placement over all runs.

use moorline_model::placement::Outcome;

use super::{Commit, Judgement, Standing, always, when, with};
use crate::system::{Observer, Shape, Token};

// spec-test: PLC-21
pub(super) fn watermark_never_falls<R: Copy + Ord, T: Token>(
    commit: &Commit<'_, R, T>,
) -> Judgement {
    with(watermark(&commit.before.shape), |before| {
        watermark(&commit.after.shape).is_some_and(|after| after >= before)
    })
}

// spec-test: PLC-11, PLC-21
pub(super) fn one_token_per_watermark<R: Copy + Ord, T: Token>(
    commit: &Commit<'_, R, T>,
) -> Judgement {
    let pairs = (&commit.before.shape.accepted, &commit.after.shape.accepted);
    let (Some(before), Some(after)) = pairs else {
        return Judgement::Silent;
    };
    when(before.revision == after.revision, || {
        before.token == after.token
    })
}

// spec-test: PLC-11, PLC-12, PLC-14, PLC-17
pub(super) fn clears_only_with_cause<R: Copy + Ord, T: Token>(
    commit: &Commit<'_, R, T>,
) -> Judgement {
    let (before, after) = (&commit.before.shape, &commit.after.shape);
    let cleared = before.active().is_some() && after.active().is_none();
    when(cleared, || {
        if let Some(correction) = commit.committed_correction() {
            let conflict = || {
                watermark(before) == Some(correction.revision)
                    && before.active() != Some(&correction.token)
            };
            before.corrections == 2 || conflict()
        } else {
            commit.committed_failure() && before.failures == 2
        }
    })
}

// spec-test: PLC-14, PLC-15
pub(super) fn third_correction_clears<R: Copy + Ord, T: Token>(
    commit: &Commit<'_, R, T>,
) -> Judgement {
    let third = observed_fresh(commit).is_some_and(|observer| {
        observer.round == 2 && matches!(commit.outcome, Outcome::Correction(_))
    });
    when(third, || commit.after.shape.active().is_none())
}

// spec-test: PLC-17
pub(super) fn third_failure_clears<R: Copy + Ord, T: Token>(
    commit: &Commit<'_, R, T>,
) -> Judgement {
    let third = observed_fresh(commit).is_some_and(|observer| {
        let failure = matches!(commit.outcome, Outcome::DestinationFailure);
        observer.counted == 2 && failure && commit.attempt.token.is_some()
    });
    when(third, || commit.after.shape.active().is_none())
}

// spec-test: PLC-11
pub(super) fn conflict_clears<R: Copy + Ord, T: Token>(commit: &Commit<'_, R, T>) -> Judgement {
    let (Some(observer), Outcome::Correction(correction)) =
        (observed_fresh(commit), commit.outcome)
    else {
        return Judgement::Silent;
    };
    let conflict = observer.greatest == Some(correction.revision)
        && observer.first.as_ref() != Some(&correction.token);
    when(conflict, || commit.after.shape.active().is_none())
}

// spec-test: PLC-9, PLC-10, PLC-12
pub(super) fn cleared_stays_cleared<R: Copy + Ord, T: Token>(
    commit: &Commit<'_, R, T>,
) -> Judgement {
    let (before, after) = (&commit.before.shape, &commit.after.shape);
    when(before.active().is_none(), || {
        after.active().is_none()
            || commit.committed_correction().is_some_and(|correction| {
                before.accepted.as_ref().is_none_or(|accepted| {
                    let again = || {
                        correction.revision == accepted.revision
                            && correction.token == accepted.token
                    };
                    correction.revision > accepted.revision || again()
                })
            })
    })
}

// spec-test: PLC-4, PLC-5, PLC-18, PLC-19, PLC-20
pub(super) fn generation_rises_by_one<R: Copy + Ord, T: Token>(
    commit: &Commit<'_, R, T>,
) -> Judgement {
    let expected = if commit.committed() { 1 } else { 0 };
    always(commit.rise == expected)
}

// spec-test: PLC-4, PLC-5
pub(super) fn verdict_tells<R: Copy + Ord, T: Token>(commit: &Commit<'_, R, T>) -> Judgement {
    always(commit.verdict.committed() == commit.committed())
}

// spec-test: PLC-9, PLC-21
pub(super) fn watermark_is_greatest<R: Copy + Ord, T: Token>(
    standing: &Standing<'_, R, T>,
) -> Judgement {
    with(standing.state.observer.as_ref(), |observer| {
        watermark(&standing.state.shape) == observer.greatest
    })
}

// spec-test: PLC-9, PLC-11
pub(super) fn accepted_is_first<R: Copy + Ord, T: Token>(
    standing: &Standing<'_, R, T>,
) -> Judgement {
    with(standing.state.observer.as_ref(), |observer| {
        let accepted = standing.state.shape.accepted.as_ref();
        accepted.map(|accepted| &accepted.token) == observer.first.as_ref()
    })
}

// spec-test: PLC-3, PLC-21
pub(super) fn active_is_accepted<R: Copy + Ord, T: Token>(
    standing: &Standing<'_, R, T>,
) -> Judgement {
    with(standing.next.as_ref(), |next| {
        let accepted = standing.state.shape.accepted.as_ref();
        accepted.is_some_and(|accepted| accepted.token == *next)
    })
}

// spec-test: PLC-3, PLC-4
pub(super) fn current_carry_active<R: Copy + Ord, T: Token>(
    standing: &Standing<'_, R, T>,
) -> Judgement {
    let active = standing.state.shape.active();
    let flights = standing.state.flights.iter().flatten();
    let mut current = flights.filter(|flight| flight.current).peekable();
    when(current.peek().is_some(), || {
        current.all(|flight| flight.token.as_ref() == active)
    })
}

// spec-test: PLC-4, PLC-5
pub(super) fn current_means_nothing_since<R: Copy + Ord, T: Token>(
    standing: &Standing<'_, R, T>,
) -> Judgement {
    let flights = &standing.state.flights;
    let observer = standing.state.observer.as_ref();
    with(
        observer.filter(|_| flights.iter().any(Option::is_some)),
        |observer| {
            flights.iter().enumerate().all(|(slot, flight)| {
                let current = flight.as_ref().map(|flight| flight.current);
                current.is_none_or(|current| current == observer.is_fresh(slot))
            })
        },
    )
}

// spec-test: PLC-14, PLC-17
pub(super) fn counters_at_most_two<R: Copy + Ord, T: Token>(
    standing: &Standing<'_, R, T>,
) -> Judgement {
    let shape = &standing.state.shape;
    always(shape.corrections <= 2 && shape.failures <= 2)
}

// spec-test: PLC-11, PLC-13, PLC-14, PLC-17
pub(super) fn failures_imply_token<R: Copy + Ord, T: Token>(
    standing: &Standing<'_, R, T>,
) -> Judgement {
    let shape = &standing.state.shape;
    when(shape.failures > 0, || shape.active().is_some())
}

// spec-test: PLC-9, PLC-13
pub(super) fn corrections_imply_watermark<R: Copy + Ord, T: Token>(
    standing: &Standing<'_, R, T>,
) -> Judgement {
    let shape = &standing.state.shape;
    when(shape.corrections > 0, || shape.accepted.is_some())
}

// spec-test: PLC-7, PLC-13, PLC-14
pub(super) fn counts_of_corrections_agree<R: Copy + Ord, T: Token>(
    standing: &Standing<'_, R, T>,
) -> Judgement {
    with(standing.state.observer.as_ref(), |observer| {
        standing.state.shape.corrections == observer.round
    })
}

// spec-test: PLC-7, PLC-13, PLC-16, PLC-17
pub(super) fn counts_of_failures_agree<R: Copy + Ord, T: Token>(
    standing: &Standing<'_, R, T>,
) -> Judgement {
    with(standing.state.observer.as_ref(), |observer| {
        let expected = if observer.counted == 3 {
            0
        } else {
            observer.counted
        };
        standing.state.shape.failures == expected
    })
}

// spec-test: PLC-16, PLC-17, PLC-18
pub(super) fn at_most_three_failures<R: Copy + Ord, T: Token>(
    standing: &Standing<'_, R, T>,
) -> Judgement {
    let observer = standing.state.observer.as_ref();
    with(
        observer.filter(|observer| observer.counted > 2),
        |observer| observer.counted == 3 && standing.state.shape.active().is_none(),
    )
}

fn watermark<R: Copy, T>(shape: &Shape<R, T>) -> Option<R> {
    shape.accepted.as_ref().map(|accepted| accepted.revision)
}

/// The observer before the commit, if there is one and it took the request for fresh.
fn observed_fresh<'a, R: Copy + Ord, T: Token>(
    commit: &Commit<'a, R, T>,
) -> Option<&'a Observer<R, T>> {
    let observer = commit.before.observer.as_ref();
    observer.filter(|observer| observer.is_fresh(commit.slot))
}
