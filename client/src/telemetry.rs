//! What the client has done so far, in numbers and times: for probes, metrics and the status page.
//! Holds no token, key, id, URL, host or text of a server.

mod durations;

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use durations::{BOUNDS, Bounds, Durations, OPERATION_BOUNDS, REQUEST_BOUNDS};
use moorline_model::delivery::DeliveryFault;
use moorline_model::target_health::{Change, Evidence, TargetHealth};
use moorline_model::wire::{Channel, TunnelFailure};
use serde::Serialize;
use tokio::time::Instant;

use crate::control_plane::PollEvent;

/// How many of the last attempts are kept.
pub const RECENT_POLLS: usize = 200;

/// Counts of one running client, behind one short lock.
#[derive(Debug)]
pub struct Telemetry {
    started: Instant,
    state: Mutex<Facts>,
}

/// What [`Telemetry`] knows at one moment. Times are since the client was made.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Facts {
    /// The last attempts to poll, oldest first, at most [`RECENT_POLLS`].
    pub recent: VecDeque<(Duration, PollEvent)>,
    /// Polls.
    pub polls: PollCounts,
    /// Commands.
    pub commands: CommandCounts,
    /// How many commands there may be at once, where that is known.
    pub limits: Option<Limits>,
    /// Since when as many commands wait as may.
    pub queue_full_since: Option<Duration>,
    /// Responses and notifications to the control plane.
    pub deliveries: DeliveryCounts,
    /// How long polls, commands and deliveries took.
    pub took: Took,
    /// The target of each channel.
    pub targets: BTreeMap<Channel, TargetFacts>,
    /// Since when the client takes no more commands, and finishes those that it has.
    pub draining_since: Option<Duration>,
}

/// Polls since the start.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct PollCounts {
    /// Attempts that ended.
    pub ended: u64,
    /// Attempts that succeeded.
    pub succeeded: u64,
    /// Valid corrections.
    pub corrections: u64,
    /// Destination failures.
    pub failures: u64,
    /// When the last attempt ended.
    pub last_at: Option<Duration>,
    /// When the last success ended.
    pub last_success_at: Option<Duration>,
}

/// Commands since the start.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct CommandCounts {
    /// Received and readable.
    pub received: u64,
    /// Received and dropped, since they could not be read.
    pub unreadable: u64,
    /// Received and skipped, since their type is not known.
    pub skipped: u64,
    /// Received and dropped, since one with the same id was not answered yet.
    pub repeated: u64,
    /// Ended without an answer, since their callers had cancelled them.
    pub cancelled: u64,
    /// Dropped because nobody waited for them any more.
    pub expired: u64,
    /// Answered by the target.
    pub answered: u64,
    /// Answered here with a failure, since the target gave no answer.
    pub failed: u64,
    /// Waiting for their turn now.
    pub queued: usize,
    /// Requests that run now.
    pub running: usize,
    /// When the last one was received.
    pub last_at: Option<Duration>,
}

/// How many commands there may be at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Waiting, before polls stop.
    pub queue: usize,
    /// Running.
    pub concurrency: NonZeroUsize,
}

/// Posts to the control plane since the start.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct DeliveryCounts {
    /// Accepted final responses.
    pub accepted: u64,
    /// Final responses to commands that had been answered already.
    pub already_fulfilled: u64,
    /// Accepted notifications.
    pub notifications: u64,
    /// Second and third attempts.
    pub retries: u64,
    /// Final responses that were given up.
    pub given_up: u64,
    /// Notifications that were given up or skipped.
    pub notifications_lost: u64,
    /// When the last one was accepted.
    pub last_at: Option<Duration>,
}

/// How long things took, by what became of them: each is told by one of a few fixed words.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Took {
    /// Polls, by the outcomes that [`PollCounts`] tells apart.
    pub polls: BTreeMap<&'static str, Durations>,
    /// Commands, from their receipt until their answer was accepted, by where the target failed if it
    /// did.
    pub commands: BTreeMap<Option<&'static str>, Durations>,
    /// Deliveries of answers with all their attempts, by why they were given up if they were.
    pub deliveries: BTreeMap<Option<&'static str>, Durations>,
}

/// What an answer took whose delivery has ended.
#[derive(Clone, Copy, Debug)]
pub struct AnswerTimes {
    /// Since the receipt of its command.
    pub command: Duration,
    /// Since its first attempt began.
    pub delivery: Duration,
}

/// A target as the last calls found it.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct TargetFacts {
    /// Whether it answers.
    pub health: TargetHealth,
    /// How often a child process was started again.
    pub restarts: u64,
}

