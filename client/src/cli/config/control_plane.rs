//! The settings of the control plane.

use std::path::Path;

use moorline_model::backoff::Backoff;
use moorline_model::schedule::LongPoll;
use url::Url;

use super::fault::Area;
use super::given::{Given, Origin};
use super::known::{
    API_KEY, BACKOFF_MAX, BACKOFF_MIN, CA_BUNDLE, ENDPOINT, EXTRA_HEADERS, GUARDRAIL, POLL_TIMEOUT,
    PROXY, Setting, TUNNEL_ID,
};
use super::pem;
use super::reader::{Reader, Shown, ShownValue};
use super::reference::{Reference, read_file};
use crate::{ApiKey, Endpoint, EndpointFault, ProxyChoice, Settings, TunnelId};

/// What the API key is by default: the variable of the official client holds the key itself.
const DEFAULT_KEY: &str = "env:CONTROL_PLANE_API_KEY";

/// What could be read.
pub(super) struct Read {
    /// `None` where the endpoint, the tunnel or the key is not usable.
    pub(super) settings: Option<Settings>,
    pub(super) trust: Trust,
}

/// Which certificates are trusted beside those of the system, for every client alike.
pub(super) enum Trust {
    /// Nobody knows: what was named is not usable, and without it another fault would seem to be the cause of
    /// whatever fails.
    Broken,
    /// These, as PEM.
    Known(Option<Vec<u8>>),
}

/// Reads everything, so that every fault is told.
pub(super) fn read(reader: &mut Reader<'_>, allow_insecure: bool) -> Read {
    let endpoint = endpoint(reader, allow_insecure);
    let tunnel = tunnel(reader);
    let api_key = api_key(reader);
    let long_poll = long_poll(reader);
    let backoff = backoff(reader);
    let extra_headers = reader
        .pick(&EXTRA_HEADERS)
        .map(|given| reader.headers(EXTRA_HEADERS.table, EXTRA_HEADERS.key, &given))
        .unwrap_or_default();
    let trust = trust(reader);
    let proxy = proxy(reader);
    let settings = match (endpoint, tunnel, api_key, &trust) {
        (Some(endpoint), Some(tunnel), Some(api_key), Trust::Known(ca_bundle)) => {
            let mut settings = Settings::new(endpoint, tunnel, api_key);
            settings.long_poll = long_poll;
            settings.backoff = backoff;
            settings.extra_headers = extra_headers
                .into_iter()
                .map(|header| (header.name, header.value))
                .collect();
            settings.ca_bundle.clone_from(ca_bundle);
            settings.proxy = proxy;
            Some(settings)
        }
        _ => None,
    };
    Read { settings, trust }
}

fn endpoint(reader: &mut Reader<'_>, allow_insecure: bool) -> Option<Endpoint> {
    let Some(given) = reader.pick(&ENDPOINT) else {
        missing(reader, "the endpoint", "--endpoint URL", &ENDPOINT);
        return None;
    };
    let parsed = if allow_insecure {
        Endpoint::parse_allowing_plain_http(given.text())
    } else {
        Endpoint::parse(given.text())
    };
    match parsed {
        Ok(endpoint) => {
            reader.show(&ENDPOINT, given.text(), &given.origin);
            Some(endpoint)
        }
        Err(fault) => {
            let how = match fault {
                EndpointFault::PlainHttp => " (--allow-insecure-endpoint)",
                _ => "",
            };
            reader.fault(&given.origin, &format!("{fault}{how}"));
            None
        }
    }
}

fn tunnel(reader: &mut Reader<'_>) -> Option<TunnelId> {
    let Some(given) = reader.pick(&TUNNEL_ID) else {
        missing(reader, "the tunnel id", "--tunnel-id ID", &TUNNEL_ID);
        return None;
    };
    match TunnelId::new(given.text()) {
        Ok(tunnel) => {
            reader.show_secret(&TUNNEL_ID, None, &given.origin);
            Some(tunnel)
        }
        Err(fault) => {
            reader.fault(&given.origin, &fault.to_string());
            None
        }
    }
}

fn missing(reader: &mut Reader<'_>, what: &str, flag: &str, setting: &Setting) {
    if reader.file.is_meant(setting) {
        return;
    }
    let Setting { variable, key, .. } = setting;
    let text = format!(
        "{what} is missing: give {flag}, {variable}, or {key} under [control_plane] in the file"
    );
    reader.fault_of(Area::Settings, text);
}

