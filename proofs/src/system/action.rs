use std::fmt;

use moorline_model::placement::{Correction, Outcome};
use thiserror::Error;

use super::{Ended, IN_FLIGHT_MAX, State, begin, end};
use crate::step::Step;

/// The size of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
pub struct Bounds {
    /// The most requests in flight, 1 to 4.
    pub in_flight: usize,
    /// How many revisions the service knows, 1 to 7.
    pub revisions: u8,
    /// How many tokens the service knows, 1 to 6.
    pub tokens: u8,
    /// Whether an observer watches.
    pub ghosts: bool,
}

/// Why there is no system of this size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum BoundsFault {
    /// No request in flight, or more than [`IN_FLIGHT_MAX`].
    #[error("requests in flight must be 1 to 4, not {0}")]
    InFlight(usize),
    /// No revision, or too many to pack.
    #[error("revisions must be 1 to 7, not {0}")]
    Revisions(u8),
    /// No token, or too many to pack.
    #[error("tokens must be 1 to 6, not {0}")]
    Tokens(u8),
}

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A request begins in this free slot.
    Begin(usize),
    /// The request of this slot ends so.
    End(usize, Outcome<u8, u8>),
}

/// One client of a bounded size with a service that may answer anything.
#[derive(Clone, Debug)]
pub struct System<S> {
    step: S,
    bounds: Bounds,
    answers: Vec<Outcome<u8, u8>>,
}

impl Bounds {
    /// A system without an observer.
    #[must_use]
    pub const fn plain(in_flight: usize, revisions: u8, tokens: u8) -> Self {
        Self {
            in_flight,
            revisions,
            tokens,
            ghosts: false,
        }
    }

    /// A system with an observer.
    #[must_use]
    pub const fn observed(in_flight: usize, revisions: u8, tokens: u8) -> Self {
        Self {
            in_flight,
            revisions,
            tokens,
            ghosts: true,
        }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            in_flight,
            revisions,
            tokens,
            ghosts,
        } = self;
        let ghosts = if *ghosts { ", observed" } else { "" };
        write!(
            f,
            "K={in_flight}, {revisions} revisions, {tokens} tokens{ghosts}"
        )
    }
}

impl<S: Step> System<S> {
    /// A system of this size around this step.
    ///
    /// # Errors
    ///
    /// A size out of range.
    pub fn new(step: S, bounds: Bounds) -> Result<Self, BoundsFault> {
        if !(1..=IN_FLIGHT_MAX).contains(&bounds.in_flight) {
            return Err(BoundsFault::InFlight(bounds.in_flight));
        }
        if !(1..=7).contains(&bounds.revisions) {
            return Err(BoundsFault::Revisions(bounds.revisions));
        }
        if !(1..=6).contains(&bounds.tokens) {
            return Err(BoundsFault::Tokens(bounds.tokens));
        }
        let answers = answers(bounds);
        Ok(Self {
            step,
            bounds,
            answers,
        })
    }

    /// The step that this system runs.
    #[must_use]
    pub fn step(&self) -> &S {
        &self.step
    }

    /// The size.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Everything that the service may answer, the cancellation by the caller among it.
    #[must_use]
    pub fn answers(&self) -> &[Outcome<u8, u8>] {
        &self.answers
    }

    /// A client that has just started.
    #[must_use]
    pub fn start(&self) -> State<u8, u8> {
        State::new(self.bounds.ghosts)
    }

    /// Calls `visit` with each action that is possible in this state.
    pub fn each_action(&self, state: &State<u8, u8>, mut visit: impl FnMut(Action)) {
        for (slot, flight) in state.flights.iter().enumerate().take(self.bounds.in_flight) {
            if flight.is_none() {
                visit(Action::Begin(slot));
            } else {
                for answer in &self.answers {
                    visit(Action::End(slot, *answer));
                }
            }
        }
    }

    /// The state after an action; `None` where it is not possible.
    #[must_use]
    pub fn after(&self, state: &State<u8, u8>, action: Action) -> Option<State<u8, u8>> {
        match action {
            Action::Begin(slot) => begin(&self.step, state, slot),
            Action::End(slot, outcome) => self.end(state, slot, &outcome).map(|ended| ended.after),
        }
    }

    /// What ending the request of a slot does; `None` where it is free.
    #[must_use]
    pub fn end(
        &self,
        state: &State<u8, u8>,
        slot: usize,
        outcome: &Outcome<u8, u8>,
    ) -> Option<Ended<u8, u8>> {
        end(&self.step, state, slot, outcome)
    }
}

fn answers(bounds: Bounds) -> Vec<Outcome<u8, u8>> {
    let mut answers = vec![
        Outcome::Success,
        Outcome::DestinationFailure,
        Outcome::Neutral,
        Outcome::Cancelled,
    ];
    for revision in 0..bounds.revisions {
        answers.extend(
            (0..bounds.tokens).map(|token| Outcome::Correction(Correction { revision, token })),
        );
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Shipped;

    #[test]
    fn sizes_out_of_range_are_refused() {
        let fault = |bounds| System::new(Shipped, bounds).err();
        assert_eq!(
            fault(Bounds::plain(0, 3, 3)),
            Some(BoundsFault::InFlight(0))
        );
        assert_eq!(
            fault(Bounds::plain(5, 3, 3)),
            Some(BoundsFault::InFlight(5))
        );
        assert_eq!(
            fault(Bounds::plain(1, 8, 3)),
            Some(BoundsFault::Revisions(8))
        );
        assert_eq!(fault(Bounds::plain(1, 3, 0)), Some(BoundsFault::Tokens(0)));
        assert_eq!(fault(Bounds::observed(4, 7, 6)), None);
    }

    #[test]
    fn the_service_may_answer_anything() {
        let system = System::new(Shipped, Bounds::plain(1, 3, 4)).unwrap();
        assert_eq!(system.answers().len(), 4 + 3 * 4);
    }
}
