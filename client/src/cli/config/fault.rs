//! What is wrong with a configuration.

/// One fault, in one line that repeats no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Fault {
    pub(in super::super) area: Area,
    pub(in super::super) text: String,
}

/// What a fault is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Area {
    /// What was given, or not given.
    Settings,
    /// Something secret that is not where the settings say.
    Secrets,
    /// The certificates to trust.
    Trust,
}

impl Fault {
    pub(super) fn new(area: Area, text: impl Into<String>) -> Self {
        Self {
            area,
            text: text.into(),
        }
    }

    pub(super) fn settings(text: impl Into<String>) -> Self {
        Self::new(Area::Settings, text)
    }
}
