//! From a walk through the graph to a sequence: values for revisions and tokens, a form for each answer, and
//! what the placement makes of them.

use moorline_model::placement::{
    AttemptParts, Correction, Generation, Outcome, PlacementParts, Verdict,
};

use super::cover::{Walk, is_one_poll};
use super::forms::{self, Form, Lure};
use super::graph::{Answer, Graph, Kind, Move, Point, Relation, Told};
use super::requirements::requirements;
use super::text::{ExpectText, SequenceText, StepText};
use super::turns::Turns;
use super::{Grain, Plan, Problem, SEQUENCE_FORMAT};
use crate::step::Step;

/// Where the revisions of sequences begin, in turn. All leave room below and above.
const FIRST_REVISIONS: [u64; 8] = [42, 1, 900, 7, 1, 50, 2, 9_007_199_254_000_000];

/// How far a newer revision goes, in turn.
const ADVANCES: [u64; 3] = [1, 10, 1_000];

/// The token of every correction that must not be taken.
const LURE: &str = "trap";

/// Writes the sequence of one walk. `index` is its place among all.
pub(super) fn sequence<S: Step>(
    step: &S,
    plan: Plan,
    graph: &Graph,
    (index, walk): (usize, &Walk),
    turns: &mut Turns,
) -> Result<SequenceText, Problem> {
    let mut script = Script::new(step, plan, graph, index, turns);
    for place in 0..walk.transitions.len() {
        let first = script.steps.len();
        script.play(&walk.transitions, place)?;
        if let Some(step) = script.steps.get_mut(first).filter(|_| place == walk.probe) {
            step.note = Some("Probe.");
        }
    }
    let covers = requirements(&script.verdicts);
    let (steps, items) = (script.steps, plan.goal.items());
    let in_probe = steps.len()
        - steps
            .iter()
            .position(|step| step.note.is_some())
            .unwrap_or(0);
    Ok(SequenceText {
        format: SEQUENCE_FORMAT,
        name: format!("k{}-{:04}", plan.in_flight, index + 1),
        about: format!(
            "{} {items}, {} of them nowhere else; the last {in_probe} steps are the probe.",
            walk.covers, walk.alone
        ),
        covers,
        steps,
    })
}

struct Flying {
    name: String,
    attempt: AttemptParts<String>,
}

struct Script<'a, S> {
    step: &'a S,
    plan: Plan,
    graph: &'a Graph,
    index: usize,
    turns: &'a mut Turns,
    placement: PlacementParts<u64, String>,
    flying: Vec<Flying>,
    begun: usize,
    tokens: usize,
    retired: Vec<String>,
    moves: usize,
    waited: bool,
    verdicts: Vec<Verdict>,
    steps: Vec<StepText>,
}

impl<'a, S: Step> Script<'a, S> {
    fn new(step: &'a S, plan: Plan, graph: &'a Graph, index: usize, turns: &'a mut Turns) -> Self {
        Self {
            step,
            plan,
            graph,
            index,
            turns,
            placement: PlacementParts {
                generation: Generation::FIRST,
                accepted: None,
                corrections: 0,
                failures: 0,
            },
            flying: Vec::new(),
            begun: 0,
            tokens: 0,
            retired: Vec::new(),
            moves: index,
            waited: false,
            verdicts: Vec::new(),
            steps: Vec::new(),
        }
    }

    fn play(&mut self, walk: &[usize], place: usize) -> Result<(), Problem> {
        let transition = |place: usize| {
            let number = walk.get(place)?;
            self.graph.transitions.get(*number).copied()
        };
        let Some(now) = transition(place) else {
            return Ok(());
        };
        self.moves += 1;
        match now.step {
            Move::Begin if self.is_one_poll(walk, place + 1) => self.begin(false),
            Move::Begin => self.begin(true),
            Move::Poll(answer) => {
                self.begin(answer == Answer::Cancelled);
                let last = self.flying.len().saturating_sub(1);
                self.end(last, answer, true)?;
            }
            Move::End(kind, answer) => {
                let whole = self.is_one_poll(walk, place);
                let after_begin = place > 0
                    && transition(place - 1).is_some_and(|before| before.step == Move::Begin);
                let flight = self.choose(kind, whole, after_begin)?;
                self.end(flight, self.meant(answer, whole), whole)?;
            }
        }
        self.compare(now.to)
    }

