//! Every generated sequence that is kept, played twice: on the bare model, and by the real client over real
//! loopback sockets, many at a time, while a second listener hears nothing.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use moorline_fixtures::scripted::SilentListener;
use moorline_fixtures::sequence::Sequence;
use serde::Deserialize;
use serde_json::value::RawValue;
use support::player::{ModelRun, WireRun};
use support::trace::validated;
use tokio::sync::Semaphore;

/// Sequences that are played at a time, each with a service and a client of its own.
const AT_A_TIME: usize = 24;

/// What is kept: K (requests in flight), pairs of transitions, sequences, steps, polls.
const KEPT: [(u8, usize, usize, usize, usize); 2] =
    [(1, 1230, 119, 3426, 3249), (2, 5323, 883, 24487, 18444)];

#[derive(Deserialize)]
struct GeneratedFile {
    format: String,
    k: u8,
    /// What is covered: `pairs` or `transitions`.
    goal: String,
    counts: Counts,
    sequences: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Counts {
    pairs: usize,
    covered: usize,
    goal: usize,
    sequences: usize,
    steps: usize,
    polls: usize,
}

/// The sequences of one file, and what they cover.
struct Suite {
    k: u8,
    goal: String,
    covered: usize,
    sequences: Vec<Sequence>,
}

/// spec-test: PLC-3, PLC-4, PLC-5, PLC-7, PLC-9, PLC-10, PLC-11, PLC-12, PLC-14, PLC-17, PLC-18, PLC-19
#[test]
fn the_bare_model_agrees_with_every_generated_sequence() {
    for suite in load() {
        play_on_the_model(&suite);
    }
}

/// spec-test: PLC-3, PLC-4, PLC-5, PLC-6, PLC-8, PLC-13, PLC-15, PLC-16, PLC-20, PLC-21, END-2, END-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_real_client_agrees_with_every_generated_sequence() {
    let mut played = 0;
    for suite in load() {
        played += u64::try_from(suite.sequences.len()).unwrap();
        play_on_the_wire(suite).await;
    }
    assert_eq!(
        (played, validated().0),
        (1_002, 1_002),
        "each trace is validated"
    );
}

/// For the larger suites, which are not kept: `MOORLINE_GENERATED` names one file that
/// `moorline-proofs generate --k K --directory DIRECTORY` wrote, `DIRECTORY/kK.json`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs a generated file in MOORLINE_GENERATED"]
async fn model_and_real_client_agree_with_one_generated_file() {
    let file = std::env::var_os("MOORLINE_GENERATED").expect("MOORLINE_GENERATED names a file");
    let file = Path::new(&file);
    let stem = file.file_stem().and_then(|stem| stem.to_str());
    let k = stem.and_then(|stem| stem.strip_prefix('k')?.parse().ok());
    let k = k.expect("a file name such as k3.json");
    let (counts, suite) = read(file, k);
    assert!(counts.goal > 0 && counts.sequences > 0);
    play_on_the_model(&suite);
    play_on_the_wire(suite).await;
}

fn play_on_the_model(suite: &Suite) {
    let begun = Instant::now();
    let mut requests = 0;
    for sequence in &suite.sequences {
        ModelRun::default().play(sequence);
        requests += polls(sequence);
    }
    suite.tell("model", suite.sequences.len(), requests, begun);
}

/// Plays all, each with a service and a client of its own; no other endpoint may hear anything.
async fn play_on_the_wire(mut suite: Suite) {
    let begun = Instant::now();
    let elsewhere = SilentListener::start().await.unwrap();
    let (k, sequences) = (suite.k, std::mem::take(&mut suite.sequences));
    let count = sequences.len();
    // A refused connection is a poll that sends no request, and each run ends with one poll more.
    let expected: usize = sequences
        .iter()
        .map(|one| polls(one) - refused(one) + 1)
        .sum();
    let requests = play_all(sequences, &elsewhere.endpoint()).await;
    assert_eq!(
        requests,
        u64::try_from(expected).unwrap(),
        "requests, K = {k}"
    );
    let heard = elsewhere.counts().await.unwrap();
    assert_eq!((heard.connections, heard.bytes_received), (0, 0));
    suite.tell("wire", count, expected, begun);
}

