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
mod tests;
