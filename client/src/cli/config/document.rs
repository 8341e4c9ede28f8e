//! A configuration file as a tree that knows its lines, whatever language it was written in.

use std::path::Path;

use super::reference::read_file;
use super::{toml, yaml};

/// The deepest nesting that is read. The settings need three levels.
pub(super) const MAX_DEPTH: usize = 8;

/// A value of a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    /// Where it begins, from 1.
    pub(super) line: usize,
    pub(super) content: Content,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Boolean(bool),
    Integer(i64),
    List(Vec<Node>),
    Table(Vec<Entry>),
    Text(String),
    /// Anything that no setting takes, such as a date.
    Other,
}

/// One member of a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) name: String,
    /// Where the name stands, from 1.
    pub(super) line: usize,
    pub(super) value: Node,
}

/// Why a file is no document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken {
    /// From 1.
    pub(super) line: usize,
    /// What is wrong, without the values in the file: one of them may be a secret.
    pub(super) text: String,
}

/// Reads a file as TOML, or as YAML where its name ends in `.yaml` or `.yml`.
pub(super) fn read(path: &Path) -> Result<Node, String> {
    let bytes = read_file("the configuration", path)?;
    let name = path.display();
    let text = String::from_utf8(bytes).map_err(|_| format!("{name}: must hold UTF-8 text"))?;
    let parsed = if is_yaml(path) {
        yaml::parse(&text)
    } else {
        toml::parse(&text)
    };
    parsed.map_err(|Broken { line, text }| format!("{name}, line {line}: {text}"))
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| {
        extension.eq_ignore_ascii_case("yaml") || extension.eq_ignore_ascii_case("yml")
    })
}

impl Broken {
    pub(super) fn new(line: usize, text: impl Into<String>) -> Self {
        Self {
            line,
            text: text.into(),
        }
    }

    pub(super) fn too_deep(line: usize) -> Self {
        Self::new(line, "this is nested too deeply")
    }

    pub(super) fn repeated(line: usize) -> Self {
        Self::new(line, "this key was given before")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: usize, text: &str) -> Node {
        Node {
            line,
            content: Content::Text(text.to_owned()),
        }
    }

    fn entry(name: &str, line: usize, value: Node) -> Entry {
        Entry {
            name: name.to_owned(),
            line,
            value,
        }
    }

    #[test]
    fn both_languages_give_the_same_tree() {
        let number = Node {
            line: 3,
            content: Content::Integer(7),
        };
        let on = Node {
            line: 4,
            content: Content::Boolean(true),
        };
        let list = Node {
            line: 5,
            content: Content::List(vec![text(5, "x"), text(5, "y")]),
        };
        let table = Node {
            line: 1,
            content: Content::Table(vec![
                entry("a", 2, text(2, "one")),
                entry("b", 3, number),
                entry("c", 4, on),
                entry("d", 5, list),
            ]),
        };
        let root = Content::Table(vec![entry("t", 1, table)]);
        let by_toml = toml::parse("[t]\na = 'one'\nb = 7\nc = true\nd = ['x', \"y\"]\n").unwrap();
        let by_yaml = yaml::parse("t:\n  a: one\n  b: 7\n  c: true\n  d: ['x', \"y\"]\n").unwrap();
        assert_eq!(by_toml.content, root);
        let Content::Table(entries) = by_yaml.content else {
            panic!("a table")
        };
        // A YAML mapping begins with its first key, a TOML table with its heading.
        let Content::Table(members) = &entries[0].value.content else {
            panic!("a table")
        };
        let Content::Table(expected) = root else {
            panic!("a table")
        };
        let Content::Table(expected) = &expected[0].value.content else {
            panic!("a table")
        };
        assert_eq!(members, expected);
    }

    #[test]
    fn the_extension_names_the_language() {
        for (path, yaml) in [
            ("a.yaml", true),
            ("a.YML", true),
            ("a.toml", false),
            ("yaml", false),
            ("a.conf", false),
        ] {
            assert_eq!(is_yaml(Path::new(path)), yaml, "{path}");
        }
    }
}
