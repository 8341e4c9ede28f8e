//! Which commands run, which wait, and how all of it ends: the real dispatcher, with a service and targets in memory.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use std::future::pending;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use moorline::dispatch::{DispatchOptions, Dispatcher, Drained};
use moorline::model::awaited::CANCELLED;
use moorline::model::backoff::Backoff;
use moorline::model::wire::{Channel, ResponseType};
use moorline::target::{Answer, Call, Notes, Target, Termination};
use moorline::telemetry::{CommandCounts, Telemetry};
use moorline::{ControlPlane, Poller, PollerOptions};
use serde_json::{Value, json};
use support::memory::{Memory, Posts};
use support::settings;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

const AT_ONCE: Posts = Posts::Accepted(Duration::ZERO);

/// A tool `ask` asks its caller something and answers once the reply has come, `hang` never answers, `panic` ends in a
/// panic, and any other one answers at once.
#[derive(Default)]
struct Server {
    replied: CancellationToken,
    hung: Arc<AtomicU64>,
}

impl Target for Server {
    async fn call(&self, call: Call, notes: Notes) -> Answer {
        let message: Value = serde_json::from_str(call.message.get()).unwrap();
        let Some(method) = message["method"].as_str() else {
            self.replied.cancel();
            return answer(202, ResponseType::NotifyAck, None);
        };
        match method {
            "ask" => {
                let ask = json!({"jsonrpc": "2.0", "id": "s", "method": "elicitation/create"});
                notes.send(ask.to_string()).await.unwrap();
                self.replied.cancelled().await;
            }
            "cancelled" => {
                let failure = Some(CANCELLED);
                let kind = ResponseType::JsonRpcResponse;
                return Answer {
                    failure,
                    ..answer(502, kind, Some(json!({})))
                };
            }
            "hang" => {
                self.hung.fetch_add(1, Ordering::SeqCst);
                pending::<()>().await;
            }
            "panic" => panic!("a fault of this server"),
            _ => {}
        }
        let result = json!({"jsonrpc": "2.0", "id": message["id"], "result": {}});
        answer(200, ResponseType::JsonRpcResponse, Some(result))
    }

    async fn terminate(&self, _: Termination) -> Answer {
        answer(200, ResponseType::SessionTerminationResponse, None)
    }
}

fn answer(code: u16, kind: ResponseType, json: Option<Value>) -> Answer {
    Answer {
        code,
        headers: Vec::new(),
        json: json.map(|json| json.to_string()),
        kind,
        failure: None,
        by_target: true,
    }
}

struct House {
    memory: Memory,
    telemetry: Arc<Telemetry>,
    stop: CancellationToken,
    running: JoinHandle<Drained>,
    hung: Arc<AtomicU64>,
}

impl House {
    fn open(posts: Posts, options: DispatchOptions) -> Self {
        let memory = Memory::new(posts);
        let mut settings = settings("http://127.0.0.1:1");
        settings.backoff =
            Backoff::new(Duration::from_millis(1), Duration::from_millis(5)).unwrap();
        let client = ControlPlane::with_transport(settings, memory.clone());
        let telemetry = Arc::new(Telemetry::new());
        let hung = Arc::new(AtomicU64::new(0));
        let targets = ["main", "side"].map(|name| {
            let server = Server {
                hung: Arc::clone(&hung),
                ..Server::default()
            };
            (Channel::parse(name).unwrap(), Arc::new(server))
        });
        let poller = Poller::spawn(&client, PollerOptions::default());
        let stop = CancellationToken::new();
        let counted = Arc::clone(&telemetry);
        let dispatcher = Dispatcher::new(client, targets.into(), counted, options);
        let stopped = stop.clone();
        let running = tokio::spawn(async move { dispatcher.run(poller, &stopped).await });
        Self {
            memory,
            telemetry,
            stop,
            running,
            hung,
        }
    }

    fn counts(&self) -> CommandCounts {
        self.telemetry.facts().commands
    }

