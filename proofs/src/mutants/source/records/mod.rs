//! The wrong versions, by what they get wrong.

mod answer;
mod attempt;
mod classification;
mod deliveries;
mod dispatch;
mod pace;
mod request;
mod shown;
mod streams;
mod target_http;
mod target_stdio;
mod turns;
mod whole;

use std::fmt;

use serde::Serialize;

use super::{SourceFault, Suite};

/// One wrong version of one file.
#[derive(Clone, Copy, Debug)]
pub struct SourceMutant {
    /// A stable name.
    pub name: &'static str,
    /// The file, from the workspace's directory.
    pub file: &'static str,
    /// What stands there, exactly once.
    pub from: &'static str,
    /// What stands there instead.
    pub to: &'static str,
    /// The tests that are run.
    pub suite: Suite,
    /// Those of them that must fail, among others perhaps.
    pub killers: &'static [&'static str],
}

/// What a mutant gets wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// What an answer to a poll means, in the model.
    Classification,
    /// What becomes of commands, in the model: whether a message is sent again, and what the pipe to a child and the
    /// answer of a server mean.
    Commands,
    /// What the client does around the model: from bytes to what the model is told, and from what it decides to the
    /// next request, call or message.
    Shell,
}

const fn mutant(
    name: &'static str,
    suite: Suite,
    file: &'static str,
    from: &'static str,
    to: &'static str,
    killers: &'static [&'static str],
) -> SourceMutant {
    SourceMutant {
        name,
        file,
        from,
        to,
        suite,
        killers,
    }
}

/// Every mutant of the source, in the order in which they are run.
pub fn mutants() -> impl Iterator<Item = &'static SourceMutant> {
    let rooms: [&'static [SourceMutant]; 13] = [
        &classification::MUTANTS,
        &answer::MUTANTS,
        &request::MUTANTS,
        &attempt::MUTANTS,
        &pace::MUTANTS,
        &shown::MUTANTS,
        &deliveries::MUTANTS,
        &turns::MUTANTS,
        &dispatch::MUTANTS,
        &target_http::MUTANTS,
        &streams::MUTANTS,
        &target_stdio::MUTANTS,
        &whole::MUTANTS,
    ];
    rooms.into_iter().flatten()
}

impl SourceMutant {
    /// What it gets wrong.
    #[must_use]
    pub fn group(&self) -> Group {
        match self.file {
            "model/src/poll.rs" => Group::Classification,
            file if file.starts_with("model/") => Group::Commands,
            _ => Group::Shell,
        }
    }

    /// The text with this change.
    pub(super) fn applied_to(&self, text: &str) -> Result<String, SourceFault> {
        let found = text.matches(self.from).count();
        if found != 1 || self.from == self.to {
            return Err(SourceFault::Place {
                mutant: self.name,
                file: self.file,
                found,
            });
        }
        Ok(text.replacen(self.from, self.to, 1))
    }
}

impl Group {
    /// All of them, in the order in which they are run.
    pub const ALL: [Self; 3] = [Self::Classification, Self::Commands, Self::Shell];
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Classification => "classification",
            Self::Commands => "commands",
            Self::Shell => "the shell",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_must_be_there_once_and_change() {
        let mutant = |from, to| SourceMutant {
            from,
            to,
            ..classification::MUTANTS[0]
        };
        assert_eq!(mutant("b", "x").applied_to("abc").unwrap(), "axc");
        for (from, to) in [("b", "b"), ("x", "y"), ("a", "b")] {
            let fault = mutant(from, to).applied_to("aab bc").unwrap_err();
            assert!(matches!(fault, SourceFault::Place { .. }), "{fault}");
        }
    }
}
