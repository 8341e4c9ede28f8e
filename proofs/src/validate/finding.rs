use std::fmt;

use moorline_model::placement::Verdict;
use moorline_model::wire::Revision;
use serde::Serialize;
use thiserror::Error;

use super::answer::Answer;
use super::event::{Event, Offered};

/// The first event that is not a behaviour of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The line that it stands on, from 1.
    pub line: u64,
    /// The event.
    pub event: Event,
    /// The placement that the events before it lead to.
    pub before: Before,
    /// What it says, and what the model allows there.
    pub fault: Fault,
}

/// A placement, told with install numbers in place of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Before {
    /// The generation.
    pub generation: u64,
    /// The greatest committed revision.
    pub watermark: Option<u64>,
    /// The install that the accepted token came from.
    pub accepted: Option<u64>,
    /// Whether that token is active.
    pub has_token: bool,
    /// The correction counter.
    pub corrections: u8,
    /// The failure counter.
    pub failures: u8,
}

/// What an event says that no run of the model says there.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// `outcome`, `fault` and `status` do not go together.
    #[error("says {said}; the model allows {}", either(.possible))]
    Answer {
        /// What the event says.
        said: Answer,
        /// All that is possible with that status.
        possible: Vec<Answer>,
    },
    /// Attempts are numbered from 1.
    #[error("says 0; attempts are numbered from 1")]
    AttemptZero,
    /// Two events of one attempt.
    #[error("says {attempt}, and so does line {first_line}; an attempt ends once")]
    AttemptRepeated {
        /// The attempt.
        attempt: u64,
        /// The line with its first event.
        first_line: u64,
    },
    /// Commands without a 200.
    #[error("says {commands} commands and {dropped} dropped; only a successful 200 brings any")]
    Commands {
        /// What the event says.
        commands: u64,
        /// What the event says.
        dropped: u64,
    },
    /// The correction counter is another.
    #[error("says {said}; the model allows {allowed}")]
    Corrections {
        /// What the event says.
        said: u8,
        /// What the model has.
        allowed: u8,
    },
    /// The failure counter is another.
    #[error("says {said}; the model allows {allowed}")]
    Failures {
        /// What the event says.
        said: u8,
        /// What the model has.
        allowed: u8,
    },
    /// The generation is another.
    #[error("says {said}; the model allows {allowed}")]
    Generation {
        /// What the event says.
        said: u64,
        /// What the model has.
        allowed: u64,
    },
    /// An attempt began at a generation that was not reached before it ended.
    #[error("says {said}; generation {current} was current before this event, and none is greater")]
    GenerationTakenAhead {
        /// What the event says.
        said: u64,
        /// The current one.
        current: u64,
    },
    /// Attempts are numbered as they begin, and generations only rise.
    #[error(
        "says {said}; attempts are numbered as they begin, and attempt {other} (line {other_line}) \
         began at generation {other_taken}, so this one began there or {}",
        side(.earlier)
    )]
    GenerationTakenOrder {
        /// What the event says.
        said: u64,
        /// Another attempt.
        other: u64,
        /// The line of that one.
        other_line: u64,
        /// The generation at which that one began.
        other_taken: u64,
        /// Whether the attempt of this event has the smaller number.
        earlier: bool,
    },
    /// Whether a token is active is told wrongly.
    #[error("says {said}; the model allows {allowed}")]
    HasToken {
        /// What the event says.
        said: bool,
        /// What the model has.
        allowed: bool,
    },
    /// More polls in flight than there can have been.
    #[error(
        "says {attempt}; when it began at most {ended} attempts had ended, so at least {} polls were \
         in flight, and {most} were allowed",
        difference(.attempt, .ended)
    )]
    InFlight {
        /// The attempt.
        attempt: u64,
        /// How many can have ended when it began.
        ended: u64,
        /// How many may be in flight.
        most: u64,
    },
    /// The next delay does not go with the outcome.
    #[error("says {}; the model allows {allowed}", told(.said.as_ref()))]
    NextDelay {
        /// What the event says, in milliseconds.
        said: Option<u64>,
        /// What would go with it.
        allowed: &'static str,
    },
    /// A revision without a correction, or the other way round.
    #[error("says {}; a correction has a revision, and nothing else has", told(.said.as_ref()))]
    Revision {
        /// What the event says.
        said: Option<Revision>,
    },
    /// A number is missing in the sequence.
    #[error("says {said}; the next event of this client has {expected}, and no line has that")]
    Sequence {
        /// What the event says.
        said: u64,
        /// The number that is missing.
        expected: u64,
    },
    /// A number stands twice in the sequence.
    #[error(
        "says {sequence}, and so does line {first_line}; if the trace holds more than one run, \
         validate each from its start"
    )]
    SequenceRepeated {
        /// The number.
        sequence: u64,
        /// The line where it stands first.
        first_line: u64,
    },
    /// The offered token is something else to the client.
    #[error("says {}; the model allows {}", told(.said.as_ref()), either(.allowed))]
    TokenOffered {
        /// What the event says.
        said: Option<Offered>,
        /// What the model would say.
        allowed: Vec<Offered>,
    },
    /// Another token was sent than the one active when the attempt began.
    #[error(
        "says {}; the model allows {}, for that was active at generation {generation}",
        told(.said.as_ref()), told(.allowed.as_ref())
    )]
    TokenSent {
        /// What the event says: an install.
        said: Option<u64>,
        /// What was active.
        allowed: Option<u64>,
        /// When the attempt began.
        generation: u64,
    },
    /// The model decides otherwise.
    #[error("says {said}; the model allows {allowed}")]
    Verdict {
        /// What the event says.
        said: Verdict,
        /// What the model does.
        allowed: Verdict,
    },
    /// The watermark is another.
    #[error("says {}; the model allows {}", told(.said.as_ref()), told(.allowed.as_ref()))]
    Watermark {
        /// What the event says.
        said: Option<Revision>,
        /// What the model has.
        allowed: Option<Revision>,
    },
}

