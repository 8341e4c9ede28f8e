//! A target that is a child process: ids on its pipe, calls that are given up, and the process itself.

use super::{SourceMutant, mutant};
use crate::mutants::source::Suite;

const PIPE: &str = "model/src/pipe.rs";
const SHARED: &str = "client/src/target/stdio/shared.rs";
const KEEPER: &str = "client/src/target/stdio/keeper.rs";
const CHILD: &str = "client/src/target/stdio/child.rs";

const EXCHANGED: &str = "pipe::tests::exchanges_an_id_in_flight_and_restores_it_byte_for_byte";
const RESTARTED: &str = "pipe::tests::a_restarted_child_is_asked_nothing_until_it_is_initialized";
const LATE_ANSWER: &str = "a_late_answer_is_discarded_and_the_pipe_stays";
const GROUP: &str = "nothing_of_the_group_is_left";
const STOP: &str = "a_stop_asks_before_it_kills";

/// Wrong ways to keep a child process.
pub(super) const MUTANTS: [SourceMutant; 19] = [
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
        "        if !shared.is_wanted(&line) {\n            continue;\n        }\n",
        "",
        &["an_expired_command_does_not_run"],
    ),
    mutant(
        "pipe-counts-no-lost-notification",
        Suite::TargetStdio,
        SHARED,
        "                if !taken {\n                    self.lost();\n                }\n",
        "                let _ = taken;\n",
        &["notes_that_nobody_takes_are_lost_and_counted"],
    ),
    // The child.
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
