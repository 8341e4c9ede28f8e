use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use moorline_model::schedule::MAX_POLL_LIMIT;
use tokio_util::sync::CancellationToken;
use tracing::level_filters::LevelFilter;

use super::args::PollArgs;
use super::events::EventLines;
use super::{Failure, block_on, config, logging, usage};
use crate::{ControlPlane, Poller, PollerOptions};

/// Polls until interrupted, or as often as asked.
pub(super) fn run(args: PollArgs) -> Result<(), Failure> {
    logging::start(LevelFilter::ERROR)?;
    let settings = config::settings(&args)?;
    if !settings.endpoint.is_loopback() {
        usage::warn("commands that arrive are counted and discarded: nobody will answer them");
    }
    let limit = args.limit.unwrap_or(MAX_POLL_LIMIT);
    let options = PollerOptions {
        in_flight: args.in_flight,
        // Commands are taken as they come, so each poll may ask for its whole limit.
        queue: usize::from(limit).saturating_mul(args.in_flight.get()),
        limit,
        max_polls: args.max_polls,
    };
    let client =
        ControlPlane::connect(settings).map_err(|error| Failure::Usage(error.to_string()))?;
    block_on(poll(client, options, EventLines::new(args.events)))?
}

async fn poll(
    client: ControlPlane,
    options: PollerOptions,
    lines: EventLines,
) -> Result<(), Failure> {
    lines.heading().map_err(|_| no_reader())?;
    let totals = Arc::new(Totals::default());
    let reader_gone = CancellationToken::new();
    let observed = client.observe({
        let (totals, reader_gone) = (Arc::clone(&totals), reader_gone.clone());
        move |event| {
            totals.add(event.fault.is_none(), event.commands);
            if lines.event(event).is_err() {
                reader_gone.cancel();
            }
        }
    });
    observed.map_err(|error| Failure::Failed(error.to_string()))?;
    let interrupted = interrupts()?;
    let mut poller = Poller::spawn(&client, options);
    tokio::select! {
        () = take_all(&mut poller) => {}
        () = interrupted => {}
        () = reader_gone.cancelled() => {}
    }
    poller.stop().await;
    if reader_gone.is_cancelled() {
        return Err(no_reader());
    }
    usage::note(&totals.summary());
    Ok(())
}

/// Takes commands until polling has ended by itself.
async fn take_all(poller: &mut Poller) {
    while poller.next_command().await.is_some() {}
}

/// Listens for SIGINT and SIGTERM from now on; the future ends with the first of them. To be called
/// before anything starts that a signal should end in order.
#[cfg(unix)]
fn interrupts() -> Result<impl Future<Output = ()>, Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| {
        signal(kind).map_err(|_| Failure::Failed("the system lets no signal be heard".to_owned()))
    };
    let (mut interrupt, mut terminate) = (
        listen(SignalKind::interrupt())?,
        listen(SignalKind::terminate())?,
    );
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Ends with Ctrl-C.
#[cfg(not(unix))]
fn interrupts() -> Result<impl Future<Output = ()>, Failure> {
    Ok(async {
        // Where Ctrl-C cannot be heard the program can still be ended from outside.
        let _ = tokio::signal::ctrl_c().await;
    })
}

fn no_reader() -> Failure {
    Failure::Failed("stdout was closed".to_owned())
}

#[derive(Default)]
struct Totals {
    polls: AtomicU64,
    succeeded: AtomicU64,
    commands: AtomicU64,
}

impl Totals {
    fn add(&self, succeeded: bool, commands: usize) {
        self.polls.fetch_add(1, Relaxed);
        self.succeeded.fetch_add(u64::from(succeeded), Relaxed);
        self.commands
            .fetch_add(u64::try_from(commands).unwrap_or(u64::MAX), Relaxed);
    }

    fn summary(&self) -> String {
        let (polls, succeeded) = (self.polls.load(Relaxed), self.succeeded.load(Relaxed));
        let commands = self.commands.load(Relaxed);
        format!("{polls} polls ended, {succeeded} succeeded; {commands} commands discarded")
    }
}
