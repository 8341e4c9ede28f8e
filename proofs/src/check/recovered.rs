//! Recovery and its complement.

use std::time::Duration;

use super::{Lane, Pins, Progress, timed};
use crate::explorer::explore;
use crate::recovery::{
    BLOCKED_PROPERTY, BOUND_PROPERTY, Found, GREATEST_PROPERTY, InductiveRecovery, RANK_PROPERTY,
    blocked_closed, greatest_blocks, inductive, rank_falls, worst,
};
use crate::report::{Report, Row, Unit};
use crate::step::Step;
use crate::system::{Bounds, IN_FLIGHT_MAX, System};
use crate::trace::mermaid;

/// Steps of cooperative services from all reachable states, K = 1 to 4.
pub(crate) const RANKED: u64 = 1_976 + 31_648 + 298_032 + 2_302_208;

/// Steps of blocked clients from all reachable states, K = 1 to 4.
pub(crate) const BLOCKED: u64 = 3_375 + 68_022 + 684_855 + 5_434_956;

/// Reachable states with a cooperative service, K = 1 to 4.
pub(crate) const RECOVERED: u64 = 1_976 + 15_824 + 99_344 + 575_552;

/// The same two for all data.
pub(crate) const RANKED_PATHS: u64 = 9_536;
pub(crate) const BLOCKED_PATHS: u64 = 1_440;

/// Answers in the tale of the greatest revision, and what is asked around them.
pub(crate) const GREATEST: u64 = 10_004;

const OWN: &str = "own explorer";
const ORACLE: &str = "oracle data";

pub(super) fn check<S: Step>(
    step: &S,
    progress: &impl Progress,
    report: &mut Report,
    pins: &mut Pins,
) {
    let mut out = Out { report, pins };
    put_reachable(step, progress, &mut out);
    progress.stage(Lane::Own, "recovery on data without values");
    let (found, took) = timed(|| inductive(step));
    match found {
        Ok(InductiveRecovery { rank, blocked }) => {
            let paths = Unit::Paths;
            out.put((RANK_PROPERTY, ORACLE), (rank, paths), took, RANKED_PATHS);
            out.put(
                (BLOCKED_PROPERTY, ORACLE),
                (blocked, paths),
                took,
                BLOCKED_PATHS,
            );
        }
        Err(fault) => out.broken((RANK_PROPERTY, ORACLE), fault.to_string()),
    }
    progress.stage(Lane::Own, GREATEST_PROPERTY);
    let (found, took) = timed(|| greatest_blocks(step));
    let told = (GREATEST_PROPERTY, "a run");
    out.put(told, (found, Unit::Commits), took, GREATEST);
}

/// All reachable states for each K, one after another.
fn put_reachable<S: Step>(step: &S, progress: &impl Progress, out: &mut Out<'_>) {
    let mut totals = Totals::default();
    for in_flight in 1..=IN_FLIGHT_MAX {
        progress.stage(Lane::Own, &format!("recovery, K={in_flight}"));
        if let Err(problem) = totals.add(step, in_flight) {
            out.broken((BOUND_PROPERTY, OWN), problem);
        }
    }
    let took = totals.took;
    let (steps, states) = (Unit::Transitions, Unit::States);
    out.put((RANK_PROPERTY, OWN), (totals.rank, steps), took, RANKED);
    out.put(
        (BLOCKED_PROPERTY, OWN),
        (totals.blocked, steps),
        took,
        BLOCKED,
    );
    out.put(
        (BOUND_PROPERTY, OWN),
        (totals.bound, states),
        took,
        RECOVERED,
    );
    out.report.notes.extend(totals.notes);
}

/// Where results go.
struct Out<'a> {
    report: &'a mut Report,
    pins: &'a mut Pins,
}

impl Out<'_> {
    fn put(
        &mut self,
        (property, method): (&str, &str),
        (found, unit): (Found, Unit),
        took: Duration,
        expected: u64,
    ) {
        let row = Row::judged(property, method, (found.cases, unit), took, found.broken);
        self.pins.row(&row, expected);
        self.report.rows.push(row);
    }

    fn broken(&mut self, (property, method): (&str, &str), problem: String) {
        let nothing = (0, Unit::Cases);
        let row = Row::fails(property, method, nothing, Duration::ZERO, problem);
        self.report.rows.push(row);
    }
}

#[derive(Default)]
struct Totals {
    rank: Found,
    blocked: Found,
    bound: Found,
    notes: Vec<String>,
    took: Duration,
}

impl Totals {
    fn add<S: Step>(&mut self, step: &S, in_flight: usize) -> Result<(), String> {
        let system = System::new(step.clone(), Bounds::plain(in_flight, 3, 3))
            .map_err(|fault| fault.to_string())?;
        let reachable = explore(&system).map_err(|fault| fault.to_string())?;
        let (result, took) = timed(|| {
            (
                rank_falls(&system, &reachable),
                blocked_closed(&system, &reachable),
                worst(&system, &reachable),
            )
        });
        let (rank, blocked, worst) = result;
        self.took += took;
        join(&mut self.rank, rank);
        join(&mut self.blocked, blocked);
        self.notes.push(format!(
            "Recovery with K={in_flight}: at worst {} completed polls to a newer revision, {} to \
             the accepted pair.",
            worst.newer, worst.equal
        ));
        let told = worst.broken.map(|problem| {
            let title = "the longest way found";
            format!("{problem}\n{}", mermaid(&system, title, &worst.witness))
        });
        join(
            &mut self.bound,
            Found {
                cases: worst.cases,
                broken: told,
            },
        );
        Ok(())
    }
}

fn join(total: &mut Found, found: Found) {
    total.cases += found.cases;
    total.broken = total.broken.take().or(found.broken);
}
