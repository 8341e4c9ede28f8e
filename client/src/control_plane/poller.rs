use std::num::{NonZeroU16, NonZeroUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use moorline_model::schedule::{CAPACITY_WAIT, DEFAULT_QUEUE, MAX_POLL_LIMIT, Next, poll_limit};
use moorline_model::wire::Command;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ControlPlane;
use super::transport::{HttpTransport, Transport};

/// The most polls that one poller keeps in flight.
pub const MAX_IN_FLIGHT: usize = 1024;

/// How a poller polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollerOptions {
    /// How many polls may be in flight at once, at most [`MAX_IN_FLIGHT`]. 1.
    pub in_flight: NonZeroUsize,
    /// How many received commands may wait to be taken. Polls ask for no more than there is room
    /// for (with no room at all, never); more than asked for is taken all the same. 20.
    pub queue: usize,
    /// The most commands to ask for in one poll, at most 25 (with 0, never polls). 25.
    pub limit: u16,
    /// Stop by itself after so many polls; `None` goes on until stopped.
    pub max_polls: Option<u64>,
}

// spec: LOOP-3
impl Default for PollerOptions {
    fn default() -> Self {
        Self {
            in_flight: NonZeroUsize::MIN,
            queue: DEFAULT_QUEUE,
            limit: MAX_POLL_LIMIT,
            max_polls: None,
        }
    }
}

/// The poll loop of one client, on tasks of its own.
///
/// Dropping it cancels its polls. Commands that it received and that nobody took are lost then, so
/// [`stop`](Poller::stop) it first and take what is left.
#[derive(Debug)]
pub struct Poller {
    commands: mpsc::UnboundedReceiver<Queued>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

/// A received command that holds its place in the queue: as long as it exists, polls ask for one
/// command less.
#[derive(Debug)]
pub struct Queued {
    /// The command.
    pub command: Command,
    /// When the head of the response that brought it arrived: its deadline counts from there.
    pub arrived: Instant,
    _place: Place,
}

impl ControlPlane<HttpTransport> {
    /// Starts polling on tasks of the current tokio runtime, and panics where there is none.
    #[must_use]
    pub fn spawn_poller(&self, options: PollerOptions) -> Poller {
        Poller::spawn(self, options)
    }
}

impl Poller {
    /// Starts polling over any transport, on tasks of the current tokio runtime, and panics where
    /// there is none.
    #[must_use]
    pub fn spawn<T: Transport>(client: &ControlPlane<T>, options: PollerOptions) -> Self {
        let (sender, commands) = mpsc::unbounded_channel();
        let room = Arc::new(Room::new(options));
        let stop = CancellationToken::new();
        let mut tasks = JoinSet::new();
        for _ in 0..options.in_flight.get().min(MAX_IN_FLIGHT) {
            let worker = Worker {
                client: client.clone(),
                room: Arc::clone(&room),
                commands: sender.clone(),
                stop: stop.clone(),
            };
            tasks.spawn(worker.run());
        }
        Self {
            commands,
            stop,
            tasks,
        }
    }

    /// The next command; `None` once the poller has stopped and all commands are taken. Safe to
    /// drop: no command is lost.
    pub async fn next_command(&mut self) -> Option<Command> {
        Some(self.next_queued().await?.command)
    }

    /// The next command with its place in the queue, which is free again once the caller drops it;
    /// `None` as for [`next_command`](Poller::next_command). Safe to drop.
    pub async fn next_queued(&mut self) -> Option<Queued> {
        self.commands.recv().await
    }

    /// Ends polls and waits at once and returns when every task has ended. Commands received until
    /// then stay to be taken.
    pub async fn stop(&mut self) {
        self.stop.cancel();
        self.finished().await;
    }

    /// Waits until polling has ended: stopped, or the greatest number of polls reached.
    pub async fn finished(&mut self) {
        while let Some(ended) = self.tasks.join_next().await {
            if ended.is_err() {
                // Nothing in a task is meant to panic, and a panic is no reason to lose the others.
                tracing::error!("a polling task ended in a panic");
            }
        }
    }

