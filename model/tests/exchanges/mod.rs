//! Exchanges to classify, and what came of them in a few words.
#![allow(
    clippy::panic,
    reason = "a result that contradicts itself fails the test"
)]

use std::cell::RefCell;
use std::collections::BTreeSet;

use moorline_model::placement::Outcome;
use moorline_model::poll::{Body, Classified, Exchange, HeaderLines, Interruption, classify};

/// A correction as it is published, to revision 42.
pub(crate) const CORRECTION: &[u8] = br#"{"error":{"code":"wrong_cluster","policy_revision":42}}"#;

/// The greatest body of an answer other than 200, written out.
pub(crate) const PADDED_LIMIT: usize = 65_536;

pub(crate) type Line<'a> = (&'a str, &'a [u8]);

/// The header of a correction to `route-a`.
pub(crate) const TOKEN: [Line<'static>; 1] = [("X-Tunnel-Shard-Token", b"route-a")];

pub(crate) const NONE: &[Line<'static>] = &[];

/// How an exchange ended, with the category of its fault where that is not decided by the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Success,
    Correction,
    Failure(&'static str),
    Neutral(&'static str),
    Cancelled,
}

impl Ended {
    pub(crate) fn index(self) -> usize {
        match self {
            Self::Success => 0,
            Self::Correction => 1,
            Self::Failure(_) => 2,
            Self::Neutral(_) => 3,
            Self::Cancelled => 4,
        }
    }
}

/// Every way in which a body can end: complete without and with a correction, cut off, too long, and
/// not read.
pub(crate) fn ends_of_a_body() -> [Body<'static>; 7] {
    [
        Body::Complete(b""),
        Body::Complete(CORRECTION),
        Body::Interrupted(Interruption::Closed),
        Body::Interrupted(Interruption::Deadline),
        Body::Interrupted(Interruption::Network),
        Body::OverLimit,
        Body::Unread,
    ]
}

pub(crate) fn classified(
    status: u16,
    headers: &[Line<'_>],
    body: Body<'_>,
    cancelled: bool,
) -> Classified {
    let exchange = Exchange::Head {
        status,
        headers,
        body,
    };
    classify(exchange, cancelled, 0)
}

/// The kind and the status of what is reported. Outcome and reply must tell the same.
pub(crate) fn summary(found: &Classified) -> (Ended, Option<u16>) {
    let category = found.reply.as_ref().err().map(|fault| fault.category());
    let status = found.reply.as_ref().err().and_then(|fault| fault.status());
    let ended = match (&found.outcome, category) {
        (Outcome::Success, None) => Ended::Success,
        (Outcome::Correction(_), Some("http_error")) => Ended::Correction,
        (Outcome::DestinationFailure, Some(category)) => Ended::Failure(category),
        (Outcome::Neutral, Some(category)) => Ended::Neutral(category),
        (Outcome::Cancelled, Some("canceled")) => Ended::Cancelled,
        torn => panic!("the outcome and the reply disagree: {torn:?}"),
    };
    (ended, status)
}

/// The token that an outcome brings.
pub(crate) fn token_of(found: &Classified) -> Option<&str> {
    match &found.outcome {
        Outcome::Correction(correction) => Some(correction.token.expose()),
        _ => None,
    }
}

/// The body followed by so much JSON whitespace that it has `length` bytes.
pub(crate) fn padded(body: &[u8], length: usize) -> Vec<u8> {
    let mut bytes = body.to_vec();
    bytes.resize(length, b' ');
    bytes
}

/// Header lines that may be asked for by the two names that polls know, and by no other.
pub(crate) struct KnownHeaders<'a> {
    lines: &'a [Line<'a>],
    asked: RefCell<BTreeSet<String>>,
}

impl<'a> KnownHeaders<'a> {
    pub(crate) fn new(lines: &'a [Line<'a>]) -> Self {
        Self {
            lines,
            asked: RefCell::default(),
        }
    }

    /// The names that were asked for, sorted.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.borrow().iter().cloned().collect()
    }
}

impl HeaderLines for KnownHeaders<'_> {
    fn lines<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        assert!(
            ["retry-after", "x-tunnel-shard-token"].contains(&name),
            "the header {name} was asked for"
        );
        self.asked.borrow_mut().insert(name.to_owned());
        self.lines.lines(name)
    }
}
