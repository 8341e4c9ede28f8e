//! JSON-RPC 2.0 messages as far as they must be told apart, matched and readdressed. The text of a
//! message is never written anew: what changes is the raw text of one value in it, and every other
//! byte, unknown members included, stays as it was.
//!
//! Sizes are limited by whoever read the text. Nothing here recurses with its input.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use thiserror::Error;

use crate::wire::json::{JsonFault, for_each_member, push_string, string_bytes};
use crate::wire::member::{Member, Repeated};

/// One message, classified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// An answer that is an error. Without an id it answers something that could not be read.
    Error {
        /// The id of the request, unless it is null or absent.
        id: Option<RawId>,
    },
    /// Asks for no answer.
    Notification {
        /// The method, unescaped.
        method: Cow<'a, str>,
    },
    /// Asks for an answer.
    Request {
        /// What the answer must repeat.
        id: RawId,
        /// The method, unescaped.
        method: Cow<'a, str>,
    },
    /// An answer with a result.
    Response {
        /// The id of the request.
        id: RawId,
    },
}

/// Why a text is no JSON-RPC message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum MessageFault {
    /// An error whose `error` is no object with an integer `code` and a string `message`.
    #[error("the member error must have an integer code and a string message")]
    ErrorInvalid,
    /// An id that is neither a string nor an integer.
    #[error("the member id must be a string or an integer")]
    IdInvalid,
    /// A result without an id.
    #[error("a response must have an id")]
    IdMissing,
    /// A member that decides what the message is stands twice or more.
    #[error("the member {0} must stand once")]
    MemberRepeated(&'static str),
    /// A method that is no string, or stands for no text.
    #[error("the member method must be a string")]
    MethodInvalid,
    /// JSON, but no object: batches are none.
    #[error("a message must be a JSON object")]
    NotAnObject,
    /// Not one JSON value.
    #[error("a message must be one JSON value")]
    NotJson,
    /// Not exactly one of a method, a result and an error.
    #[error("a message must have one of method, result and error")]
    NotOneKind,
    /// `jsonrpc` is absent or not the string `2.0`.
    #[error("the member jsonrpc must be the string 2.0")]
    VersionInvalid,
}

/// The id of a request, or a progress token: a JSON string or integer, with its text as received.
/// Two are equal if they stand for the same JSON value: `"a"` and `"\u0061"` are, `1` and `"1"` are
/// not. Integers are compared by their text, whatever their size.
#[derive(Clone, Debug)]
pub struct RawId {
    raw: Box<str>,
    /// What a string with escapes stands for; otherwise the text stands for itself.
    unescaped: Option<Box<[u8]>>,
}

impl RawId {
    /// Reads the raw text of one JSON value. `None` unless it is a string or an integer without white
    /// space around it: null, fractions and exponents are none.
    #[must_use]
    pub fn parse(raw: &str) -> Option<Self> {
        let unescaped = if raw.starts_with('"') {
            read_string(raw)?
        } else if is_integer(raw) {
            None
        } else {
            return None;
        };
        Some(Self {
            raw: raw.into(),
            unescaped,
        })
    }

    /// The id that is this text.
    pub(crate) fn of_text(text: &str) -> Self {
        let mut raw = String::new();
        push_string(&mut raw, text);
        let escaped = raw.contains('\\');
        Self {
            raw: raw.into(),
            unescaped: escaped.then(|| text.as_bytes().into()),
        }
    }

    /// The raw text, as received.
    #[must_use]
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// Whether every reader of JSON gives it back as the same value: text without a lone surrogate, or
    /// an integer that a 64-bit floating-point number holds exactly, and no negative zero.
    pub(crate) fn is_portable(&self) -> bool {
        const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;
        match self.value() {
            (true, text) => std::str::from_utf8(text).is_ok(),
            (false, _) if &*self.raw == "-0" => false,
            (false, _) => {
                let number = self.raw.parse::<i64>().ok();
                number.is_some_and(|number| number.unsigned_abs() <= MAX_SAFE_INTEGER)
            }
        }
    }

    /// Whether it is a string whose text begins like this.
    pub(crate) fn text_starts_with(&self, prefix: &str) -> bool {
        matches!(self.value(), (true, text) if text.starts_with(prefix.as_bytes()))
    }

