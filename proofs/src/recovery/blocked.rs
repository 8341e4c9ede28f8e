use super::{Found, Service, blocked, services, tell};
use crate::explorer::Exploration;
use crate::step::Step;
use crate::system::{Action, State, System, unpack};
use moorline_model::placement::Outcome;

/// The name of what is checked here.
pub const BLOCKED_PROPERTY: &str = "blocked-stays-blocked";

/// The statement of what is checked here.
pub const BLOCKED_STATEMENT: &str = "\
    A client whose watermark is above a service's revision, or equal with another token, and that \
    sends that service's token on no request, never sends it again, whatever that service answers.";

/// Checks from every reachable state that a blocked client stays blocked.
pub fn blocked_closed<S: Step>(system: &System<S>, reachable: &Exploration) -> Found {
    let mut found = Found::default();
    let bounds = system.bounds();
    for word in &reachable.states {
        let state = unpack(*word);
        for service in services(bounds.revisions, bounds.tokens + 1) {
            if blocked(&state, &service) {
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
    let mut check = |action| {
        if let Some(after) = system.after(state, action) {
            found.note(blocked(&after, service), || {
                let action = crate::trace::action_text(&action);
                tell(state, service, &format!("{action}: no longer blocked"))
            });
        }
    };
    let slots = state
        .flights
        .iter()
        .enumerate()
        .take(system.bounds().in_flight);
    for (slot, flight) in slots {
        match flight {
            None => check(Action::Begin(slot)),
            Some(flight) => {
                for answer in all_answers(service, flight.token.as_ref()) {
                    check(Action::End(slot, answer));
                }
            }
        }
    }
}

/// What that service may answer, its failures and the caller's cancellation among it.
fn all_answers(service: &Service<u8, u8>, carried: Option<&u8>) -> [Outcome<u8, u8>; 4] {
    [
        service.answer(carried),
        Outcome::DestinationFailure,
        Outcome::Neutral,
        Outcome::Cancelled,
    ]
}