    fn is_one_poll(&self, walk: &[usize], place: usize) -> bool {
        let before = place
            .checked_sub(1)
            .and_then(|before| walk.get(before).copied());
        let next = walk.get(place).copied();
        next.is_some_and(|next| is_one_poll(self.graph, before, next, place))
    }

    fn begin(&mut self, written: bool) {
        self.begun += 1;
        let name = format!("p{}", self.begun);
        let attempt = self.step.snapshot(self.placement.clone());
        if written {
            self.steps.push(StepText {
                begin: Some(name.clone()),
                sends: Some(attempt.token.clone()),
                ..StepText::default()
            });
        }
        self.flying.push(Flying { name, attempt });
    }

    /// A graph without cancellations counts them among the neutral answers.
    fn meant(&self, answer: Answer, whole: bool) -> Answer {
        let cancellations = self.plan.grain != Grain::Merged;
        if cancellations || whole || answer != Answer::Neutral || !self.moves.is_multiple_of(3) {
            answer
        } else {
            Answer::Cancelled
        }
    }

    /// Which request of this kind ends: the one begun last if both are one poll, else an earlier one if there
    /// is one, the first and the last of them in turn.
    fn choose(&self, kind: Kind, whole: bool, after_begin: bool) -> Result<usize, Problem> {
        let of_kind = |flying: &Flying| self.kind(&flying.attempt) == self.plan.kind(kind);
        let mut fitting: Vec<usize> = self
            .flying
            .iter()
            .enumerate()
            .filter(|(_, flying)| of_kind(flying))
            .map(|(place, _)| place)
            .collect();
        if whole {
            return fitting.pop().ok_or(Problem::Astray);
        }
        if after_begin && kind == Kind::Current && fitting.len() > 1 {
            fitting.pop();
        }
        let chosen = if self.moves.is_multiple_of(2) {
            fitting.first()
        } else {
            fitting.last()
        };
        chosen.copied().ok_or(Problem::Astray)
    }

    fn kind(&self, attempt: &AttemptParts<String>) -> Kind {
        let kind = match &attempt.token {
            _ if attempt.generation == self.placement.generation => Kind::Current,
            Some(_) => Kind::LateWith,
            None => Kind::LateWithout,
        };
        self.plan.kind(kind)
    }

    fn end(&mut self, flight: usize, answer: Answer, whole: bool) -> Result<(), Problem> {
        if flight >= self.flying.len() {
            return Err(Problem::Astray);
        }
        let Flying { name, attempt } = self.flying.remove(flight);
        let sends = attempt.token.clone();
        let (form, outcome) = self.answer(answer, whole && self.flying.is_empty())?;
        let before = self.placement.clone();
        let (after, verdict) = self.step.commit(before, attempt, outcome);
        self.retire(&after);
        self.placement = after;
        self.verdicts.push(verdict);
        let mut step = StepText {
            expect: Some(self.expect(form.as_ref(), verdict)),
            ..StepText::default()
        };
        match form {
            None => step.cancel = Some(name),
            Some(form) => {
                step.answer = Some(form.answer);
                if whole {
                    step.sends = Some(sends);
                } else {
                    step.end = Some(name);
                }
            }
        }
        self.steps.push(step);
        Ok(())
    }

    /// Keeps the token that is accepted no more.
    fn retire(&mut self, after: &PlacementParts<u64, String>) {
        let token_of = |parts: &PlacementParts<u64, String>| {
            parts
                .accepted
                .as_ref()
                .map(|accepted| accepted.token.clone())
        };
        let before = token_of(&self.placement);
        if before != token_of(after) {
            self.retired.extend(before);
        }
    }

    fn expect(&self, form: Option<&Form>, verdict: Verdict) -> ExpectText {
        let accepted = self.placement.accepted.as_ref();
        ExpectText {
            result: form.map_or("cancelled".to_owned(), |form| form.result.clone()),
            verdict: verdict.name(),
            token: self.step.snapshot(self.placement.clone()).token,
            watermark: accepted.map(|accepted| accepted.revision),
            corrections: self.placement.corrections,
            failures: self.placement.failures,
            commands: form.map_or(Vec::new(), |form| form.commands.clone()),
            retry_after_ms: form.and_then(|form| form.retry_after_ms),
        }
    }

