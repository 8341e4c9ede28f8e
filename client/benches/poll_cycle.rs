//! What one poll costs beside a bare request of the same exchange, and what parked polls cost.
//!
//! `cargo bench -p moorline --bench poll_cycle`. The service runs in a process of its own; CPU time
//! is that of the client's one thread, as Linux accounts it. Contenders take turns, so that a change
//! of the machine's speed hits all of them; ratios are taken turn by turn, and medians are printed.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark stops at anything that it does not expect"
)]

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::num::{NonZeroU16, NonZeroUsize};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use moorline::{ApiKey, ControlPlane, Endpoint, Poller, PollerOptions, Settings, TunnelId};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

const ROUNDS: usize = 41;
const POLLS_A_ROUND: usize = 1_000;
const PARKED: usize = 1_000;

fn main() {
    if std::env::args().any(|argument| argument == "--serve") {
        return runtime().block_on(serve());
    }
    if !std::path::Path::new("/proc/thread-self/schedstat").exists() {
        println!("poll_cycle needs Linux's per-thread CPU accounting; nothing was measured");
        return;
    }
    let service = Service::start();
    let runtime = runtime();
    for (name, tunnel) in [("204", "empty"), ("200 with no commands", "envelope")] {
        runtime.block_on(compare(name, service.address, tunnel));
    }
    runtime.block_on(park(service.address));
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

/// Runs the contenders in turn and prints CPU time a poll and ratios to the bare reqwest GET.
async fn compare(name: &str, address: SocketAddr, tunnel: &str) {
    let mut moorline = Moorline::new(address, tunnel);
    let mut reqwest = Reqwest::new(address, tunnel);
    let mut hyper = Hyper::new(address, tunnel).await;
    let mut nanos: [Vec<u64>; 3] = Default::default();
    // The first round warms up.
    for round in 0..=ROUNDS {
        let turn = [
            moorline.round().await,
            reqwest.round().await,
            hyper.round().await,
        ];
        if round > 0 {
            for (all, one) in nanos.iter_mut().zip(turn) {
                all.push(one);
            }
        }
    }
    let [ours, theirs, bare] = &nanos;
    println!(
        "{name}: CPU time of the client a poll, {ROUNDS} turns of {POLLS_A_ROUND} polls, medians"
    );
    for (contender, all) in [("moorline", ours), ("reqwest", theirs), ("hyper", bare)] {
        let ratios = all
            .iter()
            .zip(theirs)
            .map(|(one, base)| *one as f64 / *base as f64);
        println!(
            "  {contender:<9} {:>6.2} us   {:.3} of reqwest",
            median(all.iter().map(|nanos| *nanos as f64)) / POLLS_A_ROUND as f64 / 1_000.0,
            median(ratios),
        );
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// CPU time of this thread, in nanoseconds.
fn cpu_nanos() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("schedstat");
    text.split_whitespace()
        .next()
        .and_then(|field| field.parse().ok())
        .expect("a number")
}

fn settings(address: SocketAddr, tunnel: &str) -> Settings {
    Settings::new(
        Endpoint::parse(&format!("http://{address}")).expect("an endpoint"),
        TunnelId::new(tunnel).expect("an id"),
        ApiKey::new("bench-key").expect("a key"),
    )
}

/// The headers that the client sends, for the others to send as well.
fn same_headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("authorization", "Bearer bench-key"),
        ("accept", "application/json"),
        ("user-agent", "moorline/0.1.0"),
        ("x-tunnel-client-name", "moorline"),
        ("x-tunnel-client-version", "0.1.0"),
        (
            "x-tunnel-client-instance-id",
            "00112233445566778899aabbccddeeff",
        ),
        ("x-tunnel-client-capabilities", "wrong-cluster-v1"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers
}

struct Moorline {
    client: ControlPlane,
    cancel: CancellationToken,
}

impl Moorline {
    fn new(address: SocketAddr, tunnel: &str) -> Self {
        let client = ControlPlane::connect(settings(address, tunnel)).expect("a client");
        Self {
            client,
            cancel: CancellationToken::new(),
        }
    }

    async fn round(&mut self) -> u64 {
        let limit = NonZeroU16::new(25).expect("not zero");
        let before = cpu_nanos();
        for _ in 0..POLLS_A_ROUND {
            let report = self.client.poll(limit, &self.cancel).await;
            assert!(report.reply.is_ok());
        }
        cpu_nanos() - before
    }
}

struct Reqwest {
    client: reqwest::Client,
    url: String,
    headers: HeaderMap,
}

impl Reqwest {
    fn new(address: SocketAddr, tunnel: &str) -> Self {
        Self {
            client: reqwest::Client::builder()
                .no_proxy()
                .build()
                .expect("a client"),
            url: format!("http://{address}/v1/tunnels/{tunnel}/poll?limit=25&timeout_ms=30000"),
            headers: same_headers(),
        }
    }

    async fn round(&mut self) -> u64 {
        let before = cpu_nanos();
        for _ in 0..POLLS_A_ROUND {
            let request = self.client.get(&self.url).headers(self.headers.clone());
            let response = request.send().await.expect("a response");
            assert!(response.status().is_success());
            response.bytes().await.expect("a body");
        }
        cpu_nanos() - before
    }
}

struct Hyper {
    sender: SendRequest<Empty<bytes::Bytes>>,
    path: String,
    headers: HeaderMap,
}

impl Hyper {
    async fn new(address: SocketAddr, tunnel: &str) -> Self {
        let stream = TcpStream::connect(address).await.expect("a connection");
        stream.set_nodelay(true).expect("nodelay");
        let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("a handshake");
        tokio::spawn(connection);
        let mut headers = same_headers();
        headers.insert(
            "host",
            HeaderValue::from_str(&address.to_string()).expect("a host"),
        );
        let path = format!("/v1/tunnels/{tunnel}/poll?limit=25&timeout_ms=30000");
        Self {
            sender,
            path,
            headers,
        }
    }

    async fn round(&mut self) -> u64 {
        let before = cpu_nanos();
        for _ in 0..POLLS_A_ROUND {
            self.sender.ready().await.expect("a connection");
            let mut request = http::Request::new(Empty::new());
            *request.uri_mut() = self.path.parse().expect("a path");
            *request.headers_mut() = self.headers.clone();
            let response = self.sender.send_request(request).await.expect("a response");
            assert!(response.status().is_success());
            response.into_body().collect().await.expect("a body");
        }
        cpu_nanos() - before
    }
}

/// Parks polls and prints what they cost while nothing happens.
async fn park(address: SocketAddr) {
    let client = ControlPlane::connect(settings(address, "park")).expect("a client");
    let before = resident_bytes();
    let options = PollerOptions {
        in_flight: NonZeroUsize::new(PARKED).expect("not zero"),
        queue: PARKED,
        ..PollerOptions::default()
    };
    let mut poller = Poller::spawn(&client, options);
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (parked, cpu) = (resident_bytes(), cpu_nanos());
    let idle = Duration::from_secs(10);
    tokio::time::sleep(idle).await;
    let used = Duration::from_nanos(cpu_nanos() - cpu);
    println!(
        "{PARKED} parked polls: {:.4} % of one core while idle, {:.1} KiB of resident memory a poll",
        100.0 * used.as_secs_f64() / idle.as_secs_f64(),
        parked.saturating_sub(before) as f64 / 1024.0 / PARKED as f64,
    );
    poller.stop().await;
}

fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("statm");
    let pages = text
        .split_whitespace()
        .nth(1)
        .and_then(|field| field.parse::<u64>().ok());
    pages.expect("a number") * 4096
}

/// The service in a process of its own.
struct Service {
    child: Child,
    address: SocketAddr,
}

impl Service {
    fn start() -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program)
            .arg("--serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a service");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("its stdout");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("its address");
        Self {
            child,
            address: line.trim().parse().expect("an address"),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Answers by path: an empty 204, an empty envelope, or nothing.
async fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("{}", listener.local_addr().expect("an address"));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        tokio::spawn(answer(stream));
    }
}

async fn answer(mut stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut buffer = vec![0; 4096];
    let mut length = 0;
    loop {
        let Ok(read @ 1..) = stream.read(&mut buffer[length..]).await else {
            return;
        };
        length += read;
        if !buffer[..length].ends_with(b"\r\n\r\n") {
            continue;
        }
        let response: &[u8] = match &buffer[..length] {
            head if head.starts_with(b"GET /v1/tunnels/empty/") => {
                b"HTTP/1.1 204 No Content\r\n\r\n"
            }
            head if head.starts_with(b"GET /v1/tunnels/envelope/") => {
                b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"commands\":[]}"
            }
            _ => std::future::pending().await,
        };
        length = 0;
        if stream.write_all(response).await.is_err() {
            return;
        }
    }
}
