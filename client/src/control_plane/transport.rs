use std::error::Error;
use std::fmt;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method};
use moorline_model::delivery::BODY_TIMEOUT;
use moorline_model::poll::{BodyPlan, ERROR_BODY_LIMIT, Interruption, body_plan};
use tokio::time::{Instant, timeout_at};
use url::Url;

use super::error::{SetupError, TransportCause};
use crate::dump::Dump;
use crate::endpoint::Endpoint;
use crate::settings::{ProxyChoice, Settings};
use crate::target::SystemResolver;

/// How long an idle connection is kept: below the keep-alive limits of common servers and balancers,
/// so that their closing of idle connections is not taken for failures.
// spec: END-7
const IDLE_CONNECTION: Duration = Duration::from_secs(4);

/// Sends one request and reads its response as the model plans it. One call is one attempt. There is
/// no way to send anything else, such as a request that would create a tunnel.
// spec: END-9
pub trait Transport: Send + Sync + 'static {
    /// Sends a GET without body and reads the response until `deadline`. Dropping the future abandons
    /// the request.
    fn get(
        &self,
        request: RequestHead,
        deadline: Instant,
        envelope_limit: usize,
    ) -> impl Future<Output = Received> + Send;
}

/// Sends what is no poll: the responses of commands, and what asks for metadata. Separate from
/// polling, so that nothing here can be mistaken for an attempt that the placement has to hear of.
pub trait Deliver: Transport {
    /// Sends one request and waits for the head of its response until `deadline`, and then for a second
    /// at most for at most 65,536 bytes of its body, which decide nothing. One call is one attempt.
    /// Dropping the future abandons the request.
    fn send(
        &self,
        method: Method,
        request: RequestHead,
        body: Bytes,
        deadline: Instant,
    ) -> impl Future<Output = Sent> + Send;
}

/// What became of a request that is no poll.
#[derive(Debug)]
pub struct Sent {
    /// What came back.
    pub received: Received,
    /// Whether any byte of the request may have left. When in doubt, it has.
    pub written: bool,
}

/// A request to be sent. Its headers hold secrets, marked as sensitive.
pub struct RequestHead {
    /// The address, built from the configured endpoint.
    pub url: Url,
    /// All headers that the protocol asks for.
    pub headers: HeaderMap,
}

/// What came back.
pub enum Received {
    /// The request could not be built or sent for a local reason.
    NotSent(TransportCause),
    /// No response head arrived.
    NoHead(Interruption, Option<TransportCause>),
    /// A response head arrived.
    Head {
        /// The status, 100 to 999.
        status: u16,
        /// The field lines.
        headers: HeaderMap,
        /// When the head arrived.
        arrived: Instant,
        /// What became of the body.
        body: ReceivedBody,
    },
}

/// What became of a response body.
pub enum ReceivedBody {
    /// Read to the end of the message.
    Complete(Bytes),
    /// Cut off before its end.
    Interrupted(Interruption, Option<TransportCause>),
    /// One byte more than the limit arrived.
    OverLimit,
    /// Not read.
    Unread,
}

/// Prints the kind alone: headers and body may hold tokens and whatever the service wrote.
impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotSent(_) => "NotSent(..)",
            Self::NoHead(..) => "NoHead(..)",
            Self::Head { .. } => "Head { .. }",
        })
    }
}

/// Prints the kind alone.
impl fmt::Debug for ReceivedBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Complete(_) => "Complete(..)",
            Self::Interrupted(..) => "Interrupted(..)",
            Self::OverLimit => "OverLimit",
            Self::Unread => "Unread",
        })
    }
}

/// The one HTTP client, and the only place that builds it.
#[derive(Clone)]
pub struct HttpTransport {
    client: reqwest::Client,
    dump: Dump,
}

