//! A target that is reached by streamable HTTP.

mod cause;
mod dns;
mod request;

use std::fmt;

use ::http::header::CONTENT_TYPE;
use ::http::{HeaderName, HeaderValue};
use moorline_model::awaited::Awaited;
use moorline_model::jsonrpc::RawId;
use moorline_model::resumption::{Refusal, Resumption, judge_resumed};
use moorline_model::sse::{DEFAULT_EVENT_LIMIT, EventStream, EventStreamFault};
use moorline_model::target::{
    EventMeaning, STREAM_WITHOUT_ANSWER, answer_headers, by_status, is_event_stream,
    judge_acceptance, judge_answer, judge_event, judge_termination,
};
use moorline_model::wire::{FailureSource, TunnelFailure};
use tokio::time::{Instant, sleep};
use url::Url;

pub(crate) use self::cause::failure_of;
pub(crate) use self::dns::SystemResolver;
use self::request::Requests;
use super::{Answer, Call, Notes, Target, Termination, failure, unreadable, within};
use crate::control_plane::{HttpTransport, SetupError};
use crate::dump::Dump;
use crate::endpoint::Endpoint;
use crate::settings::ProxyChoice;

/// The greatest size of an answer, and of an event of one, in bytes (32 MiB).
pub const MAX_ANSWER_BYTES: usize = DEFAULT_EVENT_LIMIT;

/// What dumps call an exchange with a target.
const DUMPED: &str = "target";

/// What an [`HttpTarget`] is made of.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpTargetSettings {
    /// Where the server takes messages, for example `http://127.0.0.1:9000/mcp`.
    pub url: Url,
    /// Headers to add to every request, in the place of those of the same name that a command has.
    /// Those that belong to the connection or to the message are dropped.
    pub extra_headers: Vec<(HeaderName, HeaderValue)>,
    /// Certificates to trust beside those of the system, as PEM.
    pub ca_bundle: Option<Vec<u8>>,
    /// What the client shows to a server that asks who it is.
    pub client_identity: Option<ClientIdentity>,
    /// How to reach the server. One on this machine is always reached directly.
    pub proxy: ProxyChoice,
    /// The greatest size of an answer, and of an event of one, in bytes. 32 MiB.
    pub answer_limit: usize,
    /// Writes every exchange to the log, at the level debug: what users of tools write is in it,
    /// secrets in headers are masked. Off.
    pub unsafe_http_dumps: bool,
}

/// A certificate of the client's own, for servers that require one (mTLS).
#[derive(Clone)]
pub struct ClientIdentity {
    /// The certificate and those between it and the root, as PEM.
    pub certificate: Vec<u8>,
    /// Its private key, as PEM.
    pub key: Vec<u8>,
}

/// A private MCP server behind a URL.
///
/// A call is one POST. No redirect is followed and nothing is sent a second time: a response that
/// breaks off is a failure, as the tool may have run. Only the rest of a stream that the server lets
/// go on later is asked for, by GET.
pub struct HttpTarget {
    client: reqwest::Client,
    requests: Requests,
    answer_limit: usize,
    dump: Dump,
}

impl HttpTargetSettings {
    /// Settings with every default.
    #[must_use]
    pub fn new(url: Url) -> Self {
        Self {
            url,
            extra_headers: Vec::new(),
            ca_bundle: None,
            client_identity: None,
            proxy: ProxyChoice::default(),
            answer_limit: MAX_ANSWER_BYTES,
            unsafe_http_dumps: false,
        }
    }
}

impl HttpTarget {
    /// Makes the HTTP client, with the configuration that the client of the control plane has.
    /// Nothing is sent yet.
    ///
    /// # Errors
    ///
    /// A URL, CA bundle, identity or proxy that cannot be used.
    // spec: RPT-11
    pub fn new(settings: HttpTargetSettings) -> Result<Self, SetupError> {
        let origin = settings.url.origin().ascii_serialization();
        let origin =
            Endpoint::parse_allowing_plain_http(&origin).map_err(|_| SetupError::TargetUrl)?;
        let ca_bundle = settings.ca_bundle.as_deref();
        let builder = HttpTransport::builder(&origin, ca_bundle, &settings.proxy)?;
        let client = match &settings.client_identity {
            None => builder.build().map_err(|_| SetupError::HttpClient)?,
            Some(identity) => identity.build(builder)?,
        };
        Ok(Self {
            client,
            requests: Requests::new(settings.url, settings.extra_headers),
            answer_limit: settings.answer_limit,
            dump: Dump::new(settings.unsafe_http_dumps),
        })
    }

