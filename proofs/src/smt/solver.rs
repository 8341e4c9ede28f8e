//! The two solvers as programs: found, started, asked, and stopped when they take too long.

use std::env;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::SmtError;

/// The most that is read of one solver's output, in bytes.
const OUTPUT_MAX: u64 = 4 << 20;
/// How long a solver may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(30);
/// How much of an unexpected line is shown, in characters.
const SHOWN_MAX: usize = 200;

/// z3 and cvc5, in this order.
#[derive(Clone, Debug)]
pub struct Solvers {
    /// Z3.
    pub z3: Solver,
    /// cvc5.
    pub cvc5: Solver,
}

impl Solvers {
    /// Finds both: the program that `MOORLINE_Z3` or `MOORLINE_CVC5` names, else the one on `PATH`, else
    /// the one that `proofs/install-solvers` put into `target/solvers`.
    ///
    /// # Errors
    ///
    /// [`SmtError::Missing`] where there is none, and whatever goes wrong when it is asked for its
    /// version.
    pub fn find() -> Result<Self, SmtError> {
        Self::at(locate(&Z3)?, locate(&CVC5)?)
    }

    /// The solvers at these paths.
    ///
    /// # Errors
    ///
    /// Whatever goes wrong when they are asked for their versions.
    pub fn at(z3: PathBuf, cvc5: PathBuf) -> Result<Self, SmtError> {
        Ok(Self {
            z3: Solver::at(&Z3, z3)?,
            cvc5: Solver::at(&CVC5, cvc5)?,
        })
    }

    /// Both, in order.
    #[must_use]
    pub fn both(&self) -> [&Solver; 2] {
        [&self.z3, &self.cvc5]
    }
}

/// One solver that can be asked.
#[derive(Clone, Debug)]
pub struct Solver {
    kind: &'static Kind,
    program: PathBuf,
    version: String,
}

/// What a solver says to one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Answer {
    /// There is such a case.
    Sat,
    /// The solver does not know, or its time for the question ran out.
    Unknown,
    /// There is none.
    Unsat,
}

impl Solver {
    /// The solver's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.kind.name
    }

    /// What the solver says of itself, in one line.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Asks the questions of an SMT-LIB text and returns one answer a question, in order.
    ///
    /// # Errors
    ///
    /// A variant of [`SmtError`] where the solver does not run, takes longer than `limit` over the whole
    /// text, prints anything but answers, or does not print `asked` of them.
    pub(super) fn ask(
        &self,
        text: &str,
        asked: usize,
        limit: Duration,
        about: &str,
    ) -> Result<Vec<Answer>, SmtError> {
        let output = self.print(text, limit, about)?;
        let answers = output
            .lines()
            .map(|line| self.answer(line, about))
            .collect::<Result<Vec<_>, _>>()?;
        if answers.len() == asked {
            return Ok(answers);
        }
        Err(SmtError::AnswerCount {
            solver: self.name(),
            about: about.to_owned(),
            asked,
            got: answers.len(),
        })
    }

    /// Runs the solver on an SMT-LIB text and returns what it prints.
    pub(super) fn print(
        &self,
        text: &str,
        limit: Duration,
        about: &str,
    ) -> Result<String, SmtError> {
        let arguments = (self.kind.arguments)(limit);
        run(self.name(), &self.program, &arguments, text, limit)?.ok_or_else(|| {
            SmtError::TimedOut {
                solver: self.name(),
                about: about.to_owned(),
                limit,
            }
        })
    }

    fn at(kind: &'static Kind, program: PathBuf) -> Result<Self, SmtError> {
        let arguments = ["--version".to_owned()];
        let printed = run(kind.name, &program, &arguments, "", VERSION_LIMIT)?.unwrap_or_default();
        let version = printed.lines().next().unwrap_or_default().to_owned();
        if !version.contains(kind.signature) {
            return Err(SmtError::NotTheSolver {
                solver: kind.name,
                says: shortened(&version),
            });
        }
        Ok(Self {
            kind,
            program,
            version,
        })
    }

    fn answer(&self, line: &str, about: &str) -> Result<Answer, SmtError> {
        match line.trim() {
            "sat" => Ok(Answer::Sat),
            "unsat" => Ok(Answer::Unsat),
            "unknown" => Ok(Answer::Unknown),
            other => Err(SmtError::Unexpected {
                solver: self.name(),
                about: about.to_owned(),
                printed: shortened(other),
            }),
        }
    }
}

