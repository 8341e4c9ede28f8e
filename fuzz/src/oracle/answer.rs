//! What becomes of a target's answer. Written from CMD-21 to CMD-24, on top of the second readers of
//! messages and of event streams.

use super::event_stream::{self, Fault};
use super::jsonrpc::{Meaning, Told, read};

/// Header names with their values.
pub(crate) type Headers = Vec<(String, Vec<String>)>;

/// An answer as it came.
pub(crate) struct Came<'a> {
    /// The raw id of the request; `None` where none was asked for.
    pub(crate) request: Option<&'a str>,
    pub(crate) status: u16,
    /// The value of the first line of this name.
    pub(crate) content_type: Option<&'a [u8]>,
    pub(crate) body: &'a [u8],
    pub(crate) event_limit: usize,
}

/// What the service is told.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) json: Option<String>,
    pub(crate) headers: Headers,
    pub(crate) kind: &'static str,
    /// The messages before the answer.
    pub(crate) notes: Vec<String>,
}

/// What `tunnel_failure` says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed {
    pub(crate) source: &'static str,
    pub(crate) kind: Option<&'static str>,
    pub(crate) received: bool,
    /// The target's own status, whatever it is.
    pub(crate) status: Option<u16>,
}

const FAILED_STATUSES: std::ops::RangeInclusive<u16> = 400..=599;

impl Failed {
    /// Something came, and it was no answer.
    fn received(source: &'static str, kind: Option<&'static str>) -> Self {
        Self {
            source,
            kind,
            received: true,
            status: None,
        }
    }

    /// `upstream_status`
    fn upstream_status(self) -> Option<u16> {
        self.status
            .filter(|status| FAILED_STATUSES.contains(status))
    }
}

/// What the service is told of an answer, with the headers that may pass.
pub(crate) fn answer(came: &Came<'_>, headers: Headers) -> Answer {
    let success = (200..300).contains(&came.status);
    let kind = came.request.map_or("notify_ack", |_| "jsonrpc_response");
    let mut notes = Vec::new();
    let json = match came.request {
        None if success => Ok(None),
        Some(id) if success && is_event_stream(came.content_type) => {
            events(came, id, &mut notes).map(Some)
        }
        Some(id) if is_answer(came.body, id) => Ok(Some(lossless(came.body))),
        _ if success => Err(Failed::received("protocol", None)),
        _ => Err(Failed {
            status: Some(came.status),
            ..Failed::received("target_http", None)
        }),
    };
    match json {
        Ok(json) => Answer {
            code: came.status,
            json,
            headers,
            kind,
            notes,
        },
        Err(failed) => Answer {
            code: failed.upstream_status().unwrap_or(502),
            json: Some(error(came.request.unwrap_or("null"), failed)),
            headers: Vec::new(),
            kind,
            notes,
        },
    }
}

fn lossless(body: &[u8]) -> String {
    String::from_utf8(body.to_owned()).expect("a message is UTF-8")
}

/// The messages of a stream up to the answer.
fn events(came: &Came<'_>, id: &str, notes: &mut Vec<String>) -> Result<String, Failed> {
    let stream = event_stream::read(came.body, came.event_limit);
    for event in stream.events {
        if event.event != "message" {
            continue;
        }
        if is_answer(event.data.as_bytes(), id) {
            return Ok(event.data);
        }
        if let Ok(Told::Notification { .. } | Told::Request { .. }) = read(&event.data) {
            notes.push(event.data);
        }
    }
    let kind = match stream.fault {
        None => "stream_ended",
        Some(Fault::NotUtf8) => "event_not_utf8",
        Some(Fault::TooLarge) => "event_too_large",
    };
    Err(Failed::received("protocol", Some(kind)))
}

/// Whether a body is a response or an error with this id.
fn is_answer(body: &[u8], id: &str) -> bool {
    let told = std::str::from_utf8(body).map(read);
    match told {
        Ok(Ok(Told::Response { id: other } | Told::Error { id: Some(other) })) => {
            Meaning::of(other) == Meaning::of(id)
        }
        _ => false,
    }
}

