//! The little of JSON that strict parsing needs on top of `serde_json`'s streaming deserializer:
//! object members in order, with unescaped keys and raw values. `serde_json` skips a raw value
//! without recursion, checks its syntax, and minds neither odd numbers nor lone surrogates in it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::de::StrRead;
use serde_json::value::RawValue;

/// Why a text is no JSON object, or no JSON array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonFault {
    /// Not JSON at all, or more than one value.
    NotJson,
    /// JSON, but another kind of value. An array never passes for an object.
    OtherKind,
}

/// Calls `visit` with the unescaped key and the raw value of each member of the one object in
/// `text`, in order, repeated keys included.
pub(super) fn for_each_member<'a>(
    text: &'a str,
    visit: impl FnMut(&[u8], &'a str),
) -> Result<(), JsonFault> {
    read_whole(text, |deserializer| {
        deserializer.deserialize_map(Members(visit))
    })
}

/// Calls `visit` with the raw value of each element of the one array in `text`, in order.
pub(super) fn for_each_element<'a>(
    text: &'a str,
    visit: impl FnMut(&'a str),
) -> Result<(), JsonFault> {
    read_whole(text, |deserializer| {
        deserializer.deserialize_seq(Elements(visit))
    })
}

/// The unescaped bytes of a JSON string; `None` for any other kind of value. A lone surrogate comes
/// out as bytes that no UTF-8 text equals.
pub(super) fn string_bytes(raw: &str) -> Option<Cow<'_, [u8]>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.as_bytes().contains(&b'\\') {
        return Some(Cow::Borrowed(inner.as_bytes()));
    }
    serde_json::from_str(raw).ok().map(|Bytes(bytes)| bytes)
}

fn read_whole<'a>(
    text: &'a str,
    read: impl FnOnce(&mut serde_json::Deserializer<StrRead<'a>>) -> serde_json::Result<()>,
) -> Result<(), JsonFault> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    read(&mut deserializer)
        .and_then(|()| deserializer.end())
        .map_err(|error| {
            // Only the outermost value is asked for by its kind, so only that one can be of another.
            if error.is_data() {
                JsonFault::OtherKind
            } else {
                JsonFault::NotJson
            }
        })
}

struct Members<F>(F);

impl<'a, F: FnMut(&[u8], &'a str)> Visitor<'a> for Members<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(mut self, mut members: A) -> Result<(), A::Error> {
        while let Some(Bytes(key)) = members.next_key()? {
            let value: &'a RawValue = members.next_value()?;
            (self.0)(&key, value.get());
        }
        Ok(())
    }
}

struct Elements<F>(F);

impl<'a, F: FnMut(&'a str)> Visitor<'a> for Elements<F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'a>>(mut self, mut elements: A) -> Result<(), A::Error> {
        while let Some(value) = elements.next_element::<&'a RawValue>()? {
            (self.0)(value.get());
        }
        Ok(())
    }
}

/// A JSON string as bytes: unlike text these may hold what a lone surrogate escape stands for.
struct Bytes<'a>(Cow<'a, [u8]>);

impl<'a> Deserialize<'a> for Bytes<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(BytesVisitor)
    }
}

struct BytesVisitor;

impl<'a> Visitor<'a> for BytesVisitor {
    type Value = Bytes<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_bytes<E: Error>(self, bytes: &'a [u8]) -> Result<Bytes<'a>, E> {
        Ok(Bytes(Cow::Borrowed(bytes)))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Bytes<'a>, E> {
        Ok(Bytes(Cow::Owned(bytes.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Result<Vec<(Vec<u8>, &str)>, JsonFault> {
        let mut seen = Vec::new();
        for_each_member(text, |key, value| seen.push((key.to_owned(), value)))?;
        Ok(seen)
    }

    #[test]
    fn gives_members_in_order_with_unescaped_keys_and_raw_values() {
        let seen =
            members(" { \"a\" : 1e999 , \"\\u0061\":[ {} ], \"\\ud800\": \"\\udfff\" }\n").unwrap();
        assert_eq!(
            seen,
            [
                (b"a".to_vec(), "1e999"),
                (b"a".to_vec(), "[ {} ]"),
                (b"\xed\xa0\x80".to_vec(), "\"\\udfff\""),
            ]
        );
    }

    #[test]
    fn tells_other_kinds_from_broken_text() {
        for text in ["[]", "[[\"error\",{}]]", "null", "1", "\"a\"", "true"] {
            assert_eq!(members(text), Err(JsonFault::OtherKind), "{text}");
        }
        for text in [
            "",
            " ",
            "{",
            "{}{}",
            "{} x",
            "{\"a\":1,}",
            "{\"a\"}",
            "{a:1}",
            "{\"a\":01}",
            "{\"a\":+1}",
            "{\"a\":1.}",
            "{\"a\":.5}",
            "{\"a\":\"\u{1}\"}",
            "{\"a\":\"\\x\"}",
            "{\"a\":\"\\u12g4\"}",
            "{\"a\":NaN}",
            "{'a':1}",
            "\u{feff}{}",
            "{\"a\":1}\u{a0}",
            "{\"a\":1 /* */}",
        ] {
            assert_eq!(members(text), Err(JsonFault::NotJson), "{text}");
        }
    }

    #[test]
    fn skips_any_depth_without_recursion() {
        let depth = 500_000;
        let text = format!("{{\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(members(&text).unwrap().len(), 1);
        let unclosed = format!("{{\"x\":{}}}", "[".repeat(depth));
        assert_eq!(members(&unclosed), Err(JsonFault::NotJson));
    }

    #[test]
    fn compares_strings_after_unescaping() {
        let bytes = |raw| string_bytes(raw).map(Cow::into_owned);
        assert_eq!(bytes("\"ab\""), Some(b"ab".to_vec()));
        assert_eq!(bytes("\"\\u0061\\u0062\""), Some(b"ab".to_vec()));
        assert_eq!(bytes("\"\\\"\""), Some(b"\"".to_vec()));
        assert_eq!(bytes("\"\\ud800\""), Some(b"\xed\xa0\x80".to_vec()));
        for raw in ["1", "null", "[97,98]", "{}", "true"] {
            assert_eq!(bytes(raw), None, "{raw}");
        }
    }
}
