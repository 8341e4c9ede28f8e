//! Answers of a target that is reached by HTTP: any status, field lines and body, in one piece or as a
//! stream, which may go on after a GET, to the POST that tells the service. Whatever the target says, the
//! service gets a JSON-RPC message with the request's id, only the headers that may pass, and no word of
//! the target beyond that.

use std::time::Duration;

use moorline_model::awaited::Awaited;
use moorline_model::jsonrpc::RawId;
use moorline_model::resumption::{Refusal, Resumption, judge_resumed};
use moorline_model::sse::{EventStream, EventStreamFault};
use moorline_model::target::{
    EventMeaning, MAX_ANSWER_HEADER_BYTES, STREAM_WITHOUT_ANSWER, answer_headers, by_status,
    is_event_stream, judge_acceptance, judge_answer, judge_event, judge_termination,
    made_answer_headers, request_headers,
};
use moorline_model::wire::{Channel, FailureSource, ResponseBody, ResponseType, TunnelFailure};

use crate::oracle::answer::{
    self, Answer, Asked, Body, Came, GETS_IN_A_ROW, Get, Headers, Later, Way, answer,
};
use crate::oracle::json::{JsonString, all, elements, is_json, members, string};
use crate::oracle::jsonrpc::{Told, read};

/// Messages that callers send; the first two ask for no answer. After them comes the end of a session.
pub const MESSAGES: [&str; 6] = [
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
    r#"{"jsonrpc":"2.0","id":"a","method":"tools/call"}"#,
    r#"{"jsonrpc":"2.0","id":"\u0061\ud800","method":"tools/call"}"#,
    r#"{"jsonrpc":"2.0","id":-0,"method":"tools/call"}"#,
];

/// The greatest size of an event.
const EVENT_LIMIT: usize = 2_000;

/// Ends a body.
const END: u8 = 0x1e;

/// Ends a body as well, and breaks the connection.
const BREAK: u8 = 0x1f;

/// A connection that breaks, as a client would say it.
const BROKEN: TunnelFailure = TunnelFailure {
    source: FailureSource::TransportClosed,
    transport_error_kind: Some("broken"),
    upstream_response_received: true,
};

/// A server that cannot be reached.
const REFUSED: TunnelFailure = TunnelFailure {
    source: FailureSource::Connect,
    transport_error_kind: Some("refused"),
    upstream_response_received: false,
};

/// Takes one answer:
///
/// * a byte for the message that it answers;
/// * a byte for the length of the pieces in which a stream arrives (0 is one byte);
/// * a byte for how many times more the field lines stand there;
/// * lines, the status in decimal first, then field lines as `name:value`, until an empty line;
/// * the body, up to one of the two bytes that end it (`END`, `BREAK`) or the end;
/// * for each GET of the rest of a stream, a line with status and content type, separated by a blank, and
///   a body like the first. Where there is no such line, and after the last, no server is reached.
pub fn run(data: &[u8]) {
    let Some(arrived) = Arrived::read(data) else {
        return;
    };
    arrived.judge_request_headers();
    let headers = arrived.judge_answer_headers();
    let found = arrived.pass_on(headers.clone());
    assert_eq!(found, answer(&arrived.came(), headers));
    judge_gets(&found.way.gets);
    judge_post(&found);
}

struct Arrived<'a> {
    /// `None` for the end of a session.
    message: Option<&'static str>,
    piece: usize,
    status: u16,
    lines: Vec<(&'a str, &'a [u8])>,
    /// How many lines there are before they are repeated.
    lines_once: usize,
    body: Body<'a>,
    later: Vec<Later<'a>>,
}

impl<'a> Arrived<'a> {
    fn read(data: &'a [u8]) -> Option<Self> {
        let (&[message, piece, times], text) = data.split_first_chunk()?;
        let head = text.windows(2).position(|pair| pair == b"\n\n");
        let (head, rest) = match head {
            Some(at) => (text.get(..at)?, text.get(at + 2..)?),
            None => (text, &b""[..]),
        };
        let mut lines = head.split(|byte| *byte == b'\n');
        let status: u16 = std::str::from_utf8(lines.next()?).ok()?.parse().ok()?;
        let lines: Vec<_> = lines.filter_map(field_line).collect();
        let at = usize::from(message) % (MESSAGES.len() + 1);
        let (body, mut rest) = first_body(rest);
        let mut later = Vec::new();
        while !rest.is_empty() {
            let (one, after) = first_body(rest);
            later.push(later_of(one));
            rest = after;
        }
        Some(Self {
            message: MESSAGES.get(at).copied(),
            piece: usize::from(piece) + 1,
            status: (100..1000).contains(&status).then_some(status)?,
            lines_once: lines.len(),
            lines: lines.repeat(usize::from(times) + 1),
            body,
            later,
        })
    }

