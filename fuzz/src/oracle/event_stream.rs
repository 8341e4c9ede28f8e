//! Server-sent events, read from a whole text line by line: written from the section "Interpreting an
//! event stream" of the HTML standard, and from the ways in which the model may differ from it. It
//! refuses fields that are no UTF-8, and events beyond a limit. On a new connection the last event ID
//! stays until an event has another one.

use std::time::Duration;

/// What one connection comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stream {
    pub(crate) events: Vec<Dispatched>,
    /// Why it was not read to its end.
    pub(crate) fault: Option<Fault>,
    pub(crate) place: Place,
}

/// What outlives a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// The last event ID: that of the last event that was complete, with data or without; `None` while
    /// events have had none, or an empty one.
    pub(crate) last_id: Option<String>,
    /// The reconnection time, once the stream has said it.
    pub(crate) retry: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dispatched {
    pub(crate) event: String,
    pub(crate) data: String,
    pub(crate) id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    NotUtf8,
    TooLarge,
}

/// The buffers of the standard.
#[derive(Default)]
struct Buffers {
    data: String,
    event: String,
    /// The last event ID buffer, if the event has a line for it; otherwise it is as it was.
    id: Option<String>,
}

/// Reads a connection that has ended, after others that came to this place. An event may take so many
/// bytes: the line that is read together with what the buffers hold and the last event ID.
pub(crate) fn read(bytes: &[u8], limit: usize, place: Place) -> Stream {
    let mut lines = lines(bytes);
    let unfinished = lines.pop().unwrap_or_default();
    let mut stream = Stream {
        place,
        ..Stream::default()
    };
    let mut buffers = Buffers::default();
    for (number, line) in lines.iter().enumerate() {
        if buffers.held(&stream) + line.len() > limit {
            stream.fault = Some(Fault::TooLarge);
            return stream;
        }
        let bom = if number == 0 { "\u{feff}" } else { "" };
        let line = line.strip_prefix(bom.as_bytes()).unwrap_or(line);
        if line.is_empty() {
            buffers.dispatch(&mut stream);
        } else if buffers.field(line, &mut stream).is_none() {
            stream.fault = Some(Fault::NotUtf8);
            return stream;
        }
    }
    if buffers.held(&stream) + unfinished.len() > limit {
        stream.fault = Some(Fault::TooLarge);
    }
    stream
}

/// Cuts at carriage return and line feed, at line feed, and at carriage return. The last piece has no
/// end.
fn lines(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = vec![Vec::new()];
    let mut before = None;
    for byte in bytes {
        match (before, byte) {
            (Some(b'\r'), b'\n') => {}
            (_, b'\r' | b'\n') => lines.push(Vec::new()),
            _ => lines.last_mut().expect("a line").push(*byte),
        }
        before = Some(*byte);
    }
    lines
}

impl Buffers {
    /// The line feed that the standard puts behind each line of data does not count for the last.
    fn held(&self, stream: &Stream) -> usize {
        let ids = [&self.id, &stream.place.last_id];
        let ids: usize = ids.into_iter().flatten().map(String::len).sum();
        self.data.len().saturating_sub(1) + self.event.len() + ids
    }

    fn dispatch(&mut self, stream: &mut Stream) {
        let Self { data, event, id } = std::mem::take(self);
        if let Some(id) = id {
            stream.place.last_id = Some(id).filter(|id| !id.is_empty());
        }
        if let Some(data) = data.strip_suffix('\n') {
            let named = !event.is_empty();
            stream.events.push(Dispatched {
                event: if named { event } else { "message".to_owned() },
                data: data.to_owned(),
                id: stream.place.last_id.clone(),
            });
        }
    }

    fn id(&mut self, text: &str) {
        if !text.contains('\0') {
            self.id = Some(text.to_owned());
        }
    }

    /// `None` for a field that counts and is no text.
    fn field(&mut self, line: &[u8], stream: &mut Stream) -> Option<()> {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let name = parts.next().unwrap_or_default();
        let value = parts.next().unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        let text = std::str::from_utf8(value).ok();
        match name {
            b"event" => text?.clone_into(&mut self.event),
            b"data" => self.data.extend([text?, "\n"]),
            b"id" => self.id(text?),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                if let Ok(millis) = text?.parse() {
                    stream.place.retry = Some(Duration::from_millis(millis));
                }
            }
            _ => {}
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the standard.
    #[test]
    fn reads_the_published_examples() {
        let data = |text: &str| {
            let events = read(text.as_bytes(), 1_000, Place::default()).events;
            let data = events.into_iter().map(|event| event.data);
            data.collect::<Vec<_>>()
        };
        assert_eq!(data("data: YHOO\ndata: +2\ndata: 10\n\n"), ["YHOO\n+2\n10"]);
        assert_eq!(data("data\n\ndata\ndata\n\ndata:"), ["", "\n"]);
        assert_eq!(data("data:test\n\ndata: test\n\n"), ["test", "test"]);
        let stream = ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event";
        let found = read(stream.as_bytes(), 1_000, Place::default());
        let ids: Vec<_> = found.events.iter().map(|event| event.id.clone()).collect();
        assert_eq!(ids, [Some("1".to_owned()), None]);
        assert!(
            !found
                .events
                .iter()
                .any(|event| event.data.contains("third"))
        );
    }
}
