//! Revisions and tokens that have no value.
//!
//! Whenever one is compared with another, an oracle decides how the comparison turns out,
//! consistently with what it decided before on the same run: it keeps the order of the revisions
//! and the equality of the tokens transitively closed, and only what these leave open is a choice.
//! [`each_path`] repeats a computation until every choice was made every way. Each run then stands
//! for all data that compares like that, whatever the types: no number of values has to be argued
//! to be enough.
//!
//! Wherever the closure leaves a pair open, every answer is consistent (two classes without an
//! order can be merged or put in either order without a cycle, and two token classes that nothing
//! tells apart can be merged or told apart), so no run ends in a contradiction.

use std::cell::RefCell;
use std::cmp::Ordering;

use crate::system::Token;

/// How many revisions there are.
pub const REVISIONS: usize = 4;

/// How many tokens there are.
pub const TOKENS: usize = 6;

/// More runs than any computation here takes.
const PATHS_MAX: u64 = 100_000;

/// A revision without a value.
#[derive(Clone, Copy, Debug)]
pub struct Revision(pub u8);

/// A token without a value.
#[derive(Clone, Debug)]
pub struct OpaqueToken(pub u8);

/// What keeps a computation from being run on every path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OracleFault {
    /// More paths than `PATHS_MAX`.
    #[error("a computation has more than {PATHS_MAX} paths")]
    TooManyPaths,
    /// The computation did not ask again what it had asked on an earlier run.
    #[error("a computation asked other questions when it was repeated")]
    NotRepeatable,
}

/// Runs a computation once for each way in which its comparisons can turn out; returns how many.
///
/// # Errors
///
/// The computation has too many paths, or does not repeat itself.
pub fn each_path(mut run: impl FnMut()) -> Result<u64, OracleFault> {
    ORACLE.with_borrow_mut(|oracle| *oracle = Oracle::default());
    for paths in 1..=PATHS_MAX {
        run();
        let (more, diverged) = ORACLE.with_borrow_mut(|oracle| (oracle.turn(), oracle.diverged));
        if diverged {
            return Err(OracleFault::NotRepeatable);
        }
        if !more {
            return Ok(paths);
        }
    }
    Err(OracleFault::TooManyPaths)
}

/// What was decided on this run so far, for a reader of a counterexample, with names for revisions
/// and tokens in the order of their numbers.
#[must_use]
pub fn facts(revisions: &[&str], tokens: &[&str]) -> String {
    let name = |names: &[&str], index: usize| {
        let name = names.get(index).copied();
        name.map_or_else(|| format!("number {index}"), str::to_owned)
    };
    ORACLE.with_borrow(|oracle| {
        let orders = pairs::<REVISIONS>()
            .filter(|(a, b)| a < b)
            .filter_map(|(a, b)| {
                let sign = match lookup(&oracle.order, a, b)? {
                    Ordering::Less => '<',
                    Ordering::Equal => '=',
                    Ordering::Greater => '>',
                };
                let (a, b) = (name(revisions, a), name(revisions, b));
                Some(format!("{a} revision {sign} {b} revision"))
            });
        let equalities = pairs::<TOKENS>()
            .filter(|(a, b)| a < b)
            .filter_map(|(a, b)| {
                let sign = if lookup(&oracle.same, a, b)? {
                    "="
                } else {
                    "!="
                };
                let (a, b) = (name(tokens, a), name(tokens, b));
                Some(format!("{a} token {sign} {b} token"))
            });
        let facts: Vec<String> = orders.chain(equalities).collect();
        if facts.is_empty() {
            return "whatever they are".to_owned();
        }
        facts.join(", ")
    })
}

impl Ord for Revision {
    fn cmp(&self, other: &Self) -> Ordering {
        ORACLE.with_borrow_mut(|oracle| oracle.compare(self.0.into(), other.0.into()))
    }
}

impl PartialOrd for Revision {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Eq for Revision {}

/// Asks for the full order, so that `==` and `cmp` can never disagree.
impl PartialEq for Revision {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for OpaqueToken {}

impl PartialEq for OpaqueToken {
    fn eq(&self, other: &Self) -> bool {
        ORACLE.with_borrow_mut(|oracle| oracle.equate(self.0.into(), other.0.into()))
    }
}

/// A set is the tokens that were put in; whether another is equal to one of them is asked.
impl Token for OpaqueToken {
    type Set = u8;

