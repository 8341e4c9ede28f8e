//! The HTTP target against real servers: what goes there, what comes back, and how it fails.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use moorline::SetupError;
use moorline::model::wire::ResponseType;
use moorline::target::{
    Answer as Answered, AnyTarget, ClientIdentity, HttpTarget, HttpTargetSettings, Target,
};
use moorline_fixtures::answer::{Answer, CutBy, Framing, TransportFault};
use moorline_fixtures::mcp::{Answers, HttpOptions, Sessions, ToyHttp};
use moorline_fixtures::scripted::{RecordedRequest, ScriptedService, SilentListener};
use support::target::{
    INITIALIZE, PATIENCE, answer, call, call_with, call_within, run, termination, text_of, tool,
    tunnel_failure,
};
use support::tls::{CLIENT, TlsServer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

/// How long the end of something may take that is to end by itself.
const SOON: Duration = Duration::from_secs(15);

const PING: &str = r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
const PONG: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

fn settings(url: &str) -> HttpTargetSettings {
    HttpTargetSettings::new(url.parse().unwrap())
}

fn target(url: &str) -> HttpTarget {
    HttpTarget::new(settings(url)).unwrap()
}

/// One call of `message` against one answer. Gives both, what came before the answer, and the request.
async fn exchange(message: &str, reply: Answer) -> (Answered, Vec<String>, RecordedRequest) {
    let mut service = ScriptedService::start().unwrap();
    let target = target(&format!("{}/mcp?team=a", service.endpoint()));
    let mut request = None;
    let serve = async {
        let exchange = service.next_request().await.unwrap();
        request = Some(exchange.request.clone());
        exchange.answer(reply).await;
        // Told at once: the client would wait for its answer first.
        let again = service.next_request().await;
        assert!(again.is_err(), "nothing is sent twice");
        std::future::pending::<()>().await;
    };
    let (answered, notes) = tokio::select! {
        ran = run(&target, call(message)) => ran,
        () = serve => unreachable!("it never ends"),
    };
    assert_eq!(service.counts().requests, 1, "nothing is sent twice");
    (answered, notes, request.expect("a request"))
}

async fn fails(reply: Answer) -> serde_json::Value {
    let (answered, notes, _) = exchange(PING, reply).await;
    assert!(notes.is_empty());
    assert_eq!(answered.kind, ResponseType::JsonRpcResponse);
    assert!(
        answered
            .json
            .as_ref()
            .unwrap()
            .starts_with(r#"{"jsonrpc":"2.0","id":7,"#)
    );
    tunnel_failure(&answered)
}

fn events(body: impl Into<Vec<u8>>) -> Answer {
    Answer::status(200)
        .with_header("Content-Type", "text/event-stream; charset=utf-8")
        .with_body(body)
}

/// spec-test: CMD-21
#[tokio::test]
async fn messages_and_answers_are_passed_on_byte_for_byte() {
    let message = "{\"id\" : \"a\\u0062\",\"jsonrpc\":\"2.0\",\n \"method\":\"x\",\"odd\":[1e400,-0.0,\"\\ud800\"]}";
    let reply = "{\"result\":{\"n\":1.0E+2,\"deep\":[[[[]]]]}, \"extra\":1e999,\"id\":\"ab\",\"jsonrpc\":\"2.0\"}";
    let (answered, notes, request) = exchange(message, Answer::json(200, reply)).await;
    assert_eq!(request.method, "POST");
    assert_eq!(request.target, "/mcp?team=a");
    assert_eq!(String::from_utf8(request.body.clone()).unwrap(), message);
    let sole = |name: &str| String::from_utf8(request.sole_header(name).unwrap().to_vec()).unwrap();
    assert_eq!(sole("content-type"), "application/json");
    assert_eq!(sole("accept"), "application/json, text/event-stream");
    assert_eq!(answered.json.as_deref(), Some(reply));
    assert_eq!(
        (answered.code, answered.kind),
        (200, ResponseType::JsonRpcResponse)
    );
    assert!(answered.failure.is_none() && notes.is_empty());
}

/// spec-test: CMD-21
#[tokio::test]
async fn errors_of_the_server_pass_with_their_status() {
    let error =
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"m","data":{"x":1e5}}}"#;
    for status in [200, 400, 401, 404, 429, 500, 503] {
        let reply = Answer::json(status, error).with_header("WWW-Authenticate", "Bearer a=1");
        let (answered, _, _) = exchange(PING, reply).await;
        assert_eq!(answered.code, status);
        assert_eq!(answered.json.as_deref(), Some(error), "{status}");
        assert!(answered.failure.is_none(), "{status}");
        let names: Vec<_> = answered.headers.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["Content-Type", "WWW-Authenticate"]);
    }
}

