//! The monitor over real sockets: every path in every state, what is never shown, and the limits.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod canned;
#[path = "support/capture.rs"]
#[allow(dead_code, unreachable_pub, reason = "others use the rest of it")]
mod capture;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;

use canned::{Canned, SECRETS, Says};
use capture::Captured;
use moorline::model::delivery::DeliveryFault;
use moorline::model::wire::{Channel, FailureSource, TunnelFailure};
use moorline::monitor::{ListenAddress, Monitor};
use moorline::run::{Client, ClientSettings, TargetSettings};
use moorline::target::{CommandLine, StdioTargetSettings};
use moorline::telemetry::{AnswerTimes, Limits};
use moorline::{ApiKey, Endpoint, Settings, TunnelId};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const PATHS: [&str; 6] = [
    "/",
    "/healthz",
    "/readyz",
    "/health",
    "/metrics",
    "/status.json",
];

/// How long anything may take before a test is given up.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
struct Reply {
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Reply {
    fn parse(bytes: &[u8]) -> Self {
        let text = std::str::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").expect("a whole head");
        let mut lines = head.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        let headers: Vec<_> = lines
            .map(|line| line.split_once(": ").unwrap())
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let count = headers.len();
        let headers: BTreeMap<_, _> = headers.into_iter().collect();
        assert_eq!(headers.len(), count, "no header comes twice: {head}");
        Self {
            status: status.parse().unwrap(),
            headers,
            body: body.to_owned(),
        }
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// Sends these bytes and reads until the other side closes.
async fn exchange(address: SocketAddr, request: &str) -> Vec<u8> {
    let whole = async {
        let mut socket = TcpStream::connect(address).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut reply = Vec::new();
        // A reset after the answer is an end, too.
        let _ = socket.read_to_end(&mut reply).await;
        reply
    };
    timeout(PATIENCE, whole).await.expect("an answer")
}

async fn ask(address: SocketAddr, method: &str, path: &str, host: &str) -> Reply {
    let request = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    Reply::parse(&exchange(address, &request).await)
}

async fn get(monitor: &Monitor, path: &str) -> Reply {
    ask(monitor.address(), "GET", path, "localhost").await
}

/// One client in each state that the probes tell apart.
async fn in_each_state() -> Vec<(&'static str, Canned)> {
    let starting = Canned::new();
    let ready = Canned::new();
    ready
        .polls([Says::Correction(4), Says::Nothing, Says::Commands(3)])
        .await;
    ready.telemetry.commands(|counts| {
        counts.answered += 2;
        counts.failed += 1;
    });
    ready
        .telemetry
        .deliveries(true, |counts| counts.accepted += 3);
    ready.up(&Channel::main());
    let unready = Canned::new();
    unready
        .polls([Says::Nothing, Says::Status(503), Says::Silence])
        .await;
    let degraded = Canned::new();
    degraded.polls([Says::Nothing]).await;
    degraded.down(FailureSource::Connect);
    degraded.down(FailureSource::Timeout);
    let draining = Canned::new();
    draining.polls([Says::Nothing]).await;
    draining.telemetry.draining();
    vec![
        ("starting", starting),
        ("ready", ready),
        ("unready", unready),
        ("degraded", degraded),
        ("unready", draining),
    ]
}

/// spec-test: SET-7, RPT-1, RPT-5
#[tokio::test]
async fn every_path_answers_in_every_state_and_all_agree_on_the_level() {
    let mut answers = 0;
    for (level, canned) in in_each_state().await {
        let monitor = canned.monitor().await;
        for (path, content_type) in [
            ("/", "text/html; charset=utf-8"),
            ("/healthz", "text/plain; charset=utf-8"),
            ("/readyz", "text/plain; charset=utf-8"),
            ("/health", "application/json"),
            ("/metrics", "text/plain; version=0.0.4; charset=utf-8"),
            ("/status.json", "application/json"),
        ] {
            let reply = get(&monitor, path).await;
            let status = match (path, level) {
                ("/readyz", "starting" | "unready" | "degraded") => 503,
                _ => 200,
            };
            assert_eq!(reply.status, status, "{path} while {level}");
            assert_eq!(reply.header("content-type"), content_type, "{path}");
            let says_level = match path {
                "/" => reply.body.contains(&format!(r#"data-level="{level}""#)),
                "/healthz" => reply.body == "ok\n",
                "/readyz" if level == "ready" => reply.body.starts_with("ready\n"),
                "/readyz" => reply.body.starts_with(&format!("not ready: {level}\n")),
                "/health" => reply.json()["level"] == level,
                "/metrics" => {
                    let samples = parse_metrics(&reply.body);
                    let one = format!(r#"moorline_level{{level="{level}"}}"#);
                    samples[&one] == 1.0
                        && samples["moorline_ready"] == f64::from(u8::from(level == "ready"))
                }
                _ => reply.json()["health"]["level"] == level,
            };
            assert!(says_level, "{path} while {level}: {}", reply.body);
            answers += 1;
        }
        timeout(PATIENCE, monitor.stop()).await.expect("an end");
    }
    assert_eq!(answers, 30);
}

/// spec-test: RPT-1, RPT-5
#[tokio::test]
async fn readiness_follows_polls_and_target_and_says_why_and_since_when() {
    let canned = Canned::new();
    let monitor = canned.monitor().await;
    let mut seen = Vec::new();
    let mut look = async |canned: &Canned| {
        let reply = get(&monitor, "/readyz").await;
        let mut lines = reply.body.lines();
        let first = lines.next().unwrap().to_owned();
        let reasons: Vec<String> = lines
            .map(|line| {
                let (what, since) = line.split_once(", since ").expect("since when");
                let (at, ago) = since.split_once(" (").unwrap();
                humantime::parse_rfc3339(at).expect("a time");
                assert!(ago.ends_with(" s ago)"), "{ago}");
                what.to_owned()
            })
            .collect();
        assert!(canned.telemetry.uptime() > Duration::ZERO);
        seen.push((reply.status, first, reasons.join("; ")));
    };
    look(&canned).await;
    canned.polls([Says::Status(401)]).await;
    look(&canned).await;
    canned.polls([Says::Nothing]).await;
    look(&canned).await;
    canned.down(FailureSource::TargetHttp { status: Some(503) });
    look(&canned).await;
    canned.up(&Channel::main());
    look(&canned).await;
    canned.polls([Says::Correction(1)]).await;
    look(&canned).await;
    canned.polls([Says::Nothing]).await;
    canned.telemetry.draining();
    look(&canned).await;
    let expected = [
        (503, "not ready: starting", "no poll has ended yet"),
        (
            503,
            "not ready: unready",
            "polls fail (http_error: status 401)",
        ),
        (200, "ready", "polls succeed"),
        (
            503,
            "not ready: degraded",
            "the target main does not answer (target_http: status 503); polls succeed",
        ),
        (200, "ready", "polls succeed; the target main answers"),
        (
            503,
            "not ready: unready",
            "polls fail (http_error: status 409, a correction of revision 1); the target main answers",
        ),
        (
            503,
            "not ready: unready",
            "the client is shutting down; polls succeed; the target main answers",
        ),
    ];
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(status, first, why)| (status, first.to_owned(), why.to_owned()))
        .collect();
    assert_eq!(seen, expected);
}

/// spec-test: RPT-12
#[tokio::test]
async fn health_shows_the_placement_and_when_each_thing_was_last() {
    let canned = Canned::new();
    let monitor = canned.monitor().await;
    let before = get(&monitor, "/health").await.json();
    for (group, name) in [
        ("polls", "last"),
        ("polls", "last_success"),
        ("commands", "last"),
        ("deliveries", "last"),
        ("placement", "watermark"),
    ] {
        assert_eq!(
            before[group].get(name),
            Some(&Value::Null),
            "{group}.{name}"
        );
    }
    assert_eq!(before["placement"]["has_token"], false);

    canned
        .polls([Says::Correction(7), Says::Commands(2), Says::Status(500)])
        .await;
    canned.telemetry.commands(|counts| {
        (counts.queued, counts.running, counts.answered) = (1, 4, 9);
    });
    canned
        .telemetry
        .deliveries(true, |counts| counts.accepted = 9);
    canned.down_with(TunnelFailure {
        transport_error_kind: Some("program_not_found"),
        ..TunnelFailure::without_answer(FailureSource::Connect)
    });
    let side = Channel::parse("side").unwrap();
    canned.telemetry.serves([&side, &Channel::main()]);
    let passed = Duration::from_millis(50);
    tokio::time::sleep(passed).await;
    let health = get(&monitor, "/health").await.json();
    let mut moments = 0;
    for (group, name) in [
        ("polls", "last"),
        ("polls", "last_success"),
        ("commands", "last"),
        ("deliveries", "last"),
        ("target", "since"),
    ] {
        let group = match group {
            "target" => &health["targets"]["main"],
            group => &health[group],
        };
        let moment = &group[name];
        let ago = moment["seconds_ago"].as_f64().unwrap();
        assert!(ago >= passed.as_secs_f64() - 0.001, "{moment}");
        let at = humantime::parse_rfc3339(moment["at"].as_str().unwrap()).unwrap();
        let now = humantime::parse_rfc3339(health["now"].as_str().unwrap()).unwrap();
        let apart = now.duration_since(at).unwrap().as_secs_f64();
        assert!((apart - ago).abs() < 0.01, "{moment} at {}", health["now"]);
        moments += 1;
    }
    assert_eq!(moments, 5);
    assert_eq!(
        health["placement"],
        serde_json::json!({
            "watermark": 7, "has_token": true, "corrections": 0, "failures": 1, "generation": 3,
        })
    );
    assert_eq!(health["polls"]["ended"], 3);
    assert_eq!(health["polls"]["destination_failures"], 1);
    assert_eq!(health["polls"]["wait_seconds"], 30.0);
    assert_eq!(health["commands"]["received"], 2);
    assert_eq!(health["commands"]["queued"], 1);
    assert_eq!(health["commands"]["running"], 4);
    assert_eq!(health["targets"]["main"]["state"], "down");
    assert_eq!(health["targets"]["main"]["fault"], "connect");
    let kind = &health["targets"]["main"]["transport_error_kind"];
    assert_eq!(kind, "program_not_found");
    let text = "the target main does not answer (connect: program_not_found)";
    assert_eq!(health["reasons"][1]["text"], text);
    assert_eq!(health["targets"]["side"]["state"], "unknown");
    assert_eq!(health["targets"]["side"]["since"], Value::Null);
    assert_eq!(health["version"], env!("CARGO_PKG_VERSION"));
    let since_success = health["polls"]["last_success"]["seconds_ago"].as_f64();
    assert!(health["uptime_seconds"].as_f64() >= since_success);
    assert_eq!(health["reasons"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn the_page_gets_the_last_200_polls_in_order_and_counts_over_time() {
    let canned = Canned::new();
    let mut sources = canned.sources();
    sources.note_every = Duration::from_millis(1);
    let monitor = canned::start(sources).await;
    canned.polls((0..203).map(|_| Says::Commands(1))).await;
    let mut status = Value::Null;
    for _ in 0..400 {
        status = get(&monitor, "/status.json").await.json();
        let notes = status["throughput"].as_array().unwrap();
        if notes.last().is_some_and(|note| note["received"] == 203) {
            break;
        }
    }
    let polls = status["polls"].as_array().unwrap();
    let sequence: Vec<_> = polls
        .iter()
        .map(|poll| poll["sequence"].as_u64().unwrap())
        .collect();
    assert_eq!(sequence, (4..=203).collect::<Vec<_>>());
    assert!(
        polls
            .iter()
            .all(|poll| poll["verdict"] == "success" && poll["commands"] == 1)
    );
    assert!(polls.iter().all(|poll| poll["took_seconds"].is_f64()));
    // Nobody waits for so long here.
    assert!(
        polls
            .iter()
            .all(|poll| poll["pause_after_seconds"].is_null())
    );
    let notes = status["throughput"].as_array().unwrap();
    assert!((1..=121).contains(&notes.len()));
    assert_eq!(notes.last().unwrap()["received"], 203);
    let ages = notes
        .iter()
        .map(|note| note["seconds_ago"].as_f64().unwrap());
    assert!(ages.is_sorted_by(|one, next| one >= next));
    assert_eq!(status["texts"]["commands-received"], "203");
    canned.telemetry.commands(|counts| counts.expired = 5);
    let mut expired = Value::Null;
    for _ in 0..400 {
        let status = get(&monitor, "/status.json").await.json();
        expired = status["throughput"].as_array().unwrap().last().unwrap()["expired"].clone();
        let said = status["texts"]["throughput"].as_str().unwrap();
        assert!(
            said.contains(" and 5 expired in the last ") || expired == 5,
            "{said}"
        );
        if expired == 5 {
            break;
        }
    }
    assert_eq!(expired, 5);
}

/// spec-test: RPT-5
#[test]
fn each_change_of_a_target_is_logged_once() {
    let captured = Captured::default();
    let writer = captured.clone();
    let subscriber = tracing_subscriber::fmt()
        .without_time()
        .with_target(false)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        let canned = Canned::new();
        canned.up(&Channel::main());
        let missing = TunnelFailure {
            transport_error_kind: Some("program_not_found"),
            ..TunnelFailure::without_answer(FailureSource::Connect)
        };
        canned.down_with(missing);
        canned.down_with(missing);
        canned.up(&Channel::main());
        canned.up(&Channel::main());
        canned.down(FailureSource::TargetHttp { status: Some(502) });
    });
    let lines = captured.lines();
    let lines: Vec<_> = lines.iter().map(|line| line.trim_start()).collect();
    assert_eq!(
        lines,
        [
            r#"WARN the target does not answer channel="main" source="connect" kind="program_not_found""#,
            r#"INFO the target answers again channel="main""#,
            r#"WARN the target does not answer channel="main" source="target_http" status=502"#,
        ]
    );
}

/// spec-test: RPT-14, LOOP-16, LOOP-17
#[tokio::test]
async fn a_held_poll_is_told_and_makes_nothing_ready() {
    let canned = Canned::new();
    let monitor = canned.monitor().await;
    let told = "a poll waits for its answer, since ";
    let mut headlines = Vec::new();
    let mut look = async |under_way: usize, is_told: bool, status: u16| {
        let ready = get(&monitor, "/readyz").await;
        assert_eq!(ready.status, status, "{}", ready.body);
        assert_eq!(ready.body.contains(told), is_told, "{}", ready.body);
        let polls = get(&monitor, "/health").await.json()["polls"].take();
        assert_eq!(polls["under_way"], under_way);
        assert_eq!(polls["under_way_since"].is_object(), under_way > 0);
        let samples = parse_metrics(&get(&monitor, "/metrics").await.body);
        let count = f64::from(u8::try_from(under_way).unwrap());
        assert_eq!(samples["moorline_polls_under_way"], count);
        let texts = get(&monitor, "/status.json").await.json()["texts"].take();
        let headline = texts["headline"].as_str().unwrap();
        headlines.push(headline.split(" since ").next().unwrap().to_owned());
        match headline.split_once(" since ") {
            Some((_, time)) => {
                assert!(time.ends_with('.') && time.contains(':'), "{time}");
                let beginning = if under_way > 0 { "for " } else { "none" };
                assert!(
                    texts["poll-under-way"]
                        .as_str()
                        .unwrap()
                        .starts_with(beginning)
                );
            }
            None => assert!(!is_told, "{headline}"),
        }
    };
    look(0, false, 503).await;
    let first = canned.holds().await;
    look(1, true, 503).await;
    let second = canned.holds().await;
    look(2, true, 503).await;
    first.abort();
    canned::until("one is over", || canned.client.under_way().polls == 1).await;
    canned.polls([Says::Status(503)]).await;
    look(1, true, 503).await;
    canned.polls([Says::Nothing]).await;
    look(1, false, 200).await;
    second.abort();
    canned::until("no poll is left", || canned.client.under_way().polls == 0).await;
    canned.polls([Says::Status(503)]).await;
    look(0, false, 503).await;
    let waiting = "Waiting for the first successful poll";
    assert_eq!(
        headlines,
        [
            "No poll has begun yet.",
            waiting,
            waiting,
            waiting,
            "Commands arrive and can be run.",
            "No commands arrive.",
        ]
    );
}

/// spec-test: RPT-13
#[tokio::test]
async fn a_whole_client_shows_its_own_limits() {
    let settings = Settings::new(
        Endpoint::parse("http://127.0.0.1:9").unwrap(),
        TunnelId::new("tunnel").unwrap(),
        ApiKey::new("key").unwrap(),
    );
    let server = StdioTargetSettings::new(CommandLine::parse("never-started").unwrap());
    let targets = BTreeMap::from([(Channel::main(), TargetSettings::Stdio(server))]);
    let mut settings = ClientSettings::new(settings, targets);
    settings.poller.queue = 7;
    settings.dispatch.concurrency = NonZeroUsize::new(3).unwrap();
    settings.monitor = Some(ListenAddress::parse("127.0.0.1:0", false).unwrap());
    let client = Client::start(settings).await.unwrap();
    let address = client.monitor_address().unwrap();
    let health = ask(address, "GET", "/health", "localhost").await.json();
    assert_eq!(health["commands"]["queued_limit"], 7);
    assert_eq!(health["commands"]["running_limit"], 3);
}

/// spec-test: RPT-13
#[tokio::test]
async fn a_full_queue_is_shown_with_its_limits_and_since_when() {
    let canned = Canned::new();
    canned.polls([Says::Commands(20)]).await;
    canned.telemetry.limits(Limits {
        queue: 20,
        concurrency: NonZeroUsize::new(10).unwrap(),
    });
    let monitor = canned.monitor().await;
    let told = "the queue is full: no more polls until a place is free, since ";
    for (queued, is_full) in [(19, false), (20, true), (21, true), (0, false)] {
        canned
            .telemetry
            .commands(|counts| (counts.queued, counts.running) = (queued, 10));
        let ready = get(&monitor, "/readyz").await;
        assert_eq!(ready.status, 200, "for a moment it may be full");
        assert_eq!(ready.body.contains(told), is_full, "{queued}");
        let commands = get(&monitor, "/health").await.json()["commands"].take();
        assert_eq!(commands["queued_limit"], 20);
        assert_eq!(commands["running_limit"], 10);
        assert_eq!(commands["queue_full_since"].is_object(), is_full);
        let texts = get(&monitor, "/status.json").await.json()["texts"].take();
        assert_eq!(texts["queued"], format!("{queued} of 20"));
        assert_eq!(texts["running"], "10 of 10");
        let samples = parse_metrics(&get(&monitor, "/metrics").await.body);
        assert_eq!(samples["moorline_commands_queued_limit"], 20.0);
        assert_eq!(samples["moorline_commands_running_limit"], 10.0);
    }
}

/// Every line is a comment or `name{labels} number`; each name has its HELP and TYPE first.
fn parse_metrics(text: &str) -> BTreeMap<String, f64> {
    let (mut helped, mut kinds) = (BTreeSet::new(), BTreeMap::new());
    let mut samples = BTreeMap::new();
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').expect("words of help");
            assert!(!words.is_empty() && helped.insert(name), "{line}");
            continue;
        }
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a type");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kinds.insert(name, kind), None, "{line}");
            continue;
        }
        let (series, number) = line.rsplit_once(' ').expect("a number");
        let name = series.split_once('{').map_or(series, |(name, labels)| {
            check_labels(labels.strip_suffix('}').expect("a closing brace"));
            name
        });
        assert!(is_name(name), "{line}");
        let name = family_of(name, &kinds);
        assert!(helped.contains(name), "HELP comes first: {line}");
        let kind = *kinds.get(name).expect("TYPE comes first");
        assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
        let ours = name.starts_with("moorline_");
        assert!(
            ours || ["target_info", "process_uptime_seconds"].contains(&name),
            "{line}"
        );
        let number: f64 = number.parse().expect("a number");
        assert_eq!(samples.insert(series.to_owned(), number), None, "{line}");
    }
    assert!(samples.len() >= 30, "only {} samples", samples.len());
    samples
}

/// The samples of a histogram have suffixes.
fn family_of<'a>(name: &'a str, kinds: &BTreeMap<&str, &str>) -> &'a str {
    let family = ["_bucket", "_sum", "_count"]
        .into_iter()
        .find_map(|suffix| name.strip_suffix(suffix));
    match family {
        Some(family) if kinds.get(family) == Some(&"histogram") => family,
        _ => name,
    }
}

fn check_labels(labels: &str) {
    for pair in labels.split(',') {
        let (name, value) = pair.split_once('=').expect("a value");
        let value = value
            .strip_prefix('"')
            .and_then(|value| value.strip_suffix('"'));
        let value = value.expect("quotes");
        assert!(is_name(name), "{pair}");
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.".contains(c);
        let is_bound = name == "le" && value == "+Inf";
        assert!(
            is_bound || !value.is_empty() && value.chars().all(word),
            "{pair}"
        );
    }
}

fn is_name(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_lowercase() || c == '_';
    name.starts_with(letter) && name.chars().all(|c| letter(c) || c.is_ascii_digit())
}

#[tokio::test]
async fn metrics_count_what_happened() {
    let canned = Canned::new();
    let monitor = canned.monitor().await;
    let fresh = parse_metrics(&get(&monitor, "/metrics").await.body);
    for absent in [
        "moorline_placement_watermark",
        "moorline_last_poll_timestamp_seconds",
        "moorline_last_command_timestamp_seconds",
        "moorline_last_delivery_timestamp_seconds",
        "moorline_target_up",
    ] {
        assert!(!fresh.contains_key(absent), "{absent} is not known yet");
    }
    let answers = [
        Says::Correction(9_007_199_254_740_991),
        Says::Commands(5),
        Says::Nothing,
        Says::Status(404),
        Says::Status(502),
        Says::Silence,
    ];
    canned.polls(answers).await;
    canned.telemetry.commands(|counts| {
        (counts.answered, counts.failed, counts.expired) = (3, 2, 1);
        (counts.queued, counts.running) = (7, 8);
    });
    canned.telemetry.deliveries(true, |counts| {
        (counts.accepted, counts.already_fulfilled, counts.given_up) = (10, 11, 12);
        (
            counts.notifications,
            counts.notifications_lost,
            counts.retries,
        ) = (13, 14, 15);
    });
    canned.down(FailureSource::Connect);
    canned.telemetry.target_restarted(&Channel::main());
    let found = parse_metrics(&get(&monitor, "/metrics").await.body);
    for (series, value) in [
        (r#"moorline_polls_total{outcome="success"}"#, 2.0),
        (r#"moorline_polls_total{outcome="correction"}"#, 1.0),
        (
            r#"moorline_polls_total{outcome="destination_failure"}"#,
            2.0,
        ),
        (r#"moorline_polls_total{outcome="other"}"#, 1.0),
        ("moorline_commands_received_total", 5.0),
        (r#"moorline_commands_total{result="answered"}"#, 3.0),
        (r#"moorline_commands_total{result="failed"}"#, 2.0),
        (r#"moorline_commands_total{result="expired"}"#, 1.0),
        ("moorline_commands_queued", 7.0),
        ("moorline_commands_running", 8.0),
        (r#"moorline_deliveries_total{result="accepted"}"#, 10.0),
        (
            r#"moorline_deliveries_total{result="already_fulfilled"}"#,
            11.0,
        ),
        (r#"moorline_deliveries_total{result="given_up"}"#, 12.0),
        (r#"moorline_notifications_total{result="accepted"}"#, 13.0),
        (r#"moorline_notifications_total{result="lost"}"#, 14.0),
        ("moorline_delivery_retries_total", 15.0),
        ("moorline_placement_watermark", 9_007_199_254_740_991.0),
        ("moorline_placement_has_token", 1.0),
        ("moorline_placement_failures", 2.0),
        ("moorline_placement_generation", 5.0),
        ("moorline_poll_wait_seconds", 30.0),
        (r#"moorline_target_up{channel="main"}"#, 0.0),
        (r#"moorline_target_failures{channel="main"}"#, 1.0),
        (r#"moorline_target_restarts_total{channel="main"}"#, 1.0),
        ("moorline_draining", 0.0),
        ("moorline_ready", 0.0),
    ] {
        assert_eq!(found.get(series), Some(&value), "{series}");
    }
    let now = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap()
        .as_secs_f64();
    let last = found["moorline_last_poll_timestamp_seconds"];
    assert!(
        (now - last).abs() < PATIENCE.as_secs_f64(),
        "{last} is about {now}"
    );
    let levels = found
        .iter()
        .filter(|(series, _)| series.starts_with("moorline_level{"));
    assert_eq!(levels.map(|(_, value)| value).sum::<f64>(), 1.0);
}

#[tokio::test]
async fn durations_are_counted_between_the_advised_bounds() {
    let canned = Canned::new();
    let monitor = canned.monitor().await;
    let fresh = get(&monitor, "/metrics").await.body;
    assert!(
        !fresh.contains("_duration_seconds"),
        "nothing took any time"
    );
    canned
        .polls([Says::Nothing, Says::Nothing, Says::Status(404)])
        .await;
    let times = |command, delivery| AnswerTimes {
        command: Duration::from_millis(command),
        delivery: Duration::from_millis(delivery),
    };
    let missing = TunnelFailure::without_answer(FailureSource::Connect);
    let telemetry = &canned.telemetry;
    telemetry.answer_ended(times(1_500, 75), None, None);
    telemetry.answer_ended(times(400_000, 76), None, None);
    telemetry.answer_ended(times(20, 1), Some(missing), None);
    let fault = DeliveryFault::Status(500);
    telemetry.answer_ended(times(30, 10_001), None, Some(fault));
    let found = parse_metrics(&get(&monitor, "/metrics").await.body);
    for (series, value) in [
        (r#"poll_duration_seconds_count{outcome="success"}"#, 2.0),
        (r#"poll_duration_seconds_count{outcome="other"}"#, 1.0),
        (
            r#"poll_duration_seconds_bucket{outcome="success",le="300"}"#,
            2.0,
        ),
        (r#"command_duration_seconds_bucket{le="1"}"#, 0.0),
        (r#"command_duration_seconds_bucket{le="2"}"#, 1.0),
        (r#"command_duration_seconds_bucket{le="300"}"#, 1.0),
        (r#"command_duration_seconds_bucket{le="+Inf"}"#, 2.0),
        ("command_duration_seconds_count", 2.0),
        ("command_duration_seconds_sum", 401.5),
        (
            r#"command_duration_seconds_bucket{error_type="connect",le="0.02"}"#,
            1.0,
        ),
        (
            r#"command_duration_seconds_count{error_type="connect"}"#,
            1.0,
        ),
        (r#"delivery_duration_seconds_bucket{le="0.075"}"#, 2.0),
        (r#"delivery_duration_seconds_bucket{le="0.1"}"#, 3.0),
        (
            r#"delivery_duration_seconds_bucket{error_type="http_error",le="10"}"#,
            0.0,
        ),
        (
            r#"delivery_duration_seconds_count{error_type="http_error"}"#,
            1.0,
        ),
    ] {
        let series = format!("moorline_{series}");
        assert_eq!(found.get(&series), Some(&value), "{series}");
    }
    let bounds = found.keys().filter(|series| series.contains("_bucket{le="));
    assert_eq!(
        bounds.count(),
        30,
        "14 bounds and one more, of two histograms"
    );
}

/// spec-test: PRIV-1
#[tokio::test]
async fn nothing_that_is_shown_holds_a_secret_a_host_or_server_text() {
    let mut looked = 0;
    for (_, canned) in in_each_state().await {
        canned
            .polls([Says::Correction(70), Says::Commands(2), Says::Status(500)])
            .await;
        let monitor = canned.monitor().await;
        for path in PATHS.into_iter().chain(["/elsewhere"]) {
            let reply = get(&monitor, path).await;
            let shown = format!("{:?} {}", reply.headers, reply.body).to_lowercase();
            for secret in SECRETS {
                assert!(!shown.contains(secret), "{path} shows {secret}");
            }
            assert!(!shown.contains(&monitor.address().to_string()), "{path}");
            assert!(!shown.contains("canned"), "{path} shows a part of a secret");
            looked += 1;
        }
        assert!(!format!("{monitor:?}").contains("canned"));
    }
    assert_eq!(looked, 35);
}

#[tokio::test]
async fn every_answer_forbids_to_keep_or_embed_it_and_names_no_library() {
    let monitor = Canned::new().monitor().await;
    for path in PATHS.into_iter().chain(["/nowhere"]) {
        let reply = get(&monitor, path).await;
        assert_eq!(reply.header("cache-control"), "no-store", "{path}");
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
        assert_eq!(reply.header("referrer-policy"), "no-referrer");
        assert_eq!(reply.header("cross-origin-resource-policy"), "same-origin");
        let policy = reply.header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; "),
            "{path}: {policy}"
        );
        assert!(
            policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        for name in [
            "server",
            "x-powered-by",
            "access-control-allow-origin",
            "set-cookie",
        ] {
            assert_eq!(reply.header(name), "", "{path}: {name}");
        }
    }
}

#[tokio::test]
async fn the_page_is_whole_stands_alone_and_runs_its_own_script_only() {
    let monitor = Canned::new().monitor().await;
    let mut nonces = BTreeSet::new();
    for _ in 0..2 {
        let reply = get(&monitor, "/").await;
        assert!(!reply.body.contains("{{"), "a place without a text");
        let policy = reply.header("content-security-policy").to_owned();
        let (_, rest) = policy.split_once("script-src 'nonce-").unwrap();
        let nonce = rest.split('\'').next().unwrap().to_owned();
        assert_eq!(nonce.len(), 32);
        assert!(
            policy.contains(&format!("style-src 'nonce-{nonce}'")),
            "{policy}"
        );
        assert_eq!(reply.body.matches("<script").count(), 1);
        assert_eq!(reply.body.matches("<style").count(), 1);
        assert_eq!(
            reply.body.matches(&format!(r#"nonce="{nonce}""#)).count(),
            2
        );
        assert!(!reply.body.contains(" style="), "the policy forbids these");
        assert!(
            !reply.body.contains(" onclick="),
            "the policy forbids these"
        );
        // The two namespaces of SVG are names, which nobody fetches.
        let addresses =
            reply.body.matches("http://").count() + reply.body.matches("https://").count();
        assert_eq!(
            addresses,
            reply.body.matches("http://www.w3.org/2000/svg").count()
        );
        assert!(reply.body.len() < 32_768, "{} bytes", reply.body.len());
        nonces.insert(nonce);
    }
    assert_eq!(nonces.len(), 2, "each page has its own nonce");
}

#[tokio::test]
async fn only_get_and_head_are_answered_and_head_has_no_body() {
    let monitor = Canned::new().monitor().await;
    let address = monitor.address();
    for path in PATHS {
        let (get, head) = (
            ask(address, "GET", path, "localhost").await,
            ask(address, "HEAD", path, "localhost").await,
        );
        assert_eq!(
            (head.status, head.body.as_str()),
            (get.status, ""),
            "{path}"
        );
        assert_eq!(head.header("content-type"), get.header("content-type"));
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
            let reply = ask(address, method, path, "localhost").await;
            assert_eq!(reply.status, 405, "{method} {path}");
            assert_eq!(reply.header("allow"), "GET,HEAD", "{method} {path}");
            assert_eq!(reply.body, "Only GET and HEAD are answered.\n");
        }
    }
    for path in ["/healthz/", "/HEALTH", "//", "/status.html", "/..%2fhealth"] {
        let reply = ask(address, "GET", path, "localhost").await;
        assert_eq!(reply.status, 404, "{path}");
    }
}

#[tokio::test]
async fn a_request_that_names_another_host_is_refused() {
    let monitor = Canned::new().monitor().await;
    let address = monitor.address();
    for path in PATHS.into_iter().chain(["/nowhere"]) {
        for host in [
            "evil.example",
            "evil.example:8080",
            "127.0.0.1.evil.example",
        ] {
            for method in ["GET", "POST"] {
                let reply = ask(address, method, path, host).await;
                assert_eq!(reply.status, 403, "{method} {path} of {host}");
                assert!(reply.body.contains("only requests that name this machine"));
                assert!(!reply.body.contains("evil"), "{}", reply.body);
            }
        }
        let own = address.to_string();
        let expected = ask(address, "GET", path, "localhost").await.status;
        assert_eq!(
            ask(address, "GET", path, &own).await.status,
            expected,
            "{path}"
        );
    }
    let whole = format!(
        "GET http://evil.example/health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(Reply::parse(&exchange(address, &whole).await).status, 403);
    let nameless = "GET /health HTTP/1.1\r\nConnection: close\r\n\r\n";
    assert_eq!(Reply::parse(&exchange(address, nameless).await).status, 400);
    let old = "GET /healthz HTTP/1.0\r\n\r\n";
    assert_eq!(Reply::parse(&exchange(address, old).await).status, 200);
}

#[tokio::test]
async fn requests_have_limits() {
    let monitor = Canned::new().monitor().await;
    let address = monitor.address();
    let head = |extra: &str| {
        format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{extra}\r\n")
    };
    let long = |bytes: usize| head(&format!("X-Long: {}\r\n", "x".repeat(bytes)));
    let many = |lines: usize| head(&"X-Line: x\r\n".repeat(lines));
    for (request, status) in [
        (long(4_000), 200),
        (long(9_000), 431),
        (many(60), 200),
        (many(63), 431),
        (
            format!(
                "GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "x".repeat(9_000)
            ),
            414,
        ),
    ] {
        let reply = exchange(address, &request).await;
        let found = Reply::parse(&reply).status;
        let is_too_long = |status| [414, 431].contains(&status);
        assert!(
            found == status || (is_too_long(found) && is_too_long(status)),
            "{found} instead of {status} for {} bytes",
            request.len()
        );
    }
    // Nobody reads a body: the answer comes without waiting for it, and the connection ends.
    let body = "POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\nabc";
    let reply = Reply::parse(&exchange(address, body).await);
    assert_eq!(reply.status, 405);
    for noise in [
        "\r\n\r\n\u{1}\u{2}\u{3}",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
    ] {
        let reply = exchange(address, noise).await;
        assert!(
            reply.is_empty() || Reply::parse(&reply).status >= 400,
            "{noise:?}"
        );
    }
    assert_eq!(get(&monitor, "/healthz").await.status, 200);
}

/// Slow clients hold every connection there is. One more has to wait, but only until they are closed.
#[tokio::test]
async fn slow_clients_are_closed_and_never_more_than_64_are_served() {
    let monitor = Canned::new().monitor().await;
    let address = monitor.address();
    let mut slow = Vec::new();
    for number in 0..64 {
        let mut socket = TcpStream::connect(address).await.unwrap();
        // Half have sent nothing of their next request, half an unfinished head.
        let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut reply = [0; 16];
        timeout(PATIENCE, socket.read_exact(&mut reply))
            .await
            .unwrap()
            .unwrap();
        assert!(reply.starts_with(b"HTTP/1.1 200 OK"));
        if number % 2 == 0 {
            socket
                .write_all(b"GET /healthz HTTP/1.1\r\nX-")
                .await
                .unwrap();
        }
        slow.push(socket);
    }
    // The answer comes once there is room, so one of the others is closed by then.
    assert_eq!(get(&monitor, "/healthz").await.status, 200);
    let mut slow: Vec<_> = slow
        .into_iter()
        .map(|socket| socket.into_std().unwrap())
        .collect();
    let closed = slow
        .iter_mut()
        .filter_map(|socket| is_closed(socket).then_some(()))
        .count();
    assert!(closed >= 1, "more than 64 were served at once");
    canned::until("every slow client is closed", || {
        slow.iter_mut().all(is_closed)
    })
    .await;
}

/// Reads all that has come, and says whether it ends there.
fn is_closed(socket: &mut std::net::TcpStream) -> bool {
    let mut rest = Vec::new();
    match socket.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

#[tokio::test]
async fn stopping_closes_connections_and_frees_the_address() {
    let canned = Canned::new();
    let monitor = canned.monitor().await;
    let address = monitor.address();
    let text = address.to_string();
    let taken = ListenAddress::parse(&text, false).unwrap();
    let refused = Monitor::start(taken, canned.sources()).await;
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::AddrInUse);

    let mut idle = TcpStream::connect(address).await.unwrap();
    timeout(PATIENCE, monitor.stop()).await.expect("an end");
    let mut rest = Vec::new();
    let _ = timeout(PATIENCE, idle.read_to_end(&mut rest))
        .await
        .expect("an end");
    assert!(rest.is_empty());
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens");

    let dropped = Monitor::start(taken, canned.sources()).await.unwrap();
    assert_eq!(get(&dropped, "/healthz").await.status, 200);
    drop(dropped);
    // The tasks end when the runtime next turns to them.
    for _ in 0..400 {
        if TcpStream::connect(address).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("a dropped monitor still listens");
}