    /// What makes two ids the same: whether it is a string, and what it stands for.
    fn value(&self) -> (bool, &[u8]) {
        let inner = self.raw.strip_prefix('"');
        let inner = inner.and_then(|rest| rest.strip_suffix('"'));
        match (inner, &self.unescaped) {
            (Some(_), Some(unescaped)) => (true, unescaped),
            (Some(inner), None) => (true, inner.as_bytes()),
            (None, _) => (false, self.raw.as_bytes()),
        }
    }
}

impl PartialEq for RawId {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}

impl Eq for RawId {}

impl Hash for RawId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value().hash(state);
    }
}

/// What a string with escapes stands for, if it has any; `None` for what is no JSON string.
fn read_string(raw: &str) -> Option<Option<Box<[u8]>>> {
    let mut whole = None;
    // The reader of members checks the syntax to the end of the text.
    for_each_member(&format!(r#"{{"":{raw}}}"#), |_, value| {
        whole = Some(value.raw()? == raw);
        Ok(())
    })
    .ok()?;
    if whole != Some(true) {
        return None;
    }
    match string_bytes(raw)? {
        Cow::Owned(bytes) => Some(Some(bytes.into())),
        Cow::Borrowed(_) => Some(None),
    }
}

fn is_integer(raw: &str) -> bool {
    let digits = raw.strip_prefix('-').unwrap_or(raw);
    match digits.as_bytes() {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

impl<'a> Message<'a> {
    /// Reads one JSON object. Members are compared after unescaping and with case, and unknown ones
    /// are not looked at.
    ///
    /// # Errors
    ///
    /// A text that is no message of exactly one kind.
    pub fn parse(text: &'a str) -> Result<Self, MessageFault> {
        let members = Members::read(text)?;
        is_version(&members.version)?;
        let (method, result, error) = (
            members.method.once()?,
            members.result.once()?,
            members.error.once()?,
        );
        // Looked at nowhere here, but two of them would mean different things to different readers.
        members.params.once()?;
        let id = members.id.once()?;
        match (method, result, error) {
            (Some(method), None, None) => Self::call(method, id),
            (None, Some(_), None) => Ok(Self::Response {
                id: RawId::parse(id.ok_or(MessageFault::IdMissing)?)
                    .ok_or(MessageFault::IdInvalid)?,
            }),
            (None, None, Some(error)) => Self::error(error, id),
            _ => Err(MessageFault::NotOneKind),
        }
    }

    fn call(method: &'a str, id: Option<&str>) -> Result<Self, MessageFault> {
        let method = match string_bytes(method).ok_or(MessageFault::MethodInvalid)? {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
        };
        let method = method.ok_or(MessageFault::MethodInvalid)?;
        match id {
            None => Ok(Self::Notification { method }),
            Some(id) => Ok(Self::Request {
                id: RawId::parse(id).ok_or(MessageFault::IdInvalid)?,
                method,
            }),
        }
    }

    fn error(error: &str, id: Option<&str>) -> Result<Self, MessageFault> {
        if !is_error_object(error) {
            return Err(MessageFault::ErrorInvalid);
        }
        match id.filter(|id| *id != "null") {
            None => Ok(Self::Error { id: None }),
            Some(id) => Ok(Self::Error {
                id: Some(RawId::parse(id).ok_or(MessageFault::IdInvalid)?),
            }),
        }
    }
}

/// The request that a text which is no message was meant to answer: it has an id, a result or an error
/// or both, and no method, whatever else is wrong with it.
// spec: CMD-34
pub(crate) fn meant_to_answer(text: &str) -> Option<RawId> {
    let members = Members::read(text).ok()?;
    let is_absent = |member: &Member<'_>| member.once() == Ok(None);
    if !is_absent(&members.method) || is_absent(&members.result) && is_absent(&members.error) {
        return None;
    }
    RawId::parse(members.id.once().ok()??)
}

fn is_error_object(error: &str) -> bool {
    let mut code = Member::new("code");
    let mut message = Member::new("message");
    let read = for_each_member(error, |key, value| {
        let value = value.raw()?;
        code.offer(key, value);
        message.offer(key, value);
        Ok(())
    });
    let code = code.once().ok().flatten().is_some_and(is_integer);
    let message = message.once().ok().flatten().and_then(string_bytes);
    read.is_ok() && code && message.is_some()
}

/// The members that decide what a message is.
struct Members<'a> {
    version: Member<'a>,
    id: Member<'a>,
    method: Member<'a>,
    params: Member<'a>,
    result: Member<'a>,
    error: Member<'a>,
}

impl<'a> Members<'a> {
    fn read(text: &'a str) -> Result<Self, MessageFault> {
        let mut members = Self {
            version: Member::new("jsonrpc"),
            id: Member::new("id"),
            method: Member::new("method"),
            params: Member::new("params"),
            result: Member::new("result"),
            error: Member::new("error"),
        };
        for_each_member(text, |key, value| {
            let value = value.raw()?;
            for member in [
                &mut members.version,
                &mut members.id,
                &mut members.method,
                &mut members.params,
                &mut members.result,
                &mut members.error,
            ] {
                member.offer(key, value);
            }
            Ok(())
        })
        .map_err(|fault| match fault {
            JsonFault::NotJson => MessageFault::NotJson,
            JsonFault::OtherKind => MessageFault::NotAnObject,
        })?;
        Ok(members)
    }
}

fn is_version(member: &Member<'_>) -> Result<(), MessageFault> {
    match member.once()?.and_then(string_bytes).as_deref() {
        Some(b"2.0") => Ok(()),
        _ => Err(MessageFault::VersionInvalid),
    }
}

impl From<Repeated> for MessageFault {
    fn from(Repeated(name): Repeated) -> Self {
        Self::MemberRepeated(name)
    }
}

/// Where a value stands in a message, as the keys that lead to it.
pub(crate) type Path = &'static [&'static str];

