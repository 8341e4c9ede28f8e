//! What the probes say of a client: its level, and all that it follows from.
//!
//! Times are durations since one origin that the caller chooses, from a monotonic clock.

use std::fmt;
use std::time::Duration;

use crate::poll::PollFault;
use crate::schedule::Readiness;
use crate::wire::{Channel, FailureSource, TunnelFailure};

/// How long the queue may be full before that speaks against the client: longer than a burst of
/// quick commands takes.
pub const FULL_QUEUE_PATIENCE: Duration = Duration::from_secs(5);

/// What a client is judged by, beside its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// When it is judged.
    pub now: Duration,
    /// Whether polls succeed.
    pub polls: Readiness,
    /// Since when the oldest of the polls under way is, if any is.
    pub poll_under_way_since: Option<Duration>,
    /// Since when so many commands wait that there is room for none, if so.
    pub queue_full_since: Option<Duration>,
    /// Since when it takes no more commands, and finishes those that it has, if so.
    pub draining_since: Option<Duration>,
}

/// How well a client does its work. The greater, the worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Polls succeed, and nothing is known against any target.
    Ready,
    /// Polls succeed, but not all commands are taken, or those of a channel cannot be run.
    Degraded,
    /// No poll has ended yet.
    Starting,
    /// Polls fail, or the client is about to end.
    Unready,
}

/// What the client knows of the target of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Nothing was asked of it yet.
    Unknown,
    /// The last call was answered.
    Up {
        /// Since when calls are answered.
        since: Duration,
    },
    /// The last calls were not answered, for a reason that lies with the target.
    Down {
        /// Since when calls are not answered.
        since: Duration,
        /// How the last call failed.
        fault: TargetFault,
    },
}

/// How a call of a target failed, in fixed words and with at most a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetFault {
    /// Where.
    pub source: FailureSource,
    /// What kind of failure it was, if there is more to say.
    pub kind: Option<&'static str>,
}

/// One thing that a level follows from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// What is so.
    pub cause: Cause,
    /// Since when it is so.
    pub since: Duration,
}

/// What may be so. Its text is a fixed phrase, with at most a channel, a category of fault and a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The client takes no more commands and finishes those that it has.
    Draining,
    /// The last poll that ended failed with this.
    PollsFail(PollFault),
    /// No poll has ended.
    NoPollYet,
    /// As many commands wait as may. `lasting` says that they do so for longer than
    /// [`FULL_QUEUE_PATIENCE`].
    QueueFull {
        /// Whether it is more than a burst.
        lasting: bool,
    },
    /// The last call failed at the target of this channel, and how.
    TargetDown(Channel, TargetFault),
    /// The last poll that ended succeeded.
    PollsSucceed,
    /// None has succeeded lately, but one is under way: the service may hold it until there is a
    /// command, so that no answer is no bad sign.
    PollUnderWay,
    /// The last call was answered by the target of this channel.
    TargetUp(Channel),
}

/// Judges a client: its level, and every reason, worst first. There is at least one reason, and the
/// level is that of the first. One target that does not answer is enough to degrade it: what the others
/// do is no help to whoever calls that one.
// spec: RPT-1, RPT-5
#[must_use]
pub fn judge(
    facts: &Facts,
    targets: impl IntoIterator<Item = (Channel, Target)>,
) -> (Level, Vec<Reason>) {
    let polls = about_polls(facts.polls);
    let draining = facts.draining_since.map(|since| Reason {
        cause: Cause::Draining,
        since,
    });
    let mut reasons: Vec<Reason> = draining
        .into_iter()
        .chain([polls])
        .chain(about_poll_under_way(facts))
        .chain(about_queue(facts))
        .chain(targets.into_iter().filter_map(about_target))
        .collect();
    // Stable: what is equally bad stays in the order above.
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.cause.level()));
    let worst = reasons.iter().map(|reason| reason.cause.level()).max();
    (worst.unwrap_or(Level::Starting), reasons)
}

