//! Random runs of overlapping polls, held after every step against a second implementation that was
//! written from the table in `SPEC.md` alone and has another shape.
#![allow(
    clippy::indexing_slicing,
    reason = "a slot is drawn from the range of the slots"
)]

mod reference;

use std::cell::RefCell;
use std::collections::BTreeMap;

use moorline_model::placement::{
    Attempt, Correction, Outcome, Placement, Verdict, check, check_attempt,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use reference::{Ending, Poll, Reference};

const IN_FLIGHT_MAX: usize = 4;
const TOKENS: [&str; 3] = ["route-a", "route-b", "route-c"];

/// One step of a run. A slot holds one poll in flight.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Starts a poll in a free slot.
    Start(usize),
    /// Ends the poll in a busy slot.
    End(usize, Ending),
    /// Drops the poll in a busy slot.
    Drop(usize),
}

type Counts = BTreeMap<&'static str, usize>;

proptest! {
    #![proptest_config(config(256))]

    // spec-test: PLC-3, PLC-4, PLC-5, PLC-7, PLC-9, PLC-10, PLC-11, PLC-12, PLC-13, PLC-14, PLC-15
    // spec-test: PLC-16, PLC-17, PLC-18, PLC-19, PLC-20, PLC-21
    #[test]
    fn agrees_with_the_reference_after_every_step(steps in runs()) {
        run(&steps)?;
    }
}

/// The same with a fixed seed, so that what the runs went through can be asserted.
#[test]
fn the_runs_go_through_every_verdict_current_and_late() {
    const CASES: u32 = 800;
    let total = RefCell::new((0_u32, Counts::new()));
    let seed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config(CASES), seed);
    runner
        .run(&runs(), |steps| {
            let counts = run(&steps)?;
            let mut total = total.borrow_mut();
            total.0 += 1;
            for (what, count) in counts {
                *total.1.entry(what).or_default() += count;
            }
            Ok(())
        })
        .unwrap();
    let (cases, counts) = total.into_inner();
    assert_eq!(cases, CASES);
    for verdict in Verdict::ALL {
        let seen = counts.get(verdict.name()).copied().unwrap_or_default();
        assert!(seen >= 50, "{verdict} was seen {seen} times");
    }
    let full = counts.get("four in flight").copied().unwrap_or_default();
    assert!(full >= 100, "four were in flight {full} times");
}

/// Without a file of past failures: a failing run is printed in full and belongs in a test.
fn config(cases: u32) -> Config {
    Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    }
}

/// Plays one run on both and counts what it went through.
fn run(steps: &[Step]) -> Result<Counts, TestCaseError> {
    let mut placement = Placement::<u64, &'static str>::new();
    let mut reference = Reference::default();
    let mut slots: [Option<(Attempt<&'static str>, Poll)>; IN_FLIGHT_MAX] = Default::default();
    let mut counts = Counts::new();
    for step in steps {
        match *step {
            Step::Start(slot) if slots[slot].is_none() => {
                let (attempt, poll) = (placement.snapshot(), reference.start());
                prop_assert_eq!(attempt.token().copied(), poll.token);
                prop_assert_eq!(attempt.generation().get(), poll.generation);
                slots[slot] = Some((attempt, poll));
            }
            Step::End(slot, ending) => {
                if let Some((attempt, poll)) = slots[slot].take() {
                    let verdict = placement.commit(attempt, outcome(ending)).name();
                    prop_assert_eq!(verdict, reference.end(poll, ending));
                    *counts.entry(verdict).or_default() += 1;
                }
            }
            Step::Drop(slot) => slots[slot] = None,
            Step::Start(_) => {}
        }
        if slots.iter().all(Option::is_some) {
            *counts.entry("four in flight").or_default() += 1;
        }
        prop_assert_eq!(seen(&placement), reference);
        prop_assert_eq!(check(&placement), Ok(()));
        for (attempt, _) in slots.iter().flatten() {
            prop_assert_eq!(check_attempt(&placement, attempt), Ok(()));
        }
    }
    Ok(counts)
}

/// All that the placement shows, in the reference's terms.
fn seen(placement: &Placement<u64, &'static str>) -> Reference {
    Reference {
        generation: placement.generation().get(),
        watermark: placement.watermark(),
        accepted: placement.accepted_token().copied(),
        active: placement.active_token().copied(),
        corrections: placement.corrections().into(),
        failures: placement.failures().into(),
    }
}

fn outcome(ending: Ending) -> Outcome<u64, &'static str> {
    match ending {
        Ending::Cancelled => Outcome::Cancelled,
        Ending::Correction(revision, token) => Outcome::Correction(Correction { revision, token }),
        Ending::Failure => Outcome::DestinationFailure,
        Ending::Neutral => Outcome::Neutral,
        Ending::Success => Outcome::Success,
    }
}

fn runs() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(steps(), 1..160)
}

fn steps() -> impl Strategy<Value = Step> {
    let slot = 0..IN_FLIGHT_MAX;
    prop_oneof![
        10 => slot.clone().prop_map(Step::Start),
        10 => (slot.clone(), endings()).prop_map(|(slot, ending)| Step::End(slot, ending)),
        1 => slot.prop_map(Step::Drop),
    ]
}

fn endings() -> impl Strategy<Value = Ending> {
    let token = prop::sample::select(&TOKENS[..]);
    prop_oneof![
        8 => (revisions(), token).prop_map(|(revision, token)| Ending::Correction(revision, token)),
        8 => Just(Ending::Failure),
        3 => Just(Ending::Success),
        1 => Just(Ending::Neutral),
        1 => Just(Ending::Cancelled),
    ]
}

/// Mostly so few that they meet again, and sometimes any.
fn revisions() -> impl Strategy<Value = u64> {
    prop_oneof![
        12 => 0..3_u64,
        1 => any::<u64>(),
        1 => prop::sample::select(&[u64::MAX, u64::MAX - 1, 1 << 53, (1 << 53) - 1, 1 << 63][..]),
    ]
}
