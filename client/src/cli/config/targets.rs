//! The targets: which MCP server serves which channel.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use moorline_model::wire::Channel;
use url::Url;

use super::control_plane::Trust;
use super::fault::{Area, Fault};
use super::given::{Given, Origin, Value};
use super::headers::Header;
use super::known::{
    CLIENT_CERT, CLIENT_KEY, POLL_CHANNELS, Setting, TARGET_COMMAND, TARGET_HEADERS, TARGET_PROXY,
    TARGET_URL,
};
use super::pem;
use super::reader::{Reader, Shown, ShownValue};
use super::reference::{Reference, read_file};
use crate::ProxyChoice;
use crate::run::TargetSettings;
use crate::target::{
    ClientIdentity, CommandFault, CommandLine, HttpTargetSettings, StdioTargetSettings,
};

/// Variables of the official client that hold secrets of other targets.
const SECRET_VARIABLES: [&str; 3] = ["MCP_EXTRA_HEADERS", "MCP_CLIENT_KEY", "MCP_HTTP_PROXY"];

/// What is said when nothing serves anything.
const NONE: &str = "the MCP server is missing: give --mcp-server-url URL or --mcp-command CMD, \
                    MCP_SERVER_URL or MCP_COMMAND, or url or command under [target] in the file";

/// What could be read.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) usable: BTreeMap<Channel, TargetSettings>,
    /// Channels whose target lacks something: without it, it would only fail once more.
    pub(super) unusable: Vec<Channel>,
}

/// Reads the targets of every channel that is served. Without any there are faults.
pub(super) fn read(reader: &mut Reader<'_>, trust: &Trust) -> Read {
    let faults = reader.faults.len();
    let mut places = places(reader);
    restrict(reader, &mut places);
    let is_meant = [&TARGET_URL, &TARGET_COMMAND]
        .into_iter()
        .any(|setting| reader.file.is_meant(setting));
    if places.is_empty() && !is_meant && reader.faults.len() == faults {
        reader.fault_of(Area::Settings, NONE);
    }
    refuse_idle(reader, &places);
    let mut found = Read::default();
    for (channel, place) in places {
        let target = match place {
            Place::Url(given) => http(reader, &channel, &given, trust),
            Place::Command(given) => stdio(reader, &channel, &given),
        };
        match target {
            Some(target) => {
                found.usable.insert(channel, target);
            }
            None => found.unusable.push(channel),
        }
    }
    withhold_secrets(reader, &mut found.usable);
    found
}

/// Where a channel's server is.
#[derive(Clone, Debug)]
enum Place {
    Command(Given),
    Url(Given),
}

type Places = BTreeMap<Channel, Place>;

/// What one layer says, with the kind of setting that said it.
type Layer = Vec<(Channel, Place)>;

/// For each channel, the layer that names a target for it wins as a whole.
// spec: SET-1, SET-3
fn places(reader: &mut Reader<'_>) -> Places {
    let flags = [&TARGET_URL, &TARGET_COMMAND].map(|s| (s, reader.flags.get(s)));
    let variables = [&TARGET_URL, &TARGET_COMMAND].map(|s| (s, reader.environment.get(s)));
    let mut layers = Vec::new();
    for layer in [flags, variables] {
        let mut entries = Vec::new();
        for (setting, given) in layer {
            if let Some(given) = given {
                entries.extend(self::entries(reader, setting, &given));
            }
        }
        layers.push(entries);
    }
    layers.push(of_file(reader));
    let mut places = Places::new();
    for layer in layers {
        let mut of_layer = Places::new();
        for (channel, place) in layer {
            let origin = place.origin().clone();
            if of_layer.insert(channel.clone(), place).is_some() {
                let text = format!(
                    "the channel {channel} has two MCP servers: give it one URL or one command"
                );
                reader.fault(&origin, &text);
            }
        }
        for (channel, place) in of_layer {
            places.entry(channel).or_insert(place);
        }
    }
    places
}

