//! When the POST of a response is sent again, and what a failed one may show of the server's text.
//! Nothing here knows the placement: a delivery has its command's own token and no other.

use std::time::Duration;

use thiserror::Error;

use crate::backoff::Backoff;
use crate::poll::{HeaderLines, RETRY_AFTER_HEADER, SHARD_TOKEN_HEADER};
use crate::wire::parse_retry_after;

/// How often one POST is sent at most, with the same bytes and headers each time.
// spec: CMD-13
pub const MAX_ATTEMPTS: u32 = 3;

/// How long one attempt may take, when no deadline of the command ends it sooner.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the body of a response is waited for whose head has come. The status has decided by then,
/// and a connection is only fit for more when its body was read.
// spec: CMD-42
pub const BODY_TIMEOUT: Duration = Duration::from_secs(1);

/// How one attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PostOutcome {
    /// The caller shut down.
    Cancelled,
    /// The command's response deadline passed.
    DeadlinePassed,
    /// A head of this status arrived.
    Status(u16),
    /// No head arrived.
    Transport {
        /// Whether any byte of the request may have left. When in doubt, it has.
        written: bool,
    },
}

impl PostOutcome {
    /// How an attempt ended that got no head. `too_late` says whether the command's response deadline
    /// has passed: then that has ended it.
    // spec: CMD-18
    #[must_use]
    pub fn without_head(written: bool, too_late: bool) -> Self {
        if too_late {
            Self::DeadlinePassed
        } else {
            Self::Transport { written }
        }
    }
}

/// What to do after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeliveryStep {
    /// Done: the service took it.
    Accepted,
    /// Done: the service has an answer to this command already, or does not know it any more.
    AlreadyFulfilled,
    /// Not delivered, and not tried again.
    GiveUp(DeliveryFault),
    /// Send the same bytes again, after [`Delivery::delay`].
    Retry {
        /// The number of the attempt to come: 2 or 3.
        attempt: u32,
    },
}

/// Why a delivery was given up. Holds nothing that the service wrote but numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum DeliveryFault {
    /// The caller shut down.
    #[error("canceled")]
    Cancelled,
    /// The command's response deadline passed.
    #[error("timeout: the response deadline passed")]
    DeadlinePassed,
    /// A status that is no success.
    #[error("http_error: status {0}")]
    Status(u16),
    /// No response arrived.
    #[error("network_error: no response arrived")]
    Transport,
}

/// The attempts to deliver one message.
#[derive(Clone, Debug)]
pub struct Delivery {
    is_final: bool,
    attempts: u32,
}

impl Delivery {
    /// A message that was not sent yet. `is_final` says whether it answers its command
    /// ([`ResponseType::is_final`](crate::wire::ResponseType::is_final)).
    #[must_use]
    pub fn new(is_final: bool) -> Self {
        Self {
            is_final,
            attempts: 0,
        }
    }

    /// Records how an attempt ended, and says what to do.
    ///
    /// Any 2xx is accepted: the protocol says 200, and a service that says 202 has taken the message
    /// too. A 409 is never tried again, whatever it holds: corrections are for polls.
    // spec: CMD-13, CMD-14, CMD-15, CMD-28
    pub fn after(&mut self, outcome: PostOutcome) -> DeliveryStep {
        self.attempts = self.attempts.saturating_add(1);
        let fault = match outcome {
            PostOutcome::Status(200..=299) => return DeliveryStep::Accepted,
            PostOutcome::Status(404) => return DeliveryStep::AlreadyFulfilled,
            PostOutcome::Status(status) => DeliveryFault::Status(status),
            PostOutcome::Transport { .. } => DeliveryFault::Transport,
            PostOutcome::Cancelled => DeliveryFault::Cancelled,
            PostOutcome::DeadlinePassed => DeliveryFault::DeadlinePassed,
        };
        if self.may_try_again(outcome) && self.attempts < MAX_ATTEMPTS {
            return DeliveryStep::Retry {
                attempt: self.attempts.saturating_add(1),
            };
        }
        DeliveryStep::GiveUp(fault)
    }