fn about_polls(polls: Readiness) -> Reason {
    let (cause, since) = match polls {
        Readiness::Starting => (Cause::NoPollYet, Duration::ZERO),
        Readiness::Ready { since } => (Cause::PollsSucceed, since),
        Readiness::Unready { since, fault } => (Cause::PollsFail(fault), since),
    };
    Reason { cause, since }
}

/// Says that there is hope, and makes nothing ready.
// spec: RPT-14
fn about_poll_under_way(facts: &Facts) -> Option<Reason> {
    let since = facts
        .poll_under_way_since
        .filter(|_| !facts.polls.is_ready())?;
    let cause = Cause::PollUnderWay;
    Some(Reason { cause, since })
}

// spec: RPT-13
fn about_queue(facts: &Facts) -> Option<Reason> {
    // A client that drains does not poll anyway.
    let since = facts
        .queue_full_since
        .filter(|_| facts.draining_since.is_none())?;
    let lasting = facts.now.saturating_sub(since) >= FULL_QUEUE_PATIENCE;
    let cause = Cause::QueueFull { lasting };
    Some(Reason { cause, since })
}

fn about_target((channel, target): (Channel, Target)) -> Option<Reason> {
    let (cause, since) = match target {
        // A client that has had nothing to do must become ready, or it would never get any work.
        Target::Unknown => return None,
        Target::Up { since } => (Cause::TargetUp(channel), since),
        Target::Down { since, fault } => (Cause::TargetDown(channel, fault), since),
    };
    Some(Reason { cause, since })
}

impl TargetFault {
    /// The status that the target answered with, if it did.
    #[must_use]
    pub fn status(self) -> Option<u16> {
        match self.source {
            FailureSource::TargetHttp { status } => status,
            _ => None,
        }
    }
}

impl From<TunnelFailure> for TargetFault {
    fn from(failure: TunnelFailure) -> Self {
        Self {
            source: failure.source,
            kind: failure.transport_error_kind,
        }
    }
}

impl fmt::Display for TargetFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.source.as_str())?;
        if let Some(kind) = self.kind {
            write!(f, ": {kind}")?;
        }
        if let Some(status) = self.status() {
            write!(f, ": status {status}")?;
        }
        Ok(())
    }
}

impl Level {
    /// Whether work should be sent this way: the answer of a readiness probe.
    #[must_use]
    pub fn is_ready(self) -> bool {
        self == Self::Ready
    }

    /// The level's name: one lower case word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Degraded => "degraded",
            Self::Starting => "starting",
            Self::Unready => "unready",
        }
    }

    /// Every level, best first.
    pub const ALL: [Self; 4] = [Self::Ready, Self::Degraded, Self::Starting, Self::Unready];
}

impl Cause {
    /// The best level that a client of which this is so may have.
    #[must_use]
    pub fn level(&self) -> Level {
        match self {
            Self::Draining | Self::PollsFail(_) => Level::Unready,
            Self::NoPollYet => Level::Starting,
            Self::TargetDown(..) | Self::QueueFull { lasting: true } => Level::Degraded,
            Self::PollsSucceed
            | Self::PollUnderWay
            | Self::QueueFull { lasting: false }
            | Self::TargetUp(_) => Level::Ready,
        }
    }

