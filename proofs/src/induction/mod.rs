//! The inductive step: for all data and runs of any length.
//!
//! A client that has just started satisfies every property of states. Every step from *any* state
//! that satisfies them, whether a client can reach it or not, leads to a state that satisfies them,
//! and satisfies every property of commits. So all of them hold for every run, whatever its length.
//!
//! The step is taken twice over. [`by_oracle`] runs the very generic code that the client runs on
//! data without values, once for each way in which its comparisons can turn out. [`by_orders`] runs
//! it on small numbers, once for each weak order of the revisions and each partition of the tokens.
//! Both must have seen the same from each skeleton.

mod by_oracle;
mod by_orders;
mod fence;
pub mod oracle;
pub mod skeleton;

use std::collections::{BTreeMap, BTreeSet};

pub use by_oracle::by_oracle;
pub use by_orders::by_orders;
pub use fence::{FENCE_PROPERTY, FENCE_STATEMENT, Fence, fence};
use moorline_model::placement::{Outcome, Verdict};
use skeleton::{BEGINS, ENDS, Event, Skeleton};

use crate::properties::{
    ALL, Commit, Judged, Standing, Subject, bit, indices, judge_commit, judge_standing,
};
use crate::step::Step;
use crate::system::{State, Token, begin, end, next_token};

/// The properties that the step may suppose of the state before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supposed(u64);

/// What the inductive step found.
#[derive(Clone, Debug, Default)]
pub struct Induction {
    /// How many skeletons were looked at.
    pub skeletons: u64,
    /// How many runs had a state before the step that satisfies what is supposed.
    pub cases: u64,
    /// How many had not, and say nothing.
    pub pruned: u64,
    /// For each property, in the order of [`ALL`], in how many cases it spoke.
    pub concerned: Vec<u64>,
    /// For each broken property, the first case that breaks it.
    pub broken: BTreeMap<usize, String>,
    /// What was seen from each skeleton and event of which some data satisfy what is supposed.
    pub seen: BTreeMap<(usize, Event), BTreeSet<Seen>>,
}

/// What can be told of one step without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// What the commit said, as its place in [`Verdict::ALL`]; `None` where a request began.
    pub verdict: Option<usize>,
    /// What the properties said.
    pub judged: Judged,
}

impl Supposed {
    /// All properties of states.
    #[must_use]
    pub fn all() -> Self {
        let standing = ALL
            .iter()
            .enumerate()
            .filter(|(_, property)| property.subject == Subject::Standing);
        Self(standing.map(|(index, _)| bit(index)).sum())
    }

    /// These without one.
    #[must_use]
    pub fn without(self, property: usize) -> Self {
        Self(self.0 & !bit(property))
    }

    /// The places of the properties in [`ALL`].
    pub fn indices(self) -> impl Iterator<Item = usize> {
        indices(self.0)
    }

    fn admits(self, judged: Judged) -> bool {
        judged.broken & self.0 == 0
    }
}

impl Induction {
    fn new() -> Self {
        Self {
            concerned: vec![0; ALL.len()],
            ..Self::default()
        }
    }

    fn note(&mut self, number: usize, event: Event, seen: Seen, tell: impl FnOnce() -> String) {
        self.cases += 1;
        self.seen.entry((number, event)).or_default().insert(seen);
        for index in indices(seen.judged.concerned) {
            if let Some(count) = self.concerned.get_mut(index) {
                *count += 1;
            }
        }
        let new = |index: &usize| !self.broken.contains_key(index);
        let new: Vec<usize> = indices(seen.judged.broken).filter(new).collect();
        if !new.is_empty() {
            let case = tell();
            self.broken
                .extend(new.into_iter().map(|index| (index, case.clone())));
        }
    }

    /// The names of the broken properties.
    #[must_use]
    pub fn broken_names(&self) -> Vec<&'static str> {
        let names = ALL.iter().enumerate();
        names
            .filter(|(index, _)| self.broken.contains_key(index))
            .map(|(_, property)| property.name)
            .collect()
    }
}

/// Whether a client that has just started satisfies every property of states.
pub fn start_satisfies<S: Step>(step: &S) -> Judged {
    judge_state(step, &State::<u8, u8>::new(true))
}

/// For each property of states: which properties no longer follow when it is not supposed.
///
/// The step is then called on placements that break an invariant. The shipped step asserts against
/// that in builds with debug assertions.
///
/// # Errors
///
/// See [`by_oracle`].
pub fn needed_for<S: Step>(
    step: &S,
) -> Result<BTreeMap<&'static str, Vec<&'static str>>, oracle::OracleFault> {
    let mut needed = BTreeMap::new();
    for index in Supposed::all().indices() {
        let found = by_oracle(step, Supposed::all().without(index))?;
        let name = ALL.get(index).map_or("", |property| property.name);
        needed.insert(name, found.broken_names());
    }
    Ok(needed)
}

fn judge_state<S: Step, R: Copy + Ord, T: Token>(step: &S, state: &State<R, T>) -> Judged {
    let next = next_token(step, state);
    judge_standing(&Standing { state, next: &next })
}

/// Takes one step from a state and judges it; `None` where it is not possible.
///
/// `outcome` is `None` where a request begins.
fn take<S: Step, R: Copy + Ord, T: Token>(
    step: &S,
    before: &State<R, T>,
    outcome: Option<&Outcome<R, T>>,
) -> Option<Seen> {
    let Some(outcome) = outcome else {
        let after = begin(step, before, BEGINS)?;
        let judged = judge_state(step, &after);
        return Some(Seen {
            verdict: None,
            judged,
        });
    };
    let ended = end(step, before, ENDS, outcome)?;
    let of_commit = judge_commit(&Commit {
        before,
        next_before: &next_token(step, before),
        slot: ENDS,
        attempt: &ended.attempt,
        outcome,
        verdict: ended.verdict,
        rise: ended.rise,
        after: &ended.after,
        next_after: &next_token(step, &ended.after),
    });
    let of_state = judge_state(step, &ended.after);
    Some(Seen {
        verdict: Verdict::ALL
            .iter()
            .position(|verdict| *verdict == ended.verdict),
        judged: Judged {
            concerned: of_commit.concerned | of_state.concerned,
            broken: of_commit.broken | of_state.broken,
        },
    })
}

/// A case in words, for a reader of a counterexample.
fn tell(skeleton: &Skeleton, event: Event, data: &str, seen: Seen) -> String {
    let verdict = seen.verdict.and_then(|index| Verdict::ALL.get(index));
    let verdict = verdict.map_or("began", |verdict| verdict.name());
    format!("before: {skeleton}\nevent: {event} ({verdict})\ndata: {data}")
}
