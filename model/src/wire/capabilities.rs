use std::collections::BTreeSet;

use thiserror::Error;

/// The capability that this client advertises on every control-plane request.
// spec: REQ-4
pub const WRONG_CLUSTER_V1: &str = "wrong-cluster-v1";

/// The greatest size of a declaration: the lengths of its lines, plus one for each line boundary.
pub const MAX_CAPABILITY_BYTES: usize = 4096;

/// The greatest number of names, counted before duplicates are removed.
pub const MAX_CAPABILITIES: usize = 64;

/// The greatest length of one name, in bytes.
pub const MAX_CAPABILITY_NAME_BYTES: usize = 128;

/// A set of capability names: case-sensitive HTTP tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapabilitySet(BTreeSet<String>);

/// Why a declaration declares nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum CapabilityFault {
    /// A name holds a byte that no HTTP token may hold.
    #[error("a capability name must be an HTTP token")]
    InvalidByte,
    /// A name is empty (only the formatter sees this: a parser skips empty members).
    #[error("a capability name must not be empty")]
    NameEmpty,
    /// A name holds more than 128 bytes.
    #[error("a capability name must hold at most 128 bytes")]
    NameTooLong,
    /// More than 4096 bytes in all.
    #[error("capabilities must take at most 4096 bytes")]
    TooLarge,
    /// More than 64 names.
    #[error("there must be at most 64 capabilities")]
    TooMany,
}

impl CapabilitySet {
    /// The set that the field lines of one request declare; empty when anything in them is wrong, so
    /// that a bad declaration authorises nothing.
    // spec: CAP-6
    pub fn from_lines<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Self {
        Self::parse(lines).unwrap_or_default()
    }

    /// Reads the field lines of one request, in order.
    ///
    /// # Errors
    ///
    /// The first fault. A service treats any of them as no declaration: see [`Self::from_lines`].
    pub fn parse<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Result<Self, CapabilityFault> {
        // spec: CAP-2, CAP-3, CAP-4, CAP-5
        let mut size = 0_usize;
        let mut count = 0_usize;
        let mut names = BTreeSet::new();
        for (index, line) in lines.into_iter().enumerate() {
            let boundary = usize::from(index > 0);
            size = size.saturating_add(line.len()).saturating_add(boundary);
            if size > MAX_CAPABILITY_BYTES {
                return Err(CapabilityFault::TooLarge);
            }
            for member in line.split(|byte| *byte == b',') {
                let member = trim(member);
                if member.is_empty() {
                    continue;
                }
                count = count.saturating_add(1);
                if count > MAX_CAPABILITIES {
                    return Err(CapabilityFault::TooMany);
                }
                names.insert(name(member)?.to_owned());
            }
        }
        Ok(Self(names))
    }

    /// A set to advertise.
    ///
    /// # Errors
    ///
    /// A name that is no HTTP token or too long, or more names or bytes than a service would read.
    // spec: CAP-7
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, CapabilityFault> {
        let mut set = BTreeSet::new();
        for given in names {
            if given.is_empty() {
                return Err(CapabilityFault::NameEmpty);
            }
            set.insert(name(given.as_bytes())?.to_owned());
        }
        if set.len() > MAX_CAPABILITIES {
            return Err(CapabilityFault::TooMany);
        }
        let set = Self(set);
        if set.header_value().len() > MAX_CAPABILITY_BYTES {
            return Err(CapabilityFault::TooLarge);
        }
        Ok(set)
    }

    /// The value of the one header line: sorted names joined by commas.
    #[must_use]
    pub fn header_value(&self) -> String {
        let mut value = String::new();
        for name in &self.0 {
            if !value.is_empty() {
                value.push(',');
            }
            value.push_str(name);
        }
        value
    }