/// Where the id of a message stands.
pub(crate) const ID: Path = &["id"];

/// Where a request says which token its progress is to carry.
pub(crate) const REQUEST_PROGRESS_TOKEN: Path = &["params", "_meta", "progressToken"];

/// Where a notification of progress carries its token.
pub(crate) const PROGRESS_TOKEN: Path = &["params", "progressToken"];

/// Where a cancellation names the request that it cancels.
pub(crate) const CANCELLED_REQUEST: Path = &["params", "requestId"];

/// The method that tells about progress.
pub const PROGRESS_METHOD: &str = "notifications/progress";

/// The method that opens a session.
pub const INITIALIZE_METHOD: &str = "initialize";

/// The method that cancels a request.
pub const CANCELLED_METHOD: &str = "notifications/cancelled";

/// A key that leads to a value stands twice, so that readers may disagree about where it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ambiguous;

/// The progress token of a request (`params._meta.progressToken`) or of a notification of progress
/// (`params.progressToken`). `None` for other messages, and for a token that is neither a string nor
/// an integer, or whose place is ambiguous.
#[must_use]
pub fn progress_token(text: &str) -> Option<RawId> {
    let path = match Message::parse(text).ok()? {
        Message::Request { .. } => REQUEST_PROGRESS_TOKEN,
        Message::Notification { method } if method == PROGRESS_METHOD => PROGRESS_TOKEN,
        _ => return None,
    };
    id_at(text, path).ok()?
}

/// The request that a notification `notifications/cancelled` names (`params.requestId`). `None` for
/// other messages, and for an id that is neither a string nor an integer, or whose place is
/// ambiguous.
#[must_use]
pub fn cancelled_request(text: &str) -> Option<RawId> {
    match Message::parse(text).ok()? {
        Message::Notification { method } if method == CANCELLED_METHOD => {
            id_at(text, CANCELLED_REQUEST).ok()?
        }
        _ => None,
    }
}

/// The message with another id, and every other byte as it was. A text without an id, or with more
/// than one, comes back unchanged.
#[must_use]
pub fn with_id(text: &str, id: &RawId) -> String {
    with_value(text, ID, id)
}

/// The id or token at `path`, if there is one.
pub(crate) fn id_at(text: &str, path: Path) -> Result<Option<RawId>, Ambiguous> {
    Ok(raw_at(text, path)?.and_then(RawId::parse))
}

