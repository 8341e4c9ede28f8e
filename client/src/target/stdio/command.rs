//! The command that starts a server, and what of our own environment it gets.

use std::ffi::{OsStr, OsString};
use std::fmt;

use thiserror::Error;

/// What begins the name of every variable that configures the control plane. Some hold secrets.
const CONTROL_PLANE_PREFIX: &[u8] = b"CONTROL_PLANE_";

/// A command, split into words as a shell would, and run without a shell. It prints nothing of itself,
/// since arguments may be secret.
#[derive(Clone, PartialEq, Eq)]
pub struct CommandLine {
    program: String,
    arguments: Vec<String>,
}

/// Why a text is no command. The text itself is never repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CommandFault {
    /// The first word sets a variable, which a shell would do.
    #[error("no shell runs the MCP command: to set a variable, write `env NAME=value program`")]
    Assignment,
    /// There is no word at all, or the first one is empty.
    #[error("the MCP command must name a program")]
    Empty,
    /// A NUL, which no argument can hold.
    #[error("the MCP command must hold no NUL character")]
    Nul,
    /// A quotation mark or a backslash at the end leaves the last word open.
    #[error("the MCP command has an open quotation")]
    OpenQuotation,
}

impl CommandLine {
    /// Splits a text into words. Quotation marks and backslashes mean what they mean to a shell;
    /// variables, patterns, pipes and redirections mean nothing.
    ///
    /// # Errors
    ///
    /// What is wrong, without repeating the text.
    pub fn parse(text: &str) -> Result<Self, CommandFault> {
        if text.contains('\0') {
            return Err(CommandFault::Nul);
        }
        let mut words = shlex::split(text)
            .ok_or(CommandFault::OpenQuotation)?
            .into_iter();
        match words.next() {
            Some(program) if is_assignment(&program) => Err(CommandFault::Assignment),
            Some(program) if !program.is_empty() => Ok(Self {
                program,
                arguments: words.collect(),
            }),
            _ => Err(CommandFault::Empty),
        }
    }

    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    pub(crate) fn arguments(&self) -> &[String] {
        &self.arguments
    }
}

impl fmt::Debug for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CommandLine(..)")
    }
}

/// Whether a word is an assignment or looks like one. A program of such a name can still be given with its path.
fn is_assignment(word: &str) -> bool {
    word.split('/')
        .next()
        .is_some_and(|start| start.contains('='))
}

/// Whether a variable of our own is kept from the server: those of the control plane, whose key it has
/// no use for, and those that were named.
pub(super) fn is_withheld(name: &OsStr, named: &[OsString]) -> bool {
    let bytes = name.as_encoded_bytes();
    let start = bytes.get(..CONTROL_PLANE_PREFIX.len()).unwrap_or_default();
    start.eq_ignore_ascii_case(CONTROL_PLANE_PREFIX) || named.iter().any(|other| *other == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_would() {
        for (text, program, arguments) in [
            ("server", "server", vec![]),
            ("  npx -y  a@b ", "npx", vec!["-y", "a@b"]),
            (
                r#""/a b/c" 'x y' z\ z """#,
                "/a b/c",
                vec!["x y", "z z", ""],
            ),
            ("a $HOME | b > c", "a", vec!["$HOME", "|", "b", ">", "c"]),
            ("env A=1 b", "env", vec!["A=1", "b"]),
            ("./a=1 b=2", "./a=1", vec!["b=2"]),
        ] {
            let command = CommandLine::parse(text).unwrap();
            assert_eq!(command.program(), program, "{text}");
            assert_eq!(command.arguments(), arguments, "{text}");
        }
    }

    #[test]
    fn what_is_no_command_is_refused() {
        for (text, fault) in [
            ("", CommandFault::Empty),
            (" \t\n", CommandFault::Empty),
            ("'' a", CommandFault::Empty),
            ("API_TOKEN=secret npx a", CommandFault::Assignment),
            ("'A=b c' npx a", CommandFault::Assignment),
            ("A=/b npx a", CommandFault::Assignment),
            ("chanel=tools,command=x", CommandFault::Assignment),
            ("a 'b", CommandFault::OpenQuotation),
            ("a \\", CommandFault::OpenQuotation),
            ("a\0b", CommandFault::Nul),
        ] {
            assert_eq!(CommandLine::parse(text), Err(fault), "{text:?}");
        }
    }

    #[test]
    fn secrets_of_the_control_plane_stay_here() {
        let named = [OsString::from("MY_KEY")];
        for (name, withheld) in [
            ("CONTROL_PLANE_API_KEY", true),
            ("CONTROL_PLANE_EXTRA_HEADERS", true),
            ("control_plane_api_key", true),
            ("MY_KEY", true),
            ("MY_KEYS", false),
            ("PATH", false),
            ("XCONTROL_PLANE_API_KEY", false),
            ("CONTROL_PLANE", false),
        ] {
            assert_eq!(is_withheld(OsStr::new(name), &named), withheld, "{name}");
        }
    }
}
