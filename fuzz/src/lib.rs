//! Fuzz targets over everything that turns bytes from a service into a decision, as plain functions.
//!
//! A target takes any bytes and panics if what it looks at is wrong; nothing else counts as a finding.
//! `cargo fuzz` drives these functions with libFuzzer (see the README beside this crate), and
//! `cargo test` runs them over the committed corpora.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a panic is how a target reports a finding"
)]

pub mod canary;
pub mod capabilities;
pub mod chunking;
pub mod command_envelope;
pub mod correction_body;
pub mod correction_differential;
pub mod delivery_sequence;
pub mod dump_masking;
pub mod event_stream;
pub mod jsonrpc_message;
mod oracle;
pub mod pipe_sequence;
pub mod placement_sequence;
pub mod poll_response;
pub mod replay;
pub mod retry_after;
pub mod roundtrip;
pub mod shard_token;
pub mod target_answer;

/// One fuzz target.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name: that of its module, its binary, its corpus and its regressions.
    pub name: &'static str,
    /// Its body. Panics on a finding.
    pub run: fn(&[u8]),
}

/// Every target that must never panic, in the order of their names. The canary, which must, is not
/// among them.
pub const TARGETS: [Target; 16] = [
    Target {
        name: "capabilities",
        run: capabilities::run,
    },
    Target {
        name: "chunking",
        run: chunking::run,
    },
    Target {
        name: "command_envelope",
        run: command_envelope::run,
    },
    Target {
        name: "correction_body",
        run: correction_body::run,
    },
    Target {
        name: "correction_differential",
        run: correction_differential::run,
    },
    Target {
        name: "delivery_sequence",
        run: delivery_sequence::run,
    },
    Target {
        name: "dump_masking",
        run: dump_masking::run,
    },
    Target {
        name: "event_stream",
        run: event_stream::run,
    },
    Target {
        name: "jsonrpc_message",
        run: jsonrpc_message::run,
    },
    Target {
        name: "pipe_sequence",
        run: pipe_sequence::run,
    },
    Target {
        name: "placement_sequence",
        run: placement_sequence::run,
    },
    Target {
        name: "poll_response",
        run: poll_response::run,
    },
    Target {
        name: "retry_after",
        run: retry_after::run,
    },
    Target {
        name: "roundtrip",
        run: roundtrip::run,
    },
    Target {
        name: "shard_token",
        run: shard_token::run,
    },
    Target {
        name: "target_answer",
        run: target_answer::run,
    },
];

/// The entry of a target's binary: libFuzzer's where `cargo fuzz` builds it, and otherwise a program
/// that runs the body over the files named as its arguments.
#[macro_export]
macro_rules! target {
    ($body:path) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $body(data));

        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            $crate::replay::files($body, std::env::args_os().skip(1))
        }
    };
}