/// The raw text of the value at `path`, if there is one.
pub(crate) fn raw_at(text: &str, path: Path) -> Result<Option<&str>, Ambiguous> {
    Ok(span_at(text, path)?.and_then(|span| text.get(span)))
}

/// The message with another value at `path`, and every other byte as it was. Unchanged if there is no
/// value, or no certain one.
pub(crate) fn with_value(text: &str, path: Path, value: &RawId) -> String {
    let span = span_at(text, path).ok().flatten().unwrap_or(0..0);
    match (text.get(..span.start), text.get(span.end..)) {
        (Some(before), Some(after)) if !span.is_empty() => [before, value.raw(), after].concat(),
        _ => text.to_owned(),
    }
}

/// Where the value at `path` stands. Something on the way that is no object leads nowhere.
fn span_at(text: &str, path: Path) -> Result<Option<Range<usize>>, Ambiguous> {
    let mut span = 0..text.len();
    for key in path {
        let Some(inner) = text.get(span.clone()) else {
            return Ok(None);
        };
        let Some(found) = member_span(inner, key)? else {
            return Ok(None);
        };
        let start = span.start;
        span = start.saturating_add(found.start)..start.saturating_add(found.end);
    }
    Ok(Some(span))
}

fn member_span(text: &str, name: &str) -> Result<Option<Range<usize>>, Ambiguous> {
    let mut found = None;
    let mut repeated = false;
    let read = for_each_member(text, |key, value| {
        let span = value.span()?;
        if key == name.as_bytes() {
            repeated |= found.replace(span).is_some();
        }
        Ok(())
    });
    match (read, repeated) {
        (Err(_), _) => Ok(None),
        (Ok(()), true) => Err(Ambiguous),
        (Ok(()), false) => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn id(raw: &str) -> RawId {
        RawId::parse(raw).unwrap()
    }

    fn message(members: &str) -> Result<String, MessageFault> {
        let text = format!(r#"{{"jsonrpc":"2.0",{members}}}"#);
        Message::parse(&text).map(|message| match message {
            Message::Error { id: None } => "error".to_owned(),
            Message::Error { id: Some(id) } => format!("error {}", id.raw()),
            Message::Notification { method } => format!("notification {method}"),
            Message::Request { id, method } => format!("request {} {method}", id.raw()),
            Message::Response { id } => format!("response {}", id.raw()),
        })
    }

    #[test]
    fn tells_four_kinds_apart() {
        for (members, kind) in [
            (r#""id":1,"method":"tools/list""#, "request 1 tools/list"),
            (r#""method":"a","id":"x","params":[]"#, "request \"x\" a"),
            (r#""method":"a""#, "notification a"),
            (r#""method":"\u0061\/b","y":1,"y":2"#, "notification a/b"),
            (r#""id":-7,"result":null"#, "response -7"),
            (r#""result":{},"id":"\u0061""#, r#"response "\u0061""#),
            (
                r#""id":1,"error":{"code":-1,"message":"","data":1e999}"#,
                "error 1",
            ),
            (r#""id":null,"error":{"code":0,"message":"m"}"#, "error"),
            (r#""error":{"message":"m","code":12}"#, "error"),
            (r#""ID":1,"Method":"b","method":"a""#, "notification a"),
        ] {
            assert_eq!(message(members), Ok(kind.to_owned()), "{members}");
        }
        let spaced = " \n{ \"\\u0069d\" : 1 , \"jsonrpc\":\"2\\u002e0\",\"method\":\"a\"}\t";
        assert!(matches!(
            Message::parse(spaced),
            Ok(Message::Request { .. })
        ));
    }

    #[test]
    fn names_each_fault() {
        for (members, fault) in [
            (r#""id":null,"method":"a""#, MessageFault::IdInvalid),
            (r#""id":1.0,"method":"a""#, MessageFault::IdInvalid),
            (r#""id":1e2,"method":"a""#, MessageFault::IdInvalid),
            (r#""id":true,"method":"a""#, MessageFault::IdInvalid),
            (r#""id":[1],"method":"a""#, MessageFault::IdInvalid),
            (r#""id":{},"result":1"#, MessageFault::IdInvalid),
            (r#""id":null,"result":1"#, MessageFault::IdInvalid),
            (r#""result":1"#, MessageFault::IdMissing),
            (
                r#""id":1.5,"error":{"code":1,"message":""}"#,
                MessageFault::IdInvalid,
            ),
            (r#""id":1,"method":7"#, MessageFault::MethodInvalid),
            (r#""id":1,"method":null"#, MessageFault::MethodInvalid),
            (r#""method":"\ud800""#, MessageFault::MethodInvalid),
            (r#""id":1"#, MessageFault::NotOneKind),
            (
                r#""id":1,"method":"a","result":1"#,
                MessageFault::NotOneKind,
            ),
            (
                r#""id":1,"result":1,"error":{"code":1,"message":""}"#,
                MessageFault::NotOneKind,
            ),
            (
                r#""method":"a","error":{"code":1,"message":""}"#,
                MessageFault::NotOneKind,
            ),
            (r#""id":1,"error":null"#, MessageFault::ErrorInvalid),
            (r#""id":1,"error":"x""#, MessageFault::ErrorInvalid),
            (r#""id":1,"error":{}"#, MessageFault::ErrorInvalid),
            (r#""id":1,"error":{"code":1}"#, MessageFault::ErrorInvalid),
            (
                r#""id":1,"error":{"message":"m"}"#,
                MessageFault::ErrorInvalid,
            ),
            (
                r#""id":1,"error":{"code":"1","message":"m"}"#,
                MessageFault::ErrorInvalid,
            ),
            (
                r#""id":1,"error":{"code":1.5,"message":"m"}"#,
                MessageFault::ErrorInvalid,
            ),
            (
                r#""id":1,"error":{"code":1,"message":7}"#,
                MessageFault::ErrorInvalid,
            ),
            (
                r#""id":1,"error":{"code":1,"code":1,"message":"m"}"#,
                MessageFault::ErrorInvalid,
            ),
        ] {
            assert_eq!(message(members), Err(fault), "{members}");
        }
        for (text, fault) in [
            ("", MessageFault::NotJson),
            ("{", MessageFault::NotJson),
            ("{} {}", MessageFault::NotJson),
            ("[]", MessageFault::NotAnObject),
            ("[{}]", MessageFault::NotAnObject),
            ("null", MessageFault::NotAnObject),
            (r#"{"method":"a"}"#, MessageFault::VersionInvalid),
            (
                r#"{"jsonrpc":2.0,"method":"a"}"#,
                MessageFault::VersionInvalid,
            ),
            (
                r#"{"jsonrpc":"2","method":"a"}"#,
                MessageFault::VersionInvalid,
            ),
            (
                r#"{"jsonrpc":"2.0 ","method":"a"}"#,
                MessageFault::VersionInvalid,
            ),
        ] {
            assert_eq!(Message::parse(text), Err(fault), "{text}");
        }
    }

    #[test]
    fn refuses_each_telling_member_that_stands_twice() {
        for name in ["jsonrpc", "id", "method", "params", "result", "error"] {
            let value = r#""2.0""#;
            let text = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"a","{name}":{value},"{name}":{value}}}"#
            );
            let fault = Message::parse(&text);
            assert_eq!(fault, Err(MessageFault::MemberRepeated(name)));
        }
    }

    #[test]
    fn ids_are_equal_by_what_they_stand_for() {
        let same = [
            ("1", "1"),
            ("\"a\"", "\"\\u0061\""),
            ("\"/\"", "\"\\/\""),
            ("\"\\u00e9\"", "\"é\""),
            ("\"\\\"\"", "\"\\u0022\""),
            ("\"\"", "\"\""),
        ];
        for (one, other) in same {
            assert_eq!(id(one), id(other));
            let set: HashSet<RawId> = [id(one), id(other)].into();
            assert_eq!(set.len(), 1, "{one} {other}");
        }
        for (one, other) in [
            ("1", "\"1\""),
            ("1", "-1"),
            ("0", "-0"),
            ("\"a\"", "\"A\""),
            ("\"\\\\u0061\"", "\"a\""),
            ("\"\\ud800\"", "\"\\ud801\""),
            (
                "123456789012345678901234567890",
                "123456789012345678901234567891",
            ),
        ] {
            assert_ne!(id(one), id(other));
        }
        assert_eq!(id("\"\\u0061\"").raw(), "\"\\u0061\"");
    }

    #[test]
    fn refuses_what_is_no_id() {
        for raw in [
            "",
            "null",
            "true",
            "1.0",
            "1e1",
            "01",
            "-",
            "--1",
            "+1",
            " 1",
            "1 ",
            "\"",
            "\"a",
            "a\"",
            "\"a\" ",
            "\"a\"b\"",
            "\"a\",\"\":\"a\"",
            "\"\n\"",
            "\"\\x\"",
            "[]",
            "{}",
            "1,",
        ] {
            assert_eq!(RawId::parse(raw), None, "{raw}");
        }
    }

    #[test]
    fn finds_progress_tokens_where_they_belong() {
        let request = |params: &str| {
            let text = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"m","params":{params}}}"#);
            progress_token(&text).map(|token| token.raw().to_owned())
        };
        let found = |raw: &str| Some(raw.to_owned());
        assert_eq!(request(r#"{"_meta":{"progressToken":7}}"#), found("7"));
        assert_eq!(
            request(r#"{"a":[],"_meta":{"b":1,"progress\u0054oken":"\u0061"}}"#),
            found("\"\\u0061\"")
        );
        for params in [
            "{}",
            "[]",
            "null",
            r#"{"progressToken":7}"#,
            r#"{"_meta":null}"#,
            r#"{"_meta":[{"progressToken":7}]}"#,
            r#"{"_meta":{"progressToken":null}}"#,
            r#"{"_meta":{"progressToken":1.5}}"#,
            r#"{"_meta":{"progressToken":1,"progressToken":1}}"#,
            r#"{"_meta":{},"_meta":{"progressToken":7}}"#,
        ] {
            assert_eq!(request(params), None, "{params}");
        }
        let told = |method: &str, params: &str| {
            let text = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
            progress_token(&text).map(|token| token.raw().to_owned())
        };
        let params = r#"{"progress":1,"progressToken":"t"}"#;
        assert_eq!(told(PROGRESS_METHOD, params), found("\"t\""));
        assert_eq!(told("notifications/message", params), None);
        assert_eq!(
            told(PROGRESS_METHOD, r#"{"_meta":{"progressToken":1}}"#),
            None
        );
        assert_eq!(progress_token("{}"), None);
    }

    #[test]
    fn finds_the_request_that_is_cancelled() {
        let cancelled = |method: &str, params: &str| {
            let text = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
            cancelled_request(&text).map(|id| id.raw().to_owned())
        };
        let params = r#"{"reason":"r","requestId":12}"#;
        assert_eq!(cancelled(CANCELLED_METHOD, params), Some("12".to_owned()));
        assert_eq!(cancelled("notifications/other", params), None);
        assert_eq!(
            cancelled(CANCELLED_METHOD, r#"{"requestId":1,"requestId":2}"#),
            None
        );
        let request = r#"{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled","params":{"requestId":1}}"#;
        assert_eq!(cancelled_request(request), None);
    }

    // spec-test: CMD-34
    #[test]
    fn knows_what_was_meant_as_an_answer() {
        for (text, meant) in [
            (r#"{"id":7,"result":{}}"#, true),
            (r#"{"jsonrpc":"2.0","id":7,"result":{},"error":null}"#, true),
            (r#"{"jsonrpc":"2.0","id":7,"error":"x"}"#, true),
            (r#"{"id":7,"result":1,"result":2}"#, true),
            (r#"{"id":7,"method":"ping"}"#, false),
            (r#"{"id":7,"method":"ping","result":{}}"#, false),
            (r#"{"id":7,"level":"info","msg":"a line of a log"}"#, false),
            (r#"{"id":7,"id":7,"result":{}}"#, false),
            (r#"{"id":null,"result":{}}"#, false),
            (r#"{"result":{}}"#, false),
            (r#"[{"id":7,"result":{}}]"#, false),
            (r#"{"id":7,"result":{}"#, false),
        ] {
            assert_eq!(meant_to_answer(text), meant.then(|| id("7")), "{text}");
        }
    }

    #[test]
    fn exchanges_the_id_alone() {
        for (text, changed) in [
            (r#"{"id":1}"#, r#"{"id":"n-1"}"#),
            (
                "{ \"a\":{\"id\":1} , \"\\u0069d\" :\t17 ,\"id2\":1}\n",
                "{ \"a\":{\"id\":1} , \"\\u0069d\" :\t\"n-1\" ,\"id2\":1}\n",
            ),
            (r#"{"é":"é","id":"é"}"#, r#"{"é":"é","id":"n-1"}"#),
            (r#"{"id":1,"id":2}"#, r#"{"id":1,"id":2}"#),
            ("{}", "{}"),
            ("[1]", "[1]"),
            ("{\"id\":1", "{\"id\":1"),
        ] {
            assert_eq!(with_id(text, &id("\"n-1\"")), changed);
        }
    }

    #[test]
    fn makes_ids_of_any_text() {
        for text in ["", "moorline-1", "\"\\\n", "é"] {
            let made = RawId::of_text(text);
            assert_eq!(made, id(made.raw()), "{text}");
        }
        assert_eq!(RawId::of_text("a"), id("\"\\u0061\""));
    }

    #[test]
    fn depth_costs_no_stack() {
        let depth = 500_000;
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{}{}}}"#,
            "{\"_meta\":".repeat(depth) + "1",
            "}".repeat(depth)
        );
        assert!(matches!(Message::parse(&text), Ok(Message::Request { .. })));
        assert_eq!(progress_token(&text), None);
    }

    #[test]
    fn knows_which_ids_survive_any_reader() {
        for raw in [
            "0",
            "-1",
            "9007199254740991",
            "-9007199254740991",
            "\"\"",
            "\"\\ud83d\\ude00\"",
        ] {
            assert!(id(raw).is_portable(), "{raw}");
        }
        for raw in [
            "-0",
            "9007199254740992",
            "-9007199254740992",
            "9223372036854775808",
            "123456789012345678901234567890",
            "\"\\ud800\"",
        ] {
            assert!(!id(raw).is_portable(), "{raw}");
        }
        assert!(id("\"\\u0061b\"").text_starts_with("a"));
        assert!(!id("\"b\"").text_starts_with("a"));
        assert!(!id("12").text_starts_with("1"));
    }

    /// A message's pieces before and after its id, in any order of members.
    fn around_an_id() -> impl Strategy<Value = (String, String, String)> {
        let raw_id = prop_oneof![
            any::<i64>().prop_map(|number| number.to_string()),
            any::<String>().prop_map(|text| RawId::of_text(&text).raw().to_owned()),
        ];
        let member = (any::<String>(), any::<String>()).prop_map(|(key, value)| {
            let key = RawId::of_text(&format!("x{key}"));
            format!("{} :{}", key.raw(), RawId::of_text(&value).raw())
        });
        let members = prop::collection::vec(member, 0..4);
        (raw_id, members.clone(), members).prop_map(|(raw_id, before, after)| {
            let before: String = before.iter().map(|member| format!("{member}, ")).collect();
            let after: String = after.iter().map(|member| format!(", {member}")).collect();
            let before = format!(r#"{{"jsonrpc":"2.0",{before}"id": "#);
            (before, raw_id, format!(r#",	"method":"m"{after} }}"#))
        })
    }

    proptest! {
        #[test]
        fn keeps_every_byte_around_the_id(
            (before, raw, after) in around_an_id(),
            new in any::<String>(),
        ) {
            let text = format!("{before}{raw}{after}");
            let request = Message::Request { id: id(&raw), method: "m".into() };
            prop_assert_eq!(Message::parse(&text), Ok(request));
            let new = RawId::of_text(&new);
            let changed = with_id(&text, &new);
            prop_assert_eq!(&changed, &format!("{before}{}{after}", new.raw()));
            prop_assert_eq!(with_id(&changed, &id(&raw)), text);
        }

        #[test]
        fn reads_any_text(text in ".*", members in ".*") {
            for text in [&text, &format!(r#"{{"jsonrpc":"2.0","id":1,{members}}}"#)] {
                let _ = Message::parse(text);
                let _ = RawId::parse(text);
                let _ = progress_token(text);
                let _ = cancelled_request(text);
                let _ = with_id(text, &RawId::of_text("x"));
            }
        }
    }
}
