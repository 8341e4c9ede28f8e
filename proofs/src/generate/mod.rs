//! Sequences generated from the placement, for clients to be tested with.
//!
//! The client runs the very function that is proved here, so that a test of the function shows nothing new.
//! What these sequences test is everything around it: from the bytes of an answer to an outcome, from a
//! placement to the next request, and requests that overlap.
//!
//! 1. [`Graph`]: the placement with its requests in flight, without the values, searched exhaustively.
//! 2. A cover: few walks through the graph in which every transition, and every pair of adjacent ones, stands.
//! 3. A sequence for each walk: values, wire forms that take turns, and what the placement makes of them. It
//!    ends in a probe that makes the counters, the watermark and the accepted token show on the wire.
//!
//! The same bytes come out of every run.

mod cover;
mod forms;
mod graph;
mod infeasible;
mod requirements;
mod script;
mod text;
mod turns;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use thiserror::Error;

pub use cover::Walk;
pub use graph::{Answer, Graph, Kind, Move, Point, Relation, Told, Transition};
pub use infeasible::Infeasible;

use crate::step::Step;

/// The `format` member of a file of generated sequences.
pub const GENERATED_FORMAT: &str = "moorline-generated/1";

/// The `format` member of each sequence in it.
pub const SEQUENCE_FORMAT: &str = "moorline-sequence/1";

/// The most steps of one sequence, its probe included.
pub const STEPS_MAX: usize = 30;

/// How finely points are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// Whole polls, one after the other: nothing is in flight between two transitions. The token of every
    /// correction is told to be the accepted one or another.
    Polls,
    /// Beginnings and ends apart; requests in flight are current, late with a token, or late without. The
    /// token is told for equal corrections alone; for others, which take no heed of it, both take turns.
    Full,
    /// As [`Grain::Full`], with one kind of late requests, and cancellations among the neutral answers.
    Merged,
}

/// What a suite must have in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Every pair of adjacent transitions, and so every transition.
    Pairs,
    /// Every transition.
    Transitions,
}

/// What to generate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Requests in flight at most.
    pub in_flight: u8,
    /// How finely points are told apart.
    pub grain: Grain,
    /// What must be covered.
    pub goal: Goal,
}

/// What a suite has in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Points that can be reached.
    pub points: usize,
    /// Transitions between them.
    pub transitions: usize,
    /// Pairs of adjacent transitions.
    pub pairs: usize,
    /// Items of the goal that are in the sequences.
    pub covered: usize,
    /// Items of the goal.
    pub goal: usize,
    /// Sequences.
    pub sequences: usize,
    /// Steps of all sequences.
    pub steps: usize,
    /// Polls in all sequences.
    pub polls: usize,
    /// Failures that wait for the client's deadline.
    pub deadlines: u64,
}

/// Generated sequences.
#[derive(Clone, Debug)]
pub struct Suite {
    /// What was asked for.
    pub plan: Plan,
    /// What is in it.
    pub counts: Counts,
    /// What cannot happen.
    pub infeasible: Infeasible,
    /// How often each wire form is played.
    pub forms: BTreeMap<&'static str, u64>,
    /// The sequences, each as JSON on one line.
    pub sequences: Vec<String>,
}

/// The digest of a whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// Requests in flight.
    pub in_flight: u8,
    /// Of [`Suite::text`].
    pub digest: u64,
}

/// What [`generate`] gives for the shipped step. Whoever changes what is generated changes these.
pub const PINNED: [Pinned; 4] = [
    Pinned {
        in_flight: 1,
        digest: 0x85fa_c332_1691_dd78,
    },
    Pinned {
        in_flight: 2,
        digest: 0xe7a0_254b_c901_5854,
    },
    Pinned {
        in_flight: 3,
        digest: 0x047c_6b91_5458_9193,
    },
    Pinned {
        in_flight: 4,
        digest: 0xd9bd_0e53_b80a_255c,
    },
];

/// Why nothing is generated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Problem {
    /// A sequence does not go where its walk goes. The graph is no image of this step.
    #[error("a sequence went another way than the graph")]
    Astray,
    /// A step ended a request that is not in flight.
    #[error("no request of kind {kind:?} is in flight at: {point}")]
    NotInFlight {
        /// Where.
        point: Point,
        /// The kind.
        kind: Kind,
    },
    /// Some items are farther from the start than a sequence is long.
    #[error("{left} items cannot be reached within {STEPS_MAX} steps")]
    OutOfReach {
        /// How many.
        left: usize,
    },
    /// The requests at the end of a walk cannot be ended without a change of the placement.
    #[error("the probe gets stuck at: {point}")]
    ProbeStuck {
        /// Where.
        point: Point,
    },
    /// The graph has no end. No right step has such a graph.
    #[error("more points than any right step has")]
    TooManyPoints,
    /// Text that is no JSON was to be written.
    #[error("a sequence could not be written: {0}")]
    Unwritten(String),
}

