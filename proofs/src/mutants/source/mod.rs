//! Wrong versions of the source that decides what an answer means, each built and tested.
//!
//! A copy of the workspace is kept under `target/mutants`. One mutant at a time is written into it, the tests
//! that should notice are built and run there, and the file is put back. Nothing outside of `target/mutants`
//! is written.

mod records;
mod scratch;
mod suite;

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

pub use records::{MUTANTS, SourceMutant};
use scratch::Scratch;
pub use suite::{Ran, Suite};
use thiserror::Error;

/// How many stages a run has: each suite without a mutant, and each mutant.
pub const STAGES: usize = Suite::ALL.len() + MUTANTS.len();

/// Every mutant of the source, and the tests without one.
#[derive(Clone, Debug)]
pub struct SourceRun {
    /// Each suite without a mutant.
    pub baseline: Vec<(Suite, Ran)>,
    /// Each mutant with what its suite said.
    pub rows: Vec<(&'static SourceMutant, Ran)>,
    /// How long all of it took.
    pub took: Duration,
}

/// Why the mutants of the source could not be run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SourceFault {
    /// Cargo could not be started, or said what cannot be read.
    #[error("cargo: {0}")]
    Cargo(String),
    /// A file could not be read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: String,
        /// What happened.
        error: io::Error,
    },
    /// The place to change is not there exactly once, or the change is none.
    #[error("{mutant}: what it replaces stands {found} times in {file}, not once")]
    Place {
        /// The mutant.
        mutant: &'static str,
        /// The file.
        file: &'static str,
        /// How often it stands there.
        found: usize,
    },
    /// The workspace has more files than a copy is made of.
    #[error("the workspace has too many files to copy")]
    TooManyFiles,
}

/// Why a run does not show what it must.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SourceProblem {
    /// Tests fail, or there are none, without a mutant.
    #[error("{suite} without a mutant: {ran}")]
    Baseline {
        /// The suite.
        suite: Suite,
        /// What it said.
        ran: Ran,
    },
    /// A mutant was not noticed, or not by the tests that should.
    #[error("the mutant {mutant} should fail {killer}: {ran}")]
    NotKilled {
        /// The mutant.
        mutant: &'static str,
        /// A test that should fail.
        killer: &'static str,
        /// What the suite said.
        ran: Ran,
    },
    /// Other than all tests were run.
    #[error("the mutant {mutant}: {found} tests were run, {expected} without it")]
    Lost {
        /// The mutant.
        mutant: &'static str,
        /// How many tests were run.
        found: usize,
        /// How many are run without it.
        expected: usize,
    },
}

/// Builds and tests every mutant. `workspace` is the directory of the workspace's `Cargo.toml`; `tell` hears of
/// each mutant that is begun.
///
/// # Errors
///
/// A mutant could not be written, or cargo not be run. What the tests say is no error, but stands in the result.
pub fn run(workspace: &Path, tell: &impl Fn(&str)) -> Result<SourceRun, SourceFault> {
    let started = Instant::now();
    check_places(workspace)?;
    let scratch = Scratch::copy(workspace)?;
    let mut baseline = Vec::new();
    for suite in Suite::ALL {
        tell(suite.name());
        baseline.push((suite, suite.run(&scratch)?));
    }
    let mut rows = Vec::new();
    for mutant in &MUTANTS {
        tell(mutant.name);
        let original = scratch.mutate(mutant)?;
        let ran = mutant.suite.run(&scratch);
        scratch.restore(mutant, &original)?;
        rows.push((mutant, ran?));
    }
    Ok(SourceRun {
        baseline,
        rows,
        took: started.elapsed(),
    })
}

/// Checks that the place to change stands exactly once in its file, for every mutant.
///
/// # Errors
///
/// The first for which that is not so.
pub fn check_places(workspace: &Path) -> Result<usize, SourceFault> {
    for mutant in &MUTANTS {
        mutant.applied_to(&scratch::read(&workspace.join(mutant.file))?)?;
    }
    Ok(MUTANTS.len())
}

