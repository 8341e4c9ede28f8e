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
    endless("Scanner<'a>::digits", "self.at += 1;", "*="),
    endless("Scanner<'a>::skip_whitespace", "self.at += 1;", "*="),
    past_the_end("true"),
    past_the_end("||"),
    nesting(
        "Nesting::push",
        "if self.depth > 0 && self.depth.is_multiple_of(64) {",
        ">=",
        "It keeps one word more below all others, which is never taken back: a pop looks below at depths over 0 \
         alone.",
    ),
    nesting(
        "Nesting::push",
        "self.top = self.top << 1 | bit;",
        "^",
        "The bit that was shifted in is 0, where both give the same.",
    ),
    nesting(
        "Nesting::pop",
        "if self.depth > 0 && self.depth.is_multiple_of(64) {",
        ">=",
        "At depth 0 nothing is kept below, and the one bit of the outermost container was shifted out: 0 both ways.",
    ),
    Equivalent {
        file: "model/src/wire/json.rs",
        function: "<impl Visitor<'_> for BytesVisitor>::expecting",
        line: "f.write_str(\"a string\")",
        replacement: "Ok(Default::default())",
        fate: Fate::Missed,
        reason: "It words an error that is thrown away: the value is always written as a string, just before.",
    },
];

/// The text ends with a byte that is none of a string.
const fn past_the_end(replacement: &'static str) -> Equivalent {
    Equivalent {
        reason: "The end of the text then counts as part of a string, so that the loop over it does not end.",
        ..endless(
            "is_plain",
            r#"byte >= b' ' && byte != b'"' && byte != b'\\'"#,
            replacement,
        )
    }
}

const fn nesting(
    function: &'static str,
    line: &'static str,
    replacement: &'static str,
    reason: &'static str,
) -> Equivalent {
    Equivalent {
        file: SCANNER,
        function,
        line,
        replacement,
        fate: Fate::Missed,
        reason,
    }
}

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
