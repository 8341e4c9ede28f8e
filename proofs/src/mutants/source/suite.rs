//! The tests that mutants of the source are held against.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::SourceFault;
use super::scratch::Scratch;

/// One test program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Suite {
    /// `model/tests/classify.rs`.
    Classify,
    /// `client/tests/cli.rs`: the program itself, from outside.
    Cli,
    /// `client/tests/dispatch.rs`: commands from their receipt to their answer.
    Dispatch,
    /// `client/tests/dumps.rs`: what dumps show.
    Dumps,
    /// The unit tests of `model/src`.
    Model,
    /// `client/tests/monitor.rs`: probes, metrics and the status page.
    Monitor,
    /// `client/tests/places.rs`: places, repeated and cancelled commands, and the end, under paused time.
    Places,
    /// `client/tests/poller.rs`: the poll loop under paused time.
    Poller,
    /// `client/tests/privacy.rs`: everything that is shown.
    Privacy,
    /// `client/tests/respond.rs`: messages about commands over a socket.
    Respond,
    /// `client/tests/run.rs`: the program at work.
    Run,
    /// `client/tests/sequences.rs`: every written sequence over a socket.
    Sequences,
    /// `client/tests/target_http.rs`: servers behind a URL.
    TargetHttp,
    /// `client/tests/target_stdio.rs`: servers as child processes.
    TargetStdio,
    /// `client/tests/tls.rs`: encrypted endpoints, proxies, HTTP/2.
    Tls,
    /// The unit tests of `client/src`.
    Unit,
    /// `client/tests/wire.rs`: single exchanges over a socket.
    Wire,
}

/// What a suite said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ran {
    /// It ran to its end.
    Ended {
        /// How many tests passed.
        passed: usize,
        /// The names of those that failed, sorted.
        failed: Vec<String>,
    },
    /// It did not end in time, and was stopped.
    Hangs,
    /// It could not be built.
    Unbuilt,
}

/// How long a suite may run, far longer than any does.
const RUN_MAX: Duration = Duration::from_secs(300);

impl Suite {
    /// All of them.
    pub(super) const ALL: [Self; 17] = [
        Self::Classify,
        Self::Cli,
        Self::Dispatch,
        Self::Dumps,
        Self::Model,
        Self::Monitor,
        Self::Places,
        Self::Poller,
        Self::Privacy,
        Self::Respond,
        Self::Run,
        Self::Sequences,
        Self::TargetHttp,
        Self::TargetStdio,
        Self::Tls,
        Self::Unit,
        Self::Wire,
    ];

    /// The name of the test program.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Classify => "classify",
            Self::Cli => "cli",
            Self::Dispatch => "dispatch",
            Self::Dumps => "dumps",
            Self::Model => "model",
            Self::Monitor => "monitor",
            Self::Places => "places",
            Self::Poller => "poller",
            Self::Privacy => "privacy",
            Self::Respond => "respond",
            Self::Run => "run",
            Self::Sequences => "sequences",
            Self::TargetHttp => "target_http",
            Self::TargetStdio => "target_stdio",
            Self::Tls => "tls",
            Self::Unit => "unit",
            Self::Wire => "wire",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Classify | Self::Model => "moorline-model",
            _ => "moorline",
        }
    }

    fn directory(self) -> &'static str {
        match self {
            Self::Classify | Self::Model => "model",
            _ => "client",
        }
    }

    /// What cargo is to build, and the name that it gives to it.
    fn target(self) -> (&'static [&'static str], &'static str) {
        match self {
            Self::Model => (&["--lib"], "moorline_model"),
            Self::Unit => (&["--lib"], "moorline"),
            Self::Classify => (&["--test", "classify"], "classify"),
            Self::Cli => (&["--test", "cli"], "cli"),
            Self::Dispatch => (&["--test", "dispatch"], "dispatch"),
            Self::Dumps => (&["--test", "dumps"], "dumps"),
            Self::Monitor => (&["--test", "monitor"], "monitor"),
            Self::Places => (&["--test", "places"], "places"),
            Self::Poller => (&["--test", "poller"], "poller"),
            Self::Privacy => (&["--test", "privacy"], "privacy"),
            Self::Respond => (&["--test", "respond"], "respond"),
            Self::Run => (&["--test", "run"], "run"),
            Self::Sequences => (&["--test", "sequences"], "sequences"),
            Self::TargetHttp => (&["--test", "target_http"], "target_http"),
            Self::TargetStdio => (&["--test", "target_stdio"], "target_stdio"),
            Self::Tls => (&["--test", "tls"], "tls"),
            Self::Wire => (&["--test", "wire"], "wire"),
        }
    }

    /// The program is built only where it is tested, or what belongs to it: without it there is less to build.
    fn features(self) -> &'static [&'static str] {
        match self {
            Self::Cli | Self::Dumps | Self::Monitor | Self::Privacy | Self::Run => &[],
            _ => &["--no-default-features"],
        }
    }

    /// Builds the suite in the copy and runs it there.
    pub(super) fn run(self, scratch: &Scratch) -> Result<Ran, SourceFault> {
        let Some(program) = self.build(scratch)? else {
            return Ok(Ran::Unbuilt);
        };
        let mut child = Command::new(program)
            .current_dir(scratch.tree.join(self.directory()))
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| SourceFault::Cargo(error.to_string()))?;
        let mut pipe = child.stdout.take();
        let reader = thread::spawn(move || {
            let mut output = String::new();
            // Output that cannot be read lacks its summary, which is then noticed.
            let _ = pipe.as_mut().map(|pipe| pipe.read_to_string(&mut output));
            output
        });
        let ended = ends_in_time(&mut child)?;
        let output = reader.join().unwrap_or_default();
        Ok(if ended { read(&output) } else { Ran::Hangs })
    }

    /// The program; `None` where it cannot be built.
    fn build(self, scratch: &Scratch) -> Result<Option<PathBuf>, SourceFault> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        let (selection, name) = self.target();
        let output = Command::new(cargo)
            .args(["test", "--locked", "--no-run"])
            .args(["--message-format", "json", "--package", self.package()])
            .args(self.features())
            .args(selection)
            .current_dir(&scratch.tree)
            .env("CARGO_TARGET_DIR", &scratch.build)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .map_err(|error| SourceFault::Cargo(error.to_string()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut programs = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Message>(line).ok())
            .filter(|message| {
                message
                    .target
                    .as_ref()
                    .is_some_and(|target| target.name == name)
            })
            .filter_map(|message| message.executable);
        Ok(programs.next_back().filter(|_| output.status.success()))
    }
}

