//! Commands from their receipt to their answer: whose turn it is, who is asked, deadlines, order, and the end.

use super::{SourceMutant, mutant};
use crate::mutants::source::Suite;

const DISPATCH: &str = "client/src/dispatch/mod.rs";
const WORK: &str = "client/src/dispatch/work.rs";

const NOT_RUN: &str = "what_cannot_be_run_is_answered_or_skipped_and_stops_nothing";
const DEAD_TARGET: &str = "a_dead_target_is_noticed_and_its_recovery_too";
const EXPIRED: &str = "an_expired_command_is_dropped_without_a_word";
const LOST_NOTIFICATION: &str =
    "after_a_lost_notification_the_later_ones_are_skipped_and_the_answer_still_sent";
const OWN_TOKEN: &str = "a_call_that_ends_after_a_reassignment_is_answered_under_its_own_token";
const NOT_DRAINED: &str = "what_is_not_drained_in_time_is_answered_with_a_failure";

/// Wrong ways to run commands.
pub(super) const MUTANTS: [SourceMutant; 23] = [
    // Whose turn it is, and who is asked.
    mutant(
        "dispatch-runs-one-more-at-once",
        Suite::Dispatch,
        DISPATCH,
        "while self.tasks.len() < room",
        "while self.tasks.len() <= room",
        &["slow_calls_block_nobody_until_all_places_are_taken"],
    ),
    mutant(
        "dispatch-keeps-one-queue-for-all-channels",
        Suite::Dispatch,
        DISPATCH,
        "self.waiting.push(queued.command.channel.clone(), queued);",
        "self.waiting.push(Channel::main(), queued);",
        &["channels_take_turns"],
    ),
    mutant(
        "dispatch-takes-any-target-for-an-unknown-channel",
        Suite::Dispatch,
        WORK,
        "let Some(target) = self.targets.get(&work.command.channel) else {",
        "let any = self.targets.values().next();\n        let Some(target) = self.targets.get(&work.command.channel).or(any) else {",
        &[NOT_RUN],
    ),
    mutant(
        "dispatch-runs-commands-of-an-unknown-type",
        Suite::Dispatch,
        DISPATCH,
        "if queued.command.kind == CommandKind::Unknown {",
        "if false {",
        &[NOT_RUN],
    ),
    mutant(
        "dispatch-ends-no-session",
        Suite::Dispatch,
        WORK,
        "target.terminate(Termination { headers, deadline }).await",
        "work.failed(INVALID_MESSAGE)",
        &[NOT_RUN],
    ),
    mutant(
        "dispatch-asks-again-after-a-failure",
        Suite::Dispatch,
        WORK,
        "                    target.call(call, notes).await\n",
        "                    let again = Call {\n                        message: call.message.clone(),\n                        headers: call.headers.clone(),\n                        deadline,\n                    };\n                    let answer = target.call(call, notes.clone()).await;\n                    match answer.failure {\n                        Some(_) => target.call(again, notes).await,\n                        None => answer,\n                    }\n",
        &[DEAD_TARGET],
    ),
    // Deadlines.
    mutant(
        "dispatch-runs-expired-commands",
        Suite::Dispatch,
        DISPATCH,
        "        self.drop_expired();\n",
        "",
        &[EXPIRED],
    ),
    mutant(
        "deadline-does-not-count-the-queue",
        Suite::Dispatch,
        "client/src/dispatch/wait.rs",
        "received: queued.arrived,",
        "received: Instant::now(),",
        &["a_command_that_expires_in_the_queue_is_never_run"],
    ),
    mutant(
        "deadline-counts-from-the-end-of-the-body",
        Suite::Dispatch,
        "client/src/control_plane/poller.rs",
        "let arrived = report.arrived.unwrap_or_else(Instant::now);",
        "let arrived = Instant::now();",
        &["a_command_whose_deadline_passed_with_the_body_is_never_run"],
    ),
    mutant(
        "dispatch-counts-a-late-answer",
        Suite::Dispatch,
        WORK,
        "        if work.wait.is_over() {\n            return false;\n        }\n",
        "",
        &["a_call_that_ends_as_its_deadline_passes_has_expired"],
    ),
    mutant(
        "dispatch-answers-expired-commands-with-a-failure",
        Suite::Dispatch,
        WORK,
        "        if !in_time {\n            self.expired(1);\n",
        "        if !in_time {\n            let answer = work.failed(TunnelFailure::without_answer(FailureSource::Timeout));\n            let body = ResponseBody {\n                request_id: &work.command.request_id,\n                channel: &work.command.channel,\n                json: answer.json.as_deref(),\n                headers: &answer.headers,\n                code: answer.code,\n                kind: answer.kind,\n            };\n            if let Some(response) = work.response(&body) {\n                let never = CancellationToken::new();\n                let _ = self.client.respond(&response, None, &never).await;\n            }\n            self.expired(1);\n",
        &[EXPIRED],
    ),
    mutant(
        "dispatch-lets-a-connection-live-for-ever",
        Suite::Dispatch,
        WORK,
        "work.wait.capped(self.options.max_ttl).end()",
        "work.wait.end()",
        &["a_call_ends_with_the_life_of_its_connection"],
    ),
    // Notifications and the answer.
    mutant(
        "dispatch-sends-notifications-after-a-lost-one",
        Suite::Dispatch,
        WORK,
        "Some(response) if lane.may_send() => {",
        "Some(response) => {",
        &[LOST_NOTIFICATION],
    ),
    mutant(
        "dispatch-sends-no-answer-after-a-lost-notification",
        Suite::Dispatch,
        WORK,
        "        self.count_result(&answer);\n        self.deliver_answer(work, &answer).await\n",
        "        self.count_result(&answer);\n        if self.telemetry.facts().deliveries.notifications_lost > 0 {\n            return true;\n        }\n        self.deliver_answer(work, &answer).await\n",
        &[LOST_NOTIFICATION],
    ),
    mutant(
        "dispatch-lets-the-answer-overtake",
        Suite::Dispatch,
        WORK,
        "        let (answer, ()) = tokio::join!(answer, self.deliver_notes(work, received, &ended));\n        if work.wait.is_over() {\n            return false;\n        }\n        self.count_result(&answer);\n        self.deliver_answer(work, &answer).await\n",
        "        let answering = async {\n            let answer = answer.await;\n            if work.wait.is_over() {\n                return false;\n            }\n            self.count_result(&answer);\n            self.deliver_answer(work, &answer).await\n        };\n        let notes = self.deliver_notes(work, received, &ended);\n        tokio::join!(answering, notes).0\n",
        &[OWN_TOKEN],
    ),
    mutant(
        "dispatch-drops-notifications-that-wait-when-the-call-ends",
        Suite::Dispatch,
        WORK,
        "        note = notes.recv() => return note,\n        () = ended.cancelled() => {}\n    }\n    notes.close();\n    notes.recv().await\n",
        "        () = ended.cancelled() => None,\n        note = notes.recv() => note,\n    }\n",
        &[OWN_TOKEN],
    ),
    // The end.
    mutant(
        "dispatch-drains-for-ever",
        Suite::Dispatch,
        DISPATCH,
        "            () = at(drain_ends), if draining && !self.cut_short.is_cancelled() => self.end_of_drain(),\n",
        "",
        &[NOT_DRAINED],
    ),
    mutant(
        "dispatch-drops-its-queue-when-it-stops",
        Suite::Dispatch,
        DISPATCH,
        "        self.poller.stop_token().cancel();\n",
        "        self.poller.stop_token().cancel();\n        self.waiting = FairQueue::new();\n",
        &[NOT_DRAINED],
    ),
    mutant(
        "dispatch-cuts-calls-short-when-it-stops",
        Suite::Dispatch,
        DISPATCH,
        "        self.poller.stop_token().cancel();\n",
        "        self.poller.stop_token().cancel();\n        self.cut_short.cancel();\n",
        &["a_stop_drains_what_was_received"],
    ),
    mutant(
        "dispatch-leaves-what-is-cut-short-unanswered",
        Suite::Dispatch,
        WORK,
        "respond(&response, work.wait.end(), &never)",
        "respond(&response, work.wait.end(), &work.cut_short)",
        &[NOT_DRAINED],
    ),
    // What readiness follows.
    mutant(
        "dispatch-notices-no-dead-target",
        Suite::Dispatch,
        WORK,
        "Some(failure) if failure.source.is_outage() => {",
        "Some(failure) if false && failure.source.is_outage() => {",
        &[DEAD_TARGET],
    ),
    mutant(
        "dispatch-takes-every-failure-for-a-dead-target",
        Suite::Dispatch,
        WORK,
        "Some(failure) if failure.source.is_outage() => {",
        "Some(failure) if failure.source.is_outage() || true => {",
        &[DEAD_TARGET],
    ),
    mutant(
        "dispatch-notices-no-recovery",
        Suite::Dispatch,
        WORK,
        "            None => self.telemetry.target_up(),\n",
        "            None => {}\n",
        &[DEAD_TARGET],
    ),
];
