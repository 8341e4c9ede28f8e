//! The service and the network in front of it.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use moorline::model::poll::Interruption;
use moorline::{Deliver, Received, ReceivedBody, RequestHead, Sent, Transport, TransportCause};
use rand::RngExt;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout_at};

use super::world::{State, World};

pub struct SimTransport {
    world: World,
}

impl SimTransport {
    pub fn new(world: &World) -> Self {
        Self {
            world: world.clone(),
        }
    }
}

impl Transport for SimTransport {
    async fn get(&self, request: RequestHead, deadline: Instant, _limit: usize) -> Received {
        let answer = timeout_at(deadline, self.poll(&request)).await;
        answer.unwrap_or(Received::NoHead(Interruption::Deadline, None))
    }
}

impl Deliver for SimTransport {
    async fn send(
        &self,
        method: Method,
        request: RequestHead,
        body: Bytes,
        deadline: Instant,
    ) -> Sent {
        assert_eq!(method, Method::POST);
        let (id, delay, fate) = self.world.lock().post(&request.headers, &body);
        let sent = timeout_at(deadline, sleep(delay)).await;
        if sent.is_err() {
            return no_answer(Interruption::Deadline, true);
        }
        match fate {
            Post::Unwritten => no_answer(Interruption::Network, false),
            Post::Lost => no_answer(Interruption::Network, true),
            Post::Done(status) => {
                // Only now: a client that has given the post up is told nothing.
                self.world.lock().orders[id].told = true;
                answered(status)
            }
            Post::Status(status) => answered(status),
        }
    }
}

impl SimTransport {
    async fn poll(&self, request: &RequestHead) -> Received {
        let (limit, wait) = asked(request);
        let delay = self.world.lock().begin_poll(&request.headers, limit);
        sleep(delay).await;
        if let Some(received) = self.world.lock().poll_fault() {
            return received;
        }
        let end = Instant::now() + wait;
        loop {
            if let Some(received) = self.world.lock().judge(&request.headers, limit) {
                return received;
            }
            if Instant::now() >= end {
                return head(204, HeaderMap::new(), Bytes::new());
            }
            sleep(Duration::from_millis(200)).await;
        }
    }
}

/// What becomes of one post.
enum Post {
    /// This status says that the command needs no answer any more.
    Done(u16),
    Status(u16),
    /// Nothing left.
    Unwritten,
    /// Something left, and no answer came.
    Lost,
}

impl State {
    fn begin_poll(&mut self, headers: &HeaderMap, limit: usize) -> Duration {
        let token = token(headers);
        self.step(format!("poll {limit} {}", token.unwrap_or("-")));
        if let Some(revision) = token.map(revision_of) {
            assert!(revision <= self.revision, "a token that was never given");
            if self.single {
                assert!(revision >= self.last_sent, "back to an older token");
            }
            self.last_sent = revision;
        }
        Duration::from_millis(self.rng.random_range(0..50))
    }

    fn poll_fault(&mut self) -> Option<Received> {
        if self.is_out() || self.fails(self.faults) {
            self.report.poll_faults += 1;
            let fault = self.rng.random_range(0..6);
            self.note(format!("poll fault {fault}"));
            return Some(match fault {
                0 => Received::NoHead(Interruption::Network, None),
                1 => Received::NoHead(Interruption::Closed, None),
                2 => head(503, HeaderMap::new(), Bytes::new()),
                3 => head(429, retry_after("1"), Bytes::new()),
                4 => head(409, HeaderMap::new(), Bytes::from_static(b"{}")),
                _ => Received::Head {
                    status: 200,
                    headers: HeaderMap::new(),
                    arrived: Instant::now(),
                    body: ReceivedBody::Interrupted(Interruption::Network, None),
                },
            });
        }
        None
    }

    /// What the service answers now; nothing as long as there is nothing to say.
    fn judge(&mut self, headers: &HeaderMap, limit: usize) -> Option<Received> {
        if self.corrections && token(headers).map(revision_of) != Some(self.revision) {
            self.report.corrections += 1;
            self.note(format!("corrected to {}", self.revision));
            let mut headers = HeaderMap::new();
            let token = format!("place-{}", self.revision);
            headers.insert(
                "x-tunnel-shard-token",
                HeaderValue::from_str(&token).unwrap(),
            );
            let body =
                json!({"error": {"code": "wrong_cluster", "policy_revision": self.revision}});
            return Some(head(409, headers, body.to_string().into()));
        }
        if self.queue.is_empty() {
            return None;
        }
        let more = if self.oversends && self.rng.random_bool(0.2) {
            3
        } else {
            0
        };
        let count = (limit + more).min(self.queue.len());
        let ids: Vec<usize> = self.queue.drain(..count).collect();
        let commands: Vec<Value> = ids
            .iter()
            .flat_map(|id| {
                let command = self.hand_out(*id);
                let times = if self.is_repeated(*id) { 2 } else { 1 };
                std::iter::repeat_n(command, times)
            })
            .collect();
        self.note(format!("handed {ids:?}"));
        if let Some(stop) = &self.stop {
            stop.cancel();
        }
        let body = json!({ "commands": commands }).to_string();
        Some(head(200, HeaderMap::new(), body.into()))
    }

    /// Whether the service hands the command out twice. It may do so with each; one that has a deadline could be over
    /// before the second one is looked at, and one of a later version is never taken.
    fn is_repeated(&mut self, id: usize) -> bool {
        let order = &self.orders[id];
        let is_taken = order.timeout.is_none() && order.kind != "of_a_later_version";
        let repeats = is_taken && self.rng.random_bool(0.05);
        self.report.repeats += u64::from(repeats);
        repeats
    }

