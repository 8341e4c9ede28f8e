use std::fmt;
use std::time::Duration;

use serde_json::value::RawValue;
use thiserror::Error;

use super::channel::Channel;
use super::command_headers::read_headers;
use super::json::{JsonFault, for_each_element, for_each_member, string_text};
use super::member::{Member, Repeated};
use super::response_timeout::parse_response_timeout;

/// The greatest length of a command's `request_id`, in bytes.
pub const MAX_REQUEST_ID_BYTES: usize = 4096;

/// The greatest length of a command's token, in bytes. What an HTTP library sends in one header line
/// without trouble.
pub const MAX_COMMAND_TOKEN_BYTES: usize = 65_536;

/// The longest request id that a log line may hold, in bytes.
// spec: CMD-29
pub const MAX_LOGGED_REQUEST_ID_BYTES: usize = 128;

/// The longest text of a deadline, and of an unknown type, that a log line may hold, in bytes.
// spec: CMD-29
pub const MAX_LOGGED_TEXT_BYTES: usize = 64;

/// The decoded body of a successful poll.
#[derive(Debug, Default)]
pub struct Envelope {
    /// The commands, in the order received.
    pub commands: Vec<Command>,
    /// How many members of `commands` could not be read as commands and were dropped.
    pub dropped: usize,
}

/// One command.
// spec: CMD-1, CMD-4
pub struct Command {
    /// Names the command in its response. 1 to 4096 bytes.
    pub request_id: String,
    /// What the response must echo.
    pub shard_token: CommandToken,
    /// What kind of command it is, as received. Not empty.
    pub command_type: String,
    /// What kind of command it is.
    pub kind: CommandKind,
    /// Which target it is for.
    pub channel: Channel,
    /// When the service made it, as received and without meaning here.
    pub created_at: Option<String>,
    /// How long after its receipt it may be answered. `None`: for ever.
    pub response_timeout: Option<Duration>,
    /// The text of `response_timeout` for the log: only when it is valid and at most 64 bytes.
    pub response_timeout_text: Option<String>,
    /// Header names as received, in order, each with its values.
    pub headers: Vec<(String, Vec<String>)>,
    /// The JSON-RPC message, an object, byte for byte; always there when the kind is
    /// [`CommandKind::JsonRpc`].
    pub jsonrpc: Option<Box<RawValue>>,
}

/// What kind of command it is.
// spec: CMD-2
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CommandKind {
    /// A JSON-RPC message for the target.
    JsonRpc,
    /// The end of a session with the target.
    SessionTermination,
    /// Of a later version: warn, and skip it.
    Unknown,
}

/// What a log line about the receipt of a command may hold, beside the time.
// spec: CMD-29
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt<'a> {
    /// The type as received, or `unknown` for one of more than 64 bytes or with control characters.
    pub command_type: &'a str,
    /// The request id, if it has at most 128 bytes.
    pub request_id: Option<&'a str>,
    /// The text of the deadline, if it is valid and has at most 64 bytes.
    pub response_timeout: Option<&'a str>,
}

/// The opaque token of one command, echoed by its responses. Old services put any bytes there, so it
/// is never checked as a placement token; only what no header line can carry is refused. A secret: it
/// prints nothing of itself. Never empty.
#[derive(Clone, PartialEq, Eq)]
pub struct CommandToken(String);

/// Why a 200 body is no envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum EnvelopeFault {
    /// `commands` is neither an array nor null.
    #[error("the member commands must be an array")]
    CommandsNotAnArray,
    /// There are two members `commands` or more.
    #[error("the member commands must stand once")]
    CommandsRepeated,
    /// The body is JSON, but no object.
    #[error("the body must be a JSON object")]
    NotAnObject,
    /// The body is not exactly one JSON value.
    #[error("the body must be one JSON value")]
    NotJson,
    /// The body is not UTF-8.
    #[error("the body must be UTF-8")]
    NotUtf8,
}

