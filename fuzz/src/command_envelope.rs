//! The reader of a successful poll's body: the commands in it, and those that it drops, for any body.

use std::time::Duration;

use moorline_model::wire::{Command, Envelope, EnvelopeFault};

use crate::oracle::json::{JsonString, all, elements, is_json, members, string};

/// Takes a body.
pub fn run(data: &[u8]) {
    let found = Envelope::parse(data);
    let elements = match elements_of(data) {
        Ok(elements) => elements,
        Err(fault) => {
            assert_eq!(found.err(), Some(fault));
            return;
        }
    };
    let found = found.expect("an envelope");
    for raw in &elements {
        assert_eq!(Command::parse(raw).is_ok(), command(raw).is_some(), "{raw}");
    }
    let commands: Vec<Expected<'_>> = elements.iter().filter_map(|raw| command(raw)).collect();
    assert_eq!(found.commands.len(), commands.len());
    assert_eq!(found.dropped, elements.len() - commands.len());
    for (found, expected) in found.commands.iter().zip(commands) {
        judge_log(found);
        assert_eq!(found.client_request_id(), client_request_id(&expected));
        assert_eq!(seen(found), expected);
    }
}

/// All that a command holds.
#[derive(Debug, PartialEq, Eq)]
struct Expected<'a> {
    request_id: String,
    shard_token: String,
    command_type: String,
    channel: String,
    created_at: Option<String>,
    response_timeout: Option<Duration>,
    headers: Vec<(String, Vec<String>)>,
    jsonrpc: Option<&'a str>,
}

fn seen(command: &Command) -> Expected<'_> {
    Expected {
        request_id: command.request_id.clone(),
        shard_token: command.shard_token.expose().to_owned(),
        command_type: command.command_type.clone(),
        channel: command.channel.as_str().to_owned(),
        created_at: command.created_at.clone(),
        response_timeout: command.response_timeout,
        headers: command.headers.clone(),
        jsonrpc: command.jsonrpc.as_ref().map(|message| message.get()),
    }
}

/// What may be logged of a command is short, and nothing of it is printed by chance.
fn judge_log(command: &Command) {
    let shown = format!("{command:?} {:?}", command.shard_token);
    assert_eq!(shown, "Command { .. } CommandToken(..)");
    let receipt = command.receipt();
    assert!(receipt.command_type.len() <= 64);
    assert!(receipt.request_id.is_none_or(|id| id.len() <= 128));
    assert!(receipt.response_timeout.is_none_or(|text| text.len() <= 64));
}

/// The raw members of `commands`, by the rules CLS-9 and COR-2.
fn elements_of(body: &[u8]) -> Result<Vec<&str>, EnvelopeFault> {
    let text = std::str::from_utf8(body).map_err(|_| EnvelopeFault::NotUtf8)?;
    if !is_json(text) {
        return Err(EnvelopeFault::NotJson);
    }
    let members = members(text).ok_or(EnvelopeFault::NotAnObject)?;
    match *all(&members, "commands") {
        [] | ["null"] => Ok(Vec::new()),
        [only] => elements(only).ok_or(EnvelopeFault::CommandsNotAnArray),
        _ => Err(EnvelopeFault::CommandsRepeated),
    }
}

/// A command by the rules CMD-1 to CMD-4, CMD-9 and CMD-17; `None` for one that is dropped.
fn command(raw: &str) -> Option<Expected<'_>> {
    let members = members(raw)?;
    // `Some(None)` where the member is absent or null, `None` where it is repeated.
    let once = |name| match *all(&members, name) {
        [] | ["null"] => Some(None),
        [only] => Some(Some(only)),
        _ => None,
    };
    let needed = |name| text(once(name)??).filter(|text| !text.is_empty());
    let optional = |name| once(name).flatten().and_then(text);
    let command_type = needed("command_type")?;
    let jsonrpc = once("jsonrpc")?.filter(|raw| raw.starts_with('{'));
    (jsonrpc.is_some() || command_type != "jsonrpc").then_some(())?;
    Some(Expected {
        request_id: needed("request_id").filter(|id| id.len() <= 4096)?,
        shard_token: needed("shard_token")
            .filter(|token| token.len() <= 65_536 && !token.contains(is_control))?,
        command_type,
        channel: match once("channel")? {
            Some(raw) => channel(&text(raw)?)?,
            None => "main".to_owned(),
        },
        created_at: optional("created_at"),
        response_timeout: optional("response_timeout").and_then(|text| timeout(&text)),
        headers: headers(once("headers")?.unwrap_or("{}"))?,
        jsonrpc,
    })
}

/// The first value of the first `X-Request-Id`, by the rule CMD-11.
fn client_request_id<'a>(command: &'a Expected<'_>) -> Option<&'a str> {
    let named = |name: &str| name.eq_ignore_ascii_case("x-request-id");
    let (_, values) = command.headers.iter().find(|(name, _)| named(name))?;
    let value = values.first()?;
    (!value.is_empty() && !value.contains(is_control)).then_some(value)
}

/// What no header line can carry.
fn is_control(c: char) -> bool {
    c < ' ' && c != '\t' || c == '\x7f'
}

fn text(raw: &str) -> Option<String> {
    match string(raw)? {
        JsonString::Text(text) => Some(text),
        JsonString::NoText => None,
    }
}

fn channel(text: &str) -> Option<String> {
    let name = text.trim();
    if name.is_empty() {
        return Some("main".to_owned());
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (name.len() <= 64 && name.chars().all(plain)).then(|| name.to_ascii_lowercase())
}

fn timeout(text: &str) -> Option<Duration> {
    const UNITS: [(&str, u128); 6] = [
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    let (digits, unit) = UNITS.iter().find_map(|(name, unit)| {
        let digits = text.strip_suffix(name)?;
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        plain.then_some((digits, *unit))
    })?;
    let count: u64 = digits.parse().ok()?;
    let nanos = u128::from(count) * unit;
    (nanos < 1 << 63).then(|| Duration::from_nanos(nanos as u64))
}

/// An object's members whose values are strings or lists of strings; the others are left out.
fn headers(raw: &str) -> Option<Vec<(String, Vec<String>)>> {
    let found: Vec<_> = members(raw)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|(name, value)| Some((name?, values(value)?)))
        .collect();
    let size = |(name, values): &(String, Vec<String>)| {
        name.len() + values.iter().map(|value| value.len() + 1).sum::<usize>()
    };
    let bytes: usize = found.iter().map(size).sum();
    (found.len() <= 128 && bytes <= 65_536).then_some(found)
}

fn values(raw: &str) -> Option<Vec<String>> {
    match elements(raw) {
        Some(elements) => elements.into_iter().map(text).collect(),
        None => Some(vec![text(raw)?]),
    }
}
