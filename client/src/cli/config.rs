//! Where settings come from: flags and environment (both read by clap), then the file, then the
//! defaults.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use moorline_model::backoff::Backoff;
use moorline_model::schedule::LongPoll;
use serde::{Deserialize, Deserializer};
use url::Url;

use super::Failure;
use super::args::{PollArgs, duration, positive_duration};
use crate::{ApiKey, Endpoint, EndpointFault, ProxyChoice, Settings, TunnelId};

/// The largest file that is read, in bytes: configuration, key or CA bundle.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// A configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ConfigFile {
    #[serde(default)]
    control_plane: ControlPlaneTable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ControlPlaneTable {
    endpoint: Option<String>,
    tunnel_id: Option<String>,
    api_key: Option<String>,
    #[serde(default, deserialize_with = "file_positive_duration")]
    poll_timeout: Option<Duration>,
    #[serde(default, deserialize_with = "file_duration")]
    guardrail: Option<Duration>,
    #[serde(default, deserialize_with = "file_duration")]
    backoff_min: Option<Duration>,
    #[serde(default, deserialize_with = "file_duration")]
    backoff_max: Option<Duration>,
    ca_bundle: Option<String>,
    proxy: Option<String>,
    #[serde(default)]
    extra_headers: BTreeMap<String, String>,
}

/// The settings of `moorline poll`.
pub(super) fn settings(args: &PollArgs) -> Result<Settings, Failure> {
    let file = match &args.config {
        Some(path) => read_config(path)?,
        None => ControlPlaneTable::default(),
    };
    let mut settings = Settings::new(
        endpoint(args, file.endpoint)?,
        tunnel(args, file.tunnel_id)?,
        api_key(args.api_key.clone().or(file.api_key))?,
    );
    let wait = duration_from("CONTROL_PLANE_POLL_TIMEOUT", positive_duration)?;
    let guardrail = duration_from("CONTROL_PLANE_POLL_DEADLINE_GUARDRAIL", duration)?;
    settings.long_poll = LongPoll::new(
        args.poll_timeout
            .or(wait)
            .or(file.poll_timeout)
            .unwrap_or(LongPoll::DEFAULT.wait()),
        args.guardrail
            .or(guardrail)
            .or(file.guardrail)
            .unwrap_or(LongPoll::DEFAULT.guardrail()),
    );
    settings.backoff = Backoff::new(
        args.backoff_min
            .or(file.backoff_min)
            .unwrap_or(Backoff::DEFAULT.min()),
        args.backoff_max
            .or(file.backoff_max)
            .unwrap_or(Backoff::DEFAULT.max()),
    )
    .map_err(|fault| Failure::Usage(format!("backoff-min and backoff-max: {fault}")))?;
    settings.extra_headers = extra_headers(file.extra_headers)?;
    if let Some(Given { text, .. }) = pick(None, "CA_BUNDLE", file.ca_bundle, "ca_bundle") {
        settings.ca_bundle = Some(read_file("the CA bundle", Path::new(&text))?);
    }
    if let Some(given) = pick(None, "CONTROL_PLANE_HTTP_PROXY", file.proxy, "proxy") {
        settings.proxy = ProxyChoice::Explicit(proxy(&given)?);
    }
    Ok(settings)
}

/// A setting as text, and who gave it.
struct Given {
    text: String,
    by: &'static str,
}

