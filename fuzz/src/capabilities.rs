//! The reader of capability declarations, and the formatter that must give what the reader reads.

use std::collections::BTreeSet;

use moorline_model::wire::CapabilitySet;

/// Takes field lines with line feeds between them.
pub fn run(data: &[u8]) {
    let lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    let found = CapabilitySet::parse(lines.iter().copied());
    let expected = declared(&lines);
    let names = found.as_ref().ok().map(|set| set.names().collect());
    assert_eq!(names, expected, "{found:?}");
    let tolerant = CapabilitySet::from_lines(lines.iter().copied());
    assert_eq!(tolerant, found.clone().unwrap_or_default());
    advertise(&lines);
    let Ok(set) = found else { return };
    for name in set.names() {
        assert!(set.contains(name));
    }
    let again = CapabilitySet::new(set.names());
    assert_eq!(again.as_ref(), Ok(&set), "what was read can be advertised");
    let value = set.header_value();
    assert_eq!(CapabilitySet::parse([value.as_bytes()]), Ok(set));
}

/// The lines as names to advertise, each by itself, by the rules CAP-1 and CAP-7.
fn advertise(lines: &[&[u8]]) {
    let Ok(names) = lines.iter().map(|line| std::str::from_utf8(line)).collect() else {
        return;
    };
    let names: Vec<&str> = names;
    let distinct: BTreeSet<&str> = names.iter().copied().collect();
    let value = distinct.iter().copied().collect::<Vec<_>>().join(",");
    let valid = names.iter().all(|name| is_name(name));
    let expected = valid && distinct.len() <= 64 && value.len() <= 4096;
    let set = CapabilitySet::new(names).ok();
    assert_eq!(set.map(|set| set.header_value()), expected.then_some(value));
}

/// What the lines declare by the rules CAP-1 to CAP-6; `None` when there is a violation anywhere.
fn declared<'a>(lines: &[&'a [u8]]) -> Option<BTreeSet<&'a str>> {
    let size = lines.iter().map(|line| line.len()).sum::<usize>() + lines.len() - 1;
    let members: Vec<&str> = lines
        .iter()
        .flat_map(|line| line.split(|byte| *byte == b','))
        .map(|member| std::str::from_utf8(member).map(|text| text.trim_matches([' ', '\t'])))
        .collect::<Result<_, _>>()
        .ok()?;
    let members: Vec<&str> = members
        .into_iter()
        .filter(|name| !name.is_empty())
        .collect();
    let valid = size <= 4096 && members.len() <= 64 && members.iter().all(|name| is_name(name));
    valid.then(|| members.into_iter().collect())
}

fn is_name(name: &str) -> bool {
    (1..=128).contains(&name.len()) && name.chars().all(is_token_char)
}

/// The characters of an HTTP token: visible ASCII but for the delimiters.
fn is_token_char(c: char) -> bool {
    c.is_ascii_graphic() && !"\"(),/:;<=>?@[\\]{}".contains(c)
}
