//! Corrections as other readers of JSON see them, in the ways in which clients use such readers. Where
//! they differ from the strict reader, the reason must be one of [`Reason`]'s, shown from the text.

mod readers;
mod tame;

use moorline_model::wire::{CorrectionFault as Fault, parse_correction};

use crate::correction_body::TOKEN;
use crate::oracle::json::{all, is_json, members};
use readers::Number;
pub use readers::Reader;
use tame::tamed;

/// Why a reader and the strict one differ about a body. This list is complete: a difference for any
/// other reason is a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    // They take what is refused here.
    /// Derived readers take an array for an object, with its members in the order of declaration.
    ArrayForObject,
    /// Derived readers take `null` for a member that is absent.
    NullForAbsent,
    /// Number readers take fractions, exponents, minus zero and any number of digits.
    NumberForm,
    /// Their integers go beyond 2^53 - 1.
    NumberTooLarge,
    /// Generic values keep one of several members with the same key.
    RepeatedMember,
    /// Strings that a reader skips may be no UTF-8.
    SkippedBytes,
    /// Values that a reader skips are not checked to be JSON.
    SkippedSyntax,
    // They refuse what is taken here, all of it in members that nobody looks at.
    /// A lone surrogate stands for no text.
    LoneSurrogate,
    /// A number is beyond what a double holds.
    NumberOutOfRange,
    /// Values are nested more deeply than a recursive reader goes.
    TooDeep,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::ArrayForObject,
        Self::NullForAbsent,
        Self::NumberForm,
        Self::NumberTooLarge,
        Self::RepeatedMember,
        Self::SkippedBytes,
        Self::SkippedSyntax,
        Self::LoneSurrogate,
        Self::NumberOutOfRange,
        Self::TooDeep,
    ];
}

/// Takes a body.
pub fn run(data: &[u8]) {
    drop(compare(data));
}

/// Compares the strict reader with each of the others and says where and why they differ.
pub fn compare(body: &[u8]) -> Vec<(Reader, Reason)> {
    let found = parse_correction(body, [TOKEN.as_bytes()]).map(|found| found.revision.get());
    let mut differences = Vec::new();
    for reader in Reader::ALL {
        let reason = match (found, reader.read(body)) {
            (Ok(revision), Some(number)) => {
                assert_eq!(number, Number::Integer(revision), "{reader:?}");
                continue;
            }
            (Ok(revision), None) => refused_there(reader, body, revision),
            (Err(fault), Some(number)) => vec![taken_there(reader, body, fault, number)],
            (Err(_), None) => continue,
        };
        differences.extend(reason.into_iter().map(|reason| (reader, reason)));
    }
    differences
}

/// The reasons why a reader refused what was taken here. That they are the only ones shows when the
/// text without them is read alike.
fn refused_there(reader: Reader, body: &[u8], revision: u64) -> Vec<Reason> {
    let text = std::str::from_utf8(body).expect("what was taken is UTF-8");
    let (tame, reasons) = tamed(text);
    assert!(!reasons.is_empty(), "{reader:?} refused a tame body");
    let read = reader.read(tame.as_bytes());
    assert_eq!(read, Some(Number::Integer(revision)), "{reader:?} {tame}");
    reasons
}

/// The reason why a reader took what was refused here, with its evidence.
fn taken_there(reader: Reader, body: &[u8], fault: Fault, number: Number) -> Reason {
    use Reason::*;
    let reason = match fault {
        Fault::NotUtf8 => {
            assert!(std::str::from_utf8(body).is_err());
            SkippedBytes
        }
        Fault::NotJson => {
            let text = std::str::from_utf8(body).expect("UTF-8");
            // Readers that check everything agree with the strict one.
            assert!(!is_json(text) && Reader::SonicValue.read(body).is_none());
            SkippedSyntax
        }
        Fault::NotAnObject | Fault::ErrorNotAnObject => {
            assert!(holds_an_array(body));
            ArrayForObject
        }
        Fault::ErrorRepeated => repeated(body, None, "error"),
        Fault::CodeRepeated => repeated(body, Some("error"), "code"),
        Fault::RevisionRepeated => repeated(body, Some("error"), "policy_revision"),
        Fault::BodyTokenRepeated => repeated(body, Some("error"), "shard_token"),
        Fault::RevisionNotAnInteger => {
            assert_ne!(plain(body), Some(number), "a plain integer was refused");
            NumberForm
        }
        Fault::RevisionTooLarge => {
            let Number::Integer(integer) = number else {
                panic!("{reader:?} read {number:?} for an integer that is too large");
            };
            assert!(integer >= 1 << 53);
            NumberTooLarge
        }
        Fault::BodyTokenNotAString => {
            assert_eq!(value(body, "shard_token"), "null");
            NullForAbsent
        }
        other => panic!("{reader:?} took a body with the fault {other:?} as {number:?}"),
    };
    assert!(reader.may(reason), "{reader:?} is not known for {reason:?}");
    reason
}

/// The body is an array, or the value of its `error` is one.
fn holds_an_array(body: &[u8]) -> bool {
    let text = std::str::from_utf8(body).expect("UTF-8");
    let array = |text: &str| text.trim_start().starts_with('[');
    array(text)
        || members(text).is_some_and(|members| all(&members, "error").iter().any(|raw| array(raw)))
}

fn repeated(body: &[u8], within: Option<&str>, key: &str) -> Reason {
    let text = std::str::from_utf8(body).expect("UTF-8");
    let outer = members(text).expect("an object");
    let members = match within {
        Some(name) => all(&outer, name)
            .into_iter()
            .find_map(members)
            .expect("an object"),
        None => outer,
    };
    assert!(all(&members, key).len() > 1, "{key} stands once");
    Reason::RepeatedMember
}

/// The revision where it is written as a plain integer of at most 16 digits.
fn plain(body: &[u8]) -> Option<Number> {
    let raw = value(body, "policy_revision");
    let plain = raw.len() <= 16 && raw.bytes().all(|byte| byte.is_ascii_digit());
    plain
        .then(|| raw.parse().ok().map(Number::Integer))
        .flatten()
}

/// The one value of a member of `error`.
fn value<'a>(body: &'a [u8], key: &str) -> &'a str {
    let text = std::str::from_utf8(body).expect("UTF-8");
    let outer = members(text).expect("an object");
    let error = all(&outer, "error")
        .into_iter()
        .find_map(members)
        .expect("an object");
    all(&error, key).first().expect("the member")
}
