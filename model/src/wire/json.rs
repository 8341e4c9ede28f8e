//! The little of JSON that strict parsing needs: the members of one object or the elements of one
//! array in order, with unescaped keys and raw values, repeated keys and all. The syntax of the whole
//! text is checked; odd numbers and lone surrogates in it are not minded.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use super::scanner::{NotJson, RawString, Scanner};

/// Why a text is no JSON object, or no JSON array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonFault {
    /// Not JSON at all, or more than one value.
    NotJson,
    /// JSON, but another kind of value. An array never passes for an object.
    OtherKind,
}

impl From<NotJson> for JsonFault {
    fn from(NotJson: NotJson) -> Self {
        Self::NotJson
    }
}

/// Reads the one object in `text`: calls `visit` with the unescaped key and the value of each member,
/// in order, repeated keys included.
pub(crate) fn for_each_member<'a>(
    text: &'a str,
    visit: impl FnMut(&[u8], Value<'_, 'a>) -> Result<(), JsonFault>,
) -> Result<(), JsonFault> {
    whole(text, |value| value.for_each_member(visit))
}

/// Reads the one array in `text`: calls `visit` with the raw value of each element, in order.
pub(crate) fn for_each_element<'a>(
    text: &'a str,
    mut visit: impl FnMut(&'a str),
) -> Result<(), JsonFault> {
    whole(text, |value| {
        value.for_each_item(*b"[]", |scanner| {
            visit(scanner.value()?);
            Ok(())
        })
    })
}

/// A value that comes next in a text and must be read, in one way or another, to go on.
#[must_use = "a value that nobody reads fails the text"]
pub(crate) struct Value<'s, 'a>(&'s mut Scanner<'a>);

impl<'a> Value<'_, 'a> {
    /// The raw text of the value, whatever it holds.
    // spec: COR-14
    pub(crate) fn raw(self) -> Result<&'a str, JsonFault> {
        Ok(self.0.value()?)
    }

    /// Where the raw text of the value stands in the whole text, in bytes.
    pub(crate) fn span(self) -> Result<Range<usize>, JsonFault> {
        let start = self.0.value_start();
        let raw = self.0.value()?;
        Ok(start..start.saturating_add(raw.len()))
    }

    /// Whether this is an object. An array never passes for one.
    pub(crate) fn is_object(&mut self) -> bool {
        self.0.next_byte() == b'{'
    }

    /// Reads the value as an object, like [`for_each_member`].
    // spec: COR-3
    pub(crate) fn for_each_member(
        self,
        mut visit: impl FnMut(&[u8], Value<'_, 'a>) -> Result<(), JsonFault>,
    ) -> Result<(), JsonFault> {
        self.for_each_item(*b"{}", |scanner| {
            let key = unescaped(scanner.key()?).ok_or(JsonFault::NotJson)?;
            visit(&key, Value(scanner))
        })
    }

    /// Reads the value as the container between these two bytes. A value of another kind is checked
    /// to its end.
    fn for_each_item(
        self,
        [open, close]: [u8; 2],
        mut item: impl FnMut(&mut Scanner<'a>) -> Result<(), JsonFault>,
    ) -> Result<(), JsonFault> {
        let Self(scanner) = self;
        if !scanner.passes(open) {
            scanner.value()?;
            return Err(JsonFault::OtherKind);
        }
        if scanner.passes(close) {
            return Ok(());
        }
        loop {
            item(scanner)?;
            if scanner.passes(close) {
                return Ok(());
            }
            scanner.expect(b',')?;
        }
    }
}

/// The unescaped bytes of a JSON string; `None` for any other kind of value. A lone surrogate comes
/// out as bytes that no UTF-8 text equals.
pub(crate) fn string_bytes(raw: &str) -> Option<Cow<'_, [u8]>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    unescaped(RawString {
        inner,
        escaped: inner.contains('\\'),
    })
}

/// The text that a JSON string stands for; `None` for any other kind of value, and for a string with
/// a lone surrogate, which stands for no text.
pub(crate) fn string_text(raw: &str) -> Option<String> {
    String::from_utf8(string_bytes(raw)?.into_owned()).ok()
}

/// Appends `text` to `out` as a JSON string.
pub(crate) fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            // Writing to a string never fails.
            '\0'..='\u{1f}' => drop(write!(out, "\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// Reads a text that must hold one value.
// spec: COR-2
fn whole<'a>(
    text: &'a str,
    read: impl FnOnce(Value<'_, 'a>) -> Result<(), JsonFault>,
) -> Result<(), JsonFault> {
    let mut scanner = Scanner::new(text);
    let found = read(Value(&mut scanner));
    if found == Err(JsonFault::NotJson) {
        return found;
    }
    // A value of another kind in a text that goes on after it makes no JSON at all.
    scanner.expect_end()?;
    found
}

// spec: COR-3
#[inline]
fn unescaped(string: RawString<'_>) -> Option<Cow<'_, [u8]>> {
    if string.escaped {
        unescape(string.inner)
    } else {
        Some(Cow::Borrowed(string.inner.as_bytes()))
    }
}

#[cold]
fn unescape(inner: &str) -> Option<Cow<'_, [u8]>> {
    let Bytes(bytes) = serde_json::from_str(&format!("\"{inner}\"")).ok()?;
    Some(Cow::Owned(bytes))
}

/// A JSON string as bytes: unlike text these may hold what a lone surrogate escape stands for.
struct Bytes(Vec<u8>);

impl<'a> Deserialize<'a> for Bytes {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(BytesVisitor)
    }
}

