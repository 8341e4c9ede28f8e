//! The real client over real loopback sockets: what it must not do, and what overlapping polls,
//! cancellations and hints do.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use std::num::NonZeroU16;
use std::time::Duration;

use moorline::model::placement::Verdict;
use moorline::model::poll::{Interruption, PollFault};
use moorline::model::schedule::Next;
use moorline::{ControlPlane, HttpTransport, PollReport};
use moorline_fixtures::answer::{Answer, CutBy, Framing, TransportFault};
use moorline_fixtures::scripted::{Exchange, ScriptedService, SilentListener};
use support::trace::validated;
use support::{
    Flight, LIMIT, TUNNEL, assert_is_poll, assert_same_but_for_token, client, settings, token_of,
};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

fn correction(revision: u64, token: &str) -> Answer {
    let body = format!(r#"{{"error":{{"code":"wrong_cluster","policy_revision":{revision}}}}}"#);
    Answer::json(409, body).with_header("X-Tunnel-Shard-Token", token)
}

/// Begins a poll and waits until the service holds its request.
async fn begin(client: &ControlPlane, service: &mut ScriptedService) -> (Flight, Exchange) {
    let flight = Flight::begin(client);
    let exchange = service.next_request().await.unwrap();
    assert_is_poll(&exchange.request, &service.address().to_string());
    (flight, exchange)
}

async fn end(flight: Flight, exchange: Exchange, answer: Answer) -> PollReport {
    let (_, report) = tokio::join!(exchange.answer(answer), flight.end());
    report
}

/// One poll from request to report; gives the token that it carried, too.
async fn poll(
    client: &ControlPlane,
    service: &mut ScriptedService,
    answer: Answer,
) -> (Option<String>, PollReport) {
    let (flight, exchange) = begin(client, service).await;
    let token = token_of(&exchange.request);
    (token, end(flight, exchange, answer).await)
}

/// spec-test: END-3, END-4, END-5
#[tokio::test]
async fn follows_no_redirect_of_any_status_to_any_target() {
    let elsewhere = SilentListener::start().await.unwrap();
    let mut service = ScriptedService::start().unwrap();
    // A redirect that is followed to a listener that never answers should not take half a minute to show.
    let client = support::hasty_client(&service.endpoint(), Duration::from_secs(10));
    let targets = targets(&service, &elsewhere);
    let (mut polls, mut first) = (0, None);
    for status in 300..=399 {
        for target in &targets {
            let answer = pointing_to(Answer::status(status), target, &elsewhere);
            let (flight, exchange) = begin(&client, &mut service).await;
            let first = first.get_or_insert_with(|| exchange.request.clone());
            assert_same_but_for_token(first, &exchange.request);
            assert_eq!(token_of(&exchange.request), None, "{status} {target}");
            let report = end(flight, exchange, answer).await;
            assert_eq!(report.reply.unwrap_err().fault(), PollFault::Status(status));
            assert_eq!(report.verdict, Verdict::Neutral);
            polls += 1;
            assert_eq!(
                service.counts().requests,
                polls,
                "{status} {target}: no second request"
            );
        }
    }
    assert_eq!((polls, heard_by(&elsewhere).await), (900, (0, 0)));
}

/// Each kind of reference that names another place than the poll itself, and one that names it.
fn targets(service: &ScriptedService, elsewhere: &SilentListener) -> [String; 9] {
    let (own, other) = (service.endpoint(), elsewhere.address());
    [
        format!("http://{other}/v1/tunnels/{TUNNEL}/poll"),
        format!("https://{other}/v1/tunnels/{TUNNEL}/poll"),
        format!("http://localhost:{}/", elsewhere.address().port()),
        format!("//{other}"),
        format!("{own}/v1/tunnels/{TUNNEL}/poll"),
        "/elsewhere".to_owned(),
        "elsewhere".to_owned(),
        "?limit=1".to_owned(),
        String::new(),
    ]
}

/// The answer with this target in every header that names a place, and a cookie for it.
fn pointing_to(answer: Answer, target: &str, elsewhere: &SilentListener) -> Answer {
    let (url, other) = (elsewhere.endpoint(), elsewhere.address());
    answer
        .with_header("Location", target)
        .with_header("Content-Location", target)
        .with_header("Refresh", format!("0; url={target}"))
        .with_header("Link", format!("<{target}>; rel=preconnect"))
        .with_header("Link", format!("<{url}>; rel=\"canonical alternate next\""))
        .with_header(
            "Alt-Svc",
            format!("h2=\"{other}\", http/1.1=\"{other}\"; ma=60"),
        )
        .with_header("Host", other.to_string())
        .with_header("X-Forwarded-Host", other.to_string())
        .with_header("Proxy", url.as_str())
        .with_header("Set-Cookie", format!("endpoint={other}"))
}

/// Connections and bytes.
async fn heard_by(elsewhere: &SilentListener) -> (u64, u64) {
    let heard = elsewhere.counts().await.unwrap();
    (heard.connections, heard.bytes_received)
}

/// Statuses that no client takes for redirects are none here either: not with a body that names a place, nor
/// with credentials of a proxy asked for.
/// spec-test: END-1, END-2, END-3, END-4, END-5, END-9
#[tokio::test]
async fn no_answer_of_any_status_moves_the_endpoint() {
    let elsewhere = SilentListener::start().await.unwrap();
    let mut service = ScriptedService::start().unwrap();
    let client = support::hasty_client(&service.endpoint(), Duration::from_secs(10));
    let targets = targets(&service, &elsewhere);
    let url = elsewhere.endpoint();
    let body = format!(
        r#"{{"commands":[],"endpoint":"{url}","url":"{url}","error":{{"code":"moved","endpoint":"{url}"}}}}"#
    );
    let statuses = [
        200, 201, 202, 204, 226, 400, 401, 402, 403, 404, 405, 407, 408, 409, 410, 421, 426, 429,
        451, 500, 502, 503, 504, 511, 599, 600, 999,
    ];
    let (mut polls, mut first) = (0, None);
    for status in statuses {
        for target in &targets {
            let answer = match status {
                204 => Answer::status(204),
                _ => Answer::json(status, body.as_str()),
            };
            let answer = pointing_to(answer, target, &elsewhere)
                .with_header("Upgrade", "h2c")
                .with_header("Proxy-Authenticate", "Basic realm=\"elsewhere\"");
            let (flight, exchange) = begin(&client, &mut service).await;
            let first = first.get_or_insert_with(|| exchange.request.clone());
            assert_same_but_for_token(first, &exchange.request);
            let report = end(flight, exchange, answer).await;
            let found = report.reply.map(|_| ()).map_err(|error| error.fault());
            let expected = match status {
                200 | 204 => Ok(()),
                _ => Err(PollFault::Status(status)),
            };
            assert_eq!(found, expected, "{status} {target}");
            polls += 1;
            assert_eq!(service.counts().requests, polls, "{status} {target}");
        }
    }
    assert_eq!((polls, heard_by(&elsewhere).await), (243, (0, 0)));
}

/// Anything that looks like an address in a correction is an unknown member.
/// spec-test: END-4, COR-15
#[tokio::test]
async fn goes_to_no_address_that_a_correction_names() {
    let elsewhere = SilentListener::start().await.unwrap();
    let mut service = ScriptedService::start().unwrap();
    let client = support::hasty_client(&service.endpoint(), Duration::from_secs(10));
    let url = elsewhere.endpoint();
    let body = format!(
        r#"{{"url":"{url}","error":{{"code":"wrong_cluster","policy_revision":1,"endpoint":"{url}",
        "cluster":"{url}","routing_shard_token":"other-token"}}}}"#
    );
    let answer = Answer::json(409, body).with_header("X-Tunnel-Shard-Token", elsewhere.endpoint());
    let answer = pointing_to(answer, &url, &elsewhere);
    let (flight, exchange) = begin(&client, &mut service).await;
    let first = exchange.request.clone();
    assert_eq!(
        end(flight, exchange, answer).await.verdict,
        Verdict::Installed
    );
    let (flight, exchange) = begin(&client, &mut service).await;
    assert_same_but_for_token(&first, &exchange.request);
    let token = token_of(&exchange.request);
    assert_eq!(token, Some(url), "the token is repeated, never read");
    let report = end(flight, exchange, Answer::status(204)).await;
    assert_eq!(report.verdict, Verdict::Success);
    assert_eq!(heard_by(&elsewhere).await, (0, 0));
}

