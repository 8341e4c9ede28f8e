//! One simulated run: the real client over a simulated service, network and target.

mod claims;
mod service;
mod target;
mod world;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use moorline::dispatch::{DispatchOptions, Dispatcher};
use moorline::model::backoff::Backoff;
use moorline::model::schedule::LongPoll;
use moorline::model::wire::Channel;
use moorline::telemetry::Telemetry;
use moorline::{ApiKey, ControlPlane, Endpoint, Poller, PollerOptions, Settings, TunnelId};
use service::SimTransport;
use target::SimTarget;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
pub use world::Report;
use world::{Plan, World};

/// Runs one seed, checks every claim, and says what happened.
pub fn run(seed: u64) -> Report {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(simulate(seed))
}

async fn simulate(seed: u64) -> Report {
    let plan = Plan::draw(seed);
    let world = World::new(seed, plan);
    let client = ControlPlane::with_transport(settings(seed), SimTransport::new(&world));
    let telemetry = Arc::new(Telemetry::new());
    let counted = Arc::clone(&telemetry);
    client.observe(move |event| counted.polled(event)).unwrap();
    let targets: BTreeMap<_, _> = ["main", "side"]
        .map(|name| {
            let target = SimTarget::new(&world);
            (Channel::parse(name).unwrap(), Arc::new(target))
        })
        .into();
    let options = DispatchOptions {
        concurrency: NonZeroUsize::new(plan.concurrency).unwrap(),
        max_ttl: Duration::from_secs(60),
        drain: Duration::from_secs(30),
    };
    let poller = Poller::spawn(
        &client,
        PollerOptions {
            in_flight: NonZeroUsize::new(plan.in_flight).unwrap(),
            ..PollerOptions::default()
        },
    );
    let stop = CancellationToken::new();
    let dispatcher = Dispatcher::new(client, targets, Arc::clone(&telemetry), options);
    let (_, drained) = tokio::join!(drive(&world, plan, &stop), dispatcher.run(poller, &stop));
    claims::check(&world, plan, &telemetry.facts(), drained);
    world.report()
}

fn settings(seed: u64) -> Settings {
    let mut settings = Settings::new(
        Endpoint::parse("http://127.0.0.1:1").unwrap(),
        TunnelId::new("simulated").unwrap(),
        ApiKey::new("key").unwrap(),
    );
    settings.backoff = Backoff::DEFAULT;
    settings.long_poll = LongPoll::DEFAULT;
    settings.seed = Some(seed);
    settings
}

/// What happens around the client: commands come, the tunnel moves, things break and mend; then all is well for a
/// while, and then the client is stopped.
async fn drive(world: &World, plan: Plan, stop: &CancellationToken) {
    let end = Instant::now() + plan.length;
    while Instant::now() < end {
        sleep(world.pause()).await;
        world.happen();
    }
    world.calm();
    if plan.settles {
        world.settled().await;
    }
    if plan.stops_early {
        world.stop_in_the_middle(stop).await;
    }
    stop.cancel();
}
