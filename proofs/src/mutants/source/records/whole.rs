//! The whole client: what it says of itself, what dumps show, and what probes follow.

use super::{SourceMutant, mutant};
use crate::mutants::source::Suite;

const CLIENT: &str = "client/src/run.rs";
const DUMP: &str = "client/src/dump.rs";
const VIEW: &str = "client/src/monitor/view.rs";
const MONITOR: &str = "client/src/monitor/mod.rs";
const ROUTES: &str = "client/src/monitor/routes.rs";
const TELEMETRY: &str = "client/src/telemetry.rs";

const STDIO_RUN: &str = "a_tool_of_a_stdio_server_answers_and_a_signal_ends_everything";
const DUMPS: &str = "dumps_show_what_is_said_but_no_poll_and_no_secret";
const READINESS: &str = "readiness_follows_polls_and_target_and_says_why_and_since_when";
const HOST: &str = "a_request_that_names_another_host_is_refused";

/// Wrong things to say and to show.
pub(super) const MUTANTS: [SourceMutant; 17] = [
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
        "shown_value(name.as_str(), value.as_bytes())",
        "shown_value(\"\", value.as_bytes())",
        &[DUMPS],
    ),
    // Probes and the page.
    mutant(
        "monitor-ignores-the-target",
        Suite::Monitor,
        VIEW,
        "        judge(readiness, target, draining)\n",
        "        let _ = target;\n        judge(readiness, Target::Unknown, draining)\n",
        &[READINESS],
    ),
    mutant(
        "monitor-ignores-the-drain",
        Suite::Monitor,
        VIEW,
        "        judge(readiness, target, draining)\n",
        "        let _ = draining;\n        judge(readiness, target, None)\n",
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
        "if target.state != TargetState::Up {",
        "if target.state == TargetState::Unknown {",
        &[READINESS],
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
