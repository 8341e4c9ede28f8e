//! The pipe to a stdio target, shared by all the commands for it: which id each request has on it, and
//! whom each line that comes back is for. No line is read or written here.
//!
//! # One owner a request
//!
//! An *owner* is a command, named by a number of the caller's choice. While its request is in flight
//! no other may use the number.
//!
//! # Writing
//!
//! A request is in flight from the moment at which the pipe takes it, and its line is written later:
//! [`Pipe::writing`] says that it is about to be. A child knows nothing of a request before that. Only
//! a request whose line was surely not written may go to another child, so that nothing runs twice.
//!
//! # Ids
//!
//! Callers choose their ids without knowing of each other. A request keeps its id unless that one is
//! in flight or retired on this child, or might come back changed (an integer beyond 2^53 - 1 or a
//! `-0`, which many JSON readers round, and a lone surrogate). Then a *substitute* that is used once
//! on the pipe stands in its place on the way there, and is taken out on the way back. The same holds
//! for progress tokens.
//!
//! A request that is given up is *retired*: the pipe stays open, and the answer that may still come
//! is recognised and discarded. The pipe remembers [`MAX_RETIRED`] retired requests. Past that the
//! oldest are forgotten, and from then on every id is substituted, so that an answer to a forgotten
//! one never meets a new request.
//!
//! # Answers that are none
//!
//! An answer that is no valid message gets no better by waiting: if it has the id of a request in
//! flight, that request has failed. An error without an id answers a request that its server could not
//! read, and so fails the only one in flight; with several there is no telling which. A failed request
//! is retired, in case the server still finds better words.
//!
//! # Cancellations
//!
//! `notifications/cancelled` names a request by the id that its caller chose, and does not say who the
//! caller is. It is passed on when one request in flight or retired has that id, and dropped when
//! several have. What the pipe cannot know: whether it came from the caller of an older request with
//! the same id, which was answered meanwhile.
//!
//! A server need not answer what was cancelled, and should not. So a cancelled request is retired like
//! one whose time has passed, and its owner hears at once that there will be no answer. `initialize`
//! may not be cancelled: the server may ignore that, and so it goes on here, too.
//!
//! # After a restart
//!
//! A child that came after an initialised one knows nothing of the session. The pipe does not replay
//! `initialize`: what the new child answers may differ from what the callers know, and nobody would
//! tell them. Until a caller has initialised it, other requests than `initialize` and `ping` are
//! refused at once, with an error that says so. The first child may be asked anything: there are
//! servers that need no `initialize`.

use std::collections::VecDeque;

use thiserror::Error;

use crate::jsonrpc::{
    Ambiguous, CANCELLED_METHOD, CANCELLED_REQUEST, ID, INITIALIZE_METHOD, Message, MessageFault,
    PROGRESS_METHOD, PROGRESS_TOKEN, Path, REQUEST_PROGRESS_TOKEN, RawId, id_at, meant_to_answer,
    raw_at, with_value,
};
use crate::wire::{FailureSource, TunnelFailure};

/// The most requests that may be in flight on one pipe.
pub const MAX_IN_FLIGHT: usize = 1024;

/// The most retired requests that a pipe remembers.
pub const MAX_RETIRED: usize = 4096;

/// The `transport_error_kind` of a request that a restarted child is not ready for.
pub const NOT_INITIALIZED: &str = "not_initialized";

/// What begins every substitute, and no other id on the wire: a caller's own id that begins like this
/// is always substituted.
const SUBSTITUTE_PREFIX: &str = "moorline-";

/// What to do with a message for the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// Nothing: a cancellation that may mean another caller's request, so that it is better lost. The
    /// owner is done.
    Dropped,
    /// Answer it without the target: it was restarted, and no caller has initialised it since.
    Refused {
        /// Why.
        failure: TunnelFailure,
        /// The JSON-RPC error.
        text: String,
    },
    /// Write it.
    Send {
        /// One line, without its end.
        wire_text: String,
        /// The id on the wire of a request, which is now in flight; `None` for what asks for no
        /// answer, whose owner is done once it is written.
        wire_id: Option<RawId>,
        /// The owner of a request that this cancels. It is not in flight any more, and was
        /// [`CANCELLED`](crate::awaited::CANCELLED).
        cancels: Option<u64>,
    },
}

