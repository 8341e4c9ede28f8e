//! Answers of a target that is reached by HTTP: any status, field lines and body, in one piece or as a
//! stream, to the POST that tells the service. Whatever the target says, the service gets a JSON-RPC
//! message with the request's id, only the headers that may pass, and no word of the target beyond that.

use moorline_model::awaited::Awaited;
use moorline_model::jsonrpc::RawId;
use moorline_model::sse::{EventStream, EventStreamFault};
use moorline_model::target::{
    ContentKind, EventMeaning, Judged, MAX_ANSWER_HEADER_BYTES, answer_headers, answers,
    content_kind, judge, judge_event, request_headers, stream_without_answer,
};
use moorline_model::wire::{Channel, FailureSource, ResponseBody, ResponseType, TunnelFailure};

use crate::oracle::answer::{self, Answer, Came, Headers, answer};
use crate::oracle::json::{JsonString, all, elements, is_json, members, string};
use crate::oracle::jsonrpc::{Told, read};

/// Messages that callers send; the first two ask for no answer.
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

/// Takes one answer:
///
/// * a byte for the message that it answers;
/// * a byte for the length of the pieces in which a stream arrives (0 is one byte);
/// * a byte for how many times more the field lines stand there;
/// * lines, the status in decimal first, then field lines as `name:value`, until an empty line;
/// * the body.
pub fn run(data: &[u8]) {
    let Some(arrived) = Arrived::read(data) else {
        return;
    };
    arrived.judge_request_headers();
    let headers = arrived.judge_answer_headers();
    let found = arrived.pass_on(headers.clone());
    assert_eq!(found, answer(&arrived.came(), headers));
    judge_post(&found);
}

struct Arrived<'a> {
    message: &'static str,
    piece: usize,
    status: u16,
    lines: Vec<(&'a str, &'a [u8])>,
    /// How many lines there are before they are repeated.
    lines_once: usize,
    body: &'a [u8],
}

impl<'a> Arrived<'a> {
    fn read(data: &'a [u8]) -> Option<Self> {
        let (&[message, piece, times], text) = data.split_first_chunk()?;
        let head = text.windows(2).position(|pair| pair == b"\n\n");
        let (head, body) = match head {
            Some(at) => (text.get(..at)?, text.get(at + 2..)?),
            None => (text, &b""[..]),
        };
        let mut lines = head.split(|byte| *byte == b'\n');
        let status: u16 = std::str::from_utf8(lines.next()?).ok()?.parse().ok()?;
        let lines: Vec<_> = lines.filter_map(field_line).collect();
        let at = usize::from(message) % MESSAGES.len();
        let arrived = Self {
            message: MESSAGES.get(at)?,
            piece: usize::from(piece) + 1,
            status: (100..1000).contains(&status).then_some(status)?,
            lines_once: lines.len(),
            lines: lines.repeat(usize::from(times) + 1),
            body,
        };
        // Nothing says what other white space than blanks means around a media type.
        let is_plain = arrived.content_type().is_none_or(<[u8]>::is_ascii);
        is_plain.then_some(arrived)
    }

    fn content_type(&self) -> Option<&'a [u8]> {
        let named = |line: &&(&str, &[u8])| line.0.eq_ignore_ascii_case("content-type");
        self.lines.iter().find(named).map(|(_, value)| *value)
    }

    fn came(&self) -> Came<'a> {
        Came {
            request: match read(self.message) {
                Ok(Told::Request { id, .. }) => Some(id),
                _ => None,
            },
            status: self.status,
            content_type: self.content_type(),
            body: self.body,
            event_limit: EVENT_LIMIT,
        }
    }

    /// What a client makes of the answer that asks the model about everything.
    fn pass_on(&self, headers: Headers) -> Answer {
        let awaited = Awaited::by_message(self.message).expect("a message");
        let mut notes = Vec::new();
        let json = match awaited.request() {
            None => match judge(None, self.status, self.body) {
                Judged::Accepted { code } => {
                    assert_eq!(code, self.status);
                    Ok(None)
                }
                Judged::Failure(failure) => Err(failure),
                Judged::PassThrough { .. } => panic!("nothing was asked"),
            },
            Some(id) if self.is_stream() => self.read_events(id, &mut notes).map(Some),
            Some(id) => self.read_whole(id).map(Some),
        };
        match json {
            Ok(json) => Answer {
                code: self.status,
                json,
                headers,
                kind: awaited.kind().as_str(),
                notes,
            },
            // Nothing of the answer passes, not even its headers.
            Err(failure) => Answer {
                code: failure.resp_code(),
                json: Some(awaited.error(&failure)),
                headers: Vec::new(),
                kind: awaited.kind().as_str(),
                notes,
            },
        }
    }

    fn is_stream(&self) -> bool {
        let is_events = content_kind(self.content_type()) == ContentKind::EventStream;
        (200..=299).contains(&self.status) && is_events
    }

    fn read_whole(&self, id: &RawId) -> Result<String, TunnelFailure> {
        let judged = judge(Some(id), self.status, self.body);
        let text = std::str::from_utf8(self.body).ok();
        let is_answer = text.is_some_and(|text| answers(text, id));
        assert_eq!(matches!(judged, Judged::PassThrough { .. }), is_answer);
        match judged {
            Judged::PassThrough { code, text } => {
                assert_eq!(code, self.status);
                Ok(text.to_owned())
            }
            Judged::Failure(failure) => Err(failure),
            Judged::Accepted { .. } => panic!("a request is not just taken"),
        }
    }

    fn read_events(&self, id: &RawId, notes: &mut Vec<String>) -> Result<String, TunnelFailure> {
        let mut stream = EventStream::new(EVENT_LIMIT);
        let mut events = Vec::new();
        for piece in self.body.chunks(self.piece) {
            let pushed = stream.push(piece, &mut events);
            for event in events.drain(..) {
                match judge_event(Some(id), &event) {
                    EventMeaning::Answer => return Ok(event.data),
                    EventMeaning::Notification => notes.push(event.data),
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
        Err(stream_without_answer(true))
    }

    /// Which headers come back.
    fn judge_answer_headers(&self) -> Headers {
        let found = answer_headers(self.lines.iter().copied());
        let expected = answer::headers(&self.lines);
        let size = |headers: &Headers| -> usize {
            let values = headers.iter().flat_map(|(_, values)| values);
            values.map(String::len).sum()
        };
        assert!(size(&found) <= MAX_ANSWER_HEADER_BYTES);
        // Those count too that `Connection` names.
        if answer::size(&self.lines) <= MAX_ANSWER_HEADER_BYTES {
            assert_eq!(found, expected);
        }
        // What is too much is left out at the end.
        for (name, values) in &found {
            let all = expected.iter().find(|(other, _)| other == name);
            let (_, all) = all.expect("a header that came");
            assert!(all.starts_with(values), "{name}");
        }
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
