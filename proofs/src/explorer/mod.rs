//! An exact breadth-first explorer.
//!
//! It visits every reachable state of a [`System`] once and judges every transition. The set of
//! known states holds the states themselves, one word each, so that no two can be taken for one
//! another. A step copies small values and allocates nothing.

mod found;
mod known;

pub use found::{Finding, Path, Site, Tally};
use known::Known;
use moorline_model::placement::Verdict;
use thiserror::Error;

use crate::properties::{ALL, Commit, Judged, Standing, indices, judge_commit, judge_standing};
use crate::step::Step;
use crate::system::{Action, State, System, begin, next_token, pack, unpack};

/// More states than any system here has. A search that reaches it is an error, never a result.
pub const STATES_MAX: usize = 20_000_000;

/// Everything that a search found.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// Every reachable state, packed, in the order in which they were found: nearest first.
    pub states: Vec<u64>,
    /// How many there are.
    pub state_count: u64,
    /// How many transitions were taken, those to known states included.
    pub transitions: u64,
    /// The number of actions to the farthest state.
    pub depth: usize,
    /// What was found of each property, in the order of [`ALL`].
    pub tallies: Vec<Tally>,
    /// How often each verdict was seen, in the order of [`Verdict::ALL`].
    pub verdicts: [u64; Verdict::ALL.len()],
    /// The memory that the states, their order and the set of known ones took, in bytes.
    pub memory: usize,
    parents: Vec<u32>,
}

/// Why a search has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SearchFault {
    /// The system has more than [`STATES_MAX`] states.
    #[error("more than {STATES_MAX} states: the search was given up and shows nothing")]
    TooManyStates,
}

/// Explores the whole system.
///
/// A state that breaks a property of states is reported and not expanded: nothing is claimed of
/// what follows it.
///
/// # Errors
///
/// [`SearchFault::TooManyStates`]; a part of a system is never reported as the whole.
pub fn explore<S: Step>(system: &System<S>) -> Result<Exploration, SearchFault> {
    let mut search = Search::new(system);
    search.reach(&system.start(), 0)?;
    let mut level_end = search.order.len();
    let mut next = 0;
    while let Some(word) = search.order.get(next).copied() {
        if next == level_end {
            search.depth += 1;
            level_end = search.order.len();
        }
        search.expand(next, &unpack(word))?;
        next += 1;
    }
    Ok(search.finish())
}

impl Exploration {
    /// The finding that breaks this property, if one was found.
    #[must_use]
    pub fn broken(&self, property: usize) -> Option<Finding> {
        self.tallies.get(property)?.broken
    }

    /// The nearest finding that this property speaks of, if there is one.
    #[must_use]
    pub fn witness(&self, property: usize) -> Option<Finding> {
        self.tallies.get(property)?.witness
    }

    /// The names of all broken properties.
    #[must_use]
    pub fn broken_names(&self) -> Vec<&'static str> {
        let named = ALL.iter().zip(&self.tallies);
        named
            .filter(|(_, tally)| tally.broken.is_some())
            .map(|(property, _)| property.name)
            .collect()
    }

    /// A shortest run to a finding.
    #[must_use]
    pub fn path<S: Step>(&self, system: &System<S>, finding: Finding) -> Path {
        let mut actions = Vec::new();
        if let Site::After(action) = finding.site {
            actions.push(action);
        }
        let mut at = finding.state;
        while let Some(parent) = self.parent(at) {
            actions.extend(self.action_between(system, parent, at));
            at = parent;
        }
        actions.reverse();
        Path { actions }
    }

    /// The start has itself as parent.
    fn parent(&self, index: u32) -> Option<u32> {
        let parent = self.parents.get(index as usize).copied()?;
        (parent != index).then_some(parent)
    }

    fn action_between<S: Step>(&self, system: &System<S>, from: u32, to: u32) -> Option<Action> {
        let from = unpack(*self.states.get(from as usize)?);
        let to = *self.states.get(to as usize)?;
        let mut found = None;
        system.each_action(&from, |action| {
            let leads = || {
                system
                    .after(&from, action)
                    .is_some_and(|after| pack(&after) == to)
            };
            if found.is_none() && leads() {
                found = Some(action);
            }
        });
        found
    }
}

struct Search<'a, S> {
    system: &'a System<S>,
    known: Known,
    order: Vec<u64>,
    parents: Vec<u32>,
    /// States that broke a property of states, in order.
    dead: Vec<usize>,
    transitions: u64,
    depth: usize,
    tallies: [Tally; ALL.len()],
    verdicts: [u64; Verdict::ALL.len()],
}

