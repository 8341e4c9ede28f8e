//! Commands from their receipt to their answer: the real client, a real service over loopback, and a target that
//! does what the test tells it.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use moorline::dispatch::{DispatchOptions, Dispatcher, Drained};
use moorline::model::backoff::Backoff;
use moorline::model::readiness::Target as TargetState;
use moorline::model::wire::{Channel, FailureSource, ResponseType, ServerInfo, TunnelFailure};
use moorline::target::{Answer, Call, Notes, Target, Termination};
use moorline::telemetry::{Facts, Telemetry};
use moorline::{ControlPlane, Poller, PollerOptions};
use moorline_fixtures::fake::{FakeConfig, FakeService, Record};
use serde_json::{Value, json};
use support::{KEY, TUNNEL, settings, token_of, trace};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

/// A call that waits for the test to play the target.
struct Held {
    message: Value,
    headers: Vec<(String, Vec<String>)>,
    notes: Notes,
    answer: oneshot::Sender<Answer>,
}

/// How long anything may take before a test is given up.
const PATIENCE: Duration = Duration::from_secs(20);

/// The method of a call that is answered by itself, the moment its deadline has passed.
const LATE: &str = "late";

struct HeldTarget(mpsc::UnboundedSender<Held>);

impl Target for HeldTarget {
    async fn call(&self, call: Call, notes: Notes) -> Answer {
        let message: Value = serde_json::from_str(call.message.get()).unwrap();
        if message["method"] == LATE {
            // Nobody else's clock strikes before it answers.
            std::thread::sleep(call.deadline.unwrap() - Instant::now());
            return result(&message["id"]);
        }
        let (answer, answered) = oneshot::channel();
        let held = Held {
            message,
            headers: call.headers,
            notes,
            answer,
        };
        self.0.send(held).unwrap();
        answered.await.unwrap()
    }

    async fn terminate(&self, _call: Termination) -> Answer {
        Answer {
            code: 405,
            json: None,
            kind: ResponseType::SessionTerminationResponse,
            by_target: false,
            ..result(&json!(null))
        }
    }
}

fn result(id: &Value) -> Answer {
    Answer {
        code: 200,
        headers: Vec::new(),
        json: Some(json!({"jsonrpc": "2.0", "id": id, "result": {}}).to_string()),
        kind: ResponseType::JsonRpcResponse,
        failure: None,
        by_target: true,
    }
}

impl Held {
    fn id(&self) -> u64 {
        self.message["id"].as_u64().unwrap()
    }

    async fn note(&self, n: u32) {
        let note =
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"n": n}});
        self.notes.send(note.to_string()).await.unwrap();
    }

    fn answer(self) {
        let answer = result(&self.message["id"]);
        drop(self.notes);
        assert!(
            self.answer.send(answer).is_ok(),
            "nobody waits for the answer"
        );
    }
}

/// A service, a client that works for it, and the calls that reach its targets.
struct House {
    service: FakeService,
    calls: mpsc::UnboundedReceiver<Held>,
    telemetry: Arc<Telemetry>,
    stop: CancellationToken,
    running: JoinHandle<Drained>,
}

impl House {
    fn open(options: DispatchOptions) -> Self {
        let config = FakeConfig {
            api_key: KEY.to_owned(),
            ..FakeConfig::default()
        };
        let service = FakeService::start(config).unwrap();
        service.add_tunnel(TUNNEL, "berth-1").unwrap();
        service.set_corrections(true);
        let mut settings = settings(&service.endpoint());
        settings.backoff =
            Backoff::new(Duration::from_millis(1), Duration::from_millis(5)).unwrap();
        let channels = ["main", "side"].map(|name| (Channel::parse(name).unwrap(), true));
        settings.server_info = Some(ServerInfo::new(channels).unwrap());
        let client = ControlPlane::connect(settings).unwrap();
        let telemetry = Arc::new(Telemetry::new());
        let counted = Arc::clone(&telemetry);
        client.observe(move |event| counted.polled(event)).unwrap();
        let (calls, received) = mpsc::unbounded_channel();
        let targets: BTreeMap<_, _> = ["main", "side"]
            .map(|name| {
                let target = Arc::new(HeldTarget(calls.clone()));
                (Channel::parse(name).unwrap(), target)
            })
            .into();
        let poller = Poller::spawn(&client, PollerOptions::default());
        let stop = CancellationToken::new();
        let dispatcher = Dispatcher::new(client, targets, Arc::clone(&telemetry), options);
        let stopped = stop.clone();
        let running = tokio::spawn(async move { dispatcher.run(poller, &stopped).await });
        Self {
            service,
            calls: received,
            telemetry,
            stop,
            running,
        }
    }

