use moorline_model::placement::{Correction, Outcome};

use super::Token;

/// Someone who sees each request go out and each answer come in, and who knows the protocol's text.
///
/// It keeps its own books from those alone: it reads no generation, counter, verdict or token of
/// the placement. The properties hold its books against what the placement does. It is therefore a
/// second writing of the rules, from the side of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Observer<R, T: Token> {
    /// The greatest revision of a correction that counted.
    pub greatest: Option<R>,
    /// The token of the first correction that counted at that revision.
    pub first: Option<T>,
    /// Whether the next request is expected to carry that token.
    pub sending: bool,
    /// Corrections since the last success or the last full round (0 to 2).
    pub round: u8,
    /// Failures that counted since the last success or correction (0 to 3).
    pub counted: u8,
    /// Which slots hold a request since whose start no state-bearing answer came, as bits.
    pub fresh: u8,
    /// The tokens of all corrections that counted.
    pub given: T::Set,
}

impl<R: Copy + Ord, T: Token> Observer<R, T> {
    /// The observer of a client that has just started.
    #[must_use]
    pub fn new() -> Self {
        Self {
            greatest: None,
            first: None,
            sending: false,
            round: 0,
            counted: 0,
            fresh: 0,
            given: T::Set::default(),
        }
    }

    /// The token that the next request must carry.
    #[must_use]
    pub fn expected(&self) -> Option<&T> {
        self.first.as_ref().filter(|_| self.sending)
    }

    /// Whether no state-bearing answer came since the request in this slot began.
    #[must_use]
    pub fn is_fresh(&self, slot: usize) -> bool {
        self.fresh & bit(slot) != 0
    }

    /// Sees a request go out.
    pub(super) fn begins(&mut self, slot: usize) {
        self.fresh |= bit(slot);
    }

    /// Sees the answer to a request that carried `sent`, or its cancellation.
    pub(super) fn ends(&mut self, slot: usize, sent: Option<&T>, outcome: &Outcome<R, T>) {
        let fresh = self.is_fresh(slot);
        self.fresh &= !bit(slot);
        if !fresh {
            return;
        }
        match outcome {
            Outcome::Cancelled | Outcome::Neutral => return,
            Outcome::DestinationFailure if sent.is_none() => return,
            Outcome::DestinationFailure => self.fails(),
            Outcome::Correction(correction) => self.corrects(correction),
            Outcome::Success => (self.round, self.counted) = (0, 0),
        }
        self.fresh = 0;
    }

    fn fails(&mut self) {
        self.counted = self.counted.saturating_add(1);
        self.sending = self.sending && self.counted < 3;
    }

    fn corrects(&mut self, Correction { revision, token }: &Correction<R, T>) {
        T::insert(&mut self.given, token.clone());
        match self.greatest {
            Some(greatest) if *revision < greatest => {}
            Some(greatest) if *revision == greatest => {
                self.sending = self.first.as_ref() == Some(token);
            }
            _ => {
                self.greatest = Some(*revision);
                self.first = Some(token.clone());
                self.sending = true;
            }
        }
        self.counted = 0;
        self.round = (self.round + 1) % 3;
        self.sending = self.sending && self.round != 0;
    }
}

impl<R: Copy + Ord, T: Token> Default for Observer<R, T> {
    fn default() -> Self {
        Self::new()
    }
}

fn bit(slot: usize) -> u8 {
    u32::try_from(slot)
        .ok()
        .and_then(|slot| 1_u8.checked_shl(slot))
        .unwrap_or(0)
}