/// spec-test: PLC-8
#[tokio::test]
async fn learns_no_token_from_a_success() {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    let command = r#"{"commands":[{"command_type":"jsonrpc","request_id":"r","shard_token":"command-token","jsonrpc":{}}],
        "error":{"code":"wrong_cluster","policy_revision":9,"shard_token":"body-token"}}"#;
    for answer in [
        Answer::json(200, command).with_header("X-Tunnel-Shard-Token", "header-token"),
        Answer::status(204).with_header("X-Tunnel-Shard-Token", "header-token"),
    ] {
        let (token, report) = poll(&client, &mut service, answer).await;
        assert_eq!((token, report.verdict), (None, Verdict::Success));
    }
    let (token, _) = poll(&client, &mut service, Answer::status(204)).await;
    assert_eq!(token, None);
}

/// spec-test: PLC-5, PLC-6
#[tokio::test]
async fn late_results_change_nothing_and_still_reach_their_callers() {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    let commands = r#"{"commands":[{"command_type":"jsonrpc","request_id":"r","shard_token":"t","jsonrpc":{}}]}"#;
    let (slow_correction, held_correction) = begin(&client, &mut service).await;
    let (slow_success, held_success) = begin(&client, &mut service).await;
    let (_, report) = poll(&client, &mut service, correction(5, "route-a")).await;
    assert_eq!(report.verdict, Verdict::Installed);
    let placed = client.placed();

    let report = end(
        slow_correction,
        held_correction,
        correction(9, "route-late"),
    )
    .await;
    assert_eq!(report.verdict, Verdict::Late);
    assert_eq!(report.reply.unwrap_err().fault().status(), Some(409));
    let report = end(slow_success, held_success, Answer::json(200, commands)).await;
    assert_eq!(report.verdict, Verdict::Late);
    assert_eq!(
        report.reply.unwrap().commands.len(),
        1,
        "commands are delivered all the same"
    );
    assert_eq!(client.placed(), placed);

    // Two polls with the token fail; a success commits between them.
    let (slow_failure, held_failure) = begin(&client, &mut service).await;
    let (token, _) = poll(&client, &mut service, Answer::status(204)).await;
    assert_eq!(token.as_deref(), Some("route-a"));
    let report = end(slow_failure, held_failure, Answer::status(503)).await;
    assert_eq!(report.verdict, Verdict::Late);
    assert_eq!(report.reply.unwrap_err().fault(), PollFault::Status(503));
    assert_eq!(client.placed().failures, 0);
}

