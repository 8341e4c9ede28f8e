use std::fmt;

use thiserror::Error;

/// A policy revision: 0 to 9007199254740991 (2^53 - 1), totally ordered within one tunnel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(u64);

/// Why a JSON value is no [`Revision`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum RevisionFault {
    /// Something other than `0`, or a non-zero digit with at most 15 more digits.
    #[error("policy_revision must be a JSON integer of 1 to 16 plain digits")]
    NotAnInteger,
    /// More than 9007199254740991.
    #[error("policy_revision must be at most 9007199254740991")]
    TooLarge,
}

impl Revision {
    /// The greatest revision, 2^53 - 1.
    pub const MAX: Self = Self(9_007_199_254_740_991);

    /// The greatest number of digits that a revision is written with.
    const MAX_DIGITS: usize = 16;

    /// A revision from its number; `None` above [`Revision::MAX`].
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        (number <= Self::MAX.0).then_some(Self(number))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }

    /// Reads the raw text of one JSON value.
    ///
    /// # Errors
    ///
    /// A sign, fraction, exponent, leading zero, 17 digits or more, or any other kind of value is
    /// [`RevisionFault::NotAnInteger`].
    // spec: COR-11, COR-12
    pub fn from_json_text(text: &str) -> Result<Self, RevisionFault> {
        let digits = text.as_bytes();
        let leading_zero = digits.len() > 1 && digits.starts_with(b"0");
        if digits.is_empty() || digits.len() > Self::MAX_DIGITS || leading_zero {
            return Err(RevisionFault::NotAnInteger);
        }
        let mut number = 0_u64;
        for digit in digits {
            if !digit.is_ascii_digit() {
                return Err(RevisionFault::NotAnInteger);
            }
            // 16 digits stay far below u64::MAX, so saturation never happens.
            number = number
                .saturating_mul(10)
                .saturating_add(u64::from(digit - b'0'));
        }
        Self::new(number).ok_or(RevisionFault::TooLarge)
    }
}

impl fmt::Debug for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec-test: COR-11
    #[test]
    fn accepts_zero_to_the_greatest_exact_integer() {
        for (text, number) in [
            ("0", 0),
            ("7", 7),
            ("42", 42),
            ("9007199254740990", 9_007_199_254_740_990),
            ("9007199254740991", 9_007_199_254_740_991),
        ] {
            assert_eq!(
                Revision::from_json_text(text).map(Revision::get),
                Ok(number),
                "{text}"
            );
        }
    }

    // spec-test: COR-12
    #[test]
    fn prints_as_its_number() {
        let revision = Revision::new(42).unwrap();
        assert_eq!(
            format!("{revision} {revision:?} {revision:>4}"),
            "42 42   42"
        );
    }

    #[test]
    fn refuses_each_other_form_of_number_and_value() {
        for text in [
            "",
            "-1",
            "-0",
            "+5",
            "00",
            "02",
            "1.0",
            "1.5",
            "1e2",
            "1E2",
            "0x1",
            " 1",
            "1 ",
            "\"9\"",
            "null",
            "true",
            "[]",
            "{}",
            "10000000000000000",
            "18446744073709551616",
            "\u{661}",
        ] {
            let fault = Revision::from_json_text(text);
            assert_eq!(fault, Err(RevisionFault::NotAnInteger), "{text}");
        }
        for text in ["9007199254740992", "9999999999999999"] {
            assert_eq!(
                Revision::from_json_text(text),
                Err(RevisionFault::TooLarge),
                "{text}"
            );
        }
    }
}
