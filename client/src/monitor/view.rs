//! Everything that is shown, read at one moment and put into the form of JSON.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use moorline_model::readiness::{self, Level, Reason, Target, TargetFault, judge};
use moorline_model::schedule::Readiness;
use moorline_model::wire::Revision;
use serde::Serialize;

use super::Sources;
use super::history::Note;
use crate::control_plane::{Placed, PollEvent, UnderWay};
use crate::telemetry::{DeliveryCounts, Facts, PollCounts, TargetFacts};

/// How long no poll may be under way before the timeline shows that. Ordinary delays are not longer.
const PAUSE_SHOWN: Duration = Duration::from_secs(10);

/// Everything that was known of a client at one moment.
#[derive(Debug)]
pub(super) struct Snapshot {
    pub(super) now: SystemTime,
    pub(super) placed: Placed,
    pub(super) poll_wait: Duration,
    /// With the client's own times.
    pub(super) under_way: UnderWay,
    pub(super) level: Level,
    /// Worst first, with the client's own times.
    pub(super) reasons: Vec<Reason>,
    pub(super) facts: Facts,
    /// How long ago the client was made: the origin of the times in `reasons`.
    pub(super) uptime: Duration,
    /// How long ago counting began: the origin of the times in `facts`.
    pub(super) counted_for: Duration,
}

/// A moment in the past.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Moment {
    /// How long ago it was, in seconds, to the millisecond.
    pub(super) seconds_ago: f64,
    /// When it was by this machine's clock: RFC 3339, UTC.
    pub(super) at: String,
}

impl Snapshot {
    pub(super) fn take(sources: &Sources) -> Self {
        let client = &sources.client;
        let (readiness, under_way) = (client.readiness(), client.under_way());
        let facts = sources.telemetry.facts();
        // Read last, so that nothing lies in the future.
        let (uptime, counted_for) = (client.uptime(), sources.telemetry.uptime());
        let clocks = Clocks {
            uptime,
            counted_for,
        };
        let (level, reasons) = clocks.judge(readiness, under_way, &facts);
        Self {
            now: SystemTime::now(),
            placed: client.placed(),
            poll_wait: client.poll_wait(),
            under_way,
            level,
            reasons,
            facts,
            uptime,
            counted_for,
        }
    }

    /// How long ago a moment of `facts` was.
    pub(super) fn age(&self, at: Duration) -> Duration {
        self.counted_for.saturating_sub(at)
    }

    /// How long ago a reason began.
    pub(super) fn age_of(&self, reason: &Reason) -> Duration {
        self.uptime.saturating_sub(reason.since)
    }

    /// How long ago the oldest poll under way began.
    pub(super) fn under_way_for(&self) -> Option<Duration> {
        let since = self.under_way.since?;
        Some(self.uptime.saturating_sub(since))
    }

    /// The wall clock's time of a moment of `facts`.
    pub(super) fn wall_clock(&self, at: Duration) -> SystemTime {
        let age = self.age(at);
        self.now.checked_sub(age).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// A moment, from how long ago it was.
    pub(super) fn moment(&self, age: Duration) -> Moment {
        let at = self.now.checked_sub(age);
        let at = at.unwrap_or(SystemTime::UNIX_EPOCH);
        Moment {
            seconds_ago: seconds(age),
            at: humantime::format_rfc3339_millis(at).to_string(),
        }
    }

    fn moment_of(&self, at: Option<Duration>) -> Option<Moment> {
        at.map(|at| self.moment(self.age(at)))
    }
}

/// The ages of two clocks that run alike.
struct Clocks {
    uptime: Duration,
    counted_for: Duration,
}

impl Clocks {
    fn judge(
        &self,
        readiness: Readiness,
        under_way: UnderWay,
        facts: &Facts,
    ) -> (Level, Vec<Reason>) {
        let targets = facts.targets.iter();
        let targets = targets.map(|(channel, target)| {
            let state = self.state_of(target);
            (channel.clone(), state)
        });
        let on_the_clients = |at: Option<Duration>| at.map(|at| self.on_the_clients(at));
        let facts = readiness::Facts {
            now: self.uptime,
            polls: readiness,
            poll_under_way_since: under_way.since,
            queue_full_since: on_the_clients(facts.queue_full_since),
            draining_since: on_the_clients(facts.draining_since),
        };
        judge(&facts, targets)
    }

