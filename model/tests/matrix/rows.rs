//! The rows of the commit table of `SPEC.md`, as relations between the state before a commit and the
//! state after it. They use nothing of the placement but what a [`View`] shows.

use moorline_model::placement::Verdict;

use super::cell::{Cell, Event, View, WATERMARK};

/// One row of the table.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Whether the row speaks of this cell.
    pub(crate) applies: fn(&Cell) -> bool,
    /// What does not hold in a cell of the row.
    pub(crate) broken: fn(&Cell) -> Option<&'static str>,
}

pub(crate) const THIRD_CORRECTION: &str = "correction that makes corrections 3";

/// The table. Every cell belongs to one row, and third corrections to [`THIRD_CORRECTION`] as well.
pub(crate) const ALL: [Row; 10] = [
    Row {
        name: "success",
        applies: |cell| counts(cell) && cell.event == Event::Success,
        broken: |cell| {
            first_broken(&[
                (stepped(cell), "generation + 1"),
                (cell.after.failures == 0, "failures 0"),
                (cell.after.corrections == 0, "corrections 0"),
                (same_placement(cell), "token and watermark unchanged"),
                (cell.verdict == Verdict::Success, "verdict"),
            ])
        },
    },
    Row {
        name: "correction, first or newer revision",
        applies: |cell| {
            of_revision(cell, |watermark, revision| {
                watermark.is_none_or(|old| revision > old)
            })
        },
        broken: |cell| {
            let sent = cell.event.correction();
            first_broken(&[
                (
                    corrected(cell),
                    "generation + 1, failures 0, corrections + 1 or 0",
                ),
                (
                    cell.after.watermark == sent.map(|sent| sent.0),
                    "new watermark",
                ),
                (
                    cell.after.accepted == sent.map(|sent| sent.1),
                    "new accepted token",
                ),
                (
                    is_third(cell) || cell.after.active == sent.map(|sent| sent.1),
                    "new active token",
                ),
                (verdict_or_round(cell, Verdict::Installed), "verdict"),
            ])
        },
    },
    Row {
        name: "correction, equal revision, the accepted token",
        applies: |cell| {
            of_revision(cell, |watermark, revision| watermark == Some(revision))
                && offers_accepted(cell)
        },
        broken: |cell| {
            first_broken(&[
                (
                    corrected(cell),
                    "generation + 1, failures 0, corrections + 1 or 0",
                ),
                (same_memory(cell), "accepted and watermark unchanged"),
                (
                    is_third(cell) || cell.after.active == cell.before.accepted,
                    "the accepted token is active",
                ),
                (verdict_or_round(cell, Verdict::Restored), "verdict"),
            ])
        },
    },
    Row {
        name: "correction, equal revision, another token",
        applies: |cell| {
            of_revision(cell, |watermark, revision| watermark == Some(revision))
                && !offers_accepted(cell)
        },
        broken: |cell| {
            first_broken(&[
                (
                    corrected(cell),
                    "generation + 1, failures 0, corrections + 1 or 0",
                ),
                (same_memory(cell), "accepted and watermark unchanged"),
                (cell.after.active.is_none(), "active cleared"),
                (verdict_or_round(cell, Verdict::Conflicted), "verdict"),
            ])
        },
    },
    Row {
        name: "correction, older revision",
        applies: |cell| {
            of_revision(cell, |watermark, revision| {
                watermark.is_some_and(|old| revision < old)
            })
        },
        broken: |cell| {
            first_broken(&[
                (
                    corrected(cell),
                    "generation + 1, failures 0, corrections + 1 or 0",
                ),
                (same_memory(cell), "accepted and watermark unchanged"),
                (
                    is_third(cell) || cell.after.active == cell.before.active,
                    "active unchanged",
                ),
                (verdict_or_round(cell, Verdict::StaleRevision), "verdict"),
            ])
        },
    },
    Row {
        name: THIRD_CORRECTION,
        applies: |cell| counts(cell) && cell.event.correction().is_some() && is_third(cell),
        broken: |cell| {
            first_broken(&[
                (cell.after.corrections == 0, "corrections 0"),
                (cell.after.active.is_none(), "active cleared"),
                (cell.verdict == Verdict::RoundExhausted, "verdict"),
            ])
        },
    },
    Row {
        name: "destination failure, request with a token",
        applies: |cell| counts(cell) && cell.event == Event::Failure,
        broken: |cell| {
            let third = cell.before.failures == 2;
            let failures = if third { 0 } else { cell.before.failures + 1 };
            let active = if third { None } else { cell.before.active };
            let verdict = if third {
                Verdict::Evicted
            } else {
                Verdict::FailureCounted
            };
            first_broken(&[
                (stepped(cell), "generation + 1"),
                (cell.after.failures == failures, "failures + 1, or 0 at 3"),
                (
                    cell.after.corrections == cell.before.corrections,
                    "corrections unchanged",
                ),
                (same_memory(cell), "accepted and watermark unchanged"),
                (
                    cell.after.active == active,
                    "active cleared at 3 and not before",
                ),
                (cell.verdict == verdict, "verdict"),
            ])
        },
    },
    Row {
        name: "destination failure, tokenless request",
        applies: |cell| cell.event == Event::Failure && cell.attempt.token().is_none(),
        broken: |cell| {
            first_broken(&[
                (cell.after == cell.before, "nothing changed"),
                (cell.verdict == Verdict::TokenlessFailure, "verdict"),
            ])
        },
    },
    Row {
        name: "neutral, cancelled",
        applies: |cell| matches!(cell.event, Event::Neutral | Event::Cancelled),
        broken: |cell| {
            let cancelled = cell.event == Event::Cancelled;
            let verdict = if cancelled {
                Verdict::Cancelled
            } else {
                Verdict::Neutral
            };
            first_broken(&[
                (cell.after == cell.before, "nothing changed"),
                (cell.verdict == verdict, "verdict"),
            ])
        },
    },
    Row {
        name: "late",
        applies: |cell| cell.attempt.is_late() && bears_state(cell),
        broken: |cell| {
            first_broken(&[
                (cell.after == cell.before, "nothing changed"),
                (cell.verdict == Verdict::Late, "verdict"),
            ])
        },
    },
];

