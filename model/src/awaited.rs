//! What the sender of a command waits for, and what it is told where no target answers.

use crate::jsonrpc::{Message, MessageFault, RawId};
use crate::wire::{Command, CommandKind, FailureSource, ResponseType, TunnelFailure};

/// The status of an answer over a pipe, which knows no statuses: of errors of the server's own, too.
// spec: CMD-21
pub const PIPE_ANSWER_CODE: u16 = 200;

/// The status of what a pipe was sent and asks for no answer, as over streamable HTTP.
pub const PIPE_ACCEPTED_CODE: u16 = 202;

/// The status of the termination of a session where there are none: over a pipe.
// spec: CMD-26
pub const NO_SESSIONS_CODE: u16 = 405;

/// The status of a command for a channel that is not served. No other channel takes its place.
// spec: CMD-25
pub const UNKNOWN_CHANNEL_CODE: u16 = 400;

/// The status of a message that the target sends before its answer.
pub const NOTIFY_CODE: u16 = 200;

/// Why a command for a channel that is not served failed.
// spec: CMD-25
pub const UNKNOWN_CHANNEL: TunnelFailure = internal("unknown_channel");

/// Why a command failed that still ran when the client had to end.
pub const SHUTTING_DOWN: TunnelFailure = internal("shutting_down");

/// Why a command ends without an answer whose caller has cancelled it: nothing is posted for it.
// spec: CMD-33
pub const CANCELLED: TunnelFailure = internal("cancelled");

/// Why a command failed whose message is none of JSON-RPC. The target never hears of it.
pub const INVALID_MESSAGE: TunnelFailure = TunnelFailure {
    source: FailureSource::Protocol,
    transport_error_kind: Some("invalid_message"),
    upstream_response_received: false,
};

const fn internal(kind: &'static str) -> TunnelFailure {
    TunnelFailure {
        source: FailureSource::ClientInternal,
        transport_error_kind: Some(kind),
        upstream_response_received: false,
    }
}

/// The answer that one command waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaited {
    request: Option<RawId>,
    kind: ResponseType,
}

impl Awaited {
    /// What a message waits for: a request for the answer with its id, anything else for the news
    /// that it was taken.
    ///
    /// # Errors
    ///
    /// A text that is no message. Whoever sent it waits for [`Awaited::by_unreadable`].
    // spec: CMD-10
    pub fn by_message(text: &str) -> Result<Self, MessageFault> {
        let (request, kind) = match Message::parse(text)? {
            Message::Request { id, .. } => (Some(id), ResponseType::JsonRpcResponse),
            Message::Notification { .. } | Message::Response { .. } | Message::Error { .. } => {
                (None, ResponseType::NotifyAck)
            }
        };
        Ok(Self { request, kind })
    }

    /// What a message waits for that cannot be read: an answer without an id.
    #[must_use]
    pub fn by_unreadable() -> Self {
        Self {
            request: None,
            kind: ResponseType::JsonRpcResponse,
        }
    }

    /// What the termination of a session waits for.
    // spec: CMD-10
    #[must_use]
    pub fn by_termination() -> Self {
        Self {
            request: None,
            kind: ResponseType::SessionTerminationResponse,
        }
    }

    /// What a command waits for.
    #[must_use]
    pub fn by_command(command: &Command) -> Self {
        match (command.kind, &command.jsonrpc) {
            (CommandKind::SessionTermination, _) => Self::by_termination(),
            (CommandKind::JsonRpc | CommandKind::Unknown, Some(message)) => {
                Self::by_message(message.get()).unwrap_or_else(|_| Self::by_unreadable())
            }
            (CommandKind::JsonRpc | CommandKind::Unknown, None) => Self::by_unreadable(),
        }
    }

    /// The id that the answer must have; `None` where none is asked for.
    #[must_use]
    pub fn request(&self) -> Option<&RawId> {
        self.request.as_ref()
    }

    /// Whether a message that a child of a pipe has not seen may go to the next one. What asks for no
    /// answer may not: it is about something that the child knew.
    // spec: CMD-36
    #[must_use]
    pub fn may_go_to_the_next_child(&self) -> bool {
        self.request.is_some()
    }

    /// The type of the response that ends it.
    #[must_use]
    pub fn kind(&self) -> ResponseType {
        self.kind
    }

    /// The JSON-RPC error that is made here where the target gave no answer. Who sent a notification,
    /// which has no id, learns of it by an error with the id null.
    // spec: CMD-22
    #[must_use]
    pub fn error(&self, failure: &TunnelFailure) -> String {
        let id = self.request.as_ref().map_or("null", RawId::raw);
        failure.to_jsonrpc_error(id, failure.phrase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Envelope;

    fn command(members: &str) -> Command {
        let body = format!(r#"{{"commands":[{{"request_id":"r","shard_token":"t",{members}}}]}}"#);
        Envelope::parse(body.as_bytes()).unwrap().commands.remove(0)
    }

    // spec-test: CMD-10, CMD-36
    #[test]
    fn each_command_waits_for_its_own_kind_of_answer() {
        let jsonrpc = |message: &str| format!(r#""command_type":"jsonrpc","jsonrpc":{message}"#);
        for (members, request, kind) in [
            (
                jsonrpc(r#"{"jsonrpc":"2.0","id":"a","method":"m"}"#),
                Some(r#""a""#),
                ResponseType::JsonRpcResponse,
            ),
            (
                jsonrpc(r#"{"jsonrpc":"2.0","method":"m"}"#),
                None,
                ResponseType::NotifyAck,
            ),
            (
                jsonrpc(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
                None,
                ResponseType::NotifyAck,
            ),
            (jsonrpc("{}"), None, ResponseType::JsonRpcResponse),
            (
                r#""command_type":"session_termination""#.to_owned(),
                None,
                ResponseType::SessionTerminationResponse,
            ),
        ] {
            let awaited = Awaited::by_command(&command(&members));
            assert_eq!(awaited.request().map(RawId::raw), request, "{members}");
            assert_eq!(awaited.kind(), kind, "{members}");
            assert_eq!(awaited.may_go_to_the_next_child(), request.is_some());
        }
    }

    // spec-test: CMD-22, CMD-25
    #[test]
    fn the_error_repeats_the_id_and_says_why() {
        let message = r#"{"jsonrpc":"2.0","id":7,"method":"m"}"#;
        let error = Awaited::by_message(message)
            .unwrap()
            .error(&UNKNOWN_CHANNEL);
        assert!(
            error.starts_with(r#"{"jsonrpc":"2.0","id":7,"error":"#),
            "{error}"
        );
        assert!(
            error.contains(r#""transport_error_kind":"unknown_channel""#),
            "{error}"
        );
        let error = Awaited::by_unreadable().error(&INVALID_MESSAGE);
        assert!(error.contains(r#""id":null"#) && error.contains(r#""source":"protocol""#));
    }
}
