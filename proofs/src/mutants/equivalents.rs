//! Mutants of cargo-mutants that no test can notice, each with the reason.

/// One of them. Lines move and texts repeat, so all three of file, line text and replacement are the key.
#[derive(Clone, Copy, Debug)]
pub struct Equivalent {
    /// The file, from the workspace's directory.
    pub file: &'static str,
    /// The first line that is changed, without the space around it.
    pub line: &'static str,
    /// What stands in its place.
    pub replacement: &'static str,
    /// Why that makes no difference.
    pub reason: &'static str,
}

impl Equivalent {
    pub(super) fn is_of(&self, file: &str, line: &str, replacement: &str) -> bool {
        (self.file, self.line, self.replacement) == (file, line, replacement)
    }
}

/// All that were reviewed.
pub const EQUIVALENTS: &[Equivalent] = &[];
