//! A whole client: polls, runs commands on its targets, answers, and shows how it is.
//!
//! ```no_run
//! use std::collections::BTreeMap;
//!
//! use moorline::model::wire::Channel;
//! use moorline::run::{Client, ClientSettings, TargetSettings};
//! use moorline::target::{CommandLine, StdioTargetSettings};
//! use moorline::{ApiKey, Endpoint, Settings, TunnelId};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let settings = Settings::new(
//!     Endpoint::parse("https://tunnels.example.com")?,
//!     TunnelId::new("my-tunnel")?,
//!     ApiKey::new(&std::env::var("API_KEY")?)?,
//! );
//! let server = StdioTargetSettings::new(CommandLine::parse("npx -y my-mcp-server")?);
//! let targets = BTreeMap::from([(Channel::main(), TargetSettings::Stdio(server))]);
//! let client = Client::start(ClientSettings::new(settings, targets)).await?;
//! let stop = tokio_util::sync::CancellationToken::new();
//! client.run(&stop).await;
//! # Ok(())
//! # }
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use moorline_model::wire::{Channel, ServerInfo, ServerInfoFault};
use thiserror::Error;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::control_plane::{ControlPlane, PollEvent, Poller, PollerOptions, SetupError};
use crate::dispatch::{DispatchOptions, Dispatcher, Drained};
#[cfg(feature = "monitor")]
use crate::monitor::{ListenAddress, Monitor, Sources};
use crate::settings::Settings;
use crate::target::{AnyTarget, HttpTarget, HttpTargetSettings, StdioTarget, StdioTargetSettings};
use crate::telemetry::{Limits, Telemetry};

/// How long a child process may take to end by itself once its work is done.
const CHILD_GRACE: Duration = Duration::from_secs(2);

/// What a [`Client`] is made of.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientSettings {
    /// The service. Its `server_info` is replaced by what `targets` say.
    pub control_plane: Settings,
    /// The MCP server of each channel, at most 32. Commands for other channels are answered with 400.
    pub targets: BTreeMap<Channel, TargetSettings>,
    /// How to poll.
    pub poller: PollerOptions,
    /// How to run commands.
    pub dispatch: DispatchOptions,
    /// Where to show probes, metrics and the status page. Nowhere.
    #[cfg(feature = "monitor")]
    pub monitor: Option<ListenAddress>,
    /// Whether HTTP messages other than polls may be logged with what they hold. No.
    pub unsafe_http_dumps: bool,
}

/// What a target is made of.
#[derive(Clone, Debug)]
pub enum TargetSettings {
    /// A server behind a URL.
    Http(Box<HttpTargetSettings>),
    /// A server that is started as a child process.
    Stdio(StdioTargetSettings),
}

/// Why a client could not be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StartError {
    /// The client of the service could not be made.
    #[error("{0}")]
    ControlPlane(SetupError),
    /// The address is not free, or not of this machine.
    #[error("the monitor cannot listen on its address: {}", .0.kind())]
    Monitor(io::Error),
    /// The channels cannot be declared to the service.
    #[error("{0}")]
    Channels(ServerInfoFault),
    /// The client of a target could not be made.
    #[error("the MCP server of the channel {0}: {1}")]
    Target(Channel, SetupError),
}

/// A client that is ready to run. Nothing polls yet.
pub struct Client {
    control_plane: ControlPlane,
    targets: Targets,
    telemetry: Arc<Telemetry>,
    poller: PollerOptions,
    dispatch: DispatchOptions,
    #[cfg(feature = "monitor")]
    monitor: Option<Monitor>,
}

/// The targets of a client. Clones are handles of the same ones.
#[derive(Clone)]
pub struct Targets(BTreeMap<Channel, Arc<AnyTarget>>);

impl ClientSettings {
    /// Settings with every default.
    #[must_use]
    pub fn new(control_plane: Settings, targets: BTreeMap<Channel, TargetSettings>) -> Self {
        Self {
            control_plane,
            targets,
            poller: PollerOptions::default(),
            dispatch: DispatchOptions::default(),
            #[cfg(feature = "monitor")]
            monitor: None,
            unsafe_http_dumps: false,
        }
    }
}

impl ClientSettings {
    /// One switch for every HTTP client.
    fn hand_down_dumps(&mut self) {
        self.control_plane.unsafe_http_dumps = self.unsafe_http_dumps;
        for target in self.targets.values_mut() {
            if let TargetSettings::Http(settings) = target {
                settings.unsafe_http_dumps = self.unsafe_http_dumps;
            }
        }
    }
}

impl TargetSettings {
    /// Whether all commands of a session must come to this very client.
    fn has_affinity(&self) -> bool {
        matches!(self, Self::Stdio(_))
    }

    /// Makes the target of a channel. Nothing is sent or started yet.
    ///
    /// # Errors
    ///
    /// Settings that the HTTP library does not take.
    pub fn build(
        self,
        channel: &Channel,
        telemetry: &Arc<Telemetry>,
    ) -> Result<AnyTarget, SetupError> {
        Ok(match self {
            Self::Http(settings) => AnyTarget::Http(HttpTarget::new(*settings)?),
            Self::Stdio(settings) => AnyTarget::Stdio(StdioTarget::new(
                settings,
                channel.clone(),
                Arc::clone(telemetry),
            )),
        })
    }
}

impl Client {
    /// Makes everything and starts the monitor, on tasks of the current tokio runtime. Nothing is
    /// polled, and no child is started.
    ///
    /// # Errors
    ///
    /// Settings that are not usable, or an address that cannot be listened on.
    pub async fn start(settings: ClientSettings) -> Result<Self, StartError> {
        Self::start_observed(settings, |_| {}).await
    }

