//! What a dump of an HTTP exchange may show. Dumps are for an operator who asked for them and knows
//! that they hold what users of tools write; even then no credential, token or session is among it.
//! Polls are never dumped: see `PRIV-6` in `SPEC.md`.

use std::borrow::Cow;

use crate::delivery::shown_text;
use crate::poll::HeaderLines;

/// What stands in the place of a secret.
pub const MASK: &str = "***";

/// How much of a body is shown, in bytes.
pub const MAX_SHOWN_BYTES: usize = 65_536;

/// The value of a header line, or [`MASK`] where the name says that it is a secret: credentials,
/// cookies, tokens, keys and sessions of any kind. When in doubt, it is.
// spec: PRIV-1
#[must_use]
pub fn shown_value<'a>(name: &str, value: &'a [u8]) -> Cow<'a, str> {
    const SECRET: [&str; 9] = [
        "auth",
        "cookie",
        "credential",
        "key",
        "password",
        "secret",
        "session",
        "signature",
        "token",
    ];
    let name = name.to_ascii_lowercase();
    if SECRET.iter().any(|word| name.contains(word)) {
        Cow::Borrowed(MASK)
    } else {
        String::from_utf8_lossy(value)
    }
}

/// The text of a body, cut at a whole character after at most [`MAX_SHOWN_BYTES`]. Of a response that
/// may speak about placement a fixed phrase is shown instead.
// spec: PRIV-9
pub fn shown_body<'a, H: HeaderLines + ?Sized>(headers: &H, body: &'a [u8]) -> &'a str {
    let text = shown_text(headers, body);
    // A character takes at most four bytes.
    let ends = (0..4).map(|less| MAX_SHOWN_BYTES - less);
    let cut = || ends.clone().find_map(|end| text.get(..end));
    if text.len() <= MAX_SHOWN_BYTES {
        text
    } else {
        cut().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::WITHHELD_TEXT;

    type Lines = [(&'static str, &'static [u8])];

    // spec-test: PRIV-1
    #[test]
    fn masks_whatever_may_be_a_secret() {
        for name in [
            "Authorization",
            "proxy-authorization",
            "Cookie",
            "Set-Cookie",
            "X-Tunnel-Shard-Token",
            "Mcp-Session-Id",
            "x-api-key",
            "WWW-Authenticate",
            "X-Amz-Signature",
        ] {
            assert_eq!(shown_value(name, b"value"), MASK, "{name}");
        }
        for name in ["Content-Type", "X-Request-Id", "Accept"] {
            assert_eq!(shown_value(name, b"value"), "value", "{name}");
        }
        assert_eq!(shown_value("x", b"\xff"), "\u{fffd}");
    }

    // spec-test: PRIV-9
    #[test]
    fn shows_a_body_up_to_its_limit_unless_it_may_speak_about_placement() {
        let none: &Lines = &[];
        assert_eq!(shown_body(none, b"{}"), "{}");
        let long = "\u{e9}".repeat(MAX_SHOWN_BYTES);
        assert_eq!(shown_body(none, long.as_bytes()).len(), MAX_SHOWN_BYTES);
        let odd = format!("x{long}");
        assert_eq!(shown_body(none, odd.as_bytes()).len(), MAX_SHOWN_BYTES - 1);
        let token: &Lines = &[("X-Tunnel-Shard-Token", b"t")];
        assert_eq!(shown_body(token, b"{}"), WITHHELD_TEXT);
        let code = br#"{"error":{"code":"wrong_cluster"}}"#;
        assert_eq!(shown_body(none, code), WITHHELD_TEXT);
    }
}