/// Plays many side by side; returns how many requests their services were sent.
async fn play_all(sequences: Vec<Sequence>, elsewhere: &str) -> u64 {
    let places = Arc::new(Semaphore::new(AT_A_TIME));
    let mut runs = tokio::task::JoinSet::new();
    for sequence in sequences {
        let (places, elsewhere) = (Arc::clone(&places), elsewhere.to_owned());
        runs.spawn(async move {
            let _place = places.acquire_owned().await.unwrap();
            WireRun::start(&sequence, &elsewhere).play(&sequence).await
        });
    }
    let mut requests = 0;
    while let Some(run) = runs.join_next().await {
        requests += run.unwrap();
    }
    requests
}

/// Reads the files that are kept, and holds what is in them against what should be.
fn load() -> Vec<Suite> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/generated");
    let mut loaded = Vec::new();
    for (k, pairs, sequences, steps, polls) in KEPT {
        let (counts, found) = read(&kept.join(format!("k{k}.json")), k);
        assert_eq!((counts.goal, counts.pairs), (pairs, pairs), "K = {k}");
        let counted = (counts.sequences, counts.steps, counts.polls);
        assert_eq!(counted, (sequences, steps, polls), "K = {k}");
        loaded.push(found);
    }
    loaded
}

/// Reads one file, and holds what it says of itself against what is in it.
fn read(file: &Path, k: u8) -> (Counts, Suite) {
    let text = std::fs::read_to_string(file).expect("the generated file");
    let read: GeneratedFile = serde_json::from_str(&text).expect("a generated file");
    assert_eq!((read.format.as_str(), read.k), ("moorline-generated/1", k));
    let counts = read.counts;
    assert_eq!(counts.covered, counts.goal, "K = {k}: all is covered");
    let found: Vec<Sequence> = read
        .sequences
        .iter()
        .enumerate()
        .map(|(index, text)| {
            Sequence::from_file_text(&format!("k{k}-{:04}", index + 1), text.get()).unwrap()
        })
        .collect();
    let counted = (
        found.len(),
        found.iter().map(|one| one.steps.len()).sum(),
        found.iter().map(polls).sum(),
    );
    let said = (counts.sequences, counts.steps, counts.polls);
    assert_eq!(
        counted, said,
        "K = {k}: what is there is what the file says"
    );
    assert!(found.iter().all(|one| one.steps.len() <= 30), "K = {k}");
    let suite = Suite {
        k,
        goal: read.goal,
        covered: counts.covered,
        sequences: found,
    };
    (counts, suite)
}

fn polls(sequence: &Sequence) -> usize {
    let sends = |step: &&moorline_fixtures::sequence::Step| step.action.sends().is_some();
    sequence.steps.iter().filter(sends).count()
}

fn refused(sequence: &Sequence) -> usize {
    use moorline_fixtures::answer::{Answer, TransportFault};
    let refuse = Answer::Fault(TransportFault::Refuse);
    let answers = sequence
        .steps
        .iter()
        .filter_map(|step| step.action.answer());
    answers.filter(|answer| **answer == refuse).count()
}

impl Suite {
    fn tell(&self, who: &str, sequences: usize, requests: usize, begun: Instant) {
        let seconds = begun.elapsed().as_secs_f64();
        let Self {
            k, goal, covered, ..
        } = self;
        let per_second = |count: usize| count as f64 / seconds;
        println!(
            "{who}, K = {k}: {sequences} sequences, {requests} requests, {covered} of {covered} {goal}, {seconds:.1} s \
             ({:.0} sequences, {:.0} requests, {:.0} {goal} per second)",
            per_second(sequences),
            per_second(requests),
            per_second(*covered),
        );
    }
}
