//! When a client finds its way back, how fast, and when it cannot.
//!
//! A service here is one that means one place: it corrects every request that does not carry its
//! token to its revision and token, and answers those that do with a success. It is *cooperative*
//! towards a client if its revision is above the client's watermark (or the client has none), or
//! equal to it with the accepted token. Answers may come in any order.
//!
//! * Towards a cooperative service the [`rank`] of the client falls with every poll that completes
//!   without a success, and it is never above [`bound`]: so a success comes after that many
//!   completed polls at most.
//! * Towards any other service that none of the client's requests already carries the token of, the
//!   client is [`blocked`], and stays so, whatever is answered.

mod blocked;
mod cooperative;
mod greatest;
mod inductive;
mod worst;

pub use blocked::{BLOCKED_PROPERTY, BLOCKED_STATEMENT, blocked_closed};
pub use cooperative::{RANK_PROPERTY, RANK_STATEMENT, rank_falls};
pub use greatest::{GREATEST_PROPERTY, GREATEST_STATEMENT, greatest_blocks};
pub use inductive::{InductiveRecovery, inductive};
use moorline_model::placement::{Correction, Outcome};
pub use worst::{BOUND_PROPERTY, BOUND_STATEMENT, Worst, worst};

use crate::system::{Shape, State, Token};

/// A service that means one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Service<R, T> {
    /// The revision of its corrections.
    pub revision: R,
    /// The token of its corrections, and the one that it answers with a success.
    pub token: T,
}

/// What one check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// How many steps it was held against.
    pub cases: u64,
    /// The first that breaks it.
    pub broken: Option<String>,
}

impl<R: Copy + Ord, T: Token> Service<R, T> {
    /// How it answers a request that carries this.
    pub fn answer(&self, carried: Option<&T>) -> Outcome<R, T> {
        if carried == Some(&self.token) {
            Outcome::Success
        } else {
            Outcome::Correction(Correction {
                revision: self.revision,
                token: self.token.clone(),
            })
        }
    }

    /// Whether this client takes its corrections.
    pub fn is_cooperative(&self, shape: &Shape<R, T>) -> bool {
        shape.accepted.as_ref().is_none_or(|accepted| {
            self.revision > accepted.revision
                || (self.revision == accepted.revision && self.token == accepted.token)
        })
    }
}

/// How far a client is from a success of this service at worst, in completed polls.
///
/// `late` is the number of late requests in flight, and `in_flight` the most requests in flight.
/// One stage is a commit: with the right token active it is the last, else the next correction
/// makes it active, unless it is the third of a round, which needs one more. Before each stage all
/// late requests may complete first, and each commit makes all others late.
pub fn rank<R: Copy + Ord, T: Token>(
    shape: &Shape<R, T>,
    late: usize,
    service: &Service<R, T>,
    in_flight: usize,
) -> usize {
    let stages = if shape.active() == Some(&service.token) {
        1
    } else if shape.corrections < 2 {
        2
    } else {
        3
    };
    (stages - 1) * in_flight + late + 1
}

/// The most completed polls, the successful one included, until a cooperative service is reached.
#[must_use]
pub const fn bound(in_flight: usize) -> usize {
    3 * in_flight
}

/// Whether this client can never again have a success from this service.
pub fn blocked<R: Copy + Ord, T: Token>(state: &State<R, T>, service: &Service<R, T>) -> bool {
    let flights = state.flights.iter().flatten();
    let mut carried = flights
        .filter_map(|flight| flight.token.as_ref())
        .chain(state.shape.active());
    !service.is_cooperative(&state.shape) && carried.all(|token| *token != service.token)
}

/// Every service of so many revisions and tokens.
fn services(revisions: u8, tokens: u8) -> impl Iterator<Item = Service<u8, u8>> {
    (0..revisions)
        .flat_map(move |revision| (0..tokens).map(move |token| Service { revision, token }))
}

impl Found {
    fn note(&mut self, holds: bool, tell: impl FnOnce() -> String) {
        self.cases += 1;
        if !holds && self.broken.is_none() {
            self.broken = Some(tell());
        }
    }
}

/// A step in words.
fn tell(state: &State<u8, u8>, service: &Service<u8, u8>, what: &str) -> String {
    format!(
        "{}\nservice: revision {}, {}\n{what}",
        crate::trace::state_text(state),
        service.revision,
        crate::trace::token_name(service.token),
    )
}
