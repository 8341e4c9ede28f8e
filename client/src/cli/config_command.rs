//! `moorline config`: what is wrong with the settings, and which are in force.

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::{Map, Value, json};

use super::args::{ClientArgs, ConfigAction, ConfigArgs};
use super::config::{self, Environment, Fault, Loaded, Shown, ShownValue};
use super::{Failure, USAGE, usage};

/// Checks or prints.
pub(super) fn run(args: &ConfigArgs) -> Result<(), Failure> {
    match &args.action {
        ConfigAction::Check(args) => check(&args.client),
        ConfigAction::Print(args) => print(&args.client, args.json),
    }
}

fn check(args: &ClientArgs) -> Result<(), Failure> {
    let Loaded {
        faults, warnings, ..
    } = load(args);
    warn(&warnings);
    end(&faults)?;
    write("the settings are usable\n")
}

fn print(args: &ClientArgs, as_json: bool) -> Result<(), Failure> {
    let Loaded {
        faults,
        warnings,
        shown,
        ..
    } = load(args);
    if as_json {
        write(&format!("{:#}\n", to_json(&shown)))?;
    } else {
        write(&to_toml(&shown))?;
    }
    warn(&warnings);
    end(&faults)
}

fn load(args: &ClientArgs) -> Loaded {
    config::load(&args.call(), &Environment::of_process())
}

fn warn(warnings: &[String]) {
    for warning in warnings {
        usage::warn(warning);
    }
}

fn end(faults: &[Fault]) -> Result<(), Failure> {
    for fault in faults {
        usage::note(&fault.text);
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(Failure::Told(USAGE))
    }
}

fn write(text: &str) -> Result<(), Failure> {
    let written = std::io::stdout().write_all(text.as_bytes());
    written.map_err(|_| Failure::Failed("stdout was closed".to_owned()))
}

/// TOML with the origin of each value behind it. What is not shown in full is a comment, so that nobody takes it for
/// the value; the rest can be read as a file again.
fn to_toml(shown: &[Shown]) -> String {
    let mut text = String::new();
    if shown.iter().any(|shown| !shown.value.is_whole()) {
        text.push_str("# What begins with # is set, and not shown in full.\n");
    }
    for table in tables(shown) {
        if !text.is_empty() {
            text.push('\n');
        }
        // Writing into a string does not fail.
        let _ = writeln!(text, "[{table}]");
        for shown in shown.iter().filter(|shown| shown.table == table) {
            let (key, value) = (quoted_key(&shown.key), toml_value(&shown.value));
            let start = if shown.value.is_whole() { "" } else { "# " };
            let state = shown.state.map(|state| format!("{state}; "));
            let state = state.unwrap_or_default();
            let _ = writeln!(text, "{start}{key} = {value}  # {state}{}", shown.from);
        }
    }
    text
}

/// The tables in the order in which they come first.
fn tables(shown: &[Shown]) -> Vec<&str> {
    let mut tables: Vec<&str> = Vec::new();
    for shown in shown {
        if !tables.contains(&shown.table.as_str()) {
            tables.push(&shown.table);
        }
    }
    tables
}

/// A dotted key; a header's name may hold characters that have to be quoted.
fn quoted_key(key: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    match key.split_once('.') {
        Some((table, name)) if !name.chars().all(is_bare) => format!("{table}.{}", json!(name)),
        _ => key.to_owned(),
    }
}

/// Strings of JSON are strings of TOML.
fn toml_value(value: &ShownValue) -> String {
    value.to_json().to_string()
}

fn to_json(shown: &[Shown]) -> Value {
    let mut root = Map::new();
    for shown in shown {
        let table = root
            .entry(shown.table.clone())
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(table) = table {
            let mut value = json!({ "value": shown.value.to_json(), "from": shown.from });
            if let (Value::Object(value), Some(state)) = (&mut value, shown.state) {
                value.insert("state".to_owned(), json!(state));
            }
            table.insert(shown.key.clone(), value);
        }
    }
    Value::Object(root)
}

impl ShownValue {
    fn is_whole(&self) -> bool {
        !matches!(self, Self::Part(_))
    }

    fn to_json(&self) -> Value {
        match self {
            Self::List(items) => json!(items),
            Self::Number(number) => json!(number),
            Self::Switch(on) => json!(on),
            Self::Part(text) | Self::Text(text) => json!(text),
        }
    }
}
