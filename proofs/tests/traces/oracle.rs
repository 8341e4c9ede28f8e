//! All traces of up to three ends, from all runs with up to four beginnings, found by trying
//! everything. Nothing here reasons about when an attempt can have begun: each run is made, in its
//! own order, and writes its events as the client does.

use std::collections::HashMap;

use moorline_model::placement::{
    Attempt, AttemptParts, Correction, Outcome, Placement, PlacementParts,
};
use moorline_model::wire::Revision;
use moorline_proofs::validate::{Category, Class, Event, Offered};

const BEGINNINGS: u64 = 4;
const ENDS: u64 = 3;

/// All traces.
#[derive(Default)]
pub(crate) struct Traces {
    /// Each once, in the order in which they were found.
    pub(crate) in_order: Vec<Vec<Event>>,
    /// With the least number of polls in flight among the runs that write it.
    pub(crate) in_flight: HashMap<Vec<Event>, u64>,
    /// How many runs there are.
    pub(crate) runs: u64,
}

type Result = Outcome<Revision, char>;

pub(crate) fn all() -> Traces {
    let mut found = Traces::default();
    let start = Run {
        placement: Placement::new().into_parts(),
        installs: 0,
        begun: 0,
        flying: Vec::new(),
        most_in_flight: 0,
        events: Vec::new(),
    };
    start.go_on(&mut found);
    found
}

impl Traces {
    fn write(&mut self, run: &Run) {
        self.runs += 1;
        if run.events.is_empty() {
            return;
        }
        let least = self.in_flight.entry(run.events.clone()).or_insert_with(|| {
            self.in_order.push(run.events.clone());
            u64::MAX
        });
        *least = (*least).min(run.most_in_flight);
    }
}

/// The members that go with each class of outcome, in one form of it.
pub(crate) fn answer(class: Class) -> (Option<Category>, Option<u16>, Option<u64>) {
    match class {
        Class::Cancelled => (Some(Category::Canceled), None, None),
        Class::Correction => (Some(Category::HttpError), Some(409), Some(200)),
        Class::DestinationFailure => (Some(Category::HttpError), Some(503), Some(200)),
        Class::Neutral => (Some(Category::HttpError), Some(401), Some(200)),
        Class::Success => (None, Some(204), Some(0)),
    }
}

pub(crate) fn revision(number: u64) -> Option<Revision> {
    Revision::new(number)
}

#[derive(Clone)]
struct Run {
    placement: PlacementParts<Revision, char>,
    installs: u64,
    begun: u64,
    flying: Vec<Flying>,
    most_in_flight: u64,
    events: Vec<Event>,
}

#[derive(Clone)]
struct Flying {
    number: u64,
    parts: AttemptParts<char>,
    token_sent: Option<u64>,
}

impl Run {
    /// Tries each next step, and so on.
    fn go_on(&self, found: &mut Traces) {
        found.write(self);
        if self.events.len() as u64 == ENDS {
            return;
        }
        if self.begun < BEGINNINGS {
            let mut next = self.clone();
            next.begin();
            next.go_on(found);
        }
        for index in 0..self.flying.len() {
            for outcome in outcomes() {
                let mut next = self.clone();
                next.end(index, outcome);
                next.go_on(found);
            }
        }
    }

    fn begin(&mut self) {
        self.begun += 1;
        let placement = Placement::from_parts(self.placement);
        self.flying.push(Flying {
            number: self.begun,
            parts: placement.snapshot().into_parts(),
            token_sent: placement.has_token().then_some(self.installs),
        });
        self.most_in_flight = self.most_in_flight.max(self.flying.len() as u64);
    }

    fn end(&mut self, index: usize, outcome: Result) {
        let flying = self.flying.remove(index);
        let mut placement = Placement::from_parts(self.placement);
        let (class, correction) = match outcome {
            Outcome::Cancelled => (Class::Cancelled, None),
            Outcome::Correction(correction) => (Class::Correction, Some(correction)),
            Outcome::DestinationFailure => (Class::DestinationFailure, None),
            Outcome::Neutral => (Class::Neutral, None),
            Outcome::Success => (Class::Success, None),
        };
        let accepted = correction.map(|correction| placement.has_accepted(&correction.token));
        let before = placement.watermark();
        let generation_taken = flying.parts.generation.get();
        let verdict = placement.commit(Attempt::from_parts(flying.parts), outcome);
        let installed = placement.watermark() != before;
        self.installs += u64::from(installed);
        let (fault, status, next_delay_ms) = answer(class);
        self.events.push(Event {
            sequence: self.events.len() as u64 + 1,
            attempt: flying.number,
            generation_taken,
            token_sent: flying.token_sent,
            token_offered: accepted.map(|accepted| match (installed, accepted) {
                (true, _) => Offered::Install(self.installs),
                (false, true) => Offered::Accepted,
                (false, false) => Offered::Other,
            }),
            outcome: class,
            fault,
            status,
            revision: correction.map(|correction| correction.revision),
            verdict,
            watermark: placement.watermark(),
            corrections: placement.corrections(),
            failures: placement.failures(),
            generation: placement.generation().get(),
            has_token: placement.has_token(),
            commands: 0,
            dropped: 0,
            next_delay_ms,
        });
        self.placement = placement.into_parts();
    }
}

/// Two revisions and two tokens are enough for each way in which a correction can compare.
fn outcomes() -> Vec<Result> {
    let mut outcomes = vec![
        Outcome::Cancelled,
        Outcome::DestinationFailure,
        Outcome::Neutral,
        Outcome::Success,
    ];
    for revision in [1, 2].into_iter().filter_map(Revision::new) {
        for token in ['a', 'b'] {
            outcomes.push(Outcome::Correction(Correction { revision, token }));
        }
    }
    outcomes
}
