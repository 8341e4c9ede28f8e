use crate::jsonrpc::RawId;

use super::json::push_string;

/// The JSON-RPC code of every error that the client makes for a target (internal error).
pub const TUNNEL_FAILURE_CODE: i32 = -32603;

/// Why the target gave no answer that could be passed on.
// spec: CMD-22
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelFailure {
    /// Where it failed.
    pub source: FailureSource,
    /// What kind of failure it was, in one word of this program, if there is more to say.
    pub transport_error_kind: Option<&'static str>,
    /// Whether any part of an answer had arrived.
    pub upstream_response_received: bool,
}

/// Where a command failed.
// spec: CMD-22
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureSource {
    /// In this client itself.
    ClientInternal,
    /// Connecting to the target, or starting it.
    Connect,
    /// Resolving the target's name.
    Dns,
    /// The target answered something that is no answer to the request.
    Protocol,
    /// The target answered with a status that is no success, and no JSON-RPC error of its own.
    TargetHttp {
        /// The status; only 400 to 599 is passed on.
        status: Option<u16>,
    },
    /// The target took longer than it may, or than a connection may last.
    Timeout,
    /// The secured connection to the target could not be made.
    Tls,
    /// The connection, or the child process, ended before the answer.
    TransportClosed,
}

impl FailureSource {
    /// The member `source`.
    // spec: CMD-22
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClientInternal => "client_internal",
            Self::Connect => "connect",
            Self::Dns => "dns",
            Self::Protocol => "protocol",
            Self::TargetHttp { .. } => "target_http",
            Self::Timeout => "timeout",
            Self::Tls => "tls",
            Self::TransportClosed => "transport_closed",
        }
    }
}

impl FailureSource {
    /// Whether such a failure says that the target as a whole does not answer. One slow call does not
    /// say so, nor does one bad answer, nor a fault of this client.
    // spec: RPT-5
    #[must_use]
    pub fn is_outage(self) -> bool {
        match self {
            Self::Connect | Self::Dns | Self::Tls | Self::TransportClosed => true,
            Self::TargetHttp { status } => status.is_some_and(|code| (500..=599).contains(&code)),
            Self::ClientInternal | Self::Protocol | Self::Timeout => false,
        }
    }
}

impl TunnelFailure {
    /// A failure before anything of an answer had arrived.
    #[must_use]
    pub fn without_answer(source: FailureSource) -> Self {
        Self {
            source,
            transport_error_kind: None,
            upstream_response_received: false,
        }
    }

