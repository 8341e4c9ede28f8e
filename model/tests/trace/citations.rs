//! Finds citations in Rust sources, fixture data and documentation.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::finding::Finding;
use super::id::{Id, looks_like_an_id};

const CODE_MARK: &str = "spec:";
const TEST_MARK: &str = "spec-test:";
const FIXTURE_MEMBER: &str = "covers";

/// Directories of which every file is a test: of the files in `proofs` and `fuzz` none ships.
const TEST_DIRS: [&str; 4] = ["tests", "benches", "proofs", "fuzz"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// This code meets the requirement.
    Code,
    /// This test would notice if the requirement were not met.
    Test,
    /// This page tells its readers the requirement.
    Doc,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Citation {
    pub(crate) id: Id,
    pub(crate) role: Role,
    pub(crate) path: PathBuf,
    /// From 1; 0 for fixture data, which is read as a whole.
    pub(crate) line: usize,
}

/// Reads one file by its extension: `rs`, `json` or `md`. Any other holds no citations.
pub(crate) fn read(path: &Path, text: &str) -> (Vec<Citation>, Vec<Finding>) {
    let mut reader = Reader {
        path,
        citations: Vec::new(),
        findings: Vec::new(),
    };
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("rs") => reader.rust(text),
        Some("json") => reader.fixture(text),
        Some("md") => reader.page(text),
        _ => {}
    }
    (reader.citations, reader.findings)
}

struct Reader<'a> {
    path: &'a Path,
    citations: Vec<Citation>,
    findings: Vec<Finding>,
}

impl Reader<'_> {
    fn rust(&mut self, text: &str) {
        let tests_from = if is_test_file(self.path) {
            0
        } else {
            test_module_line(text)
        };
        for (line, text) in (1..).zip(text.lines()) {
            let Some(comment) = line_comment(text) else {
                continue;
            };
            let in_test = line >= tests_from;
            if let Some(list) = comment.strip_prefix(TEST_MARK) {
                if !in_test {
                    self.findings
                        .push(Finding::TestCitationInCode { at: self.at(line) });
                }
                self.list(Role::Test, line, list);
            } else if let Some(list) = comment.strip_prefix(CODE_MARK) {
                if in_test {
                    self.findings
                        .push(Finding::CodeCitationInTest { at: self.at(line) });
                }
                self.list(Role::Code, line, list);
            }
        }
    }

    /// Reads `PLC-7, PLC-8 optional words`. A number among the words would be lost without a
    /// trace, so it is reported.
    fn list(&mut self, role: Role, line: usize, list: &str) {
        let mut rest = list.trim_start();
        loop {
            let end = rest
                .find(|c: char| c == ',' || c.is_whitespace())
                .unwrap_or(rest.len());
            let (word, tail) = rest.split_at(end);
            self.cite(role, line, word);
            match tail.trim_start().strip_prefix(',') {
                Some(next) => rest = next.trim_start(),
                None => {
                    rest = tail;
                    break;
                }
            }
        }
        let strays = rest.split(|c: char| !c.is_alphanumeric() && c != '-');
        for text in strays.filter(|word| looks_like_an_id(word)) {
            let text = text.to_owned();
            self.findings.push(Finding::StrayId {
                at: self.at(line),
                text,
            });
        }
    }

    fn fixture(&mut self, text: &str) {
        match serde_json::from_str(text) {
            Ok(value) => self.covers(&value),
            Err(error) => {
                let reason = error.to_string();
                self.findings.push(Finding::UnreadableFixture {
                    at: self.at(0),
                    reason,
                });
            }
        }
    }

    /// Looks at every level. The recursion is bounded by the JSON reader's own limit of 128 levels.
    fn covers(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    if key == FIXTURE_MEMBER {
                        self.covered(value);
                    } else {
                        self.covers(value);
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.covers(item)),
            _ => {}
        }
    }

    fn covered(&mut self, value: &Value) {
        let items = value.as_array().filter(|items| !items.is_empty());
        let ids =
            items.and_then(|items| items.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
        match ids {
            Some(ids) => ids.into_iter().for_each(|id| self.cite(Role::Test, 0, id)),
            None => self
                .findings
                .push(Finding::MalformedCovers { at: self.at(0) }),
        }
    }

    /// Reads HTML comments that begin with a number; other comments are none of our business.
    fn page(&mut self, text: &str) {
        for (line, text) in (1..).zip(text.lines()) {
            for comment in text
                .split("<!--")
                .skip(1)
                .filter_map(|part| part.split_once("-->"))
            {
                if looks_like_an_id(comment.0.trim_start()) {
                    self.list(Role::Doc, line, comment.0.trim_end());
                }
            }
        }
    }

    fn cite(&mut self, role: Role, line: usize, word: &str) {
        match Id::parse(word) {
            Some(id) => {
                self.citations.push(Citation {
                    id,
                    role,
                    path: self.path.to_owned(),
                    line,
                });
            }
            None => {
                let text = word.to_owned();
                self.findings.push(Finding::MalformedCitation {
                    at: self.at(line),
                    text,
                });
            }
        }
    }

    fn at(&self, line: usize) -> (PathBuf, usize) {
        (self.path.to_owned(), line)
    }
}

/// A file under a test directory, or the out-of-line test module of a source file.
fn is_test_file(path: &Path) -> bool {
    let in_test_dir = path.parent().is_some_and(|dir| {
        dir.components()
            .any(|part| TEST_DIRS.iter().any(|name| part.as_os_str() == *name))
    });
    in_test_dir || path.file_name().is_some_and(|name| name == "tests.rs")
}

/// The line from which a source file is test code, by the rule that tests come last in a file; past
/// the end when there are none. An item under `cfg(test)` that is no module does not count.
fn test_module_line(text: &str) -> usize {
    let mut after_cfg = false;
    for (line, text) in (1..).zip(text.lines().map(str::trim)) {
        let opens = text.ends_with('{') && text.split_whitespace().any(|word| word == "mod");
        if text.starts_with("mod tests {") || (after_cfg && opens) {
            return line;
        }
        let skipped = text.starts_with("#[") || text.starts_with("//") || text.is_empty();
        after_cfg = text.starts_with("#[cfg(test)]") || (after_cfg && skipped);
    }
    usize::MAX
}

/// The text of a line that is a comment and nothing else.
fn line_comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']).trim())
}
