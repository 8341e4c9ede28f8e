//! The generated sequences: all of them are there, each run gives the same, and they notice what is wrong.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::Path;

use moorline_model::placement::{AttemptParts, Correction, Generation, Outcome, PlacementParts};
use moorline_model::wire::parse_correction;
use moorline_proofs::generate::{
    Counts, Goal, Grain, PINNED, Plan, STEPS_MAX, Suite, digest, generate,
};
use moorline_proofs::mutants::{Fault, Faulty};
use moorline_proofs::step::{Shipped, Step};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

fn suite(k: u8) -> Suite {
    let plan = Plan::of(k).expect("a plan");
    generate(&Shipped, plan).expect("a suite")
}

#[test]
fn each_suite_covers_its_goal_and_is_pinned() {
    let counts = |points, transitions, pairs, goal, sequences, steps, polls, deadlines| Counts {
        points,
        transitions,
        pairs,
        covered: goal,
        goal,
        sequences,
        steps,
        polls,
        deadlines,
    };
    let expected = [
        counts(13, 125, 1_230, 1_230, 119, 3_426, 3_249, 11),
        counts(89, 844, 5_323, 5_323, 883, 24_487, 18_444, 12),
        counts(117, 1_046, 7_967, 7_967, 1_418, 39_963, 26_841, 13),
        counts(374, 5_337, 67_401, 5_337, 652, 18_691, 12_981, 11),
    ];
    for (pinned, expected) in PINNED.iter().zip(expected) {
        let k = pinned.in_flight;
        let suite = suite(k);
        assert_eq!(suite.counts, expected, "K = {k}");
        let text = suite.text().expect("a text");
        assert_eq!(
            format!("{:016x}", digest(&text)),
            format!("{:016x}", pinned.digest),
            "K = {k}"
        );
        assert_eq!(
            self::suite(k).text().as_ref(),
            Ok(&text),
            "K = {k}: the same again"
        );
    }
}

#[test]
fn the_committed_files_are_what_is_generated() {
    let mut compared = 0;
    for plan in (1..=4)
        .filter_map(Plan::of)
        .filter(|plan| plan.is_committed())
    {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../fixtures/generated")
            .join(plan.file_name());
        let found = std::fs::read_to_string(&file).expect("a committed file");
        let text = suite(plan.in_flight).text().expect("a text");
        assert!(
            found == text,
            "{}: run `moorline-proofs generate`",
            file.display()
        );
        compared += 1;
    }
    assert_eq!(compared, 2);
}

/// Counts what is covered from the sequences alone, with another notion of a point than the generator's.
#[test]
fn a_reader_of_the_sequences_counts_the_same() {
    for k in 1..=4 {
        let suite = suite(k);
        let mut reader = Recount::new(suite.plan);
        for sequence in read(&suite) {
            assert!(sequence.steps.len() <= STEPS_MAX, "{}", sequence.name);
            reader.read(&sequence);
        }
        let counts = &suite.counts;
        assert_eq!(
            reader.transitions.len(),
            counts.transitions,
            "transitions, K = {k}"
        );
        if suite.plan.goal == Goal::Pairs {
            assert_eq!(reader.pairs.len(), counts.pairs, "pairs, K = {k}");
        }
    }
}

#[test]
fn every_wire_form_is_played_and_waiting_is_rare() {
    for k in 1..=4 {
        let suite = suite(k);
        assert_eq!(suite.forms.len(), 94, "K = {k}");
        assert!(suite.forms.values().all(|times| *times > 0), "K = {k}");
        assert!((5..=13).contains(&suite.counts.deadlines), "K = {k}");
    }
}

#[test]
fn what_cannot_happen_is_listed_with_its_reason() {
    for (k, points, classes, infeasible) in [(1, 0, 19, 93), (2, 41, 33, 512)] {
        let found = suite(k).infeasible;
        let listed: usize = found
            .after
            .values()
            .flatten()
            .map(|(_, names)| names.len())
            .sum();
        assert_eq!(listed, found.infeasible_pairs, "K = {k}");
        assert_eq!(
            found.feasible_pairs + found.infeasible_pairs,
            found.classes * found.classes,
            "K = {k}"
        );
        let counted = (found.points.len(), found.classes, found.infeasible_pairs);
        assert_eq!(counted, (points, classes, infeasible), "K = {k}");
    }
}

