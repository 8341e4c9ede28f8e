use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use moorline_model::schedule::MAX_POLL_LIMIT;

use super::config::{Call, Flags};
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
Environment: LOG_LEVEL is one of off, error, warn, info, debug, trace.")]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) action: Action,
}

#[derive(Debug, Subcommand)]
pub(super) enum Action {
    Demo(DemoArgs),
    Run(Box<RunArgs>),
    Doctor(Box<DoctorArgs>),
    Config(ConfigArgs),
    Poll(Box<PollArgs>),
}

/// Show the real client against an in-process service on loopback
///
/// The client bootstraps, follows a correction, runs tool calls of which one outlasts a move of the
/// tunnel, survives the outage of its destination and recovers, over real HTTP on 127.0.0.1. Nothing
/// leaves this machine. It ends by itself and exits 0 if the client did all of that, 1 if it did not.
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
    #[command(flatten)]
    pub(super) control_plane: ControlPlaneArgs,

    /// Stop after so many polls in all [default: go on until interrupted]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(super) max_polls: Option<u64>,

    /// Ask for at most so many commands in one poll, 1 to 25 [default: 25]
    #[arg(long, value_name = "N", value_parser = limit, allow_negative_numbers = true)]
    pub(super) limit: Option<u16>,

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
}

/// Receive commands, run them on a private MCP server, and answer them
///
/// Runs until SIGTERM, SIGINT or SIGHUP, then takes no more commands and finishes those that it has. A second
/// signal ends it at once, with status 1. Settings come from flags, then from the environment, then
/// from the file, then from the defaults.
#[derive(Debug, ClapArgs)]
#[command(after_help = FILE_HELP)]
pub(super) struct RunArgs {
    /// Write one JSON object for each poll to this new file, as `moorline poll --events json` does: never
    /// a token, and enough to judge the run by
    #[arg(long, value_name = "FILE")]
    pub(super) events: Option<PathBuf>,

    #[command(flatten)]
    pub(super) client: ClientArgs,
}

/// Find out why a client does not work: PASS, FAIL or SKIP, with evidence
///
/// Checks the configuration, the secrets, what is trusted, the control plane (by asking for the
/// tunnel's metadata, which takes no command), the MCP servers and the monitor's address. Exits 0, or
/// 2 if a check failed.
#[derive(Debug, ClapArgs)]
#[command(after_help = FILE_HELP)]
pub(super) struct DoctorArgs {
    /// Make one real poll too. If it brings a command, nobody will answer that
    #[arg(long)]
    pub(super) poll: bool,

    /// Print one JSON object instead of lines
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) client: ClientArgs,
}

/// Check the settings, or show which are in force
#[derive(Debug, ClapArgs)]
#[command(arg_required_else_help = false)]
pub(super) struct ConfigArgs {
    #[command(subcommand)]
    pub(super) action: ConfigAction,
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigAction {
    Check(Box<ConfigCheckArgs>),
    Print(Box<ConfigPrintArgs>),
}

/// Name every fault of the settings, one a line. Contacts nobody
///
/// Exits 0, or 2 if there is a fault.
#[derive(Debug, ClapArgs)]
#[command(after_help = FILE_HELP)]
pub(super) struct ConfigCheckArgs {
    #[command(flatten)]
    pub(super) client: ClientArgs,
}

/// Show the settings that are in force and who gave them, secrets masked
///
/// Prints TOML. Exits 0, or 2 if there is a fault, which it names as `check` does.
#[derive(Debug, ClapArgs)]
#[command(after_help = FILE_HELP)]
pub(super) struct ConfigPrintArgs {
    /// Print JSON instead
    #[arg(long)]
    pub(super) json: bool,

    #[command(flatten)]
    pub(super) client: ClientArgs,
}

/// How to reach the service, for every command that does.
#[derive(Debug, ClapArgs)]
pub(super) struct ControlPlaneArgs {
    /// Where the service is: https://HOST[:PORT][/PATH], or http:// on this machine
    /// [env: CONTROL_PLANE_BASE_URL]
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,

    /// Which tunnel to serve [env: CONTROL_PLANE_TUNNEL_ID]
    #[arg(long, value_name = "ID")]
    tunnel_id: Option<String>,

    /// Where the API key is: env:NAME or file:PATH [default: env:CONTROL_PLANE_API_KEY]
    #[arg(long, value_name = "SOURCE")]
    api_key: Option<String>,

    /// The shortest delay after a failed poll [default: 200ms]
    #[arg(long, value_name = "D", value_parser = text_of_duration)]
    backoff_min: Option<String>,

    /// The longest delay after a failed poll, hints of the service aside [default: 10s]
    #[arg(long, value_name = "D", value_parser = text_of_duration)]
    backoff_max: Option<String>,

    /// How long the service may hold a poll [default: 30s]
    /// [env: CONTROL_PLANE_POLL_TIMEOUT]
    #[arg(long, value_name = "D", value_parser = text_of_positive_duration)]
    poll_timeout: Option<String>,

