//! What is never shown. Every log line is captured at the level trace, the HTTP libraries' own
//! included, while the client meets every kind of answer. Our own lines, errors, events and whatever
//! else can be printed are searched for everything that must not be there; the libraries' lines, which
//! do name hosts and which the program filters out, are searched for the key and the tokens.
//!
//! One test alone in its process, because it owns the process's logger.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use std::fmt::Write as _;
use std::time::Duration;

use moorline::cli::own_targets;
use moorline::{ControlPlane, PollReport, ProxyChoice};
use moorline_fixtures::answer::{Answer, CutBy, TransportFault};
use moorline_fixtures::scripted::ScriptedService;
use support::capture::Captured;
use support::tls::TlsServer;
use support::trace::connect;
use support::{Flight, KEY, TUNNEL, settings};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::layer::SubscriberExt;

/// What the service writes into every place that it can write to.
const SERVER_TEXT: &str = "server-text-55d1";
const TOKEN: &str = "route-token-a90b";
const COMMAND_TOKEN: &str = "command-token-3c4d";
const PROXY_PASSWORD: &str = "proxy-password-8e21";

/// Captures everything, and beside it what the program's own filter lets through.
fn capture() -> (Captured, Captured) {
    let (all, ours) = (Captured::default(), Captured::default());
    let (writer_all, writer_ours) = (all.clone(), ours.clone());
    let everything = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(move || writer_all.clone())
        .with_filter(LevelFilter::TRACE);
    let filtered = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(move || writer_ours.clone())
        .with_filter(own_targets(LevelFilter::TRACE));
    let subscriber = tracing_subscriber::registry()
        .with(everything)
        .with(filtered);
    tracing::subscriber::set_global_default(subscriber).unwrap();
    tracing_log::LogTracer::init().unwrap();
    (all, ours)
}

fn correction(revision: &str, token: &str) -> Answer {
    let body = format!(
        r#"{{"error":{{"code":"wrong_cluster","policy_revision":{revision},"message":"{SERVER_TEXT}"}}}}"#
    );
    Answer::json(409, body).with_header("X-Tunnel-Shard-Token", token)
}

/// Every kind of answer, each with the service's text in headers and body.
fn answers() -> Vec<Answer> {
    let command = format!(
        r#"{{"commands":[{{"command_type":"jsonrpc","request_id":"r","shard_token":"{COMMAND_TOKEN}","jsonrpc":{{}},"x":"{SERVER_TEXT}"}},
        {{"request_id":"{SERVER_TEXT}"}}]}}"#
    );
    let mut answers = vec![
        correction("1", TOKEN),
        correction("1", TOKEN),
        Answer::json(200, command),
        correction("1", "route-token-rival"),
        correction("2", TOKEN),
        correction("x", TOKEN),
        correction("1.5", TOKEN),
        correction("3", &format!("{TOKEN}, {TOKEN}")),
        correction("3", TOKEN).with_header("X-Tunnel-Shard-Token", TOKEN),
        correction("3", TOKEN).cut(20, CutBy::Close),
        correction("3", TOKEN).cut(20, CutBy::Reset),
        correction("3", TOKEN).cut(20, CutBy::Deadline),
        correction("4", TOKEN).with_body(SERVER_TEXT.repeat(9_000)),
        Answer::json(200, SERVER_TEXT),
        Answer::json(200, SERVER_TEXT).cut(3, CutBy::Reset),
        Answer::Fault(TransportFault::CloseBeforeHead),
        Answer::Fault(TransportFault::ResetBeforeHead),
        Answer::Fault(TransportFault::GarbageHead(
            format!("HTTP/1.1 {SERVER_TEXT}\r\n\r\n").into(),
        )),
        Answer::Fault(TransportFault::GarbageHead(
            format!("HTTP/1.1 200 OK\r\n{TOKEN}: \x01{SERVER_TEXT}\r\n\r\n").into(),
        )),
        Answer::Fault(TransportFault::Deadline),
    ];
    for status in [302, 401, 403, 404, 408, 409, 429, 500, 503, 599, 700] {
        let answer = Answer::json(status, format!(r#"{{"error":{{"code":"{SERVER_TEXT}"}}}}"#));
        answers.push(answer.with_header("Location", format!("https://{SERVER_TEXT}.example/")));
    }
    answers
        .into_iter()
        .map(|answer| {
            answer
                .with_header("X-Note", SERVER_TEXT)
                .with_header("Set-Cookie", format!("{SERVER_TEXT}=1"))
                .with_header("Retry-After", SERVER_TEXT)
        })
        .collect()
}

/// Everything that an embedder can print of a report.
fn print(report: &PollReport, client: &ControlPlane, out: &mut String) {
    writeln!(
        out,
        "{report:?} {report:#?} {client:?} {:?}",
        client.readiness()
    )
    .unwrap();
    if let Err(error) = &report.reply {
        writeln!(out, "{error} {error:?}").unwrap();
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            writeln!(out, "{cause} {cause:?}").unwrap();
            source = cause.source();
        }
    }
    writeln!(out, "{}", serde_json::to_string(&report.event).unwrap()).unwrap();
}

