//! Writes the generated sequences, or says whether those that are kept are the ones.

use std::fs;
use std::path::{Path, PathBuf};

use crate::generate::{PINNED, Plan, Suite, digest, generate};
use crate::step::Shipped;

/// What came of it.
pub(super) enum Done {
    /// Everything was written, or is as it should be.
    Well(String),
    /// Something differs, or could not be done.
    Badly(String),
    /// There is no such plan.
    NoPlan(String),
}

/// Generates for this K, or for every K whose sequences are kept.
pub(super) fn run(in_flight: Option<u8>, check: bool, directory: Option<PathBuf>) -> Done {
    let numbers = in_flight.map_or(vec![1, 2], |number| vec![number]);
    let mut told = String::new();
    for number in numbers {
        let Some(plan) = Plan::of(number) else {
            return Done::NoPlan(format!("requests in flight must be 1 to 4, not {number}"));
        };
        match one(plan, check, directory.as_deref()) {
            Ok(line) => told.push_str(&line),
            Err(problem) => return Done::Badly(format!("{told}{problem}")),
        }
    }
    Done::Well(told)
}

fn one(plan: Plan, check: bool, directory: Option<&Path>) -> Result<String, String> {
    let suite = generate(&Shipped, plan).map_err(|problem| problem.to_string())?;
    let text = suite.text().map_err(|problem| problem.to_string())?;
    let told = tell(&suite, &text);
    if check {
        check_digest(plan, &text)?;
    }
    let directory = match directory {
        Some(directory) => directory.to_owned(),
        None if plan.is_committed() => kept(),
        None => return Ok(told),
    };
    let file = directory.join(plan.file_name());
    let named = file.display();
    if !check {
        return match fs::write(&file, &text) {
            Ok(()) => Ok(format!("{told}  written to {named}\n")),
            Err(error) => Err(format!("{named} cannot be written: {error}")),
        };
    }
    match fs::read_to_string(&file) {
        Ok(found) if found == text => Ok(format!("{told}  {named} is the same\n")),
        Ok(_) => Err(format!(
            "{named} differs from what is generated; run `generate`"
        )),
        Err(error) => Err(format!("{named} cannot be read: {error}")),
    }
}

fn check_digest(plan: Plan, text: &str) -> Result<(), String> {
    let (k, got) = (plan.in_flight, digest(text));
    let pinned = PINNED.iter().find(|pinned| pinned.in_flight == k);
    match pinned.map(|pinned| pinned.digest) {
        Some(expected) if expected == got => Ok(()),
        Some(expected) => Err(format!(
            "K = {k}: the digest is {got:016x}, and {expected:016x} is pinned"
        )),
        None => Err(format!("K = {k}: no digest is pinned")),
    }
}

fn tell(suite: &Suite, text: &str) -> String {
    let counts = &suite.counts;
    format!(
        "K = {}: {} of {} {} covered ({} points, {} transitions, {} pairs) by {} sequences of {} steps, \
         {} polls, {} wire forms, {} waits for a deadline; {} bytes, digest {:016x}\n",
        suite.plan.in_flight,
        counts.covered,
        counts.goal,
        suite.plan.goal.items(),
        counts.points,
        counts.transitions,
        counts.pairs,
        counts.sequences,
        counts.steps,
        counts.polls,
        suite.forms.len(),
        counts.deadlines,
        text.len(),
        digest(text),
    )
}

/// Where the committed sequences are kept, in the workspace that this program was built in.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/generated")
}