    fn default() -> Self {
        Self::open(DispatchOptions::default())
    }

    fn enqueue(&self, id: u64, more: Value) {
        let mut command = json!({
            "request_id": format!("request-{id}"),
            "command_type": "jsonrpc",
            "jsonrpc": {"jsonrpc": "2.0", "id": id, "method": "tools/call"},
        });
        let members = more.as_object().unwrap().clone();
        command.as_object_mut().unwrap().extend(members);
        self.service.enqueue(TUNNEL, command).unwrap();
    }

    fn is_down(&self, channel: &str) -> bool {
        let channel = Channel::parse(channel).unwrap();
        let state = self.telemetry.facts().target(&channel).health.state();
        matches!(state, TargetState::Down { .. })
    }

    async fn call(&mut self) -> Held {
        let call = timeout(PATIENCE, self.calls.recv()).await;
        call.expect("a call comes").unwrap()
    }

    async fn until(&self, responses: usize) -> Record {
        let enough = |record: &Record| record.responses.len() >= responses;
        self.service.wait_until(enough).await.unwrap()
    }

    /// Waits until the client has counted this.
    async fn counted(&self, condition: impl Fn(&Facts) -> bool) {
        let waited = timeout(PATIENCE, async {
            while !condition(&self.telemetry.facts()) {
                sleep(Duration::from_millis(5)).await;
            }
        });
        waited.await.expect("it is counted");
    }

    async fn close(self) -> (Drained, Facts, Record) {
        self.stop.cancel();
        let drained = timeout(PATIENCE, self.running).await;
        let drained = drained.expect("it drains").unwrap();
        (drained, self.telemetry.facts(), self.service.record())
    }
}

fn posts(record: &Record) -> Vec<(String, String, Value)> {
    let read = |response: &moorline_fixtures::fake::AcceptedResponse| {
        let body: Value = serde_json::from_slice(&response.body).unwrap();
        let token = String::from_utf8(response.shard_token.clone()).unwrap();
        (response.resp_type.clone(), token, body)
    };
    record.responses.iter().map(read).collect()
}

/// spec-test: CMD-6, CMD-7, CMD-10, CMD-12, CMD-16, CMD-28, CMD-30
#[tokio::test]
async fn a_call_that_ends_after_a_reassignment_is_answered_under_its_own_token() {
    let mut house = House::default();
    house.enqueue(1, json!({}));
    let held = house.call().await;
    held.note(0).await;
    house.until(1).await;

    house.service.reassign(TUNNEL, "berth-2").unwrap();
    let moved =
        |record: &Record| record.polls().last().and_then(token_of).as_deref() == Some("berth-2");
    house.service.wait_until(moved).await.unwrap();
    held.note(1).await;
    held.note(2).await;
    held.answer();
    let record = house.until(4).await;
    let found: Vec<_> = posts(&record)
        .into_iter()
        .map(|(kind, token, body)| (kind, token, body["resp_json"]["params"]["n"].as_u64()))
        .collect();
    let notify = |n| ("jsonrpc_notify".to_owned(), "berth-1".to_owned(), Some(n));
    let answer = ("jsonrpc_response".to_owned(), "berth-1".to_owned(), None);
    assert_eq!(found, [notify(0), notify(1), notify(2), answer]);
    let (drained, facts, record) = house.close().await;
    assert_eq!(drained.cut_short, 0);
    assert_eq!(
        (facts.deliveries.accepted, facts.deliveries.notifications),
        (1, 3)
    );
    let times = [&facts.took.commands, &facts.took.deliveries];
    assert!(times.iter().all(|times| times[&None].count() == 1));
    let last = record.polls().last().and_then(token_of);
    assert_eq!(last.as_deref(), Some("berth-2"));
    // Corrections change nothing of what the client says of its targets, on any request.
    let info: Vec<_> = record
        .requests
        .iter()
        .map(|request| request.sole_header("x-tunnel-mcp-server-info").unwrap())
        .collect();
    let expected: &[u8] = br#"{"version":1,"channels":[{"name":"main","proc_affinity":true},{"name":"side","proc_affinity":true}]}"#;
    assert!(info.len() >= 8 && info.iter().all(|line| *line == expected));
}

