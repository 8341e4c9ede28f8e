//! What a dump shows of an exchange: no value of a field whose name says that it is a secret, and no
//! body that may speak about placement, however that is spelt.

use moorline_model::delivery::{WITHHELD_TEXT, shown_text};
use moorline_model::dump::{MASK, MAX_SHOWN_BYTES, shown_body, shown_value};

use crate::oracle::json::units;

/// What is planted into the value of every line whose name says that it is a secret.
pub const SECRET: &str = "~secret~";

/// Words that make a name one of a secret.
const SECRET_WORDS: [&str; 9] = [
    "auth",
    "cookie",
    "credential",
    "key",
    "password",
    "secret",
    "session",
    "signature",
    "token",
];

/// What no dump may say.
const CODE: &str = "wrong_cluster";

/// Takes a byte for what comes before the body (0xf8 to 0xff: enough to leave room for none to seven
/// bytes; otherwise nothing), field lines as `name:value` until an empty line, and the body.
pub fn run(data: &[u8]) {
    let Some((room, text)) = data.split_first() else {
        return;
    };
    let split = text.windows(2).position(|pair| pair == b"\n\n");
    let (head, body) = match split {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 2..)),
        None => (text, None),
    };
    let lines: Vec<(&str, Vec<u8>)> = head
        .split(|byte| *byte == b'\n')
        .filter_map(field_line)
        .collect();
    let before = room
        .checked_sub(0xf8)
        .map_or(0, |room| MAX_SHOWN_BYTES - usize::from(room));
    let mut padded = vec![b'x'; before];
    padded.extend_from_slice(body.unwrap_or_default());
    for (name, value) in &lines {
        judge_value(name, value);
    }
    judge_body(&lines, &padded);
}

fn judge_value(name: &str, value: &[u8]) {
    let shown = shown_value(name, value);
    if is_secret(name) {
        assert_eq!(shown, MASK, "{name}");
        assert!(!shown.contains(SECRET));
    } else {
        assert_eq!(shown, String::from_utf8_lossy(value), "{name}");
    }
}

fn is_secret(name: &str) -> bool {
    let has = |word: &&str| {
        let letters = name.as_bytes().windows(word.len());
        letters
            .into_iter()
            .any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
    };
    SECRET_WORDS.iter().any(has)
}

fn judge_body(lines: &[(&str, Vec<u8>)], body: &[u8]) {
    let headers: Vec<(&str, &[u8])> = lines
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    let (text, cut) = (shown_text(&*headers, body), shown_body(&*headers, body));
    let carries_token = lines
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("x-tunnel-shard-token"));
    match std::str::from_utf8(body) {
        Ok(whole) if !carries_token && !may_spell_the_code(whole) => {
            assert_eq!(text, whole);
            judge_cut(whole, cut);
        }
        // Escapes that are none, and escapes behind escaped backslashes, may withhold too much.
        Ok(whole) if !carries_token && !spells_the_code(whole) && text != WITHHELD_TEXT => {
            assert_eq!(text, whole);
            judge_cut(whole, cut);
        }
        _ => assert_eq!((text, cut), (WITHHELD_TEXT, WITHHELD_TEXT)),
    }
}

/// As much as is allowed, to a whole character.
fn judge_cut(whole: &str, cut: &str) {
    assert!(cut.len() <= MAX_SHOWN_BYTES);
    let rest = whole.strip_prefix(cut).expect("the beginning");
    let next = rest.chars().next().map_or(0, char::len_utf8);
    assert!(rest.is_empty() || cut.len() + next > MAX_SHOWN_BYTES);
}

/// Where nothing is escaped the code can only stand there plainly.
fn may_spell_the_code(text: &str) -> bool {
    text.contains(CODE) || text.contains("\\u00")
}

/// The code stands in the text, or a JSON string that begins at any quote in it spells it.
fn spells_the_code(text: &str) -> bool {
    let wanted: Vec<u16> = CODE.encode_utf16().collect();
    let spells = |(at, _): (usize, &str)| {
        let string = text.get(at..).and_then(first_string);
        let units = string.and_then(units).unwrap_or_default();
        units.windows(wanted.len()).any(|part| part == wanted)
    };
    text.contains(CODE) || text.match_indices('"').any(spells)
}

/// The JSON string at the beginning of a text, if there is one.
fn first_string(text: &str) -> Option<&str> {
    let mut stream =
        serde_json::Deserializer::from_str(text).into_iter::<&serde_json::value::RawValue>();
    stream.next()?.ok().map(serde_json::value::RawValue::get)
}

fn field_line(line: &[u8]) -> Option<(&str, Vec<u8>)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = line.split_at_checked(colon)?;
    let name = std::str::from_utf8(name).ok()?;
    let mut marked = Vec::new();
    if is_secret(name) {
        marked.extend_from_slice(SECRET.as_bytes());
    }
    marked.extend_from_slice(value.get(1..)?);
    Some((name, marked))
}
