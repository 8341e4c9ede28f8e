//! What the checks found, as lines or as JSON.

use std::io::Write;

use serde_json::{Value, json};

use super::super::Failure;
use super::wrap::{columns, wrap};

/// The width of a check's name.
const NAME_WIDTH: usize = 22;

/// What stands before evidence: the result, the name, and the space between them.
const INDENT: usize = NAME_WIDTH + 8;

/// The least room for evidence for which it is worth breaking lines.
const LEAST_WIDTH: usize = 20;

/// What one check found. Holds no secret, no host and no text of a service.
#[derive(Debug)]
pub(super) struct Check {
    name: String,
    result: Outcome,
    evidence: String,
    next: Option<String>,
    /// Lines of the operator's own programs.
    details: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Fail,
    Pass,
    Skip,
}

impl Check {
    pub(super) fn pass(name: impl Into<String>, evidence: impl Into<String>) -> Self {
        Self::new(name, Outcome::Pass, evidence)
    }

    pub(super) fn fail(name: impl Into<String>, evidence: impl Into<String>) -> Self {
        Self::new(name, Outcome::Fail, evidence)
    }

    pub(super) fn skip(name: impl Into<String>, evidence: impl Into<String>) -> Self {
        Self::new(name, Outcome::Skip, evidence)
    }

    fn new(name: impl Into<String>, result: Outcome, evidence: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            result,
            evidence: evidence.into(),
            next: None,
            details: Vec::new(),
        }
    }

    /// What to do about it.
    pub(super) fn then(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// Further lines.
    pub(super) fn with_details(mut self, details: Vec<String>) -> Self {
        self.details.extend(details);
        self
    }

    /// Fit for `columns`, if those are known.
    fn lines(&self, columns: Option<usize>) -> String {
        let width = columns.map(|columns| columns.saturating_sub(INDENT));
        let width = width.filter(|width| *width >= LEAST_WIDTH);
        let fit = |text: &str| match width {
            Some(width) => wrap(text, width),
            None => vec![text.to_owned()],
        };
        let mut right = fit(&self.evidence);
        for line in &self.details {
            right.extend(fit(&format!("| {line}")));
        }
        if let Some(next) = &self.next {
            right.extend(fit(&format!("next: {next}")));
        }
        let result = self.result.name().to_ascii_uppercase();
        let mut left = format!("{result}  {:<NAME_WIDTH$}  ", self.name);
        let mut text = String::new();
        for line in right {
            text.push_str(&format!("{left}{line}\n"));
            left = " ".repeat(INDENT);
        }
        text
    }

    fn to_json(&self) -> Value {
        json!({
            "check": self.name,
            "result": self.result.name(),
            "evidence": self.evidence,
            "next": self.next,
            "details": self.details,
        })
    }
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Self::Fail => "fail",
            Self::Pass => "pass",
            Self::Skip => "skip",
        }
    }
}

/// Prints lines as they come, or keeps them for JSON.
pub(super) struct Report {
    as_json: bool,
    /// Of the terminal, if lines go to one.
    columns: Option<usize>,
    checks: Vec<Check>,
}

impl Report {
    pub(super) fn new(as_json: bool) -> Self {
        Self {
            as_json,
            columns: columns(),
            checks: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, check: Check) -> Result<(), Failure> {
        if !self.as_json {
            write(&check.lines(self.columns))?;
        }
        self.checks.push(check);
        Ok(())
    }

    /// Says on a terminal what the next check waits for.
    pub(super) fn wait(&self, text: &str) -> Result<(), Failure> {
        match self.columns {
            Some(_) if !self.as_json => write(&format!("      {text}\n")),
            _ => Ok(()),
        }
    }

    /// Prints what is left to be printed, and says whether nothing failed.
    pub(super) fn end(self) -> Result<bool, Failure> {
        let count = |outcome| {
            let checks = self.checks.iter();
            checks.filter(|check| check.result == outcome).count()
        };
        let (passed, failed, skipped) = (
            count(Outcome::Pass),
            count(Outcome::Fail),
            count(Outcome::Skip),
        );
        if self.as_json {
            let checks: Vec<_> = self.checks.iter().map(Check::to_json).collect();
            let report = json!({
                "passed": passed,
                "failed": failed,
                "skipped": skipped,
                "checks": checks,
            });
            write(&format!("{report:#}\n"))?;
        } else {
            write(&format!(
                "{passed} passed, {failed} failed, {skipped} skipped\n"
            ))?;
        }
        Ok(failed == 0)
    }
}

fn write(text: &str) -> Result<(), Failure> {
    let written = std::io::stdout().write_all(text.as_bytes());
    written.map_err(|_| Failure::Failed("stdout was closed".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_the_evidence_for_a_terminal_alone() {
        let check = Check::fail("name", "evidence of some length")
            .with_details(vec!["detail".to_owned()])
            .then("do this");
        let indent = " ".repeat(INDENT);
        let whole = format!(
            "FAIL  name{}evidence of some length\n{indent}| detail\n{indent}next: do this\n",
            " ".repeat(20)
        );
        assert_eq!(check.lines(None), whole);
        assert_eq!(check.lines(Some(200)), whole);
        // Too narrow for anything.
        assert_eq!(check.lines(Some(40)), whole);
        let broken = whole.replace(" some length", &format!(" some\n{indent}length"));
        assert_eq!(check.lines(Some(50)), broken);
    }
}
