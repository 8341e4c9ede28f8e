use std::io::IsTerminal;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Layer, registry};

use super::Failure;

/// Lets this crate's own events through, up to `level`, and nothing of any library: the HTTP
/// libraries log hosts.
// spec: PRIV-7
#[must_use]
pub fn own_targets(level: LevelFilter) -> Targets {
    Targets::new().with_target("moorline", level)
}

/// Sends this crate's events to stderr, at the level that `LOG_LEVEL` names.
pub(super) fn start(default: LevelFilter) -> Result<(), Failure> {
    let level = match std::env::var("LOG_LEVEL") {
        Ok(name) => name.parse().map_err(|_| {
            Failure::Usage("LOG_LEVEL: expected off, error, warn, info, debug or trace".to_owned())
        })?,
        Err(_) => default,
    };
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none());
    let subscriber = registry().with(lines.with_filter(own_targets(level)));
    // Only a second call could fail, and the first subscriber then serves as well.
    let _ = tracing::subscriber::set_global_default(subscriber);
    Ok(())
}
