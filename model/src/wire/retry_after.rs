use std::time::{Duration, UNIX_EPOCH};

use thiserror::Error;

/// The longest wait that a service can ask for.
pub const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// Why a `Retry-After` asks for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum RetryAfterFault {
    /// Neither plain digits nor an HTTP date.
    #[error("Retry-After must be whole seconds or an HTTP date")]
    NotSecondsOrDate,
    /// A date that has passed.
    #[error("Retry-After names a time that has passed")]
    Past,
}

/// Reads one `Retry-After` value: the least time to wait, at most [`MAX_RETRY_AFTER`].
/// `now_unix_seconds` is the wall clock, needed for dates alone.
///
/// # Errors
///
/// A value that asks for nothing. A client treats it as absent.
// spec: LOOP-10, LOOP-11, LOOP-12
pub fn parse_retry_after(value: &[u8], now_unix_seconds: u64) -> Result<Duration, RetryAfterFault> {
    let text = std::str::from_utf8(value).map_err(|_| RetryAfterFault::NotSecondsOrDate)?;
    let text = text.trim_matches([' ', '\t']);
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Only a number too large for u64 fails to parse here.
        let seconds = text.parse().unwrap_or(u64::MAX);
        return Ok(Duration::from_secs(seconds).min(MAX_RETRY_AFTER));
    }
    let date = parse_date(text).ok_or(RetryAfterFault::NotSecondsOrDate)?;
    let wait = date
        .checked_sub(now_unix_seconds)
        .ok_or(RetryAfterFault::Past)?;
    Ok(Duration::from_secs(wait).min(MAX_RETRY_AFTER))
}

/// An HTTP date in any of its three forms, in seconds of Unix time.
fn parse_date(text: &str) -> Option<u64> {
    // The library would trim more kinds of white space than a header may hold.
    if text.trim() != text || lacks_space_before_time(text) {
        return None;
    }
    let date = httpdate::parse_http_date(text).ok()?;
    date.duration_since(UNIX_EPOCH)
        .ok()
        .map(|since| since.as_secs())
}

/// Whether the time of a date that ends with its zone has something else than a space before it. The
/// library takes any byte there in the form with two digits for the year.
fn lacks_space_before_time(text: &str) -> bool {
    text.strip_suffix(" GMT")
        .is_some_and(|text| text.bytes().rev().nth("08:49:37".len()) != Some(b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sun, 06 Nov 1994 08:49:37 GMT.
    const DATE: u64 = 784_111_777;

    fn millis(value: &str, now: u64) -> Result<u128, RetryAfterFault> {
        parse_retry_after(value.as_bytes(), now).map(|wait| wait.as_millis())
    }

    // spec-test: LOOP-10
    #[test]
    fn reads_seconds_up_to_the_cap() {
        for (value, wait) in [
            ("0", 0),
            ("1", 1_000),
            (" 3\t", 3_000),
            ("007", 7_000),
            ("60", 60_000),
            ("61", 60_000),
            ("9223372037", 60_000),
            ("18446744073709551615", 60_000),
            ("18446744073709551616", 60_000),
            (&"9".repeat(5_000), 60_000),
        ] {
            assert_eq!(millis(value, 0), Ok(wait), "{value}");
        }
    }

    // spec-test: LOOP-11
    #[test]
    fn reads_dates_in_three_forms() {
        for value in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "\tSun, 06 Nov 1994 08:49:37 GMT ",
        ] {
            assert_eq!(millis(value, DATE - 10), Ok(10_000), "{value}");
            assert_eq!(millis(value, DATE - 600), Ok(60_000), "{value}");
            assert_eq!(millis(value, DATE), Ok(0), "{value}");
            assert_eq!(
                millis(value, DATE + 1),
                Err(RetryAfterFault::Past),
                "{value}"
            );
            assert_eq!(
                millis(value, u64::MAX),
                Err(RetryAfterFault::Past),
                "{value}"
            );
        }
    }

    // spec-test: LOOP-12
    #[test]
    fn ignores_everything_else() {
        for value in [
            "",
            " ",
            "+5",
            "-1",
            "-3",
            "1.5",
            "3, 5",
            "3,5",
            "1e2",
            "0x10",
            "NaN",
            "five",
            "\u{661}",
            "3s",
            "Sun, 31 Feb 2027 08:49:37 GMT",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "sun, 06 nov 1994 08:49:37 gmt",
            "1994-11-06T08:49:37Z",
            "Sunday, 06-Nov-94-08:49:37 GMT",
            "Sunday, 06-Nov-94008:49:37 GMT",
            "Sun, 06 Nov 1994T08:49:37 GMT",
            "Sun Nov  6 08:49:37-1994",
            " GMT",
            "\u{b}Sun, 06 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(
                millis(value, 0),
                Err(RetryAfterFault::NotSecondsOrDate),
                "{value}"
            );
        }
        assert_eq!(
            parse_retry_after(b"\xff", 0),
            Err(RetryAfterFault::NotSecondsOrDate)
        );
    }
}
