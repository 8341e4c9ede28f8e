//! Runs of overlapping polls on the placement: after every step it must be what a log of all commits
//! comes to, and its invariants must hold.

use arbitrary::{Arbitrary, Unstructured};
use moorline_model::placement::{
    Attempt, Correction, Outcome, Placement, Verdict, check, check_attempt,
};

use crate::oracle::placement::{Begun, Ending, Log, State};

/// The greatest number of steps in one run. The log is read from its beginning after each.
const STEPS_MAX: usize = 200;

/// The greatest number of polls in flight.
const IN_FLIGHT_MAX: usize = 5;

/// Takes the steps of a run, drawn by `arbitrary`.
pub fn run(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let mut run = Run::default();
    for _ in 0..STEPS_MAX {
        if u.is_empty() {
            return;
        }
        let Ok(step) = u.arbitrary() else { return };
        run.step(step);
        run.judge();
    }
}

/// One step. Polls in flight are numbered from the oldest.
#[derive(Arbitrary, Debug)]
enum Step {
    Start,
    End(u8, Outcome<Revision, Token>),
    Drop(u8),
}

/// Mostly one of a few, so that they meet again.
#[derive(Clone, Copy, Debug)]
struct Revision(u64);

impl<'a> Arbitrary<'a> for Revision {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(Self(match u8::arbitrary(u)? {
            small @ 0..=250 => u64::from(small % 5),
            251 => u64::MAX,
            252 => u64::MAX - 1,
            253 => 1 << 53,
            _ => u.arbitrary()?,
        }))
    }
}

#[derive(Clone, Copy, Debug, Arbitrary)]
enum Token {
    A,
    B,
    C,
}

#[derive(Default)]
struct Run {
    placement: Placement<u64, char>,
    log: Log,
    flying: Vec<(Attempt<char>, Begun)>,
}

impl Run {
    fn step(&mut self, step: Step) {
        match step {
            Step::Start if self.flying.len() < IN_FLIGHT_MAX => {
                let (attempt, begun) = (self.placement.snapshot(), self.log.begin());
                assert_eq!(attempt.token().copied(), begun.token);
                assert_eq!(attempt.generation().get(), begun.generation as u64);
                self.flying.push((attempt, begun));
            }
            Step::Start => {}
            Step::End(poll, outcome) => {
                if let Some((attempt, begun)) = self.take(poll) {
                    self.end(attempt, begun, outcome);
                }
            }
            Step::Drop(poll) => drop(self.take(poll)),
        }
    }

    fn take(&mut self, poll: u8) -> Option<(Attempt<char>, Begun)> {
        let poll = usize::from(poll).checked_rem(self.flying.len())?;
        Some(self.flying.remove(poll))
    }

    fn end(&mut self, attempt: Attempt<char>, begun: Begun, outcome: Outcome<Revision, Token>) {
        let ending = ending(&outcome);
        let before = self.log.state();
        let verdict = self.placement.commit(attempt, outcome_of(ending));
        let committed = self.log.end(begun, ending);
        assert_eq!(verdict.committed(), committed, "{verdict}");
        let expected = verdict_of(before, begun, ending, committed);
        assert_eq!(verdict, expected);
    }

    fn judge(&self) {
        let placement = &self.placement;
        let found = State {
            generation: usize::try_from(placement.generation().get()).expect("a small number"),
            accepted: placement
                .watermark()
                .zip(placement.accepted_token().copied()),
            active: placement.active_token().copied(),
            corrections: placement.corrections().into(),
            failures: placement.failures().into(),
        };
        assert_eq!(found, self.log.state());
        assert_eq!(check(placement), Ok(()));
        for (attempt, _) in &self.flying {
            assert_eq!(check_attempt(placement, attempt), Ok(()));
        }
    }
}

fn ending(outcome: &Outcome<Revision, Token>) -> Ending {
    match outcome {
        Outcome::Cancelled => Ending::Cancelled,
        Outcome::Correction(Correction { revision, token }) => Ending::Correction {
            revision: revision.0,
            token: match token {
                Token::A => 'a',
                Token::B => 'b',
                Token::C => 'c',
            },
        },
        Outcome::DestinationFailure => Ending::Failure,
        Outcome::Neutral => Ending::Neutral,
        Outcome::Success => Ending::Success,
    }
}

fn outcome_of(ending: Ending) -> Outcome<u64, char> {
    match ending {
        Ending::Cancelled => Outcome::Cancelled,
        Ending::Correction { revision, token } => {
            Outcome::Correction(Correction { revision, token })
        }
        Ending::Failure => Outcome::DestinationFailure,
        Ending::Neutral => Outcome::Neutral,
        Ending::Success => Outcome::Success,
    }
}

/// What a commit should say of itself, from the state before it.
fn verdict_of(before: State, begun: Begun, ending: Ending, committed: bool) -> Verdict {
    match ending {
        Ending::Cancelled => Verdict::Cancelled,
        Ending::Neutral => Verdict::Neutral,
        Ending::Failure if begun.token.is_none() => Verdict::TokenlessFailure,
        _ if !committed => Verdict::Late,
        Ending::Success => Verdict::Success,
        Ending::Failure if before.failures == 2 => Verdict::Evicted,
        Ending::Failure => Verdict::FailureCounted,
        Ending::Correction { .. } if before.corrections == 2 => Verdict::RoundExhausted,
        Ending::Correction { revision, token } => match before.accepted {
            Some((watermark, _)) if revision < watermark => Verdict::StaleRevision,
            Some(accepted) if accepted == (revision, token) => Verdict::Restored,
            Some((watermark, _)) if revision == watermark => Verdict::Conflicted,
            _ => Verdict::Installed,
        },
    }
}
