//! The control plane as this client sees it: one endpoint, one tunnel, one placement.

mod error;
mod event;
mod headers;
mod log;
mod metadata;
mod poll;
mod poller;
mod respond;
mod state;
mod transport;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use error::{AlreadyObserved, PollError, SetupError, TransportCause};
pub use event::{Offered, PollEvent};
pub(crate) use headers::Lines;
pub use metadata::MetadataFault;
use moorline_model::backoff::Backoff;
use moorline_model::placement::Generation;
use moorline_model::schedule::Readiness;
use moorline_model::wire::Revision;
pub use poll::PollReport;
pub use poller::{MAX_IN_FLIGHT, Poller, PollerOptions, Queued};
pub use respond::{Delivered, Response, Undelivered};
use state::SharedState;
pub use transport::{Deliver, HttpTransport, Received, ReceivedBody, RequestHead, Sent, Transport};

use crate::settings::Settings;

/// One client of one tunnel. Clones are handles of the same client: they share its placement, its
/// backoff and its readiness. Another client of the same tunnel starts tokenless and shares nothing.
pub struct ControlPlane<T = HttpTransport> {
    inner: Arc<Inner<T>>,
}

struct Inner<T> {
    transport: T,
    requests: headers::Requests,
    envelope_limit: usize,
    backoff: Backoff,
    state: SharedState,
    observer: OnceLock<Box<Observer>>,
    refusal: log::Refusal,
}

/// Is told of each attempt once it has ended.
type Observer = dyn Fn(&PollEvent) + Send + Sync;

/// What the client knows of its placement at one moment. Holds no token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Placed {
    /// The greatest committed revision.
    pub watermark: Option<Revision>,
    /// Whether the next poll carries a token.
    pub has_token: bool,
    /// Corrections since the last success (0 to 2).
    pub corrections: u8,
    /// Failures of the active token (0 to 2).
    pub failures: u8,
    /// How many state-bearing results were committed.
    pub generation: Generation,
}

/// The polls that wait for their answers at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnderWay {
    /// How many there are.
    pub polls: usize,
    /// When the oldest of them began, since the client was made.
    pub since: Option<Duration>,
}

impl ControlPlane {
    /// A client over HTTP. Sends nothing yet. Where the process has no rustls cryptography provider,
    /// this installs *ring* as its default.
    ///
    /// # Errors
    ///
    /// A CA bundle or proxy that the HTTP library does not take.
    pub fn connect(settings: Settings) -> Result<Self, SetupError> {
        let transport = HttpTransport::new(&settings)?;
        Ok(Self::with_transport(settings, transport))
    }
}

impl<T: Transport> ControlPlane<T> {
    /// A client over another transport, such as an in-memory one for tests under paused time.
    pub fn with_transport(settings: Settings, transport: T) -> Self {
        Self {
            inner: Arc::new(Inner {
                transport,
                requests: headers::Requests::new(&settings),
                envelope_limit: settings.envelope_limit,
                backoff: settings.backoff,
                state: SharedState::new(settings.backoff, settings.long_poll, settings.seed),
                observer: OnceLock::new(),
                refusal: log::Refusal::default(),
            }),
        }
    }

    /// Has `observer` told of each attempt once it has ended, in no particular order: events carry
    /// their sequence number. It is called on the task that polls, with no lock held, so it must not
    /// block: a runtime whose thread is blocked may stop driving timers and sockets.
    ///
    /// # Errors
    ///
    /// The client has an observer already.
    pub fn observe(
        &self,
        observer: impl Fn(&PollEvent) + Send + Sync + 'static,
    ) -> Result<(), AlreadyObserved> {
        let observer: Box<Observer> = Box::new(observer);
        self.inner
            .observer
            .set(observer)
            .map_err(|_| AlreadyObserved)
    }

    /// What the client knows of its placement now.
    #[must_use]
    pub fn placed(&self) -> Placed {
        self.inner.state.placed()
    }

    /// Whether polls succeed. Times are since the client was made.
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        self.inner.state.readiness()
    }

    /// How long ago the client was made: the origin of the times in [`ControlPlane::readiness`].
    #[must_use]
    pub fn uptime(&self) -> Duration {
        self.inner.state.now()
    }

    /// The polls that were begun and have not ended yet.
    #[must_use]
    pub fn under_way(&self) -> UnderWay {
        self.inner.state.under_way()
    }

    /// How long the service may hold the next poll; shorter than configured where something on the
    /// way was seen to cut long polls.
    #[must_use]
    pub fn poll_wait(&self) -> Duration {
        self.inner.state.long_poll().wait()
    }
}

impl<T> Clone for ControlPlane<T> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
        }
    }
}

impl<T> std::fmt::Debug for ControlPlane<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ControlPlane")
            .field("placed", &self.inner.state.placed())
            .finish_non_exhaustive()
    }
}
