//! A target that is a child process: ids on its pipe, calls that are given up, and the process itself.

use super::{SourceMutant, mutant};
use crate::mutants::source::Suite;

const PIPE: &str = "model/src/pipe.rs";
const SHARED: &str = "client/src/target/stdio/shared.rs";
const KEEPER: &str = "client/src/target/stdio/keeper.rs";
const STDIO: &str = "client/src/target/stdio/mod.rs";
const LANE: &str = "model/src/note_lane.rs";
const CHILD: &str = "client/src/target/stdio/child.rs";

const EXCHANGED: &str = "pipe::tests::exchanges_an_id_in_flight_and_restores_it_byte_for_byte";
const RESTARTED: &str = "pipe::tests::a_restarted_child_is_asked_nothing_until_it_is_initialized";
const WITHOUT_ID: &str = "pipe::tests::an_error_without_an_id_fails_the_only_request";
const NEVER_WRITTEN: &str = "pipe::tests::what_was_never_written_may_go_to_the_next_child";
const LOSS: &str = "note_lane::tests::after_one_loss_nothing_more_is_admitted";
const BYTES: &str = "note_lane::tests::bytes_are_limited_and_given_back";
const UNWRITTEN: &str = "what_was_never_written_goes_to_the_next_child";
const LATE_ANSWER: &str = "a_late_answer_is_discarded_and_the_pipe_stays";
const GROUP: &str = "nothing_of_the_group_is_left";
const STOP: &str = "a_stop_asks_before_it_kills";

