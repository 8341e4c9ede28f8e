//! The inductive step, both ways, and what goes with it.

use std::time::Duration;

use super::{Lane, Pins, Progress, timed};
use crate::induction::{
    FENCE_PROPERTY, Induction, Supposed, by_oracle, by_orders, fence, start_satisfies,
};
use crate::properties::{ALL, indices};
use crate::report::{Report, Row, Unit};
use crate::step::Step;
use crate::two_clients::{TWO_CLIENTS_PROPERTY, two_clients};

/// The states before a step that satisfy the invariants, each with each event, up to how data
/// compare.
pub(crate) const PATHS: u64 = 1_552;

/// The same on small numbers.
pub(crate) const ORDERS: u64 = 4_259;

/// Skeletons with events for which some data satisfy the invariants.
pub(crate) const KINDS: u64 = 1_368;

/// Commits at the edges of generations.
pub(crate) const FENCES: u64 = 29_250;

/// Steps of one client after each step of another.
pub(crate) const SIDE_BY_SIDE: u64 = 2_328_676;

const ORACLE: &str = "oracle data";
const WEAK_ORDERS: &str = "weak orders";

pub(super) fn check<S: Step>(
    step: &S,
    progress: &impl Progress,
    report: &mut Report,
    pins: &mut Pins,
) {
    progress.stage(Lane::Own, "inductive step on data without values");
    let (oracle, oracle_took) = timed(|| by_oracle(step, Supposed::all()));
    progress.stage(Lane::Own, "inductive step on weak orders");
    let (orders, orders_took) = timed(|| by_orders(step, Supposed::all()));
    match oracle {
        Ok(oracle) => {
            put_rows(&oracle, (ORACLE, Unit::Paths), oracle_took, report);
            put_start(step, report);
            put_agreement(&oracle, &orders, oracle_took + orders_took, report);
            pins.compare("paths of the inductive step", PATHS, oracle.cases);
            pins.compare("orders of the inductive step", ORDERS, orders.cases);
            pins.compare(
                "kinds of the inductive step",
                KINDS,
                oracle.seen.len() as u64,
            );
        }
        Err(fault) => report.rows.push(Row::fails(
            "inductive-step",
            ORACLE,
            (0, Unit::Paths),
            oracle_took,
            fault.to_string(),
        )),
    }
    put_rows(&orders, (WEAK_ORDERS, Unit::Cases), orders_took, report);
    progress.stage(Lane::Own, FENCE_PROPERTY);
    let (found, took) = timed(|| fence(step));
    let cases = (found.cases, Unit::Commits);
    let row = Row::judged(FENCE_PROPERTY, "edges", cases, took, found.broken);
    pins.row(&row, FENCES);
    report.rows.push(row);
    put_two_clients(step, progress, report, pins);
}

fn put_rows(found: &Induction, (method, unit): (&str, Unit), took: Duration, report: &mut Report) {
    for (index, property) in ALL.iter().enumerate() {
        let cases = found.concerned.get(index).copied().unwrap_or_default();
        let problem = found
            .broken
            .get(&index)
            .map(|case| format!("{}\n{case}", property.statement));
        let row = Row::judged(property.name, method, (cases, unit), took, problem);
        report.rows.push(row);
    }
}

fn put_start<S: Step>(step: &S, report: &mut Report) {
    let judged = start_satisfies(step);
    let names: Vec<&str> = indices(judged.broken)
        .filter_map(|index| ALL.get(index))
        .map(|property| property.name)
        .collect();
    let problem = (!names.is_empty()).then(|| names.join(", "));
    let cases = (judged.concerned.count_ones().into(), Unit::Cases);
    let row = Row::judged(
        "start-satisfies-the-invariants",
        "start",
        cases,
        Duration::ZERO,
        problem,
    );
    report.rows.push(row);
}

/// Both saw the same verdicts and judgements from the same skeletons.
fn put_agreement(oracle: &Induction, orders: &Induction, took: Duration, report: &mut Report) {
    let differs = oracle.seen != orders.seen;
    let problem = differs.then(|| "what was seen from some skeleton differs".to_owned());
    let cases = (oracle.seen.len() as u64, Unit::Cases);
    let row = Row::judged("oracle-and-weak-orders-agree", "both", cases, took, problem);
    report.rows.push(row);
}

fn put_two_clients<S: Step>(
    step: &S,
    progress: &impl Progress,
    report: &mut Report,
    pins: &mut Pins,
) {
    progress.stage(Lane::Own, TWO_CLIENTS_PROPERTY);
    let (found, took) = timed(|| two_clients(step));
    let row = match found {
        Err(fault) => Row::fails(
            TWO_CLIENTS_PROPERTY,
            "own explorer",
            (0, Unit::Transitions),
            took,
            fault.to_string(),
        ),
        Ok(found) => {
            let product = found.alone * found.alone;
            let problem = found.broken.or_else(|| {
                (found.together != product).then(|| {
                    format!(
                        "{} pairs, not {product} = {} squared",
                        found.together, found.alone
                    )
                })
            });
            let cases = (found.compared, Unit::Transitions);
            Row::judged(TWO_CLIENTS_PROPERTY, "own explorer", cases, took, problem)
        }
    };
    pins.row(&row, SIDE_BY_SIDE);
    report.rows.push(row);
}
