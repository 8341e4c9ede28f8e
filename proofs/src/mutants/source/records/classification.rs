//! From what came back to what it means: `model/src/poll.rs`.

use super::SourceMutant;
use crate::mutants::source::Suite;

const POLL: &str = "model/src/poll.rs";

const MATRIX: &str = "each_status_with_each_end_of_its_body";
const NO_HEAD: &str = "without_a_head_only_a_request_that_left_counts";
const PLANS: &str = "plans_how_much_of_each_body_to_read";
const AT_LIMIT: &str = "a_body_at_the_limit_is_judged_like_a_shorter_one";
const TOKEN_LINES: &str = "a_correction_needs_exactly_one_valid_token_line_in_any_case_of_its_name";
const NO_CORRECTION: &str = "a_complete_409_that_is_no_correction_is_neutral_by_its_own_name";
const ONLY_409: &str = "only_a_complete_409_brings_a_token";
const HINTS: &str =
    "the_first_hint_in_the_head_of_an_unsuccessful_answer_counts_however_its_body_ended";
const ENVELOPES: &str = "a_complete_200_succeeds_if_it_is_an_envelope";
const CREDENTIALS: &str = "only_401_and_403_refuse_credentials";
const CATEGORIES: &str = "each_fault_names_its_category_and_status";

const fn poll(
    name: &'static str,
    from: &'static str,
    to: &'static str,
    killers: &'static [&'static str],
) -> SourceMutant {
    SourceMutant {
        name,
        file: POLL,
        from,
        to,
        suite: Suite::Classify,
        killers,
    }
}

