//! Both explorers on the same system.

use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use clap::ValueEnum as _;
use serde::{Deserialize, Serialize};

use super::args::Explorer;
use crate::explorer::explore;
use crate::stateright_check;
use crate::step::Shipped;
use crate::system::{Bounds, System};

/// What one of them took.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Measured {
    states: u64,
    transitions: u64,
    took: Duration,
    /// The greatest resident size of the process, in KiB; `None` where the system does not tell.
    peak_kib: Option<u64>,
}

/// Measures both, or only one.
pub(super) fn run(bounds: Bounds, only: Option<Explorer>) -> Result<String, String> {
    match only {
        Some(explorer) => {
            let measured = measure(bounds, explorer)?;
            serde_json::to_string(&measured).map_err(|error| error.to_string())
        }
        None => both(bounds),
    }
}

fn both(bounds: Bounds) -> Result<String, String> {
    let mut text = format!("{bounds}\n");
    let mut rates = Vec::new();
    let mut counts = Vec::new();
    for explorer in [Explorer::Own, Explorer::Stateright] {
        let measured = in_a_process(bounds, explorer)?;
        let rate = measured.states as f64 / measured.took.as_secs_f64();
        let peak = measured
            .peak_kib
            .map_or("unknown".to_owned(), |kib| format!("{} MiB", kib / 1024));
        let _ = writeln!(
            text,
            "{:<12} {:>9} states in {:>7.3} s: {:>9.0} states a second, peak memory {peak}",
            name(explorer),
            measured.states,
            measured.took.as_secs_f64(),
            rate
        );
        rates.push(rate);
        counts.push((measured.states, measured.transitions));
    }
    if counts.first() != counts.last() {
        return Err(format!("the explorers do not agree: {counts:?}"));
    }
    if let [own, stateright] = rates[..] {
        let _ = writeln!(text, "own / stateright: {:.1}", own / stateright);
    }
    Ok(text)
}

fn in_a_process(bounds: Bounds, explorer: Explorer) -> Result<Measured, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .args(["bench", "--only", &name(explorer)])
        .args(["--in-flight", &bounds.in_flight.to_string()])
        .args(["--revisions", &bounds.revisions.to_string()])
        .args(["--tokens", &bounds.tokens.to_string()])
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

fn measure(bounds: Bounds, explorer: Explorer) -> Result<Measured, String> {
    let system = System::new(Shipped, bounds).map_err(|fault| fault.to_string())?;
    let started = Instant::now();
    let (states, transitions) = match explorer {
        Explorer::Own => {
            let found = explore(&system).map_err(|fault| fault.to_string())?;
            (found.state_count, found.transitions)
        }
        Explorer::Stateright => {
            let found = stateright_check::check(system);
            (found.unique_states as u64, found.transitions)
        }
    };
    Ok(Measured {
        states,
        transitions,
        took: started.elapsed(),
        peak_kib: peak_kib(),
    })
}

/// From Linux's `/proc`.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn name(explorer: Explorer) -> String {
    explorer
        .to_possible_value()
        .map_or_else(String::new, |value| value.get_name().to_owned())
}
