use super::{Attempt, Generation};

/// The placement of one client instance. Starts tokenless, lives in memory only, and is never shared
/// between instances (it cannot be cloned).
///
/// `R` is the type of revisions and `T` of tokens. `T::clone` should be cheap: each snapshot of a
/// placement with an active token clones it.
// spec: PLC-1 one owner: it cannot be cloned
#[derive(Debug)]
pub struct Placement<R, T> {
    pub(super) generation: Generation,
    pub(super) accepted: Option<Accepted<R, T>>,
    pub(super) corrections: u8,
    pub(super) failures: u8,
}

/// The watermark and the token of its first committed correction. An active token without these, or
/// other than this token, cannot be expressed.
// spec: PLC-21
#[derive(Debug)]
pub(super) struct Accepted<R, T> {
    pub(super) revision: R,
    pub(super) token: T,
    pub(super) active: bool,
}

impl<R, T> Placement<R, T> {
    /// A new placement: no watermark, no token, counters zero.
    // spec: PLC-2
    #[must_use]
    pub const fn new() -> Self {
        Self {
            generation: Generation::FIRST,
            accepted: None,
            corrections: 0,
            failures: 0,
        }
    }

    /// The token that the next poll carries, if one is active.
    #[must_use]
    pub fn active_token(&self) -> Option<&T> {
        self.accepted
            .as_ref()
            .filter(|accepted| accepted.active)
            .map(|accepted| &accepted.token)
    }

    /// The token accepted at the watermark, active or not.
    #[must_use]
    pub fn accepted_token(&self) -> Option<&T> {
        self.accepted.as_ref().map(|accepted| &accepted.token)
    }

    /// Whether the next poll carries a token.
    #[must_use]
    pub fn has_token(&self) -> bool {
        self.active_token().is_some()
    }

    /// Corrections committed since the last success, cleared round or start (0 to 2).
    #[must_use]
    pub fn corrections(&self) -> u8 {
        self.corrections
    }

    /// Failures counted against the active token (0 to 2).
    #[must_use]
    pub fn failures(&self) -> u8 {
        self.failures
    }

    /// How many state-bearing results were committed.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.generation
    }
}

impl<R: Copy, T> Placement<R, T> {
    /// The greatest committed revision; `None` before the first correction.
    #[must_use]
    pub fn watermark(&self) -> Option<R> {
        self.accepted.as_ref().map(|accepted| accepted.revision)
    }
}

impl<R, T: Clone> Placement<R, T> {
    /// Takes the snapshot that one request is made from.
    // spec: PLC-3
    pub fn snapshot(&self) -> Attempt<T> {
        Attempt {
            generation: self.generation,
            token: self.active_token().cloned(),
        }
    }
}

impl<R, T> Default for Placement<R, T> {
    fn default() -> Self {
        Self::new()
    }
}
