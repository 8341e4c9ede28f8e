//! Header lines from flags, variables and files.

use http::{HeaderName, HeaderValue};
use serde_json::{Map, Value as Json};

use super::fault::{Area, Fault};
use super::given::{Environment, Given, Origin, Value};
use super::reference::Reference;

/// Headers whose values are secrets, whatever else they may be.
const SECRET: [&str; 4] = [
    "authorization",
    "cookie",
    "proxy-authorization",
    "x-api-key",
];

/// A header line that was read.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub(super) name: HeaderName,
    pub(super) value: HeaderValue,
    /// Where the value is, if it stands elsewhere.
    pub(super) reference: Option<Reference>,
}

/// Reads header lines: `Name: value`, one a line or with commas between them; a JSON object; or a
/// table of a file. A value may be `env:NAME` or `file:PATH`.
// spec: SET-5
pub(super) fn read(
    given: &Given,
    environment: &Environment,
    faults: &mut Vec<Fault>,
) -> Vec<Header> {
    let reader = Reader {
        origin: &given.origin,
        environment,
    };
    let mut headers = Vec::new();
    for pair in pairs(&given.value) {
        let read = match pair {
            Some((name, value)) => reader.header(&name, &value),
            None => {
                let text = "expected header lines such as `Name: value, Other: value`";
                Err(Fault::settings(format!("{}: {text}", given.origin)))
            }
        };
        match read {
            Ok(header) => headers.push(header),
            Err(fault) => faults.push(fault),
        }
    }
    headers
}

struct Reader<'a> {
    origin: &'a Origin,
    environment: &'a Environment,
}

impl Reader<'_> {
    fn header(&self, name: &str, value: &str) -> Result<Header, Fault> {
        let origin = self.origin;
        let key = HeaderName::try_from(name)
            .map_err(|_| Fault::settings(format!("{origin}: {name:?} is no HTTP header name")))?;
        let (text, reference) = match Reference::parse(value) {
            Some(reference) => {
                let what = format!("{origin}: the value of {key}");
                let text = reference
                    .resolve(&what, self.environment)
                    .map_err(|text| Fault::new(Area::Secrets, text))?;
                (text, Some(reference))
            }
            None if Reference::is_meant(value) || self.is_open_secret(&key) => {
                let places = Reference::places(value, "the value");
                let text = format!("{origin}: the value of {key}: expected {places}");
                return Err(Fault::new(Area::Secrets, text));
            }
            None => (value.trim().to_owned(), None),
        };
        let mut value = HeaderValue::try_from(text).map_err(|_| {
            Fault::settings(format!("{origin}: the value of {key} fits no HTTP header"))
        })?;
        value.set_sensitive(true);
        Ok(Header {
            name: key,
            value,
            reference,
        })
    }

    /// A secret in a file is read by whoever reads the file, and one in a flag by whoever lists the
    /// processes. In a variable it is where it belongs.
    fn is_open_secret(&self, name: &HeaderName) -> bool {
        let is_open = !matches!(self.origin, Origin::Variable(_));
        is_open && SECRET.contains(&name.as_str())
    }
}

/// Names and values; `None` for what is no header line.
fn pairs(value: &Value) -> Vec<Option<(String, String)>> {
    match value {
        Value::Pairs(pairs) => pairs.iter().cloned().map(Some).collect(),
        Value::Many(lines) => lines.iter().flat_map(|line| of_text(line)).collect(),
        Value::Text(text) => of_text(text),
    }
}

