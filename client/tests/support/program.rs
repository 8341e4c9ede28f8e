//! The program, as its users run it.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses its own part"
)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::timeout;

/// How long anything may take that is waited for. Nothing takes this long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(60);

pub const PROGRAM_KEY: &str = "program-test-key-90d2";
pub const PROGRAM_TUNNEL: &str = "program-tunnel-5e1b";

/// A call with nothing of this environment but a PATH, and a key in `API_KEY`.
pub fn moorline(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_moorline"));
    command
        .args(args)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("API_KEY", PROGRAM_KEY)
        .stdin(Stdio::null());
    command
}

/// What a program that has ended left behind.
#[derive(Debug)]
pub struct Ended {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a call to its end without blocking the service that the test plays.
pub async fn run(mut command: Command) -> Ended {
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = timeout(PATIENCE, output).await.expect("it ends").unwrap();
    Ended {
        status: output.status.code().expect("a status"),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A program that runs. It is killed when this is dropped.
pub struct Running {
    child: Child,
    lines: mpsc::UnboundedReceiver<String>,
    /// What it has written to stderr so far.
    pub stderr: String,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = child.stderr.take().unwrap();
        let (sender, lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            lines,
            stderr: String::new(),
        }
    }

    /// Waits for a line of stderr that holds a text.
    pub async fn line(&mut self, text: &str) -> String {
        let find = async {
            while let Some(line) = self.lines.recv().await {
                self.stderr.push_str(&line);
                self.stderr.push('\n');
                if line.contains(text) {
                    return Some(line);
                }
            }
            None
        };
        let found = timeout(PATIENCE, find).await;
        found
            .unwrap_or(None)
            .unwrap_or_else(|| panic!("{text} was not said: {}", self.stderr))
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(signal(name, &id), "it runs");
    }

    /// Waits for its end and gives its status.
    pub async fn end(&mut self) -> i32 {
        let rest = async {
            while let Some(line) = self.lines.recv().await {
                self.stderr.push_str(&line);
                self.stderr.push('\n');
            }
        };
        timeout(PATIENCE, rest).await.expect("it ends");
        for _ in 0..600 {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().expect("a status");
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("it does not end: {}", self.stderr);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended, or is to.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal; false when there is no such process.
pub fn signal(name: &str, id: &str) -> bool {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), id])
        .stderr(Stdio::null())
        .status();
    sent.unwrap().success()
}
