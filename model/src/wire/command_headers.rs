use super::command::CommandFault;
use super::json::{for_each_element, for_each_member, string_text};

/// The most header names that one command may bring.
pub const MAX_COMMAND_HEADERS: usize = 128;

/// The greatest size of a command's headers: the lengths of the names and of the values, in bytes, and
/// one for each value.
pub const MAX_COMMAND_HEADER_BYTES: usize = 65_536;

/// Reads the member `headers` of a command: an object whose values are strings or arrays of strings.
/// A member of another form is left out alone; something that is no object holds no headers.
// spec: CMD-4
pub(super) fn read_headers(raw: Option<&str>) -> Result<Vec<(String, Vec<String>)>, CommandFault> {
    let mut headers = Headers::default();
    let read = for_each_member(raw.unwrap_or("{}"), |key, value| {
        headers.offer(key, value.raw()?);
        Ok(())
    });
    match (headers.fault, read) {
        (Some(fault), _) => Err(fault),
        (None, Ok(())) => Ok(headers.found),
        (None, Err(_)) => Ok(Vec::new()),
    }
}

#[derive(Default)]
struct Headers {
    found: Vec<(String, Vec<String>)>,
    bytes: usize,
    fault: Option<CommandFault>,
}

impl Headers {
    fn offer(&mut self, key: &[u8], value: &str) {
        if self.fault.is_some() {
            return;
        }
        let name = std::str::from_utf8(key).ok();
        let (Some(name), Some(values)) = (name, header_values(value)) else {
            return;
        };
        if self.found.len() == MAX_COMMAND_HEADERS {
            self.fault = Some(CommandFault::HeadersTooMany);
            return;
        }
        let bytes = values.iter().map(String::len).sum::<usize>();
        let bytes = bytes.saturating_add(values.len());
        self.bytes = self.bytes.saturating_add(name.len()).saturating_add(bytes);
        if self.bytes > MAX_COMMAND_HEADER_BYTES {
            self.fault = Some(CommandFault::HeadersTooLarge);
            return;
        }
        self.found.push((name.to_owned(), values));
    }
}

/// The values of one header; `None` if they are anything but strings.
fn header_values(raw: &str) -> Option<Vec<String>> {
    if let Some(text) = string_text(raw) {
        return Some(vec![text]);
    }
    let mut values = Some(Vec::new());
    for_each_element(raw, |element| {
        values = values.take().and_then(|mut values| {
            values.push(string_text(element)?);
            Some(values)
        });
    })
    .ok()?;
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One `name=value|value` a header.
    fn read(raw: &str) -> Result<Vec<String>, CommandFault> {
        let headers = read_headers(Some(raw))?;
        let text = |(name, values): &(String, Vec<String>)| format!("{name}={}", values.join("|"));
        Ok(headers.iter().map(text).collect())
    }

    fn many(count: usize) -> String {
        let members: Vec<String> = (0..count).map(|n| format!(r#""h{n}":"v""#)).collect();
        format!("{{{}}}", members.join(","))
    }

    fn big(bytes: usize) -> String {
        format!(r#"{{"name":["","{}"]}}"#, "v".repeat(bytes - 6))
    }

    fn empty_values(count: usize) -> String {
        format!(r#"{{"name":[{}]}}"#, vec![r#""""#; count].join(","))
    }

    // spec-test: CMD-4
    #[test]
    fn takes_one_value_or_many_in_order() {
        assert_eq!(read_headers(None), Ok(vec![]));
        assert_eq!(
            read(r#"{"B":"1","a":["2","3"],"\u0041":[],"B":"4"}"#),
            Ok(["B=1", "a=2|3", "A=", "B=4"].map(str::to_owned).to_vec())
        );
    }

    // spec-test: CMD-4
    #[test]
    fn a_member_of_another_form_is_left_out_alone() {
        for odd in [
            "1",
            "null",
            "true",
            "{}",
            "[1]",
            r#"["a",null]"#,
            r#"[["a"]]"#,
            r#""\ud800""#,
            r#"["a","\ud800"]"#,
        ] {
            let raw = format!(r#"{{"a":"1","odd":{odd},"z":"2"}}"#);
            let rest = ["a=1", "z=2"].map(str::to_owned).to_vec();
            assert_eq!(read(&raw), Ok(rest), "{odd}");
        }
        assert_eq!(read(r#"{"\ud800":"1"}"#), Ok(vec![]));
        for odd in ["null", "1", "[]", r#""a: b""#, r#"[["a","b"]]"#] {
            assert_eq!(read(odd), Ok(vec![]), "{odd}");
        }
    }

    #[test]
    fn holds_its_limits() {
        assert_eq!(read(&many(128)).map(|found| found.len()), Ok(128));
        assert_eq!(read(&many(129)), Err(CommandFault::HeadersTooMany));
        assert_eq!(read(&big(65_536)).map(|found| found.len()), Ok(1));
        assert_eq!(read(&big(65_537)), Err(CommandFault::HeadersTooLarge));
        assert_eq!(read(&empty_values(65_532)).map(|found| found.len()), Ok(1));
        assert_eq!(
            read(&empty_values(65_533)),
            Err(CommandFault::HeadersTooLarge)
        );
    }
}
