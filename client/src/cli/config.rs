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
use super::args::{PollArgs, duration};
use crate::{ApiKey, Endpoint, ProxyChoice, Settings, TunnelId};

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
    #[serde(default, deserialize_with = "file_duration")]
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
    settings.long_poll = LongPoll::new(
        args.poll_timeout
            .or(file.poll_timeout)
            .unwrap_or(LongPoll::DEFAULT.wait()),
        args.guardrail
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
    .map_err(|fault| Failure::Usage(format!("--backoff-min, --backoff-max: {fault}")))?;
    settings.extra_headers = extra_headers(file.extra_headers)?;
    settings.ca_bundle = match environment("CA_BUNDLE").or(file.ca_bundle) {
        Some(path) => Some(read_file("the CA bundle", Path::new(&path))?),
        None => None,
    };
    settings.proxy = match environment("CONTROL_PLANE_HTTP_PROXY").or(file.proxy) {
        Some(url) => ProxyChoice::Explicit(proxy(&url)?),
        None => ProxyChoice::Environment,
    };
    Ok(settings)
}

fn endpoint(args: &PollArgs, from_file: Option<String>) -> Result<Endpoint, Failure> {
    let text = args.endpoint.clone().or(from_file).ok_or_else(|| {
        missing(
            "the endpoint",
            "--endpoint URL",
            "CONTROL_PLANE_BASE_URL",
            "endpoint",
        )
    })?;
    let parsed = if args.allow_insecure_endpoint {
        Endpoint::parse_allowing_plain_http(&text)
    } else {
        Endpoint::parse(&text)
    };
    parsed.map_err(|fault| Failure::Usage(format!("--endpoint: {fault}")))
}

fn tunnel(args: &PollArgs, from_file: Option<String>) -> Result<TunnelId, Failure> {
    let id = args.tunnel_id.clone().or(from_file).ok_or_else(|| {
        missing(
            "the tunnel id",
            "--tunnel-id ID",
            "CONTROL_PLANE_TUNNEL_ID",
            "tunnel_id",
        )
    })?;
    TunnelId::new(&id).map_err(|fault| Failure::Usage(format!("--tunnel-id: {fault}")))
}

fn missing(what: &str, flag: &str, variable: &str, key: &str) -> Failure {
    Failure::Usage(format!(
        "{what} is missing: give {flag}, {variable}, or {key} under [control_plane] in the file"
    ))
}

/// Reads a key from `env:NAME` or `file:PATH`.
fn api_key(source: Option<String>) -> Result<ApiKey, Failure> {
    let source = source.as_deref().unwrap_or("env:CONTROL_PLANE_API_KEY");
    let key = match source.split_once(':') {
        Some(("env", name)) if !name.is_empty() => environment(name).ok_or_else(|| {
            Failure::Usage(format!(
                "the API key is missing: set {name}, or give --api-key env:NAME or file:PATH"
            ))
        })?,
        Some(("file", path)) if !path.is_empty() => {
            let bytes = read_file("the API key", Path::new(path))?;
            String::from_utf8(bytes)
                .map_err(|_| Failure::Usage(format!("--api-key: {path} must hold text")))?
        }
        // Not repeated: it may be the key itself.
        _ => {
            return Err(Failure::Usage(
                "--api-key: expected env:NAME or file:PATH, not the key itself".to_owned(),
            ));
        }
    };
    ApiKey::new(key.trim()).map_err(|fault| Failure::Usage(format!("--api-key: {fault}")))
}

fn proxy(text: &str) -> Result<Url, Failure> {
    Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| {
            Failure::Usage(
                "CONTROL_PLANE_HTTP_PROXY: expected a URL such as http://proxy.example.com:3128"
                    .to_owned(),
            )
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
        let message = error
            .message()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        Failure::Usage(format!("{name}, line {line}: {message}"))
    })?;
    Ok(file.control_plane)
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

fn file_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    duration(&text).map(Some).map_err(serde::de::Error::custom)
}
