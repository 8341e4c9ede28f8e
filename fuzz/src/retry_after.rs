//! The reader of `Retry-After`, against `httpdate` and against a calendar of our own.

use std::time::{Duration, UNIX_EPOCH};

use moorline_model::wire::{RetryAfterFault, parse_retry_after};

use crate::oracle::date::unix_seconds;

/// Takes the wall clock in eight bytes (seconds of Unix time, the least significant first), then the
/// value of the field line.
pub fn run(data: &[u8]) {
    let Some((clock, value)) = data.split_first_chunk() else {
        return;
    };
    let now = u64::from_le_bytes(*clock);
    let found = parse_retry_after(value, now);
    assert_eq!(found, expected(value, now));
}

fn expected(value: &[u8], now: u64) -> Result<Duration, RetryAfterFault> {
    let text = std::str::from_utf8(value).map_err(|_| RetryAfterFault::NotSecondsOrDate)?;
    let text = text.trim_matches(|c| c == ' ' || c == '\t');
    let wait = match (seconds(text), date(text)) {
        (Some(wait), _) => wait,
        (None, Some(then)) if then < now => return Err(RetryAfterFault::Past),
        (None, Some(then)) => then - now,
        (None, None) => return Err(RetryAfterFault::NotSecondsOrDate),
    };
    Ok(Duration::from_secs(wait.min(60)))
}

/// At most 61, which stands for all that is more than 60.
fn seconds(text: &str) -> Option<u64> {
    let mut number = 0;
    for c in text.chars() {
        number = (number * 10 + u64::from(c.to_digit(10)?)).min(61);
    }
    (!text.is_empty()).then_some(number)
}

/// Our calendar and the library must agree about every date.
fn date(text: &str) -> Option<u64> {
    let found = unix_seconds(text);
    if text.trim() != text {
        // The library takes white space around a date that no field value may have.
        return found;
    }
    let library = library(text);
    if found != library {
        // It takes any byte for the space before the time of the form with two digits for the year.
        let at = text.len().saturating_sub(" 08:49:37 GMT".len());
        let mut spaced = text.to_owned();
        spaced.replace_range(at..=at, " ");
        assert_eq!((found, library), (None, unix_seconds(&spaced)), "{text:?}");
    }
    found
}

fn library(text: &str) -> Option<u64> {
    let date = httpdate::parse_http_date(text).ok()?;
    let since = date.duration_since(UNIX_EPOCH).unwrap();
    Some(since.as_secs())
}
