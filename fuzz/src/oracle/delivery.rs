//! What a trace of POSTs must look like, whoever made it. Written from CMD-13 to CMD-15, CMD-18,
//! CMD-19, CMD-42 and RPT-8.

use std::time::Duration;

use moorline_model::delivery::{DeliveryFault, DeliveryStep};

/// For how long the body of a response may hold things up.
const BODY_AT_MOST: Duration = Duration::from_secs(1);

/// One attempt, as the network saw it.
#[derive(Debug)]
pub(crate) struct Post {
    /// Which message, counted from the command's first; the last is the answer.
    pub(crate) number: usize,
    pub(crate) at: Duration,
    /// When there was a head, or none to come any more.
    pub(crate) until: Duration,
    /// When the client went on.
    pub(crate) done: Duration,
    pub(crate) body: Vec<u8>,
    pub(crate) ending: Ending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// A head arrived, and asked for this wait.
    Status(u16, Option<Duration>),
    /// None did.
    NoHead { written: bool },
    /// The deadline or the shutdown ended it.
    CutOff,
}

/// A message whose delivery was begun, and how it ended.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) number: usize,
    pub(crate) step: DeliveryStep,
}

/// What there was to deliver, and until when.
#[derive(Debug)]
pub(crate) struct Judge {
    /// The notifications and the answer.
    pub(crate) messages: usize,
    pub(crate) received: Duration,
    pub(crate) deadline: Option<Duration>,
    /// The deadline or the shutdown, whichever comes first.
    pub(crate) end: Option<Duration>,
    /// The shortest delay and the longest.
    pub(crate) backoff: (Duration, Duration),
}

impl Judge {
    pub(crate) fn all(&self, posts: &[Post], ended: &[Message]) {
        assert!(!posts.iter().any(|post| self.is_over(post.at)), "too late");
        for pair in posts.windows(2) {
            let [one, other] = pair else { continue };
            let in_order = one.number <= other.number && one.done <= other.at;
            assert!(in_order, "one after the other");
        }
        for post in posts {
            self.head(post);
        }
        let mut after_gap = false;
        // When the next message may have had its turn at the latest.
        let mut turn = self.received;
        for number in 0..self.messages {
            let is_final = number + 1 == self.messages;
            let posts: Vec<&Post> = posts.iter().filter(|post| post.number == number).collect();
            let end = ended.iter().find(|message| message.number == number);
            let end = end.map(|message| message.step);
            let Some(last) = posts.last() else {
                self.left_out(turn, after_gap && !is_final, end);
                after_gap = true;
                continue;
            };
            assert!(!after_gap || is_final, "a notification after a gap");
            self.attempts(&posts, is_final);
            turn = last.done;
            if posts.len() < 3 && may_retry(last.ending, is_final) {
                turn += self.longest(last, posts.len());
            }
            self.ending(last, posts.len(), turn, end.expect("it was begun"));
            after_gap |= !matches!(last.ending, Ending::Status(200..=299, _));
        }
    }

    /// A status counts if it has come in time, however late its body is, which costs a second at most.
    fn head(&self, post: &Post) {
        assert!(post.done - post.until <= BODY_AT_MOST, "{post:?}");
        if let Ending::Status(..) = post.ending {
            assert!(self.deadline.is_none_or(|at| post.until < at), "{post:?}");
        }
    }

    /// A message is not sent at all after a gap, which its answer is no matter what, or when it is too
    /// late.
    fn left_out(&self, turn: Duration, may_skip: bool, end: Option<DeliveryStep>) {
        match end {
            None if may_skip => {}
            None => assert!(self.is_over(turn), "left out"),
            Some(end) => self.cut_off(turn, end),
        }
    }

    /// What is sent again, how often, and when.
    fn attempts(&self, posts: &[&Post], is_final: bool) {
        assert!(posts.len() <= 3, "{posts:?}");
        for (attempt, pair) in posts.windows(2).enumerate() {
            let [one, other] = pair else {
                unreachable!("windows of two")
            };
            assert_eq!(one.body, other.body, "other bytes");
            assert!(may_retry(one.ending, is_final), "sent again: {one:?}");
            let waited = other.at - one.done;
            assert!(
                waited >= self.backoff.0.max(hint(one)),
                "too early: {pair:?}"
            );
            assert!(
                waited <= self.longest(one, attempt + 1),
                "too late: {pair:?}"
            );
        }
    }

    /// Why no more was sent: there was no need, no right or no time. `turn` is when it would have been.
    fn ending(&self, last: &Post, attempts: usize, turn: Duration, end: DeliveryStep) {
        let fault = match last.ending {
            Ending::Status(200..=299, _) => return assert_eq!(end, DeliveryStep::Accepted),
            Ending::Status(404, _) => return assert_eq!(end, DeliveryStep::AlreadyFulfilled),
            Ending::Status(status, _) => DeliveryFault::Status(status),
            Ending::NoHead { .. } => DeliveryFault::Transport,
            Ending::CutOff => return self.cut_off(turn, end),
        };
        let no_more = attempts == 3 || turn == last.done;
        if no_more {
            assert_eq!(end, DeliveryStep::GiveUp(fault));
        } else {
            self.cut_off(turn, end);
        }
    }

    /// Given up for the time, which was over then at the latest.
    fn cut_off(&self, latest: Duration, end: DeliveryStep) {
        assert!(self.is_over(latest), "given up with time left");
        match end {
            DeliveryStep::GiveUp(DeliveryFault::Cancelled) => {}
            DeliveryStep::GiveUp(DeliveryFault::DeadlinePassed) => {
                assert!(self.deadline.is_some_and(|at| latest >= at));
            }
            other => panic!("cut off, and yet {other:?}"),
        }
    }

    fn is_over(&self, now: Duration) -> bool {
        self.end.is_some_and(|end| now >= end)
    }

    /// The longest wait after this many attempts: the shortest delay doubled for each of them, up to a
    /// limit, unless the service asked for more.
    fn longest(&self, post: &Post, attempts: usize) -> Duration {
        let (min, max) = self.backoff;
        let doubled = (0..attempts).fold(min, |delay, _| delay * 2);
        doubled.min(max).max(hint(post))
    }
}

fn hint(post: &Post) -> Duration {
    match post.ending {
        Ending::Status(_, hint) => hint.unwrap_or_default(),
        Ending::NoHead { .. } | Ending::CutOff => Duration::ZERO,
    }
}

/// An answer is sent again after a few statuses and whatever the network did; a notification only where
/// it cannot have arrived.
fn may_retry(ending: Ending, is_final: bool) -> bool {
    match ending {
        Ending::Status(429, _) | Ending::NoHead { written: false } => true,
        Ending::Status(408 | 502 | 503 | 504, _) | Ending::NoHead { written: true } => is_final,
        Ending::Status(..) | Ending::CutOff => false,
    }
}
