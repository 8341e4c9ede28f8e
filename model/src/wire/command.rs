use std::fmt;

use serde_json::value::RawValue;
use thiserror::Error;

use super::json::{JsonFault, for_each_element, for_each_member, string_bytes};

/// The decoded body of a successful poll.
#[derive(Debug, Default)]
pub struct Envelope {
    /// The commands, in the order received.
    pub commands: Vec<Command>,
    /// How many members of `commands` could not be read as commands and were dropped.
    pub dropped: usize,
}

/// One command, as far as every command has the same form.
pub struct Command {
    /// Names the command in its response. Never empty.
    pub request_id: String,
    /// What the response must echo.
    pub shard_token: CommandToken,
    /// What kind of command it is, as received.
    pub command_type: String,
    /// The whole command as received, unknown members included.
    pub raw: Box<RawValue>,
}

/// The opaque token of one command, echoed by its responses. Old services put any bytes there, so it
/// is never checked as a placement token. A secret: it prints nothing of itself. Never empty.
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
    /// A member that every command needs is absent, no string, or empty.
    #[error("a command must have {0} as a non-empty string")]
    MemberMissing(&'static str),
    /// A member that every command needs stands twice or more.
    #[error("a command must have {0} once")]
    MemberRepeated(&'static str),
    /// No object.
    #[error("a command must be a JSON object")]
    NotAnObject,
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
    /// Reads one member of `commands`.
    ///
    /// # Errors
    ///
    /// A value that lacks what every command has.
    pub fn parse(raw: &str) -> Result<Self, CommandFault> {
        let mut request_id = Needed::new("request_id");
        let mut shard_token = Needed::new("shard_token");
        let mut command_type = Needed::new("command_type");
        for_each_member(raw, |key, value| {
            let value = value.raw()?;
            request_id.offer(key, value);
            shard_token.offer(key, value);
            command_type.offer(key, value);
            Ok(())
        })
        .map_err(|_| CommandFault::NotAnObject)?;
        Ok(Self {
            request_id: request_id.take()?,
            shard_token: CommandToken(shard_token.take()?),
            command_type: command_type.take()?,
            raw: RawValue::from_string(raw.to_owned()).map_err(|_| CommandFault::NotAnObject)?,
        })
    }
}

/// A string member that must stand exactly once and not be empty.
struct Needed<'a> {
    name: &'static str,
    value: Option<&'a str>,
    repeated: bool,
}

impl<'a> Needed<'a> {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            value: None,
            repeated: false,
        }
    }

    fn offer(&mut self, key: &[u8], value: &'a str) {
        if key == self.name.as_bytes() {
            self.repeated |= self.value.replace(value).is_some();
        }
    }

    fn take(self) -> Result<String, CommandFault> {
        if self.repeated {
            return Err(CommandFault::MemberRepeated(self.name));
        }
        self.value
            .and_then(string_bytes)
            .and_then(|bytes| String::from_utf8(bytes.into_owned()).ok())
            .filter(|text| !text.is_empty())
            .ok_or(CommandFault::MemberMissing(self.name))
    }
}

impl CommandToken {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn command(id: &str) -> String {
        format!(
            r#"{{"command_type":"jsonrpc","request_id":"{id}","shard_token":"old, token","x":[1e999]}}"#
        )
    }

    #[test]
    fn reads_commands_in_order_and_keeps_them_whole() {
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
        assert_eq!(envelope.commands[0].raw.get(), command("a"));
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

    // spec-test: CLS-10, LOOP-19
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
            r#"{"request_id":"a","shard_token":"t"}"#,
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
