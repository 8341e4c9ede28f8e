//! The requests to a target: the message as it is, and the headers that may go along.

use ::http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use ::http::{HeaderMap, HeaderName, HeaderValue, Method};
use moorline_model::resumption::STREAM_ACCEPT;
use moorline_model::target::{MESSAGE_ACCEPT, MESSAGE_CONTENT_TYPE, may_be_sent, request_headers};
use moorline_model::wire::{FailureSource, TunnelFailure};
use url::Url;

use super::super::failure;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Makes the requests to one target.
pub(super) struct Requests {
    url: Url,
    extra_headers: HeaderMap,
}

impl Requests {
    pub(super) fn new(url: Url, extra_headers: Vec<(HeaderName, HeaderValue)>) -> Self {
        Self {
            url,
            extra_headers: allowed(extra_headers),
        }
    }

    /// A POST of one message, its bytes unchanged.
    pub(super) fn post(
        &self,
        headers: &[(String, Vec<String>)],
        message: String,
    ) -> Result<reqwest::Request, TunnelFailure> {
        let mut request = self.request(Method::POST, headers)?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(MESSAGE_CONTENT_TYPE));
        headers.insert(ACCEPT, HeaderValue::from_static(MESSAGE_ACCEPT));
        *request.body_mut() = Some(message.into());
        Ok(request)
    }

    /// The GET of the rest of a stream, after the event of this id.
    pub(super) fn resume(
        &self,
        headers: &[(String, Vec<String>)],
        last_event_id: &str,
    ) -> Result<reqwest::Request, TunnelFailure> {
        let mut request = self.request(Method::GET, headers)?;
        let id = HeaderValue::from_bytes(last_event_id.as_bytes()).map_err(|_| unfit())?;
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static(STREAM_ACCEPT));
        headers.insert(LAST_EVENT_ID, id);
        Ok(request)
    }

    /// The termination of the session that the headers name.
    pub(super) fn delete(
        &self,
        headers: &[(String, Vec<String>)],
    ) -> Result<reqwest::Request, TunnelFailure> {
        self.request(Method::DELETE, headers)
    }

    fn request(
        &self,
        method: Method,
        headers: &[(String, Vec<String>)],
    ) -> Result<reqwest::Request, TunnelFailure> {
        let mut request = reqwest::Request::new(method, self.url.clone());
        *request.headers_mut() = self.headers(headers).ok_or_else(unfit)?;
        Ok(request)
    }

    /// A command's headers, and those that were configured in the place of its own.
    fn headers(&self, headers: &[(String, Vec<String>)]) -> Option<HeaderMap> {
        const AGENT: &str = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
        let mut all = HeaderMap::new();
        for (name, value) in request_headers(headers) {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            let mut value = HeaderValue::from_bytes(value.as_bytes()).ok()?;
            value.set_sensitive(true);
            all.try_append(name, value).ok()?;
        }
        all.entry(USER_AGENT)
            .or_insert(HeaderValue::from_static(AGENT));
        for name in self.extra_headers.keys() {
            all.remove(name);
        }
        for (name, value) in &self.extra_headers {
            all.try_append(name.clone(), value.clone()).ok()?;
        }
        Some(all)
    }
}

/// The configured headers without those that the model lets no command set either.
fn allowed(headers: Vec<(HeaderName, HeaderValue)>) -> HeaderMap {
    let mut all = HeaderMap::new();
    for (name, mut value) in headers {
        if may_be_sent(name.as_str()) {
            value.set_sensitive(true);
            // Nobody configures the 32768 headers after which this fails.
            let _ = all.try_append(name, value);
        } else {
            tracing::warn!(
                header = name.as_str(),
                "extra header dropped: the client sets it, or it belongs to one connection"
            );
        }
    }
    all
}

/// More or stranger headers than a request can carry.
fn unfit() -> TunnelFailure {
    failure(FailureSource::ClientInternal, Some("headers"), false)
}