impl HttpTransport {
    /// Builds the HTTP client: no redirects, no retries of its own, no cookies, no decompression
    /// (the last two are not compiled in), rustls, and no verbose mode that would dump traffic.
    ///
    /// # Errors
    ///
    /// A CA bundle or proxy that the library does not take.
    // spec: END-3, END-6, PRIV-6
    pub fn new(settings: &Settings) -> Result<Self, SetupError> {
        let builder = Self::builder(
            &settings.endpoint,
            settings.ca_bundle.as_deref(),
            &settings.proxy,
        )?;
        let client = builder.build().map_err(|_| SetupError::HttpClient)?;
        Ok(Self {
            client,
            dump: Dump::new(settings.unsafe_http_dumps),
        })
    }

    /// The builder of every HTTP client, whether it talks to the control plane or to a target: what
    /// is trusted, and what the library must not do by itself, is one configuration.
    // spec: RPT-9, RPT-11
    pub(crate) fn builder(
        endpoint: &Endpoint,
        ca_bundle: Option<&[u8]>,
        proxy: &ProxyChoice,
    ) -> Result<reqwest::ClientBuilder, SetupError> {
        use_ring();
        let builder = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .https_only(endpoint.is_encrypted())
            .pool_idle_timeout(IDLE_CONNECTION)
            // Its failures have a type, by which they are told from others.
            .dns_resolver(Arc::new(SystemResolver))
            .tcp_nodelay(true);
        let builder = trust(builder, endpoint, ca_bundle)?;
        route(builder, endpoint, proxy)
    }
}

/// The TLS library wants one cryptography provider for the process. An embedder who has chosen one
/// keeps it.
fn use_ring() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Losing a race to another installer is as good as winning it.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

fn trust(
    builder: reqwest::ClientBuilder,
    endpoint: &Endpoint,
    ca_bundle: Option<&[u8]>,
) -> Result<reqwest::ClientBuilder, SetupError> {
    if !endpoint.is_encrypted() {
        // Nothing is encrypted, so the system's certificates need not be read.
        return Ok(builder.tls_certs_only([]));
    }
    let Some(bundle) = ca_bundle else {
        return Ok(builder);
    };
    let certificates =
        reqwest::Certificate::from_pem_bundle(bundle).map_err(|_| SetupError::CaBundle)?;
    if certificates.is_empty() {
        return Err(SetupError::CaBundle);
    }
    Ok(builder.tls_certs_merge(certificates))
}

// spec: LOOP-20
fn route(
    builder: reqwest::ClientBuilder,
    endpoint: &Endpoint,
    choice: &ProxyChoice,
) -> Result<reqwest::ClientBuilder, SetupError> {
    match choice {
        _ if endpoint.is_loopback() => Ok(builder.no_proxy()),
        ProxyChoice::Direct => Ok(builder.no_proxy()),
        ProxyChoice::Environment => Ok(builder),
        ProxyChoice::Explicit(url) => {
            let proxy = reqwest::Proxy::all(url.clone()).map_err(|_| SetupError::Proxy)?;
            Ok(builder.no_proxy().proxy(proxy))
        }
    }
}

impl Transport for HttpTransport {
    // spec: REQ-8
    async fn get(
        &self,
        request: RequestHead,
        deadline: Instant,
        envelope_limit: usize,
    ) -> Received {
        let mut message = reqwest::Request::new(Method::GET, request.url);
        *message.headers_mut() = request.headers;
        let response = match timeout_at(deadline, self.client.execute(message)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) if error.is_builder() => {
                return Received::NotSent(TransportCause::new(error));
            }
            Ok(Err(error)) => {
                return Received::NoHead(interruption(&error), Some(TransportCause::new(error)));
            }
            Err(_elapsed) => return Received::NoHead(Interruption::Deadline, None),
        };
        read_response(response, deadline, envelope_limit).await
    }
}