/// Whatever the server calls it: an error is no stream of events.
///
/// spec-test: CMD-21
#[tokio::test]
async fn errors_that_are_called_events_pass_too() {
    let error = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"message":"m"}}"#;
    let reply = Answer::status(500)
        .with_header("Content-Type", "text/event-stream")
        .with_body(error);
    let (answered, notes, _) = exchange(PING, reply).await;
    assert_eq!(
        (answered.code, answered.json.as_deref()),
        (500, Some(error))
    );
    assert!(answered.failure.is_none() && notes.is_empty());
}

/// spec-test: CMD-22
#[tokio::test]
async fn statuses_without_an_answer_are_failures_with_their_provenance() {
    for (status, upstream, code) in [
        (500, Some(500), 500),
        (404, Some(404), 404),
        (599, Some(599), 599),
        (302, None, 502),
        (600, None, 502),
    ] {
        for body in [
            "",
            "<html>secret words</html>",
            r#"{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":""}}"#,
        ] {
            let reply = Answer::status(status).with_body(body);
            let (answered, _, _) = exchange(PING, reply).await;
            let told = tunnel_failure(&answered);
            assert_eq!(told["source"], "target_http");
            assert_eq!(told["upstream_response_received"], true);
            assert_eq!(
                told.get("upstream_status").and_then(|s| s.as_u64()),
                upstream
            );
            assert_eq!(answered.code, code);
            assert!(!answered.json.unwrap().contains("secret"));
        }
    }
}

/// Whoever called finds out where to authorise, and keeps its session.
/// spec-test: CMD-38
#[tokio::test]
async fn a_failure_keeps_the_headers_of_the_answer_that_was_none() {
    let challenge = r#"Bearer resource_metadata="https://a.example/.well-known/x""#;
    for message in [PING, r#"{"jsonrpc":"2.0","method":"n"}"#] {
        for (body, kind) in [
            ("", "text/plain"),
            (
                r#"{"error":"invalid_token"}"#,
                "application/json; charset=utf-8",
            ),
        ] {
            let reply = Answer::status(401)
                .with_body(body)
                .with_header("Content-Type", kind)
                .with_header("Set-Cookie", "c=1")
                .with_header("WWW-Authenticate", challenge)
                .with_header("Mcp-Session-Id", "s");
            let (answered, _, _) = exchange(message, reply).await;
            assert_eq!(answered.code, 401);
            assert_eq!(tunnel_failure(&answered)["upstream_status"], 401);
            let expected = support::target::lines(&[
                ("Content-Type", &["application/json"]),
                ("Mcp-Session-Id", &["s"]),
                ("WWW-Authenticate", &[challenge]),
            ]);
            assert_eq!(answered.headers, expected);
        }
    }
}

/// spec-test: CMD-22
#[tokio::test]
async fn an_error_keeps_its_status_though_its_body_cannot_be_read() {
    let mut service = ScriptedService::start().unwrap();
    let mut settings = settings(&service.endpoint());
    settings.answer_limit = 200;
    let target = HttpTarget::new(settings).unwrap();
    for (status, reply, kind) in [
        (
            503,
            Answer::status(503).with_body("x".repeat(201)),
            "answer_too_large",
        ),
        (
            401,
            Answer::status(401).with_body("x").cut(0, CutBy::Close),
            "connection_closed",
        ),
    ] {
        let serve = async { service.next_request().await.unwrap().answer(reply).await };
        let (answered, _) = tokio::join!(answer(&target, call(PING)), serve);
        let told = tunnel_failure(&answered);
        assert_eq!(told["source"], "target_http");
        assert_eq!(told["upstream_status"], status);
        assert_eq!(told["transport_error_kind"], kind);
    }
}

/// spec-test: CMD-22
#[tokio::test]
async fn a_success_that_is_no_answer_is_a_fault_of_the_protocol() {
    for body in [
        "",
        "null",
        "[]",
        r#"{"jsonrpc":"2.0","id":"7","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":8,"result":{}}"#,
        r#"{"jsonrpc":"2.0","method":"x"}"#,
    ] {
        let told = fails(Answer::json(200, body)).await;
        assert_eq!(told["source"], "protocol", "{body}");
        assert_eq!(told.get("upstream_status"), None);
    }
}

/// No redirect is followed, and nothing reaches the place that it names.
/// spec-test: RPT-11
#[tokio::test]
async fn redirects_are_failures() {
    let elsewhere = SilentListener::start().await.unwrap();
    for status in [301, 302, 303, 307, 308] {
        let reply = Answer::status(status).with_header("Location", elsewhere.endpoint());
        // Nothing answers there, so that whoever follows is told at once.
        let told = tokio::select! {
            told = fails(reply) => told,
            () = elsewhere.contacted() => panic!("{status} is followed"),
        };
        assert_eq!(told["source"], "target_http", "{status}");
    }
    let heard = elsewhere.counts().await.unwrap();
    assert_eq!((heard.connections, heard.bytes_received), (0, 0));
}