/// The settings of targets with a URL.
const FOR_URLS: [&Setting; 4] = [&TARGET_HEADERS, &TARGET_PROXY, &CLIENT_CERT, &CLIENT_KEY];

/// What is given for targets with a URL where there are only commands has no effect: whoever gave it relies on it. An
/// environment may be shared with other programs, so a variable is no fault.
// spec: SET-9
fn refuse_idle(reader: &mut Reader<'_>, places: &Places) {
    for (channel, table) in &reader.file.targets {
        if !table.values.contains_key(TARGET_COMMAND.key)
            || table.values.contains_key(TARGET_URL.key)
        {
            continue;
        }
        let idle = FOR_URLS.into_iter();
        for given in idle.filter_map(|setting| table.values.get(setting.key)) {
            let text = format!(
                "{}: this is for an MCP server with a url, and that of the channel {channel} is a \
                 command",
                given.origin
            );
            reader.faults.push(Fault::settings(text));
        }
    }
    let has_url = |place: &Place| matches!(place, Place::Url(_));
    if places.is_empty() || places.values().any(has_url) {
        return;
    }
    for setting in FOR_URLS {
        let why = "no MCP server has a URL";
        if let Some(given) = reader.flags.get(setting) {
            let text = format!("{}: this has no effect, since {why}", given.origin);
            reader.faults.push(Fault::settings(text));
        }
        if let Some(given) = reader.environment.get(setting) {
            let text = format!("{} has no effect: {why}", given.origin);
            reader.warnings.push(text);
        }
    }
}

fn of_file(reader: &mut Reader<'_>) -> Layer {
    let mut layer = Vec::new();
    for (channel, table) in &reader.file.targets {
        if let Some(given) = table.values.get(TARGET_URL.key) {
            layer.push((channel.clone(), Place::Url(given.clone())));
        }
        if let Some(given) = table.values.get(TARGET_COMMAND.key) {
            layer.push((channel.clone(), Place::Command(given.clone())));
        }
    }
    layer
}

/// The targets that a flag or a variable names: a plain one for `main`, or
/// `channel=NAME,url=URL` and `channel=NAME,command=CMD`; a line each.
fn entries(reader: &mut Reader<'_>, setting: &'static Setting, given: &Given) -> Layer {
    let texts: Vec<String> = match &given.value {
        Value::Text(text) => text.lines().map(str::to_owned).collect(),
        Value::Many(texts) => texts.clone(),
        Value::Pairs(_) => Vec::new(),
    };
    let mut layer = Vec::new();
    for text in texts
        .iter()
        .map(|text| text.trim())
        .filter(|text| !text.is_empty())
    {
        match entry(setting.key, text) {
            Ok((channel, text)) => {
                let given = Given {
                    value: Value::Text(text),
                    origin: given.origin.clone(),
                };
                let place = if *setting == TARGET_URL {
                    Place::Url(given)
                } else {
                    Place::Command(given)
                };
                layer.push((channel, place));
            }
            Err(fault) => reader.fault(&given.origin, &fault),
        }
    }
    layer
}

fn entry(key: &str, text: &str) -> Result<(Channel, String), String> {
    let is_named = |text: &str| {
        [format!("{key}="), "channel=".to_owned()]
            .iter()
            .any(|start| text.starts_with(start))
    };
    if !is_named(text) {
        return Ok((Channel::main(), text.to_owned()));
    }
    let mut channel = Channel::main();
    let mut rest = text;
    loop {
        let (name, value) = rest.split_once('=').unwrap_or((rest, ""));
        match name.trim() {
            // A command holds commas of its own, so it comes last. A URL may come first.
            name if name == key => {
                let end = value.find(",channel=").filter(|_| key == "url");
                let (place, after) = value.split_at(end.unwrap_or(value.len()));
                if let Some(name) = after.strip_prefix(",channel=") {
                    channel = named(name)?;
                }
                return Ok((channel, place.trim().to_owned()));
            }
            "channel" => {
                let (name, after) = value.split_once(',').unwrap_or((value, ""));
                channel = named(name)?;
                rest = after;
            }
            _ => return Err(format!("expected `channel=NAME,{key}=...`")),
        }
    }
}

