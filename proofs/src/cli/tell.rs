//! What `trace` prints.

use std::fmt::Write as _;

use crate::explorer::explore;
use crate::properties::{ALL, index_of};
use crate::recovery::{BOUND_PROPERTY, BOUND_STATEMENT, worst};
use crate::step::Shipped;
use crate::system::{Bounds, System};
use crate::trace::{mermaid, mermaid_marked};

/// Small enough to search at once, large enough for every property to speak.
const SMALL: Bounds = Bounds::observed(2, 2, 2);

/// The recovery that is told: two requests in flight show why the bound is 3 K and not 3.
const OF_RECOVERY: Bounds = Bounds::plain(2, 2, 2);

/// The names that [`run_of`] knows, each with its claim.
pub(super) fn list() -> String {
    let mut text = String::from("moorline-proofs trace NAME, where NAME is one of\n");
    let claims = ALL
        .iter()
        .map(|property| (property.name, property.statement));
    for (name, statement) in claims.chain([(BOUND_PROPERTY, BOUND_STATEMENT)]) {
        let _ = writeln!(text, "\n  {name}\n      {statement}");
    }
    text
}

/// A run of a property: one that breaks it, or the nearest that it speaks of.
pub(super) fn run_of(name: &str) -> Result<String, String> {
    if name == BOUND_PROPERTY {
        return longest_recovery();
    }
    let index = index_of(name)
        .ok_or_else(|| format!("no property is named {name}; `trace` alone lists the names"))?;
    let system = System::new(Shipped, SMALL).map_err(|fault| fault.to_string())?;
    let found = explore(&system).map_err(|fault| fault.to_string())?;
    let (kind, finding) = match (found.broken(index), found.witness(index)) {
        (Some(broken), _) => ("breaks", broken),
        (None, Some(witness)) => ("is a case of", witness),
        (None, None) => return Err(format!("{name} speaks of nothing with {SMALL}")),
    };
    let title = format!("{kind} {name} ({SMALL})");
    Ok(mermaid(&system, &title, &found.path(&system, finding)))
}

fn longest_recovery() -> Result<String, String> {
    let system = System::new(Shipped, OF_RECOVERY).map_err(|fault| fault.to_string())?;
    let found = explore(&system).map_err(|fault| fault.to_string())?;
    let worst = worst(&system, &found);
    let polls = worst.newer.max(worst.equal);
    let title = format!("the longest way to a success ({OF_RECOVERY}): {polls} completed polls");
    let remark = (worst.turns, "from here on the service is cooperative");
    Ok(mermaid_marked(
        &system,
        &title,
        &worst.witness,
        Some(remark),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_has_a_run() {
        let list = list();
        let mut runs = 0;
        for name in ALL
            .iter()
            .map(|property| property.name)
            .chain([BOUND_PROPERTY])
        {
            assert!(list.contains(name));
            let run = run_of(name).unwrap();
            assert!(run.starts_with("sequenceDiagram\n"), "{name}: {run}");
            runs += 1;
        }
        assert_eq!(runs, ALL.len() + 1);
        assert!(run_of("no-such").unwrap_err().contains("no-such"));
    }

    #[test]
    fn the_longest_recovery_takes_six_polls_with_two_in_flight() {
        let run = longest_recovery().unwrap();
        assert!(run.contains("6 completed polls"), "{run}");
        let (_, cooperative) = run
            .split_once("from here on the service is cooperative")
            .unwrap();
        assert_eq!(cooperative.matches("S-->>C").count(), 6, "{run}");
        assert_eq!(cooperative.matches("200 (success)").count(), 1, "{run}");
    }
}
