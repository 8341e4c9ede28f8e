//! A state in one word. Two states share a word only if they are equal, so a set of words is an
//! exact set of states.

use moorline_model::placement::AcceptedParts;

use super::{Flight, IN_FLIGHT_MAX, Observer, Shape, State};

const REVISION_BITS: u32 = 3;
const TOKEN_BITS: u32 = 3;
const COUNTER_BITS: u32 = 4;
const SLOT_BITS: u32 = 4;
const SET_BITS: u32 = 6;

/// A busy slot is coded as 1 for late or 8 for current, plus 0 for tokenless or 1 more than its
/// token.
const CURRENT: u64 = 8;

/// Packs a state of a system within its bounds.
///
/// A counter above 15 is packed as 15. No counter of the shipped step passes 2, which is a property
/// of its own; a wrong step cannot make the states infinite in number.
#[must_use]
pub fn pack(state: &State<u8, u8>) -> u64 {
    let mut word = Writer::default();
    match &state.shape.accepted {
        None => word.put(1 + REVISION_BITS + TOKEN_BITS + 1, 0),
        Some(accepted) => {
            word.flag(true);
            word.put(REVISION_BITS, accepted.revision.into());
            word.put(TOKEN_BITS, accepted.token.into());
            word.flag(accepted.active);
        }
    }
    word.counter(state.shape.corrections);
    word.counter(state.shape.failures);
    for flight in &state.flights {
        word.put(SLOT_BITS, flight.as_ref().map_or(0, slot_code));
    }
    if let Some(observer) = &state.observer {
        word.flag(true);
        word.put(REVISION_BITS + 1, option_code(observer.greatest));
        word.put(TOKEN_BITS, option_code(observer.first));
        word.flag(observer.sending);
        word.counter(observer.round);
        word.counter(observer.counted);
        word.put(SET_BITS, observer.given.into());
        word.put(4, observer.fresh.into());
    }
    word.bits
}

/// The state of a packed word.
#[must_use]
pub fn unpack(word: u64) -> State<u8, u8> {
    let mut word = Reader { bits: word };
    let present = word.flag();
    let (revision, token) = (word.take(REVISION_BITS), word.take(TOKEN_BITS));
    let active = word.flag();
    let accepted = present.then_some(AcceptedParts {
        revision,
        token,
        active,
    });
    let (corrections, failures) = (word.take(COUNTER_BITS), word.take(COUNTER_BITS));
    let mut flights = [None; IN_FLIGHT_MAX];
    for flight in &mut flights {
        *flight = slot_of(word.take(SLOT_BITS));
    }
    let observer = word.flag().then(|| Observer {
        greatest: word.take(REVISION_BITS + 1).checked_sub(1),
        first: word.take(TOKEN_BITS).checked_sub(1),
        sending: word.flag(),
        round: word.take(COUNTER_BITS),
        counted: word.take(COUNTER_BITS),
        given: word.take(SET_BITS),
        fresh: word.take(4),
    });
    State {
        shape: Shape {
            accepted,
            corrections,
            failures,
        },
        flights,
        observer,
    }
}

/// Fills a word from its low end.
#[derive(Default)]
struct Writer {
    bits: u64,
    used: u32,
}

impl Writer {
    fn put(&mut self, width: u32, value: u64) {
        self.bits |= (value & mask(width)) << self.used;
        self.used += width;
    }

    fn flag(&mut self, value: bool) {
        self.put(1, value.into());
    }

    fn counter(&mut self, value: u8) {
        self.put(COUNTER_BITS, u64::from(value).min(mask(COUNTER_BITS)));
    }
}

struct Reader {
    bits: u64,
}

impl Reader {
    fn take(&mut self, width: u32) -> u8 {
        let value = self.bits & mask(width);
        self.bits >>= width;
        // No field is wider than six bits.
        (value & 0xff) as u8
    }

    fn flag(&mut self) -> bool {
        self.take(1) == 1
    }
}

fn mask(width: u32) -> u64 {
    (1 << width) - 1
}

fn option_code(value: Option<u8>) -> u64 {
    value.map_or(0, |value| u64::from(value) + 1)
}

fn slot_code(flight: &Flight<u8>) -> u64 {
    let base = if flight.current { CURRENT } else { 1 };
    base + option_code(flight.token)
}

fn slot_of(code: u8) -> Option<Flight<u8>> {
    let current = u64::from(code) >= CURRENT;
    let base = if current { CURRENT as u8 } else { 1 };
    code.checked_sub(base).map(|token| Flight {
        current,
        token: token.checked_sub(1),
    })
}
