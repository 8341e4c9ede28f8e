//! The client and real MCP servers: two Node ones and one on the Python SDK, over stdio and over streamable HTTP. All
//! of it is driven from the far end: commands are queued at a service, and judged is what comes back to it.
//!
//! `client/tests/real/run` installs the servers and runs this. Where `MOORLINE_REAL_SERVERS` is not set, as in a plain
//! `cargo test`, everything is left out, and one line on standard error says so; with `required` in it a server that is
//! not installed is a failure. `MOORLINE_REAL_CASES` selects the cases whose names hold a text.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "a test fails by panicking, and says what it left out"
)]

mod caller;
mod cases;
mod direct;
mod house;
mod installed;
#[path = "../support/program.rs"]
mod program;
mod record;
mod servers;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use cases::Case;
use installed::Installed;

const REQUIRED: &str = "MOORLINE_REAL_SERVERS";

const SELECTED: &str = "MOORLINE_REAL_CASES";

/// How many cases run at once. Most of their time is spent waiting.
const AT_ONCE: usize = 3;

/// How long a case may take. None takes this long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(180);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_works_with_real_servers() {
    match std::env::var(REQUIRED) {
        Err(_) => return leave_out(),
        Ok(value) => assert_eq!(value, "required", "{REQUIRED} must be required, or not set"),
    }
    let installed = Arc::new(Installed::find());
    let selected = std::env::var(SELECTED).unwrap_or_default();
    let mut cases = cases::all();
    cases.retain(|case| case.name.contains(&selected));
    assert!(!cases.is_empty(), "no case is called {selected}");
    let count = cases.len();
    let failed = run(cases, &installed).await;
    assert!(
        failed.is_empty(),
        "{} of {count} failed: {failed:#?}",
        failed.len()
    );
    println!("real servers: {count} cases");
}

/// Past the capture of the test harness: what is left out must be seen.
fn leave_out() {
    let line = format!(
        "real servers: left out, since {REQUIRED} is not set (client/tests/real/run installs and runs them)\n"
    );
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// Runs cases side by side, and gives the names of those that failed.
async fn run(cases: Vec<Case>, installed: &Arc<Installed>) -> Vec<String> {
    let room = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for Case { name, scene, play } in cases {
        let (room, installed) = (Arc::clone(&room), Arc::clone(installed));
        running.spawn(async move {
            let _place = room.acquire_owned().await.unwrap();
            // A task of its own: its panic is its failure.
            let case = tokio::spawn(timeout(PATIENCE, play(scene, installed)));
            let holds = matches!(case.await, Ok(Ok(())));
            println!("{} {name}", if holds { "holds " } else { "FAILED" });
            (name, holds)
        });
    }
    let ended = running.join_all().await;
    let failed = ended.into_iter().filter(|(_, holds)| !holds);
    failed.map(|(name, _)| name).collect()
}