/// spec-test: CMD-24
#[tokio::test]
async fn events_give_notes_in_order_and_then_the_answer() {
    let first = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1.50}}"#;
    let second = r#"{"jsonrpc":"2.0","id":"srv-1","method":"sampling/createMessage","params":{}}"#;
    let body = format!(
        ": hello\n\nid: 1\ndata:\n\nevent: message\ndata: {first}\n\nevent: other\ndata: {PONG}\n\ndata: no JSON\n\n\
         data: {{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{{}}}}\n\ndata: {second}\r\n\r\n\
         data: {{\"jsonrpc\":\"2.0\",\ndata: \"id\":7,\"result\":{{}}}}\n\ndata: {first}\n\n"
    );
    for framing in [
        Framing::ContentLength,
        Framing::Chunked,
        Framing::UntilClose,
    ] {
        let reply = events(body.clone())
            .with_framing(framing)
            .with_header("Mcp-Session-Id", "s");
        let (answered, notes, _) = exchange(PING, reply).await;
        assert_eq!(notes, [first, second]);
        let json = "{\"jsonrpc\":\"2.0\",\n\"id\":7,\"result\":{}}";
        assert_eq!(answered.json.as_deref(), Some(json));
        assert_eq!(
            (answered.code, answered.kind),
            (200, ResponseType::JsonRpcResponse)
        );
        assert!(answered.failure.is_none());
        assert_eq!(
            answered.headers[1],
            ("Mcp-Session-Id".to_owned(), vec!["s".to_owned()])
        );
    }
}

/// The notes do not wait for the answer, and the answer does not wait for the end of the stream.
/// spec-test: CMD-24
#[tokio::test]
async fn events_are_passed_on_as_their_bytes_arrive() {
    let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"a":"ä"}}"#;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = target(&format!("http://{}/", listener.local_addr().unwrap()));
    let (notes, mut noted) = mpsc::channel(8);
    let serve = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 4096];
        assert!(socket.read(&mut request).await.unwrap() > 0);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        socket.write_all(head.as_bytes()).await.unwrap();
        socket.set_nodelay(true).unwrap();
        for byte in format!("data: {note}\n\n").as_bytes() {
            socket.write_all(&[*byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        let first = timeout(SOON, noted.recv()).await.expect("the note comes");
        assert_eq!(first.as_deref(), Some(note));
        let answer = format!("data: {PONG}\n\n");
        socket.write_all(answer.as_bytes()).await.unwrap();
        // Open until the client leaves, which it does with the answer.
        let left = timeout(PATIENCE, socket.read(&mut request)).await.unwrap();
        assert!(matches!(left, Ok(0) | Err(_)));
    };
    let (answered, ()) = tokio::join!(target.call(call(PING), notes), serve);
    assert_eq!(answered.json.as_deref(), Some(PONG));
}

/// A message is taken from the server once those before it are on their way, so that none piles up here.
#[tokio::test]
async fn a_stream_is_read_no_faster_than_its_messages_leave() {
    let body = format!("data: {}\n\ndata: {}\n\ndata: {PONG}\n\n", note(1), note(2));
    let mut service = ScriptedService::start().unwrap();
    let target = target(&service.endpoint());
    let (notes, mut noted) = mpsc::channel(2);
    let serve = async {
        let exchange = service.next_request().await.unwrap();
        exchange.answer(events(body)).await;
        let first = timeout(SOON, async {
            while noted.is_empty() {
                sleep(Duration::from_millis(1)).await;
            }
            // Long enough for what is there already.
            sleep(Duration::from_millis(100)).await;
            (noted.len(), noted.recv().await)
        });
        assert_eq!(first.await.unwrap(), (1, Some(note(1))));
        assert_eq!(timeout(SOON, noted.recv()).await.unwrap(), Some(note(2)));
    };
    let (answered, ()) = tokio::join!(target.call(call(PING), notes), serve);
    assert_eq!(answered.json.as_deref(), Some(PONG));
}

/// Whoever wants no notes still gets the answer.
#[tokio::test]
async fn the_answer_comes_though_nobody_takes_the_notes() {
    let toy = ToyHttp::start(HttpOptions::default()).unwrap();
    let (notes, _) = mpsc::channel(1);
    let message = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"progress","arguments":{"steps":100},"_meta":{"progressToken":1}}}"#;
    let answered = timeout(PATIENCE, target(&toy.url()).call(call(message), notes)).await;
    assert_eq!(text_of(&answered.unwrap()), "100 steps");
}