/// Four requests are held at once, so no lock is.
/// spec-test: PLC-4, PLC-23
#[tokio::test]
async fn of_overlapping_polls_only_the_first_commits() {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(begin(&client, &mut service).await);
    }
    let mut verdicts = Vec::new();
    for (revision, (flight, exchange)) in (1..).zip(held) {
        verdicts.push(
            end(flight, exchange, correction(revision, "route-a"))
                .await
                .verdict,
        );
    }
    assert_eq!(
        verdicts,
        [
            Verdict::Installed,
            Verdict::Late,
            Verdict::Late,
            Verdict::Late
        ]
    );
    assert_eq!(client.placed().generation.get(), 1);
}

/// spec-test: LOOP-15, CLS-1, PLC-20
#[tokio::test]
async fn cancellation_ends_a_poll_at_every_stage_and_commits_nothing() {
    // A listener whose backlog is full, so that the system leaves a connection attempt unanswered.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut fillers = Vec::new();
    while let Ok(filler) = timeout(Duration::from_millis(300), TcpStream::connect(address)).await {
        fillers.push(filler.unwrap());
        assert!(fillers.len() < 64, "the backlog never fills");
    }
    let stuck = client(&format!("http://{address}"));
    let flight = Flight::begin(&stuck);
    tokio::time::sleep(Duration::from_millis(50)).await;
    flight.cancel.cancel();
    assert_cancelled(&flight.end().await);

    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    let (_, report) = poll(&client, &mut service, correction(1, "route-a")).await;
    assert_eq!(report.verdict, Verdict::Installed);
    let placed = client.placed();

    let (flight, held) = begin(&client, &mut service).await;
    flight.cancel.cancel();
    assert_cancelled(&flight.end().await);
    drop(held);

    // In the middle of an error body that never ends.
    for answer in [
        correction(9, "route-b"),
        Answer::json(503, "{}"),
        Answer::json(200, "{}"),
    ] {
        let (flight, exchange) = begin(&client, &mut service).await;
        let cancel = flight.cancel.clone();
        let endless = exchange.answer(
            answer
                .with_framing(Framing::Chunked)
                .cut(1, CutBy::Deadline),
        );
        let (_, report) = tokio::join!(endless, async {
            // Long enough for head and first byte to arrive; the result is the same if they do not.
            tokio::time::sleep(Duration::from_millis(50)).await;
            cancel.cancel();
            flight.end().await
        });
        assert_cancelled(&report);
    }
    assert_eq!(client.placed(), placed);
}

