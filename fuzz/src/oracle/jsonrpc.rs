//! JSON-RPC 2.0 messages, their ids and where these stand, on top of `serde_json`'s members. Written
//! from the specification of JSON-RPC, from CMD-20 and CMD-21, and from what the model's page on
//! messages promises.

use moorline_model::jsonrpc::MessageFault as Fault;

use super::json::{JsonString, all, is_json, members, string, units};

/// The id, where there is one.
pub(crate) const ID: &[&str] = &["id"];

/// Where a request says which token its progress carries.
pub(crate) const REQUEST_TOKEN: &[&str] = &["params", "_meta", "progressToken"];

/// Where a notification of progress carries its token.
pub(crate) const TOKEN: &[&str] = &["params", "progressToken"];

/// Where a cancellation names the request.
pub(crate) const CANCELLED: &[&str] = &["params", "requestId"];

/// The method of a notification of progress.
pub(crate) const PROGRESS: &str = "notifications/progress";

/// The method of a cancellation.
pub(crate) const CANCEL: &str = "notifications/cancelled";

/// A message of one of the four kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told<'a> {
    Error { id: Option<&'a str> },
    Notification { method: String },
    Request { id: &'a str, method: String },
    Response { id: &'a str },
}

/// What an id stands for. Two ids are the same if this is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Meaning {
    /// The text of an integer.
    Number(String),
    /// The units of a string.
    Text(Vec<u16>),
}

/// A key on the way to a place stands twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Twice;

impl Meaning {
    /// What the raw text of one value stands for, if it may be an id: a string or an integer. The text
    /// may be anything.
    pub(crate) fn of(raw: &str) -> Option<Self> {
        if !is_json(raw) {
            return None;
        }
        let digits = raw.strip_prefix('-').unwrap_or(raw);
        if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(Self::Number(raw.to_owned()));
        }
        units(raw).map(Self::Text)
    }

    /// Whether any reader of JSON gives it back unchanged.
    pub(crate) fn is_portable(&self) -> bool {
        match self {
            Self::Text(units) => String::from_utf16(units).is_ok(),
            Self::Number(text) => {
                let magnitude = text.trim_start_matches('-');
                // As many digits compare like numbers.
                let safe = magnitude.len() < 16
                    || magnitude.len() == 16 && magnitude <= "9007199254740991";
                safe && text != "-0"
            }
        }
    }

    /// Whether it is a string that begins like this.
    pub(crate) fn begins_with(&self, prefix: &str) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Text(units) => units.starts_with(&prefix.encode_utf16().collect::<Vec<_>>()),
        }
    }
}

/// Reads a message, or says what is wrong with it first.
pub(crate) fn read(text: &str) -> Result<Told<'_>, Fault> {
    if !is_json(text) {
        return Err(Fault::NotJson);
    }
    let members = members(text).ok_or(Fault::NotAnObject)?;
    let once = |name: &'static str| match *all(&members, name) {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        _ => Err(Fault::MemberRepeated(name)),
    };
    let version = once("jsonrpc")?.and_then(string);
    if version != Some(JsonString::Text("2.0".to_owned())) {
        return Err(Fault::VersionInvalid);
    }
    let (method, result, error) = (once("method")?, once("result")?, once("error")?);
    once("params")?;
    let id = once("id")?;
    match (method, result, error) {
        (Some(method), None, None) => call(method, id),
        (None, Some(_), None) => {
            let id = id.ok_or(Fault::IdMissing)?;
            Ok(Told::Response { id: valid(id)? })
        }
        (None, None, Some(error)) if is_error(error) => {
            let id = id.filter(|id| *id != "null").map(valid).transpose()?;
            Ok(Told::Error { id })
        }
        (None, None, Some(_)) => Err(Fault::ErrorInvalid),
        _ => Err(Fault::NotOneKind),
    }
}