    /// Whether the set holds this name, case included.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// The names, sorted by their bytes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

// spec: CAP-1
fn name(bytes: &[u8]) -> Result<&str, CapabilityFault> {
    if bytes.len() > MAX_CAPABILITY_NAME_BYTES {
        return Err(CapabilityFault::NameTooLong);
    }
    if !bytes.iter().all(|byte| is_token_byte(*byte)) {
        return Err(CapabilityFault::InvalidByte);
    }
    std::str::from_utf8(bytes).map_err(|_| CapabilityFault::InvalidByte)
}

/// Whether an HTTP token may hold this byte.
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn trim(mut member: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = member {
        member = rest;
    }
    member
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(lines: &[&str]) -> Result<String, CapabilityFault> {
        let set = CapabilitySet::parse(lines.iter().map(|line| line.as_bytes()))?;
        Ok(set.header_value())
    }

    // spec-test: REQ-4
    #[test]
    fn the_advertised_value_is_the_published_name() {
        let set = CapabilitySet::new([WRONG_CLUSTER_V1]).unwrap();
        assert_eq!(set.header_value(), "wrong-cluster-v1");
    }

    // spec-test: CAP-1
    #[test]
    fn compares_names_with_case() {
        let set = CapabilitySet::from_lines([b"Wrong-Cluster-v1,WRONG-CLUSTER-V1".as_slice()]);
        assert_eq!(set.names().count(), 2);
        assert!(!set.contains(WRONG_CLUSTER_V1));
        assert!(set.contains("Wrong-Cluster-v1"));
    }

    // spec-test: CAP-6
    #[test]
    fn each_violation_empties_the_set_wherever_it_stands() {
        let good = b"wrong-cluster-v1".as_slice();
        let too_long = "x".repeat(129);
        let too_many = vec!["a"; 64].join(",");
        let too_large = " ".repeat(4096);
        assert!(CapabilitySet::from_lines([good]).contains(WRONG_CLUSTER_V1));
        for bad in ["a b", "\u{e9}", "a;b", &too_long, &too_many, &too_large] {
            for lines in [[good, bad.as_bytes()], [bad.as_bytes(), good]] {
                let set = CapabilitySet::from_lines(lines);
                assert_eq!(set, CapabilitySet::default(), "{bad}");
            }
        }
    }

    // spec-test: CAP-2, CAP-4
    #[test]
    fn combines_lines_and_members_into_a_sorted_set() {
        assert_eq!(parse(&[]), Ok(String::new()));
        assert_eq!(parse(&["b , a", "", "\tb\t,,a"]), Ok("a,b".to_owned()));
        assert_eq!(
            parse(&["!#$%&'*+-.^_`|~", "aZ09"]),
            Ok("!#$%&'*+-.^_`|~,aZ09".to_owned())
        );
    }

    // spec-test: CAP-1, CAP-6
    #[test]
    fn any_bad_byte_anywhere_spoils_the_whole() {
        for byte in (0..=u8::MAX).filter(|byte| !is_token_byte(*byte)) {
            if matches!(byte, b',' | b' ' | b'\t') {
                continue;
            }
            let line = [b'a', byte, b'b'];
            let lines = [b"wrong-cluster-v1".as_slice(), &line];
            assert_eq!(
                CapabilitySet::parse(lines),
                Err(CapabilityFault::InvalidByte),
                "{byte:#x}"
            );
            assert_eq!(CapabilitySet::from_lines(lines), CapabilitySet::default());
        }
        for line in ["a b", "a\tb"] {
            assert_eq!(parse(&[line]), Err(CapabilityFault::InvalidByte));
        }
    }

    // spec-test: CAP-1, CAP-3, CAP-5
    #[test]
    fn holds_the_limits_exactly() {
        assert!(parse(&[&"x".repeat(128)]).is_ok());
        assert_eq!(
            parse(&[&"x".repeat(129)]),
            Err(CapabilityFault::NameTooLong)
        );
        assert_eq!(parse(&[&vec!["a"; 64].join(",")]), Ok("a".to_owned()));
        assert_eq!(
            parse(&[&vec!["a"; 65].join(",")]),
            Err(CapabilityFault::TooMany)
        );
        assert_eq!(parse(&[&" ".repeat(4096)]), Ok(String::new()));
        assert_eq!(parse(&[&" ".repeat(4097)]), Err(CapabilityFault::TooLarge));
        assert_eq!(parse(&["", &" ".repeat(4095)]), Ok(String::new()));
        assert_eq!(
            parse(&["", &" ".repeat(4096)]),
            Err(CapabilityFault::TooLarge)
        );
    }

    // spec-test: CAP-7
    #[test]
    fn formats_what_it_would_parse_and_refuses_the_rest() {
        let set = CapabilitySet::new(["b", "a", "b"]).unwrap();
        assert_eq!(set.header_value(), "a,b");
        assert_eq!(
            CapabilitySet::from_lines([set.header_value().as_bytes()]),
            set
        );
        assert_eq!(
            CapabilitySet::new(["a b"]),
            Err(CapabilityFault::InvalidByte)
        );
        assert_eq!(
            CapabilitySet::new(["a,b"]),
            Err(CapabilityFault::InvalidByte)
        );
        assert_eq!(CapabilitySet::new([""]), Err(CapabilityFault::NameEmpty));
        assert_eq!(
            CapabilitySet::new([&*"x".repeat(129)]),
            Err(CapabilityFault::NameTooLong)
        );
        let many: Vec<String> = (0..65).map(|n| format!("n{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(
            CapabilitySet::new(many.iter().copied()),
            Err(CapabilityFault::TooMany)
        );
        let long: Vec<String> = (0..32).map(|n| format!("{n:0>128}")).collect();
        let fault = CapabilitySet::new(long.iter().map(String::as_str));
        assert_eq!(fault, Err(CapabilityFault::TooLarge));
    }
}