/// Whom a line from the target is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Routed {
    /// The answer to a request, which is not in flight any more.
    Answer {
        /// Whose.
        owner: u64,
        /// The answer, with the id as the owner wrote it.
        text: String,
    },
    /// A request has failed, and is not in flight any more: what came for it is no answer.
    Failed {
        /// Whose.
        owner: u64,
        /// Why.
        failure: TunnelFailure,
    },
    /// No JSON-RPC message: skip the line.
    Invalid(MessageFault),
    /// A notification.
    Notification {
        /// Whom it is for. `None`: nobody; it is dropped.
        owner: Option<u64>,
        /// The notification, with the progress token as the owner wrote it.
        text: String,
    },
    /// A request of the target that nobody can take: write this answer back.
    Reply(String),
    /// The late answer to a retired request: discard it.
    Retired,
    /// A request of the target, for the command that has been in flight for longest.
    ServerRequest {
        /// Whom it is for.
        owner: u64,
        /// The request, as received.
        text: String,
        /// The answer to write back if it cannot be passed on, so that the target does not wait.
        otherwise: String,
    },
    /// An answer to nothing that was asked: discard it.
    Unknown,
}

/// The requests that ended with a child, by their owners, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closed {
    /// They may have run, and will not be answered.
    pub failed: Vec<u64>,
    /// No byte of them was written: each may go to the next child, once.
    pub unwritten: Vec<u64>,
}

/// What is left to do after a request was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Retirement {
    /// It was `initialize`: close the pipe, as the child is of no use.
    ClosePipe,
    /// The pipe stays open.
    KeepPipe,
    /// The owner has no request in flight.
    NotInFlight,
}

/// Why a message cannot go on the pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum PipeFault {
    /// The id, the progress token or the cancelled request is named in two ways.
    #[error("a message must name its ids once")]
    Ambiguous,
    /// Too many requests are in flight.
    #[error("at most 1024 requests may be in flight")]
    Full,
    /// No JSON-RPC message.
    #[error(transparent)]
    Message(#[from] MessageFault),
    /// The owner's last request is still in flight.
    #[error("an owner must have one request in flight")]
    OwnerBusy,
    /// A progress token that is neither a string nor an integer: what comes back for it might be for
    /// another's.
    #[error("a progress token must be a string or an integer")]
    ProgressTokenInvalid,
}

/// The requests on one pipe, over all the children that it leads to one after another.
#[derive(Clone, Debug, Default)]
pub struct Pipe {
    /// Oldest first.
    in_flight: Vec<Request>,
    /// Oldest first.
    retired: VecDeque<Request>,
    /// A retired request of this child was forgotten.
    forgetful: bool,
    last_substitute: u64,
    /// This child has answered `initialize`.
    initialized: bool,
    /// A child before this one had.
    initialized_before: bool,
}

#[derive(Clone, Debug)]
struct Request {
    owner: u64,
    is_initialize: bool,
    /// The child may know of it.
    begun: bool,
    /// Its caller has cancelled it, and will hardly do so again.
    cancelled: bool,
    id: Exchange,
    progress_token: Option<Exchange>,
}

/// An id or token as its owner wrote it, and as it stands on the wire.
#[derive(Clone, Debug)]
struct Exchange {
    given: RawId,
    wire: RawId,
}

impl Pipe {
    /// A pipe to a first child.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a message of `owner` for the target, and says what to write. Line breaks between the
    /// members of the message become spaces; ids and progress tokens are exchanged where they must
    /// be; every other byte stays.
    ///
    /// # Errors
    ///
    /// A message that cannot go on the pipe. Nothing is in flight for it.
    pub fn begin(&mut self, owner: u64, text: &str) -> Result<Begun, PipeFault> {
        match Message::parse(text)? {
            Message::Request { id, method } => self.begin_request(owner, text, id, &method),
            Message::Notification { method } if method == CANCELLED_METHOD => self.cancel(text),
            Message::Notification { .. } | Message::Response { .. } | Message::Error { .. } => {
                Ok(send(text, None))
            }
        }
    }

