//! The `moorline` program.

mod args;
mod config;
mod config_command;
mod demo;
mod doctor;
mod events;
mod io_fault;
mod logging;
mod poll;
mod run;
mod signals;
mod usage;

use std::process::ExitCode;

use clap::Parser;

use args::{Action, Args};
pub use logging::own_targets;

/// Something was done and went wrong.
const FAILED: u8 = 1;

/// Nothing was done: the call or the configuration is wrong.
const USAGE: u8 = 2;

/// Why the program ends without success.
enum Failure {
    /// Every fault of the configuration, a line each.
    Configuration(Vec<String>),
    /// In one line.
    Failed(String),
    /// What was printed says it all; the exit status is this.
    Told(u8),
    /// In one line.
    Usage(String),
}

/// Runs the program with the arguments and environment of the process.
#[must_use]
pub fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => return usage::explain(&error),
    };
    let result = match args.action {
        Action::Demo(demo) => demo::run(&demo),
        Action::Run(run) => run::run(&run),
        Action::Doctor(doctor) => doctor::run(&doctor),
        Action::Config(config) => config_command::run(&config),
        Action::Poll(poll) => poll::run(*poll),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Configuration(faults)) => {
            for fault in &faults {
                usage::note(fault);
            }
            ExitCode::from(USAGE)
        }
        Err(Failure::Told(status)) => ExitCode::from(status),
        Err(Failure::Failed(text)) => usage::complain(&text, FAILED),
        Err(Failure::Usage(text)) => usage::complain(&text, USAGE),
    }
}

/// Runs `future` on a runtime with two threads, signals and timers. A task that is stuck, for example
/// in writing to a reader that does not read, does not keep the program from ending.
fn block_on<F: Future>(future: F) -> Result<F::Output, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|_| {
            Failure::Failed("the system gave no threads or timers to run on".to_owned())
        })?;
    let output = runtime.block_on(future);
    runtime.shutdown_background();
    Ok(output)
}