    /// Waits, by the paused clock for a minute at most.
    async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        for _ in 0..60_000 {
            if holds(self) {
                return;
            }
            sleep(Duration::from_millis(1)).await;
        }
        panic!("not in time: {what}: {:?}", self.counts());
    }

    fn is_answered(&self, request_id: &str) -> bool {
        let told = self.memory.told(request_id);
        told.iter()
            .any(|body| body["resp_type"] != "jsonrpc_notify")
    }

    async fn close(self) -> Drained {
        self.stop.cancel();
        self.running.await.unwrap()
    }
}

fn request(id: u64, method: &str, more: &Value) -> Value {
    let mut command = json!({
        "request_id": format!("r-{id}"),
        "shard_token": "t",
        "command_type": "jsonrpc",
        "jsonrpc": {"jsonrpc": "2.0", "id": id, "method": method},
    });
    let more = more.as_object().unwrap().clone();
    command.as_object_mut().unwrap().extend(more);
    command
}

/// spec-test: CMD-32
#[tokio::test(start_paused = true)]
async fn a_reply_reaches_tools_that_wait_for_it_however_many() {
    let house = House::open(AT_ONCE, DispatchOptions::default());
    house
        .memory
        .enqueue((0..9).map(|id| request(id, "ask", &json!({}))));
    let asked = |house: &House| (0..9).all(|id| house.memory.told(&format!("r-{id}")).len() == 1);
    house.until("nine questions", asked).await;
    house.memory.enqueue([request(9, "quick", &json!({}))]);
    house
        .until("no place", |house| house.counts().queued == 1)
        .await;
    let reply = json!({"jsonrpc": {"jsonrpc": "2.0", "id": "s", "result": {}}});
    house.memory.enqueue([request(10, "none", &reply)]);
    house
        .until("all are answered", |house| {
            (0..=10).all(|id| house.is_answered(&format!("r-{id}")))
        })
        .await;
    assert_eq!(house.close().await, Drained { cut_short: 0 });
}

/// spec-test: CMD-32
#[tokio::test(start_paused = true)]
async fn calls_that_hang_on_one_channel_hold_up_no_other() {
    let house = House::open(AT_ONCE, DispatchOptions::default());
    house
        .memory
        .enqueue((0..12).map(|id| request(id, "hang", &json!({}))));
    house
        .until("nine hang", |house| house.counts().running == 9)
        .await;
    house
        .memory
        .enqueue([request(12, "quick", &json!({"channel": "side"}))]);
    house
        .until("side answers", |house| house.is_answered("r-12"))
        .await;
    assert_eq!((house.counts().running, house.counts().queued), (9, 3));
    house.running.abort();
}

/// spec-test: CMD-31
#[tokio::test(start_paused = true)]
async fn a_command_that_comes_twice_runs_once() {
    let house = House::open(AT_ONCE, DispatchOptions::default());
    let twice = || request(1, "hang", &json!({}));
    house.memory.enqueue([twice(), twice()]);
    house
        .memory
        .enqueue([twice(), request(2, "quick", &json!({}))]);
    house
        .until("the other one", |house| house.is_answered("r-2"))
        .await;
    assert_eq!(house.hung.load(Ordering::SeqCst), 1);
    assert_eq!(house.counts().repeated, 2);
    house.running.abort();
}

/// spec-test: CMD-33
#[tokio::test(start_paused = true)]
async fn what_was_cancelled_is_not_answered() {
    let house = House::open(AT_ONCE, DispatchOptions::default());
    house.memory.enqueue([
        request(1, "cancelled", &json!({})),
        request(2, "quick", &json!({})),
    ]);
    house
        .until("the other one", |house| house.is_answered("r-2"))
        .await;
    house
        .until("it has ended", |house| house.counts().running == 0)
        .await;
    let counts = house.counts();
    assert_eq!(
        (counts.cancelled, counts.failed, counts.answered),
        (1, 0, 1)
    );
    let memory = house.memory.clone();
    house.close().await;
    assert_eq!(memory.told("r-1"), [json!(null); 0]);
}

