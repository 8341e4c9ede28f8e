//! Runs received commands: so many at once, each until its deadline, in turn between channels, and
//! brings their answers back.

mod wait;
mod work;

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use moorline_model::deadline::DEFAULT_CONNECTION_MAX_TTL;
use moorline_model::dispatch::{Dispatch, Order, Place, Refusal};
use moorline_model::wire::{Channel, CommandKind};
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::clock::{at, unix_ms};
use crate::control_plane::{ControlPlane, Deliver, Poller, Queued};
use crate::target::Target;
use crate::telemetry::Telemetry;
use wait::Wait;
use work::{Work, Worked};

/// How long the failures may take to be delivered that are answered when the time to drain is over.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How commands are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DispatchOptions {
    /// How many commands run at once. 10.
    pub concurrency: NonZeroUsize,
    /// How long one call of the target may take at most, whatever its command allows. 10 minutes.
    pub max_ttl: Duration,
    /// How long commands that were received may take once the client stops. 30 s.
    pub drain: Duration,
}

// spec: SET-3
impl Default for DispatchOptions {
    fn default() -> Self {
        const CONCURRENCY: NonZeroUsize = NonZeroUsize::new(10).unwrap();
        Self {
            concurrency: CONCURRENCY,
            max_ttl: DEFAULT_CONNECTION_MAX_TTL,
            drain: Duration::from_secs(30),
        }
    }
}

/// Takes commands from a poller and runs them on the targets of their channels.
pub struct Dispatcher<T, G> {
    client: ControlPlane<T>,
    targets: BTreeMap<Channel, Arc<G>>,
    telemetry: Arc<Telemetry>,
    options: DispatchOptions,
}

/// How a dispatcher ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drained {
    /// Commands that were answered with a failure because the time to drain was over.
    pub cut_short: usize,
}

impl<T: Deliver, G: Target> Dispatcher<T, G> {
    /// A dispatcher for these targets. A command for any other channel is answered with 400.
    pub fn new(
        client: ControlPlane<T>,
        targets: BTreeMap<Channel, Arc<G>>,
        telemetry: Arc<Telemetry>,
        options: DispatchOptions,
    ) -> Self {
        telemetry.serves(targets.keys());
        Self {
            client,
            targets,
            telemetry,
            options,
        }
    }

    /// Runs commands until `stop` is cancelled or polling has ended by itself, and then until all that
    /// was received is answered. What is not answered when the time to drain is over is answered with
    /// a failure, so that nobody waits for it; no command is run twice.
    ///
    /// # Cancellation
    ///
    /// Dropping the future gives up every running call, and answers nothing more.
    pub async fn run(self, poller: Poller, stop: &CancellationToken) -> Drained {
        let mut running = Running::new(self, poller);
        loop {
            running.start();
            if running.is_done() {
                return running.drained;
            }
            running.next_event(stop).await;
        }
    }
}

/// The state of one run.
struct Running<T, G> {
    dispatcher: Arc<Dispatcher<T, G>>,
    poller: Poller,
    /// Whether the poller may still bring something.
    receiving: bool,
    commands: Dispatch<Queued>,
    /// When the first of those that wait has expired; perhaps too early, never too late.
    expiry: Option<Instant>,
    tasks: JoinSet<Worked>,
    places: HashMap<Id, Place>,
    stage: Stage,
    ends: Ends,
    drained: Drained,
}

/// How far the end has come.
#[derive(Clone, Copy)]
enum Stage {
    Running,
    /// Nothing more is received. `None`: there is no limit.
    Draining(Option<Instant>),
    /// Calls are answered with a failure.
    CutShort(Instant),
    /// Nothing more is sent.
    Silent,
}

/// What ends what still runs.
#[derive(Clone, Default)]
struct Ends {
    /// Ends every call: it is answered with a failure.
    calls: CancellationToken,
    /// Ends every delivery.
    deliveries: CancellationToken,
}

impl<T: Deliver, G: Target> Running<T, G> {
    fn new(dispatcher: Dispatcher<T, G>, poller: Poller) -> Self {
        let served = dispatcher.targets.keys().cloned().collect();
        let limit = dispatcher.options.concurrency.get();
        Self {
            dispatcher: Arc::new(dispatcher),
            poller,
            receiving: true,
            commands: Dispatch::new(served, limit),
            expiry: None,
            tasks: JoinSet::new(),
            places: HashMap::new(),
            stage: Stage::Running,
            ends: Ends::default(),
            drained: Drained { cut_short: 0 },
        }
    }

    fn is_done(&self) -> bool {
        !self.receiving && self.commands.waiting_count() == 0 && self.tasks.is_empty()
    }

    /// Starts what may run.
    fn start(&mut self) {
        self.drop_expired();
        while let Some((place, queued)) = self.commands.start() {
            let dispatcher = Arc::clone(&self.dispatcher);
            let work = Work::new(queued, self.ends.clone());
            let task = self.tasks.spawn(async move { dispatcher.work(work).await });
            self.places.insert(task.id(), place);
        }
        let (queued, running) = (
            self.commands.waiting_count(),
            self.commands.running_requests(),
        );
        self.dispatcher.telemetry.commands(|counts| {
            (counts.queued, counts.running) = (queued, running);
        });
    }

