//! How one poll's HTTP exchange ends: from what came back to the [`Outcome`] that is committed and
//! the reply that the caller gets. All checks, in their order, are in [`classify`].

use std::fmt;
use std::time::Duration;

use thiserror::Error;

use crate::placement::{Correction, Outcome};
use crate::wire::{
    CorrectionFault, Envelope, EnvelopeFault, Revision, ShardToken, parse_correction,
    parse_retry_after,
};

/// The greatest size of the body of an answer other than 200, in bytes. One more is too large.
// spec: CLS-11, CLS-13
pub const ERROR_BODY_LIMIT: usize = 65_536;

/// The greatest size of the body of a 200, in bytes, unless configured otherwise (32 MiB).
// spec: CLS-7
pub const ENVELOPE_LIMIT: usize = 33_554_432;

/// The header that carries a placement token, in both directions.
pub const SHARD_TOKEN_HEADER: &str = "x-tunnel-shard-token";

/// The header that advertises capabilities.
pub const CAPABILITIES_HEADER: &str = "x-tunnel-client-capabilities";

/// The header that asks for a least delay.
pub const RETRY_AFTER_HEADER: &str = "retry-after";

/// Whether the protocol or the HTTP library sets this (lower case) request header itself, so that no
/// configured extra header may.
// spec: REQ-7
#[must_use]
pub fn is_reserved_header(name: &str) -> bool {
    const RESERVED: [&str; 11] = [
        "accept",
        "accept-encoding",
        "authorization",
        "connection",
        "content-length",
        "expect",
        "host",
        "te",
        "transfer-encoding",
        "upgrade",
        "user-agent",
    ];
    name.starts_with("x-tunnel-") || RESERVED.contains(&name)
}

/// The field lines of one response.
pub trait HeaderLines {
    /// The values of every line with this (lower case) name, in order, as received.
    fn lines<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]>;
}

/// How one exchange ended, as the transport saw it.
pub enum Exchange<'a, H: ?Sized> {
    /// The request could not be built or sent for a local reason: nothing tried to reach the network.
    NotSent,
    /// No response head arrived.
    NoHead(Interruption),
    /// A response head arrived.
    Head {
        /// The status, 100 to 999.
        status: u16,
        /// The field lines.
        headers: &'a H,
        /// What became of the body, read as [`body_plan`] said.
        body: Body<'a>,
    },
}

/// What became of a response body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Body<'a> {
    /// Read to the end of the message.
    Complete(&'a [u8]),
    /// Cut off before its end, whatever had arrived.
    Interrupted(Interruption),
    /// A byte more than the limit arrived; the rest was not read.
    OverLimit,
    /// Not read, as planned.
    Unread,
}

/// What cut an exchange off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interruption {
    /// The other side closed the connection in the middle of the message.
    Closed,
    /// The poll's own deadline.
    Deadline,
    /// Any other transport error: resolving, connecting, TLS, reset, an unreadable head.
    Network,
}

/// How much of a response body to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyPlan {
    /// Up to and including this many bytes; one more makes it [`Body::OverLimit`].
    Read {
        /// Bytes.
        limit: usize,
    },
    /// None of it: [`Body::Unread`].
    Skip,
}

/// One classified exchange.
#[derive(Debug)]
pub struct Classified {
    /// What to commit.
    pub outcome: Outcome<Revision, ShardToken>,
    /// What the caller of the poll gets, committed or late.
    pub reply: Result<Envelope, PollFault>,
    /// The least delay that an unsuccessful response asked for, at most 60 s.
    pub retry_after: Option<Duration>,
}

/// Why a poll brought no commands. Holds nothing that the service wrote but numbers.
// spec: PRIV-2, PRIV-5
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum PollFault {
    /// The caller cancelled.
    #[error("canceled")]
    Cancelled,
    /// A valid correction: the next poll carries what it says, unless a newer result came first.
    #[error("http_error: status 409, a correction of revision {revision}")]
    Correction {
        /// The policy revision.
        revision: Revision,
    },
    /// A 200 whose body is no envelope.
    #[error("invalid_response: status 200, {0}")]
    Envelope(EnvelopeFault),
    /// A 200 whose body is larger than the limit.
    #[error("invalid_response: status 200, the body is larger than the limit")]
    EnvelopeTooLarge,
    /// The response was cut off in its body.
    #[error("{}: status {status}, the body was cut off", category_of(*.by))]
    Interrupted {
        /// The status of the head.
        status: u16,
        /// What cut it off.
        by: Interruption,
    },
    /// A 409 that says it is a correction and is none.
    #[error("invalid_response: status 409, {0}")]
    MalformedCorrection(CorrectionFault),
    /// No response head arrived.
    #[error("{}: no response arrived", category_of(*.0))]
    NoHead(Interruption),
    /// The request could not be built or sent for a local reason.
    #[error("request_error: the request could not be sent")]
    NotSent,
    /// Any other status than 200 and 204.
    #[error("http_error: status {0}")]
    Status(u16),
}

