//! Every setting, and where it may be given.

use super::super::args;

/// One setting. What is given twice is taken from the flag, or else from the environment, or else
/// from the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// The table of the file; for a target, `target` stands for `targets.NAME` too.
    pub(super) table: &'static str,
    /// The key in that table; empty where the file has none.
    pub(super) key: &'static str,
    /// Another name of the key, which the official client gave it.
    pub(super) alias: &'static str,
    /// The variable; empty where there is none.
    pub(super) variable: &'static str,
    /// The flag; empty where there is none.
    pub(super) flag: &'static str,
    pub(super) kind: Kind,
}

/// What a setting's value looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A whole number from the first to the second.
    Count(usize, usize),
    /// A duration up to an hour.
    Duration,
    /// Header lines: in the file, a table.
    Headers,
    /// A duration up to seven days, but a longer one than nothing.
    LongDuration,
    /// Names: in the file, a list; elsewhere, with commas between them.
    Names,
    /// A duration up to an hour, but a longer one than nothing.
    PositiveDuration,
    /// On or off.
    Switch,
    /// One target or several, a line each. In the file, they are tables.
    Targets,
    /// Any text.
    Text,
}

/// The tables of a file. `targets` holds a table for each channel.
pub(super) const TABLES: [&str; 6] = [
    CONTROL_PLANE,
    "target",
    "targets",
    "dispatch",
    "monitor",
    "log",
];

pub(super) const CONTROL_PLANE: &str = "control_plane";

const fn setting(
    table: &'static str,
    key: &'static str,
    variable: &'static str,
    flag: &'static str,
    kind: Kind,
) -> Setting {
    Setting {
        table,
        key,
        alias: "",
        variable,
        flag,
        kind,
    }
}

const fn also_called(setting: Setting, alias: &'static str) -> Setting {
    Setting { alias, ..setting }
}

// spec: SET-2
pub(super) const ENDPOINT: Setting = also_called(
    setting(
        CONTROL_PLANE,
        "endpoint",
        "CONTROL_PLANE_BASE_URL",
        "--endpoint",
        Kind::Text,
    ),
    "base_url",
);
pub(super) const TUNNEL_ID: Setting = setting(
    CONTROL_PLANE,
    "tunnel_id",
    "CONTROL_PLANE_TUNNEL_ID",
    "--tunnel-id",
    Kind::Text,
);
/// It holds the key itself, so it is what the setting points to by default.
pub(super) const API_KEY_VARIABLE: &str = "CONTROL_PLANE_API_KEY";
pub(super) const API_KEY: Setting = setting(CONTROL_PLANE, "api_key", "", "--api-key", Kind::Text);
pub(super) const POLL_TIMEOUT: Setting = setting(
    CONTROL_PLANE,
    "poll_timeout",
    "CONTROL_PLANE_POLL_TIMEOUT",
    "--poll-timeout",
    Kind::PositiveDuration,
);
pub(super) const GUARDRAIL: Setting = also_called(
    setting(
        CONTROL_PLANE,
        "guardrail",
        "CONTROL_PLANE_POLL_DEADLINE_GUARDRAIL",
        "--guardrail",
        Kind::Duration,
    ),
    "poll_deadline_guardrail",
);
pub(super) const BACKOFF_MIN: Setting = setting(
    CONTROL_PLANE,
    "backoff_min",
    "",
    "--backoff-min",
    Kind::Duration,
);
pub(super) const BACKOFF_MAX: Setting = setting(
    CONTROL_PLANE,
    "backoff_max",
    "",
    "--backoff-max",
    Kind::Duration,
);
pub(super) const POLL_CHANNELS: Setting = setting(
    CONTROL_PLANE,
    "poll_channels",
    "CONTROL_PLANE_POLL_CHANNELS",
    "--poll-channels",
    Kind::Names,
);
pub(super) const MAX_INFLIGHT: Setting = setting(
    CONTROL_PLANE,
    "max_inflight_requests",
    "CONTROL_PLANE_MAX_INFLIGHT_REQUESTS",
    "--max-inflight",
    Kind::Count(1, 10_000),
);
pub(super) const EXTRA_HEADERS: Setting = setting(
    CONTROL_PLANE,
    "extra_headers",
    "CONTROL_PLANE_EXTRA_HEADERS",
    "--extra-header",
    Kind::Headers,
);
pub(super) const PROXY: Setting = also_called(
    setting(
        CONTROL_PLANE,
        "proxy",
        "CONTROL_PLANE_HTTP_PROXY",
        "--proxy",
        Kind::Text,
    ),
    "http_proxy",
);
pub(super) const CA_BUNDLE: Setting = setting(
    CONTROL_PLANE,
    "ca_bundle",
    "CA_BUNDLE",
    "--ca-bundle",
    Kind::Text,
);

