use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;

use moorline_model::placement::{Attempt, Correction, Outcome, Placement};
use moorline_model::wire::Revision;
use serde::Serialize;

use super::answer::{Class, possible};
use super::event::{Event, Offered};
use super::finding::{Before, Fault, Finding};
use super::trace::{Line, Trace};

/// What a trace that is a behaviour of the model shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Valid {
    /// Attempts that ended, one for each line.
    pub attempts: u64,
    /// How many of them were committed: current and state-bearing.
    pub commits: u64,
    /// Attempts below the greatest number that left no event: dropped, or still in flight at the
    /// end.
    pub without_event: u64,
    /// The least number of polls in flight that explains the trace, if none was dropped.
    pub in_flight: u64,
    /// How often each verdict was given; those that were not are left out.
    pub verdicts: BTreeMap<&'static str, u64>,
}

impl Trace {
    /// Replays the trace through the model. With `in_flight`, a run that needs more polls in flight
    /// is refused, which supposes that no poll was dropped.
    ///
    /// # Errors
    ///
    /// The first event, by `sequence`, that no run of the model explains together with those before
    /// it.
    pub fn judge(&self, in_flight: Option<NonZeroU64>) -> Result<Valid, Box<Finding>> {
        let mut ends: Vec<&Line> = self.lines.iter().collect();
        ends.sort_by_key(|line| line.event.sequence);
        let mut replay = Replay::new(&ends, in_flight);
        for (index, line) in ends.iter().enumerate() {
            let before = replay.before();
            replay.end(index, line).map_err(|fault| {
                Box::new(Finding {
                    line: line.number,
                    event: line.event.clone(),
                    before,
                    fault,
                })
            })?;
        }
        Ok(replay.valid)
    }
}

/// A token without its text: tokens are equal exactly if these are, as far as the placement asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// The accepted token, by its install.
    Install(u64),
    /// One that is not the accepted token. It is not accepted either, so one is enough.
    Other,
}

struct Replay {
    placement: Placement<Revision, Token>,
    /// How many tokens were accepted.
    installs: u64,
    /// Indices of the ends, by the generation at which their attempts began; the last comes first.
    to_begin: Vec<(u64, usize)>,
    /// The attempt of each end, from when it began until it ended.
    flying: Vec<Option<Attempt<Token>>>,
    /// What is known of attempts that ended, by their numbers.
    ended: BTreeMap<u64, Began>,
    /// How many attempts had ended when each generation was over.
    ended_when_over: Vec<u64>,
    /// The event before this one.
    sequence: u64,
    line: u64,
    in_flight_max: Option<NonZeroU64>,
    valid: Valid,
}

struct Began {
    generation: u64,
    line: u64,
}

impl Replay {
    fn new(ends: &[&Line], in_flight_max: Option<NonZeroU64>) -> Self {
        let taken = ends.iter().map(|line| line.event.generation_taken);
        let mut to_begin: Vec<_> = taken.zip(0..).collect();
        to_begin.sort_unstable_by(|one, other| other.cmp(one));
        let mut replay = Self {
            placement: Placement::new(),
            installs: 0,
            to_begin,
            flying: ends.iter().map(|_| None).collect(),
            ended: BTreeMap::new(),
            ended_when_over: Vec::new(),
            sequence: 0,
            line: 0,
            in_flight_max,
            valid: Valid {
                attempts: 0,
                commits: 0,
                without_event: 0,
                in_flight: 0,
                verdicts: BTreeMap::new(),
            },
        };
        replay.begin();
        replay
    }

    /// Takes the snapshot of each attempt that began at this generation. When within it does not
    /// matter: only a commit changes the placement, and each commit advances the generation.
    fn begin(&mut self) {
        let current = self.placement.generation().get();
        while let Some((_, index)) = self.to_begin.pop_if(|(taken, _)| *taken == current) {
            if let Some(flying) = self.flying.get_mut(index) {
                *flying = Some(self.placement.snapshot());
            }
        }
    }

    fn end(&mut self, index: usize, line: &Line) -> Result<(), Fault> {
        let event = &line.event;
        self.check_sequence(event)?;
        self.check_attempt_number(event)?;
        let attempt = self.flying.get_mut(index).and_then(Option::take);
        let attempt = self.check_beginning(event, attempt)?;
        self.check_in_flight(event)?;
        check_answer(event)?;
        self.commit(event, attempt)?;
        self.check_placement(event)?;
        self.count(line);
        Ok(())
    }

