//! Holds requirements and citations against each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use super::citations::{self, Citation, Role};
use super::finding::Finding;
use super::id::Id;
use super::requirements::{self, Kind, Requirement};

/// Totals of an audit without findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub(crate) built: usize,
    pub(crate) later: usize,
    pub(crate) doc: usize,
    pub(crate) code_citations: usize,
    pub(crate) test_citations: usize,
}

impl Summary {
    /// Says what is missing when fewer than `requirements_min` requirements were read, or fewer
    /// citations of a kind than built requirements: then the audit looked at next to nothing.
    pub(crate) fn shortfall(&self, requirements_min: usize) -> Option<String> {
        if self.built < requirements_min {
            return Some(format!(
                "{} built requirements, expected {requirements_min}",
                self.built
            ));
        }
        let citations = self.code_citations.min(self.test_citations);
        (citations < self.built)
            .then(|| format!("{citations} citations for {} requirements", self.built))
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "requirement trace: {} requirements built, {} later, {} doc; \
             {} code citations, {} test citations",
            self.built, self.later, self.doc, self.code_citations, self.test_citations
        )
    }
}

/// Audits the text of `SPEC.md` against the named sources; a path decides how its text is read.
///
/// # Errors
///
/// All findings, sorted: first about the page, then about citations, then about what is missing.
pub(crate) fn audit(spec: &str, sources: &[(PathBuf, String)]) -> Result<Summary, Vec<Finding>> {
    let (requirements, mut findings) = requirements::read(spec);
    let mut citations = Vec::new();
    for (path, text) in sources {
        let (found, faults) = citations::read(path, text);
        citations.extend(found);
        findings.extend(faults);
    }
    findings.extend(unknown_ids(&requirements, &citations));
    let pages: BTreeSet<&Path> = sources.iter().map(|(path, _)| path.as_path()).collect();
    findings.extend(
        requirements
            .iter()
            .flat_map(|(id, requirement)| missing(*id, requirement, &citations, &pages)),
    );
    findings.sort();
    if findings.is_empty() {
        Ok(summarise(&requirements, &citations))
    } else {
        Err(findings)
    }
}

fn unknown_ids(
    requirements: &BTreeMap<Id, Requirement>,
    citations: &[Citation],
) -> impl Iterator<Item = Finding> {
    citations
        .iter()
        .filter(|citation| !requirements.contains_key(&citation.id))
        .map(|citation| Finding::UnknownId {
            at: (citation.path.clone(), citation.line),
            id: citation.id,
        })
}

/// What one requirement lacks. One that comes later lacks nothing yet.
fn missing(
    id: Id,
    requirement: &Requirement,
    citations: &[Citation],
    pages: &BTreeSet<&Path>,
) -> Vec<Finding> {
    let cited = |role| {
        citations
            .iter()
            .filter(move |citation| citation.id == id && citation.role == role)
    };
    let text = requirement.text.clone();
    match &requirement.kind {
        Kind::Later => Vec::new(),
        Kind::Built => {
            let code = cited(Role::Code).next().is_none();
            let test = cited(Role::Test).next().is_none();
            let code = code.then(|| Finding::NoCodeCitation {
                id,
                text: text.clone(),
            });
            let test = test.then_some(Finding::NoTestCitation { id, text });
            code.into_iter().chain(test).collect()
        }
        Kind::Doc(path) if !pages.contains(path.as_path()) => {
            vec![Finding::MissingDocFile {
                id,
                path: path.clone(),
            }]
        }
        Kind::Doc(path) if cited(Role::Doc).any(|citation| citation.path == *path) => Vec::new(),
        Kind::Doc(path) => vec![Finding::NotInDocFile {
            id,
            path: path.clone(),
            text,
        }],
    }
}

fn summarise(requirements: &BTreeMap<Id, Requirement>, citations: &[Citation]) -> Summary {
    let mut summary = Summary::default();
    for requirement in requirements.values() {
        match requirement.kind {
            Kind::Built => summary.built += 1,
            Kind::Later => summary.later += 1,
            Kind::Doc(_) => summary.doc += 1,
        }
    }
    let count = |role| {
        citations
            .iter()
            .filter(|citation| citation.role == role)
            .count()
    };
    summary.code_citations = count(Role::Code);
    summary.test_citations = count(Role::Test);
    summary
}
