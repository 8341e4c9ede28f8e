//! The two clocks: the one that only runs forward, and the time of day.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::{Instant, sleep_until};

/// The time of day, since 1970. Zero on a machine whose clock stands before that.
pub(crate) fn time_of_day() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or(Duration::ZERO)
}

/// The time of day, in milliseconds since 1970, that it was at `instant`.
pub(crate) fn unix_ms(instant: Instant) -> u64 {
    let then = time_of_day().saturating_sub(instant.elapsed());
    u64::try_from(then.as_millis()).unwrap_or(u64::MAX)
}

/// Ends at a time, and never without one.
pub(crate) async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
