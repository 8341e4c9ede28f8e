//! What an observer of the wire can say: which token the next request carries.

use moorline_model::placement::Outcome;

use super::{Commit, Judgement, Standing, when, with};
use crate::system::Token;

// spec-test: PLC-7, PLC-8
pub(super) fn success_teaches_nothing<R: Copy + Ord, T: Token>(
    commit: &Commit<'_, R, T>,
) -> Judgement {
    when(matches!(commit.outcome, Outcome::Success), || {
        commit.next_before == commit.next_after
            && commit.before.shape.accepted == commit.after.shape.accepted
    })
}

// spec-test: PLC-3, PLC-7, PLC-9, PLC-10, PLC-11, PLC-12, PLC-14, PLC-15, PLC-17
pub(super) fn next_request_as_observed<R: Copy + Ord, T: Token>(
    standing: &Standing<'_, R, T>,
) -> Judgement {
    with(standing.state.observer.as_ref(), |observer| {
        standing.next.as_ref() == observer.expected()
    })
}

// spec-test: PLC-8, PLC-9
pub(super) fn no_foreign_token<R: Copy + Ord, T: Token>(
    standing: &Standing<'_, R, T>,
) -> Judgement {
    let Some(observer) = &standing.state.observer else {
        return Judgement::Silent;
    };
    let flights = standing.state.flights.iter().flatten();
    let sent = flights.filter_map(|flight| flight.token.as_ref());
    let mut carried = sent.chain(standing.next).peekable();
    when(carried.peek().is_some(), || {
        carried.all(|token| token.is_in(&observer.given))
    })
}