// spec: SET-3
pub(super) const TARGET_URL: Setting = setting(
    "target",
    "url",
    "MCP_SERVER_URL",
    "--mcp-server-url",
    Kind::Targets,
);
pub(super) const TARGET_COMMAND: Setting = setting(
    "target",
    "command",
    "MCP_COMMAND",
    "--mcp-command",
    Kind::Targets,
);
pub(super) const TARGET_HEADERS: Setting = setting(
    "target",
    "extra_headers",
    "MCP_EXTRA_HEADERS",
    "--mcp-extra-header",
    Kind::Headers,
);
pub(super) const TARGET_PROXY: Setting = also_called(
    setting(
        "target",
        "proxy",
        "MCP_HTTP_PROXY",
        "--mcp-proxy",
        Kind::Text,
    ),
    "http_proxy",
);
pub(super) const CLIENT_CERT: Setting = setting(
    "target",
    "client_cert",
    "MCP_CLIENT_CERT",
    "--mcp-client-cert",
    Kind::Text,
);
pub(super) const CLIENT_KEY: Setting = setting(
    "target",
    "client_key",
    "MCP_CLIENT_KEY",
    "--mcp-client-key",
    Kind::Text,
);
pub(super) const MAX_CONCURRENT: Setting = setting(
    "dispatch",
    "max_concurrent_requests",
    "MCP_MAX_CONCURRENT_REQUESTS",
    "--mcp-max-concurrent-requests",
    Kind::Count(1, 10_000),
);
pub(super) const MAX_TTL: Setting = setting(
    "dispatch",
    "connection_max_ttl",
    "MCP_CONNECTION_MAX_TTL",
    "--mcp-connection-max-ttl",
    Kind::LongDuration,
);
pub(super) const DRAIN: Setting = setting("dispatch", "drain", "", "--drain", Kind::Duration);

// spec: SET-4
pub(super) const LISTEN: Setting = also_called(
    setting(
        "monitor",
        "listen",
        "HEALTH_LISTEN_ADDR",
        "--health-listen-addr",
        Kind::Text,
    ),
    "listen_addr",
);
pub(super) const ALLOW_REMOTE: Setting = setting(
    "monitor",
    "allow_remote",
    "",
    "--allow-remote-monitor",
    Kind::Switch,
);
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
pub(super) const LOG_LEVEL: Setting = setting(
    "log",
    "level",
    "LOG_LEVEL",
    "--log-level",
    Kind::Choice(&LEVELS),
);
/// `struct-text` is what the official client calls text.
pub(super) const LOG_FORMAT: Setting = setting(
    "log",
    "format",
    "LOG_FORMAT",
    "--log-format",
    Kind::Choice(&["text", "json", "struct-text"]),
);
pub(super) const LOG_FILE: Setting = setting("log", "file", "LOG_FILE", "--log-file", Kind::Text);
/// Not in the file: a switch that outlives the look for which it was thrown would do harm.
pub(super) const UNSAFE_HTTP_DUMPS: Setting = setting(
    "log",
    "",
    "MOORLINE_UNSAFE_HTTP_DUMPS",
    "--unsafe-http-dumps",
    Kind::Switch,
);

/// Every setting, in the order in which they are shown.
pub(super) const ALL: [&Setting; 26] = [
    &ENDPOINT,
    &TUNNEL_ID,
    &API_KEY,
    &POLL_TIMEOUT,
    &GUARDRAIL,
    &BACKOFF_MIN,
    &BACKOFF_MAX,
    &POLL_CHANNELS,
    &MAX_INFLIGHT,
    &EXTRA_HEADERS,
    &PROXY,
    &CA_BUNDLE,
    &TARGET_URL,
    &TARGET_COMMAND,
    &TARGET_HEADERS,
    &TARGET_PROXY,
    &CLIENT_CERT,
    &CLIENT_KEY,
    &MAX_CONCURRENT,
    &MAX_TTL,
    &DRAIN,
    &LISTEN,
    &ALLOW_REMOTE,
    &LOG_LEVEL,
    &LOG_FORMAT,
    &LOG_FILE,
];

