//! Whether the target of a channel answers, judged by what became of the calls.
//!
//! Times are durations since one origin that the caller chooses, from a monotonic clock.

use std::time::Duration;

use crate::readiness::{Target, TargetFault};
use crate::wire::{FailureSource, TunnelFailure};

/// How many calls in a row must end without a word of the target before it counts as dead. One slow
/// tool is no dead target.
pub const SILENT_CALLS: u64 = 3;

/// What one call shows of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The target answered, be it with an error of its own.
    Answered,
    /// The call ended so, without a good answer.
    Failed(TunnelFailure),
    /// Nothing: what was answered was made here, and the target was asked for nothing.
    None,
}

/// What the calls so far show of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetHealth {
    state: Target,
    failures: u64,
    silent: Option<Silence>,
}

/// What a call changed of whether a target answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It does not answer any more, or did not answer when it was first asked.
    WentDown(TargetFault),
    /// It answers again.
    CameBack,
}

/// Calls in a row that ended without a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Silence {
    since: Duration,
    calls: u64,
}

impl TargetHealth {
    /// A target that was asked for nothing yet.
    pub const UNKNOWN: Self = Self {
        state: Target::Unknown,
        failures: 0,
        silent: None,
    };

    /// Takes in what a call showed that ended at `now`, and says what that changed.
    pub fn after(&mut self, now: Duration, evidence: Evidence) -> Option<Change> {
        let before = self.state;
        self.take_in(now, evidence);
        match (before, self.state) {
            (Target::Unknown | Target::Up { .. }, Target::Down { fault, .. }) => {
                Some(Change::WentDown(fault))
            }
            (Target::Down { .. }, Target::Up { .. }) => Some(Change::CameBack),
            _ => None,
        }
    }

    // spec: RPT-5
    fn take_in(&mut self, now: Duration, evidence: Evidence) {
        match evidence {
            Evidence::Answered => self.up(now),
            Evidence::Failed(failure) if failure.source.is_outage() => {
                self.down(now, failure.into());
            }
            Evidence::Failed(
                failure @ TunnelFailure {
                    source: FailureSource::Timeout,
                    upstream_response_received: false,
                    ..
                },
            ) => self.said_nothing(now, failure.into()),
            // It spoke, if not well.
            Evidence::Failed(failure) if failure.upstream_response_received => self.silent = None,
            Evidence::Failed(_) | Evidence::None => {}
        }
    }

    /// Whether it answers, and since when.
    #[must_use]
    pub fn state(&self) -> Target {
        self.state
    }

    /// How many calls spoke against it since its last answer.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures
    }

    fn up(&mut self, now: Duration) {
        let since = match self.state {
            Target::Up { since } => since,
            Target::Unknown | Target::Down { .. } => now,
        };
        *self = Self {
            state: Target::Up { since },
            ..Self::UNKNOWN
        };
    }

    fn down(&mut self, now: Duration, fault: TargetFault) {
        let since = match self.state {
            Target::Down { since, .. } => since,
            Target::Unknown | Target::Up { .. } => self.silent.map_or(now, |silent| silent.since),
        };
        self.failures = self.failures.saturating_add(1);
        self.silent = None;
        self.state = Target::Down { since, fault };
    }

    fn said_nothing(&mut self, now: Duration, fault: TargetFault) {
        let before = self.silent.unwrap_or(Silence {
            since: now,
            calls: 0,
        });
        let silent = Silence {
            calls: before.calls.saturating_add(1),
            ..before
        };
        self.silent = Some(silent);
        if silent.calls >= SILENT_CALLS {
            self.down(now, fault);
            self.silent = Some(silent);
        } else {
            self.failures = self.failures.saturating_add(1);
        }
    }
}

impl Default for TargetHealth {
    fn default() -> Self {
        Self::UNKNOWN
    }
}

