//! What the decisions of one poll cost: time and allocations.
//!
//! ```text
//! cargo bench -p moorline-model
//! ```
//!
//! Corrections are parsed next to what `serde_json` makes of the same bytes with a derived struct,
//! which is less than the protocol asks for: such a struct takes arrays for objects and looks at no
//! header.
#![allow(
    clippy::expect_used,
    missing_docs,
    reason = "a benchmark stops at anything that it does not expect"
)]

use divan::counter::BytesCount;
use divan::{AllocProfiler, Bencher, black_box};
use moorline_model::placement::{
    AcceptedParts, Attempt, Correction, Generation, Outcome, Placement, PlacementParts, Verdict,
};
use moorline_model::poll::{Body, Exchange, classify};
use moorline_model::wire::{
    CapabilitySet, Revision, ShardToken, parse_correction, parse_retry_after,
};
use serde::Deserialize;

#[global_allocator]
static ALLOCATIONS: AllocProfiler = AllocProfiler::system();

type PollOutcome = Outcome<Revision, ShardToken>;

fn main() {
    divan::main();
}

/// Committing an outcome of each kind, named by its verdict.
#[divan::bench(args = Verdict::ALL)]
fn commit(bencher: Bencher<'_, '_>, verdict: Verdict) {
    let tokens = ["route-a", "route-b"].map(token);
    let (mut placement, attempt, outcome) = before(verdict, &tokens);
    assert_eq!(placement.commit(attempt, outcome), verdict);
    bencher
        .with_inputs(|| {
            let (placement, attempt, outcome) = before(verdict, &tokens);
            (placement, Some((attempt, outcome)))
        })
        .bench_local_refs(|(placement, ready)| {
            let verdict = ready
                .take()
                .map(|(attempt, outcome)| placement.commit(attempt, outcome));
            black_box(verdict)
        });
}

/// Taking the snapshot of a placement with an active token, and dropping it.
#[divan::bench]
fn snapshot(bencher: Bencher<'_, '_>) {
    let placement = placement(&token("route-a"), true, 1, 1);
    bencher.bench_local(|| drop(black_box(black_box(&placement).snapshot())));
}

/// Classifying a whole correction, its headers included.
#[divan::bench]
fn classify_correction(bencher: Bencher<'_, '_>) {
    let body = body("published");
    let headers: [(&str, &[u8]); 4] = [
        ("content-type", b"application/json"),
        ("content-length", b"55"),
        ("x-tunnel-shard-token", b"opaque-placement-token"),
        ("retry-after", b"1"),
    ];
    bencher.bench_local(|| {
        let exchange = Exchange::Head {
            status: 409,
            headers: black_box(headers.as_slice()),
            body: Body::Complete(black_box(&body)),
        };
        classify(exchange, false, 0)
    });
}

