//! The cells of the placement matrix, and what must hold in them.

pub(crate) mod cell;
pub(crate) mod reach;
pub(crate) mod rows;