    fn hand_out(&mut self, id: usize) -> Value {
        let order = &mut self.orders[id];
        assert!(order.handed.is_none());
        order.handed = Some(Instant::now());
        let mut command = json!({
            "request_id": format!("order-{id}"),
            "shard_token": order.token,
            "command_type": order.kind,
            "channel": order.channel,
            "headers": {"x-request-id": [format!("trace-{id}")]},
        });
        if order.kind == "jsonrpc" {
            let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call"});
            command["jsonrpc"] = message;
        }
        if let Some(timeout) = order.timeout {
            command["response_timeout"] = format!("{}ms", timeout.as_millis()).into();
        }
        command
    }

    fn post(&mut self, headers: &HeaderMap, body: &Bytes) -> (usize, Duration, Post) {
        let read: Value = serde_json::from_slice(body).expect("a post is JSON");
        let name = read["request_id"].as_str().expect("a request id");
        let id: usize = name.strip_prefix("order-").unwrap().parse().unwrap();
        let kind = read["resp_type"].as_str().expect("a type").to_owned();
        self.step(format!("post {kind} {id}"));
        let order = &self.orders[id];
        // The command's own token, and nothing else.
        let tokens: Vec<_> = headers.get_all("x-tunnel-shard-token").iter().collect();
        assert_eq!(tokens, [order.token.as_str()], "order {id}");
        assert_eq!(headers["x-client-request-id"], format!("trace-{id}"));
        assert!(order.handed.is_some(), "order {id}: never handed out");
        let too_late = order.deadline().is_some_and(|end| Instant::now() >= end);
        assert!(!too_late, "order {id}: posted too late");
        assert!(!order.told, "order {id}: a post after its answer was taken");
        let delay = Duration::from_millis(self.rng.random_range(0..300));
        let fate = self.post_fate();
        let fate = if kind == "jsonrpc_notify" {
            self.take_note(id, &read, fate)
        } else {
            self.take_answer(id, body, fate)
        };
        (id, delay, fate)
    }

    fn post_fate(&mut self) -> Post {
        if !self.is_out() && !self.fails(self.faults) {
            return Post::Status(200);
        }
        self.report.post_faults += 1;
        match self.rng.random_range(0..8) {
            0 | 1 => Post::Unwritten,
            2 | 3 => Post::Lost,
            4 => Post::Status(503),
            5 => Post::Status(500),
            6 => Post::Status(409),
            _ => Post::Status(429),
        }
    }

    fn take_note(&mut self, id: usize, read: &Value, fate: Post) -> Post {
        let number = read["resp_json"]["params"]["n"].as_u64().expect("a note");
        let lost_after = self.rng.random_bool(0.5);
        let order = &mut self.orders[id];
        assert!(order.finals == 0, "order {id}: a note after the answer");
        if matches!(fate, Post::Status(200)) || matches!(fate, Post::Lost) && lost_after {
            let number = u32::try_from(number).unwrap();
            assert_eq!(number, order.notes_had, "order {id}: a gap");
            order.notes_had += 1;
            self.report.notes += 1;
        }
        fate
    }

    fn take_answer(&mut self, id: usize, body: &Bytes, fate: Post) -> Post {
        let lost_after = self.rng.random_bool(0.5);
        let order = &mut self.orders[id];
        order.finals += 1;
        assert!(order.finals <= 3, "order {id}: a fourth attempt");
        assert!(
            !order.refused,
            "order {id}: again after it was refused for good"
        );
        let first = order.body.get_or_insert_with(|| body.to_vec());
        assert_eq!(first, body, "order {id}: another body");
        match fate {
            Post::Status(200) if order.answered.is_some() => Post::Done(404),
            Post::Status(200) => {
                order.answered = Some(Instant::now());
                Post::Done(200)
            }
            Post::Lost if lost_after && order.answered.is_none() => {
                order.answered = Some(Instant::now());
                self.report.doubts += 1;
                Post::Lost
            }
            Post::Status(500 | 409) => {
                order.refused = true;
                fate
            }
            other => other,
        }
    }
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let token = headers.get("x-tunnel-shard-token")?;
    Some(token.to_str().unwrap())
}

fn revision_of(token: &str) -> u64 {
    token
        .strip_prefix("place-")
        .expect("a token of ours")
        .parse()
        .unwrap()
}

fn asked(request: &RequestHead) -> (usize, Duration) {
    let mut pairs = request.url.query_pairs();
    let mut number = |name: &str| -> u64 {
        let (found, value) = pairs.next().unwrap();
        assert_eq!(found, name);
        value.parse().unwrap()
    };
    let limit = usize::try_from(number("limit")).unwrap();
    (limit, Duration::from_millis(number("timeout_ms")))
}

fn head(status: u16, headers: HeaderMap, body: Bytes) -> Received {
    Received::Head {
        status,
        headers,
        arrived: Instant::now(),
        body: ReceivedBody::Complete(body),
    }
}

fn retry_after(value: &'static str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_static(value));
    headers
}

fn answered(status: u16) -> Sent {
    Sent {
        received: head(status, HeaderMap::new(), Bytes::new()),
        written: true,
    }
}

fn no_answer(by: Interruption, written: bool) -> Sent {
    Sent {
        received: Received::NoHead(by, Some(TransportCause::new("simulated"))),
        written,
    }
}
