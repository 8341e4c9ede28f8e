//! Events as lines: columns for a person, JSON for a program.

use std::future::Future;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use moorline_model::wire::Revision;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::args::EventForm;
use crate::{Offered, PollEvent};

/// How many lines may wait for a reader of stdout. One that is so far behind is taken for gone.
const MAX_WAITING_LINES: usize = 10_000;

/// Writes events, one line each, flushed at once, on a thread of its own: a reader that stops reading
/// must not hold up the polls.
pub(super) struct EventLines {
    form: EventForm,
    lines: SyncSender<String>,
    reader_gone: CancellationToken,
}

/// The heading of the columns.
const HEADING: &str =
    " seq  try   gen  sent  offered got outcome    verdict           c f t next  rev";

impl EventLines {
    /// Starts writing to `out`. Cancels `reader_gone` when that fails or its reader is too far behind.
    /// The future ends when everything is written, which needs these lines to be dropped first.
    pub(super) fn start<W: Write + Send + 'static>(
        form: EventForm,
        out: W,
        reader_gone: &CancellationToken,
    ) -> io::Result<(Self, impl Future<Output = ()> + use<W>)> {
        let (lines, waiting) = sync_channel(MAX_WAITING_LINES);
        let (written, all_written) = oneshot::channel::<()>();
        let gone = reader_gone.clone();
        std::thread::Builder::new()
            .name("event-lines".to_owned())
            .spawn(move || {
                if write_all(out, &waiting).is_err() {
                    gone.cancel();
                }
                drop(written);
            })?;
        let lines = Self {
            form,
            lines,
            reader_gone: reader_gone.clone(),
        };
        // The sender is never used: its end is the news.
        Ok((lines, async { drop(all_written.await) }))
    }

    /// Writes the heading, where the form has one.
    pub(super) fn heading(&self) {
        match self.form {
            EventForm::Json => {}
            EventForm::Text => self.line(HEADING.to_owned()),
        }
    }

    /// Writes one event.
    pub(super) fn event(&self, event: &PollEvent) {
        match self.form {
            // Numbers, names and options of these always have a JSON form.
            EventForm::Json => self.line(serde_json::to_string(event).unwrap_or_default()),
            EventForm::Text => self.line(columns(event)),
        }
    }

    fn line(&self, text: String) {
        if self.lines.try_send(text).is_err() {
            self.reader_gone.cancel();
        }
    }
}

fn write_all(mut out: impl Write, lines: &Receiver<String>) -> io::Result<()> {
    for line in lines {
        writeln!(out, "{line}")?;
        out.flush()?;
    }
    Ok(())
}

fn columns(event: &PollEvent) -> String {
    let install = |number: u64| format!("#{number}");
    let sent = event.token_sent.map_or_else(|| "-".to_owned(), install);
    let offered = match event.token_offered {
        None => "-".to_owned(),
        Some(Offered::Accepted) => "accepted".to_owned(),
        Some(Offered::Install(number)) => install(number),
        Some(Offered::Other) => "other".to_owned(),
    };
    let outcome = match event.outcome {
        "destination_failure" => "failure",
        class => class,
    };
    let revision = event
        .revision
        .map_or_else(|| "-".to_owned(), |found| Revision::get(found).to_string());
    let token = if event.has_token { "T" } else { "-" };
    format!(
        "{:>4} {:>4} {:>3}>{:<3} {sent:>3} {offered:>8} {:>3} {outcome:<10} {:<17} {} {} {token} \
         {:<5} {revision}",
        event.sequence,
        event.attempt,
        event.generation_taken,
        event.generation,
        got(event),
        event.verdict,
        event.corrections,
        event.failures,
        delay(event.next_delay_ms),
    )
}

/// The status, or three letters for why there is none.
fn got(event: &PollEvent) -> String {
    match (event.status, event.fault) {
        (Some(status), _) => status.to_string(),
        (None, None) => "-".to_owned(),
        (None, Some("network_error")) => "net".to_owned(),
        (None, Some("timeout")) => "tmo".to_owned(),
        (None, Some("request_error")) => "req".to_owned(),
        (None, Some(_)) => "-".to_owned(),
    }
}

/// A delay in at most five characters.
fn delay(ms: Option<u64>) -> String {
    match ms {
        None => "-".to_owned(),
        Some(0) => "now".to_owned(),
        Some(ms @ ..1_000) => format!("{ms}ms"),
        Some(ms) => format!("{}.{}s", ms / 1_000, ms % 1_000 / 100),
    }
}

#[cfg(test)]
mod tests {
    use moorline_model::placement::Verdict;

    use super::*;

    fn event() -> PollEvent {
        PollEvent {
            sequence: 9_999,
            attempt: 9_999,
            generation_taken: 998,
            token_sent: Some(99),
            token_offered: Some(Offered::Accepted),
            outcome: "correction",
            fault: Some("http_error"),
            status: Some(409),
            revision: Revision::new(1_234),
            verdict: Verdict::TokenlessFailure,
            watermark: Revision::new(1_234),
            corrections: 2,
            failures: 2,
            generation: 999,
            has_token: true,
            commands: 0,
            dropped: 0,
            next_delay_ms: Some(60_000),
            took: std::time::Duration::from_secs(1),
        }
    }

    #[test]
    fn a_line_fits_80_columns_and_stands_under_its_heading() {
        let line = columns(&event());
        assert!(
            line.len() <= 80 && HEADING.len() <= 80,
            "{} {}",
            line.len(),
            HEADING.len()
        );
        for (title, text) in [
            ("outcome", "correction"),
            ("verdict", "tokenless_failure"),
            ("next", "60.0s"),
            ("rev", "1234"),
        ] {
            assert_eq!(
                HEADING.find(title),
                line.find(text),
                "{title}\n{HEADING}\n{line}"
            );
        }
    }

    #[test]
    fn json_has_every_field_by_name() {
        let value = serde_json::to_value(event()).unwrap();
        assert_eq!(value["verdict"], "tokenless_failure");
        assert_eq!(value["token_offered"], "accepted");
        assert_eq!(value["revision"], 1_234);
        assert_eq!(value.as_object().unwrap().len(), 18);
        let install = serde_json::to_value(Offered::Install(3)).unwrap();
        assert_eq!(install.to_string(), r#"{"install":3}"#);
    }
}
