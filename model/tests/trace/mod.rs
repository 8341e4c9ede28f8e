//! The requirement trace: what is required, what is cited, and what does not fit together.
//!
//! Everything but [`tree`] works on text in memory, so that every kind of finding has a small test.

pub(crate) mod audit;
pub(crate) mod citations;
pub(crate) mod finding;
pub(crate) mod id;
pub(crate) mod requirements;
pub(crate) mod tree;

#[cfg(test)]
mod audit_tests;
