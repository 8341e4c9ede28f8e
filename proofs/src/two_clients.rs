//! Two clients of one tunnel, side by side.
//!
//! Each keeps a placement of its own, so nothing one does should show in the other. This would be
//! true by the shape of the system alone if the step could keep nothing outside the placement. So
//! after each step of one client, everything that the other could do next is done and held against
//! what it does when it is alone: a step that remembered anything across placements would differ
//! somewhere.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::step::Step;
use crate::system::{Action, Bounds, BoundsFault, System, next_token, pack, unpack};

/// The name of what is checked here.
pub const TWO_CLIENTS_PROPERTY: &str = "two-clients-never-affect-each-other";

/// The statement of what is checked here.
pub const TWO_CLIENTS_STATEMENT: &str =
    "Whatever one client does, the other then does exactly what it does alone.";

/// The size of each of the two.
pub const EACH: Bounds = Bounds::plain(1, 3, 3);

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TwoClients {
    /// How many states one client reaches alone.
    pub alone: usize,
    /// How many pairs of states the two reach together.
    pub together: usize,
    /// How many steps of one client were compared after a step of the other.
    pub compared: u64,
    /// The first difference.
    pub broken: Option<String>,
}

/// Runs two clients in every interleaving.
///
/// # Errors
///
/// [`EACH`] is out of range.
// spec-test: PLC-1
pub fn two_clients<S: Step>(step: &S) -> Result<TwoClients, BoundsFault> {
    let system = System::new(step.clone(), EACH)?;
    let alone = Alone::learn(&system);
    let mut found = TwoClients {
        alone: alone.futures.len(),
        together: 0,
        compared: 0,
        broken: None,
    };
    let start = pack(&system.start());
    let mut known = HashSet::from([(start, start)]);
    let mut pending = VecDeque::from([(start, start)]);
    while let Some((mover, other)) = pending.pop_front() {
        found.together += 1;
        // Pairs come in both orders, so that it is enough to move one.
        for (action, _) in alone.future(mover) {
            let Some(after) = system.after(&unpack(mover), *action) else {
                continue;
            };
            found.compare(&system, &alone, *action, other);
            for pair in [(pack(&after), other), (other, pack(&after))] {
                if known.insert(pair) {
                    pending.push_back(pair);
                }
            }
        }
    }
    Ok(found)
}

impl TwoClients {
    /// Does everything that the other client could do now.
    fn compare<S: Step>(&mut self, system: &System<S>, alone: &Alone, moved: Action, other: u64) {
        let state = unpack(other);
        let next = next_token(system.step(), &state);
        let mut differs = alone.next.get(&other) != Some(&next);
        for (action, expected) in alone.future(other) {
            self.compared += 1;
            let after = system.after(&state, *action).map(|after| pack(&after));
            differs |= after != Some(*expected);
        }
        if differs && self.broken.is_none() {
            self.broken = Some(format!(
                "after the other client's step ({}), this client does not do what it does alone:\n\
                 {}",
                crate::trace::action_text(&moved),
                crate::trace::state_text(&state),
            ));
        }
    }
}

/// What one client does alone.
struct Alone {
    futures: HashMap<u64, Vec<(Action, u64)>>,
    next: HashMap<u64, Option<u8>>,
}

impl Alone {
    fn learn<S: Step>(system: &System<S>) -> Self {
        let mut alone = Self {
            futures: HashMap::new(),
            next: HashMap::new(),
        };
        let mut pending = vec![pack(&system.start())];
        while let Some(word) = pending.pop() {
            if alone.futures.contains_key(&word) {
                continue;
            }
            let state = unpack(word);
            let mut future = Vec::new();
            system.each_action(&state, |action| {
                let after = system.after(&state, action);
                future.extend(after.map(|after| (action, pack(&after))));
            });
            pending.extend(future.iter().map(|(_, after)| *after));
            alone.futures.insert(word, future);
            alone.next.insert(word, next_token(system.step(), &state));
        }
        alone
    }

    fn future(&self, state: u64) -> &[(Action, u64)] {
        self.futures.get(&state).map_or(&[], Vec::as_slice)
    }
}
