//! Whole responses: any status, field lines, body and cut, to what is committed and reported. Never a
//! panic, and nothing that the service wrote in any text that is shown.

use std::time::Duration;

use moorline_model::placement::Outcome;
use moorline_model::poll::{
    Body, BodyPlan, Classified, ERROR_BODY_LIMIT, Exchange, Interruption, PollFault, body_plan,
    classify,
};
use moorline_model::wire::{Envelope, parse_correction, parse_retry_after};

/// Begins every token that is not empty, so that one which shows somewhere is told from other text.
/// It belongs into bodies, too.
pub const SECRET: &str = "~secret~";

/// Blanks are added to a body in blocks of so many, to reach the limits.
const BLOCK: usize = 1024;

/// Takes one response:
///
/// * a byte for what became of the body, and whether the caller cancelled;
/// * a byte for how many KiB of blanks follow the body;
/// * lines, the status in decimal first, then field lines as `name:value`, until an empty line;
/// * the body.
pub fn run(data: &[u8]) {
    let Some(response) = Response::read(data) else {
        return;
    };
    for now in [0, 784_111_777, u64::MAX] {
        let found = classify(response.exchange(), response.cancelled, now);
        response.judge(&found, now);
    }
}

struct Response<'a> {
    status: u16,
    lines: Vec<(&'a str, Vec<u8>)>,
    body: Vec<u8>,
    end: End,
    cancelled: bool,
}

/// How the exchange ended.
#[derive(Clone, Copy)]
enum End {
    NotSent,
    NoHead(Interruption),
    /// The body, as far as the plan goes.
    Read,
    Cut(Interruption),
    OverLimit,
    Unread,
}

impl<'a> Response<'a> {
    fn read(data: &'a [u8]) -> Option<Self> {
        let (&[how, blocks], text) = data.split_first_chunk()?;
        let head = text.windows(2).position(|pair| pair == b"\n\n");
        let (head, body) = match head {
            Some(at) => (text.get(..at)?, text.get(at + 2..)?),
            None => (text, &b""[..]),
        };
        let mut lines = head.split(|byte| *byte == b'\n');
        let status: u16 = std::str::from_utf8(lines.next()?).ok()?.parse().ok()?;
        let mut body = body.to_vec();
        body.resize(body.len() + usize::from(blocks) * BLOCK, b' ');
        Some(Self {
            status: (100..1000).contains(&status).then_some(status)?,
            lines: lines.map(field_line).collect::<Option<_>>()?,
            body,
            end: end(how),
            cancelled: how >= 0x80,
        })
    }

