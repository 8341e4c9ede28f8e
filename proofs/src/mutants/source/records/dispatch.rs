//! Commands from their turn to their answer: who is asked, deadlines, order, what is counted, and the end.

use super::{SourceMutant, mutant};
use crate::mutants::source::Suite;

const DISPATCH: &str = "client/src/dispatch/mod.rs";
const WORK: &str = "client/src/dispatch/work.rs";
const HEALTH: &str = "model/src/target_health.rs";

const NOT_RUN: &str = "what_cannot_be_run_is_answered_or_skipped_and_stops_nothing";
const DEAD_TARGET: &str = "a_dead_target_is_noticed_and_its_recovery_too";
const OUTAGE: &str = "target_health::tests::an_outage_shows_at_once_and_so_does_its_end";
const SILENT: &str =
    "target_health::tests::a_target_that_is_silent_for_some_calls_is_dead_since_the_first";
const WORD: &str = "target_health::tests::a_word_between_breaks_the_silence";
const CHANGE: &str = "target_health::tests::a_change_is_told_once_each_way";
const EXPIRED: &str = "an_expired_command_is_dropped_without_a_word";
const LOST_NOTIFICATION: &str =
    "after_a_lost_notification_the_later_ones_are_skipped_and_the_answer_still_sent";
const OWN_TOKEN: &str = "a_call_that_ends_after_a_reassignment_is_answered_under_its_own_token";
const NOT_DRAINED: &str = "what_is_not_drained_in_time_is_answered_with_a_failure";

