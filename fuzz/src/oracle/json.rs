//! JSON as `serde_json` reads it, cut into members and elements.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Whether the text is one JSON value. Numbers may be of any size and strings may hold lone
/// surrogates: values that are skipped are judged by their syntax alone.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// The unescaped keys and the raw values of an object, in order, repeated keys included; `None` for
/// any other kind of value. The text must be JSON. A key that stands for no text is no key that
/// anybody looks for: it comes out as `None`.
pub(crate) fn members(text: &str) -> Option<Vec<(Option<String>, &str)>> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let Members(members) = serde_json::from_str(text).expect("an object whose syntax was checked");
    Some(members)
}

/// The raw values of an array, in order; `None` for any other kind of value. The text must be JSON.
pub(crate) fn elements(text: &str) -> Option<Vec<&str>> {
    if !text.trim_start().starts_with('[') {
        return None;
    }
    let elements: Vec<&RawValue> =
        serde_json::from_str(text).expect("an array whose syntax was checked");
    Some(elements.into_iter().map(RawValue::get).collect())
}

/// The values of the members with this key.
pub(crate) fn all<'a>(members: &[(Option<String>, &'a str)], key: &str) -> Vec<&'a str> {
    members
        .iter()
        .filter(|(found, _)| found.as_deref() == Some(key))
        .map(|(_, value)| *value)
        .collect()
}

/// What a JSON string stands for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum JsonString {
    /// This text.
    Text(String),
    /// No text at all: there is a lone surrogate in it.
    NoText,
}

/// Unescapes a string; `None` for any other kind of value. The raw text must be JSON.
pub(crate) fn string(raw: &str) -> Option<JsonString> {
    Some(match String::from_utf16(&units(raw)?) {
        Ok(text) => JsonString::Text(text),
        Err(_) => JsonString::NoText,
    })
}

/// The UTF-16 units that a string stands for, which tell strings apart that stand for no text, too;
/// `None` for any other kind of value. The raw text must be JSON.
pub(crate) fn units(raw: &str) -> Option<Vec<u16>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    let mut units = Vec::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        let c = match c {
            '\\' => chars.next().expect("something after a backslash"),
            plain => {
                units.extend(plain.encode_utf16(&mut [0; 2]).iter());
                continue;
            }
        };
        units.push(match c {
            'b' => 8,
            't' => 9,
            'n' => 10,
            'f' => 12,
            'r' => 13,
            'u' => {
                let digits: String = chars.by_ref().take(4).collect();
                u16::from_str_radix(&digits, 16).expect("four hexadecimal digits")
            }
            // Quote, backslash and slash stand for themselves.
            other => u16::try_from(u32::from(other)).expect("one unit"),
        });
    }
    Some(units)
}

struct Members<'a>(Vec<(Option<String>, &'a str)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(Key(key)) = map.next_key()? {
            members.push((key, map.next_value::<&RawValue>()?.get()));
        }
        Ok(Members(members))
    }
}

struct Key(Option<String>);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // As bytes, since a key with a lone surrogate is no text.
        deserializer.deserialize_bytes(KeyVisitor)
    }
}

struct KeyVisitor;

impl Visitor<'_> for KeyVisitor {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Key, E> {
        Ok(Key(String::from_utf8(bytes.to_owned()).ok()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_objects_and_arrays() {
        let found = members(r#" {"a" : [1, 2] ,"\u0061":1e999,"\ud800":{}}"#).unwrap();
        assert_eq!(all(&found, "a"), ["[1, 2]", "1e999"]);
        assert_eq!((found.len(), &found[2]), (3, &(None, "{}")));
        assert_eq!(elements("[ 1,[2] ]"), Some(vec!["1", "[2]"]));
        assert_eq!((members("[]"), elements("{}")), (None, None));
    }

    #[test]
    fn unescapes_strings() {
        let text = |text: &str| Some(JsonString::Text(text.to_owned()));
        assert_eq!(
            string(r#""a\"\\\/\b\f\n\r\tz""#),
            text("a\"\\/\u{8}\u{c}\n\r\tz")
        );
        assert_eq!(string(r#""\u00e9\ud83d\ude00é""#), text("é\u{1f600}é"));
        assert_eq!(string(r#""\ude00\ud83d""#), Some(JsonString::NoText));
        assert_eq!(string("1"), None);
    }
}
