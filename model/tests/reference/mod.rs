//! The commit table of `SPEC.md`, written down a second time: plain fields, rows in the order of the
//! table, names of verdicts as text. It shares nothing with the crate.

/// The placement as six plain fields. Nothing keeps the tokens together but the rules below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) generation: u64,
    pub(crate) watermark: Option<u64>,
    pub(crate) accepted: Option<&'static str>,
    pub(crate) active: Option<&'static str>,
    pub(crate) corrections: u32,
    pub(crate) failures: u32,
}

/// One poll in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poll {
    pub(crate) token: Option<&'static str>,
    pub(crate) generation: u64,
}

/// How a poll ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Cancelled,
    Correction(u64, &'static str),
    Failure,
    Neutral,
    Success,
}

impl Reference {
    pub(crate) fn start(&self) -> Poll {
        Poll {
            token: self.active,
            generation: self.generation,
        }
    }

    /// Applies the result of a poll and names what it did.
    pub(crate) fn end(&mut self, poll: Poll, ending: Ending) -> &'static str {
        if ending == Ending::Cancelled {
            return "cancelled";
        }
        if ending == Ending::Neutral {
            return "neutral";
        }
        if ending == Ending::Failure && poll.token.is_none() {
            return "tokenless_failure";
        }
        if poll.generation != self.generation {
            return "late";
        }
        self.generation += 1;

        if ending == Ending::Success {
            (self.failures, self.corrections) = (0, 0);
            return "success";
        }

        if let Ending::Correction(revision, token) = ending {
            let mut did = "";
            if self.watermark.is_none() || Some(revision) > self.watermark {
                (self.watermark, self.accepted, self.active) =
                    (Some(revision), Some(token), Some(token));
                did = "installed";
            } else if Some(revision) < self.watermark {
                did = "stale_revision";
            } else if Some(token) == self.accepted {
                self.active = Some(token);
                did = "restored";
            } else if Some(token) != self.accepted {
                self.active = None;
                did = "conflicted";
            }
            self.failures = 0;
            self.corrections += 1;
            if self.corrections == 3 {
                (self.corrections, self.active) = (0, None);
                did = "round_exhausted";
            }
            return did;
        }

        self.failures += 1;
        if self.failures == 3 {
            (self.failures, self.active) = (0, None);
            return "evicted";
        }
        "failure_counted"
    }
}
