//! Encrypted endpoints: whom the client trusts, how it goes through a proxy, and HTTP/2.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use moorline::model::placement::Verdict;
use moorline::model::poll::{Interruption, PollFault};
use moorline::model::schedule::LongPoll;
use moorline::model::wire::CorrectionFault;
use moorline::{ControlPlane, PollReport, ProxyChoice, SetupError};
use moorline_fixtures::answer::Answer;
use moorline_fixtures::scripted::{ScriptedService, SilentListener};
use support::tls::{NAME, TlsServer};
use support::trace::connect;
use support::{Flight, KEY, settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

#[tokio::test]
async fn trusts_a_certificate_that_the_ca_bundle_names() {
    let server = TlsServer::start("http/1.1").await;
    let client = connect(server.trusted_settings());
    let (request, report) = tokio::join!(server.answer_once(), Flight::begin(&client).end());
    assert!(request.contains(&format!("authorization: Bearer {KEY}\r\n")));
    assert_eq!(report.verdict, Verdict::Success);
}

/// spec-test: CLS-5
#[tokio::test]
async fn sends_nothing_to_a_server_that_it_does_not_trust() {
    let server = TlsServer::start("http/1.1").await;
    let client = connect(server.settings());
    let (accepted, report) = tokio::join!(server.accept(), Flight::begin(&client).end());
    assert!(accepted.is_err(), "the client breaks the handshake off");
    let fault = report.reply.unwrap_err().fault();
    assert_eq!(fault, PollFault::NoHead(Interruption::Network));
}

#[test]
fn refuses_a_bundle_without_certificates() {
    for bundle in [
        "",
        "no certificate",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ] {
        let mut settings = settings("https://localhost:1");
        settings.ca_bundle = Some(bundle.into());
        let error = ControlPlane::connect(settings).map(|_| ()).unwrap_err();
        assert!(
            matches!(error, SetupError::CaBundle | SetupError::HttpClient),
            "{bundle}"
        );
    }
}

/// The proxy learns where to connect, and neither key nor path.
/// spec-test: LOOP-20
#[tokio::test]
async fn an_explicit_proxy_carries_the_encrypted_connection() {
    let server = TlsServer::start("http/1.1").await;
    let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut settings = settings(&format!("https://{NAME}"));
    settings.ca_bundle = Some(server.ca_bundle.clone());
    let url = format!("http://{}", proxy.local_addr().unwrap());
    settings.proxy = ProxyChoice::Explicit(url.parse().unwrap());
    let client = connect(settings);
    let port = server.port();
    let relay = async {
        let accepted = timeout(Duration::from_secs(30), proxy.accept()).await;
        let (mut socket, _) = accepted.expect("the proxy is used").unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(socket.read_u8().await.unwrap());
        }
        socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let mut upstream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        // Either side may close first; what counts is what arrived.
        let _ = copy_bidirectional(&mut socket, &mut upstream).await;
        String::from_utf8(head).unwrap()
    };
    let poll = async {
        let report = Flight::begin(&client).end().await;
        drop(client);
        report
    };
    let (head, request, report) = tokio::join!(relay, server.answer_once(), poll);
    assert!(
        head.starts_with(&format!("CONNECT {NAME}:443 HTTP/1.1\r\n")),
        "{head}"
    );
    for secret in [KEY, support::TUNNEL] {
        assert!(!head.contains(secret) && request.contains(secret));
    }
    assert_eq!(report.verdict, Verdict::Success);
}

/// spec-test: LOOP-20
#[tokio::test]
async fn an_endpoint_on_this_machine_is_reached_without_any_proxy() {
    let mut service = ScriptedService::start().unwrap();
    let proxy = SilentListener::start().await.unwrap();
    let mut settings = settings(&service.endpoint());
    settings.proxy = ProxyChoice::Explicit(proxy.endpoint().parse().unwrap());
    let client = connect(settings);
    let flight = Flight::begin(&client);
    let exchange = service.next_request().await.unwrap();
    exchange.answer(Answer::status(204)).await;
    assert_eq!(flight.end().await.verdict, Verdict::Success);
    assert_eq!(proxy.counts().await.unwrap().connections, 0);
}

/// What an HTTP/2 server does with one request.
enum H2Answer {
    Respond(Response<&'static str>),
    Reset(h2::Reason),
    GoAway,
}

/// Serves HTTP/2 from a list of answers, one request each, and counts requests.
async fn serve_h2(server: TlsServer, answers: Vec<H2Answer>, requests: Arc<AtomicUsize>) {
    let mut answers = answers.into_iter();
    while let Ok(stream) = server.accept().await {
        let Ok(mut connection) = h2::server::handshake(stream).await else {
            continue;
        };
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            requests.fetch_add(1, SeqCst);
            assert_poll_over_h2(&request);
            match answers.next() {
                Some(H2Answer::Respond(response)) => {
                    let (head, body) = response.into_parts();
                    let mut stream = respond
                        .send_response(Response::from_parts(head, ()), false)
                        .unwrap();
                    stream
                        .send_data(Bytes::from_static(body.as_bytes()), true)
                        .unwrap();
                }
                Some(H2Answer::Reset(reason)) => respond.send_reset(reason),
                Some(H2Answer::GoAway) => connection.abrupt_shutdown(h2::Reason::NO_ERROR),
                None => return,
            }
        }
    }
}

fn assert_poll_over_h2(request: &Request<h2::RecvStream>) {
    assert_eq!(request.version(), http::Version::HTTP_2);
    let lines = request.headers().get_all("x-tunnel-client-capabilities");
    assert_eq!(lines.iter().collect::<Vec<_>>(), ["wrong-cluster-v1"]);
}

