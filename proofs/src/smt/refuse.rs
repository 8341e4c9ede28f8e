//! Whether the goals notice every mutant, by both solvers.

use std::collections::BTreeSet;
use std::time::Instant;

use super::mutants::{MUTANT_COUNT, MUTANTS, Mutant, STEP_MUTANT_COUNT, of_the_step};
use super::texts::{GOAL_COUNT, Kind, Texts, claims, counted};
use super::{Answer, LIMIT, METHOD, SmtError, Solvers, both};
use crate::report::{Row, Unit};

/// The property that each mutant of the texts breaks the goals that it names, by both solvers, and that
/// each goal is broken by one of them.
pub const REFUSED: &str = "smt-mutants-are-refused";

/// Asks both solvers whether each mutant breaks the goals that it names, and whether each goal is broken
/// by some mutant.
///
/// # Errors
///
/// As [`run`](super::run).
pub fn refuse(solvers: &Solvers) -> Result<Row, SmtError> {
    let began = Instant::now();
    counted("mutants", MUTANT_COUNT, MUTANTS.len())?;
    counted(
        "mutants of the step",
        STEP_MUTANT_COUNT,
        of_the_step().count(),
    )?;
    let mut breakable = BTreeSet::new();
    let mut queries = 0;
    let mut problems = Vec::new();
    for mutant in MUTANTS {
        let texts = match mutant.texts() {
            Ok(texts) => texts,
            Err(misplaced) => {
                problems.push(misplaced.to_string());
                continue;
            }
        };
        let broken = broken_goals(solvers, &texts, mutant.name)?;
        queries += 2 * GOAL_COUNT as u64;
        problems.extend(survived(mutant, &broken));
        breakable.extend(broken.into_iter().flatten());
    }
    let mut idle = goal_names()?;
    idle.retain(|goal| !breakable.contains(goal));
    problems.extend(idle.iter().map(|goal| format!("no mutant breaks {goal}")));
    Ok(Row::judged(
        REFUSED,
        METHOD,
        (queries, Unit::Queries),
        began.elapsed(),
        (!problems.is_empty()).then(|| problems.join("\n")),
    ))
}

/// The goals that do not hold in a set of texts: as z3 has it, and as cvc5 has it.
///
/// # Errors
///
/// As [`run`](super::run).
pub fn broken_goals(
    solvers: &Solvers,
    texts: &Texts,
    about: &str,
) -> Result<[BTreeSet<String>; 2], SmtError> {
    let goals = goal_names()?;
    let questions = goals.iter().map(|goal| {
        format!(
            "(push 1)\n(assert {goal}.when)\n(assert (not {goal}.then))\n(check-sat)\n(pop 1)\n"
        )
    });
    let text = texts.joined() + &questions.collect::<String>();
    let answers = both(solvers, |solver| {
        solver.ask(&text, goals.len(), LIMIT, about)
    })?;
    Ok(answers.map(|answers| {
        let broken = goals.iter().zip(answers);
        let broken = broken.filter(|(_, answer)| *answer == Answer::Sat);
        broken.map(|(goal, _)| goal.clone()).collect()
    }))
}

/// Why a mutant counts as not refused, if it does.
fn survived(mutant: &Mutant, [z3, cvc5]: &[BTreeSet<String>; 2]) -> Option<String> {
    if mutant.killers.is_empty() {
        return Some(format!("the mutant {} names no goal", mutant.name));
    }
    if z3 != cvc5 {
        return Some(format!("the solvers differ on the mutant {}", mutant.name));
    }
    let missed = mutant.killers.iter().find(|killer| !z3.contains(**killer));
    missed.map(|killer| format!("{killer} holds in the mutant {}", mutant.name))
}

fn goal_names() -> Result<Vec<String>, SmtError> {
    let goals = claims()?
        .into_iter()
        .filter(|claim| claim.kind == Kind::Goal);
    Ok(goals.map(|claim| claim.name).collect())
}