    fn state_of(&self, target: &TargetFacts) -> Target {
        match target.health.state() {
            Target::Unknown => Target::Unknown,
            Target::Up { since } => Target::Up {
                since: self.on_the_clients(since),
            },
            Target::Down { since, fault } => Target::Down {
                since: self.on_the_clients(since),
                fault,
            },
        }
    }

    /// A time of the counts' clock on that of the client.
    fn on_the_clients(&self, at: Duration) -> Duration {
        self.uptime
            .saturating_sub(self.counted_for.saturating_sub(at))
    }
}

/// What `/health` answers.
// spec: RPT-12
#[derive(Debug, Serialize)]
pub(super) struct Health {
    version: &'static str,
    /// When this was read: RFC 3339, UTC.
    now: String,
    uptime_seconds: f64,
    ready: bool,
    level: &'static str,
    reasons: Vec<ReasonView>,
    placement: Placement,
    polls: Polls,
    commands: Commands,
    deliveries: Deliveries,
    /// By their channels.
    targets: BTreeMap<String, TargetView>,
}

#[derive(Debug, Serialize)]
struct ReasonView {
    cause: &'static str,
    text: String,
    since: Moment,
}

/// The placement, without its token.
#[derive(Debug, Serialize)]
struct Placement {
    watermark: Option<u64>,
    has_token: bool,
    corrections: u8,
    failures: u8,
    generation: u64,
}

#[derive(Debug, Serialize)]
struct Polls {
    ended: u64,
    succeeded: u64,
    corrections: u64,
    destination_failures: u64,
    wait_seconds: f64,
    under_way: usize,
    /// When the oldest of those began.
    under_way_since: Option<Moment>,
    last: Option<Moment>,
    last_success: Option<Moment>,
}

#[derive(Debug, Serialize)]
struct Commands {
    received: u64,
    unreadable: u64,
    skipped: u64,
    repeated: u64,
    cancelled: u64,
    expired: u64,
    answered: u64,
    failed: u64,
    queued: usize,
    queued_limit: Option<usize>,
    /// Since when there is no free place, if so.
    queue_full_since: Option<Moment>,
    running: usize,
    running_limit: Option<usize>,
    last: Option<Moment>,
}

#[derive(Debug, Serialize)]
struct Deliveries {
    accepted: u64,
    already_fulfilled: u64,
    given_up: u64,
    retries: u64,
    notifications: u64,
    notifications_lost: u64,
    last: Option<Moment>,
}

#[derive(Debug, Serialize)]
struct TargetView {
    state: &'static str,
    /// Since when; absent while nothing is known.
    since: Option<Moment>,
    fault: Option<&'static str>,
    /// What more is known of the fault.
    transport_error_kind: Option<&'static str>,
    upstream_status: Option<u16>,
    failures: u64,
    restarts: u64,
}

impl Health {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let facts = &snapshot.facts;
        Self {
            version: env!("CARGO_PKG_VERSION"),
            now: snapshot.moment(Duration::ZERO).at,
            uptime_seconds: seconds(snapshot.uptime),
            ready: snapshot.level.is_ready(),
            level: snapshot.level.name(),
            reasons: reasons(snapshot),
            placement: Placement::of(&snapshot.placed),
            polls: Polls::of(snapshot, &facts.polls),
            commands: Commands::of(snapshot, facts),
            deliveries: Deliveries::of(snapshot, &facts.deliveries),
            targets: targets(snapshot),
        }
    }
}