    fn content_type(&self) -> Option<&'a [u8]> {
        let named = |line: &&(&str, &[u8])| line.0.eq_ignore_ascii_case("content-type");
        self.lines.iter().find(named).map(|(_, value)| *value)
    }

    fn came(&self) -> Came<'_> {
        Came {
            asked: match self.message.map(read) {
                Some(Ok(Told::Request { id, .. })) => Asked::Request(id),
                Some(_) => Asked::Nothing,
                None => Asked::Termination,
            },
            status: self.status,
            content_type: self.content_type(),
            body: self.body,
            later: &self.later,
            event_limit: EVENT_LIMIT,
        }
    }

    /// What a client makes of the answer that asks the model about everything.
    fn pass_on(&self, headers: Headers) -> Answer {
        let message = |text| Awaited::by_message(text).expect("a message");
        let awaited = self.message.map_or_else(Awaited::by_termination, message);
        let mut way = Way::default();
        let json = match awaited.request() {
            None if self.message.is_none() => judge_termination(self.status).map(|()| None),
            None => judge_acceptance(self.status).map(|()| None),
            Some(id) if is_event_stream(self.status, self.content_type()) => {
                self.read_events(id, &mut way).map(Some)
            }
            Some(id) => self.read_whole(id).map(Some),
        };
        let kind = awaited.kind().as_str();
        match json.map_err(|fault| by_status(self.status, fault)) {
            Ok(json) => Answer {
                code: self.status,
                json,
                headers,
                kind,
                way,
            },
            Err(failure) => Answer {
                code: failure.resp_code(),
                json: Some(awaited.error(&failure)),
                headers: made_answer_headers(headers),
                kind,
                way,
            },
        }
    }

    fn read_whole(&self, id: &RawId) -> Result<String, TunnelFailure> {
        if self.body.is_broken {
            return Err(BROKEN);
        }
        judge_answer(id, self.status, self.body.bytes.to_owned())
    }

    fn read_events(&self, id: &RawId, way: &mut Way) -> Result<String, TunnelFailure> {
        let mut stream = EventStream::new(EVENT_LIMIT);
        let mut resumption = Resumption::default();
        let mut later = self.later.iter().copied();
        let mut read = self.read_stream(self.body, &mut stream, id, way)?;
        loop {
            let failure = match read {
                Read::Answer(text) => return Ok(text),
                Read::End(failure) => failure,
            };
            let resume = resumption.after(&stream, failure)?;
            way.gets.push(Get {
                wait: resume.wait,
                last_event_id: resume.last_event_id.to_owned(),
            });
            let allowed = self.later.len() + GETS_IN_A_ROW;
            assert!(way.gets.len() <= allowed, "asked without an end");
            read = match resumed(later.next()) {
                Err(Refusal::ForGood(failure)) => return Err(failure),
                Err(Refusal::ForNow(failure)) => Read::End(failure),
                Ok(body) => {
                    stream.reconnect();
                    self.read_stream(body, &mut stream, id, way)?
                }
            };
        }
    }

    fn read_stream(
        &self,
        body: Body<'_>,
        stream: &mut EventStream,
        id: &RawId,
        way: &mut Way,
    ) -> Result<Read, TunnelFailure> {
        let mut events = Vec::new();
        for piece in body.bytes.chunks(self.piece) {
            let pushed = stream.push(piece, &mut events);
            for event in events.drain(..) {
                match judge_event(id, &event) {
                    EventMeaning::Answer => return Ok(Read::Answer(event.data)),
                    EventMeaning::Notification => way.notes.push(event.data),
                    EventMeaning::Nothing => {}
                }
            }
            pushed.map_err(|fault| TunnelFailure {
                source: FailureSource::Protocol,
                transport_error_kind: Some(match fault {
                    EventStreamFault::NotUtf8 => "event_not_utf8",
                    _ => "event_too_large",
                }),
                upstream_response_received: true,
            })?;
        }
        let end = match body.is_broken {
            true => BROKEN,
            false => STREAM_WITHOUT_ANSWER,
        };
        Ok(Read::End(end))
    }

    /// Which headers come back.
    fn judge_answer_headers(&self) -> Headers {
        let found = answer_headers(self.lines.iter().copied());
        let expected = answer::headers(&self.lines, MAX_ANSWER_HEADER_BYTES);
        assert_eq!(found, expected);
        found
    }

    /// The same lines as the headers of a command, once each.
    fn judge_request_headers(&self) {
        let headers: Headers = self
            .lines
            .iter()
            .take(self.lines_once)
            .map(|(name, value)| {
                let values = String::from_utf8_lossy(value);
                (
                    (*name).to_owned(),
                    values.split('|').map(str::to_owned).collect(),
                )
            })
            .collect();
        assert_eq!(request_headers(&headers), answer::request_headers(&headers));
    }
}

