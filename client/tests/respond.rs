//! The delivery of messages about commands, over real sockets.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use std::time::Duration;

use moorline::model::backoff::Backoff;
use moorline::model::delivery::DeliveryFault;
use moorline::model::wire::{
    Channel, Envelope, ResponseBody, ResponseType, ServerInfo, WRONG_CLUSTER_V1,
};
use moorline::{ControlPlane, Delivered, MetadataFault, Response, Undelivered};
use moorline_fixtures::answer::{Answer, CutBy, TransportFault};
use moorline_fixtures::scripted::{RecordedRequest, ScriptedService};
use support::{KEY, TUNNEL, settings, token_of};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

/// An old token: no placement token may look like this. It ends with a space that is no space of HTTP's.
const TOKEN: &str = "old token, with\tall that a line can carry \u{e9}\u{a0}";

/// How long anything may take before a test is given up.
const PATIENCE: Duration = Duration::from_secs(20);

fn client(endpoint: &str) -> ControlPlane {
    let mut settings = settings(endpoint);
    settings.backoff = Backoff::new(Duration::from_millis(1), Duration::from_millis(5)).unwrap();
    let channels = [(Channel::main(), true)];
    settings.server_info = Some(ServerInfo::new(channels).unwrap());
    ControlPlane::connect(settings).unwrap()
}

fn response(kind: ResponseType) -> Response {
    response_under(TOKEN, kind)
}

