use std::fmt;

use moorline_model::placement::Outcome;
use moorline_model::poll::{Body, Classified, Exchange, Interruption, PollFault, classify};
use moorline_model::wire::{Revision, ShardToken};
use serde::{Deserialize, Serialize};

/// The class of an outcome, as events name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum Class {
    /// The caller cancelled.
    Cancelled,
    /// A valid correction.
    Correction,
    /// The destination could not be reached or failed.
    DestinationFailure,
    /// An answer that says nothing of placement.
    Neutral,
    /// A successful poll.
    Success,
}

/// What kind of fault the caller got, as events name it. The names are those of
/// [`PollFault::category`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum Category {
    /// The caller cancelled.
    Canceled,
    /// A status that is no success.
    HttpError,
    /// An answer that does not have the form that it should have.
    InvalidResponse,
    /// The connection failed.
    NetworkError,
    /// The request could not be sent for a local reason.
    RequestError,
    /// The poll's deadline passed.
    Timeout,
}

/// What an event says of the answer: three members that depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Answer {
    /// The member `outcome`.
    pub outcome: Class,
    /// The member `fault`.
    pub fault: Option<Category>,
    /// The member `status`.
    pub status: Option<u16>,
}

/// Everything that the model makes of answers with this status, or of polls without one.
///
/// The classification itself is asked, with one answer of each kind that it tells apart.
pub(super) fn possible(status: Option<u16>) -> Vec<Answer> {
    const INTERRUPTIONS: [Interruption; 3] = [
        Interruption::Closed,
        Interruption::Deadline,
        Interruption::Network,
    ];
    let mut found = Vec::new();
    let mut add = |exchange: Exchange<'_, Lines>, cancelled: bool| {
        let answer = Answer::of(&classify(exchange, cancelled, 0), status);
        if answer.status == status && !found.contains(&answer) {
            found.push(answer);
        }
    };
    match status {
        None => {
            add(Exchange::NotSent, false);
            for by in INTERRUPTIONS {
                add(Exchange::NoHead(by), false);
            }
            add(Exchange::NoHead(Interruption::Network), true);
        }
        Some(status @ 100..=999) => {
            for body in BODIES {
                let headers: &Lines = &[("x-tunnel-shard-token", b"token")];
                let exchange = Exchange::Head {
                    status,
                    headers,
                    body,
                };
                add(exchange, false);
            }
        }
        Some(_) => {}
    }
    found
}

type Lines = [(&'static str, &'static [u8])];

/// One body of each kind that is told apart: an empty list of commands, a correction, a correction
/// without a revision, text that is nothing, too much, and one that was not read.
const BODIES: [Body<'static>; 6] = [
    Body::Complete(b"{}"),
    Body::Complete(br#"{"error":{"code":"wrong_cluster","policy_revision":1}}"#),
    Body::Complete(br#"{"error":{"code":"wrong_cluster"}}"#),
    Body::Complete(b"nothing"),
    Body::OverLimit,
    Body::Unread,
];

impl Answer {
    /// What an event says of this result. `status` is that of the head.
    fn of(classified: &Classified, status: Option<u16>) -> Self {
        let fault = classified.reply.as_ref().err();
        Self {
            outcome: Class::of(&classified.outcome),
            fault: fault.and_then(|fault| Category::named(fault.category())),
            status: fault.map_or(status, |fault| PollFault::status(*fault)),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.outcome.name())?;
        if let Some(fault) = self.fault {
            write!(f, ", fault {}", fault.name())?;
        } else {
            f.write_str(", no fault")?;
        }
        match self.status {
            Some(status) => write!(f, ", status {status}"),
            None => f.write_str(", no status"),
        }
    }
}

impl Class {
    const ALL: [Self; 5] = [
        Self::Cancelled,
        Self::Correction,
        Self::DestinationFailure,
        Self::Neutral,
        Self::Success,
    ];

    /// The name in events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Correction => "correction",
            Self::DestinationFailure => "destination_failure",
            Self::Neutral => "neutral",
            Self::Success => "success",
        }
    }

    fn of(outcome: &Outcome<Revision, ShardToken>) -> Self {
        match outcome {
            Outcome::Cancelled => Self::Cancelled,
            Outcome::Correction(_) => Self::Correction,
            Outcome::DestinationFailure => Self::DestinationFailure,
            Outcome::Neutral => Self::Neutral,
            Outcome::Success => Self::Success,
        }
    }
}

impl TryFrom<String> for Class {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|class| class.name() == name);
        found.ok_or_else(|| format!("unknown outcome `{name}`"))
    }
}

impl Category {
    const ALL: [Self; 6] = [
        Self::Canceled,
        Self::HttpError,
        Self::InvalidResponse,
        Self::NetworkError,
        Self::RequestError,
        Self::Timeout,
    ];

    /// The name in events.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Canceled => "canceled",
            Self::HttpError => "http_error",
            Self::InvalidResponse => "invalid_response",
            Self::NetworkError => "network_error",
            Self::RequestError => "request_error",
            Self::Timeout => "timeout",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl TryFrom<String> for Category {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::named(&name).ok_or_else(|| format!("unknown fault `{name}`"))
    }
}

impl Serialize for Class {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: Option<u16>) -> Vec<String> {
        possible(status).iter().map(Answer::to_string).collect()
    }

    #[test]
    fn the_classification_says_what_each_status_can_be() {
        let invalid = "neutral, fault invalid_response, status";
        assert_eq!(
            told(Some(200)),
            [
                "success, no fault, status 200".to_owned(),
                format!("{invalid} 200")
            ]
        );
        assert_eq!(told(Some(204)), ["success, no fault, status 204"]);
        assert_eq!(
            told(Some(409)),
            [
                "neutral, fault http_error, status 409".to_owned(),
                "correction, fault http_error, status 409".to_owned(),
                format!("{invalid} 409")
            ]
        );
        for status in [408, 500, 503, 599] {
            let failure = format!("destination_failure, fault http_error, status {status}");
            assert_eq!(told(Some(status)), [failure]);
        }
        for status in [101, 302, 401, 429, 600, 999] {
            let neutral = format!("neutral, fault http_error, status {status}");
            assert_eq!(told(Some(status)), [neutral]);
        }
        assert_eq!(told(Some(42)), [""; 0]);
        assert_eq!(
            told(None),
            [
                "neutral, fault request_error, no status",
                "destination_failure, fault network_error, no status",
                "destination_failure, fault timeout, no status",
                "cancelled, fault canceled, no status",
            ]
        );
    }

    #[test]
    fn every_category_of_the_model_has_its_name_here() {
        let categories: Vec<_> = [None]
            .into_iter()
            .chain((100..=999).map(Some))
            .flat_map(possible)
            .filter_map(|answer| answer.fault)
            .collect();
        for kind in Category::ALL {
            assert!(categories.contains(&kind), "{}", kind.name());
        }
    }
}
