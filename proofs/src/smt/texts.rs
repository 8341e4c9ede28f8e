//! The SMT-LIB texts, and the goals and limits in them.

use super::SmtError;

/// The placement as data, its beginning, snapshots and invariants.
const STATE: &str = include_str!("../../smt/state.smt2");
/// What one result does to the placement.
const STEP: &str = include_str!("../../smt/step.smt2");
/// What is proved of it.
const GOALS: &str = include_str!("../../smt/goals.smt2");

/// How many goals there are.
pub const GOAL_COUNT: usize = 44;
/// How many limits there are.
pub const LIMIT_COUNT: usize = 2;

/// The three texts, one of them perhaps changed.
#[derive(Clone, Debug)]
pub struct Texts {
    /// The data, the beginning, snapshots and the invariants.
    pub state: String,
    /// The step.
    pub step: String,
    /// The claims.
    pub goals: String,
}

impl Texts {
    /// The texts as committed.
    #[must_use]
    pub fn committed() -> Self {
        Self {
            state: STATE.to_owned(),
            step: STEP.to_owned(),
            goals: GOALS.to_owned(),
        }
    }

    /// All three, in order.
    #[must_use]
    pub fn joined(&self) -> String {
        [self.state.as_str(), &self.step, &self.goals].concat()
    }
}

/// One claim of the text: where `<name>.when` holds, `<name>.then` holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its name.
    pub name: String,
    /// What it says, in words.
    pub about: String,
    /// Whether it holds.
    pub kind: Kind,
}

/// Whether a claim is expected to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It holds for every state, attempt and outcome.
    Goal,
    /// It is one assumption short of a goal and does not hold.
    Limit,
}

/// The claims of `smt/goals.smt2`, in order.
///
/// # Errors
///
/// [`SmtError::Malformed`] for a claim without words or definitions or with a name that is taken;
/// [`SmtError::Count`] where there are more or fewer than committed.
pub fn claims() -> Result<Vec<Claim>, SmtError> {
    let claims = parse(GOALS)?;
    let of = |kind| claims.iter().filter(|claim| claim.kind == kind).count();
    counted("goals", GOAL_COUNT, of(Kind::Goal))?;
    counted("limits", LIMIT_COUNT, of(Kind::Limit))?;
    Ok(claims)
}

/// Requires a committed number.
pub(super) fn counted(what: &'static str, expected: usize, got: usize) -> Result<(), SmtError> {
    if expected == got {
        return Ok(());
    }
    Err(SmtError::Count {
        what,
        expected,
        got,
    })
}

fn parse(text: &str) -> Result<Vec<Claim>, SmtError> {
    let mut claims: Vec<Claim> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((kind, name)) = heading(line) else {
            continue;
        };
        let mut words = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with("; ")) {
            words.push(line.trim_start_matches("; "));
        }
        let claim = Claim {
            name: name.to_owned(),
            about: words.join(" "),
            kind,
        };
        if let Some(problem) = problem(&claim, &claims, text) {
            return Err(SmtError::Malformed {
                name: claim.name,
                problem,
            });
        }
        claims.push(claim);
    }
    Ok(claims)
}

fn heading(line: &str) -> Option<(Kind, &str)> {
    let goal = line.strip_prefix("; goal ").map(|name| (Kind::Goal, name));
    goal.or_else(|| {
        line.strip_prefix("; limit ")
            .map(|name| (Kind::Limit, name))
    })
}

fn problem(claim: &Claim, before: &[Claim], text: &str) -> Option<&'static str> {
    let defined = |part| text.contains(&format!("(define-fun {}.{part} () Bool", claim.name));
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if claim.name.is_empty() || !claim.name.chars().all(plain) {
        Some("its name is not of lower-case letters, digits and hyphens")
    } else if before.iter().any(|earlier| earlier.name == claim.name) {
        Some("its name is taken")
    } else if claim.about.is_empty() {
        Some("no words say what it means")
    } else if !defined("when") || !defined("then") {
        Some("its two parts are not both defined")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_committed_text_has_its_goals_and_limits() {
        let claims = claims().unwrap();
        assert_eq!(claims.len(), GOAL_COUNT + LIMIT_COUNT);
        assert!(
            claims
                .iter()
                .all(|claim| claim.about.ends_with('.') || claim.about.ends_with(')'))
        );
    }

    #[test]
    fn every_definition_of_a_claim_has_a_heading() {
        let claims = claims().unwrap();
        let defined = GOALS.matches(".when () Bool").count();
        assert_eq!(defined, claims.len());
    }

    #[test]
    fn a_malformed_claim_is_named() {
        let good = "; goal a\n; Words.\n(define-fun a.when () Bool true)\n(define-fun a.then () Bool true)\n";
        assert_eq!(parse(good).unwrap().len(), 1);
        for (bad, expected) in [
            (good.replace("goal a", "goal A"), "hyphens"),
            (good.repeat(2), "taken"),
            (good.replace("; Words.\n", ""), "no words"),
            (good.replace("a.then", "b.then"), "not both defined"),
        ] {
            let error = parse(&bad).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
