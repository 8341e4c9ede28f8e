//! The messages that a server sends over a pipe before its answer, on their way to the service: how many
//! may wait there, and what follows when one is lost. Nothing is held here but sizes.

use std::collections::VecDeque;

/// The most messages of one call that may wait.
pub const MAX_WAITING_NOTES: usize = 1024;

/// The most bytes that may wait for one call (8 MiB). A message may be larger when it waits alone.
pub const MAX_WAITING_NOTE_BYTES: usize = 8_388_608;

/// The lane of one call. The pipe's reader waits for nobody, so that what finds no room is lost, and
/// all that comes after it, too: no message arrives with a gap before it.
// spec: CMD-15
#[derive(Clone, Debug, Default)]
pub struct NoteLane {
    /// The sizes of the messages that wait, oldest first.
    waiting: VecDeque<usize>,
    bytes: usize,
    closed: bool,
}

impl NoteLane {
    /// Whether a message of this size may be put in, after `unread` messages that were put in before
    /// and wait still. If it may, it is put in. The first that may not closes the lane.
    pub fn admits(&mut self, unread: usize, bytes: usize) -> bool {
        while self.waiting.len() > unread
            && let Some(taken) = self.waiting.pop_front()
        {
            self.bytes = self.bytes.saturating_sub(taken);
        }
        let with_it = self.bytes.saturating_add(bytes);
        let has_room = self.waiting.len() < MAX_WAITING_NOTES
            && (self.waiting.is_empty() || with_it <= MAX_WAITING_NOTE_BYTES);
        self.closed |= !has_room;
        if !self.closed {
            self.waiting.push_back(bytes);
            self.bytes = with_it;
        }
        !self.closed
    }

    /// A message was lost on the way: the lane is closed.
    pub fn lost(&mut self) {
        self.closed = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec-test: CMD-15
    #[test]
    fn after_one_loss_nothing_more_is_admitted() {
        let mut lane = NoteLane::default();
        for unread in 0..MAX_WAITING_NOTES {
            assert!(lane.admits(unread, 1), "{unread}");
        }
        assert!(!lane.admits(MAX_WAITING_NOTES, 1));
        assert!(!lane.admits(0, 1), "there is room, and a gap before it");
        let mut lane = NoteLane::default();
        lane.lost();
        assert!(!lane.admits(0, 1));
    }

    #[test]
    fn bytes_are_limited_and_given_back() {
        let half = MAX_WAITING_NOTE_BYTES / 2;
        let mut lane = NoteLane::default();
        for _ in 0..10 {
            assert!(lane.admits(0, half));
            assert!(lane.admits(1, half));
        }
        assert!(lane.admits(1, half), "the older one was taken");
        assert!(!lane.admits(2, 1));
    }

    #[test]
    fn a_large_message_passes_alone() {
        let large = MAX_WAITING_NOTE_BYTES + 1;
        let mut lane = NoteLane::default();
        assert!(lane.admits(0, large));
        assert!(lane.admits(0, 1));
        assert!(!lane.admits(1, large));
    }
}
