#![allow(
    clippy::indexing_slicing,
    reason = "every index is one of this graph's own numbers, and its tables are never shortened"
)]

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use moorline_model::placement::{
    AcceptedParts, AttemptParts, CORRECTION_LIMIT, Correction, FAILURE_LIMIT, Generation, Outcome,
    PlacementParts, Verdict,
};

use super::{Grain, Plan, Problem};
use crate::step::Step;

/// More points than any graph here has.
const POINTS_MAX: usize = 100_000;

/// The generation of the placement in the one step that a transition is read off.
const NOW: Generation = Generation::FIRST;

/// Any other: generations are compared for equality alone.
const BEFORE: u64 = 5;

/// What is known at the watermark of every point that has one.
const REVISION: u8 = 1;
const TOKEN: u8 = 0;
const OTHER_TOKEN: u8 = 1;

/// A placement with its requests in flight, without the values in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    /// Whether the accepted token is active; `None` before the first correction.
    pub active: Option<bool>,
    /// The correction counter.
    pub corrections: u8,
    /// The failure counter.
    pub failures: u8,
    /// Requests in flight whose generation is the placement's.
    pub current: u8,
    /// Late requests with a token; all late ones in a [`Grain::Merged`] graph.
    pub late_with: u8,
    /// Late requests without a token.
    pub late_without: u8,
}

/// Which of the requests in flight. Those of one kind cannot be told apart here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// One whose generation is the placement's.
    Current,
    /// A late one with a token; any late one in a [`Grain::Merged`] graph.
    LateWith,
    /// A late one without a token.
    LateWithout,
}

/// The token of a correction, held against the accepted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Told {
    /// The same.
    Same,
    /// Another.
    Other,
    /// Left open: the graph does not tell the two apart.
    Either,
}

/// A correction, held against the watermark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// There is no watermark.
    First,
    /// An older revision.
    Older(Told),
    /// The same revision.
    Equal(Told),
    /// A newer revision.
    Newer(Told),
}

/// How a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// A successful poll.
    Success,
    /// A failure of the destination.
    Failure,
    /// An answer that says nothing of the placement.
    Neutral,
    /// The caller gives up.
    Cancelled,
    /// A correction.
    Correction(Relation),
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Move {
    /// A request begins.
    Begin,
    /// A request ends.
    End(Kind, Answer),
    /// A request begins and ends, with nothing between.
    Poll(Answer),
}

/// One thing that can happen at one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The number of the point before.
    pub from: usize,
    /// What happens.
    pub step: Move,
    /// What the commit says; [`Verdict::Neutral`] where none happens.
    pub verdict: Verdict,
    /// The number of the point after.
    pub to: usize,
}

/// Every point that can be reached, and everything that can happen there.
///
/// Since the placement compares revisions and equates tokens and does nothing else with them, what it does
/// at a point does not depend on their values: the graph stands for runs of any length over all values.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The points, nearest first; the first is the start.
    pub points: Vec<Point>,
    /// The transitions, by the point that they leave.
    pub transitions: Vec<Transition>,
    /// Where the transitions of each point begin; one more at the end.
    leaving: Vec<usize>,
    /// Where the pairs of each first transition begin; one more at the end.
    pairs: Vec<usize>,
}

impl Graph {
    /// Searches the whole graph, breadth first.
    pub(super) fn search<S: Step>(step: &S, plan: Plan) -> Result<Self, Problem> {
        let mut points = vec![Point::START];
        let mut known = BTreeMap::from([(Point::START, 0)]);
        let mut transitions = Vec::new();
        let mut leaving = vec![0];
        let mut from = 0;
        while let Some(point) = points.get(from).copied() {
            for happens in point.moves(plan) {
                let (after, verdict) = point.after(step, happens, plan.grain)?;
                let to = *known.entry(after).or_insert(points.len());
                if to == points.len() {
                    points.push(after);
                }
                transitions.push(Transition {
                    from,
                    step: happens,
                    verdict,
                    to,
                });
            }
            if points.len() > POINTS_MAX {
                return Err(Problem::TooManyPoints);
            }
            leaving.push(transitions.len());
            from += 1;
        }
        let mut graph = Self {
            points,
            transitions,
            leaving,
            pairs: vec![0],
        };
        let mut pairs = 0;
        for transition in &graph.transitions {
            pairs += graph.leaving(transition.to).len();
            graph.pairs.push(pairs);
        }
        Ok(graph)
    }

