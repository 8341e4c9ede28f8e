//! How long a failed poll waits.

use std::time::Duration;

use thiserror::Error;

/// The bounds that delays are drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    min: Duration,
    max: Duration,
}

/// Why two durations bound no backoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum BackoffFault {
    /// The shortest delay is longer than the longest.
    #[error("the shortest backoff must not exceed the longest")]
    MinOverMax,
    /// The shortest delay is zero, which would let a failing client spin.
    #[error("the shortest backoff must be more than zero")]
    MinZero,
}

impl Backoff {
    /// 200 ms to 10 s.
    // spec: LOOP-5
    pub const DEFAULT: Self = Self {
        min: Duration::from_millis(200),
        max: Duration::from_secs(10),
    };

    /// A backoff between two bounds, both included.
    ///
    /// # Errors
    ///
    /// Bounds out of order, or a shortest delay of zero.
    pub fn new(min: Duration, max: Duration) -> Result<Self, BackoffFault> {
        if min.is_zero() {
            return Err(BackoffFault::MinZero);
        }
        if min > max {
            return Err(BackoffFault::MinOverMax);
        }
        Ok(Self { min, max })
    }

    /// The shortest delay.
    #[must_use]
    pub fn min(&self) -> Duration {
        self.min
    }

    /// The longest delay.
    #[must_use]
    pub fn max(&self) -> Duration {
        self.max
    }

    /// The delay after the `failure`th failure in a row (1 is the first): uniform between the
    /// shortest delay and the shortest delay doubled `failure` times, at most the longest delay.
    /// `draw` is a uniformly distributed number, which the caller draws.
    // spec: LOOP-5
    #[must_use]
    pub fn delay(&self, failure: u32, draw: u64) -> Duration {
        let min = self.min.as_nanos();
        let ceiling = self.ceiling(failure).as_nanos();
        let choices = ceiling.saturating_sub(min).saturating_add(1);
        // A product of 64 random bits and fewer than 2^64 choices fits in 128 bits; longer bounds
        // (over 584 years) saturate.
        let offset = u128::from(draw).saturating_mul(choices) >> 64;
        let nanos = min.saturating_add(offset).min(ceiling);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The longest delay that the `failure`th failure in a row may draw.
    // spec: LOOP-5
    #[must_use]
    pub fn ceiling(&self, failure: u32) -> Duration {
        let factor = 1_u32.checked_shl(failure).unwrap_or(u32::MAX);
        self.min.saturating_mul(factor).min(self.max)
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    // spec-test: LOOP-5
    #[test]
    fn doubles_to_the_cap() {
        let ceilings: Vec<u128> = (1..=8)
            .map(|failure| Backoff::DEFAULT.ceiling(failure).as_millis())
            .collect();
        assert_eq!(
            ceilings,
            [400, 800, 1_600, 3_200, 6_400, 10_000, 10_000, 10_000]
        );
        for failure in [30, 31, 32, 33, 63, 64, u32::MAX] {
            assert_eq!(Backoff::DEFAULT.ceiling(failure), MS(10_000), "{failure}");
        }
    }

    // spec-test: LOOP-5
    #[test]
    fn spans_the_whole_range() {
        assert_eq!(Backoff::DEFAULT.delay(1, 0), MS(200));
        assert_eq!(Backoff::DEFAULT.delay(1, u64::MAX), MS(400));
        assert_eq!(Backoff::DEFAULT.delay(1, u64::MAX / 2).as_millis(), 300);
        assert_eq!(Backoff::DEFAULT.delay(u32::MAX, u64::MAX), MS(10_000));
        assert_eq!(Backoff::DEFAULT.delay(u32::MAX, 0), MS(200));
    }

    #[test]
    fn tells_its_bounds() {
        let backoff = Backoff::new(MS(3), MS(7)).unwrap();
        assert_eq!((backoff.min(), backoff.max()), (MS(3), MS(7)));
    }

    #[test]
    fn refuses_bounds_that_would_spin_or_never_hold() {
        assert_eq!(Backoff::new(MS(0), MS(1)), Err(BackoffFault::MinZero));
        assert_eq!(Backoff::new(MS(2), MS(1)), Err(BackoffFault::MinOverMax));
        assert_eq!(Backoff::new(MS(1), MS(1)).unwrap().delay(9, 12_345), MS(1));
    }

    proptest! {
        /// spec-test: LOOP-5
        #[test]
        fn stays_within_its_bounds_for_all_numbers(
            min in 1..=u64::MAX, extra in any::<u64>(), failure in any::<u32>(), draw in any::<u64>(),
        ) {
            let min = Duration::from_nanos(min);
            let max = min.saturating_add(Duration::from_nanos(extra));
            let backoff = Backoff::new(min, max).unwrap();
            let delay = backoff.delay(failure, draw);
            prop_assert!(delay >= min.min(Duration::from_nanos(u64::MAX)));
            prop_assert!(delay <= backoff.ceiling(failure) && delay <= max);
        }
    }
}