fn named(name: &str) -> Result<Channel, String> {
    Channel::parse(name).map_err(|fault| fault.to_string())
}

/// The channels to be served, if somebody named them: others have no target then, and each of those
/// must have one.
// spec: SET-2
fn restrict(reader: &mut Reader<'_>, places: &mut Places) {
    let Some(given) = reader.pick(&POLL_CHANNELS) else {
        return;
    };
    let names: Vec<&str> = match &given.value {
        Value::Text(text) => text.split(',').collect(),
        Value::Many(names) => names.iter().flat_map(|name| name.split(',')).collect(),
        Value::Pairs(_) => Vec::new(),
    };
    let mut served = BTreeSet::new();
    for name in names {
        match Channel::parse(name) {
            Ok(channel) if !places.contains_key(&channel) => {
                let text = format!("the channel {channel} has no MCP server");
                reader.fault(&given.origin, &text);
            }
            Ok(channel) => {
                served.insert(channel);
            }
            Err(fault) => reader.fault(&given.origin, &fault.to_string()),
        }
    }
    let shown = served.iter().map(ToString::to_string).collect();
    reader.show_value(&POLL_CHANNELS, ShownValue::List(shown), &given.origin);
    places.retain(|channel, _| served.contains(channel));
}

fn http(
    reader: &mut Reader<'_>,
    channel: &Channel,
    given: &Given,
    trust: &Trust,
) -> Option<TargetSettings> {
    let faults = reader.faults.len();
    let url = match parse_url(given.text()) {
        Ok(url) => url,
        Err(text) => {
            reader.fault(&given.origin, text);
            return None;
        }
    };
    let table = table(channel);
    let shown = Shown::new(&table, TARGET_URL.key, shown_url(&url), &given.origin);
    reader.shown.push(shown);
    let mut settings = HttpTargetSettings::new(url);
    if let Some(given) = pick(reader, channel, &TARGET_HEADERS) {
        let headers = reader.headers(&table, TARGET_HEADERS.key, &given);
        let pair = |header: Header| (header.name, header.value);
        settings.extra_headers = headers.into_iter().map(pair).collect();
    }
    if let Some(given) = pick(reader, channel, &TARGET_PROXY) {
        settings.proxy = proxy(reader, &table, &given);
    }
    settings.client_identity = identity(reader, channel, &table);
    let Trust::Known(ca_bundle) = trust else {
        return None;
    };
    settings.ca_bundle.clone_from(ca_bundle);
    (reader.faults.len() == faults).then(|| TargetSettings::Http(Box::new(settings)))
}

fn parse_url(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or("expected a URL such as http://127.0.0.1:9000/mcp")?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the URL must have no user name or password: give an Authorization header");
    }
    Ok(url)
}

/// The path and the query may hold a secret: some hosted servers have their keys there.
fn shown_url(url: &Url) -> ShownValue {
    let mut shown = url.clone();
    let is_whole = url.path() == "/" && url.query().is_none();
    shown.set_query(None);
    shown.set_fragment(None);
    if is_whole {
        ShownValue::Text(shown.into())
    } else {
        shown.set_path("/...");
        ShownValue::Part(shown.into())
    }
}

fn stdio(reader: &mut Reader<'_>, channel: &Channel, given: &Given) -> Option<TargetSettings> {
    if is_url(given.text()) {
        let text = "this is a URL: give it as --mcp-server-url, MCP_SERVER_URL, or url in the file";
        reader.fault(&given.origin, text);
        return None;
    }
    match CommandLine::parse(given.text()) {
        Ok(command) => {
            let shown = shown_command(given.text());
            let shown = Shown::new(&table(channel), TARGET_COMMAND.key, shown, &given.origin);
            reader.shown.push(shown);
            Some(TargetSettings::Stdio(StdioTargetSettings::new(command)))
        }
        Err(fault) => {
            let how = match (fault, &given.origin) {
                (CommandFault::Assignment, Origin::Flag(_) | Origin::Variable(_)) => {
                    ", and for a channel `channel=NAME,command=CMD`"
                }
                _ => "",
            };
            reader.fault(&given.origin, &format!("{fault}{how}"));
            None
        }
    }
}

