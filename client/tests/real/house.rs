//! A service, the client that works for it, and the server that the client runs commands on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use moorline::model::backoff::Backoff;
use moorline::model::wire::Channel;
use moorline::run::{Client, ClientSettings, TargetSettings};
use moorline::target::{CommandLine, HttpTargetSettings, StdioTargetSettings};
use moorline::telemetry::{Facts, Telemetry};
use moorline::{ApiKey, Endpoint, Settings, TunnelId};
use moorline_fixtures::fake::{FakeConfig, FakeService, Record};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::cases::{Runner, Scene};
use crate::installed::Installed;
use crate::program::{Running, moorline, signal};
use crate::record::{Post, Reply, posts};
use crate::servers::{HttpServer, Transport, noted};

const KEY: &str = "real-servers-key-4b1e";
const TUNNEL: &str = "real-servers-tunnel-80c3";

/// Where the tunnel is placed at first.
pub const FIRST_PLACE: &str = "berth-1";

/// How long a client may take to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command, but for its `request_id`.
#[derive(Default)]
pub struct Order {
    /// The JSON-RPC message. Without one it is the termination of a session.
    pub message: Option<Value>,
    /// Names to lists of values.
    pub headers: Value,
    pub response_timeout: Option<&'static str>,
}

pub struct House {
    pub service: FakeService,
    pub http: Option<HttpServer>,
    /// A folder of this case's own.
    pub folder: PathBuf,
    client: ClientAtWork,
    /// Each command with the token that it was queued with.
    ordered: Mutex<BTreeMap<String, String>>,
    last_order: AtomicU64,
}

enum ClientAtWork {
    /// On tasks of this process.
    Inside {
        stop: CancellationToken,
        running: JoinHandle<usize>,
        telemetry: Arc<Telemetry>,
    },
    /// The program, configured by variables of its environment alone.
    Program(Running),
}

impl House {
    pub async fn open(scene: &Scene, installed: &Installed) -> Self {
        Self::open_with(scene, installed, None).await
    }

    /// With a limit for the life of a call of the server.
    pub async fn open_with(
        scene: &Scene,
        installed: &Installed,
        max_ttl: Option<Duration>,
    ) -> Self {
        let folder = scene.folder();
        // What an earlier run left.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(files(&folder)).unwrap();
        let service = FakeService::start(FakeConfig {
            api_key: KEY.to_owned(),
            ..FakeConfig::default()
        })
        .unwrap();
        service.add_tunnel(TUNNEL, FIRST_PLACE).unwrap();
        service.set_corrections(true);
        let words = scene
            .server
            .words(scene.transport, installed, &files(&folder));
        let words = noted(&words, &pids(&folder));
        let (http, target) = if scene.transport == Transport::Stdio {
            let words = words.iter().map(String::as_str);
            (None, Target::Command(shlex::try_join(words).unwrap()))
        } else {
            let server = HttpServer::start(words, folder.join("stderr")).await;
            let url = server.url().to_owned();
            (Some(server), Target::Url(url))
        };
        let client = match scene.runner {
            Runner::Inside => start_inside(&service, target, max_ttl).await,
            Runner::Program => start_program(&service, &target, max_ttl),
        };
        Self {
            service,
            http,
            folder,
            client,
            ordered: Mutex::default(),
            last_order: AtomicU64::new(0),
        }
    }

    /// Where the file system server may write.
    pub fn files(&self) -> PathBuf {
        files(&self.folder)
    }

    /// Queues a command and gives its `request_id`.
    pub fn order(&self, order: Order) -> String {
        let number = self.last_order.fetch_add(1, Ordering::Relaxed) + 1;
        let request_id = format!("request-{number}");
        let mut command = json!({ "request_id": request_id, "headers": order.headers });
        match order.message {
            Some(message) => {
                command["command_type"] = json!("jsonrpc");
                command["jsonrpc"] = message;
            }
            None => command["command_type"] = json!("session_termination"),
        }
        if let Some(limit) = order.response_timeout {
            command["response_timeout"] = json!(limit);
        }
        let token = self.service.placement(TUNNEL).unwrap().token;
        self.service.enqueue(TUNNEL, command).unwrap();
        let mut ordered = self.ordered.lock().unwrap();
        ordered.insert(request_id.clone(), token);
        request_id
    }

    /// Waits for the answer to a command.
    pub async fn reply(&self, request_id: &str) -> Reply {
        let answered = |record: &Record| {
            let posts = posts(record, request_id);
            posts.last().is_some_and(Post::is_final)
        };
        let record = self.until(request_id, answered).await;
        let mut notes = posts(&record, request_id);
        let answer = notes.pop().unwrap();
        assert!(!notes.iter().any(Post::is_final), "answered twice");
        Reply { notes, answer }
    }

    /// Waits for the first notification or request of the server with this method that comes for a command.
    pub async fn first_note(&self, request_id: &str, method: &str) -> Post {
        let find = |record: &Record| {
            let mut notes = posts(record, request_id).into_iter();
            notes.find(|note| note.json["method"] == method)
        };
        let record = self
            .until(request_id, |record| find(record).is_some())
            .await;
        let note = find(&record).unwrap();
        assert_eq!((&*note.kind, note.code), ("jsonrpc_notify", 200));
        note
    }

    /// Waits for the first progress notification of a command: it runs.
    pub async fn first_progress(&self, request_id: &str) {
        self.first_note(request_id, "notifications/progress").await;
    }

