use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// The greatest length of a replacement token, in bytes.
pub const MAX_SHARD_TOKEN_BYTES: usize = 4096;

/// The opaque token that polls carry after a correction: 1 to 4096 bytes of visible ASCII (0x21 to
/// 0x7e) without comma. A secret: it prints nothing of itself. Clones share one allocation.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ShardToken(Arc<str>);

/// Why header lines hold no replacement token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum ShardTokenFault {
    /// The value is empty.
    #[error("the token header must not be empty")]
    Empty,
    /// A byte other than visible ASCII, or a comma.
    #[error("the token header must hold visible ASCII without comma")]
    InvalidByte,
    /// There is no header line.
    #[error("the token header must be present")]
    Missing,
    /// There are two header lines or more.
    #[error("the token header must be present once")]
    Repeated,
    /// More than 4096 bytes.
    #[error("the token header must hold at most 4096 bytes")]
    TooLong,
}

impl ShardToken {
    /// Reads the field lines of the replacement header, values as received.
    ///
    /// # Errors
    ///
    /// Anything but exactly one line that holds exactly one token.
    // spec: COR-8, COR-9, COR-10
    pub fn from_lines<'a>(
        lines: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, ShardTokenFault> {
        let mut lines = lines.into_iter();
        let only = lines.next().ok_or(ShardTokenFault::Missing)?;
        if lines.next().is_some() {
            return Err(ShardTokenFault::Repeated);
        }
        Self::from_bytes(only)
    }

    /// Reads one header value.
    ///
    /// # Errors
    ///
    /// A value that is empty, too long, or holds a byte that no token may hold.
    pub fn from_bytes(value: &[u8]) -> Result<Self, ShardTokenFault> {
        if value.is_empty() {
            return Err(ShardTokenFault::Empty);
        }
        if value.len() > MAX_SHARD_TOKEN_BYTES {
            return Err(ShardTokenFault::TooLong);
        }
        if !value
            .iter()
            .all(|byte| byte.is_ascii_graphic() && *byte != b',')
        {
            return Err(ShardTokenFault::InvalidByte);
        }
        let text = std::str::from_utf8(value).map_err(|_| ShardTokenFault::InvalidByte)?;
        Ok(Self(Arc::from(text)))
    }

    /// The token itself, for the one header that carries it. Never log it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

// spec: PRIV-3
impl fmt::Debug for ShardToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ShardToken(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&[u8]]) -> Result<String, ShardTokenFault> {
        ShardToken::from_lines(lines.iter().copied()).map(|token| token.expose().to_owned())
    }

    // spec-test: COR-9
    #[test]
    fn accepts_each_visible_byte_but_comma() {
        let all: Vec<u8> = (0x21..=0x7e).filter(|byte| *byte != b',').collect();
        assert_eq!(read(&[&all]).unwrap().as_bytes(), all);
        assert_eq!(read(&[&[b'x'; 4096]]).unwrap().len(), 4096);
    }

    // spec-test: COR-9, COR-10
    #[test]
    fn refuses_each_other_byte_anywhere() {
        for byte in (0..=0x20).chain([b',']).chain(0x7f..=0xff) {
            for value in [
                vec![byte],
                vec![b'a', byte, b'b'],
                vec![byte, b'a'],
                vec![b'a', byte],
            ] {
                assert_eq!(
                    read(&[&value]),
                    Err(ShardTokenFault::InvalidByte),
                    "{byte:#x}"
                );
            }
        }
    }

    // spec-test: COR-8, COR-9
    #[test]
    fn refuses_other_counts_and_lengths() {
        assert_eq!(read(&[]), Err(ShardTokenFault::Missing));
        assert_eq!(read(&[b""]), Err(ShardTokenFault::Empty));
        assert_eq!(read(&[b"a", b"a"]), Err(ShardTokenFault::Repeated));
        assert_eq!(read(&[b"", b"a"]), Err(ShardTokenFault::Repeated));
        assert_eq!(read(&[&[b'x'; 4097]]), Err(ShardTokenFault::TooLong));
    }

    // spec-test: PRIV-3
    #[test]
    fn prints_nothing_of_itself() {
        let token = ShardToken::from_bytes(b"route-a").unwrap();
        assert_eq!(
            format!("{token:?} {token:#?}"),
            "ShardToken(..) ShardToken(..)"
        );
    }
}
