//! The status page: one file, with the numbers of the moment written in, so that it tells something
//! without scripts too. Its script draws the rest from `/status.json`.

use std::time::Duration;

use moorline_model::readiness::{Cause, Level, Target};
use moorline_model::wire::{Channel, Revision};

use super::history::Note;
use super::view::{Snapshot, seconds};
use crate::telemetry::TargetFacts;

const TEMPLATE: &str = include_str!("status.html");

/// Where the page has a reason, and since when it is so.
const REASON_PLACES: [(&str, &str); 4] = [
    ("reason-1", "reason-1-for"),
    ("reason-2", "reason-2-for"),
    ("reason-3", "reason-3-for"),
    ("reason-4", "reason-4-for"),
];

/// A page, and what a browser may do with it.
pub(super) struct Page {
    pub(super) html: String,
    /// The value of `Content-Security-Policy`.
    pub(super) policy: String,
}

/// Writes the page.
pub(super) fn render(snapshot: &Snapshot, notes: &[Note]) -> Page {
    let nonce = format!("{:032x}", rand::random::<u128>());
    let mut texts = texts(snapshot, notes);
    texts.push(("nonce", nonce.clone()));
    Page {
        html: fill(TEMPLATE, &texts),
        policy: format!(
            "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
             connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'"
        ),
    }
}

/// What the page says where: places of the template, and numbers and fixed phrases for them.
pub(super) fn texts(snapshot: &Snapshot, notes: &[Note]) -> Vec<(&'static str, String)> {
    let mut texts = vec![
        ("level", snapshot.level.name().to_owned()),
        ("headline", headline(snapshot)),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("uptime", span(snapshot.uptime)),
        (
            "now",
            humantime::format_rfc3339_seconds(snapshot.now).to_string(),
        ),
    ];
    texts.extend(reasons(snapshot));
    texts.extend(placement(snapshot));
    texts.extend(polls(snapshot));
    texts.extend(commands(snapshot, notes));
    texts.extend(deliveries(snapshot));
    texts.extend(targets(snapshot));
    texts
}

fn headline(snapshot: &Snapshot) -> String {
    let first = snapshot.reasons.first();
    let says = match (snapshot.level, first.map(|reason| &reason.cause)) {
        (_, Some(Cause::NoPollYet | Cause::PollsFail(_))) if snapshot.under_way.polls > 0 => {
            let since = first.map_or(Duration::ZERO, |reason| snapshot.age_of(reason));
            let since = moment(snapshot, since);
            return format!("Waiting for the first successful poll since {since}.");
        }
        (_, Some(Cause::Draining)) => "No more commands are taken: the client is shutting down.",
        (Level::Ready, _) => "Commands arrive and can be run.",
        (Level::Degraded, Some(Cause::QueueFull { .. })) => {
            "No more commands are taken until one of those that wait can be run."
        }
        (Level::Degraded, _) => "Commands arrive, but not all of them can be run.",
        (Level::Starting, _) => "No poll has begun yet.",
        (Level::Unready, _) => "No commands arrive.",
    };
    says.to_owned()
}

/// The time of day of a moment, with its day where that is not today: UTC.
fn moment(snapshot: &Snapshot, age: Duration) -> String {
    let now = snapshot.moment(Duration::ZERO).at;
    time_as_of(&now, &snapshot.moment(age).at)
}

/// The same of two texts as RFC 3339 has them.
fn time_as_of(now: &str, at: &str) -> String {
    let day_of = |text: &str| text.split('T').next().unwrap_or_default().to_owned();
    let time = at.split(['T', '.']).nth(1).unwrap_or_default();
    match day_of(at) {
        day if day == day_of(now) => time.to_owned(),
        day => format!("{day} {time}"),
    }
}

/// The worst ones, as many as the page has places for.
fn reasons(snapshot: &Snapshot) -> Vec<(&'static str, String)> {
    let mut texts = Vec::new();
    let mut reasons = snapshot.reasons.iter();
    for (place, place_for) in REASON_PLACES {
        let (text, lasting) = reasons.next().map_or_else(Default::default, |reason| {
            let ago = span(snapshot.age_of(reason));
            (reason.cause.to_string(), format!("for {ago}"))
        });
        texts.push((place, text));
        texts.push((place_for, lasting));
    }
    let more = match reasons.len() {
        0 => String::new(),
        more => format!("and {more} more in /health"),
    };
    texts.push(("reasons-more", more));
    texts
}

