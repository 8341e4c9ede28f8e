use std::time::Duration;

/// Reads how long after its receipt a command may be answered: digits and one of the units `ns`,
/// `us`, `ms`, `s`, `m` and `h`, worth at most 2^63 - 1 nanoseconds. `None`, for anything else, means
/// no deadline: a sign, a fraction, white space, a unit in capitals, several units in a row.
// spec: CMD-17
#[must_use]
pub fn parse_response_timeout(text: &str) -> Option<Duration> {
    let unit_at = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, unit) = text.split_at_checked(unit_at)?;
    let unit_nanos: u64 = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60 * 1_000_000_000,
        "h" => 3_600 * 1_000_000_000,
        _ => return None,
    };
    // No digits at all are no number, and too many do not fit.
    let count: u64 = digits.parse().ok()?;
    let nanos = count.checked_mul(unit_nanos)?;
    i64::try_from(nanos).ok()?;
    Some(Duration::from_nanos(nanos))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // spec-test: CMD-17
    #[test]
    fn reads_digits_and_one_unit() {
        for (text, nanos) in [
            ("0s", 0),
            ("0ns", 0),
            ("1ns", 1),
            ("1us", 1_000),
            ("1ms", 1_000_000),
            ("1s", 1_000_000_000),
            ("1m", 60_000_000_000),
            ("1h", 3_600_000_000_000),
            ("007s", 7_000_000_000),
            ("90s", 90_000_000_000),
            ("9223372036854775807ns", 9_223_372_036_854_775_807),
            ("9223372036854775us", 9_223_372_036_854_775_000),
            ("9223372036854ms", 9_223_372_036_854_000_000),
            ("9223372036s", 9_223_372_036_000_000_000),
            ("153722867m", 9_223_372_020_000_000_000),
            ("2562047h", 9_223_369_200_000_000_000),
        ] {
            let expected = Some(Duration::from_nanos(nanos));
            assert_eq!(parse_response_timeout(text), expected, "{text}");
        }
        let zeros = format!("{}5s", "0".repeat(100));
        assert_eq!(parse_response_timeout(&zeros), Some(Duration::from_secs(5)));
    }

    // spec-test: CMD-17
    #[test]
    fn takes_anything_else_for_no_deadline() {
        for text in [
            "",
            "5",
            "s",
            " 5s",
            "5s ",
            "5 s",
            "+5s",
            "-5s",
            "1.5s",
            "5S",
            "5sec",
            "5d",
            "1m30s",
            "1e3s",
            "0x5s",
            "\u{665}s",
            "5\u{b5}s",
            "9223372036854775808ns",
            "9223372036854776us",
            "9223372036855ms",
            "9223372037s",
            "153722868m",
            "2562048h",
            "18446744073709551615ns",
            "18446744073709551616ns",
            "99999999999999999999999999999999h",
        ] {
            assert_eq!(parse_response_timeout(text), None, "{text}");
        }
    }

    proptest! {
        // spec-test: CMD-17
        #[test]
        fn never_exceeds_63_bits(count in any::<u64>(), unit in "(ns|us|ms|s|m|h)") {
            let found = parse_response_timeout(&format!("{count}{unit}"));
            let max = Duration::from_nanos(i64::MAX.unsigned_abs());
            prop_assert!(found.is_none_or(|timeout| timeout <= max));
        }

        #[test]
        fn reads_any_text(text in ".*") {
            let _ = parse_response_timeout(&text);
        }
    }
}
