//! What commands cost, from the queue of a service to the accepted answer, beside a bare exchange of
//! the same messages.
//!
//! `cargo bench -p moorline --bench commands`; with `-- --test`, once and small. A service and a
//! trivial MCP server over HTTP run in this process. Each contender is a process of its own: the
//! program as its users run it, the same with more room for commands that wait (a poller whose queue
//! is full rests before it polls again), and a loop of plain reqwest calls that fetches commands,
//! posts them to the server and posts what comes back. They take turns, so that a change of the
//! machine's speed hits all of them; ratios are taken turn by turn, and medians are printed. Every
//! answer is checked.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark stops at anything that it does not expect"
)]

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

const WORKERS: usize = 64;
const IN_FLIGHT: usize = 256;
const PAYLOAD: usize = 1024;
const KEY: &str = "bench-key";

/// Who takes part; the last one is what the others are compared to.
const CONTENDERS: [Contender; 3] = [
    Contender {
        name: "moorline run",
        tunnel: "default",
        queue: Some(IN_FLIGHT),
    },
    Contender {
        name: "moorline run, longer queue",
        tunnel: "longer",
        queue: Some(2 * IN_FLIGHT),
    },
    Contender {
        name: "bare reqwest",
        tunnel: "bare",
        queue: None,
    },
];

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|word| word == "--bare") {
        return runtime().block_on(bare(&arguments[at + 1]));
    }
    if !std::path::Path::new("/proc/self/schedstat").exists() {
        println!("commands needs Linux's CPU accounting; nothing was measured");
        return;
    }
    let is_test = arguments.iter().any(|word| word == "--test");
    let size = if is_test { Size::SMALL } else { Size::FULL };
    runtime().block_on(measure(size));
}

fn runtime() -> tokio::runtime::Runtime {
    // As many threads as `moorline run` has.
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
}

/// How much is measured.
#[derive(Clone, Copy)]
struct Size {
    turns: usize,
    loaded: usize,
    alone: usize,
    idle: Duration,
}

impl Size {
    const FULL: Self = Self {
        turns: 7,
        loaded: 10_000,
        alone: 500,
        idle: Duration::from_secs(10),
    };
    const SMALL: Self = Self {
        turns: 1,
        loaded: 300,
        alone: 10,
        idle: Duration::from_millis(200),
    };
}

async fn measure(size: Size) {
    let (address, service) = serve().await;
    let contenders = CONTENDERS.map(|contender| Running::start(contender, address));
    // A first answer says that each is there, and warms it up.
    for contender in &contenders {
        let load = service.tunnel(contender.what.tunnel);
        load.run(size.loaded.min(1_000), IN_FLIGHT).await;
    }
    tokio::time::sleep(size.idle.min(Duration::from_secs(1))).await;
    print_idle(&contenders, size.idle).await;
    for (in_flight, commands) in [(IN_FLIGHT, size.loaded), (1, size.alone)] {
        let mut turns: [Vec<Turn>; 3] = Default::default();
        for _ in 0..size.turns {
            for (contender, turns) in contenders.iter().zip(&mut turns) {
                let load = service.tunnel(contender.what.tunnel);
                turns.push(contender.turn(&load, commands, in_flight).await);
            }
        }
        print_turns(in_flight, commands, &turns);
    }
    let peaks = contenders.iter().map(|contender| {
        let mib = contender.kib("VmHWM") / 1024.0;
        format!("{} {mib:.1} MiB", contender.what.name)
    });
    println!(
        "greatest resident memory: {}",
        peaks.collect::<Vec<_>>().join(", ")
    );
}

async fn print_idle(contenders: &[Running], idle: Duration) {
    let before: Vec<u64> = contenders.iter().map(Running::cpu_nanos).collect();
    tokio::time::sleep(idle).await;
    println!("idle for {idle:?}, one poll held:");
    for (contender, before) in contenders.iter().zip(before) {
        let used = Duration::from_nanos(contender.cpu_nanos() - before);
        println!(
            "  {:<29} {:>7.4} % of one core, {:>5.1} MiB resident",
            contender.what.name,
            100.0 * used.as_secs_f64() / idle.as_secs_f64(),
            contender.kib("VmRSS") / 1024.0,
        );
    }
}

/// What one turn came to.
struct Turn {
    rate: f64,
    p50: f64,
    p99: f64,
    cpu: f64,
}