impl SourceRun {
    /// Everything that the run should show and does not.
    #[must_use]
    pub fn problems(&self) -> Vec<SourceProblem> {
        let mut problems = Vec::new();
        for (suite, ran) in &self.baseline {
            if !ran.passed() {
                let (suite, ran) = (*suite, ran.clone());
                problems.push(SourceProblem::Baseline { suite, ran });
            }
        }
        for (mutant, ran) in &self.rows {
            problems.extend(self.problem_of(mutant, ran));
        }
        problems
    }

    fn problem_of(&self, mutant: &SourceMutant, ran: &Ran) -> Option<SourceProblem> {
        let alive = mutant.killers.iter().find(|killer| !ran.failed(killer));
        if let Some(killer) = alive {
            return Some(SourceProblem::NotKilled {
                mutant: mutant.name,
                killer,
                ran: ran.clone(),
            });
        }
        let (_, without) = self
            .baseline
            .iter()
            .find(|(suite, _)| *suite == mutant.suite)?;
        let (found, expected) = (ran.tests(), without.tests());
        (found != expected).then_some(SourceProblem::Lost {
            mutant: mutant.name,
            found,
            expected,
        })
    }
}

impl SourceMutant {
    /// The text with this change.
    fn applied_to(&self, text: &str) -> Result<String, SourceFault> {
        let found = text.matches(self.from).count();
        if found != 1 || self.from == self.to {
            return Err(SourceFault::Place {
                mutant: self.name,
                file: self.file,
                found,
            });
        }
        Ok(text.replacen(self.from, self.to, 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(passed: usize, failed: &[&str]) -> Ran {
        Ran::Ended {
            passed,
            failed: failed.iter().map(ToString::to_string).collect(),
        }
    }

    /// One mutant that said this, beside 3 tests that pass without it.
    fn problems(ran: Ran) -> Vec<String> {
        const MUTANT: SourceMutant = SourceMutant {
            name: "wrong",
            file: "model/src/poll.rs",
            from: "a",
            to: "b",
            suite: Suite::Classify,
            killers: &["one", "two"],
        };
        let run = SourceRun {
            baseline: vec![(Suite::Classify, ended(3, &[]))],
            rows: vec![(&MUTANT, ran)],
            took: Duration::ZERO,
        };
        let problems = run.problems();
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_killer_must_fail_and_no_test_be_lost() {
        assert_eq!(problems(ended(1, &["one", "two"])), [""; 0]);
        assert_eq!(problems(ended(0, &["one", "three", "two"])), [""; 0]);
        assert_eq!(
            problems(ended(2, &["one"])),
            ["the mutant wrong should fail two: 2 tests passed, these failed: one"]
        );
        assert_eq!(
            problems(ended(3, &[])),
            ["the mutant wrong should fail one: 3 tests passed, none failed"]
        );
        assert_eq!(
            problems(ended(0, &["one", "two"])),
            ["the mutant wrong: 2 tests were run, 3 without it"]
        );
        assert_eq!(
            problems(Ran::Unbuilt),
            ["the mutant wrong should fail one: it could not be built"]
        );
        assert_eq!(
            problems(Ran::Hangs),
            ["the mutant wrong should fail one: it did not end in time"]
        );
    }

    #[test]
    fn tests_must_pass_without_a_mutant() {
        for (ran, count) in [
            (ended(3, &[]), 0),
            (ended(0, &[]), 1),
            (ended(2, &["one"]), 1),
            (Ran::Unbuilt, 1),
        ] {
            let run = SourceRun {
                baseline: vec![(Suite::Sequences, ran)],
                rows: Vec::new(),
                took: Duration::ZERO,
            };
            assert_eq!(run.problems().len(), count);
        }
    }

    #[test]
    fn a_place_must_be_there_once_and_change() {
        let mutant = |from, to| SourceMutant {
            from,
            to,
            ..MUTANTS[0]
        };
        assert_eq!(mutant("b", "x").applied_to("abc").unwrap(), "axc");
        for (from, to) in [("b", "b"), ("x", "y"), ("a", "b")] {
            let fault = mutant(from, to).applied_to("aab bc").unwrap_err();
            assert!(matches!(fault, SourceFault::Place { .. }), "{fault}");
        }
    }
}
