//! The stdio target against real child processes: ids, deadlines, deaths, and what is left behind.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use moorline::model::awaited::CANCELLED;
use moorline::model::backoff::Backoff;
use moorline::model::wire::{Channel, ResponseType};
use moorline::target::{AnyTarget, CommandLine, StdioTarget, StdioTargetSettings, Target};
use moorline::telemetry::Telemetry;
use rustix::process::{Pid, Signal, kill_process};
use support::capture::Captured;
use support::target::{
    INITIALIZE, PATIENCE, answer, call, call_within, run, termination, text_of, tool, toy,
    tunnel_failure,
};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tracing::subscriber::DefaultGuard;

/// How long the end of something may take that is to end by itself.
const SOON: Duration = Duration::from_secs(15);

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;

/// A target that restarts its child at once, and what it counted.
struct Tried {
    target: StdioTarget,
    telemetry: Arc<Telemetry>,
}

impl Tried {
    fn new(command: &str) -> Self {
        Self::with(command, |_| {})
    }

    fn toy() -> Self {
        Self::new(toy())
    }

    fn with(command: &str, change: impl FnOnce(&mut StdioTargetSettings)) -> Self {
        let mut settings = StdioTargetSettings::new(CommandLine::parse(command).unwrap());
        settings.backoff = Backoff::new(Duration::from_nanos(1), Duration::from_nanos(1)).unwrap();
        change(&mut settings);
        let telemetry = Arc::new(Telemetry::new());
        let target = StdioTarget::new(settings, Channel::main(), Arc::clone(&telemetry));
        Self { target, telemetry }
    }

    fn restarts(&self) -> u64 {
        self.telemetry.facts().target(&Channel::main()).restarts
    }

