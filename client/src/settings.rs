use std::fmt;

use http::{HeaderName, HeaderValue};
use moorline_model::backoff::Backoff;
use moorline_model::poll::ENVELOPE_LIMIT;
use moorline_model::schedule::LongPoll;
use moorline_model::wire::ServerInfo;
use url::Url;

use crate::endpoint::Endpoint;
use crate::secret::{ApiKey, TunnelId};

/// All that one client needs to know. Immutable once the client exists.
#[derive(Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The one service that requests go to.
    pub endpoint: Endpoint,
    /// The tunnel that is served.
    pub tunnel: TunnelId,
    /// The key that authorises requests.
    pub api_key: ApiKey,
    /// How long polls are held, and when they are given up. 30 s and 5 s.
    pub long_poll: LongPoll,
    /// How failed polls are spaced. 200 ms to 10 s.
    pub backoff: Backoff,
    /// The greatest size of the body of a 200, in bytes. 32 MiB.
    pub envelope_limit: usize,
    /// Headers to add to every request. Those that the protocol sets itself are dropped.
    pub extra_headers: Vec<(HeaderName, HeaderValue)>,
    /// Certificates to trust beside those of the system, as PEM.
    pub ca_bundle: Option<Vec<u8>>,
    /// How to reach the endpoint.
    pub proxy: ProxyChoice,
    /// What targets this client serves, as every request says it. None unless it runs commands.
    pub server_info: Option<ServerInfo>,
    /// Writes every exchange but polls to the log, at the level debug: what users of tools write is
    /// in it, secrets in headers are masked. Off.
    // spec: PRIV-6
    pub unsafe_http_dumps: bool,
    /// Draws the delays between attempts from this seed, so that a simulation can be repeated. In
    /// production `None`: they come from the system.
    pub seed: Option<u64>,
}

/// How to reach an endpoint. An endpoint on this machine is always reached directly.
#[derive(Clone, Default)]
pub enum ProxyChoice {
    /// Directly, whatever the environment says.
    Direct,
    /// As `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` say.
    #[default]
    Environment,
    /// Through this proxy.
    Explicit(Url),
}

impl Settings {
    /// Settings with every default.
    #[must_use]
    pub fn new(endpoint: Endpoint, tunnel: TunnelId, api_key: ApiKey) -> Self {
        Self {
            endpoint,
            tunnel,
            api_key,
            long_poll: LongPoll::DEFAULT,
            backoff: Backoff::DEFAULT,
            envelope_limit: ENVELOPE_LIMIT,
            extra_headers: Vec::new(),
            ca_bundle: None,
            proxy: ProxyChoice::Environment,
            server_info: None,
            unsafe_http_dumps: false,
            seed: None,
        }
    }
}

/// Prints numbers and the names of extra headers. Their values may be secrets like the key.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self
            .extra_headers
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        f.debug_struct("Settings")
            .field("long_poll", &self.long_poll)
            .field("backoff", &self.backoff)
            .field("envelope_limit", &self.envelope_limit)
            .field("extra_headers", &names)
            .field("ca_bundle", &self.ca_bundle.is_some())
            .field("proxy", &self.proxy)
            .finish_non_exhaustive()
    }
}

/// Prints the kind of choice alone: a proxy's URL may hold a password.
impl fmt::Debug for ProxyChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Direct => "Direct",
            Self::Environment => "Environment",
            Self::Explicit(_) => "Explicit(..)",
        })
    }
}