/// Commands from before and after a reassignment, answered in the other order, each under its own name.
///
/// spec-test: CMD-6, CMD-7, CMD-11
#[tokio::test]
async fn each_answer_has_the_token_and_the_request_id_of_its_own_command() {
    let mut house = House::default();
    let mut held = Vec::new();
    for id in [1, 2] {
        let id_line = json!({"headers": {"X-Request-Id": [format!("trace-{id}")]}});
        house.enqueue(id, id_line);
        held.push(house.call().await);
        house.service.reassign(TUNNEL, "berth-2").unwrap();
    }
    for responses in 1..=2 {
        let one = held.pop().unwrap();
        one.note(0).await;
        house.until(2 * responses - 1).await;
        one.answer();
        house.until(2 * responses).await;
    }
    let (_, _, record) = house.close().await;
    let posts = record.requests.iter().filter(|one| one.method == "POST");
    let lines: Vec<_> = posts
        .map(|post| {
            let line = |name| String::from_utf8(post.sole_header(name).unwrap().to_vec()).unwrap();
            (line("x-tunnel-shard-token"), line("x-client-request-id"))
        })
        .collect();
    let expected = [("berth-2", "trace-2"), ("berth-1", "trace-1")];
    let expected = expected.map(|(token, id)| (token.to_owned(), id.to_owned()));
    let [second, first] = expected;
    assert_eq!(lines, [second.clone(), second, first.clone(), first]);
}

/// A command reaches its target, and the answer the service, as they were, whether the tunnel moved meanwhile or not.
/// spec-test: CMD-28
#[tokio::test]
async fn corrections_change_no_payload() {
    let mut seen = Vec::new();
    for moves in [false, true] {
        let mut house = House::default();
        house.enqueue(
            7,
            json!({"shard_token": "own", "x": {"unknown": [1.50, "\u{e9}"]}}),
        );
        let held = house.call().await;
        if moves {
            house.service.reassign(TUNNEL, "berth-2").unwrap();
            let moved = |record: &Record| {
                record.polls().last().and_then(token_of).as_deref() == Some("berth-2")
            };
            house.service.wait_until(moved).await.unwrap();
        }
        let message = held.message.clone();
        held.note(0).await;
        held.answer();
        house.until(2).await;
        let (_, _, record) = house.close().await;
        let bodies: Vec<_> = record
            .responses
            .iter()
            .map(|one| one.body.clone())
            .collect();
        seen.push((message, bodies));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0].1.len(), 2);
}

/// spec-test: RPT-7
#[tokio::test]
async fn slow_calls_block_nobody_until_all_places_are_taken() {
    let mut house = House::default();
    for id in 0..14 {
        house.enqueue(id, json!({}));
    }
    let mut held = Vec::new();
    for _ in 0..9 {
        held.push(house.call().await);
    }
    // The ninth call is done while eight are slow.
    held.pop().unwrap().answer();
    house.until(1).await;
    held.push(house.call().await);
    assert!(
        house.calls.try_recv().is_err(),
        "ten at a time, one of them of the other channel"
    );
    house.enqueue(14, json!({"channel": "side"}));
    let other = house.call().await;
    assert_eq!(other.id(), 14);
    assert_eq!(house.telemetry.facts().commands.running, 10);
    held.push(other);
    for one in held {
        one.answer();
    }
    for _ in 0..4 {
        house.call().await.answer();
    }
    let (_, facts, record) = house.close().await;
    assert_eq!((facts.commands.answered, record.responses.len()), (15, 15));
}

