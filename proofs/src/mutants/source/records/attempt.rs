//! One attempt: its snapshot, its deadline, its cancellation, its commit, and what its caller gets.

use super::{SourceMutant, mutant};
use crate::mutants::source::Suite;

const POLL: &str = "client/src/control_plane/poll.rs";
const STATE: &str = "client/src/control_plane/state.rs";

const SEQUENCES: &str = "the_real_client_agrees_with_every_sequence";
const CANCELLED: &str = "cancellation_ends_a_poll_at_every_stage_and_commits_nothing";
const CANCELLED_RIGHT_THEN: &str =
    "a_success_that_was_read_commits_even_if_the_caller_cancels_right_then";
const ANSWER_FIRST: &str = "an_answer_that_is_in_is_looked_at_before_the_cancellation";
const NOT_STARTED: &str = "a_poll_cancelled_before_it_starts_sends_nothing";
const DROPPED: &str = "dropping_a_poll_commits_nothing";
const DEADLINE: &str = "the_polls_own_deadline_is_a_failure_and_no_cancellation";
const GIVES_UP: &str = "tells_the_service_how_long_to_hold_and_the_transport_when_to_give_up";
const OBEYS_HINTS: &str = "every_kind_of_correction_and_failure_obeys_retry_after";
const LATE: &str = "late_results_change_nothing_and_still_reach_their_callers";
const OVERLAPPING: &str = "of_overlapping_polls_only_the_first_commits";
const EVENTS: &str = "poll_prints_json_events_for_machines";