    /// How much longer than that to wait for an answer [default: 5s]
    /// [env: CONTROL_PLANE_POLL_DEADLINE_GUARDRAIL]
    #[arg(long, value_name = "D", value_parser = text_of_duration)]
    guardrail: Option<String>,

    /// Read settings from a file, TOML or (named *.yaml) YAML; unknown keys in it are errors
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Allow plain http to another machine, which sends the API key readably
    #[arg(long)]
    allow_insecure_endpoint: bool,
}

impl ControlPlaneArgs {
    pub(super) fn call(&self) -> Call {
        Call {
            flags: self.flags(),
            file: self.config.clone(),
            allow_insecure_endpoint: self.allow_insecure_endpoint,
        }
    }

    fn flags(&self) -> Flags {
        Flags::default()
            .text("--endpoint", self.endpoint.as_ref())
            .text("--tunnel-id", self.tunnel_id.as_ref())
            .text("--api-key", self.api_key.as_ref())
            .text("--backoff-min", self.backoff_min.as_ref())
            .text("--backoff-max", self.backoff_max.as_ref())
            .text("--poll-timeout", self.poll_timeout.as_ref())
            .text("--guardrail", self.guardrail.as_ref())
    }
}

/// The settings of a client that runs commands.
#[derive(Debug, ClapArgs)]
pub(super) struct ClientArgs {
    #[command(flatten)]
    control_plane: ControlPlaneArgs,

    /// How many received commands may wait [default: 20]
    /// [env: CONTROL_PLANE_MAX_INFLIGHT_REQUESTS]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_inflight: Option<String>,

    /// The channels to serve, with commas; others get 400 [default: all that have a server]
    /// [env: CONTROL_PLANE_POLL_CHANNELS]
    #[arg(long, value_name = "NAMES")]
    poll_channels: Option<String>,

    /// A header for every request to the service, `Name: value`; may be repeated
    /// [env: CONTROL_PLANE_EXTRA_HEADERS]
    #[arg(long, value_name = "LINE")]
    extra_header: Vec<String>,

    /// A proxy to the service: a URL, env:NAME or file:PATH [env: CONTROL_PLANE_HTTP_PROXY]
    #[arg(long, value_name = "URL")]
    proxy: Option<String>,

    /// PEM certificates to trust beside the system's, for every connection [env: CA_BUNDLE]
    #[arg(long, value_name = "FILE")]
    ca_bundle: Option<String>,

    /// An MCP server over streamable HTTP: URL, or channel=NAME,url=URL; may be repeated
    /// [env: MCP_SERVER_URL, one a line]
    #[arg(long, value_name = "URL")]
    mcp_server_url: Vec<String>,

    /// An MCP server to start, over stdio: CMD, or channel=NAME,command=CMD; may be repeated
    /// [env: MCP_COMMAND, one a line]
    #[arg(long, value_name = "CMD")]
    mcp_command: Vec<String>,

    /// A header for every request to MCP servers, `Name: value`; may be repeated
    /// [env: MCP_EXTRA_HEADERS]
    #[arg(long, value_name = "LINE")]
    mcp_extra_header: Vec<String>,

    /// A proxy to MCP servers: a URL, env:NAME or file:PATH [env: MCP_HTTP_PROXY]
    #[arg(long, value_name = "URL")]
    mcp_proxy: Option<String>,

    /// The client's certificate for MCP servers, PEM: a path, file:PATH or env:NAME
    /// [env: MCP_CLIENT_CERT]
    #[arg(long, value_name = "SOURCE")]
    mcp_client_cert: Option<String>,

    /// Its private key, likewise [env: MCP_CLIENT_KEY]
    #[arg(long, value_name = "SOURCE")]
    mcp_client_key: Option<String>,

    /// How many commands run at once [default: 10] [env: MCP_MAX_CONCURRENT_REQUESTS]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    mcp_max_concurrent_requests: Option<String>,

    /// How long one call may take at most [default: 10m] [env: MCP_CONNECTION_MAX_TTL]
    #[arg(long, value_name = "D", value_parser = text_of_long_duration)]
    mcp_connection_max_ttl: Option<String>,

    /// How long received commands may still take after a signal [default: 30s]
    #[arg(long, value_name = "D", value_parser = text_of_duration)]
    drain: Option<String>,

    /// Where to show probes, metrics and a status page: IP:PORT, or off
    /// [default: 127.0.0.1:8080] [env: HEALTH_LISTEN_ADDR]
    #[arg(long, value_name = "ADDR")]
    health_listen_addr: Option<String>,

    /// Let other machines read them too
    #[arg(long)]
    allow_remote_monitor: bool,

    /// What is logged: off, error, warn, info, debug or trace [default: info]
    /// [env: LOG_LEVEL]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,

    /// How it is logged: text or json [default: text] [env: LOG_FORMAT]
    #[arg(long, value_name = "FORM")]
    log_format: Option<String>,

    /// Where it is logged: a file to append to, stderr or stdout [default: stderr]
    /// [env: LOG_FILE]
    #[arg(long, value_name = "FILE")]
    log_file: Option<String>,