fn print_turns(in_flight: usize, commands: usize, turns: &[Vec<Turn>; 3]) {
    let count = turns[0].len();
    println!(
        "{in_flight} in flight, {WORKERS} workers, {PAYLOAD} bytes each way: {count} turns of \
         {commands} commands, medians"
    );
    println!(
        "  {:<29} {:>10} {:>9} {:>9} {:>12}   of bare reqwest: rate, p50, p99, CPU",
        "", "commands/s", "p50 ms", "p99 ms", "CPU us each"
    );
    let [.., bare] = turns;
    for (contender, turns) in CONTENDERS.iter().zip(turns) {
        let value = |of: fn(&Turn) -> f64| median(turns.iter().map(of));
        let ratio = |of: fn(&Turn) -> f64| {
            let pairs = turns.iter().zip(bare);
            median(pairs.map(|(turn, bare)| of(turn) / of(bare)))
        };
        println!(
            "  {:<29} {:>10.0} {:>9.2} {:>9.2} {:>12.1}   {:.2}, {:.2}, {:.2}, {:.2}",
            contender.name,
            value(|turn| turn.rate),
            value(|turn| turn.p50),
            value(|turn| turn.p99),
            value(|turn| turn.cpu),
            ratio(|turn| turn.rate),
            ratio(|turn| turn.p50),
            ratio(|turn| turn.p99),
            ratio(|turn| turn.cpu),
        );
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[derive(Clone, Copy)]
struct Contender {
    name: &'static str,
    tunnel: &'static str,
    /// How many received commands may wait; `None` for the bare loop, which does not say.
    queue: Option<usize>,
}

/// A contender in a process of its own.
struct Running {
    what: Contender,
    child: Child,
}

impl Running {
    fn start(what: Contender, address: SocketAddr) -> Self {
        let mut command = match what.queue {
            Some(queue) => program(what.tunnel, queue, address),
            None => {
                let mut command = Command::new(std::env::current_exe().expect("this program"));
                command
                    .arg("--bare")
                    .arg(format!("{address}/{}", what.tunnel));
                command
            }
        };
        if what.queue.is_some() {
            // Log lines are written, and read by nobody.
            command.stderr(Stdio::null());
        }
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
        let child = quiet.spawn().expect("a contender");
        Self { what, child }
    }

    async fn turn(&self, load: &Load, commands: usize, in_flight: usize) -> Turn {
        let cpu = self.cpu_nanos();
        let (elapsed, mut latencies) = load.run(commands, in_flight).await;
        let cpu = self.cpu_nanos() - cpu;
        latencies.sort_unstable();
        let ms = |part: usize| latencies[(latencies.len() - 1) * part / 100].as_secs_f64() * 1e3;
        Turn {
            rate: commands as f64 / elapsed.as_secs_f64(),
            p50: ms(50),
            p99: ms(99),
            cpu: cpu as f64 / commands as f64 / 1e3,
        }
    }

    /// CPU time of all its threads, in nanoseconds.
    fn cpu_nanos(&self) -> u64 {
        let tasks = format!("/proc/{}/task", self.child.id());
        let nanos = std::fs::read_dir(tasks).expect("it runs").map(|task| {
            let file = task.expect("a thread").path().join("schedstat");
            // A thread may end between the two.
            let text = std::fs::read_to_string(file).unwrap_or_default();
            let first = text.split_whitespace().next();
            first.map_or(0, |nanos| nanos.parse::<u64>().expect("a number"))
        });
        nanos.sum()
    }

    /// A value of its status, in KiB.
    fn kib(&self, name: &str) -> f64 {
        let file = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(file).expect("it runs");
        let mut lines = text.lines().filter(|line| line.starts_with(name));
        let line = lines.next().expect("the value");
        let value = line.split_whitespace().nth(1).expect("a number");
        value.parse().expect("a number")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program(tunnel: &str, queue: usize, address: SocketAddr) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_moorline"));
    command.arg("run").env_clear();
    command
        .env("CONTROL_PLANE_BASE_URL", format!("http://{address}"))
        .env("CONTROL_PLANE_TUNNEL_ID", tunnel)
        .env("CONTROL_PLANE_API_KEY", KEY)
        .env("CONTROL_PLANE_MAX_INFLIGHT_REQUESTS", queue.to_string())
        .env("MCP_SERVER_URL", format!("http://{address}/mcp"))
        .env("MCP_MAX_CONCURRENT_REQUESTS", WORKERS.to_string())
        .env("HEALTH_LISTEN_ADDR", "127.0.0.1:0");
    command
}

/// The service: one load for each tunnel.
struct Service {
    tunnels: HashMap<&'static str, Arc<Load>>,
}

impl Service {
    fn tunnel(&self, name: &str) -> Arc<Load> {
        Arc::clone(&self.tunnels[name])
    }
}

/// The commands of one tunnel.
struct Load {
    state: Mutex<State>,
    /// Changes with every command that is queued and with the last answer.
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    queue: VecDeque<usize>,
    /// When each command of this run was queued.
    born: Vec<Instant>,
    latencies: Vec<Option<Duration>>,
    answered: usize,
    total: usize,
    /// The number of the run, so that no answer is taken for one of another run.
    run: usize,
}

impl Load {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            changed: watch::Sender::new(()),
        })
    }

    /// Keeps so many commands in flight until all are answered.
    async fn run(&self, total: usize, in_flight: usize) -> (Duration, Vec<Duration>) {
        let begun = Instant::now();
        {
            let mut state = self.state.lock().unwrap();
            let run = state.run + 1;
            *state = State {
                latencies: vec![None; total],
                total,
                run,
                ..State::default()
            };
            for _ in 0..in_flight.min(total) {
                state.queue_one();
            }
        }
        self.changed.send_replace(());
        let mut changed = self.changed.subscribe();
        let is_done = || {
            let state = self.state.lock().unwrap();
            state.answered == state.total
        };
        let done = changed.wait_for(|()| is_done());
        let in_time = tokio::time::timeout(Duration::from_secs(120), done).await;
        in_time.expect("every command is answered in time").unwrap();
        let elapsed = begun.elapsed();
        let state = self.state.lock().unwrap();
        let latencies = state
            .latencies
            .iter()
            .map(|latency| latency.expect("an answer"));
        (elapsed, latencies.collect())
    }

    /// Waits for commands, at most half a minute.
    async fn take(&self, limit: usize) -> Option<String> {
        let mut changed = self.changed.subscribe();
        let end = tokio::time::Instant::now() + Duration::from_secs(30);
        loop {
            changed.borrow_and_update();
            if let Some(envelope) = self.state.lock().unwrap().envelope(limit) {
                return Some(envelope);
            }
            tokio::time::timeout_at(end, changed.changed())
                .await
                .ok()?
                .unwrap();
        }
    }

    fn answered(&self, token: &str, answer: &Answer) {
        let mut state = self.state.lock().unwrap();
        let number: usize = answer.request_id.parse().expect("a number");
        assert_eq!(token, state.token(number), "the token of the command");
        assert_eq!(
            (answer.resp_type, answer.resp_code),
            ("jsonrpc_response", 200)
        );
        assert!(answer.resp_json.get().len() > PAYLOAD, "a whole answer");
        let latency = state.born[number].elapsed();
        let before = state.latencies[number].replace(latency);
        assert_eq!(before, None, "answered once");
        state.answered += 1;
        if state.born.len() < state.total {
            state.queue_one();
        }
        drop(state);
        self.changed.send_replace(());
    }
}