fn reasons(snapshot: &Snapshot) -> Vec<ReasonView> {
    let view = |reason: &Reason| ReasonView {
        cause: reason.cause.name(),
        text: reason.cause.to_string(),
        since: snapshot.moment(snapshot.age_of(reason)),
    };
    snapshot.reasons.iter().map(view).collect()
}

fn targets(snapshot: &Snapshot) -> BTreeMap<String, TargetView> {
    let targets = snapshot.facts.targets.iter();
    targets
        .map(|(channel, target)| (channel.to_string(), TargetView::of(snapshot, target)))
        .collect()
}

impl Placement {
    fn of(placed: &Placed) -> Self {
        Self {
            watermark: placed.watermark.map(Revision::get),
            has_token: placed.has_token,
            corrections: placed.corrections,
            failures: placed.failures,
            generation: placed.generation.get(),
        }
    }
}

impl Polls {
    fn of(snapshot: &Snapshot, counts: &PollCounts) -> Self {
        Self {
            ended: counts.ended,
            succeeded: counts.succeeded,
            corrections: counts.corrections,
            destination_failures: counts.failures,
            wait_seconds: seconds(snapshot.poll_wait),
            under_way: snapshot.under_way.polls,
            under_way_since: snapshot.under_way_for().map(|age| snapshot.moment(age)),
            last: snapshot.moment_of(counts.last_at),
            last_success: snapshot.moment_of(counts.last_success_at),
        }
    }
}

impl Commands {
    // spec: RPT-13
    fn of(snapshot: &Snapshot, facts: &Facts) -> Self {
        let counts = &facts.commands;
        Self {
            received: counts.received,
            unreadable: counts.unreadable,
            skipped: counts.skipped,
            repeated: counts.repeated,
            cancelled: counts.cancelled,
            expired: counts.expired,
            answered: counts.answered,
            failed: counts.failed,
            queued: counts.queued,
            queued_limit: facts.limits.map(|limits| limits.queue),
            queue_full_since: snapshot.moment_of(facts.queue_full_since),
            running: counts.running,
            running_limit: facts.limits.map(|limits| limits.concurrency.get()),
            last: snapshot.moment_of(counts.last_at),
        }
    }
}

impl Deliveries {
    fn of(snapshot: &Snapshot, counts: &DeliveryCounts) -> Self {
        Self {
            accepted: counts.accepted,
            already_fulfilled: counts.already_fulfilled,
            given_up: counts.given_up,
            retries: counts.retries,
            notifications: counts.notifications,
            notifications_lost: counts.notifications_lost,
            last: snapshot.moment_of(counts.last_at),
        }
    }
}

impl TargetView {
    fn of(snapshot: &Snapshot, target: &TargetFacts) -> Self {
        let (state, since, fault) = match target.health.state() {
            Target::Unknown => ("unknown", None, None),
            Target::Up { since } => ("up", Some(since), None),
            Target::Down { since, fault } => ("down", Some(since), Some(fault)),
        };
        Self {
            state,
            since: snapshot.moment_of(since),
            fault: fault.map(|fault| fault.source.as_str()),
            transport_error_kind: fault.and_then(|fault| fault.kind),
            upstream_status: fault.and_then(TargetFault::status),
            failures: target.health.failures(),
            restarts: target.restarts,
        }
    }
}

/// What `/status.json` answers.
#[derive(Debug, Serialize)]
pub(super) struct Status<'a> {
    health: Health,
    /// What the page writes where, as a person reads it; see [`super::page::texts`].
    texts: serde_json::Map<String, serde_json::Value>,
    /// The last polls, oldest first.
    polls: Vec<PollView<'a>>,
    /// Counts at some moments, oldest first.
    throughput: Vec<NoteView>,
}

#[derive(Debug, Serialize)]
struct PollView<'a> {
    #[serde(flatten)]
    ended: Moment,
    took_seconds: f64,
    /// For how long after it no poll was under way, where that is worth a mark.
    pause_after_seconds: Option<f64>,
    #[serde(flatten)]
    event: &'a PollEvent,
}