    /// The line of a request is about to be written. False if it is not in flight any more: then it is
    /// not written, so that nothing runs for which nobody waits.
    // spec: CMD-19
    pub fn writing(&mut self, owner: u64) -> bool {
        let request = self.in_flight.iter_mut().find(|r| r.owner == owner);
        request.is_some_and(|request| {
            request.begun = true;
            true
        })
    }

    /// The line of a request could not be written to its end; `partly`: some of it may have been. The
    /// request is not in flight any more. Gives whether it may go to the next child.
    // spec: CMD-36
    pub fn not_written(&mut self, owner: u64, partly: bool) -> bool {
        match self.take(owner) {
            Some(request) if partly => {
                self.remember(request);
                false
            }
            Some(_) => true,
            None => false,
        }
    }

    /// Takes one line from the target, without its end, and says whom it is for.
    pub fn received(&mut self, line: &str) -> Routed {
        match Message::parse(line) {
            Ok(Message::Response { id }) => self.answered(line, &id, true),
            Ok(Message::Error { id: Some(id) }) => self.answered(line, &id, false),
            Ok(Message::Error { id: None }) => self.answered_without_an_id(),
            Ok(Message::Notification { method }) if method == PROGRESS_METHOD => {
                self.progressed(line)
            }
            Ok(Message::Notification { .. }) => Routed::Notification {
                owner: self.known().next().map(|request| request.owner),
                text: line.to_owned(),
            },
            Ok(Message::Request { id, method }) => match self.known().next() {
                Some(request) => Routed::ServerRequest {
                    owner: request.owner,
                    text: line.to_owned(),
                    otherwise: reply(&id, &method, -32603, "this request could not be passed on"),
                },
                None => {
                    let why = "no request is in flight that could carry this one to a client";
                    Routed::Reply(reply(&id, &method, -32601, why))
                }
            },
            Err(fault) => self.invalid(line, fault),
        }
    }

    /// Gives the request of `owner` up, because its time has passed or nobody waits for it: its
    /// answer, should it come, is discarded.
    // spec: CMD-20, RPT-4
    pub fn retire(&mut self, owner: u64) -> Retirement {
        let Some(request) = self.take(owner) else {
            return Retirement::NotInFlight;
        };
        let retirement = if request.is_initialize {
            Retirement::ClosePipe
        } else {
            Retirement::KeepPipe
        };
        self.remember(request);
        retirement
    }

    /// The child has gone, and the next line goes to a new one. Gives the owners whose requests will
    /// not be answered: they failed with [`TransportClosed`](FailureSource::TransportClosed), unless
    /// the next child gets them.
    // spec: CMD-36
    pub fn closed(&mut self) -> Closed {
        self.retired.clear();
        self.forgetful = false;
        self.initialized_before |= self.initialized;
        self.initialized = false;
        let mut closed = Closed::default();
        for request in std::mem::take(&mut self.in_flight) {
            if request.begun {
                closed.failed.push(request.owner);
            } else {
                closed.unwritten.push(request.owner);
            }
        }
        closed
    }

