//! What somebody may have meant.

/// How like a name must be to be offered, from 0 (not at all) to 1 (the same).
const LIKENESS: f64 = 0.7;

/// What is said of a name that is none of the known ones, of which there is at least one.
// spec: SET-6
pub(super) fn unknown(name: &str, known: &[&str]) -> String {
    let quoted: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    let expected = match quoted.as_slice() {
        [one] => one.clone(),
        several => format!("one of {}", several.join(", ")),
    };
    let meant = nearest(name, known)
        .map(|name| format!("; did you mean `{name}`?"))
        .unwrap_or_default();
    format!(
        "unknown field `{}`, expected {expected}{meant}",
        shown(name)
    )
}

/// The known name that is most like this one.
pub(super) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let likeness = |known: &str| strsim::jaro_winkler(&name, known);
    known
        .iter()
        .map(|known| (likeness(known), *known))
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .max_by(|(left, _), (right, _)| left.total_cmp(right))
        .map(|(_, known)| known)
}

/// A name that anybody may have written, fit for one line.
fn shown(name: &str) -> String {
    name.chars()
        .take(64)
        .map(|letter| if letter.is_control() { '?' } else { letter })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec-test: SET-6
    #[test]
    fn the_nearest_name_is_offered_where_one_is_near() {
        let known = ["endpoint", "tunnel_id", "api_key", "poll_timeout"];
        for (name, meant) in [
            ("endpont", Some("endpoint")),
            ("tunnel-id", Some("tunnel_id")),
            ("apikey", Some("api_key")),
            ("API_KEY", Some("api_key")),
            ("polltimeout", Some("poll_timeout")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, &known), meant, "{name}");
        }
        assert_eq!(
            unknown("control", &["control_plane"]),
            "unknown field `control`, expected `control_plane`; did you mean `control_plane`?"
        );
        assert_eq!(
            unknown("x\ny", &["a", "b"]),
            "unknown field `x?y`, expected one of `a`, `b`"
        );
    }
}
