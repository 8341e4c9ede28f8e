//! What the checks found, as lines or as JSON.

use std::io::Write;

use serde_json::{Value, json};

use super::super::Failure;

/// The column in which evidence begins.
const NAME_WIDTH: usize = 22;

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

    fn lines(&self) -> String {
        let result = self.result.name().to_ascii_uppercase();
        let mut text = format!("{result}  {:<NAME_WIDTH$}  {}\n", self.name, self.evidence);
        let mut below = |line: &str| {
            text.push_str(&" ".repeat(NAME_WIDTH.saturating_add(8)));
            text.push_str(line);
            text.push('\n');
        };
        for line in &self.details {
            below(&format!("| {line}"));
        }
        if let Some(next) = &self.next {
            below(&format!("next: {next}"));
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
    checks: Vec<Check>,
}

impl Report {
    pub(super) fn new(as_json: bool) -> Self {
        Self {
            as_json,
            checks: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, check: Check) -> Result<(), Failure> {
        if !self.as_json {
            write(&check.lines())?;
        }
        self.checks.push(check);
        Ok(())
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
