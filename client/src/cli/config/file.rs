//! A file's settings, checked against those that are known.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use moorline_model::wire::Channel;

use super::document::{self, Content, Entry, Node};
use super::fault::Fault;
use super::given::{Given, Origin, Value};
use super::known::{self, Kind, Setting, TABLES};
use super::nearest::{nearest, unknown};

/// What a file says.
#[derive(Debug, Default)]
pub(super) struct FileSettings {
    values: BTreeMap<(&'static str, &'static str), Given>,
    /// The settings of each target, by their keys.
    pub(super) targets: BTreeMap<Channel, TargetTable>,
    /// Whether nothing of it could be read, so that nobody knows what it holds.
    pub(super) is_unreadable: bool,
    /// The settings that somebody meant to give, in a table and under a key that hold something else.
    meant: BTreeSet<(&'static str, &'static str)>,
}

/// One table of a target.
#[derive(Debug, Default)]
pub(super) struct TargetTable {
    pub(super) values: BTreeMap<&'static str, Given>,
}

impl FileSettings {
    pub(super) fn get(&self, setting: &Setting) -> Option<Given> {
        self.values.get(&(setting.table, setting.key)).cloned()
    }

    /// Whether a setting that is missing was told of already, as misspelt or of another kind.
    pub(super) fn is_meant(&self, setting: &Setting) -> bool {
        let whole_table = (setting.table, "");
        self.meant.contains(&whole_table) || self.meant.contains(&(setting.table, setting.key))
    }

    /// Reads a file. Faults in it are told one by one, and the rest of it counts. `expected` are the
    /// tables that the caller reads, to be named where another one stands.
    pub(super) fn read(path: &Path, expected: &[&str], faults: &mut Vec<Fault>) -> Self {
        let mut reader = Reader {
            path: path.display().to_string().into(),
            expected,
            found: Self::default(),
            faults,
        };
        match document::read(path) {
            Ok(root) => reader.root(root),
            Err(text) => {
                reader.found.is_unreadable = true;
                reader.faults.push(Fault::settings(text));
            }
        }
        reader.found
    }
}

struct Reader<'a> {
    path: Arc<str>,
    expected: &'a [&'a str],
    found: FileSettings,
    faults: &'a mut Vec<Fault>,
}

impl Reader<'_> {
    fn root(&mut self, root: Node) {
        for entry in self.entries(root) {
            match TABLES.into_iter().find(|table| *table == entry.name) {
                Some("target") => self.target(Channel::main(), entry),
                Some("targets") => self.targets(entry),
                Some(table) => self.table(table, entry),
                None => {
                    let text = unknown(&entry.name, self.expected);
                    self.fault(entry.line, &text);
                    if let Some(table) = nearest(&entry.name, &TABLES) {
                        let table = if table == "targets" { "target" } else { table };
                        self.found.meant.insert((table, ""));
                    }
                }
            }
        }
    }

    fn table(&mut self, table: &'static str, entry: Entry) {
        for (setting, given) in self.settings(table, entry) {
            self.found.values.insert((table, setting.key), given);
        }
    }

    fn targets(&mut self, entry: Entry) {
        for entry in self.entries(entry.value) {
            match Channel::parse(&entry.name) {
                Ok(channel) => self.target(channel, entry),
                Err(fault) => self.fault(entry.line, &fault.to_string()),
            }
        }
    }

    fn target(&mut self, channel: Channel, entry: Entry) {
        let line = entry.line;
        let values = self.settings("target", entry);
        let values = values
            .into_iter()
            .map(|(setting, given)| (setting.key, given))
            .collect();
        let before = self
            .found
            .targets
            .insert(channel.clone(), TargetTable { values });
        if before.is_some() {
            let text = format!("the target of the channel {channel} was given before");
            self.fault(line, &text);
        }
    }

    /// The members of a table that are settings, each of the kind that it should be.
    fn settings(&mut self, table: &'static str, entry: Entry) -> Vec<(&'static Setting, Given)> {
        let mut found: Vec<(&'static Setting, Given)> = Vec::new();
        for member in self.entries(entry.value) {
            let Some(setting) = known::of_table(table)
                .find(|setting| setting.key == member.name || setting.alias == member.name)
            else {
                let keys: Vec<_> = known::of_table(table).map(|setting| setting.key).collect();
                self.fault(member.line, &unknown(&member.name, &keys));
                if let Some(key) = nearest(&member.name, &keys) {
                    self.found.meant.insert((table, key));
                }
                continue;
            };
            if found.iter().any(|(other, _)| *other == setting) {
                self.fault(member.line, "this key was given before");
                continue;
            }
            match value(setting.kind, member.value.content) {
                Ok(value) => {
                    let origin = Origin::File {
                        path: Arc::clone(&self.path),
                        line: member.line,
                        key: member.name,
                    };
                    found.push((setting, Given { value, origin }));
                }
                Err(text) => {
                    let text = format!("{}: {text}", member.name);
                    self.fault(member.value.line, &text);
                    self.found.meant.insert((table, setting.key));
                }
            }
        }
        found
    }

    fn entries(&mut self, node: Node) -> Vec<Entry> {
        if let Content::Table(entries) = node.content {
            return entries;
        }
        self.fault(node.line, "expected a table");
        Vec::new()
    }

    fn fault(&mut self, line: usize, text: &str) {
        let text = format!("{}, line {line}: {text}", self.path);
        self.faults.push(Fault::settings(text));
    }
}

/// A value of the kind, or what was expected.
fn value(kind: Kind, content: Content) -> Result<Value, String> {
    match kind {
        Kind::Headers => pairs(content),
        Kind::Names => names(content),
        Kind::Switch => match content {
            Content::Boolean(on) => Ok(Value::Text(on.to_string())),
            _ => Err("expected true or false".to_owned()),
        },
        Kind::Count(least, most) => match content {
            Content::Integer(count) => checked(kind, count.to_string()),
            _ => Err(format!("expected a number from {least} to {most}")),
        },
        Kind::Choice(words) => match content {
            // YAML reads `off` as a word, and other readers of it as a switch.
            Content::Boolean(false) => checked(kind, "off".to_owned()),
            content => text(kind, content, &format!("one of {}", words.join(", "))),
        },
        Kind::Duration | Kind::PositiveDuration => {
            text(kind, content, "a duration such as \"30s\"")
        }
        Kind::LongDuration => text(kind, content, "a duration such as \"10m\""),
        Kind::Targets | Kind::Text => text(kind, content, "a text in quotation marks"),
    }
}

fn text(kind: Kind, content: Content, expected: &str) -> Result<Value, String> {
    match content {
        Content::Text(text) => checked(kind, text),
        _ => Err(format!("expected {expected}")),
    }
}

fn checked(kind: Kind, text: String) -> Result<Value, String> {
    kind.check(&text).map(|()| Value::Text(text))
}

fn names(content: Content) -> Result<Value, String> {
    let fault = || "expected a list of strings".to_owned();
    let Content::List(items) = content else {
        return Err(fault());
    };
    items
        .into_iter()
        .map(|item| match item.content {
            Content::Text(text) => Ok(text),
            _ => Err(fault()),
        })
        .collect::<Result<_, _>>()
        .map(Value::Many)
}

fn pairs(content: Content) -> Result<Value, String> {
    let Content::Table(entries) = content else {
        return Err("expected a table of strings".to_owned());
    };
    entries
        .into_iter()
        .map(|entry| match entry.value.content {
            Content::Text(text) => Ok((entry.name, text)),
            _ => Err("expected a table of strings".to_owned()),
        })
        .collect::<Result<_, _>>()
        .map(Value::Pairs)
}
