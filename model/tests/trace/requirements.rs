//! Reads the entries of `SPEC.md`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::finding::Finding;
use super::id::Id;

const ENTRY_START: &str = "- **";

/// Who has to meet a requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The code, now.
    Built,
    /// Code that is not written yet.
    Later,
    /// The documentation, in this file (relative to the workspace).
    Doc(PathBuf),
}

/// One entry of `SPEC.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Requirement {
    pub(crate) kind: Kind,
    pub(crate) text: String,
}

/// Reads all entries. Every bullet of the page is an entry, so that no requirement goes unnumbered.
pub(crate) fn read(spec: &str) -> (BTreeMap<Id, Requirement>, Vec<Finding>) {
    let mut requirements = BTreeMap::new();
    let mut findings = Vec::new();
    for (line, text) in (1..).zip(spec.lines()).filter(|(_, text)| is_bullet(text)) {
        match parse_entry(text) {
            None => findings.push(Finding::MalformedEntry {
                line,
                text: text.to_owned(),
            }),
            Some((id, requirement)) => {
                if !has_must(&requirement.text) {
                    findings.push(Finding::EntryWithoutMust { id });
                }
                if requirements.insert(id, requirement).is_some() {
                    findings.push(Finding::DuplicateId { id, line });
                }
            }
        }
    }
    if requirements.is_empty() {
        findings.push(Finding::NoRequirements);
    }
    (requirements, findings)
}

fn is_bullet(line: &str) -> bool {
    let line = line.trim_start();
    ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
}

/// Parses `- **PLC-7** text [tag]`.
fn parse_entry(line: &str) -> Option<(Id, Requirement)> {
    let (id, rest) = line.strip_prefix(ENTRY_START)?.split_once("** ")?;
    let (text, kind) = split_tag(rest.trim_end())?;
    let text = text.trim().to_owned();
    (!text.is_empty()).then_some((Id::parse(id)?, Requirement { kind, text }))
}

/// Takes the tag off the end; a text that ends in an unknown tag is no entry.
fn split_tag(text: &str) -> Option<(&str, Kind)> {
    let Some(body) = text.strip_suffix(']') else {
        return Some((text, Kind::Built));
    };
    let (text, tag) = body.rsplit_once(" [")?;
    match tag.split_once(": ")? {
        ("later", reason) if !reason.trim().is_empty() => Some((text, Kind::Later)),
        ("doc", path) if !path.trim().is_empty() => Some((text, Kind::Doc(path.trim().into()))),
        _ => None,
    }
}

fn has_must(text: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric())
        .any(|word| word == "MUST")
}