/// Plays the suites on every wrong step. What one poll at a time cannot show, two can.
#[test]
fn wrong_steps_are_noticed_on_the_wire() {
    let unnoticed = |k: u8, notices: fn(Noticed) -> bool| -> Vec<&str> {
        let sequences = read(&suite(k));
        let lives = |fault: &&Fault| {
            let step = Faulty::new(**fault);
            !sequences
                .iter()
                .any(|sequence| notices(run(&step, sequence)))
        };
        Fault::ALL
            .iter()
            .filter(lives)
            .map(|fault| fault.name())
            .collect()
    };
    for k in [1, 2] {
        assert!(read(&suite(k)).iter().all(|sequence| {
            let shipped = run(&Shipped, sequence);
            let again = run(&Faulty::new(Fault::Nothing), sequence);
            !shipped.on_the_wire && !shipped.at_all && !again.on_the_wire && !again.at_all
        }));
    }
    let fences = [
        "fence-dropped",
        "fence-dropped-for-corrections",
        "fence-dropped-for-failures",
        "fence-dropped-for-successes",
        "fence-stops-greater-only",
        "generation-stays",
        "cancelled-fences",
        "neutral-fences",
        "late-fences",
        "success-does-not-fence",
        "failure-does-not-fence",
        "older-does-not-fence",
    ];
    let alone = unnoticed(1, |noticed| noticed.on_the_wire);
    assert_eq!(alone.len(), 22, "{alone:?}");
    assert!(
        fences.iter().all(|fault| alone.contains(fault)),
        "{alone:?}"
    );
    // No token of any request tells these from the right step.
    let silent = [
        "tokenless-by-placement",
        "fence-stops-lesser-only",
        "late-is-told-as-success",
        "generation-by-two",
        "generation-saturates",
        "older-is-told-as-restored",
        "eviction-keeps-counter",
    ];
    // Nor does what a client reports: generations only grow, and by less than 2^64.
    let same = [
        "fence-stops-lesser-only",
        "generation-by-two",
        "generation-saturates",
    ];
    assert_eq!(unnoticed(2, |noticed| noticed.on_the_wire), silent);
    assert_eq!(unnoticed(2, |noticed| noticed.at_all), same);
    assert_eq!(unnoticed(3, |noticed| noticed.on_the_wire), silent);
}

#[derive(Deserialize)]
struct Sequence {
    name: String,
    steps: Vec<StepRead>,
}

#[derive(Deserialize)]
struct StepRead {
    begin: Option<String>,
    end: Option<String>,
    cancel: Option<String>,
    #[serde(default, deserialize_with = "present")]
    sends: Option<Option<String>>,
    answer: Option<AnswerRead>,
    expect: Option<ExpectRead>,
}

#[derive(Deserialize)]
struct AnswerRead {
    status: Option<u16>,
    #[serde(default)]
    headers: Vec<(String, Value)>,
    json: Option<Box<RawValue>>,
    body: Option<Value>,
    cut_after: Option<usize>,
    transport: Option<String>,
}

#[derive(Deserialize)]
struct ExpectRead {
    result: String,
    verdict: String,
    token: Option<String>,
    watermark: Option<u64>,
    corrections: u8,
    failures: u8,
}

fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

fn read(suite: &Suite) -> Vec<Sequence> {
    let read = |text: &String| serde_json::from_str(text).expect("a sequence");
    let sequences: Vec<Sequence> = suite.sequences.iter().map(read).collect();
    assert!(!sequences.is_empty());
    sequences
}

impl StepRead {
    /// What the step means for the placement; `None` where it ends no poll.
    fn outcome(&self) -> Option<Outcome<u64, String>> {
        let expect = self.expect.as_ref()?;
        let Some(answer) = &self.answer else {
            return Some(Outcome::Cancelled);
        };
        let failed = answer.transport.is_some() || answer.cut_after.is_some();
        Some(match answer.status {
            _ if failed => Outcome::DestinationFailure,
            Some(408 | 500..=599) => Outcome::DestinationFailure,
            Some(200 | 204) if expect.result == "ok" => Outcome::Success,
            Some(409) => answer
                .correction()
                .map_or(Outcome::Neutral, Outcome::Correction),
            _ => Outcome::Neutral,
        })
    }
}

impl AnswerRead {
    fn correction(&self) -> Option<Correction<u64, String>> {
        let body = match (&self.json, &self.body) {
            (Some(json), _) => json.get(),
            (None, Some(body)) => body.as_str()?,
            (None, None) => return None,
        };
        let lines = self
            .headers
            .iter()
            .filter(|(name, _)| name == "X-Tunnel-Shard-Token");
        let lines: Option<Vec<&str>> = lines.map(|(_, value)| value.as_str()).collect();
        let lines = lines?;
        let lines = lines.iter().map(|line| line.trim().as_bytes());
        let found = parse_correction(body.as_bytes(), lines).ok()?;
        Some(Correction {
            revision: found.revision.get(),
            token: found.token.expose().to_owned(),
        })
    }
}

