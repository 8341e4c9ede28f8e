//! What the calls of one target share: the pipe's machine, who waits for what, and the child that runs
//! now. All of it sits behind one short lock.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use moorline_model::awaited::CANCELLED;
use moorline_model::note_lane::NoteLane;
use moorline_model::pipe::{Begun, Pipe, PipeFault, Retirement, Routed};
use moorline_model::wire::{Channel, FailureSource, TunnelFailure};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::super::{Notes, failure};
use super::StdioTargetSettings;
use super::child::Group;
use super::keeper::{self, Keeper};
use super::stderr::StderrKeeper;
use crate::telemetry::Telemetry;

/// Lines that may wait until the child has read those before them. Calls beyond that wait for room.
const WAITING_LINES: usize = 64;

/// How long a call that could not be written waits for its child to be gone: for one that has ended
/// there is little left to do.
const ENDS_SOON: Duration = Duration::from_secs(2);

/// What a call hears in the end: the answer's text, or why there is none.
pub(super) type Outcome = Result<String, Unanswered>;

/// Why there is no answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unanswered {
    /// It failed, and may have run.
    Failed(TunnelFailure),
    /// There is no child for it.
    NoChild(TunnelFailure),
    /// Its child ends, and no byte of it was written.
    Unwritten(TunnelFailure),
}

/// One target's state, shared by its calls and by whoever keeps its child.
pub(super) struct Shared {
    pub(super) settings: StdioTargetSettings,
    pub(super) stderr: StderrKeeper,
    pub(super) channel: Channel,
    telemetry: Arc<Telemetry>,
    /// Wakes whoever waits for calls to end.
    calls_change: Notify,
    state: Mutex<State>,
}

struct State {
    pipe: Pipe,
    waiting: HashMap<u64, Waiting>,
    last_owner: u64,
    running: Option<Running>,
    /// No child is started any more.
    stopped: bool,
    /// Attempts to start a child.
    starts: u64,
    /// Whether one succeeded.
    started: bool,
    /// Children in a row that ended without having answered anything.
    failures: u32,
    not_before: Option<Instant>,
    /// Lines of all children that were no messages.
    strays: u64,
}

/// The child that runs now.
#[derive(Clone)]
struct Running {
    number: u64,
    lines: mpsc::Sender<Line>,
    /// Ends the child, for a reason.
    end: mpsc::Sender<Ending>,
    /// Ends with the child.
    gone: CancellationToken,
}

/// A call that waits for its answer.
struct Waiting {
    outcome: oneshot::Sender<Outcome>,
    notes: Notes,
    lane: NoteLane,
}

/// A line to be written.
pub(super) struct Line {
    pub(super) text: String,
    /// Whose request it is: it is not written when nobody waits for the answer any more.
    pub(super) owner: Option<u64>,
    /// Hears when the line was written.
    pub(super) written: Option<oneshot::Sender<Outcome>>,
}

/// Why a child ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// It ended, or closed its output.
    ByItself,
    /// It took no more messages, and the calls that it had are over.
    InputClosed,
    /// It did not answer `initialize` in time, and so is of no use.
    InitializeGivenUp,
    /// A line of its output is longer than allowed.
    LineTooLong,
    /// The target is being stopped; its child may take so long to end by itself.
    Stopped {
        /// See [`Group::stop`].
        grace: Duration,
    },
}

/// Room for one line to the child that runs now.
pub(super) struct Slot {
    number: u64,
    permit: mpsc::OwnedPermit<Line>,
}

/// What became of a message that was to be sent.
pub(super) enum Sent {
    /// It is on its way; the outcome comes through the ticket.
    Waits(Ticket),
    /// It needs not be sent, and nobody need wait.
    Done,
    /// It is answered without the child.
    Refused(TunnelFailure, String),
    /// The child that it was for has gone in the meantime.
    ChildGone,
}

/// A call's hold on its answer. Dropping it gives the call up.
pub(super) struct Ticket {
    shared: Arc<Shared>,
    owner: Option<u64>,
    outcome: oneshot::Receiver<Outcome>,
}

