//! Every committed sequence, played twice: on the bare model, and by the real client over a real
//! loopback socket while a second listener, which stands for any other endpoint, hears nothing.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod support;

use moorline_fixtures::scripted::SilentListener;
use moorline_fixtures::sequence::load_all;
use support::player::{ModelRun, WireRun};
use support::trace::validated;

/// spec-test: SVC-11
#[test]
fn the_bare_model_agrees_with_every_sequence() {
    let sequences = load_all().unwrap();
    let mut steps = 0;
    for sequence in &sequences {
        ModelRun::default().play(sequence);
        steps += sequence.steps.len();
    }
    assert_counts(sequences.len(), steps);
}

/// spec-test: SVC-11, END-1, END-2, END-5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_real_client_agrees_with_every_sequence() {
    let global_endpoint = SilentListener::start().await.unwrap();
    let sequences = load_all().unwrap();
    let (count, mut steps) = (sequences.len(), 0);
    let mut runs = tokio::task::JoinSet::new();
    for sequence in sequences {
        steps += sequence.steps.len();
        let elsewhere = global_endpoint.endpoint();
        runs.spawn(async move { WireRun::start(&sequence, &elsewhere).play(&sequence).await });
    }
    while let Some(run) = runs.join_next().await {
        run.unwrap();
    }
    assert_counts(count, steps);
    // Of the steps 492 end a poll, and each run ends with one poll more.
    assert_eq!(validated(), (45, 492 + 45), "each trace is validated");
    let heard = global_endpoint.counts().await.unwrap();
    assert_eq!((heard.connections, heard.bytes_received), (0, 0));
}

fn assert_counts(sequences: usize, steps: usize) {
    println!("{sequences} sequences, {steps} steps");
    assert_eq!(
        (sequences, steps),
        (45, 527),
        "a sequence was added, lost or not played"
    );
}