/// Why one member of `commands` is no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum CommandFault {
    /// `channel` names no channel.
    #[error("a command's channel must be a channel's name")]
    ChannelInvalid,
    /// The headers take more than 64 KiB.
    #[error("a command's headers must take at most 65536 bytes")]
    HeadersTooLarge,
    /// More than 128 header names.
    #[error("a command must have at most 128 headers")]
    HeadersTooMany,
    /// A command of type `jsonrpc` has no `jsonrpc` that is an object. An array is none: MCP has no
    /// batches any more.
    #[error("a command of type jsonrpc must have jsonrpc as an object")]
    JsonRpcNotAnObject,
    /// A member that every command needs is absent, no string, or empty.
    #[error("a command must have {0} as a non-empty string")]
    MemberMissing(&'static str),
    /// A member that every command needs stands twice or more.
    #[error("a command must have {0} once")]
    MemberRepeated(&'static str),
    /// No object.
    #[error("a command must be a JSON object")]
    NotAnObject,
    /// `request_id` has more than 4096 bytes.
    #[error("a command's request_id must hold at most 4096 bytes")]
    RequestIdTooLong,
    /// `shard_token` holds a byte that no header line can carry.
    #[error("a command's token must be one that a header line can carry")]
    TokenInvalidByte,
    /// `shard_token` has more than 64 KiB.
    #[error("a command's token must hold at most 65536 bytes")]
    TokenTooLong,
}

impl Envelope {
    /// Reads the complete body of a 200. No `commands`, or null, is an empty list, as services leave
    /// it out when there is nothing to do. A command that cannot be read drops only itself.
    ///
    /// # Errors
    ///
    /// A body that is no such object.
    // spec: CLS-9, LOOP-19
    pub fn parse(body: &[u8]) -> Result<Self, EnvelopeFault> {
        let text = std::str::from_utf8(body).map_err(|_| EnvelopeFault::NotUtf8)?;
        let mut commands = None;
        let mut repeated = false;
        for_each_member(text, |key, value| {
            let value = value.raw()?;
            if key == b"commands" {
                repeated |= commands.replace(value).is_some();
            }
            Ok(())
        })
        .map_err(|fault| match fault {
            JsonFault::NotJson => EnvelopeFault::NotJson,
            JsonFault::OtherKind => EnvelopeFault::NotAnObject,
        })?;
        if repeated {
            return Err(EnvelopeFault::CommandsRepeated);
        }
        match commands {
            None | Some("null") => Ok(Self::default()),
            Some(array) => Self::parse_commands(array),
        }
    }

    // spec: LOOP-18, LOOP-19
    fn parse_commands(array: &str) -> Result<Self, EnvelopeFault> {
        let mut envelope = Self::default();
        for_each_element(array, |value| match Command::parse(value) {
            Ok(command) => envelope.commands.push(command),
            Err(_) => envelope.dropped = envelope.dropped.saturating_add(1),
        })
        .map_err(|_| EnvelopeFault::CommandsNotAnArray)?;
        Ok(envelope)
    }
}

impl Command {
    /// Reads one member of `commands`. Unknown members are accepted, and so are unknown types.
    ///
    /// # Errors
    ///
    /// A value that lacks what every command has, or that cannot be answered or understood.
    // spec: CMD-1, CMD-2, CMD-3, CMD-4, CMD-8, CMD-9, CMD-17
    pub fn parse(raw: &str) -> Result<Self, CommandFault> {
        let members = Members::read(raw)?;
        let command_type = needed(&members.command_type)?;
        let kind = CommandKind::of(&command_type);
        let request_id = needed(&members.request_id)?;
        if request_id.len() > MAX_REQUEST_ID_BYTES {
            return Err(CommandFault::RequestIdTooLong);
        }
        let timeout_text = text_or_nothing(&members.response_timeout);
        let response_timeout = timeout_text.as_deref().and_then(parse_response_timeout);
        Ok(Self {
            request_id,
            shard_token: CommandToken::new(needed(&members.shard_token)?)?,
            kind,
            command_type,
            channel: channel(once(&members.channel)?)?,
            created_at: text_or_nothing(&members.created_at),
            response_timeout,
            response_timeout_text: timeout_text
                .filter(|text| response_timeout.is_some() && text.len() <= MAX_LOGGED_TEXT_BYTES),
            headers: read_headers(once(&members.headers)?)?,
            jsonrpc: jsonrpc(once(&members.jsonrpc)?, kind)?,
        })
    }

    /// The value of the command's header `X-Request-Id`, which each of its POSTs echoes as
    /// `X-Client-Request-Id`: the first one, if a header line can carry it.
    // spec: CMD-11
    #[must_use]
    pub fn client_request_id(&self) -> Option<&str> {
        let (_, values) = self
            .headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("x-request-id"))?;
        let value = values.first()?;
        (!value.is_empty() && is_header_value(value.as_bytes())).then_some(value)
    }

    /// What a log line about the receipt of this command may hold, beside the time.
    // spec: CMD-29
    #[must_use]
    pub fn receipt(&self) -> Receipt<'_> {
        let short_type = self.command_type.len() <= MAX_LOGGED_TEXT_BYTES;
        let printable = short_type && !self.command_type.chars().any(char::is_control);
        Receipt {
            command_type: if printable {
                &self.command_type
            } else {
                "unknown"
            },
            request_id: Some(&*self.request_id)
                .filter(|id| id.len() <= MAX_LOGGED_REQUEST_ID_BYTES),
            response_timeout: self.response_timeout_text.as_deref(),
        }
    }
}