fn h2_correction(token: &str) -> H2Answer {
    let body = r#"{"error":{"code":"wrong_cluster","policy_revision":1}}"#;
    let head = Response::builder()
        .status(409)
        .header("x-tunnel-shard-token", token);
    H2Answer::Respond(head.body(body).unwrap())
}

/// spec-test: COR-10, END-6
#[tokio::test]
async fn http_2_is_spoken_and_nothing_is_sent_twice() {
    let server = TlsServer::start("h2").await;
    let client = connect(server.trusted_settings());
    let requests = Arc::new(AtomicUsize::new(0));
    let malformed = PollFault::MalformedCorrection(CorrectionFault::HeaderInvalidByte);
    let network = PollFault::NoHead(Interruption::Network);
    let script: Vec<(H2Answer, Verdict, Option<PollFault>)> = vec![
        (h2_correction("route-a"), Verdict::Installed, None),
        // Over HTTP/2 values are judged as received.
        (h2_correction("route b"), Verdict::Neutral, Some(malformed)),
        (
            H2Answer::Reset(h2::Reason::REFUSED_STREAM),
            Verdict::FailureCounted,
            Some(network),
        ),
        (
            H2Answer::Reset(h2::Reason::CANCEL),
            Verdict::FailureCounted,
            Some(network),
        ),
        // The connection ends with it, as a close or as a break.
        (H2Answer::GoAway, Verdict::Evicted, None),
        (
            H2Answer::Respond(Response::builder().status(204).body("").unwrap()),
            Verdict::Success,
            None,
        ),
    ];
    let (mut answers, mut expected) = (Vec::new(), Vec::new());
    for (answer, verdict, fault) in script {
        answers.push(answer);
        expected.push((verdict, fault));
    }
    let served = tokio::spawn(serve_h2(server, answers, Arc::clone(&requests)));
    for (index, (verdict, fault)) in expected.into_iter().enumerate() {
        let report: PollReport = Flight::begin(&client).end().await;
        assert_eq!(report.verdict, verdict, "poll {}", index + 1);
        if let Some(fault) = fault {
            assert_eq!(
                report.reply.unwrap_err().fault(),
                fault,
                "poll {}",
                index + 1
            );
        }
        assert_eq!(requests.load(SeqCst), index + 1, "one request a poll");
    }
    served.abort();
}

/// Neither to plain http, where the key would be readable, nor to another encrypted endpoint, nor by an advertised
/// alternative service.
/// spec-test: END-3, END-4
#[tokio::test]
async fn an_encrypted_endpoint_is_left_by_no_redirect() {
    let elsewhere = SilentListener::start().await.unwrap();
    let server = TlsServer::start("h2").await;
    let mut settings = server.trusted_settings();
    settings.long_poll = LongPoll::new(Duration::from_secs(10), Duration::ZERO);
    let client = connect(settings);
    let requests = Arc::new(AtomicUsize::new(0));
    let other = elsewhere.address().to_string();
    let (mut answers, mut expected) = (Vec::new(), Vec::new());
    for status in [200, 201, 301, 302, 303, 307, 308, 409, 421, 503] {
        for scheme in ["http:", "https:", ""] {
            let answer = Response::builder()
                .status(status)
                .header("location", format!("{scheme}//{other}/v1"))
                .header("alt-svc", format!("h2=\"{other}\"; ma=60"));
            answers.push(H2Answer::Respond(
                answer.body(r#"{"commands":[]}"#).unwrap(),
            ));
            expected.push(status);
        }
    }
    let served = tokio::spawn(serve_h2(server, answers, Arc::clone(&requests)));
    for (index, status) in expected.into_iter().enumerate() {
        let report = Flight::begin(&client).end().await;
        match report.reply {
            Ok(_) => assert_eq!(status, 200),
            Err(error) => assert_eq!(error.fault(), PollFault::Status(status)),
        }
        assert_eq!(requests.load(SeqCst), index + 1, "one request a poll");
    }
    assert_eq!(requests.load(SeqCst), 30);
    served.abort();
    let heard = elsewhere.counts().await.unwrap();
    assert_eq!((heard.connections, heard.bytes_received), (0, 0));
}

/// What cuts a long poll closes the connection, in order or not; both are told from a break.
/// spec-test: LOOP-21
#[tokio::test]
async fn a_close_before_any_head_is_recognised_under_encryption_too() {
    for protocol in ["http/1.1", "h2"] {
        for in_order in [true, false] {
            let server = TlsServer::start(protocol).await;
            let client = connect(server.trusted_settings());
            let cut = async {
                let mut stream = server.accept().await.unwrap();
                // Some of the request, so that the client is waiting for its answer.
                let mut buffer = [0; 4096];
                let mut read = stream.read(&mut buffer).await.unwrap();
                if protocol == "h2" {
                    // An empty SETTINGS frame, without which no request is sent.
                    stream
                        .write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0])
                        .await
                        .unwrap();
                    read = stream.read(&mut buffer).await.unwrap();
                }
                assert!(read > 0);
                if in_order {
                    // The client may be gone already.
                    let _ = stream.shutdown().await;
                }
                drop(stream);
            };
            let ((), report) = tokio::join!(cut, Flight::begin(&client).end());
            let fault = report.reply.unwrap_err().fault();
            let closed = PollFault::NoHead(Interruption::Closed);
            assert_eq!(fault, closed, "{protocol}, in order: {in_order}");
        }
    }
}
