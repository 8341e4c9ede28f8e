//! Runs told so that someone who knows the protocol can read them.
//!
//! A run becomes a sequence diagram in Mermaid: one arrow for each request and each answer, and a
//! note with the placement wherever it changed. Tokens are named `token-a`, `token-b` and so on;
//! requests are numbered in the order in which they began.

use std::fmt::Write as _;

use moorline_model::placement::{Correction, Outcome};

use crate::explorer::Path;
use crate::step::Step;
use crate::system::{Action, Shape, State, System};

/// A run as a sequence diagram.
#[must_use]
pub fn mermaid<S: Step>(system: &System<S>, title: &str, path: &Path) -> String {
    mermaid_marked(system, title, path, None)
}

/// A run as a sequence diagram, with a remark before the action of this number.
#[must_use]
pub fn mermaid_marked<S: Step>(
    system: &System<S>,
    title: &str,
    path: &Path,
    remark: Option<(usize, &str)>,
) -> String {
    let mut diagram = Diagram::new(title, system.start());
    for (index, action) in path.actions.iter().enumerate() {
        if let Some((_, remark)) = remark.filter(|(at, _)| *at == index) {
            let _ = writeln!(diagram.text, "    Note over S: {remark}");
        }
        let Some(after) = system.after(&diagram.state, *action) else {
            diagram.note("the run ends here: the next action is not possible");
            break;
        };
        match action {
            Action::Begin(slot) => diagram.begins(*slot, after),
            Action::End(slot, outcome) => {
                let verdict = system
                    .end(&diagram.state, *slot, outcome)
                    .map_or("", |ended| ended.verdict.name());
                diagram.ends(*slot, outcome, verdict, after);
            }
        }
    }
    diagram.text
}

/// One action in words.
#[must_use]
pub fn action_text(action: &Action) -> String {
    match action {
        Action::Begin(slot) => format!("a request begins in slot {slot}"),
        Action::End(slot, outcome) => {
            format!("the request in slot {slot} ends: {}", outcome_text(outcome))
        }
    }
}

/// One state in words.
#[must_use]
pub fn state_text(state: &State<u8, u8>) -> String {
    let mut text = shape_text(&state.shape);
    for (slot, flight) in state.flights.iter().enumerate() {
        let Some(flight) = flight else {
            continue;
        };
        let age = if flight.current { "current" } else { "late" };
        let carried = carried_text(flight.token);
        let _ = write!(text, "\nslot {slot}: {age}, {carried}");
    }
    text
}

/// An outcome as the wire shows it.
#[must_use]
pub fn outcome_text(outcome: &Outcome<u8, u8>) -> String {
    match outcome {
        Outcome::Cancelled => "cancelled by the caller".to_owned(),
        Outcome::Correction(Correction { revision, token }) => {
            format!(
                "409 wrong_cluster, revision {revision}, {}",
                token_name(*token)
            )
        }
        Outcome::DestinationFailure => "503".to_owned(),
        Outcome::Neutral => "401".to_owned(),
        Outcome::Success => "200".to_owned(),
    }
}

/// The placement in words.
#[must_use]
pub fn shape_text(shape: &Shape<u8, u8>) -> String {
    let Shape {
        accepted,
        corrections,
        failures,
    } = shape;
    let counters = format!("corrections {corrections}, failures {failures}");
    match accepted {
        None => format!("no watermark, {counters}"),
        Some(accepted) => {
            let active = if accepted.active { "active" } else { "cleared" };
            let token = token_name(accepted.token);
            format!(
                "watermark {}, {token} {active}, {counters}",
                accepted.revision
            )
        }
    }
}

/// The name of a token: `token-a` for 0, and so on.
#[must_use]
pub fn token_name(token: u8) -> String {
    let letter = char::from(b'a'.saturating_add(token.min(25)));
    format!("token-{letter}")
}

fn carried_text(token: Option<u8>) -> String {
    token.map_or("no token".to_owned(), token_name)
}

struct Diagram {
    text: String,
    state: State<u8, u8>,
    /// The number of the request in each slot.
    numbers: [usize; crate::system::IN_FLIGHT_MAX],
    begun: usize,
}

impl Diagram {
    fn new(title: &str, state: State<u8, u8>) -> Self {
        let mut text = String::from("sequenceDiagram\n");
        let _ = writeln!(text, "    %% {title}");
        text.push_str("    participant C as client\n    participant S as service\n");
        let mut diagram = Self {
            text,
            state,
            numbers: [0; crate::system::IN_FLIGHT_MAX],
            begun: 0,
        };
        let start = shape_text(&diagram.state.shape);
        diagram.note(&start);
        diagram
    }

    fn begins(&mut self, slot: usize, after: State<u8, u8>) {
        self.begun += 1;
        if let Some(number) = self.numbers.get_mut(slot) {
            *number = self.begun;
        }
        let flight = after.flights.get(slot).and_then(Option::as_ref);
        let carried = carried_text(flight.and_then(|flight| flight.token));
        let _ = writeln!(self.text, "    C->>S: poll {}, {carried}", self.begun);
        self.state = after;
    }

    fn ends(
        &mut self,
        slot: usize,
        outcome: &Outcome<u8, u8>,
        verdict: &str,
        after: State<u8, u8>,
    ) {
        let number = self.numbers.get(slot).copied().unwrap_or_default();
        let answer = outcome_text(outcome);
        let arrow = match outcome {
            Outcome::Cancelled => "C-xS",
            Outcome::DestinationFailure => "S--xC",
            _ => "S-->>C",
        };
        let _ = writeln!(
            self.text,
            "    {arrow}: to poll {number}: {answer} ({verdict})"
        );
        let changed = self.state.shape != after.shape;
        self.state = after;
        if changed {
            let shape = shape_text(&self.state.shape);
            self.note(&shape);
        }
    }

    fn note(&mut self, text: &str) {
        let _ = writeln!(self.text, "    Note over C: {text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Shipped;
    use crate::system::Bounds;

    #[test]
    fn tells_a_run() {
        let system = System::new(Shipped, Bounds::plain(2, 2, 2)).unwrap();
        let moved = Outcome::Correction(Correction {
            revision: 1,
            token: 0,
        });
        let path = Path {
            actions: vec![
                Action::Begin(0),
                Action::Begin(1),
                Action::End(1, moved),
                Action::Begin(1),
                Action::End(0, Outcome::Success),
                Action::End(1, Outcome::Cancelled),
            ],
        };
        assert_eq!(
            mermaid(&system, "late", &path),
            "sequenceDiagram\n    \
                %% late\n    \
                participant C as client\n    \
                participant S as service\n    \
                Note over C: no watermark, corrections 0, failures 0\n    \
                C->>S: poll 1, no token\n    \
                C->>S: poll 2, no token\n    \
                S-->>C: to poll 2: 409 wrong_cluster, revision 1, token-a (installed)\n    \
                Note over C: watermark 1, token-a active, corrections 1, failures 0\n    \
                C->>S: poll 3, token-a\n    \
                S-->>C: to poll 1: 200 (late)\n    \
                C-xS: to poll 3: cancelled by the caller (cancelled)\n"
        );
    }
}
