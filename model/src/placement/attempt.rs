use super::Generation;

/// A snapshot taken before a request: the token that the request carries, and the generation that
/// its result must still meet to be committed.
///
/// Linear: it cannot be cloned, and [`Placement::commit`](super::Placement::commit) consumes it. One
/// attempt is one HTTP request. Dropping it is cancellation and changes nothing.
// spec: PLC-3, PLC-20
#[derive(Debug)]
#[must_use = "an attempt that is dropped is a cancelled poll"]
pub struct Attempt<T> {
    pub(super) generation: Generation,
    pub(super) token: Option<T>,
}

impl<T> Attempt<T> {
    /// The token that the request must carry; `None` means that the header must be absent.
    #[must_use]
    pub fn token(&self) -> Option<&T> {
        self.token.as_ref()
    }

    /// The generation at the time of the snapshot.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.generation
    }
}