    fn exchange(&self) -> Exchange<'_, Vec<(&'a str, Vec<u8>)>> {
        let body = match self.end {
            End::NotSent => return Exchange::NotSent,
            End::NoHead(by) => return Exchange::NoHead(by),
            End::Read => self.body_as_planned(),
            End::Cut(by) => Body::Interrupted(by),
            End::OverLimit => Body::OverLimit,
            End::Unread => Body::Unread,
        };
        Exchange::Head {
            status: self.status,
            headers: &self.lines,
            body,
        }
    }

    fn body_as_planned(&self) -> Body<'_> {
        // A limit for envelopes that a test can pass.
        match body_plan(self.status, 100 * BLOCK) {
            BodyPlan::Skip => Body::Unread,
            BodyPlan::Read { limit } if self.body.len() > limit => Body::OverLimit,
            BodyPlan::Read { .. } => Body::Complete(&self.body),
        }
    }

    fn judge(&self, found: &Classified, now: u64) {
        let (kind, fault) = self.expected();
        let reported = found.reply.as_ref().err().copied();
        match &found.outcome {
            Outcome::Correction(correction) => {
                let expected = parse_correction(&self.body, self.tokens());
                assert_eq!(expected.as_ref(), Ok(correction));
                let revision = correction.revision;
                assert_eq!(reported, Some(PollFault::Correction { revision }));
                assert_eq!(kind, Kind::Correction);
            }
            other => {
                assert_eq!(kind_of(other), kind);
                assert_eq!(reported, fault);
            }
        }
        let hint = match kind {
            Kind::Success | Kind::Cancelled => None,
            _ => self.hint(now),
        };
        assert_eq!(found.retry_after, hint);
        self.shows_nothing(found, reported);
    }

    /// The kind of outcome and the fault, by the rules CLS-1 to CLS-17 in their order. The fault of a
    /// correction is left to the caller.
    fn expected(&self) -> (Kind, Option<PollFault>) {
        let uncancelled = self.expected_if_not_cancelled();
        if self.cancelled && uncancelled.0 != Kind::Success {
            return (Kind::Cancelled, Some(PollFault::Cancelled));
        }
        uncancelled
    }

    fn expected_if_not_cancelled(&self) -> (Kind, Option<PollFault>) {
        use Kind::{Correction, Failure, Neutral, Success};
        let status = self.status;
        let by_status = match status {
            408 | 500..=599 => Failure,
            _ => Neutral,
        };
        let too_large = self.body.len() > ERROR_BODY_LIMIT;
        match self.end {
            End::NotSent => (Neutral, Some(PollFault::NotSent)),
            End::NoHead(by) => (Failure, Some(PollFault::NoHead(by))),
            _ if status == 204 => (Success, None),
            End::Cut(by) => (Failure, Some(PollFault::Interrupted { status, by })),
            End::Read if status == 200 && self.body.len() <= 100 * BLOCK => {
                match Envelope::parse(&self.body) {
                    Ok(_) => (Success, None),
                    Err(fault) => (Neutral, Some(PollFault::Envelope(fault))),
                }
            }
            End::Read | End::OverLimit if status == 200 => {
                (Neutral, Some(PollFault::EnvelopeTooLarge))
            }
            // Against its plan; whatever is said of it, it is no success.
            End::Unread if status == 200 => {
                let fault = moorline_model::wire::EnvelopeFault::NotJson;
                (Neutral, Some(PollFault::Envelope(fault)))
            }
            End::Read if status == 409 && !too_large => {
                match parse_correction(&self.body, self.tokens()) {
                    Ok(_) => (Correction, None),
                    Err(fault) if fault.is_ordinary() => (Neutral, Some(PollFault::Status(409))),
                    Err(fault) => (Neutral, Some(PollFault::MalformedCorrection(fault))),
                }
            }
            End::Read | End::OverLimit | End::Unread => {
                (by_status, Some(PollFault::Status(status)))
            }
        }
    }

    fn tokens(&self) -> impl Iterator<Item = &[u8]> {
        self.named("x-tunnel-shard-token")
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &[u8]> {
        self.lines
            .iter()
            .filter(move |(found, _)| found.to_ascii_lowercase() == name)
            .map(|(_, value)| value.as_slice())
    }

    fn hint(&self, now: u64) -> Option<Duration> {
        if let End::NotSent | End::NoHead(_) = self.end {
            return None;
        }
        parse_retry_after(self.named("retry-after").next()?, now).ok()
    }

    fn shows_nothing(&self, found: &Classified, reported: Option<PollFault>) {
        let mut shown = format!("{found:?} {found:#?} {reported:?}");
        if let Some(fault) = reported {
            shown.push_str(&format!(
                "{fault} {} {:?}",
                fault.category(),
                fault.status()
            ));
            assert_eq!(
                fault.refuses_credentials(),
                fault == PollFault::Status(401) || fault == PollFault::Status(403)
            );
        }
        assert!(!shown.contains(SECRET), "{shown}");
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Cancelled,
    Correction,
    Failure,
    Neutral,
    Success,
}

fn kind_of<R, T>(outcome: &Outcome<R, T>) -> Kind {
    match outcome {
        Outcome::Cancelled => Kind::Cancelled,
        Outcome::Correction(_) => Kind::Correction,
        Outcome::DestinationFailure => Kind::Failure,
        Outcome::Neutral => Kind::Neutral,
        Outcome::Success => Kind::Success,
    }
}

fn field_line(line: &[u8]) -> Option<(&str, Vec<u8>)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (name, value) = line.split_at(colon);
    let name = std::str::from_utf8(name).ok()?;
    let value = value.get(1..)?;
    let mut marked = Vec::new();
    // An empty value is a fault of its own, so it stays empty.
    if name.eq_ignore_ascii_case("x-tunnel-shard-token") && !value.is_empty() {
        marked.extend_from_slice(SECRET.as_bytes());
    }
    marked.extend_from_slice(value);
    Some((name, marked))
}

fn end(how: u8) -> End {
    let by = match how & 3 {
        0 | 1 => Interruption::Closed,
        2 => Interruption::Deadline,
        _ => Interruption::Network,
    };
    match how >> 2 & 7 {
        0 => End::NotSent,
        1 => End::NoHead(by),
        2 => End::Cut(by),
        3 => End::OverLimit,
        4 => End::Unread,
        _ => End::Read,
    }
}
