use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn request(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"x":1e999}}}}"#)
}

fn with_token(id: &str, token: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":{{"_meta":{{"progressToken":{token}}}}}}}"#
    )
}

fn initialize(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{}}}}"#)
}

fn result(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"y":[1e999]}}}}"#)
}

fn cancel(id: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
    )
}

fn progress(token: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1}}}}"#
    )
}

/// What is written, and the raw id on the wire.
fn sent(pipe: &mut Pipe, owner: u64, text: &str) -> (String, String) {
    match pipe.begin(owner, text).unwrap() {
        Begun::Send {
            wire_text, wire_id, ..
        } => {
            assert_eq!(pipe.writing(owner), wire_id.is_some());
            let wire_id = wire_id.map(|id| id.raw().to_owned());
            (wire_text, wire_id.unwrap_or_default())
        }
        other => panic!("{other:?}"),
    }
}

/// The owners whose requests failed with their child; all were written.
fn closed(pipe: &mut Pipe) -> Vec<u64> {
    let closed = pipe.closed();
    assert_eq!(closed.unwritten, [0; 0]);
    closed.failed
}

fn answer(owner: u64, text: String) -> Routed {
    Routed::Answer { owner, text }
}

fn told(owner: Option<u64>, text: &str) -> Routed {
    Routed::Notification {
        owner,
        text: text.to_owned(),
    }
}

// spec-test: RPT-7
#[test]
fn keeps_free_ids_and_answers_in_any_order() {
    let mut pipe = Pipe::new();
    let ids = ["1", "\"1\"", "\"a\"", "-7"];
    for (owner, id) in (0..).zip(ids) {
        assert_eq!(
            sent(&mut pipe, owner, &request(id)),
            (request(id), id.to_owned())
        );
    }
    assert_eq!(pipe.in_flight(), 4);
    for (owner, id) in [3, 2, 1, 0].map(|owner| (owner, ids[owner])) {
        let owner = owner as u64;
        assert_eq!(pipe.received(&result(id)), answer(owner, result(id)));
        assert_eq!(pipe.received(&result(id)), Routed::Unknown);
    }
    assert_eq!(pipe.in_flight(), 0);
}

#[test]
fn exchanges_an_id_in_flight_and_restores_it_byte_for_byte() {
    let mut pipe = Pipe::new();
    sent(&mut pipe, 1, &request("\"a\""));
    let (wire_text, wire_id) = sent(&mut pipe, 2, &request("\"\\u0061\""));
    assert_eq!(wire_id, "\"moorline-1\"");
    assert_eq!(wire_text, request(&wire_id));
    assert_eq!(
        pipe.received(&result("\"moorline\\u002d1\"")),
        answer(2, result("\"\\u0061\""))
    );
    assert_eq!(
        pipe.received(&result("\"\\u0061\"")),
        answer(1, result("\"a\"")),
        "spelt as the owner spelt it"
    );
    assert_eq!(
        sent(&mut pipe, 3, &request("\"a\"")).1,
        "\"a\"",
        "free again"
    );
}

#[test]
fn exchanges_ids_that_might_come_back_changed_or_look_like_substitutes() {
    let mut pipe = Pipe::new();
    let ids = ["-0", "9007199254740993", "\"\\ud800\"", "\"moorline-9\""];
    for (owner, id) in (1..).zip(ids) {
        let (wire_text, wire_id) = sent(&mut pipe, owner, &request(id));
        assert_eq!(wire_id, format!("\"moorline-{owner}\""));
        assert_eq!(wire_text, request(&wire_id));
        assert_eq!(pipe.received(&result(&wire_id)), answer(owner, result(id)));
    }
}

