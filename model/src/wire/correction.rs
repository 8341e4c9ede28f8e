use thiserror::Error;

use super::json::{JsonFault, for_each_member, string_bytes};
use super::{Revision, RevisionFault, ShardToken, ShardTokenFault};
use crate::placement::Correction;

/// Why a 409 is no valid correction. The variants stand in the order in which they are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum CorrectionFault {
    /// The body is not UTF-8.
    #[error("the body must be UTF-8")]
    NotUtf8,
    /// The body is not exactly one JSON value.
    #[error("the body must be one JSON value")]
    NotJson,
    /// The body is JSON, but no object.
    #[error("the body must be a JSON object")]
    NotAnObject,
    /// There is no member `error`.
    #[error("the body must have the member error")]
    ErrorMissing,
    /// There are two members `error` or more.
    #[error("the member error must stand once")]
    ErrorRepeated,
    /// `error` is no object.
    #[error("the member error must be an object")]
    ErrorNotAnObject,
    /// There are two members `code` or more.
    #[error("the member error.code must stand once")]
    CodeRepeated,
    /// There are two members `policy_revision` or more.
    #[error("the member error.policy_revision must stand once")]
    RevisionRepeated,
    /// There are two members `shard_token` or more.
    #[error("the member error.shard_token must stand once")]
    BodyTokenRepeated,
    /// There is no member `code`.
    #[error("the member error.code must be present")]
    CodeMissing,
    /// `code` is not the string `wrong_cluster`.
    #[error("the member error.code must be wrong_cluster")]
    CodeOther,
    /// The replacement header is absent.
    #[error("the token header must be present")]
    HeaderMissing,
    /// The replacement header has two lines or more.
    #[error("the token header must be present once")]
    HeaderRepeated,
    /// The replacement header is empty.
    #[error("the token header must not be empty")]
    HeaderEmpty,
    /// The replacement header holds more than 4096 bytes.
    #[error("the token header must hold at most 4096 bytes")]
    HeaderTooLong,
    /// The replacement header holds a byte that no token may hold.
    #[error("the token header must hold visible ASCII without comma")]
    HeaderInvalidByte,
    /// There is no member `policy_revision`.
    #[error("the member error.policy_revision must be present")]
    RevisionMissing,
    /// `policy_revision` is not written as a plain integer.
    #[error("the member error.policy_revision must be a plain integer")]
    RevisionNotAnInteger,
    /// `policy_revision` is more than 9007199254740991.
    #[error("the member error.policy_revision must be at most 9007199254740991")]
    RevisionTooLarge,
    /// `shard_token` stands there and is no string.
    #[error("the member error.shard_token must be a string")]
    BodyTokenNotAString,
    /// `shard_token` is another string than the header.
    #[error("the member error.shard_token must equal the token header")]
    BodyTokenDiffers,
}

impl CorrectionFault {
    /// Whether the answer never said that it is a correction: an ordinary 409.
    #[must_use]
    pub fn is_ordinary(self) -> bool {
        matches!(
            self,
            Self::NotUtf8
                | Self::NotJson
                | Self::NotAnObject
                | Self::ErrorMissing
                | Self::ErrorNotAnObject
                | Self::CodeMissing
                | Self::CodeOther
        )
    }
}

/// Reads a correction from the complete body of a 409 and the field lines of its
/// `X-Tunnel-Shard-Token`, values as received. The caller has limited the body to 65,536 bytes.
///
/// # Errors
///
/// The first fault; see [`CorrectionFault::is_ordinary`] for those that make an ordinary 409.
pub fn parse_correction<'h>(
    body: &[u8],
    token_lines: impl IntoIterator<Item = &'h [u8]>,
) -> Result<Correction<Revision, ShardToken>, CorrectionFault> {
    // spec: COR-2
    let text = std::str::from_utf8(body).map_err(|_| CorrectionFault::NotUtf8)?;
    let members = ErrorMembers::read(text)?;
    let code = members.code.ok_or(CorrectionFault::CodeMissing)?;
    // spec: COR-1, COR-7
    if !is_string(code, b"wrong_cluster") {
        return Err(CorrectionFault::CodeOther);
    }
    // spec: COR-8, COR-15
    let token = ShardToken::from_lines(token_lines)?;
    let revision = members
        .policy_revision
        .ok_or(CorrectionFault::RevisionMissing)?;
    let revision = Revision::from_json_text(revision)?;
    // spec: COR-13
    if let Some(copy) = members.shard_token {
        let copy = string_bytes(copy).ok_or(CorrectionFault::BodyTokenNotAString)?;
        if *copy != *token.expose().as_bytes() {
            return Err(CorrectionFault::BodyTokenDiffers);
        }
    }
    Ok(Correction { revision, token })
}