/// Flag before environment before file.
fn pick(
    flag: Option<(&String, &'static str)>,
    variable: &'static str,
    from_file: Option<String>,
    key: &'static str,
) -> Option<Given> {
    flag.map(|(text, by)| Given {
        text: text.clone(),
        by,
    })
    .or_else(|| environment(variable).map(|text| Given { text, by: variable }))
    .or_else(|| from_file.map(|text| Given { text, by: key }))
}

fn endpoint(args: &PollArgs, from_file: Option<String>) -> Result<Endpoint, Failure> {
    let flag = args.endpoint.as_ref().map(|text| (text, "--endpoint"));
    let given = pick(flag, "CONTROL_PLANE_BASE_URL", from_file, "endpoint").ok_or_else(|| {
        missing(
            "the endpoint",
            "--endpoint URL",
            "CONTROL_PLANE_BASE_URL",
            "endpoint",
        )
    })?;
    let parsed = if args.allow_insecure_endpoint {
        Endpoint::parse_allowing_plain_http(&given.text)
    } else {
        Endpoint::parse(&given.text)
    };
    parsed.map_err(|fault| {
        let how = match fault {
            EndpointFault::PlainHttp => " (--allow-insecure-endpoint)",
            _ => "",
        };
        Failure::Usage(format!("{}: {fault}{how}", given.by))
    })
}

fn tunnel(args: &PollArgs, from_file: Option<String>) -> Result<TunnelId, Failure> {
    let flag = args.tunnel_id.as_ref().map(|text| (text, "--tunnel-id"));
    let given = pick(flag, "CONTROL_PLANE_TUNNEL_ID", from_file, "tunnel_id").ok_or_else(|| {
        missing(
            "the tunnel id",
            "--tunnel-id ID",
            "CONTROL_PLANE_TUNNEL_ID",
            "tunnel_id",
        )
    })?;
    TunnelId::new(&given.text).map_err(|fault| Failure::Usage(format!("{}: {fault}", given.by)))
}

fn missing(what: &str, flag: &str, variable: &str, key: &str) -> Failure {
    Failure::Usage(format!(
        "{what} is missing: give {flag}, {variable}, or {key} under [control_plane] in the file"
    ))
}

fn duration_from(
    variable: &str,
    read: impl Fn(&str) -> Result<Duration, String>,
) -> Result<Option<Duration>, Failure> {
    environment(variable)
        .map(|text| read(&text).map_err(|fault| Failure::Usage(format!("{variable}: {fault}"))))
        .transpose()
}

/// Reads a key from `env:NAME` or `file:PATH`.
fn api_key(source: Option<String>) -> Result<ApiKey, Failure> {
    let source = source.as_deref().unwrap_or("env:CONTROL_PLANE_API_KEY");
    let key = match source.split_once(':') {
        Some(("env", name)) if is_variable(name) => environment(name).ok_or_else(|| {
            Failure::Usage(format!(
                "the API key is missing: set {name}, or give --api-key env:NAME or file:PATH"
            ))
        })?,
        Some(("file", path)) if !path.is_empty() => {
            let bytes = read_file("the API key", Path::new(path))?;
            String::from_utf8(bytes)
                .map_err(|_| Failure::Usage(format!("the API key: {path} must hold text")))?
        }
        // Not repeated: it may be the key itself.
        _ => {
            return Err(Failure::Usage(
                "the API key: expected env:NAME or file:PATH, not the key itself".to_owned(),
            ));
        }
    };
    ApiKey::new(key.trim()).map_err(|fault| Failure::Usage(fault.to_string()))
}

/// Whether this looks like the name of a variable, and not like a key in the wrong place.
fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte == b'_' || byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

fn proxy(given: &Given) -> Result<Url, Failure> {
    Url::parse(&given.text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| {
            Failure::Usage(format!(
                "{}: expected a URL such as http://proxy.example.com:3128",
                given.by
            ))
        })
}

fn extra_headers(
    table: BTreeMap<String, String>,
) -> Result<Vec<(HeaderName, HeaderValue)>, Failure> {
    table
        .into_iter()
        .map(|(name, value)| {
            let key = HeaderName::try_from(&name).map_err(|_| {
                Failure::Usage(format!("extra_headers: {name:?} is no HTTP header name"))
            })?;
            let mut value = HeaderValue::try_from(value).map_err(|_| {
                Failure::Usage(format!(
                    "extra_headers: the value of {name} fits no HTTP header"
                ))
            })?;
            value.set_sensitive(true);
            Ok((key, value))
        })
        .collect()
}

/// A variable of the environment; empty is as good as unset.
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn read_config(path: &Path) -> Result<ControlPlaneTable, Failure> {
    let bytes = read_file("the configuration", path)?;
    let name = path.display();
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::Usage(format!("{name}: must hold UTF-8 text")))?;
    let file: ConfigFile = toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(&text, span.start));
        Failure::Usage(format!(
            "{name}, line {line}: {}",
            toml_fault(error.message())
        ))
    })?;
    Ok(file.control_plane)
}

/// What is wrong with a file, without the values in it: one of them may be a secret.
fn toml_fault(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    match first.split_once(", expected ") {
        // Unknown keys are repeated, with the known ones: a typing error is easier to see so.
        Some(_) if first.starts_with("unknown field") => first.to_owned(),
        Some((_, expected)) => format!("expected {expected}"),
        None if first.starts_with("duplicate key") => "this key was given before".to_owned(),
        None if first.starts_with("expected a duration") => first.to_owned(),
        None => "this is not TOML".to_owned(),
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes()
        .take(offset)
        .filter(|byte| *byte == b'\n')
        .count()
        .saturating_add(1)
}

fn read_file(what: &str, path: &Path) -> Result<Vec<u8>, Failure> {
    let name = path.display();
    let fault = |why: &dyn std::fmt::Display| {
        Failure::Usage(format!("{what} cannot be read from {name}: {why}"))
    };
    let file = File::open(path).map_err(|error| fault(&error.kind()))?;
    let mut bytes = Vec::new();
    let most = MAX_FILE_BYTES.saturating_add(1);
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| fault(&error.kind()))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_FILE_BYTES) {
        return Err(fault(&"it is larger than 4 MiB"));
    }
    Ok(bytes)
}

fn file_positive_duration<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    positive_duration(&text)
        .map(Some)
        .map_err(serde::de::Error::custom)
}

fn file_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    duration(&text).map(Some).map_err(serde::de::Error::custom)
}
