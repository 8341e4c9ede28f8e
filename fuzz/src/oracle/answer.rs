//! What becomes of a target's answer. Written from CMD-21 to CMD-24 and CMD-38 to CMD-41, and from what
//! the model's page on resumption promises, on top of the second readers of messages and of event streams.

use std::time::Duration;

use super::event_stream::{self, Fault, Place};
use super::jsonrpc::{Meaning, Told, read};

/// Header names with their values.
pub(crate) type Headers = Vec<(String, Vec<String>)>;

/// What was sent to the target.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked<'a> {
    /// A message that asks for no answer.
    Nothing,
    /// A request with this raw id.
    Request(&'a str),
    /// The end of a session.
    Termination,
}

/// An answer as it came.
pub(crate) struct Came<'a> {
    pub(crate) asked: Asked<'a>,
    pub(crate) status: u16,
    /// The value of the first line of this name.
    pub(crate) content_type: Option<&'a [u8]>,
    pub(crate) body: Body<'a>,
    /// What each GET brings, in order; those after them reach nobody.
    pub(crate) later: &'a [Later<'a>],
    pub(crate) event_limit: usize,
}

/// A body, as far as it came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'a> {
    pub(crate) bytes: &'a [u8],
    /// The connection broke after these bytes.
    pub(crate) is_broken: bool,
}

/// What a GET of a stream brings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Later<'a> {
    /// The status and the type; `None` where the target could not be reached.
    pub(crate) head: Option<(u16, &'a [u8])>,
    pub(crate) body: Body<'a>,
}

/// What the service is told, and what it took.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) json: Option<String>,
    pub(crate) headers: Headers,
    pub(crate) kind: &'static str,
    pub(crate) way: Way,
}

/// How a request came to its answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Way {
    /// The messages before the answer.
    pub(crate) notes: Vec<String>,
    /// How its stream was asked for again.
    pub(crate) gets: Vec<Get>,
}

/// A GET of what is left of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Get {
    /// How long after the stream before had ended.
    pub(crate) wait: Duration,
    pub(crate) last_event_id: String,
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
    /// An HTTP error.
    fn status(status: u16) -> Self {
        Self {
            status: Some(status),
            ..Self::received("target_http", None)
        }
    }

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
    let mut way = Way::default();
    let is_accepted = match came.asked {
        Asked::Termination => is_success(came.status) || (400..500).contains(&came.status),
        Asked::Nothing | Asked::Request(_) => is_success(came.status),
    };
    let (kind, id, json) = match came.asked {
        Asked::Request(id) => ("jsonrpc_response", id, call(came, id, &mut way).map(Some)),
        other => {
            let kind = match other {
                Asked::Termination => "session_termination_response",
                _ => "notify_ack",
            };
            let judged = is_accepted.then_some(None);
            (kind, "null", judged.ok_or(Failed::status(came.status)))
        }
    };
    match json {
        Ok(json) => Answer {
            code: came.status,
            json,
            headers,
            kind,
            way,
        },
        Err(failed) => Answer {
            code: failed.upstream_status().unwrap_or(502),
            json: Some(error(id, failed)),
            headers: made_here(headers),
            kind,
            way,
        },
    }
}

/// The target's headers around a body that is not its own.
fn made_here(headers: Headers) -> Headers {
    let mut made = vec![(
        "Content-Type".to_owned(),
        vec!["application/json".to_owned()],
    )];
    made.extend(
        headers
            .into_iter()
            .filter(|(name, _)| name != "Content-Type"),
    );
    made
}

fn call(came: &Came<'_>, id: &str, way: &mut Way) -> Result<String, Failed> {
    if is_event_stream(came.status, came.content_type) {
        return streams(came, id, way);
    }
    let Body { bytes, is_broken } = came.body;
    if is_answer(bytes, id) && !is_broken {
        return Ok(String::from_utf8(bytes.to_owned()).expect("a message is UTF-8"));
    }
    Err(match (is_success(came.status), is_broken) {
        (true, false) => Failed::received("protocol", None),
        (true, true) => BROKEN,
        (false, false) => Failed::status(came.status),
        (false, true) => Failed {
            kind: BROKEN.kind,
            ..Failed::status(came.status)
        },
    })
}

/// What is made of a connection that breaks.
const BROKEN: Failed = Failed {
    source: "transport_closed",
    kind: Some("broken"),
    received: true,
    status: None,
};

/// What is made of a stream that ends.
const ENDED: Failed = Failed {
    source: "protocol",
    kind: Some("stream_ended"),
    received: true,
    status: None,
};

/// The least wait before a GET.
const WAIT_MIN: Duration = Duration::from_millis(100);

