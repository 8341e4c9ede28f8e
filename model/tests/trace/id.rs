//! Requirement numbers, such as `PLC-7`.

use std::fmt;

/// The areas that `SPEC.md` explains.
const AREAS: [&str; 13] = [
    "REQ", "END", "CLS", "COR", "PLC", "CAP", "LOOP", "PRIV", "SVC", "REL", "CMD", "SET", "RPT",
];

/// An area and a number from 1; orders by area as in `SPEC.md`, then by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id {
    area: usize,
    number: u16,
}

impl Id {
    /// Parses exactly `AREA-n`, with a known area and no leading zero.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (area, number) = text.split_once('-')?;
        let area = AREAS.iter().position(|known| *known == area)?;
        let plain = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
        let number = number.parse().ok().filter(|_| plain)?;
        Some(Self { area, number })
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let area = AREAS.get(self.area).copied().unwrap_or_default();
        write!(f, "{area}-{}", self.number)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Whether a word was meant as a requirement number: capitals, a hyphen, digits.
pub(crate) fn looks_like_an_id(word: &str) -> bool {
    word.split_once('-').is_some_and(|(area, number)| {
        AREAS.contains(&area) && number.starts_with(|first: char| first.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_only_the_exact_form() {
        for good in ["PLC-7", "REQ-1", "LOOP-23", "RPT-12"] {
            assert_eq!(
                Id::parse(good).map(|id| id.to_string()).as_deref(),
                Some(good)
            );
        }
        for bad in [
            "PLC7", "PLC-", "PLC-0", "PLC-07", "plc-7", "XYZ-7", "PLC-+7", "PLC-7a", "-7", "",
        ] {
            assert_eq!(Id::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn orders_by_area_then_number() {
        let mut ids = ["RPT-1", "PLC-10", "PLC-9", "REQ-2"].map(|text| Id::parse(text).unwrap());
        ids.sort();
        assert_eq!(
            ids.map(|id| id.to_string()),
            ["REQ-2", "PLC-9", "PLC-10", "RPT-1"]
        );
    }
}