impl Shared {
    pub(super) fn new(
        settings: StdioTargetSettings,
        channel: Channel,
        telemetry: Arc<Telemetry>,
    ) -> Arc<Self> {
        Arc::new(Self {
            settings,
            stderr: StderrKeeper::default(),
            channel,
            telemetry,
            calls_change: Notify::new(),
            state: Mutex::new(State {
                pipe: Pipe::new(),
                waiting: HashMap::new(),
                last_owner: 0,
                running: None,
                stopped: false,
                starts: 0,
                started: false,
                failures: 0,
                not_before: None,
                strays: 0,
            }),
        })
    }

    /// Waits for room for a line to the child, which is started if there is none.
    pub(super) async fn slot(self: &Arc<Self>) -> Result<Slot, Unanswered> {
        let Running { number, lines, .. } = self.running().map_err(Unanswered::NoChild)?;
        let permit = lines.reserve_owned().await;
        let permit = permit.map_err(|_| Unanswered::Unwritten(Ending::InputClosed.failure()))?;
        Ok(Slot { number, permit })
    }

    /// Waits a little for a child that takes no more lines to be gone.
    pub(super) async fn end_of_the_deaf(&self) {
        let running = self.lock().running.clone();
        if let Some(running) = running.filter(|running| running.lines.is_closed()) {
            let _ = timeout(ENDS_SOON, running.gone.cancelled()).await;
        }
    }

    /// Waits until no call is in flight.
    pub(super) async fn calls_ended(&self) {
        loop {
            let change = self.calls_change.notified();
            if self.lock().pipe.in_flight() == 0 {
                return;
            }
            change.await;
        }
    }

    /// Sends a message into the slot. Notes that belong to it go to `notes`.
    pub(super) fn send(
        self: &Arc<Self>,
        slot: Slot,
        text: &str,
        notes: Notes,
    ) -> Result<Sent, PipeFault> {
        let (sender, outcome) = oneshot::channel();
        let mut state = self.lock();
        if state.running.as_ref().map(|running| running.number) != Some(slot.number) {
            return Ok(Sent::ChildGone);
        }
        state.last_owner = state.last_owner.wrapping_add(1);
        let owner = state.last_owner;
        let (text, is_request) = match state.pipe.begin(owner, text)? {
            Begun::Dropped => return Ok(Sent::Done),
            Begun::Refused { failure, text } => return Ok(Sent::Refused(failure, text)),
            Begun::Send {
                wire_text,
                wire_id,
                cancels,
            } => {
                if let Some(cancelled) = cancels {
                    state.end(cancelled, Err(Unanswered::Failed(CANCELLED)));
                }
                (wire_text, wire_id.is_some())
            }
        };
        let (owner, written) = if is_request {
            let waiting = Waiting {
                outcome: sender,
                notes,
                lane: NoteLane::default(),
            };
            state.waiting.insert(owner, waiting);
            (Some(owner), None)
        } else {
            (None, Some(sender))
        };
        // Under the lock, so that lines are written in the order in which the pipe took them.
        slot.permit.send(Line {
            text,
            owner,
            written,
        });
        Ok(Sent::Waits(Ticket {
            shared: Arc::clone(self),
            owner,
            outcome,
        }))
    }

    /// A line is about to be written. False if nobody wants it any more, so that no expired command
    /// runs.
    pub(super) fn writing(&self, line: &Line) -> bool {
        match line.owner {
            Some(owner) => self.lock().pipe.writing(owner),
            None => line
                .written
                .as_ref()
                .is_none_or(|written| !written.is_closed()),
        }
    }

    /// A line could not be written to its end; `partly`: some of it may have been.
    // spec: CMD-36
    pub(super) fn not_written(&self, line: &Line, partly: bool) {
        let Some(owner) = line.owner else {
            // Whoever sent what asks for no answer learns of it by the drop of the line.
            return;
        };
        let failure = Ending::InputClosed.failure();
        let mut state = self.lock();
        let unanswered = if state.pipe.not_written(owner, partly) {
            Unanswered::Unwritten(failure)
        } else {
            Unanswered::Failed(failure)
        };
        state.end(owner, Err(unanswered));
        self.calls_change.notify_waiters();
    }

