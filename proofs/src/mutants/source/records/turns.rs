//! Which received commands run, and when: places, turns of channels, and what comes twice.

use super::{SourceMutant, mutant};
use crate::mutants::source::Suite;

const DISPATCH: &str = "model/src/dispatch.rs";
const FAIR: &str = "model/src/fair.rs";
const AWAITED: &str = "model/src/awaited.rs";

const FINDS_A_PLACE: &str = "dispatch::tests::what_running_calls_may_wait_for_finds_a_place";
const LEAVE_ROOM: &str =
    "dispatch::tests::calls_that_hang_on_one_channel_leave_room_for_the_others";
const TWICE: &str = "dispatch::tests::a_command_that_comes_twice_runs_once";
const CANCELLED: &str = "dispatch::tests::a_request_that_is_cancelled_while_it_waits_is_never_run";
const IN_TURN: &str = "fair::tests::serves_lanes_in_turn_and_each_in_order";
const TAKEN_OUT: &str = "fair::tests::what_is_taken_out_leaves_order_and_turns_as_they_were";

/// Wrong ways to choose what runs.
pub(super) const MUTANTS: [SourceMutant; 27] = [
    // Places.
    mutant(
        "dispatch-runs-one-more-at-once",
        Suite::Model,
        DISPATCH,
        "self.running.saturating_add(kept) < self.limit",
        "self.running.saturating_add(kept) <= self.limit",
        &[FINDS_A_PLACE, LEAVE_ROOM],
    ),
    mutant(
        "dispatch-runs-one-more-of-an-idle-channel",
        Suite::Model,
        DISPATCH,
        "return self.running < self.limit;",
        "return self.running <= self.limit;",
        &[LEAVE_ROOM],
    ),
    mutant(
        "dispatch-lets-one-channel-take-every-place",
        Suite::Model,
        DISPATCH,
        "let kept = idle.min(self.limit / 2);",
        "let kept = idle.min(0);",
        &[LEAVE_ROOM],
    ),
    mutant(
        "dispatch-keeps-more-places-than-half",
        Suite::Model,
        DISPATCH,
        "let kept = idle.min(self.limit / 2);",
        "let kept = idle;",
        &[LEAVE_ROOM],
    ),
    mutant(
        "dispatch-keeps-no-place-for-what-calls-may-wait-for",
        Suite::Model,
        DISPATCH,
        "let is_request = order.is_request && self.served.contains(&order.channel);",
        "let is_request = self.served.contains(&order.channel);",
        &[FINDS_A_PLACE],
    ),
    mutant(
        "dispatch-keeps-places-for-channels-that-nobody-serves",
        Suite::Model,
        DISPATCH,
        "let is_request = order.is_request && self.served.contains(&order.channel);",
        "let is_request = order.is_request;",
        &[FINDS_A_PLACE],
    ),
    mutant(
        "dispatch-holds-replies-up-until-a-call-ends",
        Suite::Places,
        DISPATCH,
        "is_request: request.is_some(),",
        "is_request: message.is_some(),",
        &["a_reply_reaches_tools_that_wait_for_it_however_many"],
    ),
    mutant(
        "dispatch-gives-no-place-back",
        Suite::Model,
        DISPATCH,
        "        self.lane(place.is_request).places.give_back(&place.channel);\n",
        "",
        &[FINDS_A_PLACE],
    ),
    mutant(
        "dispatch-takes-a-channel-for-busy-that-was",
        Suite::Model,
        DISPATCH,
        "                self.of_each.remove(channel);\n",
        "",
        &[LEAVE_ROOM],
    ),
    mutant(
        "notification-is-answered-like-a-request",
        Suite::Model,
        AWAITED,
        "                (None, ResponseType::NotifyAck)\n",
        "                (None, ResponseType::JsonRpcResponse)\n",
        &["awaited::tests::each_command_waits_for_its_own_kind_of_answer"],
    ),
    // Turns.
    mutant(
        "dispatch-keeps-one-queue-for-all-channels",
        Suite::Model,
        DISPATCH,
        "self.lane(is_request).waiting.push(channel, waiting);",
        "self.lane(is_request).waiting.push(Channel::main(), waiting);",
        &[LEAVE_ROOM],
    ),
    mutant(
        "dispatch-serves-a-channel-to-its-end",
        Suite::Model,
        FAIR,
        "        } else {\n            self.turns.push_back(lane);\n",
        "        } else {\n            self.turns.push_front(lane);\n",
        &[
            IN_TURN,
            "fair::tests::a_busy_lane_delays_another_by_one_item_at_most",
        ],
    ),
    mutant(
        "dispatch-serves-a-channel-that-comes-back-at-once",
        Suite::Model,
        FAIR,
        "        if items.is_empty() {\n            self.turns.push_back(lane);\n",
        "        if items.is_empty() {\n            self.turns.push_front(lane);\n",
        &[
            IN_TURN,
            "fair::tests::a_lane_that_comes_back_waits_for_the_others",
        ],
    ),
    mutant(
        "dispatch-waits-behind-a-channel-that-may-not-run",
        Suite::Model,
        FAIR,
        "let turn = self.turns.iter().position(may)?;",
        "let turn = self.turns.iter().take(1).position(may)?;",
        &["fair::tests::a_lane_that_may_not_have_its_turn_keeps_it"],
    ),
    mutant(
        "dispatch-waits-behind-a-channel-that-has-expired",
        Suite::Model,
        FAIR,
        "        self.turns.retain(|lane| self.lanes.contains_key(lane));\n",
        "",
        &[TAKEN_OUT],
    ),
    mutant(
        "dispatch-counts-expired-commands-among-those-that-wait",
        Suite::Model,
        FAIR,
        "        self.len = self.len.saturating_sub(removed.len());\n",
        "",
        &[TAKEN_OUT],
    ),
    // What is not run.
    mutant(
        "dispatch-runs-commands-of-an-unknown-type",
        Suite::Model,
        DISPATCH,
        "if order.kind == CommandKind::Unknown {",
        "if order.kind == CommandKind::Unknown && false {",
        &[TWICE],
    ),
    mutant(
        "dispatch-runs-a-command-twice-that-waits-or-runs",
        Suite::Model,
        DISPATCH,
        "if !self.ids.insert(order.id.clone()) {",
        "if !self.ids.insert(order.id.clone()) && false {",
        &[TWICE],
    ),
    mutant(
        "dispatch-runs-a-command-twice-that-runs",
        Suite::Model,
        DISPATCH,
        "        Some((started.place, started.item))\n",
        "        self.ids.remove(&started.place.id);\n        Some((started.place, started.item))\n",
        &[TWICE],
    ),
    mutant(
        "dispatch-takes-an-id-for-good",
        Suite::Model,
        DISPATCH,
        "        self.ids.remove(&place.id);\n",
        "",
        &[TWICE],
    ),
    mutant(
        "dispatch-takes-the-id-of-an-expired-command-for-good",
        Suite::Model,
        DISPATCH,
        "            self.forget(&waiting.place);\n",
        "            let _ = waiting;\n",
        &[TWICE],
    ),
    mutant(
        "dispatch-runs-what-was-cancelled-while-it-waited",
        Suite::Model,
        DISPATCH,
        "order.cancels.and_then(|call| self.cancel(&channel, &call));",
        "order.cancels.and_then(|_| None);",
        &[CANCELLED],
    ),
    mutant(
        "dispatch-cancels-one-of-several-with-the-same-id",
        Suite::Model,
        DISPATCH,
        "if self.calls.get(&(channel.clone(), call.clone())) != Some(&1) {",
        "if !self.calls.contains_key(&(channel.clone(), call.clone())) {",
        &[CANCELLED],
    ),
    mutant(
        "dispatch-takes-calls-of-another-session-for-the-one-that-is-cancelled",
        Suite::Model,
        DISPATCH,
        "        let session = session(command);\n",
        "        let session: Option<String> = None;\n",
        &[CANCELLED],
    ),
    mutant(
        "dispatch-cancels-initialize",
        Suite::Model,
        DISPATCH,
        ".filter(|(_, method)| method != INITIALIZE_METHOD)",
        ".filter(|(_, method)| !method.is_empty())",
        &[CANCELLED],
    ),
    mutant(
        "dispatch-takes-the-name-of-a-cancelled-call-for-good",
        Suite::Model,
        DISPATCH,
        "        self.forget(&removed.place);\n",
        "",
        &[CANCELLED],
    ),
    mutant(
        "dispatch-does-not-count-what-was-cancelled-while-it-waited",
        Suite::Places,
        "client/src/dispatch/mod.rs",
        "                    self.dispatcher.count(Worked::Cancelled, None);\n",
        "",
        &["what_is_cancelled_while_it_waits_is_neither_run_nor_answered"],
    ),
];
