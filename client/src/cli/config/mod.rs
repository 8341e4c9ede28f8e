//! Where settings come from: flags, then the environment, then the file, then the defaults.

mod control_plane;
mod document;
mod fault;
mod file;
mod given;
mod headers;
mod known;
mod misspelt;
mod nearest;
mod pem;
mod reader;
mod reference;
mod targets;
mod toml;
mod yaml;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use moorline_model::deadline::DEFAULT_CONNECTION_MAX_TTL;
use moorline_model::schedule::DEFAULT_QUEUE;
use moorline_model::wire::Channel;

use tracing::level_filters::LevelFilter;

use super::Failure;
use super::args::PollArgs;
use super::logging::{self, Destination, Form, LogSettings};
use super::usage;
use crate::dispatch::DispatchOptions;
use crate::monitor::{ListenAddress, ListenFault};
use crate::run::{ClientSettings, TargetSettings};
use crate::{PollerOptions, Settings};
pub(super) use fault::{Area, Fault};
use file::FileSettings;
pub(super) use given::{Environment, Flags};
use given::{Given, Origin};
use known::{
    ALLOW_REMOTE, CONTROL_PLANE, DRAIN, Kind, LISTEN, LOG_FILE, LOG_FORMAT, LOG_LEVEL,
    MAX_CONCURRENT, MAX_INFLIGHT, MAX_TTL, Setting, TABLES, UNSAFE_HTTP_DUMPS,
};
use reader::Reader;
pub(super) use reader::{Shown, ShownValue};

/// A configuration, as far as it could be read.
pub(super) struct Loaded {
    /// In the order in which they were found.
    pub(super) faults: Vec<Fault>,
    /// What is no fault and perhaps not meant, in one line each.
    pub(super) warnings: Vec<String>,
    /// Whether nothing of the file could be read: that is then the one fault.
    pub(super) is_unreadable: bool,
    /// What is in force, secrets masked.
    pub(super) shown: Vec<Shown>,
    /// Files that hold secrets.
    pub(super) secret_files: Vec<String>,
    /// `None` where the endpoint, the tunnel or the key is not usable.
    pub(super) control_plane: Option<Settings>,
    pub(super) targets: BTreeMap<Channel, TargetSettings>,
    /// Channels whose target is known and lacks something.
    pub(super) unusable: Vec<Channel>,
    pub(super) queue: usize,
    pub(super) dispatch: DispatchOptions,
    /// `None` where nobody may look.
    pub(super) monitor: Option<ListenAddress>,
    pub(super) log: LogSettings,
    pub(super) unsafe_http_dumps: bool,
}

/// What a call says: its flags, and the file that they name.
pub(super) struct Call {
    pub(super) flags: Flags,
    pub(super) file: Option<PathBuf>,
    pub(super) allow_insecure_endpoint: bool,
}

/// The settings of `moorline poll`.
pub(super) fn poll_settings(args: &PollArgs) -> Result<Settings, Failure> {
    let call = args.control_plane.call();
    let environment = Environment::of_process();
    let mut reader = reader(&call, &environment, &[CONTROL_PLANE]);
    let settings = control_plane::read(&mut reader, call.allow_insecure_endpoint).settings;
    for warning in misspelt::warnings(&environment, &reader.secret_variables) {
        usage::warn(&warning);
    }
    match (reader.faults.into_iter().next(), settings) {
        (None, Some(settings)) => Ok(settings),
        (Some(fault), _) => Err(Failure::Usage(fault.text)),
        // What cannot be read is a fault.
        (None, None) => Err(Failure::Usage("the settings are not usable".to_owned())),
    }
}

/// Every setting, and every fault.
pub(super) fn load(call: &Call, environment: &Environment) -> Loaded {
    let mut reader = reader(call, environment, &TABLES);
    let control_plane = control_plane::read(&mut reader, call.allow_insecure_endpoint);
    let queue = reader.count(&MAX_INFLIGHT, DEFAULT_QUEUE);
    let targets = targets::read(&mut reader, &control_plane.trust);
    let dispatch = dispatch(&mut reader);
    let monitor = monitor(&mut reader);
    let log = log(&mut reader);
    let unsafe_http_dumps = unsafe_http_dumps(&mut reader, &log);
    let is_unreadable = reader.file.is_unreadable;
    if is_unreadable {
        // What seems to be missing may well be in the file.
        reader.faults.truncate(1);
    }
    let mut warnings = misspelt::warnings(environment, &reader.secret_variables);
    warnings.append(&mut reader.warnings);
    Loaded {
        warnings,
        faults: reader.faults,
        is_unreadable,
        shown: reader.shown,
        secret_files: reader.secret_files,
        control_plane: control_plane.settings,
        targets: targets.usable,
        unusable: targets.unusable,
        queue,
        dispatch,
        monitor,
        log,
        unsafe_http_dumps,
    }
}

