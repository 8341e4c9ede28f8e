//! What a dump of an HTTP exchange may show. Dumps are for an operator who asked for them and knows
//! that they hold what users of tools write; even then no header line shows a credential, a token, a
//! session or an address.
//! Polls are never dumped: see `PRIV-6` in `SPEC.md`.

use std::borrow::Cow;
use std::ops::Range;

use crate::delivery::shown_text;
use crate::poll::HeaderLines;
use crate::wire::json::{JsonFault, for_each_member};

/// What stands in the place of a secret.
pub const MASK: &str = "***";

/// How much of a body is shown, in bytes.
pub const MAX_SHOWN_BYTES: usize = 65_536;

/// The value of a header line, or [`MASK`] where its name says that it is a secret or an address:
/// credentials, cookies, tokens, keys and sessions of any kind, and what names a place. When in doubt,
/// it is. So is a value that whoever set it calls sensitive, but for the version of the protocol.
// spec: PRIV-1, PRIV-10
#[must_use]
pub fn shown_value<'a>(name: &str, value: &'a [u8], is_sensitive: bool) -> Cow<'a, str> {
    let is_open = name.eq_ignore_ascii_case("mcp-protocol-version");
    if is_secret(name) || (is_sensitive && !is_open) {
        Cow::Borrowed(MASK)
    } else {
        String::from_utf8_lossy(value)
    }
}

/// The body of the POST of a response, whose member `resp_headers` holds header lines of the target:
/// they are masked as such. A body that cannot be read is masked as a whole.
// spec: PRIV-10
#[must_use]
pub fn shown_response(body: &[u8]) -> String {
    let text = std::str::from_utf8(body).unwrap_or_default();
    let Ok(secrets) = secret_headers(text) else {
        return MASK.to_owned();
    };
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for secret in secrets {
        shown.push_str(text.get(at..secret.start).unwrap_or_default());
        shown.extend(["[\"", MASK, "\"]"]);
        at = secret.end;
    }
    shown.push_str(text.get(at..).unwrap_or_default());
    shown
}

/// Where the values stand that are not to be shown.
fn secret_headers(text: &str) -> Result<Vec<Range<usize>>, JsonFault> {
    let mut found = Vec::new();
    for_each_member(text, |key, value| {
        if key != b"resp_headers" {
            return value.raw().map(drop);
        }
        value.for_each_member(|name, values| {
            let span = values.span()?;
            if is_secret(&String::from_utf8_lossy(name)) {
                found.push(span);
            }
            Ok(())
        })
    })?;
    Ok(found)
}

fn is_secret(name: &str) -> bool {
    const WORDS: [&str; 17] = [
        "auth",
        "cookie",
        "credential",
        "forwarded",
        "host",
        "key",
        "link",
        "location",
        "origin",
        "password",
        "referer",
        "refresh",
        "secret",
        "session",
        "signature",
        "token",
        "via",
    ];
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
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

    // spec-test: PRIV-1, PRIV-10
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
            "Location",
            "Content-Location",
            "Origin",
            "Access-Control-Allow-Origin",
            "Referer",
            "Link",
            "Host",
            "X-Forwarded-For",
            "Via",
        ] {
            assert_eq!(shown_value(name, b"value", false), MASK, "{name}");
        }
        for name in ["Content-Type", "X-Request-Id", "Accept"] {
            assert_eq!(shown_value(name, b"value", false), "value", "{name}");
            assert_eq!(shown_value(name, b"value", true), MASK, "{name}");
        }
        assert_eq!(shown_value("MCP-Protocol-Version", b"1", true), "1");
        assert_eq!(shown_value("x", b"\xff", false), "\u{fffd}");
    }

    // spec-test: PRIV-10
    #[test]
    fn masks_the_headers_in_the_body_of_a_response() {
        let body = r#"{"resp_json":{"resp_headers":{"key":["a"]}},"resp_headers":{"Content-Type":["b"],"Mcp-Session-Id":["c","d"],"WWW-Authenticate":["e"]},"resp_code":401}"#;
        let shown = body
            .replace(r#"["c","d"]"#, r#"["***"]"#)
            .replace(r#"["e"]"#, r#"["***"]"#);
        assert_eq!(shown_response(body.as_bytes()), shown);
        assert_eq!(shown_response(b"{\"resp_json\":1}"), "{\"resp_json\":1}");
        for body in [
            b"".as_slice(),
            b"{\"resp_headers\":[\"c\"]}",
            b"\xff",
            b"{\"resp_headers\":{\"key\":[\"c\"]}",
        ] {
            assert_eq!(shown_response(body), MASK);
        }
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
