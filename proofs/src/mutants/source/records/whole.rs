//! The whole client: what it says of itself, what dumps show, and what probes follow.

use super::{SourceMutant, mutant};
use crate::mutants::source::Suite;

const CLIENT: &str = "client/src/run.rs";
const DUMP: &str = "client/src/dump.rs";
const VIEW: &str = "client/src/monitor/view.rs";
const MONITOR: &str = "client/src/monitor/mod.rs";
const ROUTES: &str = "client/src/monitor/routes.rs";
const READY: &str = "model/src/readiness.rs";
const TELEMETRY: &str = "client/src/telemetry.rs";

const STDIO_RUN: &str = "a_tool_of_a_stdio_server_answers_and_a_signal_ends_everything";
const DUMPS: &str = "dumps_show_what_is_said_but_no_poll_and_no_secret";
const READINESS: &str = "readiness_follows_polls_and_target_and_says_why_and_since_when";
const FULL_QUEUE: &str = "a_full_queue_is_shown_with_its_limits_and_since_when";
const STAYS_FULL: &str =
    "readiness::tests::a_queue_that_stays_full_degrades_and_one_that_is_full_for_a_moment_is_told";
const UNDER_WAY: &str =
    "readiness::tests::a_poll_under_way_is_told_while_polls_do_not_succeed_and_changes_no_level";
const HOST: &str = "a_request_that_names_another_host_is_refused";