    /// The transitions that leave a point.
    #[must_use]
    pub fn leaving(&self, point: usize) -> Range<usize> {
        self.leaving[point]..self.leaving[point + 1]
    }

    /// How many pairs of adjacent transitions there are.
    #[must_use]
    pub fn pair_count(&self) -> usize {
        self.pairs[self.transitions.len()]
    }

    /// The number of a pair of adjacent transitions.
    pub(super) fn pair(&self, first: usize, second: usize) -> usize {
        self.pairs[first] + second - self.leaving[self.transitions[first].to]
    }

    /// The pairs whose first transition this is.
    pub(super) fn pairs_of(&self, first: usize) -> Range<usize> {
        self.pairs[first]..self.pairs[first + 1]
    }
}

impl Point {
    /// A client that has just started.
    pub const START: Self = Self {
        active: None,
        corrections: 0,
        failures: 0,
        current: 0,
        late_with: 0,
        late_without: 0,
    };

    /// The number of requests in flight.
    #[must_use]
    pub fn in_flight(self) -> u8 {
        self.current + self.late_with + self.late_without
    }

    /// Whether both have the same placement, whatever is in flight.
    pub(super) fn is_placed_as(self, other: Self) -> bool {
        let placed = |point: Self| (point.active, point.corrections, point.failures);
        placed(self) == placed(other)
    }

    /// Every point that the invariants of a placement allow, reachable or not.
    pub(super) fn typed(plan: Plan) -> Vec<Self> {
        let mut typed = Vec::new();
        for placed in Self::typed_placements() {
            for current in 0..=plan.held() {
                for late_with in 0..=plan.held() - current {
                    let rest = match plan.grain {
                        Grain::Merged => 0,
                        Grain::Full | Grain::Polls => plan.held() - current - late_with,
                    };
                    typed.extend((0..=rest).map(|late_without| Self {
                        current,
                        late_with,
                        late_without,
                        ..placed
                    }));
                }
            }
        }
        typed
    }

    fn typed_placements() -> Vec<Self> {
        let mut placements = vec![Self::START];
        for corrections in 0..CORRECTION_LIMIT {
            let cleared = Self {
                active: Some(false),
                corrections,
                ..Self::START
            };
            placements.push(cleared);
            placements.extend((0..FAILURE_LIMIT).map(|failures| Self {
                active: Some(true),
                failures,
                ..cleared
            }));
        }
        placements
    }

    fn moves(self, plan: Plan) -> Vec<Move> {
        let answers = self.answers(plan.grain);
        if plan.grain == Grain::Polls {
            return answers.into_iter().map(Move::Poll).collect();
        }
        let mut moves = Vec::new();
        if self.in_flight() < plan.in_flight {
            moves.push(Move::Begin);
        }
        for kind in [Kind::Current, Kind::LateWith, Kind::LateWithout] {
            if self.flying(kind) > 0 {
                moves.extend(answers.iter().map(|answer| Move::End(kind, *answer)));
            }
        }
        moves
    }

    fn answers(self, grain: Grain) -> Vec<Answer> {
        use Relation::{Equal, First, Newer, Older};
        use Told::{Either, Other, Same};
        let mut answers = vec![Answer::Success, Answer::Failure, Answer::Neutral];
        if grain != Grain::Merged {
            answers.push(Answer::Cancelled);
        }
        let relations: &[Relation] = match (self.active, grain) {
            (None, _) => &[First],
            (Some(_), Grain::Full | Grain::Merged) => {
                &[Older(Either), Equal(Same), Equal(Other), Newer(Either)]
            }
            (Some(_), Grain::Polls) => &[
                Older(Same),
                Older(Other),
                Equal(Same),
                Equal(Other),
                Newer(Same),
                Newer(Other),
            ],
        };
        answers.extend(relations.iter().copied().map(Answer::Correction));
        answers
    }

    /// How many requests of this kind are in flight.
    pub(super) fn flying(self, kind: Kind) -> u8 {
        match kind {
            Kind::Current => self.current,
            Kind::LateWith => self.late_with,
            Kind::LateWithout => self.late_without,
        }
    }