    /// The form of an answer, and what it means; a cancellation has no form.
    fn answer(
        &mut self,
        answer: Answer,
        alone: bool,
    ) -> Result<(Option<Form>, Outcome<u64, String>), Problem> {
        let lure = Lure {
            revision: self.watermark().unwrap_or(0) + 5,
            token: LURE,
        };
        let (forms, outcome) = match answer {
            Answer::Cancelled => return Ok((None, Outcome::Cancelled)),
            Answer::Success => (forms::successes(&lure), Outcome::Success),
            Answer::Neutral => (forms::neutrals(&lure), Outcome::Neutral),
            Answer::Failure => (forms::failures(&lure), Outcome::DestinationFailure),
            Answer::Correction(relation) => {
                let (revision, token) = self.correction(relation)?;
                let forms = forms::corrections(revision, &token);
                (forms, Outcome::Correction(Correction { revision, token }))
            }
        };
        let form = if answer == Answer::Failure && alone && self.may_wait() {
            self.turns.wait()
        } else {
            self.turns.take(answer, &forms, alone)
        };
        let form = form.ok_or(Problem::Astray)?;
        *self.turns.played.entry(form.name).or_default() += 1;
        Ok((Some(form), outcome))
    }

    /// Whether a failure may wait for the deadline here: once in some of the sequences.
    fn may_wait(&mut self) -> bool {
        let chosen = self.index.is_multiple_of(self.plan.waits_each());
        chosen && !std::mem::replace(&mut self.waited, true)
    }

    fn watermark(&self) -> Option<u64> {
        self.placement
            .accepted
            .as_ref()
            .map(|accepted| accepted.revision)
    }

    fn correction(&mut self, relation: Relation) -> Result<(u64, String), Problem> {
        let turn = self.moves;
        let in_turn = |numbers: &[u64]| {
            let number = numbers.get(turn % numbers.len().max(1));
            number.copied().unwrap_or_default()
        };
        let watermark = self.watermark();
        Ok(match (relation, watermark) {
            (Relation::First, None) => {
                let revision = FIRST_REVISIONS.get(self.index % FIRST_REVISIONS.len());
                (revision.copied().unwrap_or(1), self.fresh_token())
            }
            (Relation::Older(told), Some(watermark)) => {
                let older = [watermark - 1, 0, watermark / 2];
                (in_turn(&older), self.token(told)?)
            }
            (Relation::Equal(told), Some(watermark)) => (watermark, self.token(told)?),
            (Relation::Newer(told), Some(watermark)) => {
                (watermark + in_turn(&ADVANCES), self.token(told)?)
            }
            (Relation::First, Some(_)) | (_, None) => return Err(Problem::Astray),
        })
    }

    fn token(&mut self, told: Told) -> Result<String, Problem> {
        let same = match told {
            Told::Same => true,
            Told::Other => false,
            Told::Either => self.moves.is_multiple_of(2),
        };
        let accepted = self
            .placement
            .accepted
            .as_ref()
            .map(|accepted| &accepted.token);
        let accepted = accepted.ok_or(Problem::Astray)?;
        if same {
            return Ok(accepted.clone());
        }
        // A token of the past is as good as a new one, and a better trap.
        let past = self.retired.last().filter(|past| *past != accepted);
        match past.filter(|_| self.moves.is_multiple_of(3)) {
            Some(past) => Ok(past.clone()),
            None => Ok(self.fresh_token()),
        }
    }

    fn fresh_token(&mut self) -> String {
        self.tokens += 1;
        match self.tokens % 4 {
            3 => format!("v{}/+=~!$&'*;:@?", self.tokens),
            _ => format!("t{}", self.tokens),
        }
    }

    /// The placement must be where the graph says.
    fn compare(&self, expected: usize) -> Result<(), Problem> {
        let expected = self.graph.points.get(expected).copied();
        let count = |kind| {
            let counted = self
                .flying
                .iter()
                .filter(|flying| self.kind(&flying.attempt) == kind);
            u8::try_from(counted.count()).unwrap_or(u8::MAX)
        };
        let point = Point {
            active: self
                .placement
                .accepted
                .as_ref()
                .map(|accepted| accepted.active),
            corrections: self.placement.corrections,
            failures: self.placement.failures,
            current: count(Kind::Current),
            late_with: count(Kind::LateWith),
            late_without: count(Kind::LateWithout),
        };
        if expected == Some(point) {
            Ok(())
        } else {
            Err(Problem::Astray)
        }
    }
}