    fn insert(set: &mut u8, token: Self) {
        <u8 as Token>::insert(set, token.0);
    }

    fn is_in(&self, set: &u8) -> bool {
        // Itself first, which needs no question.
        self.0.is_in(set) || (0..8).any(|other: u8| other.is_in(set) && Self(other) == *self)
    }
}

thread_local! {
    static ORACLE: RefCell<Oracle> = RefCell::default();
}

#[derive(Default)]
struct Oracle {
    choices: Vec<Choice>,
    /// How many choices of this run were made.
    made: usize,
    order: [[Option<Ordering>; REVISIONS]; REVISIONS],
    same: [[Option<bool>; TOKENS]; TOKENS],
    /// Whether a run asked other questions than the one before it.
    diverged: bool,
}

#[derive(Clone, Copy)]
struct Choice {
    taken: usize,
    ways: usize,
}

const ORDERS: [Ordering; 3] = [Ordering::Less, Ordering::Equal, Ordering::Greater];

impl Oracle {
    fn compare(&mut self, a: usize, b: usize) -> Ordering {
        if a == b {
            return Ordering::Equal;
        }
        if let Some(known) = lookup(&self.order, a, b) {
            return known;
        }
        let taken = self.choose(ORDERS.len());
        let order = ORDERS.get(taken).copied().unwrap_or(Ordering::Equal);
        note(&mut self.order, a, b, order);
        note(&mut self.order, b, a, order.reverse());
        close(&mut self.order, compose_orders);
        order
    }

    fn equate(&mut self, a: usize, b: usize) -> bool {
        if a == b {
            return true;
        }
        if let Some(known) = lookup(&self.same, a, b) {
            return known;
        }
        let same = self.choose(2) == 1;
        note(&mut self.same, a, b, same);
        note(&mut self.same, b, a, same);
        close(&mut self.same, compose_equalities);
        same
    }

    /// One of `ways` numbers from 0: as before on the part of the run that is repeated, then 0.
    fn choose(&mut self, ways: usize) -> usize {
        let taken = match self.choices.get(self.made) {
            Some(choice) => {
                self.diverged |= choice.ways != ways;
                choice.taken
            }
            None => {
                self.choices.push(Choice { taken: 0, ways });
                0
            }
        };
        self.made += 1;
        taken
    }