    /// Takes a line of the child's output. Never waits. False if it is no message.
    // spec: CMD-20, RPT-7
    pub(super) fn received(&self, line: &str) -> bool {
        let mut state = self.lock();
        match state.pipe.received(line) {
            Routed::Answer { owner, text } => {
                state.failures = 0;
                state.end(owner, Ok(text));
            }
            Routed::Notification {
                owner: Some(owner),
                text,
            } => {
                if !state.pass_on(owner, text) {
                    self.lost();
                }
            }
            Routed::ServerRequest {
                owner,
                text,
                otherwise,
            } => {
                if !state.pass_on(owner, text) {
                    self.lost();
                    state.reply(otherwise);
                }
            }
            Routed::Notification { owner: None, .. } => self.lost(),
            Routed::Failed { owner, failure } => {
                state.end(owner, Err(Unanswered::Failed(failure)));
            }
            Routed::Reply(text) => state.reply(text),
            Routed::Retired => tracing::debug!("late answer of the target discarded"),
            Routed::Unknown => tracing::debug!("answer of the target to nothing that was asked"),
            Routed::Invalid(fault) => {
                tracing::debug!(%fault, bytes = line.len(), "line of the target skipped");
                return false;
            }
        }
        self.calls_change.notify_waiters();
        true
    }

    /// Counts a line that is no message. The first one of a child is told, without its text.
    pub(super) fn stray(&self, is_first: bool) {
        let mut state = self.lock();
        state.strays = state.strays.saturating_add(1);
        drop(state);
        if is_first {
            tracing::warn!(
                channel = self.channel.as_str(),
                "a line on the target's standard output is no JSON-RPC message: a server must log to \
                 standard error"
            );
        }
    }

    /// How many lines of all children were no messages.
    pub(super) fn strays(&self) -> u64 {
        self.lock().strays
    }

    /// The child has gone: who waits for it is told why, and the next call may start another. Gives how
    /// many calls were in flight.
    pub(super) fn child_gone(&self, number: u64, ending: Ending) -> usize {
        let mut state = self.lock();
        if state.running.as_ref().map(|running| running.number) != Some(number) {
            return 0;
        }
        state.running = None;
        let calls = state.pipe.in_flight();
        let closed = state.pipe.closed();
        for owner in closed.failed {
            state.end(owner, Err(Unanswered::Failed(ending.failure())));
        }
        for owner in closed.unwritten {
            state.end(owner, Err(Unanswered::Unwritten(ending.failure())));
        }
        calls
    }

    /// Starts no child any more, and tells the one that runs to end. Gives what ends with it.
    pub(super) fn stop(&self, grace: Duration) -> Option<CancellationToken> {
        let mut state = self.lock();
        state.stopped = true;
        let running = state.running.as_ref()?;
        // A full queue means that it is told to end already.
        let _ = running.end.try_send(Ending::Stopped { grace });
        Some(running.gone.clone())
    }

    /// The child that runs, started if there is none.
    fn running(self: &Arc<Self>) -> Result<Running, TunnelFailure> {
        let mut state = self.lock();
        if let Some(running) = &state.running {
            return Ok(running.clone());
        }
        if state.stopped {
            let grace = Duration::ZERO;
            return Err(Ending::Stopped { grace }.failure());
        }
        let now = Instant::now();
        if state.not_before.is_some_and(|not_before| now < not_before) {
            return Err(failure(
                FailureSource::Connect,
                Some("restart_delayed"),
                false,
            ));
        }
        self.start(&mut state, now)
    }

