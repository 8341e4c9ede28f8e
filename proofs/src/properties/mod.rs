//! What is claimed of a placement, each claim under a name of its own.
//!
//! A property looks either at one commit (the state before it, the request that ended, its outcome,
//! the state after it) or at one standing state. All are generic: revisions are only ordered and
//! tokens only equated, so the same functions judge the small systems of the explorers and the
//! symbolic data of the inductive step. None of them calls a function of the code under proof.

mod machine;
mod rows;
mod wire;

use moorline_model::placement::{Correction, Outcome, Verdict};

use crate::system::{Flight, State, Token};

/// One claim.
#[derive(Clone, Copy, Debug)]
pub struct Property {
    /// A stable name.
    pub name: &'static str,
    /// The name of the witness that the claim is not empty, for checkers that list it beside.
    pub witness: &'static str,
    /// The claim in one sentence.
    pub statement: &'static str,
    /// The numbers of the requirements in `model/SPEC.md` that it speaks of.
    pub requirements: &'static str,
    /// What it looks at.
    pub subject: Subject,
}

/// What a property looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// One commit.
    Commit,
    /// One state.
    Standing,
}

/// One commit.
#[derive(Debug)]
pub struct Commit<'a, R, T: Token> {
    /// The state before, the request still in flight.
    pub before: &'a State<R, T>,
    /// The token that a request beginning in the state before would carry.
    pub next_before: &'a Option<T>,
    /// The slot of the request.
    pub slot: usize,
    /// The request.
    pub attempt: &'a Flight<T>,
    /// How it ended.
    pub outcome: &'a Outcome<R, T>,
    /// What the commit said.
    pub verdict: Verdict,
    /// By how much the generation rose.
    pub rise: u64,
    /// The state after.
    pub after: &'a State<R, T>,
    /// The token that a request beginning in the state after would carry.
    pub next_after: &'a Option<T>,
}

/// One state.
#[derive(Debug)]
pub struct Standing<'a, R, T: Token> {
    /// The state.
    pub state: &'a State<R, T>,
    /// The token that a request beginning now would carry.
    pub next: &'a Option<T>,
}

/// What a property says of one commit or state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It does not speak of this.
    Silent,
    /// It speaks of this, and holds.
    Holds,
    /// It is broken here.
    Broken,
}

/// What all properties say of one commit or state: a bit for each, in the order of [`ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Judged {
    /// Those that speak of it.
    pub concerned: u64,
    /// Those of them that are broken.
    pub broken: u64,
}

impl Judged {
    fn note(&mut self, index: usize, judgement: Judgement) {
        let bit = bit(index);
        match judgement {
            Judgement::Silent => {}
            Judgement::Holds => self.concerned |= bit,
            Judgement::Broken => {
                self.concerned |= bit;
                self.broken |= bit;
            }
        }
    }
}

/// The bit of a property in [`Judged`], from its place in [`ALL`].
#[must_use]
pub const fn bit(index: usize) -> u64 {
    // There are fewer than 64 properties, which a test asserts.
    1 << (index & 63)
}

/// The places in [`ALL`] of the properties in a mask, in order.
pub fn indices(mask: u64) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lowest = (left != 0).then_some(left.trailing_zeros() as usize)?;
        left &= left - 1;
        Some(lowest)
    })
}

/// The place of a property in [`ALL`]; `None` where no property has this name.
#[must_use]
pub fn index_of(name: &str) -> Option<usize> {
    ALL.iter().position(|property| property.name == name)
}

macro_rules! properties {
    (
        commits {
            $($commit:path: $commit_name:literal, $commit_ids:literal, $commit_text:literal;)*
        }
        standing {
            $($state:path: $state_name:literal, $state_ids:literal, $state_text:literal;)*
        }
    ) => {
        /// Every property of one client's placement: those of commits, then those of states.
        pub const ALL: [Property; COUNT] = [
            $(Property {
                name: $commit_name,
                witness: concat!($commit_name, " (witness)"),
                statement: $commit_text,
                requirements: $commit_ids,
                subject: Subject::Commit,
            },)*
            $(Property {
                name: $state_name,
                witness: concat!($state_name, " (witness)"),
                statement: $state_text,
                requirements: $state_ids,
                subject: Subject::Standing,
            },)*
        ];

        const COMMITS: usize = [$($commit_name),*].len();
        const COUNT: usize = COMMITS + [$($state_name),*].len();

        /// What all properties of commits say of this one.
        pub fn judge_commit<R: Copy + Ord, T: Token>(commit: &Commit<'_, R, T>) -> Judged {
            let mut judged = Judged::default();
            let mut index = 0;
            $(
                judged.note(index, $commit(commit));
                index += 1;
            )*
            debug_assert_eq!(index, COMMITS, "each property has its own bit");
            judged
        }

        /// What all properties of states say of this one.
        pub fn judge_standing<R: Copy + Ord, T: Token>(standing: &Standing<'_, R, T>) -> Judged {
            let mut judged = Judged::default();
            let mut index = COMMITS;
            $(
                judged.note(index, $state(standing));
                index += 1;
            )*
            debug_assert_eq!(index, COUNT, "each property has its own bit");
            judged
        }
    };
}

