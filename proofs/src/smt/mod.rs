//! A second opinion on the placement: the step and its invariants restated in SMT-LIB, over 64-bit
//! revisions and generations and tokens of which nothing is known but equality, and put to two solvers.
//!
//! Four things are asked, and z3 and cvc5 must both give the expected answer to each question:
//!
//! 1. every goal of `smt/goals.smt2` holds for all data, and what it supposes is possible;
//! 2. every limit there, a goal that is one assumption short, does not hold;
//! 3. every mutant of the texts breaks the goals that it names, and every goal is broken by some mutant;
//! 4. the restatement does what [`Placement::commit`](moorline_model::placement::Placement::commit) does on
//!    every small case.
//!
//! What this does not show: that the restatement equals the Rust step on more than those cases. The goals
//! are proved of the restatement; of the Rust step the inductive step of this crate speaks.

mod agree;
mod cases;
mod error;
mod mutants;
mod prove;
mod refuse;
mod solver;
mod texts;

use std::thread;
use std::time::Duration;

pub use agree::{AGREES, agree};
pub use cases::{CASE_COUNT, Case, cases};
pub use error::SmtError;
pub use mutants::{MUTANT_COUNT, MUTANTS, Mutant, STEP_MUTANT_COUNT, Text, of_the_step};
pub use prove::prove;
pub use refuse::{REFUSED, broken_goals, refuse};
pub use solver::{Answer, Solver, Solvers};
pub use texts::{Claim, GOAL_COUNT, Kind, LIMIT_COUNT, Texts, claims};

use crate::report::Row;
use crate::step::Step;
use texts::counted;

/// The method's name in a report.
pub const METHOD: &str = "z3 and cvc5";

/// How many rows [`run`] returns: one a goal, one a limit, one for the mutants, one for the comparison.
pub const ROW_COUNT: usize = GOAL_COUNT + LIMIT_COUNT + 2;

/// The time for one text. Each takes seconds at most; a solver that needs this long has lost its way.
const LIMIT: Duration = Duration::from_secs(60);

/// Puts every question to both solvers. `step` is what the restatement is held against, and `progress` is
/// told the name of each property as its turn comes.
///
/// # Errors
///
/// A variant of [`SmtError`] where a solver is missing or does not answer, or where a committed number
/// differs from what was found. A property that does not hold is a row that says so, not an error.
pub fn run<S: Step>(step: &S, progress: &dyn Fn(&str)) -> Result<Vec<Row>, SmtError> {
    let solvers = Solvers::find()?;
    let texts = Texts::committed();
    let mut rows = Vec::with_capacity(ROW_COUNT);
    for claim in claims()? {
        progress(&claim.name);
        rows.push(prove(&solvers, &texts, &claim)?);
    }
    progress(REFUSED);
    rows.push(refuse(&solvers)?);
    progress(AGREES);
    rows.push(agree(&solvers, &texts, step)?);
    counted("rows", ROW_COUNT, rows.len())?;
    Ok(rows)
}

/// Asks both solvers at the same time.
fn both<T: Send>(
    solvers: &Solvers,
    ask: impl Fn(&Solver) -> Result<T, SmtError> + Sync,
) -> Result<[T; 2], SmtError> {
    let [z3, cvc5] = solvers.both();
    let (z3, cvc5) = thread::scope(|scope| {
        let cvc5 = scope.spawn(|| ask(cvc5));
        (ask(z3), cvc5.join())
    });
    // A panic of the other thread is a fault of this program, and goes on here.
    let cvc5 = cvc5.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    Ok([z3?, cvc5?])
}