impl Telemetry {
    /// Counts from zero, and time from now.
    #[must_use]
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            state: Mutex::new(Facts::default()),
        }
    }

    /// A copy of everything.
    #[must_use]
    pub fn facts(&self) -> Facts {
        self.lock().clone()
    }

    /// How long ago counting began: the origin of all times.
    #[must_use]
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Records an attempt to poll that ended now.
    pub fn polled(&self, event: &PollEvent) {
        let now = self.uptime();
        let mut facts = self.lock();
        facts.polls.add(event, now);
        let polls = &mut facts.took.polls;
        add(polls, counted_as(event), &OPERATION_BOUNDS, event.took);
        let received = u64::try_from(event.commands).unwrap_or(u64::MAX);
        let unreadable = u64::try_from(event.dropped).unwrap_or(u64::MAX);
        facts.commands.received = facts.commands.received.saturating_add(received);
        facts.commands.unreadable = facts.commands.unreadable.saturating_add(unreadable);
        if received > 0 {
            facts.commands.last_at = Some(now);
        }
        if facts.recent.len() >= RECENT_POLLS {
            facts.recent.pop_front();
        }
        facts.recent.push_back((now, *event));
    }

    /// Records how many commands there may be at once.
    pub fn limits(&self, limits: Limits) {
        let now = self.uptime();
        let mut facts = self.lock();
        facts.limits = Some(limits);
        facts.note_whether_full(now);
    }

    /// Changes the counts of commands.
    pub fn commands(&self, change: impl FnOnce(&mut CommandCounts)) {
        let now = self.uptime();
        let mut facts = self.lock();
        change(&mut facts.commands);
        facts.note_whether_full(now);
    }

    /// Changes the counts of deliveries; `accepted` says whether one was accepted now.
    pub fn deliveries(&self, accepted: bool, change: impl FnOnce(&mut DeliveryCounts)) {
        let now = self.uptime();
        let mut facts = self.lock();
        change(&mut facts.deliveries);
        if accepted {
            facts.deliveries.last_at = Some(now);
        }
    }

    /// Records what the answer to a command took that failed like this, if it failed, and whose delivery
    /// was given up like this, if it was.
    pub fn answer_ended(
        &self,
        times: AnswerTimes,
        failure: Option<TunnelFailure>,
        fault: Option<DeliveryFault>,
    ) {
        let mut facts = self.lock();
        let Took {
            commands,
            deliveries,
            ..
        } = &mut facts.took;
        let given_up = fault.map(category);
        add(deliveries, given_up, &REQUEST_BOUNDS, times.delivery);
        if fault.is_none() {
            let failed = failure.map(|failure| failure.source.as_str());
            add(commands, failed, &OPERATION_BOUNDS, times.command);
        }
    }

    /// Records that there are targets for these channels.
    pub fn serves<'a>(&self, channels: impl IntoIterator<Item = &'a Channel>) {
        let mut facts = self.lock();
        for channel in channels {
            facts.targets.entry(channel.clone()).or_default();
        }
    }

    /// Records what a call showed of the target of this channel, and logs what that changed. A channel
    /// that is not served has none.
    pub fn target(&self, channel: &Channel, evidence: Evidence) {
        let now = self.uptime();
        let mut facts = self.lock();
        let target = facts.targets.get_mut(channel);
        let change = target.and_then(|target| target.health.after(now, evidence));
        drop(facts);
        if let Some(change) = change {
            log(channel, change);
        }
    }

    /// Records that the child process of this channel was started again.
    pub fn target_restarted(&self, channel: &Channel) {
        if let Some(target) = self.lock().targets.get_mut(channel) {
            target.restarts = target.restarts.saturating_add(1);
        }
    }

    /// Records that the client takes no more commands from now on.
    pub fn draining(&self) {
        let now = self.uptime();
        self.lock().draining_since.get_or_insert(now);
    }

    fn lock(&self) -> MutexGuard<'_, Facts> {
        // Counts are numbers alone: what a panic elsewhere left behind is as good as any.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn log(channel: &Channel, change: Change) {
    let channel = channel.as_str();
    match change {
        Change::WentDown(fault) => tracing::warn!(
            channel,
            source = fault.source.as_str(),
            kind = fault.kind,
            status = fault.status(),
            "the target does not answer"
        ),
        Change::CameBack => tracing::info!(channel, "the target answers again"),
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        Self::new()
    }
}

impl Facts {
    /// The target of a channel.
    #[must_use]
    pub fn target(&self, channel: &Channel) -> TargetFacts {
        self.targets.get(channel).copied().unwrap_or_default()
    }

    fn note_whether_full(&mut self, now: Duration) {
        let queued = self.commands.queued;
        let is_full = self.limits.is_some_and(|limits| queued >= limits.queue);
        self.queue_full_since = is_full.then(|| self.queue_full_since.unwrap_or(now));
    }
}

fn add<K: Ord>(to: &mut BTreeMap<K, Durations>, word: K, bounds: &'static Bounds, took: Duration) {
    let durations = to.entry(word).or_insert_with(|| Durations::new(bounds));
    durations.add(took);
}

/// The word for an outcome that [`PollCounts`] tells apart.
fn counted_as(event: &PollEvent) -> &'static str {
    match event.outcome {
        counted @ ("correction" | "destination_failure" | "success") => counted,
        _ => "other",
    }
}

/// The word for a fault, as the faults of polls have theirs.
fn category(fault: DeliveryFault) -> &'static str {
    match fault {
        DeliveryFault::Cancelled => "canceled",
        DeliveryFault::DeadlinePassed => "timeout",
        DeliveryFault::Status(_) => "http_error",
        DeliveryFault::Transport => "network_error",
        _ => "other",
    }
}

impl PollCounts {
    fn add(&mut self, event: &PollEvent, now: Duration) {
        self.ended = self.ended.saturating_add(1);
        self.last_at = Some(now);
        let count = match counted_as(event) {
            "correction" => &mut self.corrections,
            "destination_failure" => &mut self.failures,
            "success" => {
                self.last_success_at = Some(now);
                &mut self.succeeded
            }
            _ => return,
        };
        *count = count.saturating_add(1);
    }
}
