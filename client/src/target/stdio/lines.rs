//! Lines of a child's output, each up to a limit.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// Reads one line after the other into the same buffer.
pub(super) struct Lines<R> {
    input: R,
    limit: usize,
    line: Vec<u8>,
}

/// What came next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// A line, without its end.
    Line(&'a [u8]),
    /// The output has ended. A line without an end is none.
    End,
    /// The line is longer than the limit; nothing can be read any more.
    TooLong,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(super) fn new(input: R, limit: usize) -> Self {
        Self {
            input,
            limit,
            line: Vec::new(),
        }
    }

    pub(super) async fn next(&mut self) -> Next<'_> {
        // A line of the greatest size should not hold its memory for good.
        self.line.clear();
        self.line.shrink_to(64 * 1024);
        loop {
            // Output that cannot be read has ended.
            let Ok(bytes) = self.input.fill_buf().await else {
                return Next::End;
            };
            if bytes.is_empty() {
                return Next::End;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            if self.line.len().saturating_add(part.len()) > self.limit {
                return Next::TooLong;
            }
            self.line.extend_from_slice(part);
            let used = part.len().saturating_add(usize::from(end.is_some()));
            self.input.consume(used);
            if end.is_some() {
                let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
                return Next::Line(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    async fn all(input: &[u8], limit: usize, buffer: usize) -> (Vec<Vec<u8>>, bool) {
        let mut lines = Lines::new(BufReader::with_capacity(buffer, input), limit);
        let mut found = Vec::new();
        loop {
            match lines.next().await {
                Next::Line(line) => found.push(line.to_vec()),
                Next::End => return (found, false),
                Next::TooLong => return (found, true),
            }
        }
    }

    #[tokio::test]
    async fn lines_are_the_same_however_they_arrive() {
        for buffer in 1..12 {
            let (found, too_long) = all(b"ab\n\ncdef\r\nunfinished", 10, buffer).await;
            assert_eq!(found, [b"ab".as_slice(), b"", b"cdef"], "{buffer}");
            assert!(!too_long);
        }
    }

    #[tokio::test]
    async fn one_byte_over_the_limit_ends_it() {
        for buffer in [1, 3, 64] {
            let (found, too_long) = all(b"abcd\nabcde\nx\n", 4, buffer).await;
            assert_eq!((found.len(), too_long), (1, true), "{buffer}");
            let (found, too_long) = all(b"abcd\nabcd", 4, buffer).await;
            assert_eq!((found.len(), too_long), (1, false), "{buffer}");
        }
    }
}