fn is_url(text: &str) -> bool {
    let scheme = text
        .split_once("://")
        .map(|(scheme, _)| scheme.trim_start());
    scheme.is_some_and(|scheme| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    })
}

/// Arguments may hold secrets, the program does not.
fn shown_command(text: &str) -> ShownValue {
    let words = shlex::split(text).unwrap_or_default();
    let program = words.first().map(String::as_str).unwrap_or_default();
    match words.len().saturating_sub(1) {
        0 => ShownValue::Text(text.trim().to_owned()),
        1 => ShownValue::Part(format!("{program} (and 1 argument)")),
        more => ShownValue::Part(format!("{program} (and {more} arguments)")),
    }
}

/// A setting of every target in the flags and the environment, and of one in the file.
fn pick(reader: &mut Reader<'_>, channel: &Channel, setting: &Setting) -> Option<Given> {
    reader.pick(setting).or_else(|| {
        let table = reader.file.targets.get(channel)?;
        table.values.get(setting.key).cloned()
    })
}

fn proxy(reader: &mut Reader<'_>, table: &str, given: &Given) -> ProxyChoice {
    let before = reader.shown.len();
    let proxy = reader.proxy(&TARGET_PROXY, given);
    for shown in reader.shown.iter_mut().skip(before) {
        table.clone_into(&mut shown.table);
    }
    proxy
}

fn identity(reader: &mut Reader<'_>, channel: &Channel, table: &str) -> Option<ClientIdentity> {
    let certificate = pick(reader, channel, &CLIENT_CERT);
    let key = pick(reader, channel, &CLIENT_KEY);
    let (certificate, key) = match (certificate, key) {
        (Some(certificate), Some(key)) => (certificate, key),
        (None, None) => return None,
        (Some(given), None) | (None, Some(given)) => {
            let text = "a client certificate and its key must be given together";
            reader.fault(&given.origin, text);
            return None;
        }
    };
    let origin = certificate.origin.clone();
    let certificate = read_pem(reader, table, &CERTIFICATE, &certificate);
    let key = read_pem(reader, table, &KEY, &key);
    let (certificate, key) = (certificate?, key?);
    if let Err(text) = pem::check_pair(&certificate, &key) {
        reader.fault_of(Area::Secrets, format!("{origin}: {text}"));
        return None;
    }
    Some(ClientIdentity { certificate, key })
}

/// One half of a client's identity.
struct Half {
    setting: &'static Setting,
    what: &'static str,
    check: fn(&[u8]) -> Result<(), &'static str>,
}

const CERTIFICATE: Half = Half {
    setting: &CLIENT_CERT,
    what: "the client certificate",
    check: pem::check_chain,
};

const KEY: Half = Half {
    setting: &CLIENT_KEY,
    what: "the client key",
    check: pem::check_key,
};

/// Reads PEM from a path, `file:PATH`, or `env:NAME`: a variable that holds a path or the PEM itself.
fn read_pem(reader: &mut Reader<'_>, table: &str, half: &Half, given: &Given) -> Option<Vec<u8>> {
    const PEM: &str = "-----BEGIN";
    let Half {
        setting,
        what,
        check,
    } = *half;
    let text = given.text();
    let read = match Reference::parse(text) {
        Some(reference @ Reference::Variable(_)) => {
            reader.note_secret(&reference);
            let shown = Shown::secret(table, setting.key, Some(&reference), &given.origin);
            reader.shown.push(shown);
            match reference.resolve(what, reader.environment) {
                Ok(pem) if pem.starts_with(PEM) => Ok(pem.into_bytes()),
                Ok(path) => read_file(what, Path::new(&path)),
                Err(text) => Err(text),
            }
        }
        Some(Reference::File(path)) => pem_file(reader, table, setting, what, &path, given),
        None if text.contains(PEM) || Reference::is_meant(text) => {
            let places = Reference::places(text, "the PEM");
            Err(format!("expected a path, {places}"))
        }
        None => pem_file(reader, table, setting, what, text, given),
    };
    let checked = read.and_then(|pem| {
        // What is a path or names a variable holds no secret.
        check(&pem).map_err(|why| format!("{what} {text} cannot be used: {why}"))?;
        Ok(pem)
    });
    let origin = &given.origin;
    checked
        .map_err(|text| reader.fault_of(Area::Secrets, format!("{origin}: {text}")))
        .ok()
}

