//! What a server writes to standard error: kept for people who ask, and never logged.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};

/// The last bytes that are kept.
const KEPT_BYTES: usize = 16 * 1024;

/// Standard error of all children of one target, in turn.
#[derive(Clone, Debug, Default)]
pub(super) struct StderrKeeper(Arc<Mutex<Kept>>);

/// What was written to standard error so far.
#[derive(Clone, Default)]
pub struct Stderr {
    /// How many bytes.
    pub bytes: u64,
    /// The end of it, at most 16 KiB from the start of a line. This is the server's own text, which
    /// may hold anything: show it to the operator who asks, and do not log it.
    pub last_words: String,
}

#[derive(Default)]
struct Kept {
    bytes: u64,
    last: VecDeque<u8>,
}

impl StderrKeeper {
    /// Reads to the end, however much comes.
    pub(super) async fn keep(self, mut stderr: impl AsyncRead + Unpin) {
        let mut buffer = vec![0; 8 * 1024];
        while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
            self.lock().push(buffer.get(..count).unwrap_or_default());
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    pub(super) fn get(&self) -> Stderr {
        let mut kept = self.lock();
        let total = kept.bytes;
        let cut = u64::try_from(kept.last.len()).unwrap_or(u64::MAX) < total;
        let bytes: &[u8] = kept.last.make_contiguous();
        // Half a line, and perhaps half a character, means nothing.
        let line = bytes.iter().position(|byte| *byte == b'\n').filter(|_| cut);
        let start = line.map_or(0, |at| at.saturating_add(1));
        let whole = bytes.get(start..).unwrap_or_default();
        Stderr {
            bytes: total,
            last_words: String::from_utf8_lossy(whole).into_owned(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Bytes are bytes, whatever happened in between.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn push(&mut self, bytes: &[u8]) {
        let count = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.bytes = self.bytes.saturating_add(count);
        self.last.extend(bytes);
        let surplus = self.last.len().saturating_sub(KEPT_BYTES);
        self.last.drain(..surplus);
    }
}

/// Prints how much there is.
impl std::fmt::Debug for Kept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Kept({} bytes)", self.bytes)
    }
}

/// Prints how much there is.
impl std::fmt::Debug for Stderr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stderr({} bytes)", self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_flood_leaves_its_last_whole_lines() {
        let keeper = StderrKeeper::default();
        let line = format!("{}\n", "x".repeat(999));
        let flood = line.repeat(100);
        keeper.clone().keep(flood.as_bytes()).await;
        let stderr = keeper.get();
        assert_eq!((stderr.bytes, keeper.bytes()), (100_000, 100_000));
        assert_eq!(stderr.last_words, line.repeat(16));
        assert_eq!(format!("{stderr:?}"), "Stderr(100000 bytes)");
    }

    #[tokio::test]
    async fn little_is_kept_whole_and_other_children_add_to_it() {
        let keeper = StderrKeeper::default();
        keeper.clone().keep(b"a\n".as_slice()).await;
        keeper.clone().keep(b"b \xff".as_slice()).await;
        assert_eq!(keeper.get().last_words, "a\nb \u{fffd}");
    }
}
