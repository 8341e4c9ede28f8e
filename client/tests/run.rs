//! `moorline run` as an operator runs it: the program, a service, and MCP servers as processes.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "support/program.rs"]
mod program;
mod support;

use moorline_fixtures::fake::{FakeConfig, FakeService};
use moorline_fixtures::mcp::{HttpOptions, ToyHttp};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal as heard};

use program::{PROGRAM_KEY, PROGRAM_TUNNEL, Running, moorline, run, signal};
use support::target::toy;

const PLACE: &str = "berth-token-77";

struct Harbour {
    service: FakeService,
}

impl Harbour {
    fn open() -> Self {
        let service = FakeService::start(FakeConfig {
            api_key: PROGRAM_KEY.to_owned(),
            ..FakeConfig::default()
        })
        .unwrap();
        service.add_tunnel(PROGRAM_TUNNEL, PLACE).unwrap();
        Self { service }
    }

    /// A call of `moorline run` with the toy server as a child.
    fn command(&self, more: &[&str]) -> std::process::Command {
        let address = ["--health-listen-addr", "127.0.0.1:0"];
        self.command_with_monitor_by_default(&[&address, more].concat())
    }

    fn command_with_monitor_by_default(&self, more: &[&str]) -> std::process::Command {
        let endpoint = self.service.endpoint();
        let args = [
            "run",
            "--endpoint",
            &endpoint,
            "--tunnel-id",
            PROGRAM_TUNNEL,
            "--api-key",
            "env:API_KEY",
            "--mcp-command",
            toy(),
        ];
        moorline(&[&args, more].concat())
    }

    /// A program that has received a call which its server, whose process id this gives, never answers.
    async fn with_a_silent_call(&self) -> (Running, String) {
        let mut program = Running::start(self.command(&[]));
        self.initialize("init");
        self.answer("init").await;
        self.call("pid", "pid", json!({}));
        let server = self.content("pid").await;
        self.call("silent", "silent", json!({}));
        program.line("request_id=\"silent\"").await;
        (program, server)
    }

    fn ask(&self, id: &str, method: &str, params: Value) {
        self.ask_on("main", id, method, params);
    }

    fn ask_on(&self, channel: &str, id: &str, method: &str, params: Value) {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let command = json!({
            "request_id": id,
            "command_type": "jsonrpc",
            "channel": channel,
            "jsonrpc": message,
        });
        self.service.enqueue(PROGRAM_TUNNEL, command).unwrap();
    }