properties! {
    commits {
        rows::success: "row-success", "PLC-7",
            "A committed success sets both counters to 0 and leaves watermark and token as they \
             were.";
        rows::newer: "row-correction-newer", "PLC-9, PLC-13",
            "A committed first or newer correction becomes watermark and accepted token, sets \
             failures to 0 and, unless it is the third, is active and counted.";
        rows::equal_accepted: "row-correction-equal-accepted", "PLC-10, PLC-13",
            "A committed correction with the watermark's revision and the accepted token keeps \
             both, sets failures to 0 and, unless it is the third, makes the token active and is \
             counted.";
        rows::equal_other: "row-correction-equal-other", "PLC-11, PLC-13",
            "A committed correction with the watermark's revision and another token clears the \
             active token, keeps watermark and accepted token, sets failures to 0 and, unless it \
             is the third, is counted.";
        rows::older: "row-correction-older", "PLC-12, PLC-13",
            "A committed older correction leaves watermark and accepted token, sets failures to 0 \
             and, unless it is the third, leaves the active token and is counted.";
        rows::third: "row-correction-third", "PLC-14, PLC-15",
            "A committed third correction, after its own row, clears the active token and sets \
             corrections to 0.";
        rows::failure: "row-failure-with-token", "PLC-16, PLC-17",
            "A committed failure of a request with a token is counted and leaves corrections; the \
             third clears the active token and sets failures to 0.";
        rows::tokenless_failure: "row-failure-tokenless", "PLC-18",
            "A failure of a tokenless request changes nothing, the generation included.";
        rows::neutral_or_cancelled: "row-neutral-cancelled", "PLC-19, PLC-20",
            "A neutral result and a cancellation change nothing, the generation included.";
        rows::late: "row-late", "PLC-5",
            "A late success, correction or failure of a request with a token changes nothing, the \
             generation included.";
        machine::watermark_never_falls: "watermark-never-falls", "PLC-21",
            "No commit lowers or forgets the watermark.";
        machine::one_token_per_watermark: "one-accepted-token-per-watermark", "PLC-11, PLC-21",
            "As long as the watermark stays, the accepted token stays.";
        machine::clears_only_with_cause: "clears-only-on-third-or-conflict",
            "PLC-11, PLC-12, PLC-14, PLC-17",
            "An active token is cleared only by a committed third correction, third failure or \
             equal-revision conflict.";
        machine::third_correction_clears: "third-correction-clears", "PLC-14, PLC-15",
            "The third correction that the observer counts since a success or a full round leaves \
             no active token.";
        machine::third_failure_clears: "third-failure-clears", "PLC-17",
            "The third failure that the observer counts since a success or correction leaves no \
             active token.";
        machine::conflict_clears: "conflict-clears", "PLC-11",
            "A committed correction with the greatest revision and another token than the first \
             one there leaves no active token.";
        machine::cleared_stays_cleared: "cleared-stays-cleared", "PLC-9, PLC-10, PLC-12",
            "Where no token is active, only a committed newer correction or the accepted pair \
             again makes one active.";
        machine::generation_rises_by_one: "generation-rises-by-one-on-commit",
            "PLC-4, PLC-5, PLC-18, PLC-19, PLC-20",
            "The generation rises by exactly one on each committed state-bearing result and never \
             otherwise.";
        machine::verdict_tells: "verdict-tells-whether-it-committed", "PLC-4, PLC-5",
            "The verdict counts as committed exactly if the request was current and its result \
             state-bearing.";
        wire::success_teaches_nothing: "success-teaches-nothing", "PLC-7, PLC-8",
            "After a success the next request carries what it would have carried before, and the \
             accepted token is the same.";
    }
    standing {
        machine::watermark_is_greatest: "watermark-is-the-greatest-committed", "PLC-9, PLC-21",
            "The watermark is the greatest revision of a committed correction.";
        machine::accepted_is_first: "accepted-token-is-the-first-committed", "PLC-9, PLC-11",
            "The accepted token is that of the first committed correction at the watermark.";
        machine::active_is_accepted: "active-token-is-the-accepted-one", "PLC-3, PLC-21",
            "A request never takes a token other than the accepted one.";
        machine::current_carry_active: "current-attempts-carry-the-active-token", "PLC-3, PLC-4",
            "Every current request in flight carries exactly the active token, or none where none \
             is active.";
        machine::current_means_nothing_since: "current-means-nothing-committed-since",
            "PLC-4, PLC-5",
            "A request is current exactly if no state-bearing result of a current request came \
             since it began.";
        machine::counters_at_most_two: "counters-at-most-two", "PLC-14, PLC-17",
            "Neither counter passes 2.";
        machine::failures_imply_token: "failures-imply-an-active-token",
            "PLC-11, PLC-13, PLC-14, PLC-17",
            "Failures are counted only while a token is active.";
        machine::corrections_imply_watermark: "corrections-imply-a-watermark", "PLC-9, PLC-13",
            "Corrections are counted only where a watermark is known.";
        machine::counts_of_corrections_agree: "corrections-counted-as-observed",
            "PLC-7, PLC-13, PLC-14",
            "The correction counter is what the observer counted since a success or a full round.";
        machine::counts_of_failures_agree: "failures-counted-as-observed",
            "PLC-7, PLC-13, PLC-16, PLC-17",
            "The failure counter is what the observer counted since a success or correction, and \
             0 once that is three.";
        machine::at_most_three_failures: "at-most-three-failures-count", "PLC-16, PLC-17, PLC-18",
            "Between two committed successes or corrections at most three failures count, and \
             none is active after the third.";
        wire::next_request_as_observed: "next-request-carries-the-active-token-or-none",
            "PLC-3, PLC-7, PLC-9, PLC-10, PLC-11, PLC-12, PLC-14, PLC-15, PLC-17",
            "The next request carries exactly the token that an observer of the wire expects, or \
             none.";
        wire::no_foreign_token: "no-token-that-no-correction-gave", "PLC-8, PLC-9",
            "No request carries a token that no committed correction gave.";
    }
}

