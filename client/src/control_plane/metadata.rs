use std::time::Duration;

use bytes::Bytes;
use http::Method;
use moorline_model::poll::Interruption;
use thiserror::Error;
use tokio::time::Instant;

use super::ControlPlane;
use super::error::TransportCause;
use super::transport::{Deliver, Received, RequestHead};

/// How long the service may take to answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// Why the metadata of the tunnel could not be had. Holds nothing that the service wrote but numbers.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MetadataFault {
    /// No answer arrived.
    #[error("network_error: no response arrived")]
    NoAnswer(Option<TransportCause>),
    /// It took too long.
    #[error("timeout: no response in time")]
    Timeout,
    /// A status that is no success.
    #[error("http_error: status {0}")]
    Status(u16),
}

impl MetadataFault {
    /// The HTTP library's error, where there is one. It may name the host: do not print it.
    #[must_use]
    pub fn cause(&self) -> Option<&(dyn std::error::Error + Send + Sync + 'static)> {
        match self {
            Self::NoAnswer(cause) => cause.as_ref().map(TransportCause::get),
            Self::Timeout | Self::Status(_) => None,
        }
    }
}

impl<T: Deliver> ControlPlane<T> {
    /// Asks the service for the tunnel's metadata, which shows that endpoint, key and tunnel fit. It
    /// takes no command, carries no token, and neither reads nor changes the placement. One attempt.
    ///
    /// # Errors
    ///
    /// Why there is no answer, or what status it has.
    // spec: REQ-6
    pub async fn metadata(&self) -> Result<(), MetadataFault> {
        let request = RequestHead {
            url: self.inner.requests.metadata_url(),
            headers: self.inner.requests.common(),
        };
        let end = Instant::now() + PATIENCE;
        let sent = self
            .inner
            .transport
            .send(Method::GET, request, Bytes::new(), end)
            .await;
        match sent.received {
            Received::Head {
                status: 200..=299, ..
            } => Ok(()),
            Received::Head { status, .. } => Err(MetadataFault::Status(status)),
            Received::NoHead(Interruption::Deadline, _) => Err(MetadataFault::Timeout),
            Received::NoHead(_, cause) => Err(MetadataFault::NoAnswer(cause)),
            Received::NotSent(cause) => Err(MetadataFault::NoAnswer(Some(cause))),
        }
    }
}