/// What sets one solver apart from the other.
#[derive(Debug)]
struct Kind {
    name: &'static str,
    variable: &'static str,
    /// What its version line must hold.
    signature: &'static str,
    /// What makes it read SMT-LIB from standard input, with a time limit for each question.
    arguments: fn(Duration) -> Vec<String>,
}

static Z3: Kind = Kind {
    name: "z3",
    variable: "MOORLINE_Z3",
    signature: "Z3 version",
    arguments: |limit| {
        vec![
            "-smt2".to_owned(),
            "-in".to_owned(),
            format!("-t:{}", limit.as_millis()),
        ]
    },
};

static CVC5: Kind = Kind {
    name: "cvc5",
    variable: "MOORLINE_CVC5",
    signature: "cvc5 version",
    arguments: |limit| {
        vec![
            "--lang=smt2".to_owned(),
            "--incremental".to_owned(),
            "--produce-models".to_owned(),
            format!("--tlimit-per={}", limit.as_millis()),
        ]
    },
};

fn locate(kind: &Kind) -> Result<PathBuf, SmtError> {
    // A program that is named but is not there must not be replaced by another one.
    if let Some(named) = env::var_os(kind.variable) {
        return Ok(PathBuf::from(named));
    }
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/solvers/bin");
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain([installed])
        .map(|directory| directory.join(kind.name))
        .find(|program| program.is_file())
        .ok_or(SmtError::Missing {
            solver: kind.name,
            variable: kind.variable,
        })
}

/// Feeds a program and reads its output to the end; `None` if that takes longer than `limit`.
fn run(
    solver: &'static str,
    program: &Path,
    arguments: &[String],
    input: &str,
    limit: Duration,
) -> Result<Option<String>, SmtError> {
    let failed = |problem| SmtError::Run { solver, problem };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let output = exchange(&mut child, input, limit).map_err(failed);
    // It has closed its output or is to be stopped: either way it must not outlive this call. It may have
    // ended already, which is no fault.
    let _ = child.kill();
    child.wait().map_err(failed)?;
    output
}

/// Writes and reads at the same time, so that neither side waits for the other for ever.
fn exchange(child: &mut Child, input: &str, limit: Duration) -> io::Result<Option<String>> {
    let missing = || io::Error::other("a standard stream is missing");
    let mut stdin = child.stdin.take().ok_or_else(missing)?;
    let stdout = child.stdout.take().ok_or_else(missing)?;
    let input = input.to_owned();
    // A solver that stops reading early says why in its output, so that a failed write is not looked at.
    thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut output = String::new();
        let read = stdout.take(OUTPUT_MAX).read_to_string(&mut output);
        // Nobody listens any more once the time is up.
        let _ = sender.send(read.map(|_| output));
    });
    match receiver.recv_timeout(limit) {
        Ok(output) => output.map(Some),
        Err(_) => Ok(None),
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(SHOWN_MAX).collect()
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const SHORT: Duration = Duration::from_millis(200);
    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str, input: &str, limit: Duration) -> Option<String> {
        let arguments = ["-c".to_owned(), script.to_owned()];
        run("sh", Path::new("/bin/sh"), &arguments, input, limit).unwrap()
    }

    #[test]
    fn a_program_is_fed_and_read() {
        assert_eq!(shell("cat", "text", LONG).as_deref(), Some("text"));
    }

    #[test]
    fn neither_side_waits_for_the_other() {
        let input = "a line\n".repeat(100_000);
        assert_eq!(shell("cat", &input, LONG), Some(input));
        let unread = shell("echo done", &"a line\n".repeat(100_000), LONG);
        assert_eq!(unread.as_deref(), Some("done\n"));
    }

    #[test]
    fn a_program_that_takes_too_long_is_stopped() {
        assert_eq!(shell("exec sleep 600", "", SHORT), None);
    }

    #[test]
    fn a_program_that_does_not_start_is_a_fault() {
        let error = run("z3", Path::new("/nowhere/z3"), &[], "", LONG).unwrap_err();
        assert!(matches!(error, SmtError::Run { solver: "z3", .. }));
    }
}
