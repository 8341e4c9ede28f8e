//! Every wrong step is noticed, each check notices something, and the matrix is the one that is committed.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::process::Command;

use moorline_proofs::mutants::source::{Group, Suite, check_places, mutants};
use moorline_proofs::mutants::{
    COMPARED, Cell, Fault, REVIEWED, Report, columns, run, same_as_shipped, workspace,
};

/// The matrix, written by `moorline-proofs mutants`.
const COMMITTED: &str = include_str!("../mutants/matrix.txt");

#[test]
fn the_matrix_is_the_committed_one_and_shows_what_it_must() {
    let matrix = run(&|_| {});
    assert_eq!((matrix.rows.len(), matrix.columns.len()), (68, 74));
    let cells = matrix.rows.iter().flat_map(|row| &row.cells);
    let failed = cells.filter(|cell| **cell == Cell::Failed).count();
    assert_eq!(failed, 0, "every check was carried out on every mutant");
    let table = matrix.table();
    assert_eq!(
        table, COMMITTED,
        "if it should have changed, replace proofs/mutants/matrix.txt by what `moorline-proofs mutants` prints"
    );
    let report = Report {
        matrix,
        source: None,
    };
    assert_eq!(report.problems(), [""; 0]);
    let text = report.text();
    let last = "\nmutants: 68 step mutants, 0 source mutants (0 of the shell), all killed\n";
    assert!(text.contains(last), "{text}");
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    assert_eq!(json["passed"], true);
    assert_eq!(json["step_mutants"].as_array().unwrap().len(), 68);
    assert_eq!(json["reviewed"].as_array().unwrap().len(), REVIEWED.len());
}

#[test]
fn a_step_without_a_fault_is_the_shipped_one() {
    assert_eq!(same_as_shipped(), Ok(COMPARED));
}

#[test]
fn names_are_distinct_and_in_kebab_case() {
    let faults = Fault::ALL.iter().map(|fault| fault.name());
    let names: Vec<&str> = faults.chain(mutants().map(|mutant| mutant.name)).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    for name in names {
        let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(name.chars().all(kebab), "{name}");
    }
    for fault in Fault::ALL {
        assert!(fault.statement().ends_with('.'), "{fault}");
    }
    let checks: BTreeSet<(&str, &str)> = columns()
        .iter()
        .map(|column| (column.method.name(), column.check))
        .collect();
    assert_eq!(checks.len(), columns().len());
}

#[test]
fn outcomes_that_cannot_be_judged_exit_1_and_a_wrong_command_line_2() {
    let run = |arguments: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_moorline-proofs"));
        program.arg("mutants").args(arguments).output().unwrap()
    };
    let missing = run(&["--judge", "no-such-file"]);
    assert_eq!(missing.status.code(), Some(1));
    let told = String::from_utf8_lossy(&missing.stderr);
    assert!(told.contains("no-such-file"), "{told}");
    assert_eq!(run(&["--judge", "x", "--source"]).status.code(), Some(2));
    assert_eq!(run(&["--shard", "1/8"]).status.code(), Some(2));
    for shard in ["0/8", "9/8", "1/0", "1", "x", "1/100000"] {
        let refused = run(&["--source", "--shard", shard]);
        assert_eq!(refused.status.code(), Some(2), "{shard}");
        let told = String::from_utf8_lossy(&refused.stderr);
        assert!(
            told.contains("--shard <K/N>") && told.contains("expected"),
            "{told}"
        );
    }
}

/// They are built and run by `moorline-proofs mutants --source`; that each can be written is seen here.
#[test]
fn each_source_mutant_has_its_place_and_a_killer() {
    let counted = Group::ALL.map(|group| mutants().filter(|one| one.group() == group).count());
    assert_eq!(counted, [34, 88, 214], "classification, commands, shell");
    assert_eq!(check_places(&workspace()).unwrap(), 336);
    for mutant in mutants() {
        assert!(!mutant.killers.is_empty(), "{}", mutant.name);
        for killer in mutant.killers {
            let (file, test) = home(mutant.suite, killer);
            let text = std::fs::read_to_string(workspace().join(&file)).unwrap();
            assert!(text.contains(&format!("fn {test}(")), "{killer} in {file}");
        }
    }
}

/// The file that a unit test stands in, and its name there.
fn in_source<'a>(directory: &str, killer: &'a str) -> (String, &'a str) {
    let (path, test) = killer.rsplit_once("::tests::").unwrap();
    let module = format!("{directory}/src/{}", path.replace("::", "/"));
    let apart = format!("{module}/tests.rs");
    if workspace().join(&apart).exists() {
        (apart, test)
    } else {
        (format!("{module}.rs"), test)
    }
}

/// The file that a test stands in, and its name there.
fn home(suite: Suite, killer: &str) -> (String, &str) {
    match suite {
        Suite::Classify => ("model/tests/classify.rs".to_owned(), killer),
        Suite::Model => in_source("model", killer),
        Suite::Unit => in_source("client", killer),
        _ => (format!("client/tests/{suite}.rs"), killer),
    }
}