fn first_broken(parts: &[(bool, &'static str)]) -> Option<&'static str> {
    parts
        .iter()
        .find(|(holds, _)| !holds)
        .map(|(_, part)| *part)
}

/// A success, a correction, or a failure of a request with a token.
fn bears_state(cell: &Cell) -> bool {
    match cell.event {
        Event::Neutral | Event::Cancelled => false,
        Event::Failure => cell.attempt.token().is_some(),
        _ => true,
    }
}

/// State-bearing and not late.
fn counts(cell: &Cell) -> bool {
    bears_state(cell) && !cell.attempt.is_late()
}

fn of_revision(cell: &Cell, relation: fn(Option<u64>, u64) -> bool) -> bool {
    let correction = cell.event.correction();
    counts(cell)
        && correction.is_some_and(|(revision, _)| relation(cell.before.watermark, revision))
}

fn offers_accepted(cell: &Cell) -> bool {
    let token = cell.event.correction().map(|(_, token)| token);
    token.is_some() && token == cell.before.accepted
}

fn is_third(cell: &Cell) -> bool {
    cell.before.corrections == 2
}

fn stepped(cell: &Cell) -> bool {
    cell.after.generation == cell.before.generation + 1
}

/// The columns that all corrections share.
fn corrected(cell: &Cell) -> bool {
    let corrections = if is_third(cell) {
        0
    } else {
        cell.before.corrections + 1
    };
    stepped(cell) && cell.after.failures == 0 && cell.after.corrections == corrections
}

fn verdict_or_round(cell: &Cell, verdict: Verdict) -> bool {
    cell.verdict
        == if is_third(cell) {
            Verdict::RoundExhausted
        } else {
            verdict
        }
}

fn same_memory(cell: &Cell) -> bool {
    let memory = |view: &View| (view.watermark, view.accepted);
    memory(&cell.after) == memory(&cell.before)
}

fn same_placement(cell: &Cell) -> bool {
    same_memory(cell) && cell.after.active == cell.before.active
}

#[test]
fn the_first_part_that_does_not_hold_is_named() {
    assert_eq!(
        first_broken(&[(true, "a"), (false, "b"), (false, "c")]),
        Some("b")
    );
    assert_eq!(first_broken(&[(true, "a")]), None);
    assert_ne!(WATERMARK, 0, "there must be an older revision");
}
