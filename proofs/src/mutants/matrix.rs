//! Every mutant against every check, and what that must show.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use thiserror::Error;

use super::columns::{Cell, Column, columns, judge};
use super::reviewed::{REVIEWED, Reviewed};
use super::same::{COMPARED, same_as_shipped};
use super::{Fault, Method};

/// The least number of mutants that shows anything.
const MUTANTS_LEAST: usize = 25;

/// Every mutant with every check.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// The checks.
    pub columns: Vec<Column>,
    /// The step with nothing wrong: every check must hold.
    pub baseline: Row,
    /// The mutants.
    pub rows: Vec<Row>,
    /// How the second writing of the step compares with the shipped one.
    pub same: Result<u64, String>,
}

/// One mutant.
#[derive(Clone, Debug)]
pub struct Row {
    /// What is wrong with it.
    pub fault: Fault,
    /// What each check says of it, in the order of the columns.
    pub cells: Vec<Cell>,
    /// Why checks could not be carried out.
    pub reports: Vec<String>,
}

/// Why a matrix does not show what it must.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// A check does not hold of the step with nothing wrong.
    #[error("{check} ({method}) does not hold where nothing is wrong")]
    Baseline {
        /// The check.
        check: &'static str,
        /// Its method.
        method: &'static str,
    },
    /// The faulty step without a fault is not the shipped step.
    #[error("the step that mutants are made of differs from the shipped one: {0}")]
    Differs(String),
    /// Another number of comparisons than is pinned.
    #[error("{COMPARED} comparisons with the shipped step were pinned, {0} were made")]
    Compared(u64),
    /// Too few mutants.
    #[error("{MUTANTS_LEAST} mutants were asked for, {0} were run")]
    TooFew(usize),
    /// No check notices a fault.
    #[error("the mutant {0} survives")]
    Survives(Fault),
    /// A check kills no mutant alone, and no review says why.
    #[error(
        "{check} ({method}) kills no mutant that no other of its method kills, and is not reviewed"
    )]
    NeverAlone {
        /// The check.
        check: &'static str,
        /// Its method.
        method: &'static str,
    },
    /// A review of a check that needs none.
    #[error("{check} ({method}) is reviewed, and kills {fault} alone")]
    ReviewedNeedlessly {
        /// The check.
        check: &'static str,
        /// Its method.
        method: &'static str,
        /// The mutant.
        fault: Fault,
    },
    /// A review of a check that there is not.
    #[error("{0} is reviewed, and is no check")]
    ReviewedUnknown(&'static str),
    /// A reviewed check broke, and none of those that are said to break with it.
    #[error("{check} ({method}) breaks for {fault}, and none of {implied_by:?} does")]
    NotImplied {
        /// The check.
        check: &'static str,
        /// Its method.
        method: &'static str,
        /// The mutant.
        fault: Fault,
        /// The checks of which one should break.
        implied_by: &'static [&'static str],
    },
}

/// Runs every mutant against every check. `tell` hears of each mutant that is done.
#[must_use]
pub fn run(tell: &(impl Fn(Fault) + Sync)) -> Matrix {
    let columns = columns();
    let row = |fault| {
        let (cells, reports) = judge(fault, &columns);
        tell(fault);
        Row {
            fault,
            cells,
            reports,
        }
    };
    let baseline = row(Fault::Nothing);
    let rows = side_by_side(row);
    Matrix {
        baseline,
        rows,
        same: same_as_shipped(),
        columns,
    }
}

/// Makes the rows on all processors, and returns them in the order of [`Fault::ALL`].
fn side_by_side(row: impl Fn(Fault) -> Row + Sync) -> Vec<Row> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..workers.min(Fault::ALL.len()) {
            scope.spawn(|| {
                while let Some(fault) = Fault::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = row(*fault);
                    // Rows are pushed whole, so that a panic elsewhere leaves no half of one.
                    let mut done = done.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    done.push(row);
                }
            });
        }
    });
    let mut rows = done
        .into_inner()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    rows.sort_by_key(|row| Fault::ALL.iter().position(|fault| *fault == row.fault));
    rows
}