fn pem_file(
    reader: &mut Reader<'_>,
    table: &str,
    setting: &Setting,
    what: &str,
    path: &str,
    given: &Given,
) -> Result<Vec<u8>, String> {
    if *setting == CLIENT_KEY {
        reader.secret_files.push(path.to_owned());
    }
    let value = ShownValue::Text(format!("file:{path}"));
    reader
        .shown
        .push(Shown::new(table, setting.key, value, &given.origin));
    read_file(what, Path::new(path))
}

/// A child gets the environment without what this client keeps secret.
fn withhold_secrets(reader: &Reader<'_>, targets: &mut BTreeMap<Channel, TargetSettings>) {
    for target in targets.values_mut() {
        if let TargetSettings::Stdio(settings) = target {
            let known = SECRET_VARIABLES.into_iter().map(Into::into);
            let named = reader.secret_variables.iter().map(Into::into);
            settings.withheld_variables = known.chain(named).collect();
        }
    }
}

fn table(channel: &Channel) -> String {
    format!("targets.{channel}")
}

impl Place {
    fn origin(&self) -> &Origin {
        match self {
            Self::Command(given) | Self::Url(given) => &given.origin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_name_their_channel_or_are_for_main() {
        for (key, text, channel, place) in [
            ("url", "http://a/mcp", "main", "http://a/mcp"),
            (
                "url",
                "http://a/?x=1,channel=y",
                "main",
                "http://a/?x=1,channel=y",
            ),
            (
                "url",
                "channel=Tools,url=http://a/b,c",
                "tools",
                "http://a/b,c",
            ),
            ("url", "url=http://a,channel=tools", "tools", "http://a"),
            ("url", "url=http://a", "main", "http://a"),
            ("command", "npx -y a, b", "main", "npx -y a, b"),
            ("command", "channel=t,command=x --a=1,2", "t", "x --a=1,2"),
            ("command", "env A=1 x", "main", "env A=1 x"),
        ] {
            let read = entry(key, text).map(|(channel, text)| (channel.to_string(), text));
            assert_eq!(read, Ok((channel.to_owned(), place.to_owned())), "{text}");
        }
        for (key, text) in [
            ("url", "channel=a"),
            ("url", "channel=a,http-proxy=b,url=c"),
            ("command", "channel=a,url=b"),
        ] {
            let expected = format!("expected `channel=NAME,{key}=...`");
            assert_eq!(entry(key, text), Err(expected), "{text}");
        }
        assert!(entry("url", "channel=a b,url=http://c").is_err());
    }

    #[test]
    fn what_is_shown_holds_no_path_no_query_and_no_argument() {
        let whole = |text: &str| ShownValue::Text(text.to_owned());
        let part = |text: &str| ShownValue::Part(text.to_owned());
        for (url, shown) in [
            ("http://a/mcp?key=secret#x", part("http://a/...")),
            ("https://a:8/secret/mcp", part("https://a:8/...")),
            ("http://a/?secret", part("http://a/...")),
            ("http://a:8#x", whole("http://a:8/")),
        ] {
            assert_eq!(shown_url(&Url::parse(url).unwrap()), shown, "{url}");
        }
        for (command, shown) in [
            ("npx", whole("npx")),
            ("'a b'", whole("'a b'")),
            ("npx secret", part("npx (and 1 argument)")),
            ("npx -y 'a b'", part("npx (and 2 arguments)")),
        ] {
            assert_eq!(shown_command(command), shown);
        }
    }
}
