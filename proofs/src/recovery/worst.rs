use std::collections::HashMap;

use super::{Service, bound, services};
use crate::explorer::{Exploration, Finding, Path};
use crate::step::Step;
use crate::system::{Action, State, System, pack, unpack};
use moorline_model::placement::Outcome;

/// The name of what is checked here.
pub const BOUND_PROPERTY: &str = "recovers-within-3k-completed-polls";

/// The statement of what is checked here.
pub const BOUND_STATEMENT: &str = "\
    From every reachable state a cooperative service is reached within 3 K completed polls, in \
    whatever order answers come; some state needs that many.";

/// The longest way to a success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worst {
    /// How many states with a service towards which they are cooperative were looked at.
    pub cases: u64,
    /// Completed polls to the success, itself included, when the revision is above the watermark.
    pub newer: usize,
    /// The same when it is equal, with the accepted token.
    pub equal: usize,
    /// A longest run: from the start to a worst state, then on to the success.
    pub witness: Path,
    /// At which action of the witness the service becomes cooperative.
    pub turns: usize,
    /// Where the bound is passed, or not reached.
    pub broken: Option<String>,
}

/// Finds the longest way from any reachable state to a success of a cooperative service.
pub fn worst<S: Step>(system: &System<S>, reachable: &Exploration) -> Worst {
    let bounds = system.bounds();
    let mut search = Search {
        system,
        known: HashMap::new(),
    };
    let mut found = Worst {
        cases: 0,
        newer: 0,
        equal: 0,
        witness: Path {
            actions: Vec::new(),
        },
        turns: 0,
        broken: None,
    };
    let mut worst = None;
    for service in services(bounds.revisions + 1, bounds.tokens + 1) {
        // Each service is searched by itself, so that what is remembered stays small.
        search.known.clear();
        for (index, word) in (0..).zip(&reachable.states) {
            let state = unpack(*word);
            if !service.is_cooperative(&state.shape) {
                continue;
            }
            found.cases += 1;
            let polls = search.longest(*word, &service, bound(bounds.in_flight) * 2);
            let is_newer = state
                .shape
                .accepted
                .is_none_or(|accepted| accepted.revision < service.revision);
            let of_kind = if is_newer {
                &mut found.newer
            } else {
                &mut found.equal
            };
            *of_kind = polls.max(*of_kind);
            if worst.is_none_or(|(most, _, _)| polls > most) {
                worst = Some((polls, Finding::at(index), service));
            }
        }
    }
    if let Some((_, finding, service)) = worst {
        found.witness = reachable.path(system, finding);
        found.turns = found.witness.actions.len();
        search.known.clear();
        let state = unpack(
            reachable
                .states
                .get(finding.index())
                .copied()
                .unwrap_or_default(),
        );
        found
            .witness
            .actions
            .extend(search.longest_run(state, &service));
    }
    let expected = bound(bounds.in_flight);
    if (found.newer, found.equal) != (expected, expected) {
        let told = |polls: usize| {
            if polls > 2 * expected {
                "no bound".to_owned()
            } else {
                format!("{polls} completed polls")
            }
        };
        found.broken = Some(format!(
            "expected {expected} completed polls at worst with {} in flight, found {} for a newer \
             revision and {} for the accepted pair",
            bounds.in_flight,
            told(found.newer),
            told(found.equal)
        ));
    }
    found
}

struct Search<'a, S> {
    system: &'a System<S>,
    known: HashMap<u64, usize>,
}

impl<S: Step> Search<'_, S> {
    /// The most polls that can complete until the first success. `left` bounds the search for a
    /// wrong step that never gets there: what it returns then is past every bound.
    fn longest(&mut self, word: u64, service: &Service<u8, u8>, left: usize) -> usize {
        if let Some(known) = self.known.get(&word) {
            return *known;
        }
        let state = unpack(word);
        let mut most = 0;
        for (action, polls) in self.steps(&state, service) {
            let further = match action {
                Action::End(_, Outcome::Success) => 0,
                _ if left < polls + 1 => usize::from(u8::MAX),
                _ => {
                    let after = self.system.after(&state, action);
                    after.map_or(0, |after| self.longest(pack(&after), service, left - polls))
                }
            };
            most = most.max(polls + further);
        }
        self.known.insert(word, most);
        most
    }

    fn longest_run(&mut self, start: State<u8, u8>, service: &Service<u8, u8>) -> Vec<Action> {
        let limit = bound(self.system.bounds().in_flight) * 2;
        let mut run = Vec::new();
        let mut state = start;
        // Each poll is one beginning and one end at most.
        for _ in 0..2 * limit {
            let mut best: Option<(usize, Action, State<u8, u8>, bool)> = None;
            for (action, polls) in self.steps(&state, service) {
                let Some(after) = self.system.after(&state, action) else {
                    continue;
                };
                let ends = matches!(action, Action::End(_, Outcome::Success));
                let further = if ends {
                    0
                } else {
                    self.longest(pack(&after), service, limit)
                };
                if best.is_none_or(|(most, ..)| polls + further > most) {
                    best = Some((polls + further, action, after, ends));
                }
            }
            let Some((_, action, after, ends)) = best else {
                break;
            };
            run.push(action);
            state = after;
            if ends {
                break;
            }
        }
        run
    }

    /// What can happen, and whether a poll completes by it.
    fn steps(&self, state: &State<u8, u8>, service: &Service<u8, u8>) -> Vec<(Action, usize)> {
        let slots = state.flights.iter().enumerate();
        slots
            .take(self.system.bounds().in_flight)
            .map(|(slot, flight)| match flight {
                None => (Action::Begin(slot), 0),
                Some(flight) => {
                    let answer = service.answer(flight.token.as_ref());
                    (Action::End(slot, answer), 1)
                }
            })
            .collect()
    }
}
