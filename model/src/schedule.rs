//! What the poll loop does next: how many commands to ask for, how long the service may hold a poll,
//! when to poll again, and whether the client is ready.
//!
//! Times are durations since one origin that the caller chooses, from a monotonic clock.

use std::num::{NonZeroU16, NonZeroUsize};
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
/// asked for by polls in flight: what is free, at most [`MAX_POLL_LIMIT`] and the caller's own
/// `limit`. With `in_flight` polls at a time no poll takes more than its share of the queue, so that
/// the others find room. `None`: wait [`CAPACITY_WAIT`] instead of polling.
// spec: LOOP-1
#[must_use]
pub fn poll_limit(
    queue: usize,
    queued: usize,
    reserved: usize,
    in_flight: NonZeroUsize,
    limit: u16,
) -> Option<NonZeroU16> {
    let free = queue.saturating_sub(queued).saturating_sub(reserved);
    let share = queue.div_ceil(in_flight.get());
    let most = u16::try_from(free.min(share)).unwrap_or(u16::MAX);
    NonZeroU16::new(most.min(limit).min(MAX_POLL_LIMIT))
}

/// The longest that a poll may be held, and the longest guardrail: one day.
pub const MAX_WAIT: Duration = Duration::from_secs(86_400);

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
    /// later. Each is at most [`MAX_WAIT`].
    #[must_use]
    pub fn new(wait: Duration, guardrail: Duration) -> Self {
        Self {
            wait: wait.min(MAX_WAIT),
            guardrail: guardrail.min(MAX_WAIT),
        }
    }

    /// How long the service may hold the poll.
    #[must_use]
    pub fn wait(&self) -> Duration {
        self.wait
    }

    /// How much longer than the wait the client waits for an answer.
    #[must_use]
    pub fn guardrail(&self) -> Duration {
        self.guardrail
    }

    /// The wait in whole milliseconds, as the request says it.
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
        // spec: LOOP-21
        if elapsed <= MIN_LEARNED_WAIT {
            return;
        }
        // spec: LOOP-22
        let margin = self.guardrail.max(MIN_LEARNED_WAIT).min(elapsed / 2);
        let learned = elapsed.saturating_sub(margin).max(MIN_LEARNED_WAIT);
        // spec: LOOP-23
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
    // spec: LOOP-16
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
            // spec: LOOP-7, LOOP-8, LOOP-16
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
            // spec: LOOP-6, LOOP-14, LOOP-17
            Err(fault) => {
                self.failures = self.failures.saturating_add(1);
                self.readiness = match self.readiness {
                    Readiness::Unready { since, .. } => Readiness::Unready { since, fault },
                    Readiness::Starting | Readiness::Ready { .. } => {
                        Readiness::Unready { since: now, fault }
                    }
                };
                // spec: LOOP-21, RPT-3
                if fault == PollFault::NoHead(Interruption::Closed) {
                    self.long_poll.learn_from_cut(elapsed);
                }
                let delay = self.backoff.delay(self.failures, draw);
                // spec: LOOP-13
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

    // spec-test: LOOP-1
    #[test]
    fn asks_for_free_slots_up_to_the_limit() {
        let ask = |queue, queued, reserved, in_flight, limit| {
            let in_flight = NonZeroUsize::new(in_flight).unwrap();
            poll_limit(queue, queued, reserved, in_flight, limit).map(NonZeroU16::get)
        };
        assert_eq!(ask(20, 0, 0, 1, 25), Some(20));
        assert_eq!(ask(20, 19, 0, 1, 25), Some(1));
        assert_eq!(ask(20, 20, 0, 1, 25), None);
        assert_eq!(
            ask(20, 25, 0, 1, 25),
            None,
            "a service may have sent more than asked"
        );
        assert_eq!(ask(20, 10, 10, 1, 25), None);
        assert_eq!(ask(100, 0, 0, 1, 100), Some(25));
        assert_eq!(ask(100, 0, 0, 1, 3), Some(3));
        assert_eq!(ask(0, 0, 0, 1, 25), None);
        assert_eq!(ask(20, 0, 0, 1, 0), None);
        assert_eq!(ask(usize::MAX, 0, 0, 1, u16::MAX), Some(25));
        assert_eq!(ask(20, 0, 0, 3, 25), Some(7), "a share of the queue");
        assert_eq!(ask(20, 0, 14, 3, 25), Some(6));
        assert_eq!(
            ask(2, 0, 1, 3, 25),
            Some(1),
            "never less than one while there is room"
        );
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

    // spec-test: LOOP-14
    #[test]
    fn refused_credentials_wait_like_any_failure_up_to_the_same_cap() {
        for status in [401, 403] {
            let mut schedule = schedule();
            let fault = PollFault::Status(status);
            let delays = [1, 2, 3, 4, 5, 6, 7].map(|at| fail(&mut schedule, at, fault));
            let expected = [400, 800, 1_600, 3_200, 6_400, 10_000, 10_000];
            assert_eq!(
                delays,
                expected.map(|ms| Next::After(Duration::from_millis(ms)))
            );
        }
    }

    // spec-test: LOOP-13
    #[test]
    fn a_hint_is_a_minimum_and_never_shortens() {
        let mut schedule = schedule();
        let mut wait = |hint| schedule.record(SECS(0), SECS(0), Err(DOWN), Some(SECS(hint)), 0);
        assert_eq!(wait(60), Next::After(SECS(60)));
        assert_eq!(wait(0), Next::After(Duration::from_millis(200)));
    }

    // spec-test: LOOP-7, LOOP-17
    #[test]
    fn an_accepted_correction_is_no_success() {
        let mut schedule = schedule();
        let correction = PollFault::Correction {
            revision: crate::wire::Revision::MAX,
        };
        schedule.record(SECS(1), SECS(1), Ok(()), None, 0);
        fail(&mut schedule, 2, DOWN);
        fail(&mut schedule, 3, correction);
        let unready = Readiness::Unready {
            since: SECS(2),
            fault: correction,
        };
        assert_eq!((schedule.readiness(), schedule.failures()), (unready, 2));
    }

    // spec-test: LOOP-16, LOOP-17
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
        assert!(schedule.readiness().is_ready());
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

    // spec-test: LOOP-21, LOOP-22, LOOP-23
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
        assert_eq!(wide.long_poll().guardrail(), SECS(9));
        let mut young = Schedule::new(Backoff::DEFAULT, LongPoll::new(SECS(30), SECS(9)));
        young.record(SECS(0), SECS(16), Err(closed), None, 0);
        assert_eq!(
            young.long_poll().wait(),
            SECS(8),
            "half of a young poll's age at most"
        );
    }

    #[test]
    fn waits_and_deadlines_have_a_limit() {
        let longest = LongPoll::new(Duration::MAX, Duration::MAX);
        assert_eq!(longest.deadline(), 2 * MAX_WAIT);
        assert_eq!(longest.wait_ms(), 86_400_000);
    }
}
