//! The delivery of one command's notifications and its answer, to a service that answers anything, late
//! or not at all: what was sent, and when, must be what the rules of delivery allow and demand.

use std::time::Duration;

use arbitrary::{Arbitrary, Unstructured};
use moorline_model::backoff::Backoff;
use moorline_model::deadline::ResponseDeadline;
use moorline_model::delivery::{
    BODY_TIMEOUT, Delivery, DeliveryStep, NotificationLane, PostOutcome,
};
use moorline_model::wire::{Channel, ResponseBody, ResponseType};

use crate::oracle::delivery::{Ending, Judge, Message, Post};

/// The greatest number of notifications before the answer.
const NOTIFICATIONS_MAX: usize = 6;

/// More attempts than any rule allows, so that a delivery without end is a finding and no hang.
const ATTEMPTS_MAX: usize = 5;

/// Takes a command and what becomes of each attempt, drawn by `arbitrary`. Bytes that run out count as
/// zeros.
pub fn run(data: &[u8]) {
    let mut u = Unstructured::new(data);
    judge_deadline(&drawn(&mut u));
    let command = Command::new(&drawn(&mut u));
    let mut client = Client::new(&command);
    client.serve(&mut u);
    command.judge().all(&client.posts, &client.ended);
}

/// Nothing of a fixed size fails to be drawn.
fn drawn<'a, T: Arbitrary<'a>>(u: &mut Unstructured<'a>) -> T {
    u.arbitrary().expect("zeros where there is nothing")
}

/// Instants and spans of any size, in nanoseconds.
#[derive(Arbitrary, Debug)]
struct Deadlines {
    received: u64,
    timeout: Option<u64>,
    from: u64,
    ttl: u64,
    now: u64,
}

/// A deadline is a sum, and the end of a connection only brings it forward.
fn judge_deadline(drawn: &Deadlines) {
    let nanos = Duration::from_nanos;
    let now = nanos(drawn.now);
    let deadline = ResponseDeadline::new(nanos(drawn.received), drawn.timeout.map(nanos));
    let end = drawn
        .timeout
        .map(|span| u128::from(drawn.received) + u128::from(span));
    let capped_end = u128::from(drawn.from) + u128::from(drawn.ttl);
    let capped = deadline.capped(nanos(drawn.from), nanos(drawn.ttl));
    let capped_end = Some(end.map_or(capped_end, |end| end.min(capped_end)));
    for (deadline, end) in [(deadline, end), (capped, capped_end)] {
        assert_eq!(deadline.at().map(|at| at.as_nanos()), end);
        let is_late = end.is_some_and(|end| u128::from(drawn.now) >= end);
        assert_eq!(deadline.expired(now), is_late);
    }
}

/// Spans are in milliseconds.
#[derive(Arbitrary, Debug)]
struct DrawnCommand {
    received: u16,
    timeout: Option<u16>,
    cancelled: Option<u16>,
    backoff_min: u8,
    backoff_more: u16,
    notifications: u8,
}

/// A command that has been received.
struct Command {
    received: Duration,
    timeout: Option<Duration>,
    /// When the client shuts down.
    cancelled: Option<Duration>,
    backoff: Backoff,
    /// How many notifications come before the answer.
    notifications: usize,
}

impl Command {
    fn new(drawn: &DrawnCommand) -> Self {
        let received = millis(drawn.received);
        let min = millis(u16::from(drawn.backoff_min) + 1);
        let max = min + millis(drawn.backoff_more);
        Self {
            received,
            timeout: drawn.timeout.map(millis),
            cancelled: drawn.cancelled.map(|after| received + millis(after)),
            backoff: Backoff::new(min, max).expect("bounds in order"),
            notifications: usize::from(drawn.notifications) % (NOTIFICATIONS_MAX + 1),
        }
    }

    fn judge(&self) -> Judge {
        let deadline = self.timeout.map(|timeout| self.received + timeout);
        Judge {
            messages: self.notifications + 1,
            received: self.received,
            deadline,
            end: deadline.into_iter().chain(self.cancelled).min(),
            backoff: (self.backoff.min(), self.backoff.max()),
        }
    }
}

/// What a client does that asks the model before every step.
struct Client<'c> {
    command: &'c Command,
    deadline: ResponseDeadline,
    lane: NotificationLane,
    now: Duration,
    posts: Vec<Post>,
    ended: Vec<Message>,
}

impl<'c> Client<'c> {
    fn new(command: &'c Command) -> Self {
        Self {
            command,
            deadline: ResponseDeadline::new(command.received, command.timeout),
            lane: NotificationLane::default(),
            now: command.received,
            posts: Vec::new(),
            ended: Vec::new(),
        }
    }

    fn serve(&mut self, u: &mut Unstructured<'_>) {
        let last = self.command.notifications;
        for number in 0..=last {
            if self.deadline.expired(self.now) {
                return;
            }
            let kind = if number == last {
                ResponseType::JsonRpcResponse
            } else {
                ResponseType::JsonRpcNotify
            };
            if kind.is_final() || self.lane.may_send() {
                let step = self.deliver(number, kind, u);
                self.ended.push(Message { number, step });
                if !kind.is_final() {
                    self.lane.ended(step == DeliveryStep::Accepted);
                }
            }
        }
    }

