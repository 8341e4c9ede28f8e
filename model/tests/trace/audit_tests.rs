//! Every kind of finding, each shown once on a small sample.
//!
//! The samples are written with `\n` inside of one-line strings, so that the trace of the real tree
//! does not take them for citations.

use std::path::PathBuf;

use super::audit::{Summary, audit};
use super::finding::{Finding, report};
use super::id::Id;

const ONE: &str = "- **PLC-1** A poll MUST end.\n";
const CODE: (&str, &str) = ("model/src/a.rs", "// spec: PLC-1\nfn a() {}\n");
const TEST: (&str, &str) = (
    "model/tests/a.rs",
    "// spec-test: PLC-1\n#[test]\nfn a() {}\n",
);

#[test]
fn a_cited_page_passes_with_its_totals() {
    let spec = "# Page\n\nWords.\n\n- **PLC-1** A poll MUST end.\n- **PLC-2** It MUST NOT hang.\n\
                - **CMD-1** A command MUST run. [later: soon]\n\
                - **REL-1** Operators MUST wait. [doc: docs/ops.md]\n";
    let sources = [
        (
            "model/src/a.rs",
            "//! spec: PLC-1, PLC-2 both of them\n    /// spec: PLC-2\nfn a() {}\n",
        ),
        (
            "model/src/b.rs",
            "fn b() {}\n\n#[cfg(test)]\nmod tests {\n    // spec-test: PLC-1\n}\n",
        ),
        (
            "fixtures/sequences/x.json",
            r#"{"steps":[{"covers":["PLC-2","PLC-1"]}],"covers":["PLC-1"]}"#,
        ),
        (
            "docs/ops.md",
            "Text. <!-- a remark --> <!-- REL-1 --> More.\n",
        ),
    ];
    let expected = Summary {
        built: 2,
        later: 1,
        doc: 1,
        code_citations: 3,
        test_citations: 4,
    };
    let summary = run(spec, &sources).unwrap();
    assert_eq!(summary, expected);
    assert_eq!(
        summary.to_string(),
        "requirement trace: 2 requirements built, 1 later, 1 doc; \
         3 code citations, 4 test citations"
    );
}

#[test]
fn an_empty_page_fails() {
    assert_eq!(run("# Page\n", &[]), Err(vec![Finding::NoRequirements]));
}

#[test]
fn every_bullet_must_be_an_entry() {
    let bad = [
        "- PLC-2 A poll MUST end.",
        "- **PLC-02** A poll MUST end.",
        "- **ABC-2** A poll MUST end.",
        "- **PLC-2**A poll MUST end.",
        "- **PLC-2** ",
        "- **PLC-2** A poll MUST end. [soon: yes]",
        "- **PLC-2** A poll MUST end. [doc: ]",
        "- **PLC-2** A poll MUST end. [later]",
        "  - **PLC-2** A poll MUST end.",
        "* **PLC-2** A poll MUST end.",
    ];
    for text in bad {
        let expected = Finding::MalformedEntry {
            line: 2,
            text: text.to_owned(),
        };
        assert_eq!(
            run(&format!("{ONE}{text}\n"), &[CODE, TEST]),
            Err(vec![expected]),
            "{text}"
        );
    }
}

#[test]
fn a_number_stands_once() {
    let twice = format!("{ONE}{ONE}");
    let expected = Finding::DuplicateId {
        id: id("PLC-1"),
        line: 2,
    };
    assert_eq!(run(&twice, &[CODE, TEST]), Err(vec![expected]));
}

#[test]
fn an_entry_requires_something() {
    for text in ["A poll ends.", "A poll must end.", "A poll is MUSTY."] {
        let spec = format!("- **PLC-1** {text}\n");
        let expected = Finding::EntryWithoutMust { id: id("PLC-1") };
        assert_eq!(run(&spec, &[CODE, TEST]), Err(vec![expected]), "{text}");
    }
}

#[test]
fn a_built_entry_needs_code_and_test() {
    let text = "A poll MUST end.".to_owned();
    let no_code = Finding::NoCodeCitation {
        id: id("PLC-1"),
        text: text.clone(),
    };
    let no_test = Finding::NoTestCitation {
        id: id("PLC-1"),
        text,
    };
    assert_eq!(run(ONE, &[TEST]), Err(vec![no_code.clone()]));
    assert_eq!(run(ONE, &[CODE]), Err(vec![no_test.clone()]));
    assert_eq!(run(ONE, &[]), Err(vec![no_code, no_test]));
}

