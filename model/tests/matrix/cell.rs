//! The states, attempts and events of the matrix, and the cells that they make.

use std::fmt;

use moorline_model::placement::{
    AcceptedParts, Attempt, AttemptParts, Correction, Generation, Outcome, Placement,
    PlacementParts, Verdict, check, check_attempt,
};

pub(crate) const WATERMARK: u64 = 5;
pub(crate) const ACCEPTED: char = 'a';
const OTHER: char = 'b';
const FORMER: char = 'z';

/// The generation of every state of the matrix; late attempts were taken one before.
const NOW: u64 = 7;

/// One event in one state.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) before: View,
    pub(crate) attempt: Sent,
    pub(crate) event: Event,
    pub(crate) verdict: Verdict,
    pub(crate) after: View,
}

/// All that a client can see of a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) generation: u64,
    pub(crate) watermark: Option<u64>,
    pub(crate) accepted: Option<char>,
    pub(crate) active: Option<char>,
    pub(crate) corrections: u8,
    pub(crate) failures: u8,
}

/// The kind of attempt that an event ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Current(Option<char>),
    Late(Option<char>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Success,
    First,
    NewerSame,
    NewerOther,
    EqualSame,
    EqualOther,
    OlderSame,
    OlderOther,
    Failure,
    Neutral,
    Cancelled,
}

/// Every cell, states before attempts before events. Checks the invariants after each.
pub(crate) fn all() -> Vec<Cell> {
    let mut cells = Vec::new();
    for state in states() {
        let active = state.accepted.filter(|accepted| accepted.active);
        let token = active.map(|accepted| accepted.token);
        for sent in [
            Sent::Current(token),
            Sent::Late(Some(FORMER)),
            Sent::Late(None),
        ] {
            for event in Event::of(state.accepted.is_some()) {
                cells.push(run(state, sent, *event));
            }
        }
    }
    cells
}

/// One state of every kind that can be told apart by commits.
pub(crate) fn states() -> Vec<PlacementParts<u64, char>> {
    let state = |active: Option<bool>, corrections, failures| PlacementParts {
        generation: Generation::from_count(NOW),
        accepted: active.map(|active| AcceptedParts {
            revision: WATERMARK,
            token: ACCEPTED,
            active,
        }),
        corrections,
        failures,
    };
    let mut states = vec![state(None, 0, 0)];
    for corrections in 0..3 {
        states.extend((0..3).map(|failures| state(Some(true), corrections, failures)));
    }
    states.extend((0..3).map(|corrections| state(Some(false), corrections, 0)));
    states
}

fn run(state: PlacementParts<u64, char>, sent: Sent, event: Event) -> Cell {
    let mut placement = Placement::from_parts(state);
    let before = View::of(&placement);
    let sibling = sent.attempt();
    let verdict = placement.commit(sent.attempt(), event.outcome());
    assert_eq!(check(&placement), Ok(()), "{before}, {sent}, {event:?}");
    for attempt in [sibling, placement.snapshot()] {
        let held = check_attempt(&placement, &attempt);
        assert_eq!(held, Ok(()), "{before}, {sent}, {event:?}");
    }
    Cell {
        before,
        attempt: sent,
        event,
        verdict,
        after: View::of(&placement),
    }
}

impl View {
    pub(crate) fn of(placement: &Placement<u64, char>) -> Self {
        Self {
            generation: placement.generation().get(),
            watermark: placement.watermark(),
            accepted: placement.accepted_token().copied(),
            active: placement.active_token().copied(),
            corrections: placement.corrections(),
            failures: placement.failures(),
        }
    }
}

impl Sent {
    /// The token that the request carried.
    pub(crate) fn token(self) -> Option<char> {
        let (Self::Current(token) | Self::Late(token)) = self;
        token
    }

    pub(crate) fn is_late(self) -> bool {
        matches!(self, Self::Late(_))
    }

    fn attempt(self) -> Attempt<char> {
        Attempt::from_parts(AttemptParts {
            generation: Generation::from_count(if self.is_late() { NOW - 1 } else { NOW }),
            token: self.token(),
        })
    }
}

impl Event {
    /// The events that make sense with, or without, a watermark.
    fn of(watermark: bool) -> &'static [Self] {
        use Event as E;
        if watermark {
            &[
                E::Success,
                E::NewerSame,
                E::NewerOther,
                E::EqualSame,
                E::EqualOther,
                E::OlderSame,
                E::OlderOther,
                E::Failure,
                E::Neutral,
                E::Cancelled,
            ]
        } else {
            &[E::Success, E::First, E::Failure, E::Neutral, E::Cancelled]
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::First => "first correction, b",
            Self::NewerSame => "newer, the same a",
            Self::NewerOther => "newer, another b",
            Self::EqualSame => "equal, the same a",
            Self::EqualOther => "equal, another b",
            Self::OlderSame => "older, the same a",
            Self::OlderOther => "older, another b",
            Self::Failure => "destination failure",
            Self::Neutral => "neutral",
            Self::Cancelled => "cancelled",
        }
    }

    /// The revision and token of a correction.
    pub(crate) fn correction(self) -> Option<(u64, char)> {
        match self {
            Self::First => Some((WATERMARK, OTHER)),
            Self::NewerSame => Some((WATERMARK + 1, ACCEPTED)),
            Self::NewerOther => Some((WATERMARK + 1, OTHER)),
            Self::EqualSame => Some((WATERMARK, ACCEPTED)),
            Self::EqualOther => Some((WATERMARK, OTHER)),
            Self::OlderSame => Some((WATERMARK - 1, ACCEPTED)),
            Self::OlderOther => Some((WATERMARK - 1, OTHER)),
            Self::Success | Self::Failure | Self::Neutral | Self::Cancelled => None,
        }
    }

    fn outcome(self) -> Outcome<u64, char> {
        match (self, self.correction()) {
            (_, Some((revision, token))) => Outcome::Correction(Correction { revision, token }),
            (Self::Success, None) => Outcome::Success,
            (Self::Failure, None) => Outcome::DestinationFailure,
            (Self::Cancelled, None) => Outcome::Cancelled,
            (_, None) => Outcome::Neutral,
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.watermark, self.accepted) {
            (Some(revision), Some(token)) => write!(f, "{token}@{revision}")?,
            (None, None) => f.write_str("no watermark")?,
            odd => write!(f, "TORN {odd:?}")?,
        }
        match self.active {
            Some(token) if self.accepted == self.active => write!(f, ", {token} is active")?,
            Some(token) => write!(f, ", ODD {token} is active")?,
            None => f.write_str(", tokenless")?,
        }
        write!(f, ", c{} f{}", self.corrections, self.failures)
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_late() { "late" } else { "current" })?;
        match self.token() {
            Some(token) => write!(f, " attempt with token {token}"),
            None => f.write_str(" attempt without a token"),
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (event, verdict) = (self.event.name(), self.verdict);
        writeln!(f, "before   {}, g{}", self.before, self.before.generation)?;
        writeln!(f, "attempt  {}", self.attempt)?;
        writeln!(f, "event    {event}: {verdict}")?;
        write!(f, "after    {}, g{}", self.after, self.after.generation)
    }
}
