//! What cargo-mutants found of `moorline-model`, judged by counts and not by its exit code alone.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use serde::Deserialize;
use serde::de::IgnoredAny;
use thiserror::Error;

use super::equivalents::{EQUIVALENTS, Equivalent, Fate};

/// What one run of cargo-mutants found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcomes {
    /// Mutants that a test noticed.
    pub caught: usize,
    /// Mutants for which the tests did not end in time, and that are reviewed as endless.
    pub stopped: usize,
    /// Mutants that do not compile, and show nothing.
    pub unviable: usize,
    /// Mutants that no test noticed and that are reviewed as equivalent.
    pub equivalent: usize,
    /// Everything that is not as it must be.
    pub problems: Vec<OutcomeProblem>,
}

/// Why a run does not show what it must.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OutcomeProblem {
    /// The tests did not pass without a mutant, or were not run so.
    #[error("the tests were not seen to pass without a mutant")]
    Baseline,
    /// The run stopped before its end.
    #[error("{listed} mutants were to be tested, {told} were")]
    Incomplete {
        /// How many there should be.
        listed: usize,
        /// How many are told of.
        told: usize,
    },
    /// No test noticed, and no review says why.
    #[error("missed: {0}")]
    Missed(String),
    /// Not one mutant could be tested.
    #[error("no mutant was tested")]
    NothingTested,
    /// A mutant is reviewed as equivalent, and a test noticed it.
    #[error("reviewed as equivalent, and noticed: {0}")]
    ReviewedNeedlessly(String),
    /// A reviewed line is no longer in its file.
    #[error("reviewed as equivalent, and its line is not in {file}: {line}")]
    ReviewedUnknown {
        /// The file.
        file: &'static str,
        /// The line.
        line: &'static str,
    },
    /// The tests did not end in time, and no review says why. A slow machine would look the same.
    #[error("not ended in time: {0}")]
    Stopped(String),
    /// Something else than the known results.
    #[error("{name}: {summary}")]
    Unknown {
        /// The mutant.
        name: String,
        /// What was said of it.
        summary: String,
    },
}

/// Why a run cannot be judged.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OutcomeFault {
    /// A file could not be read.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: String,
        /// What happened.
        error: io::Error,
    },
    /// It is not what cargo-mutants writes.
    #[error("these are no outcomes.json and mutants.json of cargo-mutants: {0}")]
    Json(#[from] serde_json::Error),
}

#[derive(Deserialize)]
struct File {
    outcomes: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    scenario: Scenario,
    summary: String,
}

#[derive(Deserialize)]
enum Scenario {
    Baseline,
    Mutant(Mutant),
}

#[derive(Deserialize)]
struct Mutant {
    name: String,
    file: String,
    function: Option<Function>,
    replacement: String,
    span: Span,
}

#[derive(Deserialize)]
struct Function {
    function_name: String,
}

#[derive(Deserialize)]
struct Span {
    start: Place,
}

#[derive(Deserialize)]
struct Place {
    line: usize,
}

/// Judges the `outcomes.json` at `path`, of a run over the sources of `workspace` as they are now. What was to be
/// tested stands beside it in `mutants.json`: the counts in `outcomes.json` are of what was tested by then.
///
/// # Errors
///
/// A file cannot be read, or is not what cargo-mutants writes.
pub fn judge(path: &Path, workspace: &Path) -> Result<Outcomes, OutcomeFault> {
    let source = |file: &str| read(&workspace.join(file));
    // In this order, so that a wrong path is told as it was given.
    let outcomes = read(path)?;
    let listed = read(&path.with_file_name("mutants.json"))?;
    judge_texts((&outcomes, &listed), &source, EQUIVALENTS)
}