    fn deliver(
        &mut self,
        number: usize,
        kind: ResponseType,
        u: &mut Unstructured<'_>,
    ) -> DeliveryStep {
        let mut delivery = Delivery::new(kind.is_final());
        for attempt in 1..=ATTEMPTS_MAX {
            let headers: Vec<(&str, &[u8])> =
                hints(u).map(|value| ("retry-after", value)).collect();
            let hint = Delivery::hint(headers.as_slice(), 0);
            let outcome = if self.is_cancelled() {
                PostOutcome::Cancelled
            } else if self.deadline.expired(self.now) {
                PostOutcome::DeadlinePassed
            } else {
                self.post(number, kind, hint, u)
            };
            let step = delivery.after(outcome);
            let DeliveryStep::Retry { attempt: next } = step else {
                return step;
            };
            assert_eq!(usize::try_from(next), Ok(attempt + 1));
            let draw = drawn(u);
            let head = matches!(outcome, PostOutcome::Status(_));
            self.now += delivery.delay(self.command.backoff, hint.filter(|_| head), draw);
        }
        panic!("a delivery without an end");
    }

    fn is_cancelled(&self) -> bool {
        self.command.cancelled.is_some_and(|at| self.now >= at)
    }

    /// One attempt. The deadline ends it early until there is a head, and the shutdown at any time.
    fn post(
        &mut self,
        number: usize,
        kind: ResponseType,
        hint: Option<Duration>,
        u: &mut Unstructured<'_>,
    ) -> PostOutcome {
        let channel = Channel::main();
        let body = ResponseBody {
            request_id: &format!("message {number}"),
            channel: &channel,
            json: None,
            headers: &[],
            code: 200,
            kind,
        };
        let at = self.now;
        let drawn: Drawn = drawn(u);
        let (head, took) = drawn.head();
        self.now += took;
        let until = self.now;
        let too_late = self.deadline.expired(self.now);
        let mut outcome = match head {
            Head::Status(status) if !too_late => PostOutcome::Status(status),
            Head::Status(_) => PostOutcome::without_head(true, too_late),
            Head::None { written } => PostOutcome::without_head(written, too_late),
        };
        if matches!(outcome, PostOutcome::Status(_)) {
            self.now += drawn.body().min(BODY_TIMEOUT);
        }
        if self.is_cancelled() {
            outcome = PostOutcome::Cancelled;
        }
        let ending = match outcome {
            PostOutcome::Status(status) => Ending::Status(status, hint),
            PostOutcome::Transport { written } => Ending::NoHead { written },
            PostOutcome::Cancelled | PostOutcome::DeadlinePassed => Ending::CutOff,
        };
        self.posts.push(Post {
            number,
            at,
            until,
            done: self.now,
            body: body.to_json(),
            ending,
        });
        outcome
    }
}

/// What the network brings of a response.
#[derive(Clone, Copy, Debug)]
enum Head {
    Status(u16),
    None { written: bool },
}

/// How an attempt ends, after so many milliseconds.
#[derive(Arbitrary, Debug)]
enum Drawn {
    Status(Status, u8),
    /// The status is what is left of a division by 1,000, and the rest says how long the body takes.
    AnyStatus(u16, u16),
    Transport {
        written: bool,
        took: u16,
    },
}

/// Statuses that mean something, each as likely as another.
#[derive(Arbitrary, Clone, Copy, Debug)]
enum Status {
    Ok,
    Accepted,
    NotFound,
    Timeout,
    Conflict,
    TooMany,
    Internal,
    BadGateway,
    Unavailable,
    GatewayTimeout,
}

impl Drawn {
    fn head(&self) -> (Head, Duration) {
        let (head, took) = match self {
            Self::Status(status, took) => {
                let status = match status {
                    Status::Ok => 200,
                    Status::Accepted => 202,
                    Status::NotFound => 404,
                    Status::Timeout => 408,
                    Status::Conflict => 409,
                    Status::TooMany => 429,
                    Status::Internal => 500,
                    Status::BadGateway => 502,
                    Status::Unavailable => 503,
                    Status::GatewayTimeout => 504,
                };
                (Head::Status(status), u16::from(*took))
            }
            Self::AnyStatus(status, took) => (Head::Status(status % 1_000), *took),
            Self::Transport { written, took } => (Head::None { written: *written }, *took),
        };
        (head, millis(took))
    }

    /// How long the body takes after the head, up to 1.3 s.
    fn body(&self) -> Duration {
        match self {
            Self::AnyStatus(number, _) => millis(number / 1_000 * 20),
            Self::Status(..) | Self::Transport { .. } => Duration::ZERO,
        }
    }
}

fn millis(count: u16) -> Duration {
    Duration::from_millis(count.into())
}

/// The values of the response's lines `Retry-After`.
fn hints(u: &mut Unstructured<'_>) -> impl Iterator<Item = &'static [u8]> {
    const VALUES: [&[u8]; 8] = [
        b"0",
        b"1",
        b" 2\t",
        b"60",
        b"61",
        b"-1",
        b"soon",
        b"Thu, 01 Jan 1970 00:00:03 GMT",
    ];
    let numbers: u8 = drawn(u);
    let lines = [numbers & 0xf, numbers >> 4];
    // Half of the numbers stand for no line.
    lines
        .into_iter()
        .filter_map(|at| VALUES.get(usize::from(at)).copied())
}
