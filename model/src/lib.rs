//! Every decision of the Moorline tunnel client, as pure functions.
//!
//! This crate decides and touches nothing: it has no I/O, clock, randomness, async or logging. The
//! production client calls exactly the functions that the tests and proofs check.
//!
//! | module | what it decides |
//! | --- | --- |
//! | [`awaited`] | what the sender of a command waits for, and what it is told where no target answers |
//! | [`placement`] | which token the next poll carries, from what earlier polls brought back |
//! | [`wire`] | what the bytes of a response mean; one strict parser a form, one error variant a fault |
//! | [`poll`] | how one HTTP exchange ends: the whole order of checks in [`poll::classify`] |
//! | [`backoff`] | how long a failed poll waits |
//! | [`jsonrpc`] | what a message is, which ids it names, and how to exchange them byte for byte |
//! | [`target`] | which headers pass to and from an HTTP target, and what its answers mean |
//! | [`sse`] | the events in a stream of bytes |
//! | [`resumption`] | when the stream that answers a call is asked for again |
//! | [`pipe`] | which id each request has on a stdio pipe, and whom each line from it is for |
//! | [`note_lane`] | how many messages of a pipe may wait to be delivered, and what follows when one is lost |
//! | [`deadline`] | until when a command may be answered |
//! | [`delivery`] | when the POST of a response is sent again |
//! | [`target_health`] | whether a target answers, from what became of its calls |
//! | [`readiness`] | what the probes say of polls and target together |
//! | [`dump`] | what a dump of an HTTP exchange may show |
//! | [`dispatch`] | which received command runs now |
//! | [`fair`] | which of several waiting commands is next |
//! | [`schedule`] | how many commands to ask for, when to poll next, and whether the client is ready |
//!
//! The requirements that the code cites by number (`spec: PLC-3`) stand in `SPEC.md` of this crate.
//!
//! # Example
//!
//! One correction, decided from its bytes and committed:
//!
//! ```
//! use moorline_model::placement::{Placement, Verdict};
//! use moorline_model::poll::{self, Body, Exchange};
//!
//! let mut placement = Placement::new();
//! let attempt = placement.snapshot();
//! assert!(attempt.token().is_none(), "the first poll carries no token");
//!
//! let headers: &[(&str, &[u8])] = &[("x-tunnel-shard-token", b"route-a")];
//! let body = br#"{"error":{"code":"wrong_cluster","policy_revision":42}}"#;
//! let exchange = Exchange::Head { status: 409, headers, body: Body::Complete(body) };
//! let classified = poll::classify(exchange, false, 0);
//!
//! assert_eq!(placement.commit(attempt, classified.outcome), Verdict::Installed);
//! assert_eq!(placement.active_token().unwrap().expose(), "route-a");
//! ```

#[cfg(feature = "arbitrary")]
mod arbitrary;
pub mod awaited;
pub mod backoff;
pub mod deadline;
pub mod delivery;
pub mod dispatch;
pub mod dump;
pub mod fair;
pub mod jsonrpc;
pub mod note_lane;
pub mod pipe;
pub mod placement;
pub mod poll;
pub mod readiness;
pub mod resumption;
pub mod schedule;
pub mod sse;
pub mod target;
pub mod target_health;
pub mod wire;