/// Reads a key from `env:NAME` or `file:PATH`.
// spec: SET-5
fn api_key(reader: &mut Reader<'_>) -> Option<ApiKey> {
    let given = reader.pick(&API_KEY);
    let source = given.as_ref().map_or(DEFAULT_KEY, Given::text);
    let Some(reference) = Reference::parse(source) else {
        let place = match given.as_ref().map(|given| &given.origin) {
            Some(Origin::File { path, line, .. }) => format!("{path}, line {line}: "),
            _ => String::new(),
        };
        // Not repeated: it may be the key itself.
        let places = Reference::places(source, "the key");
        let text = format!("{place}the API key: expected {places}");
        reader.fault_of(Area::Secrets, text);
        return None;
    };
    reader.note_secret(&reference);
    let resolved = reference.resolve("the API key", reader.environment);
    let origin = given
        .as_ref()
        .map_or(Origin::Default, |given| given.origin.clone());
    let state = if resolved.is_ok() { "set" } else { "not set" };
    let value = ShownValue::Text(reference.to_string());
    let shown = Shown::new(API_KEY.table, API_KEY.key, value, &origin).in_state(state);
    reader.shown.push(shown);
    let key = resolved
        .map_err(|text| match &reference {
            Reference::Variable(_) => format!("{text}, or give --api-key env:NAME or file:PATH"),
            Reference::File(_) => text,
        })
        .and_then(|key| key_of(&key, &reference));
    match key {
        Ok(key) => Some(key),
        // The setting that names another place was told of.
        Err(_) if given.is_none() && reader.file.is_meant(&API_KEY) => None,
        Err(text) => {
            reader.fault_of(Area::Secrets, text);
            None
        }
    }
}

/// The key, if the text is one. What it is not is told with its place.
fn key_of(text: &str, place: &Reference) -> Result<ApiKey, String> {
    if Reference::is_meant(text) {
        return Err(format!(
            "{place}: expected the API key itself; to say where it is, give --api-key env:NAME or \
             file:PATH, or api_key in the file"
        ));
    }
    if text.starts_with(['"', '\'']) || text.ends_with(['"', '\'']) {
        return Err(format!(
            "{place}: the API key stands in quotation marks: remove them"
        ));
    }
    if text.lines().count() > 1 {
        return Err(format!(
            "{place}: the API key must be one line, and this holds several"
        ));
    }
    ApiKey::new(text).map_err(|fault| format!("{place}: {fault}"))
}

fn long_poll(reader: &mut Reader<'_>) -> LongPoll {
    LongPoll::new(
        reader.duration(&POLL_TIMEOUT, LongPoll::DEFAULT.wait()),
        reader.duration(&GUARDRAIL, LongPoll::DEFAULT.guardrail()),
    )
}

fn backoff(reader: &mut Reader<'_>) -> Backoff {
    let min = reader.duration(&BACKOFF_MIN, Backoff::DEFAULT.min());
    let max = reader.duration(&BACKOFF_MAX, Backoff::DEFAULT.max());
    Backoff::new(min, max).unwrap_or_else(|fault| {
        let text = format!("backoff-min and backoff-max: {fault}");
        reader.fault_of(Area::Settings, text);
        Backoff::DEFAULT
    })
}

fn trust(reader: &mut Reader<'_>) -> Trust {
    let Some(given) = reader.pick(&CA_BUNDLE) else {
        return Trust::Known(None);
    };
    let (path, origin) = (given.text(), &given.origin);
    reader.show(&CA_BUNDLE, path, origin);
    let bundle = read_file("the CA bundle", Path::new(path)).and_then(|bundle| {
        let checked = pem::check_trusted(&bundle);
        checked.map_err(|why| format!("the CA bundle {path} cannot be used: {why}"))?;
        Ok(bundle)
    });
    match bundle {
        Ok(bundle) => Trust::Known(Some(bundle)),
        Err(text) => {
            reader.fault_of(Area::Trust, format!("{origin}: {text}"));
            Trust::Broken
        }
    }
}

fn proxy(reader: &mut Reader<'_>) -> ProxyChoice {
    match reader.pick(&PROXY) {
        Some(given) => reader.proxy(&PROXY, &given),
        None => ProxyChoice::Environment,
    }
}

impl Reader<'_> {
    /// Reads a proxy's URL, or where it stands: `env:NAME` or `file:PATH`.
    pub(super) fn proxy(&mut self, setting: &Setting, given: &Given) -> ProxyChoice {
        let reference = Reference::parse(given.text());
        let text = match &reference {
            None => given.text().to_owned(),
            Some(reference) => {
                self.note_secret(reference);
                let what = format!("{}: the proxy", given.origin);
                match reference.resolve(&what, self.environment) {
                    Ok(text) => text,
                    Err(text) => {
                        self.fault_of(Area::Secrets, text);
                        return ProxyChoice::Environment;
                    }
                }
            }
        };
        let url = Url::parse(&text)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let Some(url) = url else {
            let text = "expected a URL such as http://proxy.example.com:3128";
            self.fault(&given.origin, text);
            return ProxyChoice::Environment;
        };
        self.show_secret(setting, reference.as_ref(), &given.origin);
        ProxyChoice::Explicit(url)
    }

    pub(super) fn note_secret(&mut self, reference: &Reference) {
        match reference {
            Reference::Variable(name) => self.secret_variables.push(name.clone()),
            Reference::File(path) => self.secret_files.push(path.clone()),
        }
    }
}
