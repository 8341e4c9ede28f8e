//! YAML as a tree that knows its lines: one document of plain mappings, lists and scalars. Anchors,
//! aliases and tags are refused, since no setting needs them and they can make a small file large.

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput};

use super::document::{Broken, Content, Entry, MAX_DEPTH, Node};

/// Reads a document.
pub(super) fn parse(text: &str) -> Result<Node, Broken> {
    let mut reader = Reader {
        parser: Parser::new_from_str(text),
        line: 1,
    };
    let Some(document) = reader.document()? else {
        // An empty file has no settings.
        let content = Content::Table(Vec::new());
        return Ok(Node { line: 1, content });
    };
    match reader.next()? {
        Event::StreamEnd => Ok(document),
        _ => Err(Broken::new(reader.line, "expected one document alone")),
    }
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    /// Of the last event.
    line: usize,
}

impl<'a> Reader<'a> {
    /// The first document; `None` where there is none.
    fn document(&mut self) -> Result<Option<Node>, Broken> {
        loop {
            match self.next()? {
                Event::StreamStart | Event::DocumentStart(_) => {}
                Event::StreamEnd => return Ok(None),
                event => {
                    let node = self.node(event, MAX_DEPTH)?;
                    return match self.next()? {
                        Event::DocumentEnd => Ok(Some(empty_as_table(node))),
                        _ => Err(Broken::new(self.line, NOT_YAML)),
                    };
                }
            }
        }
    }

    fn node(&mut self, event: Event<'a>, depth: usize) -> Result<Node, Broken> {
        let line = self.line;
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Broken::too_deep(line));
        };
        let content = match event {
            Event::Scalar(text, style, 0, None) => scalar(&text, style),
            Event::SequenceStart(0, None) => self.list(depth)?,
            Event::MappingStart(0, None) => self.table(depth)?,
            Event::Alias(_)
            | Event::Scalar(..)
            | Event::SequenceStart(..)
            | Event::MappingStart(..) => {
                let text = "anchors, aliases and tags are not read here";
                return Err(Broken::new(line, text));
            }
            _ => return Err(Broken::new(line, NOT_YAML)),
        };
        Ok(Node { line, content })
    }

    fn list(&mut self, depth: usize) -> Result<Content, Broken> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                Event::SequenceEnd => return Ok(Content::List(items)),
                event => items.push(self.node(event, depth)?),
            }
        }
    }

    fn table(&mut self, depth: usize) -> Result<Content, Broken> {
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let name = match self.next()? {
                Event::MappingEnd => return Ok(Content::Table(entries)),
                Event::Scalar(name, _, 0, None) => name.into_owned(),
                _ => return Err(Broken::new(self.line, "expected a plain key")),
            };
            let line = self.line;
            if entries.iter().any(|entry| entry.name == name) {
                return Err(Broken::repeated(line));
            }
            let event = self.next()?;
            let value = self.node(event, depth)?;
            entries.push(Entry { name, line, value });
        }
    }

    fn next(&mut self) -> Result<Event<'a>, Broken> {
        match self.parser.next_event() {
            Some(Ok((event, Span { start, .. }))) => {
                self.line = start.line();
                Ok(event)
            }
            // What the parser says of a fault may repeat a part of the file.
            Some(Err(error)) => Err(Broken::new(error.marker().line(), NOT_YAML)),
            None => Err(Broken::new(self.line, NOT_YAML)),
        }
    }
}

const NOT_YAML: &str = "this is not YAML";

/// A file of comments alone holds an empty scalar.
fn empty_as_table(node: Node) -> Node {
    match node.content {
        Content::Other => Node {
            content: Content::Table(Vec::new()),
            ..node
        },
        _ => node,
    }
}

/// The core schema, as far as settings need it. What is quoted is text.
fn scalar(text: &str, style: ScalarStyle) -> Content {
    if style != ScalarStyle::Plain {
        return Content::Text(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Content::Other,
        "true" | "True" | "TRUE" => Content::Boolean(true),
        "false" | "False" | "FALSE" => Content::Boolean(false),
        _ => text
            .parse()
            .map_or_else(|_| Content::Text(text.to_owned()), Content::Integer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_have_their_line_and_no_value() {
        let refused = "anchors, aliases and tags are not read here";
        for (text, line, expected) in [
            ("a: 1\na: 2\n", 2, "this key was given before"),
            ("a: 1\n b: 2\n", 2, NOT_YAML),
            ("a: [secret\n", 2, NOT_YAML),
            ("a: &x 1\n", 1, refused),
            ("a: 1\nb: *x\n", 2, NOT_YAML),
            ("a: !!str 1\n", 1, refused),
            ("a: &x [1]\nb: *x\n", 1, refused),
            ("? [a]\n: 1\n", 1, "expected a plain key"),
            ("a: 1\n---\nb: 1\n", 2, "expected one document alone"),
            ("a: [[[[[[[[1]]]]]]]]\n", 1, "this is nested too deeply"),
        ] {
            assert_eq!(parse(text), Err(Broken::new(line, expected)), "{text}");
        }
    }

    #[test]
    fn a_file_without_settings_is_an_empty_table() {
        for text in ["", "\n", "# nothing\n", "---\n", "{}\n", "~\n"] {
            let content = parse(text).map(|node| node.content);
            assert_eq!(content, Ok(Content::Table(Vec::new())), "{text:?}");
        }
    }

    #[test]
    fn plain_scalars_have_kinds_and_quoted_ones_are_text() {
        let text = |text: &str| Content::Text(text.to_owned());
        for (yaml, content) in [
            ("a: 30s", text("30s")),
            ("a: '7'", text("7")),
            ("a: 7", Content::Integer(7)),
            ("a: yes", text("yes")),
            ("a: false", Content::Boolean(false)),
            ("a:", Content::Other),
            ("a: |\n  x\n", text("x\n")),
        ] {
            let Content::Table(entries) = parse(yaml).unwrap().content else {
                panic!("a table")
            };
            assert_eq!(entries[0].value.content, content, "{yaml}");
        }
    }
}
