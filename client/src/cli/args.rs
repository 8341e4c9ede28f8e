use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use moorline_model::schedule::MAX_POLL_LIMIT;

use crate::MAX_IN_FLIGHT;

/// A tunnel client that stays moored to its configured endpoint while the service behind it moves.
///
/// Start with `moorline demo`: it needs no configuration and no network.
#[derive(Debug, Parser)]
#[command(
    name = "moorline",
    version,
    max_term_width = 80,
    subcommand_required = true
)]
#[command(after_help = "\
Exit status: 0 done, 1 failed, 2 wrong call or configuration.
Environment: LOG_LEVEL (warn) is one of off, error, warn, info, debug, trace.")]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) action: Action,
}

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    Demo(DemoArgs),
    Poll(Box<PollArgs>),
}

/// Show the real client against an in-process service on loopback
///
/// The client bootstraps, follows a correction, survives the outage of its destination, recovers and
/// takes a command, over real HTTP on 127.0.0.1. Nothing leaves this machine. It ends by itself and
/// exits 0 if the client did all of that, 1 if it did not.
#[derive(Debug, ClapArgs)]
pub(super) struct DemoArgs {
    /// Print one JSON object a line instead of the timeline
    #[arg(long)]
    pub(super) json: bool,
}

/// Long-poll a service and print one line an attempt
///
/// For trying out an endpoint and for watching how a service corrects its clients. Commands that
/// arrive are counted and DISCARDED: nobody will answer them. Settings come from flags, then from
/// the environment, then from the file, then from the defaults.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Columns: sequence number, attempt, generation before and after, token sent and
token offered (the number of its install, `accepted` or `other`), what was got
(a status, or net, tmo, req: network, timeout, request not sent), outcome,
verdict, counted corrections and failures, T where a token is active now, delay
before the next poll, and the revision of a correction. Never a token.

The file: TOML with a table [control_plane] and the keys endpoint, tunnel_id,
api_key, poll_timeout, guardrail, backoff_min, backoff_max, ca_bundle (a path to
PEM certificates to trust beside the system's), proxy (a URL), and a table
[control_plane.extra_headers]. CA_BUNDLE and CONTROL_PLANE_HTTP_PROXY in the
environment say the same as the keys ca_bundle and proxy.

Example:
  API_KEY=... moorline poll --endpoint https://tunnels.example.com \\
      --tunnel-id my-tunnel --api-key env:API_KEY --max-polls 10")]
pub(super) struct PollArgs {
    /// Where the service is: https://HOST[:PORT][/PATH], or http:// on this machine
    /// [env: CONTROL_PLANE_BASE_URL]
    #[arg(long, value_name = "URL")]
    pub(super) endpoint: Option<String>,

    /// Which tunnel to serve [env: CONTROL_PLANE_TUNNEL_ID]
    #[arg(long, value_name = "ID")]
    pub(super) tunnel_id: Option<String>,

    /// Where the API key is: env:NAME or file:PATH [default: env:CONTROL_PLANE_API_KEY]
    #[arg(long, value_name = "SOURCE")]
    pub(super) api_key: Option<String>,

    /// Stop after so many polls in all [default: go on until interrupted]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(super) max_polls: Option<u64>,

    /// Ask for at most so many commands in one poll, 1 to 25 [default: 25]
    #[arg(long, value_name = "N", value_parser = limit, allow_negative_numbers = true)]
    pub(super) limit: Option<u16>,

    /// The shortest delay after a failed poll [default: 200ms]
    #[arg(long, value_name = "D", value_parser = duration)]
    pub(super) backoff_min: Option<Duration>,

    /// The longest delay after a failed poll, hints of the service aside [default: 10s]
    #[arg(long, value_name = "D", value_parser = duration)]
    pub(super) backoff_max: Option<Duration>,

    /// How long the service may hold a poll [default: 30s]
    /// [env: CONTROL_PLANE_POLL_TIMEOUT]
    #[arg(long, value_name = "D", value_parser = positive_duration)]
    pub(super) poll_timeout: Option<Duration>,

    /// How much longer than that to wait for an answer [default: 5s]
    /// [env: CONTROL_PLANE_POLL_DEADLINE_GUARDRAIL]
    #[arg(long, value_name = "D", value_parser = duration)]
    pub(super) guardrail: Option<Duration>,

    /// How many polls to keep in flight at once, at most 1024
    #[arg(
        long,
        value_name = "K",
        default_value = "1",
        value_parser = in_flight,
        allow_negative_numbers = true
    )]
    pub(super) in_flight: NonZeroUsize,

    /// What a line looks like
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub(super) events: EventForm,

    /// Read settings from a TOML file; unknown keys in it are errors
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,

    /// Allow plain http to another machine, which sends the API key readably
    #[arg(long)]
    pub(super) allow_insecure_endpoint: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum EventForm {
    /// One JSON object a line
    Json,
    /// Columns for a person
    Text,
}

/// The longest duration that a flag takes.
const MAX_DURATION: Duration = Duration::from_secs(3600);

/// A duration such as `200ms`, `10s` or `1m 30s`, at most one hour.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let expected = "expected a duration up to 1h, such as 200ms, 10s or 1m";
    match humantime::parse_duration(text) {
        Ok(duration) if duration <= MAX_DURATION => Ok(duration),
        Ok(_) | Err(_) => Err(expected.to_owned()),
    }
}

/// The same, but longer than nothing.
pub(super) fn positive_duration(text: &str) -> Result<Duration, String> {
    duration(text)
        .ok()
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "expected a duration from 1ms to 1h, such as 30s".to_owned())
}

fn count(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "expected a whole number".to_owned())
}

fn limit(text: &str) -> Result<u16, String> {
    text.parse()
        .ok()
        .filter(|limit| (1..=MAX_POLL_LIMIT).contains(limit))
        .ok_or_else(|| format!("expected a number from 1 to {MAX_POLL_LIMIT}"))
}

fn in_flight(text: &str) -> Result<NonZeroUsize, String> {
    text.parse::<NonZeroUsize>()
        .ok()
        .filter(|count| count.get() <= MAX_IN_FLIGHT)
        .ok_or_else(|| format!("expected a number from 1 to {MAX_IN_FLIGHT}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn durations_have_a_unit_and_a_limit() {
        assert_eq!(duration("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1h"), Ok(Duration::from_secs(3600)));
        for text in ["", "5", "-1s", "61m", "1y", "s", "99999999999999999999s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