/// spec-test: CMD-33
#[tokio::test(start_paused = true)]
async fn what_is_cancelled_while_it_waits_is_neither_run_nor_answered() {
    let options = DispatchOptions {
        concurrency: NonZeroUsize::MIN,
        ..DispatchOptions::default()
    };
    let house = House::open(AT_ONCE, options);
    let calls = [
        request(1, "hang", &json!({})),
        request(2, "hang", &json!({})),
    ];
    house.memory.enqueue(calls);
    house
        .until("one waits", |house| house.counts().queued == 1)
        .await;
    let params = json!({"requestId": 2});
    let message = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    let cancel = request(3, "none", &json!({ "jsonrpc": message }));
    house.memory.enqueue([cancel]);
    house
        .until("the news was passed on", |house| house.is_answered("r-3"))
        .await;
    let counts = house.counts();
    assert_eq!((counts.queued, counts.running, counts.cancelled), (0, 1, 1));
    assert_eq!(house.hung.load(Ordering::SeqCst), 1);
    assert_eq!(house.memory.told("r-2"), [json!(null); 0]);
    house.running.abort();
}

/// A fault of the client's own costs one call and no place, and the command may come again.
#[tokio::test(start_paused = true)]
async fn a_call_that_ends_in_a_panic_gives_its_place_back() {
    let options = DispatchOptions {
        concurrency: NonZeroUsize::MIN,
        ..DispatchOptions::default()
    };
    let house = House::open(AT_ONCE, options);
    house.memory.enqueue([request(1, "panic", &json!({}))]);
    house.memory.enqueue([request(2, "quick", &json!({}))]);
    house
        .until("the next one", |house| house.is_answered("r-2"))
        .await;
    house.memory.enqueue([request(1, "quick", &json!({}))]);
    house
        .until("the same again", |house| house.is_answered("r-1"))
        .await;
    assert_eq!(house.close().await, Drained { cut_short: 0 });
}

/// The service takes no answers any more: the time to drain and five seconds for the last words are all there is,
/// however much waits.
#[tokio::test(start_paused = true)]
async fn a_stop_ends_in_time_however_much_waits() {
    let options = DispatchOptions {
        concurrency: NonZeroUsize::MIN,
        drain: Duration::from_secs(1),
        ..DispatchOptions::default()
    };
    let house = House::open(Posts::Unanswered, options);
    house
        .memory
        .enqueue((0..20).map(|id| request(id, "hang", &json!({}))));
    house
        .until("all are here", |house| house.counts().queued == 19)
        .await;
    let begun = Instant::now();
    let drained = house.close().await;
    assert_eq!(drained, Drained { cut_short: 20 });
    assert!(
        begun.elapsed() <= Duration::from_millis(6_010),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_the_target_that_is_on_its_way_is_not_cut_short() {
    let options = DispatchOptions {
        drain: Duration::from_millis(50),
        ..DispatchOptions::default()
    };
    let house = House::open(Posts::Accepted(Duration::from_secs(1)), options);
    house.memory.enqueue([request(1, "quick", &json!({}))]);
    house
        .until("it runs", |house| house.counts().running == 1)
        .await;
    sleep(Duration::from_millis(100)).await;
    let memory = house.memory.clone();
    assert_eq!(house.close().await, Drained { cut_short: 0 });
    assert!(memory.told("r-1")[0]["resp_json"]["result"].is_object());
}

/// spec-test: CMD-19
#[tokio::test(start_paused = true)]
async fn an_answer_that_expires_on_its_way_is_counted_once() {
    let house = House::open(Posts::Unanswered, DispatchOptions::default());
    let briefly = json!({"response_timeout": "200ms"});
    house.memory.enqueue([request(1, "quick", &briefly)]);
    house
        .until("it has expired", |house| house.counts().expired == 1)
        .await;
    let counts = house.counts();
    assert_eq!((counts.answered, counts.failed), (0, 0));
    house.close().await;
}

#[tokio::test(start_paused = true)]
async fn any_time_to_drain_is_taken() {
    for drain in [Duration::ZERO, Duration::MAX] {
        let options = DispatchOptions {
            drain,
            max_ttl: Duration::MAX,
            ..DispatchOptions::default()
        };
        let house = House::open(AT_ONCE, options);
        house.memory.enqueue([request(1, "quick", &json!({}))]);
        house
            .until("it is answered", |house| house.is_answered("r-1"))
            .await;
        assert_eq!(house.close().await, Drained { cut_short: 0 });
    }
}
