//! The real client over an in-memory transport that holds each request until the test answers it.

use std::collections::VecDeque;
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use moorline::model::backoff::Backoff;
use moorline::model::poll::Interruption;
use moorline::{
    ApiKey, ControlPlane, Endpoint, Received, ReceivedBody, RequestHead, Settings, Transport,
    TunnelId,
};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const LIMIT: NonZeroU16 = NonZeroU16::new(25).unwrap();

/// Holds every request.
#[derive(Clone, Default)]
pub(crate) struct Held {
    answers: Arc<Mutex<VecDeque<oneshot::Sender<Received>>>>,
}

impl Transport for Held {
    async fn get(&self, _: RequestHead, _: Instant, _: usize) -> Received {
        let (answer, answered) = oneshot::channel();
        self.answers.lock().unwrap().push_back(answer);
        answered.await.unwrap()
    }
}

impl Held {
    pub(crate) fn next(&self) -> Option<oneshot::Sender<Received>> {
        self.answers.lock().unwrap().pop_front()
    }
}

/// A client whose events are kept as the lines that the program would write.
pub(crate) struct Observed {
    pub(crate) client: ControlPlane<Held>,
    pub(crate) held: Held,
    lines: Arc<Mutex<Vec<String>>>,
}

/// One poll in flight.
pub(crate) struct Flight {
    cancel: CancellationToken,
    answer: oneshot::Sender<Received>,
    task: JoinHandle<()>,
}

impl Observed {
    /// Each delay is `delay`.
    pub(crate) fn new(delay: Duration) -> Self {
        let mut settings = Settings::new(
            Endpoint::parse("http://127.0.0.1:1").unwrap(),
            TunnelId::new("tunnel").unwrap(),
            ApiKey::new("key").unwrap(),
        );
        settings.backoff = Backoff::new(delay, delay).unwrap();
        let held = Held::default();
        let client = ControlPlane::with_transport(settings, held.clone());
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&lines);
        let observed = client.observe(move |event| {
            let line = serde_json::to_string(event).unwrap();
            kept.lock().unwrap().push(line);
        });
        observed.unwrap();
        Self {
            client,
            held,
            lines,
        }
    }

    pub(crate) async fn begin(&self) -> Flight {
        let (client, cancel) = (self.client.clone(), CancellationToken::new());
        let token = cancel.clone();
        let task = tokio::spawn(async move { drop(client.poll(LIMIT, &token).await) });
        for _ in 0..100 {
            if let Some(answer) = self.held.next() {
                return Flight {
                    cancel,
                    answer,
                    task,
                };
            }
            yield_now().await;
        }
        panic!("no request was made");
    }

    /// The events so far, one a line.
    pub(crate) fn text(&self) -> String {
        let lines = self.lines.lock().unwrap();
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

impl Flight {
    pub(crate) async fn end(self, answer: Received) {
        self.answer.send(answer).unwrap();
        self.task.await.unwrap();
    }

    pub(crate) async fn cancel(self) {
        self.cancel.cancel();
        self.task.await.unwrap();
    }

    /// Drops the future of the poll.
    pub(crate) async fn drop(self) {
        self.task.abort();
        assert!(self.task.await.unwrap_err().is_cancelled());
    }
}

pub(crate) fn no_content() -> Received {
    Received::Head {
        arrived: Instant::now(),
        status: 204,
        headers: HeaderMap::new(),
        body: ReceivedBody::Unread,
    }
}

pub(crate) fn answer(status: u16, body: &str) -> Received {
    Received::Head {
        arrived: Instant::now(),
        status,
        headers: HeaderMap::new(),
        body: ReceivedBody::Complete(body.to_owned().into()),
    }
}

pub(crate) fn correction(revision: u64, token: &str) -> Received {
    let mut headers = HeaderMap::new();
    let value = HeaderValue::from_str(token).unwrap();
    headers.insert("x-tunnel-shard-token", value);
    let body = format!(r#"{{"error":{{"code":"wrong_cluster","policy_revision":{revision}}}}}"#);
    Received::Head {
        arrived: Instant::now(),
        status: 409,
        headers,
        body: ReceivedBody::Complete(body.into()),
    }
}

pub(crate) fn no_head(by: Interruption) -> Received {
    Received::NoHead(by, None)
}

pub(crate) fn cut(status: u16, by: Interruption) -> Received {
    Received::Head {
        arrived: Instant::now(),
        status,
        headers: HeaderMap::new(),
        body: ReceivedBody::Interrupted(by, None),
    }
}