/// The raw values of the members that a correction is made of. Others are skipped.
// spec: COR-14, COR-15
struct ErrorMembers<'a> {
    code: Option<&'a str>,
    policy_revision: Option<&'a str>,
    shard_token: Option<&'a str>,
}

impl<'a> ErrorMembers<'a> {
    // spec: COR-4, COR-5
    fn read(text: &'a str) -> Result<Self, CorrectionFault> {
        let mut errors = 0_usize;
        let mut is_object = false;
        let mut code = Once::default();
        let mut policy_revision = Once::default();
        let mut shard_token = Once::default();
        for_each_member(text, |key, mut value| {
            if key != b"error" {
                return value.raw().map(drop);
            }
            errors = errors.saturating_add(1);
            is_object = value.is_object();
            if !is_object {
                return value.raw().map(drop);
            }
            value.for_each_member(|key, value| {
                let value = value.raw()?;
                match key {
                    b"code" => code.put(value),
                    b"policy_revision" => policy_revision.put(value),
                    b"shard_token" => shard_token.put(value),
                    _ => {}
                }
                Ok(())
            })
        })
        .map_err(|fault| match fault {
            JsonFault::NotJson => CorrectionFault::NotJson,
            JsonFault::OtherKind => CorrectionFault::NotAnObject,
        })?;
        match errors {
            0 => return Err(CorrectionFault::ErrorMissing),
            1 if is_object => {}
            1 => return Err(CorrectionFault::ErrorNotAnObject),
            _ => return Err(CorrectionFault::ErrorRepeated),
        }
        Ok(Self {
            // spec: COR-6
            code: code.take(CorrectionFault::CodeRepeated)?,
            policy_revision: policy_revision.take(CorrectionFault::RevisionRepeated)?,
            shard_token: shard_token.take(CorrectionFault::BodyTokenRepeated)?,
        })
    }
}

/// A member that may stand once.
#[derive(Default)]
struct Once<'a> {
    value: Option<&'a str>,
    repeated: bool,
}

impl<'a> Once<'a> {
    fn put(&mut self, value: &'a str) {
        self.repeated |= self.value.replace(value).is_some();
    }

    fn take(self, repeated: CorrectionFault) -> Result<Option<&'a str>, CorrectionFault> {
        if self.repeated {
            Err(repeated)
        } else {
            Ok(self.value)
        }
    }
}

// spec: COR-3
fn is_string(raw: &str, expected: &[u8]) -> bool {
    string_bytes(raw).is_some_and(|bytes| *bytes == *expected)
}

impl From<ShardTokenFault> for CorrectionFault {
    fn from(fault: ShardTokenFault) -> Self {
        match fault {
            ShardTokenFault::Empty => Self::HeaderEmpty,
            ShardTokenFault::InvalidByte => Self::HeaderInvalidByte,
            ShardTokenFault::Missing => Self::HeaderMissing,
            ShardTokenFault::Repeated => Self::HeaderRepeated,
            ShardTokenFault::TooLong => Self::HeaderTooLong,
        }
    }
}

