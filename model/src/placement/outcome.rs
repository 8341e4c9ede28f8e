/// A valid correction: where the service says that this tunnel is placed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Correction<R, T> {
    /// The policy revision, totally ordered within the tunnel.
    pub revision: R,
    /// The opaque token to send.
    pub token: T,
}

/// What one attempt brought back, as far as placement cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<R, T> {
    /// The caller cancelled. Nothing is committed.
    Cancelled,
    /// A valid correction.
    Correction(Correction<R, T>),
    /// The destination could not be reached or failed: a transport error, 408 or 5xx.
    DestinationFailure,
    /// An answer that says nothing of placement: it resets, counts and fences nothing.
    Neutral,
    /// A successful poll, with or without commands.
    // spec: PLC-8 a success has no token to give
    Success,
}

/// What a commit did. Logs, metrics and tests use this and no guesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The caller had cancelled; nothing changed.
    Cancelled,
    /// An equal revision with another token: the active token was cleared, the accepted one kept.
    Conflicted,
    /// The third destination failure: the active token was cleared.
    Evicted,
    /// A destination failure of a request that carried the active token was counted.
    FailureCounted,
    /// A first or newer revision: its token is accepted and active.
    Installed,
    /// A newer result was committed first; nothing changed.
    Late,
    /// The answer says nothing of placement; nothing changed.
    Neutral,
    /// An equal revision with the accepted token: that token is active (again).
    Restored,
    /// The third correction without a success: it was applied, then the active token was cleared.
    RoundExhausted,
    /// An older revision: counted, and the placement left as it was.
    StaleRevision,
    /// A success: both counters are zero, the token stays.
    Success,
    /// A destination failure of a request without a token; nothing changed.
    TokenlessFailure,
}

impl Verdict {
    /// Every verdict, in the order of their names.
    pub const ALL: [Self; 12] = [
        Self::Cancelled,
        Self::Conflicted,
        Self::Evicted,
        Self::FailureCounted,
        Self::Installed,
        Self::Late,
        Self::Neutral,
        Self::Restored,
        Self::RoundExhausted,
        Self::StaleRevision,
        Self::Success,
        Self::TokenlessFailure,
    ];

    /// The name used in events, metrics and fixtures (`snake_case`).
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Conflicted => "conflicted",
            Self::Evicted => "evicted",
            Self::FailureCounted => "failure_counted",
            Self::Installed => "installed",
            Self::Late => "late",
            Self::Neutral => "neutral",
            Self::Restored => "restored",
            Self::RoundExhausted => "round_exhausted",
            Self::StaleRevision => "stale_revision",
            Self::Success => "success",
            Self::TokenlessFailure => "tokenless_failure",
        }
    }

    /// Whether the commit bore state, that is, advanced the generation.
    #[must_use]
    pub fn committed(self) -> bool {
        match self {
            Self::Cancelled | Self::Late | Self::Neutral | Self::TokenlessFailure => false,
            Self::Conflicted
            | Self::Evicted
            | Self::FailureCounted
            | Self::Installed
            | Self::Restored
            | Self::RoundExhausted
            | Self::StaleRevision
            | Self::Success => true,
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_verdicts_commit_nothing() {
        let without: Vec<String> = Verdict::ALL
            .into_iter()
            .filter(|verdict| !verdict.committed())
            .map(|verdict| verdict.to_string())
            .collect();
        assert_eq!(
            without,
            ["cancelled", "late", "neutral", "tokenless_failure"]
        );
    }
}