impl CommandKind {
    // spec: CMD-2
    fn of(command_type: &str) -> Self {
        match command_type {
            "jsonrpc" => Self::JsonRpc,
            "session_termination" => Self::SessionTermination,
            _ => Self::Unknown,
        }
    }
}

/// A service that has no channel to name leaves the member out, or sends null or nothing in it.
// spec: CMD-3
fn channel(raw: Option<&str>) -> Result<Channel, CommandFault> {
    let Some(raw) = raw else {
        return Ok(Channel::main());
    };
    let text = string_text(raw).ok_or(CommandFault::ChannelInvalid)?;
    if text.trim().is_empty() {
        return Ok(Channel::main());
    }
    Channel::parse(&text).map_err(|_| CommandFault::ChannelInvalid)
}

// spec: CMD-4
fn jsonrpc(raw: Option<&str>, kind: CommandKind) -> Result<Option<Box<RawValue>>, CommandFault> {
    let message = raw
        .filter(|raw| raw.starts_with('{'))
        .and_then(|raw| RawValue::from_string(raw.to_owned()).ok());
    if message.is_none() && kind == CommandKind::JsonRpc {
        return Err(CommandFault::JsonRpcNotAnObject);
    }
    Ok(message)
}

/// The members of a command that mean something.
struct Members<'a> {
    request_id: Member<'a>,
    shard_token: Member<'a>,
    command_type: Member<'a>,
    channel: Member<'a>,
    created_at: Member<'a>,
    response_timeout: Member<'a>,
    headers: Member<'a>,
    jsonrpc: Member<'a>,
}

impl<'a> Members<'a> {
    fn read(raw: &'a str) -> Result<Self, CommandFault> {
        let mut members = Self {
            request_id: Member::new("request_id"),
            shard_token: Member::new("shard_token"),
            command_type: Member::new("command_type"),
            channel: Member::new("channel"),
            created_at: Member::new("created_at"),
            response_timeout: Member::new("response_timeout"),
            headers: Member::new("headers"),
            jsonrpc: Member::new("jsonrpc"),
        };
        for_each_member(raw, |key, value| {
            let value = value.raw()?;
            for member in members.all() {
                member.offer(key, value);
            }
            Ok(())
        })
        .map_err(|_| CommandFault::NotAnObject)?;
        Ok(members)
    }

    fn all(&mut self) -> [&mut Member<'a>; 8] {
        [
            &mut self.request_id,
            &mut self.shard_token,
            &mut self.command_type,
            &mut self.channel,
            &mut self.created_at,
            &mut self.response_timeout,
            &mut self.headers,
            &mut self.jsonrpc,
        ]
    }
}

/// The raw value of a member that may stand once at most; null is as good as nothing.
fn once<'a>(member: &Member<'a>) -> Result<Option<&'a str>, CommandFault> {
    Ok(member.once()?.filter(|value| *value != "null"))
}

