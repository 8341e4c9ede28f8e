//! One client with several requests in flight, and a service that may answer anything.
//!
//! A [`State`] is the placement, the requests in flight, and (unless left out) an [`Observer`] that
//! sees requests and answers alone. The generation itself is not part of a state: a request in
//! flight is *current* or *late*, which is all that a commit asks about it. That makes the states
//! finite in number for runs of any length. The quotient loses nothing as long as a generation is
//! only ever compared for equality and rises by one or stays; both are properties that are checked
//! too (`generation-rises-by-one-on-commit` and `generation-fences-by-equality`).

mod action;
mod observer;
mod packed;
mod state;
mod token;

pub use action::{Action, Bounds, BoundsFault, System};
pub use observer::Observer;
pub use packed::{pack, unpack};
pub use state::{Ended, Flight, IN_FLIGHT_MAX, Shape, State, begin, end, next_token};
pub use token::Token;
