//! A target behind a URL: what is sent there, how often, and what is made of the answer.

use super::{SourceMutant, mutant};
use crate::mutants::source::Suite;

const HTTP: &str = "client/src/target/http/mod.rs";
const REQUEST: &str = "client/src/target/http/request.rs";
const JUDGE: &str = "model/src/target.rs";

const BROKEN: &str = "broken_connections_are_told_apart";
const BYTE_FOR_BYTE: &str = "messages_and_answers_are_passed_on_byte_for_byte";
const HEADERS: &str = "headers_pass_by_the_rules_both_ways";
const SESSION: &str = "a_session_lives_and_ends";
const WITHOUT_ANSWER: &str = "a_stream_that_ends_without_the_answer_is_a_failure";
const EVENTS: &str = "events_give_notes_in_order_and_then_the_answer";
const BY_STATUS: &str = "target::tests::what_asks_for_no_answer_is_judged_by_the_status_alone";
const DEADLINE: &str = "a_deadline_ends_the_wait_for_the_head_and_for_the_body";

/// Wrong ways to ask a server over HTTP.
pub(super) const MUTANTS: [SourceMutant; 31] = [
    // What is sent, and how often.
    mutant(
        "target-follows-redirects",
        Suite::TargetHttp,
        HTTP,
        "HttpTransport::builder(&origin, ca_bundle, &settings.proxy)?;",
        "HttpTransport::builder(&origin, ca_bundle, &settings.proxy)?\n            .redirect(reqwest::redirect::Policy::limited(10));",
        &["redirects_are_failures"],
    ),
    mutant(
        "target-is-asked-again-when-its-connection-breaks",
        Suite::TargetHttp,
        HTTP,
        "        match within(deadline, self.client.execute(request)).await {\n",
        "        let again = request.try_clone();\n        let mut sent = within(deadline, self.client.execute(request)).await;\n        if let (Some(Err(error)), Some(again)) = (&sent, again)\n            && failure_of(error, false).source == FailureSource::TransportClosed\n        {\n            sent = within(deadline, self.client.execute(again)).await;\n        }\n        match sent {\n",
        &[BROKEN],
    ),
    mutant(
        "target-gets-another-writing-of-the-message",
        Suite::TargetHttp,
        HTTP,
        "let message = Box::<str>::from(call.message).into_string();",
        "let message: serde_json::Value = serde_json::from_str(call.message.get()).unwrap_or_default();\n        let message = message.to_string();",
        &[BYTE_FOR_BYTE],
    ),
    mutant(
        "target-is-offered-json-alone",
        Suite::TargetHttp,
        JUDGE,
        "\"application/json, text/event-stream\"",
        "\"application/json\"",
        &[BYTE_FOR_BYTE, HEADERS],
    ),
    mutant(
        "target-may-be-set-headers-of-the-message",
        Suite::TargetHttp,
        REQUEST,
        "        if may_be_sent(name.as_str()) {\n",
        "        if may_be_sent(name.as_str()) || true {\n",
        &[HEADERS],
    ),
    mutant(
        "target-gets-configured-headers-beside-those-of-the-command",
        Suite::TargetHttp,
        REQUEST,
        "            all.remove(name);\n",
        "            let _ = name;\n",
        &[HEADERS],
    ),
    mutant(
        "target-gets-no-session",
        Suite::TargetHttp,
        REQUEST,
        "        for (name, value) in request_headers(headers) {\n",
        "        let lines = request_headers(headers).into_iter();\n        for (name, value) in lines.filter(|(name, _)| !name.eq_ignore_ascii_case(\"mcp-session-id\")) {\n",
        &[HEADERS, SESSION],
    ),
    mutant(
        "target-gets-no-protocol-version",
        Suite::TargetHttp,
        REQUEST,
        "        for (name, value) in request_headers(headers) {\n",
        "        let lines = request_headers(headers).into_iter();\n        for (name, value) in lines.filter(|(name, _)| !name.eq_ignore_ascii_case(\"mcp-protocol-version\")) {\n",
        &[HEADERS],
    ),
    mutant(
        "target-is-asked-to-end-no-session",
        Suite::TargetHttp,
        REQUEST,
        "self.request(Method::DELETE, headers)",
        "self.request(Method::DELETE, &headers[..0])",
        &["a_termination_is_a_delete_and_may_fail_too", SESSION],
    ),
    mutant(
        "target-remembers-its-session",
        Suite::TargetHttp,
        HTTP,
        "        match within(deadline, self.client.execute(request)).await {\n            Some(Ok(response)) => {\n",
        "        std::thread_local! {\n            static SESSION: std::cell::RefCell<Option<HeaderValue>> = const { std::cell::RefCell::new(None) };\n        }\n        let mut request = request;\n        if let Some(session) = SESSION.with_borrow(Clone::clone) {\n            request.headers_mut().entry(\"mcp-session-id\").or_insert(session);\n        }\n        match within(deadline, self.client.execute(request)).await {\n            Some(Ok(response)) => {\n                if let Some(session) = response.headers().get(\"mcp-session-id\") {\n                    SESSION.set(Some(session.clone()));\n                }\n",
        &[SESSION],
    ),
    mutant(
        "target-is-trusted-by-the-system-alone",
        Suite::TargetHttp,
        HTTP,
        "let ca_bundle = settings.ca_bundle.as_deref();",
        "let ca_bundle: Option<&[u8]> = None;",
        &["a_certificate_is_trusted_by_the_ca_bundle_alone"],
    ),
    mutant(
        "target-is-not-shown-who-the-client-is",
        Suite::TargetHttp,
        HTTP,
        "let client = match &settings.client_identity {",
        "let client = match None::<&ClientIdentity> {",
        &["a_server_that_asks_who_the_client_is_gets_its_certificate"],
    ),
    // What comes back.
    mutant(
        "target-that-accepts-with-a-202-has-failed",
        Suite::Model,
        JUDGE,
        "    if is_success(status) {\n        Ok(())\n",
        "    if status == 200 {\n        Ok(())\n",
        &[BY_STATUS],
    ),
    mutant(
        "target-answers-with-the-id-of-another",
        Suite::Model,
        JUDGE,
        "Ok(Message::Response { id } | Message::Error { id: Some(id) }) => id == *request,",
        "Ok(Message::Response { .. } | Message::Error { id: Some(_) }) => true,",
        &["target::tests::anything_else_is_a_failure_by_its_status"],
    ),
    mutant(
        "target-that-cannot-end-a-session-has-answered",
        Suite::Model,
        JUDGE,
        "200..=299 | 400..=499 => Ok(()),",
        "200..=299 | 400..=599 => Ok(()),",
        &[BY_STATUS],
    ),
    mutant(
        "target-that-ends-no-session-has-failed",
        Suite::Model,
        JUDGE,
        "200..=299 | 400..=499 => Ok(()),",
        "200..=299 => Ok(()),",
        &[BY_STATUS],
    ),
    mutant(
        "target-error-loses-its-status-with-its-body",
        Suite::TargetHttp,
        HTTP,
        "json.map_err(|fault| by_status(head.status, fault));",
        "json.map_err(|fault| by_status(200, fault));",
        &["an_error_keeps_its_status_though_its_body_cannot_be_read"],
    ),
    mutant(
        "target-failure-loses-its-headers",
        Suite::TargetHttp,
        HTTP,
        "Answer::failed_with(awaited, failure, self.headers)",
        "Answer::failed(awaited, failure)",
        &["a_failure_keeps_the_headers_of_the_answer_that_was_none"],
    ),
    mutant(
        "target-failure-keeps-the-type-of-another-body",
        Suite::Model,
        JUDGE,
        "        .filter(|(name, _)| !name.eq_ignore_ascii_case(TYPE));\n",
        "        .filter(|(name, _)| !name.is_empty());\n",
        &["target::tests::an_answer_made_here_keeps_the_headers_of_the_targets_but_its_type"],
    ),
    mutant(
        "target-answer-is-written-anew",
        Suite::TargetHttp,
        HTTP,
        "        judge_answer(id, status, body)\n",
        "        let json = judge_answer(id, status, body)?;\n        let anew = serde_json::from_str::<serde_json::Value>(&json).map(|json| json.to_string());\n        anew.map_err(|_| broken(\"answer_not_json\"))\n",
        &[BYTE_FOR_BYTE],
    ),
    mutant(
        "target-answer-brings-every-header",
        Suite::TargetHttp,
        HTTP,
        "headers: answer_headers(lines),",
        "headers: lines\n                .map(|(name, value)| {\n                    let value = String::from_utf8_lossy(value).into_owned();\n                    (name.to_owned(), vec![value])\n                })\n                .collect(),",
        &[HEADERS],
    ),
    mutant(
        "target-answer-has-no-limit",
        Suite::TargetHttp,
        HTTP,
        "if body.len().saturating_add(chunk.len()) > self.answer_limit {",
        "if body.len().saturating_add(chunk.len()) > usize::MAX - 1 {",
        &[WITHOUT_ANSWER],
    ),
    mutant(
        "target-events-have-no-limit",
        Suite::TargetHttp,
        HTTP,
        "EventStream::new(self.answer_limit)",
        "EventStream::new(usize::MAX)",
        &[WITHOUT_ANSWER],
    ),
    mutant(
        "target-error-is-read-as-events",
        Suite::Model,
        JUDGE,
        "is_success(status) && media_type.eq_ignore_ascii_case",
        "(is_success(status) || true) && media_type.eq_ignore_ascii_case",
        &["target::tests::a_stream_is_told_by_its_type_and_is_never_an_error"],
    ),
    mutant(
        "target-events-are-read-as-json",
        Suite::TargetHttp,
        HTTP,
        "if head.is_event_stream {",
        "if head.is_event_stream && false {",
        &[EVENTS],
    ),
    mutant(
        "target-stream-may-end-without-an-answer",
        Suite::TargetHttp,
        HTTP,
        "Ok(None) => return Ok(Read::End(STREAM_WITHOUT_ANSWER)),",
        "Ok(None) => return Ok(Read::Answer(String::from(\"null\"))),",
        &[WITHOUT_ANSWER],
    ),
    mutant(
        "target-notifications-are-dropped",
        Suite::TargetHttp,
        HTTP,
        "EventMeaning::Notification => pass_on(notes, event.data).await,",
        "EventMeaning::Notification => {}",
        &[EVENTS],
    ),
    mutant(
        "target-answer-is-lost-when-nobody-takes-notifications",
        Suite::TargetHttp,
        HTTP,
        "EventMeaning::Notification => pass_on(notes, event.data).await,",
        "EventMeaning::Notification => {\n                        let sent = notes.send(event.data).await;\n                        sent.map_err(|_| broken(\"notes\"))?;\n                    }",
        &["the_answer_comes_though_nobody_takes_the_notes"],
    ),
    mutant(
        "target-has-no-deadline-for-the-head",
        Suite::TargetHttp,
        HTTP,
        "match within(deadline, self.client.execute(request)).await {",
        "match within(None, self.client.execute(request)).await {",
        &[DEADLINE],
    ),
    mutant(
        "target-has-no-deadline-for-the-body",
        Suite::TargetHttp,
        HTTP,
        "let json = within(call.deadline, async {",
        "let json = within(None, async {",
        &[DEADLINE],
    ),
    mutant(
        "target-failure-claims-an-answer",
        Suite::TargetHttp,
        HTTP,
        "Some(Err(error)) => Err(failure_of(&error, false)),",
        "Some(Err(error)) => Err(failure_of(&error, true)),",
        &[BROKEN],
    ),
];