    /// Waits for whatever happens first.
    async fn next_event(&mut self, stop: &CancellationToken) {
        tokio::select! {
            biased;
            () = stop.cancelled(), if matches!(self.stage, Stage::Running) => self.begin_to_drain(),
            () = at(self.stage.end()) => self.next_stage(),
            Some(ended) = self.tasks.join_next_with_id(), if !self.tasks.is_empty() => self.ended(ended),
            queued = self.poller.next_queued(), if self.receiving => match queued {
                Some(queued) => self.receive(queued),
                None => {
                    self.receiving = false;
                    if matches!(self.stage, Stage::Running) {
                        self.begin_to_drain();
                    }
                }
            },
            () = at(self.expiry) => {}
        }
    }

    fn ended(&mut self, ended: Result<(Id, Worked), JoinError>) {
        let task = match ended {
            Ok((task, worked)) => {
                if worked == Worked::CutShort {
                    self.drained.cut_short = self.drained.cut_short.saturating_add(1);
                }
                task
            }
            Err(error) => {
                // Nothing in a task is meant to panic, and a panic is no reason to stop the others.
                tracing::error!("a command ended in a panic");
                error.id()
            }
        };
        if let Some(place) = self.places.remove(&task) {
            self.commands.ended(place);
        }
    }

    fn begin_to_drain(&mut self) {
        self.poller.stop_token().cancel();
        let drain = self.dispatcher.options.drain;
        self.stage = Stage::Draining(Instant::now().checked_add(drain));
    }

    fn next_stage(&mut self) {
        self.stage = match self.stage {
            Stage::Draining(_) => {
                let waiting = self.commands.waiting_count();
                tracing::warn!(
                    commands = waiting.saturating_add(self.tasks.len()),
                    "the time to drain is over: what still runs is answered with a failure"
                );
                self.ends.calls.cancel();
                Stage::CutShort(Instant::now() + LAST_WORDS)
            }
            Stage::Running | Stage::CutShort(_) | Stage::Silent => {
                self.ends.deliveries.cancel();
                Stage::Silent
            }
        };
    }

    // spec: CMD-2, CMD-29
    fn receive(&mut self, queued: Queued) {
        let receipt = queued.command.receipt();
        tracing::info!(
            command_type = receipt.command_type,
            request_id = receipt.request_id,
            response_timeout = receipt.response_timeout,
            received_unix_ms = unix_ms(queued.arrived),
            "command received"
        );
        let is_unknown = queued.command.kind == CommandKind::Unknown;
        let unknown = is_unknown.then(|| receipt.command_type.to_owned());
        let expiry = Wait::of(&queued).end();
        match self.commands.receive(Order::of(&queued.command), queued) {
            Ok(cancelled) => {
                self.expiry = [self.expiry, expiry].into_iter().flatten().min();
                if let Some(cancelled) = cancelled {
                    self.dispatcher.count(Worked::Cancelled, None);
                    work::log(Worked::Cancelled, None, &cancelled.command);
                }
            }
            Err(refusal) => self.refused(refusal, unknown.as_deref()),
        }
    }

    fn refused(&self, refusal: Refusal, command_type: Option<&str>) {
        match refusal {
            Refusal::Repeated => {
                tracing::warn!("command dropped: one with its id is not answered yet");
            }
            Refusal::UnknownType => {
                tracing::warn!(command_type, "command skipped: its type is not known");
            }
        }
        self.dispatcher.telemetry.commands(|counts| {
            let count = match refusal {
                Refusal::Repeated => &mut counts.repeated,
                Refusal::UnknownType => &mut counts.skipped,
            };
            *count = count.saturating_add(1);
        });
    }

    /// Gives back the places of commands that nobody waits for any more.
    // spec: CMD-19
    fn drop_expired(&mut self) {
        if self.expiry.is_none_or(|expiry| Instant::now() < expiry) {
            return;
        }
        let in_time = |queued: &Queued| !Wait::of(queued).is_over();
        let expired = self.commands.remove_unless(in_time);
        self.dispatcher.expired(expired.len());
        let waiting = self.commands.waiting();
        self.expiry = waiting.filter_map(|queued| Wait::of(queued).end()).min();
    }
}

impl Stage {
    /// When it is over.
    fn end(self) -> Option<Instant> {
        match self {
            Self::Draining(end) => end,
            Self::CutShort(end) => Some(end),
            Self::Running | Self::Silent => None,
        }
    }
}

impl<T, G> Dispatcher<T, G> {
    fn expired(&self, commands: usize) {
        let commands = u64::try_from(commands).unwrap_or(u64::MAX);
        self.telemetry.commands(|counts| {
            counts.expired = counts.expired.saturating_add(commands);
        });
    }
}
