//! Which token the next poll carries.
//!
//! A [`Placement`] is the memory of one client instance: the greatest revision that it committed
//! (the *watermark*), the one token accepted at that revision, whether that token is *active* (sent
//! with polls), and two small counters. A poll takes an [`Attempt`] before its request and hands it
//! to [`Placement::commit`] with the [`Outcome`]; the [`Verdict`] says what the commit did.
//!
//! The step is generic in its data: revisions are only compared, tokens only equated. That is what
//! lets a check over a few values stand for every revision and every token. Keep it so: no `Debug`,
//! `Hash`, `'static` or conversion bound may enter `state.rs` or `commit.rs`.
//!
//! ```
//! use moorline_model::placement::{Correction, Outcome, Placement, Verdict};
//!
//! let mut placement = Placement::new();
//! let early = placement.snapshot();
//! let attempt = placement.snapshot();
//! let moved = Outcome::Correction(Correction { revision: 7, token: "route-a" });
//! assert_eq!(placement.commit(attempt, moved), Verdict::Installed);
//!
//! // The other poll began before that commit: whatever it brings, it is late.
//! let stale = Outcome::Correction(Correction { revision: 9, token: "route-b" });
//! assert_eq!(placement.commit(early, stale), Verdict::Late);
//! assert_eq!(placement.active_token(), Some(&"route-a"));
//! ```

mod attempt;
mod commit;
mod generation;
mod invariants;
mod outcome;
mod parts;
mod state;

pub use attempt::Attempt;
pub use generation::Generation;
pub use invariants::{Broken, check, check_attempt};
pub use outcome::{Correction, Outcome, Verdict};
#[doc(hidden)]
pub use parts::{AcceptedParts, AttemptParts, PlacementParts};
pub use state::Placement;

/// Valid corrections without a success after which the active token is cleared.
// spec: PLC-14
pub const CORRECTION_LIMIT: u8 = 3;

/// Destination failures of the active token without a success or correction after which it is
/// cleared.
// spec: PLC-17
pub const FAILURE_LIMIT: u8 = 3;
