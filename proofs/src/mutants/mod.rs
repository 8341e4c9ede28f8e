//! Wrong steps and wrong classifications: nothing wrong goes unnoticed, and each check notices something.
//!
//! Two kinds. A [`Faulty`] step is the step written once more with one [`Fault`], put in the place of the shipped
//! one and held against every check of this crate ([`Matrix`]). A [`source::SourceMutant`] is a wrong version of
//! the source that decides what an answer means, built and held against the tests of that source.
//!
//! The restatement in SMT-LIB has mutants of its own ([`crate::smt`]).

mod columns;
mod equivalents;
mod fault;
mod faulty;
mod matrix;
mod outcomes;
mod report;
mod reviewed;
mod same;
pub mod source;

use std::path::{Path, PathBuf};

pub use columns::{Cell, Column, Kind, Method, OBSERVED, On, PLAIN, columns};
pub use equivalents::{EQUIVALENTS, Equivalent, Fate};
pub use fault::Fault;
pub use faulty::Faulty;
pub use matrix::{Matrix, Problem, Row, run};
pub use outcomes::{OutcomeFault, OutcomeProblem, Outcomes, judge};
pub use report::Report;
pub use reviewed::{REVIEWED, Reviewed};
pub use same::{COMPARED, same_as_shipped};

/// The directory of the workspace that this program was built in.
#[must_use]
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