#[test]
fn a_documented_entry_needs_its_page_and_its_mark() {
    let spec = "- **REL-1** Operators MUST wait. [doc: docs/ops.md]\n";
    let path = PathBuf::from("docs/ops.md");
    let missing = Finding::MissingDocFile {
        id: id("REL-1"),
        path: path.clone(),
    };
    assert_eq!(
        run(spec, &[("docs/other.md", "<!-- REL-1 -->")]),
        Err(vec![missing])
    );

    let text = "Operators MUST wait.".to_owned();
    let unmarked = Finding::NotInDocFile {
        id: id("REL-1"),
        path,
        text,
    };
    for page in [
        "REL-1 in plain text",
        "<!-- about REL-1 -->",
        "<!-- REL-1",
        "`spec: REL-1`",
    ] {
        assert_eq!(
            run(spec, &[("docs/ops.md", page)]),
            Err(vec![unmarked.clone()]),
            "{page}"
        );
    }
    let elsewhere = [("docs/ops.md", ""), ("docs/other.md", "<!-- REL-1 -->")];
    assert_eq!(run(spec, &elsewhere), Err(vec![unmarked]));
    assert!(run(spec, &[("docs/ops.md", "<!--REL-1-->")]).is_ok());
}

#[test]
fn a_citation_names_an_existing_entry() {
    let sources = [
        CODE,
        TEST,
        ("docs/a.md", "\n<!-- PLC-9 -->"),
        ("fixtures/cases/a.json", r#"[{"covers":["PLC-8"]}]"#),
        ("model/src/b.rs", "fn b() {}\n// spec: PLC-1, PLC-7\n"),
    ];
    let expected = [
        ("docs/a.md", 2, "PLC-9"),
        ("fixtures/cases/a.json", 0, "PLC-8"),
        ("model/src/b.rs", 2, "PLC-7"),
    ]
    .map(|(path, line, text)| Finding::UnknownId {
        at: at(path, line),
        id: id(text),
    });
    assert_eq!(run(ONE, &sources), Err(expected.to_vec()));
}

#[test]
fn a_citation_is_well_formed() {
    for (list, text) in [
        ("", ""),
        ("PLC-1,", ""),
        ("plc-1", "plc-1"),
        ("see PLC", "see"),
        ("PLC-1: a", "PLC-1:"),
    ] {
        let source = format!("// spec: {list}\n");
        let expected = Finding::MalformedCitation {
            at: at("model/src/b.rs", 1),
            text: text.to_owned(),
        };
        let sources = [CODE, TEST, ("model/src/b.rs", source.as_str())];
        assert_eq!(run(ONE, &sources), Err(vec![expected]), "{list:?}");
    }
    for items in [r#"["PLC-1 and words"]"#, r#"[" PLC-1"]"#] {
        let source = format!(r#"{{"covers":{items}}}"#);
        let sources = [CODE, TEST, ("fixtures/cases/a.json", source.as_str())];
        let findings = run(ONE, &sources).unwrap_err();
        assert!(
            matches!(findings.as_slice(), [Finding::MalformedCitation { .. }]),
            "{items}"
        );
    }
}

#[test]
fn a_number_among_the_words_is_not_lost() {
    for list in [
        "PLC-1 PLC-2",
        "PLC-1 and PLC-2",
        "PLC-1 (PLC-2)",
        "PLC-1 to PLC-2.",
    ] {
        let source = format!("// spec: {list}\n");
        let expected = Finding::StrayId {
            at: at("model/src/b.rs", 1),
            text: "PLC-2".to_owned(),
        };
        let sources = [CODE, TEST, ("model/src/b.rs", source.as_str())];
        assert_eq!(run(ONE, &sources), Err(vec![expected]), "{list}");
    }
}

#[test]
fn a_test_citation_stands_in_test_code() {
    let cite = "// spec-test: PLC-1\n";
    let code = [
        (
            "model/src/b.rs",
            format!("{cite}#[cfg(test)]\nmod tests {{\n}}\n"),
            1,
        ),
        (
            "model/src/b.rs",
            format!("#[cfg(test)]\nuse a::b;\nfn b() {{\n{cite}}}\n"),
            4,
        ),
        (
            "model/src/b.rs",
            format!("#[cfg(test)]\nmod tests;\nmod b {{\n{cite}}}\n"),
            4,
        ),
        ("model/src/testing.rs", cite.to_owned(), 1),
    ];
    for (path, source, line) in code {
        let expected = Finding::TestCitationInCode { at: at(path, line) };
        let sources = [CODE, TEST, (path, source.as_str())];
        assert_eq!(run(ONE, &sources), Err(vec![expected]), "{source}");
    }
    let tests = [
        ("client/tests/deep/b.rs", cite.to_owned()),
        ("client/benches/b.rs", cite.to_owned()),
        ("client/src/b/tests.rs", cite.to_owned()),
        ("proofs/src/b.rs", cite.to_owned()),
        ("fuzz/fuzz_targets/b.rs", cite.to_owned()),
        (
            "model/src/b.rs",
            format!("#[cfg(test)]\n// words\n#[allow(x)]\npub(crate) mod checks {{\n{cite}}}\n"),
        ),
        ("model/src/b.rs", format!("mod tests {{\n{cite}}}\n")),
    ];
    for (path, source) in tests {
        assert!(
            run(ONE, &[CODE, (path, source.as_str())]).is_ok(),
            "{path}: {source}"
        );
    }
}

#[test]
fn a_code_citation_stands_outside_of_test_code() {
    let cite = "// spec: PLC-1\n";
    let tests = [
        ("client/tests/b.rs", cite.to_owned(), 1),
        ("proofs/src/b.rs", cite.to_owned(), 1),
        (
            "model/src/b.rs",
            format!("#[cfg(test)]\nmod tests {{\n    {cite}}}\n"),
            3,
        ),
    ];
    for (path, source, line) in tests {
        let expected = Finding::CodeCitationInTest { at: at(path, line) };
        let sources = [CODE, TEST, (path, source.as_str())];
        assert_eq!(run(ONE, &sources), Err(vec![expected]), "{path}");
    }
}

#[test]
fn text_that_is_no_line_comment_cites_nothing() {
    let source = "let a = 1; // spec: PLC-1\nlet b = \"// spec: PLC-1\";\n\
                  // a spec: PLC-1\n// specs: PLC-1\n";
    let findings = run(ONE, &[TEST, ("model/src/b.rs", source)]).unwrap_err();
    assert!(
        matches!(findings.as_slice(), [Finding::NoCodeCitation { .. }]),
        "{findings:?}"
    );
}

#[test]
fn fixture_data_is_readable_and_covers_something() {
    let path = "fixtures/cases/a.json";
    for source in [
        r#"{"covers":"PLC-1"}"#,
        r#"{"covers":[]}"#,
        r#"{"covers":["PLC-1",1]}"#,
        r#"[{"covers":null}]"#,
    ] {
        let expected = Finding::MalformedCovers { at: at(path, 0) };
        assert_eq!(
            run(ONE, &[CODE, TEST, (path, source)]),
            Err(vec![expected]),
            "{source}"
        );
    }
    let findings = run(ONE, &[CODE, TEST, (path, "{")]).unwrap_err();
    assert!(
        matches!(findings.as_slice(), [Finding::UnreadableFixture { .. }]),
        "{findings:?}"
    );
}

#[test]
fn an_audit_of_next_to_nothing_falls_short() {
    let full = Summary {
        built: 3,
        later: 0,
        doc: 0,
        code_citations: 3,
        test_citations: 3,
    };
    assert_eq!(full.shortfall(3), None);
    assert!(full.shortfall(4).is_some());
    assert!(
        Summary {
            code_citations: 2,
            ..full
        }
        .shortfall(3)
        .is_some()
    );
    assert!(
        Summary {
            test_citations: 2,
            ..full
        }
        .shortfall(3)
        .is_some()
    );
}

#[test]
fn the_report_is_one_list_that_says_what_to_add() {
    let findings = run(ONE, &[]).unwrap_err();
    let expected = [
        "requirement trace: 2 findings",
        "  PLC-1 has no code citation: add `// spec: PLC-1` to the code that meets it \
         (A poll MUST end.)",
        "  PLC-1 has no test citation: add `// spec-test: PLC-1` to a test, or PLC-1 to `covers` \
         of a fixture (A poll MUST end.)",
    ];
    assert_eq!(report(&findings), expected.join("\n"));
}

fn run(spec: &str, sources: &[(&str, &str)]) -> Result<Summary, Vec<Finding>> {
    let sources: Vec<_> = sources
        .iter()
        .map(|(path, text)| (PathBuf::from(path), (*text).to_owned()))
        .collect();
    audit(spec, &sources)
}

fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}

fn at(path: &str, line: usize) -> (PathBuf, usize) {
    (PathBuf::from(path), line)
}
