//! Placements and attempts as plain data, for checkers alone: a model checker must build, copy and
//! hash states that the client can only reach. Production code has no use for this.

use super::state::Accepted;
use super::{Attempt, Generation, Placement};

/// A placement taken apart. It may hold values that no client can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlacementParts<R, T> {
    /// How many state-bearing results were committed.
    pub generation: Generation,
    /// The watermark, its token, and whether that token is active.
    pub accepted: Option<AcceptedParts<R, T>>,
    /// The correction counter.
    pub corrections: u8,
    /// The failure counter.
    pub failures: u8,
}

/// The watermark and its token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AcceptedParts<R, T> {
    /// The greatest committed revision.
    pub revision: R,
    /// The token of its first committed correction.
    pub token: T,
    /// Whether polls carry that token.
    pub active: bool,
}

/// An attempt taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AttemptParts<T> {
    /// The generation at the time of the snapshot.
    pub generation: Generation,
    /// The token that the request carries.
    pub token: Option<T>,
}

impl<R, T> Placement<R, T> {
    /// Builds a placement from parts, without checking them.
    #[doc(hidden)]
    pub fn from_parts(parts: PlacementParts<R, T>) -> Self {
        Self {
            generation: parts.generation,
            accepted: parts.accepted.map(
                |AcceptedParts {
                     revision,
                     token,
                     active,
                 }| Accepted {
                    revision,
                    token,
                    active,
                },
            ),
            corrections: parts.corrections,
            failures: parts.failures,
        }
    }

    /// Takes the placement apart.
    #[doc(hidden)]
    pub fn into_parts(self) -> PlacementParts<R, T> {
        PlacementParts {
            generation: self.generation,
            accepted: self.accepted.map(
                |Accepted {
                     revision,
                     token,
                     active,
                 }| AcceptedParts {
                    revision,
                    token,
                    active,
                },
            ),
            corrections: self.corrections,
            failures: self.failures,
        }
    }
}

impl<T> Attempt<T> {
    /// Builds an attempt from parts, without checking them.
    #[doc(hidden)]
    pub fn from_parts(parts: AttemptParts<T>) -> Self {
        Self {
            generation: parts.generation,
            token: parts.token,
        }
    }

    /// Takes the attempt apart.
    #[doc(hidden)]
    pub fn into_parts(self) -> AttemptParts<T> {
        AttemptParts {
            generation: self.generation,
            token: self.token,
        }
    }
}
