use std::time::Duration;

/// How many bounds there are.
pub const BOUNDS: usize = 14;

/// What durations are told apart by, shortest first.
pub type Bounds = [Duration; BOUNDS];

/// What OpenTelemetry advises for HTTP requests: 5 ms to 10 s.
pub const REQUEST_BOUNDS: Bounds = in_millis([
    5, 10, 25, 50, 75, 100, 250, 500, 750, 1_000, 2_500, 5_000, 7_500, 10_000,
]);

/// What OpenTelemetry advises for operations of MCP: 10 ms to 5 min.
pub const OPERATION_BOUNDS: Bounds = in_millis([
    10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 120_000, 300_000,
]);

/// How long things of one kind took: how many were no longer than each of some bounds, and the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durations {
    bounds: &'static Bounds,
    /// By the first bound that is not exceeded.
    counts: [u64; BOUNDS],
    longer: u64,
    sum: Duration,
}

impl Durations {
    /// None yet.
    #[must_use]
    pub fn new(bounds: &'static Bounds) -> Self {
        Self {
            bounds,
            counts: [0; BOUNDS],
            longer: 0,
            sum: Duration::ZERO,
        }
    }

    /// Counts one.
    pub fn add(&mut self, took: Duration) {
        let place = self.bounds.iter().position(|bound| took <= *bound);
        let count = place.and_then(|place| self.counts.get_mut(place));
        let count = count.unwrap_or(&mut self.longer);
        *count = count.saturating_add(1);
        self.sum = self.sum.saturating_add(took);
    }

    /// How many there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts
            .iter()
            .fold(self.longer, |sum, count| sum.saturating_add(*count))
    }

    /// How long all of them took together.
    #[must_use]
    pub fn sum(&self) -> Duration {
        self.sum
    }

    /// Each bound, and how many exceeded the one before but not this one.
    pub fn bands(&self) -> impl Iterator<Item = (Duration, u64)> {
        self.bounds.iter().copied().zip(self.counts)
    }
}

const fn in_millis(millis: [u64; BOUNDS]) -> Bounds {
    let mut bounds = [Duration::ZERO; BOUNDS];
    let mut at = 0;
    while at < BOUNDS {
        #[allow(
            clippy::indexing_slicing,
            reason = "both have so many, and a constant that does not compiles nowhere"
        )]
        {
            bounds[at] = Duration::from_millis(millis[at]);
        }
        at += 1;
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_at_the_first_bound_that_it_does_not_exceed() {
        const MS: fn(u64) -> Duration = Duration::from_millis;
        for bounds in [&REQUEST_BOUNDS, &OPERATION_BOUNDS] {
            assert!(bounds.is_sorted_by(|one, next| one < next));
        }
        let mut durations = Durations::new(&OPERATION_BOUNDS);
        for took in [0, 10, 11, 20, 299_999, 300_000, 300_001, 900_000] {
            durations.add(MS(took));
        }
        let counted: Vec<_> = durations.bands().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counted, [(MS(10), 2), (MS(20), 2), (MS(300_000), 2)]);
        assert_eq!(durations.count(), 8);
        assert_eq!(durations.sum(), MS(1_800_041));
    }
}
