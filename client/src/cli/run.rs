use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use humantime::format_duration;
use tokio_util::sync::CancellationToken;

use super::args::{EventForm, RunArgs};
use super::config::{self, Environment};
use super::events::EventLines;
use super::io_fault::why;
use super::logging::{self, Form, LogSettings};
use super::signals::Signals;
use super::{Failure, block_on, usage};
use crate::PollEvent;
use crate::dispatch::Drained;
use crate::monitor::ListenAddress;
use crate::run::{Client, ClientSettings, StartError, TargetSettings};

/// How long the killing of children may hold up a program that is to end at once.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// How long the last events may take to be written.
const WRITE_PATIENCE: Duration = Duration::from_secs(5);

/// Runs commands until a signal, then drains.
pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    let loaded = config::load(&args.client.call(), &Environment::of_process());
    let warnings = loaded.warnings.clone();
    let (settings, log) = loaded.finish()?;
    logging::start(&log)?;
    for warning in &warnings {
        Announcer::new(&log).warn(warning);
    }
    let events = args.events.as_deref().map(new_file).transpose()?;
    block_on(serve(settings, &log, events))?
}

/// One file is one run: what a file holds already is neither lost nor mixed with another run.
fn new_file(path: &Path) -> Result<File, Failure> {
    File::create_new(path).map_err(|error| {
        Failure::Usage(format!(
            "--events: the file cannot be made anew ({}): name one that does not exist yet",
            why(&error)
        ))
    })
}

async fn serve(
    settings: ClientSettings,
    log: &LogSettings,
    events: Option<File>,
) -> Result<(), Failure> {
    let (sink, all_written) = Sink::start(events)?;
    let served = serve_observed(settings, log, sink).await;
    // Its lines end with the client, which is gone.
    let in_time = tokio::time::timeout(WRITE_PATIENCE, all_written)
        .await
        .is_ok();
    served?;
    if in_time {
        Ok(())
    } else {
        Err(Failure::Failed(
            "the events could not be written to their end".to_owned(),
        ))
    }
}

async fn serve_observed(
    settings: ClientSettings,
    log: &LogSettings,
    sink: Sink,
) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    let say = Announcer::new(log);
    if settings.unsafe_http_dumps {
        say.warn(
            "HTTP messages are logged with what they hold, tool calls and answers among it: keep \
             the log to yourself, and leave the switch off when you are done",
        );
    }
    let (serves, drain) = (serves(&settings), settings.dispatch.drain);
    let address = settings.monitor.map(ListenAddress::get);
    let client = Client::start_observed(settings, move |event| sink.event(event));
    let client = client.await.map_err(|error| explain(error, address))?;
    say.note(&serves);
    if let Some(address) = client.monitor_address() {
        say.note(&format!("status page: http://{address}/"));
    }
    let (stop, targets) = (CancellationToken::new(), client.targets());
    let telemetry = Arc::clone(client.telemetry());
    let running = client.run(&stop);
    tokio::pin!(running);
    tokio::select! {
        drained = &mut running => return end(&say, drained),
        () = signals.next() => stop.cancel(),
    }
    let commands = telemetry.facts().commands;
    say.note(&stopping(
        commands.queued.saturating_add(commands.running),
        drain,
    ));
    tokio::select! {
        drained = running => end(&say, drained),
        () = signals.next() => {
            // Who does not wait for answers does not wait for servers either.
            let _ = tokio::time::timeout(LAST_MOMENT, targets.stop(Duration::ZERO)).await;
            Err(Failure::Failed("ended by a second signal; not everything was answered".to_owned()))
        }
    }
}

/// Where the events of polls go, if anywhere.
struct Sink(Option<(EventLines, CancellationToken)>);

impl Sink {
    /// The future ends when everything is written, once the sink is dropped.
    fn start(file: Option<File>) -> Result<(Self, impl Future<Output = ()>), Failure> {
        let failed = CancellationToken::new();
        let started = file
            .map(|file| EventLines::start(EventForm::Json, file, &failed))
            .transpose()
            .map_err(|_| Failure::Failed("the system gave no thread to write on".to_owned()))?;
        let (lines, written) = started.unzip();
        let sink = Self(lines.map(|lines| (lines, failed)));
        let all_written = async {
            if let Some(written) = written {
                written.await;
            }
        };
        Ok((sink, all_written))
    }

    /// Writes one event. A file that takes no more ends the events, not the client: that is said once.
    fn event(&self, event: &PollEvent) {
        let Some((lines, failed)) = &self.0 else {
            return;
        };
        let was_well = !failed.is_cancelled();
        if was_well {
            lines.event(event);
        }
        if was_well && failed.is_cancelled() {
            tracing::warn!("the file takes no more events: this run can no longer be judged by it");
        }
    }
}

/// What is served: kinds and channels, and no address.
fn serves(settings: &ClientSettings) -> String {
    let kind = |target: &TargetSettings| match target {
        TargetSettings::Http(_) => "HTTP",
        TargetSettings::Stdio(_) => "stdio",
    };
    let targets = settings.targets.iter();
    let targets: Vec<_> = targets
        .map(|(channel, target)| format!("{channel} ({})", kind(target)))
        .collect();
    let at_once = settings.dispatch.concurrency;
    format!("serving {}; {at_once} commands at once", targets.join(", "))
}

fn explain(error: StartError, monitor: Option<SocketAddr>) -> Failure {
    match (error, monitor) {
        (StartError::Monitor(error), Some(address)) => Failure::Failed(format!(
            "the monitor cannot listen on {address}: {}; give --health-listen-addr or \
             HEALTH_LISTEN_ADDR another address, or off",
            error.kind()
        )),
        (error, _) => Failure::Usage(error.to_string()),
    }
}

/// What is still to be done at the first signal, and how long that may take.
fn stopping(commands: usize, drain: Duration) -> String {
    let left = match commands {
        0 => "no command is left to finish".to_owned(),
        1 => format!(
            "1 command still to finish, in at most {}",
            format_duration(drain)
        ),
        more => {
            let drain = format_duration(drain);
            format!("{more} commands still to finish, in at most {drain}")
        }
    };
    format!("stopping: {left}; a second signal ends this at once")
}

fn end(say: &Announcer, drained: Drained) -> Result<(), Failure> {
    if drained.cut_short > 0 {
        say.warn(&format!(
            "the time to finish was over: commands answered with a failure: {}",
            drained.cut_short
        ));
    }
    say.note("stopped");
    Ok(())
}

/// Tells the operator what happens: as lines on stderr, or in the log where a machine reads that.
struct Announcer {
    to_log: bool,
}

impl Announcer {
    fn new(log: &LogSettings) -> Self {
        Self {
            to_log: log.form == Form::Json,
        }
    }

    fn note(&self, text: &str) {
        if self.to_log {
            tracing::info!("{text}");
        } else {
            usage::note(text);
        }
    }

    fn warn(&self, text: &str) {
        if self.to_log {
            tracing::warn!("{text}");
        } else {
            usage::warn(text);
        }
    }
}