/// spec-test: CMD-22
#[tokio::test]
async fn a_stream_that_ends_without_the_answer_is_a_failure() {
    let note = "data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n";
    let unfinished = format!("{note}data: {PONG}\n");
    let cut = events(unfinished.clone()).cut(20, CutBy::Close);
    for (reply, source, kind) in [
        (events(""), "protocol", "stream_ended"),
        (events(unfinished), "protocol", "stream_ended"),
        (cut, "transport_closed", "connection_closed"),
    ] {
        let (answered, _, _) = exchange(PING, reply).await;
        let told = tunnel_failure(&answered);
        assert_eq!(told["source"], source);
        assert_eq!(told["transport_error_kind"], kind);
        assert_eq!(told["upstream_response_received"], true);
    }
    for (reply, kind) in [
        (
            events(vec![b'd', b'a', b't', b'a', b':', 0xff, b'\n', b'\n']),
            "event_not_utf8",
        ),
        (
            events(format!("data: {}\n\n", "x".repeat(200))),
            "event_too_large",
        ),
        (
            Answer::json(200, format!("{:201}", PONG)),
            "answer_too_large",
        ),
    ] {
        let mut service = ScriptedService::start().unwrap();
        let mut settings = settings(&service.endpoint());
        settings.answer_limit = 200;
        let target = HttpTarget::new(settings).unwrap();
        let serve = async { service.next_request().await.unwrap().answer(reply).await };
        let (answered, _) = tokio::join!(answer(&target, call(PING)), serve);
        let told = tunnel_failure(&answered);
        assert_eq!(
            (&told["source"], &told["transport_error_kind"]),
            (&"protocol".into(), &kind.into())
        );
    }
}

/// One call against these answers, one a request. Gives the answer, what came before it, and the
/// requests.
async fn exchanges(replies: Vec<Answer>) -> (Answered, Vec<String>, Vec<RecordedRequest>) {
    let mut service = ScriptedService::start().unwrap();
    let target = target(&format!("{}/mcp?team=a", service.endpoint()));
    let asked = call_with(
        PING,
        &[
            ("Mcp-Session-Id", &["s"]),
            ("Mcp-Protocol-Version", &["2025-11-25"]),
            ("Authorization", &["Bearer of the caller"]),
            ("Last-Event-ID", &["of the caller"]),
        ],
    );
    let serve = async {
        let mut requests = Vec::new();
        for reply in replies {
            let exchange = service.next_request().await.unwrap();
            requests.push(exchange.request.clone());
            exchange.answer(reply).await;
        }
        requests
    };
    let ((answered, notes), requests) = tokio::join!(run(&target, asked), serve);
    assert_eq!(service.counts().requests, requests.len() as u64);
    (answered, notes, requests)
}

fn note(number: u8) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"n{number}"}}"#)
}

/// A server may close a stream to be asked for the rest later, and a connection may break.
/// spec-test: CMD-40
#[tokio::test]
async fn a_stream_that_ends_after_an_id_goes_on_where_it_ended() {
    let [one, two] = [note(1), note(2)];
    let whole = format!("id: a-1\ndata: {one}\n\n");
    let unfinished = format!("{whole}id: a-2\ndata: {two}\n");
    let rest = format!("id: a-2\ndata: {two}\n\ndata: {PONG}\n\n");
    let cut = |by| events(format!("{unfinished}\n")).cut(unfinished.len(), by);
    for first in [
        events(whole),
        events(unfinished.clone()),
        cut(CutBy::Close),
        cut(CutBy::Reset),
    ] {
        let first = first.with_header("Mcp-Session-Id", "s");
        let (answered, notes, requests) = exchanges(vec![first, events(rest.clone())]).await;
        assert_eq!(answered.json.as_deref(), Some(PONG));
        assert!(answered.failure.is_none() && answered.by_target);
        assert_eq!(answered.headers[1].0, "Mcp-Session-Id", "the first head");
        assert_eq!(notes, [&*one, &*two], "none is lost, none comes twice");
        let [post, get] = &requests[..] else {
            panic!("{requests:?}");
        };
        assert_eq!((&*post.method, &*get.method), ("POST", "GET"));
        assert_eq!((&*get.target, get.body.len()), ("/mcp?team=a", 0));
        for (name, value) in [
            ("last-event-id", "a-1"),
            ("accept", "text/event-stream"),
            ("mcp-session-id", "s"),
            ("mcp-protocol-version", "2025-11-25"),
            ("authorization", "Bearer of the caller"),
        ] {
            assert_eq!(get.sole_header(name), Some(value.as_bytes()), "{name}");
        }
        assert_eq!(get.sole_header("content-type"), None);
    }
}