fn judge_texts(
    (outcomes, listed): (&str, &str),
    source: &impl Fn(&str) -> Result<String, OutcomeFault>,
    equivalents: &[Equivalent],
) -> Result<Outcomes, OutcomeFault> {
    let file: File = serde_json::from_str(outcomes)?;
    let listed = serde_json::from_str::<Vec<IgnoredAny>>(listed)?.len();
    let mut found = Outcomes::default();
    let (mut baseline, mut told) = (false, 0);
    for outcome in &file.outcomes {
        match &outcome.scenario {
            Scenario::Baseline => baseline = outcome.summary == "Success",
            Scenario::Mutant(mutant) => {
                told += 1;
                let line = line_of(mutant, source)?;
                let review = equivalents
                    .iter()
                    .find(|review| mutant.is_reviewed_by(review, &line));
                found.note(mutant, &outcome.summary, review.map(|review| review.fate));
            }
        }
    }
    if !baseline {
        found.problems.push(OutcomeProblem::Baseline);
    }
    if told != listed {
        found
            .problems
            .push(OutcomeProblem::Incomplete { listed, told });
    }
    if found.caught + found.stopped == 0 {
        found.problems.push(OutcomeProblem::NothingTested);
    }
    for review in equivalents {
        let text = source(review.file)?;
        if !text.lines().any(|line| line.trim() == review.line) {
            let (file, line) = (review.file, review.line);
            found
                .problems
                .push(OutcomeProblem::ReviewedUnknown { file, line });
        }
    }
    Ok(found)
}

impl Outcomes {
    fn note(&mut self, mutant: &Mutant, summary: &str, reviewed: Option<Fate>) {
        let name = mutant.name.clone();
        match (summary, reviewed) {
            ("MissedMutant", Some(Fate::Missed)) => self.equivalent += 1,
            ("MissedMutant", _) => self.problems.push(OutcomeProblem::Missed(name)),
            ("Timeout", Some(Fate::Stopped)) => self.stopped += 1,
            ("Timeout", _) => self.problems.push(OutcomeProblem::Stopped(name)),
            // Tests of several programs run one after another; an endless one may fail before.
            ("CaughtMutant", Some(Fate::Missed)) => {
                self.problems.push(OutcomeProblem::ReviewedNeedlessly(name));
            }
            ("CaughtMutant", _) => self.caught += 1,
            ("Unviable", _) => self.unviable += 1,
            _ => self.problems.push(OutcomeProblem::Unknown {
                name,
                summary: summary.to_owned(),
            }),
        }
    }

    /// The outcomes as text. The last line counts the mutants.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for problem in &self.problems {
            let _ = writeln!(text, "problem: {problem}");
        }
        let _ = writeln!(
            text,
            "cargo-mutants: {} caught, {} stopped as reviewed, {} missed as reviewed, {} do not compile, {} problems",
            self.caught,
            self.stopped,
            self.equivalent,
            self.unviable,
            self.problems.len()
        );
        text
    }
}

impl Mutant {
    fn is_reviewed_by(&self, review: &Equivalent, line: &str) -> bool {
        let function = self.function.as_ref();
        (review.file, review.line, review.replacement) == (&*self.file, line, &*self.replacement)
            && function.is_some_and(|function| function.function_name == review.function)
    }
}

/// The line that a mutant changes first; empty where there is none.
fn line_of(
    mutant: &Mutant,
    source: &impl Fn(&str) -> Result<String, OutcomeFault>,
) -> Result<String, OutcomeFault> {
    let text = source(&mutant.file)?;
    let line = mutant.span.start.line.checked_sub(1);
    let line = line.and_then(|index| text.lines().nth(index));
    Ok(line.unwrap_or_default().trim().to_owned())
}

