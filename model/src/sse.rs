//! Server-sent events (`text/event-stream`), read as their bytes arrive.

use std::time::Duration;

use thiserror::Error;

/// The greatest size of one event unless configured otherwise, in bytes (32 MiB).
pub const DEFAULT_EVENT_LIMIT: usize = 33_554_432;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What kind of event it is: `message` unless the stream says otherwise.
    pub event: String,
    /// The data, its lines joined by line feeds.
    pub data: String,
    /// The id of this event, or of the last one before it that had any.
    pub id: Option<String>,
}

/// Why a stream cannot be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum EventStreamFault {
    /// A field that is kept is not UTF-8. Replacing bytes would alter a message without a trace.
    #[error("an event must be UTF-8")]
    NotUtf8,
    /// One event takes more bytes than allowed.
    #[error("an event must not be larger than the limit")]
    TooLarge,
}

/// Reads one stream. An event ends with an empty line; one that the end of the stream cuts off is
/// never given out, so that there is nothing to call at the end.
#[derive(Clone, Debug)]
pub struct EventStream {
    limit: usize,
    /// The bytes of a line whose end has not arrived.
    line: Vec<u8>,
    /// The last byte was a carriage return: a line feed after it belongs to it.
    after_cr: bool,
    /// No line has ended yet, so that a byte order mark may still stand before the first.
    at_start: bool,
    pending: Pending,
    last_id: Option<String>,
    retry: Option<Duration>,
    fault: Option<EventStreamFault>,
}

/// The fields of an event whose end has not arrived.
#[derive(Clone, Debug, Default)]
struct Pending {
    event: String,
    /// `None` until there is a line of data: then the event has no data at all, and is none.
    data: Option<String>,
    /// `None` until there is a line with an id: then it has that of the event before.
    id: Option<String>,
}

