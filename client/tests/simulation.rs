//! The whole client under paused time, against a service, a network and a target that fail at random. One seed is
//! one run, and gives the same run again.
//!
//! `MOORLINE_SIM_STEPS=5000000 cargo test --release -p moorline --test simulation -- --nocapture` runs more;
//! `MOORLINE_SIM_SEED=17` runs one seed and prints what happened in it.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[allow(
    unreachable_pub,
    reason = "the simulation is a module of this test alone"
)]
mod sim;

use sim::{Report, run};

/// How many steps are run where nothing else is asked for. A step is a poll, a post or a call of the target.
const STEPS: u64 = 60_000;

#[test]
fn every_command_is_answered_once_whatever_fails() {
    if let Some(seed) = number("MOORLINE_SIM_SEED") {
        let report = run(seed);
        println!("{}", report.log.join("\n"));
        println!("{}", report.summary());
        return;
    }
    let wanted = number("MOORLINE_SIM_STEPS").unwrap_or(STEPS);
    let (mut total, mut seed) = (Report::default(), 0);
    while total.steps < wanted {
        total.add(&run(seed));
        seed += 1;
    }
    println!("simulation: {seed} seeds, {}", total.summary());
    // Faults of every kind came up, so that the claims were put to the test.
    for (what, count) in total.witnesses() {
        assert!(count > 0, "no {what} in {seed} seeds");
    }
}

#[test]
fn a_seed_gives_the_same_run_again() {
    for seed in [3, 4] {
        let (once, again) = (run(seed), run(seed));
        assert!(once.steps > 100, "seed {seed}: {} steps", once.steps);
        assert_eq!(once.log, again.log, "seed {seed}");
    }
    assert_ne!(run(3).log, run(4).log);
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} must be a number")),
    )
}