    fn after<S: Step>(
        self,
        step: &S,
        happens: Move,
        grain: Grain,
    ) -> Result<(Self, Verdict), Problem> {
        let begun = Self {
            current: self.current + 1,
            ..self
        };
        match happens {
            Move::Begin => Ok((begun, Verdict::Neutral)),
            Move::Poll(answer) => begun.ended(step, Kind::Current, answer, grain),
            Move::End(kind, answer) => self.ended(step, kind, answer, grain),
        }
    }

    /// One step of the placement, with values that stand as the point and the answer say.
    fn ended<S: Step>(
        self,
        step: &S,
        kind: Kind,
        answer: Answer,
        grain: Grain,
    ) -> Result<(Self, Verdict), Problem> {
        let before = self.parts();
        let taken = step.snapshot(before);
        let carried = taken.token.is_some();
        let late = |token| AttemptParts {
            generation: Generation::from_count(BEFORE),
            token,
        };
        let attempt = match kind {
            Kind::Current => taken,
            Kind::LateWith => late(Some(TOKEN)),
            Kind::LateWithout => late(None),
        };
        let (after, verdict) = step.commit(before, attempt, answer.outcome());
        let rest = self
            .without(kind)
            .ok_or(Problem::NotInFlight { point: self, kind })?;
        let moved = after.generation != before.generation;
        let stale = if moved { rest.current } else { 0 };
        let merged = grain == Grain::Merged;
        let stale_with = if carried || merged { stale } else { 0 };
        let point = Self {
            active: after.accepted.map(|accepted| accepted.active),
            corrections: after.corrections,
            failures: after.failures,
            current: rest.current - stale,
            late_with: rest.late_with + stale_with,
            late_without: rest.late_without + stale - stale_with,
        };
        Ok((point, verdict))
    }

    fn parts(self) -> PlacementParts<u8, u8> {
        PlacementParts {
            generation: NOW,
            accepted: self.active.map(|active| AcceptedParts {
                revision: REVISION,
                token: TOKEN,
                active,
            }),
            corrections: self.corrections,
            failures: self.failures,
        }
    }

    fn without(mut self, kind: Kind) -> Option<Self> {
        let count = match kind {
            Kind::Current => &mut self.current,
            Kind::LateWith => &mut self.late_with,
            Kind::LateWithout => &mut self.late_without,
        };
        *count = count.checked_sub(1)?;
        Some(self)
    }
}

impl Answer {
    fn outcome(self) -> Outcome<u8, u8> {
        let correction = |revision, told| {
            let token = match told {
                Told::Same => TOKEN,
                Told::Other | Told::Either => OTHER_TOKEN,
            };
            Outcome::Correction(Correction { revision, token })
        };
        match self {
            Self::Success => Outcome::Success,
            Self::Failure => Outcome::DestinationFailure,
            Self::Neutral => Outcome::Neutral,
            Self::Cancelled => Outcome::Cancelled,
            Self::Correction(Relation::First) => correction(REVISION, Told::Same),
            Self::Correction(Relation::Older(told)) => correction(REVISION - 1, told),
            Self::Correction(Relation::Equal(told)) => correction(REVISION, told),
            Self::Correction(Relation::Newer(told)) => correction(REVISION + 1, told),
        }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.active {
            None => "no watermark",
            Some(false) => "cleared",
            Some(true) => "active",
        })?;
        let (corrections, failures) = (self.corrections, self.failures);
        write!(f, ", corrections {corrections}, failures {failures}")?;
        let (current, with, without) = (self.current, self.late_with, self.late_without);
        write!(
            f,
            ", in flight {current} current, {with} late with a token, {without} late without"
        )
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begin => f.write_str("begin"),
            Self::Poll(answer) => write!(f, "poll: {answer}"),
            Self::End(Kind::Current, answer) => write!(f, "end a current one: {answer}"),
            Self::End(Kind::LateWith, answer) => write!(f, "end a late one with a token: {answer}"),
            Self::End(Kind::LateWithout, answer) => write!(f, "end a late one without: {answer}"),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Success => f.write_str("success"),
            Self::Failure => f.write_str("failure"),
            Self::Neutral => f.write_str("neutral"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Correction(Relation::First) => f.write_str("first correction"),
            Self::Correction(Relation::Older(told)) => write!(f, "older correction{told}"),
            Self::Correction(Relation::Equal(told)) => write!(f, "equal correction{told}"),
            Self::Correction(Relation::Newer(told)) => write!(f, "newer correction{told}"),
        }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Same => ", same token",
            Self::Other => ", other token",
            Self::Either => "",
        })
    }
}