/// The text of a member that must be there, and not be empty.
// spec: CMD-1
fn needed(member: &Member<'_>) -> Result<String, CommandFault> {
    once(member)?
        .and_then(string_text)
        .filter(|text| !text.is_empty())
        .ok_or(CommandFault::MemberMissing(member.name()))
}

/// The text of a member that counts only when it stands once and is a string.
fn text_or_nothing(member: &Member<'_>) -> Option<String> {
    once(member).ok().flatten().and_then(string_text)
}

impl From<Repeated> for CommandFault {
    fn from(Repeated(name): Repeated) -> Self {
        Self::MemberRepeated(name)
    }
}

impl CommandToken {
    // spec: CMD-8, CMD-9
    fn new(text: String) -> Result<Self, CommandFault> {
        if text.len() > MAX_COMMAND_TOKEN_BYTES {
            return Err(CommandFault::TokenTooLong);
        }
        if !is_header_value(text.as_bytes()) {
            return Err(CommandFault::TokenInvalidByte);
        }
        Ok(Self(text))
    }

    /// The token itself, for the one header that echoes it. Never log it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

// spec: PRIV-3
impl fmt::Debug for CommandToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CommandToken(..)")
    }
}

/// Prints the type alone: a command holds its token and whatever the user of a tool wrote.
// spec: PRIV-3
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command").finish_non_exhaustive()
    }
}