fn read(path: &Path) -> Result<String, OutcomeFault> {
    fs::read_to_string(path).map_err(|error| OutcomeFault::File {
        path: path.display().to_string(),
        error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REVIEWED: [Equivalent; 2] =
        [reviewed("x", Fate::Missed), reviewed("loop", Fate::Stopped)];

    const fn reviewed(replacement: &'static str, fate: Fate) -> Equivalent {
        Equivalent {
            file: "a.rs",
            function: "f",
            line: "second",
            replacement,
            fate,
            reason: "for this test",
        }
    }

    fn source(_: &str) -> Result<String, OutcomeFault> {
        Ok("first\n    second\n".to_owned())
    }

    fn mutant(line: usize, replacement: &str, summary: &str) -> String {
        format!(
            r#"{{"scenario":{{"Mutant":{{"name":"a.rs:{line} to {replacement}","file":"a.rs","function":{{"function_name":"f"}},"span":{{"start":{{"line":{line}}}}},
            "replacement":"{replacement}"}}}},"summary":"{summary}"}}"#
        )
    }

    fn told(total: usize, outcomes: &[String]) -> Vec<String> {
        let outcomes = outcomes.join(",");
        let text = format!(r#"{{"outcomes":[{outcomes}]}}"#);
        let listed = serde_json::to_string(&vec![0; total]).unwrap();
        let found = judge_texts((&text, &listed), &source, &REVIEWED).unwrap();
        found.problems.iter().map(ToString::to_string).collect()
    }

    fn baseline(summary: &str) -> String {
        format!(r#"{{"scenario":"Baseline","summary":"{summary}"}}"#)
    }

    #[test]
    fn what_is_caught_stopped_or_reviewed_is_no_problem() {
        let outcomes = [
            baseline("Success"),
            mutant(1, "x", "CaughtMutant"),
            mutant(2, "loop", "Timeout"),
            mutant(2, "x", "MissedMutant"),
            mutant(2, "y", "Unviable"),
        ];
        assert_eq!(told(4, &outcomes), [""; 0]);
    }

    #[test]
    fn what_is_stopped_is_told_unless_just_this_is_reviewed() {
        let outcomes = [
            baseline("Success"),
            mutant(1, "y", "CaughtMutant"),
            mutant(2, "x", "Timeout"),
            mutant(2, "loop", "MissedMutant"),
        ];
        assert_eq!(
            told(3, &outcomes),
            ["not ended in time: a.rs:2 to x", "missed: a.rs:2 to loop"]
        );
    }

    #[test]
    fn what_is_missed_is_told_unless_just_this_is_reviewed() {
        let outcomes = [
            baseline("Success"),
            mutant(1, "y", "CaughtMutant"),
            mutant(1, "x", "MissedMutant"),
            mutant(2, "y", "MissedMutant"),
        ];
        assert_eq!(
            told(3, &outcomes),
            ["missed: a.rs:1 to x", "missed: a.rs:2 to y"]
        );
    }

    #[test]
    fn a_review_that_is_not_needed_is_told() {
        let outcomes = [
            baseline("Success"),
            mutant(1, "y", "CaughtMutant"),
            mutant(2, "x", "CaughtMutant"),
        ];
        assert_eq!(
            told(2, &outcomes),
            ["reviewed as equivalent, and noticed: a.rs:2 to x"]
        );
        let gone = |_: &str| Ok("first\n".to_owned());
        let texts = (r#"{"outcomes":[]}"#, "[]");
        let found = judge_texts(texts, &gone, &REVIEWED).unwrap();
        let problem = OutcomeProblem::ReviewedUnknown {
            file: "a.rs",
            line: "second",
        };
        assert!(found.problems.contains(&problem));
    }

    #[test]
    fn a_run_that_tested_nothing_or_not_all_is_a_problem() {
        assert_eq!(told(0, &[baseline("Success")]), ["no mutant was tested"]);
        assert_eq!(
            told(1, &[baseline("Success"), mutant(1, "y", "Unviable")]),
            ["no mutant was tested"]
        );
        assert_eq!(
            told(2, &[baseline("Failure"), mutant(1, "y", "CaughtMutant")]),
            [
                "the tests were not seen to pass without a mutant",
                "2 mutants were to be tested, 1 were"
            ]
        );
        assert_eq!(
            told(
                2,
                &[
                    baseline("Success"),
                    mutant(1, "y", "CaughtMutant"),
                    mutant(1, "z", "New")
                ]
            ),
            ["a.rs:1 to z: New"]
        );
    }

    #[test]
    fn other_files_are_refused() {
        assert!(judge_texts(("{}", "[]"), &source, &[]).is_err());
        assert!(judge_texts((r#"{"outcomes":[]}"#, "{}"), &source, &[]).is_err());
    }
}
