//! The poll loop over an in-memory transport, under paused time: every duration is exact.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use std::collections::{BTreeSet, VecDeque};
use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use moorline::model::poll::{Interruption, PollFault};
use moorline::model::schedule::Readiness;
use moorline::{
    ControlPlane, Poller, PollerOptions, Received, ReceivedBody, RequestHead, Transport,
};
use support::trace::watched;
use tokio::time::{Instant, sleep, timeout};

/// Answers requests from a list; when the list has ended, holds them for ever.
#[derive(Clone, Default)]
struct Memory {
    shared: Arc<Mutex<Script>>,
}

#[derive(Default)]
struct Script {
    answers: VecDeque<(Duration, Received)>,
    requests: Vec<Request>,
    in_flight: usize,
    most_in_flight: usize,
}

struct Request {
    at: Instant,
    limit: u16,
    timeout_ms: u64,
    token: Option<String>,
}

impl Memory {
    fn new(answers: impl IntoIterator<Item = Received>) -> Self {
        Self::held(answers.into_iter().map(|answer| (Duration::ZERO, answer)))
    }

    fn held(answers: impl IntoIterator<Item = (Duration, Received)>) -> Self {
        let memory = Self::default();
        memory.shared.lock().unwrap().answers.extend(answers);
        memory
    }

    fn client(&self) -> ControlPlane<Self> {
        watched(self.unwatched_client())
    }

    /// For a test that observes the client itself.
    fn unwatched_client(&self) -> ControlPlane<Self> {
        ControlPlane::with_transport(support::settings("http://127.0.0.1:1"), self.clone())
    }

    fn requests(&self) -> usize {
        self.shared.lock().unwrap().requests.len()
    }

    fn each<T>(&self, look: impl Fn(&Request) -> T) -> Vec<T> {
        self.shared
            .lock()
            .unwrap()
            .requests
            .iter()
            .map(look)
            .collect()
    }

    /// The virtual time between requests, in milliseconds.
    fn gaps(&self) -> Vec<u128> {
        let times = self.each(|request| request.at);
        times
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).as_millis())
            .collect()
    }
}

impl Transport for Memory {
    fn get(
        &self,
        request: RequestHead,
        deadline: Instant,
        _envelope_limit: usize,
    ) -> impl Future<Output = Received> + Send {
        let shared = Arc::clone(&self.shared);
        async move {
            let answer = {
                let mut script = shared.lock().unwrap();
                script.requests.push(Request::read(&request));
                script.in_flight += 1;
                script.most_in_flight = script.most_in_flight.max(script.in_flight);
                script.answers.pop_front()
            };
            let _landed = Landed(Arc::clone(&shared));
            match answer {
                Some((held, answer)) => {
                    sleep(held).await;
                    answer
                }
                None => {
                    tokio::time::sleep_until(deadline).await;
                    std::future::pending().await
                }
            }
        }
    }
}

struct Landed(Arc<Mutex<Script>>);

impl Drop for Landed {
    fn drop(&mut self) {
        self.0.lock().unwrap().in_flight -= 1;
    }
}

impl Request {
    fn read(request: &RequestHead) -> Self {
        let value = |name| {
            let mut pairs = request.url.query_pairs();
            pairs
                .find(|(key, _)| key == name)
                .map(|(_, value)| value.into_owned())
                .unwrap()
        };
        let token = request.headers.get("x-tunnel-shard-token");
        Self {
            at: Instant::now(),
            limit: value("limit").parse().unwrap(),
            timeout_ms: value("timeout_ms").parse().unwrap(),
            token: token.map(|token| token.to_str().unwrap().to_owned()),
        }
    }
}

