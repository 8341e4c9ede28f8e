//! The second opinion: that both solvers give it, and that each part of it notices what it is there for.
//!
//! Where the solvers are not installed, what needs them is left out and says so in one line on standard
//! error; with `MOORLINE_SOLVERS=required` in the environment it fails instead.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests"
)]

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Once;

use moorline_model::placement::{AttemptParts, Outcome, PlacementParts, Verdict};
use moorline_proofs::report::{Conclusion, Row};
use moorline_proofs::smt::{
    CASE_COUNT, Claim, GOAL_COUNT, Kind, LIMIT_COUNT, MUTANT_COUNT, MUTANTS, ROW_COUNT,
    STEP_MUTANT_COUNT, SmtError, Solvers, Texts, agree, cases, claims, of_the_step, prove, run,
};
use moorline_proofs::step::{Shipped, Step};

/// Both solvers; `None` where they are not installed and need not be.
fn solvers() -> Option<Solvers> {
    static SAID: Once = Once::new();
    let missing = match Solvers::find() {
        Ok(solvers) => return Some(solvers),
        Err(missing @ SmtError::Missing { .. }) => missing,
        Err(other) => panic!("{other}"),
    };
    let required = std::env::var_os("MOORLINE_SOLVERS").is_some_and(|value| value == "required");
    assert!(!required, "{missing}");
    // Past the capture of the test harness: what is left out must be seen.
    SAID.call_once(|| {
        let line = format!("smt: solver tests left out: {missing}\n");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
    });
    None
}

fn claim(name: &str) -> Claim {
    let mut claims = claims().unwrap().into_iter();
    claims.find(|claim| claim.name == name).unwrap()
}

fn problem(row: Row) -> String {
    match row.result {
        Conclusion::Fails(problem) => problem,
        Conclusion::Holds => String::new(),
    }
}

// spec-test: PLC-2, PLC-3, PLC-4, PLC-5, PLC-7, PLC-8, PLC-9, PLC-10, PLC-11, PLC-12, PLC-13, PLC-14
// spec-test: PLC-15, PLC-16, PLC-17, PLC-18, PLC-19, PLC-20, PLC-21
#[test]
fn both_solvers_give_the_expected_answer_to_every_question() {
    let Some(solvers) = solvers() else { return };
    let rows = run(&Shipped, &|_| {}).unwrap();
    let failed: Vec<&Row> = rows.iter().filter(|row| !row.passed()).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(rows.len(), ROW_COUNT);
    let properties: BTreeSet<&str> = rows.iter().map(|row| row.property.as_str()).collect();
    assert_eq!(properties.len(), ROW_COUNT);
    let cases: u64 = rows.iter().map(|row| row.cases).sum();
    let claims = GOAL_COUNT + LIMIT_COUNT;
    let expected = 2 * 2 * claims + 2 * GOAL_COUNT * MUTANT_COUNT + CASE_COUNT;
    assert_eq!(cases, expected as u64);
    println!(
        "smt: {GOAL_COUNT} goals, {LIMIT_COUNT} limits, {MUTANT_COUNT} mutants, {CASE_COUNT} cases; {} and {}",
        solvers.z3.version(),
        solvers.cvc5.version()
    );
}

#[test]
fn every_mutant_of_the_step_disagrees_with_the_step_that_the_client_runs() {
    let Some(solvers) = solvers() else { return };
    let mut caught = 0;
    for mutant in of_the_step() {
        let found = problem(agree(&solvers, &mutant.texts().unwrap(), &Shipped).unwrap());
        assert!(
            found.contains("has other results"),
            "{}: {found}",
            mutant.name
        );
        caught += 1;
    }
    assert_eq!((caught, STEP_MUTANT_COUNT), (41, 41));
}

#[test]
fn a_wrong_step_disagrees_with_the_restatement() {
    /// Counts neutral results as committed, in the verdict alone.
    #[derive(Clone, Copy, Debug)]
    struct Chatty;

    impl Step for Chatty {
        fn snapshot<R: Copy + Ord, T: Clone + Eq>(
            &self,
            placement: PlacementParts<R, T>,
        ) -> AttemptParts<T> {
            Shipped.snapshot(placement)
        }

        fn commit<R: Copy + Ord, T: Clone + Eq>(
            &self,
            placement: PlacementParts<R, T>,
            attempt: AttemptParts<T>,
            outcome: Outcome<R, T>,
        ) -> (PlacementParts<R, T>, Verdict) {
            match Shipped.commit(placement, attempt, outcome) {
                (placement, Verdict::Neutral) => (placement, Verdict::Success),
                other => other,
            }
        }
    }

    let Some(solvers) = solvers() else { return };
    let found = problem(agree(&solvers, &Texts::committed(), &Chatty).unwrap());
    assert!(found.starts_with("z3 has other results:\n"), "{found}");
    assert!(found.contains("Neutral"), "{found}");
}

#[test]
fn a_goal_that_does_not_hold_shows_where() {
    let Some(solvers) = solvers() else { return };
    let goal = claim("row-late");
    let texts = MUTANTS.first().unwrap().texts().unwrap();
    let found = problem(prove(&solvers, &texts, &goal).unwrap());
    assert!(found.starts_with("z3 has a counterexample"), "{found}");
    assert!(
        found.contains("(attempt ") && found.contains("(state "),
        "{found}"
    );
}