/// The settings that a table of the file may hold.
pub(super) fn of_table(table: &str) -> impl Iterator<Item = &'static Setting> {
    ALL.into_iter()
        .filter(move |setting| setting.table == table)
}

impl Kind {
    /// What is wrong with a text that is to be of this kind. The text itself is not repeated.
    pub(super) fn check(self, text: &str) -> Result<(), String> {
        match self {
            Self::Choice(words) if choice(words, text).is_none() => {
                Err(format!("expected one of {}", words.join(", ")))
            }
            Self::Count(least, most) => text
                .parse()
                .ok()
                .filter(|count| (least..=most).contains(count))
                .map(|_| ())
                .ok_or_else(|| format!("expected a number from {least} to {most}")),
            Self::Duration => args::duration(text).map(|_| ()),
            Self::LongDuration => args::long_duration(text).map(|_| ()),
            Self::PositiveDuration => args::positive_duration(text).map(|_| ()),
            Self::Switch if switch(text).is_none() => Err("expected true or false".to_owned()),
            Self::Choice(_)
            | Self::Headers
            | Self::Names
            | Self::Switch
            | Self::Targets
            | Self::Text => Ok(()),
        }
    }
}

/// The word that is meant, in whatever case. Elsewhere the level `warn` is called `warning`.
pub(super) fn choice(words: &[&'static str], text: &str) -> Option<&'static str> {
    let text = match text.to_ascii_lowercase() {
        text if text == "warning" => "warn".to_owned(),
        text => text,
    };
    words.iter().copied().find(|word| *word == text)
}

/// A switch as text.
pub(super) fn switch(text: &str) -> Option<bool> {
    match text {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_settings_share_a_name() {
        for name in [
            |setting: &'static Setting| setting.flag,
            |setting: &'static Setting| setting.variable,
        ] {
            let names: Vec<_> = ALL
                .into_iter()
                .map(name)
                .filter(|name| !name.is_empty())
                .collect();
            let distinct: BTreeSet<_> = names.iter().collect();
            assert_eq!(names.len(), distinct.len());
        }
        for table in TABLES {
            let keys = of_table(table).flat_map(|setting| [setting.key, setting.alias]);
            let keys: Vec<_> = keys.filter(|key| !key.is_empty()).collect();
            let distinct: BTreeSet<_> = keys.iter().collect();
            assert_eq!(keys.len(), distinct.len(), "{table}");
        }
    }

    #[test]
    fn kinds_name_what_they_expect_and_not_what_they_got() {
        const WORDS: Kind = Kind::Choice(&["a", "b"]);
        for (kind, good, bad, expected) in [
            (WORDS, "a", "secret", "expected one of a, b"),
            (
                Kind::Count(1, 9),
                "9",
                "10",
                "expected a number from 1 to 9",
            ),
            (
                Kind::Count(1, 9),
                "1",
                "-1",
                "expected a number from 1 to 9",
            ),
            (Kind::Switch, "1", "yes", "expected true or false"),
            (
                Kind::PositiveDuration,
                "1s",
                "0s",
                "expected a duration from 1ms to 1h, such as 30s",
            ),
            (
                Kind::Duration,
                "0s",
                "5",
                "expected a duration up to 1h, such as 200ms, 10s or 1m",
            ),
        ] {
            assert_eq!(kind.check(good), Ok(()));
            assert_eq!(kind.check(bad), Err(expected.to_owned()));
        }
        assert_eq!(Kind::Text.check("anything"), Ok(()));
    }

    #[test]
    fn words_are_known_in_any_case_and_levels_by_their_other_name() {
        for (text, word) in [
            ("INFO", Some("info")),
            ("Warn", Some("warn")),
            ("WARNING", Some("warn")),
            ("warning", Some("warn")),
            ("loud", None),
            ("", None),
        ] {
            assert_eq!(choice(&LEVELS, text), word, "{text}");
        }
        assert_eq!(choice(&["text"], "warning"), None);
    }
}