#[tokio::test]
async fn channels_take_turns() {
    let mut house = House::open(DispatchOptions {
        concurrency: NonZeroUsize::MIN,
        ..DispatchOptions::default()
    });
    house.enqueue(0, json!({}));
    let first = house.call().await;
    for id in 1..6 {
        house.enqueue(id, json!({}));
    }
    house.enqueue(100, json!({"channel": " Side "}));
    let all_here = |record: &Record| record.polls().count() > 0;
    house.service.wait_until(all_here).await.unwrap();
    house.counted(|facts| facts.commands.queued >= 6).await;
    first.answer();
    let mut order = Vec::new();
    for _ in 0..6 {
        let held = house.call().await;
        order.push(held.id());
        held.answer();
    }
    assert_eq!(order, [1, 100, 2, 3, 4, 5]);
    house.close().await;
}

/// spec-test: CMD-18, CMD-19
#[tokio::test]
async fn an_expired_command_is_dropped_without_a_word() {
    let mut house = House::default();
    house.enqueue(1, json!({"response_timeout": "0s"}));
    house.enqueue(2, json!({"response_timeout": "150ms"}));
    house.enqueue(3, json!({}));
    house.enqueue(4, json!({"response_timeout": "soon"}));
    let mut calls = BTreeMap::new();
    for _ in 0..3 {
        let held = house.call().await;
        calls.insert(held.id(), held);
    }
    assert!(!calls.contains_key(&1), "never run");
    house.counted(|facts| facts.commands.expired >= 2).await;
    let late = calls.remove(&2).unwrap();
    let answer = result(&late.message["id"]);
    assert!(late.answer.send(answer).is_err(), "the call was given up");
    for (_, held) in calls {
        held.answer();
    }
    let (_, facts, record) = house.close().await;
    let answered: Vec<_> = record
        .responses
        .iter()
        .map(|one| &*one.request_id)
        .collect();
    assert_eq!(answered, ["request-3", "request-4"]);
    assert_eq!((facts.commands.expired, facts.commands.answered), (2, 2));
    let posts = record.requests.iter().filter(|one| one.method == "POST");
    assert_eq!(posts.count(), 2, "nothing at all was posted for the others");
}

/// The time in the queue counts.
///
/// spec-test: CMD-18, CMD-19
#[tokio::test]
async fn a_command_that_expires_in_the_queue_is_never_run() {
    let mut house = House::open(DispatchOptions {
        concurrency: NonZeroUsize::MIN,
        ..DispatchOptions::default()
    });
    house.enqueue(1, json!({}));
    let first = house.call().await;
    house.enqueue(2, json!({"response_timeout": "250ms"}));
    house.enqueue(3, json!({}));
    house.counted(|facts| facts.commands.received >= 3).await;
    sleep(Duration::from_millis(300)).await;
    first.answer();
    let next = house.call().await;
    assert_eq!(next.id(), 3);
    next.answer();
    let (_, facts, record) = house.close().await;
    assert_eq!((facts.commands.expired, facts.commands.answered), (1, 2));
    assert_eq!(record.responses.len(), 2);
}

