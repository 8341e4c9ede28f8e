/// Reads JSON text from front to back and checks its syntax (RFC 8259), no more: numbers may be of
/// any size and escapes may stand for lone surrogates. Does not recurse; the nesting of a value costs
/// one bit a level.
///
/// Why not `serde_json`'s reader: as text it refuses keys with lone surrogates, which are to be
/// ignored, as bytes it takes raw control characters in keys, which are no JSON, and skipping a value
/// first and reading it afterwards costs more than its derived parser does.
pub(super) struct Scanner<'a> {
    text: &'a str,
    /// At most the length of `text`, and always between two characters when a value begins or ends.
    at: usize,
}

/// The text is no JSON, or not the JSON that was asked for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotJson;

/// What is read at the end of a text. No JSON text may hold this byte, so that both fail alike.
const END: u8 = 0;

/// What stands between the quotes of a string.
pub(super) struct RawString<'a> {
    pub(super) inner: &'a str,
    /// Whether any of it stands for something else.
    pub(super) escaped: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The byte that comes next after whitespace, or [`END`].
    #[inline]
    pub(super) fn next_byte(&mut self) -> u8 {
        let byte = self.peek();
        if byte > b' ' {
            return byte;
        }
        self.skip_whitespace();
        self.peek()
    }

    /// Passes this byte if it comes next after whitespace, and says whether it did.
    ///
    /// Written as a branch on purpose: some compilers (rustc 1.95 is one) forget a comparison that is
    /// both added as a number and branched on, as rust-lang/rust#158206 describes.
    #[inline]
    pub(super) fn passes(&mut self, byte: u8) -> bool {
        if self.next_byte() != byte {
            return false;
        }
        self.at += 1;
        true
    }

    /// Passes this byte, which must come next after whitespace.
    #[inline]
    pub(super) fn expect(&mut self, byte: u8) -> Result<(), NotJson> {
        if self.passes(byte) {
            Ok(())
        } else {
            Err(NotJson)
        }
    }

    /// The end of the text must come next after whitespace.
    pub(super) fn expect_end(&mut self) -> Result<(), NotJson> {
        self.skip_whitespace();
        if self.at == self.text.len() {
            Ok(())
        } else {
            Err(NotJson)
        }
    }

    /// The string and the colon that must come next.
    #[inline]
    pub(super) fn key(&mut self) -> Result<RawString<'a>, NotJson> {
        self.expect(b'"')?;
        let start = self.at;
        let escaped = self.string_rest()?;
        let inner = self.text.get(start..self.at.saturating_sub(1));
        let inner = inner.ok_or(NotJson)?;
        self.expect(b':')?;
        Ok(RawString { inner, escaped })
    }

    /// Where the value that comes next begins, in bytes from the start of the text.
    pub(super) fn value_start(&mut self) -> usize {
        self.next_byte();
        self.at
    }

    /// The raw text of the value that must come next, without whitespace around it.
    pub(super) fn value(&mut self) -> Result<&'a str, NotJson> {
        self.next_byte();
        let start = self.at;
        let mut nesting = Nesting::default();
        loop {
            match self.next_byte() {
                b'{' => {
                    self.at += 1;
                    if !self.passes(b'}') {
                        nesting.push(Container::Object);
                        self.skip_key()?;
                        continue;
                    }
                }
                b'[' => {
                    self.at += 1;
                    if !self.passes(b']') {
                        nesting.push(Container::Array);
                        continue;
                    }
                }
                first => self.scalar(first)?,
            }
            if !self.after_value(&mut nesting)? {
                return self.since(start);
            }
        }
    }

    #[inline]
    fn skip_key(&mut self) -> Result<(), NotJson> {
        self.expect(b'"')?;
        self.string_rest()?;
        self.expect(b':')
    }

    /// Passes what may follow a value inside of others, up to the next value. `false`: there is none,
    /// and the outermost value has ended.
    #[inline]
    fn after_value(&mut self, nesting: &mut Nesting) -> Result<bool, NotJson> {
        while let Some(container) = nesting.top() {
            match (self.next_byte(), container) {
                (b',', Container::Array) => {
                    self.at += 1;
                    return Ok(true);
                }
                (b',', Container::Object) => {
                    self.at += 1;
                    self.skip_key()?;
                    return Ok(true);
                }
                (b']', Container::Array) | (b'}', Container::Object) => {
                    self.at += 1;
                    nesting.pop();
                }
                _ => return Err(NotJson),
            }
        }
        Ok(false)
    }

    #[inline(never)]
    fn scalar(&mut self, first: u8) -> Result<(), NotJson> {
        match first {
            b'"' => {
                self.at += 1;
                self.string_rest().map(|_| ())
            }
            b'-' | b'0'..=b'9' => self.number(),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => Err(NotJson),
        }
    }

    /// The rest of a string after its opening quote, and whether there are escapes in it.
    #[inline]
    fn string_rest(&mut self) -> Result<bool, NotJson> {
        let mut escaped = false;
        loop {
            let byte = self.peek();
            if is_plain(byte) {
                self.at += 1;
                continue;
            }
            match byte {
                b'"' => {
                    self.at += 1;
                    return Ok(escaped);
                }
                b'\\' => self.escape()?,
                // A control character, or the end.
                _ => return Err(NotJson),
            }
            escaped = true;
        }
    }

    fn escape(&mut self) -> Result<(), NotJson> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at += match rest {
            [
                _,
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't',
                ..,
            ] => 2,
            [_, b'u', digits @ ..] => {
                let digits = digits.get(..4).unwrap_or_default();
                if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(NotJson);
                }
                6
            }
            _ => return Err(NotJson),
        };
        Ok(())
    }

    fn number(&mut self) -> Result<(), NotJson> {
        if self.peek() == b'-' {
            self.at += 1;
        }
        if self.peek() == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if let b'e' | b'E' = self.peek() {
            self.at += 1;
            if let b'+' | b'-' = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// One digit or more.
    fn digits(&mut self) -> Result<(), NotJson> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at > start {
            Ok(())
        } else {
            Err(NotJson)
        }
    }

    fn word(&mut self, word: &str) -> Result<(), NotJson> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if !rest.starts_with(word.as_bytes()) {
            return Err(NotJson);
        }
        self.at += word.len();
        Ok(())
    }

    #[inline(never)]
    fn skip_whitespace(&mut self) {
        while let b' ' | b'\t' | b'\n' | b'\r' = self.peek() {
            self.at += 1;
        }
    }

    #[inline]
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(END)
    }

    fn since(&self, start: usize) -> Result<&'a str, NotJson> {
        self.text.get(start..self.at).ok_or(NotJson)
    }
}

