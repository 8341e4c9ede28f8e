use crate::system::Action;

/// Where something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The place of the state in the order of the search.
    pub(super) state: u32,
    /// The state itself, or a transition from it.
    pub site: Site,
}

/// What was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Site {
    /// The state.
    Standing,
    /// This transition from it.
    After(Action),
}

/// What a search found of one property.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many transitions or states the property spoke of.
    pub concerned: u64,
    /// The nearest of them.
    pub witness: Option<Finding>,
    /// The nearest that breaks it.
    pub broken: Option<Finding>,
}

/// A run from the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// What happens, in order.
    pub actions: Vec<Action>,
}

impl Finding {
    /// The place of its state in [`Exploration::states`](super::Exploration::states).
    #[must_use]
    pub fn index(&self) -> usize {
        self.state as usize
    }

    pub(crate) fn at(state: u32) -> Self {
        Self {
            state,
            site: Site::Standing,
        }
    }

    pub(crate) fn after(state: u32, action: Action) -> Self {
        Self {
            state,
            site: Site::After(action),
        }
    }
}
