//! Checks that never are the only one of their method to notice a mutant, each with the reason.

use serde::Serialize;

use super::columns::{Column, Kind, On};

/// One such check. The list is exact: an entry for a check that kills some mutant alone is a problem, and so
/// is a mutant that breaks the check and none of those that are said to break with it.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Reviewed {
    /// The kind of the check.
    pub kind: Kind,
    /// On what it does not kill alone.
    pub on: &'static [On],
    /// The name of the check.
    pub check: &'static str,
    /// Whatever breaks it breaks one of these, by the same method. None, where no step can break it.
    pub implied_by: &'static [&'static str],
    /// Why that is so, or why the check is kept.
    pub reason: &'static str,
}

impl Reviewed {
    pub(super) fn is_of(&self, column: &Column) -> bool {
        (self.kind, self.check) == (column.method.kind, column.check)
            && self.on.contains(&column.method.on)
    }
}

const BOTH: &[On] = &[On::Runs, On::Data];

/// Every check that never kills alone.
pub const REVIEWED: [Reviewed; 11] = [
    Reviewed {
        kind: Kind::Machine,
        on: BOTH,
        check: "watermark-never-falls",
        implied_by: &["watermark-is-the-greatest-committed"],
        reason: "The greatest committed revision never falls. Kept as the claim that readers look for, which needs \
                 no observer.",
    },
    Reviewed {
        kind: Kind::Machine,
        on: BOTH,
        check: "one-accepted-token-per-watermark",
        implied_by: &[
            "accepted-token-is-the-first-committed",
            "watermark-is-the-greatest-committed",
        ],
        reason: "The first token at the greatest revision changes only with that revision. Kept since it needs no \
                 observer.",
    },
    Reviewed {
        kind: Kind::Machine,
        on: BOTH,
        check: "third-failure-clears",
        implied_by: &["at-most-three-failures-count"],
        reason: "After the third failure the other asks that no token is active, which is the same claim made of the \
                 state and not of the commit.",
    },
    Reviewed {
        kind: Kind::Machine,
        on: BOTH,
        check: "at-most-three-failures-count",
        implied_by: &["third-failure-clears", "cleared-stays-cleared"],
        reason: "A fourth failure can count only if the third did not clear, or if a token became active after it. \
                 Kept since the induction needs it of states.",
    },
    Reviewed {
        kind: Kind::Machine,
        on: BOTH,
        check: "active-token-is-the-accepted-one",
        implied_by: &[],
        reason: "No step can break it: a placement holds one token, and a step that knows no more of a token than \
                 Clone and Eq cannot make another. It is kept to guard the type.",
    },
    Reviewed {
        kind: Kind::Machine,
        on: &[On::Runs],
        check: "current-attempts-carry-the-active-token",
        implied_by: &["current-means-nothing-committed-since"],
        reason: "A request carries another token than the active one only if it was begun wrong, which the explorer \
                 sees before in the next request (wire), or if a commit that changed the token left it current. From \
                 states that no run reaches, it kills alone.",
    },
    Reviewed {
        kind: Kind::Machine,
        on: BOTH,
        check: "counters-at-most-two",
        implied_by: &[
            "corrections-counted-as-observed",
            "failures-counted-as-observed",
        ],
        reason: "The observer's counts never pass 2 and 3. Kept since it needs no observer.",
    },
    Reviewed {
        kind: Kind::Machine,
        on: BOTH,
        check: "failures-imply-an-active-token",
        implied_by: &[
            "failures-counted-as-observed",
            "clears-only-on-third-or-conflict",
        ],
        reason: "What may clear the token also sets the observer's count to 0 or ends it. Kept since it needs no \
                 observer.",
    },
    Reviewed {
        kind: Kind::Machine,
        on: BOTH,
        check: "corrections-imply-a-watermark",
        implied_by: &[
            "corrections-counted-as-observed",
            "watermark-is-the-greatest-committed",
        ],
        reason: "Whoever counted a correction knows its revision. Kept since it needs no observer.",
    },
    Reviewed {
        kind: Kind::Wire,
        on: BOTH,
        check: "no-token-that-no-correction-gave",
        implied_by: &["next-request-carries-the-active-token-or-none"],
        reason: "The expected token is one that was given. Kept as the weaker claim, which holds whatever the \
                 observer expects.",
    },
    Reviewed {
        kind: Kind::Recovery,
        on: &[On::Runs],
        check: "greatest-revision-blocks-until-restart",
        implied_by: &["blocked-stays-blocked", "recovery-rank-falls"],
        reason: "It is one long case of the two others, played with the client's own types.",
    },
];