impl Deliver for HttpTransport {
    async fn send(
        &self,
        method: Method,
        request: RequestHead,
        body: Bytes,
        deadline: Instant,
    ) -> Sent {
        let operation = if method == Method::POST {
            self.dump.post("response", &request.headers, &body);
            "response"
        } else {
            self.dump.request("metadata", &request.headers, &body);
            "metadata"
        };
        let mut message = reqwest::Request::new(method, request.url);
        *message.headers_mut() = request.headers;
        if !body.is_empty() {
            *message.body_mut() = Some(body.into());
        }
        let (received, written) = match timeout_at(deadline, self.client.execute(message)).await {
            Ok(Ok(response)) => {
                let soon = deadline.min(Instant::now() + BODY_TIMEOUT);
                let received = read_response(response, soon, ERROR_BODY_LIMIT).await;
                self.dump_received(operation, &received);
                (received, true)
            }
            Ok(Err(error)) if error.is_builder() => {
                (Received::NotSent(TransportCause::new(error)), false)
            }
            Ok(Err(error)) => {
                let written = !error.is_connect();
                let cause = Some(TransportCause::new(error));
                (Received::NoHead(Interruption::Network, cause), written)
            }
            Err(_elapsed) => (Received::NoHead(Interruption::Deadline, None), true),
        };
        Sent { received, written }
    }
}

impl HttpTransport {
    fn dump_received(&self, operation: &'static str, received: &Received) {
        if let Received::Head {
            status,
            headers,
            body,
            ..
        } = received
        {
            let body: &[u8] = match body {
                ReceivedBody::Complete(bytes) => bytes,
                ReceivedBody::Interrupted(..) | ReceivedBody::OverLimit | ReceivedBody::Unread => {
                    &[]
                }
            };
            self.dump.head(operation, *status, headers);
            self.dump.body_of(operation, headers, body);
        }
    }
}

async fn read_response(
    mut response: reqwest::Response,
    deadline: Instant,
    envelope_limit: usize,
) -> Received {
    let arrived = Instant::now();
    let status = response.status().as_u16();
    let headers = std::mem::take(response.headers_mut());
    let body = match body_plan(status, envelope_limit) {
        BodyPlan::Skip => ReceivedBody::Unread,
        BodyPlan::Read { limit } => match timeout_at(deadline, read_body(response, limit)).await {
            Ok(body) => body,
            Err(_elapsed) => ReceivedBody::Interrupted(Interruption::Deadline, None),
        },
    };
    Received::Head {
        status,
        headers,
        arrived,
        body,
    }
}

/// Reads a body as it streams in, and gives it up with the first byte over the limit.
// spec: CLS-11
async fn read_body(mut response: reqwest::Response, limit: usize) -> ReceivedBody {
    let mut first = Bytes::new();
    let mut whole = BytesMut::new();
    loop {
        let chunk = match response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) if whole.is_empty() => return ReceivedBody::Complete(first),
            Ok(None) => return ReceivedBody::Complete(whole.freeze()),
            Err(error) => {
                let by = interruption(&error);
                return ReceivedBody::Interrupted(by, Some(TransportCause::new(error)));
            }
        };
        let length = first.len().max(whole.len()).saturating_add(chunk.len());
        if length > limit {
            return ReceivedBody::OverLimit;
        }
        // Most bodies come in one chunk, which then needs no copy.
        if first.is_empty() && whole.is_empty() {
            first = chunk;
        } else {
            if whole.is_empty() {
                whole.extend_from_slice(&first);
            }
            whole.extend_from_slice(&chunk);
        }
    }
}

/// Tells a connection that the other side closed from one that broke: what cuts long polls closes
/// them. Over TLS or HTTP/2 a close shows as an error of the stream below.
fn interruption(error: &reqwest::Error) -> Interruption {
    let mut source = error.source();
    while let Some(cause) = source {
        if cause
            .downcast_ref::<hyper::Error>()
            .is_some_and(hyper::Error::is_incomplete_message)
            || cause.downcast_ref::<io::Error>().is_some_and(is_close)
        {
            return Interruption::Closed;
        }
        source = cause.source();
    }
    Interruption::Network
}

fn is_close(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe
    )
}
