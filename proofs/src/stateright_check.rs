//! The same systems as stateright models: a second explorer, written by others.
//!
//! stateright's properties look at one state. A property of commits is therefore judged where the
//! commit happens, in `next_state`, and the state after it remembers which properties broke
//! ([`Checked::broken`], always zero if all hold, so that it adds no states). Searches are
//! breadth-first with one thread, and none of the limits of the builder is used: in 0.31 a search
//! cut short by one passes its assertions.
//!
//! 0.31 goes on evaluating a property at each state after something was found of it, and keeps the
//! last find rather than the nearest. [`Model`] remembers what it has found, so that the nearest is
//! kept.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use stateright::{Checker, Model as _, Property};

use crate::explorer::Path;
use crate::properties::{
    ALL, Commit, Judged, Standing, bit, indices, judge_commit, judge_standing,
};
use crate::step::Step;
use crate::system::{Action, Bounds, State, System, next_token};

/// A system for stateright.
#[derive(Debug)]
pub struct Model<S> {
    system: System<S>,
    /// The properties for which a witness was found already, as bits.
    witnessed: AtomicU64,
    /// The properties that were reported as broken already, as bits.
    reported: AtomicU64,
}

/// A state, and the properties that the commit before it broke.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Checked {
    /// The state.
    pub state: State<u8, u8>,
    /// The properties that broke on the way here, as bits.
    pub broken: u64,
}

/// What stateright found.
#[derive(Clone, Debug)]
pub struct Checking {
    /// How many distinct states it reached.
    pub unique_states: usize,
    /// How many transitions it took, those to known states included.
    pub transitions: u64,
    /// The number of actions to the farthest state.
    pub depth: usize,
    /// A run that breaks it, for each property of [`crate::properties::ALL`] that is broken.
    pub broken: Vec<(usize, Path)>,
    /// The properties without a witness: those that never spoke.
    pub silent: Vec<usize>,
    /// How long the search took.
    pub took: Duration,
}

impl<S: Step> Model<S> {
    /// The model of a system.
    #[must_use]
    pub fn new(system: System<S>) -> Self {
        Self {
            system,
            witnessed: AtomicU64::new(0),
            reported: AtomicU64::new(0),
        }
    }

    fn checked(&self, state: State<u8, u8>, of_commit: Judged) -> Checked {
        let broken = of_commit.broken | self.judge_state(&state).broken;
        Checked { state, broken }
    }

    fn judge_state(&self, state: &State<u8, u8>) -> Judged {
        let next = next_token(self.system.step(), state);
        judge_standing(&Standing { state, next: &next })
    }

    fn judge_end(&self, state: &State<u8, u8>, action: Action) -> Option<(State<u8, u8>, Judged)> {
        let Action::End(slot, outcome) = action else {
            let after = self.system.after(state, action)?;
            return Some((after, Judged::default()));
        };
        let ended = self.system.end(state, slot, &outcome)?;
        let judged = judge_commit(&Commit {
            before: state,
            next_before: &next_token(self.system.step(), state),
            slot,
            attempt: &ended.attempt,
            outcome: &outcome,
            verdict: ended.verdict,
            rise: ended.rise,
            after: &ended.after,
            next_after: &next_token(self.system.step(), &ended.after),
        });
        Some((ended.after, judged))
    }

    /// Whether the state, or some commit from it, is spoken of by this property for the first time.
    fn is_first_witness(&self, state: &State<u8, u8>, property: usize) -> bool {
        let wanted = bit(property);
        if self.witnessed.load(Ordering::Relaxed) & wanted != 0 {
            return false;
        }
        let mut concerned = self.judge_state(state).concerned;
        self.system.each_action(state, |action| {
            if let Some((_, judged)) = self.judge_end(state, action) {
                concerned |= judged.concerned;
            }
        });
        if concerned & wanted == 0 {
            return false;
        }
        self.witnessed.fetch_or(wanted, Ordering::Relaxed);
        true
    }
}

impl<S: Step> stateright::Model for Model<S> {
    type State = Checked;
    type Action = Action;

    fn init_states(&self) -> Vec<Checked> {
        vec![self.checked(self.system.start(), Judged::default())]
    }

    fn actions(&self, checked: &Checked, actions: &mut Vec<Action>) {
        if checked.broken == 0 {
            self.system
                .each_action(&checked.state, |action| actions.push(action));
        }
    }

    fn next_state(&self, checked: &Checked, action: Action) -> Option<Checked> {
        let (after, judged) = self.judge_end(&checked.state, action)?;
        Some(self.checked(after, judged))
    }