    /// How long to wait before the next attempt: backoff as after that many failed polls, and at
    /// least what the response's `Retry-After` asked for. Never zero, as no backoff is. `draw` is a
    /// uniformly distributed number.
    // spec: RPT-8
    #[must_use]
    pub fn delay(&self, backoff: Backoff, retry_after: Option<Duration>, draw: u64) -> Duration {
        let delay = backoff.delay(self.attempts, draw);
        delay.max(retry_after.unwrap_or_default())
    }

    /// What the head of a response asks to wait for before the next attempt, read like a poll's.
    /// `now_unix_seconds` is the wall clock, needed for dates alone.
    // spec: RPT-8
    pub fn hint<H: HeaderLines + ?Sized>(headers: &H, now_unix_seconds: u64) -> Option<Duration> {
        let first = headers.lines(RETRY_AFTER_HEADER).next()?;
        parse_retry_after(first, now_unix_seconds).ok()
    }

    fn may_try_again(&self, outcome: PostOutcome) -> bool {
        match outcome {
            // spec: CMD-13
            PostOutcome::Status(408 | 502 | 503 | 504) => self.is_final,
            PostOutcome::Status(429) => true,
            // spec: CMD-15 a notification that may have arrived would arrive twice
            PostOutcome::Transport { written } => self.is_final || !written,
            PostOutcome::Status(_) | PostOutcome::Cancelled | PostOutcome::DeadlinePassed => false,
        }
    }
}

/// The notifications of one command, in their order. After one could not be delivered the later ones
/// are skipped, so that none arrives with a gap before it; the target is read on, and the answer is
/// posted all the same.
// spec: CMD-15
#[derive(Clone, Debug, Default)]
pub struct NotificationLane {
    failed: bool,
}

impl NotificationLane {
    /// Whether the next notification is to be sent.
    #[must_use]
    pub fn may_send(&self) -> bool {
        !self.failed
    }

    /// Records how one ended: with [`DeliveryStep::Accepted`], or else. One that came too late, or was
    /// not even sent, closes the lane too.
    pub fn ended(&mut self, accepted: bool) {
        self.failed |= !accepted;
    }
}

/// What is shown instead of the text of a response that may speak about placement.
// spec: PRIV-9
pub const WITHHELD_TEXT: &str = "(the server's text is withheld: it may hold routing data)";

/// What may be shown of the text of a response to an operation other than a poll: a fixed phrase when
/// the response carries a shard token or the code `wrong_cluster` anywhere, whatever its status;
/// otherwise the body itself, which the caller shortens. A body that is no UTF-8 shows nothing.
// spec: PRIV-9
pub fn shown_text<'a, H: HeaderLines + ?Sized>(headers: &H, body: &'a [u8]) -> &'a str {
    let has_token = headers.lines(SHARD_TOKEN_HEADER).next().is_some();
    let Ok(text) = std::str::from_utf8(body) else {
        return WITHHELD_TEXT;
    };
    if has_token || names_wrong_cluster(text) {
        WITHHELD_TEXT
    } else {
        text
    }
}

/// Whether the code stands anywhere, plainly or with escapes. A text with an escaped letter in it
/// counts when it would spell the code once the escapes are resolved.
fn names_wrong_cluster(text: &str) -> bool {
    const CODE: &str = "wrong_cluster";
    text.contains(CODE) || (text.contains("\\u") && resolve_escapes(text).contains(CODE))
}