/// A point, told from what the client is expected to show.
type Seen = (Option<u64>, bool, u8, u8, Vec<&'static str>);

struct Recount {
    plan: Plan,
    transitions: BTreeSet<(Seen, String)>,
    pairs: BTreeSet<((Seen, String), (Seen, String))>,
    last: Option<(Seen, String)>,
    shown: (Option<u64>, Option<String>, Option<String>, u8, u8),
    flying: Vec<(String, Option<String>, bool)>,
}

impl Recount {
    fn new(plan: Plan) -> Self {
        Self {
            plan,
            transitions: BTreeSet::new(),
            pairs: BTreeSet::new(),
            last: None,
            shown: (None, None, None, 0, 0),
            flying: Vec::new(),
        }
    }

    fn read(&mut self, sequence: &Sequence) {
        self.last = None;
        self.shown = (None, None, None, 0, 0);
        for step in &sequence.steps {
            let name = step
                .end
                .as_ref()
                .or(step.cancel.as_ref())
                .or(step.begin.as_ref());
            let name = name.cloned().unwrap_or_default();
            if let Some(token) = &step.sends {
                if self.plan.grain != Grain::Polls {
                    self.happens("begin".to_owned());
                }
                self.flying.push((name.clone(), token.clone(), true));
            }
            if let (Some(expect), Some(outcome)) = (&step.expect, step.outcome()) {
                self.end(&name, expect, outcome);
            }
        }
        assert!(self.flying.is_empty(), "{}", sequence.name);
    }

    fn end(&mut self, name: &str, expect: &ExpectRead, outcome: Outcome<u64, String>) {
        let place = self.flying.iter().position(|flying| flying.0 == name);
        let place = place.expect("a poll in flight");
        let kind = self.kind(place);
        let answer = self.answer(&outcome);
        if self.plan.grain == Grain::Polls {
            self.flying.remove(place);
            self.happens(answer);
        } else {
            self.happens(format!("{kind} {answer}"));
            self.flying.remove(place);
        }
        let unmoved = ["late", "neutral", "cancelled", "tokenless_failure"];
        if !unmoved.contains(&expect.verdict.as_str()) {
            self.flying.iter_mut().for_each(|flying| flying.2 = false);
        }
        if let Outcome::Correction(correction) = outcome
            && self.shown.0 != expect.watermark
        {
            self.shown.1 = Some(correction.token);
        }
        self.shown.0 = expect.watermark;
        self.shown.2.clone_from(&expect.token);
        (self.shown.3, self.shown.4) = (expect.corrections, expect.failures);
    }

    fn kind(&self, place: usize) -> &'static str {
        let merged = self.plan.grain == Grain::Merged;
        match self.flying.get(place).expect("a poll in flight") {
            (_, _, true) => "current",
            (_, Some(_), false) => "late",
            (_, None, false) if merged => "late",
            (_, None, false) => "late tokenless",
        }
    }

    fn answer(&self, outcome: &Outcome<u64, String>) -> String {
        let correction = match outcome {
            Outcome::Correction(correction) => correction,
            Outcome::Cancelled if self.plan.grain == Grain::Merged => return "Neutral".to_owned(),
            other => return format!("{other:?}"),
        };
        let same = self.shown.1.as_ref() == Some(&correction.token);
        let order = self
            .shown
            .0
            .map(|watermark| correction.revision.cmp(&watermark));
        let told = self.plan.grain == Grain::Polls || order == Some(Ordering::Equal);
        format!("{order:?} {}", told && same)
    }

    fn happens(&mut self, what: String) {
        let (watermark, _, token, corrections, failures) = &self.shown;
        let mut kinds: Vec<&str> = (0..self.flying.len())
            .map(|place| self.kind(place))
            .collect();
        kinds.sort_unstable();
        let known = watermark.map(|_| 0);
        let seen = (known, token.is_some(), *corrections, *failures, kinds);
        let now = (seen, what);
        if let Some(last) = self.last.replace(now.clone()) {
            self.pairs.insert((last, now.clone()));
        }
        self.transitions.insert(now);
    }
}

/// What a sequence notices of a step.
#[derive(Clone, Copy, Default)]
struct Noticed {
    /// A request carried another token.
    on_the_wire: bool,
    /// That, or another verdict or state was reported.
    at_all: bool,
}

fn run<S: Step>(step: &S, sequence: &Sequence) -> Noticed {
    let mut noticed = Noticed::default();
    let mut placement = PlacementParts::<u64, String> {
        generation: Generation::FIRST,
        accepted: None,
        corrections: 0,
        failures: 0,
    };
    let mut flying: Vec<(String, AttemptParts<String>)> = Vec::new();
    for now in &sequence.steps {
        let name = now
            .begin
            .as_ref()
            .or(now.end.as_ref())
            .or(now.cancel.as_ref());
        let name = name.cloned().unwrap_or_default();
        if let Some(sends) = &now.sends {
            let attempt = step.snapshot(placement.clone());
            noticed.on_the_wire |= attempt.token != *sends;
            flying.push((name.clone(), attempt));
        }
        let (Some(expect), Some(outcome)) = (&now.expect, now.outcome()) else {
            continue;
        };
        let place = flying.iter().position(|flying| flying.0 == name);
        let (_, attempt) = flying.remove(place.expect("a poll in flight"));
        let (after, verdict) = step.commit(placement, attempt, outcome);
        placement = after;
        let watermark = placement
            .accepted
            .as_ref()
            .map(|accepted| accepted.revision);
        noticed.at_all |= verdict.name() != expect.verdict
            || watermark != expect.watermark
            || placement.corrections != expect.corrections
            || placement.failures != expect.failures;
    }
    noticed.at_all |= noticed.on_the_wire;
    noticed
}