    /// Log HTTP messages other than polls, with what they hold. Needs --log-level debug
    /// [env: MOORLINE_UNSAFE_HTTP_DUMPS]
    #[arg(long)]
    unsafe_http_dumps: bool,
}

impl ClientArgs {
    pub(super) fn call(&self) -> Call {
        let call = self.control_plane.call();
        let flags = call
            .flags
            .text("--max-inflight", self.max_inflight.as_ref())
            .text("--poll-channels", self.poll_channels.as_ref())
            .many("--extra-header", &self.extra_header)
            .text("--proxy", self.proxy.as_ref())
            .text("--ca-bundle", self.ca_bundle.as_ref())
            .many("--mcp-server-url", &self.mcp_server_url)
            .many("--mcp-command", &self.mcp_command)
            .many("--mcp-extra-header", &self.mcp_extra_header)
            .text("--mcp-proxy", self.mcp_proxy.as_ref())
            .text("--mcp-client-cert", self.mcp_client_cert.as_ref())
            .text("--mcp-client-key", self.mcp_client_key.as_ref())
            .text(
                "--mcp-max-concurrent-requests",
                self.mcp_max_concurrent_requests.as_ref(),
            )
            .text(
                "--mcp-connection-max-ttl",
                self.mcp_connection_max_ttl.as_ref(),
            )
            .text("--drain", self.drain.as_ref())
            .text("--health-listen-addr", self.health_listen_addr.as_ref())
            .switch("--allow-remote-monitor", self.allow_remote_monitor)
            .text("--log-level", self.log_level.as_ref())
            .text("--log-format", self.log_format.as_ref())
            .text("--log-file", self.log_file.as_ref())
            .switch("--unsafe-http-dumps", self.unsafe_http_dumps);
        Call { flags, ..call }
    }
}

/// What the help of every command says of the file.
const FILE_HELP: &str = "\
The file, in TOML (or YAML with the same names):

  [control_plane]
  endpoint = \"https://tunnels.example.com\"
  tunnel_id = \"my-tunnel\"
  api_key = \"env:API_KEY\"          # or file:PATH, never the key itself
  # poll_timeout, guardrail, backoff_min, backoff_max, poll_channels,
  # max_inflight_requests, proxy, ca_bundle
  [control_plane.extra_headers]
  x-team = \"blue\"

  [target]                          # the channel main; others: [targets.NAME]
  command = \"npx -y my-mcp-server\"  # or: url = \"http://127.0.0.1:9000/mcp\"
  # proxy, client_cert, client_key and a table extra_headers, for a url

  [dispatch]
  # max_concurrent_requests, connection_max_ttl, drain

  [monitor]
  # listen, allow_remote

  [log]
  # level, format, file

Header values may be env:NAME or file:PATH, and Authorization must be one of
them in a file or a flag. A variable takes header lines with commas or line
breaks between them, or a JSON object. An MCP server that is started gets this
environment without CONTROL_PLANE_*, without MCP_EXTRA_HEADERS, MCP_CLIENT_KEY
and MCP_HTTP_PROXY, and without any variable that env:NAME names here. No shell
runs its command: `env NAME=value program` sets a variable, and `sh -c '...'` is
for whatever else only a shell understands.";

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum EventForm {
    /// One JSON object a line
    Json,
    /// Columns for a person
    Text,
}

/// The longest duration that most settings take.
const MAX_DURATION: Duration = Duration::from_secs(3600);

/// The longest duration that any setting takes.
const MAX_LONG_DURATION: Duration = Duration::from_secs(7 * 24 * 3600);

/// A duration such as `200ms`, `10s` or `1m 30s`, at most one hour.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    long(text)
        .filter(|duration| *duration <= MAX_DURATION)
        .ok_or_else(|| "expected a duration up to 1h, such as 200ms, 10s or 1m".to_owned())
}

/// The same, but longer than nothing.
pub(super) fn positive_duration(text: &str) -> Result<Duration, String> {
    duration(text)
        .ok()
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "expected a duration from 1ms to 1h, such as 30s".to_owned())
}

/// A duration longer than nothing, at most seven days.
pub(super) fn long_duration(text: &str) -> Result<Duration, String> {
    long(text)
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| "expected a duration from 1ms to 7days, such as 10m".to_owned())
}

/// A duration of up to seven days.
pub(super) fn long(text: &str) -> Option<Duration> {
    humantime::parse_duration(text)
        .ok()
        .filter(|duration| *duration <= MAX_LONG_DURATION)
}

/// A flag's text is kept, so that it can be weighed against what others say.
fn text_of_duration(text: &str) -> Result<String, String> {
    duration(text).map(|_| text.to_owned())
}

fn text_of_positive_duration(text: &str) -> Result<String, String> {
    positive_duration(text).map(|_| text.to_owned())
}

fn text_of_long_duration(text: &str) -> Result<String, String> {
    long_duration(text).map(|_| text.to_owned())
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
