//! All checks of the placement in one run, with every count held against the one that is pinned
//! here.

mod induced;
mod recovered;
mod searched;
mod second_opinion;

use std::thread;
use std::time::{Duration, Instant};

pub use searched::{Pinned, SYSTEMS, agree as search_and_agree};

use crate::report::{Report, Row, Unit};
use crate::step::Step;

/// Told what is being done, for a reader who waits. Two things are done at a time.
pub trait Progress: Sync {
    /// Work of this lane has come to this stage.
    fn stage(&self, lane: Lane, name: &str);
}

/// A line of work that goes on beside the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// Our own explorer, the inductive step, recovery, the solvers.
    Own,
    /// stateright.
    Stateright,
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quiet;

impl Progress for Quiet {
    fn stage(&self, _: Lane, _: &str) {}
}

/// What to leave out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Leave out the second opinion, which needs z3 and cvc5.
    pub without_solvers: bool,
}

/// Checks everything that is claimed of the placement.
pub fn placement<S: Step>(step: &S, choice: Choice, progress: &impl Progress) -> Report {
    let mut report = Report::default();
    let mut pins = Pins::default();
    let searches = thread::scope(|scope| {
        let stateright = scope.spawn(|| searched::by_stateright(step, progress));
        let own = searched::by_own(step, progress);
        induced::check(step, progress, &mut report, &mut pins);
        recovered::check(step, progress, &mut report, &mut pins);
        if !choice.without_solvers {
            second_opinion::check(step, progress, &mut report);
        }
        // A panic of the other thread is a fault of this program, and goes on here.
        let stateright = stateright
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (own, stateright)
    });
    // Searches stand first in the report.
    let later = std::mem::take(&mut report.rows);
    searched::report(step, searches, &mut report, &mut pins);
    report.rows.extend(later);
    pins.report(&mut report);
    if choice.without_solvers {
        let note = "Left out as asked: the second opinion of z3 and cvc5.";
        report.notes.push(note.to_owned());
    }
    report
}

/// How long something took, beside its result.
fn timed<A>(work: impl FnOnce() -> A) -> (A, Duration) {
    let started = Instant::now();
    let result = work();
    (result, started.elapsed())
}

/// Counts held against those that are pinned. One that differs is told under a name of its own, so
/// that the properties themselves fail only where they are broken.
#[derive(Debug, Default)]
struct Pins {
    compared: u64,
    wrong: Vec<String>,
}

/// How many counts there are to compare, this number among them.
const PINS: u64 = 68;

/// What is told of the pins.
const PINS_PROPERTY: &str = "counts-as-pinned";

impl Pins {
    fn compare(&mut self, what: &str, expected: u64, found: u64) {
        self.compared += 1;
        if expected != found {
            let wrong = format!("{what}: {expected} pinned, {found} found");
            self.wrong.push(wrong);
        }
    }

    /// Compares the cases of a row.
    fn row(&mut self, row: &Row, expected: u64) {
        let what = format!("{} ({})", row.property, row.method);
        self.compare(&what, expected, row.cases);
    }

    fn report(mut self, report: &mut Report) {
        self.compare("counts to compare", PINS, self.compared + 1);
        let problem = (!self.wrong.is_empty()).then(|| self.wrong.join("\n"));
        let cases = (self.compared, Unit::Cases);
        let row = Row::judged(PINS_PROPERTY, "all", cases, Duration::ZERO, problem);
        report.rows.push(row);
    }
}