impl Matrix {
    /// The checks that notice this mutant.
    pub fn killers<'a>(&'a self, row: &'a Row) -> impl Iterator<Item = &'a Column> {
        let cells = self.columns.iter().zip(&row.cells);
        cells
            .filter(|(_, cell)| **cell == Cell::Broken)
            .map(|(column, _)| column)
    }

    /// The first mutant that this check notices and no other check of its method does.
    #[must_use]
    pub fn alone(&self, column: &Column) -> Option<Fault> {
        let of_method = |row: &Row| {
            let mut killers = self
                .killers(row)
                .filter(|killer| killer.method == column.method);
            killers.next() == Some(column) && killers.next().is_none()
        };
        self.rows
            .iter()
            .find(|row| of_method(row))
            .map(|row| row.fault)
    }

    /// Everything that the matrix should show and does not.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        self.problems_with(&REVIEWED)
    }

    fn problems_with(&self, reviewed: &[Reviewed]) -> Vec<Problem> {
        let mut problems = Vec::new();
        match &self.same {
            Ok(COMPARED) => {}
            Ok(compared) => problems.push(Problem::Compared(*compared)),
            Err(case) => problems.push(Problem::Differs(case.clone())),
        }
        if self.rows.len() < MUTANTS_LEAST {
            problems.push(Problem::TooFew(self.rows.len()));
        }
        for (column, cell) in self.columns.iter().zip(&self.baseline.cells) {
            if *cell != Cell::Holds {
                let (check, method) = (column.check, column.method.name());
                problems.push(Problem::Baseline { check, method });
            }
        }
        let survivors = self
            .rows
            .iter()
            .filter(|row| self.killers(row).next().is_none());
        problems.extend(survivors.map(|row| Problem::Survives(row.fault)));
        for column in &self.columns {
            let review = reviewed.iter().find(|review| review.is_of(column));
            problems.extend(self.problem_of(column, review));
        }
        let unknown = reviewed
            .iter()
            .filter(|review| !self.columns.iter().any(|column| review.is_of(column)));
        problems.extend(unknown.map(|review| Problem::ReviewedUnknown(review.check)));
        problems
    }

    fn problem_of(&self, column: &Column, review: Option<&Reviewed>) -> Option<Problem> {
        let (check, method) = (column.check, column.method.name());
        match (review, self.alone(column)) {
            (None, Some(_)) => None,
            (None, None) => Some(Problem::NeverAlone { check, method }),
            (Some(_), Some(fault)) => Some(Problem::ReviewedNeedlessly {
                check,
                method,
                fault,
            }),
            (Some(review), None) => {
                let fault = self.not_implied(column, review)?;
                Some(Problem::NotImplied {
                    check,
                    method,
                    fault,
                    implied_by: review.implied_by,
                })
            }
        }
    }

    /// A mutant that breaks this check and none of those that the review names.
    fn not_implied(&self, column: &Column, review: &Reviewed) -> Option<Fault> {
        let breaks_alone = |row: &&Row| {
            let breaks = |check: &str, method: Method| {
                self.killers(row)
                    .any(|killer| killer.check == check && killer.method == method)
            };
            breaks(column.check, column.method)
                && !review
                    .implied_by
                    .iter()
                    .any(|implied| breaks(implied, column.method))
        };
        self.rows.iter().find(breaks_alone).map(|row| row.fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants::{Kind, On};

    const ONE: &str = "row-success";
    const OTHER: &str = "row-late";

    /// Two checks of one method, and as many mutants as it takes, the last of these cells over and over.
    fn matrix(cells: &[[Cell; 2]]) -> Matrix {
        let of_rows = columns().into_iter().filter(|column| {
            let (kind, on) = (column.method.kind, column.method.on);
            kind == Kind::Rows && on == On::Runs && [ONE, OTHER].contains(&column.check)
        });
        let row = |fault, cells: [Cell; 2]| Row {
            fault,
            cells: cells.to_vec(),
            reports: Vec::new(),
        };
        let padding = std::iter::repeat(cells.last().unwrap());
        let rows = Fault::ALL.iter().zip(cells.iter().chain(padding));
        Matrix {
            columns: of_rows.collect(),
            baseline: row(Fault::Nothing, [Cell::Holds; 2]),
            rows: rows
                .take(MUTANTS_LEAST)
                .map(|(fault, cells)| row(*fault, *cells))
                .collect(),
            same: Ok(COMPARED),
        }
    }

    const BY_ONE: [Cell; 2] = [Cell::Broken, Cell::Holds];
    const BY_OTHER: [Cell; 2] = [Cell::Silent, Cell::Broken];
    const BY_BOTH: [Cell; 2] = [Cell::Broken; 2];
    const BY_NONE: [Cell; 2] = [Cell::Failed, Cell::Silent];

    fn reviewed(check: &'static str, implied_by: &'static [&'static str]) -> [Reviewed; 1] {
        [Reviewed {
            kind: Kind::Rows,
            on: &[On::Runs],
            check,
            implied_by,
            reason: "for this test",
        }]
    }

    fn told(matrix: &Matrix, reviewed: &[Reviewed]) -> Vec<String> {
        let problems = matrix.problems_with(reviewed);
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_sound_matrix_has_no_problem() {
        assert_eq!(told(&matrix(&[BY_ONE, BY_OTHER]), &[]), [""; 0]);
        let review = reviewed(ONE, &[OTHER]);
        assert_eq!(told(&matrix(&[BY_BOTH, BY_OTHER]), &review), [""; 0]);
    }

    #[test]
    fn a_survivor_is_named() {
        let found = told(&matrix(&[BY_ONE, BY_NONE, BY_OTHER]), &[]);
        assert_eq!(found, ["the mutant snapshot-carries-nothing survives"]);
    }

    #[test]
    fn a_check_that_never_kills_alone_needs_a_review() {
        let found = told(&matrix(&[BY_BOTH, BY_OTHER]), &[]);
        assert_eq!(
            found,
            [
                "row-success (rows, all runs) kills no mutant that no other of its method kills, and is not reviewed"
            ]
        );
    }

    #[test]
    fn a_review_must_be_needed_known_and_right() {
        let of_one = reviewed(ONE, &[OTHER]);
        assert_eq!(
            told(&matrix(&[BY_ONE, BY_OTHER]), &of_one),
            ["row-success (rows, all runs) is reviewed, and kills snapshot-carries-cleared alone"]
        );
        assert_eq!(
            told(&matrix(&[BY_ONE, BY_OTHER]), &reviewed("row-older", &[])),
            ["row-older is reviewed, and is no check"]
        );
        assert_eq!(
            told(&matrix(&[BY_BOTH, BY_OTHER]), &reviewed(ONE, &[])),
            [
                "row-success (rows, all runs) breaks for snapshot-carries-cleared, and none of [] does"
            ]
        );
    }

    #[test]
    fn a_check_that_fails_without_a_fault_shows_nothing() {
        let mut matrix = matrix(&[BY_ONE, BY_OTHER]);
        matrix.baseline.cells = vec![Cell::Silent, Cell::Broken];
        assert_eq!(
            told(&matrix, &[]),
            [
                "row-success (rows, all runs) does not hold where nothing is wrong",
                "row-late (rows, all runs) does not hold where nothing is wrong",
            ]
        );
    }

    #[test]
    fn too_little_shows_nothing() {
        let mut matrix = matrix(&[BY_ONE, BY_OTHER]);
        matrix.rows.truncate(24);
        matrix.same = Ok(0);
        assert_eq!(
            matrix.problems_with(&[]),
            [Problem::Compared(0), Problem::TooFew(24)]
        );
        matrix.same = Err("somewhere".to_owned());
        assert_eq!(
            matrix.problems_with(&[]).first(),
            Some(&Problem::Differs("somewhere".to_owned()))
        );
    }
}