fn response_under(token: &str, kind: ResponseType) -> Response {
    let command = serde_json::json!({"commands": [{
        "request_id": "request-1",
        "shard_token": token,
        "command_type": "jsonrpc",
        "headers": {"X-Request-ID": ["trace-1", "trace-2"]},
        "jsonrpc": {"jsonrpc": "2.0", "id": 1, "method": "ping"},
    }]});
    let envelope = Envelope::parse(command.to_string().as_bytes()).unwrap();
    let command = &envelope.commands[0];
    let body = ResponseBody {
        request_id: &command.request_id,
        channel: &command.channel,
        json: Some(r#"{"jsonrpc":"2.0","id":1,"result":{"n":1.50}}"#),
        headers: &[(
            "Content-Type".to_owned(),
            vec!["application/json".to_owned()],
        )],
        code: 200,
        kind,
    };
    Response::new(&command.shard_token, command.client_request_id(), &body).unwrap()
}

/// Delivers one message while the service gives these answers, and returns the requests that it saw.
async fn deliver(
    kind: ResponseType,
    answers: Vec<Answer>,
) -> (Result<Delivered, Undelivered>, Vec<RecordedRequest>) {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    let before = client.placed();
    let response = response(kind);
    let never = CancellationToken::new();
    let (expected, mut seen) = (answers.len(), Vec::new());
    let play = async {
        for answer in answers {
            let exchange = service.next_request().await.unwrap();
            seen.push(exchange.request.clone());
            exchange.answer(answer).await;
        }
        // Told at once: the client would wait for its answer first.
        assert!(
            service.next_request().await.is_err(),
            "one request too many"
        );
        std::future::pending::<()>().await;
    };
    let result = tokio::select! {
        result = client.respond(&response, None, &never) => result,
        () = play => unreachable!("it never ends"),
    };
    assert_eq!(seen.len(), expected);
    assert!(service.waiting_request().is_none(), "one request too many");
    assert_eq!(client.placed(), before, "a delivery touches no placement");
    (result, seen)
}

fn status(code: u16) -> Answer {
    Answer::status(code)
}

fn correction() -> Answer {
    let body = r#"{"error":{"code":"wrong_cluster","policy_revision":7}}"#;
    Answer::json(409, body).with_header("X-Tunnel-Shard-Token", "elsewhere")
}

/// spec-test: CMD-5, CMD-6, CMD-8, CMD-11, CMD-12, CMD-28
#[tokio::test]
async fn a_response_is_one_post_with_the_commands_own_token() {
    let (result, seen) = deliver(ResponseType::JsonRpcResponse, vec![status(200)]).await;
    assert_eq!(result.unwrap().attempts.get(), 1);
    let request = &seen[0];
    assert_eq!(request.method, "POST");
    assert_eq!(request.target, format!("/v1/tunnels/{TUNNEL}/response"));
    let sole = |name: &str| request.sole_header(name).unwrap().to_vec();
    assert_eq!(sole("x-tunnel-shard-token"), TOKEN.as_bytes());
    assert_eq!(sole("x-client-request-id"), b"trace-1");
    assert_eq!(sole("authorization"), format!("Bearer {KEY}").as_bytes());
    assert_eq!(sole("content-type"), b"application/json");
    let capabilities = sole("x-tunnel-client-capabilities");
    assert_eq!(capabilities, WRONG_CLUSTER_V1.as_bytes());
    assert_eq!(
        sole("x-tunnel-mcp-server-info"),
        br#"{"version":1,"channels":[{"name":"main","proc_affinity":true}]}"#
    );
    let body = std::str::from_utf8(&request.body).unwrap();
    assert_eq!(
        body,
        r#"{"request_id":"request-1","channel":"main","resp_json":{"jsonrpc":"2.0","id":1,"result":{"n":1.50}},"#
            .to_owned()
            + r#""resp_headers":{"Content-Type":["application/json"]},"resp_code":200,"resp_type":"jsonrpc_response"}"#
    );
}

/// spec-test: CMD-13, CMD-14
#[tokio::test]
async fn an_answer_is_tried_three_times_where_that_may_help() {
    for code in [408, 429, 502, 503, 504] {
        let answers = vec![status(code), status(code), status(200)];
        let (result, seen) = deliver(ResponseType::JsonRpcResponse, answers).await;
        assert_eq!(result.unwrap().attempts.get(), 3, "{code}");
        assert!(
            seen.iter().all(|request| *request == seen[0]),
            "{code}: the same bytes"
        );

        let answers = vec![status(code); 3];
        let (result, _) = deliver(ResponseType::JsonRpcResponse, answers).await;
        let fault = DeliveryFault::Status(code);
        assert_eq!(result, Err(Undelivered { fault, attempts: 3 }), "{code}");
    }
    let answers = vec![
        Answer::Fault(TransportFault::ResetBeforeHead),
        Answer::Fault(TransportFault::CloseBeforeHead),
        status(404),
    ];
    let (result, seen) = deliver(ResponseType::JsonRpcResponse, answers).await;
    let delivered = result.unwrap();
    assert!(delivered.already_fulfilled && seen.len() == 3);
}

/// spec-test: CMD-13, CMD-16, CMD-28, END-3, RPT-9
#[tokio::test]
async fn all_else_is_final_corrections_and_redirects_among_it() {
    for code in [400, 401, 403, 409, 413, 500, 501, 301, 307, 308] {
        let answer = status(code).with_header("Location", "/elsewhere");
        let (result, seen) = deliver(ResponseType::JsonRpcResponse, vec![answer]).await;
        let fault = DeliveryFault::Status(code);
        assert_eq!(result, Err(Undelivered { fault, attempts: 1 }), "{code}");
        assert_eq!(seen.len(), 1);
    }
    let (result, _) = deliver(ResponseType::JsonRpcResponse, vec![correction()]).await;
    let fault = DeliveryFault::Status(409);
    assert_eq!(result, Err(Undelivered { fault, attempts: 1 }));
    let (result, _) = deliver(ResponseType::JsonRpcResponse, vec![status(404)]).await;
    assert!(result.unwrap().already_fulfilled);
}

/// spec-test: CMD-15
#[tokio::test]
async fn a_notification_that_may_have_arrived_is_not_sent_again() {
    let notify = ResponseType::JsonRpcNotify;
    let (result, _) = deliver(notify, vec![status(429), status(200)]).await;
    assert_eq!(result.unwrap().attempts.get(), 2);
    for answer in [
        status(503),
        status(408),
        Answer::Fault(TransportFault::ResetBeforeHead),
        Answer::Fault(TransportFault::CloseBeforeHead),
    ] {
        let (result, _) = deliver(notify, vec![answer]).await;
        assert_eq!(result.unwrap_err().attempts, 1);
    }
}

/// spec-test: CMD-15
#[tokio::test]
async fn what_never_left_is_sent_again() {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    service.pause_listening().await;
    let never = CancellationToken::new();
    for kind in [ResponseType::JsonRpcNotify, ResponseType::JsonRpcResponse] {
        let result = client.respond(&response(kind), None, &never).await;
        let fault = DeliveryFault::Transport;
        assert_eq!(result, Err(Undelivered { fault, attempts: 3 }), "{kind:?}");
    }
    assert_eq!(service.counts().requests, 0);
}

/// What a service says beside the status makes no difference, nor whether it says all of it.
///
/// spec-test: CMD-13, CMD-14
#[tokio::test]
async fn the_status_counts_whatever_becomes_of_the_body() {
    let cut = |code, by| Answer::json(code, r#"{"status":"accepted"}"#).cut(5, by);
    for (answer, already_fulfilled) in [
        (cut(200, CutBy::Close), false),
        (cut(200, CutBy::Reset), false),
        (cut(404, CutBy::Close), true),
        (status(202), false),
        (status(204), false),
    ] {
        for kind in [ResponseType::JsonRpcNotify, ResponseType::JsonRpcResponse] {
            let (result, _) = deliver(kind, vec![answer.clone()]).await;
            let delivered = result.unwrap();
            assert_eq!(delivered.already_fulfilled, already_fulfilled, "{answer:?}");
            assert_eq!(delivered.attempts.get(), 1, "{answer:?}");
        }
    }
    let (result, _) = deliver(
        ResponseType::JsonRpcResponse,
        vec![cut(503, CutBy::Close), cut(500, CutBy::Close)],
    )
    .await;
    let fault = DeliveryFault::Status(500);
    assert_eq!(result, Err(Undelivered { fault, attempts: 2 }));
}

/// The wait that the service asks for is kept to, and ends with the deadline or the caller.
///
/// spec-test: CMD-18, RPT-8
#[tokio::test]
async fn deadline_and_cancellation_end_the_wait_between_attempts() {
    let response = response(ResponseType::JsonRpcResponse);
    for is_cancelled in [false, true] {
        let mut service = ScriptedService::start().unwrap();
        let client = client(&service.endpoint());
        let cancel = CancellationToken::new();
        let soon = Instant::now() + Duration::from_millis(300);
        let (deadline, fault) = match is_cancelled {
            false => (Some(soon), DeliveryFault::DeadlinePassed),
            true => (None, DeliveryFault::Cancelled),
        };
        let play = async {
            let answer = status(429).with_header("Retry-After", "3600");
            service.next_request().await.unwrap().answer(answer).await;
            if is_cancelled {
                tokio::time::sleep_until(soon).await;
                cancel.cancel();
            }
        };
        let both = async { tokio::join!(client.respond(&response, deadline, &cancel), play) };
        let (result, ()) = timeout(PATIENCE, both).await.expect("no hour");
        assert_eq!(result, Err(Undelivered { fault, attempts: 1 }));
        assert!(service.waiting_request().is_none());
    }
}

/// spec-test: CMD-18
#[tokio::test]
async fn deadline_and_cancellation_end_a_delivery() {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    let response = response(ResponseType::JsonRpcResponse);
    let never = CancellationToken::new();

    let past = Some(Instant::now());
    let result = client.respond(&response, past, &never).await;
    let fault = DeliveryFault::DeadlinePassed;
    assert_eq!(result, Err(Undelivered { fault, attempts: 0 }));

    let cancel = CancellationToken::new();
    let (result, ()) = tokio::join!(client.respond(&response, None, &cancel), async {
        let held = service.next_request().await.unwrap();
        cancel.cancel();
        drop(held);
    });
    assert_eq!(result.unwrap_err().fault, DeliveryFault::Cancelled);
    assert!(service.waiting_request().is_none());
}

/// A head of this status, and a body that never comes.
fn stalled(code: u16) -> Answer {
    status(code).with_body("{}").cut(0, CutBy::Deadline)
}

/// The body would take an attempt's 30 seconds, or the rest of the time to a deadline.
/// spec-test: CMD-42
#[tokio::test]
async fn the_status_counts_though_the_body_never_comes() {
    let soon = Duration::from_secs(15);
    let answers = vec![stalled(503), stalled(200)];
    let deliver = deliver(ResponseType::JsonRpcResponse, answers);
    let (result, _) = timeout(soon, deliver).await.expect("no wait for bodies");
    assert_eq!(result.unwrap().attempts.get(), 2);

    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    let response = response(ResponseType::JsonRpcResponse);
    let never = CancellationToken::new();
    let deadline = Some(Instant::now() + Duration::from_millis(500));
    let (result, _) = tokio::join!(client.respond(&response, deadline, &never), async {
        service
            .next_request()
            .await
            .unwrap()
            .answer(stalled(200))
            .await
    });
    assert_eq!(
        result.unwrap().attempts.get(),
        1,
        "accepted by the deadline"
    );

    let (result, _) = tokio::join!(timeout(soon, client.metadata()), async {
        service
            .next_request()
            .await
            .unwrap()
            .answer(stalled(200))
            .await
    });
    result.expect("no wait for the body").unwrap();
}

/// spec-test: CMD-18
#[tokio::test]
async fn a_service_that_is_silent_until_the_deadline_has_missed_it() {
    for kind in [ResponseType::JsonRpcNotify, ResponseType::JsonRpcResponse] {
        let mut service = ScriptedService::start().unwrap();
        let client = client(&service.endpoint());
        let response = response(kind);
        let never = CancellationToken::new();
        let deadline = Some(Instant::now() + Duration::from_millis(300));
        let silent = Answer::Fault(TransportFault::Deadline);
        let (result, _) = tokio::join!(client.respond(&response, deadline, &never), async {
            service.next_request().await.unwrap().answer(silent).await
        });
        let fault = DeliveryFault::DeadlinePassed;
        assert_eq!(result, Err(Undelivered { fault, attempts: 1 }));
        assert!(service.waiting_request().is_none());
    }
}

/// spec-test: REQ-6, CMD-7
#[tokio::test]
async fn the_polling_token_goes_nowhere_but_on_polls() {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    let never = CancellationToken::new();
    let (report, ()) = tokio::join!(client.poll(support::LIMIT, &never), async {
        let poll = service.next_request().await.unwrap();
        poll.answer(correction()).await;
    });
    drop(report);
    assert!(client.placed().has_token);
    let metadata = async {
        let exchange = service.next_request().await.unwrap();
        let request = exchange.request.clone();
        exchange.answer(Answer::json(200, "{}")).await;
        request
    };
    let (result, request) = tokio::join!(client.metadata(), metadata);
    result.unwrap();
    assert_eq!(request.target, format!("/v1/tunnels/{TUNNEL}"));
    assert_eq!((request.method.as_str(), token_of(&request)), ("GET", None));
    let line = |name: &str| request.sole_header(name).is_some();
    assert!(line("x-tunnel-client-capabilities") && line("x-tunnel-mcp-server-info"));
    for token in [TOKEN, "another"] {
        let message = response_under(token, ResponseType::JsonRpcResponse);
        let accept = async {
            let exchange = service.next_request().await.unwrap();
            let request = exchange.request.clone();
            exchange.answer(status(200)).await;
            request
        };
        let (result, request) = tokio::join!(client.respond(&message, None, &never), accept);
        assert_eq!(result.unwrap().attempts.get(), 1);
        assert_eq!(token_of(&request).as_deref(), Some(token));
    }
}

#[tokio::test]
async fn metadata_names_what_went_wrong() {
    let mut service = ScriptedService::start().unwrap();
    let client = client(&service.endpoint());
    for code in [401, 403, 404, 500, 302, 409] {
        let answer = async {
            let exchange = service.next_request().await.unwrap();
            let answer = status(code).with_header("Location", "/elsewhere");
            exchange.answer(answer).await;
        };
        let (result, ()) = tokio::join!(client.metadata(), answer);
        assert!(matches!(result, Err(MetadataFault::Status(found)) if found == code));
    }
    service.pause_listening().await;
    let fault = client.metadata().await.unwrap_err();
    assert!(matches!(fault, MetadataFault::NoAnswer(Some(_))));
    assert!(!format!("{fault} {fault:?}").contains("127.0.0.1"));
}
