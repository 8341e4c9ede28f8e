use std::fmt;

use moorline_model::placement::Verdict;
use moorline_model::wire::Revision;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::answer::{Answer, Category, Class};

/// One attempt that has ended, as a line of a trace tells it. All members must be there, and no
/// others.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Numbers the ends of attempts from 1.
    pub sequence: u64,
    /// Numbers the beginnings of attempts from 1.
    pub attempt: u64,
    /// The generation when the attempt began.
    pub generation_taken: u64,
    /// Which install the token sent came from.
    #[serde(deserialize_with = "Option::deserialize")]
    pub token_sent: Option<u64>,
    /// What the token of a correction is to the client.
    #[serde(deserialize_with = "Option::deserialize")]
    pub token_offered: Option<Offered>,
    /// The class of the outcome.
    pub outcome: Class,
    /// What kind of fault the caller got.
    #[serde(deserialize_with = "Option::deserialize")]
    pub fault: Option<Category>,
    /// The status of a response that was not cut off.
    #[serde(deserialize_with = "Option::deserialize")]
    pub status: Option<u16>,
    /// The revision of a correction.
    #[serde(deserialize_with = "revision")]
    pub revision: Option<Revision>,
    /// What the commit did.
    #[serde(deserialize_with = "verdict")]
    pub verdict: Verdict,
    /// The greatest committed revision afterwards.
    #[serde(deserialize_with = "revision")]
    pub watermark: Option<Revision>,
    /// The correction counter afterwards.
    pub corrections: u8,
    /// The failure counter afterwards.
    pub failures: u8,
    /// The generation afterwards.
    pub generation: u64,
    /// Whether a token is active afterwards.
    pub has_token: bool,
    /// Commands that the poll brought.
    pub commands: u64,
    /// Commands that it brought and that could not be read.
    pub dropped: u64,
    /// How long the next poll waits, in milliseconds.
    #[serde(deserialize_with = "Option::deserialize")]
    pub next_delay_ms: Option<u64>,
}

/// What an offered token is to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Offered {
    /// The accepted one.
    Accepted,
    /// It became the accepted one: this install.
    Install(u64),
    /// Any other.
    Other,
}

impl Event {
    /// What it says of the answer.
    #[must_use]
    pub fn answer(&self) -> Answer {
        Answer {
            outcome: self.outcome,
            fault: self.fault,
            status: self.status,
        }
    }
}

impl fmt::Display for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accepted => f.write_str("accepted"),
            Self::Install(number) => write!(f, "install {number}"),
            Self::Other => f.write_str("other"),
        }
    }
}

/// Only `"accepted"`, `"other"` and `{"install":N}`: what is derived would take more.
impl<'de> Deserialize<'de> for Offered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OfferedVisitor)
    }
}

struct OfferedVisitor;

impl<'de> Visitor<'de> for OfferedVisitor {
    type Value = Offered;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(r#""accepted", "other" or {"install":N}"#)
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Offered, E> {
        match word {
            "accepted" => Ok(Offered::Accepted),
            "other" => Ok(Offered::Other),
            _ => Err(E::custom(format!("unknown token_offered `{word}`"))),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Offered, A::Error> {
        let number = match map.next_entry::<String, u64>()? {
            Some((key, number)) if key == "install" => number,
            _ => return Err(A::Error::custom("token_offered must be an install")),
        };
        match map.next_key::<String>()? {
            None => Ok(Offered::Install(number)),
            Some(_) => Err(A::Error::custom("token_offered must have one member")),
        }
    }
}

fn revision<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Revision>, D::Error> {
    let Some(number) = Option::<u64>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let revision = Revision::new(number);
    revision.map_or_else(
        || Err(D::Error::custom(format!("{number} is no revision"))),
        |revision| Ok(Some(revision)),
    )
}

fn verdict<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Verdict, D::Error> {
    let name = String::deserialize(deserializer)?;
    let found = Verdict::ALL
        .into_iter()
        .find(|verdict| verdict.name() == name);
    found.ok_or_else(|| D::Error::custom(format!("unknown verdict `{name}`")))
}