    async fn post(
        &self,
        call: Call,
        awaited: &Awaited,
        notes: &Notes,
    ) -> Result<Answer, TunnelFailure> {
        let message = Box::<str>::from(call.message).into_string();
        let request = self.requests.post(&call.headers, message)?;
        let (response, head) = self.send(request, call.deadline).await?;
        let json = within(call.deadline, async {
            let Some(id) = awaited.request() else {
                return judge_acceptance(head.status).map(|()| None);
            };
            let json = if head.is_event_stream {
                self.read_events(response, &call.headers, id, notes).await
            } else {
                self.read_whole(response, id, head.status).await
            };
            json.map(Some)
        });
        let json = json.await.unwrap_or(Err(timed_out(true)));
        let json = json.map_err(|fault| by_status(head.status, fault));
        Ok(head.answer(awaited, json))
    }

    async fn delete(&self, call: &Termination, awaited: &Awaited) -> Result<Answer, TunnelFailure> {
        let request = self.requests.delete(&call.headers)?;
        let (_, head) = self.send(request, call.deadline).await?;
        let json = judge_termination(head.status).map(|()| None);
        Ok(head.answer(awaited, json))
    }

    /// Sends a request and waits for the head of its response.
    async fn send(
        &self,
        request: reqwest::Request,
        deadline: Option<Instant>,
    ) -> Result<(reqwest::Response, Head), TunnelFailure> {
        let body = request.body().and_then(reqwest::Body::as_bytes);
        let body = body.unwrap_or_default();
        self.dump.request(DUMPED, request.headers(), body);
        match within(deadline, self.client.execute(request)).await {
            Some(Ok(response)) => {
                let head = Head::of(&response);
                self.dump.head(DUMPED, head.status, response.headers());
                tracing::debug!(status = head.status, "target answered");
                Ok((response, head))
            }
            Some(Err(error)) => Err(failure_of(&error, false)),
            None => Err(timed_out(false)),
        }
    }

    /// Reads a body to its end. Gives it, if it is the answer.
    async fn read_whole(
        &self,
        mut response: reqwest::Response,
        id: &RawId,
        status: u16,
    ) -> Result<String, TunnelFailure> {
        let mut body = Vec::new();
        while let Some(chunk) = next_chunk(&mut response).await? {
            if body.len().saturating_add(chunk.len()) > self.answer_limit {
                return Err(broken("answer_too_large"));
            }
            body.extend_from_slice(&chunk);
        }
        self.dump.body(DUMPED, &body);
        judge_answer(id, status, body)
    }

    /// Reads events up to the answer, from as many streams as the server makes of them.
    // spec: CMD-24, CMD-40
    async fn read_events(
        &self,
        response: reqwest::Response,
        headers: &[(String, Vec<String>)],
        id: &RawId,
        notes: &Notes,
    ) -> Result<String, TunnelFailure> {
        let mut stream = EventStream::new(self.answer_limit);
        let mut resumption = Resumption::default();
        let mut read = self.read_stream(response, &mut stream, id, notes).await?;
        loop {
            let failure = match read {
                Read::Answer(text) => return Ok(text),
                Read::End(failure) => failure,
            };
            let resume = resumption.after(&stream, failure)?;
            sleep(resume.wait).await;
            let request = self.requests.resume(headers, resume.last_event_id)?;
            read = match self.resume(request).await {
                Err(Refusal::ForGood(failure)) => return Err(failure),
                Err(Refusal::ForNow(failure)) => Read::End(failure),
                Ok(response) => {
                    stream.reconnect();
                    self.read_stream(response, &mut stream, id, notes).await?
                }
            };
        }
    }

    /// Asks for the rest of a stream. Whoever waits for it keeps the deadline.
    async fn resume(&self, request: reqwest::Request) -> Result<reqwest::Response, Refusal> {
        let sent = self.send(request, None).await;
        let (response, head) = sent.map_err(Refusal::ForNow)?;
        judge_resumed(head.status, head.is_event_stream).map(|()| response)
    }