    fn check_sequence(&self, event: &Event) -> Result<(), Fault> {
        let (said, expected) = (event.sequence, self.sequence.saturating_add(1));
        if said == self.sequence && self.line > 0 {
            return Err(Fault::SequenceRepeated {
                sequence: said,
                first_line: self.line,
            });
        }
        ensure(said == expected, || Fault::Sequence { said, expected })
    }

    fn check_attempt_number(&self, event: &Event) -> Result<(), Fault> {
        let attempt = event.attempt;
        ensure(attempt > 0, || Fault::AttemptZero)?;
        self.ended.get(&attempt).map_or(Ok(()), |first| {
            Err(Fault::AttemptRepeated {
                attempt,
                first_line: first.line,
            })
        })
    }

    /// Whether the attempt can have begun as the event says.
    fn check_beginning(
        &self,
        event: &Event,
        attempt: Option<Attempt<Token>>,
    ) -> Result<Attempt<Token>, Fault> {
        let said = event.generation_taken;
        let Some(attempt) = attempt else {
            let current = self.placement.generation().get();
            return Err(Fault::GenerationTakenAhead { said, current });
        };
        // Those that ended before are in order, so the nearest two stand for all.
        let before = self.ended.range(..event.attempt).next_back();
        let after = self.ended.range(event.attempt..).next();
        for (other, earlier) in [(before, false), (after, true)] {
            let Some((&other, began)) = other else {
                continue;
            };
            let in_order = if earlier {
                said <= began.generation
            } else {
                said >= began.generation
            };
            ensure(in_order, || Fault::GenerationTakenOrder {
                said,
                other,
                other_line: began.line,
                other_taken: began.generation,
                earlier,
            })?;
        }
        let allowed = attempt.token().and_then(Token::install);
        ensure(event.token_sent == allowed, || Fault::TokenSent {
            said: event.token_sent,
            allowed,
            generation: said,
        })?;
        Ok(attempt)
    }

    fn check_in_flight(&mut self, event: &Event) -> Result<(), Fault> {
        let over = usize::try_from(event.generation_taken)
            .ok()
            .and_then(|generation| self.ended_when_over.get(generation));
        // The generation of its beginning is over, or it is the current one.
        let ended = over.copied().unwrap_or(self.sequence);
        let needed = event.attempt.saturating_sub(ended);
        self.valid.in_flight = self.valid.in_flight.max(needed);
        match self.in_flight_max.map(NonZeroU64::get) {
            Some(most) if needed > most => Err(Fault::InFlight {
                attempt: event.attempt,
                ended,
                most,
            }),
            _ => Ok(()),
        }
    }

    /// Commits, and compares verdict and offered token with what the model says of them.
    fn commit(&mut self, event: &Event, attempt: Attempt<Token>) -> Result<(), Fault> {
        let outcome = self.outcome(event)?;
        let accepted = self.placement.accepted_token().copied();
        let watermark = self.placement.watermark();
        let verdict = self.placement.commit(attempt, outcome);
        ensure(event.verdict == verdict, || Fault::Verdict {
            said: event.verdict,
            allowed: verdict,
        })?;
        if let Outcome::Correction(correction) = outcome {
            // The watermark moves with an install and with nothing else.
            let installed = self.placement.watermark() != watermark;
            if installed {
                self.installs = self.installs.saturating_add(1);
            }
            self.check_offered(event, installed, accepted, correction.token)?;
        }
        if verdict.committed() {
            self.valid.commits = self.valid.commits.saturating_add(1);
            self.ended_when_over.push(self.sequence);
            self.begin();
        }
        Ok(())
    }

    fn outcome(&self, event: &Event) -> Result<Outcome<Revision, Token>, Fault> {
        let correction = match (event.revision, event.token_offered) {
            (Some(revision), Some(offered)) => Some(Correction {
                revision,
                token: self.token(offered),
            }),
            _ => None,
        };
        Ok(match (event.outcome, correction) {
            (Class::Correction, Some(correction)) => Outcome::Correction(correction),
            (Class::Correction, None) if event.revision.is_none() => {
                return Err(Fault::Revision { said: None });
            }
            (Class::Correction, None) => {
                return Err(Fault::TokenOffered {
                    said: None,
                    allowed: vec![Offered::Accepted, Offered::Other],
                });
            }
            (_, _) if event.revision.is_some() => {
                let said = event.revision;
                return Err(Fault::Revision { said });
            }
            (_, _) if event.token_offered.is_some() => {
                return Err(Fault::TokenOffered {
                    said: event.token_offered,
                    allowed: Vec::new(),
                });
            }
            (Class::Cancelled, _) => Outcome::Cancelled,
            (Class::DestinationFailure, _) => Outcome::DestinationFailure,
            (Class::Neutral, _) => Outcome::Neutral,
            (Class::Success, _) => Outcome::Success,
        })
    }

