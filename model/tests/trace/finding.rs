//! What the trace can find wrong, each with what to do about it.

use std::fmt;
use std::path::PathBuf;

use super::id::Id;

/// A file and a line from 1; line 0 stands for the file as a whole.
pub(crate) type At = (PathBuf, usize);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Finding {
    // The page of requirements.
    NoRequirements,
    MalformedEntry { line: usize, text: String },
    DuplicateId { id: Id, line: usize },
    EntryWithoutMust { id: Id },
    // Citations that do not fit.
    MalformedCitation { at: At, text: String },
    StrayId { at: At, text: String },
    UnknownId { at: At, id: Id },
    TestCitationInCode { at: At },
    CodeCitationInTest { at: At },
    UnreadableFixture { at: At, reason: String },
    MalformedCovers { at: At },
    // Requirements that lack something.
    NoCodeCitation { id: Id, text: String },
    NoTestCitation { id: Id, text: String },
    MissingDocFile { id: Id, path: PathBuf },
    NotInDocFile { id: Id, path: PathBuf, text: String },
}

/// One list, a line for each finding, with the count first.
pub(crate) fn report(findings: &[Finding]) -> String {
    let mut lines = vec![format!("requirement trace: {} findings", findings.len())];
    lines.extend(findings.iter().map(|finding| format!("  {finding}")));
    lines.join("\n")
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRequirements => write!(
                f,
                "SPEC.md: no requirement found; expected lines like `- **PLC-1** ...`"
            ),
            Self::MalformedEntry { line, text } => write!(
                f,
                "SPEC.md:{line}: not an entry `- **PLC-1** text` with an optional \
                 `[later: why]` or `[doc: path]` at its end: {}",
                excerpt(text)
            ),
            Self::DuplicateId { id, line } => {
                write!(
                    f,
                    "SPEC.md:{line}: {id} stands there twice; give the new entry a new number"
                )
            }
            Self::EntryWithoutMust { id } => {
                write!(f, "SPEC.md: {id} holds no MUST; say what it requires")
            }
            Self::MalformedCitation { at, text } => {
                write!(
                    f,
                    "{}: `{text}` is no requirement number; write e.g. `spec: PLC-1, PLC-2`",
                    place(at)
                )
            }
            Self::StrayId { at, text } => write!(
                f,
                "{}: `{text}` stands among the words and is not read; put commas between numbers",
                place(at)
            ),
            Self::UnknownId { at, id } => {
                write!(
                    f,
                    "{}: {id} is not in SPEC.md; correct the number or add the entry",
                    place(at)
                )
            }
            Self::TestCitationInCode { at } => write!(
                f,
                "{}: `spec-test:` outside of test code; move it to a test or write `spec:`",
                place(at)
            ),
            Self::CodeCitationInTest { at } => {
                write!(
                    f,
                    "{}: `spec:` inside of test code; write `spec-test:`",
                    place(at)
                )
            }
            Self::UnreadableFixture { at, reason } => {
                write!(f, "{}: not readable as JSON ({reason})", place(at))
            }
            Self::MalformedCovers { at } => {
                write!(
                    f,
                    "{}: `covers` must be a non-empty array of strings",
                    place(at)
                )
            }
            Self::NoCodeCitation { id, text } => write!(
                f,
                "{id} has no code citation: add `// spec: {id}` to the code that meets it ({})",
                excerpt(text)
            ),
            Self::NoTestCitation { id, text } => write!(
                f,
                "{id} has no test citation: add `// spec-test: {id}` to a test, or {id} to \
                 `covers` of a fixture ({})",
                excerpt(text)
            ),
            Self::MissingDocFile { id, path } => {
                write!(
                    f,
                    "{id} is to be documented in {}, which does not exist: write it",
                    path.display()
                )
            }
            Self::NotInDocFile { id, path, text } => write!(
                f,
                "{id} is not in {}: document it there and mark the place with `<!-- {id} -->` ({})",
                path.display(),
                excerpt(text)
            ),
        }
    }
}

fn place((path, line): &At) -> String {
    match line {
        0 => path.display().to_string(),
        line => format!("{}:{line}", path.display()),
    }
}

fn excerpt(text: &str) -> String {
    const CHARS_MAX: usize = 70;
    let mut short: String = text.chars().take(CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}
