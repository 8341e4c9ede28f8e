//! Replays every committed input through the bodies of the targets, without a fuzzer.
#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that says what it ran"
)]

use std::collections::BTreeSet;
use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use moorline_fuzz::correction_body::TOKEN;
use moorline_fuzz::correction_differential::{Reader, Reason, compare};
use moorline_fuzz::{TARGETS, canary};
use moorline_model::jsonrpc::Message;
use moorline_model::wire::{Envelope, parse_correction};

/// The fewest inputs that each target must have: what is written by hand, at least. In the order of
/// [`TARGETS`].
const LEAST: [(&str, usize); 16] = [
    ("capabilities", 18),
    ("chunking", 35),
    ("command_envelope", 71),
    ("correction_body", 94),
    ("correction_differential", 94),
    ("delivery_sequence", 61),
    ("dump_masking", 51),
    ("event_stream", 65),
    ("jsonrpc_message", 82),
    ("pipe_sequence", 32),
    ("placement_sequence", 6),
    ("poll_response", 39),
    ("retry_after", 23),
    ("roundtrip", 10),
    ("shard_token", 11),
    ("target_answer", 153),
];

/// The corpora are for reading and for every clone, so they stay small: bytes in all.
const BYTES_MAX: usize = 1 << 20;

#[test]
fn every_committed_input_passes_its_target() {
    let mut failed = Vec::new();
    let mut bytes = 0;
    for (target, (name, least)) in TARGETS.iter().zip(LEAST) {
        assert_eq!(target.name, name);
        let corpus = inputs("corpus", name);
        let regressions = inputs("regressions", name);
        println!(
            "{name}: {} inputs, {} regressions",
            corpus.len(),
            regressions.len()
        );
        assert!(corpus.len() >= least, "{name}: {} inputs", corpus.len());
        for (path, input) in corpus.into_iter().chain(regressions) {
            bytes += input.len();
            if catch_unwind(|| (target.run)(&input)).is_err() {
                failed.push(path);
            }
        }
    }
    assert_eq!(failed, Vec::<PathBuf>::new());
    assert!(bytes <= BYTES_MAX, "{bytes} bytes");
}

/// The names of hand-written inputs say what comes of them: `y_` is a correction, `n_` is none, and
/// what follows, up to a dot, is the fault. `i_` may be either, and libFuzzer's own have no prefix.
#[test]
fn bodies_of_corrections_do_as_their_names_say() {
    for target in ["correction_body", "correction_differential"] {
        let counts = named(target, |body| {
            parse_correction(body, [TOKEN.as_bytes()])
                .map(drop)
                .map_err(|fault| format!("{fault:?}"))
        });
        assert_eq!(counts, [24, 67, 3], "{target}");
    }
}

#[test]
fn bodies_of_envelopes_do_as_their_names_say() {
    let counts = named("command_envelope", |body| {
        Envelope::parse(body)
            .map(drop)
            .map_err(|fault| format!("{fault:?}"))
    });
    assert_eq!(counts, [61, 10, 0]);
}

/// What stands in brackets of a fault's text is not part of its name.
#[test]
fn messages_do_as_their_names_say() {
    let counts = named("jsonrpc_message", |body| {
        let message = std::str::from_utf8(body).unwrap();
        Message::parse(message).map(drop).map_err(|fault| {
            let fault = format!("{fault:?}");
            fault.split('(').next().unwrap().to_owned()
        })
    });
    assert_eq!(counts, [38, 38, 0]);
}

/// A list of reasons that holds more than there is would hide findings.
#[test]
fn each_reason_for_a_difference_has_its_witness() {
    let mut seen = BTreeSet::new();
    let mut readers = BTreeSet::new();
    for (_, body) in inputs("corpus", "correction_differential") {
        for (reader, reason) in compare(&body) {
            seen.insert(reason);
            readers.insert(reader);
        }
    }
    assert_eq!(seen, BTreeSet::from(Reason::ALL));
    assert_eq!(readers, BTreeSet::from(Reader::ALL));
}

#[test]
fn the_canary_sings() {
    let sung = catch_unwind(|| canary::run(&canary::TRIGGER)).unwrap_err();
    assert_eq!(sung.downcast_ref::<String>().unwrap(), canary::MESSAGE);
}

/// What lies in the directories and what is listed is the same.
#[test]
fn each_target_has_its_files() {
    let listed: BTreeSet<String> = TARGETS
        .iter()
        .map(|target| target.name.to_owned())
        .collect();
    let mut with_canary = listed.clone();
    with_canary.insert("canary".to_owned());
    assert_eq!(stems("fuzz_targets"), with_canary);
    assert_eq!(stems("dict"), listed);
    assert_eq!(stems("corpus"), listed);
    assert!(stems("regressions").is_subset(&listed));
}

/// Checks all named inputs of a target and counts those of each prefix.
fn named(target: &str, read: impl Fn(&[u8]) -> Result<(), String>) -> [usize; 3] {
    let mut counts = [0; 3];
    for (path, input) in inputs("corpus", target) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let (kind, expected) = match name.split_once('_') {
            Some(("y", _)) => (0, Ok(())),
            Some(("n", rest)) => (1, Err(fault_name(rest))),
            Some(("i", _)) => (2, read(&input)),
            _ => continue,
        };
        assert_eq!(read(&input), expected, "{name}");
        counts[kind] += 1;
    }
    counts
}

/// `CodeRepeated` from `code_repeated.same`.
fn fault_name(rest: &str) -> String {
    let snake = rest.split('.').next().unwrap_or_default();
    let words = snake.split('_').filter(|word| !word.is_empty());
    words
        .map(|word| word[..1].to_uppercase() + &word[1..])
        .collect()
}

/// The files of one target, in the order of their names. A directory that is not there holds none.
fn inputs(kind: &str, target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let dir = home().join(kind).join(target);
    let Ok(entries) = fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

/// The names in a directory, without their extensions.
fn stems(dir: &str) -> BTreeSet<String> {
    let Ok(entries) = fs::read_dir(home().join(dir)) else {
        return BTreeSet::new();
    };
    entries
        .map(|entry| {
            let path = entry.unwrap().path();
            path.file_stem().unwrap().to_str().unwrap().to_owned()
        })
        .collect()
}

fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
