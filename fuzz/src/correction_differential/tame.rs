//! JSON without what other readers refuse although it is JSON.

use super::Reason;

/// The greatest depth of a tame text, in containers. `serde_json` stops at 127 by itself. `sonic_rs`
/// has no limit, and takes so much stack for a level (50 KiB where it is not optimised) that it is not
/// asked beyond this one.
pub(super) const DEPTH_MAX: usize = 24;

/// The greatest number of containers around any place of the text. Brackets in strings count too, so
/// that this may be too much, never too little.
pub(super) fn depth(body: &[u8]) -> usize {
    let (mut depth, mut greatest) = (0_usize, 0);
    for byte in body {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        greatest = greatest.max(depth);
    }
    greatest
}

/// The same JSON with a replacement for each lone surrogate, each number out of range and each value
/// that is nested too deeply, and which of these there were.
pub(super) fn tamed(text: &str) -> (String, Vec<Reason>) {
    let mut tamer = Tamer {
        rest: text,
        out: String::with_capacity(text.len()),
        depth: 0,
        reasons: Vec::new(),
    };
    while let Some(c) = tamer.rest.chars().next() {
        match c {
            '"' => tamer.string(),
            '-' | '0'..='9' => tamer.number(),
            '[' | '{' if tamer.depth == DEPTH_MAX => tamer.too_deep(),
            _ => {
                match c {
                    '[' | '{' => tamer.depth += 1,
                    ']' | '}' => tamer.depth = tamer.depth.saturating_sub(1),
                    _ => {}
                }
                tamer.copy(c.len_utf8());
            }
        }
    }
    let mut reasons = tamer.reasons;
    // Brackets in strings may have kept a reader from being asked.
    if depth(text.as_bytes()) > DEPTH_MAX {
        reasons.push(Reason::TooDeep);
    }
    reasons.sort_unstable();
    reasons.dedup();
    (tamer.out, reasons)
}

struct Tamer<'a> {
    rest: &'a str,
    out: String,
    depth: usize,
    reasons: Vec<Reason>,
}

impl<'a> Tamer<'a> {
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn copy(&mut self, length: usize) {
        let taken = self.take(length);
        self.out.push_str(taken);
    }

    fn string(&mut self) {
        self.copy(1);
        loop {
            match self.rest.as_bytes() {
                [b'"', ..] => return self.copy(1),
                [b'\\', b'u', ..] => self.escape(),
                [b'\\', ..] => self.copy(2),
                _ => {
                    let plain = self.rest.find(['"', '\\']).expect("the end of the string");
                    // Brackets would only count as depth.
                    let plain = self.take(plain).replace(['[', ']', '{', '}'], "_");
                    self.out.push_str(&plain);
                }
            }
        }
    }

    fn escape(&mut self) {
        let pair = self.unit(0).zip(self.unit(6));
        match (self.unit(0).expect("a whole escape"), pair) {
            (0xd800..=0xdbff, Some((_, 0xdc00..=0xdfff))) => self.copy(12),
            (0xd800..=0xdfff, _) => {
                self.take(6);
                self.out.push('?');
                self.reasons.push(Reason::LoneSurrogate);
            }
            _ => self.copy(6),
        }
    }

    /// The unit that an escape stands for which begins so far from here.
    fn unit(&self, at: usize) -> Option<u16> {
        let digits = self.rest.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    }

    fn number(&mut self) {
        let end = |c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E');
        let length = self.rest.find(end).unwrap_or(self.rest.len());
        let number = self.take(length);
        if number.parse::<f64>().is_ok_and(f64::is_finite) {
            self.out.push_str(number);
        } else {
            self.out.push('0');
            self.reasons.push(Reason::NumberOutOfRange);
        }
    }

    fn too_deep(&mut self) {
        self.reasons.push(Reason::TooDeep);
        let kept = self.out.len();
        let around = self.depth;
        loop {
            match self.rest.as_bytes().first().expect("the end of the value") {
                b'"' => self.string(),
                b'[' | b'{' => {
                    self.depth += 1;
                    self.take(1);
                }
                b']' | b'}' => {
                    self.depth -= 1;
                    self.take(1);
                }
                _ => {
                    let length = self.rest.chars().next().map_or(0, char::len_utf8);
                    self.take(length);
                }
            }
            if self.depth == around {
                break;
            }
        }
        self.out.truncate(kept);
        self.out.push('0');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_what_others_refuse_and_nothing_else() {
        for same in [
            r#"{"a":[1,-0.5e3,true,"\ud83d\ude00 \" \\u"],"é":null}"#,
            "[]",
        ] {
            assert_eq!(tamed(same), (same.to_owned(), vec![]), "{same}");
        }
        let (tame, reasons) = tamed(r#"["\ud800x","\udc00\ud800",1e999,-2E+400]"#);
        assert_eq!(tame, r#"["?x","??",0,0]"#);
        assert_eq!(reasons, [Reason::LoneSurrogate, Reason::NumberOutOfRange]);
    }

    #[test]
    fn cuts_what_is_nested_too_deeply() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(tamed(&nested(24)), (nested(24), vec![]));
        let (tame, reasons) = tamed(&nested(300));
        assert_eq!(reasons, [Reason::TooDeep]);
        assert_eq!(tame, nested(24).replace("[]", "[0]"));
        assert_eq!(depth(tame.as_bytes()), 24);
    }
}
