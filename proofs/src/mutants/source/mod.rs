//! Wrong versions of the source, each built and tested: of what decides what an answer means and what becomes of
//! commands, and of the client's shell around it.
//!
//! A copy of the workspace is kept under `target/mutants`. One mutant at a time is written into it, the tests
//! that should notice are built and run there, and the file is put back. Nothing outside of `target/mutants`
//! is written.

mod records;
mod scratch;
mod shard;
mod suite;

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

pub use records::{Group, SourceMutant, mutants};
use scratch::Scratch;
pub use shard::{Shard, ShardFault};
pub use suite::{Ran, Suite};
use thiserror::Error;

/// The mutants of one part, and the tests without one.
#[derive(Clone, Debug)]
pub struct SourceRun {
    /// Which part of all mutants was run.
    pub shard: Shard,
    /// Each suite that a mutant of the part is held against, without a mutant.
    pub baseline: Vec<(Suite, Ran)>,
    /// Each mutant of the part.
    pub rows: Vec<SourceRow>,
    /// How long all of it took.
    pub took: Duration,
}

/// One mutant, built and tested.
#[derive(Clone, Debug)]
pub struct SourceRow {
    /// The mutant.
    pub mutant: &'static SourceMutant,
    /// What its suite said.
    pub ran: Ran,
    /// How long building and testing took.
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
    /// Other mutants were run than the part has, or none.
    #[error("{found} mutants were run, of {expected}")]
    Skipped {
        /// How many were run.
        found: usize,
        /// How many the part has.
        expected: usize,
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

/// How many stages a run has: each suite without a mutant, and each mutant.
#[must_use]
pub fn stages(shard: Shard) -> usize {
    suites(shard).count() + shard.mutants().count()
}

/// The suites that a mutant of the part is held against.
fn suites(shard: Shard) -> impl Iterator<Item = Suite> {
    let is_used = move |suite: &Suite| shard.mutants().any(|mutant| mutant.suite == *suite);
    Suite::ALL.into_iter().filter(is_used)
}

/// Builds and tests every mutant of the part. `workspace` is the directory of the workspace's `Cargo.toml`; `tell` hears of
/// each mutant that is begun.
///
/// # Errors
///
/// A mutant could not be written, or cargo not be run. What the tests say is no error, but stands in the result.
pub fn run(workspace: &Path, shard: Shard, tell: &impl Fn(&str)) -> Result<SourceRun, SourceFault> {
    let started = Instant::now();
    check_places(workspace)?;
    let scratch = Scratch::copy(workspace)?;
    let mut baseline = Vec::new();
    for suite in suites(shard) {
        tell(suite.name());
        baseline.push((suite, suite.run(&scratch)?));
    }
    let mut rows = Vec::new();
    for mutant in shard.mutants() {
        tell(mutant.name);
        let begun = Instant::now();
        let original = scratch.mutate(mutant)?;
        let ran = mutant.suite.run(&scratch);
        scratch.restore(mutant, &original)?;
        rows.push(SourceRow {
            mutant,
            ran: ran?,
            took: begun.elapsed(),
        });
    }
    Ok(SourceRun {
        shard,
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
    let mut checked = 0;
    for mutant in mutants() {
        mutant.applied_to(&scratch::read(&workspace.join(mutant.file))?)?;
        checked += 1;
    }
    Ok(checked)
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
        for row in &self.rows {
            problems.extend(self.problem_of(row.mutant, &row.ran));
        }
        let (found, expected) = (self.rows.len(), self.shard.mutants().count());
        if found != expected || found == 0 {
            problems.push(SourceProblem::Skipped { found, expected });
        }
        problems
    }

    /// How many mutants of this group were run.
    #[must_use]
    pub fn count(&self, group: Group) -> usize {
        self.of(group).count()
    }

    /// The mutants of this group.
    pub fn of(&self, group: Group) -> impl Iterator<Item = &SourceRow> {
        let rows = self.rows.iter();
        rows.filter(move |row| row.mutant.group() == group)
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
        let mut baseline = self.baseline.iter();
        let without = baseline.find(|(suite, _)| *suite == mutant.suite);
        let expected = without.map_or(0, |(_, without)| without.tests());
        let found = ran.tests();
        (found != expected).then_some(SourceProblem::Lost {
            mutant: mutant.name,
            found,
            expected,
        })
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
        let row = SourceRow {
            mutant: &MUTANT,
            ran,
            took: Duration::ZERO,
        };
        let run = SourceRun {
            shard: one(),
            baseline: vec![(Suite::Classify, ended(3, &[]))],
            rows: vec![row],
            took: Duration::ZERO,
        };
        let problems = run.problems();
        problems.iter().map(ToString::to_string).collect()
    }

    /// A part with one mutant.
    fn one() -> Shard {
        format!("1/{}", mutants().count()).parse().unwrap()
    }

    #[test]
    fn a_run_of_other_mutants_than_the_part_has_shows_nothing() {
        let run = SourceRun {
            shard: one(),
            baseline: Vec::new(),
            rows: Vec::new(),
            took: Duration::ZERO,
        };
        let problems = run.problems();
        assert_eq!(
            problems,
            [SourceProblem::Skipped {
                found: 0,
                expected: 1
            }]
        );
    }

    #[test]
    fn a_part_needs_the_suites_of_its_mutants_alone() {
        let first = mutants().next().unwrap();
        assert_eq!(suites(one()).collect::<Vec<_>>(), [first.suite]);
        assert_eq!(stages(one()), 2);
        assert_eq!(suites(Shard::WHOLE).count(), Suite::ALL.len());
        assert_eq!(stages(Shard::WHOLE), Suite::ALL.len() + mutants().count());
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
                shard: one(),
                baseline: vec![(Suite::Sequences, ran)],
                rows: Vec::new(),
                took: Duration::ZERO,
            };
            let problems = run.problems().into_iter();
            let of_baseline = problems.filter(|one| matches!(one, SourceProblem::Baseline { .. }));
            assert_eq!(of_baseline.count(), count);
        }
    }
}