    /// The cause's name, without what it carries.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Draining => "draining",
            Self::PollsFail(_) => "polls_fail",
            Self::NoPollYet => "no_poll_yet",
            Self::QueueFull { .. } => "queue_full",
            Self::TargetDown(..) => "target_down",
            Self::PollsSucceed => "polls_succeed",
            Self::PollUnderWay => "poll_under_way",
            Self::TargetUp(_) => "target_up",
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Draining => f.write_str("the client is shutting down"),
            Self::PollsFail(fault) => write!(f, "polls fail ({fault})"),
            Self::NoPollYet => f.write_str("no poll has ended yet"),
            Self::QueueFull { .. } => {
                f.write_str("the queue is full: no more polls until a place is free")
            }
            Self::TargetDown(channel, fault) => {
                write!(f, "the target {channel} does not answer ({fault})")
            }
            Self::PollsSucceed => f.write_str("polls succeed"),
            Self::PollUnderWay => f.write_str("a poll waits for its answer"),
            Self::TargetUp(channel) => write!(f, "the target {channel} answers"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::Backoff;
    use crate::schedule::{LongPoll, Schedule};

    const SECS: fn(u64) -> Duration = Duration::from_secs;
    const FAULT: PollFault = PollFault::Status(503);
    const GOOD: Readiness = Readiness::Ready { since: SECS_5 };
    const BAD: Readiness = Readiness::Unready {
        since: SECS_5,
        fault: FAULT,
    };
    const UP: Target = Target::Up { since: SECS_7 };
    const DOWN: Target = Target::Down {
        since: SECS_7,
        fault: CONNECT,
    };
    const CONNECT: TargetFault = TargetFault {
        source: FailureSource::Connect,
        kind: None,
    };
    /// What a client is judged by of which no more is known.
    fn facts(polls: Readiness) -> Facts {
        Facts {
            now: SECS(20),
            polls,
            poll_under_way_since: None,
            queue_full_since: None,
            draining_since: None,
        }
    }

    const SECS_5: Duration = Duration::from_secs(5);
    const SECS_7: Duration = Duration::from_secs(7);
    const SECS_9: Duration = Duration::from_secs(9);

    // spec-test: RPT-1, RPT-5
    #[test]
    fn every_combination_has_its_level_and_its_reasons() {
        use Level::{Degraded, Ready, Starting, Unready};
        let no_poll = &(Cause::NoPollYet, SECS(0));
        let good = &(Cause::PollsSucceed, SECS_5);
        let bad = &(Cause::PollsFail(FAULT), SECS_5);
        let up = &(Cause::TargetUp(Channel::main()), SECS_7);
        let down = &(Cause::TargetDown(Channel::main(), CONNECT), SECS_7);
        let drain = &(Cause::Draining, SECS_9);
        let unknown = Target::Unknown;
        let stopping = Some(SECS_9);
        let rows = [
            (Readiness::Starting, unknown, None, Starting, vec![no_poll]),
            (Readiness::Starting, UP, None, Starting, vec![no_poll, up]),
            (
                Readiness::Starting,
                DOWN,
                None,
                Starting,
                vec![no_poll, down],
            ),
            (GOOD, unknown, None, Ready, vec![good]),
            (GOOD, UP, None, Ready, vec![good, up]),
            (GOOD, DOWN, None, Degraded, vec![down, good]),
            (BAD, unknown, None, Unready, vec![bad]),
            (BAD, UP, None, Unready, vec![bad, up]),
            (BAD, DOWN, None, Unready, vec![bad, down]),
            (
                Readiness::Starting,
                unknown,
                stopping,
                Unready,
                vec![drain, no_poll],
            ),
            (
                Readiness::Starting,
                UP,
                stopping,
                Unready,
                vec![drain, no_poll, up],
            ),
            (
                Readiness::Starting,
                DOWN,
                stopping,
                Unready,
                vec![drain, no_poll, down],
            ),
            (GOOD, unknown, stopping, Unready, vec![drain, good]),
            (GOOD, UP, stopping, Unready, vec![drain, good, up]),
            (GOOD, DOWN, stopping, Unready, vec![drain, down, good]),
            (BAD, unknown, stopping, Unready, vec![drain, bad]),
            (BAD, UP, stopping, Unready, vec![drain, bad, up]),
            (BAD, DOWN, stopping, Unready, vec![drain, bad, down]),
        ];
        for (polls, target, draining, level, reasons) in rows {
            let reasons: Vec<_> = reasons
                .into_iter()
                .map(|(cause, since)| Reason {
                    cause: cause.clone(),
                    since: *since,
                })
                .collect();
            let facts = Facts {
                draining_since: draining,
                ..facts(polls)
            };
            let judged = judge(&facts, [(Channel::main(), target)]);
            assert_eq!(
                judged,
                (level, reasons),
                "{polls:?} {target:?} {draining:?}"
            );
            let (level, reasons) = judged;
            assert_eq!(level, reasons[0].cause.level(), "the first reason decides");
            assert_eq!(level.is_ready(), level == Ready);
        }
    }

    // spec-test: RPT-5
    #[test]
    fn a_target_that_answers_does_not_hide_one_that_does_not() {
        let side = Channel::parse("side").unwrap();
        let cause = |targets: [(Channel, Target); 2]| {
            let (level, reasons) = judge(&facts(GOOD), targets);
            (
                level,
                reasons.into_iter().map(|reason| reason.cause).collect(),
            )
        };
        let down = Cause::TargetDown(side.clone(), CONNECT);
        let up = Cause::TargetUp(Channel::main());
        let good = Cause::PollsSucceed;
        assert_eq!(
            cause([(Channel::main(), UP), (side.clone(), DOWN)]),
            (Level::Degraded, vec![down.clone(), good.clone(), up])
        );
        assert_eq!(
            cause([(side, DOWN), (Channel::main(), Target::Unknown)]),
            (Level::Degraded, vec![down, good.clone()])
        );
        let none = judge(&facts(GOOD), []);
        assert_eq!((none.0, &none.1[0].cause), (Level::Ready, &good));
    }

    // spec-test: RPT-14, RPT-1
    #[test]
    fn a_poll_under_way_is_told_while_polls_do_not_succeed_and_changes_no_level() {
        let (bad, good) = (Cause::PollsFail(FAULT), Cause::PollsSucceed);
        let under_way = Cause::PollUnderWay;
        for (polls, causes) in [
            (
                Readiness::Starting,
                vec![Cause::NoPollYet, under_way.clone()],
            ),
            (BAD, vec![bad, under_way]),
            (GOOD, vec![good]),
        ] {
            let mut facts = facts(polls);
            let (without, _) = judge(&facts, []);
            facts.poll_under_way_since = Some(SECS_7);
            let (level, reasons) = judge(&facts, []);
            assert_eq!(level, without, "{polls:?}");
            let under_way = reasons
                .iter()
                .find(|reason| reason.cause == Cause::PollUnderWay);
            assert!(under_way.is_none_or(|reason| reason.since == SECS_7));
            let found: Vec<_> = reasons.into_iter().map(|reason| reason.cause).collect();
            assert_eq!(found, causes);
        }
    }

    // spec-test: RPT-13
    #[test]
    fn a_queue_that_stays_full_degrades_and_one_that_is_full_for_a_moment_is_told() {
        let full = |lasting| Cause::QueueFull { lasting };
        let down = Cause::TargetDown(Channel::main(), CONNECT);
        let (good, bad) = (Cause::PollsSucceed, Cause::PollsFail(FAULT));
        let rows = [
            (
                20_000,
                GOOD,
                Target::Unknown,
                Level::Ready,
                vec![good.clone(), full(false)],
            ),
            (
                15_001,
                GOOD,
                Target::Unknown,
                Level::Ready,
                vec![good.clone(), full(false)],
            ),
            (
                15_000,
                GOOD,
                Target::Unknown,
                Level::Degraded,
                vec![full(true), good.clone()],
            ),
            (0, GOOD, DOWN, Level::Degraded, vec![full(true), down, good]),
            (
                0,
                BAD,
                Target::Unknown,
                Level::Unready,
                vec![bad, full(true)],
            ),
        ];
        for (since, polls, target, level, causes) in rows {
            let since = Duration::from_millis(since);
            let mut facts = facts(polls);
            facts.queue_full_since = Some(since);
            let (found, reasons) = judge(&facts, [(Channel::main(), target)]);
            let full = reasons
                .iter()
                .find(|reason| matches!(reason.cause, Cause::QueueFull { .. }));
            assert_eq!(full.map(|reason| reason.since), Some(since));
            let found_causes: Vec<_> = reasons.into_iter().map(|reason| reason.cause).collect();
            assert_eq!((found, found_causes), (level, causes), "{since:?}");
            facts.draining_since = Some(SECS_9);
            let (_, reasons) = judge(&facts, []);
            assert_eq!(reasons.len(), 2, "draining, it takes nothing anyway");
        }
    }

    /// Follows a whole life: only a success makes ready, and it comes back after each fault.
    // spec-test: RPT-1, RPT-5
    #[test]
    fn a_client_becomes_ready_with_a_success_and_again_after_each_fault() {
        let mut schedule = Schedule::new(Backoff::DEFAULT, LongPoll::DEFAULT);
        let mut levels = vec![];
        let mut look = |schedule: &Schedule, target| {
            let targets = [(Channel::main(), target)];
            levels.push(judge(&facts(schedule.readiness()), targets).0.name());
        };
        look(&schedule, Target::Unknown);
        schedule.record(SECS(1), SECS(1), Err(FAULT), None, 0);
        look(&schedule, Target::Unknown);
        schedule.record(SECS(2), SECS(1), Ok(()), None, 0);
        look(&schedule, Target::Unknown);
        look(&schedule, DOWN);
        look(&schedule, UP);
        schedule.record(SECS(3), SECS(1), Err(FAULT), None, 0);
        look(&schedule, UP);
        schedule.record(SECS(4), SECS(1), Err(PollFault::Cancelled), None, 0);
        look(&schedule, UP);
        schedule.record(SECS(5), SECS(1), Ok(()), None, 0);
        look(&schedule, UP);
        let expected = [
            "starting", "unready", "ready", "degraded", "ready", "unready", "unready", "ready",
        ];
        assert_eq!(levels, expected);
    }

    #[test]
    fn causes_are_told_in_fixed_phrases_and_distinct_names() {
        let texts = [
            (Cause::Draining, "draining", "the client is shutting down"),
            (
                Cause::PollsFail(FAULT),
                "polls_fail",
                "polls fail (http_error: status 503)",
            ),
            (Cause::NoPollYet, "no_poll_yet", "no poll has ended yet"),
            (
                Cause::QueueFull { lasting: true },
                "queue_full",
                "the queue is full: no more polls until a place is free",
            ),
            (
                Cause::TargetDown(Channel::main(), CONNECT),
                "target_down",
                "the target main does not answer (connect)",
            ),
            (
                Cause::TargetDown(
                    Channel::main(),
                    TargetFault {
                        kind: Some("program_not_found"),
                        ..CONNECT
                    },
                ),
                "target_down",
                "the target main does not answer (connect: program_not_found)",
            ),
            (
                Cause::TargetDown(
                    Channel::main(),
                    TargetFault {
                        source: FailureSource::TargetHttp { status: Some(503) },
                        kind: None,
                    },
                ),
                "target_down",
                "the target main does not answer (target_http: status 503)",
            ),
            (Cause::PollsSucceed, "polls_succeed", "polls succeed"),
            (
                Cause::PollUnderWay,
                "poll_under_way",
                "a poll waits for its answer",
            ),
            (
                Cause::TargetUp(Channel::main()),
                "target_up",
                "the target main answers",
            ),
        ];
        for (cause, name, text) in texts {
            assert_eq!((cause.name(), cause.to_string().as_str()), (name, text));
        }
        assert!(Level::ALL.is_sorted());
        let names = Level::ALL.map(Level::name);
        assert_eq!(names, ["ready", "degraded", "starting", "unready"]);
    }
}