/// One correction and one poll that carries its token, over TLS and HTTP/2.
async fn over_http_2(shown: &mut String) {
    let server = TlsServer::start("h2").await;
    let client = connect(server.trusted_settings());
    let serve = tokio::spawn(async move {
        let mut connection = h2::server::handshake(server.accept().await.unwrap())
            .await
            .unwrap();
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            let body =
                r#"{"error":{"code":"wrong_cluster","policy_revision":1,"x":"server-text-55d1"}}"#;
            let head = http::Response::builder()
                .status(409)
                .header("x-tunnel-shard-token", TOKEN)
                .header("x-note", SERVER_TEXT);
            let mut stream = respond
                .send_response(head.body(()).unwrap(), false)
                .unwrap();
            stream
                .send_data(bytes::Bytes::from_static(body.as_bytes()), true)
                .unwrap();
        }
    });
    for verdict in ["installed", "restored"] {
        let report = Flight::begin(&client).end().await;
        assert_eq!(report.verdict.name(), verdict);
        print(&report, &client, shown);
    }
    serve.abort();
}

/// spec-test: PRIV-1, PRIV-2, PRIV-3, PRIV-4, PRIV-5, PRIV-6, PRIV-7, LOOP-14
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_that_is_shown_holds_a_secret_a_host_or_server_text() {
    let (all, ours) = capture();
    let mut service = ScriptedService::start().unwrap();
    let mut settings = settings(&service.endpoint());
    settings.extra_headers = vec![("authorization".parse().unwrap(), KEY.parse().unwrap())];
    settings.long_poll =
        moorline::model::schedule::LongPoll::new(Duration::from_millis(800), Duration::ZERO);
    // An endpoint on this machine is reached directly, so that nothing goes there.
    let proxy = format!("http://proxy-user:{PROXY_PASSWORD}@127.0.0.1:9/");
    settings.proxy = ProxyChoice::Explicit(proxy.parse().unwrap());
    let mut shown = format!("{settings:?} {settings:#?}");
    let client = connect(settings);
    let answers = answers();
    let count = answers.len();
    for answer in answers {
        let flight = Flight::begin(&client);
        let exchange = service.next_request().await.unwrap();
        let (_, report) = tokio::join!(exchange.answer(answer), flight.end());
        print(&report, &client, &mut shown);
    }
    over_http_2(&mut shown).await;
    // Dropped, refused, unresolvable, and cancelled.
    let flight = Flight::begin(&client);
    drop(service.next_request().await.unwrap());
    flight.cancel.cancel();
    print(&flight.end().await, &client, &mut shown);
    service.pause_listening().await;
    print(&Flight::begin(&client).end().await, &client, &mut shown);
    let nowhere = support::client("https://host-name-77e2.invalid/");
    print(&Flight::begin(&nowhere).end().await, &nowhere, &mut shown);
    drop(support::client("http://127.0.0.1:1").poll(support::LIMIT, &Default::default()));

    let port = service.address().port().to_string();
    let forbidden = [
        KEY,
        TUNNEL,
        TOKEN,
        COMMAND_TOKEN,
        PROXY_PASSWORD,
        SERVER_TEXT,
        "route-token-rival",
        "127.0.0.1",
        &port,
        "host-name-77e2",
        "localhost",
        "http://",
        "https://",
        "/v1/tunnels",
    ];
    for secret in forbidden {
        assert!(
            !shown.contains(secret),
            "{secret} is in what reports and settings print"
        );
    }
    let (all, ours) = (all.lines(), ours.lines());
    assert!(
        ours.len() > count,
        "only {} lines of our own for {count} polls",
        ours.len()
    );
    for line in &ours {
        for secret in forbidden {
            assert!(!line.contains(secret), "{secret} is in: {line}");
        }
    }
    assert!(
        ours.iter()
            .any(|line| line.contains("extra header dropped"))
    );
    assert!(ours.iter().any(|line| line.contains("check the API key")));
    // The capture is worth something: the HTTP libraries do log hosts, and only the filter of the
    // program keeps them out.
    let leaks = all.iter().filter(|line| line.contains("127.0.0.1")).count();
    assert!(leaks > 0, "the HTTP libraries' lines were not captured");
    // No library prints what is marked as sensitive, even unfiltered.
    for line in &all {
        for secret in [KEY, TOKEN] {
            assert!(!line.contains(secret), "{secret} is in: {line}");
        }
    }
}
