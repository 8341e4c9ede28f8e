//! Where commands run: a private MCP server, reached over HTTP or as a child process.

mod http;
mod stdio;

use std::future::Future;

use moorline_model::awaited::{Awaited, INVALID_MESSAGE};
use moorline_model::target::{json_headers, made_answer_headers};
use moorline_model::wire::{FailureSource, ResponseType, TunnelFailure};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

pub(crate) use self::http::SystemResolver;
#[cfg(feature = "cli")]
pub(crate) use self::http::failure_of;
pub use self::http::{ClientIdentity, HttpTarget, HttpTargetSettings, MAX_ANSWER_BYTES};
pub use self::stdio::{
    CommandFault, CommandLine, MAX_LINE_BYTES, Stderr, StdioTarget, StdioTargetSettings,
};

/// One JSON-RPC message of a command, to be run once.
pub struct Call {
    /// The message as it was received, byte for byte.
    pub message: Box<RawValue>,
    /// The command's own header lines, names as received.
    pub headers: Vec<(String, Vec<String>)>,
    /// When nobody waits for the answer any more.
    pub deadline: Option<Instant>,
}

/// What a target made of a call.
pub struct Answer {
    /// The status that the response reports.
    pub code: u16,
    /// The header lines that the response reports, as the model let them through.
    pub headers: Vec<(String, Vec<String>)>,
    /// The JSON-RPC answer, byte for byte; `None` where the message asked for none.
    pub json: Option<String>,
    /// What kind of response this is. Always a final one.
    pub kind: ResponseType,
    /// Where the answer was made here because the target gave none: why.
    pub failure: Option<TunnelFailure>,
    /// Whether the target itself said this. Not so for what is answered here in its place.
    pub by_target: bool,
}

/// What a target says before its answer: notifications and requests of the server, byte for byte.
pub type Notes = mpsc::Sender<String>;

/// A private MCP server. A call is never run twice: whoever calls decides that by calling once.
pub trait Target: Send + Sync + 'static {
    /// Runs one message and waits for its answer. Messages that belong to it and come before the
    /// answer go to `notes`, in order.
    ///
    /// # Cancellation
    ///
    /// Dropping the future gives the call up: its late answer is discarded, and nothing else that
    /// the target is asked suffers. Only an `initialize` over a pipe is no call like others: the
    /// server cannot be used without its answer, so that the pipe is closed and with it end the calls
    /// on it.
    fn call(&self, call: Call, notes: Notes) -> impl Future<Output = Answer> + Send;

    /// Ends the session that the header lines of a termination command name.
    fn terminate(&self, call: Termination) -> impl Future<Output = Answer> + Send;
}

/// The termination of a session.
pub struct Termination {
    /// The command's own header lines.
    pub headers: Vec<(String, Vec<String>)>,
    /// When nobody waits for the answer any more.
    pub deadline: Option<Instant>,
}

/// Either kind of target.
pub enum AnyTarget {
    /// A server that is reached by streamable HTTP.
    Http(HttpTarget),
    /// A server that runs as a child process.
    Stdio(StdioTarget),
}

impl Target for AnyTarget {
    async fn call(&self, call: Call, notes: Notes) -> Answer {
        match self {
            Self::Http(target) => target.call(call, notes).await,
            Self::Stdio(target) => target.call(call, notes).await,
        }
    }

    async fn terminate(&self, call: Termination) -> Answer {
        match self {
            Self::Http(target) => target.terminate(call).await,
            Self::Stdio(target) => target.terminate(call).await,
        }
    }
}

impl Answer {
    /// A message that asks for no answer was passed on, and `by_target` says whether the target said so.
    fn acknowledged(code: u16, headers: Vec<(String, Vec<String>)>, by_target: bool) -> Self {
        Self {
            code,
            headers,
            json: None,
            kind: ResponseType::NotifyAck,
            failure: None,
            by_target,
        }
    }

    /// The answer that is made here where the target gave none.
    // spec: CMD-22
    pub(crate) fn failed(awaited: &Awaited, failure: TunnelFailure) -> Self {
        Self::refused(awaited.kind(), failure, awaited.error(&failure))
    }

    /// The same, where the target's answer had these header lines at least.
    // spec: CMD-38
    fn failed_with(
        awaited: &Awaited,
        failure: TunnelFailure,
        headers: Vec<(String, Vec<String>)>,
    ) -> Self {
        Self {
            headers: made_answer_headers(headers),
            ..Self::failed(awaited, failure)
        }
    }

    /// An error that is made here, with its text.
    fn refused(kind: ResponseType, failure: TunnelFailure, json: String) -> Self {
        Self {
            code: failure.resp_code(),
            headers: json_headers(),
            json: Some(json),
            kind,
            failure: Some(failure),
            by_target: false,
        }
    }
}

/// What a message is answered that is none. The target never hears of it.
fn unreadable() -> Answer {
    Answer::failed(&Awaited::by_unreadable(), INVALID_MESSAGE)
}

fn failure(source: FailureSource, kind: Option<&'static str>, received: bool) -> TunnelFailure {
    TunnelFailure {
        source,
        transport_error_kind: kind,
        upstream_response_received: received,
    }
}

/// Waits for a future until a deadline; `None` when that has passed.
async fn within<F: Future>(deadline: Option<Instant>, future: F) -> Option<F::Output> {
    match deadline {
        None => Some(future.await),
        Some(deadline) => timeout_at(deadline, future).await.ok(),
    }
}