impl From<RevisionFault> for CorrectionFault {
    fn from(fault: RevisionFault) -> Self {
        match fault {
            RevisionFault::NotAnInteger => Self::RevisionNotAnInteger,
            RevisionFault::TooLarge => Self::RevisionTooLarge,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"error":{"code":"wrong_cluster","policy_revision":42}}"#;

    fn parse(body: impl AsRef<[u8]>) -> Result<u64, CorrectionFault> {
        parse_correction(body.as_ref(), [b"route-a".as_slice()]).map(|found| {
            assert_eq!(found.token.expose(), "route-a");
            found.revision.get()
        })
    }

    fn error(members: &str) -> String {
        format!(r#"{{"error":{{{members}}}}}"#)
    }

    // spec-test: COR-2, COR-3, COR-13, COR-14
    #[test]
    fn accepts_the_published_form_and_its_equals() {
        for body in [
            GOOD,
            " \t\r\n{\"error\" : {\"policy_revision\": 42 ,\"code\":\"wrong_cluster\"} } \n",
            r#"{"\u0065rror":{"\u0063ode":"wrong\u005fcluster","policy\u005Frevision":42}}"#,
            r#"{"error":{"code":"wrong_cluster","policy_revision":42,"shard_token":"route-a"}}"#,
            r#"{"error":{"code":"wrong_cluster","policy_revision":42,"shard_token":"\u0072oute-a"}}"#,
            r#"{"x":1,"x":2,"error":{"code":"wrong_cluster","policy_revision":42,"y":0,"y":0},"x":3}"#,
            r#"{"Error":1,"ERROR":[],"error":{"Code":1,"code":"wrong_cluster","policy_revision":42}}"#,
            r#"{"x":"\ud800","\ud800":1e999,"error":{"code":"wrong_cluster","policy_revision":42}}"#,
        ] {
            assert_eq!(parse(body), Ok(42), "{body}");
        }
    }

    // spec-test: COR-2, COR-3, COR-4, COR-5
    #[test]
    fn names_each_fault_of_the_body() {
        use CorrectionFault as F;
        for (body, fault) in [
            ("", F::NotJson),
            ("{", F::NotJson),
            (
                "{\"error\":{\"code\":\"wrong_cluster\",\"policy_revision\":42}",
                F::NotJson,
            ),
            ("[]", F::NotAnObject),
            (
                r#"[["error",{"code":"wrong_cluster","policy_revision":42}]]"#,
                F::NotAnObject,
            ),
            ("null", F::NotAnObject),
            ("{}", F::ErrorMissing),
            (
                r#"{"Error":{"code":"wrong_cluster","policy_revision":42}}"#,
                F::ErrorMissing,
            ),
            (r#"{"error":{},"error":{}}"#, F::ErrorRepeated),
            (r#"{"error":1,"\u0065rror":2}"#, F::ErrorRepeated),
            (r#"{"error":["wrong_cluster",42]}"#, F::ErrorNotAnObject),
            (r#"{"error":null}"#, F::ErrorNotAnObject),
            (r#"{"error":1e999}"#, F::ErrorNotAnObject),
        ] {
            assert_eq!(parse(body), Err(fault), "{body}");
        }
        assert_eq!(parse(b"{\"x\":\"\xff\"}"), Err(F::NotUtf8));
        assert_eq!(parse(format!("\u{feff}{GOOD}")), Err(F::NotJson));
        assert_eq!(parse(format!("{GOOD}{GOOD}")), Err(F::NotJson));
    }

    // spec-test: COR-1, COR-3, COR-6, COR-12, COR-13
    #[test]
    fn names_each_fault_of_the_error_members() {
        use CorrectionFault as F;
        let code = r#""code":"wrong_cluster""#;
        for (members, fault) in [
            (String::new(), F::CodeMissing),
            (
                r#""Code":"wrong_cluster","policy_revision":1"#.into(),
                F::CodeMissing,
            ),
            (
                r#""code":"Wrong_Cluster","policy_revision":1"#.into(),
                F::CodeOther,
            ),
            (
                r#""code":"wrong_cluster ","policy_revision":1"#.into(),
                F::CodeOther,
            ),
            (r#""code":null,"policy_revision":1"#.into(), F::CodeOther),
            (
                r#""code":["wrong_cluster"],"policy_revision":1"#.into(),
                F::CodeOther,
            ),
            (
                r#""code":"\ud800","policy_revision":1"#.into(),
                F::CodeOther,
            ),
            (format!(r#"{code},"c\u006fde":"other""#), F::CodeRepeated),
            (
                format!(r#"{code},"policy_revision":1,"policy_revision":1"#),
                F::RevisionRepeated,
            ),
            (
                format!(
                    r#"{code},"policy_revision":1,"shard_token":"route-a","shard_token":"route-a""#
                ),
                F::BodyTokenRepeated,
            ),
            (
                r#""code":"conflict","shard_token":1,"shard_token":2"#.into(),
                F::BodyTokenRepeated,
            ),
            (code.into(), F::RevisionMissing),
            (
                format!(r#"{code},"policy_revision":1e2"#),
                F::RevisionNotAnInteger,
            ),
            (
                format!(r#"{code},"policy_revision":[1]"#),
                F::RevisionNotAnInteger,
            ),
            (
                format!(r#"{code},"policy_revision":9007199254740992"#),
                F::RevisionTooLarge,
            ),
            (
                format!(r#"{code},"policy_revision":1,"shard_token":null"#),
                F::BodyTokenNotAString,
            ),
            (
                format!(r#"{code},"policy_revision":1,"shard_token":["route-a"]"#),
                F::BodyTokenNotAString,
            ),
            (
                format!(r#"{code},"policy_revision":1,"shard_token":"route-b""#),
                F::BodyTokenDiffers,
            ),
            (
                format!(r#"{code},"policy_revision":1,"shard_token":"""#),
                F::BodyTokenDiffers,
            ),
        ] {
            assert_eq!(parse(error(&members)), Err(fault), "{members}");
        }
    }

    // spec-test: COR-7, COR-8, COR-9
    #[test]
    fn looks_at_the_header_only_for_wrong_cluster() {
        let none: [&[u8]; 0] = [];
        let other = error(r#""code":"conflict","policy_revision":99"#);
        assert_eq!(
            parse_correction(other.as_bytes(), none),
            Err(CorrectionFault::CodeOther)
        );
        let odd = error(r#""code":"conflict","policy_revision":1e2"#);
        let bad_header = [b"a,b".as_slice(), b""];
        assert_eq!(
            parse_correction(odd.as_bytes(), bad_header),
            Err(CorrectionFault::CodeOther)
        );
        assert_eq!(
            parse_correction(GOOD.as_bytes(), none),
            Err(CorrectionFault::HeaderMissing)
        );
        let two = [b"route-a".as_slice(), b"route-a"];
        assert_eq!(
            parse_correction(GOOD.as_bytes(), two),
            Err(CorrectionFault::HeaderRepeated)
        );
        for (value, fault) in [
            (b"".to_vec(), CorrectionFault::HeaderEmpty),
            (b"a,b".to_vec(), CorrectionFault::HeaderInvalidByte),
            (vec![b'x'; 4097], CorrectionFault::HeaderTooLong),
        ] {
            assert_eq!(
                parse_correction(GOOD.as_bytes(), [value.as_slice()]),
                Err(fault)
            );
        }
    }

    // spec-test: COR-14, COR-15
    #[test]
    fn takes_the_token_from_the_header_alone() {
        let pretenders = r#""routing_shard_token":"x","token":"x","cluster":"x","url":"http://x/""#;
        let body = format!(
            r#"{{{pretenders},"shard_token":"x","error":{{"code":"wrong_cluster",{pretenders},"policy_revision":42}}}}"#
        );
        assert_eq!(parse(&body), Ok(42));
        let none: [&[u8]; 0] = [];
        let copy_only = error(r#""code":"wrong_cluster","policy_revision":1,"shard_token":"a""#);
        assert_eq!(
            parse_correction(copy_only.as_bytes(), none),
            Err(CorrectionFault::HeaderMissing)
        );
    }

    // spec-test: COR-14
    #[test]
    fn skips_unknown_members_at_any_depth() {
        let deep = format!(
            "{}{}",
            "[{\"a\":".repeat(5_000),
            "null".to_owned() + &"}]".repeat(5_000)
        );
        let body = format!(
            r#"{{"x":{deep},"error":{{"code":"wrong_cluster","y":{deep},"policy_revision":42}}}}"#
        );
        assert!(body.len() > 65_536, "deeper than any body that gets here");
        assert_eq!(parse(body), Ok(42));
    }

    // spec-test: CLS-16
    #[test]
    fn sorts_ordinary_conflicts_from_malformed_corrections() {
        assert!(CorrectionFault::CodeOther.is_ordinary());
        assert!(CorrectionFault::NotJson.is_ordinary());
        assert!(!CorrectionFault::CodeRepeated.is_ordinary());
        assert!(!CorrectionFault::HeaderMissing.is_ordinary());
    }
}
