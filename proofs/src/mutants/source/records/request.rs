//! From what the model decided to the next request, and whom it is sent to.

use super::{SourceMutant, mutant};
use crate::mutants::source::Suite;

const ENDPOINT: &str = "client/src/endpoint.rs";
const HEADERS: &str = "client/src/control_plane/headers.rs";
const POLL: &str = "client/src/control_plane/poll.rs";
const TRANSPORT: &str = "client/src/control_plane/transport.rs";

const NOTHING_LEARNED: &str = "learns_no_token_from_a_success";
const DROPPED: &str = "dropping_a_poll_commits_nothing";
const SECOND_CLIENT: &str = "a_second_client_starts_tokenless_and_leaves_the_first_alone";
const EXTRA: &str = "extra_headers_are_added_and_override_nothing";
const ROOM: &str = "asks_for_what_there_is_room_for_and_waits_when_there_is_none";
const SHORTER_WAITS: &str = "asks_for_shorter_waits_where_long_polls_are_cut";
const ENDPOINTS: &str = "endpoint::tests::names_what_is_wrong_with_the_rest";

/// Wrong requests, and right ones to the wrong place.
pub(super) const MUTANTS: [SourceMutant; 26] = [
    // The token line.
    mutant(
        "client-sends-no-token",
        Suite::Wire,
        HEADERS,
        "headers.insert(HeaderName::from_static(SHARD_TOKEN_HEADER), value);",
        "let _ = value;",
        &[DROPPED, SECOND_CLIENT],
    ),
    mutant(
        "client-sends-the-token-in-another-header",
        Suite::Wire,
        HEADERS,
        "headers.insert(HeaderName::from_static(SHARD_TOKEN_HEADER), value);",
        "headers.insert(HeaderName::from_static(\"x-shard-token\"), value);",
        &[DROPPED, SECOND_CLIENT],
    ),
    mutant(
        "client-sends-two-token-lines",
        Suite::Wire,
        HEADERS,
        "headers.insert(HeaderName::from_static(SHARD_TOKEN_HEADER), value);",
        "headers.append(HeaderName::from_static(SHARD_TOKEN_HEADER), value.clone());\n            headers.append(HeaderName::from_static(SHARD_TOKEN_HEADER), value);",
        &[DROPPED, SECOND_CLIENT],
    ),
    mutant(
        "client-sends-an-empty-token-line-when-it-has-none",
        Suite::Wire,
        HEADERS,
        "        Some(RequestHead { url, headers })",
        "        let none = HeaderValue::from_static(\"\");\n        headers.entry(HeaderName::from_static(SHARD_TOKEN_HEADER)).or_insert(none);\n        Some(RequestHead { url, headers })",
        &[NOTHING_LEARNED, SECOND_CLIENT],
    ),
    mutant(
        "client-sends-a-token-that-was-dropped",
        Suite::Poller,
        POLL,
        "        let token = begun.attempt.token();\n",
        "        thread_local! {\n            static LAST: std::cell::RefCell<Option<moorline_model::wire::ShardToken>> =\n                const { std::cell::RefCell::new(None) };\n        }\n        let active = begun.attempt.token().cloned();\n        let kept = LAST.with_borrow_mut(|last| {\n            *last = active.or(last.take());\n            last.clone()\n        });\n        let token = kept.as_ref();\n",
        &["backoff_keeps_growing_through_evictions_and_exhausted_rounds"],
    ),
    mutant(
        "client-shares-the-token-with-others",
        Suite::Wire,
        POLL,
        "        let token = begun.attempt.token();\n",
        "        static LAST: std::sync::Mutex<Option<moorline_model::wire::ShardToken>> =\n            std::sync::Mutex::new(None);\n        let active = begun.attempt.token().cloned();\n        let kept = LAST.lock().ok().and_then(|mut last| {\n            *last = active.or(last.take());\n            last.clone()\n        });\n        let token = kept.as_ref();\n",
        &[SECOND_CLIENT],
    ),
    // The other lines.
    mutant(
        "client-advertises-nothing",
        Suite::Wire,
        HEADERS,
        "    headers.insert(\n        CAPABILITIES_HEADER,\n        HeaderValue::from_static(WRONG_CLUSTER_V1),\n    );\n",
        "    let _ = (CAPABILITIES_HEADER, WRONG_CLUSTER_V1);\n",
        &[NOTHING_LEARNED, EXTRA],
    ),
    mutant(
        "client-advertises-nothing-without-a-token",
        Suite::Wire,
        HEADERS,
        "        let mut headers = self.headers.clone();\n",
        "        let mut headers = self.headers.clone();\n        if token.is_none() {\n            headers.remove(CAPABILITIES_HEADER);\n        }\n",
        &[NOTHING_LEARNED, EXTRA],
    ),
    mutant(
        "client-sends-its-key-with-a-token-alone",
        Suite::Wire,
        HEADERS,
        "        let mut headers = self.headers.clone();\n",
        "        let mut headers = self.headers.clone();\n        if token.is_none() {\n            headers.remove(AUTHORIZATION);\n        }\n",
        &[NOTHING_LEARNED, EXTRA],
    ),
    mutant(
        "client-keeps-reserved-extra-headers",
        Suite::Wire,
        HEADERS,
        "if is_reserved_header(name.as_str()) {",
        "if false {",
        &[EXTRA],
    ),
    mutant(
        "client-drops-extra-headers",
        Suite::Wire,
        HEADERS,
        "headers.append(name.clone(), value.clone());",
        "let _ = value;",
        &[EXTRA],
    ),
    mutant(
        "client-is-another-instance-than-its-neighbour",
        Suite::Wire,
        HEADERS,
        "    static ID: OnceLock<HeaderValue> = OnceLock::new();\n",
        "    let ID: OnceLock<HeaderValue> = OnceLock::new();\n",
        &["every_client_of_one_process_names_the_same_instance"],
    ),
    // The query.
    mutant(
        "client-asks-for-25-whatever-the-room",
        Suite::Poller,
        HEADERS,
        "limit={limit}&",
        "limit=25&",
        &[ROOM],
    ),
    mutant(
        "client-asks-for-more-than-25",
        Suite::Wire,
        POLL,
        "limit.get().min(MAX_POLL_LIMIT)",
        "limit.get()",
        &["more_than_25_commands_are_never_asked_for"],
    ),
    mutant(
        "client-tells-its-wait-in-seconds",
        Suite::Poller,
        HEADERS,
        "timeout_ms={wait_ms}\"",
        "timeout_ms={}\", wait_ms / 1_000",
        &[SHORTER_WAITS],
    ),
    mutant(
        "client-asks-for-another-wait-with-a-token",
        Suite::Sequences,
        HEADERS,
        "timeout_ms={wait_ms}\"",
        "timeout_ms={}\", wait_ms - u64::from(token.is_some())",
        &["the_real_client_agrees_with_every_sequence"],
    ),
    // Where to.
    mutant(
        "client-goes-where-the-token-says",
        Suite::Wire,
        HEADERS,
        "        let mut url = self.url.clone();\n",
        "        let named = token.and_then(|token| Url::parse(token.expose()).ok());\n        let mut url = named.unwrap_or_else(|| self.url.clone());\n",
        &["goes_to_no_address_that_a_correction_names"],
    ),
    mutant(
        "client-allows-plain-http-anywhere",
        Suite::Unit,
        ENDPOINT,
        "if endpoint.is_encrypted() || endpoint.is_loopback() {",
        "if true {",
        &[ENDPOINTS],
    ),
    mutant(
        "client-takes-names-like-localhost-for-this-machine",
        Suite::Unit,
        ENDPOINT,
        "name.eq_ignore_ascii_case(\"localhost\")",
        "name.to_ascii_lowercase().starts_with(\"localhost\")",
        &[ENDPOINTS],
    ),
    mutant(
        "client-uses-a-proxy-to-this-machine",
        Suite::Tls,
        TRANSPORT,
        "_ if endpoint.is_loopback() =>",
        "_ if false =>",
        &["an_endpoint_on_this_machine_is_reached_without_any_proxy"],
    ),
    mutant(
        "client-uses-the-environments-proxy-to-this-machine",
        Suite::Cli,
        TRANSPORT,
        "_ if endpoint.is_loopback() =>",
        "_ if false =>",
        &["a_proxy_of_the_environment_is_used_for_other_machines_alone"],
    ),
    mutant(
        "client-ignores-the-environments-proxy",
        Suite::Cli,
        TRANSPORT,
        "ProxyChoice::Environment => Ok(builder),",
        "ProxyChoice::Environment => Ok(builder.no_proxy()),",
        &["a_proxy_of_the_environment_is_used_for_other_machines_alone"],
    ),
    mutant(
        "client-ignores-its-proxy",
        Suite::Tls,
        TRANSPORT,
        "Ok(builder.no_proxy().proxy(proxy))",
        "let _ = proxy;\n            Ok(builder.no_proxy())",
        &["an_explicit_proxy_carries_the_encrypted_connection"],
    ),
    mutant(
        "client-ignores-its-ca-bundle",
        Suite::Tls,
        TRANSPORT,
        "Ok(builder.tls_certs_merge(certificates))",
        "drop(certificates);\n    Ok(builder)",
        &[
            "trusts_a_certificate_that_the_ca_bundle_names",
            "an_explicit_proxy_carries_the_encrypted_connection",
        ],
    ),
    mutant(
        "client-takes-an-empty-ca-bundle",
        Suite::Tls,
        TRANSPORT,
        "if certificates.is_empty() {",
        "if false {",
        &["refuses_a_bundle_without_certificates"],
    ),
    mutant(
        "client-trusts-everybody",
        Suite::Tls,
        TRANSPORT,
        "            .tcp_nodelay(true);\n",
        "            .tls_danger_accept_invalid_certs(true)\n            .tcp_nodelay(true);\n",
        &["sends_nothing_to_a_server_that_it_does_not_trust"],
    ),
];
