use super::{Found, Service, bound, rank, services, tell};
use crate::explorer::Exploration;
use crate::step::Step;
use crate::system::{Action, State, System, unpack};
use moorline_model::placement::Outcome;

/// The name of what is checked here.
pub const RANK_PROPERTY: &str = "recovery-rank-falls";

/// The statement of what is checked here.
pub const RANK_STATEMENT: &str = "\
    With each poll that a cooperative service completes without a success the rank falls, and it \
    never is above 3 K; the service stays cooperative.";

/// Checks the rank on every step of every cooperative service from every reachable state.
pub fn rank_falls<S: Step>(system: &System<S>, reachable: &Exploration) -> Found {
    let mut found = Found::default();
    let bounds = system.bounds();
    for word in &reachable.states {
        let state = unpack(*word);
        // One revision and one token more than the client has seen.
        for service in services(bounds.revisions + 1, bounds.tokens + 1) {
            if service.is_cooperative(&state.shape) {
                check_steps(system, &state, &service, &mut found);
            }
        }
    }
    found
}

fn check_steps<S: Step>(
    system: &System<S>,
    state: &State<u8, u8>,
    service: &Service<u8, u8>,
    found: &mut Found,
) {
    let in_flight = system.bounds().in_flight;
    let rank_of = |state: &State<u8, u8>| rank(&state.shape, state.late(), service, in_flight);
    let before = rank_of(state);
    for (slot, flight) in state.flights.iter().enumerate().take(in_flight) {
        let (action, may_stay) = match flight {
            None => (Action::Begin(slot), true),
            Some(flight) => {
                let answer = service.answer(flight.token.as_ref());
                if answer == Outcome::Success {
                    found.note(before <= bound(in_flight), || {
                        tell(state, service, "has a rank above the bound")
                    });
                    continue;
                }
                (Action::End(slot, answer), false)
            }
        };
        let Some(after) = system.after(state, action) else {
            continue;
        };
        let now = rank_of(&after);
        let falls = now < before || (may_stay && now == before);
        let holds = falls && before <= bound(in_flight) && service.is_cooperative(&after.shape);
        found.note(holds, || {
            let action = crate::trace::action_text(&action);
            tell(
                state,
                service,
                &format!("{action}: rank {before} becomes {now}"),
            )
        });
    }
}
