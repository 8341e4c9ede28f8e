//! `moorline doctor`: why a client does not work, with evidence and the next step.

mod command;
mod control_plane;
mod handshake;
mod local;
mod neighbour;
mod report;
mod targets;
mod wrap;

use std::time::Duration;

use tokio::time::timeout;

use super::args::DoctorArgs;
use super::config::{self, Environment, Loaded};
use super::logging::{self, LogSettings};
use super::{Failure, USAGE, block_on};
use report::{Check, Report};

/// How long a check may take without a word.
const SOON: Duration = Duration::from_secs(2);

/// Runs every check in turn.
pub(super) fn run(args: &DoctorArgs) -> Result<(), Failure> {
    // What the checks find is told by the checks.
    logging::start(&LogSettings {
        level: tracing::level_filters::LevelFilter::OFF,
        ..LogSettings::default()
    })?;
    let loaded = config::load(&args.client.call(), &Environment::of_process());
    let mut report = Report::new(args.json);
    block_on(examine(loaded, args.poll, &mut report))??;
    if report.end()? {
        Ok(())
    } else {
        Err(Failure::Told(USAGE))
    }
}

async fn examine(loaded: Loaded, poll: bool, report: &mut Report) -> Result<(), Failure> {
    report.add(local::configuration(&loaded))?;
    report.add(local::secrets(&loaded))?;
    if let Some(check) = local::log(&loaded) {
        report.add(check)?;
    }
    let without_target = loaded.unusable.clone();
    let made = local::make(loaded);
    report.add(made.check)?;
    report.add(match &made.control_plane {
        Some(client) => control_plane::metadata(client).await,
        None => unusable("control plane"),
    })?;
    report.add(match (&made.control_plane, poll) {
        (_, false) => control_plane::no_poll(),
        (Some(client), true) => control_plane::poll(client).await,
        (None, true) => unusable("poll"),
    })?;
    if made.targets.is_empty() && without_target.is_empty() {
        report.add(unusable("MCP server"))?;
    }
    for channel in without_target {
        report.add(unusable(&format!("MCP server {channel}")))?;
    }
    for (channel, target) in made.targets {
        let command = made.commands.get(&channel);
        let check = targets::check(&channel, target, command);
        tokio::pin!(check);
        let found = match timeout(SOON, &mut check).await {
            Ok(found) => found,
            Err(_elapsed) => {
                let most = handshake::PATIENCE.as_secs();
                report.wait(&format!(
                    "waiting for MCP server {channel}, at most {most} s"
                ))?;
                check.await
            }
        };
        report.add(found)?;
    }
    report.add(local::monitor(made.monitor).await)
}

/// What cannot be tried before something else is put right.
fn unusable(name: &str) -> Check {
    Check::skip(name, "what it needs is not configured").then("put right what failed above")
}