/// Classifying a poll that brought nothing, which is what most polls do.
#[divan::bench]
fn classify_empty_success(bencher: Bencher<'_, '_>) {
    let headers: [(&str, &[u8]); 1] = [("content-type", b"application/json")];
    bencher.bench_local(|| {
        let exchange = Exchange::Head {
            status: 200,
            headers: black_box(headers.as_slice()),
            body: Body::Complete(black_box(br#"{"commands":[]}"#)),
        };
        classify(exchange, false, 0)
    });
}

#[divan::bench]
fn capabilities(bencher: Bencher<'_, '_>) {
    let line = b"other-feature, wrong-cluster-v1".as_slice();
    bencher.bench_local(|| CapabilitySet::from_lines(black_box([line])));
}

#[divan::bench(args = ["1", "Sun, 06 Nov 1994 08:49:37 GMT", "soon"])]
fn retry_after(bencher: Bencher<'_, '_>, value: &str) {
    bencher.bench_local(|| parse_retry_after(black_box(value.as_bytes()), 784_111_770));
}

/// The same bytes, three readers.
#[divan::bench_group]
mod correction_body {
    use super::*;

    #[divan::bench(args = BODIES)]
    fn moorline(bencher: Bencher<'_, '_>, name: &str) {
        let body = body(name);
        bencher
            .counter(BytesCount::of_slice(&body))
            .bench_local(|| {
                let token = black_box(b"opaque-placement-token".as_slice());
                parse_correction(black_box(&body), [token]).expect("a correction")
            });
    }

    #[divan::bench(args = BODIES)]
    fn serde_owned(bencher: Bencher<'_, '_>, name: &str) {
        let body = body(name);
        bencher
            .counter(BytesCount::of_slice(&body))
            .bench_local(|| {
                let found: Body<String> =
                    serde_json::from_slice(black_box(&body)).expect("a correction");
                found
            });
    }

    #[divan::bench(args = BODIES)]
    fn serde_borrowed(bencher: Bencher<'_, '_>, name: &str) {
        let body = body(name);
        bencher
            .counter(BytesCount::of_slice(&body))
            .bench_local(|| {
                let found: Body<&str> =
                    serde_json::from_slice(black_box(&body)).expect("a correction");
                black_box(found.error.code.len())
            });
    }

    /// The obvious derived reader.
    #[derive(Deserialize)]
    #[allow(dead_code, reason = "read, and not used further")]
    struct Body<S> {
        error: Error<S>,
    }

    #[derive(Deserialize)]
    #[allow(dead_code, reason = "read, and not used further")]
    struct Error<S> {
        code: S,
        policy_revision: u64,
        shard_token: Option<S>,
    }
}

/// The published form (55 bytes), one with unknown members (277 bytes), and one whose unknown members
/// are deep (60 KiB).
const BODIES: [&str; 3] = ["published", "unknown members", "deep unknown members"];

fn body(name: &str) -> Vec<u8> {
    let (text, length) = match name {
        "published" => (PUBLISHED.to_owned(), 55),
        "unknown members" => (UNKNOWN.to_owned(), 277),
        _ => {
            let deep = "{\"a\":[".repeat(3_835) + "0" + &"]}".repeat(3_835);
            let text = format!(
                r#"{{"trace":{deep},"error":{{"code":"wrong_cluster","detail":{deep},"policy_revision":42}}}}"#
            );
            (text, 61_436)
        }
    };
    assert_eq!(text.len(), length, "{name}");
    text.into_bytes()
}

const PUBLISHED: &str = r#"{"error":{"code":"wrong_cluster","policy_revision":42}}"#;

const UNKNOWN: &str = r#"{"req":"b0a7c1d2-5e6f-4a3b-9c8d-7e6f5a4b3c2d","error":{"code":"wrong_cluster","message":"this tunnel is placed elsewhere","policy_revision":9007199254740991,"type":"conflict","param":null,"retryable":true,"shard_token":"opaque-placement-token","details":[1.5e3,{"zone":"eu"}]}}"#;

/// A placement, an attempt of it and an outcome, whose commit gives the verdict.
fn before(
    verdict: Verdict,
    [active, other]: &[ShardToken; 2],
) -> (
    Placement<Revision, ShardToken>,
    Attempt<ShardToken>,
    PollOutcome,
) {
    let with_token = |corrections, failures| placement(active, true, corrections, failures);
    let moved = |revision, token: &ShardToken| {
        Outcome::Correction(Correction {
            revision: self::revision(revision),
            token: token.clone(),
        })
    };
    let (mut placement, outcome) = match verdict {
        Verdict::Cancelled => (with_token(1, 1), Outcome::Cancelled),
        Verdict::Conflicted => (with_token(1, 1), moved(7, other)),
        Verdict::Evicted => (with_token(1, 2), Outcome::DestinationFailure),
        Verdict::FailureCounted => (with_token(1, 1), Outcome::DestinationFailure),
        Verdict::Installed => (with_token(1, 1), moved(8, other)),
        Verdict::Late | Verdict::Success => (with_token(1, 1), Outcome::Success),
        Verdict::Neutral => (with_token(1, 1), Outcome::Neutral),
        Verdict::Restored => (placement(active, false, 1, 0), moved(7, active)),
        Verdict::RoundExhausted => (with_token(2, 1), moved(8, other)),
        Verdict::StaleRevision => (with_token(1, 1), moved(6, other)),
        Verdict::TokenlessFailure => (placement(active, false, 1, 0), Outcome::DestinationFailure),
    };
    let attempt = placement.snapshot();
    if verdict == Verdict::Late {
        let newer = placement.snapshot();
        placement.commit(newer, Outcome::Success);
    }
    (placement, attempt, outcome)
}

fn placement(
    token: &ShardToken,
    active: bool,
    corrections: u8,
    failures: u8,
) -> Placement<Revision, ShardToken> {
    Placement::from_parts(PlacementParts {
        generation: Generation::FIRST,
        accepted: Some(AcceptedParts {
            revision: revision(7),
            token: token.clone(),
            active,
        }),
        corrections,
        failures,
    })
}

fn token(text: &str) -> ShardToken {
    ShardToken::from_bytes(text.as_bytes()).expect("a valid token")
}

fn revision(number: u64) -> Revision {
    Revision::new(number).expect("a small revision")
}