/// Each stream ends after one more event, as often as the server likes.
/// spec-test: CMD-40
#[tokio::test]
async fn a_stream_goes_on_as_often_as_something_new_comes() {
    let steps = (1..=7).map(|step| events(format!("id: {step}\ndata:\n\n")));
    let steps = steps.chain([events(format!("data: {PONG}\n\n"))]).collect();
    let (answered, notes, requests) = exchanges(steps).await;
    assert_eq!(answered.json.as_deref(), Some(PONG));
    assert!(notes.is_empty());
    let from = |request: &RecordedRequest| request.sole_header("last-event-id").map(<[u8]>::to_vec);
    let from: Vec<_> = requests.iter().skip(1).filter_map(from).collect();
    assert_eq!(from, [b"1", b"2", b"3", b"4", b"5", b"6", b"7"]);
}

/// A call whose stream is not gone on with, after so many requests.
async fn fails_after(replies: Vec<Answer>, source: &str) {
    let asked = replies.len();
    let (answered, notes, requests) = exchanges(replies).await;
    let told = tunnel_failure(&answered);
    assert_eq!(told["source"], source);
    assert_eq!(told["upstream_response_received"], true);
    assert_eq!((requests.len(), notes.len()), (asked, 0));
    let posts = requests.iter().filter(|request| request.method == "POST");
    assert_eq!(posts.count(), 1, "the message is never sent twice");
}

fn primed() -> Answer {
    events("id: 1\ndata:\n\n")
}

/// spec-test: CMD-40
#[tokio::test]
async fn a_stream_that_does_not_go_on_is_a_failure() {
    fails_after(vec![events("data:\n\n")], "protocol").await;
    for refusal in [
        Answer::status(405),
        Answer::status(404),
        Answer::json(200, PONG),
    ] {
        fails_after(vec![primed(), refusal], "protocol").await;
    }
}

/// spec-test: CMD-41
#[tokio::test]
async fn a_stream_that_brings_nothing_new_is_given_up() {
    let unavailable = [vec![primed()], vec![Answer::status(503); 5]].concat();
    tokio::join!(
        fails_after(vec![primed(); 6], "protocol"),
        fails_after(unavailable, "target_http"),
    );
}

/// spec-test: CMD-41
#[tokio::test]
async fn the_deadline_covers_the_wait_for_a_stream_and_its_rest() {
    let hour = "id: 1\nretry: 3600000\ndata:\n\n";
    for (first, rest) in [
        (hour, None),
        (
            "id: 1\ndata:\n\n",
            Some(Answer::Fault(TransportFault::Deadline)),
        ),
    ] {
        let mut service = ScriptedService::start().unwrap();
        let target = target(&service.endpoint());
        let requests = if rest.is_some() { 2 } else { 1 };
        let serve = async {
            for reply in [Some(events(first)), rest].into_iter().flatten() {
                service.next_request().await.unwrap().answer(reply).await;
            }
        };
        let late = call_within(PING, Duration::from_millis(600));
        let both = async { tokio::join!(answer(&target, late), serve) };
        let (answered, ()) = timeout(SOON, both).await.expect("the deadline ends it");
        let told = tunnel_failure(&answered);
        assert_eq!(told["source"], "timeout");
        assert_eq!(told["upstream_response_received"], true);
        assert_eq!(service.counts().requests, requests);
    }
}

/// spec-test: CMD-22
#[tokio::test]
async fn broken_connections_are_told_apart() {
    for (fault, source, kind) in [
        (
            TransportFault::ResetBeforeHead,
            "transport_closed",
            Some("connection_reset"),
        ),
        (
            TransportFault::CloseBeforeHead,
            "transport_closed",
            Some("connection_closed"),
        ),
        (
            TransportFault::GarbageHead(b"nonsense\r\n\r\n".to_vec()),
            "protocol",
            Some("invalid_http"),
        ),
    ] {
        let told = fails(Answer::Fault(fault)).await;
        assert_eq!(told["source"], source);
        assert_eq!(
            told.get("transport_error_kind").and_then(|k| k.as_str()),
            kind
        );
        assert_eq!(told["upstream_response_received"], false);
    }
    let told = fails(Answer::json(200, PONG).cut(5, CutBy::Reset)).await;
    assert_eq!(told["source"], "transport_closed");
    let told = fails(Answer::json(200, PONG).cut(5, CutBy::Close)).await;
    assert_eq!(told["source"], "transport_closed");
    assert_eq!(told["upstream_response_received"], true);
}

/// spec-test: CMD-22
#[tokio::test]
async fn a_server_that_is_not_there_is_told_apart() {
    let mut service = ScriptedService::start().unwrap();
    service.pause_listening().await;
    let answered = answer(&target(&service.endpoint()), call(PING)).await;
    let told = tunnel_failure(&answered);
    assert_eq!(
        (&told["source"], &told["transport_error_kind"]),
        (&"connect".into(), &"connection_refused".into())
    );
    let mut settings = settings("http://nowhere.invalid/mcp");
    settings.proxy = moorline::ProxyChoice::Direct;
    let answered = answer(&HttpTarget::new(settings).unwrap(), call(PING)).await;
    let told = tunnel_failure(&answered);
    assert_eq!(
        (&told["source"], told.get("transport_error_kind")),
        (&"dns".into(), None)
    );
    assert!(!answered.json.unwrap().contains("nowhere"));
}

