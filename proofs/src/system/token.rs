use std::fmt::Debug;
use std::hash::Hash;

/// A token, with a set of tokens for the observer to remember what was given.
///
/// The step under proof sees no more than `Clone + Eq`; the set is for the observer alone.
pub trait Token: Clone + Eq {
    /// A set of tokens.
    type Set: Copy + Debug + Default + Eq + Hash;

    /// Adds a token.
    fn insert(set: &mut Self::Set, token: Self);

    /// Whether the set holds this token.
    fn is_in(&self, set: &Self::Set) -> bool;
}

/// Small tokens, for exploration: a set is a bit mask, so tokens go from 0 to 7.
impl Token for u8 {
    type Set = u8;

    fn insert(set: &mut u8, token: u8) {
        *set |= bit(token);
    }

    fn is_in(&self, set: &u8) -> bool {
        set & bit(*self) != 0
    }
}

fn bit(token: u8) -> u8 {
    1_u8.checked_shl(u32::from(token)).unwrap_or(0)
}