    fn token(&self, offered: Offered) -> Token {
        match offered {
            // Before the first install this is nobody's.
            Offered::Accepted => Token::Install(self.installs),
            Offered::Install(number) => Token::Install(number),
            Offered::Other => Token::Other,
        }
    }

    fn check_offered(
        &self,
        event: &Event,
        installed: bool,
        accepted: Option<Token>,
        token: Token,
    ) -> Result<(), Fault> {
        let allowed = if installed {
            Offered::Install(self.installs)
        } else if accepted == Some(token) {
            Offered::Accepted
        } else {
            Offered::Other
        };
        ensure(event.token_offered == Some(allowed), || {
            Fault::TokenOffered {
                said: event.token_offered,
                allowed: vec![allowed],
            }
        })
    }

    fn check_placement(&self, event: &Event) -> Result<(), Fault> {
        let placement = &self.placement;
        let (said, allowed) = (event.watermark, placement.watermark());
        ensure(said == allowed, || Fault::Watermark { said, allowed })?;
        let (said, allowed) = (event.corrections, placement.corrections());
        ensure(said == allowed, || Fault::Corrections { said, allowed })?;
        let (said, allowed) = (event.failures, placement.failures());
        ensure(said == allowed, || Fault::Failures { said, allowed })?;
        let (said, allowed) = (event.generation, placement.generation().get());
        ensure(said == allowed, || Fault::Generation { said, allowed })?;
        let (said, allowed) = (event.has_token, placement.has_token());
        ensure(said == allowed, || Fault::HasToken { said, allowed })
    }

    fn count(&mut self, line: &Line) {
        let event = &line.event;
        self.sequence = event.sequence;
        self.line = line.number;
        let began = Began {
            generation: event.generation_taken,
            line: line.number,
        };
        self.ended.insert(event.attempt, began);
        let valid = &mut self.valid;
        valid.attempts = event.sequence;
        let greatest = self.ended.last_key_value().map_or(0, |(number, _)| *number);
        valid.without_event = greatest.saturating_sub(event.sequence);
        let given = valid.verdicts.entry(event.verdict.name()).or_default();
        *given = given.saturating_add(1);
    }

    fn before(&self) -> Before {
        let placement = &self.placement;
        Before {
            generation: placement.generation().get(),
            watermark: placement.watermark().map(Revision::get),
            accepted: placement.accepted_token().and_then(Token::install),
            has_token: placement.has_token(),
            corrections: placement.corrections(),
            failures: placement.failures(),
        }
    }
}

impl Token {
    fn install(&self) -> Option<u64> {
        match self {
            Self::Install(number) => Some(*number),
            Self::Other => None,
        }
    }
}

/// Members that say something of the answer and nothing of the placement.
fn check_answer(event: &Event) -> Result<(), Fault> {
    let said = event.answer();
    let possible = possible(event.status);
    if !possible.contains(&said) {
        return Err(Fault::Answer { said, possible });
    }
    let (commands, dropped) = (event.commands, event.dropped);
    let may_bring = event.outcome == Class::Success && event.status == Some(200);
    ensure(may_bring || (commands, dropped) == (0, 0), || {
        Fault::Commands { commands, dropped }
    })?;
    let said = event.next_delay_ms;
    let (fits, allowed) = match event.outcome {
        Class::Success => (said == Some(0), "0, as after each success"),
        Class::Cancelled => (said.is_none(), "null, as after each cancellation"),
        _ => (said.is_some(), "a delay"),
    };
    ensure(fits, || Fault::NextDelay { said, allowed })
}

fn ensure(holds: bool, fault: impl FnOnce() -> Fault) -> Result<(), Fault> {
    if holds { Ok(()) } else { Err(fault()) }
}

/// One line that tells the counts, then what was seen.
impl fmt::Display for Valid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdicts: Vec<_> = self
            .verdicts
            .iter()
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        writeln!(
            f,
            "valid: {} attempts, {} commits",
            self.attempts, self.commits
        )?;
        writeln!(f, "  verdicts       {}", verdicts.join(", "))?;
        write!(f, "  in flight      at least {}", self.in_flight)?;
        if self.without_event > 0 {
            write!(
                f,
                ", unless some were dropped\n  without event  {} (dropped, or in flight at the end)",
                self.without_event
            )?;
        }
        Ok(())
    }
}
