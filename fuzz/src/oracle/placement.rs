//! The placement as a log: everything that was committed is kept, and each property of the state is
//! worked out from the log when it is asked for. Written from the rules PLC-3 to PLC-21.

/// How a poll ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Cancelled,
    Correction { revision: u64, token: char },
    Failure,
    Neutral,
    Success,
}

/// A poll that has begun: what it carries, and how long the log was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    pub(crate) token: Option<char>,
    pub(crate) generation: usize,
}

/// What was committed, and nothing else.
#[derive(Debug, Default)]
pub(crate) struct Log(Vec<Ending>);

/// What the log comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) generation: usize,
    /// The watermark and its token.
    pub(crate) accepted: Option<(u64, char)>,
    pub(crate) active: Option<char>,
    pub(crate) corrections: usize,
    pub(crate) failures: usize,
}

impl Log {
    pub(crate) fn begin(&self) -> Begun {
        Begun {
            token: self.state().active,
            generation: self.0.len(),
        }
    }

    /// Whether the ending was committed.
    pub(crate) fn end(&mut self, poll: Begun, ending: Ending) -> bool {
        let bears_state = match ending {
            Ending::Cancelled | Ending::Neutral => false,
            Ending::Failure => poll.token.is_some(),
            Ending::Correction { .. } | Ending::Success => true,
        };
        let commits = bears_state && poll.generation == self.0.len();
        if commits {
            self.0.push(ending);
        }
        commits
    }

    /// Reads the log from its beginning.
    pub(crate) fn state(&self) -> State {
        let mut state = State::default();
        for ending in &self.0 {
            state.read(*ending);
        }
        state
    }
}

impl State {
    fn read(&mut self, ending: Ending) {
        self.generation += 1;
        match ending {
            Ending::Success => (self.failures, self.corrections) = (0, 0),
            Ending::Failure => self.failures += 1,
            Ending::Correction { revision, token } => {
                (self.failures, self.corrections) = (0, self.corrections + 1);
                self.place(revision, token);
            }
            Ending::Cancelled | Ending::Neutral => unreachable!("these are never committed"),
        }
        if self.corrections == 3 {
            (self.active, self.corrections) = (None, 0);
        }
        if self.failures == 3 {
            (self.active, self.failures) = (None, 0);
        }
    }

    fn place(&mut self, revision: u64, token: char) {
        let newer = self
            .accepted
            .is_none_or(|(watermark, _)| revision > watermark);
        if newer {
            self.accepted = Some((revision, token));
        }
        if self.accepted == Some((revision, token)) {
            self.active = Some(token);
        } else if self
            .accepted
            .is_some_and(|(watermark, _)| revision == watermark)
        {
            self.active = None;
        }
    }
}
