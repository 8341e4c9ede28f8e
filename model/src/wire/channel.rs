use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// The greatest length of a channel's name, in bytes.
pub const MAX_CHANNEL_BYTES: usize = 64;

/// The name of the channel that a command goes to when it names none.
const MAIN: &str = "main";

/// The name of a channel: which of the client's targets a command is for. 1 to 64 bytes of lower-case
/// ASCII letters, digits, `-` and `_`. Clones share one allocation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel(Arc<str>);

/// Why a text names no channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum ChannelFault {
    /// Nothing, or white space alone.
    #[error("a channel's name must not be empty")]
    Empty,
    /// A byte other than a letter, a digit, `-` or `_`.
    #[error("a channel's name must hold only letters, digits, '-' and '_'")]
    InvalidByte,
    /// More than 64 bytes.
    #[error("a channel's name must hold at most 64 bytes")]
    TooLong,
}

impl Channel {
    /// The channel of a command that names none.
    // spec: CMD-3
    #[must_use]
    pub fn main() -> Self {
        Self(Arc::from(MAIN))
    }

    /// Reads a name: white space around it is removed, and ASCII letters become lower case. Other
    /// letters are never folded into ASCII ones (the Kelvin sign is no `k`).
    ///
    /// # Errors
    ///
    /// A name that is empty, too long, or holds anything but letters, digits, `-` and `_`.
    // spec: CMD-3
    pub fn parse(text: &str) -> Result<Self, ChannelFault> {
        let name = text.trim();
        if name.is_empty() {
            return Err(ChannelFault::Empty);
        }
        if name.len() > MAX_CHANNEL_BYTES {
            return Err(ChannelFault::TooLong);
        }
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if !name.bytes().all(allowed) {
            return Err(ChannelFault::InvalidByte);
        }
        Ok(Self(Arc::from(name.to_ascii_lowercase())))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, ChannelFault> {
        Channel::parse(text).map(|channel| channel.to_string())
    }

    // spec-test: CMD-3
    #[test]
    fn trims_and_lowers_what_it_takes() {
        for (text, name) in [
            ("main", "main"),
            ("  Main\t\n", "main"),
            ("A-b_9", "a-b_9"),
            ("-", "-"),
            ("_", "_"),
            ("0", "0"),
        ] {
            assert_eq!(parse(text), Ok(name.to_owned()), "{text:?}");
        }
        assert_eq!(parse(&"x".repeat(64)), Ok("x".repeat(64)));
        assert_eq!(parse(&format!(" {} ", "X".repeat(64))), Ok("x".repeat(64)));
        assert_eq!(Channel::main().as_str(), "main");
        assert_eq!(Channel::parse("MAIN"), Ok(Channel::main()));
    }

    // spec-test: CMD-3
    #[test]
    fn refuses_everything_else_by_its_own_name() {
        for text in ["", " ", "\t\r\n"] {
            assert_eq!(parse(text), Err(ChannelFault::Empty), "{text:?}");
        }
        assert_eq!(parse(&"x".repeat(65)), Err(ChannelFault::TooLong));
        for text in [
            "a b",
            "a.b",
            "a/b",
            "\u{212a}",
            "\u{e9}",
            "a\u{0}",
            "main,other",
        ] {
            assert_eq!(parse(text), Err(ChannelFault::InvalidByte), "{text:?}");
        }
        let allowed = (0..=0x7f_u8)
            .filter(|byte| parse(&format!("a{}a", char::from(*byte))).is_ok())
            .count();
        assert_eq!(allowed, 26 + 26 + 10 + 2);
    }

    #[test]
    fn prints_with_padding() {
        assert_eq!(format!("[{:>6}]", Channel::main()), "[  main]");
    }
}
