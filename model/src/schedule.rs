//! What the poll loop does next: how many commands to ask for, how long the service may hold a poll,
//! when to poll again, and whether the client is ready.
//!
//! Times are durations since one origin that the caller chooses, from a monotonic clock.

use std::num::NonZeroU16;
use std::time::Duration;

use crate::backoff::Backoff;
use crate::poll::{Interruption, PollFault};

/// The most commands that one poll asks for.
pub const MAX_POLL_LIMIT: u16 = 25;

/// How many received commands wait for their turn, unless configured otherwise.
pub const DEFAULT_QUEUE: usize = 20;

/// How long to wait before asking for free slots again when there are none.
pub const CAPACITY_WAIT: Duration = Duration::from_millis(100);

/// The shortest wait that is learned from a proxy which cuts polls, and the least age of a cut poll
/// that anything is learned from.
pub const MIN_LEARNED_WAIT: Duration = Duration::from_secs(5);

/// How many commands to ask for when `queue` places hold `queued` commands and `reserved` more were
/// asked for by polls in flight. `None`: wait [`CAPACITY_WAIT`] instead of polling.
#[must_use]
pub fn poll_limit(queue: usize, queued: usize, reserved: usize) -> Option<NonZeroU16> {
    let free = queue.saturating_sub(queued).saturating_sub(reserved);
    let limit = u16::try_from(free).unwrap_or(u16::MAX).min(MAX_POLL_LIMIT);
    NonZeroU16::new(limit)
}

/// How long the service may hold a poll, and how long the client waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongPoll {
    wait: Duration,
    guardrail: Duration,
}

impl LongPoll {
    /// 30 s, and a guardrail of 5 s.
    pub const DEFAULT: Self = Self {
        wait: Duration::from_secs(30),
        guardrail: Duration::from_secs(5),
    };

    /// A long poll that the service may hold for `wait`, and that the client gives up `guardrail`
    /// later.
    #[must_use]
    pub fn new(wait: Duration, guardrail: Duration) -> Self {
        Self { wait, guardrail }
    }

    /// How long the service may hold the poll.
    #[must_use]
    pub fn wait(&self) -> Duration {
        self.wait
    }

    /// The same in whole milliseconds, as the request says it.
    #[must_use]
    pub fn wait_ms(&self) -> u64 {
        u64::try_from(self.wait.as_millis()).unwrap_or(u64::MAX)
    }

    /// When the client gives the poll up, body included.
    #[must_use]
    pub fn deadline(&self) -> Duration {
        self.wait.saturating_add(self.guardrail)
    }

    /// Learns from a poll that was closed before any head after `elapsed`: something between here
    /// and the service cuts long polls, so later ones ask for less. Never lengthens the wait.
    fn learn_from_cut(&mut self, elapsed: Duration) {
        if elapsed <= MIN_LEARNED_WAIT {
            return;
        }
        let margin = self.guardrail.max(MIN_LEARNED_WAIT).min(elapsed / 2);
        let learned = elapsed.saturating_sub(margin).max(MIN_LEARNED_WAIT);
        self.wait = self.wait.min(learned);
    }
}

impl Default for LongPoll {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Whether polls succeed, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// No poll has ended yet.
    Starting,
    /// The last poll that ended succeeded.
    Ready {
        /// When the first success after the last failure ended.
        since: Duration,
    },
    /// The last poll that ended failed.
    Unready {
        /// When the first failure after the last success (or after the start) ended.
        since: Duration,
        /// What the last poll failed with.
        fault: PollFault,
    },
}

impl Readiness {
    /// Whether the last poll that ended succeeded.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        matches!(self, Self::Ready { .. })
    }
}

/// When to poll again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// After this delay.
    After(Duration),
    /// At once.
    AtOnce,
    /// Not again: the caller cancelled.
    Never,
}

/// The backoff, readiness and wait of one client, shared by all its polls in flight.
#[derive(Clone, Debug)]
pub struct Schedule {
    backoff: Backoff,
    failures: u32,
    long_poll: LongPoll,
    readiness: Readiness,
}

impl Schedule {
    /// A schedule for a client that has not polled yet.
    #[must_use]
    pub fn new(backoff: Backoff, long_poll: LongPoll) -> Self {
        Self {
            backoff,
            failures: 0,
            long_poll,
            readiness: Readiness::Starting,
        }
    }

    /// Records how a poll ended at `now`, `elapsed` after it began, and says when to poll again.
    /// `draw` is a uniformly distributed number that the delay is drawn from.
    ///
    /// Every failure lengthens the backoff, corrections included; only a success resets it and makes
    /// the client ready, late or not.
    pub fn record(
        &mut self,
        now: Duration,
        elapsed: Duration,
        result: Result<(), PollFault>,
        retry_after: Option<Duration>,
        draw: u64,
    ) -> Next {
        match result {
            Ok(()) => {
                self.failures = 0;
                self.readiness = match self.readiness {
                    Readiness::Ready { since } => Readiness::Ready { since },
                    Readiness::Starting | Readiness::Unready { .. } => {
                        Readiness::Ready { since: now }
                    }
                };
                Next::AtOnce
            }
            Err(PollFault::Cancelled) => Next::Never,
            Err(fault) => {
                self.failures = self.failures.saturating_add(1);
                self.readiness = match self.readiness {
                    Readiness::Unready { since, .. } => Readiness::Unready { since, fault },
                    Readiness::Starting | Readiness::Ready { .. } => {
                        Readiness::Unready { since: now, fault }
                    }
                };
                if fault == PollFault::NoHead(Interruption::Closed) {
                    self.long_poll.learn_from_cut(elapsed);
                }
                let delay = self.backoff.delay(self.failures, draw);
                Next::After(delay.max(retry_after.unwrap_or_default()))
            }
        }
    }