impl<R: Copy + Ord, T: Token> Commit<'_, R, T> {
    /// Whether the result is one that can change a placement at all.
    fn bears_state(&self) -> bool {
        match self.outcome {
            Outcome::Success | Outcome::Correction(_) => true,
            Outcome::DestinationFailure => self.attempt.token.is_some(),
            Outcome::Neutral | Outcome::Cancelled => false,
        }
    }

    fn committed(&self) -> bool {
        self.attempt.current && self.bears_state()
    }

    fn committed_correction(&self) -> Option<&Correction<R, T>> {
        match self.outcome {
            Outcome::Correction(correction) if self.attempt.current => Some(correction),
            _ => None,
        }
    }

    fn committed_failure(&self) -> bool {
        matches!(self.outcome, Outcome::DestinationFailure) && self.committed()
    }

    fn nothing_changed(&self) -> bool {
        self.rise == 0 && self.before.shape == self.after.shape
    }
}

/// A property that speaks of everything.
fn always(holds: bool) -> Judgement {
    if holds {
        Judgement::Holds
    } else {
        Judgement::Broken
    }
}

/// A property that speaks only of what `applies`.
fn when(applies: bool, holds: impl FnOnce() -> bool) -> Judgement {
    if applies {
        always(holds())
    } else {
        Judgement::Silent
    }
}

/// A property that speaks only of what has such a part.
fn with<A>(part: Option<A>, holds: impl FnOnce(A) -> bool) -> Judgement {
    part.map_or(Judgement::Silent, |part| always(holds(part)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_distinct_and_in_kebab_case_and_fit_a_mask() {
        let names: BTreeSet<&str> = ALL.iter().map(|property| property.name).collect();
        assert_eq!(names.len(), ALL.len());
        for property in ALL {
            let kebab = |c: char| c.is_ascii_lowercase() || c == '-';
            assert!(property.name.chars().all(kebab), "{}", property.name);
            assert!(property.statement.ends_with('.'), "{}", property.name);
            assert!(property.requirements.starts_with("PLC-"));
        }
        assert_eq!((COMMITS, COUNT), (20, 33));
        const { assert!(COUNT <= 64) };
    }

    #[test]
    fn masks_name_their_properties() {
        let index = index_of("counters-at-most-two").unwrap();
        assert_eq!(indices(bit(index) | bit(0)).collect::<Vec<_>>(), [0, index]);
        assert_eq!(index_of("no such"), None);
    }
}