#[derive(Debug, Serialize)]
struct NoteView {
    #[serde(flatten)]
    noted: Moment,
    received: u64,
    answered: u64,
    failed: u64,
    expired: u64,
}

impl<'a> Status<'a> {
    pub(super) fn of(snapshot: &'a Snapshot, notes: &[Note]) -> Self {
        let texts = super::page::texts(snapshot, notes);
        let poll = |((at, event), pause): (&'a (Duration, PollEvent), Duration)| PollView {
            ended: snapshot.moment(snapshot.age(*at)),
            took_seconds: seconds(event.took),
            pause_after_seconds: (pause > PAUSE_SHOWN).then(|| seconds(pause)),
            event,
        };
        let recent = &snapshot.facts.recent;
        let spans = recent
            .iter()
            .map(|(at, event)| (snapshot.age(*at), event.took));
        let under_way_for = snapshot.under_way_for().unwrap_or_default();
        let pauses = pauses(&spans.collect::<Vec<_>>(), under_way_for);
        let note = |note: &Note| NoteView {
            noted: snapshot.moment(snapshot.age(note.at)),
            received: note.received,
            answered: note.answered,
            failed: note.failed,
            expired: note.expired,
        };
        Self {
            health: Health::of(snapshot),
            texts: texts
                .into_iter()
                .map(|(place, text)| (place.to_owned(), text.into()))
                .collect(),
            polls: recent.iter().zip(pauses).map(poll).collect(),
            throughput: notes.iter().map(note).collect(),
        }
    }
}

/// For how long no poll was under way after each of some that ended so long ago, oldest first, and took
/// so long. `under_way_for` is how long ago the oldest began that has not ended.
fn pauses(ended: &[(Duration, Duration)], under_way_for: Duration) -> Vec<Duration> {
    let mut next_began = under_way_for;
    let pause = |(ago, took): &(Duration, Duration)| {
        let pause = ago.saturating_sub(next_began);
        next_began = next_began.max(ago.saturating_add(*took));
        pause
    };
    let mut pauses: Vec<_> = ended.iter().rev().map(pause).collect();
    pauses.reverse();
    pauses
}

/// Seconds, to the millisecond.
pub(super) fn seconds(duration: Duration) -> f64 {
    let ms = u32::try_from(duration.as_millis());
    // Beyond 49 days whole seconds are enough.
    ms.map_or_else(|_| whole_seconds(duration), |ms| f64::from(ms) / 1_000.0)
}

#[allow(
    clippy::cast_precision_loss,
    reason = "exact below 2^53 seconds, which no process runs for"
)]
fn whole_seconds(duration: Duration) -> f64 {
    duration.as_secs() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_time_in_which_no_poll_was_under_way() {
        let after_each = |ended: &[(u64, u64)], under_way_for| {
            let secs = Duration::from_secs;
            let spans: Vec<_> = ended
                .iter()
                .map(|(ago, took)| (secs(*ago), secs(*took)))
                .collect();
            let pauses = pauses(&spans, secs(under_way_for));
            pauses.iter().map(Duration::as_secs).collect::<Vec<_>>()
        };
        let none: Vec<u64> = Vec::new();
        assert_eq!(after_each(&[], 7), none);
        assert_eq!(after_each(&[(90, 30), (60, 30), (30, 30)], 30), [0, 0, 0]);
        assert_eq!(after_each(&[(90, 1), (30, 20)], 12), [40, 18]);
        assert_eq!(
            after_each(&[(90, 1), (30, 20)], 0),
            [40, 30],
            "none is under way"
        );
        assert_eq!(
            after_each(&[(90, 1), (60, 1), (30, 65)], 0),
            [0, 0, 30],
            "held over both"
        );
        assert_eq!(
            after_each(&[(90, 1), (60, 1)], 80),
            [10, 0],
            "still held over one"
        );
    }
}