struct BytesVisitor;

impl Visitor<'_> for BytesVisitor {
    type Value = Bytes;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
        Ok(Bytes(bytes.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> Result<Vec<(Vec<u8>, &str)>, JsonFault> {
        let mut seen = Vec::new();
        for_each_member(text, |key, value| {
            seen.push((key.to_owned(), value.raw()?));
            Ok(())
        })?;
        Ok(seen)
    }

    // spec-test: COR-3, COR-14
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

    // spec-test: COR-2, COR-5
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
            "{\"\u{1}\":1}",
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

    // spec-test: COR-14
    #[test]
    fn skips_any_depth_without_recursion() {
        let depth = 500_000;
        let text = format!("{{\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(members(&text).unwrap().len(), 1);
        let unclosed = format!("{{\"x\":{}}}", "[".repeat(depth));
        assert_eq!(members(&unclosed), Err(JsonFault::NotJson));
    }

    // spec-test: COR-3
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

    #[test]
    fn a_value_that_nobody_reads_fails_the_text() {
        let unread = |_: &[u8], _: Value<'_, '_>| Ok(());
        assert_eq!(
            for_each_member("{\"a\":1}", unread),
            Err(JsonFault::NotJson)
        );
        assert_eq!(for_each_member("{}", unread), Ok(()));
    }

    #[test]
    fn reads_an_object_inside_of_an_object_in_one_pass() {
        let mut seen = Vec::new();
        let read = for_each_member(
            "{\"x\":[1],\"y\":{\"a\":{},\"\\u0062\":2},\"z\":3}",
            |key, mut value| {
                if !value.is_object() {
                    return value.raw().map(drop);
                }
                let outer = key.to_owned();
                value.for_each_member(|key, value| {
                    seen.push((outer.clone(), key.to_owned(), value.raw()?));
                    Ok(())
                })
            },
        );
        let y = b"y".to_vec();
        assert_eq!(read, Ok(()));
        assert_eq!(
            seen,
            [(y.clone(), b"a".to_vec(), "{}"), (y, b"b".to_vec(), "2")]
        );
    }

    #[test]
    fn gives_the_elements_of_one_array() {
        let elements = |text| {
            let mut seen = Vec::new();
            for_each_element(text, |value| seen.push(value)).map(|()| seen)
        };
        assert_eq!(elements(" [ 1 , [2] ,{} ] "), Ok(vec!["1", "[2]", "{}"]));
        assert_eq!(elements("[]"), Ok(vec![]));
        assert_eq!(elements("{}"), Err(JsonFault::OtherKind));
        assert_eq!(elements("[1,]"), Err(JsonFault::NotJson));
        assert_eq!(elements("[1] 2"), Err(JsonFault::NotJson));
        assert_eq!(elements("{} x"), Err(JsonFault::NotJson));
    }

    #[test]
    fn gives_the_place_of_a_value_in_the_whole_text() {
        let text = "{ \"a\" : 1 ,\"é\":\"é\" , \"b\":\t[ {} ]\n}";
        let mut spans = Vec::new();
        for_each_member(text, |_, value| {
            spans.push(value.span()?);
            Ok(())
        })
        .unwrap();
        let values: Vec<&str> = spans.into_iter().map(|span| &text[span]).collect();
        assert_eq!(values, ["1", "\"é\"", "[ {} ]"]);
        let broken = for_each_member("{\"a\":}", |_, value| value.span().map(drop));
        assert_eq!(broken, Err(JsonFault::NotJson));
    }

    #[test]
    fn gives_the_text_of_strings_that_stand_for_one() {
        assert_eq!(string_text(r#""a\u0062""#), Some("ab".to_owned()));
        for raw in [r#""\ud800""#, "1", "null", "[]"] {
            assert_eq!(string_text(raw), None, "{raw}");
        }
    }

    #[test]
    fn writes_strings_that_read_back_as_they_were() {
        for text in ["", "a", "\"\\/", "é\u{7f}\u{2028}", "\0\t\n\r\u{1f} "] {
            let mut raw = "x".to_owned();
            push_string(&mut raw, text);
            let raw = raw.strip_prefix('x').unwrap();
            assert_eq!(serde_json::from_str::<String>(raw).unwrap(), text);
            assert_eq!(string_text(raw).as_deref(), Some(text));
        }
        let mut raw = String::new();
        push_string(&mut raw, "\n\u{1f}\"\\");
        assert_eq!(raw, r#""\u000a\u001f\"\\""#);
    }
}
