use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use moorline_model::backoff::Backoff;
use moorline_model::placement::{Attempt, Outcome, Placement, Verdict};
use moorline_model::poll::PollFault;
use moorline_model::schedule::{LongPoll, Next, Readiness, Schedule};
use moorline_model::wire::{Revision, ShardToken};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::Instant;

use super::event::Offered;
use super::{Placed, UnderWay};

/// The placement and the schedule of one client behind one short lock, which is never held across
/// an await.
// spec: PLC-1, PLC-23
pub(super) struct SharedState {
    started: Instant,
    state: Mutex<State>,
}

struct State {
    placement: Placement<Revision, ShardToken>,
    schedule: Schedule,
    attempts: u64,
    /// When each poll began that is under way, by its number.
    under_way: BTreeMap<u64, Duration>,
    commits: u64,
    /// How many tokens were accepted; the last is the accepted one.
    installs: u64,
    /// Where delays are drawn from, if not from the system.
    draws: Option<StdRng>,
}

/// A snapshot with what its event will need.
pub(super) struct Begun {
    pub(super) attempt: Attempt<ShardToken>,
    pub(super) number: u64,
    pub(super) token_sent: Option<u64>,
    pub(super) long_poll: LongPoll,
    at: Duration,
}

/// Counts a poll as under way until it is dropped.
pub(super) struct Holding<'a> {
    state: &'a SharedState,
    number: u64,
}

/// What one commit did.
pub(super) struct Committed {
    pub(super) sequence: u64,
    pub(super) verdict: Verdict,
    pub(super) offered: Option<Offered>,
    pub(super) placed: Placed,
    pub(super) next: Next,
    /// How long the attempt took.
    pub(super) took: Duration,
}

impl SharedState {
    pub(super) fn new(backoff: Backoff, long_poll: LongPoll, seed: Option<u64>) -> Self {
        Self {
            started: Instant::now(),
            state: Mutex::new(State {
                placement: Placement::new(),
                schedule: Schedule::new(backoff, long_poll),
                attempts: 0,
                under_way: BTreeMap::new(),
                commits: 0,
                installs: 0,
                draws: seed.map(StdRng::seed_from_u64),
            }),
        }
    }

    pub(super) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    // spec: PLC-3
    pub(super) fn begin(&self) -> Begun {
        let at = self.now();
        let mut state = self.lock();
        state.attempts = state.attempts.saturating_add(1);
        Begun {
            attempt: state.placement.snapshot(),
            number: state.attempts,
            token_sent: state.placement.has_token().then_some(state.installs),
            long_poll: state.schedule.long_poll(),
            at,
        }
    }

    /// Has this poll count as under way.
    pub(super) fn hold(&self, begun: &Begun) -> Holding<'_> {
        let number = begun.number;
        self.lock().under_way.insert(number, begun.at);
        Holding {
            state: self,
            number,
        }
    }

    /// The polls under way.
    pub(super) fn under_way(&self) -> UnderWay {
        let state = self.lock();
        UnderWay {
            polls: state.under_way.len(),
            since: state.under_way.values().min().copied(),
        }
    }

    /// Commits one result to placement and schedule together. `taken` is when the attempt began.
    pub(super) fn commit(
        &self,
        attempt: Attempt<ShardToken>,
        taken: Duration,
        outcome: Outcome<Revision, ShardToken>,
        result: Result<(), PollFault>,
        retry_after: Option<Duration>,
    ) -> Committed {
        let now = self.now();
        let mut state = self.lock();
        let draw = state.draw();
        state.commits = state.commits.saturating_add(1);
        let offered = state.place_offer(&outcome);
        let before = state.placement.watermark();
        let verdict = state.placement.commit(attempt, outcome);
        // The watermark moves with an install and with nothing else.
        let installed = state.placement.watermark() != before;
        if installed {
            state.installs = state.installs.saturating_add(1);
        }
        let elapsed = now.saturating_sub(taken);
        Committed {
            sequence: state.commits,
            verdict,
            offered: if installed {
                Some(Offered::Install(state.installs))
            } else {
                offered
            },
            next: state
                .schedule
                .record(now, elapsed, result, retry_after, draw),
            placed: state.placed(),
            took: elapsed,
        }
    }

    /// A uniformly distributed number that a delay is drawn from.
    pub(super) fn draw(&self) -> u64 {
        self.lock().draw()
    }

    pub(super) fn placed(&self) -> Placed {
        self.lock().placed()
    }

    pub(super) fn readiness(&self) -> Readiness {
        self.lock().schedule.readiness()
    }

    pub(super) fn long_poll(&self) -> LongPoll {
        self.lock().schedule.long_poll()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Only a panic inside the model could poison it; what it left behind is still a placement
        // that holds its invariants.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Begun {
    /// When the snapshot was taken, since the client was made.
    pub(super) fn at(&self) -> Duration {
        self.at
    }
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        self.state.lock().under_way.remove(&self.number);
    }
}

impl State {
    /// What the token of a correction is before the correction is committed.
    fn place_offer(&self, outcome: &Outcome<Revision, ShardToken>) -> Option<Offered> {
        let Outcome::Correction(correction) = outcome else {
            return None;
        };
        if self.placement.has_accepted(&correction.token) {
            Some(Offered::Accepted)
        } else {
            Some(Offered::Other)
        }
    }

    fn draw(&mut self) -> u64 {
        match &mut self.draws {
            Some(draws) => draws.random(),
            None => rand::random(),
        }
    }

    fn placed(&self) -> Placed {
        Placed {
            watermark: self.placement.watermark(),
            has_token: self.placement.has_token(),
            corrections: self.placement.corrections(),
            failures: self.placement.failures(),
            generation: self.placement.generation(),
        }
    }
}
