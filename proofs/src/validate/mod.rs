//! Trace validation: whether the events that a client wrote are a behaviour of the model.
//!
//! A trace holds the JSON lines of `moorline poll --events json`, one for each attempt that ended.
//! [`Trace::read`] takes them in strictly; [`Trace::judge`] replays them through the real
//! [`Placement`](moorline_model::placement::Placement), with real revisions and with numbers in place
//! of tokens, and stops at the first event that the model could not have written.
//!
//! Events say when attempts ended (`sequence`), not when they began. Both happen under one lock, so a
//! run is one order of beginnings and ends, and the question is whether there is an order that fits.
//! No search is needed to answer it.
//!
//! # Why no search is needed
//!
//! A beginning changes nothing, so all that an attempt can see is the generation at which it began
//! (`generation_taken`) and the token active then; the placement is the same as long as the
//! generation is. Attempts are numbered as they begin. So an order exists exactly if each attempt
//! began at a generation that had been reached before the attempt ended, and no attempt began at an
//! earlier generation than one numbered before it: then each can be put at the first end at which
//! its generation was reached, and these places stand in the order of the numbers.
//!
//! The same argument backwards tells how many polls must have been in flight. Attempt `b` began
//! before its own end, and before its generation was over: at most `e` polls had ended by then. All
//! attempts up to `b` had begun. So at least `b - e` were in flight, and beginning each as late as
//! that allows needs no more.

mod answer;
mod event;
mod finding;
mod replay;
mod trace;

pub use answer::{Answer, Category, Class};
pub use event::{Event, Offered};
pub use finding::{Before, Fault, Finding};
pub use replay::Valid;
pub use trace::{LINE_BYTES_MAX, LINES_MAX, LineFault, Trace, TraceFault};
