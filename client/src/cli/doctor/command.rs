//! Why a command does not start a server, as far as the command itself shows it.

use std::path::Path;

use moorline_model::wire::{FailureSource, TunnelFailure};

use crate::target::CommandLine;

/// Words that mean something to a shell alone.
const OPERATORS: [&str; 8] = ["&&", "||", "|", ";", "&", ">", ">>", "<"];

/// Commands that a shell carries out itself.
const BUILTINS: [&str; 9] = [
    ".", "cd", "eval", "exec", "export", "set", "source", "ulimit", "umask",
];

/// What is said of a server that gave no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Advice {
    /// What happened, where the command shows more of it than the failure does.
    pub(super) evidence: Option<String>,
    pub(super) next: String,
}

/// Looks for the cause in the command. Its program is named, as it is no secret; its arguments are not.
pub(super) fn advise(command: &CommandLine, failure: TunnelFailure) -> Advice {
    let program = command.program();
    let kind = failure.transport_error_kind.unwrap_or_default();
    let (evidence, next) = match (failure.source, kind) {
        (FailureSource::Connect, "program_not_found") => not_found(program),
        (FailureSource::Connect, "permission_denied") if Path::new(program).is_dir() => (
            Some(format!("{program} is a directory")),
            "name a program in it".to_owned(),
        ),
        (FailureSource::Connect, "permission_denied") => (
            Some(format!("the program {program} may not be run")),
            format!("chmod +x {program}, or name what it is to be run with"),
        ),
        (FailureSource::Connect, _) => (
            Some(format!("the program {program} could not be started")),
            "run the command by hand: a script needs a first line such as #!/bin/sh".to_owned(),
        ),
        (FailureSource::Timeout, _) => (
            None,
            "run the command by hand: does it answer on standard output?".to_owned(),
        ),
        (FailureSource::TransportClosed, _) => (
            None,
            "run the command by hand and see why it ends; its last words are above, if it had any"
                .to_owned(),
        ),
        _ => (
            None,
            "check that the command starts an MCP server that speaks over stdio".to_owned(),
        ),
    };
    let next = if needs_shell(command) {
        "no shell runs the command: write `sh -c \'...\'` around what only a shell understands"
            .to_owned()
    } else {
        next
    };
    Advice { evidence, next }
}

fn not_found(program: &str) -> (Option<String>, String) {
    // A path that is there was found, so it is something else that was not.
    if program.contains('/') && Path::new(program).exists() {
        let evidence = format!("{program} is there, and what it is to be run with was not found");
        return (
            Some(evidence),
            "look at its first line: is the program behind #! installed?".to_owned(),
        );
    }
    let next = if program.contains('/') {
        "check the path"
    } else {
        "is the program installed, and in this PATH?"
    };
    let evidence = format!("the program {program} was not found");
    (Some(evidence), next.to_owned())
}

/// Whether the command holds what a shell would act on, and nothing else does.
fn needs_shell(command: &CommandLine) -> bool {
    let program = command.program();
    let arguments = command.arguments();
    program.starts_with(['~', '$', '(', '`'])
        || BUILTINS.contains(&program)
        || program.ends_with(';')
        || arguments
            .iter()
            .any(|argument| OPERATORS.contains(&argument.as_str()) || argument.starts_with("2>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(kind: &'static str) -> TunnelFailure {
        TunnelFailure {
            transport_error_kind: Some(kind),
            ..TunnelFailure::without_answer(FailureSource::Connect)
        }
    }

    fn advice(command: &str, kind: &'static str) -> Advice {
        advise(&CommandLine::parse(command).unwrap(), failure(kind))
    }

    #[test]
    fn the_program_is_named_with_what_it_lacks_and_no_argument_is() {
        for (command, kind, evidence, next) in [
            (
                "no-such secret",
                "program_not_found",
                "the program no-such was not found",
                "is the program installed, and in this PATH?",
            ),
            (
                "./no-such secret",
                "program_not_found",
                "the program ./no-such was not found",
                "check the path",
            ),
            (
                concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
                "program_not_found",
                concat!(
                    env!("CARGO_MANIFEST_DIR"),
                    "/Cargo.toml is there, and what it is to be run with was not found"
                ),
                "look at its first line: is the program behind #! installed?",
            ),
            (
                "./server secret",
                "permission_denied",
                "the program ./server may not be run",
                "chmod +x ./server, or name what it is to be run with",
            ),
            (
                "/ secret",
                "permission_denied",
                "/ is a directory",
                "name a program in it",
            ),
            (
                "server secret",
                "program_not_started",
                "the program server could not be started",
                "run the command by hand: a script needs a first line such as #!/bin/sh",
            ),
        ] {
            let expected = Advice {
                evidence: Some(evidence.to_owned()),
                next: next.to_owned(),
            };
            assert_eq!(advice(command, kind), expected, "{command}");
        }
    }

    #[test]
    fn what_only_a_shell_understands_is_told() {
        for (command, shell) in [
            ("cd a && b", true),
            ("~/server", true),
            ("$HOME/server", true),
            ("server | tee log", true),
            ("server 2>/dev/null", true),
            ("source env; server", true),
            ("server --at ~/x a&&b", false),
            ("sh -c 'cd a && b'", false),
        ] {
            let next = advice(command, "program_not_found").next;
            assert_eq!(next.starts_with("no shell runs"), shell, "{command}");
        }
    }
}