#[test]
fn an_error_answers_like_a_result() {
    let mut pipe = Pipe::new();
    sent(&mut pipe, 1, &request("1"));
    let (_, wire_id) = sent(&mut pipe, 2, &request("1"));
    let error =
        |id: &str| format!(r#"{{"error":{{"code":-1,"message":"m"}},"id":{id},"jsonrpc":"2.0"}}"#);
    assert_eq!(pipe.received(&error(&wire_id)), answer(2, error("1")));
    assert_eq!(pipe.received(&error("1")), answer(1, error("1")));
}

fn failed(owner: u64, kind: &'static str) -> Routed {
    Routed::Failed {
        owner,
        failure: TunnelFailure {
            source: FailureSource::Protocol,
            transport_error_kind: Some(kind),
            upstream_response_received: true,
        },
    }
}

// spec-test: CMD-34
#[test]
fn an_invalid_answer_fails_its_request() {
    for members in [
        r#""jsonrpc":"2.0","result":{},"error":null"#,
        r#""jsonrpc":"2.0","error":{"code":"E","message":"m"}"#,
        r#""result":{}"#,
    ] {
        let mut pipe = Pipe::new();
        sent(&mut pipe, 1, &request("1"));
        let (_, wire_id) = sent(&mut pipe, 2, &request("1"));
        let line = format!(r#"{{"id":{wire_id},{members}}}"#);
        assert_eq!(pipe.received(&line), failed(2, "invalid_answer"), "{line}");
        assert_eq!(pipe.in_flight(), 1);
        assert!(matches!(pipe.received(&line), Routed::Invalid(_)), "once");
        assert_eq!(pipe.received(&result(&wire_id)), Routed::Retired);
        assert_eq!(pipe.received(&result("1")), answer(1, result("1")));
    }
    let mut pipe = Pipe::new();
    sent(&mut pipe, 1, &request("1"));
    let ping = r#"{"id":1,"method":"ping"}"#;
    assert!(matches!(pipe.received(ping), Routed::Invalid(_)));
    assert_eq!(pipe.in_flight(), 1);
}

// spec-test: CMD-34
#[test]
fn an_error_without_an_id_fails_the_only_request() {
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#;
    let mut pipe = Pipe::new();
    assert_eq!(pipe.received(error), Routed::Unknown);
    sent(&mut pipe, 1, &initialize("1"));
    sent(&mut pipe, 2, &request("2"));
    assert_eq!(pipe.received(error), Routed::Unknown, "whose?");
    pipe.received(&result("2"));
    assert_eq!(pipe.received(error), failed(1, "error_without_id"));
    assert_eq!(pipe.received(error), Routed::Unknown);
}

// spec-test: CMD-20, RPT-4
#[test]
fn a_retired_request_takes_its_late_answer_with_it_and_the_pipe_stays() {
    let mut pipe = Pipe::new();
    sent(&mut pipe, 1, &request("1"));
    sent(&mut pipe, 2, &request("2"));
    assert_eq!(pipe.retire(1), Retirement::KeepPipe);
    assert_eq!(pipe.retire(1), Retirement::NotInFlight);
    assert_eq!(pipe.in_flight(), 1);
    let (_, wire_id) = sent(&mut pipe, 3, &request("1"));
    assert_ne!(wire_id, "1", "an answer to it could be the late one");
    assert_eq!(pipe.received(&result("1")), Routed::Retired);
    assert_eq!(pipe.received(&result("1")), Routed::Unknown);
    assert_eq!(pipe.received(&result(&wire_id)), answer(3, result("1")));
    assert_eq!(pipe.received(&result("2")), answer(2, result("2")));
    assert_eq!(sent(&mut pipe, 4, &request("1")).1, "1", "free again");
}

// spec-test: CMD-20
#[test]
fn only_the_end_of_initialize_closes_the_pipe() {
    let mut pipe = Pipe::new();
    sent(&mut pipe, 1, &initialize("1"));
    sent(&mut pipe, 2, &request("2"));
    assert_eq!(pipe.retire(2), Retirement::KeepPipe);
    assert_eq!(pipe.retire(1), Retirement::ClosePipe);
    assert_eq!(pipe.received(&result("1")), Routed::Retired);
}

// spec-test: CMD-20
#[test]
fn a_forgotten_request_never_meets_a_new_one() {
    let mut pipe = Pipe::new();
    let max = u64::try_from(MAX_RETIRED).unwrap();
    for owner in 0..=max {
        let id = format!("\"id {owner}\"");
        assert_eq!(sent(&mut pipe, owner, &with_token(&id, &id)).1, id);
        assert_eq!(pipe.retire(owner), Retirement::KeepPipe);
    }
    let (wire_text, wire_id) = sent(&mut pipe, 1, &with_token("\"id 0\"", "\"id 0\""));
    assert_eq!(wire_id, "\"moorline-1\"");
    assert_eq!(wire_text, with_token("\"moorline-1\"", "\"moorline-2\""));
    assert_eq!(pipe.received(&result("\"id 0\"")), Routed::Unknown);
    assert_eq!(
        pipe.received(&progress("\"id 0\"")),
        told(None, &progress("\"id 0\""))
    );
    assert_eq!(sent(&mut pipe, 2, &request("\"new\"")).1, "\"moorline-3\"");
    closed(&mut pipe);
    assert_eq!(sent(&mut pipe, 3, &request("\"new\"")).1, "\"new\"");
}

#[test]
fn progress_goes_to_the_one_who_asked_for_it_with_its_own_token() {
    let mut pipe = Pipe::new();
    assert_eq!(
        sent(&mut pipe, 1, &with_token("1", "1")).0,
        with_token("1", "1")
    );
    let (wire_text, _) = sent(&mut pipe, 2, &with_token("1", "1"));
    assert_eq!(wire_text, with_token("\"moorline-1\"", "\"moorline-2\""));
    sent(&mut pipe, 3, &with_token("3", "\"1\""));
    for (token, owner, restored) in [
        ("1", 1, "1"),
        ("\"moorline-2\"", 2, "1"),
        ("\"\\u0031\"", 3, "\"1\""),
    ] {
        let routed = pipe.received(&progress(token));
        assert_eq!(routed, told(Some(owner), &progress(restored)));
    }
    for token in ["2", "\"moorline-1\"", "null", "{}"] {
        let line = progress(token);
        assert_eq!(pipe.received(&line), told(None, &line), "{token}");
    }
    pipe.retire(1);
    assert_eq!(pipe.received(&progress("1")), told(None, &progress("1")));
    let (wire_text, _) = sent(&mut pipe, 4, &with_token("4", "1"));
    assert_eq!(wire_text, with_token("4", "\"moorline-3\""));
}

#[test]
fn other_notifications_go_to_the_oldest_request() {
    let mut pipe = Pipe::new();
    let line = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#;
    assert_eq!(pipe.received(line), told(None, line));
    sent(&mut pipe, 5, &request("1"));
    sent(&mut pipe, 4, &request("2"));
    assert_eq!(pipe.received(line), told(Some(5), line));
    pipe.received(&result("1"));
    assert_eq!(pipe.received(line), told(Some(4), line));
    pipe.retire(4);
    assert_eq!(pipe.received(line), told(None, line));
}

// spec-test: CMD-35
#[test]
fn requests_of_the_target_go_to_the_oldest_request_or_are_answered_here() {
    let mut pipe = Pipe::new();
    let ping = r#"{"jsonrpc":"2.0","id":"\u0070","method":"ping"}"#;
    let roots = r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#;
    let answered = |pipe: &mut Pipe, line: &str| match pipe.received(line) {
        Routed::Reply(reply) => (None, reply),
        Routed::ServerRequest {
            owner,
            text,
            otherwise,
        } => {
            assert_eq!(text, line);
            (Some(owner), otherwise)
        }
        other => panic!("{other:?}"),
    };
    for (owner, code) in [(None, -32601), (Some(1), -32603)] {
        let pong = r#"{"jsonrpc":"2.0","id":"\u0070","result":{}}"#.to_owned();
        assert_eq!(answered(&mut pipe, ping), (owner, pong));
        let (whose, refusal) = answered(&mut pipe, roots);
        let refusal: Value = serde_json::from_str(&refusal).unwrap();
        assert_eq!(
            (whose, &refusal["id"], &refusal["error"]["code"]),
            (owner, &7.into(), &code.into())
        );
        if owner.is_none() {
            sent(&mut pipe, 1, &request("1"));
        }
    }
}

/// What becomes of a cancellation: what is written, and whose request it ends.
fn cancelled(pipe: &mut Pipe, id: &str) -> (String, Option<u64>) {
    match pipe.begin(99, &cancel(id)) {
        Ok(Begun::Send {
            wire_text,
            wire_id: None,
            cancels,
        }) => (wire_text, cancels),
        Ok(Begun::Dropped) => ("dropped".to_owned(), None),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cancellation_follows_the_request_that_it_means() {
    let mut pipe = Pipe::new();
    let dropped = ("dropped".to_owned(), None);
    sent(&mut pipe, 1, &request("\"moorline-\""));
    sent(&mut pipe, 2, &request("1"));
    assert_eq!(cancelled(&mut pipe, "\"moorline-1\""), dropped, "another's");
    assert_eq!(
        cancelled(&mut pipe, "\"moorline-\""),
        (cancel("\"moorline-1\""), Some(1))
    );
    let gone = cancel("\"gone\"");
    assert_eq!(cancelled(&mut pipe, "\"gone\""), (gone, None));
    assert_eq!(pipe.retire(2), Retirement::KeepPipe);
    let late = (cancel("1"), None);
    assert_eq!(cancelled(&mut pipe, "1"), late, "it may still run");
    sent(&mut pipe, 3, &request("1"));
    assert_eq!(cancelled(&mut pipe, "1"), dropped, "whose is meant?");
    assert_eq!(pipe.in_flight(), 1);
    assert_eq!(cancelled(&mut pipe, "null"), (cancel("null"), None));
    let twice = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"requestId":2}}"#;
    assert_eq!(pipe.begin(9, twice), Err(PipeFault::Ambiguous));
}

// spec-test: CMD-33
#[test]
fn a_cancelled_request_is_retired_and_its_id_can_be_cancelled_anew() {
    let mut pipe = Pipe::new();
    sent(&mut pipe, 1, &with_token("1", "1"));
    assert_eq!(cancelled(&mut pipe, "1"), (cancel("1"), Some(1)));
    assert_eq!(pipe.in_flight(), 0);
    assert_eq!(pipe.retire(1), Retirement::NotInFlight);
    assert_eq!(pipe.received(&progress("1")), told(None, &progress("1")));
    // An owner that was cancelled may ask again, and what it gave up before is not that.
    sent(&mut pipe, 1, &request("7"));
    pipe.retire(1);
    sent(&mut pipe, 1, &request("8"));
    assert_eq!(cancelled(&mut pipe, "7"), (cancel("7"), None));
    assert_eq!(pipe.received(&result("8")), answer(1, result("8")));
    // Not answered, as it should be: the next caller with the same id can cancel, too.
    let (_, wire_id) = sent(&mut pipe, 2, &request("1"));
    assert_eq!(wire_id, "\"moorline-1\"");
    assert_eq!(cancelled(&mut pipe, "1"), (cancel(&wire_id), Some(2)));
    // Answered all the same.
    for id in ["1", &*wire_id] {
        assert_eq!(pipe.received(&result(id)), Routed::Retired);
    }
    assert_eq!(sent(&mut pipe, 3, &request("1")).1, "1", "free again");
}

// spec-test: CMD-33
#[test]
fn initialize_is_not_cancelled() {
    let mut pipe = Pipe::new();
    sent(&mut pipe, 1, &initialize("1"));
    assert_eq!(cancelled(&mut pipe, "1"), (cancel("1"), None));
    assert_eq!(pipe.received(&result("1")), answer(1, result("1")));
}

#[test]
fn a_new_child_knows_none_of_the_old_ones_requests() {
    let mut pipe = Pipe::new();
    sent(&mut pipe, 1, &with_token("1", "1"));
    sent(&mut pipe, 2, &with_token("2", "2"));
    pipe.retire(1);
    assert_eq!(closed(&mut pipe), [2]);
    assert_eq!(pipe.in_flight(), 0);
    for id in ["1", "2"] {
        assert_eq!(pipe.received(&result(id)), Routed::Unknown);
    }
    let (wire_text, _) = sent(&mut pipe, 2, &with_token("1", "1"));
    assert_eq!(wire_text, with_token("1", "1"));
}

/// Takes a request whose line is not written yet.
fn waits(pipe: &mut Pipe, owner: u64) {
    let begun = pipe.begin(owner, &request(&owner.to_string()));
    assert!(matches!(begun, Ok(Begun::Send { .. })), "{begun:?}");
}

// spec-test: CMD-36
#[test]
fn what_was_never_written_may_go_to_the_next_child() {
    let mut pipe = Pipe::new();
    for owner in 1..=5 {
        waits(&mut pipe, owner);
    }
    assert!(pipe.writing(1) && pipe.writing(2) && pipe.writing(3));
    assert!(pipe.not_written(2, false));
    assert!(!pipe.not_written(3, true), "who knows what it has read");
    assert!(!pipe.not_written(3, false), "not in flight any more");
    let (failed, unwritten) = (vec![1], vec![4, 5]);
    assert_eq!(pipe.closed(), Closed { failed, unwritten });
    assert_eq!(pipe.in_flight(), 0);
}

// spec-test: CMD-19
#[test]
fn what_nobody_waits_for_is_not_written() {
    let mut pipe = Pipe::new();
    for owner in 1..=2 {
        waits(&mut pipe, owner);
    }
    pipe.retire(1);
    assert!(!pipe.writing(1));
    assert_eq!(cancelled(&mut pipe, "2").1, Some(2));
    assert!(!pipe.writing(2));
}

#[test]
fn a_child_speaks_of_no_request_before_it_is_written() {
    let mut pipe = Pipe::new();
    waits(&mut pipe, 1);
    let note = r#"{"jsonrpc":"2.0","method":"notifications/message"}"#;
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
    let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}"#;
    assert_eq!(pipe.received(note), told(None, note));
    assert!(matches!(pipe.received(ask), Routed::Reply(_)));
    assert_eq!(pipe.received(error), Routed::Unknown);
    sent(&mut pipe, 2, &request("2"));
    assert_eq!(pipe.received(note), told(Some(2), note));
    assert_eq!(pipe.received(error), failed(2, "error_without_id"));
}

// spec-test: RPT-6
#[test]
fn a_restarted_child_is_asked_nothing_until_it_is_initialized() {
    let mut pipe = Pipe::new();
    sent(&mut pipe, 1, &request("1"));
    pipe.received(&result("1"));
    assert_eq!(closed(&mut pipe), [0; 0]);
    sent(&mut pipe, 1, &request("1"));
    assert_eq!(closed(&mut pipe), [1], "no child was ever initialized");

    sent(&mut pipe, 2, &initialize("2"));
    pipe.received(&result("2"));
    sent(&mut pipe, 3, &request("3"));
    sent(&mut pipe, 1, &request("1"));
    assert_eq!(closed(&mut pipe), [3, 1]);
    assert_eq!(pipe.received(&result("3")), Routed::Unknown);

    let refused = |pipe: &mut Pipe| match pipe.begin(4, &request("\"\\u0061\"")) {
        Ok(Begun::Refused { failure, text }) => {
            let told = text.contains(r#""id":"\u0061","#) && text.contains("not_initialized");
            assert!(told, "{text}");
            assert_eq!(failure.source, FailureSource::Protocol);
            true
        }
        _ => false,
    };
    assert!(refused(&mut pipe));
    assert_eq!(pipe.in_flight(), 0);
    sent(&mut pipe, 5, r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#);
    sent(
        &mut pipe,
        0,
        r#"{"jsonrpc":"2.0","method":"notifications/x"}"#,
    );
    sent(&mut pipe, 6, &initialize("6"));
    assert!(refused(&mut pipe), "not before its answer");
    pipe.received(r#"{"jsonrpc":"2.0","id":6,"error":{"code":1,"message":"m"}}"#);
    assert!(refused(&mut pipe), "an error initializes nothing");
    assert_eq!(closed(&mut pipe), [5]);
    assert!(refused(&mut pipe), "nor does another restart");
    sent(&mut pipe, 7, &initialize("7"));
    pipe.received(&result("7"));
    assert!(!refused(&mut pipe));
    assert_eq!(pipe.in_flight(), 1);
}

#[test]
fn messages_without_an_answer_pass_and_stay_on_one_line() {
    let mut pipe = Pipe::new();
    for text in [
        "{\r\n\"jsonrpc\":\"2.0\",\n\"method\":\"a\\nb\"}\n",
        "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"error\":{\"code\":1,\"message\":\"\"}}",
    ] {
        let line = text.replace(['\n', '\r'], " ");
        assert_eq!(sent(&mut pipe, 1, text), (line, String::new()));
    }
    let text = request("1").replace(',', "\n,\r");
    let line = request("1").replace(',', " , ");
    assert_eq!(sent(&mut pipe, 1, &text).0, line);
    assert_eq!(pipe.in_flight(), 1);
}

#[test]
fn names_each_fault_and_puts_nothing_in_flight() {
    let mut pipe = Pipe::new();
    for (text, fault) in [
        (
            "[]".to_owned(),
            PipeFault::Message(MessageFault::NotAnObject),
        ),
        (with_token("1", "1.5"), PipeFault::ProgressTokenInvalid),
        (with_token("1", "{}"), PipeFault::ProgressTokenInvalid),
        (
            with_token("1", "1,\"progressToken\":2"),
            PipeFault::Ambiguous,
        ),
    ] {
        assert_eq!(pipe.begin(1, &text), Err(fault), "{text}");
    }
    assert_eq!(pipe.in_flight(), 0);
    let line = with_token("1", "null");
    assert_eq!(sent(&mut pipe, 1, &line).0, line);
    assert_eq!(pipe.begin(1, &request("2")), Err(PipeFault::OwnerBusy));
    for owner in 2..=1024 {
        sent(&mut pipe, owner, &request(&owner.to_string()));
    }
    assert_eq!(pipe.begin(0, &request("0")), Err(PipeFault::Full));
    assert_eq!(pipe.in_flight(), MAX_IN_FLIGHT);
    for line in ["", "Server started", "{}"] {
        assert!(matches!(pipe.received(line), Routed::Invalid(_)), "{line}");
    }
}

#[derive(Clone, Debug)]
enum Step {
    Begin { id: usize, token: usize },
    Answer(usize),
    Progress(usize),
    Retire(usize),
    Close,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0..IDS.len(), 0..IDS.len()).prop_map(|(id, token)| Step::Begin { id, token }),
        6 => any::<usize>().prop_map(Step::Answer),
        3 => any::<usize>().prop_map(Step::Progress),
        3 => any::<usize>().prop_map(Step::Retire),
        1 => Just(Step::Close),
    ];
    prop::collection::vec(step, 0..60)
}

const IDS: [&str; 8] = [
    "1",
    "2",
    "\"1\"",
    "\"a\"",
    "\"\\u0061\"",
    "\"moorline-1\"",
    "\"moorline-2\"",
    "-0",
];

/// A request that was written, as the child sees it, and what is to become of its answer.
struct Written {
    owner: u64,
    id: &'static str,
    token: &'static str,
    wire_token: String,
    retired: bool,
}

fn nth<T>(map: &HashMap<String, T>, n: usize) -> Option<String> {
    let mut keys: Vec<&String> = map.keys().collect();
    keys.sort_unstable();
    let n = n.checked_rem(keys.len())?;
    keys.get(n).map(|key| (*key).clone())
}

proptest! {
    /// A child that answers each request once, in any order: each answer and each progress gets
    /// to its own owner with the owner's id, or nowhere when it was retired.
    // spec-test: CMD-20
    #[test]
    fn no_answer_meets_another_request(steps in steps()) {
        let mut pipe = Pipe::new();
        let mut child: HashMap<String, Written> = HashMap::new();
        let mut next_owner = 0;
        for step in steps {
            match step {
                Step::Begin { id, token } => {
                    let (owner, id, token) = (next_owner, IDS[id], IDS[token]);
                    next_owner += 1;
                    let (wire_text, wire_id) = sent(&mut pipe, owner, &with_token(id, token));
                    let wire_token = raw_at(&wire_text, REQUEST_PROGRESS_TOKEN).unwrap();
                    let wire_token = wire_token.unwrap().to_owned();
                    prop_assert_eq!(&wire_text, &with_token(&wire_id, &wire_token));
                    prop_assert!(child.values().all(|other| other.wire_token != wire_token));
                    let written = Written { owner, id, token, wire_token, retired: false };
                    prop_assert!(child.insert(wire_id, written).is_none());
                }
                Step::Answer(n) => if let Some(wire_id) = nth(&child, n) {
                    let written = child.remove(&wire_id).unwrap();
                    let expected = if written.retired {
                        Routed::Retired
                    } else {
                        answer(written.owner, result(written.id))
                    };
                    prop_assert_eq!(pipe.received(&result(&wire_id)), expected);
                },
                Step::Progress(n) => if let Some(wire_id) = nth(&child, n) {
                    let written = &child[&wire_id];
                    let line = progress(&written.wire_token);
                    let expected = if written.retired {
                        told(None, &line)
                    } else {
                        told(Some(written.owner), &progress(written.token))
                    };
                    prop_assert_eq!(pipe.received(&line), expected);
                },
                Step::Retire(n) => if let Some(wire_id) = nth(&child, n) {
                    let written = child.get_mut(&wire_id).unwrap();
                    let expected = if written.retired {
                        Retirement::NotInFlight
                    } else {
                        Retirement::KeepPipe
                    };
                    prop_assert_eq!(pipe.retire(written.owner), expected);
                    written.retired = true;
                },
                Step::Close => {
                    let mut waiting: Vec<u64> = child
                        .drain()
                        .filter(|(_, written)| !written.retired)
                        .map(|(_, written)| written.owner)
                        .collect();
                    waiting.sort_unstable();
                    prop_assert_eq!(closed(&mut pipe), waiting);
                }
            }
            let in_flight = child.values().filter(|written| !written.retired).count();
            prop_assert_eq!(pipe.in_flight(), in_flight);
        }
    }

    #[test]
    fn reads_any_text(texts in prop::collection::vec(".*", 0..4)) {
        let mut pipe = Pipe::new();
        for text in texts {
            let _ = pipe.begin(1, &text);
            let _ = pipe.received(&text);
        }
    }
}