    /// Stops this poller when it is cancelled, from anywhere.
    #[must_use]
    pub fn stop_token(&self) -> CancellationToken {
        self.stop.clone()
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Polls one at a time until stopped.
struct Worker<T> {
    client: ControlPlane<T>,
    room: Arc<Room>,
    commands: mpsc::UnboundedSender<Queued>,
    stop: CancellationToken,
}

impl<T: Transport> Worker<T> {
    async fn run(self) {
        while let Some(permit) = self.next_permit().await {
            let next = self.poll(permit).await;
            let go_on = match next {
                Next::AtOnce => true,
                Next::After(delay) => !self.room.exhausted() && self.sleep(delay).await,
                Next::Never => false,
            };
            if !go_on {
                return;
            }
            // A service that answers at once, in memory or nearly so, must not starve the runtime.
            tokio::task::yield_now().await;
        }
    }

    /// Room for one more poll; `None` when polling is over.
    // spec: LOOP-1, LOOP-2
    async fn next_permit(&self) -> Option<Permit> {
        loop {
            if self.stop.is_cancelled() {
                return None;
            }
            match self.room.reserve() {
                Reserve::Granted(permit) => return Some(permit),
                Reserve::Full if self.sleep(CAPACITY_WAIT).await => {}
                Reserve::Full | Reserve::Exhausted => return None,
            }
        }
    }

    async fn poll(&self, permit: Permit) -> Next {
        let report = self.client.poll(permit.limit, &self.stop).await;
        if let Ok(envelope) = report.reply {
            let arrived = report.arrived.unwrap_or_else(Instant::now);
            // spec: LOOP-18
            for command in envelope.commands {
                // Nobody takes commands any more once the receiver is gone, and the poller with it.
                let _ = self.commands.send(Queued {
                    command,
                    arrived,
                    _place: Place::take(&self.room),
                });
            }
        }
        self.room.release(permit);
        report.next
    }

    /// Sleeps, and says whether it was not stopped meanwhile.
    async fn sleep(&self, delay: Duration) -> bool {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => false,
            () = tokio::time::sleep(delay) => true,
        }
    }
}

/// The queue's free places, and the polls still to be made.
#[derive(Debug)]
struct Room {
    options: PollerOptions,
    counts: Mutex<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    /// Commands received and not yet taken.
    queued: usize,
    /// Commands asked for by polls in flight.
    reserved: usize,
    /// Polls begun.
    polls: u64,
}

/// One place of the queue, taken until it is dropped.
#[derive(Debug)]
struct Place {
    room: Arc<Room>,
}

impl Place {
    fn take(room: &Arc<Room>) -> Self {
        room.queue_one();
        Self {
            room: Arc::clone(room),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.room.took_one();
    }
}

/// The right to poll once.
struct Permit {
    limit: NonZeroU16,
}

enum Reserve {
    Granted(Permit),
    /// There is no free place now.
    Full,
    /// The greatest number of polls was begun.
    Exhausted,
}

impl Room {
    fn new(options: PollerOptions) -> Self {
        Self {
            options,
            counts: Mutex::new(Counts::default()),
        }
    }

    fn reserve(&self) -> Reserve {
        let PollerOptions {
            in_flight,
            queue,
            limit,
            ..
        } = self.options;
        let mut counts = self.lock();
        if self.is_used_up(&counts) {
            return Reserve::Exhausted;
        }
        match poll_limit(queue, counts.queued, counts.reserved, in_flight, limit) {
            Some(limit) => {
                counts.reserved = counts.reserved.saturating_add(usize::from(limit.get()));
                counts.polls = counts.polls.saturating_add(1);
                Reserve::Granted(Permit { limit })
            }
            None => Reserve::Full,
        }
    }

    fn release(&self, permit: Permit) {
        let mut counts = self.lock();
        counts.reserved = counts
            .reserved
            .saturating_sub(usize::from(permit.limit.get()));
    }

    fn queue_one(&self) {
        let mut counts = self.lock();
        counts.queued = counts.queued.saturating_add(1);
    }

    fn took_one(&self) {
        let mut counts = self.lock();
        counts.queued = counts.queued.saturating_sub(1);
    }

    fn exhausted(&self) -> bool {
        self.is_used_up(&self.lock())
    }

    fn is_used_up(&self, counts: &Counts) -> bool {
        self.options
            .max_polls
            .is_some_and(|most| counts.polls >= most)
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        // Nothing that runs under this lock panics; a count is a count after a panic elsewhere.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