fn assert_cancelled(report: &PollReport) {
    let error = report.reply.as_ref().unwrap_err();
    assert_eq!(
        (error.fault(), report.verdict),
        (PollFault::Cancelled, Verdict::Cancelled)
    );
    assert_eq!(report.next, Next::Never);
}

/// spec-test: REQ-10
#[tokio::test]
async fn a_poll_cancelled_before_it_starts_sends_nothing() {
    let silent = SilentListener::start().await.unwrap();
    let client = client(&silent.endpoint());
    let cancel = CancellationToken::new();
    cancel.cancel();
    let report = client.poll(LIMIT, &cancel).await;
    assert_cancelled(&report);
    assert_eq!(report.event, None);
    assert_eq!(silent.counts().await.unwrap().connections, 0);
}

/// spec-test: PLC-20
#[tokio::test]
async fn dropping_a_poll_commits_nothing() {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    poll(&client, &mut service, correction(1, "route-a"))
        .await
        .1
        .reply
        .unwrap_err();
    let placed = client.placed();
    let cancel = CancellationToken::new();
    {
        let dropped = client.poll(LIMIT, &cancel);
        tokio::pin!(dropped);
        let held = tokio::select! {
            _ = &mut dropped => panic!("nobody has answered"),
            held = service.next_request() => held.unwrap(),
        };
        assert_eq!(token_of(&held.request).as_deref(), Some("route-a"));
    }
    assert_eq!(client.placed(), placed);
    let (token, report) = poll(&client, &mut service, Answer::status(204)).await;
    assert_eq!(
        (token.as_deref(), report.verdict),
        (Some("route-a"), Verdict::Success)
    );
}

/// spec-test: PLC-1, PLC-2
#[tokio::test]
async fn a_second_client_starts_tokenless_and_leaves_the_first_alone() {
    let mut service = ScriptedService::start().unwrap();
    let (first, second) = (client(&service.endpoint()), client(&service.endpoint()));
    poll(&first, &mut service, correction(7, "route-a"))
        .await
        .1
        .reply
        .unwrap_err();
    let placed = first.placed();

    let (token, report) = poll(&second, &mut service, correction(3, "route-z")).await;
    assert_eq!((token, report.verdict), (None, Verdict::Installed));
    let (token, _) = poll(&second, &mut service, Answer::status(503)).await;
    assert_eq!(token.as_deref(), Some("route-z"));
    assert_eq!(first.placed(), placed);
    let (token, _) = poll(&first, &mut service, Answer::status(204)).await;
    assert_eq!(token.as_deref(), Some("route-a"));

    // Handles of one client share everything; a new client of the same tunnel shares nothing.
    let handle = first.clone();
    let (token, _) = poll(&handle, &mut service, Answer::status(204)).await;
    assert_eq!(token.as_deref(), Some("route-a"));
    let restarted = client(&service.endpoint());
    let (token, _) = poll(&restarted, &mut service, Answer::status(204)).await;
    assert_eq!(token, None);
}