/// How much of the body to read after a head of this status. `envelope_limit` holds for a 200.
#[must_use]
pub fn body_plan(status: u16, envelope_limit: usize) -> BodyPlan {
    match status {
        // spec: CLS-6
        204 => BodyPlan::Skip,
        // spec: CLS-7
        200 => BodyPlan::Read {
            limit: envelope_limit,
        },
        // spec: CLS-11
        _ => BodyPlan::Read {
            limit: ERROR_BODY_LIMIT,
        },
    }
}

/// Classifies one exchange. `cancelled` says whether the caller has cancelled by now;
/// `now_unix_seconds` is the wall clock, for `Retry-After` dates alone.
// spec: CLS-18 the two headers that are read are named below
pub fn classify<H: HeaderLines + ?Sized>(
    exchange: Exchange<'_, H>,
    cancelled: bool,
    now_unix_seconds: u64,
) -> Classified {
    let retry_after = retry_after(&exchange, now_unix_seconds);
    match classify_uncancelled(exchange) {
        // spec: CLS-2
        Ok((outcome, envelope)) => Classified {
            outcome,
            reply: Ok(envelope),
            retry_after: None,
        },
        // spec: CLS-1
        Err(_) if cancelled => Classified {
            outcome: Outcome::Cancelled,
            reply: Err(PollFault::Cancelled),
            retry_after: None,
        },
        Err((outcome, fault)) => Classified {
            outcome,
            reply: Err(fault),
            retry_after,
        },
    }
}

type PollOutcome = Outcome<Revision, ShardToken>;

fn classify_uncancelled<H: HeaderLines + ?Sized>(
    exchange: Exchange<'_, H>,
) -> Result<(PollOutcome, Envelope), (PollOutcome, PollFault)> {
    match exchange {
        // spec: CLS-4
        Exchange::NotSent => Err((Outcome::Neutral, PollFault::NotSent)),
        // spec: CLS-3, CLS-5
        Exchange::NoHead(by) => Err((Outcome::DestinationFailure, PollFault::NoHead(by))),
        Exchange::Head {
            status,
            headers,
            body,
        } => classify_response(status, headers, body),
    }
}

/// The order of these rows is the order of the rules.
fn classify_response<H: HeaderLines + ?Sized>(
    status: u16,
    headers: &H,
    body: Body<'_>,
) -> Result<(PollOutcome, Envelope), (PollOutcome, PollFault)> {
    match (status, body) {
        // spec: CLS-6, PLC-8, SVC-10 no header is looked at
        (204, _) => Ok((Outcome::Success, Envelope::default())),
        // spec: CLS-3, CLS-8, CLS-14
        (_, Body::Interrupted(by)) => {
            let fault = PollFault::Interrupted { status, by };
            Err((Outcome::DestinationFailure, fault))
        }
        // spec: CLS-9, CLS-10, PLC-8, SVC-10 no header is looked at
        (200, Body::Complete(bytes)) => match Envelope::parse(bytes) {
            Ok(envelope) => Ok((Outcome::Success, envelope)),
            Err(fault) => Err((Outcome::Neutral, PollFault::Envelope(fault))),
        },
        // spec: CLS-7
        (200, Body::OverLimit) => Err((Outcome::Neutral, PollFault::EnvelopeTooLarge)),
        // A body that nobody read has not come to its end.
        (200, Body::Unread) => {
            let fault = PollFault::Envelope(EnvelopeFault::NotJson);
            Err((Outcome::Neutral, fault))
        }
        // spec: CLS-12, CLS-13, CLS-16, COR-1
        (409, Body::Complete(bytes)) if bytes.len() <= ERROR_BODY_LIMIT => {
            Err(classify_conflict(headers, bytes))
        }
        // spec: CLS-12, CLS-15
        (408 | 500..=599, _) => Err((Outcome::DestinationFailure, PollFault::Status(status))),
        // spec: CLS-12, CLS-17
        _ => Err((Outcome::Neutral, PollFault::Status(status))),
    }
}

fn classify_conflict<H: HeaderLines + ?Sized>(
    headers: &H,
    body: &[u8],
) -> (PollOutcome, PollFault) {
    // spec: COR-10 all lines, as bytes
    match parse_correction(body, headers.lines(SHARD_TOKEN_HEADER)) {
        Ok(Correction { revision, token }) => (
            Outcome::Correction(Correction { revision, token }),
            PollFault::Correction { revision },
        ),
        Err(fault) if fault.is_ordinary() => (Outcome::Neutral, PollFault::Status(409)),
        Err(fault) => (Outcome::Neutral, PollFault::MalformedCorrection(fault)),
    }
}