/// Wrong things to say and to show.
pub(super) const MUTANTS: [SourceMutant; 30] = [
    // The whole client.
    mutant(
        "client-counts-no-poll",
        Suite::Run,
        CLIENT,
        "            observed.polled(event);\n",
        "            let _ = &observed;\n",
        &["the_monitor_follows_the_client"],
    ),
    mutant(
        "client-does-not-say-that-it-drains",
        Suite::Run,
        CLIENT,
        "    telemetry.draining();\n",
        "    drop(telemetry);\n",
        &["what_runs_when_the_signal_comes_is_finished_and_nothing_more_is_taken"],
    ),
    mutant(
        "client-claims-no-affinity-of-child-processes",
        Suite::Run,
        CLIENT,
        "matches!(self, Self::Stdio(_))",
        "matches!(self, Self::Http(_))",
        &[STDIO_RUN],
    ),
    mutant(
        "client-declares-no-channels",
        Suite::Run,
        CLIENT,
        "control_plane.server_info = Some(info.map_err(StartError::Channels)?);",
        "info.map_err(StartError::Channels)?;",
        &[STDIO_RUN],
    ),
    mutant(
        "client-dumps-without-being-asked",
        Suite::Run,
        CLIENT,
        "self.control_plane.unsafe_http_dumps = self.unsafe_http_dumps;",
        "self.control_plane.unsafe_http_dumps = true;",
        &[STDIO_RUN],
    ),
    // Dumps.
    mutant(
        "dump-is-always-on",
        Suite::Dumps,
        DUMP,
        "        Self { on }\n",
        "        Self { on: on || true }\n",
        &[DUMPS],
    ),
    mutant(
        "dump-shows-polls",
        Suite::Dumps,
        "client/src/control_plane/transport.rs",
        "        read_response(response, deadline, envelope_limit).await\n    }\n",
        "        let received = read_response(response, deadline, envelope_limit).await;\n        self.dump_received(\"poll\", &received);\n        received\n    }\n",
        &[DUMPS],
    ),
    mutant(
        "dump-shows-what-speaks-about-placement",
        Suite::Dumps,
        DUMP,
        "body = shown_body(&Lines(headers), body),",
        "body = &*String::from_utf8_lossy(body),",
        &[DUMPS],
    ),
    mutant(
        "dump-shows-the-values-of-all-headers",
        Suite::Dumps,
        DUMP,
        "shown_value(name.as_str(), value.as_bytes(), value.is_sensitive())",
        "shown_value(\"\", value.as_bytes(), false)",
        &[DUMPS],
    ),
    mutant(
        "dump-shows-what-is-called-sensitive",
        Suite::Dumps,
        DUMP,
        "shown_value(name.as_str(), value.as_bytes(), value.is_sensitive())",
        "shown_value(name.as_str(), value.as_bytes(), false)",
        &[DUMPS],
    ),
    mutant(
        "dump-shows-the-headers-in-the-body-of-a-response",
        Suite::Dumps,
        DUMP,
        "shown_response(body).as_bytes()",
        "body",
        &[DUMPS],
    ),
    mutant(
        "dump-shows-addresses",
        Suite::Model,
        "model/src/dump.rs",
        "        \"location\",\n",
        "        \"localisation\",\n",
        &["dump::tests::masks_whatever_may_be_a_secret"],
    ),
    mutant(
        "dump-shows-a-response-that-it-cannot-read",
        Suite::Model,
        "model/src/dump.rs",
        "        return MASK.to_owned();\n",
        "        return text.to_owned();\n",
        &["dump::tests::masks_the_headers_in_the_body_of_a_response"],
    ),
    // Probes and the page.
    mutant(
        "monitor-ignores-the-target",
        Suite::Monitor,
        VIEW,
        "        judge(&facts, targets)\n",
        "        judge(&facts, targets.take(0))\n",
        &[READINESS],
    ),
    mutant(
        "monitor-ignores-the-drain",
        Suite::Monitor,
        VIEW,
        "draining_since: on_the_clients(facts.draining_since),",
        "draining_since: None,",
        &[READINESS],
    ),
    mutant(
        "monitor-ignores-polls",
        Suite::Monitor,
        MONITOR,
        "    fn readiness(&self) -> Readiness {\n        self.readiness()\n",
        "    fn readiness(&self) -> Readiness {\n        Readiness::Ready { since: Duration::ZERO }\n",
        &[READINESS],
    ),
    mutant(
        "monitor-is-always-ready",
        Suite::Monitor,
        ROUTES,
        "false => StatusCode::SERVICE_UNAVAILABLE,",
        "false => StatusCode::OK,",
        &[READINESS],
    ),
    mutant(
        "monitor-takes-a-dead-target-for-dead-for-ever",
        Suite::Monitor,
        TELEMETRY,
        "target.and_then(|target| target.health.after(now, evidence));",
        "target\n            .filter(|target| target.health.failures() == 0)\n            .and_then(|target| target.health.after(now, evidence));",
        &[READINESS],
    ),
    mutant(
        "monitor-shows-no-full-queue",
        Suite::Monitor,
        VIEW,
        "queue_full_since: on_the_clients(facts.queue_full_since),",
        "queue_full_since: None,",
        &[FULL_QUEUE],
    ),
    mutant(
        "monitor-takes-a-full-queue-for-one-with-room",
        Suite::Monitor,
        TELEMETRY,
        "queued >= limits.queue",
        "queued > limits.queue",
        &[FULL_QUEUE],
    ),
    mutant(
        "monitor-knows-no-full-queue",
        Suite::Model,
        READY,
        "        .chain(about_queue(facts))\n",
        "",
        &[STAYS_FULL],
    ),
    mutant(
        "monitor-never-degrades-for-a-full-queue",
        Suite::Model,
        READY,
        ">= FULL_QUEUE_PATIENCE;",
        ">= Duration::MAX;",
        &[STAYS_FULL],
    ),
    mutant(
        "monitor-tells-of-a-full-queue-that-is-drained",
        Suite::Model,
        READY,
        ".filter(|_| facts.draining_since.is_none())?;",
        ".filter(|_| true)?;",
        &[STAYS_FULL],
    ),
    mutant(
        "monitor-shows-no-poll-under-way",
        Suite::Monitor,
        VIEW,
        "poll_under_way_since: under_way.since,",
        "poll_under_way_since: None,",
        &["a_held_poll_is_told_and_makes_nothing_ready"],
    ),
    mutant(
        "monitor-knows-no-poll-under-way",
        Suite::Model,
        READY,
        "        .chain(about_poll_under_way(facts))\n",
        "",
        &[UNDER_WAY],
    ),
    mutant(
        "monitor-tells-of-a-poll-under-way-though-polls-succeed",
        Suite::Model,
        READY,
        ".filter(|_| !facts.polls.is_ready())?;",
        ".filter(|_| true)?;",
        &[UNDER_WAY],
    ),
    mutant(
        "monitor-shows-no-limits",
        Suite::Monitor,
        CLIENT,
        "        telemetry.limits(Limits {\n",
        "        let _ = (Limits {\n",
        &["a_whole_client_shows_its_own_limits"],
    ),
    mutant(
        "monitor-listens-at-every-address",
        Suite::Monitor,
        MONITOR,
        "TcpListener::bind(address.get()).await?",
        "TcpListener::bind((\"0.0.0.0\", address.get().port())).await?",
        &[HOST],
    ),
    mutant(
        "monitor-answers-in-any-name",
        Suite::Monitor,
        ROUTES,
        "        .layer(from_fn_with_state(policy, host::guard))\n",
        "        .layer(from_fn_with_state(host::Policy::Any, host::guard))\n",
        &[HOST],
    ),
    mutant(
        "monitor-keeps-every-poll",
        Suite::Monitor,
        TELEMETRY,
        "            facts.recent.pop_front();\n",
        "",
        &["the_page_gets_the_last_200_polls_in_order_and_counts_over_time"],
    ),
];