impl Evidence {
    /// What an answer shows: `failure` says why it was made here, `by_target` that the target said it.
    #[must_use]
    pub fn of(failure: Option<TunnelFailure>, by_target: bool) -> Self {
        match failure {
            Some(failure) => Self::Failed(failure),
            None if by_target => Self::Answered,
            None => Self::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECS: fn(u64) -> Duration = Duration::from_secs;

    fn failed(source: FailureSource) -> Evidence {
        Evidence::Failed(TunnelFailure::without_answer(source))
    }

    fn up(since: u64) -> Target {
        Target::Up { since: SECS(since) }
    }

    fn down(since: u64, source: FailureSource) -> Target {
        let fault = TunnelFailure::without_answer(source).into();
        Target::Down {
            since: SECS(since),
            fault,
        }
    }

    /// Plays evidence, a second apart from second 1 on, and gives the state and the failures after each.
    fn play(evidence: &[Evidence]) -> Vec<(Target, u64)> {
        let mut health = TargetHealth::UNKNOWN;
        (1..)
            .zip(evidence)
            .map(|(second, evidence)| {
                health.after(SECS(second), *evidence);
                (health.state(), health.failures())
            })
            .collect()
    }

    // spec-test: RPT-5
    #[test]
    fn an_outage_shows_at_once_and_so_does_its_end() {
        let connect = failed(FailureSource::Connect);
        assert_eq!(
            play(&[
                connect,
                failed(FailureSource::TransportClosed),
                Evidence::None,
                Evidence::Answered,
                Evidence::Answered,
                connect,
            ]),
            [
                (down(1, FailureSource::Connect), 1),
                (down(1, FailureSource::TransportClosed), 2),
                (down(1, FailureSource::TransportClosed), 2),
                (up(4), 0),
                (up(4), 0),
                (down(6, FailureSource::Connect), 1),
            ]
        );
    }

    // spec-test: RPT-5
    #[test]
    fn a_target_that_is_silent_for_some_calls_is_dead_since_the_first() {
        let late = failed(FailureSource::Timeout);
        let unknown = Target::Unknown;
        assert_eq!(
            play(&[late, late, late, late, Evidence::Answered, late]),
            [
                (unknown, 1),
                (unknown, 2),
                (down(1, FailureSource::Timeout), 3),
                (down(1, FailureSource::Timeout), 4),
                (up(5), 0),
                (up(5), 1),
            ]
        );
    }

    #[test]
    fn what_is_said_of_a_fault_is_kept_of_the_last_one() {
        let with_kind = |kind| {
            let mut failure = TunnelFailure::without_answer(FailureSource::Connect);
            failure.transport_error_kind = Some(kind);
            Evidence::Failed(failure)
        };
        let kinds = play(&[with_kind("refused"), with_kind("program_not_found")]);
        let kinds = kinds.into_iter().map(|(state, _)| match state {
            Target::Down { fault, .. } => fault.kind,
            Target::Unknown | Target::Up { .. } => None,
        });
        assert!(kinds.eq([Some("refused"), Some("program_not_found")]));
    }

    #[test]
    fn a_change_is_told_once_each_way() {
        let late = failed(FailureSource::Timeout);
        let connect = failed(FailureSource::Connect);
        let went_down = |source| {
            let failure = TunnelFailure::without_answer(source);
            Some(Change::WentDown(failure.into()))
        };
        let mut health = TargetHealth::UNKNOWN;
        for (turn, (evidence, change)) in (1..).zip([
            (Evidence::Answered, None),
            (connect, went_down(FailureSource::Connect)),
            (failed(FailureSource::Dns), None),
            (Evidence::None, None),
            (Evidence::Answered, Some(Change::CameBack)),
            (late, None),
            (late, None),
            (late, went_down(FailureSource::Timeout)),
            (late, None),
        ]) {
            assert_eq!(health.after(SECS(turn), evidence), change, "{turn}");
        }
    }

    #[test]
    fn a_word_between_breaks_the_silence() {
        let late = failed(FailureSource::Timeout);
        let mut spoke = TunnelFailure::without_answer(FailureSource::Timeout);
        spoke.upstream_response_received = true;
        let mut nonsense = TunnelFailure::without_answer(FailureSource::Protocol);
        nonsense.upstream_response_received = true;
        for word in [
            Evidence::Answered,
            Evidence::Failed(spoke),
            Evidence::Failed(nonsense),
        ] {
            let states = play(&[late, late, word, late, late]);
            let dead = states
                .iter()
                .filter(|(state, _)| matches!(state, Target::Down { .. }));
            assert_eq!(dead.count(), 0, "{word:?}");
        }
        for nothing in [
            Evidence::None,
            failed(FailureSource::ClientInternal),
            failed(FailureSource::Protocol),
        ] {
            let states = play(&[late, late, nothing, late]);
            assert_eq!(states[3].0, down(1, FailureSource::Timeout), "{nothing:?}");
        }
    }

    #[test]
    fn a_dead_target_was_dead_since_its_silence_began() {
        let late = failed(FailureSource::Timeout);
        let connect = failed(FailureSource::Connect);
        assert_eq!(
            play(&[late, connect, late]),
            [
                (Target::Unknown, 1),
                (down(1, FailureSource::Connect), 2),
                (down(1, FailureSource::Connect), 3),
            ]
        );
    }

    #[test]
    fn an_answer_made_here_shows_nothing() {
        let failure = TunnelFailure::without_answer(FailureSource::Dns);
        for (given, by_target, evidence) in [
            (None, true, Evidence::Answered),
            (None, false, Evidence::None),
            (Some(failure), true, Evidence::Failed(failure)),
            (Some(failure), false, Evidence::Failed(failure)),
        ] {
            assert_eq!(Evidence::of(given, by_target), evidence);
        }
    }
}