/// The hint in the head, if there is a head; bodies that were cut or too long do not matter.
fn retry_after<H: HeaderLines + ?Sized>(
    exchange: &Exchange<'_, H>,
    now_unix_seconds: u64,
) -> Option<Duration> {
    let Exchange::Head { headers, .. } = exchange else {
        return None;
    };
    // spec: LOOP-9
    let first = headers.lines(RETRY_AFTER_HEADER).next()?;
    parse_retry_after(first, now_unix_seconds).ok()
}

impl PollFault {
    /// The kind of fault, as one of a closed list of words for logs and metrics: `canceled`,
    /// `http_error`, `invalid_response`, `network_error`, `request_error`, `timeout`.
    // spec: PRIV-4
    #[must_use]
    pub fn category(self) -> &'static str {
        match self {
            Self::Cancelled => "canceled",
            Self::Correction { .. } | Self::Status(_) => "http_error",
            Self::Envelope(_) | Self::EnvelopeTooLarge | Self::MalformedCorrection(_) => {
                "invalid_response"
            }
            Self::Interrupted { by, .. } | Self::NoHead(by) => category_of(by),
            Self::NotSent => "request_error",
        }
    }

    /// The status of a response that arrived to its end (or to its limit).
    #[must_use]
    pub fn status(self) -> Option<u16> {
        match self {
            Self::Correction { .. } | Self::MalformedCorrection(_) => Some(409),
            Self::Envelope(_) | Self::EnvelopeTooLarge => Some(200),
            Self::Status(status) => Some(status),
            Self::Cancelled | Self::Interrupted { .. } | Self::NoHead(_) | Self::NotSent => None,
        }
    }

    /// Whether the service refuses the credentials (401 or 403), which an operator has to mend.
    // spec: LOOP-14
    #[must_use]
    pub fn refuses_credentials(self) -> bool {
        matches!(self, Self::Status(401 | 403))
    }
}

fn category_of(by: Interruption) -> &'static str {
    match by {
        Interruption::Closed | Interruption::Network => "network_error",
        Interruption::Deadline => "timeout",
    }
}

/// Prints the kind alone: a body may hold tokens and whatever the service wrote.
impl fmt::Debug for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Complete(_) => "Complete(..)",
            Self::Interrupted(_) => "Interrupted(..)",
            Self::OverLimit => "OverLimit",
            Self::Unread => "Unread",
        })
    }
}

impl<N: AsRef<str>, V: AsRef<[u8]>> HeaderLines for [(N, V)] {
    fn lines<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.iter()
            .filter(move |(line, _)| line.as_ref().eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_ref())
    }
}

impl<N: AsRef<str>, V: AsRef<[u8]>> HeaderLines for Vec<(N, V)> {
    fn lines<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.as_slice().lines(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec-test: REQ-7
    #[test]
    fn reserves_what_the_protocol_and_the_library_set() {
        for name in [
            "authorization",
            "accept",
            "user-agent",
            "host",
            "x-tunnel-shard-token",
            "x-tunnel-",
        ] {
            assert!(is_reserved_header(name), "{name}");
        }
        for name in [
            "x-custom",
            "x-tunne",
            "tunnel",
            "authorizatio",
            "x-authorization",
            "",
        ] {
            assert!(!is_reserved_header(name), "{name}");
        }
    }

    // spec-test: CLS-11, CLS-12, CLS-13
    #[test]
    fn holds_the_limit_even_if_the_transport_does_not() {
        let correction = br#"{"error":{"code":"wrong_cluster","policy_revision":1}}"#;
        let lines = vec![("X-Tunnel-Shard-Token", "route-a")];
        let ends = |size: usize| {
            let mut body = correction.to_vec();
            body.resize(size, b' ');
            let exchange = Exchange::Head {
                status: 409,
                headers: &lines,
                body: Body::Complete(&body),
            };
            classify(exchange, false, 0).outcome
        };
        assert!(matches!(ends(ERROR_BODY_LIMIT), Outcome::Correction(_)));
        assert_eq!(ends(ERROR_BODY_LIMIT + 1), Outcome::Neutral);
    }

    // spec-test: PRIV-2
    #[test]
    fn a_body_prints_its_kind_alone() {
        let printed = [
            Body::Complete(b"secret"),
            Body::Interrupted(Interruption::Closed),
            Body::OverLimit,
            Body::Unread,
        ]
        .map(|body| format!("{body:?}"));
        assert_eq!(
            printed,
            ["Complete(..)", "Interrupted(..)", "OverLimit", "Unread"]
        );
    }
}
