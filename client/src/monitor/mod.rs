//! What an operator sees of a running client: probes, metrics and a status page, over HTTP.
//!
//! | path | what it answers |
//! | --- | --- |
//! | `/` | the status page, for a person |
//! | `/healthz` | 200 while the process runs |
//! | `/readyz` | 200 while the client is ready, 503 while it is not; the text says why and since when |
//! | `/health` | everything but the last polls, as JSON |
//! | `/metrics` | Prometheus text, version 0.0.4 |
//! | `/status.json` | what the page draws: `/health`, the last polls, and counts over time |
//!
//! Nothing that is shown holds a token, key, id, host or text of a server. On a loopback address,
//! requests that name another host are refused, so that no web page can read this through a name of
//! its own.

mod address;
mod history;
mod host;
mod metrics;
mod page;
mod routes;
mod server;
mod view;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

pub use address::{ListenAddress, ListenFault};
use history::History;
use moorline_model::schedule::Readiness;
use routes::Shared;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::control_plane::{ControlPlane, Placed, Transport, UnderWay};
use crate::telemetry::Telemetry;

/// How often counts are noted for the chart of throughput, unless told otherwise.
pub const NOTE_EVERY: Duration = Duration::from_secs(5);

/// What a monitor asks of a client. [`ControlPlane`] answers all of it.
pub trait ClientState: Send + Sync + 'static {
    /// What the client knows of its placement now.
    fn placed(&self) -> Placed;
    /// Whether polls succeed. Times are since the client was made.
    fn readiness(&self) -> Readiness;
    /// The polls under way. Times are since the client was made.
    fn under_way(&self) -> UnderWay;
    /// How long ago the client was made.
    fn uptime(&self) -> Duration;
    /// How long the service may hold the next poll.
    fn poll_wait(&self) -> Duration;
}

impl<T: Transport> ClientState for ControlPlane<T> {
    fn placed(&self) -> Placed {
        self.placed()
    }

    fn readiness(&self) -> Readiness {
        self.readiness()
    }

    fn under_way(&self) -> UnderWay {
        self.under_way()
    }

    fn uptime(&self) -> Duration {
        self.uptime()
    }

    fn poll_wait(&self) -> Duration {
        self.poll_wait()
    }
}

/// Where a monitor reads what it shows, anew for each request.
#[derive(Clone)]
pub struct Sources {
    /// The client.
    pub client: Arc<dyn ClientState>,
    /// What it has done.
    pub telemetry: Arc<Telemetry>,
    /// How often counts are noted for the chart of throughput, at least once a millisecond.
    pub note_every: Duration,
}

impl Sources {
    /// Notes counts every [`NOTE_EVERY`].
    #[must_use]
    pub fn new(client: impl ClientState, telemetry: Arc<Telemetry>) -> Self {
        Self {
            client: Arc::new(client),
            telemetry,
            note_every: NOTE_EVERY,
        }
    }
}

/// A running monitor. Dropping it ends it at once.
#[derive(Debug)]
pub struct Monitor {
    address: SocketAddr,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Monitor {
    /// Listens, and answers on tasks of the current tokio runtime until stopped.
    ///
    /// # Errors
    ///
    /// The address cannot be listened on: taken, not of this machine, or not allowed.
    pub async fn start(address: ListenAddress, sources: Sources) -> io::Result<Self> {
        let listener = TcpListener::bind(address.get()).await?;
        let address = listener.local_addr()?;
        let stop = CancellationToken::new();
        let history = Arc::new(History::default());
        let mut tasks = JoinSet::new();
        tasks
            .spawn(Arc::clone(&history).follow(Arc::clone(&sources.telemetry), sources.note_every));
        let shared = Shared { sources, history };
        let router = routes::router(shared, host::Policy::of(address));
        tasks.spawn(server::serve(listener, router, stop.clone()));
        Ok(Self {
            address,
            stop,
            tasks,
        })
    }

    /// Where it listens, with the port that the system chose if none was named.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Stops listening, lets answers that are under way go out for a short while, and returns when
    /// every connection is closed.
    pub async fn stop(mut self) {
        self.stop.cancel();
        // The server is the one task that ends by itself.
        if self
            .tasks
            .join_next()
            .await
            .is_some_and(|ended| ended.is_err())
        {
            tracing::error!("a task of the monitor ended in a panic");
        }
        self.tasks.shutdown().await;
    }
}
