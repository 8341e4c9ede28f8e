use std::io::{self, BufRead, Read as _};

use thiserror::Error;

use super::event::Event;

/// The most bytes of one line; the client's are shorter than 600.
pub const LINE_BYTES_MAX: usize = 4_096;

/// The most lines of one trace. The beginning of a longer one is a trace, too.
pub const LINES_MAX: usize = 2_000_000;

/// The events of one client since it started, in the order of their lines.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub(super) lines: Vec<Line>,
}

/// One event and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// From 1.
    pub(super) number: u64,
    pub(super) event: Event,
}

/// Why something is no trace.
#[derive(Debug, Error)]
pub enum TraceFault {
    /// There is no line at all.
    #[error("the trace is empty, so that it shows nothing")]
    Empty,
    /// A line is no event.
    #[error("line {line}: {fault}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// What is wrong with it.
        fault: LineFault,
    },
    /// More than [`LINES_MAX`] lines.
    #[error("more than {LINES_MAX} lines; validate the first {LINES_MAX}")]
    TooManyLines,
    /// The input cannot be read.
    #[error("the trace cannot be read: {0}")]
    Unreadable(#[from] io::Error),
}

/// Why a line is no event.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LineFault {
    /// The input ends in the middle of the line.
    #[error("the input ends before the line does; leave this line out to validate the others")]
    CutOff,
    /// Not JSON, or not with the members of an event.
    #[error("column {column}: {problem}")]
    NotAnEvent {
        /// In bytes, from 1.
        column: usize,
        /// What the JSON reader says.
        problem: String,
    },
    /// Something else than an object.
    #[error("each line must be one JSON object")]
    NotAnObject,
    /// More than [`LINE_BYTES_MAX`] bytes.
    #[error("more than {LINE_BYTES_MAX} bytes")]
    TooLong,
}

impl Trace {
    /// Reads JSON lines.
    ///
    /// # Errors
    ///
    /// Whatever is not a list of events, with the number of the line.
    pub fn read(mut input: impl BufRead) -> Result<Self, TraceFault> {
        let mut lines = Vec::new();
        let mut text = Vec::new();
        loop {
            text.clear();
            let most = u64::try_from(LINE_BYTES_MAX).unwrap_or(u64::MAX);
            // A byte more than the limit for the line, and one for its end.
            let mut limited = input.by_ref().take(most.saturating_add(2));
            if limited.read_until(b'\n', &mut text)? == 0 {
                break;
            }
            if lines.len() == LINES_MAX {
                return Err(TraceFault::TooManyLines);
            }
            let number = u64::try_from(lines.len()).map_or(u64::MAX, |lines| lines + 1);
            let event = read_line(&text).map_err(|fault| TraceFault::Line {
                line: number,
                fault,
            })?;
            lines.push(Line { number, event });
        }
        if lines.is_empty() {
            return Err(TraceFault::Empty);
        }
        Ok(Self { lines })
    }

    /// How many events there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is none. What was [read](Self::read) never is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

/// A trace made by a program, with lines numbered from 1.
impl FromIterator<Event> for Trace {
    fn from_iter<I: IntoIterator<Item = Event>>(events: I) -> Self {
        let lines = (1..)
            .zip(events)
            .map(|(number, event)| Line { number, event });
        Self {
            lines: lines.collect(),
        }
    }
}

fn read_line(text: &[u8]) -> Result<Event, LineFault> {
    let (text, whole) = match text.strip_suffix(b"\n") {
        Some(text) => (text, true),
        None => (text, false),
    };
    if text.len() > LINE_BYTES_MAX {
        return Err(LineFault::TooLong);
    }
    // An array with the right values would be read as an event.
    if !text.trim_ascii_start().starts_with(b"{") {
        return Err(LineFault::NotAnObject);
    }
    serde_json::from_slice(text).map_err(|error| {
        if error.is_eof() && !whole {
            return LineFault::CutOff;
        }
        LineFault::NotAnEvent {
            column: error.column(),
            problem: problem(&error),
        }
    })
}

/// What the JSON reader says, without its own count of lines, and safe to print: it repeats names
/// that stand in the file.
fn problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let mut safe = String::new();
    for letter in text.strip_suffix(&place).unwrap_or(&text).chars() {
        if letter.is_control() {
            safe.extend(letter.escape_default());
        } else {
            safe.push(letter);
        }
    }
    safe
}