impl<'a, S: Step> Search<'a, S> {
    fn new(system: &'a System<S>) -> Self {
        Self {
            system,
            known: Known::new(),
            order: Vec::new(),
            parents: Vec::new(),
            dead: Vec::new(),
            transitions: 0,
            depth: 0,
            tallies: [Tally::default(); ALL.len()],
            verdicts: [0; Verdict::ALL.len()],
        }
    }

    /// Notes a state, and judges it if it is new.
    fn reach(&mut self, state: &State<u8, u8>, from: usize) -> Result<(), SearchFault> {
        let word = pack(state);
        if !self.known.insert(word) {
            return Ok(());
        }
        let index = self.order.len();
        if index >= STATES_MAX {
            return Err(SearchFault::TooManyStates);
        }
        self.order.push(word);
        self.parents.push(short(from));
        let next = next_token(self.system.step(), state);
        let judged = judge_standing(&Standing { state, next: &next });
        self.note(judged, Finding::at(short(index)));
        if judged.broken != 0 {
            self.dead.push(index);
        }
        Ok(())
    }

    fn expand(&mut self, index: usize, state: &State<u8, u8>) -> Result<(), SearchFault> {
        if self.dead.binary_search(&index).is_ok() {
            return Ok(());
        }
        let next_before = next_token(self.system.step(), state);
        let bounds = self.system.bounds();
        for (slot, flight) in state.flights.iter().enumerate().take(bounds.in_flight) {
            if flight.is_some() {
                self.end_each(index, state, &next_before, slot)?;
            } else if let Some(after) = begin(self.system.step(), state, slot) {
                self.transitions += 1;
                self.reach(&after, index)?;
            }
        }
        Ok(())
    }

    /// Ends the request of one slot in every way.
    fn end_each(
        &mut self,
        index: usize,
        state: &State<u8, u8>,
        next_before: &Option<u8>,
        slot: usize,
    ) -> Result<(), SearchFault> {
        let system = self.system;
        for outcome in system.answers() {
            let Some(ended) = system.end(state, slot, outcome) else {
                continue;
            };
            self.transitions += 1;
            if let Some(count) = self.verdicts.get_mut(ended.verdict as usize) {
                *count += 1;
            }
            let judged = judge_commit(&Commit {
                before: state,
                next_before,
                slot,
                attempt: &ended.attempt,
                outcome,
                verdict: ended.verdict,
                rise: ended.rise,
                after: &ended.after,
                next_after: &next_token(system.step(), &ended.after),
            });
            self.note(
                judged,
                Finding::after(short(index), Action::End(slot, *outcome)),
            );
            self.reach(&ended.after, index)?;
        }
        Ok(())
    }

    fn note(&mut self, judged: Judged, finding: Finding) {
        for index in indices(judged.concerned) {
            if let Some(tally) = self.tallies.get_mut(index) {
                tally.concerned += 1;
                if tally.witness.is_none() {
                    tally.witness = Some(finding);
                }
            }
        }
        for index in indices(judged.broken) {
            if let Some(tally) = self.tallies.get_mut(index) {
                tally.broken = tally.broken.or(Some(finding));
            }
        }
    }

    fn finish(self) -> Exploration {
        let memory = self.known.memory()
            + self.order.capacity() * size_of::<u64>()
            + self.parents.capacity() * size_of::<u32>();
        Exploration {
            state_count: self.order.len() as u64,
            states: self.order,
            transitions: self.transitions,
            depth: self.depth,
            tallies: self.tallies.to_vec(),
            verdicts: self.verdicts,
            memory,
            parents: self.parents,
        }
    }
}

/// Indices stay below [`STATES_MAX`], which fits.
fn short(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Shipped;
    use crate::system::Bounds;

    #[test]
    fn packing_loses_nothing() {
        let system = System::new(Shipped, Bounds::observed(2, 3, 3)).unwrap();
        let found = explore(&system).unwrap();
        assert!(found.states.len() > 1_000);
        for word in &found.states {
            let state = unpack(*word);
            assert_eq!(pack(&state), *word);
            let mut after = Vec::new();
            system.each_action(&state, |action| after.extend(system.after(&state, action)));
            for state in after {
                assert_eq!(unpack(pack(&state)), state);
            }
        }
    }

    #[test]
    fn a_path_leads_where_it_says() {
        let system = System::new(Shipped, Bounds::plain(2, 2, 2)).unwrap();
        let found = explore(&system).unwrap();
        for (index, word) in found.states.iter().enumerate() {
            let path = found.path(&system, Finding::at(short(index)));
            let end = path
                .actions
                .iter()
                .try_fold(system.start(), |state, action| {
                    system.after(&state, *action)
                });
            assert_eq!(end.map(|state| pack(&state)), Some(*word));
            assert!(path.actions.len() <= found.depth);
        }
    }
}
