//! The real client's poll loop, held against the model step by step: over an in-memory transport,
//! under paused time, with K polls in flight, answers in any order.
//!
//! Each run keeps a model state beside the client. Every request must carry the token that the
//! model's request carries, and after every answer the client's placement must be the model's. From
//! some moment on the service is cooperative, and the first success must come within 3 K completed
//! polls.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what is shared by the tests of this file fails by panicking, as tests do"
)]

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use moorline::model::backoff::Backoff;
use moorline::{
    ApiKey, ControlPlane, Endpoint, Poller, PollerOptions, Received, ReceivedBody, RequestHead,
    Settings, Transport, TunnelId,
};
use moorline_model::placement::{Correction, Outcome};
use moorline_proofs::explorer::explore;
use moorline_proofs::recovery::{Service, bound, worst};
use moorline_proofs::step::Shipped;
use moorline_proofs::system::{Action, Bounds, State, System};
use moorline_proofs::trace::token_name;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

/// Holds every request until the test answers it.
#[derive(Clone, Default)]
struct Held {
    requests: Arc<Mutex<VecDeque<Request>>>,
}

struct Request {
    token: Option<String>,
    answer: oneshot::Sender<Received>,
}

impl Transport for Held {
    async fn get(&self, request: RequestHead, _: Instant, _: usize) -> Received {
        let token = request.headers.get("x-tunnel-shard-token");
        let token = token.map(|token| token.to_str().unwrap().to_owned());
        let (answer, answered) = oneshot::channel();
        let request = Request { token, answer };
        self.requests.lock().unwrap().push_back(request);
        answered.await.unwrap()
    }
}

/// The client's polls in flight beside the model's, slot by slot.
struct Pair {
    system: System<Shipped>,
    model: State<u8, u8>,
    client: ControlPlane<Held>,
    poller: Poller,
    held: Held,
    slots: Vec<Option<Request>>,
    /// Polls that completed.
    completed: usize,
}

impl Pair {
    /// Starts both and waits until all K polls are in flight.
    async fn start(in_flight: usize) -> Self {
        let mut settings = Settings::new(
            Endpoint::parse("http://127.0.0.1:1").unwrap(),
            TunnelId::new("tunnel").unwrap(),
            ApiKey::new("key").unwrap(),
        );
        let tick = Duration::from_millis(1);
        settings.backoff = Backoff::new(tick, tick).unwrap();
        let held = Held::default();
        let client = ControlPlane::with_transport(settings, held.clone());
        let options = PollerOptions {
            in_flight: NonZeroUsize::new(in_flight).unwrap(),
            ..PollerOptions::default()
        };
        let poller = Poller::spawn(&client, options);
        let system = System::new(Shipped, Bounds::plain(in_flight, 3, 3)).unwrap();
        let mut pair = Self {
            model: system.start(),
            system,
            client,
            poller,
            held,
            slots: (0..in_flight).map(|_| None).collect(),
            completed: 0,
        };
        for slot in 0..in_flight {
            pair.begun(slot).await;
        }
        pair
    }

    /// Waits for the next request of the client and holds it against the model's.
    async fn begun(&mut self, slot: usize) {
        let mut request = None;
        for _ in 0..1_000 {
            request = self.held.requests.lock().unwrap().pop_front();
            if request.is_some() {
                break;
            }
            sleep(Duration::from_millis(1)).await;
        }
        let request = request.expect("a poll begins in the free slot");
        self.model = self.system.after(&self.model, Action::Begin(slot)).unwrap();
        assert_eq!(request.token, self.carried(slot).map(token_name));
        self.slots[slot] = Some(request);
    }

    fn carried(&self, slot: usize) -> Option<u8> {
        self.model.flights[slot].and_then(|flight| flight.token)
    }

    /// Answers one poll, compares the placements, and waits for the poll that follows.
    async fn answer(&mut self, slot: usize, outcome: Outcome<u8, u8>) {
        let ended = Action::End(slot, outcome);
        self.model = self.system.after(&self.model, ended).unwrap();
        let request = self.slots[slot].take().unwrap();
        request.answer.send(received(outcome)).unwrap();
        self.completed += 1;
        self.begun(slot).await;
        let (placed, shape) = (self.client.placed(), &self.model.shape);
        let watermark = shape.accepted.map(|accepted| u64::from(accepted.revision));
        assert_eq!(placed.watermark.map(|found| found.get()), watermark);
        assert_eq!(placed.has_token, shape.active().is_some());
        assert_eq!(
            (placed.corrections, placed.failures),
            (shape.corrections, shape.failures)
        );
    }

    async fn stop(mut self) {
        self.poller.stop().await;
    }
}