/// Whether a byte in a string is neither a quote, nor a backslash, nor a control character.
fn is_plain(byte: u8) -> bool {
    byte >= b' ' && byte != b'"' && byte != b'\\'
}

#[derive(Clone, Copy)]
enum Container {
    Array,
    Object,
}

/// The containers around a value, the innermost on top. The first 64 take no allocation.
#[derive(Default)]
struct Nesting {
    depth: usize,
    /// The topmost containers, one bit each, 64 at most.
    top: u64,
    /// The containers below these, 64 in each.
    below: Vec<u64>,
}

impl Nesting {
    fn top(&self) -> Option<Container> {
        match (self.depth, self.top & 1) {
            (0, _) => None,
            (_, 0) => Some(Container::Array),
            _ => Some(Container::Object),
        }
    }

    fn push(&mut self, container: Container) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.below.push(self.top);
        }
        let bit = match container {
            Container::Array => 0,
            Container::Object => 1,
        };
        self.top = self.top << 1 | bit;
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.top >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.top = self.below.pop().unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    use super::*;

    fn scan(text: &str) -> Result<&str, NotJson> {
        let mut scanner = Scanner::new(text);
        let value = scanner.value()?;
        scanner.expect_end()?;
        Ok(value)
    }

    fn agrees(text: &str) -> bool {
        let other = serde_json::from_str::<IgnoredAny>(text).is_ok();
        scan(text).is_ok() == other
    }

    // spec-test: COR-2, COR-14
    #[test]
    fn takes_what_the_grammar_takes_and_nothing_else() {
        for text in [
            "0",
            "-0",
            "10",
            "1.5",
            "-1.5e+10",
            "1E999999",
            "0e0",
            "0.0",
            "true",
            "false",
            "null",
            "\"\"",
            "\"a\"",
            "\"\u{7f}\u{e9}\"",
            r#""\"\\\/\b\f\n\r\t""#,
            r#""\ud800\uDFFF""#,
            "[]",
            "[ ]",
            "[1 , 2]",
            "{}",
            "{ }",
            r#"{"a":1,"a":[{}]}"#,
        ] {
            let padded = format!(" \t\r\n{text}\n");
            assert_eq!(scan(&padded), Ok(text));
            assert!(agrees(text), "{text}");
        }
        for text in [
            "",
            " ",
            "-",
            "01",
            "-01",
            "1.",
            ".5",
            "1e",
            "1e+",
            "+1",
            "1 2",
            "tru",
            "truex",
            "True",
            "nul",
            "\"",
            "\"a",
            "\"\\",
            "\"\\\"",
            r#""\x""#,
            r#""\u123""#,
            r#""\u12g4""#,
            "\"\n\"",
            "\"\u{0}\"",
            "\u{0}",
            "1\u{0}",
            "[",
            "]",
            "[,]",
            "[1,]",
            "[1 2]",
            "[}",
            "{",
            "{]",
            "{1:2}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{a:1}",
            "{\"a\":1]",
            "[1}",
            "\u{a0}1",
            "\u{feff}1",
            "1\u{b}",
            "1\u{c}",
            "NaN",
            "Infinity",
            "'a'",
            "/**/1",
        ] {
            assert_eq!(scan(text), Err(NotJson), "{text}");
            assert!(agrees(text), "{text}");
        }
    }

    #[test]
    fn remembers_each_level_of_nesting() {
        for depth in [1, 63, 64, 65, 127, 128, 129, 200] {
            // Arrays and objects in an order that does not repeat with the words of the bit stack.
            let is_array = |level: usize| level * level % 7 < 3;
            let open = |level| if is_array(level) { "[" } else { "{\"a\":" };
            let opened: String = (0..depth).map(open).collect();
            let closers: Vec<&str> = (0..depth)
                .rev()
                .map(|level| if is_array(level) { "]" } else { "}" })
                .collect();
            let good = format!("{opened}0{}", closers.concat());
            assert_eq!(scan(&good), Ok(&*good), "{depth}");
            for wrong in 0..depth {
                let mut closers = closers.clone();
                closers[wrong] = if closers[wrong] == "]" { "}" } else { "]" };
                let bad = format!("{opened}0{}", closers.concat());
                assert_eq!(scan(&bad), Err(NotJson), "{depth} {wrong}");
            }
        }
    }

    /// Pieces that make JSON now and then, and almost JSON more often.
    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(
            &[
                "{",
                "}",
                "[",
                "]",
                ",",
                ":",
                "{\"a\":",
                "\"a\"",
                "\"\\u0061\"",
                "\"\\ud800\"",
                "\"",
                "\\",
                "0",
                "1",
                "-",
                ".",
                "e",
                "1.5e3",
                "true",
                "null",
                " ",
                "\n",
                "\u{1}",
                "\u{e9}",
            ][..],
        );
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    /// JSON of any form, with one character taken out or put in, or none.
    fn almost_json() -> impl Strategy<Value = String> {
        let leaf = prop::sample::select(
            &[
                "0",
                "-1.5e9",
                "true",
                "null",
                "\"\"",
                "\"a \\u0061\"",
                "\"\u{e9}\"",
            ][..],
        );
        let json = leaf
            .prop_map(str::to_owned)
            .prop_recursive(5, 40, 4, |inner| {
                let items = prop::collection::vec(inner, 0..4);
                (items, any::<bool>()).prop_map(|(items, array)| {
                    if array {
                        format!("[{}]", items.join(" ,"))
                    } else {
                        let members: Vec<_> =
                            items.iter().map(|item| format!("\"k\" :{item}")).collect();
                        format!("{{{}}}", members.join(", "))
                    }
                })
            });
        let change = prop::option::of((any::<prop::sample::Index>(), prop::option::of(0..128_u8)));
        (json, change).prop_map(|(json, change)| {
            let mut chars: Vec<char> = json.chars().collect();
            if let Some((index, insert)) = change {
                let index = index.index(chars.len());
                match insert {
                    Some(byte) => chars.insert(index, char::from(byte)),
                    None => drop(chars.remove(index)),
                }
            }
            chars.into_iter().collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 2_000,
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        // spec-test: COR-2
        #[test]
        fn agrees_with_another_reader(text in prop_oneof![pieces(), almost_json()]) {
            prop_assert!(agrees(&text), "{:?}", text);
        }
    }
}
