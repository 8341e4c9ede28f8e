//! What a dump shows of an exchange: no value of a field whose name says that it is a secret or an
//! address, in the body of a response POST no more than in a head, and no body that may speak about
//! placement, however that is spelt.

use moorline_model::delivery::{WITHHELD_TEXT, shown_text};
use moorline_model::dump::{MASK, MAX_SHOWN_BYTES, shown_body, shown_response, shown_value};
use moorline_model::wire::{Channel, ResponseBody, ResponseType};

use crate::oracle::json::{all, elements, is_json, members, units};

/// Words that make a name one of a secret, and those that make it one of an address.
const SECRET_WORDS: [&str; 17] = [
    "auth",
    "cookie",
    "credential",
    "key",
    "password",
    "secret",
    "session",
    "signature",
    "token",
    "forwarded",
    "host",
    "link",
    "location",
    "origin",
    "referer",
    "refresh",
    "via",
];

/// The one value that shows even where its sender calls it sensitive.
const VERSION: &str = "mcp-protocol-version";

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
    let lines: Vec<(&str, &[u8])> = head
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
    judge_response(&padded);
    judge_post(&lines);
}

fn judge_value(name: &str, value: &[u8]) {
    for is_sensitive in [false, true] {
        let shown = shown_value(name, value, is_sensitive);
        if is_secret(name) || is_sensitive && !name.eq_ignore_ascii_case(VERSION) {
            assert_eq!(shown, MASK, "{name}");
        } else {
            assert_eq!(shown, String::from_utf8_lossy(value), "{name}");
        }
    }
}

/// Any bytes for the body of a response POST.
fn judge_response(body: &[u8]) {
    let shown = shown_response(body);
    let text = std::str::from_utf8(body).unwrap_or_default();
    match secrets(text) {
        None => assert_eq!(shown, MASK),
        // A name that is no text may or may not pass for a secret's.
        Some(Secrets { odd_name: true, .. }) => {}
        Some(Secrets { values, .. }) => assert_eq!(shown, masked(text, &values)),
    }
}

/// The raw values that must not show.
struct Secrets<'a> {
    values: Vec<&'a str>,
    odd_name: bool,
}

/// `None` for what is no object, or whose header lines are none.
fn secrets(text: &str) -> Option<Secrets<'_>> {
    let mut found = Secrets {
        values: Vec::new(),
        odd_name: false,
    };
    let body = Some(text).filter(|text| is_json(text)).and_then(members)?;
    for headers in all(&body, "resp_headers") {
        for (name, values) in members(headers)? {
            match name {
                None => found.odd_name = true,
                Some(name) if is_secret(&name) => found.values.push(values),
                Some(_) => {}
            }
        }
    }
    Some(found)
}

/// The text with each of these parts of it replaced, which stand there in order.
fn masked(text: &str, parts: &[&str]) -> String {
    let mut out = String::new();
    let mut rest = text;
    for part in parts {
        // A part's address says where it stands.
        let (before, from) = rest.split_at(part.as_ptr() as usize - rest.as_ptr() as usize);
        out.push_str(before);
        out.push_str(r#"["***"]"#);
        rest = from.split_at(part.len()).1;
    }
    out + rest
}

/// The lines as those of a target, in the POST that tells the service.
fn judge_post(lines: &[(&str, &[u8])]) {
    let texts = |value: &[u8]| vec![String::from_utf8_lossy(value).into_owned()];
    let headers: Vec<(String, Vec<String>)> = lines
        .iter()
        .map(|(name, value)| ((*name).to_owned(), texts(value)))
        .collect();
    let body = ResponseBody {
        request_id: "r",
        channel: &Channel::main(),
        json: Some(r#"{"resp_headers":{"key":["open"]}}"#),
        headers: &headers,
        code: 200,
        kind: ResponseType::JsonRpcResponse,
    };
    let body = String::from_utf8(body.to_json()).expect("UTF-8");
    let shown = shown_response(body.as_bytes());
    let (body, shown) = (
        members(&body).expect("ours"),
        members(&shown).expect("JSON still"),
    );
    assert_eq!(body.len(), shown.len());
    for ((name, value), (shown_name, shown_value)) in body.iter().zip(&shown) {
        assert_eq!(name, shown_name);
        if name.as_deref() != Some("resp_headers") {
            assert_eq!(value, shown_value, "{name:?}");
        }
    }
    let of = |body: &[(Option<String>, &str)]| -> Vec<(String, Vec<String>)> {
        let headers = all(body, "resp_headers");
        let headers = headers
            .into_iter()
            .flat_map(|raw| members(raw).expect("an object"));
        let texts = |raw| {
            elements(raw)
                .expect("a list")
                .into_iter()
                .map(str::to_owned)
                .collect()
        };
        headers
            .map(|(name, values)| (name.expect("a name"), texts(values)))
            .collect()
    };
    let (real, shown) = (of(&body), of(&shown));
    assert_eq!((real.len(), shown.len()), (headers.len(), headers.len()));
    for ((name, values), (shown_name, shown)) in real.into_iter().zip(shown) {
        assert_eq!(name, shown_name);
        let secret = vec![format!("\"{MASK}\"")];
        assert_eq!(shown, if is_secret(&name) { secret } else { values });
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

fn judge_body(lines: &[(&str, &[u8])], body: &[u8]) {
    let (text, cut) = (shown_text(lines, body), shown_body(lines, body));
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

fn field_line(line: &[u8]) -> Option<(&str, &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = line.split_at_checked(colon)?;
    Some((std::str::from_utf8(name).ok()?, value.get(1..)?))
}
