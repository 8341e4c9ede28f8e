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
mod tests;