    /// Whether polls succeed, and since when.
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        self.readiness
    }

    /// How many polls failed since the last success.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// The wait and deadline of the next poll.
    #[must_use]
    pub fn long_poll(&self) -> LongPoll {
        self.long_poll
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECS: fn(u64) -> Duration = Duration::from_secs;
    const DOWN: PollFault = PollFault::Status(503);

    fn schedule() -> Schedule {
        Schedule::new(Backoff::DEFAULT, LongPoll::DEFAULT)
    }

    fn fail(schedule: &mut Schedule, at: u64, fault: PollFault) -> Next {
        schedule.record(SECS(at), SECS(1), Err(fault), None, u64::MAX)
    }

    #[test]
    fn asks_for_free_slots_up_to_the_limit() {
        let limits = [
            (20, 0, 0),
            (20, 19, 0),
            (20, 20, 0),
            (20, 25, 0),
            (20, 10, 10),
            (100, 0, 0),
            (0, 0, 0),
        ]
        .map(|(queue, queued, reserved)| poll_limit(queue, queued, reserved).map(NonZeroU16::get));
        assert_eq!(
            limits,
            [Some(20), Some(1), None, None, None, Some(25), None]
        );
        let all = poll_limit(usize::MAX, 0, 0);
        assert_eq!(all.map(NonZeroU16::get), Some(25));
    }

    #[test]
    fn backoff_grows_through_every_kind_of_failure_and_only_success_resets_it() {
        let mut schedule = schedule();
        let correction = PollFault::Correction {
            revision: crate::wire::Revision::MAX,
        };
        let faults = [
            DOWN,
            correction,
            PollFault::Status(401),
            PollFault::NotSent,
            correction,
            DOWN,
        ];
        let delays = faults.map(|fault| fail(&mut schedule, 1, fault));
        let expected = [400, 800, 1_600, 3_200, 6_400, 10_000];
        assert_eq!(
            delays,
            expected.map(|ms| Next::After(Duration::from_millis(ms)))
        );

        assert_eq!(
            schedule.record(SECS(2), SECS(1), Ok(()), None, 0),
            Next::AtOnce
        );
        assert_eq!(
            fail(&mut schedule, 3, DOWN),
            Next::After(Duration::from_millis(400))
        );
    }

    #[test]
    fn a_hint_is_a_minimum_and_never_shortens() {
        let mut schedule = schedule();
        let mut wait = |hint| schedule.record(SECS(0), SECS(0), Err(DOWN), Some(SECS(hint)), 0);
        assert_eq!(wait(60), Next::After(SECS(60)));
        assert_eq!(wait(0), Next::After(Duration::from_millis(200)));
    }

    #[test]
    fn readiness_follows_polls_and_says_since_when() {
        let mut schedule = schedule();
        assert_eq!(schedule.readiness(), Readiness::Starting);
        fail(&mut schedule, 1, DOWN);
        fail(&mut schedule, 2, PollFault::Status(429));
        let unready = Readiness::Unready {
            since: SECS(1),
            fault: PollFault::Status(429),
        };
        assert_eq!(schedule.readiness(), unready);
        schedule.record(SECS(3), SECS(1), Ok(()), None, 0);
        schedule.record(SECS(4), SECS(1), Ok(()), None, 0);
        assert_eq!(schedule.readiness(), Readiness::Ready { since: SECS(3) });
        fail(&mut schedule, 5, DOWN);
        assert!(!schedule.readiness().is_ready());
    }

    #[test]
    fn cancellation_changes_nothing() {
        let mut schedule = schedule();
        fail(&mut schedule, 1, DOWN);
        assert_eq!(fail(&mut schedule, 9, PollFault::Cancelled), Next::Never);
        assert_eq!(schedule.failures(), 1);
        assert_eq!(
            schedule.readiness(),
            Readiness::Unready {
                since: SECS(1),
                fault: DOWN
            }
        );
    }

    #[test]
    fn learns_a_shorter_wait_from_polls_closed_before_any_head() {
        let closed = PollFault::NoHead(Interruption::Closed);
        let learned = |elapsed: &[u64], fault| {
            let mut schedule = schedule();
            for elapsed in elapsed {
                schedule.record(SECS(0), SECS(*elapsed), Err(fault), None, 0);
            }
            schedule.long_poll().wait().as_secs()
        };
        assert_eq!(learned(&[20], closed), 15);
        assert_eq!(learned(&[20, 25], closed), 15, "only ever lower");
        assert_eq!(learned(&[20, 12], closed), 7);
        assert_eq!(learned(&[8], closed), 5, "at least five seconds");
        assert_eq!(learned(&[5], closed), 30, "young polls teach nothing");
        assert_eq!(learned(&[60], closed), 30, "never longer than configured");
        assert_eq!(
            learned(&[20], PollFault::NoHead(Interruption::Deadline)),
            30
        );
        assert_eq!(learned(&[20], PollFault::NoHead(Interruption::Network)), 30);
        let mut wide = Schedule::new(Backoff::DEFAULT, LongPoll::new(SECS(30), SECS(9)));
        wide.record(SECS(0), SECS(20), Err(closed), None, 0);
        assert_eq!(wide.long_poll(), LongPoll::new(SECS(11), SECS(9)));
        assert_eq!(wide.long_poll().deadline(), SECS(20));
    }

    #[test]
    fn the_deadline_never_overflows() {
        assert_eq!(
            LongPoll::new(Duration::MAX, SECS(1)).deadline(),
            Duration::MAX
        );
        assert_eq!(LongPoll::new(Duration::MAX, SECS(1)).wait_ms(), u64::MAX);
    }
}
