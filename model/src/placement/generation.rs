/// Counts the state-bearing commits of one placement.
///
/// Generations are only ever compared for equality, so the count may wrap: two attempts could be
/// confused only if 2^64 commits happened within the life of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Generation(u64);

impl Generation {
    /// The generation of a placement that has committed nothing.
    pub const FIRST: Self = Self(0);

    /// The count itself, for display and traces.
    #[must_use]
    pub fn get(self) -> u64 {
        self.0
    }

    /// A generation from its count, for checkers and trace readers.
    #[doc(hidden)]
    #[must_use]
    pub fn from_count(count: u64) -> Self {
        Self(count)
    }

    pub(super) fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}
