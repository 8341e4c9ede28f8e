//! Dumps of HTTP exchanges for an operator who asked for them: never of polls, and with secrets masked.

use http::HeaderMap;
use moorline_model::dump::{shown_body, shown_response, shown_value};

use crate::control_plane::Lines;

/// Writes exchanges to the log, at the level debug under the target `moorline::dump`, if it is on.
/// What it writes holds the contents of commands and answers. No address is in it but those that these
/// contents name.
// spec: PRIV-6, PRIV-10
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dump {
    on: bool,
}

impl Dump {
    pub(crate) fn new(on: bool) -> Self {
        Self { on }
    }

    pub(crate) fn request(self, operation: &'static str, headers: &HeaderMap, body: &[u8]) {
        if self.on {
            tracing::debug!(
                target: "moorline::dump",
                operation,
                headers = shown(headers),
                body = shown_body(&Lines(&HeaderMap::new()), body),
                "request"
            );
        }
    }

    /// The POST of a response, which holds header lines in its body.
    pub(crate) fn post(self, operation: &'static str, headers: &HeaderMap, body: &[u8]) {
        if self.on {
            self.request(operation, headers, shown_response(body).as_bytes());
        }
    }

    /// The head of a response.
    pub(crate) fn head(self, operation: &'static str, status: u16, headers: &HeaderMap) {
        if self.on {
            tracing::debug!(
                target: "moorline::dump",
                operation,
                status,
                headers = shown(headers),
                "response"
            );
        }
    }

    /// The body of a response, or one event of it.
    pub(crate) fn body(self, operation: &'static str, body: &[u8]) {
        self.body_of(operation, &HeaderMap::new(), body);
    }

    /// The body of a response of the control plane, whose headers may say that it is to be withheld.
    pub(crate) fn body_of(self, operation: &'static str, headers: &HeaderMap, body: &[u8]) {
        if self.on {
            tracing::debug!(
                target: "moorline::dump",
                operation,
                body = shown_body(&Lines(headers), body),
                "response body"
            );
        }
    }
}

fn shown(headers: &HeaderMap) -> String {
    let lines: Vec<String> = headers
        .iter()
        .map(|(name, value)| {
            let shown = shown_value(name.as_str(), value.as_bytes(), value.is_sensitive());
            format!("{name}: {shown}")
        })
        .collect();
    lines.join("; ")
}
