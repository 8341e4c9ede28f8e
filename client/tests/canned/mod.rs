//! A client whose service is a list of answers in memory, and what it has done, for tests of the
//! monitor.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test binary uses its own part"
)]

use std::collections::VecDeque;
use std::future::Future;
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use moorline::model::poll::Interruption;
use moorline::model::target_health::Evidence;
use moorline::model::wire::{Channel, FailureSource, TunnelFailure};
use moorline::monitor::{ListenAddress, Monitor, Sources};
use moorline::telemetry::Telemetry;
use moorline::{
    ApiKey, ControlPlane, Endpoint, Received, ReceivedBody, RequestHead, Settings, Transport,
    TunnelId,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub const KEY: &str = "canned-api-key-7f3a";
pub const TUNNEL: &str = "canned-tunnel-19c2";
pub const HOST: &str = "canned-host-55ab.example";
pub const TOKEN: &str = "canned-route-token-a90b";
pub const COMMAND_TOKEN: &str = "canned-command-token-3c4d";
pub const COMMAND_ID: &str = "canned-command-id-6e1f";
pub const SERVER_TEXT: &str = "canned-server-text-0b77";

/// All that must never be shown.
pub const SECRETS: [&str; 7] = [
    KEY,
    TUNNEL,
    HOST,
    TOKEN,
    COMMAND_TOKEN,
    COMMAND_ID,
    SERVER_TEXT,
];

/// One answer of the service.
#[derive(Clone, Copy, Debug)]
pub enum Says {
    Nothing,
    Commands(usize),
    Correction(u64),
    Status(u16),
    Silence,
    /// Holds the poll for ever.
    Holds,
}

/// A client, and what it has done.
pub struct Canned {
    pub client: ControlPlane<Memory>,
    pub telemetry: Arc<Telemetry>,
    memory: Memory,
}

impl Canned {
    pub fn new() -> Self {
        let settings = Settings::new(
            Endpoint::parse(&format!("https://{HOST}")).unwrap(),
            TunnelId::new(TUNNEL).unwrap(),
            ApiKey::new(KEY).unwrap(),
        );
        let memory = Memory::default();
        let client = ControlPlane::with_transport(settings, memory.clone());
        let telemetry = Arc::new(Telemetry::new());
        let told = Arc::clone(&telemetry);
        client.observe(move |event| told.polled(event)).unwrap();
        Self {
            client,
            telemetry,
            memory,
        }
    }

    /// The target of a channel has answered.
    pub fn up(&self, channel: &Channel) {
        self.telemetry.serves([channel]);
        self.telemetry.target(channel, Evidence::Answered);
    }

    /// The target of the channel main has failed.
    pub fn down(&self, source: FailureSource) {
        self.down_with(TunnelFailure::without_answer(source));
    }

    /// The target of the channel main has failed like this.
    pub fn down_with(&self, failure: TunnelFailure) {
        let evidence = Evidence::Failed(failure);
        self.telemetry.serves([&Channel::main()]);
        self.telemetry.target(&Channel::main(), evidence);
    }

    /// Polls once for each answer.
    pub async fn polls(&self, answers: impl IntoIterator<Item = Says>) {
        let limit = NonZeroU16::new(25).unwrap();
        for says in answers {
            self.memory.answers.lock().unwrap().push_back(says);
            let _ = self.client.poll(limit, &CancellationToken::new()).await;
        }
    }

    /// Begins a poll that the service holds until what this returns is aborted, on a task of the
    /// current runtime.
    pub async fn holds(&self) -> tokio::task::AbortHandle {
        self.memory.answers.lock().unwrap().push_back(Says::Holds);
        let (client, before) = (self.client.clone(), self.client.under_way().polls);
        let poll = tokio::spawn(async move {
            let limit = NonZeroU16::new(25).unwrap();
            let _ = client.poll(limit, &CancellationToken::new()).await;
        });
        until("the poll is under way", || {
            self.client.under_way().polls > before
        })
        .await;
        poll.abort_handle()
    }

    pub fn sources(&self) -> Sources {
        Sources::new(self.client.clone(), Arc::clone(&self.telemetry))
    }

    pub async fn monitor(&self) -> Monitor {
        start(self.sources()).await
    }
}

pub async fn start(sources: Sources) -> Monitor {
    let address = ListenAddress::parse("127.0.0.1:0", false).unwrap();
    Monitor::start(address, sources).await.unwrap()
}

#[derive(Clone, Default)]
pub struct Memory {
    answers: Arc<Mutex<VecDeque<Says>>>,
}

impl Transport for Memory {
    fn get(
        &self,
        _request: RequestHead,
        _deadline: Instant,
        _envelope_limit: usize,
    ) -> impl Future<Output = Received> + Send {
        let says = self.answers.lock().unwrap().pop_front();
        async move {
            match says.expect("an answer for each poll") {
                Says::Holds => std::future::pending().await,
                says => says.received(),
            }
        }
    }
}

impl Says {
    fn received(self) -> Received {
        match self {
            Self::Nothing => head(204, ReceivedBody::Unread),
            Self::Silence | Self::Holds => Received::NoHead(Interruption::Network, None),
            Self::Status(status) => head(status, whole(SERVER_TEXT.to_owned())),
            Self::Correction(revision) => head(
                409,
                whole(format!(
                    r#"{{"error":{{"code":"wrong_cluster","policy_revision":{revision},"message":"{SERVER_TEXT}"}}}}"#
                )),
            ),
            Self::Commands(count) => head(200, whole(commands(count))),
        }
    }
}

fn commands(count: usize) -> String {
    let command = |number| {
        format!(
            r#"{{"command_type":"jsonrpc","request_id":"{COMMAND_ID}-{number}","shard_token":"{COMMAND_TOKEN}","jsonrpc":{{"jsonrpc":"2.0","id":1,"method":"{SERVER_TEXT}"}}}}"#
        )
    };
    let commands: Vec<_> = (0..count).map(command).collect();
    format!(r#"{{"commands":[{}]}}"#, commands.join(","))
}

fn whole(body: String) -> ReceivedBody {
    ReceivedBody::Complete(body.into())
}

fn head(status: u16, body: ReceivedBody) -> Received {
    let mut headers = HeaderMap::new();
    headers.insert("x-tunnel-shard-token", HeaderValue::from_static(TOKEN));
    Received::Head {
        status,
        headers,
        arrived: Instant::now(),
        body,
    }
}

/// Waits until `holds`, for a bounded number of turns.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..400 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("this never came: {what}");
}
