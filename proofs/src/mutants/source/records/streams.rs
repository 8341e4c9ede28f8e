//! Streams of a server over HTTP: how fast they are read, and how they go on that end before the answer.

use super::{SourceMutant, mutant};
use crate::mutants::source::Suite;

const RESUMPTION: &str = "model/src/resumption.rs";
const EVENTS: &str = "model/src/sse.rs";
const HTTP: &str = "client/src/target/http/mod.rs";
const REQUEST: &str = "client/src/target/http/request.rs";

const FROM_LAST_ID: &str =
    "resumption::tests::a_stream_goes_on_from_its_last_id_and_fails_without_one";
const WAITS: &str =
    "resumption::tests::waits_as_the_server_asks_and_longer_while_nothing_new_comes";
const REFUSALS: &str =
    "resumption::tests::only_a_stream_goes_on_and_only_a_server_in_trouble_is_asked_again";
const GOES_ON: &str = "a_stream_that_ends_after_an_id_goes_on_where_it_ended";

/// Wrong ways to read streams.
pub(super) const MUTANTS: [SourceMutant; 17] = [
    // What is asked for.
    mutant(
        "stream-is-asked-for-without-an-id",
        Suite::Model,
        RESUMPTION,
        "if id.is_empty() || !is_header_value(id.as_bytes()) {",
        "if !is_header_value(id.as_bytes()) {",
        &[FROM_LAST_ID],
    ),
    mutant(
        "stream-is-asked-for-with-an-id-that-no-header-can-hold",
        Suite::Model,
        RESUMPTION,
        "if id.is_empty() || !is_header_value(id.as_bytes()) {",
        "if id.is_empty() {",
        &[FROM_LAST_ID],
    ),
    mutant(
        "stream-is-asked-for-from-its-first-event-on",
        Suite::Model,
        RESUMPTION,
        "            id.clone_into(&mut self.from);\n",
        "            if self.from.is_empty() {\n                id.clone_into(&mut self.from);\n            }\n",
        &[WAITS],
    ),
    mutant(
        "stream-is-asked-for-after-an-event-that-never-ended",
        Suite::Model,
        EVENTS,
        "            self.pending.id = Some(value.to_owned());\n",
        "            self.pending.id = Some(value.to_owned());\n            self.last_id = (!value.is_empty()).then(|| value.to_owned());\n",
        &[FROM_LAST_ID],
    ),
    mutant(
        "stream-forgets-its-id-when-it-goes-on",
        Suite::Model,
        EVENTS,
        "            last_id: self.last_id.take(),\n",
        "            last_id: None,\n",
        &["sse::tests::goes_on_after_its_last_event_on_a_new_connection"],
    ),
    mutant(
        "stream-is-asked-for-by-post",
        Suite::TargetHttp,
        REQUEST,
        "self.request(Method::GET, headers)?;",
        "self.request(Method::POST, headers)?;",
        &[GOES_ON],
    ),
    mutant(
        "stream-is-asked-for-without-saying-from-where",
        Suite::TargetHttp,
        REQUEST,
        "        headers.insert(LAST_EVENT_ID, id);\n",
        "        let _ = id;\n",
        &[GOES_ON, "a_stream_goes_on_as_often_as_something_new_comes"],
    ),
    mutant(
        "stream-is-asked-for-without-the-commands-headers",
        Suite::TargetHttp,
        HTTP,
        "self.requests.resume(headers, resume.last_event_id)?;",
        "self.requests.resume(&headers[..0], resume.last_event_id)?;",
        &[GOES_ON],
    ),
    mutant(
        "stream-that-goes-on-repeats-half-an-event",
        Suite::TargetHttp,
        HTTP,
        "                    stream.reconnect();\n",
        "",
        &[GOES_ON],
    ),
    // How often and until when.
    mutant(
        "stream-is-asked-for-without-end",
        Suite::Model,
        RESUMPTION,
        "if self.fruitless >= MAX_FRUITLESS {",
        "if self.fruitless >= u32::MAX {",
        &[WAITS],
    ),
    mutant(
        "stream-is-asked-for-a-few-times-whatever-came",
        Suite::Model,
        RESUMPTION,
        "            self.fruitless = 0;\n",
        "",
        &[WAITS],
    ),
    mutant(
        "stream-is-asked-for-sooner-than-the-server-says",
        Suite::Model,
        RESUMPTION,
        "wait: self.wait(stream.retry()),",
        "wait: self.wait(None),",
        &[WAITS],
    ),
    mutant(
        "stream-is-asked-for-again-whoever-refuses-it",
        Suite::Model,
        RESUMPTION,
        "_ => Err(Refusal::ForGood(STREAM_WITHOUT_ANSWER)),",
        "_ => Err(Refusal::ForNow(STREAM_WITHOUT_ANSWER)),",
        &[REFUSALS],
    ),
    mutant(
        "stream-of-a-server-in-trouble-is-given-up",
        Suite::Model,
        RESUMPTION,
        "429 | 500..=599 => Err(Refusal::ForNow(by_status(status, NOT_NOW))),",
        "429 | 500..=599 => Err(Refusal::ForGood(by_status(status, NOT_NOW))),",
        &[REFUSALS],
    ),
    mutant(
        "stream-has-no-deadline",
        Suite::TargetHttp,
        HTTP,
        "let json = within(call.deadline, async {",
        "let deadline = call.deadline.filter(|_| !head.is_event_stream);\n        let json = within(deadline, async {",
        &["the_deadline_covers_the_wait_for_a_stream_and_its_rest"],
    ),
    mutant(
        "stream-that-is-lost-was-never-there",
        Suite::Model,
        RESUMPTION,
        "        FailureSource::TransportClosed\n    };\n",
        "        failure.source\n    };\n",
        &[WAITS, FROM_LAST_ID],
    ),
    // How fast.
    mutant(
        "stream-is-read-faster-than-its-messages-leave",
        Suite::TargetHttp,
        HTTP,
        "notes.reserve_many(notes.max_capacity()).await",
        "notes.reserve_many(1).await",
        &["a_stream_is_read_no_faster_than_its_messages_leave"],
    ),
];