/// Wrong ways to run commands.
pub(super) const MUTANTS: [SourceMutant; 35] = [
    // Who is asked.
    mutant(
        "dispatch-takes-any-target-for-an-unknown-channel",
        Suite::Dispatch,
        WORK,
        "let Some(target) = self.targets.get(&work.command.channel) else {",
        "let any = self.targets.values().next();\n        let Some(target) = self.targets.get(&work.command.channel).or(any) else {",
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
        "_ if work.wait.is_over() => Worked::Expired,",
        "_ if work.wait.is_over() => Worked::Answered,",
        &["a_call_that_ends_as_its_deadline_passes_has_expired"],
    ),
    mutant(
        "dispatch-counts-an-answer-that-expires-on-its-way",
        Suite::Places,
        WORK,
        "        if sent.is_err_and(|undelivered| undelivered.fault == DeliveryFault::DeadlinePassed) {\n            return false;\n        }\n",
        "",
        &["an_answer_that_expires_on_its_way_is_counted_once"],
    ),
    mutant(
        "dispatch-answers-expired-commands-with-a-failure",
        Suite::Dispatch,
        WORK,
        "            _ if work.wait.is_over() => Worked::Expired,\n",
        "            _ if work.wait.is_over() => {\n                let body = ResponseBody {\n                    request_id: &work.command.request_id,\n                    channel: &work.command.channel,\n                    json: answer.json.as_deref(),\n                    headers: &answer.headers,\n                    code: answer.code,\n                    kind: answer.kind,\n                };\n                if let Some(response) = work.response(&body) {\n                    let never = CancellationToken::new();\n                    let _ = self.client.respond(&response, None, &never).await;\n                }\n                Worked::Expired\n            }\n",
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
        "            _ if !self.deliver_answer(&work, &answer).await => Worked::Expired,\n",
        "            _ if self.telemetry.facts().deliveries.notifications_lost > 0 => Worked::Answered,\n            _ if !self.deliver_answer(&work, &answer).await => Worked::Expired,\n",
        &[LOST_NOTIFICATION],
    ),
    mutant(
        "dispatch-lets-the-answer-overtake",
        Suite::Dispatch,
        WORK,
        "        let answer = self.answer_and_notes(&work).await;\n        let worked = match answer.failure {\n            Some(CANCELLED) => Worked::Cancelled,\n            _ if work.wait.is_over() => Worked::Expired,\n            _ if !self.deliver_answer(&work, &answer).await => Worked::Expired,\n            Some(SHUTTING_DOWN) => Worked::CutShort,\n            _ => Worked::Answered,\n        };\n",
        "        let (notes, received) = mpsc::channel(MAX_WAITING_NOTES);\n        let ended = CancellationToken::new();\n        let answering = async {\n            let answer = self.answer_of(&work, notes).await;\n            ended.cancel();\n            self.deliver_answer(&work, &answer).await;\n            answer\n        };\n        let answer = tokio::join!(answering, self.deliver_notes(&work, received, &ended)).0;\n        let worked = Worked::Answered;\n",
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
        "() = at(self.stage.end()) => self.next_stage(),",
        "() = at(self.stage.end()), if !matches!(self.stage, Stage::Draining(_)) => self.next_stage(),",
        &[NOT_DRAINED],
    ),
    mutant(
        "dispatch-drops-its-queue-when-it-stops",
        Suite::Dispatch,
        DISPATCH,
        "        self.poller.stop_token().cancel();\n",
        "        self.poller.stop_token().cancel();\n        drop(self.commands.remove_unless(|_| false));\n",
        &[NOT_DRAINED],
    ),
    mutant(
        "dispatch-cuts-calls-short-when-it-stops",
        Suite::Dispatch,
        DISPATCH,
        "        self.poller.stop_token().cancel();\n",
        "        self.poller.stop_token().cancel();\n        self.ends.calls.cancel();\n",
        &["a_stop_drains_what_was_received"],
    ),
    mutant(
        "dispatch-leaves-what-is-cut-short-unanswered",
        Suite::Dispatch,
        WORK,
        "(work.wait.end(), &work.ends.deliveries)",
        "(work.wait.end(), &work.ends.calls)",
        &[NOT_DRAINED],
    ),
    mutant(
        "dispatch-waits-for-the-last-words-without-end",
        Suite::Places,
        DISPATCH,
        "                self.ends.deliveries.cancel();\n",
        "",
        &["a_stop_ends_in_time_however_much_waits"],
    ),
    mutant(
        "dispatch-counts-what-the-target-answered-as-cut-short",
        Suite::Places,
        WORK,
        "Some(SHUTTING_DOWN) => Worked::CutShort,",
        "_ if work.ends.calls.is_cancelled() => Worked::CutShort,",
        &["an_answer_of_the_target_that_is_on_its_way_is_not_cut_short"],
    ),
    // What a call that is cancelled, or ends in a panic, leaves behind.
    mutant(
        "dispatch-answers-a-cancelled-call",
        Suite::Places,
        WORK,
        "            Some(CANCELLED) => Worked::Cancelled,\n",
        "",
        &["what_was_cancelled_is_not_answered"],
    ),
    mutant(
        "dispatch-loses-the-place-of-a-call-that-panics",
        Suite::Places,
        DISPATCH,
        "                error.id()\n",
        "                drop(error);\n                return;\n",
        &["a_call_that_ends_in_a_panic_gives_its_place_back"],
    ),
    // What is known of targets.
    mutant(
        "dispatch-notices-no-dead-target",
        Suite::Model,
        HEALTH,
        "Evidence::Failed(failure) if failure.source.is_outage() => {",
        "Evidence::Failed(failure) if false && failure.source.is_outage() => {",
        &[OUTAGE],
    ),
    mutant(
        "dispatch-takes-every-failure-for-a-dead-target",
        Suite::Model,
        HEALTH,
        "Evidence::Failed(failure) if failure.source.is_outage() => {",
        "Evidence::Failed(failure) if failure.source.is_outage() || true => {",
        &[SILENT, WORD],
    ),
    mutant(
        "dispatch-notices-no-recovery",
        Suite::Model,
        HEALTH,
        "Evidence::Answered => self.up(now),",
        "Evidence::Answered => {}",
        &[OUTAGE, SILENT],
    ),
    mutant(
        "dispatch-takes-no-silent-target-for-dead",
        Suite::Model,
        HEALTH,
        "pub const SILENT_CALLS: u64 = 3;",
        "pub const SILENT_CALLS: u64 = u64::MAX;",
        &[SILENT],
    ),
    mutant(
        "dispatch-takes-one-slow-call-for-a-dead-target",
        Suite::Model,
        HEALTH,
        "pub const SILENT_CALLS: u64 = 3;",
        "pub const SILENT_CALLS: u64 = 1;",
        &[SILENT, WORD],
    ),
    mutant(
        "dispatch-hears-no-word-between-silent-calls",
        Suite::Model,
        HEALTH,
        "if failure.upstream_response_received => self.silent = None,",
        "if failure.upstream_response_received => {}",
        &[WORD],
    ),
    mutant(
        "dispatch-forgets-when-a-silence-began",
        Suite::Model,
        HEALTH,
        "self.silent.map_or(now, |silent| silent.since)",
        "now",
        &[
            SILENT,
            "target_health::tests::a_dead_target_was_dead_since_its_silence_began",
        ],
    ),
    mutant(
        "dispatch-does-not-say-that-a-target-is-back",
        Suite::Model,
        HEALTH,
        "(Target::Down { .. }, Target::Up { .. }) => Some(Change::CameBack),",
        "(Target::Down { .. }, Target::Up { .. }) => None,",
        &[CHANGE],
    ),
    mutant(
        "dispatch-says-of-each-call-that-a-target-is-dead",
        Suite::Model,
        HEALTH,
        "(Target::Unknown | Target::Up { .. }, Target::Down { fault, .. }) => {",
        "(_, Target::Down { fault, .. }) if evidence != Evidence::None => {",
        &[CHANGE],
    ),
    mutant(
        "dispatch-does-not-say-that-a-command-failed",
        Suite::Run,
        WORK,
        "        (Worked::Answered, None) => {}\n",
        "        (Worked::Answered, _) => {}\n",
        &["a_server_that_is_killed_fails_its_calls_and_starts_again"],
    ),
    mutant(
        "dispatch-takes-its-own-answer-for-a-sign-of-life",
        Suite::Dispatch,
        WORK,
        "Evidence::of(answer.failure, answer.by_target)",
        "Evidence::of(answer.failure, true)",
        &["a_target_that_never_answers_is_noticed"],
    ),
    mutant(
        "dispatch-blames-the-target-of-another-channel",
        Suite::Dispatch,
        WORK,
        "self.telemetry.target(&work.command.channel, evidence);",
        "self.telemetry.target(&moorline_model::wire::Channel::main(), evidence);",
        &[DEAD_TARGET],
    ),
    mutant(
        "dispatch-knows-of-targets-for-channels-that-nobody-serves",
        Suite::Dispatch,
        "client/src/telemetry.rs",
        "let target = facts.targets.get_mut(channel);",
        "let target = Some(facts.targets.entry(channel.clone()).or_default());",
        &[NOT_RUN],
    ),
];
