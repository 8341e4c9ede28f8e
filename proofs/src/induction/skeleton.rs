//! Every kind of state before a step, as far as it holds no data.
//!
//! A skeleton says which parts are there (a watermark, a token with a request, what the observer
//! knows) and fills in counters and flags; revisions and tokens are symbols, to be given by whoever
//! uses it. One request ends, and one other is in flight. The other stands for any number of
//! others: a step touches no request but its own, and every property of states speaks of each
//! request by itself.
//!
//! Skeletons are far more than a client can reach. Which of them count is decided by the
//! invariants.

use std::fmt;

use moorline_model::placement::{AcceptedParts, Correction, Outcome};

use crate::system::{Flight, IN_FLIGHT_MAX, Observer, Shape, State, Token};

/// The slot of the request that ends.
pub const ENDS: usize = 0;

/// The slot of another request in flight.
pub const OTHER: usize = 1;

/// The slot in which a request can begin.
pub const BEGINS: usize = 2;

/// The symbols for revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisionSymbol {
    /// The watermark.
    Watermark,
    /// The observer's greatest revision.
    Greatest,
    /// That of the correction.
    Correction,
}

/// The symbols for tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenSymbol {
    /// The accepted token.
    Accepted,
    /// The observer's first token at the greatest revision.
    First,
    /// That of the request that ends.
    Ends,
    /// That of the other request.
    Other,
    /// That of the correction.
    Correction,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Event {
    /// A request begins.
    Begin,
    /// The request ends: cancelled.
    Cancelled,
    /// The request ends: a correction.
    Correction,
    /// The request ends: a failure.
    Failure,
    /// The request ends: neutral.
    Neutral,
    /// The request ends: a success.
    Success,
}

/// A request without its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Whether it is current.
    pub current: bool,
    /// Whether it carries a token.
    pub has_token: bool,
    /// Whether the observer takes it for fresh.
    pub fresh: bool,
}

/// A state without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skeleton {
    /// Whether there is a watermark, and if so whether its token is active.
    pub accepted: Option<bool>,
    /// The correction counter.
    pub corrections: u8,
    /// The failure counter.
    pub failures: u8,
    /// The request that ends.
    pub ends: Request,
    /// Another request.
    pub other: Option<Request>,
    /// Whether the observer knows a greatest revision.
    pub has_greatest: bool,
    /// Whether the observer knows a first token.
    pub has_first: bool,
    /// Whether the observer expects a token to be sent.
    pub sending: bool,
    /// The observer's count of corrections.
    pub round: u8,
    /// The observer's count of failures.
    pub counted: u8,
}

impl Event {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Begin,
        Self::Cancelled,
        Self::Correction,
        Self::Failure,
        Self::Neutral,
        Self::Success,
    ];

    /// How the request ends; `None` where one begins. `correction` is called for a correction
    /// alone.
    pub fn outcome<R, T>(
        self,
        correction: impl FnOnce() -> Correction<R, T>,
    ) -> Option<Outcome<R, T>> {
        match self {
            Self::Begin => None,
            Self::Cancelled => Some(Outcome::Cancelled),
            Self::Correction => Some(Outcome::Correction(correction())),
            Self::Failure => Some(Outcome::DestinationFailure),
            Self::Neutral => Some(Outcome::Neutral),
            Self::Success => Some(Outcome::Success),
        }
    }
}

impl Skeleton {
    /// Calls `visit` with every skeleton and its number.
    pub fn each(mut visit: impl FnMut(usize, &Self)) {
        let mut number = 0;
        for (accepted, corrections, failures) in shapes() {
            for ends in requests() {
                for other in std::iter::once(None).chain(requests().map(Some)) {
                    for observed in observers() {
                        let skeleton = Self {
                            ends,
                            other,
                            accepted,
                            corrections,
                            failures,
                            ..observed
                        };
                        visit(number, &skeleton);
                        number += 1;
                    }
                }
            }
        }
    }

    /// The state with this data. Nothing is asked of symbols that are not there.
    pub fn state<R: Copy + Ord, T: Token>(
        &self,
        revision: impl Fn(RevisionSymbol) -> R,
        token: impl Fn(TokenSymbol) -> T,
    ) -> State<R, T> {
        let flight = |request: Request, symbol| Flight {
            current: request.current,
            token: request.has_token.then(|| token(symbol)),
        };
        let mut flights = [const { None }; IN_FLIGHT_MAX];
        let of_requests = [
            Some(flight(self.ends, TokenSymbol::Ends)),
            self.other.map(|other| flight(other, TokenSymbol::Other)),
        ];
        for (place, found) in flights.iter_mut().zip(of_requests) {
            *place = found;
        }
        let accepted = self.accepted.map(|active| AcceptedParts {
            revision: revision(RevisionSymbol::Watermark),
            token: token(TokenSymbol::Accepted),
            active,
        });
        let shape = Shape {
            accepted,
            corrections: self.corrections,
            failures: self.failures,
        };
        let observer = Observer {
            greatest: self
                .has_greatest
                .then(|| revision(RevisionSymbol::Greatest)),
            first: self.has_first.then(|| token(TokenSymbol::First)),
            sending: self.sending,
            round: self.round,
            counted: self.counted,
            fresh: self.fresh_bits(),
            given: given(&shape, &flights),
        };
        State {
            shape,
            flights,
            observer: Some(observer),
        }
    }

