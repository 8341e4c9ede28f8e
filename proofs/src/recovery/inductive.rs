//! The same two claims for all data and from every state that satisfies the invariants, reachable
//! or not.
//!
//! The number of other requests in flight is a pair of counts, of current and of late ones: the
//! rank asks no more of them. A late request other than the one that ends is looked at only for its
//! token.

use moorline_model::placement::{AcceptedParts, Outcome};

use super::{Found, Service, blocked, bound, rank};
use crate::induction::oracle::{OpaqueToken, OracleFault, Revision, each_path, facts};
use crate::step::Step;
use crate::system::{Flight, IN_FLIGHT_MAX, Shape, State, begin, end};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InductiveRecovery {
    /// Of the rank.
    pub rank: Found,
    /// Of blocked clients.
    pub blocked: Found,
}

/// The most requests in flight for which the rank is checked here.
const COUNTED_MAX: usize = 8;

const WATERMARK: Revision = Revision(0);
const MEANT: Revision = Revision(1);
const ACCEPTED: OpaqueToken = OpaqueToken(0);
const OF_SERVICE: OpaqueToken = OpaqueToken(1);
const OF_REQUEST: OpaqueToken = OpaqueToken(2);
const OF_OTHER: OpaqueToken = OpaqueToken(3);

/// Checks rank and blocking on data without values.
///
/// # Errors
///
/// The step under proof has too many paths, or does not repeat itself.
pub fn inductive<S: Step>(step: &S) -> Result<InductiveRecovery, OracleFault> {
    let mut found = InductiveRecovery::default();
    for shape in shapes() {
        for attempt in attempts() {
            each_path(|| {
                if fits(&attempt, &shape) {
                    check_rank(step, &shape, &attempt, &mut found.rank);
                }
            })?;
            for other in others() {
                for event in 0..=EVENTS {
                    each_path(|| {
                        let state = state(&shape, &attempt, other.clone());
                        if fits(&attempt, &shape) && other.iter().all(|other| fits(other, &shape)) {
                            check_blocked(step, &state, event, &mut found.blocked);
                        }
                    })?;
                }
            }
        }
    }
    Ok(found)
}

fn told() -> String {
    facts(
        &["watermark's", "service's"],
        &["accepted", "service's", "request's", "other request's"],
    )
}

fn service() -> Service<Revision, OpaqueToken> {
    Service {
        revision: MEANT,
        token: OF_SERVICE,
    }
}

fn check_rank<S: Step>(
    step: &S,
    shape: &Shape<Revision, OpaqueToken>,
    attempt: &Flight<OpaqueToken>,
    found: &mut Found,
) {
    let service = service();
    let answer = service.answer(attempt.token.as_ref());
    if !service.is_cooperative(shape) || matches!(answer, Outcome::Success) {
        return;
    }
    let state = state(shape, attempt, None);
    let Some(ended) = end(step, &state, 0, &answer) else {
        return;
    };
    let after = &ended.after.shape;
    for (in_flight, current, late) in other_counts(attempt) {
        let late_before = if attempt.current { late } else { late + 1 };
        let late_after = if ended.rise == 0 {
            late
        } else {
            late + current
        };
        let before = rank(shape, late_before, &service, in_flight);
        let now = rank(after, late_after, &service, in_flight);
        let holds = now < before
            && before <= bound(in_flight)
            && late_after < in_flight
            && service.is_cooperative(after);
        found.note(holds, || {
            format!(
                "K={in_flight}, {current} others current and {late} late: rank {before} becomes \
                 {now}\n{shape:?}\n{attempt:?}\n{}",
                told()
            )
        });
    }
}

/// How many others may be in flight, for each K: not all K requests are late, since the commit that
/// made them so freed a slot.
fn other_counts(attempt: &Flight<OpaqueToken>) -> impl Iterator<Item = (usize, usize, usize)> {
    let itself_late = if attempt.current { 0 } else { 1 };
    (1..=COUNTED_MAX).flat_map(move |in_flight| {
        (0..in_flight).flat_map(move |late| {
            (0..in_flight - late)
                .filter(move |_| late + itself_late < in_flight)
                .map(move |current| (in_flight, current, late))
        })
    })
}

const EVENTS: usize = 4;

/// What may happen to a blocked client: that service's answer, a failure, a neutral result, a
/// cancellation, or the beginning of another request.
fn check_blocked<S: Step>(
    step: &S,
    state: &State<Revision, OpaqueToken>,
    event: usize,
    found: &mut Found,
) {
    let service = service();
    if !blocked(state, &service) {
        return;
    }
    let attempt = state.flights.first().and_then(Option::as_ref);
    let carried = attempt.and_then(|attempt| attempt.token.as_ref());
    let outcomes = [
        service.answer(carried),
        Outcome::DestinationFailure,
        Outcome::Neutral,
        Outcome::Cancelled,
    ];
    let after = match outcomes.get(event) {
        Some(outcome) => end(step, state, 0, outcome).map(|ended| ended.after),
        None => begin(step, state, 2),
    };
    let Some(after) = after else {
        return;
    };
    found.note(blocked(&after, &service), || {
        format!(
            "{state:?}\nevent {event} of {EVENTS}: no longer blocked\n{}",
            told()
        )
    });
}

/// A current request carries the active token.
fn fits(flight: &Flight<OpaqueToken>, shape: &Shape<Revision, OpaqueToken>) -> bool {
    !flight.current || flight.token.as_ref() == shape.active()
}

fn state(
    shape: &Shape<Revision, OpaqueToken>,
    attempt: &Flight<OpaqueToken>,
    other: Option<Flight<OpaqueToken>>,
) -> State<Revision, OpaqueToken> {
    let mut flights = [const { None }; IN_FLIGHT_MAX];
    for (place, flight) in flights.iter_mut().zip([Some(attempt.clone()), other]) {
        *place = flight;
    }
    State {
        shape: shape.clone(),
        flights,
        observer: None,
    }
}

/// Every placement that satisfies the invariants, up to data: 1 fresh, 9 active, 3 cleared.
fn shapes() -> Vec<Shape<Revision, OpaqueToken>> {
    let with = |active, corrections, failures| Shape {
        accepted: Some(AcceptedParts {
            revision: WATERMARK,
            token: ACCEPTED,
            active,
        }),
        corrections,
        failures,
    };
    let mut shapes = vec![Shape::new()];
    for corrections in 0..3 {
        shapes.push(with(false, corrections, 0));
        shapes.extend((0..3).map(|failures| with(true, corrections, failures)));
    }
    shapes
}

fn attempts() -> Vec<Flight<OpaqueToken>> {
    requests(&OF_REQUEST)
}

fn others() -> Vec<Option<Flight<OpaqueToken>>> {
    let others = requests(&OF_OTHER).into_iter().map(Some);
    std::iter::once(None).chain(others).collect()
}

fn requests(token: &OpaqueToken) -> Vec<Flight<OpaqueToken>> {
    let with = |current| [None, Some(token.clone())].map(|token| Flight { current, token });
    [true, false].into_iter().flat_map(with).collect()
}
