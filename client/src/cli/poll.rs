use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use moorline_model::schedule::MAX_POLL_LIMIT;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::level_filters::LevelFilter;

use super::args::{EventForm, PollArgs};
use super::events::EventLines;
use super::{Failure, block_on, config, logging, signals, usage};
use crate::{ControlPlane, PollEvent, Poller, PollerOptions};

/// How long a reader of stdout may take for the last lines.
const WRITE_PATIENCE: Duration = Duration::from_secs(5);

/// Polls until interrupted, or as often as asked.
pub(super) fn run(args: PollArgs) -> Result<(), Failure> {
    logging::start_by_environment(LevelFilter::WARN)?;
    let settings = config::poll_settings(&args)?;
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
    block_on(poll(client, options, args.events))?
}

async fn poll(
    client: ControlPlane,
    options: PollerOptions,
    form: EventForm,
) -> Result<(), Failure> {
    let mut signals = signals::Signals::listen()?;
    let reader_gone = CancellationToken::new();
    let (lines, all_written) = EventLines::start(form, std::io::stdout(), &reader_gone)
        .map_err(|_| Failure::Failed("the system gave no thread to write on".to_owned()))?;
    lines.heading();
    let totals = Arc::new(Totals::default());
    let counted = Arc::clone(&totals);
    let observed = client.observe(move |event| {
        counted.add(event);
        lines.event(event);
    });
    observed.map_err(|error| Failure::Failed(error.to_string()))?;
    let mut poller = Poller::spawn(&client, options);
    tokio::select! {
        () = take_all(&mut poller) => {}
        () = signals.next() => {}
        () = reader_gone.cancelled() => {}
    }
    poller.stop().await;
    // With the client goes its observer, and with that the lines.
    drop((poller, client));
    let in_time = timeout(WRITE_PATIENCE, all_written).await.is_ok();
    if !in_time || reader_gone.is_cancelled() {
        return Err(Failure::Failed("stdout takes no more lines".to_owned()));
    }
    usage::note(&totals.summary());
    Ok(())
}

/// Takes commands until polling has ended by itself.
async fn take_all(poller: &mut Poller) {
    while poller.next_command().await.is_some() {}
}

#[derive(Default)]
struct Totals {
    polls: AtomicU64,
    succeeded: AtomicU64,
    commands: AtomicU64,
    unreadable: AtomicU64,
}

impl Totals {
    fn add(&self, event: &PollEvent) {
        let count = |total: &AtomicU64, more: usize| {
            total.fetch_add(u64::try_from(more).unwrap_or(u64::MAX), Relaxed);
        };
        count(&self.polls, 1);
        count(&self.succeeded, usize::from(event.fault.is_none()));
        count(&self.commands, event.commands);
        count(&self.unreadable, event.dropped);
    }

    fn summary(&self) -> String {
        let load = |total: &AtomicU64| total.load(Relaxed);
        let mut text = format!(
            "{} polls ended, {} succeeded; {} commands discarded",
            load(&self.polls),
            load(&self.succeeded),
            load(&self.commands)
        );
        if load(&self.unreadable) > 0 {
            text.push_str(&format!(
                ", {} more could not be read",
                load(&self.unreadable)
            ));
        }
        text
    }
}
