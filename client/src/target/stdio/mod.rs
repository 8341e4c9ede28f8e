//! A target that runs as a child process and speaks JSON-RPC, one message a line.

mod child;
mod command;
mod keeper;
mod lines;
mod shared;
mod stderr;

use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use moorline_model::awaited::{Awaited, NO_SESSIONS_CODE, PIPE_ACCEPTED_CODE, PIPE_ANSWER_CODE};
use moorline_model::backoff::Backoff;
use moorline_model::pipe::PipeFault;
use moorline_model::wire::{Channel, FailureSource, ResponseType, TunnelFailure};
use tokio::time::timeout;

pub use self::command::{CommandFault, CommandLine};
use self::shared::{Ending, Sent, Shared, Unanswered};
pub use self::stderr::Stderr;
use super::{Answer, Call, Notes, Target, Termination, failure, json_headers, unreadable, within};
use crate::telemetry::Telemetry;

/// The longest line that a server may write, in bytes (32 MiB).
pub const MAX_LINE_BYTES: usize = 33_554_432;

/// How long a killed process may take to end.
const UNKILLABLE: Duration = Duration::from_secs(5);

/// What a [`StdioTarget`] is made of.
#[derive(Clone)]
#[non_exhaustive]
pub struct StdioTargetSettings {
    /// What starts the server.
    pub command: CommandLine,
    /// Names of environment variables that the server does not get, beside all that begin with
    /// `CONTROL_PLANE_`: those that hold other secrets of this client.
    pub withheld_variables: Vec<OsString>,
    /// How starts are spaced. 200 ms to 10 s.
    pub backoff: Backoff,
    /// The longest line that the server may write, in bytes. 32 MiB.
    pub line_limit: usize,
}

/// A private MCP server that this client starts itself.
///
/// It is started by the first call, in a process group of its own, and again by the next call after
/// it has ended. A request that was not written when it ended is sent to the next one, once. All calls share its pipe: one task writes, one reads, and nobody waits for anybody
/// else's answer. A call whose future is dropped is given up: the server is not told, its late answer
/// is discarded, and the pipe stays open, unless the call was `initialize`. A call that another one
/// cancels (`notifications/cancelled`) ends at once, with the failure
/// [`CANCELLED`](moorline_model::awaited::CANCELLED), which is no answer to anybody.
///
/// Dropping the target kills the server and all that it started; [`StdioTarget::stop`] does so with
/// a warning first. Calls must be made within a tokio runtime, and the server ends with it.
pub struct StdioTarget {
    shared: Arc<Shared>,
}

impl StdioTargetSettings {
    /// Settings with every default.
    #[must_use]
    pub fn new(command: CommandLine) -> Self {
        Self {
            command,
            withheld_variables: Vec::new(),
            backoff: Backoff::DEFAULT,
            line_limit: MAX_LINE_BYTES,
        }
    }
}

impl StdioTarget {
    /// The target of a channel, whose server is not running yet. Restarts and lost notifications are
    /// counted in `telemetry`.
    #[must_use]
    pub fn new(settings: StdioTargetSettings, channel: Channel, telemetry: Arc<Telemetry>) -> Self {
        telemetry.serves([&channel]);
        let shared = Shared::new(settings, channel, telemetry);
        Self { shared }
    }

    /// Ends the server and all that it started: closes its standard input, waits `grace` for it to end,
    /// sends SIGTERM to its group, waits again (as long, at most 2 s), and kills what is left. Calls that
    /// wait fail at once, and so does every later one.
    ///
    /// # Cancellation
    ///
    /// The stop goes on by itself.
    pub async fn stop(&self, grace: Duration) {
        if let Some(gone) = self.shared.stop(grace) {
            // Not even a kill ends a process that hangs in the system.
            let longest = grace.saturating_mul(2).saturating_add(UNKILLABLE);
            let _ = timeout(longest, gone.cancelled()).await;
        }
    }

    /// What the server has written to standard error.
    #[must_use]
    pub fn stderr(&self) -> Stderr {
        self.shared.stderr.get()
    }

    /// How many lines on standard output were no JSON-RPC messages, empty ones aside. A server must log
    /// to standard error.
    #[must_use]
    pub fn stray_lines(&self) -> u64 {
        self.shared.strays()
    }