    fn initialize(&self, id: &str) {
        let client = json!({ "name": "t", "version": "1" });
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": client,
        });
        self.ask(id, "initialize", params);
    }

    fn call(&self, id: &str, tool: &str, arguments: Value) {
        let params = json!({ "name": tool, "arguments": arguments });
        self.ask(id, "tools/call", params);
    }

    /// Waits for the final response of a command and gives its body.
    async fn answer(&self, id: &str) -> Value {
        let found = |response: &&moorline_fixtures::fake::AcceptedResponse| {
            response.request_id == id && response.resp_type != "jsonrpc_notify"
        };
        let record = self
            .service
            .wait_until(|record| record.responses.iter().any(|response| found(&response)))
            .await
            .unwrap_or_else(|_| panic!("{id} was not answered"));
        let response = record.responses.iter().find(found).unwrap();
        assert_eq!(response.shard_token, PLACE.as_bytes());
        serde_json::from_slice(&response.body).unwrap()
    }

    async fn content(&self, id: &str) -> String {
        let answer = self.answer(id).await;
        let message = message(&answer);
        let text = message["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

/// The JSON-RPC message of a response.
fn message(body: &Value) -> Value {
    match &body["resp_json"] {
        Value::String(text) => serde_json::from_str(text).unwrap(),
        message => message.clone(),
    }
}

/// spec-test: SET-5, CMD-27
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_of_a_stdio_server_answers_and_a_signal_ends_everything() {
    let harbour = Harbour::open();
    let mut program = Running::start(harbour.command(&["--log-level", "debug"]));
    harbour.initialize("init");
    harbour.call("echo", "echo", json!({ "text": "ahoy" }));
    assert_eq!(harbour.content("echo").await, "ahoy");
    harbour.call("pid", "pid", json!({}));
    let server = harbour.content("pid").await;
    for secret in ["API_KEY", "CONTROL_PLANE_API_KEY"] {
        harbour.call(secret, "environment", json!({ "name": secret }));
        assert_eq!(harbour.content(secret).await, "not set");
    }
    harbour.call("path", "environment", json!({ "name": "PATH" }));
    assert_eq!(harbour.content("path").await, "set");
    harbour.ask_on("tools", "other", "ping", json!({}));
    assert_eq!(harbour.answer("other").await["resp_code"], 400);

    program.signal("TERM");
    assert_eq!(program.end().await, 0, "{}", program.stderr);
    assert!(!signal("0", &server), "the server is gone");
    let said = &program.stderr;
    let told = |text: &str| assert!(said.contains(text), "{text}: {said}");
    told("moorline: serving main (stdio); 10 commands at once\n");
    told("moorline: status page: http://127.0.0.1:");
    told("moorline: stopping: ");
    told("; a second signal ends this at once\n");
    assert!(said.ends_with("moorline: stopped\n"), "{said}");
    let port = harbour.service.address().port().to_string();
    for secret in [PROGRAM_KEY, PROGRAM_TUNNEL, PLACE, &port, "ahoy", toy()] {
        assert!(!said.contains(secret), "{secret}: {said}");
    }
    let record = harbour.service.record();
    let info: Vec<_> = record
        .requests
        .iter()
        .map(|request| request.sole_header("x-tunnel-mcp-server-info").unwrap())
        .collect();
    let expected = br#"{"version":1,"channels":[{"name":"main","proc_affinity":true}]}"#;
    assert!(info.len() > 9);
    assert!(info.iter().all(|info| info == expected));
}

/// The events of a whole run, polls through a reassignment and the stop included, are a behaviour of the model.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_events_of_a_run_can_be_validated_and_are_never_overwritten() {
    let harbour = Harbour::open();
    harbour.service.set_corrections(true);
    let file = std::env::temp_dir().join(format!("moorline-events-{}.jsonl", std::process::id()));
    let _ = std::fs::remove_file(&file);
    let events = file.to_str().unwrap();
    let mut program = Running::start(harbour.command(&["--events", events]));
    harbour.initialize("init");
    harbour.answer("init").await;
    harbour
        .service
        .reassign(PROGRAM_TUNNEL, "berth-token-78")
        .unwrap();
    let moved = harbour.service.wait_until(|record| {
        let last = record.polls().last().and_then(support::token_of);
        last.as_deref() == Some("berth-token-78")
    });
    moved.await.unwrap();
    program.signal("TERM");
    assert_eq!(program.end().await, 0, "{}", program.stderr);

    let text = std::fs::read_to_string(&file).unwrap();
    let valid = support::trace::validate(&text).unwrap();
    assert!(valid.attempts >= 4, "{text}");
    assert!(text.contains(r#""verdict":"installed""#) && !text.contains("berth-token"));

    let ended = run(harbour.command(&["--events", events])).await;
    assert_eq!(ended.status, 2, "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("--events: the file cannot be made anew (it exists already): "),
        "{}",
        ended.stderr
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    std::fs::remove_file(&file).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_over_http_and_stdio_serve_a_channel_each() {
    let harbour = Harbour::open();
    let server = ToyHttp::start(HttpOptions::default()).unwrap();
    let url = format!("channel=web,url={}", server.url());
    let mut program = Running::start(harbour.command(&["--mcp-server-url", &url]));
    program.line("serving main (stdio), web (HTTP)").await;
    harbour.ask_on("web", "web", "tools/list", json!({}));
    let listed = message(&harbour.answer("web").await);
    assert!(listed["result"]["tools"].as_array().unwrap().len() > 9);
    harbour.initialize("init");
    assert_eq!(harbour.answer("init").await["resp_code"], 200);
    program.signal("INT");
    assert_eq!(program.end().await, 0, "{}", program.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_runs_when_the_signal_comes_is_finished_and_nothing_more_is_taken() {
    let harbour = Harbour::open();
    let mut program = Running::start(harbour.command(&[]));
    let line = program.line("status page: http://").await;
    let address = line.rsplit("http://").next().unwrap().trim_end_matches('/');
    harbour.initialize("init");
    harbour.answer("init").await;
    harbour.call("slow", "slow", json!({ "ms": 2_000 }));
    program
        .line("command_type=\"jsonrpc\" request_id=\"slow\"")
        .await;
    // Two polls have brought a command each, and the third is held.
    let held = harbour
        .service
        .wait_until(|record| record.polls().count() == 3);
    held.await.expect("a third poll");
    program.signal("TERM");
    program.line("stopping").await;
    // What the service hands to a poll while that is being abandoned is on its way and lost, which no
    // client can prevent. From here on there is no poll to hand anything to.
    let abandoned = harbour
        .service
        .wait_until(|record| record.abandoned_polls == 1);
    abandoned.await.expect("the held poll is abandoned");
    let mut ready = String::new();
    // The line is written before the rest hears of it.
    for _ in 0..20 {
        ready = get(address, "/readyz").await;
        if ready.starts_with("HTTP/1.1 503") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(ready.contains("the client is shutting down"), "{ready}");
    harbour.call("late", "echo", json!({ "text": "late" }));
    assert_eq!(harbour.content("slow").await, "waited 2000 ms");
    assert_eq!(program.end().await, 0, "{}", program.stderr);
    let record = harbour.service.record();
    assert_eq!(record.polls().count(), 3, "no poll after the signal");
    let late = record
        .responses
        .iter()
        .any(|response| response.request_id == "late");
    let queued = harbour.service.queued(PROGRAM_TUNNEL);
    assert_eq!((queued, late), (Ok(1), false), "left for others");
}

/// Its server need not answer what was cancelled, and nobody waits for that.
///
/// spec-test: CMD-33
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_call_is_over_and_nothing_is_answered() {
    let harbour = Harbour::open();
    let (mut program, _) = harbour.with_a_silent_call().await;
    let message = json!({
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": { "requestId": "silent" },
    });
    let command = json!({
        "request_id": "cancel",
        "command_type": "jsonrpc",
        "jsonrpc": message,
    });
    harbour.service.enqueue(PROGRAM_TUNNEL, command).unwrap();
    assert_eq!(harbour.answer("cancel").await["resp_type"], "notify_ack");
    // Nothing is left to be drained, so that the end needs no time.
    program.signal("TERM");
    assert_eq!(program.end().await, 0, "{}", program.stderr);
    let told = "command cancelled: not answered request_id=\"silent\"";
    assert!(program.stderr.contains(told), "{}", program.stderr);
    let record = harbour.service.record();
    let about = record.responses.iter().map(|one| &*one.request_id);
    assert_eq!(about.collect::<Vec<_>>(), ["init", "pid", "cancel"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_takes_too_long_is_answered_with_a_failure() {
    let harbour = Harbour::open();
    let mut program = Running::start(harbour.command(&["--drain", "300ms"]));
    harbour.initialize("init");
    harbour.answer("init").await;
    harbour.call("silent", "silent", json!({}));
    program.line("request_id=\"silent\"").await;
    program.signal("TERM");
    assert_eq!(program.end().await, 0, "{}", program.stderr);
    let failed = message(&harbour.answer("silent").await);
    let failure = &failed["error"]["data"]["tunnel_failure"];
    assert_eq!(failure["transport_error_kind"], "shutting_down", "{failed}");
    let stopping = "moorline: stopping: 1 command still to finish, in at most 300ms; \
                    a second signal ends this at once\n";
    assert!(program.stderr.contains(stopping), "{}", program.stderr);
    let told = "command answered with a failure request_id=\"silent\" source=\"client_internal\"";
    assert!(program.stderr.contains(told), "{}", program.stderr);
    let warning =
        "moorline: warning: the time to finish was over: commands answered with a failure: 1\n";
    assert!(program.stderr.contains(warning), "{}", program.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_it_at_once_and_kills_the_server() {
    let harbour = Harbour::open();
    let (mut program, server) = harbour.with_a_silent_call().await;
    program.signal("TERM");
    program.line("stopping").await;
    program.signal("INT");
    assert_eq!(program.end().await, 1, "{}", program.stderr);
    assert!(!signal("0", &server), "the server is gone");
    let last = "moorline: ended by a second signal; not everything was answered\n";
    assert!(program.stderr.ends_with(last), "{}", program.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_fails_its_calls_and_starts_again() {
    let harbour = Harbour::open();
    let (mut program, server) = harbour.with_a_silent_call().await;
    // The call is with the server once a later one was answered.
    harbour.call("after", "echo", json!({ "text": "x" }));
    harbour.content("after").await;
    assert!(signal("KILL", &server));
    let failed = message(&harbour.answer("silent").await);
    let failure = &failed["error"]["data"]["tunnel_failure"];
    assert_eq!(failure["source"], "transport_closed", "{failed}");

    // A start that follows another too closely is refused, so a client may have to ask again.
    let mut greeted = false;
    for attempt in 0..50 {
        let id = format!("init-{attempt}");
        harbour.initialize(&id);
        greeted = message(&harbour.answer(&id).await)["result"].is_object();
        if greeted {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert!(greeted);
    harbour.call("again", "pid", json!({}));
    assert_ne!(harbour.content("again").await, server);
    program.signal("TERM");
    assert_eq!(program.end().await, 0, "{}", program.stderr);
    let told = "command answered with a failure request_id=\"silent\" source=\"transport_closed\"";
    assert!(program.stderr.contains(told), "{}", program.stderr);
}

async fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// spec-test: SET-4, SET-7, RPT-1, RPT-12
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_monitor_follows_the_client() {
    let harbour = Harbour::open();
    let mut program = Running::start(harbour.command(&[]));
    let line = program.line("status page: http://").await;
    let address = line.rsplit("http://").next().unwrap().trim_end_matches('/');
    harbour.initialize("init");
    harbour.answer("init").await;
    for path in ["/healthz", "/readyz", "/metrics", "/health", "/"] {
        let answer = get(address, path).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        for secret in [PROGRAM_KEY, PROGRAM_TUNNEL, PLACE] {
            assert!(!answer.contains(secret), "{path}");
        }
    }
    // The service counts an answer before the client hears that it was accepted.
    let mut health = Value::Null;
    for _ in 0..100 {
        let answer = get(address, "/health").await;
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        health = serde_json::from_str(body).unwrap();
        if health["deliveries"]["accepted"] == 1 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(health["deliveries"]["accepted"], 1, "{health}");
    for table in ["polls", "commands", "deliveries"] {
        assert!(health[table]["last"]["at"].is_string(), "{table}: {health}");
    }
    program.signal("TERM");
    assert_eq!(program.end().await, 0, "{}", program.stderr);
}

/// spec-test: SET-4, CMD-29
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn logs_go_where_and_how_they_are_told() {
    let harbour = Harbour::open();
    let path = format!(
        "{}/run-{}.log",
        env!("CARGO_TARGET_TMPDIR"),
        std::process::id()
    );
    let _ = std::fs::remove_file(&path);
    let mut command = harbour.command(&[]);
    command.envs([
        ("LOG_FORMAT", "json"),
        ("LOG_LEVEL", "debug"),
        ("LOG_FILE", &path),
    ]);
    let mut program = Running::start(command);
    harbour.initialize("init");
    harbour.answer("init").await;
    let long_id = "i".repeat(129);
    let untold = json!({
        "request_id": long_id,
        "command_type": "of_a_later_version",
        "channel": "untold-channel",
        "created_at": "untold-time",
        "response_timeout": "untold",
        "headers": {"X-Request-Id": ["untold-header"]},
        "jsonrpc": {"method": "untold-method"},
    });
    let told = json!({
        "request_id": "told",
        "command_type": "session_termination",
        "response_timeout": "90s",
    });
    harbour.service.enqueue(PROGRAM_TUNNEL, untold).unwrap();
    harbour.service.enqueue(PROGRAM_TUNNEL, told).unwrap();
    harbour.answer("told").await;
    program.signal("TERM");
    assert_eq!(program.end().await, 0, "{}", program.stderr);
    assert_eq!(program.stderr, "");
    let log = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let said = |text: &str| {
        let texts = lines.iter().map(|line| line["message"].as_str().unwrap());
        texts.filter(|said| said.starts_with(text)).count()
    };
    for text in ["serving main (stdio)", "status page", "stopping", "stopped"] {
        assert_eq!(said(text), 1, "{text}: {log}");
    }
    assert_eq!(
        receipts(&lines),
        [
            json!({"command_type": "jsonrpc", "request_id": "init"}),
            json!({"command_type": "of_a_later_version"}),
            json!({"command_type": "session_termination", "request_id": "told", "response_timeout": "90s"}),
        ]
    );
    assert!(!log.contains("untold") && !log.contains(&long_id), "{log}");
    assert!(said("poll ended") > 0, "{log}");
    for secret in [PROGRAM_KEY, PROGRAM_TUNNEL, PLACE] {
        assert!(!log.contains(secret), "{secret}");
    }
}

/// What was logged of each command's receipt, beside the time and what stands on every line.
fn receipts(lines: &[Value]) -> Vec<Value> {
    let received = lines
        .iter()
        .filter(|line| line["message"] == "command received");
    let receipts = received.map(|line| {
        let mut receipt = line.as_object().unwrap().clone();
        for everywhere in ["timestamp", "level", "message", "target"] {
            assert!(receipt.remove(everywhere).is_some(), "{line}");
        }
        let at = receipt
            .remove("received_unix_ms")
            .unwrap()
            .as_u64()
            .unwrap();
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis();
        assert!(u128::from(at) <= now && at > 1_700_000_000_000, "{line}");
        Value::Object(receipt)
    });
    receipts.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_does_not_know_the_client_is_warned_of_and_not_fatal() {
    let harbour = Harbour::open();
    let mut command = harbour.command(&[]);
    command.env("API_KEY", "another-key");
    let mut program = Running::start(command);
    let warning = program.line("did not confirm the tunnel").await;
    assert!(warning.contains("http_error: status 401"), "{warning}");
    harbour
        .service
        .wait_until(|record| record.polls().count() > 1)
        .await
        .expect("polls go on");
    program.signal("TERM");
    assert_eq!(program.end().await, 0, "{}", program.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_keeps_it_from_starting_is_said_at_once() {
    let harbour = Harbour::open();
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = harbour.command_with_monitor_by_default(&[]);
    command.env("HEALTH_LISTEN_ADDR", &address);
    let ended = run(command).await;
    assert_eq!(ended.status, 1, "{}", ended.stderr);
    let text = format!(
        "moorline: the monitor cannot listen on {address}: address in use; give \
         --health-listen-addr or HEALTH_LISTEN_ADDR another address, or off\n"
    );
    assert_eq!(ended.stderr, text);

    let ended = run(moorline(&["run", "--log-level", "loud"])).await;
    assert_eq!((ended.status, ended.stdout.as_str()), (2, ""));
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 5, "every fault at once: {}", ended.stderr);
    assert!(lines.iter().all(|line| line.starts_with("moorline: ")));
    assert_eq!(harbour.service.counts().requests, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_terminal_that_closes_ends_it_in_order() {
    // However the tests were started, perhaps with the signal ignored: one that is caught here is none that a child
    // ignores.
    let _caught = heard(SignalKind::hangup()).unwrap();
    let harbour = Harbour::open();
    let mut program = Running::start(harbour.command(&[]));
    harbour.initialize("init");
    harbour.call("pid", "pid", json!({}));
    let server = harbour.content("pid").await;
    harbour.call("slow", "slow", json!({ "ms": 500 }));
    program.line("request_id=\"slow\"").await;
    program.signal("HUP");
    assert_eq!(program.end().await, 0, "{}", program.stderr);
    assert_eq!(harbour.content("slow").await, "waited 500 ms");
    assert!(!signal("0", &server), "the server is gone");
}

/// As `nohup` starts it.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hangup_that_is_ignored_from_the_start_changes_nothing() {
    let harbour = Harbour::open();
    let inner = harbour.command(&[]);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]);
    command.arg(inner.get_program()).args(inner.get_args());
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap());
    command.env("API_KEY", PROGRAM_KEY);
    let mut program = Running::start(command);
    harbour.initialize("init");
    harbour.answer("init").await;
    program.signal("HUP");
    harbour.call("after", "echo", json!({ "text": "afloat" }));
    assert_eq!(harbour.content("after").await, "afloat");
    program.signal("TERM");
    assert_eq!(program.end().await, 0, "{}", program.stderr);
}

/// The terminal takes what is written to it along when it closes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_cannot_be_written_any_more_keeps_nothing_from_being_answered() {
    let harbour = Harbour::open();
    let mut command = harbour.command(&["--log-level", "debug"]);
    let mut child = command
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stderr.take());
    harbour.initialize("init");
    harbour.call("echo", "echo", json!({ "text": "ahoy" }));
    let answered = harbour.content("echo").await;
    assert!(signal("TERM", &child.id().to_string()));
    let ended = tokio::task::spawn_blocking(move || child.wait().unwrap());
    assert_eq!(
        (answered.as_str(), ended.await.unwrap().code()),
        ("ahoy", Some(0))
    );
}
