//! Every requirement in `SPEC.md` is cited by the code that meets it and by a test that would
//! notice if it did not; and nothing cites a requirement that does not exist.
//!
//! A citation is a line comment of its own: the mark `spec:` (code) or `spec-test:` (test), then
//! one or more numbers with commas between them, then optional words. Doc comments count too. In
//! fixture data, a member `"covers"` holds an array of numbers and counts as a test.
//!
//! `cargo test -p moorline-model --test requirement_trace -- --nocapture` prints the totals.

mod trace;

use std::path::{Path, PathBuf};

use trace::audit::audit;
use trace::tree;

/// Far below what `SPEC.md` holds, and far above what a broken reader would find by chance.
const REQUIREMENTS_MIN: usize = 50;

#[test]
#[allow(clippy::print_stdout, reason = "the totals are this test's report")]
fn every_built_requirement_is_cited_by_code_and_by_a_test() {
    let root = workspace_root();
    let spec = std::fs::read_to_string(root.join("model/SPEC.md")).expect("model/SPEC.md");
    let sources = tree::read_sources(&root).expect("the workspace can be read");

    match audit(&spec, &sources) {
        Ok(summary) => {
            println!("{summary}");
            assert_eq!(summary.shortfall(REQUIREMENTS_MIN), None);
        }
        Err(findings) => panic!("\n{}", trace::finding::report(&findings)),
    }
}

fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
