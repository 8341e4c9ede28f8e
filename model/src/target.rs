//! The rules for a target that is reached by HTTP: which headers go to it and come back from it, and
//! what its answers mean.

use crate::jsonrpc::{Message, RawId};
use crate::sse::Event;
use crate::wire::{FailureSource, TunnelFailure, is_header_value, is_token_byte};

/// The greatest size of the headers that come back from a target: the lengths of the values that are
/// kept, in bytes. What comes after them is left out.
pub const MAX_ANSWER_HEADER_BYTES: usize = 65_536;

/// The headers of an answer that go back to the service.
// spec: CMD-23
const ANSWER_HEADERS: [&str; 6] = [
    "Content-Type",
    "Mcp-Session-Id",
    "Mcp-Protocol-Version",
    "Last-Event-Id",
    "Access-Control-Expose-Headers",
    "WWW-Authenticate",
];

/// The headers of a command that do not go to the target: they belong to one connection, or the
/// client sets them itself.
const WITHHELD_HEADERS: [&str; 17] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// The `Content-Type` of the POST of a message, and of every answer that is made here.
pub const MESSAGE_CONTENT_TYPE: &str = "application/json";

/// The `Accept` of the POST of a message.
pub const MESSAGE_ACCEPT: &str = "application/json, text/event-stream";

/// What one event of a target's answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventMeaning {
    /// The answer: the last that is read.
    Answer,
    /// Nothing for anybody: another kind of event, no message, or an answer to something else.
    Nothing,
    /// A notification, or a request of the target, to be passed on before the answer.
    Notification,
}

/// The headers of a target's answer that go back to the service, by name in a fixed order, each with
/// its values in the order received. Left out are values that are empty or no text, and names that a
/// line `Connection` calls its own.
// spec: CMD-23
pub fn answer_headers<'a>(
    lines: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> Vec<(String, Vec<String>)> {
    let lines = lines.into_iter();
    let lines: Vec<(&str, &str)> = lines
        .filter_map(|(name, value)| Some((name, header_text(value)?)))
        .collect();
    let hop_by_hop = hop_by_hop(lines.iter().copied());
    let kept = ANSWER_HEADERS.into_iter();
    let kept = kept.filter(|name| !names(&hop_by_hop, name));
    let mut found: Vec<(&str, Vec<String>)> = kept.map(|name| (name, Vec::new())).collect();
    let mut bytes = 0_usize;
    for (name, value) in lines {
        let known = found
            .iter_mut()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        let Some((_, values)) = known else {
            continue;
        };
        bytes = bytes.saturating_add(value.len());
        if bytes <= MAX_ANSWER_HEADER_BYTES {
            values.push(value.to_owned());
        }
    }
    found
        .into_iter()
        .filter(|(_, values)| !values.is_empty())
        .map(|(name, values)| (name.to_owned(), values))
        .collect()
}

