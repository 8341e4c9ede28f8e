//! From the bytes of an answer to what the model is told of it.

use super::SourceMutant;
use crate::mutants::source::Suite;

const TRANSPORT: &str = "client/src/control_plane/transport.rs";
const HEADERS: &str = "client/src/control_plane/headers.rs";

const SEQUENCES: &str = "the_real_client_agrees_with_every_sequence";
const OBEYS_HINTS: &str = "every_kind_of_correction_and_failure_obeys_retry_after";
const BODY_LIMIT: &str = "the_error_body_limit_counts_bytes_that_arrive";
const NOT_DRAINED: &str = "a_body_over_the_limit_is_dropped_without_waiting_for_its_end";
const ENVELOPE_LIMIT: &str = "the_envelope_limit_holds_as_configured";
const CHUNKS: &str = "the_envelope_limit_counts_all_chunks_together";
const DEADLINE: &str = "the_polls_own_deadline_is_a_failure_and_no_cancellation";
const CLOSE_OR_RESET: &str = "a_connection_closed_before_any_head_is_told_from_a_reset";
const TLS_CLOSE: &str = "a_close_before_any_head_is_recognised_under_encryption_too";
const CANCELLED: &str = "cancellation_ends_a_poll_at_every_stage_and_commits_nothing";
const LATE: &str = "late_results_change_nothing_and_still_reach_their_callers";
const LIBRARY_RETRIES: &str = "http_2_is_spoken_and_nothing_is_sent_twice";
const REDIRECTS: &str = "follows_no_redirect_of_any_status_to_any_target";
const ENCRYPTED_REDIRECTS: &str = "an_encrypted_endpoint_is_left_by_no_redirect";

const fn wire(
    name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
    killers: &'static [&'static str],
) -> SourceMutant {
    SourceMutant {
        name,
        file,
        from,
        to,
        suite: Suite::Wire,
        killers,
    }
}

const fn tls(
    name: &'static str,
    from: &'static str,
    to: &'static str,
    killers: &'static [&'static str],
) -> SourceMutant {
    SourceMutant {
        suite: Suite::Tls,
        ..wire(name, TRANSPORT, from, to, killers)
    }
}

const fn sequences(
    name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
) -> SourceMutant {
    SourceMutant {
        suite: Suite::Sequences,
        ..wire(name, file, from, to, &[SEQUENCES])
    }
}

