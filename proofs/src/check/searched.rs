//! Both explorers on every system.

use std::time::Duration;

use super::{Lane, Pins, Progress, timed};
use crate::explorer::{Exploration, Path, SearchFault, explore};
use crate::properties::ALL;
use crate::report::{Counted, Report, Row, Unit};
use crate::stateright_check::{self, Checking, is_silent};
use crate::step::Step;
use crate::system::{Bounds, BoundsFault, System};
use crate::trace::mermaid;
use moorline_model::placement::Verdict;

/// A system with its counts.
#[derive(Clone, Copy, Debug)]
pub struct Pinned {
    /// The size.
    pub bounds: Bounds,
    /// Distinct states.
    pub states: u64,
    /// Transitions, those to known states included.
    pub transitions: u64,
    /// Actions to the farthest state.
    pub depth: usize,
}

/// Every system that is searched, with the counts of both explorers.
pub const SYSTEMS: [Pinned; 9] = [
    of(Bounds::plain(1, 3, 3), 218, 1_526, 9),
    of(Bounds::plain(2, 3, 3), 1_880, 34_984, 12),
    of(Bounds::plain(3, 3, 3), 12_554, 377_826, 17),
    of(Bounds::plain(4, 3, 3), 76_688, 3_181_232, 18),
    of(Bounds::observed(1, 3, 3), 1_070, 7_490, 17),
    of(Bounds::observed(2, 3, 3), 7_856, 144_280, 18),
    of(Bounds::observed(3, 3, 3), 45_590, 1_350_222, 19),
    of(Bounds::observed(4, 3, 3), 246_320, 10_048_016, 20),
    of(Bounds::observed(4, 4, 4), 1_256_720, 79_552_860, 22),
];

const OWN: &str = "own explorer";
const STATERIGHT: &str = "stateright";

const fn of(bounds: Bounds, states: u64, transitions: u64, depth: usize) -> Pinned {
    Pinned {
        bounds,
        states,
        transitions,
        depth,
    }
}

/// What one explorer found of each system.
pub(super) type Searches<A> = Vec<(Pinned, Result<A, SearchProblem>)>;