fn placement(snapshot: &Snapshot) -> Vec<(&'static str, String)> {
    let placed = &snapshot.placed;
    let token = if placed.has_token {
        "sent with polls"
    } else {
        "none"
    };
    let watermark = placed.watermark.map_or_else(
        || "none yet".to_owned(),
        |found| Revision::get(found).to_string(),
    );
    vec![
        ("token", token.to_owned()),
        ("watermark", watermark),
        ("corrections", format!("{} of 3", placed.corrections)),
        ("failures", format!("{} of 3", placed.failures)),
        ("generation", placed.generation.get().to_string()),
    ]
}

fn polls(snapshot: &Snapshot) -> Vec<(&'static str, String)> {
    let polls = &snapshot.facts.polls;
    let under_way = snapshot
        .under_way_for()
        .map_or_else(|| "none".to_owned(), |age| format!("for {}", span(age)));
    vec![
        ("poll-last", ago(snapshot, polls.last_at)),
        ("poll-last-success", ago(snapshot, polls.last_success_at)),
        ("polls-ended", grouped(polls.ended)),
        ("polls-succeeded", grouped(polls.succeeded)),
        ("polls-corrections", grouped(polls.corrections)),
        ("polls-failures", grouped(polls.failures)),
        ("poll-wait", span(snapshot.poll_wait)),
        ("poll-under-way", under_way),
    ]
}

fn commands(snapshot: &Snapshot, notes: &[Note]) -> Vec<(&'static str, String)> {
    let commands = &snapshot.facts.commands;
    let unread = commands.unreadable.saturating_add(commands.skipped);
    let not_run = unread.saturating_add(commands.repeated);
    let limits = snapshot.facts.limits;
    let queue = limits.map(|limits| limits.queue);
    let concurrency = limits.map(|limits| limits.concurrency.get());
    vec![
        ("command-last", ago(snapshot, commands.last_at)),
        ("commands-received", grouped(commands.received)),
        ("commands-answered", grouped(commands.answered)),
        ("commands-failed", grouped(commands.failed)),
        ("commands-expired", grouped(commands.expired)),
        ("commands-cancelled", grouped(commands.cancelled)),
        ("commands-not-run", grouped(not_run)),
        ("queued", of_limit(commands.queued, queue)),
        ("running", of_limit(commands.running, concurrency)),
        ("throughput", throughput(snapshot, notes)),
    ]
}

fn of_limit(number: usize, limit: Option<usize>) -> String {
    match limit {
        Some(limit) => format!("{number} of {limit}"),
        None => number.to_string(),
    }
}

/// From the oldest note until now.
fn throughput(snapshot: &Snapshot, notes: &[Note]) -> String {
    let now = Note::of(&snapshot.facts, snapshot.counted_for);
    let Some(first) = notes.first().filter(|first| first.at < now.at) else {
        return "Nothing is known yet.".to_owned();
    };
    let over = now.at.saturating_sub(first.at);
    let count = |first: u64, now: u64| u32::try_from(now.saturating_sub(first)).unwrap_or(u32::MAX);
    let answered = count(first.answered, now.answered);
    let failed = count(first.failed, now.failed);
    let expired = count(first.expired, now.expired);
    let per_minute = f64::from(answered) * 60.0 / seconds(over).max(0.001);
    format!(
        "{} answered, {} failed and {} expired in the last {}: {per_minute:.1} answers a minute.",
        grouped(answered.into()),
        grouped(failed.into()),
        grouped(expired.into()),
        span(over),
    )
}

fn deliveries(snapshot: &Snapshot) -> Vec<(&'static str, String)> {
    let deliveries = &snapshot.facts.deliveries;
    vec![
        ("delivery-last", ago(snapshot, deliveries.last_at)),
        ("deliveries-accepted", grouped(deliveries.accepted)),
        (
            "deliveries-fulfilled",
            grouped(deliveries.already_fulfilled),
        ),
        ("deliveries-given-up", grouped(deliveries.given_up)),
        ("delivery-retries", grouped(deliveries.retries)),
        ("notifications", grouped(deliveries.notifications)),
        ("notifications-lost", grouped(deliveries.notifications_lost)),
    ]
}

