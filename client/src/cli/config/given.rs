//! What was given, and by whom.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::known::Setting;

/// A value, before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Value {
    /// One text, in whatever form a flag or a variable has it.
    Text(String),
    /// A list, of a flag that was repeated or of the file.
    Many(Vec<String>),
    /// A table of the file.
    Pairs(Vec<(String, String)>),
}

/// A value with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) value: Value,
    pub(super) origin: Origin,
}

/// Who gave a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Default,
    File {
        path: Arc<str>,
        line: usize,
        key: String,
    },
    Flag(&'static str),
    Variable(String),
}

/// The flags of a call, by their names.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Flags {
    values: BTreeMap<&'static str, Value>,
}

/// The variables of the environment that hold text. An empty one is as good as none.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Environment(BTreeMap<String, String>);

impl Given {
    /// The text, of a setting that has one.
    pub(super) fn text(&self) -> &str {
        match &self.value {
            Value::Text(text) => text,
            Value::Many(_) | Value::Pairs(_) => "",
        }
    }
}

impl Flags {
    pub(in super::super) fn text(mut self, flag: &'static str, value: Option<&String>) -> Self {
        if let Some(text) = value {
            self.values.insert(flag, Value::Text(text.clone()));
        }
        self
    }

    pub(in super::super) fn many(mut self, flag: &'static str, values: &[String]) -> Self {
        if !values.is_empty() {
            self.values.insert(flag, Value::Many(values.to_vec()));
        }
        self
    }

    pub(in super::super) fn switch(self, flag: &'static str, on: bool) -> Self {
        let text = on.then(|| "true".to_owned());
        self.text(flag, text.as_ref())
    }

    pub(super) fn get(&self, setting: &Setting) -> Option<Given> {
        let value = self.values.get(setting.flag)?.clone();
        let origin = Origin::Flag(setting.flag);
        Some(Given { value, origin })
    }
}

impl Environment {
    pub(in super::super) fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        std::env::vars_os().filter_map(text).collect()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(super) fn variable(&self, name: &str) -> Option<&str> {
        let value = self.0.get(name).map(String::as_str);
        value.filter(|value| !name.is_empty() && !value.is_empty())
    }

    pub(super) fn get(&self, setting: &Setting) -> Option<Given> {
        let text = self.variable(setting.variable)?;
        Some(Given {
            value: Value::Text(text.to_owned()),
            origin: Origin::Variable(setting.variable.to_owned()),
        })
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self(variables.into_iter().collect())
    }
}

/// As the beginning of a fault.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("the default"),
            Self::File { path, line, key } => write!(f, "{path}, line {line}: {key}"),
            Self::Flag(flag) => f.write_str(flag),
            Self::Variable(name) => f.write_str(name),
        }
    }
}

impl Origin {
    /// As the source of an effective value.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Default => "default".to_owned(),
            Self::File { path, line, .. } => format!("{path}, line {line}"),
            Self::Flag(flag) => (*flag).to_owned(),
            Self::Variable(name) => name.clone(),
        }
    }
}
