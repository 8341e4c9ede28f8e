//! TOML as a tree that knows its lines.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::{Broken, Content, Entry, MAX_DEPTH, Node};

/// Reads a document.
pub(super) fn parse(text: &str) -> Result<Node, Broken> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        if error.message().starts_with("duplicate key") {
            Broken::repeated(line)
        } else {
            let broken = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
            Broken::new(line, format!("this is not TOML{}", advice(broken)))
        }
    })?;
    let content = entries(text, table.get_ref(), MAX_DEPTH)?;
    Ok(Node { line: 1, content })
}

fn entries(text: &str, table: &DeTable<'_>, depth: usize) -> Result<Content, Broken> {
    let mut entries = Vec::with_capacity(table.len());
    for (name, value) in table {
        entries.push(Entry {
            name: name.get_ref().to_string(),
            line: line_of(text, name.span().start),
            value: node(text, value, depth)?,
        });
    }
    // The parser sorts by name; faults should come in the order of the file.
    entries.sort_by_key(|entry| entry.line);
    Ok(Content::Table(entries))
}

fn node(text: &str, value: &Spanned<DeValue<'_>>, depth: usize) -> Result<Node, Broken> {
    let line = line_of(text, value.span().start);
    let Some(depth) = depth.checked_sub(1) else {
        return Err(Broken::too_deep(line));
    };
    let content = match value.get_ref() {
        DeValue::String(text) => Content::Text(text.to_string()),
        DeValue::Integer(integer) => {
            i64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix())
                .map_or(Content::Other, Content::Integer)
        }
        DeValue::Boolean(on) => Content::Boolean(*on),
        DeValue::Array(items) => Content::List(
            items
                .iter()
                .map(|item| node(text, item, depth))
                .collect::<Result<_, _>>()?,
        ),
        DeValue::Table(table) => entries(text, table, depth)?,
        DeValue::Float(_) | DeValue::Datetime(_) => Content::Other,
    };
    Ok(Node { line, content })
}

/// What a line that is not TOML was probably meant to be. Nothing of it is repeated.
fn advice(line: &str) -> &'static str {
    let is_name = |name: &str| {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_-.\"".contains(letter);
        !name.is_empty() && name.chars().all(is_part)
    };
    let line = line.trim();
    let is_bare = |value: &str| {
        value
            .trim_start()
            .starts_with(|first| !"\"'[{#".contains(first))
    };
    let is_unquoted = line
        .split_once('=')
        .is_some_and(|(name, value)| is_name(name.trim()) && is_bare(value));
    let is_yaml = line
        .split_once(':')
        .is_some_and(|(name, rest)| is_name(name) && (rest.is_empty() || rest.starts_with(' ')));
    if is_unquoted {
        ": strings need quotation marks"
    } else if is_yaml || line == "---" {
        ": files in YAML must be named *.yaml or *.yml"
    } else {
        ""
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes()
        .take(offset)
        .filter(|byte| *byte == b'\n')
        .count()
        .saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_have_their_line_and_no_value() {
        for (text, line, expected) in [
            ("a = 1\na = 2\n", 2, "this key was given before"),
            ("a = 1\n[t\n", 2, "this is not TOML"),
            ("secret\n", 1, "this is not TOML"),
            (
                "a = 1\nendpoint = http://secret/\n",
                2,
                "this is not TOML: strings need quotation marks",
            ),
            (
                "level = info\n",
                1,
                "this is not TOML: strings need quotation marks",
            ),
            (
                "a = 30s\n",
                1,
                "this is not TOML: strings need quotation marks",
            ),
            ("a = 'open\n", 1, "this is not TOML"),
            (
                "# comment\ncontrol_plane:\n  endpoint: x\n",
                2,
                "this is not TOML: files in YAML must be named *.yaml or *.yml",
            ),
            (
                "---\na: 1\n",
                1,
                "this is not TOML: files in YAML must be named *.yaml or *.yml",
            ),
            ("a = [[[[[[[[[1]]]]]]]]]\n", 1, "this is nested too deeply"),
        ] {
            assert_eq!(parse(text), Err(Broken::new(line, expected)), "{text}");
        }
    }

    #[test]
    fn numbers_are_read_in_every_form_that_fits() {
        let table = parse("a = 1_000\nb = 0x10\nc = 1.5\nd = 99999999999999999999\n").unwrap();
        let Content::Table(entries) = table.content else {
            panic!("a table")
        };
        let values: Vec<_> = entries
            .into_iter()
            .map(|entry| entry.value.content)
            .collect();
        assert_eq!(
            values,
            [
                Content::Integer(1000),
                Content::Integer(16),
                Content::Other,
                Content::Other
            ]
        );
    }
}