/// The time counts from the head of the response that brought the command, however long its body takes.
///
/// spec-test: CMD-18
#[tokio::test]
async fn a_command_whose_deadline_passed_with_the_body_is_never_run() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let client = ControlPlane::connect(settings(&endpoint)).unwrap();
    let (calls, mut received) = mpsc::unbounded_channel();
    let target = Arc::new(HeldTarget(calls));
    let telemetry = Arc::new(Telemetry::new());
    let options = PollerOptions {
        max_polls: Some(1),
        ..PollerOptions::default()
    };
    let poller = Poller::spawn(&client, options);
    let dispatcher = Dispatcher::new(
        client,
        [(Channel::main(), target)].into(),
        Arc::clone(&telemetry),
        DispatchOptions::default(),
    );
    let command = |id: u32, timeout: &str| {
        json!({
            "request_id": id.to_string(),
            "command_type": "jsonrpc",
            "shard_token": "t",
            "response_timeout": timeout,
            "jsonrpc": {"jsonrpc": "2.0", "id": id, "method": "ping"},
        })
    };
    let body = json!({"commands": [command(1, "250ms"), command(2, "1h")]}).to_string();
    let serve = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        assert!(socket.read(&mut request).await.unwrap() > 0);
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        sleep(Duration::from_millis(500)).await;
        socket.write_all(body.as_bytes()).await.unwrap();
        let held = received.recv().await.unwrap();
        assert_eq!(held.id(), 2);
        (held, socket)
    };
    let never = CancellationToken::new();
    tokio::select! {
        _ = dispatcher.run(poller, &never) => panic!("the second command is never answered"),
        served = timeout(PATIENCE, serve) => drop(served.expect("a call comes")),
    }
    assert_eq!(telemetry.facts().commands.expired, 1);
}

/// spec-test: CMD-2, CMD-9, CMD-25, LOOP-18, LOOP-19
#[tokio::test]
async fn what_cannot_be_run_is_answered_or_skipped_and_stops_nothing() {
    let mut house = House::default();
    house.enqueue(1, json!({"command_type": "of_a_later_version"}));
    house.enqueue(2, json!({"channel": "nowhere"}));
    house.enqueue(3, json!({"shard_token": "with a control byte \u{1}"}));
    house.enqueue(4, json!({"jsonrpc": [1]}));
    house.enqueue(5, json!({"command_type": "session_termination"}));
    house.enqueue(6, json!({}));
    house.call().await.answer();
    let record = house.until(3).await;
    let mut found: Vec<_> = posts(&record)
        .into_iter()
        .map(|(kind, _, body)| {
            (
                body["request_id"].clone(),
                kind,
                body["resp_code"].clone(),
                body,
            )
        })
        .collect();
    found.sort_by_key(|one| one.0.to_string());
    let heads: Vec<_> = found
        .iter()
        .map(|one| (one.0.as_str().unwrap(), &*one.1, one.2.as_u64().unwrap()))
        .collect();
    assert_eq!(
        heads,
        [
            ("request-2", "jsonrpc_response", 400),
            ("request-5", "session_termination_response", 405),
            ("request-6", "jsonrpc_response", 200)
        ]
    );
    let refusal = &found[0].3;
    assert_eq!(refusal["channel"], "nowhere");
    assert_eq!(refusal["resp_json"]["id"], 2);
    let failure = &refusal["resp_json"]["error"]["data"]["tunnel_failure"];
    assert_eq!(failure["transport_error_kind"], "unknown_channel");
    let (_, facts, _) = house.close().await;
    assert_eq!((facts.commands.skipped, facts.commands.unreadable), (1, 2));
    assert_eq!(facts.commands.received, 4);
    let served: Vec<_> = facts.targets.keys().map(Channel::as_str).collect();
    assert_eq!(served, ["main", "side"]);
}

/// Whoever notices first that the time is over: the command has expired, and its answer was not lost.
///
/// spec-test: CMD-18, CMD-19
#[tokio::test]
async fn a_call_that_ends_as_its_deadline_passes_has_expired() {
    let mut house = House::default();
    let late = json!({"jsonrpc": "2.0", "id": 1, "method": LATE});
    house.enqueue(1, json!({"response_timeout": "100ms", "jsonrpc": late}));
    house.enqueue(2, json!({}));
    house.call().await.answer();
    house.until(1).await;
    let (_, facts, record) = house.close().await;
    let answered: Vec<_> = record
        .responses
        .iter()
        .map(|one| &*one.request_id)
        .collect();
    assert_eq!(answered, ["request-2"]);
    let (commands, deliveries) = (facts.commands, facts.deliveries);
    assert_eq!(
        (commands.expired, commands.answered, commands.failed),
        (1, 1, 0)
    );
    assert_eq!((deliveries.accepted, deliveries.given_up), (1, 0));
    let posts = record.requests.iter().filter(|one| one.method == "POST");
    assert_eq!(posts.count(), 1);
}