    /// How many requests are in flight.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    fn begin_request(
        &mut self,
        owner: u64,
        text: &str,
        id: RawId,
        method: &str,
    ) -> Result<Begun, PipeFault> {
        if self.in_flight.iter().any(|request| request.owner == owner) {
            return Err(PipeFault::OwnerBusy);
        }
        if self.in_flight.len() >= MAX_IN_FLIGHT {
            return Err(PipeFault::Full);
        }
        let progress_token = progress_token(text)?;
        // spec: RPT-6
        if self.needs_initialize() && !matches!(method, INITIALIZE_METHOD | "ping") {
            return Ok(refused(&id));
        }
        let id = self.exchange(id, |request| Some(&request.id));
        let progress_token = progress_token
            .map(|token| self.exchange(token, |request| request.progress_token.as_ref()));

        let mut wire_text = exchanged(text, ID, &id.given, &id.wire);
        if let Some(token) = &progress_token {
            wire_text = exchanged(
                &wire_text,
                REQUEST_PROGRESS_TOKEN,
                &token.given,
                &token.wire,
            );
        }
        let begun = send(&wire_text, Some(id.wire.clone()));
        self.in_flight.push(Request {
            owner,
            is_initialize: method == INITIALIZE_METHOD,
            begun: false,
            cancelled: false,
            id,
            progress_token,
        });
        Ok(begun)
    }

    /// A cancellation is for the request that its caller knows by the id in it. Other callers may have
    /// used the same one: then nobody can tell whose is meant.
    fn cancel(&mut self, text: &str) -> Result<Begun, PipeFault> {
        let Some(id) = id_at(text, CANCELLED_REQUEST)? else {
            return Ok(send(text, None));
        };
        let (meant, others) = {
            let same = |request: &&Request| request.id.given == id && !request.cancelled;
            let mut meant = self.on_wire().filter(same);
            (meant.next(), meant.next())
        };
        match (meant, others) {
            (Some(request), None) => {
                let text = exchanged(text, CANCELLED_REQUEST, &id, &request.id.wire);
                Ok(Begun::Send {
                    wire_text: on_one_line(&text),
                    wire_id: None,
                    cancels: self.end_cancelled(&id),
                })
            }
            (Some(_), Some(_)) => Ok(Begun::Dropped),
            // What is on the wire under this name is a substitute for another id.
            (None, _) if id.text_starts_with(SUBSTITUTE_PREFIX) => Ok(Begun::Dropped),
            (None, _) => Ok(send(text, None)),
        }
    }

    /// Retires the request that its caller has cancelled by this id, and gives its owner. `None` if it
    /// is not in flight, or goes on.
    // spec: CMD-33
    fn end_cancelled(&mut self, given: &RawId) -> Option<u64> {
        let meant = |request: &Request| request.id.given == *given && !request.is_initialize;
        let at = self.in_flight.iter().position(meant)?;
        let request = Request {
            cancelled: true,
            ..self.in_flight.remove(at)
        };
        let owner = request.owner;
        self.remember(request);
        Some(owner)
    }

    /// Takes a request out of those in flight.
    fn take(&mut self, owner: u64) -> Option<Request> {
        let at = self.in_flight.iter().position(|r| r.owner == owner)?;
        Some(self.in_flight.remove(at))
    }

    /// Remembers a request whose answer may still come.
    fn remember(&mut self, request: Request) {
        self.retired.push_back(request);
        if self.retired.len() > MAX_RETIRED {
            self.retired.pop_front();
            self.forgetful = true;
        }
    }

    // spec: RPT-6
    fn needs_initialize(&self) -> bool {
        self.initialized_before && !self.initialized
    }

    /// The requests in flight that the child may know of, oldest first.
    fn known(&self) -> impl Iterator<Item = &Request> {
        self.in_flight.iter().filter(|request| request.begun)
    }

    /// Every request whose answer may still come, as far as the pipe remembers.
    fn on_wire(&self) -> impl Iterator<Item = &Request> {
        self.in_flight.iter().chain(&self.retired)
    }

    /// Chooses what stands for an id or token on the wire: itself where it can.
    fn exchange(&mut self, given: RawId, of: fn(&Request) -> Option<&Exchange>) -> Exchange {
        let keeps = !self.forgetful
            && given.is_portable()
            && !given.text_starts_with(SUBSTITUTE_PREFIX)
            && !self.on_wire().filter_map(of).any(|used| used.wire == given);
        let wire = if keeps {
            given.clone()
        } else {
            // Never the same twice: no pipe makes 2^64 of them.
            self.last_substitute = self.last_substitute.wrapping_add(1);
            RawId::of_text(&format!("{SUBSTITUTE_PREFIX}{}", self.last_substitute))
        };
        Exchange { given, wire }
    }

    fn answered(&mut self, line: &str, id: &RawId, is_result: bool) -> Routed {
        if let Some(at) = self.in_flight.iter().position(|r| r.id.wire == *id) {
            let request = self.in_flight.remove(at);
            self.initialized |= request.is_initialize && is_result;
            return Routed::Answer {
                owner: request.owner,
                text: exchanged(line, ID, id, &request.id.given),
            };
        }
        // spec: CMD-20
        match self.retired.iter().position(|r| r.id.wire == *id) {
            Some(at) => {
                // It will not be answered twice, so that its id is free again.
                self.retired.remove(at);
                Routed::Retired
            }
            None => Routed::Unknown,
        }
    }

    // spec: CMD-34
    fn invalid(&mut self, line: &str, fault: MessageFault) -> Routed {
        let failed = meant_to_answer(line)
            .and_then(|id| self.in_flight.iter().find(|r| r.id.wire == id))
            .map(|request| request.owner);
        match failed {
            Some(owner) => self.failed(owner, "invalid_answer"),
            None => Routed::Invalid(fault),
        }
    }

    // spec: CMD-34
    fn answered_without_an_id(&mut self) -> Routed {
        let owners: Vec<u64> = self.known().map(|request| request.owner).take(2).collect();
        match *owners {
            [owner] => self.failed(owner, "error_without_id"),
            _ => Routed::Unknown,
        }
    }

    /// Ends a request that got no valid answer.
    fn failed(&mut self, owner: u64, kind: &'static str) -> Routed {
        // That it might be `initialize` matters only to one whose time has passed: this was answered.
        self.retire(owner);
        Routed::Failed {
            owner,
            failure: TunnelFailure {
                source: FailureSource::Protocol,
                transport_error_kind: Some(kind),
                upstream_response_received: true,
            },
        }
    }

    fn progressed(&self, line: &str) -> Routed {
        let token = id_at(line, PROGRESS_TOKEN).ok().flatten();
        let found = self.in_flight.iter().find_map(|request| {
            let exchange = request.progress_token.as_ref()?;
            (token.as_ref() == Some(&exchange.wire)).then_some((request.owner, &exchange.given))
        });
        match (token, found) {
            (Some(token), Some((owner, given))) => Routed::Notification {
                owner: Some(owner),
                text: exchanged(line, PROGRESS_TOKEN, &token, given),
            },
            _ => Routed::Notification {
                owner: None,
                text: line.to_owned(),
            },
        }
    }
}

