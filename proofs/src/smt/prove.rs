//! Whether one claim holds, by both solvers.

use std::time::Instant;

use super::texts::{Claim, Kind, Texts};
use super::{Answer, LIMIT, METHOD, SmtError, Solver, Solvers, both};
use crate::report::{Row, Unit};

/// How much of a counterexample is shown, in characters.
const COUNTEREXAMPLE_MAX: usize = 2_000;

/// Asks both solvers whether what a claim supposes is possible, and whether the claim holds.
///
/// # Errors
///
/// As [`run`](super::run).
pub fn prove(solvers: &Solvers, texts: &Texts, claim: &Claim) -> Result<Row, SmtError> {
    let began = Instant::now();
    let name = &claim.name;
    let text = format!(
        "{}\n(assert {name}.when)\n(check-sat)\n(assert (not {name}.then))\n(check-sat)\n",
        texts.joined()
    );
    let answers = both(solvers, |solver| solver.ask(&text, 2, LIMIT, name))?;
    let mut problem = None;
    for (solver, answers) in solvers.both().into_iter().zip(&answers) {
        if problem.is_none() {
            problem = judge(solver, texts, claim, answers)?;
        }
    }
    let queries = answers.iter().map(|answers| answers.len() as u64).sum();
    Ok(Row::judged(
        name,
        METHOD,
        (queries, Unit::Queries),
        began.elapsed(),
        problem,
    ))
}

/// What is wrong with a solver's two answers about a claim, if anything is.
fn judge(
    solver: &Solver,
    texts: &Texts,
    claim: &Claim,
    answers: &[Answer],
) -> Result<Option<String>, SmtError> {
    let who = solver.name();
    Ok(match (claim.kind, answers) {
        (Kind::Goal, [Answer::Sat, Answer::Unsat]) | (Kind::Limit, [Answer::Sat, Answer::Sat]) => {
            None
        }
        (_, [Answer::Unsat, _]) => Some(format!("{who}: what it supposes is not possible")),
        (Kind::Limit, [_, Answer::Unsat]) => Some(format!(
            "{who}: it holds, so that the assumption it lacks is not needed"
        )),
        (Kind::Goal, [_, Answer::Sat]) => {
            let shown = counterexample(solver, texts, claim)?;
            Some(format!(
                "{who} has a counterexample (state s, attempt a, outcome o, next state n):\n{shown}"
            ))
        }
        _ => Some(format!("{who} does not know")),
    })
}

/// The values at which a claim fails, in the words of the text.
fn counterexample(solver: &Solver, texts: &Texts, claim: &Claim) -> Result<String, SmtError> {
    let name = &claim.name;
    let text = format!(
        "{}\n(assert {name}.when)\n(assert (not {name}.then))\n(check-sat)\n(get-value (s a o n))\n",
        texts.joined()
    );
    let printed = solver.print(&text, LIMIT, name)?;
    let values = printed.trim_start_matches("sat").trim();
    Ok(values.chars().take(COUNTEREXAMPLE_MAX).collect())
}
