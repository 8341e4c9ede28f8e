//! One line for whatever is wrong with a call.

use std::io::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::USAGE;

/// Prints one line to stderr and gives the exit status.
pub(super) fn complain(text: &str, status: u8) -> ExitCode {
    note(text);
    ExitCode::from(status)
}

/// Prints one line to stderr that explains what follows.
pub(super) fn warn(text: &str) {
    note(&format!("warning: {text}"));
}

/// Prints one line to stderr, so that stdout holds events alone.
pub(super) fn note(text: &str) {
    // There is nowhere left to report a closed stderr to.
    let _ = writeln!(std::io::stderr(), "moorline: {text}");
}

/// Prints help and version as they are, and anything else as one line.
pub(super) fn explain(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // A reader that has gone away needs no help.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            complain(what_to_do(error), USAGE)
        }
        _ => complain(&one_line(error), USAGE),
    }
}

fn what_to_do(error: &clap::Error) -> &'static str {
    let is_known = |name: &str| match error.get(ContextKind::ValidSubcommand) {
        Some(ContextValue::Strings(names)) => names.iter().any(|known| known == name),
        _ => false,
    };
    if is_known("check") {
        "what to do? Try `moorline config check`, or `moorline config --help`"
    } else {
        "what to do? Try `moorline demo`, or `moorline --help`"
    }
}

fn one_line(error: &clap::Error) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let flag = context(ContextKind::InvalidArg);
    let text = match (error.kind(), flag) {
        // What stands where a flag should may be a secret in the wrong place.
        (ErrorKind::UnknownArgument, Some(flag)) if !flag.starts_with('-') => {
            "unexpected argument: every setting is a flag".to_owned()
        }
        (ErrorKind::UnknownArgument, Some(flag)) => {
            let name = flag.split('=').next().unwrap_or_default();
            match context(ContextKind::SuggestedArg) {
                Some(known) => format!("unknown flag {name}: did you mean {known}"),
                None => format!("unknown flag {name}"),
            }
        }
        (ErrorKind::InvalidSubcommand, _) => unknown_command(error),
        (ErrorKind::ArgumentConflict, Some(flag)) => format!("{flag} was given twice"),
        (ErrorKind::ValueValidation | ErrorKind::InvalidValue, Some(flag)) => {
            format!("{flag}: {}", expected(error))
        }
        _ => "the call cannot be understood".to_owned(),
    };
    format!("{text}. See `moorline --help`")
}

/// What stands where a command should is not repeated: it may be anything.
fn unknown_command(error: &clap::Error) -> String {
    match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(names)) if !names.is_empty() => {
            format!("unknown command: did you mean {}", names.join(" or "))
        }
        _ => "unknown command: expected run, doctor, config, poll or demo".to_owned(),
    }
}

/// What a flag's value should have been.
fn expected(error: &clap::Error) -> String {
    if let Some(source) = std::error::Error::source(error) {
        return source.to_string();
    }
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) if !values.is_empty() => {
            format!("expected {}", values.join(" or "))
        }
        _ => "a value is missing".to_owned(),
    }
}