/// Why a system could not be searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchProblem {
    /// Its size.
    #[error(transparent)]
    Bounds(#[from] BoundsFault),
    /// The search.
    #[error(transparent)]
    Search(#[from] SearchFault),
}

/// Searches one system with both explorers and says whether they agree with each other and with
/// what is pinned.
///
/// # Errors
///
/// The system could not be searched.
pub fn agree<S: Step>(step: &S, expected: &Pinned) -> Result<bool, SearchProblem> {
    let system = System::new(step.clone(), expected.bounds)?;
    let own = explore(&system)?;
    let stateright = stateright_check::check(system);
    let counts = (expected.states, expected.transitions, expected.depth);
    Ok(counts_of_own(&own) == counts && counts_of_stateright(&stateright) == counts)
}

pub(super) fn by_own<S: Step>(
    step: &S,
    progress: &impl Progress,
) -> Searches<(Exploration, Duration)> {
    search(Lane::Own, progress, |bounds| {
        let system = System::new(step.clone(), bounds)?;
        let (found, took) = timed(|| explore(&system));
        let mut found = found?;
        // A path needs the states, the report of a search without a finding does not.
        if found.broken_names().is_empty() {
            found.states = Vec::new();
        }
        Ok((found, took))
    })
}

pub(super) fn by_stateright<S: Step>(step: &S, progress: &impl Progress) -> Searches<Checking> {
    search(Lane::Stateright, progress, |bounds| {
        Ok(stateright_check::check(System::new(step.clone(), bounds)?))
    })
}

fn search<A>(
    lane: Lane,
    progress: &impl Progress,
    mut search: impl FnMut(Bounds) -> Result<A, SearchProblem>,
) -> Searches<A> {
    let each = SYSTEMS.iter().map(|expected| {
        progress.stage(lane, &expected.bounds.to_string());
        (*expected, search(expected.bounds))
    });
    each.collect()
}

pub(super) fn report<S: Step>(
    step: &S,
    (own, stateright): (Searches<(Exploration, Duration)>, Searches<Checking>),
    report: &mut Report,
    pins: &mut Pins,
) {
    for ((expected, own), (_, stateright)) in own.iter().zip(&stateright) {
        let own = own
            .as_ref()
            .map(|(found, took)| (counts_of_own(found), *took));
        let stateright = stateright
            .as_ref()
            .map(|found| (counts_of_stateright(found), found.took));
        for (method, found) in [(OWN, own), (STATERIGHT, stateright)] {
            match found {
                Ok(found) => put_counts(expected, method, found, report, pins),
                Err(problem) => put_problem(expected, method, *problem, report),
            }
        }
    }
    put_agreement(&own, &stateright, report);
    put_verdicts(&own, report, pins);
    pins.compare(
        "searches",
        2 * SYSTEMS.len() as u64,
        report.systems.len() as u64,
    );
    for index in 0..ALL.len() {
        report.rows.push(row_of_own(step, index, &own));
        report
            .rows
            .push(row_of_stateright(step, index, &stateright));
    }
}

fn put_counts(
    expected: &Pinned,
    method: &str,
    (counts, took): (Counts, Duration),
    report: &mut Report,
    pins: &mut Pins,
) {
    let system = expected.bounds.to_string();
    let (states, transitions, depth) = counts;
    let of = |what: &str| format!("{what} of {system} ({method})");
    pins.compare(&of("states"), expected.states, states);
    pins.compare(&of("transitions"), expected.transitions, transitions);
    pins.compare(&of("depth"), expected.depth as u64, depth as u64);
    report.systems.push(Counted {
        system,
        method: method.to_owned(),
        states,
        transitions,
        depth,
        took,
        as_expected: counts == (expected.states, expected.transitions, expected.depth),
    });
}

fn put_problem(expected: &Pinned, method: &str, problem: SearchProblem, report: &mut Report) {
    let (property, nothing) = ("every-system-is-searched", (0, Unit::States));
    let problem = format!("{}: {problem}", expected.bounds);
    let row = Row::fails(property, method, nothing, Duration::ZERO, problem);
    report.rows.push(row);
}

/// States, transitions and depth.
type Counts = (u64, u64, usize);

fn counts_of_own(found: &Exploration) -> Counts {
    (found.state_count, found.transitions, found.depth)
}

fn counts_of_stateright(found: &Checking) -> Counts {
    (found.unique_states as u64, found.transitions, found.depth)
}

/// Both explorers counted the same on every system. Where a property is broken they need not: each
/// goes on from there in its own way.
fn put_agreement(
    own: &Searches<(Exploration, Duration)>,
    stateright: &Searches<Checking>,
    report: &mut Report,
) {
    let (mut cases, mut took, mut problem, mut broken) = (0, Duration::ZERO, None, false);
    for ((expected, own), (_, stateright)) in own.iter().zip(stateright) {
        let (Ok((own, own_took)), Ok(stateright)) = (own, stateright) else {
            continue;
        };
        if !own.broken_names().is_empty() || !stateright.broken.is_empty() {
            broken = true;
            continue;
        }
        cases += 1;
        took += *own_took + stateright.took;
        let counts = (counts_of_own(own), counts_of_stateright(stateright));
        if counts.0 != counts.1 {
            problem = problem.or(Some(format!("{}: {counts:?}", expected.bounds)));
        }
    }
    if cases > 0 || !broken {
        let cases = (cases, Unit::Searches);
        report
            .rows
            .push(Row::judged("explorers-agree", "both", cases, took, problem));
    }
}

/// Every verdict occurs in every system in which it can: all but `late` with one request in flight.
fn put_verdicts(own: &Searches<(Exploration, Duration)>, report: &mut Report, pins: &mut Pins) {
    let mut cases = 0;
    let mut missing = None;
    for (expected, found) in own {
        let Ok((found, _)) = found else {
            continue;
        };
        for (verdict, count) in Verdict::ALL.iter().zip(found.verdicts) {
            let possible = expected.bounds.in_flight > 1 || *verdict != Verdict::Late;
            if count > 0 {
                cases += 1;
            } else if possible {
                missing = missing.or(Some(format!("no {verdict} with {}", expected.bounds)));
            }
        }
    }
    let cases = (cases, Unit::Cases);
    let row = Row::judged("every-verdict-occurs", OWN, cases, Duration::ZERO, missing);
    let impossible = SYSTEMS.iter().filter(|system| system.bounds.in_flight == 1);
    let possible = SYSTEMS.len() * Verdict::ALL.len() - impossible.count();
    pins.row(&row, possible as u64);
    report.rows.push(row);
}

fn row_of_own<S: Step>(step: &S, index: usize, own: &Searches<(Exploration, Duration)>) -> Row {
    let (mut cases, mut took, mut problem) = (0, Duration::ZERO, None);
    for (expected, found) in own {
        let Ok((found, time)) = found else {
            continue;
        };
        took += *time;
        cases += found.tallies.get(index).map_or(0, |tally| tally.concerned);
        let broken = found.broken(index).filter(|_| problem.is_none());
        problem = problem.or_else(|| {
            let system = System::new(step.clone(), expected.bounds).ok()?;
            Some(told(&system, index, &found.path(&system, broken?)))
        });
    }
    Row::judged(name(index), OWN, (cases, Unit::Cases), took, problem)
}

fn row_of_stateright<S: Step>(step: &S, index: usize, searches: &Searches<Checking>) -> Row {
    let (mut cases, mut took, mut problem) = (0, Duration::ZERO, None);
    for (expected, found) in searches {
        let Ok(found) = found else {
            continue;
        };
        let bounds = expected.bounds;
        took += found.took;
        if found.silent.contains(&index) {
            // A search that stopped at a broken property need not come to every witness.
            if !is_silent(index, bounds) && found.broken.is_empty() {
                problem = problem.or(Some(format!("no witness with {bounds}")));
            }
            continue;
        }
        cases += found.unique_states as u64;
        let broken = found.broken.iter().find(|(broken, _)| *broken == index);
        if let (Some((_, path)), None) = (broken, &problem)
            && let Ok(system) = System::new(step.clone(), bounds)
        {
            problem = Some(told(&system, index, path));
        }
    }
    Row::judged(
        name(index),
        STATERIGHT,
        (cases, Unit::States),
        took,
        problem,
    )
}

fn name(index: usize) -> &'static str {
    ALL.get(index).map_or("", |property| property.name)
}

/// A counterexample: the claim, then the run that breaks it.
fn told<S: Step>(system: &System<S>, index: usize, path: &Path) -> String {
    let statement = ALL.get(index).map_or("", |property| property.statement);
    let title = format!("breaks {} ({})", name(index), system.bounds());
    format!("{statement}\n{}", mermaid(system, &title, path))
}
