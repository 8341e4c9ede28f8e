//! Raw dumps of HTTP exchanges: off unless asked for, never of polls, and without secrets.
//!
//! One test alone in its process, because it owns the process's logger.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use http::{HeaderName, HeaderValue};
use moorline::ControlPlane;
use moorline::cli::own_targets;
use moorline::model::wire::{Channel, CommandToken, Envelope, ResponseBody, ResponseType};
use moorline::target::{Call, HttpTarget, HttpTargetSettings, Target};
use moorline_fixtures::answer::Answer;
use moorline_fixtures::scripted::ScriptedService;
use support::capture::Captured;
use support::target::lines;
use support::{KEY, LIMIT, TUNNEL, settings};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;

const PLACE: &str = "place-token-77a1";
const TOKEN: &str = "command-token-3c4d";
const POLLED: &str = "polled-text-0b1c";
const POSTED: &str = "posted-text-9d2e";
const SAID: &str = "service-text-41f0";
const ASKED: &str = "asked-text-5e5e";
const TOLD: &str = "told-text-c8c8";
const SESSION: &str = "session-of-a-user-8e8e";
const PLAIN: &str = "configured-secret-1f1f";
const ELSEWHERE: &str = "https://elsewhere.example";
const VERSION: &str = "2025-11-25";
const PASSWORD: &str = "target-password-2b2b";

fn capture() -> Captured {
    let captured = Captured::default();
    let writer = captured.clone();
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .with_filter(own_targets(LevelFilter::TRACE));
    let subscriber = tracing_subscriber::registry().with(lines);
    tracing::subscriber::set_global_default(subscriber).unwrap();
    captured
}

fn command_token() -> CommandToken {
    let body = format!(
        r#"{{"commands":[{{"request_id":"r","shard_token":"{TOKEN}","command_type":"x"}}]}}"#
    );
    let mut envelope = Envelope::parse(body.as_bytes()).unwrap();
    envelope.commands.remove(0).shard_token
}

/// A poll that is corrected, one that brings a command, a response and the metadata, and a call of the target.
async fn everything(dumps: bool) {
    let mut service = ScriptedService::start().unwrap();
    let mut settings = settings(&service.endpoint());
    settings.unsafe_http_dumps = dumps;
    let client = ControlPlane::connect(settings).unwrap();
    let never = CancellationToken::new();
    let envelope = format!(
        r#"{{"commands":[{{"request_id":"r","shard_token":"{TOKEN}","command_type":"x","y":"{POLLED}"}}]}}"#
    );
    let correction = r#"{"error":{"code":"wrong_cluster","policy_revision":1}}"#;
    for answer in [
        Answer::json(409, correction).with_header("X-Tunnel-Shard-Token", PLACE),
        Answer::json(200, envelope),
    ] {
        let play = async { service.next_request().await.unwrap().answer(answer).await };
        let _ = tokio::join!(client.poll(LIMIT, &never), play);
    }
    let json = format!(r#"{{"text":"{POSTED}"}}"#);
    let body = ResponseBody {
        request_id: "r",
        channel: &Channel::main(),
        json: Some(&json),
        headers: &[("Mcp-Session-Id".to_owned(), vec![SESSION.to_owned()])],
        code: 200,
        kind: ResponseType::JsonRpcResponse,
    };
    let response = moorline::Response::new(&command_token(), None, &body).unwrap();
    let said = Answer::json(500, format!(r#"{{"said":"{SAID}"}}"#))
        .with_header("Set-Cookie", KEY)
        .with_header("Location", ELSEWHERE);
    let play = async { service.next_request().await.unwrap().answer(said).await };
    let _ = tokio::join!(client.respond(&response, None, &never), play);
    // A text that may speak about placement is withheld, whatever the operation.
    let routed = Answer::json(409, correction).with_header("X-Tunnel-Shard-Token", PLACE);
    let play = async { service.next_request().await.unwrap().answer(routed).await };
    let _ = tokio::join!(client.metadata(), play);
    call_target(&mut service, dumps).await;
}

async fn call_target(service: &mut ScriptedService, dumps: bool) {
    let url = format!("{}/mcp", service.endpoint()).parse().unwrap();
    let mut settings = HttpTargetSettings::new(url);
    settings.unsafe_http_dumps = dumps;
    settings.extra_headers = [("x-api-key", PASSWORD), ("x-acme", PLAIN)]
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        })
        .to_vec();
    let target = HttpTarget::new(settings).unwrap();
    let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{ASKED}"}}"#);
    let json = format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{TOLD}"}}"#);
    let events = format!("data: {json}\n\n");
    for answer in [
        Answer::json(200, json),
        Answer::status(200)
            .with_body(events)
            .with_header("Content-Type", "text/event-stream"),
    ] {
        let call = Call {
            message: serde_json::from_str(&message).unwrap(),
            headers: lines(&[
                ("Authorization", &[&format!("Bearer {PASSWORD}")]),
                ("Mcp-Session-Id", &[SESSION]),
                ("Mcp-Protocol-Version", &[VERSION]),
                ("Origin", &[ELSEWHERE]),
            ]),
            deadline: None,
        };
        let (notes, _received) = mpsc::channel(1);
        let play = async { service.next_request().await.unwrap().answer(answer).await };
        let (answer, _) = tokio::join!(target.call(call, notes), play);
        assert!(answer.failure.is_none());
    }
}

/// spec-test: PRIV-1, PRIV-6, PRIV-9, PRIV-10
#[tokio::test]
async fn dumps_show_what_is_said_but_no_poll_and_no_secret() {
    let captured = capture();
    everything(false).await;
    let quiet = captured.take();
    for text in [POSTED, SAID, ASKED, TOLD] {
        assert!(!quiet.contains(text), "{text} without dumps:\n{quiet}");
    }

    everything(true).await;
    let lines = captured.take();
    for text in [POSTED, SAID, ASKED, TOLD, VERSION] {
        assert!(lines.contains(text), "{text} is missing:\n{lines}");
    }
    assert_eq!(lines.matches(TOLD).count(), 2, "as JSON and as an event");
    for secret in [
        PLACE,
        TOKEN,
        POLLED,
        KEY,
        TUNNEL,
        PASSWORD,
        SESSION,
        PLAIN,
        ELSEWHERE,
        "127.0.0.1",
        "wrong_cluster",
        "/mcp",
    ] {
        let shown = lines
            .lines()
            .find(|line| line.contains(secret) && line.contains("moorline::dump"));
        assert_eq!(shown, None, "{secret}");
    }
    assert!(lines.contains("x-api-key: ***"), "{lines}");
}
