//! Until when a command may be answered.
//!
//! Times are durations since one origin that the caller chooses, from a monotonic clock.

use std::time::Duration;

/// How long one connection to the target may serve a command, unless configured otherwise.
pub const DEFAULT_CONNECTION_MAX_TTL: Duration = Duration::from_secs(600);

/// The instant from which a command is not answered any more: no queueing, connecting, writing,
/// reading or delivering goes on then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseDeadline {
    at: Option<Duration>,
}

impl ResponseDeadline {
    /// No deadline.
    pub const NEVER: Self = Self { at: None };

    /// The deadline of a command with this `response_timeout`. `received` is when the head of the
    /// poll's response arrived: one instant for all the commands in it.
    // spec: CMD-18
    #[must_use]
    pub fn new(received: Duration, response_timeout: Option<Duration>) -> Self {
        Self {
            at: response_timeout.map(|timeout| received.saturating_add(timeout)),
        }
    }

    /// This deadline or `ttl` after `from`, whichever comes first. Who caps a deadline with the life
    /// of a connection must ask the uncapped one whether the command itself has expired: that is
    /// silent, and the end of a connection is not.
    #[must_use]
    pub fn capped(self, from: Duration, ttl: Duration) -> Self {
        let end = from.saturating_add(ttl);
        Self {
            at: Some(self.at.map_or(end, |at| at.min(end))),
        }
    }

    /// The instant, if there is any.
    #[must_use]
    pub fn at(&self) -> Option<Duration> {
        self.at
    }

    /// Whether it is too late: at the instant itself it is, so that a timeout of zero has expired on
    /// receipt. An expired command is dropped, without any answer.
    // spec: CMD-19
    #[must_use]
    pub fn expired(&self, now: Duration) -> bool {
        self.at.is_some_and(|at| now >= at)
    }

    /// How much time is left, zero when it is too late; `None` for a command without a deadline.
    // spec: CMD-18
    #[must_use]
    pub fn remaining(&self, now: Duration) -> Option<Duration> {
        self.at.map(|at| at.saturating_sub(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    // spec-test: CMD-18, CMD-19
    #[test]
    fn expires_at_its_instant_and_not_before() {
        let deadline = ResponseDeadline::new(MS(100), Some(MS(50)));
        for (now, expired, left) in [
            (0, false, 150),
            (100, false, 50),
            (149, false, 1),
            (150, true, 0),
            (151, true, 0),
            (900, true, 0),
        ] {
            assert_eq!(deadline.expired(MS(now)), expired, "{now}");
            assert_eq!(deadline.remaining(MS(now)), Some(MS(left)), "{now}");
        }
    }

    // spec-test: CMD-19
    #[test]
    fn a_timeout_of_zero_has_expired_on_receipt() {
        let deadline = ResponseDeadline::new(MS(100), Some(Duration::ZERO));
        assert!(deadline.expired(MS(100)));
        assert_eq!(deadline.remaining(MS(100)), Some(Duration::ZERO));
    }

    // spec-test: CMD-18
    #[test]
    fn without_a_timeout_it_never_expires() {
        let never = ResponseDeadline::new(MS(100), None);
        assert_eq!(never, ResponseDeadline::NEVER);
        assert_eq!((never.at(), never.remaining(Duration::MAX)), (None, None));
        assert!(!never.expired(Duration::MAX));
    }

    // spec-test: CMD-18
    #[test]
    fn one_instant_serves_a_whole_batch() {
        let ends = [3, 1, 2].map(|timeout| ResponseDeadline::new(MS(7), Some(MS(timeout))).at());
        assert_eq!(ends, [Some(MS(10)), Some(MS(8)), Some(MS(9))]);
    }

    #[test]
    fn a_cap_only_shortens() {
        let early = ResponseDeadline::new(MS(100), Some(MS(10)));
        let late = ResponseDeadline::new(MS(100), Some(MS(1_000)));
        assert_eq!(early.capped(MS(105), MS(20)).at(), Some(MS(110)));
        assert_eq!(late.capped(MS(105), MS(20)).at(), Some(MS(125)));
        let capped = ResponseDeadline::NEVER.capped(MS(5), DEFAULT_CONNECTION_MAX_TTL);
        assert_eq!(capped.at(), Some(MS(600_005)));
    }

    #[test]
    fn the_end_of_time_does_not_wrap() {
        let end = ResponseDeadline::new(Duration::MAX, Some(MS(1)));
        assert_eq!(end.at(), Some(Duration::MAX));
        assert_eq!(end.capped(Duration::MAX, Duration::MAX).at(), end.at());
    }
}
