//! The program's command line. Its `check` runs in CI; here it would take too long without
//! optimisation.
#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_moorline-proofs"))
        .args(arguments)
        .output()
        .expect("the program starts")
}

fn code(arguments: &[&str]) -> Option<i32> {
    run(arguments).status.code()
}

#[test]
fn a_wrong_command_line_exits_2_and_says_why() {
    for (arguments, said) in [
        (&["check", "elsewhere"][..], "possible values: placement"),
        (
            &["trace", "no-such-property"],
            "no property is named no-such-property",
        ),
        (
            &["explore", "--in-flight", "5"],
            "requests in flight must be 1 to 4, not 5",
        ),
        (&["bench", "--tokens", "0"], "tokens must be 1 to 6, not 0"),
        (&[], "Usage"),
    ] {
        let output = run(arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(told.contains(said), "{arguments:?}: {told}");
    }
}

#[test]
fn help_and_traces_exit_0() {
    assert_eq!(code(&["--help"]), Some(0));
    assert_eq!(code(&["trace"]), Some(0));
    let output = run(&["trace", "conflict-clears"]);
    assert_eq!(output.status.code(), Some(0));
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.starts_with("sequenceDiagram\n"), "{told}");
    assert!(told.contains("token-b (conflicted)"), "{told}");
}

#[test]
fn the_bench_measures_both() {
    let output = run(&["bench", "--in-flight", "2"]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert_eq!(told.matches("7856 states in").count(), 2, "{told}");
}
