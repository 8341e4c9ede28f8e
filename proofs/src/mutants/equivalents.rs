//! Mutants of cargo-mutants that no test can notice, or that only a limit of time can, each with the reason.

/// One of them. Lines move and texts repeat, so file, function, text of the line and replacement are the key
/// together.
#[derive(Clone, Copy, Debug)]
pub struct Equivalent {
    /// The file, from the workspace's directory.
    pub file: &'static str,
    /// The function.
    pub function: &'static str,
    /// The first line that is changed, without the space around it.
    pub line: &'static str,
    /// What stands in its place.
    pub replacement: &'static str,
    /// What becomes of it.
    pub fate: Fate,
    /// Why.
    pub reason: &'static str,
}

/// What becomes of a mutant that the tests do not fail for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It does what the source does.
    Missed,
    /// It does not end, and is stopped.
    Stopped,
}

const SCANNER: &str = "model/src/wire/scanner.rs";
const ENDLESS: &str = "The scanner no longer moves on, so that its loop does not end.";

/// All that were reviewed.
pub const EQUIVALENTS: &[Equivalent] = &[
    endless("Scanner<'a>::value", "self.at += 1;", "-="),
    endless("Scanner<'a>::value", "self.at += 1;", "*="),
    endless("Scanner<'a>::after_value", "self.at += 1;", "-="),
    endless("Scanner<'a>::string_rest", "self.at += 1;", "*="),
    endless(
        "Scanner<'a>::escape",
        "let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();",
        "Ok(())",
    ),
    Equivalent {
        file: SCANNER,
        function: "Scanner<'a>::escape",
        line: "if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {",
        replacement: ">",
        fate: Fate::Missed,
        reason: "Fewer than four bytes are left only near the end of the text. Passing six then goes beyond it, \
                 where no string ends, so that the text is refused all the same.",
    },
];

const fn endless(
    function: &'static str,
    line: &'static str,
    replacement: &'static str,
) -> Equivalent {
    Equivalent {
        file: SCANNER,
        function,
        line,
        replacement,
        fate: Fate::Stopped,
        reason: ENDLESS,
    }
}
