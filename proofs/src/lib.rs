//! Shows that the placement of `moorline-model` is right, for all data and runs of any length, and
//! shows how each claim could be seen to fail.
//!
//! The code under proof is the code that the client runs: checkers build its states through the
//! hidden constructors of `moorline-model` and call its step. It is reached through [`step::Step`]
//! alone, so that a wrong step can be put in its place.
//!
//! | module | shows |
//! | --- | --- |
//! | [`properties`] | nothing: what is claimed |
//! | [`explorer`], [`stateright_check`] | all runs of small systems ([`system`]), counted twice |
//! | [`induction`] | all data, and runs of any length |
//! | [`recovery`] | how fast a client finds back, and when it cannot |
//! | [`two_clients`] | that placements do not touch each other |
//! | [`smt`] | a restatement, judged by two solvers |
//! | [`check`] | all of it in one run |
//! | [`mutants`] | that each check notices something, and that nothing wrong goes unnoticed |
//! | [`generate`] | nothing: it writes the sequences that clients are tested with |
//! | [`validate`] | whether a run of the real client is a behaviour of the model |
//!
//! What none of it shows is listed in `README.md` beside each claim.

#[cfg(feature = "checkers")]
pub mod check;
#[cfg(feature = "checkers")]
pub mod cli;
pub mod explorer;
pub mod generate;
pub mod induction;
#[cfg(feature = "checkers")]
pub mod mutants;
pub mod properties;
pub mod recovery;
pub mod report;
pub mod smt;
#[cfg(feature = "checkers")]
pub mod stateright_check;
pub mod step;
pub mod system;
pub mod trace;
pub mod two_clients;
pub mod validate;
