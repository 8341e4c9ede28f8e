use std::fs::File;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, Registry, registry};

use super::io_fault::why;
use super::{Failure, config};

/// What is logged, how, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LogSettings {
    pub(super) level: LevelFilter,
    pub(super) form: Form,
    pub(super) destination: Destination,
}

/// What a line looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Text,
}

/// Where lines go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// To the end of a file.
    File(PathBuf),
    Stderr,
    Stdout,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            level: LevelFilter::INFO,
            form: Form::Text,
            destination: Destination::Stderr,
        }
    }
}

impl LogSettings {
    /// Whether the level is one for those who look for faults.
    pub(super) fn is_verbose(&self) -> bool {
        self.level >= LevelFilter::DEBUG
    }
}

/// Lets this crate's own events through, up to `level`, and nothing of any library: the HTTP
/// libraries log hosts.
// spec: PRIV-7
#[must_use]
pub fn own_targets(level: LevelFilter) -> Targets {
    Targets::new().with_target("moorline", level)
}

/// Sends this crate's events to stderr, at the level that `LOG_LEVEL` names.
pub(super) fn start_by_environment(default: LevelFilter) -> Result<(), Failure> {
    let level = match std::env::var("LOG_LEVEL") {
        Ok(name) => config::log_level(&name).ok_or_else(|| {
            Failure::Usage("LOG_LEVEL: expected off, error, warn, info, debug or trace".to_owned())
        })?,
        Err(_) => default,
    };
    start(&LogSettings {
        level,
        ..LogSettings::default()
    })
}

/// Sends this crate's events where the settings say.
// spec: SET-4
pub(super) fn start(settings: &LogSettings) -> Result<(), Failure> {
    let layer = match &settings.destination {
        Destination::Stderr => {
            let colour = io::stderr().is_terminal();
            layer(settings, io::stderr, colour)
        }
        Destination::Stdout => {
            let colour = io::stdout().is_terminal();
            layer(settings, io::stdout, colour)
        }
        Destination::File(path) => {
            let file = open(path).map_err(|error| {
                let (name, why) = (path.display(), why(&error));
                Failure::Usage(format!("the log file {name} cannot be written: {why}"))
            })?;
            layer(settings, Mutex::new(file), false)
        }
    };
    let subscriber = registry().with(layer);
    // Only a second call could fail, and the first subscriber then serves as well.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}

fn open(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}

/// Whether a log can be at this place, as far as that can be told without writing.
pub(super) fn can_hold(path: &Path) -> Result<(), &'static str> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    if path.is_dir() {
        Err("this is a directory: name a file in it")
    } else if directory.is_dir() {
        Ok(())
    } else {
        Err("the directory of this file does not exist")
    }
}

/// Whether the log can be written. Leaves no file where there was none.
pub(super) fn try_open(path: &Path) -> io::Result<()> {
    let made = File::options().append(true).create_new(true).open(path);
    match made.map(drop) {
        Ok(()) => std::fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            match File::options().append(true).open(path) {
                // A link to a file that a run would make.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                opened => opened.map(drop),
            }
        }
        Err(error) => Err(error),
    }
}

fn layer<W>(
    settings: &LogSettings,
    writer: W,
    colour: bool,
) -> Box<dyn Layer<Registry> + Send + Sync>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // Where a line cannot be written, because the terminal or the disk is gone, saying so to stderr would panic.
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(writer)
        .log_internal_errors(false);
    let targets = own_targets(settings.level);
    match settings.form {
        Form::Json => lines
            .json()
            .flatten_event(true)
            .with_filter(targets)
            .boxed(),
        Form::Text => {
            let colour = colour && std::env::var_os("NO_COLOR").is_none();
            lines.with_ansi(colour).with_filter(targets).boxed()
        }
    }
}