    async fn echo(&self, id: &str, text: &str) -> String {
        let message = tool(id, "echo", &format!(r#"{{"text":"{text}"}}"#));
        let answered = answer(&self.target, call(&message)).await;
        let json = answered.json.as_deref().unwrap();
        assert!(
            json.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"#)),
            "{json}"
        );
        text_of(&answered)
    }

    async fn pid(&self) -> Pid {
        let answered = answer(&self.target, call(&tool("1", "pid", "{}"))).await;
        Pid::from_raw(text_of(&answered).parse().unwrap()).unwrap()
    }
}

/// A directory of one test's own, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        let name = format!("moorline-stdio-{:032x}", rand::random::<u128>());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Waits until a file holds a whole line, and gives it.
    async fn line(&self, name: &str) -> String {
        let path = self.0.join(name);
        until(|| std::fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n'))).await;
        std::fs::read_to_string(&path).unwrap().trim().to_owned()
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.0.join(name)).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    async fn pid(&self, name: &str) -> Pid {
        Pid::from_raw(self.line(name).await.parse().unwrap()).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn until(mut condition: impl FnMut() -> bool) {
    let waited = timeout(SOON, async {
        while !condition() {
            sleep(Duration::from_millis(5)).await;
        }
    });
    waited.await.expect("it comes about");
}

/// Whether a process has ended, be it that nobody has asked for its status yet.
fn has_ended(pid: Pid) -> bool {
    let id = pid.as_raw_nonzero();
    let stat = PathBuf::from(format!("/proc/{id}/stat"));
    if !Path::new("/proc/self/stat").exists() {
        return rustix::process::test_kill_process(pid).is_err();
    }
    match std::fs::read_to_string(stat) {
        Ok(text) => text
            .rsplit(") ")
            .next()
            .is_some_and(|rest| rest.starts_with(['Z', 'X'])),
        Err(_) => true,
    }
}

/// What this thread logs from info on, until the guard is dropped.
fn logged() -> (Captured, DefaultGuard) {
    let captured = Captured::default();
    let writer = captured.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    (captured, tracing::subscriber::set_default(subscriber))
}

fn shell(script: &str) -> String {
    assert!(!script.contains('\''));
    format!("sh -c '{script}'")
}

#[tokio::test]
async fn a_session_with_a_child_process() {
    let tried = Tried::toy();
    let target = AnyTarget::Stdio(StdioTarget::new(
        StdioTargetSettings::new(CommandLine::parse(toy()).unwrap()),
        Channel::main(),
        tried.telemetry,
    ));
    let opened = answer(&target, call(INITIALIZE)).await;
    assert_eq!(
        (opened.code, opened.kind),
        (200, ResponseType::JsonRpcResponse)
    );
    assert!(
        opened
            .json
            .unwrap()
            .contains(r#""protocolVersion":"2025-06-18""#)
    );
    let noted = answer(
        &target,
        call(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
    )
    .await;
    assert_eq!((noted.code, noted.kind), (202, ResponseType::NotifyAck));
    assert!(noted.json.is_none() && noted.failure.is_none());
    let progress = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress","arguments":{"steps":3},"_meta":{"progressToken":"t"}}}"#;
    let (answered, notes) = run(&target, call(progress)).await;
    assert_eq!(text_of(&answered), "3 steps");
    assert_eq!(notes.len(), 3);
    assert_eq!(
        notes[2],
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":3,"progressToken":"t","total":3}}"#
    );
    let failed = answer(&target, call(&tool("\"f\"", "fail", "{}"))).await;
    assert_eq!((failed.code, failed.failure), (200, None));
    assert_eq!(
        failed.json.as_deref(),
        Some(
            r#"{"jsonrpc":"2.0","id":"f","error":{"code":-32000,"message":"the tool fails, as it was asked to"}}"#
        )
    );
}

/// spec-test: CMD-26
#[tokio::test]
async fn a_pipe_has_no_session_to_end() {
    let tried = Tried::new("/nowhere/at/all");
    let ended = tried
        .target
        .terminate(termination(&[("Mcp-Session-Id", &["s"])]))
        .await;
    assert_eq!(
        (ended.code, ended.kind),
        (405, ResponseType::SessionTerminationResponse)
    );
    assert!(ended.json.is_none() && ended.failure.is_none());
}

/// Answers come to whoever asked, also under ids that are in use already; slow ones hold up nobody.
/// spec-test: RPT-7
#[tokio::test]
async fn calls_share_the_pipe_and_even_their_ids() {
    let tried = Arc::new(Tried::toy());
    let silent = call(&tool("1", "silent", "{}"));
    let (notes, _noted) = mpsc::channel(1);
    let others = async {
        let calls: Vec<_> = (0..200)
            .map(|n| {
                let tried = Arc::clone(&tried);
                // Ten ids for all of them, one of them that of the silent call.
                let id = (n % 10).to_string();
                tokio::spawn(async move { (n, tried.echo(&id, &format!("text {n}")).await) })
            })
            .collect();
        for call in calls {
            let (n, text) = timeout(PATIENCE, call).await.unwrap().unwrap();
            assert_eq!(text, format!("text {n}"));
        }
    };
    tokio::select! {
        _ = tried.target.call(silent, notes) => panic!("the silent tool answered"),
        () = others => {}
    }
    assert_eq!(tried.restarts(), 0);
}

/// spec-test: CMD-20, RPT-4
#[tokio::test]
async fn a_late_answer_is_discarded_and_the_pipe_stays() {
    let tried = Tried::toy();
    let pid = tried.pid().await;
    let slow = tool("1", "slow", r#"{"ms":300}"#);
    let late = answer(&tried.target, call_within(&slow, Duration::from_millis(50))).await;
    let told = tunnel_failure(&late);
    assert_eq!((&told["source"], late.code), (&"timeout".into(), 504));
    // The same id again, while the late answer is still to come and when it has.
    assert_eq!(tried.echo("1", "other").await, "other");
    let slower = tool("1", "slow", r#"{"ms":500}"#);
    let answered = answer(&tried.target, call(&slower)).await;
    assert_eq!(text_of(&answered), "waited 500 ms");
    assert_eq!(tried.echo("1", "third").await, "third");
    assert_eq!((tried.pid().await, tried.restarts()), (pid, 0));
}

#[tokio::test]
async fn a_call_that_is_dropped_is_given_up_like_a_late_one() {
    let tried = Tried::toy();
    let pid = tried.pid().await;
    let (notes, _noted) = mpsc::channel(1);
    let slow = tried
        .target
        .call(call(&tool("1", "slow", r#"{"ms":100}"#)), notes);
    assert!(timeout(Duration::from_millis(20), slow).await.is_err());
    let answered = answer(&tried.target, call(&tool("1", "slow", r#"{"ms":200}"#))).await;
    assert_eq!(text_of(&answered), "waited 200 ms");
    assert_eq!(tried.pid().await, pid);
}

/// A server should not answer what was cancelled, so nobody may wait for that.
/// spec-test: CMD-33
#[tokio::test]
async fn a_cancelled_call_ends_without_an_answer() {
    let tried = Tried::toy();
    let pid = tried.pid().await;
    let (notes, _noted) = mpsc::channel(1);
    let silent = tried.target.call(call(&tool("5", "silent", "{}")), notes);
    let cancel = async {
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#;
        assert_eq!(answer(&tried.target, call(cancel)).await.code, 202);
    };
    let (cancelled, ()) = timeout(PATIENCE, async { tokio::join!(silent, cancel) })
        .await
        .unwrap();
    assert_eq!(cancelled.failure, Some(CANCELLED));
    assert_eq!(tried.echo("5", "the same id").await, "the same id");
    assert_eq!((tried.pid().await, tried.restarts()), (pid, 0));
}

/// spec-test: CMD-20
#[tokio::test]
async fn a_timeout_of_initialize_and_of_nothing_else_closes_the_pipe() {
    let scratch = Scratch::new();
    let mute = format!(
        "echo $$ >> {}; while read line; do :; done",
        scratch.file("pid")
    );
    let tried = Tried::new(&shell(&mute));
    let late = answer(&tried.target, call_within(PING, Duration::from_millis(50))).await;
    assert_eq!(tunnel_failure(&late)["source"], "timeout");
    let pid = scratch.pid("pid").await;
    assert!(!has_ended(pid));
    // Another call is in flight when it happens.
    let (notes, _noted) = mpsc::channel(1);
    let other = timeout(SOON, tried.target.call(call(PING), notes));
    let initialize = call_within(INITIALIZE, Duration::from_millis(200));
    let (late, other) = tokio::join!(answer(&tried.target, initialize), other);
    assert_eq!(tunnel_failure(&late)["source"], "timeout");
    let told = tunnel_failure(&other.unwrap());
    assert_eq!(
        (&told["source"], &told["transport_error_kind"]),
        (&"transport_closed".into(), &"initialize_given_up".into())
    );
    until(|| has_ended(pid)).await;
    assert_eq!(tried.restarts(), 0);
}

/// spec-test: RPT-6
#[tokio::test]
async fn a_killed_child_fails_its_calls_at_once_and_the_next_call_starts_another() {
    let tried = Tried::toy();
    assert!(
        answer(&tried.target, call(INITIALIZE))
            .await
            .failure
            .is_none()
    );
    let pid = tried.pid().await;
    let (notes, _noted) = mpsc::channel(1);
    let silent = call(&tool("1", "silent", "{}"));
    let killed = async {
        // When this is answered the silent call has reached the child as well.
        tried.echo("2", "x").await;
        kill_process(pid, Signal::KILL).unwrap();
    };
    let (failed, ()) = tokio::join!(timeout(SOON, tried.target.call(silent, notes)), killed);
    let told = tunnel_failure(&failed.unwrap());
    assert_eq!(
        (&told["source"], &told["transport_error_kind"]),
        (&"transport_closed".into(), &"child_ended".into())
    );
    // The new child knows nothing of the session.
    let refused = answer(&tried.target, call(&tool("\"q\"", "echo", "{}"))).await;
    let told = tunnel_failure(&refused);
    assert_eq!(
        (&told["source"], &told["transport_error_kind"]),
        (&"protocol".into(), &"not_initialized".into())
    );
    assert!(refused.json.unwrap().contains(r#""id":"q""#));
    assert_eq!(tried.restarts(), 1);
    assert!(answer(&tried.target, call(PING)).await.failure.is_none());
    assert!(
        answer(&tried.target, call(INITIALIZE))
            .await
            .failure
            .is_none()
    );
    assert_ne!(tried.pid().await, pid);
    assert_eq!(tried.restarts(), 1);
}

#[tokio::test]
async fn a_tool_that_ends_the_server_is_a_closed_transport() {
    let tried = Tried::toy();
    for restarts in 0..3 {
        let failed = answer(&tried.target, call(&tool("1", "exit", r#"{"code":3}"#))).await;
        assert_eq!(
            tunnel_failure(&failed)["transport_error_kind"],
            "child_ended"
        );
        assert_eq!(tried.restarts(), restarts);
    }
}

/// What a child wrote counts, even if it ends in the same moment.
#[tokio::test]
async fn the_last_words_of_a_child_are_not_lost() {
    let pong = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
    let scratch = Scratch::new();
    std::fs::write(scratch.0.join("pong"), format!("{pong}\n")).unwrap();
    for (last, answers) in [("echo no such module >&2", false), ("cat PONG", true)] {
        let wait = "read line; echo read > READ; until test -e GO; do sleep 0.01; done";
        let script = format!("{wait}; {last}")
            .replace("PONG", &scratch.file("pong"))
            .replace("READ", &scratch.file("read"))
            .replace("GO", &scratch.file("go"));
        for _ in 0..8 {
            let tried = Tried::new(&shell(&script));
            let end = async {
                scratch.line("read").await;
                std::fs::write(scratch.file("go"), "").unwrap();
                // Holds up the only thread, so that words and end are seen at once.
                std::thread::sleep(Duration::from_millis(150));
            };
            let (answered, ()) = tokio::join!(answer(&tried.target, call(PING)), end);
            if answers {
                assert_eq!(answered.json.as_deref(), Some(pong));
            } else {
                let told = tunnel_failure(&answered);
                assert_eq!(told["transport_error_kind"], "child_ended");
                assert_eq!(tried.target.stderr().last_words, "no such module\n");
            }
            for name in ["read", "go"] {
                std::fs::remove_file(scratch.file(name)).unwrap();
            }
        }
    }
}

/// A child that ends at once is not started again in a loop: callers hear of it at once.
#[tokio::test]
async fn starts_are_spaced() {
    let scratch = Scratch::new();
    let starts = scratch.file("starts");
    let command = shell(&format!("echo started >> {starts}"));
    let tried = Tried::with(&command, |settings| {
        let hour = Duration::from_secs(3600);
        settings.backoff = Backoff::new(hour, hour).unwrap();
    });
    let failed = answer(&tried.target, call(PING)).await;
    assert_eq!(tunnel_failure(&failed)["source"], "transport_closed");
    for _ in 0..1_000 {
        let failed = answer(&tried.target, call(PING)).await;
        let told = tunnel_failure(&failed);
        assert_eq!(
            (&told["source"], &told["transport_error_kind"]),
            (&"connect".into(), &"restart_delayed".into())
        );
    }
    assert_eq!(std::fs::read_to_string(&starts).unwrap(), "started\n");
    assert_eq!(tried.restarts(), 0);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_no_connection() {
    let tried = Tried::new("/nowhere/at/all --flag");
    for _ in 0..2 {
        let failed = answer(&tried.target, call(PING)).await;
        let told = tunnel_failure(&failed);
        assert_eq!(
            (&told["source"], &told["transport_error_kind"]),
            (&"connect".into(), &"program_not_found".into())
        );
        assert!(!failed.json.unwrap().contains("nowhere"));
    }
    assert_eq!(tried.restarts(), 0);
}

#[tokio::test]
async fn a_flood_of_stderr_holds_up_nothing_and_its_end_is_kept() {
    let tried = Tried::toy();
    let flood = tool("1", "stderr-flood", r#"{"lines":100000}"#);
    let answered = answer(&tried.target, call(&flood)).await;
    assert_eq!(text_of(&answered), "100000 lines");
    let last = "line 100000 of a flood that goes on for quite a while\n";
    until(|| tried.target.stderr().last_words.ends_with(last)).await;
    let stderr = tried.target.stderr();
    assert!(stderr.bytes > 5_000_000, "{}", stderr.bytes);
    assert!(stderr.last_words.len() <= 16 * 1024);
}

#[tokio::test]
async fn lines_that_are_no_messages_are_skipped() {
    let tried = Tried::toy();
    let (answered, notes) = run(&tried.target, call(&tool("1", "garbage-line", "{}"))).await;
    assert_eq!(text_of(&answered), "said something that is not JSON");
    assert!(notes.is_empty());
    assert_eq!(tried.target.stray_lines(), 1);
    let odd = r#"printf "\n\r\n\377\376\n[]\n{}\n"; exec "#;
    let (log, _guard) = logged();
    let tried = Tried::new(&shell(&format!("{odd}{}", toy())));
    assert_eq!(tried.echo("1", "still there").await, "still there");
    assert_eq!(tried.target.stray_lines(), 3);
    let told = log.take();
    assert_eq!(told.matches("no JSON-RPC message").count(), 1, "{told}");
    assert!(
        told.contains(r#"WARN"#) && told.contains(r#"channel="main""#),
        "{told}"
    );
}

/// An answer with the request's id that is not valid is a failure of the protocol, as over HTTP.
/// spec-test: CMD-34
#[tokio::test]
async fn an_invalid_answer_ends_its_call() {
    for (reply, kind) in [
        (
            r#"\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{},\"error\":null"#,
            "invalid_answer",
        ),
        (
            r#"\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":\"E\",\"message\":\"m\"}"#,
            "invalid_answer",
        ),
        (r#"\"id\":7,\"result\":{}"#, "invalid_answer"),
        (
            r#"\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"m\"}"#,
            "error_without_id",
        ),
    ] {
        let script = format!(r#"read line; echo "{{{reply}}}"; cat > /dev/null"#);
        let tried = Tried::new(&shell(&script));
        let told = tunnel_failure(&answer(&tried.target, call(PING)).await);
        assert_eq!(
            (&told["source"], &told["transport_error_kind"]),
            (&"protocol".into(), &kind.into()),
            "{reply}"
        );
    }
}

#[tokio::test]
async fn a_line_over_the_limit_ends_the_child() {
    let tried = Tried::with(toy(), |settings| settings.line_limit = 10_000);
    let pid = tried.pid().await;
    let fits = answer(&tried.target, call(&tool("1", "big", r#"{"bytes":9900}"#))).await;
    assert_eq!(text_of(&fits).len(), 9_900);
    let failed = answer(&tried.target, call(&tool("1", "big", r#"{"bytes":10000}"#))).await;
    let told = tunnel_failure(&failed);
    assert_eq!(
        (&told["source"], &told["transport_error_kind"]),
        (&"protocol".into(), &"line_too_long".into())
    );
    assert!(has_ended(pid));
    assert_eq!(tried.echo("1", "anew").await, "anew");
    assert_eq!(tried.restarts(), 1);
}

#[tokio::test]
async fn large_messages_pass_both_ways() {
    let tried = Tried::toy();
    let text = "y".repeat(1024 * 1024);
    assert_eq!(tried.echo("1", &text).await, text);
}

/// Its calls wait no longer than they want to, and it can be stopped.
#[tokio::test]
async fn a_child_that_never_reads_blocks_nobody_for_ever() {
    let scratch = Scratch::new();
    let deaf = format!("echo $$ > {}; exec sleep 1000", scratch.file("pid"));
    let tried = Arc::new(Tried::new(&shell(&deaf)));
    let large = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":"{}"}}"#,
        "z".repeat(20_000)
    );
    // More than the queue holds, so that some do not even get in.
    let calls: Vec<_> = (0..100)
        .map(|_| {
            let (tried, large) = (Arc::clone(&tried), large.clone());
            let limit = Duration::from_millis(300);
            tokio::spawn(async move { answer(&tried.target, call_within(&large, limit)).await })
        })
        .collect();
    for call in calls {
        assert_eq!(tunnel_failure(&call.await.unwrap())["source"], "timeout");
    }
    let note = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    let late = answer(&tried.target, call_within(note, Duration::from_millis(50))).await;
    assert_eq!(
        (tunnel_failure(&late)["source"].as_str(), late.kind),
        (Some("timeout"), ResponseType::NotifyAck)
    );
    let pid = scratch.pid("pid").await;
    timeout(PATIENCE, tried.target.stop(Duration::from_millis(50)))
        .await
        .unwrap();
    assert!(has_ended(pid));
}

/// What nobody waits for any more when the child comes to read it is not run.
/// spec-test: CMD-19
#[tokio::test]
async fn an_expired_command_does_not_run() {
    let scratch = Scratch::new();
    let go = scratch.file("go");
    let wait = format!("until test -e {go}; do sleep 0.02; done; exec {}", toy());
    let tried = Tried::new(&shell(&wait));
    let filler = "f".repeat(200_000);
    let expired = async {
        // The writer is busy with the filler, which fills the pipe.
        let exit = call_within(&tool("2", "exit", "{}"), Duration::from_millis(200));
        let failed = answer(&tried.target, exit).await;
        assert_eq!(tunnel_failure(&failed)["source"], "timeout");
        std::fs::write(&go, "").unwrap();
    };
    let (echoed, ()) = tokio::join!(tried.echo("1", &filler), expired);
    assert_eq!(echoed, filler);
    assert_eq!(tried.echo("3", "alive").await, "alive");
    assert_eq!(tried.restarts(), 0);
}

/// The operator sees when a server starts and ends, and no word of its command or its own.
#[tokio::test]
async fn starts_and_ends_are_logged() {
    let (log, _guard) = logged();
    let tried = Tried::new("/nowhere/at/all --key secret");
    answer(&tried.target, call(PING)).await;
    let tried = Tried::toy();
    answer(&tried.target, call(&tool("1", "exit", "{}"))).await;
    tried.pid().await;
    tried.target.stop(Duration::from_secs(30)).await;
    let level_and_rest = |line: &String| {
        let (_, line) = line.split_once(' ').unwrap();
        let line = line.trim_start().replace("moorline::target::stdio::", "");
        line.split(" stderr_bytes").next().unwrap().to_owned()
    };
    let lines: Vec<String> = log.lines().iter().map(level_and_rest).collect();
    assert_eq!(
        lines,
        [
            r#"WARN shared: target not started channel="main" kind="program_not_found""#,
            r#"INFO shared: target started channel="main" start=1"#,
            r#"WARN keeper: target ended channel="main" start=1 kind="child_ended" calls_in_flight=1"#,
            r#"INFO shared: target started channel="main" start=2"#,
            r#"INFO keeper: target ended channel="main" start=2 kind="stopped" calls_in_flight=0"#,
        ]
    );
}

/// Its answer may come all the same, and so the others wait for it.
/// spec-test: CMD-37
#[tokio::test]
async fn a_child_that_only_reads_no_more_costs_no_call_in_flight() {
    let scratch = Scratch::new();
    let script = format!(
        r#"echo $$ >> {pids}; read line; exec 0<&-; echo closed > {closed}; until test -e {go}; do sleep 0.02; done; echo "{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{}}}}"; exec sleep 1000"#,
        pids = scratch.file("pids"),
        closed = scratch.file("closed"),
        go = scratch.file("go"),
    );
    let tried = Tried::new(&shell(&script));
    let (notes, _noted) = mpsc::channel(1);
    let first = tried.target.call(call(PING), notes);
    let others = async {
        scratch.line("closed").await;
        for message in [PING, r#"{"jsonrpc":"2.0","method":"notifications/x"}"#] {
            let failed = answer(&tried.target, call(message)).await;
            assert_eq!(tunnel_failure(&failed)["source"], "transport_closed");
        }
        // Longer than a child may take that has ended.
        sleep(Duration::from_millis(700)).await;
        assert_eq!(scratch.lines("pids").len(), 1);
        std::fs::write(scratch.file("go"), "").unwrap();
    };
    let (first, ()) = timeout(PATIENCE, async { tokio::join!(first, others) })
        .await
        .unwrap();
    assert_eq!(first.failure, None);
    // It can be asked nothing, and goes.
    let pid = Pid::from_raw(scratch.lines("pids")[0].parse().unwrap()).unwrap();
    until(|| has_ended(pid)).await;
}

/// A request that no child has seen cannot run twice.
/// spec-test: CMD-36, CMD-16
#[tokio::test]
async fn what_was_never_written_goes_to_the_next_child() {
    let scratch = Scratch::new();
    let script = format!(
        "if test -e {go}; then exec {}; fi; until test -e {go}; do sleep 0.02; done",
        toy(),
        go = scratch.file("go"),
    );
    let tried = Tried::new(&shell(&script));
    // Does not fit into the pipe, so that the writer is busy with it.
    let filler = tool(
        "1",
        "echo",
        &format!(r#"{{"text":"{}"}}"#, "f".repeat(200_000)),
    );
    let (notes, _noted) = mpsc::channel(1);
    let partly = tried.target.call(call(&filler), notes);
    let end = async { std::fs::write(scratch.file("go"), "").unwrap() };
    let (partly, echoed, ()) = timeout(PATIENCE, async {
        tokio::join!(partly, tried.echo("2", "served"), end)
    })
    .await
    .unwrap();
    assert_eq!(tunnel_failure(&partly)["source"], "transport_closed");
    assert_eq!(echoed, "served");
    assert_eq!(tried.restarts(), 1);
}

/// Whoever does not take notes loses them, from the first one on that finds no room, and holds up nobody.
/// spec-test: CMD-15
#[tokio::test]
async fn notes_that_nobody_takes_are_lost_and_counted() {
    let tried = Tried::toy();
    let progress = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress","arguments":{"steps":5000},"_meta":{"progressToken":1}}}"#;
    let (notes, mut noted) = mpsc::channel(3);
    let answered = timeout(PATIENCE, tried.target.call(call(progress), notes)).await;
    assert_eq!(text_of(&answered.unwrap()), "5000 steps");
    assert_eq!(tried.echo("2", "x").await, "x");
    let mut kept = 0;
    while noted.recv().await.is_some() {
        kept += 1;
    }
    assert_eq!(kept, 3);
    assert_eq!(tried.telemetry.facts().deliveries.notifications_lost, 4_997);
}

/// Room that comes later makes no gap.
/// spec-test: CMD-15
#[tokio::test]
async fn notes_have_no_gap() {
    let scratch = Scratch::new();
    let note =
        |n: u32| format!(r#"echo "{{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":[{n}]}}""#);
    let script = format!(
        r#"read line; {}; {}; until test -e {go}; do sleep 0.01; done; {}; echo "{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{}}}}"; cat > /dev/null"#,
        note(1),
        note(2),
        note(3),
        go = scratch.file("go"),
    );
    let tried = Tried::new(&shell(&script));
    let (notes, mut noted) = mpsc::channel(1);
    let lost = || tried.telemetry.facts().deliveries.notifications_lost;
    let taking = async {
        until(|| lost() == 1).await;
        let first: String = noted.recv().await.unwrap();
        assert!(first.contains("[1]"), "{first}");
        std::fs::write(scratch.file("go"), "").unwrap();
    };
    let called = tried.target.call(call(PING), notes);
    let (answered, ()) = timeout(PATIENCE, async { tokio::join!(called, taking) })
        .await
        .unwrap();
    assert!(answered.failure.is_none());
    assert_eq!((noted.recv().await, lost()), (None, 2));
}

/// A request of the server that is lost on the way would leave the server waiting for ever.
/// spec-test: CMD-35
#[tokio::test]
async fn a_request_of_the_server_that_nobody_takes_is_answered() {
    for (method, expected) in [
        ("ping", r#"{"jsonrpc":"2.0","id":"s","result":{}}"#),
        (
            "roots/list",
            r#"{"jsonrpc":"2.0","id":"s","error":{"code":-32603,"message":"this request could not be passed on"}}"#,
        ),
    ] {
        let scratch = Scratch::new();
        let file = scratch.file("reply");
        let script = format!(
            r#"read line; echo "{{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"{method}\"}}"; read -r reply; echo "$reply" > {file}; echo "{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{}}}}"; cat > /dev/null"#
        );
        let tried = Tried::new(&shell(&script));
        let (notes, noted) = mpsc::channel(1);
        drop(noted);
        let answered = timeout(PATIENCE, tried.target.call(call(PING), notes)).await;
        assert!(answered.unwrap().failure.is_none());
        assert_eq!(std::fs::read_to_string(file).unwrap().trim(), expected);
        assert_eq!(tried.telemetry.facts().deliveries.notifications_lost, 1);
    }
}

#[tokio::test]
async fn a_request_of_the_server_goes_to_the_call_in_flight_and_its_answer_back() {
    let tried = Tried::toy();
    let (answered, notes) = run(&tried.target, call(&tool("1", "ask-back", "{}"))).await;
    assert_eq!(text_of(&answered), "asked back");
    assert_eq!(
        notes,
        [r#"{"id":"toy-ping","jsonrpc":"2.0","method":"ping"}"#]
    );
    let reply = answer(
        &tried.target,
        call(r#"{"jsonrpc":"2.0","id":"toy-ping","result":{}}"#),
    )
    .await;
    assert_eq!((reply.code, reply.kind), (202, ResponseType::NotifyAck));
}

#[tokio::test]
async fn what_is_no_message_never_reaches_the_child() {
    let tried = Tried::new("/nowhere/at/all");
    for message in ["{}", "[]", r#"{"jsonrpc":"2.0","id":[],"method":"x"}"#] {
        let answered = answer(&tried.target, call(message)).await;
        assert_eq!(
            tunnel_failure(&answered)["transport_error_kind"],
            "invalid_message"
        );
    }
    let tried = Tried::toy();
    for (tokens, kind) in [
        (r#""progressToken":1,"progressToken":2"#, "ambiguous_id"),
        (r#""progressToken":1.5"#, "progress_token_invalid"),
    ] {
        let message =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"_meta":{{{tokens}}}}}}}"#);
        let told = tunnel_failure(&answer(&tried.target, call(&message)).await);
        assert_eq!(
            (&told["source"], &told["transport_error_kind"]),
            (&"protocol".into(), &kind.into())
        );
    }
}

#[tokio::test]
async fn the_child_gets_our_environment_without_our_secrets() {
    let plain = |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let mut others = std::env::vars().map(|(name, _)| name).filter(plain);
    let kept = "PATH";
    let withheld = others.find(|name| name != kept).unwrap();
    let tried = Tried::with(toy(), |settings| {
        settings.withheld_variables = vec![withheld.clone().into()];
    });
    for (name, expected) in [(kept, "set"), (&*withheld, "not set")] {
        let asked = tool("1", "environment", &format!(r#"{{"name":"{name}"}}"#));
        assert_eq!(
            text_of(&answer(&tried.target, call(&asked)).await),
            expected
        );
    }
}

/// What the child started ends with it, however it ends.
#[tokio::test]
async fn nothing_of_the_group_is_left() {
    for way in ["stopped", "dropped", "killed", "exited"] {
        let scratch = Scratch::new();
        let file = scratch.file("grandchild");
        let script = format!("sleep 1000 & echo $! > {file}; exec {}", toy());
        let tried = Tried::new(&shell(&script));
        let child = tried.pid().await;
        let grandchild = scratch.pid("grandchild").await;
        assert!(!has_ended(child) && !has_ended(grandchild), "{way}");
        match way {
            "stopped" => {
                tried.target.stop(Duration::from_secs(30)).await;
                assert!(has_ended(child), "{way}");
            }
            "dropped" => drop(tried),
            "killed" => kill_process(child, Signal::KILL).unwrap(),
            _ => drop(answer(&tried.target, call(&tool("1", "exit", "{}"))).await),
        }
        until(|| has_ended(child) && has_ended(grandchild)).await;
    }
}

/// The end of a runtime is the end of the child as well.
#[test]
fn a_runtime_that_ends_takes_the_child_with_it() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let tried = Tried::toy();
    let pid = runtime.block_on(tried.pid());
    drop(runtime);
    let ended = (0..6_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        has_ended(pid)
    });
    assert!(ended);
}

/// Standard input is closed, then comes SIGTERM, then SIGKILL.
#[tokio::test]
async fn a_stop_asks_before_it_kills() {
    let (long, short) = (Duration::from_secs(30), Duration::from_millis(50));
    let looping = "while :; do sleep 0.02; done";
    for (script, grace, expected) in [
        (
            "cat > /dev/null; echo closed >> FILE",
            long,
            "started closed",
        ),
        (
            &*format!("trap \"echo term >> FILE; exit\" TERM; echo ready >> FILE; {looping}"),
            short,
            "started ready term",
        ),
        (
            &*format!("trap \"echo term >> FILE\" TERM; echo ready >> FILE; {looping}"),
            short,
            "started ready term",
        ),
        (
            &*format!("trap \"\" TERM; echo ready >> FILE; {looping}"),
            short,
            "started ready",
        ),
        // What it still has to say does not hold it up.
        (
            "cat > /dev/null; head -c 1000000 /dev/zero; echo closed >> FILE",
            long,
            "started closed",
        ),
    ] {
        let scratch = Scratch::new();
        let script = format!(
            "echo $$ > {}; echo started >> FILE; {script}",
            scratch.file("pid")
        );
        let tried = Tried::new(&shell(&script.replace("FILE", &scratch.file("file"))));
        let (notes, _noted) = mpsc::channel(1);
        let waiting = tried.target.call(call(PING), notes);
        let stopped = async {
            let pid = scratch.pid("pid").await;
            let ready = if expected.contains("ready") {
                "ready\n"
            } else {
                "started\n"
            };
            let file = scratch.0.join("file");
            until(|| std::fs::read_to_string(&file).is_ok_and(|text| text.ends_with(ready))).await;
            tried.target.stop(grace).await;
            assert!(has_ended(pid), "{script}");
        };
        let (failed, ()) = tokio::join!(waiting, stopped);
        assert_eq!(tunnel_failure(&failed)["transport_error_kind"], "stopped");
        let told = std::fs::read_to_string(scratch.file("file")).unwrap();
        assert_eq!(
            told.split_whitespace().collect::<Vec<_>>().join(" "),
            expected,
            "{script}"
        );
        let refused = answer(&tried.target, call(PING)).await;
        assert_eq!(tunnel_failure(&refused)["transport_error_kind"], "stopped");
        tried.target.stop(grace).await;
    }
}

#[test]
fn settings_print_no_word_of_the_command() {
    let settings = StdioTargetSettings::new(CommandLine::parse("server --key secret").unwrap());
    let text = format!("{settings:?} {:?}", settings.command);
    assert!(
        !text.contains("secret") && !text.contains("server"),
        "{text}"
    );
}
