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
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    // spec-test: CMD-18, CMD-19
    #[test]
    fn expires_at_its_instant_and_not_before() {
        let deadline = ResponseDeadline::new(MS(100), Some(MS(50)));
        assert_eq!(deadline.at(), Some(MS(150)));
        for (now, expired) in [
            (0, false),
            (100, false),
            (149, false),
            (150, true),
            (151, true),
            (900, true),
        ] {
            assert_eq!(deadline.expired(MS(now)), expired, "{now}");
        }
    }

    // spec-test: CMD-19
    #[test]
    fn a_timeout_of_zero_has_expired_on_receipt() {
        let deadline = ResponseDeadline::new(MS(100), Some(Duration::ZERO));
        assert!(deadline.expired(MS(100)));
    }

    // spec-test: CMD-18
    #[test]
    fn without_a_timeout_it_never_expires() {
        let never = ResponseDeadline::new(MS(100), None);
        assert_eq!(never.at(), None);
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
        let never = ResponseDeadline::new(MS(100), None);
        let capped = never.capped(MS(5), DEFAULT_CONNECTION_MAX_TTL);
        assert_eq!(capped.at(), Some(MS(600_005)));
    }

    #[test]
    fn the_end_of_time_does_not_wrap() {
        let end = ResponseDeadline::new(Duration::MAX, Some(MS(1)));
        assert_eq!(end.at(), Some(Duration::MAX));
        assert_eq!(end.capped(Duration::MAX, Duration::MAX).at(), end.at());
    }
}
