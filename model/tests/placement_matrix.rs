//! Every kind of placement state against every kind of result, each cell with its verdict and the
//! state after it.
//!
//! `snapshots/placement_matrix.txt` holds all cells in a form that can be read without the code. It is
//! compared exactly. After an intended change write it again, read the difference, and run the test
//! once more:
//!
//! ```text
//! UPDATE_SNAPSHOTS=1 cargo test -p moorline-model --test placement_matrix
//! ```
//!
//! (That run fails by design, so that it cannot be taken for a check.) Since a snapshot would hold a
//! wrong cell just as firmly, each row of the commit table in `SPEC.md` is also stated here as a
//! relation between the state before and the state after, and held against every cell.

mod matrix;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use matrix::cell::{self, Cell};
use matrix::{reach, rows};
use moorline_model::placement::{Generation, Outcome, Placement, PlacementParts, Verdict};

const SNAPSHOT: &str = "tests/snapshots/placement_matrix.txt";

// spec-test: PLC-4, PLC-5, PLC-7, PLC-9, PLC-10, PLC-11, PLC-12, PLC-13, PLC-14, PLC-16, PLC-17
// spec-test: PLC-18, PLC-19, PLC-20
#[test]
fn every_cell_is_as_in_the_snapshot() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(SNAPSHOT);
    let found = render(&cell::all());
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some_and(|value| value == "1") {
        std::fs::write(&path, found).expect("the snapshot can be written");
        panic!("{SNAPSHOT} was written; read the difference and run again");
    }
    let expected = std::fs::read_to_string(&path).expect("the snapshot can be read");
    for (line, (found, expected)) in (1..).zip(found.lines().zip(expected.lines())) {
        assert_eq!(found, expected, "{SNAPSHOT}, line {line}");
    }
    assert_eq!(found, expected, "one of the two goes on");
}

// spec-test: PLC-4, PLC-5, PLC-7, PLC-9, PLC-10, PLC-11, PLC-12, PLC-13, PLC-14, PLC-15, PLC-16
// spec-test: PLC-17, PLC-18, PLC-19, PLC-20, PLC-21
#[test]
fn each_row_of_the_commit_table_holds_in_every_cell() {
    let cells = cell::all();
    let mut counts = Vec::new();
    for row in rows::ALL {
        let of_row: Vec<&Cell> = cells.iter().filter(|cell| (row.applies)(cell)).collect();
        for cell in &of_row {
            assert_eq!((row.broken)(cell), None, "{}\n{cell}", row.name);
        }
        counts.push((row.name, of_row.len()));
    }
    // Counted by hand from 1 fresh, 9 active and 3 cleared states, 10 events (5 of a fresh state)
    // and 3 kinds of attempt.
    assert_eq!(
        counts,
        [
            ("success", 13),
            ("correction, first or newer revision", 25),
            ("correction, equal revision, the accepted token", 12),
            ("correction, equal revision, another token", 12),
            ("correction, older revision", 24),
            ("correction that makes corrections 3", 24),
            ("destination failure, request with a token", 9),
            ("destination failure, tokenless request", 17),
            ("neutral, cancelled", 78),
            ("late", 185),
        ]
    );
}

#[test]
fn each_cell_belongs_to_one_row() {
    let cells = cell::all();
    assert_eq!(cells.len(), 375);
    for cell in &cells {
        let names: Vec<&str> = rows::ALL
            .iter()
            .filter(|row| (row.applies)(cell))
            .map(|row| row.name)
            .filter(|name| *name != rows::THIRD_CORRECTION)
            .collect();
        assert_eq!(names.len(), 1, "{names:?}\n{cell}");
    }
}

#[test]
fn every_verdict_stands_in_the_matrix() {
    let seen: BTreeSet<&str> = cell::all().iter().map(|cell| cell.verdict.name()).collect();
    let all: BTreeSet<&str> = Verdict::ALL.into_iter().map(Verdict::name).collect();
    assert_eq!(seen, all);
}

#[test]
fn the_states_of_the_matrix_are_all_that_a_client_can_reach() {
    let reached = reach::shapes();
    let tabled: BTreeSet<_> = cell::states().iter().map(reach::shape).collect();
    assert_eq!(tabled.len(), 13);
    assert_eq!(reached, tabled);
}

// spec-test: PLC-2
#[test]
fn a_new_placement_is_the_fresh_state() {
    let view = cell::View::of(&Placement::new());
    assert_eq!(view.to_string(), "no watermark, tokenless, c0 f0");
    assert_eq!(view.generation, 0);
}

// spec-test: PLC-4
#[test]
fn the_generation_wraps_and_still_fences() {
    let mut placement = Placement::<u64, char>::from_parts(PlacementParts {
        generation: Generation::from_count(u64::MAX),
        accepted: None,
        corrections: 0,
        failures: 0,
    });
    let (early, attempt) = (placement.snapshot(), placement.snapshot());
    assert_eq!(
        placement.commit(attempt, Outcome::Success),
        Verdict::Success
    );
    assert_eq!(placement.generation(), Generation::FIRST);
    assert_eq!(placement.commit(early, Outcome::Success), Verdict::Late);
}

/// All cells as text, grouped by state and attempt.
fn render(cells: &[Cell]) -> String {
    let mut text = String::from(HEADER);
    let mut group = String::new();
    for cell in cells {
        let of_cell = format!("{}\n  {}", cell.before, cell.attempt);
        if of_cell != group {
            let _ = write!(text, "\n{of_cell}\n");
            group = of_cell;
        }
        let step = cell.after.generation - cell.before.generation;
        let _ = writeln!(
            text,
            "    {:<24} {:<18} {}, g+{step}",
            cell.event.name(),
            cell.verdict.name(),
            cell.after
        );
    }
    text
}

const HEADER: &str = "\
The placement matrix: what each result does to each state.

A block is one state and one kind of attempt; a line is one event, its verdict, and the state after.
The watermark is 5 and its accepted token is a; b is any other token, and z a token of former days.
newer is revision 6, equal 5, older 4. c and f count corrections and failures; g is the generation.
";
