//! The real client between the fake service and a toy MCP server, in one process, over real loopback
//! HTTP.

mod deliveries;
mod story;
mod timeline;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use moorline_fixtures::fake::{FakeConfig, FakeService};
use moorline_fixtures::mcp::{HttpOptions, ToyHttp};
use moorline_model::backoff::Backoff;
use moorline_model::schedule::LongPoll;
use moorline_model::wire::Channel;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::level_filters::LevelFilter;
use url::Url;

use super::args::DemoArgs;
use super::{Failure, block_on, logging};
use crate::dispatch::{DispatchOptions, Dispatcher};
use crate::target::{HttpTarget, HttpTargetSettings};
use crate::telemetry::Telemetry;
use crate::{ApiKey, ControlPlane, Endpoint, Poller, PollerOptions, Settings, TunnelId};
use timeline::Timeline;

const TUNNEL: &str = "demo-tunnel";
const KEY: &str = "demo-key";

/// No story takes this long unless something is broken.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tells the story, and fails if the client does not play its part.
pub(super) fn run(args: &DemoArgs) -> Result<(), Failure> {
    logging::start_by_environment(LevelFilter::OFF)?;
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
    service
        .add_tunnel(TUNNEL, &deliveries::berth(1))
        .map_err(broken)?;
    let toy = ToyHttp::start(HttpOptions::default())
        .map_err(|_| Failure::Failed("no loopback port is free".to_owned()))?;

    let (events, story_events) = mpsc::unbounded_channel();
    let client = client(&service)?;
    client
        .observe(move |event| {
            // The story has ended when nobody listens.
            let _ = events.send(*event);
        })
        .map_err(broken)?;
    let stop = CancellationToken::new();
    let dispatcher = dispatcher(&client, &toy)?;
    let poller = Poller::spawn(&client, PollerOptions::default());
    let stopped = stop.clone();
    let running = tokio::spawn(async move { dispatcher.run(poller, &stopped).await });
    let story = story::Story::new(service, client, story_events, timeline);
    let summary = story.tell(stop, running).await;
    drop(toy);
    summary
}

/// What runs the commands, as `moorline run` does.
fn dispatcher(
    client: &ControlPlane,
    toy: &ToyHttp,
) -> Result<Dispatcher<crate::HttpTransport, HttpTarget>, Failure> {
    let url = Url::parse(&toy.url()).map_err(broken)?;
    let target = HttpTarget::new(HttpTargetSettings::new(url)).map_err(broken)?;
    let targets = BTreeMap::from([(Channel::main(), Arc::new(target))]);
    let telemetry = Arc::new(Telemetry::new());
    let options = DispatchOptions::default();
    Ok(Dispatcher::new(client.clone(), targets, telemetry, options))
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
