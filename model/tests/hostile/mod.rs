//! Data with one operation each. Whatever else is asked of them panics or does not compile.
#![allow(
    clippy::panic,
    clippy::non_canonical_clone_impl,
    clippy::non_canonical_partial_ord_impl,
    reason = "an operation that the placement must not use is there to blow up"
)]

use std::cmp::Ordering;

/// A revision that can be copied and ordered by `cmp`, and nothing more.
pub(crate) struct HostileRevision(u64);

/// A token that can be cloned and tested for equality, and nothing more.
#[derive(Clone)]
pub(crate) struct HostileToken(u8);

impl HostileRevision {
    pub(crate) fn new(number: u64) -> Self {
        Self(number)
    }
}

impl HostileToken {
    pub(crate) fn new(number: u8) -> Self {
        Self(number)
    }
}

impl Copy for HostileRevision {}

impl Clone for HostileRevision {
    fn clone(&self) -> Self {
        panic!("a revision was cloned instead of copied")
    }
}

impl Ord for HostileRevision {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }

    fn max(self, _: Self) -> Self {
        panic!("max was asked of a revision")
    }

    fn min(self, _: Self) -> Self {
        panic!("min was asked of a revision")
    }

    fn clamp(self, _: Self, _: Self) -> Self {
        panic!("clamp was asked of a revision")
    }
}

impl PartialOrd for HostileRevision {
    fn partial_cmp(&self, _: &Self) -> Option<Ordering> {
        panic!("partial_cmp was asked of a revision")
    }
}

impl Eq for HostileRevision {}

impl PartialEq for HostileRevision {
    fn eq(&self, _: &Self) -> bool {
        panic!("eq was asked of a revision, beside cmp")
    }
}

impl Eq for HostileToken {}

impl PartialEq for HostileToken {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
