//! Variables that somebody may take for settings.

use std::collections::BTreeSet;

use strsim::{jaro_winkler, osa_distance};

use super::given::Environment;
use super::known::{self, API_KEY_VARIABLE, UNSAFE_HTTP_DUMPS};

/// Nobody else's variables begin with this.
const OURS: &str = "CONTROL_PLANE_";

/// How many letters may be wrong in a name that could be anybody's.
const WRONG_LETTERS: usize = 2;

/// The shortest name that is compared: a short one is like many.
const SHORTEST: usize = 10;

/// The shortest part of a name that tells which is meant.
const SHORTEST_PART: usize = 3;

/// How like the rest of a name that is ours must be for a setting to be offered.
const LIKENESS: f64 = 0.7;

/// What is to be said of the environment: a line for each variable that looks like a setting and is none. Those that
/// the settings refer to, `used`, have any name they like.
// spec: SET-8
pub(super) fn warnings(environment: &Environment, used: &[String]) -> Vec<String> {
    let names = environment
        .names()
        .filter(|name| !used.iter().any(|used| used == name));
    names.filter_map(warning).collect()
}

fn warning(name: &str) -> Option<String> {
    let known = variables();
    if known.contains(name) {
        return None;
    }
    let upper = name.to_ascii_uppercase().replace('-', "_");
    if let Some(meant) = within(&upper, &known) {
        return Some(format!("{name} is no setting: did you mean {meant}?"));
    }
    let rest = upper.strip_prefix(OURS)?;
    Some(match most_like(rest, &known) {
        Some(meant) => format!("{name} is no setting: did you mean {meant}?"),
        None => format!("{name} is no setting, and has no effect"),
    })
}

fn variables() -> BTreeSet<&'static str> {
    let settings = known::ALL.into_iter().chain([&UNSAFE_HTTP_DUMPS]);
    settings
        .map(|setting| setting.variable)
        .chain([API_KEY_VARIABLE])
        .filter(|name| !name.is_empty())
        .collect()
}

/// The setting that differs in a letter or two.
fn within(name: &str, known: &BTreeSet<&'static str>) -> Option<&'static str> {
    let long = known.iter().filter(|known| known.len() >= SHORTEST);
    long.map(|known| (osa_distance(name, known), *known))
        .filter(|(distance, _)| *distance <= WRONG_LETTERS)
        .min()
        .map(|(_, known)| known)
}

/// The setting of ours whose name goes on most like this, or holds it as a part.
fn most_like(rest: &str, known: &BTreeSet<&'static str>) -> Option<&'static str> {
    let is_part = |known: &str| rest.len() >= SHORTEST_PART && known.contains(rest);
    known
        .iter()
        .filter_map(|known| Some((known.strip_prefix(OURS)?, *known)))
        .map(|(end, known)| (jaro_winkler(rest, end), is_part(end), known))
        .filter(|(likeness, is_part, _)| *is_part || *likeness >= LIKENESS)
        .max_by(|(left, _, _), (right, _, _)| left.total_cmp(right))
        .map(|(_, _, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec-test: SET-8
    #[test]
    fn a_variable_that_is_nearly_a_setting_is_told_of() {
        let meant = |name: &str| {
            let environment = [(name.to_owned(), "secret-value".to_owned())];
            warnings(&environment.into_iter().collect(), &["MY_OWN".to_owned()])
        };
        for (name, setting) in [
            ("CONTROL_PLANE_APIKEY", "CONTROL_PLANE_API_KEY"),
            ("CONTROL_PLANE_API_KEYS", "CONTROL_PLANE_API_KEY"),
            ("CONTROL_PLANE_URL", "CONTROL_PLANE_BASE_URL"),
            ("CONTROL_PLANE_TUNNEL", "CONTROL_PLANE_TUNNEL_ID"),
            ("CONTOL_PLANE_TUNNEL_ID", "CONTROL_PLANE_TUNNEL_ID"),
            ("control_plane_tunnel_id", "CONTROL_PLANE_TUNNEL_ID"),
            ("MCP_COMAND", "MCP_COMMAND"),
            ("MCP_SERVER_URI", "MCP_SERVER_URL"),
            ("MCP_SERVERURL", "MCP_SERVER_URL"),
        ] {
            let expected = format!("{name} is no setting: did you mean {setting}?");
            assert_eq!(meant(name), [expected]);
        }
        assert_eq!(
            meant("CONTROL_PLANE_COLOUR"),
            ["CONTROL_PLANE_COLOUR is no setting, and has no effect"]
        );
        for other in [
            "PATH",
            "MCP_TIMEOUT",
            "LOGLEVEL",
            "CURL_CA_BUNDLE",
            "MY_OWN",
        ] {
            assert_eq!(meant(other), [""; 0], "{other}");
        }
        for name in variables() {
            assert_eq!(meant(name), [""; 0], "{name}");
        }
    }
}