/// Wrong ways to keep a child process.
pub(super) const MUTANTS: [SourceMutant; 38] = [
    // Ids on the pipe.
    mutant(
        "pipe-answer-keeps-the-substitute",
        Suite::Model,
        PIPE,
        "                text: exchanged(line, ID, id, &request.id.given),\n",
        "                text: line.to_owned(),\n",
        &[EXCHANGED],
    ),
    mutant(
        "pipe-has-an-id-in-flight-twice",
        Suite::Model,
        PIPE,
        "\n            && !self.on_wire().filter_map(of).any(|used| used.wire == given);",
        " && of as usize != 0;",
        &[EXCHANGED],
    ),
    mutant(
        "pipe-forgets-what-was-given-up",
        Suite::Model,
        PIPE,
        "self.in_flight.iter().chain(&self.retired)",
        "self.in_flight.iter()",
        &["pipe::tests::a_retired_request_takes_its_late_answer_with_it_and_the_pipe_stays"],
    ),
    mutant(
        "pipe-asks-a-new-child-that-is-not-initialized",
        Suite::Model,
        PIPE,
        "self.initialized_before && !self.initialized",
        "self.initialized_before && self.initialized",
        &[RESTARTED],
    ),
    mutant(
        "pipe-takes-a-new-child-for-initialized",
        Suite::Model,
        PIPE,
        "        self.initialized = false;\n",
        "",
        &[RESTARTED],
    ),
    // Calls that are given up.
    mutant(
        "pipe-is-left-open-when-initialize-is-given-up",
        Suite::TargetStdio,
        SHARED,
        "if state.pipe.retire(owner) == Retirement::ClosePipe",
        "if state.pipe.retire(owner) == Retirement::NotInFlight",
        &["a_timeout_of_initialize_and_of_nothing_else_closes_the_pipe"],
    ),
    mutant(
        "pipe-is-closed-when-any-call-is-given-up",
        Suite::TargetStdio,
        SHARED,
        "if state.pipe.retire(owner) == Retirement::ClosePipe",
        "if state.pipe.retire(owner) != Retirement::NotInFlight",
        &[
            LATE_ANSWER,
            "a_call_that_is_dropped_is_given_up_like_a_late_one",
        ],
    ),
    mutant(
        "pipe-writes-what-nobody-waits-for",
        Suite::TargetStdio,
        KEEPER,
        "        if !shared.writing(&line) {\n            continue;\n        }\n",
        "        shared.writing(&line);\n",
        &["an_expired_command_does_not_run"],
    ),
    mutant(
        "pipe-counts-no-lost-notification",
        Suite::TargetStdio,
        SHARED,
        "                if !state.pass_on(owner, text) {\n                    self.lost();\n                }\n",
        "                state.pass_on(owner, text);\n",
        &["notes_that_nobody_takes_are_lost_and_counted"],
    ),
    mutant(
        "pipe-passes-notifications-on-after-a-lost-one",
        Suite::TargetStdio,
        SHARED,
        "            waiting.lane.lost();\n",
        "",
        &["notes_have_no_gap"],
    ),
    mutant(
        "pipe-lane-is-open-when-there-is-room-again",
        Suite::Model,
        LANE,
        "self.closed |= !has_room;",
        "self.closed = !has_room;",
        &[LOSS],
    ),
    mutant(
        "pipe-holds-any-number-of-notifications",
        Suite::Model,
        LANE,
        "self.waiting.len() < MAX_WAITING_NOTES",
        "self.waiting.len() <= MAX_WAITING_NOTES",
        &[LOSS],
    ),
    mutant(
        "pipe-holds-notifications-of-any-size",
        Suite::Model,
        LANE,
        "(self.waiting.is_empty() || with_it <= MAX_WAITING_NOTE_BYTES)",
        "(self.waiting.is_empty() || with_it > 0)",
        &[BYTES, "note_lane::tests::a_large_message_passes_alone"],
    ),
    mutant(
        "pipe-gives-no-room-back",
        Suite::Model,
        LANE,
        "self.bytes = self.bytes.saturating_sub(taken);",
        "self.bytes = self.bytes.max(taken);",
        &[BYTES],
    ),
    mutant(
        "pipe-leaves-a-request-of-the-server-unanswered",
        Suite::Model,
        PIPE,
        "Routed::Reply(reply(&id, &method, -32601, why))",
        "Routed::Invalid(MessageFault::NotJson)",
        &["pipe::tests::requests_of_the_target_go_to_the_oldest_request_or_are_answered_here"],
    ),
    mutant(
        "pipe-leaves-a-request-of-the-server-unanswered-that-is-lost",
        Suite::TargetStdio,
        SHARED,
        "                    state.reply(otherwise);\n",
        "                    let _ = otherwise;\n",
        &["a_request_of_the_server_that_nobody_takes_is_answered"],
    ),
    // Calls that are cancelled, and answers that are none.
    mutant(
        "pipe-waits-for-the-answer-to-a-cancelled-call",
        Suite::Model,
        PIPE,
        "cancels: self.end_cancelled(&id),",
        "cancels: None,",
        &["pipe::tests::a_cancelled_request_is_retired_and_its_id_can_be_cancelled_anew"],
    ),
    mutant(
        "pipe-cancels-initialize",
        Suite::Model,
        PIPE,
        "request.id.given == *given && !request.is_initialize;",
        "request.id.given == *given;",
        &["pipe::tests::initialize_is_not_cancelled"],
    ),
    mutant(
        "pipe-takes-a-cancelled-call-for-a-broken-one",
        Suite::TargetStdio,
        SHARED,
        "state.end(cancelled, Err(Unanswered::Failed(CANCELLED)));",
        "state.end(cancelled, Err(Unanswered::Failed(Ending::ByItself.failure())));",
        &["a_cancelled_call_ends_without_an_answer"],
    ),
    mutant(
        "pipe-ignores-an-invalid-answer",
        Suite::Model,
        PIPE,
        "Some(owner) => self.failed(owner, \"invalid_answer\"),",
        "Some(_) => Routed::Invalid(fault),",
        &["pipe::tests::an_invalid_answer_fails_its_request"],
    ),
    mutant(
        "pipe-ignores-an-error-without-an-id",
        Suite::Model,
        PIPE,
        "[owner] => self.failed(owner, \"error_without_id\"),",
        "[_] => Routed::Unknown,",
        &[WITHOUT_ID],
    ),
    mutant(
        "pipe-gives-an-error-without-an-id-to-anyone",
        Suite::Model,
        PIPE,
        "[owner] => self.failed(owner, \"error_without_id\"),",
        "[owner, ..] => self.failed(owner, \"error_without_id\"),",
        &[WITHOUT_ID],
    ),
    // What was not written.
    mutant(
        "pipe-forgets-what-was-never-written",
        Suite::TargetStdio,
        STDIO,
        "if awaited.may_go_to_the_next_child() => failure,",
        "if awaited.may_go_to_the_next_child() && false => failure,",
        &[UNWRITTEN],
    ),
    mutant(
        "pipe-runs-twice-what-may-have-run",
        Suite::Model,
        PIPE,
        "            if request.begun {\n",
        "            if request.begun && request.cancelled {\n",
        &[NEVER_WRITTEN],
    ),
    mutant(
        "pipe-writes-twice-what-was-written-in-part",
        Suite::Model,
        PIPE,
        "Some(request) if partly => {",
        "Some(request) if partly && request.cancelled => {",
        &[NEVER_WRITTEN],
    ),
    mutant(
        "pipe-sends-the-next-child-what-asks-for-no-answer",
        Suite::Model,
        "model/src/awaited.rs",
        "    pub fn may_go_to_the_next_child(&self) -> bool {\n        self.request.is_some()\n",
        "    pub fn may_go_to_the_next_child(&self) -> bool {\n        self.request.is_some() || true\n",
        &["awaited::tests::each_command_waits_for_its_own_kind_of_answer"],
    ),
    // The child.
    mutant(
        "child-that-reads-no-more-is-killed-with-calls-in-flight",
        Suite::TargetStdio,
        KEEPER,
        "() = async { writing.ended().await; shared.calls_ended().await } => {",
        "() = writing.ended() => {",
        &["a_child_that_only_reads_no_more_costs_no_call_in_flight"],
    ),
    mutant(
        "child-is-whatever-stands-before-the-program",
        Suite::Unit,
        "client/src/target/stdio/command.rs",
        "Some(program) if is_assignment(&program) => Err(CommandFault::Assignment),",
        "Some(program) if is_assignment(&program) && false => Err(CommandFault::Assignment),",
        &["target::stdio::command::tests::what_is_no_command_is_refused"],
    ),
    mutant(
        "child-is-started-for-each-call",
        Suite::TargetStdio,
        SHARED,
        "        if let Some(running) = &state.running {\n            return Ok(running.clone());\n        }\n",
        "",
        &["calls_share_the_pipe_and_even_their_ids", LATE_ANSWER],
    ),
    mutant(
        "child-is-started-in-a-loop",
        Suite::TargetStdio,
        SHARED,
        "if state.not_before.is_some_and(|not_before| now < not_before) {",
        "if state.not_before.is_some_and(|not_before| now > not_before) && false {",
        &["starts_are_spaced"],
    ),
    mutant(
        "child-restart-is-not-counted",
        Suite::TargetStdio,
        SHARED,
        "if std::mem::replace(&mut state.started, true) {",
        "if std::mem::replace(&mut state.started, false) {",
        &["a_killed_child_fails_its_calls_at_once_and_the_next_call_starts_another"],
    ),
    mutant(
        "child-gets-our-secrets",
        Suite::TargetStdio,
        CHILD,
        "if is_withheld(&name, &settings.withheld_variables) {",
        "if is_withheld(&name, &[]) {",
        &["the_child_gets_our_environment_without_our_secrets"],
    ),
    mutant(
        "child-has-no-group-of-its-own",
        Suite::TargetStdio,
        CHILD,
        "        #[cfg(unix)]\n        command.process_group(0);\n",
        "",
        &[GROUP],
    ),
    mutant(
        "child-dies-without-its-group",
        Suite::TargetStdio,
        CHILD,
        "            self.signal(rustix::process::Signal::KILL);\n",
        "",
        &[GROUP],
    ),
    mutant(
        "child-is-killed-without-being-asked",
        Suite::TargetStdio,
        KEEPER,
        "() = group.stop(grace) => {}",
        "() = group.kill() => {}",
        &[STOP],
    ),
    mutant(
        "child-is-not-told-to-terminate",
        Suite::TargetStdio,
        CHILD,
        "            self.terminate();\n",
        "",
        &[STOP],
    ),
    mutant(
        "child-may-write-lines-of-any-length",
        Suite::TargetStdio,
        "client/src/target/stdio/lines.rs",
        "if self.line.len().saturating_add(part.len()) > self.limit {",
        "if self.line.len().saturating_add(part.len()) > usize::MAX - self.limit {",
        &["a_line_over_the_limit_ends_the_child"],
    ),
    mutant(
        "child-fills-memory-with-stderr",
        Suite::TargetStdio,
        "client/src/target/stdio/stderr.rs",
        "        self.last.drain(..surplus);\n",
        "        let _ = surplus;\n",
        &["a_flood_of_stderr_holds_up_nothing_and_its_end_is_kept"],
    ),
];
