//! The counts of commands over the last minutes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::telemetry::{Facts, Telemetry};

/// How many notes are kept: ten minutes' worth at one every five seconds, and one to start from.
const NOTES_MAX: usize = 121;

/// Counts as they were at some moments, oldest first.
#[derive(Debug, Default)]
pub(super) struct History {
    notes: Mutex<VecDeque<Note>>,
}

/// Counts since the start, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// Since counting began.
    pub(super) at: Duration,
    pub(super) received: u64,
    pub(super) answered: u64,
    pub(super) failed: u64,
    pub(super) expired: u64,
}

impl History {
    /// Notes the counts now, and then once every `period`, for ever.
    pub(super) async fn follow(self: Arc<Self>, telemetry: Arc<Telemetry>, period: Duration) {
        // A period of zero would panic.
        let mut ticks = interval(period.max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.add(Note::of(&telemetry.facts(), telemetry.uptime()));
        }
    }

    /// All notes, oldest first.
    pub(super) fn notes(&self) -> Vec<Note> {
        self.lock().iter().copied().collect()
    }

    fn add(&self, note: Note) {
        let mut notes = self.lock();
        if notes.len() >= NOTES_MAX {
            notes.pop_front();
        }
        notes.push_back(note);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Note>> {
        // Nothing that runs under this lock panics.
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Note {
    /// The counts of `facts`, noted at `at`.
    pub(super) fn of(facts: &Facts, at: Duration) -> Self {
        let commands = &facts.commands;
        Self {
            at,
            received: commands.received,
            answered: commands.answered,
            failed: commands.failed,
            expired: commands.expired,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn keeps_the_last_notes_one_each_period() {
        let (history, telemetry) = (Arc::new(History::default()), Arc::new(Telemetry::new()));
        let period = Duration::from_secs(5);
        let follow = tokio::spawn(Arc::clone(&history).follow(Arc::clone(&telemetry), period));
        for answered in 0..200 {
            sleep(period).await;
            telemetry.commands(|counts| counts.answered = answered);
        }
        follow.abort();
        let notes = history.notes();
        assert_eq!(notes.len(), NOTES_MAX);
        let [first, .., last] = notes[..] else {
            panic!("{notes:?}");
        };
        assert_eq!(last.at - first.at, period * 120);
        assert_eq!(last.answered - first.answered, 120);
        assert!(notes.is_sorted_by(|one, next| one.at < next.at));
    }
}
