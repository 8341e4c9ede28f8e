//! Checks that contact nobody.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use moorline_model::schedule::LongPoll;
use moorline_model::wire::{Channel, ServerInfo};
use tokio::net::TcpListener;

use super::super::config::{Area, Loaded};
use super::super::io_fault::why;
use super::super::logging::{self, Destination};
use super::neighbour::is_moorline;
use super::report::Check;
use super::unusable;
use crate::monitor::ListenAddress;
use crate::run::TargetSettings;
use crate::target::{AnyTarget, CommandLine};
use crate::telemetry::Telemetry;
use crate::{ControlPlane, Settings};

/// How long the service may hold the one poll that is made.
const SHORT_POLL: Duration = Duration::from_secs(2);

/// Whether the settings are usable.
pub(super) fn configuration(loaded: &Loaded) -> Check {
    const NAME: &str = "configuration";
    let faults = faults(loaded, Area::Settings);
    let check = if faults.is_empty() {
        let targets = loaded.targets.len().saturating_add(loaded.unusable.len());
        let evidence = format!(
            "{} settings in force, MCP servers: {targets}",
            loaded.shown.len()
        );
        let check = Check::pass(NAME, evidence);
        if loaded.warnings.is_empty() {
            return check;
        }
        check.then("rename or unset the variables that have no effect")
    } else {
        failed(NAME, faults).then("correct them; `moorline config print` shows what is in force")
    };
    check.with_details(loaded.warnings.clone())
}

/// Whether secrets are where the settings say.
pub(super) fn secrets(loaded: &Loaded) -> Check {
    const NAME: &str = "secrets";
    if loaded.is_unreadable {
        return unusable(NAME);
    }
    let faults = faults(loaded, Area::Secrets);
    if !faults.is_empty() {
        return failed(NAME, faults).then("set the variable, or correct the path or its rights");
    }
    let open = open_files(&loaded.secret_files);
    if let Some(path) = open.writable.first() {
        return Check::fail(NAME, format!("everybody on this machine may write {path}"))
            .then(format!("chmod 600 {path}"));
    }
    let evidence = "every secret is there and readable";
    match open.readable.first() {
        Some(path) => Check::pass(
            NAME,
            format!("{evidence}; others on this machine may read {path}"),
        )
        .then(format!("chmod 600 {path}, unless others must read it")),
        None => Check::pass(NAME, evidence),
    }
}

/// Whether the log can be written, if it is to go to a file.
pub(super) fn log(loaded: &Loaded) -> Option<Check> {
    const NAME: &str = "log";
    let Destination::File(path) = &loaded.log.destination else {
        return None;
    };
    // What is wrong at first sight is a fault of the configuration.
    logging::can_hold(path).ok()?;
    let name = path.display();
    Some(match logging::try_open(path) {
        Ok(()) => Check::pass(NAME, format!("{name} can be written")),
        Err(error) => Check::fail(NAME, format!("{name} cannot be written: {}", why(&error)))
            .then("give LOG_FILE another path, or correct the rights of this one"),
    })
}

/// What the remaining checks use.
pub(super) struct Made {
    pub(super) check: Check,
    pub(super) control_plane: Option<ControlPlane>,
    pub(super) targets: BTreeMap<Channel, AnyTarget>,
    /// What starts those that are started.
    pub(super) commands: BTreeMap<Channel, CommandLine>,
    pub(super) monitor: Option<ListenAddress>,
}