impl State {
    fn queue_one(&mut self) {
        self.queue.push_back(self.born.len());
        self.born.push(Instant::now());
    }

    fn token(&self, number: usize) -> String {
        format!("place-{}-{number}", self.run)
    }

    fn envelope(&mut self, limit: usize) -> Option<String> {
        let count = limit.min(self.queue.len());
        let numbers: Vec<usize> = self.queue.drain(..count).collect();
        let text = "x".repeat(PAYLOAD);
        let commands = numbers.iter().map(|number| {
            let token = self.token(*number);
            format!(
                r#"{{"request_id":"{number}","shard_token":"{token}","command_type":"jsonrpc","channel":"main","jsonrpc":{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{text}"}}}}}}}}"#
            )
        });
        let commands: Vec<String> = commands.collect();
        (count > 0).then(|| format!(r#"{{"commands":[{}]}}"#, commands.join(",")))
    }
}

#[derive(Deserialize)]
struct Answer<'a> {
    request_id: &'a str,
    resp_type: &'a str,
    resp_code: u16,
    #[serde(borrow)]
    resp_json: &'a RawValue,
}

#[derive(Deserialize)]
struct Asked<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
}

async fn serve() -> (SocketAddr, Arc<Service>) {
    let tunnels = CONTENDERS.map(|contender| (contender.tunnel, Load::new()));
    let service = Arc::new(Service {
        tunnels: tunnels.into(),
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let shared = Arc::clone(&service);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            stream.set_nodelay(true).expect("nodelay");
            let service = Arc::clone(&shared);
            tokio::spawn(async move {
                let handle = service_fn(move |request| answer(request, Arc::clone(&service)));
                // A contender may leave at any time.
                let _ = http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), handle)
                    .await;
            });
        }
    });
    (address, service)
}