    /// Sends a message to the child, or to the next one if the child ended before it was written.
    async fn run(
        &self,
        text: &str,
        awaited: &Awaited,
        notes: Notes,
    ) -> Result<Answer, TunnelFailure> {
        let first = match self.attempt(text, awaited, notes.clone()).await {
            Ok(answer) => return Ok(answer),
            Err(Unanswered::Unwritten(failure)) if awaited.may_go_to_the_next_child() => failure,
            Err(
                Unanswered::Unwritten(failure)
                | Unanswered::NoChild(failure)
                | Unanswered::Failed(failure),
            ) => return Err(failure),
        };
        self.shared.end_of_the_deaf().await;
        let again = self.attempt(text, awaited, notes).await;
        again.map_err(|unanswered| match unanswered {
            Unanswered::Failed(failure) => failure,
            Unanswered::NoChild(_) | Unanswered::Unwritten(_) => first,
        })
    }

    async fn attempt(
        &self,
        text: &str,
        awaited: &Awaited,
        notes: Notes,
    ) -> Result<Answer, Unanswered> {
        let slot = self.shared.slot().await?;
        match self.shared.send(slot, text, notes) {
            Ok(Sent::Waits(ticket)) => {
                let text = ticket.outcome().await?;
                Ok(match awaited.request() {
                    Some(_) => answered(text),
                    None => taken(),
                })
            }
            Ok(Sent::Done) => Ok(taken()),
            Ok(Sent::Refused(failure, text)) => Ok(Answer::refused(awaited.kind(), failure, text)),
            Ok(Sent::ChildGone) => Err(Unanswered::Unwritten(Ending::ByItself.failure())),
            Err(fault) => Err(Unanswered::Failed(unsendable(fault))),
        }
    }
}

impl Target for StdioTarget {
    async fn call(&self, call: Call, notes: Notes) -> Answer {
        let text = call.message.get();
        let Ok(awaited) = Awaited::by_message(text) else {
            return unreadable();
        };
        let answer = within(call.deadline, self.run(text, &awaited, notes)).await;
        let timeout = failure(FailureSource::Timeout, None, false);
        answer
            .unwrap_or(Err(timeout))
            .unwrap_or_else(|failure| Answer::failed(&awaited, failure))
    }

    /// A pipe has no sessions to end.
    // spec: CMD-26
    async fn terminate(&self, _: Termination) -> Answer {
        Answer {
            code: NO_SESSIONS_CODE,
            headers: Vec::new(),
            json: None,
            kind: ResponseType::SessionTerminationResponse,
            failure: None,
            by_target: false,
        }
    }
}

impl Drop for StdioTarget {
    fn drop(&mut self) {
        // What ends with it goes on by itself, or with the runtime.
        let _ = self.shared.stop(Duration::ZERO);
    }
}

/// Prints numbers alone: the command's arguments may be secret.
impl fmt::Debug for StdioTargetSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioTargetSettings")
            .field("backoff", &self.backoff)
            .field("line_limit", &self.line_limit)
            .finish_non_exhaustive()
    }
}

/// A pipe knows no statuses: every answer, errors of the server's own among them, is a 200.
// spec: CMD-21
fn answered(text: String) -> Answer {
    Answer {
        code: PIPE_ANSWER_CODE,
        headers: json_headers(),
        json: Some(text),
        kind: ResponseType::JsonRpcResponse,
        failure: None,
        by_target: true,
    }
}

/// What streamable HTTP answers to a message that asks for nothing.
fn taken() -> Answer {
    Answer::acknowledged(PIPE_ACCEPTED_CODE, Vec::new(), false)
}

fn unsendable(fault: PipeFault) -> TunnelFailure {
    let (source, kind) = match fault {
        PipeFault::Ambiguous => (FailureSource::Protocol, "ambiguous_id"),
        PipeFault::Message(_) => (FailureSource::Protocol, "invalid_message"),
        PipeFault::ProgressTokenInvalid => (FailureSource::Protocol, "progress_token_invalid"),
        PipeFault::Full => (FailureSource::ClientInternal, "pipe_full"),
        _ => (FailureSource::ClientInternal, "pipe"),
    };
    failure(source, Some(kind), false)
}