/// Replaces each `\u00XX` by its character, in any text, JSON or not.
fn resolve_escapes(text: &str) -> String {
    let mut resolved = String::with_capacity(text.len());
    let mut parts = text.split("\\u00");
    resolved.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let split = part.split_at_checked(2);
        let byte = split.and_then(|(hex, _)| u8::from_str_radix(hex, 16).ok());
        match (byte, split) {
            (Some(byte), Some((_, rest))) => {
                resolved.push(char::from(byte));
                resolved.push_str(rest);
            }
            _ => resolved.push_str(part),
        }
    }
    resolved
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RETRIED: [PostOutcome; 7] = [
        PostOutcome::Status(408),
        PostOutcome::Status(429),
        PostOutcome::Status(502),
        PostOutcome::Status(503),
        PostOutcome::Status(504),
        PostOutcome::Transport { written: false },
        PostOutcome::Transport { written: true },
    ];

    fn every_outcome() -> impl Iterator<Item = PostOutcome> {
        (0..=1_000).map(PostOutcome::Status).chain([
            PostOutcome::Cancelled,
            PostOutcome::DeadlinePassed,
            PostOutcome::Transport { written: false },
            PostOutcome::Transport { written: true },
        ])
    }

    fn fault(outcome: PostOutcome) -> DeliveryFault {
        match outcome {
            PostOutcome::Cancelled => DeliveryFault::Cancelled,
            PostOutcome::DeadlinePassed => DeliveryFault::DeadlinePassed,
            PostOutcome::Status(status) => DeliveryFault::Status(status),
            PostOutcome::Transport { .. } => DeliveryFault::Transport,
        }
    }

    fn steps(is_final: bool, outcome: PostOutcome) -> [DeliveryStep; 3] {
        let mut delivery = Delivery::new(is_final);
        [(); 3].map(|()| delivery.after(outcome))
    }

    fn three_attempts(outcome: PostOutcome) -> [DeliveryStep; 3] {
        [
            DeliveryStep::Retry { attempt: 2 },
            DeliveryStep::Retry { attempt: 3 },
            DeliveryStep::GiveUp(fault(outcome)),
        ]
    }

    // spec-test: CMD-18
    #[test]
    fn without_a_head_a_deadline_that_has_passed_has_ended_the_attempt() {
        for written in [true, false] {
            let late = PostOutcome::without_head(written, true);
            assert_eq!(late, PostOutcome::DeadlinePassed);
            let lost = PostOutcome::without_head(written, false);
            assert_eq!(lost, PostOutcome::Transport { written });
        }
    }

    // spec-test: CMD-13, CMD-28
    #[test]
    fn an_answer_is_tried_three_times_on_seven_outcomes_alone() {
        let mut retried = 0;
        for outcome in every_outcome() {
            if RETRIED.contains(&outcome) {
                retried += 1;
                assert_eq!(steps(true, outcome), three_attempts(outcome), "{outcome:?}");
                continue;
            }
            let [first, ..] = steps(true, outcome);
            let expected = match outcome {
                PostOutcome::Status(200..=299) => DeliveryStep::Accepted,
                PostOutcome::Status(404) => DeliveryStep::AlreadyFulfilled,
                _ => DeliveryStep::GiveUp(fault(outcome)),
            };
            assert_eq!(first, expected, "{outcome:?}");
        }
        assert_eq!(retried, RETRIED.len());
    }

    // spec-test: CMD-15
    #[test]
    fn a_notification_is_tried_again_only_when_it_did_not_arrive() {
        let not_arrived = [
            PostOutcome::Status(429),
            PostOutcome::Transport { written: false },
        ];
        for outcome in every_outcome() {
            let all = steps(false, outcome);
            if not_arrived.contains(&outcome) {
                assert_eq!(all, three_attempts(outcome), "{outcome:?}");
            } else {
                let retried = matches!(all[0], DeliveryStep::Retry { .. });
                assert!(!retried, "{outcome:?}");
            }
        }
    }

    // spec-test: CMD-14
    #[test]
    fn a_200_and_a_404_end_the_delivery_on_any_attempt() {
        for is_final in [true, false] {
            for earlier in 0..3 {
                for (status, step) in [
                    (200, DeliveryStep::Accepted),
                    (404, DeliveryStep::AlreadyFulfilled),
                ] {
                    let mut delivery = Delivery::new(is_final);
                    for _ in 0..earlier {
                        delivery.after(PostOutcome::Status(429));
                    }
                    assert_eq!(delivery.after(PostOutcome::Status(status)), step);
                }
            }
        }
    }

    #[test]
    fn different_failures_count_together() {
        let mut delivery = Delivery::new(true);
        let outcomes = [
            PostOutcome::Status(503),
            PostOutcome::Transport { written: true },
            PostOutcome::Status(408),
            PostOutcome::Status(503),
        ];
        let last = outcomes.map(|outcome| delivery.after(outcome));
        assert_eq!(
            last,
            [
                DeliveryStep::Retry { attempt: 2 },
                DeliveryStep::Retry { attempt: 3 },
                DeliveryStep::GiveUp(DeliveryFault::Status(408)),
                DeliveryStep::GiveUp(DeliveryFault::Status(503)),
            ]
        );
    }

    // spec-test: RPT-8
    #[test]
    fn a_hint_only_lengthens_the_delay() {
        let mut delivery = Delivery::new(true);
        let millis = |delivery: &Delivery, hint: Option<u64>, draw| {
            let hint = hint.map(Duration::from_millis);
            delivery.delay(Backoff::DEFAULT, hint, draw).as_millis()
        };
        delivery.after(PostOutcome::Status(429));
        assert_eq!(millis(&delivery, Some(0), 0), 200);
        assert_eq!(millis(&delivery, None, u64::MAX), 400);
        assert_eq!(millis(&delivery, Some(300), 0), 300);
        assert_eq!(millis(&delivery, Some(60_000), u64::MAX), 60_000);
        delivery.after(PostOutcome::Status(429));
        assert_eq!(millis(&delivery, Some(0), u64::MAX), 800);
    }

    // spec-test: CMD-15
    #[test]
    fn one_failed_notification_closes_the_lane_for_good() {
        let mut lane = NotificationLane::default();
        assert!(lane.may_send());
        for accepted in [false, true, false] {
            lane.ended(accepted);
            assert!(!lane.may_send());
        }
    }

    #[test]
    fn faults_name_their_category() {
        let texts = [
            PostOutcome::Cancelled,
            PostOutcome::DeadlinePassed,
            PostOutcome::Status(500),
            PostOutcome::Transport { written: true },
        ]
        .map(|outcome| fault(outcome).to_string());
        assert_eq!(
            texts,
            [
                "canceled",
                "timeout: the response deadline passed",
                "http_error: status 500",
                "network_error: no response arrived",
            ]
        );
    }

    // spec-test: PRIV-9
    #[test]
    fn withholds_what_may_speak_about_placement() {
        let none: &[(&str, &[u8])] = &[];
        let token: &[(&str, &[u8])] = &[("X-Tunnel-Shard-Token", b"")];
        assert_eq!(shown_text(none, b"no such tunnel"), "no such tunnel");
        assert_eq!(shown_text(none, b""), "");
        assert_eq!(shown_text(none, b"\\u0041\\u00"), "\\u0041\\u00");
        assert_eq!(shown_text(token, b"no such tunnel"), WITHHELD_TEXT);
        for body in [
            br#"{"error":{"code":"wrong_cluster","message":"eu-7"}}"#.as_slice(),
            br#"{"error":{"code":"\u0077rong_cluster","message":"eu-7"}}"#,
            br#"{"error":{"code":"wrong\u005Fcluster","message":"eu-7"}}"#,
            br#"{"error":{"code":"wrong_cluster","mess"#,
            b"<p>wrong_cluster</p>",
            b"\xff",
        ] {
            assert_eq!(shown_text(none, body), WITHHELD_TEXT);
        }
    }

    proptest! {
        // spec-test: PRIV-9
        #[test]
        fn shows_any_body_or_the_phrase(body in prop::collection::vec(any::<u8>(), 0..64)) {
            let none: &[(&str, &[u8])] = &[];
            let shown = shown_text(none, &body);
            prop_assert!(shown == WITHHELD_TEXT || shown.as_bytes() == body);
        }

        // spec-test: RPT-8
        #[test]
        fn never_tries_again_at_once(hint in any::<u64>(), draw in any::<u64>()) {
            let mut delivery = Delivery::new(true);
            delivery.after(PostOutcome::Status(429));
            let hint = Duration::from_nanos(hint);
            let delay = delivery.delay(Backoff::DEFAULT, Some(hint), draw);
            prop_assert!(delay >= hint && delay >= Backoff::DEFAULT.min());
        }
    }
}
