//! A service in memory, under any clock: what it hands out, and what it was told.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use moorline::model::poll::Interruption;
use moorline::{Deliver, Received, ReceivedBody, RequestHead, Sent, Transport};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};

/// What becomes of messages about commands.
#[derive(Clone, Copy)]
pub enum Posts {
    /// They are accepted after so long.
    Accepted(Duration),
    /// There is never an answer.
    Unanswered,
}

/// Clones are handles of the same service.
#[derive(Clone)]
pub struct Memory {
    envelopes: Arc<Mutex<VecDeque<Value>>>,
    told: Arc<Mutex<Vec<Value>>>,
    posts: Posts,
}

impl Memory {
    pub fn new(posts: Posts) -> Self {
        Self {
            envelopes: Arc::default(),
            told: Arc::default(),
            posts,
        }
    }

    /// Hands these out with one poll.
    pub fn enqueue(&self, commands: impl IntoIterator<Item = Value>) {
        let commands: Vec<Value> = commands.into_iter().collect();
        let envelope = json!({ "commands": commands });
        self.envelopes.lock().unwrap().push_back(envelope);
    }

    /// The accepted messages about a command.
    pub fn told(&self, request_id: &str) -> Vec<Value> {
        let told = self.told.lock().unwrap();
        let of_it = told.iter().filter(|body| body["request_id"] == request_id);
        of_it.cloned().collect()
    }
}

impl Transport for Memory {
    async fn get(&self, _: RequestHead, deadline: Instant, _: usize) -> Received {
        while Instant::now() < deadline {
            if let Some(envelope) = self.envelopes.lock().unwrap().pop_front() {
                let body = Bytes::from(envelope.to_string());
                return head(200, ReceivedBody::Complete(body));
            }
            sleep(Duration::from_millis(1)).await;
        }
        head(204, ReceivedBody::Unread)
    }
}

impl Deliver for Memory {
    async fn send(&self, _: Method, _: RequestHead, body: Bytes, deadline: Instant) -> Sent {
        let received = match self.posts {
            Posts::Accepted(delay) => {
                sleep(delay).await;
                let body = serde_json::from_slice(&body).unwrap();
                self.told.lock().unwrap().push(body);
                head(200, ReceivedBody::Complete(Bytes::new()))
            }
            Posts::Unanswered => {
                sleep_until(deadline).await;
                Received::NoHead(Interruption::Deadline, None)
            }
        };
        Sent {
            received,
            written: true,
        }
    }
}

fn head(status: u16, body: ReceivedBody) -> Received {
    Received::Head {
        status,
        headers: HeaderMap::new(),
        arrived: Instant::now(),
        body,
    }
}
