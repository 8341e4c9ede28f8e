//! The command line of `moorline-proofs`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line speaks to its user"
)]

mod args;
mod bench;
mod generate;
mod mutants;
mod progress;
mod tell;
mod validate;

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser;
use generate::Done;
use progress::Lines;
use stateright::Model as _;
use validate::Judged;

use crate::check::{Choice, placement};
use crate::mutants::source::Shard;
use crate::mutants::{judge, workspace};
use crate::stateright_check::Model;
use crate::step::Shipped;
use crate::system::{Bounds, System};

/// A property does not hold, or something did not run.
const FAILED: u8 = 1;

/// The command line cannot be followed, or what it names cannot be read. clap uses the same code.
const USAGE: u8 = 2;

/// Runs the program; returns what it exits with.
pub fn main() -> ExitCode {
    match Args::parse().command {
        Command::Check {
            json,
            without_solvers,
            ..
        } => check(json, Choice { without_solvers }),
        Command::Bench {
            in_flight,
            revisions,
            tokens,
            only,
        } => match bench::run(Bounds::observed(in_flight, revisions, tokens), only) {
            Ok(text) => {
                print!("{text}");
                ExitCode::SUCCESS
            }
            Err(problem) => usage(&problem),
        },
        Command::Explore {
            in_flight,
            revisions,
            tokens,
            port,
        } => explore(Bounds::observed(in_flight, revisions, tokens), port),
        Command::Generate {
            k,
            check,
            directory,
        } => match generate::run(k, check, directory) {
            Done::Well(text) => {
                print!("{text}");
                ExitCode::SUCCESS
            }
            Done::Badly(problem) => {
                eprintln!("{problem}");
                ExitCode::from(FAILED)
            }
            Done::NoPlan(problem) => usage(&problem),
        },
        Command::Mutants {
            judge: Some(outcomes),
            ..
        } => judge_mutants(&outcomes),
        Command::Mutants {
            json,
            source,
            shard,
            ..
        } => run_mutants(json, source.then(|| shard.unwrap_or(Shard::WHOLE))),
        Command::Trace { property: None } => {
            print!("{}", tell::list());
            ExitCode::SUCCESS
        }
        Command::Trace {
            property: Some(property),
        } => trace(&property),
        Command::Validate {
            file,
            in_flight,
            json,
        } => match validate::run(&file, in_flight, json) {
            Judged::Valid(text) => {
                println!("{text}");
                ExitCode::SUCCESS
            }
            Judged::Refused(text) => {
                println!("{text}");
                ExitCode::from(FAILED)
            }
            Judged::NoTrace(problem) => usage(&problem),
        },
    }
}

fn check(json: bool, choice: Choice) -> ExitCode {
    let lines = Lines::new();
    let report = placement(&Shipped, choice, &lines);
    lines.finish();
    if json {
        match report.json() {
            Ok(text) => println!("{text}"),
            Err(error) => {
                eprintln!("the report cannot be written as JSON: {error}");
                return ExitCode::from(FAILED);
            }
        }
    } else {
        print!("{}", report.table());
    }
    if report.passed() {
        ExitCode::SUCCESS
    } else {
        eprintln!("fails: {}", report.failed().join(", "));
        ExitCode::from(FAILED)
    }
}

fn judge_mutants(outcomes: &Path) -> ExitCode {
    match judge(outcomes, &workspace()) {
        Ok(found) => {
            print!("{}", found.text());
            if found.problems.is_empty() {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(FAILED)
            }
        }
        Err(fault) => {
            eprintln!("the outcomes cannot be judged: {fault}");
            ExitCode::from(FAILED)
        }
    }
}

fn run_mutants(json: bool, shard: Option<Shard>) -> ExitCode {
    let report = match mutants::report(shard) {
        Ok(report) => report,
        Err(fault) => {
            eprintln!("the source mutants could not be run: {fault}");
            return ExitCode::from(FAILED);
        }
    };
    match report.json() {
        Ok(text) if json => println!("{text}"),
        Ok(_) => print!("{}", report.text()),
        Err(error) => {
            eprintln!("the report cannot be written as JSON: {error}");
            return ExitCode::from(FAILED);
        }
    }
    match report.problems().first() {
        None => ExitCode::SUCCESS,
        Some(first) => {
            eprintln!("fails: {first}");
            ExitCode::from(FAILED)
        }
    }
}

/// Serves until it is interrupted.
fn explore(bounds: Bounds, port: u16) -> ExitCode {
    let system = match System::new(Shipped, bounds) {
        Ok(system) => system,
        Err(fault) => return usage(&fault.to_string()),
    };
    // stateright prints the address that it was given, so a free port is looked up before.
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).and_then(|found| found.local_addr());
    let address = match free {
        Ok(address) => address,
        Err(error) => return usage(&format!("port {port} on 127.0.0.1: {error}")),
    };
    println!("{bounds}: browse to http://{address} and stop with ctrl-c");
    Model::new(system).checker().serve(address);
    ExitCode::SUCCESS
}

fn trace(property: &str) -> ExitCode {
    match tell::run_of(property) {
        Ok(diagram) => {
            print!("{diagram}");
            ExitCode::SUCCESS
        }
        Err(problem) => usage(&problem),
    }
}

fn usage(problem: &str) -> ExitCode {
    eprintln!("{problem}");
    ExitCode::from(USAGE)
}
