use std::time::Duration;

use moorline_model::placement::{Outcome, Verdict};
use moorline_model::wire::{Revision, ShardToken};
use serde::{Serialize, Serializer};

/// One attempt that has ended. Holds no token, key, id, URL or server text.
///
/// Sequence and attempt numbers are taken under the same lock as the placement step that they
/// belong to, so that a reader can put overlapping attempts back in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PollEvent {
    /// Numbers the commits of this client from 1.
    pub sequence: u64,
    /// Numbers the snapshots of this client from 1.
    pub attempt: u64,
    /// The generation when the snapshot was taken.
    pub generation_taken: u64,
    /// Which install the token sent came from; `None` for a tokenless request.
    pub token_sent: Option<u64>,
    /// What the token of a valid correction is to this client.
    pub token_offered: Option<Offered>,
    /// The class of the outcome: `success`, `correction`, `destination_failure`, `neutral` or
    /// `cancelled`.
    pub outcome: &'static str,
    /// What kind of fault the caller got; see [`PollFault::category`](moorline_model::poll::PollFault::category).
    pub fault: Option<&'static str>,
    /// The status of a response that was not cut off.
    pub status: Option<u16>,
    /// The revision of a valid correction.
    #[serde(serialize_with = "revision")]
    pub revision: Option<Revision>,
    /// What the commit did.
    #[serde(serialize_with = "verdict")]
    pub verdict: Verdict,
    /// The greatest committed revision after the commit.
    #[serde(serialize_with = "revision")]
    pub watermark: Option<Revision>,
    /// The correction counter after the commit.
    pub corrections: u8,
    /// The failure counter after the commit.
    pub failures: u8,
    /// The generation after the commit.
    pub generation: u64,
    /// Whether the next poll carries a token.
    pub has_token: bool,
    /// How many commands the poll brought.
    pub commands: usize,
    /// How many more it brought that could not be read, and that nobody will get.
    pub dropped: usize,
    /// How long the next poll waits, in milliseconds; `None` after a cancellation.
    pub next_delay_ms: Option<u64>,
    /// How long it took, from the snapshot to the commit. Traces do not tell it.
    #[serde(skip)]
    pub took: Duration,
}

/// What an offered token is to this client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Offered {
    /// It was accepted before, and is still the accepted one.
    Accepted,
    /// It became the accepted one: this install, numbered from 1.
    Install(u64),
    /// Any other token.
    Other,
}

/// The class of an outcome, as events name it.
pub(super) fn class(outcome: &Outcome<Revision, ShardToken>) -> &'static str {
    match outcome {
        Outcome::Cancelled => "cancelled",
        Outcome::Correction(_) => "correction",
        Outcome::DestinationFailure => "destination_failure",
        Outcome::Neutral => "neutral",
        Outcome::Success => "success",
    }
}

// The signatures are serde's.
fn revision<S: Serializer>(revision: &Option<Revision>, serializer: S) -> Result<S::Ok, S::Error> {
    revision.map(Revision::get).serialize(serializer)
}

fn verdict<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(verdict.name())
}
