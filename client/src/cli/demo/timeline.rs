use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use moorline_model::placement::Verdict;
use moorline_model::wire::Revision;
use serde_json::json;

use super::deliveries::Delivery;
use crate::PollEvent;

/// Shows a story as it happens, for a person or for a program.
pub(super) struct Timeline {
    json: bool,
    colour: bool,
}

/// What the story came to.
pub(super) struct Summary {
    pub(super) attempts: usize,
    pub(super) seen: usize,
    pub(super) same: usize,
    /// Tool calls that were queued.
    pub(super) calls: usize,
    /// Answers to them.
    pub(super) answers: usize,
    /// Answers and notifications.
    pub(super) messages: usize,
    /// Whether every call was answered once, and all messages came with the token of their call.
    pub(super) own_tokens: bool,
    pub(super) watermark: Option<Revision>,
    pub(super) ready: bool,
}

#[derive(Clone, Copy)]
enum Colour {
    Bold,
    Green,
    Red,
    Yellow,
}

impl Timeline {
    pub(super) fn new(json: bool) -> Self {
        let colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { json, colour }
    }

    pub(super) fn title(&self, endpoint: &str) -> io::Result<()> {
        if self.json {
            return Ok(());
        }
        self.line(&format!(
            "The real client polls a service in this process, {endpoint}.\n\
             A toy MCP server, in this process too, runs its commands.\n\
             Waits are shortened: 50 to 400 ms here, 200 ms to 10 s otherwise."
        ))
    }

    pub(super) fn scene(&self, text: &str) -> io::Result<()> {
        if self.json {
            return self.line(&json!({ "scene": text }).to_string());
        }
        self.line(&format!("\n{}", self.paint(Colour::Bold, text)))
    }

    pub(super) fn attempt(&self, event: &PollEvent, at: Duration) -> io::Result<()> {
        if self.json {
            return self.line(&serde_json::to_string(event)?);
        }
        let token = event
            .token_sent
            .map_or_else(|| "none".to_owned(), |n| n.to_string());
        // Padded before it is painted: colours have a length of their own.
        let verdict = format!("{:<18}", words(event.verdict));
        self.line(&format!(
            "  {:>5.2}s  token {token:<4}  {:<13}  {}  {}",
            at.as_secs_f64(),
            got(event),
            self.paint(colour_of(event.verdict), &verdict),
            next(event),
        ))
    }

    pub(super) fn delivery(&self, delivery: &Delivery, at: Duration) -> io::Result<()> {
        if self.json {
            let object = json!({
                "call": delivery.call, "token": delivery.berth, "final": delivery.is_final,
                "text": delivery.text,
            });
            return self.line(&json!({ "delivered": object }).to_string());
        }
        let token = delivery
            .berth
            .map_or_else(|| "?".to_owned(), |number| number.to_string());
        let what = if delivery.is_final {
            "answer"
        } else {
            "notification"
        };
        self.line(&format!(
            "  {:>5.2}s  token {token:<4}  {what:<13}  {}  {delivery}",
            at.as_secs_f64(),
            self.paint(Colour::Green, &format!("{:<18}", "delivered")),
        ))
    }

    pub(super) fn summary(&self, summary: &Summary) -> io::Result<()> {
        let Summary {
            attempts,
            seen,
            same,
            calls,
            answers,
            messages,
            own_tokens,
            watermark,
            ready,
        } = summary;
        let revision = watermark.map(Revision::get);
        if self.json {
            let object = json!({
                "attempts": attempts, "requests_seen": seen, "requests_as_configured": same,
                "calls": calls, "answers": answers, "messages": messages,
                "own_tokens": own_tokens, "watermark": revision, "ready": ready,
            });
            return self.line(&json!({ "summary": object }).to_string());
        }
        let revision = revision.map_or_else(|| "none".to_owned(), |number| number.to_string());
        self.line(&format!(
            "\n{}\n  {attempts} polls. {seen} requests reached the service, {same} of them with the one\n  \
             configured endpoint, tunnel and key. {calls} tool calls queued, {answers} answered,\n  \
             in {messages} messages, {} with the token of its own call.\n  \
             Watermark: revision {revision}. Ready: {}.",
            self.paint(Colour::Bold, "Summary"),
            if *own_tokens { "each" } else { "NOT each" },
            if *ready { "yes" } else { "no" },
        ))
    }

    fn line(&self, text: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{text}")?;
        out.flush()
    }

    fn paint(&self, colour: Colour, text: &str) -> String {
        let code = match colour {
            Colour::Bold => "1",
            Colour::Green => "32",
            Colour::Red => "31",
            Colour::Yellow => "33",
        };
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

fn got(event: &PollEvent) -> String {
    match (event.status, event.fault, event.revision) {
        (_, None, _) if event.commands > 0 => format!("{} command", event.commands),
        (_, None, _) => "nothing to do".to_owned(),
        (Some(409), _, Some(revision)) => format!("409, rev {revision}"),
        (Some(status), ..) => status.to_string(),
        (None, Some(_), _) => "no answer".to_owned(),
    }
}

fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Cancelled => "cancelled",
        Verdict::Conflicted => "token in conflict",
        Verdict::Evicted => "token dropped",
        Verdict::FailureCounted => "failure counted",
        Verdict::Installed => "new token",
        Verdict::Late => "late, ignored",
        Verdict::Neutral => "ignored",
        Verdict::Restored => "token restored",
        Verdict::RoundExhausted => "round exhausted",
        Verdict::StaleRevision => "older, ignored",
        Verdict::Success => "success",
        Verdict::TokenlessFailure => "still unavailable",
    }
}

fn colour_of(verdict: Verdict) -> Colour {
    match verdict {
        Verdict::Success => Colour::Green,
        Verdict::Installed | Verdict::Restored => Colour::Yellow,
        Verdict::Cancelled | Verdict::Late | Verdict::Neutral => Colour::Bold,
        Verdict::Conflicted
        | Verdict::Evicted
        | Verdict::FailureCounted
        | Verdict::RoundExhausted
        | Verdict::StaleRevision
        | Verdict::TokenlessFailure => Colour::Red,
    }
}

fn next(event: &PollEvent) -> String {
    match event.next_delay_ms {
        None => "stopped".to_owned(),
        Some(0) => "polls on".to_owned(),
        Some(ms) => format!("waits {ms} ms"),
    }
}
