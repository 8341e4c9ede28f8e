//! Runs received commands: so many at once, each until its deadline, in turn between channels, and
//! brings their answers back.

mod wait;
mod work;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use moorline_model::deadline::DEFAULT_CONNECTION_MAX_TTL;
use moorline_model::fair::FairQueue;
use moorline_model::wire::{Channel, CommandKind};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::clock::{at, unix_ms};
use crate::control_plane::{ControlPlane, Deliver, Poller, Queued};
use crate::target::Target;
use crate::telemetry::Telemetry;
use wait::Wait;
use work::Work;

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
        let room = self.options.concurrency.get();
        let mut running = Running::new(self, poller);
        loop {
            running.start(room);
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
    waiting: FairQueue<Channel, Queued>,
    tasks: JoinSet<()>,
    /// When draining is over; `None` until it begins.
    drain_ends: Option<Instant>,
    /// Ends every call and answers it with a failure.
    cut_short: CancellationToken,
    drained: Drained,
}

impl<T: Deliver, G: Target> Running<T, G> {
    fn new(dispatcher: Dispatcher<T, G>, poller: Poller) -> Self {
        Self {
            dispatcher: Arc::new(dispatcher),
            poller,
            receiving: true,
            waiting: FairQueue::new(),
            tasks: JoinSet::new(),
            drain_ends: None,
            cut_short: CancellationToken::new(),
            drained: Drained { cut_short: 0 },
        }
    }

    fn is_done(&self) -> bool {
        !self.receiving && self.waiting.is_empty() && self.tasks.is_empty()
    }

    /// Starts what there is room for.
    fn start(&mut self, room: usize) {
        self.drop_expired();
        while self.tasks.len() < room
            && let Some(queued) = self.waiting.pop()
        {
            let work = Work::new(queued, self.cut_short.clone());
            let dispatcher = Arc::clone(&self.dispatcher);
            self.tasks.spawn(async move { dispatcher.work(work).await });
        }
        let (queued, running) = (self.waiting.len(), self.tasks.len());
        self.dispatcher.telemetry.commands(|counts| {
            (counts.queued, counts.running) = (queued, running);
        });
    }

    /// Waits for whatever happens first.
    async fn next_event(&mut self, stop: &CancellationToken) {
        let draining = self.drain_ends.is_some();
        let drain_ends = self.drain_ends;
        let expiry = self
            .waiting
            .iter()
            .filter_map(|queued| Wait::of(queued).end())
            .min();
        tokio::select! {
            biased;
            () = stop.cancelled(), if !draining => self.begin_to_drain(),
            () = at(drain_ends), if draining && !self.cut_short.is_cancelled() => self.end_of_drain(),
            Some(ended) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                if ended.is_err() {
                    // Nothing in a task is meant to panic, and a panic is no reason to stop the others.
                    tracing::error!("a command ended in a panic");
                }
            }
            queued = self.poller.next_queued(), if self.receiving => match queued {
                Some(queued) => self.receive(queued),
                None => {
                    self.receiving = false;
                    if !draining {
                        self.begin_to_drain();
                    }
                }
            },
            () = at(expiry) => {}
        }
    }

    fn begin_to_drain(&mut self) {
        self.poller.stop_token().cancel();
        self.drain_ends = Some(Instant::now() + self.dispatcher.options.drain);
    }

    fn end_of_drain(&mut self) {
        self.drained.cut_short = self.waiting.len().saturating_add(self.tasks.len());
        tracing::warn!(
            commands = self.drained.cut_short,
            "the time to drain is over: what still runs is answered with a failure"
        );
        self.cut_short.cancel();
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
        if queued.command.kind == CommandKind::Unknown {
            tracing::warn!(
                command_type = receipt.command_type,
                "command skipped: its type is not known"
            );
            self.dispatcher.telemetry.commands(|counts| {
                counts.skipped = counts.skipped.saturating_add(1);
            });
            return;
        }
        self.waiting.push(queued.command.channel.clone(), queued);
    }

    /// Gives back the places of commands that nobody waits for any more.
    // spec: CMD-19
    fn drop_expired(&mut self) {
        let in_time = |queued: &Queued| !Wait::of(queued).is_over();
        let expired = self.waiting.remove_unless(in_time);
        self.dispatcher.expired(expired.len());
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
