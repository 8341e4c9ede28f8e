//! Whether the restatement does what a step of Rust does, by both solvers.

use std::time::Instant;

use super::cases::{After, CASE_COUNT, Case, agreement, cases, tokens};
use super::texts::{Texts, counted};
use super::{Answer, LIMIT, METHOD, SmtError, Solver, Solvers, both};
use crate::report::{Row, Unit};
use crate::step::Step;

/// In how many parts the cases are put to a solver.
const PARTS: usize = 56;
/// How many disagreements are shown.
const SHOWN_MAX: usize = 3;

/// The property that on every small case the restatement has the next state and the verdict of the step.
/// Its row counts the cases, each of which is judged by both solvers.
pub const AGREES: &str = "smt-restatement-agrees-with-commit";

/// Holds the restatement against a step on every small case.
///
/// # Errors
///
/// As [`run`](super::run).
pub fn agree<S: Step>(solvers: &Solvers, texts: &Texts, step: &S) -> Result<Row, SmtError> {
    let began = Instant::now();
    let cases = cases();
    counted("cases", CASE_COUNT, cases.len())?;
    let found = both(solvers, |solver| disagreements(solver, texts, step, &cases))?;
    let problems = solvers.both().into_iter().zip(found);
    let problem = problems
        .filter(|(_, found)| !found.is_empty())
        .map(|(solver, found)| {
            format!("{} has other results:\n{}", solver.name(), found.join("\n"))
        })
        .next();
    Ok(Row::judged(
        AGREES,
        METHOD,
        (CASE_COUNT as u64, Unit::Cases),
        began.elapsed(),
        problem,
    ))
}

/// The first few cases on which a solver has another result than the step.
fn disagreements<S: Step>(
    solver: &Solver,
    texts: &Texts,
    step: &S,
    cases: &[Case],
) -> Result<Vec<String>, SmtError> {
    let words = [texts.state.as_str(), &texts.step, &tokens()].concat();
    // Each part takes cases from everywhere, so that a disagreement shows early.
    for part in 0..PARTS {
        let results: Vec<(Case, After)> = cases
            .iter()
            .skip(part)
            .step_by(PARTS)
            .map(|case| (*case, step.commit(case.before, case.attempt, case.outcome)))
            .collect();
        let claims = results.iter().enumerate();
        let claims = claims.map(|(number, (case, after))| agreement(number, case, after));
        let words = words.clone() + &claims.collect::<String>();
        if !all_agree(solver, &words, results.len())? {
            return shown(&differing(solver, &words, results.len())?, &results);
        }
    }
    Ok(Vec::new())
}

fn all_agree(solver: &Solver, words: &str, count: usize) -> Result<bool, SmtError> {
    let names = names(count);
    // The first question is whether anything is possible at all, without which the second means nothing.
    let text = format!("{words}(check-sat)\n(assert (not (and true{names})))\n(check-sat)\n");
    let answers = solver.ask(&text, 2, LIMIT, AGREES)?;
    Ok(answers == [Answer::Sat, Answer::Unsat])
}

/// Which cases do not agree, by number. Their data is fixed, so any model that the solver finds shows them.
fn differing(solver: &Solver, words: &str, count: usize) -> Result<Vec<usize>, SmtError> {
    let names = names(count);
    let text = format!("{words}(check-sat)\n(get-value ({names}))\n");
    let printed = solver.print(&text, LIMIT, AGREES)?;
    let differs = |number: &usize| printed.contains(&format!("(case-{number} false)"));
    Ok((0..count).filter(differs).collect())
}

fn names(count: usize) -> String {
    (0..count).map(|number| format!(" case-{number}")).collect()
}

fn shown(differing: &[usize], results: &[(Case, After)]) -> Result<Vec<String>, SmtError> {
    let lines: Vec<String> = differing
        .iter()
        .filter_map(|number| results.get(*number))
        .take(SHOWN_MAX)
        .map(|(case, after)| format!("{case:?}: the step comes to {after:?}"))
        .collect();
    if lines.is_empty() {
        // All together were refused, but none alone.
        return Err(SmtError::Malformed {
            name: AGREES.to_owned(),
            problem: "the solver contradicts itself",
        });
    }
    Ok(lines)
}
