//! The real client against the fake service, in one process, over real loopback HTTP.

mod story;
mod timeline;

use std::time::Duration;

use moorline_fixtures::fake::{FakeConfig, FakeService};
use moorline_model::backoff::Backoff;
use moorline_model::schedule::LongPoll;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tracing::level_filters::LevelFilter;

use super::args::DemoArgs;
use super::{Failure, block_on, logging};
use crate::{ApiKey, ControlPlane, Endpoint, Poller, PollerOptions, Settings, TunnelId};
use timeline::Timeline;

const TUNNEL: &str = "demo-tunnel";
const KEY: &str = "demo-key";

/// No story takes this long unless something is broken.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tells the story, and fails if the client does not play its part.
pub(super) fn run(args: &DemoArgs) -> Result<(), Failure> {
    logging::start(LevelFilter::OFF)?;
    block_on(async {
        timeout(PATIENCE, play(Timeline::new(args.json)))
            .await
            .unwrap_or_else(|_| Err(Failure::Failed("the demo did not come to its end".into())))
    })?
}

async fn play(timeline: Timeline) -> Result<(), Failure> {
    let service = FakeService::start(FakeConfig {
        api_key: KEY.to_owned(),
        // A real service holds polls for half a minute; nobody wants to watch that.
        longest_hold: Duration::from_millis(150),
    })
    .map_err(|_| Failure::Failed("no loopback port is free".to_owned()))?;
    service.add_tunnel(TUNNEL, "berth-1").map_err(broken)?;

    let (events, story_events) = mpsc::unbounded_channel();
    let client = client(&service)?;
    client
        .observe(move |event| {
            // The story has ended when nobody listens.
            let _ = events.send(*event);
        })
        .map_err(broken)?;
    let poller = Poller::spawn(&client, PollerOptions::default());
    story::Story::new(service, client, poller, story_events, timeline)
        .tell()
        .await
}

fn client(service: &FakeService) -> Result<ControlPlane, Failure> {
    let mut settings = Settings::new(
        Endpoint::parse(&service.endpoint()).map_err(broken)?,
        TunnelId::new(TUNNEL).map_err(broken)?,
        ApiKey::new(KEY).map_err(broken)?,
    );
    settings.long_poll = LongPoll::new(Duration::from_secs(1), Duration::from_secs(5));
    settings.backoff =
        Backoff::new(Duration::from_millis(50), Duration::from_millis(400)).map_err(broken)?;
    ControlPlane::connect(settings).map_err(broken)
}

/// An error that only a fault in the demo itself can cause.
fn broken(error: impl std::fmt::Display) -> Failure {
    Failure::Failed(format!("the demo is broken: {error}"))
}