/// spec-test: CMD-22
#[tokio::test]
async fn a_deadline_ends_the_wait_for_the_head_and_for_the_body() {
    let stalled = Answer::json(200, PONG).cut(5, CutBy::Deadline);
    for (reply, received) in [
        (Answer::Fault(TransportFault::Deadline), false),
        (stalled, true),
    ] {
        let mut service = ScriptedService::start().unwrap();
        let target = target(&service.endpoint());
        let serve = async { service.next_request().await.unwrap().answer(reply).await };
        let late = call_within(PING, Duration::from_millis(300));
        let both = async { tokio::join!(answer(&target, late), serve) };
        let (answered, _) = timeout(SOON, both).await.expect("the deadline ends it");
        let told = tunnel_failure(&answered);
        assert_eq!(told["source"], "timeout");
        assert_eq!(told["upstream_response_received"], received);
        assert_eq!(answered.code, 504);
    }
}

#[tokio::test]
async fn dropping_a_call_closes_its_connection() {
    let mut service = ScriptedService::start().unwrap();
    let target = target(&service.endpoint());
    let (notes, _noted) = mpsc::channel(1);
    let mut exchange = tokio::select! {
        _ = target.call(call(PING), notes) => panic!("nobody answered"),
        exchange = service.next_request() => exchange.unwrap(),
    };
    timeout(PATIENCE, exchange.client_left()).await.unwrap();
}

#[tokio::test]
async fn what_asks_for_no_answer_is_acknowledged() {
    for message in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","id":"srv-1","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"srv-1","error":{"code":1,"message":""}}"#,
    ] {
        for status in [202, 200, 204] {
            let (answered, _, request) = exchange(message, Answer::status(status)).await;
            assert_eq!(request.body, message.as_bytes());
            assert_eq!(
                (answered.code, answered.kind),
                (status, ResponseType::NotifyAck)
            );
            assert!(answered.json.is_none() && answered.failure.is_none());
        }
        let (answered, _, _) = exchange(message, Answer::status(400)).await;
        assert_eq!(
            (answered.code, answered.kind),
            (400, ResponseType::NotifyAck)
        );
        assert_eq!(tunnel_failure(&answered)["source"], "target_http");
    }
}