/// The instance is the process, so that a service can tell clients of one process from those of several.
/// spec-test: REQ-3
#[tokio::test]
async fn every_client_of_one_process_names_the_same_instance() {
    let mut service = ScriptedService::start().unwrap();
    let (one, other) = (client(&service.endpoint()), client(&service.endpoint()));
    let (flight, exchange) = begin(&one, &mut service).await;
    let first = exchange.request.clone();
    end(flight, exchange, Answer::status(204))
        .await
        .reply
        .unwrap();
    let (flight, exchange) = begin(&other, &mut service).await;
    assert_same_but_for_token(&first, &exchange.request);
    end(flight, exchange, Answer::status(204))
        .await
        .reply
        .unwrap();
}

/// spec-test: LOOP-1
#[tokio::test]
async fn more_than_25_commands_are_never_asked_for() {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    for (limit, asked) in [
        (1, "1"),
        (24, "24"),
        (25, "25"),
        (26, "25"),
        (u16::MAX, "25"),
    ] {
        let cancel = CancellationToken::new();
        let limit = NonZeroU16::new(limit).unwrap();
        let serve = async {
            let exchange = service.next_request().await.unwrap();
            let found = exchange.request.query_value("limit").map(str::to_owned);
            exchange.answer(Answer::status(204)).await;
            found
        };
        let (found, report) = tokio::join!(serve, client.poll(limit, &cancel));
        assert_eq!(found.as_deref(), Some(asked), "limit {limit}");
        report.reply.unwrap();
    }
}

/// spec-test: LOOP-9, LOOP-13
#[tokio::test]
async fn every_kind_of_correction_and_failure_obeys_retry_after() {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    let hint = |answer: Answer| {
        answer
            .with_header("Retry-After", "41")
            .with_header("Retry-After", "3")
    };
    let mut verdicts = Vec::new();
    for answer in [
        correction(5, "route-a"),
        correction(4, "route-old"),
        correction(5, "route-a"),
        correction(5, "route-rival"),
        correction(6, "route-b"),
        correction(6, "route-b"),
        Answer::status(503),
        Answer::status(429),
        Answer::json(503, "cut off").cut(3, CutBy::Close),
        Answer::status(500).with_body(vec![b'x'; 70_000]),
        Answer::status(401),
    ] {
        let (_, report) = poll(&client, &mut service, hint(answer)).await;
        assert_eq!(
            report.next,
            Next::After(Duration::from_secs(41)),
            "{:?}",
            report.verdict
        );
        verdicts.push(report.verdict);
    }
    assert_eq!(
        verdicts,
        [
            Verdict::Installed,
            Verdict::StaleRevision,
            Verdict::RoundExhausted,
            Verdict::Conflicted,
            Verdict::Installed,
            Verdict::RoundExhausted,
            Verdict::TokenlessFailure,
            Verdict::Neutral,
            Verdict::TokenlessFailure,
            Verdict::TokenlessFailure,
            Verdict::Neutral,
        ]
    );
    let (_, report) = poll(&client, &mut service, hint(Answer::status(204))).await;
    assert_eq!(report.next, Next::AtOnce, "a success needs no hint");
}