    /// Reads one stream up to the answer, and passes on what comes before. What comes after is not read.
    async fn read_stream(
        &self,
        mut response: reqwest::Response,
        stream: &mut EventStream,
        id: &RawId,
        notes: &Notes,
    ) -> Result<Read, TunnelFailure> {
        let mut events = Vec::new();
        loop {
            let chunk = match next_chunk(&mut response).await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok(Read::End(STREAM_WITHOUT_ANSWER)),
                Err(failure) => return Ok(Read::End(failure)),
            };
            let pushed = stream.push(&chunk, &mut events);
            for event in events.drain(..) {
                self.dump.body(DUMPED, event.data.as_bytes());
                match judge_event(id, &event) {
                    EventMeaning::Answer => return Ok(Read::Answer(event.data)),
                    // Whoever wants no notes has dropped the other end, and still gets the answer.
                    EventMeaning::Notification => pass_on(notes, event.data).await,
                    EventMeaning::Nothing => {}
                }
            }
            pushed.map_err(|fault| broken(event_fault(fault)))?;
        }
    }
}

/// What one stream of events gave.
enum Read {
    /// The answer.
    Answer(String),
    /// Nothing, and this is the failure if nothing more can be had.
    End(TunnelFailure),
}

/// Passes a message on once those before it are on their way: the server is read no faster than that, so
/// that at most one message waits here.
async fn pass_on(notes: &Notes, text: String) {
    if let Ok(mut room) = notes.reserve_many(notes.max_capacity()).await
        && let Some(place) = room.next()
    {
        place.send(text);
    }
}

impl Target for HttpTarget {
    async fn call(&self, call: Call, notes: Notes) -> Answer {
        let Ok(awaited) = Awaited::by_message(call.message.get()) else {
            return unreadable();
        };
        let answer = self.post(call, &awaited, &notes).await;
        answer.unwrap_or_else(|failure| Answer::failed(&awaited, failure))
    }

    async fn terminate(&self, call: Termination) -> Answer {
        let awaited = Awaited::by_termination();
        let answer = self.delete(&call, &awaited).await;
        answer.unwrap_or_else(|failure| Answer::failed(&awaited, failure))
    }
}

/// The head of a response, as far as it is passed on.
struct Head {
    status: u16,
    headers: Vec<(String, Vec<String>)>,
    is_event_stream: bool,
}

impl Head {
    fn of(response: &reqwest::Response) -> Self {
        let status = response.status().as_u16();
        let headers = response.headers();
        let lines = headers.iter();
        let lines = lines.map(|(name, value)| (name.as_str(), value.as_bytes()));
        let kind = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        Self {
            status,
            headers: answer_headers(lines),
            is_event_stream: is_event_stream(status, kind),
        }
    }

    /// The answer with this head: the target's own, or one that is made here in its place.
    fn answer(self, awaited: &Awaited, json: Result<Option<String>, TunnelFailure>) -> Answer {
        match json {
            Ok(json) => Answer {
                code: self.status,
                headers: self.headers,
                json,
                kind: awaited.kind(),
                failure: None,
                by_target: true,
            },
            Err(failure) => Answer::failed_with(awaited, failure, self.headers),
        }
    }
}

impl ClientIdentity {
    fn build(&self, builder: reqwest::ClientBuilder) -> Result<reqwest::Client, SetupError> {
        let pem = [&*self.certificate, b"\n", &*self.key].concat();
        let identity = reqwest::Identity::from_pem(&pem).map_err(|_| SetupError::ClientIdentity)?;
        // The key is read only here; everything else of the builder has been seen to work.
        let built = builder.identity(identity).build();
        built.map_err(|_| SetupError::ClientIdentity)
    }
}

/// Prints the names of extra headers. URL, values and identity may be secret.
impl fmt::Debug for HttpTargetSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self
            .extra_headers
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        f.debug_struct("HttpTargetSettings")
            .field("extra_headers", &names)
            .field("ca_bundle", &self.ca_bundle.is_some())
            .field("client_identity", &self.client_identity.is_some())
            .field("proxy", &self.proxy)
            .field("answer_limit", &self.answer_limit)
            .finish_non_exhaustive()
    }
}

/// Prints nothing of itself.
impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientIdentity(..)")
    }
}

async fn next_chunk(
    response: &mut reqwest::Response,
) -> Result<Option<bytes::Bytes>, TunnelFailure> {
    let chunk = response.chunk().await;
    chunk.map_err(|error| failure_of(&error, true))
}

fn event_fault(fault: EventStreamFault) -> &'static str {
    match fault {
        EventStreamFault::NotUtf8 => "event_not_utf8",
        EventStreamFault::TooLarge => "event_too_large",
        _ => "event_invalid",
    }
}

/// An answer that is none.
fn broken(kind: &'static str) -> TunnelFailure {
    failure(FailureSource::Protocol, Some(kind), true)
}

fn timed_out(received: bool) -> TunnelFailure {
    failure(FailureSource::Timeout, None, received)
}