    /// The symbols for tokens that a state of this skeleton holds.
    pub fn tokens(&self) -> impl Iterator<Item = TokenSymbol> {
        let held = [
            (self.accepted.is_some(), TokenSymbol::Accepted),
            (self.has_first, TokenSymbol::First),
            (self.ends.has_token, TokenSymbol::Ends),
            (
                self.other.is_some_and(|other| other.has_token),
                TokenSymbol::Other,
            ),
        ];
        held.into_iter()
            .filter(|(is_held, _)| *is_held)
            .map(|(_, symbol)| symbol)
    }

    /// The symbols for revisions that a state of this skeleton holds.
    pub fn revisions(&self) -> impl Iterator<Item = RevisionSymbol> {
        let held = [
            (self.accepted.is_some(), RevisionSymbol::Watermark),
            (self.has_greatest, RevisionSymbol::Greatest),
        ];
        held.into_iter()
            .filter(|(is_held, _)| *is_held)
            .map(|(_, symbol)| symbol)
    }

    fn fresh_bits(&self) -> u8 {
        let bit = |fresh: bool, slot: usize| u8::from(fresh) << slot;
        let other = self.other.is_some_and(|other| other.fresh);
        bit(self.ends.fresh, ENDS) | bit(other, OTHER)
    }
}

impl fmt::Display for Skeleton {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let accepted = match self.accepted {
            None => "no watermark",
            Some(true) => "a watermark, its token active",
            Some(false) => "a watermark, its token cleared",
        };
        let (corrections, failures) = (self.corrections, self.failures);
        write!(
            f,
            "{accepted}, corrections {corrections}, failures {failures}; "
        )?;
        write!(f, "a request {}; ", self.ends)?;
        if let Some(other) = self.other {
            write!(f, "another {other}; ")?;
        }
        let known = |known: bool| if known { "knows" } else { "does not know" };
        write!(
            f,
            "the observer {} a greatest revision, {} a first token, expects {}, counted {} \
             corrections and {} failures",
            known(self.has_greatest),
            known(self.has_first),
            if self.sending {
                "that to be sent"
            } else {
                "none to be sent"
            },
            self.round,
            self.counted
        )
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let age = if self.current { "current" } else { "late" };
        let token = if self.has_token {
            "with a token"
        } else {
            "without a token"
        };
        let seen = if self.fresh { "fresh" } else { "stale" };
        write!(f, "that is {age}, {token}, {seen} to the observer")
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Begin => "a request begins",
            Self::Cancelled => "the request is cancelled",
            Self::Correction => "the request ends with a correction",
            Self::Failure => "the request ends with a destination failure",
            Self::Neutral => "the request ends with a neutral result",
            Self::Success => "the request ends with a success",
        })
    }
}

/// The least set of given tokens with which no request carries one that was not given. A greater
/// set could only make that easier.
fn given<R, T: Token>(shape: &Shape<R, T>, flights: &[Option<Flight<T>>; IN_FLIGHT_MAX]) -> T::Set {
    let mut set = T::Set::default();
    let sent = flights
        .iter()
        .flatten()
        .filter_map(|flight| flight.token.as_ref());
    for token in sent.chain(shape.active()) {
        T::insert(&mut set, token.clone());
    }
    set
}

fn shapes() -> impl Iterator<Item = (Option<bool>, u8, u8)> {
    let accepted = [None, Some(false), Some(true)];
    accepted.into_iter().flat_map(|accepted| {
        (0..=3).flat_map(move |corrections| {
            (0..=3).map(move |failures| (accepted, corrections, failures))
        })
    })
}

fn requests() -> impl Iterator<Item = Request> + Clone {
    (0..8).map(|bits: u8| Request {
        current: bits & 1 != 0,
        has_token: bits & 2 != 0,
        fresh: bits & 4 != 0,
    })
}

/// Skeletons with every observer and a fresh client.
fn observers() -> impl Iterator<Item = Skeleton> + Clone {
    (0..8).flat_map(|bits: u8| {
        (0..3).flat_map(move |round| {
            (0..=4).map(move |counted| Skeleton {
                accepted: None,
                corrections: 0,
                failures: 0,
                ends: Request {
                    current: true,
                    has_token: false,
                    fresh: true,
                },
                other: None,
                has_greatest: bits & 1 != 0,
                has_first: bits & 2 != 0,
                sending: bits & 4 != 0,
                round,
                counted,
            })
        })
    })
}
