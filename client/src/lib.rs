//! A tunnel client that stays moored to the endpoint its operator configured while the service
//! behind it moves.
//!
//! ```no_run
//! use moorline::{ApiKey, ControlPlane, Endpoint, PollerOptions, Settings, TunnelId};
//!
//! # async fn embed() -> Result<(), Box<dyn std::error::Error>> {
//! let settings = Settings::new(
//!     Endpoint::parse("https://tunnels.example.com")?,
//!     TunnelId::new("my-tunnel")?,
//!     ApiKey::new(&std::env::var("API_KEY")?)?,
//! );
//! let mut poller = ControlPlane::connect(settings)?.spawn_poller(PollerOptions::default());
//! while let Some(command) = poller.next_command().await {
//!     println!("command of type {}", command.command_type);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # What each call promises on cancellation
//!
//! | call | dropped before it ends |
//! | --- | --- |
//! | [`ControlPlane::poll`] | the request is abandoned and the placement keeps what it was; commands that the service had already sent are lost with it |
//! | [`Poller::next_command`] | nothing is lost: the next call returns the next command |
//! | [`Poller::next_queued`] | the same |
//! | [`Poller::stop`] | the stop goes on by itself |
//! | [`ControlPlane::respond`] | the attempt is abandoned; the service may have the message or not |
//! | [`dispatch::Dispatcher::run`] | running calls are given up, and nothing more is answered: cancel its `stop` instead |
//! | [`Poller`] itself | the polls are cancelled; commands that were received and not taken are lost with it |
//!
//! # Logs
//!
//! This crate emits `tracing` events under targets that start with `moorline`, and puts no token,
//! key, tunnel id, URL, host or server text into them, but for the type, request id and response
//! timeout of a received command. Dumps ([`Settings::unsafe_http_dumps`]), which are off, hold what
//! tools are asked and answer besides. The HTTP libraries below it do log hosts at
//! the levels debug and trace. A program that enables those levels must leave out the targets
//! `h2`, `hyper`, `hyper_util`, `reqwest` and `rustls`, for `tracing` and for `log`; the `moorline`
//! program enables its own targets alone.
//!
//! # Features
//!
//! `cli` (default) builds the `moorline` program. `monitor`, which `cli` enables, is the module of
//! that name. Embedders need none: `default-features = false`.

#[cfg(feature = "cli")]
pub mod cli;
mod clock;
mod control_plane;
pub mod dispatch;
mod dump;
mod endpoint;
#[cfg(feature = "monitor")]
pub mod monitor;
pub mod run;
mod secret;
mod settings;
pub mod target;
pub mod telemetry;

pub use control_plane::{
    AlreadyObserved, ControlPlane, Deliver, Delivered, HttpTransport, MAX_IN_FLIGHT, MetadataFault,
    Offered, Placed, PollError, PollEvent, PollReport, Poller, PollerOptions, Queued, Received,
    ReceivedBody, RequestHead, Response, Sent, SetupError, Transport, TransportCause, Undelivered,
    UnderWay,
};
pub use endpoint::{Endpoint, EndpointFault};
pub use moorline_model as model;
pub use secret::{ApiKey, SecretFault, TunnelId};
pub use settings::{ProxyChoice, Settings};