/// The date is held against the clock of this machine.
/// spec-test: LOOP-11
#[tokio::test]
async fn a_date_asks_for_patience_only_while_it_is_ahead() {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    let asking = |date| Answer::status(429).with_header("Retry-After", date);
    let (_, report) = poll(
        &client,
        &mut service,
        asking("Sun, 06 Nov 1994 08:49:37 GMT"),
    )
    .await;
    let Next::After(delay) = report.next else {
        panic!("a failure waits")
    };
    assert!(
        delay <= Duration::from_millis(400),
        "the first backoff: {delay:?}"
    );
    let (_, report) = poll(
        &client,
        &mut service,
        asking("Fri, 31 Dec 9999 23:59:59 GMT"),
    )
    .await;
    assert_eq!(report.next, Next::After(Duration::from_secs(60)));
}

/// spec-test: CLS-3, LOOP-4
#[tokio::test]
async fn the_polls_own_deadline_is_a_failure_and_no_cancellation() {
    let mut service = ScriptedService::start().unwrap();
    let client = support::hasty_client(&service.endpoint(), Duration::from_millis(1_000));
    let (flight, held) = begin(&client, &mut service).await;
    assert_eq!(held.request.query_value("timeout_ms"), Some("1000"));
    // The service outwaits the client; a client without a deadline would outwait the service.
    let patience = Duration::from_secs(20);
    let silent = Answer::Fault(TransportFault::Deadline);
    let ended = timeout(patience, end(flight, held, silent)).await;
    let report = ended.expect("the deadline holds for the head");
    let fault = report.reply.unwrap_err().fault();
    assert_eq!(fault, PollFault::NoHead(Interruption::Deadline));
    assert_eq!(
        (fault.category(), report.verdict),
        ("timeout", Verdict::TokenlessFailure)
    );

    let (flight, held) = begin(&client, &mut service).await;
    let silent = correction(1, "route-a").cut(9, CutBy::Deadline);
    let ended = timeout(patience, end(flight, held, silent)).await;
    let report = ended.expect("the deadline holds for the body too");
    let fault = report.reply.unwrap_err().fault();
    assert_eq!(
        fault,
        PollFault::Interrupted {
            status: 409,
            by: Interruption::Deadline
        }
    );
    assert_eq!(client.placed().watermark, None);
}

/// A proxy that cuts a long poll looks like this; the schedule learns from it (see the model).
#[tokio::test]
async fn a_connection_closed_before_any_head_is_told_from_a_reset() {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    for (fault, by) in [
        (TransportFault::CloseBeforeHead, Interruption::Closed),
        (TransportFault::ResetBeforeHead, Interruption::Network),
        (
            TransportFault::GarbageHead(b"220 smtp ready\r\n".to_vec()),
            Interruption::Network,
        ),
    ] {
        let (_, report) = poll(&client, &mut service, Answer::Fault(fault)).await;
        let error = report.reply.unwrap_err();
        assert_eq!(error.fault(), PollFault::NoHead(by));
        assert!(error.cause().is_some(), "code can see the cause");
    }
    assert_eq!(service.counts().requests, 3, "one attempt a poll");
}

/// spec-test: CLS-5
#[tokio::test]
async fn a_head_that_cannot_be_read_is_a_failure() {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    poll(&client, &mut service, correction(1, "route-a"))
        .await
        .1
        .reply
        .unwrap_err();
    let mut many = Answer::status(409);
    for number in 0..200 {
        many = many.with_header(&format!("X-{number}"), "x");
    }
    for answer in [
        many,
        correction(2, "route-b").with_header("X-Control", b"a\x01b".to_vec()),
    ] {
        let (_, report) = poll(&client, &mut service, answer).await;
        assert_eq!(report.verdict, Verdict::FailureCounted);
    }
    assert_eq!(client.placed().failures, 2);
}

/// spec-test: REQ-7
#[tokio::test]
async fn extra_headers_are_added_and_override_nothing() {
    let mut service = ScriptedService::start().unwrap();
    let mut settings = settings(&service.endpoint());
    let extra = [
        ("x-custom", "kept"),
        ("authorization", "Bearer other"),
        ("accept", "text/html"),
        ("user-agent", "other"),
        ("host", "elsewhere.example"),
        ("x-tunnel-shard-token", "other"),
        ("x-tunnel-client-capabilities", "other"),
        ("x-tunnel-client-name", "other"),
        ("connection", "close"),
    ];
    settings.extra_headers = extra
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .into();
    let client = support::trace::connect(settings);
    let (flight, exchange) = begin(&client, &mut service).await;
    assert_eq!(
        exchange.request.sole_header("x-custom"),
        Some(b"kept".as_slice())
    );
    assert_eq!(exchange.request.sole_header("connection"), None);
    assert_eq!(token_of(&exchange.request), None);
    end(flight, exchange, Answer::status(204))
        .await
        .reply
        .unwrap();
}