/// The parts of a message of cargo's that are looked at.
#[derive(Deserialize)]
struct Message {
    target: Option<Target>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

fn ends_in_time(child: &mut Child) -> Result<bool, SourceFault> {
    let started = Instant::now();
    let fault = |error: std::io::Error| SourceFault::Cargo(error.to_string());
    while started.elapsed() < RUN_MAX {
        if child.try_wait().map_err(fault)?.is_some() {
            return Ok(true);
        }
        thread::sleep(Duration::from_millis(20));
    }
    child.kill().map_err(fault)?;
    child.wait().map_err(fault)?;
    Ok(false)
}

/// Reads what libtest prints.
fn read(output: &str) -> Ran {
    let mut passed = 0;
    let mut failed = BTreeSet::new();
    for line in output.lines() {
        if let Some(name) = line
            .strip_prefix("test ")
            .and_then(|line| line.strip_suffix(" ... FAILED"))
        {
            failed.insert(name.to_owned());
        } else if let Some((_, counts)) = line
            .strip_prefix("test result: ")
            .and_then(|line| line.split_once(". "))
        {
            let count = counts.split_once(" passed").map(|(count, _)| count);
            passed += count
                .and_then(|count| count.parse::<usize>().ok())
                .unwrap_or(0);
        }
    }
    Ran::Ended {
        passed,
        failed: failed.into_iter().collect(),
    }
}

impl Ran {
    /// Whether tests were run and all passed.
    #[must_use]
    pub fn passed(&self) -> bool {
        matches!(self, Self::Ended { passed, failed } if *passed > 0 && failed.is_empty())
    }

    /// Whether this test failed.
    #[must_use]
    pub fn failed(&self, test: &str) -> bool {
        self.failures().iter().any(|name| name == test)
    }

    /// The names of the tests that failed.
    #[must_use]
    pub fn failures(&self) -> &[String] {
        match self {
            Self::Ended { failed, .. } => failed,
            Self::Hangs | Self::Unbuilt => &[],
        }
    }

    /// How many tests came to an end.
    #[must_use]
    pub fn tests(&self) -> usize {
        match self {
            Self::Ended { passed, failed } => passed + failed.len(),
            Self::Hangs | Self::Unbuilt => 0,
        }
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended { passed, failed } if failed.is_empty() => {
                write!(f, "{passed} tests passed, none failed")
            }
            Self::Ended { passed, failed } => {
                write!(
                    f,
                    "{passed} tests passed, these failed: {}",
                    failed.join(", ")
                )
            }
            Self::Hangs => f.write_str("it did not end in time"),
            Self::Unbuilt => f.write_str("it could not be built"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_libtest_prints() {
        let output = "\nrunning 3 tests\ntest a::b ... ok\ntest c ... FAILED\ntest d ... ok\n\nfailures:\n\n\
            ---- c stdout ----\nx\n\nfailures:\n    c\n\n\
            test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        let ran = read(output);
        assert_eq!((ran.tests(), ran.failures()), (3, &["c".to_owned()][..]));
        assert!(ran.failed("c") && !ran.failed("a::b") && !ran.passed());
        assert!(read("test result: ok. 2 passed; 0 failed; 0 ignored").passed());
        assert!(!read("test result: ok. 0 passed; 0 failed; 0 ignored").passed());
        assert!(!read("").passed() && !Ran::Hangs.passed() && !Ran::Unbuilt.passed());
    }
}