fn head(status: u16, headers: &[(&'static str, &str)], body: &str) -> Received {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, HeaderValue::from_str(value).unwrap());
    }
    let body = ReceivedBody::Complete(body.to_owned().into());
    Received::Head {
        arrived: Instant::now(),
        status,
        headers: map,
        body,
    }
}

fn empty() -> Received {
    Received::Head {
        arrived: Instant::now(),
        status: 204,
        headers: HeaderMap::new(),
        body: ReceivedBody::Unread,
    }
}

fn status(status: u16) -> Received {
    head(status, &[], "")
}

fn correction(revision: u64, token: &str) -> Received {
    let body = format!(r#"{{"error":{{"code":"wrong_cluster","policy_revision":{revision}}}}}"#);
    head(409, &[("x-tunnel-shard-token", token)], &body)
}

fn commands(ids: std::ops::Range<usize>) -> Received {
    let commands: Vec<String> = ids
        .map(|id| {
            format!(r#"{{"command_type":"jsonrpc","request_id":"{id}","shard_token":"t{id}","jsonrpc":{{}}}}"#)
        })
        .collect();
    head(
        200,
        &[],
        &format!(r#"{{"commands":[{}]}}"#, commands.join(",")),
    )
}

fn closed() -> Received {
    Received::NoHead(Interruption::Closed, None)
}

fn count(number: usize) -> NonZeroUsize {
    NonZeroUsize::new(number).unwrap()
}

/// Stops a poller; a stop that nobody hears fails instead of waiting for ever.
async fn stop(poller: &mut Poller) {
    let stopped = timeout(Duration::from_secs(3_600), poller.stop());
    stopped.await.expect("a stop is heard");
}

/// The id of the next command; one that never comes fails instead of being waited for for ever.
async fn next_id(poller: &mut Poller) -> String {
    let next = timeout(Duration::from_secs(3_600), poller.next_command());
    next.await.expect("a command comes").unwrap().request_id
}

/// Runs a poller until its script is used up and the next request is held.
async fn run(memory: &Memory, answers: usize) -> Poller {
    let poller = Poller::spawn(&memory.client(), PollerOptions::default());
    for _ in 0..100_000 {
        if memory.requests() > answers {
            return poller;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!(
        "only {} of {answers} answers were asked for",
        memory.requests()
    );
}

/// spec-test: LOOP-5, LOOP-6, LOOP-7, PLC-14, PLC-15
#[tokio::test(start_paused = true)]
async fn backoff_keeps_growing_through_evictions_and_exhausted_rounds() {
    // Six corrections exhaust two rounds, three failures evict, a success resets, and so again.
    let mut answers: Vec<Received> = (1..=6).map(|revision| correction(revision, "a")).collect();
    answers.extend([
        correction(7, "b"),
        status(503),
        status(500),
        status(408),
        status(401),
    ]);
    answers.extend([empty(), status(503)]);
    let total = answers.len();
    let memory = Memory::new(answers);
    let mut poller = run(&memory, total).await;
    stop(&mut poller).await;

    let tokens = memory.each(|request| request.token.clone().unwrap_or("-".into()));
    assert_eq!(
        tokens,
        [
            "-", "a", "a", "-", "a", "a", "-", "b", "b", "b", "-", "-", "-", "-"
        ]
    );
    let gaps = memory.gaps();
    let failures = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1];
    assert_eq!(gaps.len(), failures.len());
    for (gap, failures) in gaps.iter().zip(failures) {
        let most = (200_u128 << failures).min(10_000);
        match failures {
            0 => assert_eq!(*gap, 0, "after a success"),
            // Timers are rounded up to whole milliseconds.
            _ => assert!(
                (200..=most + 1).contains(gap),
                "failure {failures}: {gap} ms"
            ),
        }
    }
}

/// spec-test: LOOP-5
#[tokio::test(start_paused = true)]
async fn delays_are_drawn_anew_each_time() {
    let memory = Memory::new((0..60).map(|_| status(503)));
    let mut poller = run(&memory, 60).await;
    stop(&mut poller).await;
    // From the sixth failure on every delay comes from 200 ms to 10 s.
    let late = &memory.gaps()[5..];
    let distinct: BTreeSet<_> = late.iter().collect();
    assert_eq!(late.len(), 55);
    assert!(distinct.len() > 30, "{late:?}");
    let low = late.iter().filter(|gap| **gap < 5_100).count();
    assert!((5..=50).contains(&low), "{late:?}");
}

/// spec-test: LOOP-15
#[tokio::test(start_paused = true)]
async fn stopping_interrupts_a_60_second_hint_at_once() {
    let hint = head(503, &[("retry-after", "3600")], "");
    let memory = Memory::new([hint]);
    let mut poller = Poller::spawn(&memory.client(), PollerOptions::default());
    sleep(Duration::from_secs(59)).await;
    assert_eq!(memory.requests(), 1, "the capped hint still holds");
    let before = Instant::now();
    stop(&mut poller).await;
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert!(poller.next_command().await.is_none());
    assert_eq!(memory.requests(), 1);
}

/// spec-test: LOOP-10, LOOP-13
#[tokio::test(start_paused = true)]
async fn the_hint_is_capped_and_then_the_poll_goes_on() {
    let hint = head(503, &[("retry-after", "3600")], "");
    let memory = Memory::new([hint, empty()]);
    let mut poller = run(&memory, 2).await;
    stop(&mut poller).await;
    let gaps = memory.gaps();
    assert!((60_000..=60_001).contains(&gaps[0]), "{gaps:?}");
    assert_eq!(gaps[1], 0);
}

/// spec-test: LOOP-15
#[tokio::test(start_paused = true)]
async fn stopping_interrupts_a_held_poll_at_once() {
    let memory = Memory::new([]);
    let client = memory.client();
    let mut poller = Poller::spawn(&client, PollerOptions::default());
    sleep(Duration::from_secs(1)).await;
    let before = Instant::now();
    stop(&mut poller).await;
    assert_eq!((before.elapsed(), memory.requests()), (Duration::ZERO, 1));
    assert_eq!(
        client.readiness(),
        Readiness::Starting,
        "a cancelled poll says nothing"
    );
}

/// spec-test: LOOP-1, LOOP-2, LOOP-3, REQ-9
#[tokio::test(start_paused = true)]
async fn asks_for_what_there_is_room_for_and_waits_when_there_is_none() {
    let memory = Memory::new([commands(0..15), commands(15..20), commands(20..21)]);
    let mut poller = Poller::spawn(&memory.client(), PollerOptions::default());
    sleep(Duration::from_secs(5)).await;
    assert_eq!(
        memory.each(|request| request.limit),
        [20, 5],
        "the queue is full: no poll at all"
    );
    assert_eq!(next_id(&mut poller).await, "0");
    sleep(Duration::from_millis(101)).await;
    assert_eq!(memory.each(|request| request.limit), [20, 5, 1]);
    for id in 1..21 {
        assert_eq!(next_id(&mut poller).await, id.to_string());
    }
    sleep(Duration::from_millis(101)).await;
    assert_eq!(memory.each(|request| request.limit), [20, 5, 1, 20]);
    stop(&mut poller).await;
}

/// spec-test: LOOP-18
#[tokio::test(start_paused = true)]
async fn takes_more_commands_than_it_asked_for() {
    let memory = Memory::new([commands(0..60)]);
    let mut poller = Poller::spawn(&memory.client(), PollerOptions::default());
    sleep(Duration::from_secs(5)).await;
    assert_eq!(memory.requests(), 1, "no more until there is room again");
    stop(&mut poller).await;
    for id in 0..60 {
        assert_eq!(next_id(&mut poller).await, id.to_string());
    }
    assert!(poller.next_command().await.is_none());
}

/// Dropping the future at any point loses no command.
#[tokio::test(start_paused = true)]
async fn next_command_may_be_dropped_at_any_point() {
    let memory = Memory::held((0..30).map(|n| {
        (
            Duration::from_millis(n % 7),
            commands(n as usize..n as usize + 1),
        )
    }));
    let mut poller = Poller::spawn(&memory.client(), PollerOptions::default());
    let mut taken = Vec::new();
    for round in 0..2_000_u64 {
        tokio::select! {
            biased;
            command = poller.next_command() => taken.extend(command),
            () = sleep(Duration::from_millis(round % 3)) => {}
        }
        if taken.len() == 30 {
            break;
        }
    }
    let ids: Vec<String> = taken
        .into_iter()
        .map(|command| command.request_id)
        .collect();
    assert_eq!(ids, (0..30).map(|id| id.to_string()).collect::<Vec<_>>());
    stop(&mut poller).await;
}

/// spec-test: LOOP-8, LOOP-16, LOOP-17
#[tokio::test(start_paused = true)]
async fn polls_in_flight_share_one_backoff_and_one_readiness() {
    let second = Duration::from_secs(1);
    // Three polls begin together. Two fail after one second, the third succeeds after three.
    let memory = Memory::held([
        (second, status(503)),
        (second, status(503)),
        (3 * second, empty()),
    ]);
    let client = memory.client();
    let options = PollerOptions {
        in_flight: count(3),
        ..PollerOptions::default()
    };
    let mut poller = Poller::spawn(&client, options);
    sleep(Duration::from_millis(1_100)).await;
    assert_eq!(memory.requests(), 3);
    let Readiness::Unready { since, fault } = client.readiness() else {
        panic!("ready")
    };
    assert_eq!((since.as_secs(), fault), (1, PollFault::Status(503)));
    sleep(Duration::from_millis(2_000)).await;
    let Readiness::Ready { since } = client.readiness() else {
        panic!("not ready")
    };
    assert_eq!(since.as_secs(), 3);
    // The failures' own delays were at most 400 and 800 ms, counted by one backoff.
    assert_eq!(memory.requests(), 6);
    assert_eq!(
        memory.each(|request| request.limit),
        [7, 7, 6, 7, 7, 6],
        "shares of 20 places"
    );
    assert_eq!(memory.shared.lock().unwrap().most_in_flight, 3);
    stop(&mut poller).await;
}

/// spec-test: LOOP-8
#[tokio::test(start_paused = true)]
async fn a_late_success_resets_the_shared_backoff() {
    let second = Duration::from_secs(1);
    let memory = Memory::held([
        (2 * second, correction(1, "a")),
        (3 * second, empty()),
        (2 * second, status(503)),
    ]);
    let client = memory.unwatched_client();
    let events = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&events);
    client
        .observe(move |event| log.lock().unwrap().push(event.verdict.name()))
        .unwrap();
    assert!(client.observe(|_| {}).is_err(), "there is one observer");
    let options = PollerOptions {
        in_flight: count(2),
        ..PollerOptions::default()
    };
    let mut poller = Poller::spawn(&client, options);
    sleep(Duration::from_millis(3_100)).await;
    assert_eq!(*events.lock().unwrap(), ["installed", "late"]);
    assert!(client.readiness().is_ready());
    assert_eq!(client.placed().watermark.map(|found| found.get()), Some(1));
    stop(&mut poller).await;
}

#[tokio::test(start_paused = true)]
async fn stops_by_itself_after_the_greatest_number_of_polls_in_all() {
    for (in_flight, polls) in [(1, 1), (1, 7), (3, 7), (8, 3), (4, 0)] {
        let memory = Memory::new((0..20).map(|n| if n % 2 == 0 { empty() } else { status(500) }));
        let options = PollerOptions {
            in_flight: count(in_flight),
            max_polls: Some(polls),
            ..PollerOptions::default()
        };
        let mut poller = Poller::spawn(&memory.client(), options);
        let ended = timeout(Duration::from_secs(3_600), async {
            assert!(poller.next_command().await.is_none());
            poller.finished().await;
        });
        ended.await.expect("polling ends by itself");
        assert_eq!(memory.requests() as u64, polls, "{in_flight} in flight");
    }
}

/// The count is exact however the polls in flight race for the last one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_greatest_number_of_polls_is_never_exceeded() {
    for round in 0..1_000 {
        let memory = Memory::new((0..40).map(|_| empty()));
        let options = PollerOptions {
            in_flight: count(8),
            max_polls: Some(20),
            queue: 200,
            ..PollerOptions::default()
        };
        let mut poller = Poller::spawn(&memory.client(), options);
        let ended = timeout(Duration::from_secs(30), poller.finished());
        ended.await.expect("polling ends by itself");
        assert_eq!(memory.requests(), 20, "round {round}");
    }
}

/// An observer that panics costs neither commands nor the loop.
#[tokio::test(start_paused = true)]
async fn a_panic_of_the_observer_ends_with_the_observer() {
    let memory = Memory::new([commands(0..1), status(500), commands(1..2)]);
    let client = memory.unwatched_client();
    client
        .observe(|event| assert_eq!(event.commands, 99, "a panic on purpose"))
        .unwrap();
    let mut poller = Poller::spawn(&client, PollerOptions::default());
    assert_eq!(next_id(&mut poller).await, "0");
    assert_eq!(next_id(&mut poller).await, "1");
    stop(&mut poller).await;
}

/// spec-test: LOOP-21, LOOP-22, LOOP-23, RPT-3
#[tokio::test(start_paused = true)]
async fn asks_for_shorter_waits_where_long_polls_are_cut() {
    let secs = Duration::from_secs;
    let memory = Memory::held([
        (secs(20), closed()),
        (secs(14), closed()),
        (secs(3), closed()),
        (secs(6), closed()),
        (secs(30), empty()),
    ]);
    let mut poller = run(&memory, 5).await;
    let waits = memory.each(|request| request.timeout_ms);
    assert_eq!(waits, [30_000, 15_000, 9_000, 9_000, 5_000, 5_000]);
    stop(&mut poller).await;
}

/// spec-test: LOOP-4, RPT-10
#[tokio::test(start_paused = true)]
async fn tells_the_service_how_long_to_hold_and_the_transport_when_to_give_up() {
    struct Deadlines(Arc<Mutex<Vec<Duration>>>);
    impl Transport for Deadlines {
        async fn get(&self, _: RequestHead, deadline: Instant, _: usize) -> Received {
            self.0.lock().unwrap().push(deadline - Instant::now());
            empty()
        }
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let settings = support::settings("http://127.0.0.1:1");
    let client = watched(ControlPlane::with_transport(
        settings,
        Deadlines(Arc::clone(&seen)),
    ));
    let report = client
        .poll(support::LIMIT, &tokio_util::sync::CancellationToken::new())
        .await;
    assert!(report.reply.is_ok());
    assert_eq!(*seen.lock().unwrap(), [Duration::from_secs(35)]);
}

/// A service that answers at once must not keep the runtime from anything else.
#[tokio::test(start_paused = true)]
async fn a_service_that_answers_at_once_starves_nobody() {
    let memory = Memory::new((0..100_000).map(|_| empty()));
    let mut poller = Poller::spawn(&memory.client(), PollerOptions::default());
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    stop(&mut poller).await;
    // One poll a turn, and not as many as the runtime's own patience allows.
    let requests = memory.requests();
    assert!((1..=200).contains(&requests), "{requests}");
}

/// What prints or compresses headers can then leave them out.
/// spec-test: PRIV-1
#[tokio::test(start_paused = true)]
async fn a_transport_is_given_secrets_that_are_marked_as_such() {
    struct Marks(Arc<Mutex<Vec<Vec<String>>>>);
    impl Transport for Marks {
        async fn get(&self, request: RequestHead, _: Instant, _: usize) -> Received {
            let marked = request
                .headers
                .iter()
                .filter(|(_, value)| value.is_sensitive());
            let mut names: Vec<String> = marked.map(|(name, _)| name.to_string()).collect();
            names.sort();
            self.0.lock().unwrap().push(names);
            correction(1, "a")
        }
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let settings = support::settings("http://127.0.0.1:1");
    let client = watched(ControlPlane::with_transport(
        settings,
        Marks(Arc::clone(&seen)),
    ));
    for _ in 0..2 {
        let _ = client.poll(support::LIMIT, &Default::default()).await;
    }
    assert_eq!(
        *seen.lock().unwrap(),
        [
            vec!["authorization"],
            vec!["authorization", "x-tunnel-shard-token"]
        ]
    );
}

/// What came back in the very moment in which the caller cancelled.
/// spec-test: CLS-1, CLS-2, PLC-20
#[tokio::test(start_paused = true)]
async fn a_success_that_was_read_commits_even_if_the_caller_cancels_right_then() {
    struct CancelsFirst(tokio_util::sync::CancellationToken, Mutex<Option<Received>>);
    impl Transport for CancelsFirst {
        async fn get(&self, _: RequestHead, _: Instant, _: usize) -> Received {
            self.0.cancel();
            self.1.lock().unwrap().take().unwrap()
        }
    }
    for (answer, verdict) in [
        (empty(), "success"),
        (commands(0..1), "success"),
        (head(200, &[], "no envelope"), "cancelled"),
        (correction(1, "a"), "cancelled"),
        (status(503), "cancelled"),
        (status(429), "cancelled"),
        (closed(), "cancelled"),
    ] {
        let cancel = tokio_util::sync::CancellationToken::new();
        let transport = CancelsFirst(cancel.clone(), Mutex::new(Some(answer)));
        let settings = support::settings("http://127.0.0.1:1");
        let client = watched(ControlPlane::with_transport(settings, transport));
        let report = client.poll(support::LIMIT, &cancel).await;
        assert_eq!(report.verdict.name(), verdict);
        let generation = u64::from(verdict == "success");
        assert_eq!(client.placed().generation.get(), generation);
        assert_eq!(client.placed().watermark, None);
    }
}

/// The answer is in and the caller has cancelled before the poll looks again: the answer comes first.
/// spec-test: CLS-1, CLS-2
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_in_is_looked_at_before_the_cancellation() {
    struct WhenTold(Mutex<Option<tokio::sync::oneshot::Receiver<Received>>>);
    impl Transport for WhenTold {
        async fn get(&self, _: RequestHead, _: Instant, _: usize) -> Received {
            let answer = self.0.lock().unwrap().take().unwrap();
            answer.await.unwrap()
        }
    }
    for (answer, verdict) in [
        (empty(), "success"),
        (commands(0..1), "success"),
        (correction(1, "a"), "cancelled"),
    ] {
        let cancel = tokio_util::sync::CancellationToken::new();
        let (tell, told) = tokio::sync::oneshot::channel();
        let settings = support::settings("http://127.0.0.1:1");
        let transport = WhenTold(Mutex::new(Some(told)));
        let client = watched(ControlPlane::with_transport(settings, transport));
        let poll = client.poll(support::LIMIT, &cancel);
        tokio::pin!(poll);
        assert!(
            poll_once(poll.as_mut()).await.is_none(),
            "nobody has answered"
        );
        tell.send(answer).unwrap();
        cancel.cancel();
        assert_eq!(poll.await.verdict.name(), verdict);
    }
}

/// Polls a future once; `None` when it is pending.
async fn poll_once<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    std::future::poll_fn(|context| {
        let polled = std::pin::Pin::new(&mut future).poll(context);
        std::task::Poll::Ready(match polled {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

/// spec-test: CLS-4
#[tokio::test(start_paused = true)]
async fn a_request_that_could_not_be_sent_counts_against_nobody() {
    let cause = || moorline::TransportCause::new("a bad header value");
    let not_sent = || Received::NotSent(cause());
    let memory = Memory::new([
        correction(1, "a"),
        not_sent(),
        not_sent(),
        not_sent(),
        empty(),
    ]);
    let client = memory.client();
    let mut poller = Poller::spawn(&client, PollerOptions::default());
    for _ in 0..10_000 {
        sleep(Duration::from_millis(10)).await;
        if memory.requests() > 5 {
            break;
        }
    }
    stop(&mut poller).await;
    let tokens = memory.each(|request| request.token.clone().unwrap_or("-".into()));
    assert_eq!(tokens, ["-", "a", "a", "a", "a", "a"]);
    assert_eq!(client.placed().failures, 0);
}
