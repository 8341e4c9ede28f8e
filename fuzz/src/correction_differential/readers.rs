use serde::Deserialize;
use sonic_rs::{JsonContainerTrait, JsonValueTrait};

use super::Reason;
use super::tame::{DEPTH_MAX, depth};
use crate::correction_body::TOKEN;

/// A way to read a correction with a library of JSON that many clients use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reader {
    /// `serde_json` into derived structures.
    SerdeDerived,
    /// `serde_json` into a generic value, which is then looked into.
    SerdeValue,
    /// `sonic_rs` into derived structures.
    SonicDerived,
    /// `sonic_rs` into a generic value, which is then looked into.
    SonicValue,
}

/// A revision as a reader sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Integer(u64),
    Other(f64),
}

/// A correction as clients declare it.
#[derive(Deserialize)]
struct Body {
    error: Members,
}

#[derive(Deserialize)]
struct Members {
    code: String,
    policy_revision: u64,
    shard_token: Option<String>,
}

impl Reader {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::SerdeDerived,
        Self::SerdeValue,
        Self::SonicDerived,
        Self::SonicValue,
    ];

    /// The revision of a body that this reader takes for a correction with the token [`TOKEN`].
    pub(super) fn read(self, body: &[u8]) -> Option<Number> {
        match self {
            Self::SerdeDerived => derived(serde_json::from_slice(body).ok()?),
            Self::SerdeValue => serde_value(&serde_json::from_slice(body).ok()?),
            // It would run out of stack.
            _ if depth(body) > DEPTH_MAX => None,
            Self::SonicDerived => derived(sonic_rs::from_slice(body).ok()?),
            Self::SonicValue => sonic_value(&sonic_rs::from_slice(body).ok()?),
        }
    }

    /// Whether a reader of this kind may take what the strict one refuses, for this reason.
    pub(super) fn may(self, reason: Reason) -> bool {
        let derived = matches!(self, Self::SerdeDerived | Self::SonicDerived);
        match reason {
            Reason::ArrayForObject => derived,
            Reason::NullForAbsent | Reason::NumberForm | Reason::NumberTooLarge => true,
            Reason::RepeatedMember => !derived,
            Reason::SkippedBytes => self == Self::SerdeDerived,
            Reason::SkippedSyntax => self == Self::SonicDerived,
            Reason::LoneSurrogate | Reason::NumberOutOfRange | Reason::TooDeep => false,
        }
    }
}

fn derived(body: Body) -> Option<Number> {
    let Members {
        code,
        policy_revision,
        shard_token,
    } = body.error;
    let taken = code == "wrong_cluster" && shard_token.is_none_or(|copy| copy == TOKEN);
    taken.then_some(Number::Integer(policy_revision))
}

fn serde_value(body: &serde_json::Value) -> Option<Number> {
    let error = body.as_object()?.get("error")?.as_object()?;
    let copy = error.get("shard_token").filter(|copy| !copy.is_null());
    let taken = error.get("code")?.as_str()? == "wrong_cluster"
        && copy.is_none_or(|copy| copy.as_str() == Some(TOKEN));
    let revision = error.get("policy_revision").filter(|_| taken)?;
    let integer = revision.as_u64().map(Number::Integer);
    integer.or_else(|| revision.as_f64().map(Number::Other))
}

fn sonic_value(body: &sonic_rs::Value) -> Option<Number> {
    let error = body.as_object()?.get(&"error")?.as_object()?;
    let copy = error.get(&"shard_token").filter(|copy| !copy.is_null());
    let taken = error.get(&"code")?.as_str()? == "wrong_cluster"
        && copy.is_none_or(|copy| copy.as_str() == Some(TOKEN));
    let revision = error.get(&"policy_revision").filter(|_| taken)?;
    let integer = revision.as_u64().map(Number::Integer);
    integer.or_else(|| revision.as_f64().map(Number::Other))
}