#[test]
fn a_goal_that_supposes_the_impossible_is_refused() {
    let Some(solvers) = solvers() else { return };
    let mut texts = Texts::committed();
    texts.goals = texts.goals.replace(
        "(define-fun row-late.when () Bool (and before (not in-time)))",
        "(define-fun row-late.when () Bool (and in-time (not in-time)))",
    );
    let found = problem(prove(&solvers, &texts, &claim("row-late")).unwrap());
    assert!(found.contains("not possible"), "{found}");
}

#[test]
fn a_limit_that_holds_is_refused() {
    let Some(solvers) = solvers() else { return };
    let limit = Claim {
        kind: Kind::Limit,
        ..claim("row-late")
    };
    let found = problem(prove(&solvers, &Texts::committed(), &limit).unwrap());
    assert!(found.contains("not needed"), "{found}");
}

#[test]
fn the_cases_are_all_there_and_distinct() {
    let cases = cases();
    assert_eq!((cases.len(), CASE_COUNT), (14_170, 14_170));
    let distinct: BTreeSet<String> = cases.iter().map(|case| format!("{case:?}")).collect();
    assert_eq!(distinct.len(), cases.len());
    let verdicts: BTreeSet<&str> = cases
        .iter()
        .map(|case| {
            Shipped
                .commit(case.before, case.attempt, case.outcome)
                .1
                .name()
        })
        .collect();
    let all: BTreeSet<&str> = Verdict::ALL.into_iter().map(Verdict::name).collect();
    assert_eq!(verdicts, all);
}

#[test]
fn every_mutant_applies_and_names_goals_that_exist() {
    let goals: BTreeSet<String> = claims()
        .unwrap()
        .into_iter()
        .map(|goal| goal.name)
        .collect();
    let mut names = BTreeSet::new();
    for mutant in MUTANTS {
        assert!(names.insert(mutant.name), "{} twice", mutant.name);
        let texts = mutant.texts().unwrap();
        assert_ne!(texts.joined(), Texts::committed().joined());
        assert!(!mutant.killers.is_empty(), "{}", mutant.name);
        assert!(
            mutant.killers.iter().all(|goal| goals.contains(*goal)),
            "{}",
            mutant.name
        );
    }
    assert_eq!(names.len(), MUTANT_COUNT);
}

#[cfg(unix)]
mod pretenders {
    //! Programs that are no solvers, or bad ones.

    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::*;

    /// A program that says `version` of itself and `answer` to every text.
    fn pretender(name: &str, version: &str, answer: &str) -> PathBuf {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let script =
            format!("#!/bin/sh\ncase $1 in --version) echo '{version}';; *) {answer};; esac\n");
        // Written by another process: whatever a test beside this one starts meanwhile would hold the file open for
        // writing for a moment, and a file that is open for writing cannot be run.
        let wrote = Command::new("/bin/sh")
            .args(["-c", r#"printf '%s' "$2" > "$1" && chmod 755 "$1""#, "sh"])
            .arg(&program)
            .arg(script)
            .status();
        assert!(wrote.unwrap().success());
        program
    }

    fn both(name: &str, answer: &str) -> Solvers {
        let z3 = pretender(&format!("{name}-z3"), "Z3 version 0", answer);
        let cvc5 = pretender(&format!("{name}-cvc5"), "This is cvc5 version 0", answer);
        Solvers::at(z3, cvc5).unwrap()
    }

    fn asked(name: &str, answer: &str) -> Result<Row, SmtError> {
        prove(&both(name, answer), &Texts::committed(), &claim("row-late"))
    }

    #[test]
    fn one_that_says_unsat_to_everything_proves_nothing() {
        let row = asked("unsat", "echo unsat; echo unsat").unwrap();
        assert!(problem(row).contains("not possible"));
        let solvers = both("agreeing", "echo unsat; echo unsat");
        let error = agree(&solvers, &Texts::committed(), &Shipped).unwrap_err();
        assert!(error.to_string().contains("contradicts itself"), "{error}");
    }

    #[test]
    fn one_that_does_not_know_proves_nothing() {
        let row = asked("unknown", "echo sat; echo unknown").unwrap();
        assert_eq!(problem(row), "z3 does not know");
    }

    #[test]
    fn one_that_says_too_little_or_too_much_is_a_fault() {
        for (name, answer, got) in [
            ("silent", "true", 0),
            ("curt", "echo sat", 1),
            ("eager", "echo sat; echo unsat; echo unsat", 3),
        ] {
            let error = asked(name, answer).unwrap_err();
            match error {
                SmtError::AnswerCount {
                    asked: 2,
                    got: found,
                    ..
                } => assert_eq!(found, got),
                other => panic!("{other}"),
            }
        }
    }

    #[test]
    fn one_that_complains_is_a_fault() {
        let error = asked("complaining", "echo '(error \"no\")'").unwrap_err();
        assert!(matches!(error, SmtError::Unexpected { .. }), "{error}");
    }

    #[test]
    fn one_that_is_another_program_is_a_fault() {
        let program = pretender("other", "nothing 1.0", "true");
        let error = Solvers::at(program.clone(), program).unwrap_err();
        assert!(
            matches!(error, SmtError::NotTheSolver { solver: "z3", .. }),
            "{error}"
        );
    }
}