/// The headers of a command that go to the target, one pair a line, in order.
///
/// Everything passes that the service's caller sent for the server: session, protocol version, last
/// event id, `Authorization` of the caller, and headers that only the server knows. Held back are what
/// belongs to one connection (by itself or because `Connection` names it), what this client sets for
/// the message that it writes (`Host`, `Content-Type`, `Accept` and others), everything of the tunnel
/// itself (`X-Tunnel-*`), and what is no header: a name that is no HTTP token, a value with control
/// bytes.
#[must_use]
pub fn request_headers(headers: &[(String, Vec<String>)]) -> Vec<(String, String)> {
    let lines = || {
        headers
            .iter()
            .flat_map(|(name, values)| values.iter().map(move |value| (&**name, &**value)))
    };
    let hop_by_hop = hop_by_hop(lines());
    lines()
        .filter(|(name, value)| may_be_sent(name) && is_header_value(value.as_bytes()))
        .filter(|(name, _)| !names(&hop_by_hop, name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Whether a header of this name may go to the target, be it a command's or a configured one.
#[must_use]
pub fn may_be_sent(name: &str) -> bool {
    is_header_name(name) && !is_withheld(name)
}

/// The headers of an answer without any of the target's.
#[must_use]
pub fn json_headers() -> Vec<(String, Vec<String>)> {
    made_answer_headers(Vec::new())
}

/// The headers of an answer that is made here in the place of one of the target's: those of the
/// target's as [`answer_headers`] gives them, a challenge of a 401 and a session among them, with the
/// type of the body made here.
// spec: CMD-38
#[must_use]
pub fn made_answer_headers(of_target: Vec<(String, Vec<String>)>) -> Vec<(String, Vec<String>)> {
    const TYPE: &str = "Content-Type";
    let kept = of_target
        .into_iter()
        .filter(|(name, _)| !name.eq_ignore_ascii_case(TYPE));
    let made = (TYPE.to_owned(), vec![MESSAGE_CONTENT_TYPE.to_owned()]);
    [made].into_iter().chain(kept).collect()
}

/// Whether an answer is a stream of events, by its status and the value of its `Content-Type`. Errors
/// come whole, whatever they are called.
// spec: CMD-24
#[must_use]
pub fn is_event_stream(status: u16, content_type: Option<&[u8]>) -> bool {
    let text = content_type.and_then(header_text).unwrap_or_default();
    let media_type = trimmed(text.split(';').next().unwrap_or_default());
    is_success(status) && media_type.eq_ignore_ascii_case("text/event-stream")
}

/// Judges the whole body that answers `request`: it is to be passed on byte for byte, with its status,
/// if it is a JSON-RPC response or error for this request. The content type is not consulted: a valid
/// answer is one whatever it is called.
///
/// # Errors
///
/// A 2xx without a valid answer is a fault of the protocol, and any other status without one is an
/// HTTP error.
// spec: CMD-21, CMD-22
pub fn judge_answer(request: &RawId, status: u16, body: Vec<u8>) -> Result<String, TunnelFailure> {
    let text = String::from_utf8(body).ok();
    match text.filter(|text| answers(text, request)) {
        Some(text) => Ok(text),
        None => Err(by_status(status, INVALID_ANSWER)),
    }
}

/// Judges the answer to a message that asks for none, by its status alone.
///
/// # Errors
///
/// Any status but 2xx.
// spec: CMD-22
pub fn judge_acceptance(status: u16) -> Result<(), TunnelFailure> {
    if is_success(status) {
        Ok(())
    } else {
        Err(by_status(status, INVALID_ANSWER))
    }
}

/// Judges the answer to the termination of a session, by its status alone. A 4xx is an answer of the
/// target, too: it does not know the session, or lets nobody end one.
///
/// # Errors
///
/// Any status but 2xx and 4xx: the target could not answer.
// spec: CMD-39
pub fn judge_termination(status: u16) -> Result<(), TunnelFailure> {
    match status {
        200..=299 | 400..=499 => Ok(()),
        _ => Err(by_status(status, INVALID_ANSWER)),
    }
}

/// The failure of an answer whose body could not be read because of `fault`. The status of an error
/// stands, whatever becomes of its body.
// spec: CMD-22
#[must_use]
pub fn by_status(status: u16, fault: TunnelFailure) -> TunnelFailure {
    if is_success(status) {
        return fault;
    }
    TunnelFailure {
        source: FailureSource::TargetHttp {
            status: Some(status),
        },
        ..fault
    }
}

/// A whole answer that is none.
const INVALID_ANSWER: TunnelFailure = TunnelFailure {
    source: FailureSource::Protocol,
    transport_error_kind: None,
    upstream_response_received: true,
};

/// Judges one event of a stream that answers `request`. MCP sends its messages in events of the kind
/// `message` alone.
// spec: CMD-24
#[must_use]
pub fn judge_event(request: &RawId, event: &Event) -> EventMeaning {
    if event.event != "message" {
        return EventMeaning::Nothing;
    }
    match Message::parse(&event.data) {
        Ok(Message::Notification { .. } | Message::Request { .. }) => EventMeaning::Notification,
        Ok(Message::Response { id } | Message::Error { id: Some(id) }) if id == *request => {
            EventMeaning::Answer
        }
        _ => EventMeaning::Nothing,
    }
}

/// The failure of a request whose stream came to its own end without the answer.
// spec: CMD-22, CMD-24
pub const STREAM_WITHOUT_ANSWER: TunnelFailure = TunnelFailure {
    source: FailureSource::Protocol,
    transport_error_kind: Some("stream_ended"),
    upstream_response_received: true,
};

/// Whether a text is a valid JSON-RPC response or error for this request.
// spec: CMD-21
#[must_use]
pub fn answers(text: &str, request: &RawId) -> bool {
    match Message::parse(text) {
        Ok(Message::Response { id } | Message::Error { id: Some(id) }) => id == *request,
        _ => false,
    }
}

fn is_success(status: u16) -> bool {
    (200..=299).contains(&status)
}

/// A header value without the space around it, if it is a text and not empty.
fn header_text(value: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(value).ok()?;
    let text = trimmed(text);
    (!text.is_empty() && is_header_value(text.as_bytes())).then_some(text)
}

/// The names that lines `Connection` call their own.
fn hop_by_hop<'a>(lines: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<&'a str> {
    lines
        .filter(|(name, _)| name.eq_ignore_ascii_case("connection"))
        .flat_map(|(_, value)| value.split(','))
        .map(trimmed)
        .collect()
}

/// What stands between blanks. Those of a header are space and tab, and no others of Unicode's.
fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

fn names(list: &[&str], name: &str) -> bool {
    list.iter().any(|member| member.eq_ignore_ascii_case(name))
}

fn is_withheld(name: &str) -> bool {
    const TUNNEL: &str = "x-tunnel-";
    let prefix = name.get(..TUNNEL.len()).unwrap_or_default();
    prefix.eq_ignore_ascii_case(TUNNEL) || names(&WITHHELD_HEADERS, name)
}

fn is_header_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(is_token_byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One `name=value|value` a header.
    fn answered(lines: &[(&str, &str)]) -> Vec<String> {
        let lines = lines.iter().map(|(name, value)| (*name, value.as_bytes()));
        answer_headers(lines)
            .iter()
            .map(|(name, values)| format!("{name}={}", values.join("|")))
            .collect()
    }

    /// One `name: value` a line.
    fn requested(headers: &[(&str, &[&str])]) -> Vec<String> {
        let owned = |text: &&str| (*text).to_owned();
        let headers: Vec<(String, Vec<String>)> = headers
            .iter()
            .map(|(name, values)| (owned(name), values.iter().map(owned).collect()))
            .collect();
        request_headers(&headers)
            .iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect()
    }

    // spec-test: CMD-23
    #[test]
    fn brings_back_six_headers_in_one_spelling_and_order() {
        let lines = [
            ("www-authenticate", "Bearer"),
            ("date", "today"),
            ("ACCESS-CONTROL-EXPOSE-HEADERS", "a, b"),
            ("last-event-id", "7"),
            ("set-cookie", "c=d"),
            ("mcp-protocol-version", "2025-06-18"),
            ("mcp-session-id", "s"),
            ("Content-Type", "application/json; charset=utf-8"),
            ("www-authenticate", "Basic"),
            ("x-tunnel-shard-token", "t"),
            ("content-length", "3"),
        ];
        assert_eq!(
            answered(&lines),
            [
                "Content-Type=application/json; charset=utf-8",
                "Mcp-Session-Id=s",
                "Mcp-Protocol-Version=2025-06-18",
                "Last-Event-Id=7",
                "Access-Control-Expose-Headers=a, b",
                "WWW-Authenticate=Bearer|Basic",
            ]
        );
    }

    // spec-test: CMD-23
    #[test]
    fn leaves_out_empty_values_and_names_of_one_connection() {
        for (lines, kept) in [
            (&[("Mcp-Session-Id", "")][..], &[][..]),
            (&[("Mcp-Session-Id", " \t")], &[]),
            (
                &[("Mcp-Session-Id", ""), ("Mcp-Session-Id", " s ")],
                &["Mcp-Session-Id=s"],
            ),
            (
                &[
                    ("Mcp-Session-Id", "s"),
                    ("connection", "close ,\tMCP-session-ID"),
                ],
                &[],
            ),
            (
                &[
                    ("Connection", "close"),
                    ("Connection", "Last-Event-Id"),
                    ("Last-Event-Id", "1"),
                    ("Content-Type", "a"),
                ],
                &["Content-Type=a"],
            ),
            (&[("Mcp-Session-Id", "a\u{1}b")], &[]),
            (&[("Mcp-Session-Id", "é")], &["Mcp-Session-Id=é"]),
        ] {
            assert_eq!(answered(lines), kept, "{lines:?}");
        }
        assert_eq!(answer_headers([("Mcp-Session-Id", b"\xff".as_slice())]), []);
    }

    #[test]
    fn brings_back_at_most_64_kib() {
        let half = "x".repeat(32_768);
        let two = [("Last-Event-Id", &*half), ("Mcp-Session-Id", &half)];
        assert_eq!(answered(&two).len(), 2);
        let three = [two[0], two[1], ("Content-Type", "x")];
        assert_eq!(answered(&three).len(), 2);
    }

    // spec-test: CMD-23
    #[test]
    fn what_is_of_one_connection_takes_no_room() {
        let whole = "x".repeat(MAX_ANSWER_HEADER_BYTES);
        let kept = ("Mcp-Session-Id", &*whole);
        let of_connection = ("Last-Event-Id", "7");
        let connection = ("Connection", "last-event-id");
        for lines in [
            [connection, of_connection, kept],
            [of_connection, kept, connection],
            [of_connection, connection, kept],
        ] {
            assert_eq!(answered(&lines), [format!("Mcp-Session-Id={whole}")]);
        }
    }

    #[test]
    fn passes_on_what_the_caller_sent_for_the_server() {
        let headers: &[(&str, &[&str])] = &[
            ("mcp-session-id", &["s"]),
            ("Mcp-Protocol-Version", &["v"]),
            ("Last-Event-ID", &["7"]),
            ("Authorization", &["Bearer of-the-caller"]),
            ("x-custom", &["1", "", "3"]),
            ("X-Request-Id", &["r"]),
            ("x-tunnels", &["t"]),
        ];
        assert_eq!(
            requested(headers),
            [
                "mcp-session-id: s",
                "Mcp-Protocol-Version: v",
                "Last-Event-ID: 7",
                "Authorization: Bearer of-the-caller",
                "x-custom: 1",
                "x-custom: ",
                "x-custom: 3",
                "X-Request-Id: r",
                "x-tunnels: t",
            ]
        );
    }

    #[test]
    fn holds_back_what_belongs_to_one_connection_or_to_the_client() {
        for name in WITHHELD_HEADERS {
            let (upper, value): (_, &[&str]) = (name.to_ascii_uppercase(), &["v"]);
            assert_eq!(requested(&[(name, value), (&upper, value)]), [""; 0]);
        }
        for name in [
            "X-Tunnel-Shard-Token",
            "x-tunnel-",
            "",
            "a b",
            "a:b",
            ":path",
            "é",
            "a\r\nb",
        ] {
            assert_eq!(requested(&[(name, &["v"])]), [""; 0], "{name:?}");
        }
        assert_eq!(
            requested(&[("a", &["x\r\nb: c", "\0", "\u{7f}", "ok\t"])]),
            ["a: ok\t"]
        );
        let named: &[(&str, &[&str])] = &[
            ("x-one", &["1"]),
            ("connection", &["X-One , keep-alive", "x-two"]),
            ("X-Two", &["2"]),
            ("x-three", &["3"]),
        ];
        assert_eq!(requested(named), ["x-three: 3"]);
    }

    // spec-test: CMD-38
    #[test]
    fn an_answer_made_here_keeps_the_headers_of_the_targets_but_its_type() {
        let json = || {
            (
                "Content-Type".to_owned(),
                vec![MESSAGE_CONTENT_TYPE.to_owned()],
            )
        };
        let challenge = || ("WWW-Authenticate".to_owned(), vec!["Bearer".to_owned()]);
        let html = ("Content-Type".to_owned(), vec!["text/html".to_owned()]);
        assert_eq!(json_headers(), [json()]);
        assert_eq!(
            made_answer_headers(vec![challenge()]),
            [json(), challenge()]
        );
        let both = made_answer_headers(vec![html, challenge()]);
        assert_eq!(both, [json(), challenge()]);
    }

    // spec-test: CMD-24
    #[test]
    fn a_stream_is_told_by_its_type_and_is_never_an_error() {
        for (value, is_stream) in [
            ("text/event-stream", true),
            (" Text/Event-Stream ; charset=utf-8", true),
            ("\ttext/event-stream\t;", true),
            ("text/event-stream\u{a0}", false),
            ("\u{2003}text/event-stream", false),
            ("text/event-stream\u{85};charset=utf-8", false),
            ("application/json", false),
            ("text/event-streams", false),
            ("", false),
        ] {
            for status in [200, 202, 299] {
                let told = is_event_stream(status, Some(value.as_bytes()));
                assert_eq!(told, is_stream, "{value}");
            }
            for status in [199, 300, 401, 500] {
                assert!(!is_event_stream(status, Some(value.as_bytes())), "{value}");
            }
        }
        assert!(!is_event_stream(200, None));
        assert!(!is_event_stream(200, Some(b"\xff")));
    }

    fn failure(source: FailureSource) -> TunnelFailure {
        TunnelFailure {
            source,
            transport_error_kind: None,
            upstream_response_received: true,
        }
    }

    // spec-test: CMD-21
    #[test]
    fn an_answer_to_the_request_passes_with_any_status() {
        let request = RawId::parse("\"a\"").unwrap();
        for text in [
            "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}",
            "\n { \"id\":\"\\u0061\", \"jsonrpc\":\"2.0\",\"result\":1e999,\"x\":1,\"x\":2}",
            r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"no","data":[]}}"#,
        ] {
            for status in [200, 202, 302, 400, 404, 500, 503] {
                let judged = judge_answer(&request, status, text.into());
                assert_eq!(judged.as_deref(), Ok(text));
            }
        }
    }

    // spec-test: CMD-21, CMD-22
    #[test]
    fn anything_else_is_a_failure_by_its_status() {
        let request = RawId::parse("1").unwrap();
        for body in [
            b"".as_slice(),
            b"not found",
            b"\xff",
            br#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
            br#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
            br#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#,
            br#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#,
            br#"{"jsonrpc":"1.0","id":1,"result":{}}"#,
            br#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
            br#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#,
            br#"{"error":"unauthorized"}"#,
        ] {
            for status in [200, 202, 204, 299] {
                let judged = judge_answer(&request, status, body.into());
                assert_eq!(judged, Err(failure(FailureSource::Protocol)), "{status}");
            }
            for status in [100, 199, 300, 302, 401, 404, 500, 599, 700] {
                let judged = judge_answer(&request, status, body.into());
                let status = Some(status);
                assert_eq!(judged, Err(failure(FailureSource::TargetHttp { status })));
            }
        }
    }

    // spec-test: CMD-22, CMD-39
    #[test]
    fn what_asks_for_no_answer_is_judged_by_the_status_alone() {
        for (code, accepts, ends) in [
            (199, false, false),
            (200, true, true),
            (299, true, true),
            (300, false, false),
            (400, false, true),
            (404, false, true),
            (405, false, true),
            (499, false, true),
            (500, false, false),
            (503, false, false),
            (600, false, false),
        ] {
            let source = FailureSource::TargetHttp { status: Some(code) };
            let judged = |good: bool| if good { Ok(()) } else { Err(failure(source)) };
            assert_eq!(judge_acceptance(code), judged(accepts), "{code}");
            assert_eq!(judge_termination(code), judged(ends), "{code}");
        }
    }

    // spec-test: CMD-22
    #[test]
    fn an_error_keeps_its_status_whatever_becomes_of_its_body() {
        for (status, source) in [
            (200, FailureSource::Protocol),
            (401, FailureSource::TargetHttp { status: Some(401) }),
            (503, FailureSource::TargetHttp { status: Some(503) }),
        ] {
            let fault = TunnelFailure {
                transport_error_kind: Some("answer_too_large"),
                ..failure(FailureSource::Protocol)
            };
            assert_eq!(by_status(status, fault), TunnelFailure { source, ..fault });
        }
    }

    // spec-test: CMD-24
    #[test]
    fn tells_the_answer_in_a_stream_from_what_comes_before_it() {
        let request = RawId::parse("1").unwrap();
        let event = |kind: &str, data: &str| Event {
            event: kind.to_owned(),
            data: data.to_owned(),
            id: None,
        };
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        for (data, meaning) in [
            (answer, EventMeaning::Answer),
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#,
                EventMeaning::Answer,
            ),
            (
                r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
                EventMeaning::Nothing,
            ),
            (
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#,
                EventMeaning::Nothing,
            ),
            (
                r#"{"jsonrpc":"2.0","method":"a"}"#,
                EventMeaning::Notification,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
                EventMeaning::Notification,
            ),
            ("", EventMeaning::Nothing),
            ("{}", EventMeaning::Nothing),
        ] {
            let found = judge_event(&request, &event("message", data));
            assert_eq!(found, meaning, "{data}");
            let other = judge_event(&request, &event("other", data));
            assert_eq!(other, EventMeaning::Nothing, "{data}");
        }
    }

    proptest! {
        #[test]
        fn reads_any_bytes(
            name in ".*",
            value in prop::collection::vec(any::<u8>(), 0..16),
            text in ".*",
            status in any::<u16>(),
        ) {
            let id = RawId::of_text(&text);
            let _ = judge_answer(&id, status, value.clone());
            let _ = is_event_stream(status, Some(&value));
            let lines = [(&*name, &*value), ("connection", &value), ("Mcp-Session-Id", &value)];
            prop_assert!(answer_headers(lines).len() <= 1);
            let _ = request_headers(&[(name, vec![text])]);
        }
    }
}