    /// What the error says to a person: a fixed phrase, never a word of the target.
    // spec: CMD-22
    #[must_use]
    pub fn phrase(&self) -> &'static str {
        match self.source {
            FailureSource::ClientInternal => "the tunnel client could not handle the request",
            FailureSource::Connect => "the tunnel client could not connect to the MCP server",
            FailureSource::Dns => "the tunnel client could not resolve the MCP server's name",
            FailureSource::Protocol => "the MCP server gave no valid answer to the request",
            FailureSource::TargetHttp { .. } => "the MCP server answered with an HTTP error",
            FailureSource::Timeout => "the MCP server did not answer in time",
            FailureSource::Tls => {
                "the tunnel client could not secure the connection to the MCP server"
            }
            FailureSource::TransportClosed => {
                "the MCP server closed the connection before it answered"
            }
        }
    }

    /// The member `upstream_status`: 400 to 599, and only of [`FailureSource::TargetHttp`].
    // spec: CMD-22
    #[must_use]
    pub fn upstream_status(&self) -> Option<u16> {
        match self.source {
            FailureSource::TargetHttp { status } => {
                status.filter(|code| (400..=599).contains(code))
            }
            _ => None,
        }
    }

    /// The `resp_code` of the POST that brings this failure. The protocol leaves it open. A target's
    /// own 4xx or 5xx is kept, as the one who called needs it (401 to authorise, 404 to open a new
    /// session); a target that took too long is 504, and anything else 502.
    #[must_use]
    pub fn resp_code(&self) -> u16 {
        match (self.source, self.upstream_status()) {
            (_, Some(status)) => status,
            (FailureSource::Timeout, None) => 504,
            (_, None) => 502,
        }
    }

    /// A JSON-RPC error response, compact. `id` is the raw text of the request's id; whatever is
    /// neither a JSON string nor an integer becomes `null`. `message` is fixed text of this program:
    /// [`Self::phrase`], or something more exact.
    // spec: CMD-22
    #[must_use]
    pub fn to_jsonrpc_error(&self, id: &str, message: &'static str) -> String {
        let id = RawId::parse(id).map_or("null", |_| id);
        let mut json = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{TUNNEL_FAILURE_CODE},"message":"#
        );
        push_string(&mut json, message);
        json.push_str(r#","data":{"tunnel_failure":{"version":1,"source":"#);
        push_string(&mut json, self.source.as_str());
        if let Some(kind) = self.transport_error_kind {
            json.push_str(r#","transport_error_kind":"#);
            push_string(&mut json, kind);
        }
        json.push_str(r#","upstream_response_received":"#);
        json.push_str(if self.upstream_response_received {
            "true"
        } else {
            "false"
        });
        if let Some(status) = self.upstream_status() {
            json.push_str(r#","upstream_status":"#);
            json.push_str(&status.to_string());
        }
        json.push_str("}}}}");
        json
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;

    const SOURCES: [(FailureSource, &str); 8] = [
        (FailureSource::ClientInternal, "client_internal"),
        (FailureSource::Connect, "connect"),
        (FailureSource::Dns, "dns"),
        (FailureSource::Protocol, "protocol"),
        (FailureSource::TargetHttp { status: None }, "target_http"),
        (FailureSource::Timeout, "timeout"),
        (FailureSource::Tls, "tls"),
        (FailureSource::TransportClosed, "transport_closed"),
    ];

    fn of_status(status: u16) -> TunnelFailure {
        TunnelFailure {
            upstream_response_received: true,
            ..TunnelFailure::without_answer(FailureSource::TargetHttp {
                status: Some(status),
            })
        }
    }

    // spec-test: CMD-22
    #[test]
    fn writes_each_source_with_its_own_phrase() {
        let mut phrases = BTreeSet::new();
        for (source, name) in SOURCES {
            let failure = TunnelFailure::without_answer(source);
            let json: Value =
                serde_json::from_str(&failure.to_jsonrpc_error("7", failure.phrase())).unwrap();
            let expected = json!({
                "jsonrpc": "2.0",
                "id": 7,
                "error": {
                    "code": -32603,
                    "message": failure.phrase(),
                    "data": {"tunnel_failure": {
                        "version": 1, "source": name, "upstream_response_received": false,
                    }},
                },
            });
            assert_eq!(json, expected);
            phrases.insert(failure.phrase());
        }
        assert_eq!(phrases.len(), SOURCES.len());
    }

    // spec-test: CMD-22
    #[test]
    fn writes_every_member_in_one_compact_text() {
        let failure = TunnelFailure {
            transport_error_kind: Some("reset"),
            ..of_status(503)
        };
        assert_eq!(
            failure.to_jsonrpc_error("\"a\\u0062\"", "down"),
            concat!(
                r#"{"jsonrpc":"2.0","id":"a\u0062","error":{"code":-32603,"message":"down","data":"#,
                r#"{"tunnel_failure":{"version":1,"source":"target_http","transport_error_kind":"reset","#,
                r#""upstream_response_received":true,"upstream_status":503}}}}"#
            )
        );
    }

    // spec-test: CMD-22
    #[test]
    fn tells_the_targets_status_only_where_it_is_an_error() {
        for status in 0..=1_000 {
            let text = of_status(status).to_jsonrpc_error("1", "x");
            let told = text.contains(&format!(r#""upstream_status":{status}}}"#));
            assert_eq!(told, (400..=599).contains(&status), "{status}");
            assert_eq!(text.contains("upstream_status"), told, "{status}");
        }
    }

    #[test]
    fn answers_with_the_targets_error_status_or_a_gateways() {
        for (status, code) in [
            (400, 400),
            (404, 404),
            (599, 599),
            (399, 502),
            (600, 502),
            (302, 502),
        ] {
            assert_eq!(of_status(status).resp_code(), code);
        }
        for (source, _) in SOURCES {
            let code = if source == FailureSource::Timeout {
                504
            } else {
                502
            };
            let failure = TunnelFailure::without_answer(source);
            assert_eq!(failure.resp_code(), code, "{source:?}");
        }
    }

    #[test]
    fn an_id_that_is_none_becomes_null() {
        let failure = TunnelFailure::without_answer(FailureSource::Dns);
        for id in ["null", "", "{}", "1.5", "1,\"x\":2", "\"a", " 1"] {
            let text = failure.to_jsonrpc_error(id, "x");
            assert!(text.starts_with(r#"{"jsonrpc":"2.0","id":null,"#), "{id}");
        }
    }
}