/// A wait grows up to this, unless the stream asks for a longer one.
const WAIT_GROWS_TO: Duration = Duration::from_secs(10);

/// The greatest number of GETs in a row without a new id.
pub(crate) const GETS_IN_A_ROW: usize = 5;

/// The answer in a stream, or in what is left of it.
fn streams(came: &Came<'_>, id: &str, way: &mut Way) -> Result<String, Failed> {
    let mut place = Place::default();
    let mut later = came.later.iter();
    let mut end = match stream(came, came.body, id, &mut place, way)? {
        Ok(answer) => return Ok(answer),
        Err(end) => end,
    };
    loop {
        let Some(get) = next_get(&place, &way.gets) else {
            return Err(end);
        };
        way.gets.push(get);
        let got = later.next().copied();
        let head = got.and_then(|later| Some((later.head?, later.body)));
        end = match head {
            // The target has the call, so that what is lost is its stream.
            None => Failed::received("transport_closed", Some("refused")),
            Some(((status, kind), body)) if is_event_stream(status, Some(kind)) => {
                match stream(came, body, id, &mut place, way)? {
                    Ok(answer) => return Ok(answer),
                    Err(end) => end,
                }
            }
            // In trouble for the moment.
            Some(((status @ (429 | 500..=599), _), _)) => Failed::status(status),
            Some(_) => return Err(ENDED),
        };
    }
}

/// How a stream is asked for that has come to this place, after those GETs.
fn next_get(place: &Place, gets: &[Get]) -> Option<Get> {
    let id = place.last_id.clone()?;
    let in_a_row = gets.iter().rev();
    let in_a_row = in_a_row.take_while(|get| get.last_event_id == id).count();
    // An id that no header can carry cannot be named.
    if in_a_row == GETS_IN_A_ROW || !id.chars().all(may_stand) {
        return None;
    }
    let mut wait = place.retry.unwrap_or_default().max(WAIT_MIN);
    for _ in 0..in_a_row {
        if wait < WAIT_GROWS_TO {
            wait = WAIT_GROWS_TO.min(wait * 2);
        }
    }
    Some(Get {
        wait,
        last_event_id: id,
    })
}

/// The messages of one connection up to the answer; otherwise why there is none, for good or so far.
fn stream(
    came: &Came<'_>,
    body: Body<'_>,
    id: &str,
    place: &mut Place,
    way: &mut Way,
) -> Result<Result<String, Failed>, Failed> {
    let stream = event_stream::read(body.bytes, came.event_limit, place.clone());
    for event in stream.events {
        if event.event != "message" {
            continue;
        }
        if is_answer(event.data.as_bytes(), id) {
            return Ok(Ok(event.data));
        }
        if let Ok(Told::Notification { .. } | Told::Request { .. }) = read(&event.data) {
            way.notes.push(event.data);
        }
    }
    *place = stream.place;
    match stream.fault {
        None if body.is_broken => Ok(Err(BROKEN)),
        None => Ok(Err(ENDED)),
        Some(Fault::NotUtf8) => Err(Failed::received("protocol", Some("event_not_utf8"))),
        Some(Fault::TooLarge) => Err(Failed::received("protocol", Some("event_too_large"))),
    }
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
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
        "transport_closed" => "the MCP server closed the connection before it answered",
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

/// A success whose media type is this one, without its parameters and whatever its case.
pub(crate) fn is_event_stream(status: u16, content_type: Option<&[u8]>) -> bool {
    let value = content_type.and_then(visible).unwrap_or_default();
    let media_type = value.split(';').next().unwrap_or_default();
    let media_type = media_type.trim_matches([' ', '\t']);
    is_success(status) && media_type.eq_ignore_ascii_case("text/event-stream")
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

/// The headers that come back: as many of their lines as have so many bytes together.
pub(crate) fn headers(lines: &[(&str, &[u8])], bytes_max: usize) -> Headers {
    let connection = values(lines, "connection");
    let names = NAMES.into_iter();
    let names: Vec<&str> = names.filter(|name| !lists(&connection, name)).collect();
    let mut bytes = 0;
    let may_pass = lines.iter().filter(|(name, value)| {
        let is_named = names.iter().any(|known| known.eq_ignore_ascii_case(name));
        is_named && visible(value).is_some()
    });
    let room = may_pass.take_while(|(_, value)| {
        bytes += visible(value).map_or(0, str::len);
        bytes <= bytes_max
    });
    let passed: Vec<(&str, &[u8])> = room.copied().collect();
    names
        .into_iter()
        .map(|name| (name.to_owned(), values(&passed, name)))
        .filter(|(_, values)| !values.is_empty())
        .collect()
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
