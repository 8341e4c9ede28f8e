//! Messages about commands on their way to the service: which request, which token, how often, and until when.

use super::{SourceMutant, mutant};
use crate::mutants::source::Suite;

const DELIVERY: &str = "model/src/delivery.rs";
const RESPOND: &str = "client/src/control_plane/respond.rs";
const METADATA: &str = "client/src/control_plane/metadata.rs";
const TRANSPORT: &str = "client/src/control_plane/transport.rs";

const OUTCOMES: &str = "delivery::tests::an_answer_is_tried_three_times_on_seven_outcomes_alone";
const NOTIFICATIONS: &str =
    "delivery::tests::a_notification_is_tried_again_only_when_it_did_not_arrive";
const ONE_POST: &str = "a_response_is_one_post_with_the_commands_own_token";
const POLLING_TOKEN: &str = "the_polling_token_goes_nowhere_but_on_polls";
const STALLED: &str = "the_status_counts_though_the_body_never_comes";
const ENDS_THE_WAIT: &str = "deadline_and_cancellation_end_the_wait_between_attempts";

/// Wrong deliveries.
pub(super) const MUTANTS: [SourceMutant; 32] = [
    // Which of the outcomes are tried again.
    mutant(
        "answer-is-tried-twice-at-most",
        Suite::Model,
        DELIVERY,
        "pub const MAX_ATTEMPTS: u32 = 3;",
        "pub const MAX_ATTEMPTS: u32 = 2;",
        &[OUTCOMES, NOTIFICATIONS],
    ),
    mutant(
        "answer-is-tried-again-after-a-500",
        Suite::Model,
        DELIVERY,
        "PostOutcome::Status(408 | 502 | 503 | 504) =>",
        "PostOutcome::Status(408 | 500 | 502 | 503 | 504) =>",
        &[OUTCOMES],
    ),
    mutant(
        "answer-is-tried-again-after-a-correction",
        Suite::Model,
        DELIVERY,
        "PostOutcome::Status(408 | 502 | 503 | 504) =>",
        "PostOutcome::Status(408 | 409 | 502 | 503 | 504) =>",
        &[OUTCOMES],
    ),
    mutant(
        "answer-is-not-tried-again-after-a-503",
        Suite::Model,
        DELIVERY,
        "PostOutcome::Status(408 | 502 | 503 | 504) =>",
        "PostOutcome::Status(408 | 502 | 504) =>",
        &[OUTCOMES],
    ),
    mutant(
        "answer-is-tried-again-after-a-404",
        Suite::Model,
        DELIVERY,
        "            PostOutcome::Status(404) => return DeliveryStep::AlreadyFulfilled,\n",
        "            PostOutcome::Status(404) if self.attempts >= MAX_ATTEMPTS => {\n                return DeliveryStep::AlreadyFulfilled;\n            }\n            PostOutcome::Status(404) => {\n                return DeliveryStep::Retry { attempt: self.attempts.saturating_add(1) };\n            }\n",
        &[
            OUTCOMES,
            "delivery::tests::a_200_and_a_404_end_the_delivery_on_any_attempt",
        ],
    ),
    mutant(
        "answer-that-is-taken-with-a-202-is-given-up",
        Suite::Model,
        DELIVERY,
        "PostOutcome::Status(200..=299) => return",
        "PostOutcome::Status(200) => return",
        &[OUTCOMES],
    ),
    mutant(
        "notification-is-tried-again-after-a-503",
        Suite::Model,
        DELIVERY,
        "PostOutcome::Status(408 | 502 | 503 | 504) => self.is_final,",
        "PostOutcome::Status(408 | 502 | 503 | 504) => true,",
        &[NOTIFICATIONS],
    ),
    mutant(
        "notification-that-may-have-arrived-is-sent-again",
        Suite::Model,
        DELIVERY,
        "=> self.is_final || !written,",
        "=> self.is_final || written,",
        &[NOTIFICATIONS],
    ),
    mutant(
        "notification-lane-stays-open",
        Suite::Model,
        DELIVERY,
        "        !self.failed\n",
        "        !self.failed || true\n",
        &["delivery::tests::one_failed_notification_closes_the_lane_for_good"],
    ),
    // The request.
    mutant(
        "delivery-has-no-token",
        Suite::Respond,
        RESPOND,
        "        headers.insert(SHARD_TOKEN_HEADER, response.token.clone());\n",
        "",
        &[ONE_POST],
    ),
    mutant(
        "delivery-carries-the-polling-token",
        Suite::Respond,
        RESPOND,
        "        headers.insert(SHARD_TOKEN_HEADER, response.token.clone());\n",
        "        let begun = self.inner.state.begin();\n        let polling = begun.attempt.token().map(|token| HeaderValue::from_str(token.expose()));\n        let token = polling.and_then(Result::ok).unwrap_or_else(|| response.token.clone());\n        headers.insert(SHARD_TOKEN_HEADER, token);\n",
        &[POLLING_TOKEN],
    ),
    mutant(
        "delivery-carries-the-token-of-the-first-command",
        Suite::Respond,
        RESPOND,
        "        token.set_sensitive(true);\n",
        "        token.set_sensitive(true);\n        static FIRST: std::sync::OnceLock<HeaderValue> = std::sync::OnceLock::new();\n        let token = FIRST.get_or_init(|| token).clone();\n",
        &[POLLING_TOKEN],
    ),
    mutant(
        "delivery-trims-the-token",
        Suite::Respond,
        RESPOND,
        "token.expose().as_bytes()",
        "token.expose().trim().as_bytes()",
        &[ONE_POST],
    ),
    mutant(
        "delivery-loses-the-request-id",
        Suite::Respond,
        RESPOND,
        "            headers.insert(CLIENT_REQUEST_ID, id.clone());\n",
        "            let _ = id;\n",
        &[ONE_POST],
    ),
    mutant(
        "dispatch-does-not-pass-on-the-request-id",
        Suite::Dispatch,
        "client/src/dispatch/work.rs",
        "            self.command.client_request_id(),\n",
        "            None,\n",
        &["each_answer_has_the_token_and_the_request_id_of_its_own_command"],
    ),
    mutant(
        "delivery-has-no-capabilities",
        Suite::Respond,
        RESPOND,
        "        let mut headers = self.inner.requests.common();\n",
        "        let mut headers = self.inner.requests.common();\n        headers.remove(\"x-tunnel-client-capabilities\");\n",
        &[ONE_POST],
    ),
    mutant(
        "delivery-has-no-server-info",
        Suite::Respond,
        RESPOND,
        "        let mut headers = self.inner.requests.common();\n",
        "        let mut headers = self.inner.requests.common();\n        headers.remove(\"x-tunnel-mcp-server-info\");\n",
        &[ONE_POST],
    ),
    mutant(
        "delivery-goes-to-the-tunnel-itself",
        Suite::Respond,
        RESPOND,
        "self.inner.requests.response_url()",
        "self.inner.requests.metadata_url()",
        &[ONE_POST],
    ),
    mutant(
        "delivery-differs-from-attempt-to-attempt",
        Suite::Respond,
        RESPOND,
        "        let mut headers = self.inner.requests.common();\n",
        "        let mut headers = self.inner.requests.common();\n        let id = rand::random::<u64>();\n        headers.insert(\"x-request-id\", HeaderValue::from(id));\n",
        &["an_answer_is_tried_three_times_where_that_may_help"],
    ),
    mutant(
        "metadata-carries-the-polling-token",
        Suite::Respond,
        METADATA,
        "            headers: self.inner.requests.common(),\n",
        "            headers: {\n                let mut headers = self.inner.requests.common();\n                let begun = self.inner.state.begin();\n                let token = begun.attempt.token().map(|token| token.expose().parse());\n                if let Some(Ok(token)) = token {\n                    headers.insert(\"x-tunnel-shard-token\", token);\n                }\n                headers\n            },\n",
        &[POLLING_TOKEN],
    ),
    mutant(
        "metadata-has-no-capabilities",
        Suite::Respond,
        METADATA,
        "            headers: self.inner.requests.common(),\n",
        "            headers: {\n                let mut headers = self.inner.requests.common();\n                headers.remove(\"x-tunnel-client-capabilities\");\n                headers\n            },\n",
        &[POLLING_TOKEN],
    ),
    mutant(
        "metadata-takes-a-redirect-for-success",
        Suite::Respond,
        METADATA,
        "status: 200..=299, ..",
        "status: 200..=399, ..",
        &["metadata_names_what_went_wrong"],
    ),
    // The outcome.
    mutant(
        "delivery-tries-again-when-the-body-breaks-off",
        Suite::Respond,
        RESPOND,
        "        Received::Head {\n            status, headers, ..\n        } =>",
        "        Received::Head {\n            body: super::transport::ReceivedBody::Interrupted(..),\n            ..\n        } => (PostOutcome::Transport { written: true }, None),\n        Received::Head {\n            status, headers, ..\n        } =>",
        &["the_status_counts_whatever_becomes_of_the_body"],
    ),
    mutant(
        "delivery-takes-what-never-left-for-written",
        Suite::Respond,
        TRANSPORT,
        "let written = !error.is_connect();",
        "let written = true;",
        &["what_never_left_is_sent_again"],
    ),
    mutant(
        "delivery-takes-what-may-have-arrived-for-unwritten",
        Suite::Respond,
        TRANSPORT,
        "let written = !error.is_connect();",
        "let written = false;",
        &["a_notification_that_may_have_arrived_is_not_sent_again"],
    ),
    // Waits and ends.
    mutant(
        "delivery-begins-after-the-deadline",
        Suite::Respond,
        RESPOND,
        "                () = ready(()), if is_past(deadline) => (PostOutcome::DeadlinePassed, None),\n",
        "",
        &["deadline_and_cancellation_end_a_delivery"],
    ),
    mutant(
        "delivery-waits-for-the-body",
        Suite::Respond,
        TRANSPORT,
        "let soon = deadline.min(Instant::now() + BODY_TIMEOUT);",
        "let soon = deadline;",
        &[STALLED],
    ),
    mutant(
        "delivery-that-is-accepted-in-time-is-late-by-its-body",
        Suite::Respond,
        RESPOND,
        "        } => (PostOutcome::Status(*status), hint(headers)),\n",
        "        } if !too_late => (PostOutcome::Status(*status), hint(headers)),\n        Received::Head { .. } => (PostOutcome::without_head(true, too_late), None),\n",
        &[STALLED],
    ),
    mutant(
        "delivery-that-is-late-was-broken-off",
        Suite::Model,
        DELIVERY,
        "        if too_late {\n",
        "        if too_late && !written {\n",
        &["delivery::tests::without_a_head_a_deadline_that_has_passed_has_ended_the_attempt"],
    ),
    mutant(
        "delivery-waits-beyond-the-deadline",
        Suite::Respond,
        RESPOND,
        "() = sleep_until(first(Instant::now() + delay, deadline)) => {}",
        "() = sleep_until(Instant::now() + delay) => {}",
        &[ENDS_THE_WAIT],
    ),
    mutant(
        "delivery-does-not-hear-a-stop-while-it-waits",
        Suite::Respond,
        RESPOND,
        "                        () = cancel.cancelled() => {}\n",
        "",
        &[ENDS_THE_WAIT],
    ),
    mutant(
        "delivery-ignores-the-hint",
        Suite::Respond,
        RESPOND,
        "delivery.delay(self.inner.backoff, hint, self.inner.state.draw())",
        "delivery.delay(self.inner.backoff, None, self.inner.state.draw())",
        &[ENDS_THE_WAIT],
    ),
];