/// A connection that dies idle is replaced without anybody noticing; a poll on it is no failure.
/// spec-test: END-6, END-7, REQ-8
#[tokio::test]
async fn a_request_is_sent_once_however_its_connection_ends() {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    poll(&client, &mut service, Answer::status(204))
        .await
        .1
        .reply
        .unwrap();
    service.pause_listening().await;
    service.resume_listening().unwrap();
    let (_, report) = poll(&client, &mut service, Answer::status(204)).await;
    assert_eq!(
        report.verdict,
        Verdict::Success,
        "the idle connection had been closed"
    );
    let before = service.counts().requests;
    for fault in [
        TransportFault::CloseBeforeHead,
        TransportFault::ResetBeforeHead,
    ] {
        let (_, report) = poll(&client, &mut service, Answer::Fault(fault)).await;
        assert!(report.reply.is_err());
    }
    assert_eq!(service.counts().requests, before + 2);
    assert!(service.waiting_request().is_none());
}

/// 65,536 bytes are read and judged; one more is not, whatever the length says.
/// spec-test: CLS-11, CLS-12, CLS-13
#[tokio::test]
async fn the_error_body_limit_counts_bytes_that_arrive() {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    let body = |revision: u64, size: usize| {
        let start = format!(r#"{{"error":{{"code":"wrong_cluster","policy_revision":{revision}}}"#);
        let mut body = start.into_bytes();
        body.resize(size - 1, b' ');
        body.push(b'}');
        body
    };
    let sized = |revision, size| correction(revision, "route-a").with_body(body(revision, size));
    for framing in [
        Framing::ContentLength,
        Framing::Chunked,
        Framing::UntilClose,
    ] {
        let revision = client
            .placed()
            .watermark
            .map_or(1, |revision| revision.get() + 1);
        let exact = sized(revision, 65_536).with_framing(framing);
        let (_, report) = poll(&client, &mut service, exact).await;
        assert!(
            matches!(
                report.reply.unwrap_err().fault(),
                PollFault::Correction { .. }
            ),
            "{framing:?}"
        );
        let over = sized(revision + 1, 65_537).with_framing(framing);
        let (_, report) = poll(&client, &mut service, over).await;
        assert_eq!(
            report.reply.unwrap_err().fault(),
            PollFault::Status(409),
            "{framing:?}"
        );
        assert_eq!(report.verdict, Verdict::Neutral);
    }
    let (_, report) = poll(
        &client,
        &mut service,
        Answer::status(503).with_body(vec![b'x'; 200_000]),
    )
    .await;
    assert_eq!(
        report.verdict,
        Verdict::TokenlessFailure,
        "408 and 5xx count all the same"
    );
}

/// What is over the limit is left where it is: the poll ends though the body does not.
/// spec-test: CLS-11, CLS-12
#[tokio::test]
async fn a_body_over_the_limit_is_dropped_without_waiting_for_its_end() {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    for (status, verdict) in [(503, Verdict::TokenlessFailure), (409, Verdict::Neutral)] {
        let endless = Answer::status(status)
            .with_body(vec![b'x'; 200_000])
            .with_framing(Framing::Chunked)
            .cut(100_000, CutBy::Deadline);
        let (flight, exchange) = begin(&client, &mut service).await;
        let ended = timeout(Duration::from_secs(20), end(flight, exchange, endless)).await;
        let report = ended.expect("nobody waits for the rest");
        assert_eq!(report.verdict, verdict);
        assert_eq!(report.reply.unwrap_err().fault(), PollFault::Status(status));
    }
}

/// spec-test: CLS-7
#[tokio::test]
async fn the_envelope_limit_counts_all_chunks_together() {
    let mut service = ScriptedService::start().unwrap();
    let mut settings = settings(&service.endpoint());
    settings.envelope_limit = 60_000;
    let client = support::trace::connect(settings);
    let command = r#"{"commands":[{"command_type":"jsonrpc","request_id":"r","shard_token":"t","jsonrpc":{}}]"#;
    let body = |size: usize| {
        let mut body = command.as_bytes().to_vec();
        body.resize(size - 1, b' ');
        body.push(b'}');
        body
    };
    for framing in [
        Framing::ContentLength,
        Framing::Chunked,
        Framing::UntilClose,
    ] {
        let sized = |size| Answer::json(200, body(size)).with_framing(framing);
        let (_, report) = poll(&client, &mut service, sized(60_000)).await;
        assert_eq!(report.reply.unwrap().commands.len(), 1, "{framing:?}");
        let (_, report) = poll(&client, &mut service, sized(60_001)).await;
        let fault = report.reply.unwrap_err().fault();
        assert_eq!(fault, PollFault::EnvelopeTooLarge, "{framing:?}");
    }
}

/// spec-test: CLS-7
#[tokio::test]
async fn the_envelope_limit_holds_as_configured() {
    let mut service = ScriptedService::start().unwrap();
    let mut settings = settings(&service.endpoint());
    settings.envelope_limit = 1_000;
    let client = support::trace::connect(settings);
    let body = |size: usize| format!("{{\"commands\":[]{}}}", " ".repeat(size - 15));
    let (_, report) = poll(&client, &mut service, Answer::json(200, body(1_000))).await;
    assert_eq!(report.verdict, Verdict::Success);
    let (_, report) = poll(&client, &mut service, Answer::json(200, body(1_001))).await;
    assert_eq!(
        report.reply.unwrap_err().fault(),
        PollFault::EnvelopeTooLarge
    );
    assert_eq!(report.verdict, Verdict::Neutral);
}

/// A body that comes in many pieces is the same body.
#[tokio::test]
async fn a_body_may_come_byte_by_byte() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client(&format!("http://{}", listener.local_addr().unwrap()));
    let flight = Flight::begin(&client);
    let (mut socket, _) = listener.accept().await.unwrap();
    socket.set_nodelay(true).unwrap();
    let body = br#"{"error":{"code":"wrong_cluster","policy_revision":12}}"#;
    let head = format!(
        "HTTP/1.1 409 Whatever\r\nX-Tunnel-Shard-Token: \troute-a \r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    for byte in head.bytes().chain(body.iter().copied()) {
        socket.write_all(&[byte]).await.unwrap();
        socket.flush().await.unwrap();
        tokio::task::yield_now().await;
    }
    assert_eq!(flight.end().await.verdict, Verdict::Installed);
    assert_eq!(client.placed().watermark.map(|found| found.get()), Some(12));
}

/// The check that all these tests rest on runs, and counts.
#[tokio::test]
async fn a_client_that_is_gone_has_been_validated() {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    for answer in [correction(1, "route-a"), Answer::status(204)] {
        let _ = poll(&client, &mut service, answer).await;
    }
    let (traces, attempts) = validated();
    drop(client);
    // Other tests run meanwhile.
    let (traces_after, attempts_after) = validated();
    assert!(traces_after > traces && attempts_after >= attempts + 2);
}

/// The pool keeps a handle of the transport; nothing about the client is lazy or shared by accident.
#[test]
fn clients_can_be_sent_between_threads() {
    fn assert_send_sync<T: Send + Sync + 'static>() {}
    assert_send_sync::<ControlPlane<HttpTransport>>();
    assert_send_sync::<moorline::PollError>();
    fn assert_send<T: Send>(_: T) {}
    let client = client("http://127.0.0.1:1");
    assert_send(client.poll(LIMIT, &CancellationToken::new()));
}