fn of_text(text: &str) -> Vec<Option<(String, String)>> {
    let text = text.trim();
    if text.starts_with('{') {
        return of_json(text);
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.flat_map(split_at_commas).map(of_line).collect()
}

fn of_json(text: &str) -> Vec<Option<(String, String)>> {
    let Ok(object) = serde_json::from_str::<Map<String, Json>>(text) else {
        return vec![None];
    };
    let pair = |(name, value): (String, Json)| match value {
        Json::String(value) => Some((name, value)),
        _ => None,
    };
    object.into_iter().map(pair).collect()
}

fn of_line(line: &str) -> Option<(String, String)> {
    let (name, value) = line.split_once(':')?;
    Some((name.trim().to_owned(), value.trim().to_owned()))
}

/// Splits at the commas behind which another header begins: values hold commas too.
fn split_at_commas(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0_usize;
    for (at, _) in line.match_indices(',') {
        let next = at.saturating_add(1);
        if line.get(next..).is_some_and(begins_a_header) {
            parts.extend(line.get(start..at));
            start = next;
        }
    }
    parts.extend(line.get(start..));
    parts
}

fn begins_a_header(text: &str) -> bool {
    text.split_once(':')
        .is_some_and(|(name, _)| HeaderName::try_from(name.trim()).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        [("TOKEN".to_owned(), "Bearer secret-7".to_owned())]
            .into_iter()
            .collect()
    }

    fn read_from(value: Value, origin: Origin) -> (Vec<(String, String)>, Vec<String>) {
        let mut faults = Vec::new();
        let headers = read(&Given { value, origin }, &environment(), &mut faults);
        let headers = headers.into_iter().map(|header| {
            let value = header.value.to_str().unwrap().to_owned();
            (header.name.to_string(), value)
        });
        (
            headers.collect(),
            faults.into_iter().map(|fault| fault.text).collect(),
        )
    }

    fn variable(text: &str) -> (Vec<(String, String)>, Vec<String>) {
        let origin = Origin::Variable("HEADERS".to_owned());
        read_from(Value::Text(text.to_owned()), origin)
    }

    #[test]
    fn every_form_gives_the_same_lines() {
        let expected = [("x-a", "1, b"), ("x-b", "2:3")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        for text in [
            "X-A: 1, b, X-B: 2:3",
            "X-A: 1, b\nX-B: 2:3\n",
            "X-A:1, b,X-B:2:3",
            r#"{"X-A": "1, b", "X-B": "2:3"}"#,
        ] {
            let (headers, faults) = variable(text);
            assert_eq!(
                (headers.as_slice(), faults.len()),
                (&expected[..], 0),
                "{text}"
            );
        }
        let flag = Origin::Flag("--extra-header");
        let lines = ["X-A: 1, b", "X-B: 2:3"].map(str::to_owned).to_vec();
        assert_eq!(read_from(Value::Many(lines), flag).0, expected);
        let dates = variable("X-At: Mon, 30 Nov 2026 10:00:00 GMT, X-B: 1").0;
        assert_eq!(dates.len(), 2, "{dates:?}");
    }

    // spec-test: SET-5
    #[test]
    fn values_stand_elsewhere_and_secrets_must() {
        let (headers, faults) = variable("Authorization: env:TOKEN");
        assert_eq!(
            headers,
            [("authorization".to_owned(), "Bearer secret-7".to_owned())]
        );
        assert_eq!(faults, [""; 0]);
        assert_eq!(variable("Authorization: Bearer here").0.len(), 1);

        let plain =
            "the value of authorization: expected env:NAME or file:PATH, not the value itself";
        let rule = "NAME holds capital letters, digits and _ alone";
        for (text, expected) in [
            ("Authorization: secret-8", format!("--x: {plain}")),
            (
                "Authorization: env:secret-8",
                format!("--x: {plain}; {rule}"),
            ),
            (
                "X-A: env:NO_SUCH",
                "--x: the value of x-a is missing: set NO_SUCH".to_owned(),
            ),
            (
                "bad name: 1",
                "--x: \"bad name\" is no HTTP header name".to_owned(),
            ),
            (
                "X-A: \u{7}",
                "--x: the value of x-a fits no HTTP header".to_owned(),
            ),
            (
                "secret-8",
                "--x: expected header lines such as `Name: value, Other: value`".to_owned(),
            ),
            (
                r#"{"X-A": 8}"#,
                "--x: expected header lines such as `Name: value, Other: value`".to_owned(),
            ),
        ] {
            let value = Value::Many(vec![text.to_owned()]);
            let (headers, faults) = read_from(value, Origin::Flag("--x"));
            assert_eq!((headers.len(), faults), (0, vec![expected]), "{text}");
        }
    }
}