/// What one stream gave.
enum Read {
    Answer(String),
    /// Nothing, and this is why.
    End(TunnelFailure),
}

fn resumed(later: Option<Later<'_>>) -> Result<Body<'_>, Refusal> {
    let Some((later, (status, kind))) = later.and_then(|later| Some((later, later.head?))) else {
        return Err(Refusal::ForNow(REFUSED));
    };
    judge_resumed(status, is_event_stream(status, Some(kind))).map(|()| later.body)
}

/// The bytes up to the first end, and what comes after it.
fn first_body(bytes: &[u8]) -> (Body<'_>, &[u8]) {
    let end = bytes.iter().position(|byte| matches!(*byte, END | BREAK));
    let (body, after) = bytes.split_at(end.unwrap_or(bytes.len()));
    let (is_broken, after) = match after.split_first() {
        Some((end, after)) => (*end == BREAK, after),
        None => (false, after),
    };
    let bytes = body;
    (Body { bytes, is_broken }, after)
}

fn later_of(whole: Body<'_>) -> Later<'_> {
    let mut parts = whole.bytes.splitn(2, |byte| *byte == b'\n');
    let head = parts.next().unwrap_or_default();
    let bytes = parts.next().unwrap_or_default();
    Later {
        head: later_head(head),
        body: Body { bytes, ..whole },
    }
}

fn later_head(line: &[u8]) -> Option<(u16, &[u8])> {
    let blank = line.iter().position(|byte| *byte == b' ')?;
    let (status, kind) = line.split_at_checked(blank)?;
    let status: u16 = std::str::from_utf8(status).ok()?.parse().ok()?;
    (100..1000).contains(&status).then_some((status, kind))
}

/// What holds for all GETs, whatever the streams said.
fn judge_gets(gets: &[Get]) {
    assert!(gets.iter().all(|get| !get.last_event_id.is_empty()));
    assert!(
        gets.iter()
            .all(|get| get.wait >= Duration::from_millis(100))
    );
    for in_a_row in gets.chunk_by(|one, other| one.last_event_id == other.last_event_id) {
        assert!(in_a_row.len() <= GETS_IN_A_ROW, "{in_a_row:?}");
    }
}

/// The POST has what the answer has and nothing else, and its JSON is one message byte for byte.
fn judge_post(found: &Answer) {
    let json = found.json.as_deref();
    if let Some(json) = json {
        let message = read(json).expect("a message");
        assert!(matches!(
            message,
            Told::Response { .. } | Told::Error { .. }
        ));
    }
    let channel = Channel::main();
    let kinds = [
        ResponseType::JsonRpcNotify,
        ResponseType::JsonRpcResponse,
        ResponseType::NotifyAck,
        ResponseType::SessionTerminationResponse,
    ];
    let body = ResponseBody {
        // Any text will do, odd characters among it.
        request_id: json.unwrap_or("\"\\\u{1}\u{7f}\u{2028}é"),
        channel: &channel,
        json,
        headers: &found.headers,
        code: found.code,
        kind: kinds
            .into_iter()
            .find(|kind| kind.as_str() == found.kind)
            .expect("a kind"),
    };
    let bytes = body.to_json();
    assert_eq!(bytes, body.to_json(), "the same bytes for every attempt");
    let text = String::from_utf8(bytes).expect("UTF-8");
    assert!(is_json(&text), "{text}");
    let members = members(&text).expect("an object");
    let one = |name: &str| match *all(&members, name) {
        [] => None,
        [only] => Some(only),
        _ => panic!("{name} twice"),
    };
    let is_text = |raw: Option<&str>, text: &str| {
        raw.and_then(string) == Some(JsonString::Text(text.to_owned()))
    };
    assert!(is_text(one("request_id"), body.request_id));
    assert!(is_text(one("channel"), "main"));
    assert!(is_text(one("resp_type"), found.kind));
    assert_eq!(one("resp_code"), Some(&*found.code.to_string()));
    let blank = [' ', '\t', '\r', '\n'];
    assert_eq!(one("resp_json"), json.map(|json| json.trim_matches(blank)));
    assert!(json.is_none_or(|json| text.contains(json)), "byte for byte");
    assert_eq!(
        one("resp_headers").map(headers_of).unwrap_or_default(),
        found.headers
    );
    assert_eq!(one("resp_headers").is_some(), !found.headers.is_empty());
    let optional = usize::from(json.is_some()) + usize::from(!found.headers.is_empty());
    assert_eq!(members.len(), 4 + optional);
}

fn headers_of(raw: &str) -> Headers {
    let text = |raw: &str| match string(raw) {
        Some(JsonString::Text(text)) => text,
        other => panic!("{other:?} for a value"),
    };
    let members = members(raw).expect("an object");
    members
        .into_iter()
        .map(|(name, values)| {
            let values = elements(values).expect("a list");
            (
                name.expect("a name"),
                values.into_iter().map(text).collect(),
            )
        })
        .collect()
}

fn field_line(line: &[u8]) -> Option<(&str, &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = line.split_at_checked(colon)?;
    Some((std::str::from_utf8(name).ok()?, value.get(1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "200\ncontent-type:text/event-stream\n\n";
    const STREAM: &str = "200 text/event-stream\n";
    const ANSWER: &str = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n";

    /// What is told the service of a request's stream and of what is left of it later.
    fn told(parts: &[&str]) -> Answer {
        let text = HEAD.to_owned() + &parts.join("\u{1e}");
        let bytes = [b"\x02\0\0", text.as_bytes()].concat();
        run(&bytes);
        let arrived = Arrived::read(&bytes).unwrap();
        arrived.pass_on(arrived.judge_answer_headers())
    }

    /// One `id after so many ms` a GET.
    fn gets(answer: &Answer) -> Vec<String> {
        let gets = answer.way.gets.iter();
        gets.map(|get| format!("{} after {}", get.last_event_id, get.wait.as_millis()))
            .collect()
    }

    /// The requirements, in numbers.
    #[test]
    fn the_rest_of_a_stream_is_asked_for() {
        let found = told(&["id: 1\n\n", &format!("{STREAM}{ANSWER}")]);
        assert_eq!(
            (found.code, gets(&found)),
            (200, vec!["1 after 100".to_owned()])
        );
        let found = told(&["data: a\n\n", &format!("{STREAM}{ANSWER}")]);
        assert_eq!((found.code, gets(&found)), (502, vec![]));

        let late = [
            "retry: 30\nid: 1\n\n",
            STREAM,
            "503 text/html\n",
            &format!("{STREAM}id: 2\nretry: 150\n\n"),
            &format!("{STREAM}{ANSWER}"),
        ];
        let found = told(&late);
        let waits = ["1 after 100", "1 after 200", "1 after 400", "2 after 150"];
        assert_eq!(
            (found.code, gets(&found)),
            (200, waits.map(str::to_owned).to_vec())
        );

        // Whoever is not there any more is asked five times.
        let found = told(&["id: 1\n\n"]);
        assert_eq!((found.code, found.way.gets.len()), (502, GETS_IN_A_ROW));
        assert!(
            found
                .json
                .unwrap()
                .contains(r#""source":"transport_closed""#)
        );
        let found = told(&["id: 1\n\n", "404 text/html\n", &format!("{STREAM}{ANSWER}")]);
        assert_eq!((found.code, found.way.gets.len()), (502, 1));
    }
}