fn received(outcome: Outcome<u8, u8>) -> Received {
    let (status, headers, body) = match outcome {
        Outcome::Success => (204, HeaderMap::new(), String::new()),
        Outcome::DestinationFailure => (503, HeaderMap::new(), String::new()),
        Outcome::Neutral => (401, HeaderMap::new(), String::new()),
        Outcome::Correction(Correction { revision, token }) => {
            let mut headers = HeaderMap::new();
            let value = HeaderValue::from_str(&token_name(token)).unwrap();
            headers.insert("x-tunnel-shard-token", value);
            let body =
                format!(r#"{{"error":{{"code":"wrong_cluster","policy_revision":{revision}}}}}"#);
            (409, headers, body)
        }
        Outcome::Cancelled => panic!("a service cannot cancel"),
    };
    let body = match outcome {
        Outcome::Success => ReceivedBody::Unread,
        _ => ReceivedBody::Complete(body.into()),
    };
    Received::Head {
        arrived: Instant::now(),
        status,
        headers,
        body,
    }
}

/// Lets a cooperative service answer polls in an order that `pick` gives, until one succeeds;
/// returns how many completed.
async fn recover(
    pair: &mut Pair,
    service: &Service<u8, u8>,
    mut pick: impl FnMut(usize) -> usize,
) -> usize {
    let in_flight = pair.slots.len();
    assert!(service.is_cooperative(&pair.model.shape));
    for completed in 1..=2 * bound(in_flight) {
        let slot = pick(completed - 1);
        let answer = service.answer(pair.carried(slot).as_ref());
        pair.answer(slot, answer).await;
        if answer == Outcome::Success {
            return completed;
        }
    }
    panic!("no success within twice the bound");
}

/// The longest way that the model knows is one that the client goes.
#[tokio::test(start_paused = true)]
async fn the_worst_case_takes_three_completed_polls_for_each_in_flight() {
    let mut took = Vec::new();
    for in_flight in 1..=4 {
        let system = System::new(Shipped, Bounds::plain(in_flight, 2, 2)).unwrap();
        let worst = worst(&system, &explore(&system).unwrap());
        let (before, after) = worst.witness.actions.split_at(worst.turns);
        let mut pair = Pair::start(in_flight).await;
        for (slot, outcome) in ends(before) {
            pair.answer(slot, outcome).await;
        }
        let after = ends(after);
        let service = after
            .iter()
            .find_map(|(_, outcome)| match outcome {
                Outcome::Correction(Correction { revision, token }) => Some(Service {
                    revision: *revision,
                    token: *token,
                }),
                _ => None,
            })
            .unwrap();
        took.push(recover(&mut pair, &service, |index| after[index].0).await);
        pair.stop().await;
    }
    assert_eq!(took, [3, 6, 9, 12]);
}

/// The client begins polls by itself and at once, so the ends tell the run.
fn ends(actions: &[Action]) -> Vec<(usize, Outcome<u8, u8>)> {
    let ends = actions.iter().filter_map(|action| match action {
        Action::Begin(_) => None,
        Action::End(slot, outcome) => Some((*slot, *outcome)),
    });
    ends.collect()
}

const SEEDS: u64 = 150;

/// Whatever came before, and in whatever order answers come after it.
#[tokio::test(start_paused = true)]
async fn every_run_recovers_within_the_bound() {
    let (mut runs, mut newer, mut equal, mut completed) = (0, 0, 0, 0);
    for in_flight in 1..=4 {
        let mut longest = 0;
        for seed in 0..SEEDS {
            let mut random = Random(seed * 4 + in_flight as u64);
            let mut pair = Pair::start(in_flight).await;
            for _ in 0..random.below(25) {
                let slot = random.below(in_flight);
                let outcome = random.outcome(&pair);
                pair.answer(slot, outcome).await;
            }
            let service = match pair.model.shape.accepted {
                Some(accepted) if seed % 2 == 0 => {
                    equal += 1;
                    Service {
                        revision: accepted.revision,
                        token: accepted.token,
                    }
                }
                _ => {
                    newer += 1;
                    Service {
                        revision: 3,
                        token: 3,
                    }
                }
            };
            let took = recover(&mut pair, &service, |_| random.below(in_flight)).await;
            assert!(
                took <= bound(in_flight),
                "K={in_flight}, seed {seed}: {took}"
            );
            longest = longest.max(took);
            completed += pair.completed;
            pair.stop().await;
            runs += 1;
        }
        assert!(longest > in_flight, "K={in_flight}: {longest} is no trial");
    }
    assert_eq!(runs, 4 * SEEDS);
    assert!(
        newer >= 2 * SEEDS && equal >= SEEDS,
        "{newer} newer, {equal} equal"
    );
    assert!(completed > 4_000, "{completed} polls");
}

/// A fixed sequence (splitmix64), so that a seed is a run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// Anything that a service can answer, corrections more often than not.
    fn outcome(&mut self, pair: &Pair) -> Outcome<u8, u8> {
        let answers = pair.system.answers();
        let possible: Vec<_> = answers
            .iter()
            .filter(|outcome| **outcome != Outcome::Cancelled)
            .collect();
        *possible[self.below(possible.len())]
    }
}