    /// Prepares the next run; says whether there is one.
    fn turn(&mut self) -> bool {
        self.diverged |= self.made != self.choices.len();
        self.made = 0;
        self.order = Default::default();
        self.same = Default::default();
        while let Some(mut last) = self.choices.pop() {
            last.taken += 1;
            if last.taken < last.ways {
                self.choices.push(last);
                return true;
            }
        }
        false
    }
}

fn lookup<A: Copy, const N: usize>(table: &[[Option<A>; N]; N], a: usize, b: usize) -> Option<A> {
    *table.get(a)?.get(b)?
}

fn note<A, const N: usize>(table: &mut [[Option<A>; N]; N], a: usize, b: usize, value: A) {
    if let Some(place) = table.get_mut(a).and_then(|row| row.get_mut(b)) {
        *place = Some(value);
    }
}

/// Adds what follows over a third value until nothing does.
fn close<A: Copy, const N: usize>(table: &mut [[Option<A>; N]; N], compose: fn(A, A) -> Option<A>) {
    let mut grew = true;
    while grew {
        grew = false;
        for (a, b) in pairs::<N>() {
            if a == b || lookup(table, a, b).is_some() {
                continue;
            }
            let over = |c| compose(lookup(table, a, c)?, lookup(table, c, b)?);
            if let Some(value) = (0..N).find_map(over) {
                note(table, a, b, value);
                grew = true;
            }
        }
    }
}

fn pairs<const N: usize>() -> impl Iterator<Item = (usize, usize)> {
    (0..N).flat_map(|a| (0..N).map(move |b| (a, b)))
}

fn compose_orders(first: Ordering, second: Ordering) -> Option<Ordering> {
    match (first, second) {
        (Ordering::Equal, order) | (order, Ordering::Equal) => Some(order),
        (Ordering::Less, Ordering::Less) => Some(Ordering::Less),
        (Ordering::Greater, Ordering::Greater) => Some(Ordering::Greater),
        _ => None,
    }
}

fn compose_equalities(first: bool, second: bool) -> Option<bool> {
    (first || second).then_some(first && second)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// All comparisons of n revisions have as many outcomes as there are weak orders.
    #[test]
    fn every_weak_order_is_a_path() {
        for (count, orders) in [(1, 1), (2, 3), (3, 13), (4, 75)] {
            let mut seen = BTreeSet::new();
            let paths = each_path(|| {
                let all = (0..count).flat_map(|a| (0..count).map(move |b| (a, b)));
                seen.insert(
                    all.map(|(a, b)| Revision(a).cmp(&Revision(b)) as i8)
                        .collect::<Vec<_>>(),
                );
            });
            assert_eq!(paths, Ok(orders), "{count} revisions");
            assert_eq!(seen.len() as u64, orders, "{count} revisions");
        }
    }

    #[test]
    fn every_partition_is_a_path() {
        for (count, partitions) in [(1, 1), (2, 2), (3, 5), (4, 15), (5, 52), (6, 203)] {
            let mut seen = BTreeSet::new();
            let paths = each_path(|| {
                let all = (0..count).flat_map(|a| (0..count).map(move |b| (a, b)));
                seen.insert(
                    all.map(|(a, b)| OpaqueToken(a) == OpaqueToken(b))
                        .collect::<Vec<_>>(),
                );
            });
            assert_eq!(paths, Ok(partitions), "{count} tokens");
            assert_eq!(seen.len() as u64, partitions, "{count} tokens");
        }
    }

    /// Each run is an order: reflexive, antisymmetric and transitive in every triple.
    #[test]
    fn no_run_contradicts_itself() {
        let mut triples = 0;
        let paths = each_path(|| {
            let revisions = [0, 1, 2, 3].map(Revision);
            let mut sorted = revisions;
            sorted.sort();
            for window in sorted.windows(3) {
                assert!(window[0] <= window[1] && window[0] <= window[2]);
                triples += 1;
            }
        });
        assert!(paths.unwrap() > 75 / 2 && triples > 0);
    }

    #[test]
    fn a_computation_without_comparisons_has_one_path() {
        assert_eq!(each_path(|| {}), Ok(1));
        assert_eq!(each_path(|| assert!(Revision(2) == Revision(2))), Ok(1));
    }

    #[test]
    fn a_computation_that_changes_its_mind_is_noticed() {
        let mut runs = 0;
        let paths = each_path(|| {
            runs += 1;
            if runs % 2 == 1 {
                let _ = Revision(0) < Revision(1);
            }
        });
        assert_eq!(paths, Err(OracleFault::NotRepeatable));
    }

    #[test]
    fn decisions_can_be_read() {
        let mut told = Vec::new();
        let paths = each_path(|| {
            let _ = (Revision(0) < Revision(1), OpaqueToken(0) == OpaqueToken(2));
            told.push(facts(&["old", "new"], &["first"]));
        });
        assert_eq!(paths, Ok(6));
        assert_eq!(
            told[0],
            "old revision < new revision, first token != number 2 token"
        );
        assert_eq!(
            told[5],
            "old revision > new revision, first token = number 2 token"
        );
    }

    #[test]
    fn membership_is_asked_of_all_that_were_put_in() {
        let mut set = 0;
        OpaqueToken::insert(&mut set, OpaqueToken(0));
        OpaqueToken::insert(&mut set, OpaqueToken(1));
        let mut answers = Vec::new();
        let paths = each_path(|| answers.push(OpaqueToken(2).is_in(&set)));
        // Not the first and not the second; the second; the first.
        assert_eq!((paths, answers), (Ok(3), vec![false, true, true]));
        assert!(OpaqueToken(1).is_in(&set));
    }
}