impl From<Ambiguous> for PipeFault {
    fn from(Ambiguous: Ambiguous) -> Self {
        Self::Ambiguous
    }
}

fn send(text: &str, wire_id: Option<RawId>) -> Begun {
    Begun::Send {
        wire_text: on_one_line(text),
        wire_id,
        cancels: None,
    }
}

/// A message on one line. JSON has line breaks only between its parts, where a space means the same.
fn on_one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// The text with `to` in the place of `from`, unless they are written alike.
fn exchanged(text: &str, path: Path, from: &RawId, to: &RawId) -> String {
    if from.raw() == to.raw() {
        text.to_owned()
    } else {
        with_value(text, path, to)
    }
}

/// The token that the progress of a request is to carry. Null is as good as none.
fn progress_token(text: &str) -> Result<Option<RawId>, PipeFault> {
    match raw_at(text, REQUEST_PROGRESS_TOKEN)? {
        None | Some("null") => Ok(None),
        Some(raw) => match RawId::parse(raw) {
            Some(token) => Ok(Some(token)),
            None => Err(PipeFault::ProgressTokenInvalid),
        },
    }
}

// spec: RPT-6
fn refused(id: &RawId) -> Begun {
    let failure = TunnelFailure {
        source: FailureSource::Protocol,
        transport_error_kind: Some(NOT_INITIALIZED),
        upstream_response_received: false,
    };
    let message = "the MCP server was restarted and must be initialized again";
    Begun::Refused {
        failure,
        text: failure.to_jsonrpc_error(id.raw(), message),
    }
}

/// What a request of the target gets that nobody takes.
// spec: CMD-35
fn reply(id: &RawId, method: &str, code: i32, message: &'static str) -> String {
    let id = id.raw();
    if method == "ping" {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)
    } else {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"{message}"}}}}"#)
    }
}

#[cfg(test)]
mod tests;