    fn format_action(&self, action: &Action) -> String {
        crate::trace::action_text(action)
    }

    fn format_step(&self, last: &Checked, action: Action) -> Option<String> {
        let after = self.next_state(last, action)?;
        Some(crate::trace::state_text(&after.state))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = Vec::new();
        let bounds = self.system.bounds();
        let conditions = ALL.iter().zip(holds()).zip(witnesses());
        for (index, ((property, holds), witnessed)) in conditions.enumerate() {
            properties.push(Property::always(property.name, holds));
            if !is_silent(index, bounds) {
                properties.push(Property::sometimes(property.witness, witnessed));
            }
        }
        properties
    }
}

/// Has stateright search the whole system.
#[must_use]
pub fn check<S: Step>(system: System<S>) -> Checking {
    let started = Instant::now();
    let checker = Model::new(system).checker().threads(1).spawn_bfs().join();
    let took = started.elapsed();
    let mut broken = Vec::new();
    let mut silent = Vec::new();
    for (index, property) in ALL.iter().enumerate() {
        if let Some(path) = checker.discovery(property.name) {
            let actions = path.into_actions();
            broken.push((index, Path { actions }));
        }
        if checker.discovery(property.witness).is_none() {
            silent.push(index);
        }
    }
    Checking {
        unique_states: checker.unique_state_count(),
        // stateright counts the start among the generated states.
        transitions: (checker.state_count() as u64).saturating_sub(1),
        // It counts states on the way, not actions.
        depth: checker.max_depth().saturating_sub(1),
        broken,
        silent,
        took,
    }
}

/// In the words of the protocol: stateright's Explorer shows states so.
impl fmt::Debug for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::trace::state_text(&self.state))?;
        for property in indices(self.broken).filter_map(|index| ALL.get(index)) {
            write!(f, "\nBROKEN: {}", property.name)?;
        }
        Ok(())
    }
}

type Condition<S> = fn(&Model<S>, &Checked) -> bool;

fn keeps<S: Step, const PROPERTY: usize>(model: &Model<S>, checked: &Checked) -> bool {
    let broken = checked.broken & bit(PROPERTY);
    broken == 0 || model.reported.fetch_or(broken, Ordering::Relaxed) & broken != 0
}

fn speaks<S: Step, const PROPERTY: usize>(model: &Model<S>, checked: &Checked) -> bool {
    model.is_first_witness(&checked.state, PROPERTY)
}

/// stateright's conditions are plain function pointers, so each property needs one of its own.
macro_rules! one_for_each_property {
    ($function:ident: $($index:literal)*) => {
        [$($function::<S, $index>),*]
    };
}

fn holds<S: Step>() -> [Condition<S>; ALL.len()] {
    one_for_each_property!(keeps:
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
}

fn witnesses<S: Step>() -> [Condition<S>; ALL.len()] {
    one_for_each_property!(speaks:
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32)
}

/// Whether a property can speak of nothing in a system of this size: without an observer those that
/// need one say nothing, and with one request in flight none is late.
#[must_use]
pub fn is_silent(property: usize, bounds: Bounds) -> bool {
    let Some(property) = ALL.get(property) else {
        return false;
    };
    (property.name == "row-late" && bounds.in_flight == 1)
        || (NEED_AN_OBSERVER.contains(&property.name) && !bounds.ghosts)
}

/// The properties that hold the placement against the observer's books.
pub const NEED_AN_OBSERVER: [&str; 11] = [
    "third-correction-clears",
    "third-failure-clears",
    "conflict-clears",
    "watermark-is-the-greatest-committed",
    "accepted-token-is-the-first-committed",
    "current-means-nothing-committed-since",
    "corrections-counted-as-observed",
    "failures-counted-as-observed",
    "at-most-three-failures-count",
    "next-request-carries-the-active-token-or-none",
    "no-token-that-no-correction-gave",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Shipped;

    #[test]
    fn each_property_stands_beside_its_witness() {
        let model = Model::new(System::new(Shipped, Bounds::observed(2, 1, 1)).unwrap());
        let names: Vec<&str> = model.properties().iter().map(|found| found.name).collect();
        let expected: Vec<&str> = ALL
            .iter()
            .flat_map(|property| [property.name, property.witness])
            .collect();
        assert_eq!(names, expected);
        let plain = Model::new(System::new(Shipped, Bounds::plain(1, 1, 1)).unwrap());
        let silent = NEED_AN_OBSERVER.len() + 1;
        assert_eq!(plain.properties().len(), expected.len() - silent);
    }
}
