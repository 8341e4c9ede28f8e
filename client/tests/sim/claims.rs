//! What must hold of every run once it has ended.

use moorline::dispatch::Drained;
use moorline::telemetry::Facts;

use super::world::{Order, Plan, World};

pub fn check(world: &World, plan: Plan, facts: &Facts, drained: Drained) {
    let mut state = world.lock();
    assert_eq!(state.overdue, 0, "calls that nobody waited for ran on");
    for running in [state.requests, state.others] {
        assert_eq!(running.now, 0, "a call still runs");
        assert!(
            running.most <= plan.concurrency,
            "{} calls at once, {} allowed",
            running.most,
            plan.concurrency
        );
    }
    let handed: Vec<&Order> = state
        .orders
        .iter()
        .filter(|order| order.handed.is_some())
        .collect();
    let mut expired = 0;
    for order in &handed {
        check_order(order);
        let undisturbed = plan.faults == 0 && drained.cut_short == 0 && order.timeout.is_none();
        if undisturbed {
            assert_eq!(
                order.notes_had, order.notes_sent,
                "order {}: notes",
                order.id
            );
        }
        expired += u64::from(is_expired(order));
    }
    let skipped = handed.iter().filter(|order| is_unknown(order)).count();
    let count = |number: usize| u64::try_from(number).unwrap();
    let (commands, deliveries) = (facts.commands, facts.deliveries);
    assert_eq!(commands.repeated, state.report.repeats);
    assert_eq!(commands.received, count(handed.len()) + commands.repeated);
    assert_eq!(commands.skipped, count(skipped));
    // Nothing that was polled is lost: each is skipped, expired, delivered or given up.
    let ended = deliveries.accepted + deliveries.already_fulfilled + deliveries.given_up;
    assert_eq!(
        commands.received,
        commands.skipped + commands.repeated + commands.expired + ended,
        "{commands:?} {deliveries:?}"
    );
    let told = handed.iter().filter(|order| order.told).count();
    assert_eq!(
        deliveries.accepted + deliveries.already_fulfilled,
        count(told)
    );
    let answered = count(
        handed
            .iter()
            .filter(|order| order.answered.is_some())
            .count(),
    );
    state.report.answered += answered;
    state.report.expired += expired;
    state.report.given_up += deliveries.given_up;
    state.report.cut_short += count(drained.cut_short);
}

fn check_order(order: &Order) {
    let id = order.id;
    assert!(order.calls <= 1, "order {id}: run {} times", order.calls);
    assert!(order.notes_had <= order.notes_sent, "order {id}");
    if order.channel == "nowhere" || order.kind != "jsonrpc" {
        assert_eq!(order.calls, 0, "order {id}: nobody to run it");
    }
    if is_unknown(order) {
        assert_eq!(order.finals, 0, "order {id}: skipped, and answered");
    } else if order.answered.is_none() && order.timeout.is_none() {
        // Only the service's own refusals keep an answer from it.
        assert!(
            order.refused || order.finals == 3,
            "order {id}: neither answered nor refused: {order:?}"
        );
    }
}

fn is_unknown(order: &Order) -> bool {
    order.kind == "of_a_later_version"
}

fn is_expired(order: &Order) -> bool {
    order.answered.is_none() && order.timeout.is_some() && !order.refused && order.finals < 3
}