    /// The same, and has `observer` told of each poll once it has ended, as
    /// [`ControlPlane::observe`] says.
    ///
    /// # Errors
    ///
    /// As [`Client::start`].
    // spec: CMD-27
    pub async fn start_observed(
        mut settings: ClientSettings,
        observer: impl Fn(&PollEvent) + Send + Sync + 'static,
    ) -> Result<Self, StartError> {
        settings.hand_down_dumps();
        let affinity = |(channel, target): (&Channel, &TargetSettings)| {
            (channel.clone(), target.has_affinity())
        };
        let info = ServerInfo::new(settings.targets.iter().map(affinity));
        let mut control_plane = settings.control_plane;
        control_plane.server_info = Some(info.map_err(StartError::Channels)?);
        let telemetry = Arc::new(Telemetry::new());
        telemetry.serves(settings.targets.keys());
        telemetry.limits(Limits {
            queue: settings.poller.queue,
            concurrency: settings.dispatch.concurrency,
        });
        let targets = Targets::build(settings.targets, &telemetry)?;
        let control_plane =
            ControlPlane::connect(control_plane).map_err(StartError::ControlPlane)?;
        let observed = Arc::clone(&telemetry);
        // The client is new and has no observer.
        let _ = control_plane.observe(move |event| {
            observed.polled(event);
            observer(event);
        });
        #[cfg(feature = "monitor")]
        let monitor = match settings.monitor {
            None => None,
            Some(address) => {
                let sources = Sources::new(control_plane.clone(), Arc::clone(&telemetry));
                let monitor = Monitor::start(address, sources).await;
                Some(monitor.map_err(StartError::Monitor)?)
            }
        };
        Ok(Self {
            control_plane,
            targets,
            telemetry,
            poller: settings.poller,
            dispatch: settings.dispatch,
            #[cfg(feature = "monitor")]
            monitor,
        })
    }

    /// The client of the service.
    #[must_use]
    pub fn control_plane(&self) -> &ControlPlane {
        &self.control_plane
    }

    /// What it has done so far.
    #[must_use]
    pub fn telemetry(&self) -> &Arc<Telemetry> {
        &self.telemetry
    }

    /// A handle of the targets.
    #[must_use]
    pub fn targets(&self) -> Targets {
        self.targets.clone()
    }

    /// Where the monitor listens, if there is one.
    #[cfg(feature = "monitor")]
    #[must_use]
    pub fn monitor_address(&self) -> Option<std::net::SocketAddr> {
        self.monitor.as_ref().map(Monitor::address)
    }

    /// Polls and runs commands until `stop` is cancelled or the greatest number of polls is reached,
    /// then answers what was received, ends every child and returns. What is not answered when the
    /// time to drain is over is answered with a failure, and counted in what this returns.
    ///
    /// # Cancellation
    ///
    /// Dropping the future gives up every running call, and answers nothing more. Children are
    /// killed; [`Targets::stop`] waits until they are gone.
    pub async fn run(self, stop: &CancellationToken) -> Drained {
        // These end with the run.
        let mut beside = JoinSet::new();
        beside.spawn(diagnose(self.control_plane.clone()));
        beside.spawn(say_draining(stop.clone(), Arc::clone(&self.telemetry)));
        let poller = Poller::spawn(&self.control_plane, self.poller);
        let dispatcher = Dispatcher::new(
            self.control_plane.clone(),
            self.targets.0.clone(),
            Arc::clone(&self.telemetry),
            self.dispatch,
        );
        let drained = dispatcher.run(poller, stop).await;
        drop(beside);
        self.targets.stop(CHILD_GRACE).await;
        #[cfg(feature = "monitor")]
        if let Some(monitor) = self.monitor {
            monitor.stop().await;
        }
        drained
    }
}

impl Targets {
    fn build(
        settings: BTreeMap<Channel, TargetSettings>,
        telemetry: &Arc<Telemetry>,
    ) -> Result<Self, StartError> {
        let build = |(channel, settings): (Channel, TargetSettings)| match settings
            .build(&channel, telemetry)
        {
            Ok(target) => Ok((channel, Arc::new(target))),
            Err(error) => Err(StartError::Target(channel, error)),
        };
        settings
            .into_iter()
            .map(build)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Ends every child process and all that it started, side by side: each has `grace` to end by
    /// itself before it is asked to, and is killed in the end. Later calls fail.
    ///
    /// # Cancellation
    ///
    /// The stop goes on by itself.
    pub async fn stop(&self, grace: Duration) {
        let mut stops = JoinSet::new();
        for target in self.0.values() {
            let target = Arc::clone(target);
            stops.spawn(async move {
                if let AnyTarget::Stdio(target) = &*target {
                    target.stop(grace).await;
                }
            });
        }
        while stops.join_next().await.is_some() {}
    }
}

/// Asks the service for the tunnel's metadata while polling goes on: what is wrong is told early, and
/// apart from the polls.
// spec: CMD-12
async fn diagnose(control_plane: ControlPlane) {
    match control_plane.metadata().await {
        Ok(()) => tracing::debug!("the service knows the tunnel"),
        Err(fault) => tracing::warn!(
            fault = %fault,
            "the service did not confirm the tunnel: `moorline doctor` explains why"
        ),
    }
}

async fn say_draining(stop: CancellationToken, telemetry: Arc<Telemetry>) {
    stop.cancelled().await;
    telemetry.draining();
}

/// Prints the channels.
impl fmt::Debug for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("control_plane", &self.control_plane)
            .field("targets", &self.targets)
            .finish_non_exhaustive()
    }
}