/// Wrong readings of one exchange.
pub(super) const MUTANTS: [SourceMutant; 34] = [
    // How much is read.
    poll(
        "limit-a-byte-less",
        "ERROR_BODY_LIMIT: usize = 65_536",
        "ERROR_BODY_LIMIT: usize = 65_535",
        &[PLANS, AT_LIMIT],
    ),
    poll(
        "limit-a-byte-more",
        "ERROR_BODY_LIMIT: usize = 65_536",
        "ERROR_BODY_LIMIT: usize = 65_537",
        &[PLANS],
    ),
    poll(
        "limit-itself-is-too-long",
        "bytes.len() <= ERROR_BODY_LIMIT",
        "bytes.len() < ERROR_BODY_LIMIT",
        &[AT_LIMIT],
    ),
    poll(
        "body-of-204-is-read",
        "204 => BodyPlan::Skip",
        "204 => BodyPlan::Read { limit: ERROR_BODY_LIMIT }",
        &[PLANS],
    ),
    poll(
        "body-of-200-is-read-like-others",
        "limit: envelope_limit",
        "limit: ERROR_BODY_LIMIT.min(envelope_limit)",
        &[PLANS],
    ),
    // What counts as a failure.
    poll(
        "server-error-with-long-body-is-neutral",
        "(408 | 500..=599, _)",
        "(408 | 500..=599, Body::Complete(_))",
        &[MATRIX],
    ),
    poll(
        "request-timeout-is-neutral",
        "(408 | 500..=599, _)",
        "(500..=599, _)",
        &[MATRIX],
    ),
    poll(
        "599-is-neutral",
        "(408 | 500..=599, _)",
        "(408 | 500..599, _)",
        &[MATRIX],
    ),
    poll(
        "600-is-failure",
        "(408 | 500..=599, _)",
        "(408 | 500..=600, _)",
        &[MATRIX],
    ),
    poll(
        "101-is-failure",
        "(408 | 500..=599, _)",
        "(101 | 408 | 500..=599, _)",
        &[MATRIX],
    ),
    poll(
        "429-is-failure",
        "(408 | 500..=599, _)",
        "(408 | 429 | 500..=599, _)",
        &[MATRIX],
    ),
    poll(
        "interrupted-204-is-failure",
        "(204, _) =>",
        "(204, Body::Complete(_) | Body::OverLimit | Body::Unread) =>",
        &[MATRIX],
    ),
    poll(
        "interrupted-429-is-neutral",
        "(_, Body::Interrupted(by)) =>",
        "(..=428 | 430.., Body::Interrupted(by)) =>",
        &[MATRIX],
    ),
    poll(
        "interrupted-409-is-neutral",
        "(_, Body::Interrupted(by)) =>",
        "(..=408 | 410.., Body::Interrupted(by)) =>",
        &[MATRIX],
    ),
    poll(
        "interruption-is-neutral",
        "let fault = PollFault::Interrupted { status, by };\n            Err((Outcome::DestinationFailure, fault))",
        "let fault = PollFault::Interrupted { status, by };\n            Err((Outcome::Neutral, fault))",
        &[MATRIX],
    ),
    poll(
        "success-before-the-body-ends",
        "        // spec: CLS-3, CLS-8, CLS-14\n        (_, Body::Interrupted(by)) =>",
        "        (200, Body::Interrupted(_)) => Ok((Outcome::Success, Envelope::default())),\n        (_, Body::Interrupted(by)) =>",
        &[MATRIX],
    ),
    poll(
        "no-head-is-neutral",
        "Err((Outcome::DestinationFailure, PollFault::NoHead(by)))",
        "Err((Outcome::Neutral, PollFault::NoHead(by)))",
        &[NO_HEAD],
    ),
    poll(
        "not-sent-is-failure",
        "Err((Outcome::Neutral, PollFault::NotSent))",
        "Err((Outcome::DestinationFailure, PollFault::NotSent))",
        &[NO_HEAD],
    ),
    poll(
        "too-long-envelope-is-failure",
        "Err((Outcome::Neutral, PollFault::EnvelopeTooLarge))",
        "Err((Outcome::DestinationFailure, PollFault::EnvelopeTooLarge))",
        &[MATRIX],
    ),
    poll(
        "undecodable-200-is-failure",
        "Err(fault) => Err((Outcome::Neutral, PollFault::Envelope(fault)))",
        "Err(fault) => Err((Outcome::DestinationFailure, PollFault::Envelope(fault)))",
        &[MATRIX, ENVELOPES],
    ),
    poll(
        "undecodable-200-is-success",
        "Err(fault) => Err((Outcome::Neutral, PollFault::Envelope(fault)))",
        "Err(_) => Ok((Outcome::Success, Envelope::default()))",
        &[MATRIX, ENVELOPES],
    ),
    // What is a correction.
    poll(
        "ordinary-conflict-is-failure",
        "Err(fault) if fault.is_ordinary() => (Outcome::Neutral,",
        "Err(fault) if fault.is_ordinary() => (Outcome::DestinationFailure,",
        &[NO_CORRECTION],
    ),
    poll(
        "malformed-correction-is-failure",
        "Err(fault) => (Outcome::Neutral, PollFault::MalformedCorrection(fault))",
        "Err(fault) => (Outcome::DestinationFailure, PollFault::MalformedCorrection(fault))",
        &[NO_CORRECTION],
    ),
    poll(
        "malformed-correction-is-told-as-ordinary",
        "Err(fault) if fault.is_ordinary() =>",
        "Err(_) =>",
        &[TOKEN_LINES, NO_CORRECTION],
    ),
    poll(
        "correction-in-421",
        "(409, Body::Complete(bytes))",
        "(409 | 421, Body::Complete(bytes))",
        &[MATRIX, ONLY_409],
    ),
    poll(
        "first-token-line-alone",
        "headers.lines(SHARD_TOKEN_HEADER)",
        "headers.lines(SHARD_TOKEN_HEADER).take(1)",
        &[TOKEN_LINES],
    ),
    // Cancellation.
    poll(
        "cancelled-correction-is-committed",
        "Err(_) if cancelled =>",
        "Err((ref outcome, _)) if cancelled && !matches!(outcome, Outcome::Correction(_)) =>",
        &[MATRIX],
    ),
    poll(
        "cancelled-failure-is-committed",
        "Err(_) if cancelled =>",
        "Err((ref outcome, _)) if cancelled && !matches!(outcome, Outcome::DestinationFailure) =>",
        &[MATRIX, NO_HEAD],
    ),
    poll(
        "success-is-cancelled",
        "            outcome,\n            reply: Ok(envelope),",
        "            outcome: if cancelled { Outcome::Cancelled } else { outcome },\n            reply: Ok(envelope),",
        &[MATRIX],
    ),
    // Retry-After, and what is told.
    poll(
        "last-hint-counts",
        "headers.lines(RETRY_AFTER_HEADER).next()?",
        "headers.lines(RETRY_AFTER_HEADER).last()?",
        &[HINTS],
    ),
    poll(
        "hint-of-success-counts",
        "reply: Ok(envelope),\n            retry_after: None,",
        "reply: Ok(envelope),\n            retry_after,",
        &[HINTS],
    ),
    poll(
        "hint-of-cancelled-counts",
        "reply: Err(PollFault::Cancelled),\n            retry_after: None,",
        "reply: Err(PollFault::Cancelled),\n            retry_after,",
        &[HINTS],
    ),
    poll(
        "deadline-is-told-as-network-error",
        "Interruption::Closed | Interruption::Network => \"network_error\",\n        Interruption::Deadline => \"timeout\",",
        "_ => \"network_error\",",
        &[MATRIX, NO_HEAD, CATEGORIES],
    ),
    poll(
        "403-refuses-no-credentials",
        "Self::Status(401 | 403)",
        "Self::Status(401)",
        &[CREDENTIALS],
    ),
];
