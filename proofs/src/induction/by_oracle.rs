use moorline_model::placement::Correction;

use super::oracle::{OpaqueToken, OracleFault, Revision, each_path, facts};
use super::skeleton::{Event, RevisionSymbol, Skeleton, TokenSymbol};
use super::{Induction, Supposed, judge_state, take, tell};
use crate::step::Step;
use crate::system::State;

/// The inductive step on data without values.
///
/// # Errors
///
/// The step under proof has too many paths, or does not repeat itself.
pub fn by_oracle<S: Step>(step: &S, supposed: Supposed) -> Result<Induction, OracleFault> {
    let mut found = Induction::new();
    let mut fault = None;
    Skeleton::each(|number, skeleton| {
        found.skeletons += 1;
        if fault.is_none() {
            fault = from_skeleton(step, supposed, number, skeleton, &mut found).err();
        }
    });
    match fault {
        None => Ok(found),
        Some(fault) => Err(fault),
    }
}

fn from_skeleton<S: Step>(
    step: &S,
    supposed: Supposed,
    number: usize,
    skeleton: &Skeleton,
    found: &mut Induction,
) -> Result<(), OracleFault> {
    let before = state(skeleton);
    // Most skeletons satisfy the properties for no data at all; those need no further look.
    let mut admitted = false;
    each_path(|| {
        if supposed.admits(judge_state(step, &before)) {
            admitted = true;
        } else {
            found.pruned += 1;
        }
    })?;
    if !admitted {
        return Ok(());
    }
    for event in Event::ALL {
        let outcome = event.outcome(correction);
        each_path(|| {
            if !supposed.admits(judge_state(step, &before)) {
                return;
            }
            if let Some(seen) = take(step, &before, outcome.as_ref()) {
                found.note(number, event, seen, || tell(skeleton, event, &told(), seen));
            }
        })?;
    }
    Ok(())
}

fn told() -> String {
    facts(
        &["watermark's", "observer's greatest", "correction's"],
        &[
            "accepted",
            "observer's first",
            "request's",
            "other request's",
            "correction's",
        ],
    )
}

fn state(skeleton: &Skeleton) -> State<Revision, OpaqueToken> {
    skeleton.state(revision, token)
}

fn revision(symbol: RevisionSymbol) -> Revision {
    Revision(symbol as u8)
}

fn token(symbol: TokenSymbol) -> OpaqueToken {
    OpaqueToken(symbol as u8)
}

fn correction() -> Correction<Revision, OpaqueToken> {
    Correction {
        revision: revision(RevisionSymbol::Correction),
        token: token(TokenSymbol::Correction),
    }
}
