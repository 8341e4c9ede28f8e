//! The solvers.

use std::time::Duration;

use super::{Lane, Progress};
use crate::report::{Report, Row, Unit};
use crate::smt;
use crate::step::Step;

pub(super) fn check<S: Step>(step: &S, progress: &impl Progress, report: &mut Report) {
    match smt::run(step, &|name| progress.stage(Lane::Own, name)) {
        Ok(rows) => report.rows.extend(rows),
        Err(error) => report.rows.push(Row::fails(
            "second-opinion",
            smt::METHOD,
            (0, Unit::Queries),
            Duration::ZERO,
            error.to_string(),
        )),
    }
}