/// The error of CMD-22, compact.
pub(crate) fn error(id: &str, failed: Failed) -> String {
    let phrase = match failed.source {
        "protocol" => "the MCP server gave no valid answer to the request",
        "target_http" => "the MCP server answered with an HTTP error",
        other => panic!("no answer fails like this: {other}"),
    };
    let kind = failed
        .kind
        .map(|kind| format!(r#""transport_error_kind":"{kind}","#));
    let status = failed.upstream_status();
    let status = status.map(|status| format!(r#","upstream_status":{status}"#));
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"{phrase}","data":{{"tunnel_failure":{{"version":1,"source":"{}",{}"upstream_response_received":{}{}}}}}}}}}"#,
        failed.source,
        kind.unwrap_or_default(),
        failed.received,
        status.unwrap_or_default(),
    )
}

/// The media type, without its parameters and whatever its case.
pub(crate) fn is_event_stream(content_type: Option<&[u8]>) -> bool {
    let value = content_type.and_then(visible).unwrap_or_default();
    let media_type = value.split(';').next().unwrap_or_default();
    let media_type = media_type.trim_matches([' ', '\t']);
    media_type.eq_ignore_ascii_case("text/event-stream")
}

/// The headers that may come back.
const NAMES: [&str; 6] = [
    "Content-Type",
    "Mcp-Session-Id",
    "Mcp-Protocol-Version",
    "Last-Event-Id",
    "Access-Control-Expose-Headers",
    "WWW-Authenticate",
];

/// The headers that come back, however many bytes they have.
pub(crate) fn headers(lines: &[(&str, &[u8])]) -> Headers {
    let connection = values(lines, "connection");
    NAMES
        .into_iter()
        .filter(|name| !lists(&connection, name))
        .map(|name| (name.to_owned(), values(lines, name)))
        .filter(|(_, values)| !values.is_empty())
        .collect()
}

/// How many bytes the values have that may come back.
pub(crate) fn size(lines: &[(&str, &[u8])]) -> usize {
    let values = NAMES.iter().flat_map(|name| values(lines, name));
    values.map(|value| value.len()).sum()
}

fn values(lines: &[(&str, &[u8])], name: &str) -> Vec<String> {
    let named = lines
        .iter()
        .filter(|line| line.0.eq_ignore_ascii_case(name));
    let values = named.filter_map(|(_, value)| visible(value));
    values.map(str::to_owned).collect()
}

/// The headers of a command that go to the target, by what the model's page on targets promises.
pub(crate) fn request_headers(headers: &Headers) -> Vec<(String, String)> {
    const OWN: &str = " accept accept-encoding connection content-encoding content-length content-type \
        expect host keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer \
        transfer-encoding upgrade via ";
    let mut pairs = Vec::new();
    for (name, values) in headers {
        pairs.extend(values.iter().map(|value| (name.clone(), value.clone())));
    }
    let mut connection = Vec::new();
    for (name, value) in &pairs {
        if name.eq_ignore_ascii_case("connection") {
            connection.push(value.clone());
        }
    }
    pairs.retain(|(name, value)| {
        let lower = name.to_ascii_lowercase();
        let is_token = !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_graphic() && !"\"(),/:;<=>?@[\\]{}".contains(c));
        let is_own = OWN.contains(&format!(" {lower} ")) || lower.starts_with("x-tunnel-");
        is_token && !is_own && !lists(&connection, name) && value.chars().all(may_stand)
    });
    pairs
}

/// Whether one of several lists names this.
fn lists(lists: &[String], name: &str) -> bool {
    let mut named = lists.iter().flat_map(|list| list.split(','));
    named.any(|found| found.trim_matches([' ', '\t']).eq_ignore_ascii_case(name))
}

/// A value without blanks around it, if it is a text with anything in it, and no control characters.
fn visible(value: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(value).ok()?.trim_matches([' ', '\t']);
    (!text.is_empty() && text.chars().all(may_stand)).then_some(text)
}

/// Whether a character may stand in a field line.
fn may_stand(c: char) -> bool {
    c == '\t' || (c >= ' ' && c != '\x7f')
}
