//! The poll loop: when it polls, for how much, and when it ends.

use super::SourceMutant;
use crate::mutants::source::Suite;

const ROOM: &str = "asks_for_what_there_is_room_for_and_waits_when_there_is_none";
const SELF_STOP: &str = "stops_by_itself_after_the_greatest_number_of_polls_in_all";
const MORE_THAN_ASKED: &str = "takes_more_commands_than_it_asked_for";

const fn poller(
    name: &'static str,
    from: &'static str,
    to: &'static str,
    killers: &'static [&'static str],
) -> SourceMutant {
    SourceMutant {
        name,
        file: "client/src/control_plane/poller.rs",
        from,
        to,
        suite: Suite::Poller,
        killers,
    }
}

/// Wrong loops.
pub(super) const MUTANTS: [SourceMutant; 10] = [
    poller(
        "poller-does-not-wait-between-polls",
        "Next::After(delay) => !self.room.exhausted() && self.sleep(delay).await,",
        "Next::After(_) => !self.room.exhausted(),",
        &[
            "backoff_keeps_growing_through_evictions_and_exhausted_rounds",
            "the_hint_is_capped_and_then_the_poll_goes_on",
        ],
    ),
    poller(
        "poller-waits-after-a-success",
        "Next::AtOnce => true,",
        "Next::AtOnce => self.sleep(Duration::from_millis(1)).await,",
        &["the_hint_is_capped_and_then_the_poll_goes_on"],
    ),
    poller(
        "poller-stops-when-its-sleep-is-over",
        "            () = self.stop.cancelled() => false,\n",
        "",
        &["stopping_interrupts_a_60_second_hint_at_once"],
    ),
    poller(
        "poller-does-not-hear-a-stop-while-it-polls",
        "self.client.poll(permit.limit, &self.stop).await;",
        "self.client.poll(permit.limit, &CancellationToken::new()).await;",
        &["stopping_interrupts_a_held_poll_at_once"],
    ),
    poller(
        "poller-gives-back-no-room-of-taken-commands",
        "counts.queued = counts.queued.saturating_sub(1);",
        "counts.queued = counts.queued.saturating_sub(0);",
        &[ROOM],
    ),
    poller(
        "poller-gives-back-no-room-of-ended-polls",
        ".saturating_sub(usize::from(permit.limit.get()));",
        ".saturating_sub(0);",
        &[ROOM],
    ),
    poller(
        "poller-does-not-count-what-waits-to-be-taken",
        "counts.queued = counts.queued.saturating_add(1);",
        "counts.queued = counts.queued.saturating_add(0);",
        &[ROOM, MORE_THAN_ASKED],
    ),
    poller(
        "poller-takes-25-commands-of-a-poll-at-most",
        "for command in envelope.commands {",
        "for command in envelope.commands.into_iter().take(25) {",
        &[MORE_THAN_ASKED],
    ),
    poller(
        "poller-polls-once-too-often",
        ".is_some_and(|most| counts.polls >= most)",
        ".is_some_and(|most| counts.polls > most)",
        &[SELF_STOP, "the_greatest_number_of_polls_is_never_exceeded"],
    ),
    poller(
        "poller-starves-the-runtime",
        "tokio::task::yield_now().await;",
        "",
        &["a_service_that_answers_at_once_starves_nobody"],
    ),
];
