//! What `validate` reads and prints.

use std::fs::File;
use std::io::{self, BufReader};
use std::num::NonZeroU64;
use std::path::Path;

use serde::Serialize;

use crate::validate::{Before, Finding, Trace, TraceFault, Valid};

/// What became of a validation.
pub(super) enum Judged {
    /// The trace is a behaviour of the model; the text says what it shows.
    Valid(String),
    /// It is none; the text says where and why.
    Refused(String),
    /// There is nothing to judge, for this reason.
    NoTrace(String),
}

/// Validates a file, or standard input where its name is `-`.
pub(super) fn run(file: &Path, in_flight: Option<NonZeroU64>, json: bool) -> Judged {
    let trace = match read(file) {
        Ok(trace) => trace,
        Err(fault) => return Judged::NoTrace(format!("{}: {fault}", file.display())),
    };
    match trace.judge(in_flight) {
        Ok(valid) if json => Judged::Valid(in_json(&Told::Valid(&valid))),
        Ok(valid) => Judged::Valid(valid.to_string()),
        Err(finding) if json => Judged::Refused(in_json(&Told::of(&finding))),
        Err(finding) => Judged::Refused(finding.to_string()),
    }
}

fn read(file: &Path) -> Result<Trace, TraceFault> {
    if file != Path::new("-") {
        return Trace::read(BufReader::new(File::open(file)?));
    }
    Trace::read(io::stdin().lock())
}

#[derive(Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
enum Told<'a> {
    Valid(&'a Valid),
    NotABehaviour {
        line: u64,
        sequence: u64,
        attempt: u64,
        before: Before,
        member: &'static str,
        problem: String,
    },
}

impl Told<'_> {
    fn of(finding: &Finding) -> Self {
        Self::NotABehaviour {
            line: finding.line,
            sequence: finding.event.sequence,
            attempt: finding.event.attempt,
            before: finding.before,
            member: finding.fault.member(),
            problem: finding.fault.to_string(),
        }
    }
}

/// Numbers, texts and names always have a JSON form.
fn in_json(told: &Told<'_>) -> String {
    serde_json::to_string(told).unwrap_or_default()
}