impl EventStream {
    /// A stream of which nothing has arrived. An event may make the reader hold at most `limit`
    /// bytes; comments count only until their line ends.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_cr: false,
            at_start: true,
            pending: Pending::default(),
            last_id: None,
            retry: None,
            fault: None,
        }
    }

    /// Takes the bytes that came next, however they are cut, and appends the events that they
    /// complete to `events`.
    ///
    /// # Errors
    ///
    /// An event that is too large or no text. The events before it are in `events`; the stream has
    /// ended, and each further call says the same.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), EventStreamFault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let read = self.read(bytes, events);
        self.fault = read.err();
        read
    }

    /// The id that a client names to go on after a lost connection (`Last-Event-Id`): that of the last
    /// event that arrived whole. Also set by an event without data, which is not given out.
    #[must_use]
    pub fn last_event_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the stream asks to wait before it is asked for again, if it ever said so.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Forgets what a lost connection left unfinished: what comes next is the start of a new one, on
    /// which the stream goes on after its last event.
    pub fn reconnect(&mut self) {
        *self = Self {
            last_id: self.last_id.take(),
            retry: self.retry,
            ..Self::new(self.limit)
        };
    }

    fn read(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<(), EventStreamFault> {
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
            self.after_cr = false;
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let (line, tail) = rest.split_at_checked(end).unwrap_or((rest, b""));
            self.hold(line)?;
            self.line_ended(events)?;
            rest = match tail {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_cr = true;
                    b""
                }
                [_, rest @ ..] => rest,
                [] => b"",
            };
        }
        self.hold(rest)
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), EventStreamFault> {
        let held = self.held().saturating_add(bytes.len());
        if held > self.limit {
            return Err(EventStreamFault::TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn held(&self) -> usize {
        let data = self.pending.data.as_ref().map_or(0, String::len);
        let id = self.pending.id.as_ref().map_or(0, String::len);
        let last_id = self.last_id.as_ref().map_or(0, String::len);
        [self.line.len(), self.pending.event.len(), data, id, last_id]
            .iter()
            .fold(0, |sum, len| sum.saturating_add(*len))
    }

    fn line_ended(&mut self, events: &mut Vec<Event>) -> Result<(), EventStreamFault> {
        let line = std::mem::take(&mut self.line);
        let mut text = &*line;
        if std::mem::take(&mut self.at_start) {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        let read = if text.is_empty() {
            self.event_ended(events);
            Ok(())
        } else {
            self.field(text)
        };
        // The buffer serves the next line, too.
        self.line = line;
        self.line.clear();
        read
    }

    fn event_ended(&mut self, events: &mut Vec<Event>) {
        let Pending { event, data, id } = std::mem::take(&mut self.pending);
        if let Some(id) = id {
            self.last_id = (!id.is_empty()).then_some(id);
        }
        let Some(data) = data else {
            return;
        };
        events.push(Event {
            event: if event.is_empty() {
                "message".to_owned()
            } else {
                event
            },
            data,
            id: self.last_id.clone(),
        });
    }

    /// Reads a line `name: value`; the first space of the value is not part of it.
    fn field(&mut self, line: &[u8]) -> Result<(), EventStreamFault> {
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = match colon.and_then(|at| line.split_at_checked(at)) {
            Some((name, value)) => (name, value.strip_prefix(b":").unwrap_or(value)),
            None => (line, b"".as_slice()),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => self.data(text(value)?),
            b"event" => text(value)?.clone_into(&mut self.pending.event),
            b"id" => self.id(text(value)?),
            b"retry" => self.retry_after(value),
            // Comments, whose name is empty, and fields that mean nothing.
            _ => {}
        }
        Ok(())
    }

    fn data(&mut self, value: &str) {
        match &mut self.pending.data {
            Some(data) => data.extend(["\n", value]),
            None => self.pending.data = Some(value.to_owned()),
        }
    }

    fn id(&mut self, value: &str) {
        if !value.contains('\0') {
            self.pending.id = Some(value.to_owned());
        }
    }

    fn retry_after(&mut self, value: &[u8]) {
        let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let text = std::str::from_utf8(value).ok().filter(|_| digits);
        if let Some(millis) = text.and_then(|text| text.parse().ok()) {
            self.retry = Some(Duration::from_millis(millis));
        }
    }
}

fn text(value: &[u8]) -> Result<&str, EventStreamFault> {
    std::str::from_utf8(value).map_err(|_| EventStreamFault::NotUtf8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_all(chunks: &[&[u8]], limit: usize) -> (Vec<Event>, Option<EventStreamFault>) {
        let mut stream = EventStream::new(limit);
        let mut events = Vec::new();
        for chunk in chunks {
            if let Err(fault) = stream.push(chunk, &mut events) {
                return (events, Some(fault));
            }
        }
        (events, None)
    }

    /// One `event/id/data` an event.
    fn read(text: &str) -> Vec<String> {
        let (events, fault) = read_all(&[text.as_bytes()], 1_000);
        assert_eq!(fault, None, "{text:?}");
        let show = |e: Event| format!("{}/{}/{}", e.event, e.id.unwrap_or_default(), e.data);
        events.into_iter().map(show).collect()
    }

    // spec-test: CMD-24
    #[test]
    fn reads_fields_and_gives_events_out_at_empty_lines() {
        for (text, events) in [
            ("data: a\n\n", &["message//a"][..]),
            ("data:a\n\ndata: b\n\n", &["message//a", "message//b"]),
            ("data:  a \n\n", &["message// a "]),
            ("data: a\ndata:b\ndata\n\n", &["message//a\nb\n"]),
            ("event: e\ndata: a\n\ndata: b\n\n", &["e//a", "message//b"]),
            ("event: e\nevent: f\ndata: a\n\n", &["f//a"]),
            ("event:\ndata: a\n\n", &["message//a"]),
            (
                "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
                &["message/1/a", "message/1/b", "message//c"],
            ),
            ("id: 1\nid: 2\0\ndata: a\n\n", &["message/1/a"]),
            ("id: 1\n\ndata: a\n\n", &["message/1/a"]),
            (": comment\ndata: a\n: data: b\n\n", &["message//a"]),
            ("Data: a\n data: b\nother: c\ndata: d\n\n", &["message//d"]),
            ("data\n\n", &["message//"]),
            ("event: e\n\n", &[]),
            ("\n\n\n", &[]),
            ("data: a: b\n\n", &["message//a: b"]),
        ] {
            assert_eq!(read(text), events, "{text:?}");
        }
    }

    // spec-test: CMD-24
    #[test]
    fn an_unfinished_event_is_never_given_out() {
        for text in ["data: a", "data: a\n", "data: a\r", "data: a\r\n", ""] {
            assert_eq!(read(text), [""; 0], "{text:?}");
        }
    }

    #[test]
    fn takes_three_kinds_of_line_ends_mixed() {
        for text in [
            "data: a\r\rdata: b\r\r",
            "data: a\r\n\r\ndata: b\r\n\r\n",
            "data: a\n\r\ndata: b\r\n\n",
            "data: a\r\n\rdata: b\n\r",
        ] {
            assert_eq!(read(text), ["message//a", "message//b"], "{text:?}");
        }
    }

    #[test]
    fn skips_one_byte_order_mark_at_the_very_start() {
        assert_eq!(read("\u{feff}data: a\n\n"), ["message//a"]);
        assert_eq!(read("\u{feff}\u{feff}data: a\n\n"), [""; 0]);
        assert_eq!(read("\n\u{feff}data: a\n\ndata: b\n\n"), ["message//b"]);
        assert_eq!(read("\u{feff}\ndata: b\n\n"), ["message//b"]);
    }

    #[test]
    fn tells_how_long_to_wait_from_the_line_on_that_says_it() {
        for (value, millis) in [
            ("3000", Some(3_000)),
            ("0", Some(0)),
            ("", None),
            ("+5", None),
            ("5s", None),
            ("1.5", None),
            ("18446744073709551616", None),
        ] {
            let mut stream = EventStream::new(100);
            assert_eq!(stream.retry(), None);
            let text = format!("retry: {value}\n");
            stream.push(text.as_bytes(), &mut Vec::new()).unwrap();
            stream.push(b"data: a\n\n", &mut Vec::new()).unwrap();
            assert_eq!(stream.retry(), millis.map(Duration::from_millis), "{value}");
        }
    }

    #[test]
    fn remembers_the_last_id_even_of_an_event_without_data() {
        let mut stream = EventStream::new(100);
        let mut events = Vec::new();
        assert_eq!(stream.last_event_id(), None);
        stream.push(b"id: p-1\n\n", &mut events).unwrap();
        assert_eq!((stream.last_event_id(), events.len()), (Some("p-1"), 0));
        stream.push(b"id: p-2\ndata: a\n", &mut events).unwrap();
        assert_eq!(stream.last_event_id(), Some("p-1"), "unfinished");
        stream.push(b"\n", &mut events).unwrap();
        assert_eq!(stream.last_event_id(), Some("p-2"));
        stream.push(b"id:\n\n", &mut events).unwrap();
        assert_eq!(stream.last_event_id(), None);
    }

    // spec-test: CMD-40
    #[test]
    fn an_id_counts_once_its_event_has_arrived_whole() {
        for (text, id) in [
            ("id: 1\ndata: a\n\nid: 2\ndata: b\n", "1"),
            ("id: 1\ndata: a\n\nid: 2\ndata: b\n\n", "2"),
            ("id: 1\ndata: a\n\nid\ndata: b\n", "1"),
            ("id: 1\ndata: a\n\nid: 2\nid: 3\n\n", "3"),
        ] {
            let mut stream = EventStream::new(100);
            stream.push(text.as_bytes(), &mut Vec::new()).unwrap();
            assert_eq!(stream.last_event_id(), Some(id), "{text:?}");
        }
    }

    // spec-test: CMD-40
    #[test]
    fn goes_on_after_its_last_event_on_a_new_connection() {
        let mut stream = EventStream::new(100);
        let mut events = Vec::new();
        let cut = b"retry: 5\nid: 1\n\nevent: e\nid: 2\ndata: a\r";
        stream.push(cut, &mut events).unwrap();
        stream.reconnect();
        assert_eq!(stream.last_event_id(), Some("1"));
        assert_eq!(stream.retry(), Some(Duration::from_millis(5)));
        stream.push(b"\n\xef\xbb\xbf\n", &mut events).unwrap();
        assert_eq!(events, [], "nothing is left of the event that was cut off");
        stream.reconnect();
        stream
            .push(b"\xef\xbb\xbfdata: b\n\n", &mut events)
            .unwrap();
        let (event, data, id) = ("message".to_owned(), "b".to_owned(), Some("1".to_owned()));
        assert_eq!(events, [Event { event, data, id }]);
    }

    #[test]
    fn holds_its_limit_exactly_and_stays_ended() {
        // 10 bytes: `data: 4567`.
        let (events, fault) = read_all(&[b"data: 4567\n\ndata: 4567\n\n"], 10);
        assert_eq!((events.len(), fault), (2, None));
        let (events, fault) = read_all(&[b"data: 1\n\ndata: 45678\n\n"], 10);
        assert_eq!((events.len(), fault), (1, Some(EventStreamFault::TooLarge)));
        let comments = b": 34567\n".repeat(1_000);
        assert_eq!(read_all(&[&comments], 10), (vec![], None));
        let lines = b"data:\n".repeat(1_000);
        let (_, fault) = read_all(&[&lines], 100);
        assert_eq!(fault, Some(EventStreamFault::TooLarge));
        for (name, held) in [("event", 4), ("id", 4), ("data", 4)] {
            let text = format!("{name}:1234\n:{}\n", "x".repeat(15 - held));
            assert_eq!(read_all(&[text.as_bytes()], 16).1, None, "{name}");
            let text = format!("{name}:1234\n:{}\n", "x".repeat(16 - held));
            let fault = read_all(&[text.as_bytes()], 16).1;
            assert_eq!(fault, Some(EventStreamFault::TooLarge), "{name}");
        }

        let mut stream = EventStream::new(4);
        let mut events = Vec::new();
        for bytes in [b"12345".as_slice(), b"\n", b"", b"data:\n\n"] {
            let ended = stream.push(bytes, &mut events);
            assert_eq!(ended, Err(EventStreamFault::TooLarge));
        }
        assert_eq!(events, []);
    }

    #[test]
    fn refuses_to_guess_at_what_is_no_utf8() {
        for line in [b"data: \xff".as_slice(), b"event: \xff", b"id: \xff"] {
            let text = [b"data: a\n\n", line, b"\n\n"].concat();
            let (events, fault) = read_all(&[&text], 100);
            assert_eq!((events.len(), fault), (1, Some(EventStreamFault::NotUtf8)));
        }
        let unread = b": \xff\nretry: \xff\nother: \xff\n\xff: \xff\ndata: a\n\n";
        let (events, fault) = read_all(&[unread], 100);
        assert_eq!((events.len(), fault), (1, None));
    }

    const PIECES: &[&[u8]] = &[
        b"data",
        b"data: a",
        b"event: e",
        b"id: 7",
        b"retry: 5",
        b": c",
        b":",
        b" ",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\xef\xbb\xbf",
        b"\xc3\xa9",
        b"\xff",
        b"\0",
    ];

    /// Bytes that make lines, fields and ends of them more often than not.
    fn stream_bytes() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(PIECES);
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    /// What a reader of complete streams finds in a text, line by line.
    fn read_at_once(text: &str) -> Vec<String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let Some((complete, _)) = text.rsplit_once("\n") else {
            return Vec::new();
        };
        let mut data: Option<String> = None;
        let mut found = Vec::new();
        for line in complete.split('\n') {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            if line.is_empty() {
                found.extend(data.take());
            } else if name == "data" {
                let value = value.strip_prefix(' ').unwrap_or(value);
                data = Some(data.map_or(value.to_owned(), |data| format!("{data}\n{value}")));
            }
        }
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

        // spec-test: CMD-24
        #[test]
        fn any_split_gives_the_same_events(
            bytes in stream_bytes(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
            limit in prop_oneof![Just(1_000_usize), 0..40_usize],
        ) {
            let whole = read_all(&[&bytes], limit);
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            ends.push(bytes.len());
            ends.sort_unstable();
            let mut start = 0;
            let mut chunks = Vec::new();
            for end in ends {
                chunks.push(&bytes[start..end]);
                start = end;
            }
            prop_assert_eq!(&read_all(&chunks, limit), &whole);
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            prop_assert_eq!(&read_all(&single, limit), &whole);
        }

        // spec-test: CMD-24
        #[test]
        fn agrees_with_a_reader_of_whole_texts(bytes in stream_bytes()) {
            if let Ok(text) = std::str::from_utf8(&bytes) {
                let data: Vec<String> = read_all(&[&bytes], 1_000)
                    .0
                    .into_iter()
                    .map(|event| event.data)
                    .collect();
                prop_assert_eq!(data, read_at_once(text));
            }
        }
    }
}