/// Makes the clients, which shows whether certificates, keys and proxies are usable.
pub(super) fn make(loaded: Loaded) -> Made {
    let is_unreadable = loaded.is_unreadable;
    let mut faults = faults(&loaded, Area::Trust);
    let telemetry = Arc::new(Telemetry::new());
    let info = loaded
        .targets
        .iter()
        .map(|(channel, target)| (channel.clone(), matches!(target, TargetSettings::Stdio(_))));
    let info = ServerInfo::new(info).map_err(|fault| faults.push(fault.to_string()));
    let (mut targets, mut commands) = (BTreeMap::new(), BTreeMap::new());
    for (channel, target) in loaded.targets {
        if let TargetSettings::Stdio(settings) = &target {
            commands.insert(channel.clone(), settings.command.clone());
        }
        match target.build(&channel, &telemetry) {
            Ok(target) => {
                targets.insert(channel, target);
            }
            Err(error) => faults.push(format!("the MCP server of the channel {channel}: {error}")),
        }
    }
    let evidence = trusted(loaded.control_plane.as_ref());
    let control_plane = loaded.control_plane.and_then(|mut settings| {
        settings.server_info = info.ok();
        // Nobody wants to watch an idle service hold a poll for half a minute.
        let wait = settings.long_poll.wait().min(SHORT_POLL);
        settings.long_poll = LongPoll::new(wait, settings.long_poll.guardrail());
        let made = ControlPlane::connect(settings);
        made.map_err(|error| faults.push(error.to_string())).ok()
    });
    Made {
        check: if is_unreadable {
            unusable(TRUST)
        } else if faults.is_empty() {
            Check::pass(TRUST, evidence)
        } else {
            failed(TRUST, faults).then("correct the file or the URL that is named")
        },
        control_plane,
        targets,
        commands,
        monitor: loaded.monitor,
    }
}

const TRUST: &str = "certificates";

fn trusted(settings: Option<&Settings>) -> &'static str {
    match settings {
        Some(settings) if !settings.endpoint.is_encrypted() => {
            "the endpoint is plain http: no certificate is asked for"
        }
        Some(settings) if settings.ca_bundle.is_some() => {
            "the system's certificates and those of the CA bundle are trusted"
        }
        _ => "the system's certificates are trusted",
    }
}

/// Whether the monitor can listen.
pub(super) async fn monitor(address: Option<ListenAddress>) -> Check {
    const NAME: &str = "monitor";
    let Some(address) = address.map(ListenAddress::get) else {
        return Check::skip(NAME, "it is off");
    };
    match TcpListener::bind(address).await {
        Ok(_) if address.port() == 0 => {
            Check::pass(NAME, format!("any free port of {}", address.ip()))
        }
        Ok(_) => Check::pass(NAME, format!("{address} is free")),
        Err(error) if error.kind() == ErrorKind::AddrInUse && is_moorline(address).await => {
            Check::pass(NAME, format!("a client runs here already, at {address}"))
                .then("another client beside it needs another --health-listen-addr")
        }
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            Check::fail(NAME, format!("{address} is in use")).then(
                "stop what listens there, or give --health-listen-addr another address, or off",
            )
        }
        Err(error) => {
            let evidence = format!("{address} cannot be listened on: {}", error.kind());
            Check::fail(NAME, evidence).then("give --health-listen-addr an address of this machine")
        }
    }
}

fn faults(loaded: &Loaded, area: Area) -> Vec<String> {
    let faults = loaded.faults.iter();
    faults
        .filter(|fault| fault.area == area)
        .map(|fault| fault.text.clone())
        .collect()
}

fn failed(name: &str, mut faults: Vec<String>) -> Check {
    match faults.len() {
        1 => Check::fail(name, faults.remove(0)),
        more => Check::fail(name, format!("{more} faults")).with_details(faults),
    }
}

/// Files that more than their owner may use.
#[derive(Default)]
struct OpenFiles {
    readable: Vec<String>,
    writable: Vec<String>,
}

#[cfg(unix)]
fn open_files(paths: &[String]) -> OpenFiles {
    use std::os::unix::fs::PermissionsExt;
    const OTHERS_WRITE: u32 = 0o002;
    const NOT_OWNER: u32 = 0o077;
    let mut open = OpenFiles::default();
    for path in paths {
        // A file that is not there is a fault of its own.
        let Ok(facts) = std::fs::metadata(path) else {
            continue;
        };
        let mode = facts.permissions().mode();
        if mode & OTHERS_WRITE != 0 {
            open.writable.push(path.clone());
        } else if mode & NOT_OWNER != 0 {
            open.readable.push(path.clone());
        }
    }
    open
}

/// Rights have another form elsewhere, which is not judged.
#[cfg(not(unix))]
fn open_files(_: &[String]) -> OpenFiles {
    OpenFiles::default()
}
