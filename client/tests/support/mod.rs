//! What the tests over the wire share.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses its own part"
)]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

pub mod capture;
pub mod memory;
pub mod player;
pub mod target;
pub mod tls;
pub mod trace;

use std::num::NonZeroU16;
use std::time::Duration;

use moorline::model::schedule::LongPoll;
use moorline::{ApiKey, ControlPlane, Endpoint, PollReport, Settings, TunnelId};
use moorline_fixtures::scripted::RecordedRequest;
use tokio_util::sync::CancellationToken;

pub const KEY: &str = "test-api-key-7f3a";
pub const TUNNEL: &str = "test-tunnel-19c2";
pub const LIMIT: NonZeroU16 = NonZeroU16::new(25).unwrap();

/// Settings for a service on loopback.
pub fn settings(endpoint: &str) -> Settings {
    Settings::new(
        Endpoint::parse(endpoint).unwrap(),
        TunnelId::new(TUNNEL).unwrap(),
        ApiKey::new(KEY).unwrap(),
    )
}

pub fn client(endpoint: &str) -> ControlPlane {
    trace::connect(settings(endpoint))
}

/// A client whose polls give up by themselves after `deadline`.
pub fn hasty_client(endpoint: &str, deadline: Duration) -> ControlPlane {
    let mut settings = settings(endpoint);
    settings.long_poll = LongPoll::new(deadline, Duration::ZERO);
    trace::connect(settings)
}

/// One poll on a task of its own, so that the test can play the service meanwhile.
pub struct Flight {
    pub cancel: CancellationToken,
    task: tokio::task::JoinHandle<PollReport>,
}

impl Flight {
    pub fn begin(client: &ControlPlane) -> Self {
        let (client, cancel) = (client.clone(), CancellationToken::new());
        let token = cancel.clone();
        let task = tokio::spawn(async move { client.poll(LIMIT, &token).await });
        Self { cancel, task }
    }

    pub async fn end(self) -> PollReport {
        self.task.await.expect("a poll does not panic")
    }
}

/// Asserts that a request is a poll as every poll must be, whatever token it carries.
/// spec-test: REQ-1, REQ-2, REQ-3, REQ-4, END-2, END-9
pub fn assert_is_poll(request: &RecordedRequest, host: &str) {
    assert_eq!(request.method, "GET");
    // The target in origin form: a path, never a URL.
    assert_eq!(request.path(), format!("/v1/tunnels/{TUNNEL}/poll"));
    assert_eq!(request.query_value("limit"), Some("25"));
    assert!(
        request
            .query_value("timeout_ms")
            .unwrap()
            .parse::<u64>()
            .is_ok()
    );
    assert!(request.body.is_empty());
    let sole = |name: &str| {
        let value = request
            .sole_header(name)
            .unwrap_or_else(|| panic!("one line of {name}"));
        std::str::from_utf8(value).unwrap()
    };
    assert_eq!(sole("host"), host);
    assert_eq!(sole("authorization"), format!("Bearer {KEY}"));
    assert_eq!(sole("accept"), "application/json");
    assert_eq!(sole("x-tunnel-client-capabilities"), "wrong-cluster-v1");
    assert_eq!(sole("x-tunnel-client-name"), "moorline");
    assert_eq!(sole("x-tunnel-client-version"), env!("CARGO_PKG_VERSION"));
    assert!(sole("user-agent").starts_with("moorline/"));
    let instance = sole("x-tunnel-client-instance-id");
    assert_eq!(instance.len(), 32);
    assert!(instance.bytes().all(|byte| byte.is_ascii_hexdigit()));
}

/// Asserts that two polls of one process ask the same of the same endpoint, with the same credentials: the whole
/// request is the same but for the token line.
/// spec-test: END-2, REQ-3
pub fn assert_same_but_for_token(first: &RecordedRequest, request: &RecordedRequest) {
    let without_token = |request: &RecordedRequest| {
        let mut request = request.clone();
        request
            .headers
            .retain(|(name, _)| name != "x-tunnel-shard-token");
        request
    };
    assert_eq!(without_token(first), without_token(request));
}

/// The polling token of a request; `None` when there is no such line. More than one line fails.
/// spec-test: REQ-5
pub fn token_of(request: &RecordedRequest) -> Option<String> {
    let lines: Vec<_> = request.header_lines("x-tunnel-shard-token").collect();
    assert!(lines.len() <= 1, "at most one token line");
    lines
        .first()
        .map(|line| String::from_utf8(line.to_vec()).unwrap())
}
