use std::io;
use std::time::Duration;

use thiserror::Error;

/// Why the second opinion could not be had. A property that does not hold is no error: it is a row that
/// says so.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SmtError {
    /// The number of answers differs from the number of questions.
    #[error("{solver} answered {got} of {asked} questions ({about})")]
    AnswerCount {
        /// The solver.
        solver: &'static str,
        /// What was asked.
        about: String,
        /// How many questions there were.
        asked: usize,
        /// How many answers came.
        got: usize,
    },
    /// A committed number differs from what was found, so that less than all may have run.
    #[error("expected {expected} {what}, found {got}")]
    Count {
        /// What is counted.
        what: &'static str,
        /// The committed number.
        expected: usize,
        /// The number found.
        got: usize,
    },
    /// A part of the SMT-LIB text is not of the form that is relied on.
    #[error("SMT-LIB text: {name}: {problem}")]
    Malformed {
        /// The goal or mutant in question.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A solver is not installed.
    #[error(
        "{solver} was not found (looked at ${variable}, PATH and target/solvers); \
         `proofs/install-solvers` installs it"
    )]
    Missing {
        /// The solver.
        solver: &'static str,
        /// The environment variable that may name it.
        variable: &'static str,
    },
    /// The program that should be a solver does not name itself as one.
    #[error("the program given as {solver} says that it is {says:?}")]
    NotTheSolver {
        /// The solver.
        solver: &'static str,
        /// What it printed as its version.
        says: String,
    },
    /// A solver could not be started or spoken to.
    #[error("{solver} could not be run: {problem}")]
    Run {
        /// The solver.
        solver: &'static str,
        /// Why.
        problem: io::Error,
    },
    /// A solver did not finish in time and was stopped.
    #[error("{solver} did not answer within {limit:?} ({about})")]
    TimedOut {
        /// The solver.
        solver: &'static str,
        /// What was asked.
        about: String,
        /// The time that it had.
        limit: Duration,
    },
    /// A solver printed something that is no answer.
    #[error("{solver} printed {printed:?} ({about})")]
    Unexpected {
        /// The solver.
        solver: &'static str,
        /// What was asked.
        about: String,
        /// The line that is no answer.
        printed: String,
    },
}