    /// Starts are spaced from one another, whatever becomes of the children: a child that ends at once
    /// must not be started in a tight loop, and one that has run for long may be replaced at once.
    fn start(self: &Arc<Self>, state: &mut State, now: Instant) -> Result<Running, TunnelFailure> {
        state.starts = state.starts.saturating_add(1);
        state.failures = state.failures.saturating_add(1);
        let delay = self.settings.backoff.delay(state.failures, rand::random());
        state.not_before = now.checked_add(delay);
        let started = Group::start(&self.settings);
        let channel = self.channel.as_str();
        let (group, pipes) = started.map_err(|error| {
            let kind = why_not_started(&error);
            tracing::warn!(channel, kind, "target not started");
            failure(FailureSource::Connect, Some(kind), false)
        })?;
        if std::mem::replace(&mut state.started, true) {
            self.telemetry.target_restarted(&self.channel);
        }
        tracing::info!(channel, start = state.starts, "target started");
        let (lines, waiting_lines) = mpsc::channel(WAITING_LINES);
        let (end, ended) = mpsc::channel(1);
        let gone = CancellationToken::new();
        let running = Running {
            number: state.starts,
            lines,
            end,
            gone: gone.clone(),
        };
        state.running = Some(running.clone());
        tokio::spawn(keeper::keep(Keeper {
            shared: Arc::clone(self),
            number: state.starts,
            group,
            pipes,
            lines: waiting_lines,
            ended,
            gone: gone.drop_guard(),
        }));
        Ok(running)
    }

    /// Gives a call up.
    // spec: CMD-20, RPT-4
    fn give_up(&self, owner: u64) {
        let mut state = self.lock();
        if state.waiting.remove(&owner).is_none() {
            return;
        }
        if state.pipe.retire(owner) == Retirement::ClosePipe
            && let Some(running) = &state.running
        {
            let _ = running.end.try_send(Ending::InitializeGivenUp);
        }
        self.calls_change.notify_waiters();
    }

    /// Counts a note that could not be passed on.
    fn lost(&self) {
        self.telemetry.deliveries(false, |counts| {
            counts.notifications_lost = counts.notifications_lost.saturating_add(1);
        });
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that runs under the lock leaves the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Tells a call how it ends.
    fn end(&mut self, owner: u64, outcome: Outcome) {
        if let Some(waiting) = self.waiting.remove(&owner) {
            // Whoever waited may have gone at this very moment.
            let _ = waiting.outcome.send(outcome);
        }
    }

    /// Gives a note to the call that it is for. False if it is lost.
    // spec: CMD-15
    fn pass_on(&mut self, owner: u64, note: String) -> bool {
        let Some(waiting) = self.waiting.get_mut(&owner) else {
            return false;
        };
        let notes = &waiting.notes;
        let unread = notes.max_capacity().saturating_sub(notes.capacity());
        if !waiting.lane.admits(unread, note.len()) {
            return false;
        }
        let passed = notes.try_send(note).is_ok();
        if !passed {
            waiting.lane.lost();
        }
        passed
    }

    /// A child that does not read gets no replies.
    fn reply(&self, text: String) {
        if let Some(running) = &self.running {
            let _ = running.lines.try_send(Line {
                text,
                owner: None,
                written: None,
            });
        }
    }
}

impl Ticket {
    /// Waits for the outcome.
    pub(super) async fn outcome(mut self) -> Outcome {
        let outcome = (&mut self.outcome).await;
        // Whoever held the other end has gone with the child.
        outcome.unwrap_or_else(|_| Err(Unanswered::Failed(Ending::ByItself.failure())))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(owner) = self.owner {
            self.shared.give_up(owner);
        }
    }
}

impl Ending {
    /// What it means for whoever waits.
    pub(super) fn failure(self) -> TunnelFailure {
        let source = match self {
            Self::LineTooLong => FailureSource::Protocol,
            Self::ByItself | Self::InputClosed | Self::InitializeGivenUp | Self::Stopped { .. } => {
                FailureSource::TransportClosed
            }
        };
        failure(source, Some(self.kind()), false)
    }

    /// The same in one word.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::ByItself => "child_ended",
            Self::InputClosed => "input_closed",
            Self::InitializeGivenUp => "initialize_given_up",
            Self::LineTooLong => "line_too_long",
            Self::Stopped { .. } => "stopped",
        }
    }
}

fn why_not_started(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "program_not_found",
        io::ErrorKind::PermissionDenied => "permission_denied",
        _ => "program_not_started",
    }
}