/// Wrong ways to read an answer.
pub(super) const MUTANTS: [SourceMutant; 26] = [
    // Header lines.
    sequences(
        "client-reads-first-line-alone",
        HEADERS,
        "self.0.get_all(name).into_iter().map(HeaderValue::as_bytes)",
        "self.0.get(name).into_iter().map(HeaderValue::as_bytes)",
    ),
    wire(
        "client-reads-lines-from-the-last",
        HEADERS,
        "self.0.get_all(name).into_iter().map(HeaderValue::as_bytes)",
        "self.0.get_all(name).into_iter().rev().map(HeaderValue::as_bytes)",
        &[OBEYS_HINTS],
    ),
    wire(
        "client-reads-the-token-from-another-header",
        HEADERS,
        "self.0.get_all(name)",
        "self.0.get_all(if name == SHARD_TOKEN_HEADER { \"x-shard-token\" } else { name })",
        &[OBEYS_HINTS, LATE],
    ),
    wire(
        "client-reads-the-hint-from-another-header",
        HEADERS,
        "self.0.get_all(name)",
        "self.0.get_all(if name == \"retry-after\" { \"x-retry-after\" } else { name })",
        &[OBEYS_HINTS],
    ),
    // How much of a body is read.
    sequences(
        "client-refuses-a-body-at-the-limit",
        TRANSPORT,
        "if length > limit {",
        "if length >= limit {",
    ),
    wire(
        "client-reads-without-limit",
        TRANSPORT,
        "if length > limit {",
        "if false {",
        &[ENVELOPE_LIMIT, CHUNKS, NOT_DRAINED],
    ),
    wire(
        "client-reads-a-byte-over-the-limit",
        TRANSPORT,
        "if length > limit {",
        "if length > limit + 1 {",
        &[ENVELOPE_LIMIT, CHUNKS],
    ),
    wire(
        "client-holds-each-chunk-alone-against-the-limit",
        TRANSPORT,
        "first.len().max(whole.len()).saturating_add(chunk.len())",
        "chunk.len()",
        &[CHUNKS, NOT_DRAINED],
    ),
    wire(
        "client-forgets-the-first-chunk",
        TRANSPORT,
        "whole.extend_from_slice(&first);",
        "first = Bytes::new();",
        &[BODY_LIMIT, CHUNKS],
    ),
    wire(
        "client-drains-what-is-over-the-limit",
        TRANSPORT,
        "            return ReceivedBody::OverLimit;",
        "            while let Ok(Some(_)) = response.chunk().await {}\n            return ReceivedBody::OverLimit;",
        &[NOT_DRAINED],
    ),
    wire(
        "client-succeeds-before-the-body-is-read",
        TRANSPORT,
        "    let body = match body_plan(status, envelope_limit) {",
        "    let body = match body_plan(status, envelope_limit) {\n        BodyPlan::Read { .. } if status == 200 => ReceivedBody::Complete(Bytes::from_static(b\"{\\\"commands\\\":[]}\")),",
        &[CANCELLED, LATE],
    ),
    // How it ended.
    sequences(
        "client-takes-a-cut-body-for-complete",
        TRANSPORT,
        "return ReceivedBody::Interrupted(by, Some(TransportCause::new(error)));",
        "let _ = (by, error);\n                return ReceivedBody::Complete(first);",
    ),
    wire(
        "client-takes-a-close-for-a-reset",
        TRANSPORT,
        "            return Interruption::Closed;",
        "            return Interruption::Network;",
        &[CLOSE_OR_RESET],
    ),
    wire(
        "client-takes-a-reset-for-a-close",
        TRANSPORT,
        "    Interruption::Network\n}",
        "    Interruption::Closed\n}",
        &[CLOSE_OR_RESET],
    ),
    tls(
        "client-takes-an-encrypted-close-for-a-break",
        "            || cause.downcast_ref::<io::Error>().is_some_and(is_close)\n",
        "            || cause.downcast_ref::<io::Error>().is_some_and(|_| false)\n",
        &[TLS_CLOSE],
    ),
    wire(
        "client-has-no-deadline-for-the-body",
        TRANSPORT,
        "timeout_at(deadline, read_body(response, limit))",
        "timeout_at(deadline + Duration::from_secs(86_400), read_body(response, limit))",
        &[DEADLINE],
    ),
    wire(
        "client-has-no-deadline-for-the-head",
        TRANSPORT,
        "let response = match timeout_at(deadline, self.client.execute(message))",
        "let late = deadline + Duration::from_secs(86_400);\n        let response = match timeout_at(late, self.client.execute(message))",
        &[DEADLINE],
    ),
    wire(
        "client-takes-its-deadline-for-a-network-error",
        TRANSPORT,
        "Err(_elapsed) => return Received::NoHead(Interruption::Deadline, None),",
        "Err(_elapsed) => return Received::NoHead(Interruption::Network, None),",
        &[DEADLINE],
    ),
    wire(
        "client-takes-its-deadline-for-the-end-of-the-body",
        TRANSPORT,
        "Err(_elapsed) => ReceivedBody::Interrupted(Interruption::Deadline, None),",
        "Err(_elapsed) => ReceivedBody::Complete(Bytes::new()),",
        &[DEADLINE],
    ),
    wire(
        "client-says-that-nothing-was-sent-when-no-head-came",
        TRANSPORT,
        "                return Received::NoHead(interruption(&error), Some(TransportCause::new(error)));",
        "                return Received::NotSent(TransportCause::new(error));",
        &[CLOSE_OR_RESET],
    ),
    // What the library does by itself, unless it is told not to.
    tls(
        "client-lets-the-library-retry",
        "            .retry(reqwest::retry::never())\n",
        "",
        &[LIBRARY_RETRIES],
    ),
    wire(
        "client-lets-the-library-follow-redirects",
        TRANSPORT,
        "reqwest::redirect::Policy::none()",
        "reqwest::redirect::Policy::limited(10)",
        &[REDIRECTS],
    ),
    tls(
        "client-lets-the-library-follow-encrypted-redirects",
        "reqwest::redirect::Policy::none()",
        "reqwest::redirect::Policy::custom(|attempt| match attempt.url().scheme() {\n                \"https\" => attempt.follow(),\n                _ => attempt.stop(),\n            })",
        &[ENCRYPTED_REDIRECTS],
    ),
    wire(
        "client-follows-redirects-of-its-own-service",
        TRANSPORT,
        "reqwest::redirect::Policy::none()",
        "reqwest::redirect::Policy::custom(|attempt| {\n                let last = attempt.previous().last().map(|url| url.authority().to_owned());\n                if last.as_deref() == Some(attempt.url().authority()) { attempt.follow() } else { attempt.stop() }\n            })",
        &[REDIRECTS],
    ),
    wire(
        "client-asks-where-a-location-points",
        TRANSPORT,
        "        read_response(response, deadline, envelope_limit).await\n",
        "        let location = response.headers().get(\"location\").and_then(|found| found.to_str().ok());\n        let location = location.and_then(|found| response.url().join(found).ok());\n        if let Some(location) = location.filter(|_| !response.status().is_redirection()) {\n            let _ = timeout_at(deadline, self.client.get(location).send()).await;\n        }\n        read_response(response, deadline, envelope_limit).await\n",
        &[
            "goes_to_no_address_that_a_correction_names",
            "no_answer_of_any_status_moves_the_endpoint",
        ],
    ),
    wire(
        "client-goes-where-the-last-location-pointed",
        TRANSPORT,
        "        let mut message = reqwest::Request::new(Method::GET, request.url);\n        *message.headers_mut() = request.headers;\n        let response = match timeout_at(deadline, self.client.execute(message)).await {\n            Ok(Ok(response)) => response,\n",
        "        static MOVED: std::sync::Mutex<Vec<(String, Url)>> = std::sync::Mutex::new(Vec::new());\n        let own = request.url.authority().to_owned();\n        let moved = |moved: &(String, Url)| (moved.0 == own).then(|| moved.1.clone());\n        let known = MOVED.lock().ok().and_then(|all| all.iter().rev().find_map(moved));\n        let mut message = reqwest::Request::new(Method::GET, known.unwrap_or(request.url));\n        *message.headers_mut() = request.headers;\n        let response = match timeout_at(deadline, self.client.execute(message)).await {\n            Ok(Ok(response)) => {\n                let location = response.headers().get(\"location\").and_then(|found| found.to_str().ok());\n                let location = location.and_then(|found| response.url().join(found).ok());\n                if let (Some(location), Ok(mut all)) = (location, MOVED.lock()) {\n                    all.push((own, location));\n                }\n                response\n            }\n",
        &[
            REDIRECTS,
            "goes_to_no_address_that_a_correction_names",
            "no_answer_of_any_status_moves_the_endpoint",
        ],
    ),
];
