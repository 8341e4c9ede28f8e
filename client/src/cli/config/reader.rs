//! Takes each setting from the first that gave it, and notes what was taken and what was wrong.

use std::time::Duration;

use humantime::format_duration;

use super::super::args;
use super::fault::{Area, Fault};
use super::file::FileSettings;
use super::given::{Environment, Flags, Given, Origin};
use super::headers::{self, Header};
use super::known::{self, Setting};
use super::reference::Reference;

/// The state of reading one configuration.
pub(super) struct Reader<'a> {
    pub(super) flags: &'a Flags,
    pub(super) environment: &'a Environment,
    pub(super) file: FileSettings,
    pub(super) faults: Vec<Fault>,
    /// What is no fault and has no effect.
    pub(super) warnings: Vec<String>,
    pub(super) shown: Vec<Shown>,
    /// Variables that hold a secret of ours.
    pub(super) secret_variables: Vec<String>,
    /// Files that hold a secret of ours.
    pub(super) secret_files: Vec<String>,
}

/// A setting as it is in force, for people: secrets are masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Shown {
    pub(in super::super) table: String,
    pub(in super::super) key: String,
    pub(in super::super) value: ShownValue,
    /// What else is to be said, such as whether what is referred to is there.
    pub(in super::super) state: Option<&'static str>,
    /// Who gave it.
    pub(in super::super) from: String,
}

/// A value for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum ShownValue {
    List(Vec<String>),
    Number(usize),
    /// What may be shown of a text that may hold a secret.
    Part(String),
    Switch(bool),
    Text(String),
}

/// What is shown of a value of which nothing may be shown.
const SET: &str = "(set)";

impl Shown {
    pub(super) fn new(table: &str, key: &str, value: ShownValue, origin: &Origin) -> Self {
        Self {
            table: table.to_owned(),
            key: key.to_owned(),
            value,
            state: None,
            from: origin.describe(),
        }
    }

    pub(super) fn in_state(self, state: &'static str) -> Self {
        Self {
            state: Some(state),
            ..self
        }
    }

    /// A secret: where it is, or no more than that it is there.
    pub(super) fn secret(
        table: &str,
        key: &str,
        reference: Option<&Reference>,
        origin: &Origin,
    ) -> Self {
        match reference {
            Some(reference) => {
                let value = ShownValue::Text(reference.to_string());
                Self::new(table, key, value, origin).in_state("set")
            }
            None => Self::new(table, key, ShownValue::Part(SET.to_owned()), origin),
        }
    }
}

impl Reader<'_> {
    /// The value that wins. Those that do not are looked at too: they may win tomorrow.
    // spec: SET-1
    pub(super) fn pick(&mut self, setting: &Setting) -> Option<Given> {
        let flag = self.flags.get(setting);
        let flag = flag.filter(|given| self.is_of_kind(setting, given));
        let variable = self.environment.get(setting);
        let variable = variable.filter(|given| self.is_of_kind(setting, given));
        // Those of the file were checked when it was read.
        flag.or(variable).or_else(|| self.file.get(setting))
    }

    fn is_of_kind(&mut self, setting: &Setting, given: &Given) -> bool {
        let checked = setting.kind.check(given.text());
        if let Err(text) = &checked {
            self.fault(&given.origin, text);
        }
        checked.is_ok()
    }

    pub(super) fn duration(&mut self, setting: &Setting, default: Duration) -> Duration {
        let given = self.pick(setting);
        // Each layer's text was checked already.
        let read = given.as_ref().and_then(|given| args::long(given.text()));
        let duration = read.unwrap_or(default);
        let origin = given.map_or(Origin::Default, |given| given.origin);
        self.show(setting, format_duration(duration).to_string(), &origin);
        duration
    }

    pub(super) fn count(&mut self, setting: &Setting, default: usize) -> usize {
        let given = self.pick(setting);
        let read = given.as_ref().and_then(|given| given.text().parse().ok());
        let count = read.unwrap_or(default);
        let origin = given.map_or(Origin::Default, |given| given.origin);
        self.show_value(setting, ShownValue::Number(count), &origin);
        count
    }

    pub(super) fn switch(&mut self, setting: &Setting) -> bool {
        let given = self.pick(setting);
        let read = given.as_ref().and_then(|given| known::switch(given.text()));
        let on = read.unwrap_or(false);
        let origin = given.map_or(Origin::Default, |given| given.origin);
        self.show_value(setting, ShownValue::Switch(on), &origin);
        on
    }

    pub(super) fn headers(&mut self, table: &str, key: &str, given: &Given) -> Vec<Header> {
        let headers = headers::read(given, self.environment, &mut self.faults);
        for header in &headers {
            if let Some(reference) = &header.reference {
                self.note_secret(reference);
            }
            let key = format!("{key}.{}", header.name);
            let reference = header.reference.as_ref();
            self.shown
                .push(Shown::secret(table, &key, reference, &given.origin));
        }
        headers
    }

    pub(super) fn show(&mut self, setting: &Setting, text: impl Into<String>, origin: &Origin) {
        self.show_value(setting, ShownValue::Text(text.into()), origin);
    }

    pub(super) fn show_value(&mut self, setting: &Setting, value: ShownValue, origin: &Origin) {
        self.shown
            .push(Shown::new(setting.table, setting.key, value, origin));
    }

    /// Shows where a secret is, or no more than that it is there.
    pub(super) fn show_secret(
        &mut self,
        setting: &Setting,
        reference: Option<&Reference>,
        origin: &Origin,
    ) {
        self.shown
            .push(Shown::secret(setting.table, setting.key, reference, origin));
    }

    pub(super) fn fault(&mut self, origin: &Origin, text: &str) {
        self.faults
            .push(Fault::settings(format!("{origin}: {text}")));
    }

    pub(super) fn fault_of(&mut self, area: Area, text: impl Into<String>) {
        self.faults.push(Fault::new(area, text));
    }
}