/// spec-test: RPT-5
#[tokio::test]
async fn a_dead_target_is_noticed_and_its_recovery_too() {
    let mut house = House::default();
    for (channel, source, down) in [
        ("main", Some(FailureSource::Connect), true),
        ("main", None, false),
        ("main", Some(FailureSource::Protocol), false),
        ("main", Some(FailureSource::TransportClosed), true),
        ("main", Some(FailureSource::Timeout), true),
        ("main", None, false),
        ("side", Some(FailureSource::Connect), true),
        ("main", None, false),
    ] {
        let before = house.service.record().responses.len();
        let id = u64::try_from(before).unwrap();
        house.enqueue(id, json!({"channel": channel}));
        let held = house.call().await;
        let answer = Answer {
            failure: source.map(TunnelFailure::without_answer),
            ..result(&held.message["id"])
        };
        drop(held.notes);
        assert!(held.answer.send(answer).is_ok());
        house.until(before + 1).await;
        assert_eq!(house.is_down(channel), down, "{channel} {source:?}");
    }
    assert!(house.is_down("side"), "main hides nobody");
    let (_, facts, _) = house.close().await;
    assert_eq!((facts.commands.answered, facts.commands.failed), (3, 5));
}

/// Whether nobody waits any more or the connection's time is over: a target that says nothing is dead in the end.
///
/// spec-test: RPT-5
#[tokio::test]
async fn a_target_that_never_answers_is_noticed() {
    let briefly = DispatchOptions {
        max_ttl: Duration::from_millis(30),
        ..DispatchOptions::default()
    };
    for (options, more) in [
        (
            DispatchOptions::default(),
            json!({"response_timeout": "30ms"}),
        ),
        (briefly, json!({})),
    ] {
        let mut house = House::open(options);
        let mut held = Vec::new();
        for id in 0..3 {
            assert!(!house.is_down("main"), "after {id} silent calls");
            house.enqueue(id, more.clone());
            held.push(house.call().await);
            let lost = |facts: &Facts| facts.commands.expired + facts.commands.failed;
            while lost(&house.telemetry.facts()) < id + 1 {
                sleep(Duration::from_millis(2)).await;
            }
        }
        assert!(house.is_down("main"), "{more}");
        // What is answered here, in the target's place, is no sign of life.
        let before = house.service.record().responses.len();
        house.enqueue(9, json!({"command_type": "session_termination"}));
        house.until(before + 1).await;
        assert!(house.is_down("main"), "{more}");
        house.close().await;
    }
}

/// The command's own headers reach the target as received; what becomes of them is the target's business.
#[tokio::test]
async fn a_stop_drains_what_was_received() {
    let mut house = House::default();
    house.enqueue(1, json!({"headers": {"Mcp-Session-Id": ["s-1"]}}));
    let held = house.call().await;
    let header = ("Mcp-Session-Id".to_owned(), vec!["s-1".to_owned()]);
    assert_eq!(held.headers, [header]);
    house.stop.cancel();
    let polls = |record: &Record| record.abandoned_polls == 1;
    house.service.wait_until(polls).await.unwrap();
    held.note(0).await;
    held.answer();
    let (drained, facts, record) = house.close().await;
    assert_eq!(drained, Drained { cut_short: 0 });
    assert_eq!((record.responses.len(), facts.deliveries.accepted), (2, 1));
}

