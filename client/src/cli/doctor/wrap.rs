//! Lines that fit a terminal.

/// How many columns stdout has, if it is a terminal that says so.
#[cfg(unix)]
pub(super) fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(not(unix))]
pub(super) fn columns() -> Option<usize> {
    None
}

/// Breaks a text between words into lines of at most `width` characters. A longer word has a line of its own.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let length = word.chars().count();
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count().saturating_add(length) < width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole() {
        for (text, width, lines) in [
            ("", 5, vec![""]),
            ("one two", 7, vec!["one two"]),
            ("one two", 6, vec!["one", "two"]),
            ("a longest b", 4, vec!["a", "longest", "b"]),
            ("é é é", 3, vec!["é é", "é"]),
        ] {
            assert_eq!(wrap(text, width), lines, "{text}");
        }
    }
}
