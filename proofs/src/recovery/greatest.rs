use moorline_model::placement::{Correction, Generation, Outcome, PlacementParts};
use moorline_model::wire::{Revision, ShardToken};

use super::Found;
use crate::step::Step;
use crate::system::Shape;

/// The name of what is checked here.
pub const GREATEST_PROPERTY: &str = "greatest-revision-blocks-until-restart";

/// The statement of what is checked here.
pub const GREATEST_STATEMENT: &str = "\
    After one committed correction with revision 9007199254740991 no correction with another token \
    is taken, and there is no greater revision; a restarted client takes the next.";

/// How many answers the honest service gives to the client that was led astray.
const ROUNDS: u64 = 10_000;

/// Plays it with the client's own types.
// spec-test: PLC-2, PLC-11, PLC-12, COR-11, COR-12
pub fn greatest_blocks<S: Step>(step: &S) -> Found {
    let mut found = Found::default();
    let (Some(hostile), Some(honest)) = (token("led-astray"), token("honest")) else {
        found.note(false, || "the tokens of the check are not valid".to_owned());
        return found;
    };
    let greatest = Revision::from_json_text("9007199254740991");
    found.note(greatest == Ok(Revision::MAX), || {
        "the greatest revision is not read".to_owned()
    });
    let beyond = Revision::from_json_text("9007199254740992");
    found.note(beyond.is_err(), || "a greater revision is read".to_owned());

    let mut astray = Client::start(step);
    astray.corrected(Revision::MAX, &hostile);
    found.note(astray.sends() == Some(hostile), || {
        "it was not led astray".to_owned()
    });
    for round in 0..ROUNDS {
        let revision = if round % 2 == 0 {
            Some(Revision::MAX)
        } else {
            Revision::new(round)
        };
        astray.corrected(revision.unwrap_or(Revision::MAX), &honest);
        found.note(astray.sends().as_ref() != Some(&honest), || {
            format!("the honest token is sent after {round} corrections")
        });
    }
    let mut restarted = Client::start(step);
    restarted.corrected(Revision::MAX, &honest);
    found.note(restarted.sends() == Some(honest), || {
        "a restarted client does not take the honest token".to_owned()
    });
    found
}

fn token(text: &str) -> Option<ShardToken> {
    ShardToken::from_bytes(text.as_bytes()).ok()
}

struct Client<'a, S> {
    step: &'a S,
    placement: PlacementParts<Revision, ShardToken>,
}

impl<'a, S: Step> Client<'a, S> {
    fn start(step: &'a S) -> Self {
        Self {
            step,
            placement: Shape::new().at(Generation::FIRST.get()),
        }
    }

    fn sends(&self) -> Option<ShardToken> {
        self.step.snapshot(self.placement.clone()).token
    }

    fn corrected(&mut self, revision: Revision, token: &ShardToken) {
        let attempt = self.step.snapshot(self.placement.clone());
        let correction = Outcome::Correction(Correction {
            revision,
            token: token.clone(),
        });
        (self.placement, _) = self
            .step
            .commit(self.placement.clone(), attempt, correction);
    }
}
