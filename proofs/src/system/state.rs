use moorline_model::placement::{
    AcceptedParts, AttemptParts, Generation, Outcome, PlacementParts, Verdict,
};

use super::{Observer, Token};
use crate::step::Step;

/// The most requests that one client has in flight here.
pub const IN_FLIGHT_MAX: usize = 4;

/// The generation that a placement is given for the call of the step; current attempts have it too.
const NOW: u64 = 7;

/// The generation that late attempts are given. Any other than `NOW` does as well: see
/// `generation-fences-by-equality`.
const BEFORE: u64 = 6;

/// A placement without its generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape<R, T> {
    /// The watermark, its token, and whether that token is active.
    pub accepted: Option<AcceptedParts<R, T>>,
    /// The correction counter.
    pub corrections: u8,
    /// The failure counter.
    pub failures: u8,
}

/// A request in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flight<T> {
    /// Whether its generation is still the placement's.
    pub current: bool,
    /// The token that it carries.
    pub token: Option<T>,
}

/// A client with its requests in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State<R, T: Token> {
    /// The placement.
    pub shape: Shape<R, T>,
    /// The requests in flight, each in a slot of its own.
    pub flights: [Option<Flight<T>>; IN_FLIGHT_MAX],
    /// What an observer of the wire knows; `None` in systems without ghosts.
    pub observer: Option<Observer<R, T>>,
}

/// What ending one request did.
#[derive(Clone, Debug)]
pub struct Ended<R, T: Token> {
    /// The request that ended.
    pub attempt: Flight<T>,
    /// What the commit said.
    pub verdict: Verdict,
    /// By how much the generation rose.
    pub rise: u64,
    /// The state after it.
    pub after: State<R, T>,
}

impl<R, T> Shape<R, T> {
    /// The placement of a client that has just started.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            accepted: None,
            corrections: 0,
            failures: 0,
        }
    }

    /// The token that is active.
    #[must_use]
    pub fn active(&self) -> Option<&T> {
        self.accepted
            .as_ref()
            .filter(|accepted| accepted.active)
            .map(|accepted| &accepted.token)
    }

    /// The placement with this generation.
    #[must_use]
    pub fn at(self, generation: u64) -> PlacementParts<R, T> {
        PlacementParts {
            generation: Generation::from_count(generation),
            accepted: self.accepted,
            corrections: self.corrections,
            failures: self.failures,
        }
    }

    /// The placement without its generation.
    #[must_use]
    pub fn of(parts: PlacementParts<R, T>) -> Self {
        Self {
            accepted: parts.accepted,
            corrections: parts.corrections,
            failures: parts.failures,
        }
    }
}

impl<R, T> Default for Shape<R, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<R: Copy + Ord, T: Token> State<R, T> {
    /// A client that has just started, with or without an observer.
    #[must_use]
    pub fn new(observed: bool) -> Self {
        Self {
            shape: Shape::new(),
            flights: [const { None }; IN_FLIGHT_MAX],
            observer: observed.then(Observer::new),
        }
    }

    /// How many requests in flight are late.
    #[must_use]
    pub fn late(&self) -> usize {
        self.flights
            .iter()
            .flatten()
            .filter(|flight| !flight.current)
            .count()
    }
}

/// The token that a request beginning now would carry.
pub fn next_token<S: Step, R: Copy + Ord, T: Token>(step: &S, state: &State<R, T>) -> Option<T> {
    step.snapshot(state.shape.clone().at(NOW)).token
}

/// Begins a request in a free slot; `None` where the slot is busy or does not exist.
pub fn begin<S: Step, R: Copy + Ord, T: Token>(
    step: &S,
    state: &State<R, T>,
    slot: usize,
) -> Option<State<R, T>> {
    let mut after = state.clone();
    let place = after
        .flights
        .get_mut(slot)
        .filter(|place| place.is_none())?;
    let taken = step.snapshot(state.shape.clone().at(NOW));
    *place = Some(Flight {
        current: taken.generation.get() == NOW,
        token: taken.token,
    });
    if let Some(observer) = &mut after.observer {
        observer.begins(slot);
    }
    Some(after)
}

/// Ends the request of a busy slot; `None` where the slot is free or does not exist.
#[inline]
pub fn end<S: Step, R: Copy + Ord, T: Token>(
    step: &S,
    state: &State<R, T>,
    slot: usize,
    outcome: &Outcome<R, T>,
) -> Option<Ended<R, T>> {
    let mut after = state.clone();
    let attempt = after.flights.get_mut(slot)?.take()?;
    if let Some(observer) = &mut after.observer {
        observer.ends(slot, attempt.token.as_ref(), outcome);
    }
    let taken = AttemptParts {
        generation: generation_of(attempt.current),
        token: attempt.token.clone(),
    };
    let (placement, verdict) = step.commit(state.shape.clone().at(NOW), taken, outcome.clone());
    let now = placement.generation;
    for flight in after.flights.iter_mut().flatten() {
        flight.current = generation_of(flight.current) == now;
    }
    after.shape = Shape::of(placement);
    Some(Ended {
        attempt,
        verdict,
        rise: now.get().wrapping_sub(NOW),
        after,
    })
}

fn generation_of(current: bool) -> Generation {
    Generation::from_count(if current { NOW } else { BEFORE })
}