/// The server never hears of it.
#[tokio::test]
async fn what_is_no_message_is_refused() {
    let server = SilentListener::start().await.unwrap();
    let target = target(&server.endpoint());
    for message in [
        "{}",
        "[]",
        "1",
        r#"{"jsonrpc":"2.0","id":null,"method":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1.5,"method":"x"}"#,
    ] {
        let answered = answer(&target, call(message)).await;
        assert_eq!(
            tunnel_failure(&answered)["transport_error_kind"],
            "invalid_message"
        );
        assert!(answered.json.unwrap().contains(r#""id":null"#));
    }
    assert_eq!(server.counts().await.unwrap().connections, 0);
}

/// spec-test: CMD-23
#[tokio::test]
async fn headers_pass_by_the_rules_both_ways() {
    let mut service = ScriptedService::start().unwrap();
    let mut settings = settings(&service.endpoint());
    settings.extra_headers = [
        ("authorization", "Bearer configured"),
        ("x-team", "one"),
        ("x-team", "two"),
        ("host", "elsewhere.example"),
        ("content-length", "3"),
        ("x-tunnel-shard-token", "t"),
    ]
    .map(|(name, value)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    })
    .to_vec();
    let target = HttpTarget::new(settings).unwrap();
    let asked = call_with(
        PING,
        &[
            ("Mcp-Session-Id", &["s-1"]),
            ("Mcp-Protocol-Version", &["2025-06-18"]),
            ("X-Custom", &["a", "b"]),
            ("Authorization", &["Bearer of the caller"]),
            ("Host", &["evil.example"]),
            ("Content-Type", &["text/plain"]),
            ("Accept", &["text/plain"]),
            ("Content-Length", &["1"]),
            ("Transfer-Encoding", &["chunked"]),
            ("Connection", &["x-hop"]),
            ("X-Hop", &["1"]),
            ("X-Tunnel-Shard-Token", &["t"]),
            ("Bad Name", &["1"]),
        ],
    );
    let host = service.address().to_string();
    let serve = async {
        let exchange = service.next_request().await.unwrap();
        let request = exchange.request.clone();
        let reply = Answer::json(200, PONG)
            .with_header("mcp-session-id", "s-2")
            .with_header("Mcp-Protocol-Version", "")
            .with_header("Last-Event-Id", "e")
            .with_header("Set-Cookie", "c=1")
            .with_header("Server", "secret/1")
            .with_header("WWW-Authenticate", "A")
            .with_header("WWW-Authenticate", "B")
            .with_header("Connection", "last-event-id");
        exchange.answer(reply).await;
        request
    };
    let (answered, request) = tokio::join!(answer(&target, asked), serve);
    let values = |name: &str| -> Vec<String> {
        let lines = request.header_lines(name);
        lines
            .map(|value| String::from_utf8(value.to_vec()).unwrap())
            .collect()
    };
    for (name, expected) in [
        ("mcp-session-id", vec!["s-1"]),
        ("mcp-protocol-version", vec!["2025-06-18"]),
        ("x-custom", vec!["a", "b"]),
        ("authorization", vec!["Bearer configured"]),
        ("x-team", vec!["one", "two"]),
        ("host", vec![&*host]),
        ("content-type", vec!["application/json"]),
        ("accept", vec!["application/json, text/event-stream"]),
        ("content-length", vec!["40"]),
        ("transfer-encoding", vec![]),
        ("connection", vec![]),
        ("x-hop", vec![]),
        ("x-tunnel-shard-token", vec![]),
        ("cookie", vec![]),
        ("accept-encoding", vec![]),
    ] {
        assert_eq!(values(name), expected, "{name}");
    }
    let expected = support::target::lines(&[
        ("Content-Type", &["application/json"]),
        ("Mcp-Session-Id", &["s-2"]),
        ("WWW-Authenticate", &["A", "B"]),
    ]);
    assert_eq!(answered.headers, expected);
    assert_eq!(answered.code, 200);
}

/// A session from its start to its end, against a server that insists on it.
#[tokio::test]
async fn a_session_lives_and_ends() {
    for answers in [Answers::Json, Answers::Events, Answers::Auto] {
        let toy = ToyHttp::start(HttpOptions {
            answers,
            sessions: Sessions::Required,
            ..HttpOptions::default()
        })
        .unwrap();
        let target = AnyTarget::Http(target(&toy.url()));
        let refused = answer(&target, call(&tool("1", "echo", r#"{"text":"x"}"#))).await;
        assert_eq!(tunnel_failure(&refused)["upstream_status"], 400);
        let opened = answer(&target, call(INITIALIZE)).await;
        let (_, session) = opened
            .headers
            .iter()
            .find(|(name, _)| name == "Mcp-Session-Id")
            .unwrap();
        // The caller says which session is meant, at each call anew.
        let forgotten = answer(&target, call(PING)).await;
        assert_eq!(tunnel_failure(&forgotten)["upstream_status"], 400);
        let session: &[(&str, &[&str])] = &[("Mcp-Session-Id", &[&session[0]])];
        let noted = answer(
            &target,
            call_with(
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                session,
            ),
        )
        .await;
        assert_eq!((noted.code, noted.kind), (202, ResponseType::NotifyAck));
        let progress = r#"{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"progress","arguments":{"steps":5},"_meta":{"progressToken":"t"}}}"#;
        let (answered, notes) = run(&target, call_with(progress, session)).await;
        assert_eq!(text_of(&answered), "5 steps");
        assert_eq!(notes.len(), if answers == Answers::Json { 0 } else { 5 });
        let ended = target.terminate(termination(session)).await;
        assert_eq!(
            (ended.code, ended.kind),
            (204, ResponseType::SessionTerminationResponse)
        );
        assert!(ended.json.is_none() && ended.failure.is_none());
        assert_eq!(target.terminate(termination(session)).await.code, 404);
        let gone = answer(&target, call_with(PING, session)).await;
        assert_eq!(tunnel_failure(&gone)["upstream_status"], 404);
    }
}

#[tokio::test]
async fn a_termination_is_a_delete_and_may_fail_too() {
    let mut service = ScriptedService::start().unwrap();
    let target = target(&format!("{}/mcp", service.endpoint()));
    let serve = async {
        let exchange = service.next_request().await.unwrap();
        let request = exchange.request.clone();
        exchange.answer(Answer::status(405)).await;
        request
    };
    let ended = target.terminate(termination(&[("Mcp-Session-Id", &["s"])]));
    let (ended, request) = tokio::join!(ended, serve);
    assert_eq!(
        (ended.code, ended.kind),
        (405, ResponseType::SessionTerminationResponse)
    );
    assert_eq!((&*request.method, &*request.target), ("DELETE", "/mcp"));
    assert_eq!(request.sole_header("mcp-session-id"), Some(b"s".as_slice()));
    service.pause_listening().await;
    let failed = target.terminate(termination(&[])).await;
    assert_eq!(failed.kind, ResponseType::SessionTerminationResponse);
    assert_eq!(tunnel_failure(&failed)["source"], "connect");
}

/// What a POST says with that status, a DELETE says too; the session is no longer than before.
/// spec-test: CMD-39
#[tokio::test]
async fn a_termination_that_the_server_cannot_answer_is_a_failure() {
    for (status, code) in [(503, 503), (500, 500), (302, 502)] {
        let mut service = ScriptedService::start().unwrap();
        let target = target(&service.endpoint());
        let reply = Answer::json(status, "{}").with_header("Mcp-Session-Id", "s");
        let serve = async { service.next_request().await.unwrap().answer(reply).await };
        let (ended, _) = tokio::join!(target.terminate(termination(&[])), serve);
        assert_eq!(ended.kind, ResponseType::SessionTerminationResponse);
        assert_eq!(tunnel_failure(&ended)["source"], "target_http");
        assert_eq!((ended.code, ended.headers.len()), (code, 2), "{status}");
        assert!(!ended.by_target);
    }
}

/// One slow tool blocks no other.
#[tokio::test]
async fn calls_run_side_by_side() {
    let toy = ToyHttp::start(HttpOptions::default()).unwrap();
    let target = target(&toy.url());
    let (notes, _noted) = mpsc::channel(1);
    let silent = target.call(call(&tool("1", "silent", "{}")), notes);
    let others = async {
        for id in 2..30 {
            let text = format!(r#"{{"text":"{id}"}}"#);
            let answered = answer(&target, call(&tool(&id.to_string(), "echo", &text))).await;
            assert_eq!(text_of(&answered), id.to_string());
        }
    };
    tokio::select! {
        _ = silent => panic!("the silent tool answered"),
        () = others => {}
    }
}

/// spec-test: RPT-11
#[tokio::test]
async fn a_certificate_is_trusted_by_the_ca_bundle_alone() {
    let server = TlsServer::start("http/1.1").await;
    let url = format!("https://localhost:{}/mcp", server.port());
    let (accepted, answered) = tokio::join!(server.accept(), async {
        answer(&target(&url), call(PING)).await
    });
    assert!(accepted.is_err(), "the client breaks the handshake off");
    let told = tunnel_failure(&answered);
    assert_eq!(
        (&told["source"], &told["transport_error_kind"]),
        (&"tls".into(), &"invalid_certificate".into())
    );
    let mut settings = settings(&url);
    settings.ca_bundle = Some(server.ca_bundle.clone());
    let target = HttpTarget::new(settings).unwrap();
    let (answered, _) = tokio::join!(answer(&target, call(PING)), server.answer_post(PONG));
    assert_eq!(answered.json.as_deref(), Some(PONG));
}

#[tokio::test]
async fn a_server_that_asks_who_the_client_is_gets_its_certificate() {
    let server = TlsServer::start_requiring_clients("http/1.1").await;
    let mut with_identity = settings(&format!("https://localhost:{}/mcp", server.port()));
    with_identity.ca_bundle = Some(server.ca_bundle.clone());
    let mut without = with_identity.clone();
    with_identity.client_identity = Some(server.client_identity());
    let target = HttpTarget::new(with_identity).unwrap();
    let (answered, named) = tokio::join!(answer(&target, call(PING)), server.answer_post(PONG));
    assert_eq!(answered.json.as_deref(), Some(PONG));
    assert!(named, "the server saw a certificate");
    for identity in [None, Some(TlsServer::unknown_identity())] {
        without.client_identity = identity;
        let target = HttpTarget::new(without.clone()).unwrap();
        let serve = async {
            assert!(server.accept().await.is_err(), "the server refuses");
        };
        let (answered, ()) = tokio::join!(answer(&target, call(PING)), serve);
        let told = tunnel_failure(&answered);
        assert_eq!(told["source"], "tls", "{told}");
        assert_eq!(told["transport_error_kind"], "alert_received");
    }
    assert_eq!(CLIENT, "client.test");
}

#[test]
fn what_cannot_work_is_refused_at_the_start() {
    for url in ["ftp://localhost/", "data:text/plain,x", "unix:/run/mcp"] {
        let refused = HttpTarget::new(settings(url)).map(drop).unwrap_err();
        assert_eq!(refused, SetupError::TargetUrl, "{url}");
    }
    let mut bundle = settings("https://localhost/");
    bundle.ca_bundle = Some(b"no certificate".to_vec());
    assert_eq!(HttpTarget::new(bundle).map(drop), Err(SetupError::CaBundle));
    let mut identity = settings("https://localhost/");
    identity.client_identity = Some(ClientIdentity {
        certificate: b"none".to_vec(),
        key: b"none".to_vec(),
    });
    assert_eq!(
        HttpTarget::new(identity.clone()).map(drop),
        Err(SetupError::ClientIdentity)
    );
    let text = format!("{identity:?}");
    assert!(
        !text.contains("none") && !text.contains("localhost"),
        "{text}"
    );
}