impl Plan {
    /// The plan for this many requests in flight: 1 to 4.
    #[must_use]
    pub fn of(in_flight: u8) -> Option<Self> {
        let (grain, goal) = match in_flight {
            1 => (Grain::Polls, Goal::Pairs),
            2 => (Grain::Full, Goal::Pairs),
            3 => (Grain::Merged, Goal::Pairs),
            4 => (Grain::Full, Goal::Transitions),
            _ => return None,
        };
        Some(Self {
            in_flight,
            grain,
            goal,
        })
    }

    /// Whether its sequences are kept in `fixtures/generated`.
    #[must_use]
    pub fn is_committed(self) -> bool {
        self.in_flight <= 2
    }

    /// The name of its file.
    #[must_use]
    pub fn file_name(self) -> String {
        format!("k{}.json", self.in_flight)
    }

    /// Requests that may be in flight between two transitions.
    fn held(self) -> u8 {
        match self.grain {
            Grain::Polls => 0,
            Grain::Full | Grain::Merged => self.in_flight,
        }
    }

    /// The kind as this graph tells it.
    fn kind(self, kind: Kind) -> Kind {
        match (self.grain, kind) {
            (Grain::Merged, Kind::LateWithout) => Kind::LateWith,
            _ => kind,
        }
    }

    /// One in so many sequences waits for the client's deadline, once: waiting takes real time.
    fn waits_each(self) -> usize {
        match self.in_flight {
            1 => 10,
            _ => 50,
        }
    }
}

impl Goal {
    /// What is covered, as a word.
    #[must_use]
    pub fn items(self) -> &'static str {
        match self {
            Self::Pairs => "pairs",
            Self::Transitions => "transitions",
        }
    }
}

/// Generates the sequences of one plan from this step.
///
/// # Errors
///
/// A [`Problem`]; a suite that lacks an item of its goal is never returned.
pub fn generate<S: Step>(step: &S, plan: Plan) -> Result<Suite, Problem> {
    let graph = Graph::search(step, plan)?;
    let walks = cover::cover(&graph, plan)?;
    let mut turns = turns::Turns::default();
    let (mut steps, mut polls) = (0, 0);
    let mut sequences = Vec::new();
    for (index, walk) in walks.iter().enumerate() {
        let sequence = script::sequence(step, plan, &graph, (index, walk), &mut turns)?;
        steps += sequence.steps.len();
        polls += sequence
            .steps
            .iter()
            .filter(|step| step.sends.is_some())
            .count();
        let text = serde_json::to_string(&sequence);
        sequences.push(text.map_err(|error| Problem::Unwritten(error.to_string()))?);
    }
    let goal = match plan.goal {
        Goal::Pairs => graph.pair_count(),
        Goal::Transitions => graph.transitions.len(),
    };
    let waits = ["deadline", "200 stalled"];
    let counts = Counts {
        points: graph.points.len(),
        transitions: graph.transitions.len(),
        pairs: graph.pair_count(),
        covered: cover::covered(&graph, plan, &walks),
        goal,
        sequences: sequences.len(),
        steps,
        polls,
        deadlines: waits.iter().filter_map(|name| turns.played.get(name)).sum(),
    };
    if counts.covered != counts.goal {
        let left = counts.goal - counts.covered;
        return Err(Problem::OutOfReach { left });
    }
    Ok(Suite {
        plan,
        counts,
        infeasible: infeasible::infeasible(&graph, plan),
        forms: turns.played,
        sequences,
    })
}

impl Suite {
    /// The whole file: a head of a few lines, then one line for each sequence.
    ///
    /// # Errors
    ///
    /// [`Problem::Unwritten`].
    pub fn text(&self) -> Result<String, Problem> {
        let line = |text: Result<String, serde_json::Error>| {
            text.map_err(|error| Problem::Unwritten(error.to_string()))
        };
        let k = self.plan.in_flight;
        let goal = self.plan.goal.items();
        let mut text = format!(
            "{{\"format\":\"{GENERATED_FORMAT}\",\"k\":{k},\"goal\":\"{goal}\",\n\"counts\":{},\n\
             \"forms\":{},\n\"infeasible\":{},\n\"sequences\":[\n",
            line(serde_json::to_string(&self.counts))?,
            line(serde_json::to_string(&self.forms))?,
            line(serde_json::to_string(&self.infeasible))?,
        );
        for (index, sequence) in self.sequences.iter().enumerate() {
            let end = if index + 1 < self.sequences.len() {
                ","
            } else {
                ""
            };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{sequence}{end}");
        }
        text.push_str("]}\n");
        Ok(text)
    }
}

/// A number for a text that another text hardly has: 64 bits of FNV-1a.
#[must_use]
pub fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |digest, byte| {
        (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