impl Loaded {
    /// The settings of a client and of its log, or every fault.
    pub(super) fn finish(self) -> Result<(ClientSettings, LogSettings), Failure> {
        let lines = |faults: Vec<Fault>| faults.into_iter().map(|fault| fault.text);
        let Some(control_plane) = self.control_plane.filter(|_| self.faults.is_empty()) else {
            let warnings = self.warnings.into_iter();
            let warnings = warnings.map(|warning| format!("warning: {warning}"));
            let all = warnings.chain(lines(self.faults));
            return Err(Failure::Configuration(all.collect()));
        };
        let mut client = ClientSettings::new(control_plane, self.targets);
        client.poller = PollerOptions {
            queue: self.queue,
            ..PollerOptions::default()
        };
        client.dispatch = self.dispatch;
        client.monitor = self.monitor;
        client.unsafe_http_dumps = self.unsafe_http_dumps;
        Ok((client, self.log))
    }
}

fn reader<'a>(call: &'a Call, environment: &'a Environment, expected: &[&str]) -> Reader<'a> {
    let mut faults = Vec::new();
    let file = match &call.file {
        Some(path) => FileSettings::read(path, expected, &mut faults),
        None => FileSettings::default(),
    };
    Reader {
        flags: &call.flags,
        environment,
        file,
        faults,
        warnings: Vec::new(),
        shown: Vec::new(),
        secret_variables: Vec::new(),
        secret_files: Vec::new(),
    }
}

// spec: SET-3
fn dispatch(reader: &mut Reader<'_>) -> DispatchOptions {
    let default = DispatchOptions::default();
    let concurrency = reader.count(&MAX_CONCURRENT, default.concurrency.get());
    DispatchOptions {
        concurrency: NonZeroUsize::new(concurrency).unwrap_or(default.concurrency),
        max_ttl: reader.duration(&MAX_TTL, DEFAULT_CONNECTION_MAX_TTL),
        drain: reader.duration(&DRAIN, Duration::from_secs(30)),
    }
}

// spec: SET-4
fn monitor(reader: &mut Reader<'_>) -> Option<ListenAddress> {
    let allow_remote = reader.switch(&ALLOW_REMOTE);
    let Some(given) = reader.pick(&LISTEN) else {
        let address = ListenAddress::default();
        reader.show(&LISTEN, address.get().to_string(), &Origin::Default);
        return Some(address);
    };
    reader.show(&LISTEN, given.text(), &given.origin);
    if given.text() == "off" {
        return None;
    }
    match ListenAddress::parse(given.text(), allow_remote) {
        Ok(address) => Some(address),
        Err(fault) => {
            let how = match fault {
                ListenFault::Remote(_) => " (--allow-remote-monitor)",
                _ => ", or off",
            };
            reader.fault(&given.origin, &format!("{fault}{how}"));
            None
        }
    }
}

// spec: SET-4
fn log(reader: &mut Reader<'_>) -> LogSettings {
    let default = LogSettings::default();
    let text = |given: &Option<Given>, default: &str| {
        given
            .as_ref()
            .map_or_else(|| default.to_owned(), |given| given.text().to_owned())
    };
    let origin = |given: Option<Given>| given.map_or(Origin::Default, |given| given.origin);
    let level = reader.pick(&LOG_LEVEL);
    let name = word(&LOG_LEVEL, &text(&level, "info"));
    reader.show(&LOG_LEVEL, name.clone(), &origin(level));
    let form = reader.pick(&LOG_FORMAT);
    let form_name = word(&LOG_FORMAT, &text(&form, "text"));
    reader.show(&LOG_FORMAT, form_name.clone(), &origin(form));
    let file = reader.pick(&LOG_FILE);
    let path = text(&file, "stderr");
    let file = origin(file);
    reader.show(&LOG_FILE, path.clone(), &file);
    let destination = match path.as_str() {
        "stderr" => Destination::Stderr,
        "stdout" => Destination::Stdout,
        path => Destination::File(Path::new(path).to_owned()),
    };
    if let Destination::File(path) = &destination
        && let Err(text) = logging::can_hold(path)
    {
        reader.fault(&file, text);
    }
    LogSettings {
        // Each layer's text was checked already.
        level: name.parse().unwrap_or(default.level),
        form: if form_name == "json" {
            Form::Json
        } else {
            Form::Text
        },
        destination,
    }
}

/// A word as the setting spells it.
fn word(setting: &Setting, text: &str) -> String {
    let word = match setting.kind {
        Kind::Choice(words) => known::choice(words, text),
        _ => None,
    };
    word.unwrap_or(text).to_owned()
}

/// The level of that name.
pub(super) fn log_level(name: &str) -> Option<LevelFilter> {
    LOG_LEVEL.kind.check(name).ok()?;
    word(&LOG_LEVEL, name).parse().ok()
}

fn unsafe_http_dumps(reader: &mut Reader<'_>, log: &LogSettings) -> bool {
    let given = reader.pick(&UNSAFE_HTTP_DUMPS);
    let on = given.as_ref().and_then(|given| known::switch(given.text()));
    let on = on.unwrap_or(false);
    if let Some(given) = given.filter(|_| on && !log.is_verbose()) {
        let text = "raw HTTP is dumped at the log levels debug and trace alone: set LOG_LEVEL";
        reader.fault(&given.origin, text);
    }
    on
}
