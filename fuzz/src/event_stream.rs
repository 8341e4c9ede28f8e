//! Server-sent events: the same bytes in one piece, in many and one by one give the same events, those
//! of a reader of whole texts, and no event beyond the limit. So do the same bytes once more on a new
//! connection, which goes on where the first ended.

use std::time::Duration;

use moorline_model::sse::{Event, EventStream, EventStreamFault};

use crate::oracle::event_stream::{Dispatched, Fault, Place, Stream, read};

/// Up to this length a stream is cut in two at every place.
const SHORT: usize = 40;

/// What the limit is where the input does not choose it: more than any input has.
const NO_LIMIT: usize = 1 << 21;

/// Takes three bytes, then the stream: the limit (0 for none, and otherwise one byte less than this),
/// and two lengths of pieces that take turns (0 is one byte).
pub fn run(data: &[u8]) {
    let Some((&[limit, one, other], bytes)) = data.split_first_chunk() else {
        return;
    };
    let limit = usize::from(limit).checked_sub(1).unwrap_or(NO_LIMIT);
    let whole = cut(bytes, &[], limit);
    judge_all(&whole, bytes, limit);
    for piece in [one, other] {
        let sizes = [usize::from(piece) + 1, usize::from(other) + 1];
        assert_eq!(cut(bytes, &sizes, limit), whole, "{sizes:?}");
    }
    assert_eq!(cut(bytes, &[1], limit), whole, "byte by byte");
    if bytes.len() <= SHORT {
        for first in 0..bytes.len() {
            assert_eq!(cut(bytes, &[first, SHORT], limit), whole, "{first}");
        }
    }
}

/// What a reader made of one connection.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    events: Vec<Event>,
    fault: Option<EventStreamFault>,
    last_id: Option<String>,
    retry: Option<Duration>,
}

/// Reads in pieces of these sizes in turn, in one piece where there are none: on one connection, and
/// then on another, unless the first had a fault.
fn cut(bytes: &[u8], sizes: &[usize], limit: usize) -> Vec<Found> {
    let mut stream = EventStream::new(limit);
    let mut found = vec![connection(&mut stream, bytes, sizes)];
    if found.iter().all(|first| first.fault.is_none()) {
        stream.reconnect();
        found.push(connection(&mut stream, bytes, sizes));
    }
    found
}

fn connection(stream: &mut EventStream, bytes: &[u8], sizes: &[usize]) -> Found {
    let mut events = Vec::new();
    let mut fault = None;
    let mut rest = bytes;
    let mut sizes = sizes.iter().cycle();
    while !rest.is_empty() {
        let size = sizes
            .next()
            .map_or(rest.len(), |size| rest.len().min(*size));
        let (piece, after) = rest.split_at(size);
        let pushed = stream.push(piece, &mut events);
        if let Err(found) = pushed {
            ended(stream, found, after);
            fault = Some(found);
            break;
        }
        rest = after;
    }
    Found {
        events,
        fault,
        last_id: stream.last_event_id().map(str::to_owned),
        retry: stream.retry(),
    }
}

/// A stream with a fault gives nothing any more, and says the same again.
fn ended(stream: &mut EventStream, fault: EventStreamFault, rest: &[u8]) {
    let mut events = Vec::new();
    for bytes in [rest, b"", b"\n\ndata: late\n\n"] {
        assert_eq!(stream.push(bytes, &mut events), Err(fault));
    }
    assert_eq!(events, []);
}

fn judge_all(found: &[Found], bytes: &[u8], limit: usize) {
    let first = read(bytes, limit, Place::default());
    let mut expected = vec![first.clone()];
    if first.fault.is_none() {
        expected.push(read(bytes, limit, first.place));
    }
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        judge(found, expected, limit);
    }
}

fn judge(found: &Found, expected: &Stream, limit: usize) {
    let events: Vec<Dispatched> = found.events.iter().cloned().map(dispatched).collect();
    assert_eq!(events, expected.events);
    let fault = found.fault.map(|fault| match fault {
        EventStreamFault::NotUtf8 => Fault::NotUtf8,
        EventStreamFault::TooLarge => Fault::TooLarge,
        other => panic!("a fault that nobody told of: {other:?}"),
    });
    assert_eq!(fault, expected.fault);
    assert_eq!(found.last_id, expected.place.last_id);
    assert_eq!(found.retry, expected.place.retry);
    for event in &events {
        let named = if event.event == "message" {
            0
        } else {
            event.event.len()
        };
        let id = event.id.as_ref().map_or(0, String::len);
        assert!(event.data.len() + named + id <= limit, "{event:?}");
    }
}

fn dispatched(event: Event) -> Dispatched {
    Dispatched {
        event: event.event,
        data: event.data,
        id: event.id,
    }
}