#[tokio::test]
async fn what_is_not_drained_in_time_is_answered_with_a_failure() {
    let mut house = House::open(DispatchOptions {
        concurrency: NonZeroUsize::MIN,
        drain: Duration::from_millis(50),
        ..DispatchOptions::default()
    });
    for id in 1..=3 {
        house.enqueue(id, json!({}));
    }
    let _never_answered = house.call().await;
    house.counted(|facts| facts.commands.queued >= 2).await;
    let (drained, facts, record) = house.close().await;
    assert_eq!(drained, Drained { cut_short: 3 });
    let kinds: Vec<_> = posts(&record)
        .iter()
        .map(|(_, _, body)| {
            body["resp_json"]["error"]["data"]["tunnel_failure"]["transport_error_kind"].clone()
        })
        .collect();
    assert_eq!(kinds, ["shutting_down"; 3]);
    assert_eq!((facts.commands.failed, facts.deliveries.accepted), (3, 3));
}

#[tokio::test]
async fn a_call_ends_with_the_life_of_its_connection() {
    let mut house = House::open(DispatchOptions {
        max_ttl: Duration::from_millis(50),
        ..DispatchOptions::default()
    });
    house.enqueue(1, json!({}));
    let _never_answered = house.call().await;
    let record = house.until(1).await;
    let body = &posts(&record)[0].2;
    assert_eq!(body["resp_code"], 504);
    let failure = &body["resp_json"]["error"]["data"]["tunnel_failure"];
    assert_eq!(failure["source"], "timeout");
    house.close().await;
}

/// spec-test: CMD-15
#[tokio::test]
async fn after_a_lost_notification_the_later_ones_are_skipped_and_the_answer_still_sent() {
    let mut house = House::default();
    house.enqueue(1, json!({}));
    let held = house.call().await;
    held.note(0).await;
    house.until(1).await;
    let unavailable =
        moorline_fixtures::fake::Outage::Everywhere(moorline_fixtures::fake::Failure::Status(500));
    house.service.set_outage(Some(unavailable)).await.unwrap();
    held.note(1).await;
    house
        .counted(|facts| facts.deliveries.notifications_lost >= 1)
        .await;
    house.service.set_outage(None).await.unwrap();
    held.note(2).await;
    held.answer();
    let record = house.until(2).await;
    let kinds: Vec<_> = record.responses.iter().map(|one| &*one.resp_type).collect();
    assert_eq!(kinds, ["jsonrpc_notify", "jsonrpc_response"]);
    let (_, facts, _) = house.close().await;
    assert_eq!(facts.deliveries.notifications_lost, 2);
}

/// The client's own trace, deliveries between its polls or not, is a behaviour of the model.
#[tokio::test]
async fn polls_are_validated_while_commands_run() {
    let config = FakeConfig {
        api_key: KEY.to_owned(),
        ..FakeConfig::default()
    };
    let service = FakeService::start(config).unwrap();
    service.add_tunnel(TUNNEL, "berth-1").unwrap();
    let client = trace::connect(settings(&service.endpoint()));
    let (calls, mut received) = mpsc::unbounded_channel();
    let target = Arc::new(HeldTarget(calls));
    let poller = Poller::spawn(&client, PollerOptions::default());
    let stop = CancellationToken::new();
    let dispatcher = Dispatcher::new(
        client,
        [(Channel::main(), target)].into(),
        Arc::new(Telemetry::new()),
        DispatchOptions::default(),
    );
    let stopped = stop.clone();
    let running = tokio::spawn(async move { dispatcher.run(poller, &stopped).await });
    let command = json!({
        "request_id": "1",
        "command_type": "jsonrpc",
        "jsonrpc": {"jsonrpc": "2.0", "id": 1, "method": "ping"},
    });
    service.enqueue(TUNNEL, command).unwrap();
    received.recv().await.unwrap().answer();
    stop.cancel();
    running.await.unwrap();
    assert_eq!(service.record().responses.len(), 1);
    let before = trace::validated().0;
    assert!(
        before >= 1,
        "the trace was validated once its client was gone"
    );
}