fn call<'a>(method: &str, id: Option<&'a str>) -> Result<Told<'a>, Fault> {
    let Some(JsonString::Text(method)) = string(method) else {
        return Err(Fault::MethodInvalid);
    };
    Ok(match id.map(valid).transpose()? {
        None => Told::Notification { method },
        Some(id) => Told::Request { id, method },
    })
}

fn valid(id: &str) -> Result<&str, Fault> {
    match Meaning::of(id) {
        Some(_) => Ok(id),
        None => Err(Fault::IdInvalid),
    }
}

/// An object with one integer as `code` and one string as `message`.
fn is_error(raw: &str) -> bool {
    let Some(members) = members(raw) else {
        return false;
    };
    let code = matches!(*all(&members, "code"), [only] if matches!(Meaning::of(only), Some(Meaning::Number(_))));
    let message = matches!(*all(&members, "message"), [only] if string(only).is_some());
    code && message
}

/// The raw value at a place; `None` where the way does not lead through objects to a member. The text
/// must be JSON.
pub(crate) fn place<'a>(text: &'a str, way: &[&str]) -> Result<Option<&'a str>, Twice> {
    let mut value = text;
    for key in way {
        let Some(members) = members(value) else {
            return Ok(None);
        };
        value = match *all(&members, key) {
            [] => return Ok(None),
            [only] => only,
            _ => return Err(Twice),
        };
    }
    Ok(Some(value))
}

/// The id or token at a place that holds one for certain.
pub(crate) fn id_at<'a>(text: &'a str, way: &[&str]) -> Option<&'a str> {
    let raw = place(text, way).ok().flatten();
    raw.filter(|raw| Meaning::of(raw).is_some())
}

/// The text with something else in the place of the value there, if there is one for certain.
pub(crate) fn spliced(text: &str, way: &[&str], to: &str) -> String {
    let Ok(Some(raw)) = place(text, way) else {
        return text.to_owned();
    };
    // It is a part of the text, so that its address says where.
    let start = raw.as_ptr() as usize - text.as_ptr() as usize;
    let (before, rest) = text.split_at(start);
    let (_, after) = rest.split_at(raw.len());
    format!("{before}{to}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_published_kinds() {
        let request = r#"{"jsonrpc":"2.0","method":"subtract","params":[42,23],"id":1}"#;
        assert_eq!(
            read(request),
            Ok(Told::Request {
                id: "1",
                method: "subtract".to_owned()
            })
        );
        let error =
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}"#;
        assert_eq!(read(error), Ok(Told::Error { id: None }));
        assert_eq!(read("[]"), Err(Fault::NotAnObject));
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":1}"#), Err(Fault::NotOneKind));
    }

    #[test]
    fn finds_and_replaces_what_stands_at_a_place() {
        let text = r#"{"id" : "a", "params":{"_meta":{"progressToken":1}}}"#;
        assert_eq!(place(text, REQUEST_TOKEN), Ok(Some("1")));
        assert_eq!(
            spliced(text, ID, "7"),
            r#"{"id" : 7, "params":{"_meta":{"progressToken":1}}}"#
        );
        assert_eq!(place(r#"{"id":1,"\u0069d":1}"#, ID), Err(Twice));
        assert_eq!(place("[1]", ID), Ok(None));
    }

    #[test]
    fn tells_ids_apart() {
        assert_eq!(Meaning::of(r#""a""#), Meaning::of(r#""\u0061""#));
        assert_ne!(Meaning::of("1"), Meaning::of(r#""1""#));
        for none in ["", " 1", "1 ", "1.0", "null", "\"", "01", "-", "{}"] {
            assert_eq!(Meaning::of(none), None, "{none:?}");
        }
        for (raw, portable) in [
            ("9007199254740991", true),
            ("-9007199254740992", false),
            ("10000000000000000", false),
            ("-0", false),
            (r#""\udfff""#, false),
        ] {
            assert_eq!(Meaning::of(raw).unwrap().is_portable(), portable, "{raw}");
        }
    }
}