    /// Waits for what the service has seen.
    pub async fn until(&self, what: &str, condition: impl Fn(&Record) -> bool) -> Record {
        // The service waits half a minute, which a busy machine may need for a start of Python alone.
        for _ in 0..3 {
            if let Ok(record) = self.service.wait_until(&condition).await {
                return record;
            }
        }
        panic!("{what}: not in time: {:?}", self.service.record().responses);
    }

    /// Moves the tunnel and waits until polls follow.
    pub async fn reassign(&self, place: &str) {
        self.service.reassign(TUNNEL, place).unwrap();
        let moved = |record: &Record| {
            let last = record.polls().last();
            last.and_then(|poll| poll.sole_header("x-tunnel-shard-token")) == Some(place.as_bytes())
        };
        self.until(place, moved).await;
    }

    /// The processes that were started as the server, in order.
    pub fn pids(&self) -> Vec<String> {
        let text = std::fs::read_to_string(pids(&self.folder)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// What a client in this process counts.
    pub fn facts(&self) -> Option<Facts> {
        match &self.client {
            ClientAtWork::Inside { telemetry, .. } => Some(telemetry.facts()),
            ClientAtWork::Program(_) => None,
        }
    }

    /// Ends everything, and checks that every command was answered exactly once, under its own token, but for
    /// those that were to be answered with silence; and that no process is left.
    pub async fn close(self, silent: &[&str]) -> Record {
        let pids = self.pids();
        assert!(!pids.is_empty(), "no server was started");
        match self.client {
            ClientAtWork::Inside { stop, running, .. } => {
                stop.cancel();
                let cut_short = timeout(PATIENCE, running).await.expect("it ends").unwrap();
                assert_eq!(cut_short, 0);
            }
            ClientAtWork::Program(mut program) => {
                program.signal("TERM");
                assert_eq!(program.end().await, 0, "{}", program.stderr);
            }
        }
        if let Some(server) = self.http {
            server.stop().await;
        }
        for pid in &pids {
            assert!(!signal("0", pid), "a server is left: {pid}");
        }
        let record = self.service.record();
        let ordered = self.ordered.into_inner().unwrap();
        check(&record, &ordered, silent);
        record
    }
}

/// What the client is given to reach its server.
enum Target {
    Command(String),
    Url(String),
}

async fn start_inside(
    service: &FakeService,
    target: Target,
    max_ttl: Option<Duration>,
) -> ClientAtWork {
    let mut control_plane = Settings::new(
        Endpoint::parse(&service.endpoint()).unwrap(),
        TunnelId::new(TUNNEL).unwrap(),
        ApiKey::new(KEY).unwrap(),
    );
    let (least, most) = (Duration::from_millis(1), Duration::from_millis(20));
    control_plane.backoff = Backoff::new(least, most).unwrap();
    let target = match target {
        Target::Command(text) => {
            TargetSettings::Stdio(StdioTargetSettings::new(CommandLine::parse(&text).unwrap()))
        }
        Target::Url(url) => {
            TargetSettings::Http(Box::new(HttpTargetSettings::new(url.parse().unwrap())))
        }
    };
    let targets = BTreeMap::from([(Channel::main(), target)]);
    let mut settings = ClientSettings::new(control_plane, targets);
    if let Some(max_ttl) = max_ttl {
        settings.dispatch.max_ttl = max_ttl;
    }
    let client = Client::start(settings).await.unwrap();
    let telemetry = Arc::clone(client.telemetry());
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    let running = tokio::spawn(async move { client.run(&stopped).await.cut_short });
    ClientAtWork::Inside {
        stop,
        running,
        telemetry,
    }
}

fn start_program(
    service: &FakeService,
    target: &Target,
    max_ttl: Option<Duration>,
) -> ClientAtWork {
    let mut command: Command = moorline(&["run"]);
    command
        .env_remove("API_KEY")
        .env("CONTROL_PLANE_BASE_URL", service.endpoint())
        .env("CONTROL_PLANE_TUNNEL_ID", TUNNEL)
        .env("CONTROL_PLANE_API_KEY", KEY)
        .env("HEALTH_LISTEN_ADDR", "127.0.0.1:0");
    match target {
        Target::Command(text) => command.env("MCP_COMMAND", text),
        Target::Url(url) => command.env("MCP_SERVER_URL", url),
    };
    if let Some(max_ttl) = max_ttl {
        command.env(
            "MCP_CONNECTION_MAX_TTL",
            format!("{}ms", max_ttl.as_millis()),
        );
    }
    ClientAtWork::Program(Running::start(command))
}

/// Every command once, its notifications before its answer, and all under its own token.
fn check(record: &Record, ordered: &BTreeMap<String, String>, silent: &[&str]) {
    for (request_id, token) in ordered {
        let posts = posts(record, request_id);
        assert!(posts.iter().all(|post| post.token == *token), "{posts:?}");
        let finals: Vec<_> = posts.iter().map(Post::is_final).collect();
        let count = finals.iter().filter(|is_final| **is_final).count();
        if silent.contains(&&**request_id) {
            assert_eq!(count, 0, "{posts:?}");
        } else {
            assert_eq!((count, finals.last()), (1, Some(&true)), "{posts:?}");
        }
    }
    let sent = record.requests.iter().filter(|one| one.method == "POST");
    assert_eq!(
        sent.count(),
        record.responses.len(),
        "every POST was accepted"
    );
    let known =
        |one: &moorline_fixtures::fake::AcceptedResponse| ordered.contains_key(&one.request_id);
    assert!(record.responses.iter().all(known));
}

fn files(folder: &Path) -> PathBuf {
    folder.join("files")
}

fn pids(folder: &Path) -> PathBuf {
    folder.join("pids")
}