async fn answer(
    request: Request<Incoming>,
    service: Arc<Service>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.expect("a body").to_bytes();
    if head.uri.path() == "/mcp" {
        return Ok(json(call(&body)));
    }
    let rest = head
        .uri
        .path()
        .strip_prefix("/v1/tunnels/")
        .expect("a path");
    let (tunnel, operation) = rest.split_once('/').unwrap_or((rest, ""));
    let load = service.tunnel(tunnel);
    Ok(match (head.method, operation) {
        (Method::GET, "") => json("{}".to_owned()),
        (Method::GET, "poll") => match load.take(limit(head.uri.query())).await {
            Some(envelope) => json(envelope),
            None => {
                let mut empty = Response::default();
                *empty.status_mut() = StatusCode::NO_CONTENT;
                empty
            }
        },
        (Method::POST, "response") => {
            let token = head.headers["x-tunnel-shard-token"].to_str().unwrap();
            load.answered(token, &serde_json::from_slice(&body).expect("an answer"));
            json("{}".to_owned())
        }
        other => panic!("no operation of the service: {other:?}"),
    })
}

/// The trivial MCP server: as much text back as came.
fn call(body: &[u8]) -> String {
    let asked: Asked<'_> = serde_json::from_slice(body).expect("a request");
    let text = "y".repeat(PAYLOAD);
    format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#,
        asked.id
    )
}

fn limit(query: Option<&str>) -> usize {
    let pairs = query.unwrap_or_default().split('&');
    let mut limits = pairs.filter_map(|pair| pair.strip_prefix("limit="));
    limits.next().expect("a limit").parse().expect("a number")
}

fn json(body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    let value = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert("content-type", value);
    response
}

#[derive(Deserialize)]
struct Envelope {
    commands: Vec<BareCommand>,
}

#[derive(Deserialize)]
struct BareCommand {
    request_id: String,
    shard_token: String,
    jsonrpc: Box<RawValue>,
}

/// What the least client would do: fetch, call, post, with nothing checked, counted or logged.
async fn bare(place: &str) {
    let (address, tunnel) = place.split_once('/').expect("an address and a tunnel");
    // The HTTP library wants one although nothing here is encrypted.
    rustls::crypto::ring::default_provider()
        .install_default()
        .expect("the only provider");
    let client = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client");
    let base = format!("http://{address}/v1/tunnels/{tunnel}");
    let post: Arc<str> = format!("{base}/response").into();
    let mcp: Arc<str> = format!("http://{address}/mcp").into();
    let workers = Arc::new(Semaphore::new(WORKERS));
    loop {
        let url = format!("{base}/poll?limit=25&timeout_ms=30000");
        let polled = client
            .get(url)
            .bearer_auth(KEY)
            .send()
            .await
            .expect("a poll");
        if polled.status() == 204 {
            continue;
        }
        let body = polled.bytes().await.expect("a body");
        let envelope: Envelope = serde_json::from_slice(&body).expect("an envelope");
        for command in envelope.commands {
            let (client, workers) = (client.clone(), Arc::clone(&workers));
            let (post, mcp) = (Arc::clone(&post), Arc::clone(&mcp));
            tokio::spawn(async move {
                let _worker = workers.acquire_owned().await.expect("a worker");
                bare_command(&client, &mcp, &post, command).await;
            });
        }
    }
}

async fn bare_command(client: &reqwest::Client, mcp: &str, post: &str, command: BareCommand) {
    let message = Box::<str>::from(command.jsonrpc).into_string();
    let json = "application/json";
    let asked = client.post(mcp).header("content-type", json).body(message);
    let answer = asked
        .send()
        .await
        .expect("an answer")
        .text()
        .await
        .expect("text");
    let id = command.request_id;
    let body = format!(
        r#"{{"request_id":"{id}","channel":"main","resp_json":{answer},"resp_code":200,"resp_type":"jsonrpc_response"}}"#
    );
    let post = client
        .post(post)
        .bearer_auth(KEY)
        .header("content-type", json);
    let post = post.header("x-tunnel-shard-token", command.shard_token);
    let accepted = post.body(body).send().await.expect("a response");
    assert!(accepted.status().is_success());
    accepted.bytes().await.expect("a body");
}