/// Whether one header line can carry these bytes: anything but control bytes, of which tab is allowed.
// spec: CMD-9
pub(crate) fn is_header_value(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .all(|byte| matches!(byte, b'\t' | b' '..=b'~' | 0x80..))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn command(id: &str) -> String {
        format!(
            r#"{{"command_type":"jsonrpc","request_id":"{id}","shard_token":"old, token",
            "jsonrpc":{{ "y" : [1e999,"\ud800"] }},"x":[1e999]}}"#
        )
    }

    /// A command of type `jsonrpc` with more members.
    fn with(members: &str) -> Result<Command, CommandFault> {
        Command::parse(&format!(
            r#"{{"command_type":"jsonrpc","request_id":"r","shard_token":"t","jsonrpc":{{}},{members}}}"#
        ))
    }

    // spec-test: CMD-1, CMD-4, CMD-8
    #[test]
    fn reads_commands_in_order_and_keeps_their_messages_whole() {
        let body = format!(
            r#"{{"x":1,"commands":[{},{}],"x":2}}"#,
            command("a"),
            command("b")
        );
        let envelope = Envelope::parse(body.as_bytes()).unwrap();
        let ids: Vec<_> = envelope
            .commands
            .iter()
            .map(|found| &*found.request_id)
            .collect();
        assert_eq!((ids, envelope.dropped), (vec!["a", "b"], 0));
        assert_eq!(
            envelope.commands[0].jsonrpc.as_ref().unwrap().get(),
            r#"{ "y" : [1e999,"\ud800"] }"#
        );
        assert_eq!(envelope.commands[0].shard_token.expose(), "old, token");
        assert_eq!(envelope.commands[0].command_type, "jsonrpc");
    }

    // spec-test: CLS-9, CLS-10
    #[test]
    fn takes_no_commands_in_any_form() {
        for body in [
            r#"{"commands":[]}"#,
            r#"{"commands":null}"#,
            "{}",
            r#"{"x":[]}"#,
        ] {
            let envelope = Envelope::parse(body.as_bytes()).unwrap();
            assert_eq!(
                (envelope.commands.len(), envelope.dropped),
                (0, 0),
                "{body}"
            );
        }
    }

    // spec-test: LOOP-18
    #[test]
    fn takes_every_command_however_many() {
        let ids: Vec<String> = (0..100).map(|n| format!("id-{n}")).collect();
        let commands: Vec<String> = ids.iter().map(|id| command(id)).collect();
        let body = format!(r#"{{"commands":[{}]}}"#, commands.join(","));
        let envelope = Envelope::parse(body.as_bytes()).unwrap();
        let found: Vec<_> = envelope
            .commands
            .iter()
            .map(|found| &*found.request_id)
            .collect();
        assert_eq!(
            (found, envelope.dropped),
            (ids.iter().map(|id| &**id).collect(), 0)
        );
    }

    // spec-test: CLS-10, LOOP-19, CMD-1, CMD-9
    #[test]
    fn a_bad_command_drops_only_itself() {
        let bad = [
            "1",
            "null",
            "[]",
            "{}",
            r#"{"request_id":"a"}"#,
            r#"{"command_type":"jsonrpc","request_id":"","shard_token":"t"}"#,
            r#"{"command_type":"jsonrpc","request_id":"a","shard_token":""}"#,
            r#"{"command_type":"jsonrpc","request_id":"a","shard_token":7}"#,
            r#"{"command_type":"jsonrpc","request_id":"\ud800","shard_token":"t"}"#,
            r#"{"command_type":"jsonrpc","request_id":"a","request_id":"a","shard_token":"t"}"#,
            r#"{"request_id":"a","shard_token":"t","jsonrpc":{}}"#,
            r#"{"command_type":"jsonrpc","request_id":"a","shard_token":"t"}"#,
            r#"{"command_type":"jsonrpc","request_id":"a","shard_token":"\n","jsonrpc":{}}"#,
            r#"{"command_type":"jsonrpc","request_id":"a","shard_token":"t","jsonrpc":{},"channel":"-."}"#,
        ];
        let body = format!(r#"{{"commands":[{},{}]}}"#, bad.join(","), command("good"));
        let envelope = Envelope::parse(body.as_bytes()).unwrap();
        assert_eq!(envelope.dropped, bad.len());
        assert_eq!(envelope.commands.len(), 1);
        assert_eq!(envelope.commands[0].request_id, "good");
    }

    // spec-test: CLS-9
    #[test]
    fn names_each_fault_of_the_envelope() {
        for (body, fault) in [
            ("", EnvelopeFault::NotJson),
            ("{\"commands\":[}", EnvelopeFault::NotJson),
            ("{\"commands\":[]} x", EnvelopeFault::NotJson),
            ("<html>", EnvelopeFault::NotJson),
            ("[]", EnvelopeFault::NotAnObject),
            ("null", EnvelopeFault::NotAnObject),
            (r#"{"commands":{}}"#, EnvelopeFault::CommandsNotAnArray),
            (r#"{"commands":"[]"}"#, EnvelopeFault::CommandsNotAnArray),
            (
                r#"{"commands":[],"commands":[]}"#,
                EnvelopeFault::CommandsRepeated,
            ),
        ] {
            assert_eq!(
                Envelope::parse(body.as_bytes()).unwrap_err(),
                fault,
                "{body}"
            );
        }
        assert_eq!(
            Envelope::parse(b"{\"x\":\"\xff\"}").unwrap_err(),
            EnvelopeFault::NotUtf8
        );
    }

    // spec-test: CMD-1
    #[test]
    fn names_each_fault_of_a_command() {
        let of = |id: &str, token: &str, rest: &str| {
            Command::parse(&format!(
                r#"{{"command_type":"jsonrpc","request_id":"{id}","shard_token":"{token}"{rest}}}"#
            ))
            .err()
        };
        let message = r#","jsonrpc":{}"#;
        assert_eq!(of("r", "t", message), None);
        assert_eq!(of(&"r".repeat(4096), &"t".repeat(65_536), message), None);
        for (found, fault) in [
            (Command::parse("[]").err(), CommandFault::NotAnObject),
            (Command::parse("{").err(), CommandFault::NotAnObject),
            (
                of("", "t", message),
                CommandFault::MemberMissing("request_id"),
            ),
            (
                of("r", "", message),
                CommandFault::MemberMissing("shard_token"),
            ),
            (of("r", "t", ""), CommandFault::JsonRpcNotAnObject),
            (
                of("r", "t", r#","jsonrpc":[{}]"#),
                CommandFault::JsonRpcNotAnObject,
            ),
            (
                of("r", "t", r#","jsonrpc":null"#),
                CommandFault::JsonRpcNotAnObject,
            ),
            (
                of("r", "t", r#","jsonrpc":"{}""#),
                CommandFault::JsonRpcNotAnObject,
            ),
            (
                of("r", "t", r#","jsonrpc":{},"jsonrpc":{}"#),
                CommandFault::MemberRepeated("jsonrpc"),
            ),
            (
                of(&"r".repeat(4097), "t", message),
                CommandFault::RequestIdTooLong,
            ),
            (
                of("r", &"t".repeat(65_537), message),
                CommandFault::TokenTooLong,
            ),
            (of("r", r"a\u0000", message), CommandFault::TokenInvalidByte),
        ] {
            assert_eq!(found, Some(fault));
        }
        for member in ["command_type", "channel", "headers"] {
            let twice = with(&format!(r#""{member}":"a","{member}":"a""#)).err();
            assert_eq!(twice, Some(CommandFault::MemberRepeated(member)));
        }
    }

    // spec-test: CMD-2
    #[test]
    fn keeps_commands_of_every_type_and_knows_two() {
        for (command_type, kind) in [
            ("jsonrpc", CommandKind::JsonRpc),
            ("session_termination", CommandKind::SessionTermination),
            ("JSONRPC", CommandKind::Unknown),
            ("session_resumption", CommandKind::Unknown),
        ] {
            let found = Command::parse(&format!(
                r#"{{"command_type":"{command_type}","request_id":"r","shard_token":"t","jsonrpc":{{}}}}"#
            ))
            .unwrap();
            assert_eq!((&*found.command_type, found.kind), (command_type, kind));
        }
        for jsonrpc in ["null", "[]", "1"] {
            let found = Command::parse(&format!(
                r#"{{"command_type":"session_termination","request_id":"r","shard_token":"t","jsonrpc":{jsonrpc}}}"#
            ))
            .unwrap();
            assert!(found.jsonrpc.is_none(), "{jsonrpc}");
        }
    }

    // spec-test: CMD-3
    #[test]
    fn reads_the_channel_or_takes_main() {
        let channel = |member: &str| with(member).map(|found| found.channel.to_string());
        for (member, name) in [
            (r#""channel":" Side_1\n""#, "side_1"),
            (r#""channel":"main""#, "main"),
            (r#""channel":null"#, "main"),
            (r#""channel":"""#, "main"),
            (r#""channel":" ""#, "main"),
            (r#""Channel":"other""#, "main"),
        ] {
            assert_eq!(channel(member).unwrap(), name, "{member}");
        }
        let long = format!("\"{}\"", "x".repeat(65));
        for value in [r#""a b""#, "7", "[]", r#"["main"]"#, r#""\ud800""#, &long] {
            let fault = channel(&format!(r#""channel":{value}"#)).err();
            assert_eq!(fault, Some(CommandFault::ChannelInvalid), "{value}");
        }
    }

    // spec-test: CMD-8, CMD-9
    #[test]
    fn takes_each_token_that_a_header_line_can_carry() {
        for byte in 0..=0x7f_u8 {
            let raw = format!(
                r#"{{"command_type":"x","request_id":"r","shard_token":"a\u{byte:04x},b"}}"#
            );
            let found = Command::parse(&raw).map(|found| found.shard_token.expose().to_owned());
            let carried = matches!(byte, b'\t' | 0x20..=0x7e);
            assert_eq!(found.is_ok(), carried, "{byte:#x}");
            match found {
                Ok(token) => assert_eq!(token, format!("a{},b", char::from(byte))),
                Err(fault) => assert_eq!(fault, CommandFault::TokenInvalidByte),
            }
        }
        let raw = r#"{"command_type":"x","request_id":"r","shard_token":" é "}"#;
        let found = Command::parse(raw).unwrap();
        assert_eq!(found.shard_token.expose(), " é ");
        assert!((0x80..=0xff).all(|byte| is_header_value(&[byte])));
    }

    // spec-test: CMD-4, CMD-17
    #[test]
    fn understands_times_and_takes_odd_ones_for_none() {
        let found = with(r#""created_at":"2026-01-02T03:04:05Z","response_timeout":"3s""#).unwrap();
        assert_eq!(found.created_at.as_deref(), Some("2026-01-02T03:04:05Z"));
        assert_eq!(found.response_timeout, Some(Duration::from_secs(3)));
        assert_eq!(found.response_timeout_text.as_deref(), Some("3s"));
        for members in [
            r#""created_at":7,"response_timeout":3000000000"#,
            r#""created_at":null,"response_timeout":null"#,
            r#""response_timeout":"soon""#,
            r#""response_timeout":["3s"]"#,
            r#""response_timeout":"3s","response_timeout":"3s""#,
        ] {
            let found = with(members).unwrap();
            assert_eq!(found.created_at, None, "{members}");
            assert_eq!(found.response_timeout, None, "{members}");
            assert_eq!(found.response_timeout_text, None, "{members}");
        }
    }

    // spec-test: CMD-4
    #[test]
    fn brings_headers_and_refuses_too_many() {
        let found = with(r#""headers":{"Mcp-Session-Id":"s","x":["1","2"],"y":7}"#).unwrap();
        let session = ("Mcp-Session-Id".to_owned(), vec!["s".to_owned()]);
        let x = ("x".to_owned(), vec!["1".to_owned(), "2".to_owned()]);
        assert_eq!(found.headers, [session, x]);
        let many: Vec<String> = (0..129).map(|n| format!(r#""h{n}":"""#)).collect();
        let fault = with(&format!(r#""headers":{{{}}}"#, many.join(","))).err();
        assert_eq!(fault, Some(CommandFault::HeadersTooMany));
    }

    // spec-test: CMD-29
    #[test]
    fn logs_short_texts_alone() {
        for (length, logged) in [(2, true), (64, true), (65, false)] {
            let text = format!("{}1s", "0".repeat(length - 2));
            let found = with(&format!(r#""response_timeout":"{text}""#)).unwrap();
            assert_eq!(found.response_timeout, Some(Duration::from_secs(1)));
            let receipt = found.receipt();
            assert_eq!(receipt.response_timeout, logged.then_some(&*text));
        }
        for (length, logged) in [(1, true), (128, true), (129, false)] {
            let id = "i".repeat(length);
            let found = Command::parse(&command(&id)).unwrap();
            assert_eq!(found.receipt().request_id, logged.then_some(&*id));
        }
        let (longest, long) = ("x".repeat(64), "x".repeat(65));
        for (command_type, logged) in [
            ("jsonrpc", "jsonrpc"),
            (r"x\ny", "unknown"),
            (&longest, &longest),
            (&long, "unknown"),
        ] {
            let raw = format!(
                r#"{{"command_type":"{command_type}","request_id":"r","shard_token":"t","jsonrpc":{{}}}}"#
            );
            let found = Command::parse(&raw).unwrap();
            assert_eq!(found.receipt().command_type, logged);
        }
    }

    // spec-test: CMD-11
    #[test]
    fn echoes_the_first_request_id_of_its_caller() {
        for (headers, echoed) in [
            ("{}", None),
            (r#"{"x-REQUEST-id":["a","b"]}"#, Some("a")),
            (r#"{"X-Request-Id":"a b"}"#, Some("a b")),
            (r#"{"X-Request-Id":""}"#, None),
            (r#"{"X-Request-Id":[]}"#, None),
            (r#"{"X-Request-Id":"a\r\nb: c"}"#, None),
            (r#"{"X-Request":"a"}"#, None),
        ] {
            let found = with(&format!(r#""headers":{headers}"#)).unwrap();
            assert_eq!(found.client_request_id(), echoed, "{headers}");
        }
    }

    proptest! {
        // spec-test: LOOP-19
        #[test]
        fn reads_any_bytes(body in prop::collection::vec(any::<u8>(), 0..64), text in ".*") {
            let _ = Envelope::parse(&body);
            let _ = Command::parse(&text);
            let _ = with(&text);
        }
    }

    // spec-test: PRIV-3
    #[test]
    fn debug_prints_no_content() {
        let found = Command::parse(&command("secret-id")).unwrap();
        assert_eq!(
            format!("{found:?} {:?}", found.shard_token),
            "Command { .. } CommandToken(..)"
        );
    }
}