/// Wrong attempts.
pub(super) const MUTANTS: [SourceMutant; 20] = [
    // Snapshot and commit.
    mutant(
        "client-takes-the-snapshot-late",
        Suite::Sequences,
        POLL,
        ".commit(begun.attempt, taken,",
        ".commit(self.inner.state.begin().attempt, taken,",
        &[SEQUENCES],
    ),
    mutant(
        "client-takes-the-snapshot-after-the-answer",
        Suite::Wire,
        POLL,
        "        self.finish(begun, received, cancelled)\n",
        "        drop(begun);\n        self.finish(self.inner.state.begin(), received, cancelled)\n",
        &[LATE, OVERLAPPING],
    ),
    mutant(
        "client-drops-the-commands-of-a-late-success",
        Suite::Wire,
        POLL,
        "reply: reply.map_err(|fault| PollError::new(fault, cause)),",
        "reply: reply\n                .map(|envelope| if done.verdict == Verdict::Late { Envelope::default() } else { envelope })\n                .map_err(|fault| PollError::new(fault, cause)),",
        &[LATE],
    ),
    mutant(
        "client-hides-a-late-failure",
        Suite::Wire,
        POLL,
        "reply: reply.map_err(|fault| PollError::new(fault, cause)),",
        "reply: if done.verdict == Verdict::Late {\n                reply.or_else(|_| Ok(Envelope::default()))\n            } else {\n                reply.map_err(|fault| PollError::new(fault, cause))\n            },",
        &[LATE],
    ),
    // Cancellation.
    mutant(
        "client-overlooks-a-cancellation-that-comes-with-the-answer",
        Suite::Poller,
        POLL,
        "received = exchange => (received, cancel.is_cancelled()),",
        "received = exchange => (received, false),",
        &[CANCELLED_RIGHT_THEN, ANSWER_FIRST],
    ),
    mutant(
        "client-lets-a-cancellation-win-over-a-success",
        Suite::Poller,
        POLL,
        "            biased;\n",
        "            biased;\n            () = cancel.cancelled() => (Received::NoHead(Interruption::Network, None), true),\n",
        &[ANSWER_FIRST],
    ),
    mutant(
        "client-forgets-a-success-that-is-cancelled",
        Suite::Poller,
        POLL,
        "received = exchange => (received, cancel.is_cancelled()),",
        "received = exchange => match cancel.is_cancelled() {\n                true => (Received::NoHead(Interruption::Network, None), true),\n                false => (received, false),\n            },",
        &[CANCELLED_RIGHT_THEN, ANSWER_FIRST],
    ),
    mutant(
        "client-counts-an-abandoned-poll-as-failure",
        Suite::Wire,
        POLL,
        "(Received::NoHead(Interruption::Network, None), true),",
        "(Received::NoHead(Interruption::Network, None), false),",
        &[CANCELLED],
    ),
    mutant(
        "client-counts-a-dropped-poll-as-failure",
        Suite::Wire,
        POLL,
        "        let mut dropped = log::IfDropped::new(begun.number);\n",
        "        struct Count<'a>(&'a super::state::SharedState, bool);\n        impl Count<'_> {\n            fn ended(&mut self) {\n                self.1 = true;\n            }\n        }\n        impl Drop for Count<'_> {\n            fn drop(&mut self) {\n                if self.1 {\n                    return;\n                }\n                let begun = self.0.begin();\n                let (taken, by) = (begun.at(), Interruption::Network);\n                let outcome = moorline_model::placement::Outcome::DestinationFailure;\n                let _ = self.0.commit(begun.attempt, taken, outcome, Err(PollFault::NoHead(by)), None);\n            }\n        }\n        let _ = log::IfDropped::new(begun.number).ended();\n        let mut dropped = Count(&self.inner.state, false);\n",
        &[DROPPED],
    ),
    mutant(
        "client-starts-a-poll-that-is-cancelled",
        Suite::Wire,
        POLL,
        "        if cancel.is_cancelled() {\n            return",
        "        if false {\n            return",
        &[NOT_STARTED],
    ),
    // The deadline.
    mutant(
        "client-takes-its-deadline-for-a-cancellation",
        Suite::Wire,
        POLL,
        "received = exchange => (received, cancel.is_cancelled()),",
        "received = exchange => {\n                let given_up = matches!(received, Received::NoHead(Interruption::Deadline, _));\n                (received, given_up || cancel.is_cancelled())\n            }",
        &[DEADLINE],
    ),
    mutant(
        "client-leaves-the-guardrail-out-of-its-deadline",
        Suite::Poller,
        POLL,
        "Instant::now() + begun.long_poll.deadline()",
        "Instant::now() + begun.long_poll.wait()",
        &[GIVES_UP],
    ),
    mutant(
        "client-learns-shorter-waits-from-its-own-age",
        Suite::Poller,
        STATE,
        "let elapsed = now.saturating_sub(taken);",
        "let elapsed = now;",
        &["asks_for_shorter_waits_where_long_polls_are_cut"],
    ),
    // The hint, and the delay.
    mutant(
        "client-loses-the-hint",
        Suite::Wire,
        POLL,
        "            .commit(begun.attempt, taken, outcome, result, retry_after);",
        "            .commit(begun.attempt, taken, outcome, result, retry_after.filter(|_| false));",
        &[OBEYS_HINTS],
    ),
    mutant(
        "client-takes-the-hint-for-milliseconds",
        Suite::Wire,
        POLL,
        "            .commit(begun.attempt, taken, outcome, result, retry_after);",
        "            .commit(begun.attempt, taken, outcome, result, retry_after.map(|hint| hint / 1_000));",
        &[OBEYS_HINTS],
    ),
    mutant(
        "client-reads-dates-without-a-clock",
        Suite::Wire,
        POLL,
        "let now = time_of_day().as_secs();",
        "let now = time_of_day().as_secs() * 0;",
        &["a_date_asks_for_patience_only_while_it_is_ahead"],
    ),
    mutant(
        "client-draws-the-same-delay-each-time",
        Suite::Poller,
        STATE,
        "rand::random()",
        "Default::default()",
        &["delays_are_drawn_anew_each_time"],
    ),
    // What is told.
    mutant(
        "client-numbers-installs-from-two",
        Suite::Cli,
        STATE,
        "                installs: 0,\n",
        "                installs: 1,\n",
        &[EVENTS],
    ),
    mutant(
        "client-tells-the-generation-after-the-commit-as-taken",
        Suite::Cli,
        POLL,
        "            generation_taken,\n",
        "            generation_taken: generation_taken.max(done.placed.generation.get()),\n",
        &[EVENTS],
    ),
    mutant(
        "client-lets-its-observer-panic",
        Suite::Poller,
        POLL,
        "if catch_unwind(AssertUnwindSafe(|| observer(event))).is_err() {",
        "observer(event);\n        if catch_unwind(AssertUnwindSafe(|| ())).is_err() {",
        &["a_panic_of_the_observer_ends_with_the_observer"],
    ),
];
