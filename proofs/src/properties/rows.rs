//! One relation for each row of the commit table in `model/SPEC.md`, written from that table. Rows
//! of corrections say what holds for the first two of a round; the row of the third says the rest.

use moorline_model::placement::{AcceptedParts, Correction, Outcome, Verdict};

use super::{Commit, Judgement, when, with};
use crate::system::{Shape, Token};

/// How many corrections or failures the counter shows before the one that clears.
const TWO: u8 = 2;

// spec-test: PLC-7
pub(super) fn success<R: Copy + Ord, T: Token>(commit: &Commit<'_, R, T>) -> Judgement {
    let applies = commit.attempt.current && matches!(commit.outcome, Outcome::Success);
    when(applies, || {
        let (before, after) = shapes(commit);
        after.failures == 0
            && after.corrections == 0
            && after.accepted == before.accepted
            && commit.verdict == Verdict::Success
    })
}

// spec-test: PLC-9, PLC-13
pub(super) fn newer<R: Copy + Ord, T: Token>(commit: &Commit<'_, R, T>) -> Judgement {
    let (before, after) = shapes(commit);
    let newer = commit.committed_correction().filter(|correction| {
        let watermark = before.accepted.as_ref().map(|accepted| accepted.revision);
        watermark.is_none_or(|watermark| correction.revision > watermark)
    });
    with(newer, |correction| {
        let accepted = after.accepted.as_ref();
        accepted.is_some_and(|accepted| {
            is_pair(accepted, correction) && (accepted.active || is_third(before))
        }) && counted(commit, Verdict::Installed)
    })
}

// spec-test: PLC-10, PLC-13
pub(super) fn equal_accepted<R: Copy + Ord, T: Token>(commit: &Commit<'_, R, T>) -> Judgement {
    let (before, after) = shapes(commit);
    let again = commit.committed_correction().filter(|correction| {
        let accepted = before.accepted.as_ref();
        accepted.is_some_and(|accepted| is_pair(accepted, correction))
    });
    with(again, |correction| {
        let accepted = after.accepted.as_ref();
        accepted.is_some_and(|accepted| {
            is_pair(accepted, correction) && (accepted.active || is_third(before))
        }) && counted(commit, Verdict::Restored)
    })
}

// spec-test: PLC-11, PLC-13
pub(super) fn equal_other<R: Copy + Ord, T: Token>(commit: &Commit<'_, R, T>) -> Judgement {
    let (before, _) = shapes(commit);
    let conflict = commit.committed_correction().is_some_and(|correction| {
        before.accepted.as_ref().is_some_and(|accepted| {
            accepted.revision == correction.revision && accepted.token != correction.token
        })
    });
    when(conflict, || {
        keeps_pair(commit) && is_cleared(commit) && counted(commit, Verdict::Conflicted)
    })
}

// spec-test: PLC-12, PLC-13
pub(super) fn older<R: Copy + Ord, T: Token>(commit: &Commit<'_, R, T>) -> Judgement {
    let (before, after) = shapes(commit);
    let older = commit.committed_correction().is_some_and(|correction| {
        let accepted = before.accepted.as_ref();
        accepted.is_some_and(|accepted| correction.revision < accepted.revision)
    });
    when(older, || {
        keeps_pair(commit)
            && (is_third(before) || is_active(after) == is_active(before))
            && counted(commit, Verdict::StaleRevision)
    })
}

// spec-test: PLC-14, PLC-15
pub(super) fn third<R: Copy + Ord, T: Token>(commit: &Commit<'_, R, T>) -> Judgement {
    let (before, after) = shapes(commit);
    let applies = commit.committed_correction().is_some() && is_third(before);
    when(applies, || {
        is_cleared(commit) && after.corrections == 0 && commit.verdict == Verdict::RoundExhausted
    })
}

// spec-test: PLC-16, PLC-17
pub(super) fn failure<R: Copy + Ord, T: Token>(commit: &Commit<'_, R, T>) -> Judgement {
    let (before, after) = shapes(commit);
    when(commit.committed_failure(), || {
        let counted = if before.failures < TWO {
            after.failures == before.failures + 1
                && is_active(after) == is_active(before)
                && commit.verdict == Verdict::FailureCounted
        } else {
            after.failures == 0 && is_cleared(commit) && commit.verdict == Verdict::Evicted
        };
        counted && keeps_pair(commit) && after.corrections == before.corrections
    })
}

// spec-test: PLC-18
pub(super) fn tokenless_failure<R: Copy + Ord, T: Token>(commit: &Commit<'_, R, T>) -> Judgement {
    let failure = matches!(commit.outcome, Outcome::DestinationFailure);
    when(failure && commit.attempt.token.is_none(), || {
        commit.nothing_changed() && commit.verdict == Verdict::TokenlessFailure
    })
}

// spec-test: PLC-19, PLC-20
pub(super) fn neutral_or_cancelled<R: Copy + Ord, T: Token>(
    commit: &Commit<'_, R, T>,
) -> Judgement {
    let verdict = match commit.outcome {
        Outcome::Neutral => Some(Verdict::Neutral),
        Outcome::Cancelled => Some(Verdict::Cancelled),
        _ => None,
    };
    with(verdict, |verdict| {
        commit.nothing_changed() && commit.verdict == verdict
    })
}

// spec-test: PLC-5
pub(super) fn late<R: Copy + Ord, T: Token>(commit: &Commit<'_, R, T>) -> Judgement {
    when(!commit.attempt.current && commit.bears_state(), || {
        commit.nothing_changed() && commit.verdict == Verdict::Late
    })
}

/// What every row of a correction says of the counters and, unless it is the third, of the verdict.
fn counted<R: Copy + Ord, T: Token>(commit: &Commit<'_, R, T>, verdict: Verdict) -> bool {
    let (before, after) = shapes(commit);
    let as_first_two = || after.corrections == before.corrections + 1 && commit.verdict == verdict;
    after.failures == 0 && (is_third(before) || as_first_two())
}

fn shapes<'a, R, T: Token>(commit: &Commit<'a, R, T>) -> (&'a Shape<R, T>, &'a Shape<R, T>) {
    (&commit.before.shape, &commit.after.shape)
}

fn is_third<R, T>(before: &Shape<R, T>) -> bool {
    before.corrections >= TWO
}

fn is_active<R, T>(shape: &Shape<R, T>) -> bool {
    shape.active().is_some()
}

fn is_cleared<R, T: Token>(commit: &Commit<'_, R, T>) -> bool {
    !is_active(&commit.after.shape)
}

fn is_pair<R: Ord, T: Eq>(accepted: &AcceptedParts<R, T>, correction: &Correction<R, T>) -> bool {
    accepted.revision == correction.revision && accepted.token == correction.token
}

/// Whether watermark and accepted token are what they were.
fn keeps_pair<R: Copy + Ord, T: Token>(commit: &Commit<'_, R, T>) -> bool {
    let (before, after) = shapes(commit);
    match (&before.accepted, &after.accepted) {
        (None, None) => true,
        (Some(before), Some(after)) => {
            before.revision == after.revision && before.token == after.token
        }
        _ => false,
    }
}