impl Fault {
    /// The member of the event that it is about, or the first of them.
    #[must_use]
    pub fn member(&self) -> &'static str {
        match self {
            Self::Answer { .. } => "outcome",
            Self::AttemptZero | Self::AttemptRepeated { .. } | Self::InFlight { .. } => "attempt",
            Self::Commands { .. } => "commands",
            Self::Corrections { .. } => "corrections",
            Self::Failures { .. } => "failures",
            Self::Generation { .. } => "generation",
            Self::GenerationTakenAhead { .. } | Self::GenerationTakenOrder { .. } => {
                "generation_taken"
            }
            Self::HasToken { .. } => "has_token",
            Self::NextDelay { .. } => "next_delay_ms",
            Self::Revision { .. } => "revision",
            Self::Sequence { .. } | Self::SequenceRepeated { .. } => "sequence",
            Self::TokenOffered { .. } => "token_offered",
            Self::TokenSent { .. } => "token_sent",
            Self::Verdict { .. } => "verdict",
            Self::Watermark { .. } => "watermark",
        }
    }
}

/// Four lines for a person.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let event = &self.event;
        writeln!(
            f,
            "not a behaviour of the model: line {}, sequence {}, attempt {}",
            self.line, event.sequence, event.attempt
        )?;
        writeln!(f, "  before   {}", self.before)?;
        write!(
            f,
            "  attempt  began at generation {}, ",
            event.generation_taken
        )?;
        match event.token_sent {
            Some(install) => write!(f, "token of install {install}")?,
            None => f.write_str("no token")?,
        }
        write!(f, "; {}", event.answer())?;
        if let Some(revision) = event.revision {
            write!(f, ", revision {revision}")?;
        }
        writeln!(f)?;
        write!(f, "  {:<8} {}", self.fault.member(), self.fault)
    }
}

impl fmt::Display for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "generation {}, ", self.generation)?;
        match (self.watermark, self.accepted) {
            (Some(watermark), Some(accepted)) => {
                let state = if self.has_token { "active" } else { "cleared" };
                write!(f, "watermark {watermark}, install {accepted} {state}")?;
            }
            _ => f.write_str("no watermark, no token")?,
        }
        write!(
            f,
            ", corrections {}, failures {}",
            self.corrections, self.failures
        )
    }
}

fn side(earlier: &bool) -> &'static str {
    if *earlier { "earlier" } else { "later" }
}

fn difference(greater: &u64, less: &u64) -> u64 {
    greater.saturating_sub(*less)
}

fn told(value: Option<&impl fmt::Display>) -> String {
    value.map_or_else(|| "null".to_owned(), ToString::to_string)
}

fn either(values: &[impl fmt::Display]) -> String {
    if values.is_empty() {
        return "nothing there".to_owned();
    }
    let texts: Vec<_> = values.iter().map(ToString::to_string).collect();
    texts.join(" or ")
}
