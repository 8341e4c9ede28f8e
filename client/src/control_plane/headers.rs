use std::sync::OnceLock;

use http::header::{ACCEPT, AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use moorline_model::poll::{
    CAPABILITIES_HEADER, HeaderLines, SHARD_TOKEN_HEADER, is_reserved_header,
};
use moorline_model::wire::{SERVER_INFO_HEADER, ShardToken, WRONG_CLUSTER_V1};
use url::Url;

use super::transport::RequestHead;
use crate::settings::Settings;

/// Makes the requests of one client. All but a poll's query and the token is fixed at the start, and
/// nothing that a server said gets in but the token.
// spec: END-4, END-5
pub(super) struct Requests {
    url: Url,
    response_url: Url,
    metadata_url: Url,
    headers: HeaderMap,
}

impl Requests {
    pub(super) fn new(settings: &Settings) -> Self {
        let mut headers = HeaderMap::with_capacity(16);
        for (name, value) in &settings.extra_headers {
            if is_reserved_header(name.as_str()) {
                tracing::warn!(
                    header = name.as_str(),
                    "extra header dropped: the protocol sets it"
                );
            } else {
                headers.append(name.clone(), value.clone());
            }
        }
        set_common_headers(&mut headers, settings);
        // spec: END-1, END-2
        Self {
            url: settings.endpoint.poll_url(&settings.tunnel),
            response_url: settings.endpoint.response_url(&settings.tunnel),
            metadata_url: settings.endpoint.metadata_url(&settings.tunnel),
            headers,
        }
    }

    /// The headers of every request: no token is among them.
    // spec: CMD-12
    pub(super) fn common(&self) -> HeaderMap {
        self.headers.clone()
    }

    /// Where responses of commands go.
    pub(super) fn response_url(&self) -> Url {
        self.response_url.clone()
    }

    /// Where the tunnel's metadata is.
    pub(super) fn metadata_url(&self) -> Url {
        self.metadata_url.clone()
    }

    /// The request of one poll. `None` when the token does not fit a header, which no token does
    /// that was read from one.
    // spec: REQ-1, REQ-5
    pub(super) fn make(
        &self,
        limit: u16,
        wait_ms: u64,
        token: Option<&ShardToken>,
    ) -> Option<RequestHead> {
        let mut url = self.url.clone();
        url.set_query(Some(&format!("limit={limit}&timeout_ms={wait_ms}")));
        let mut headers = self.headers.clone();
        if let Some(token) = token {
            let mut value = HeaderValue::from_str(token.expose()).ok()?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(SHARD_TOKEN_HEADER), value);
        }
        Some(RequestHead { url, headers })
    }
}

/// The headers of every control-plane request.
// spec: REQ-2, REQ-3, REQ-4
fn set_common_headers(headers: &mut HeaderMap, settings: &Settings) {
    const NAME: &str = env!("CARGO_PKG_NAME");
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    const AGENT: &str = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
    headers.insert(AUTHORIZATION, settings.api_key.authorization());
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    headers.insert("x-tunnel-client-name", HeaderValue::from_static(NAME));
    headers.insert("x-tunnel-client-version", HeaderValue::from_static(VERSION));
    headers.insert("x-tunnel-client-instance-id", instance_id());
    headers.insert(
        CAPABILITIES_HEADER,
        HeaderValue::from_static(WRONG_CLUSTER_V1),
    );
    if let Some(info) = &settings.server_info {
        // Compact JSON of ASCII names always fits a header.
        if let Ok(value) = HeaderValue::from_str(info.as_str()) {
            headers.insert(SERVER_INFO_HEADER, value);
        }
    }
}

/// 16 random bytes in hexadecimal, drawn once per process.
fn instance_id() -> HeaderValue {
    static ID: OnceLock<HeaderValue> = OnceLock::new();
    ID.get_or_init(|| {
        let hex = format!("{:032x}", rand::random::<u128>());
        // Hexadecimal digits always fit a header.
        HeaderValue::from_str(&hex).unwrap_or_else(|_| HeaderValue::from_static("0"))
    })
    .clone()
}

/// The lines of a response, every one of them, as bytes.
pub(crate) struct Lines<'a>(pub(crate) &'a HeaderMap);

// spec: COR-10
impl HeaderLines for Lines<'_> {
    fn lines<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.0.get_all(name).into_iter().map(HeaderValue::as_bytes)
    }
}