/// One line for each target; where there is but one, it needs no name.
fn targets(snapshot: &Snapshot) -> Vec<(&'static str, String)> {
    let targets = &snapshot.facts.targets;
    let lines = |text: &dyn Fn(&TargetFacts) -> String| {
        let line = |(channel, target): (&Channel, &TargetFacts)| match targets.len() {
            1 => text(target),
            _ => format!("{channel}: {}", text(target)),
        };
        targets.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    // A number stays with its unit where the line is short.
    let since = |since| span(snapshot.age(since)).replace(' ', "\u{a0}");
    let state = |target: &TargetFacts| match target.health.state() {
        Target::Unknown => "not asked yet".to_owned(),
        Target::Up { since: at } => format!("answers, for {}", since(at)),
        Target::Down { since: at, .. } => format!("does not answer, for {}", since(at)),
    };
    let fault = |target: &TargetFacts| match target.health.state() {
        Target::Down { fault, .. } => fault.to_string(),
        Target::Unknown | Target::Up { .. } => "none".to_owned(),
    };
    vec![
        ("target", lines(&state)),
        ("target-fault", lines(&fault)),
        (
            "target-failures",
            lines(&|target| grouped(target.health.failures())),
        ),
        ("target-restarts", lines(&|target| grouped(target.restarts))),
    ]
}

fn ago(snapshot: &Snapshot, at: Option<Duration>) -> String {
    at.map_or_else(
        || "never".to_owned(),
        |at| format!("{} ago", span(snapshot.age(at))),
    )
}

/// A length of time in at most two units, rounded down: `0 s`, `59 s`, `1 min 0 s`, `25 h 3 min`.
pub(super) fn span(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        (_, _, _) => format!("{days} d {} h", hours % 24),
    }
}

/// A number with its thousands set apart by narrow spaces.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 2);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// Puts each text where the template has its name in double braces. A name that has no text stays.
fn fill(template: &str, texts: &[(&'static str, String)]) -> String {
    let mut filled = String::with_capacity(template.len().saturating_add(4_096));
    let mut parts = template.split("{{");
    filled.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let text = part.split_once("}}").and_then(|(name, rest)| {
            let (_, text) = texts.iter().find(|(place, _)| *place == name)?;
            Some((text, rest))
        });
        match text {
            Some((text, rest)) => {
                escape(text, &mut filled);
                filled.push_str(rest);
            }
            None => {
                filled.push_str("{{");
                filled.push_str(part);
            }
        }
    }
    filled
}

/// Numbers and fixed phrases need no escape; should another text ever come here, it stays text.
fn escape(text: &str, into: &mut String) {
    for character in text.chars() {
        match character {
            '&' => into.push_str("&amp;"),
            '<' => into.push_str("&lt;"),
            '>' => into.push_str("&gt;"),
            '"' => into.push_str("&quot;"),
            '\'' => into.push_str("&#39;"),
            other => into.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_have_at_most_two_units() {
        for (seconds, text) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min 0 s"),
            (3_599, "59 min 59 s"),
            (3_600, "1 h 0 min"),
            (86_399, "23 h 59 min"),
            (90_000, "1 d 1 h"),
        ] {
            assert_eq!(span(Duration::from_millis(seconds * 1_000 + 999)), text);
        }
    }

    #[test]
    fn a_moment_of_another_day_is_told_with_its_day() {
        let now = "2026-11-30T00:00:05.000Z";
        for (at, text) in [
            ("2026-11-30T00:00:01.999Z", "00:00:01"),
            ("2026-11-29T23:59:59.000Z", "2026-11-29 23:59:59"),
            ("2025-11-30T00:00:05.000Z", "2025-11-30 00:00:05"),
        ] {
            assert_eq!(time_as_of(now, at), text);
        }
    }

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1\u{202f}000"),
            (12_345, "12\u{202f}345"),
            (1_234_567, "1\u{202f}234\u{202f}567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn texts_are_put_in_place_and_stay_text() {
        let texts = [("a", "1".to_owned()), ("b", "<\"&'>{{a}}".to_owned())];
        let filled = fill("{{a}}, {{b}}; {{c}} {{a", &texts);
        assert_eq!(filled, "1, &lt;&quot;&amp;&#39;&gt;{{a}}; {{c}} {{a");
        assert_eq!(fill("", &texts), "");
    }
}
