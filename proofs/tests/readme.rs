//! `README.md` tells of every property what the code says of it.

use moorline_proofs::check::SYSTEMS;
use moorline_proofs::induction::{FENCE_PROPERTY, FENCE_STATEMENT};
use moorline_proofs::properties::ALL;
use moorline_proofs::recovery::{
    BLOCKED_PROPERTY, BLOCKED_STATEMENT, BOUND_PROPERTY, BOUND_STATEMENT, GREATEST_PROPERTY,
    GREATEST_STATEMENT, RANK_PROPERTY, RANK_STATEMENT,
};
use moorline_proofs::two_clients::{TWO_CLIENTS_PROPERTY, TWO_CLIENTS_STATEMENT};

const README: &str = include_str!("../README.md");

#[test]
fn each_property_has_its_row() {
    for property in ALL {
        let (name, statement) = (property.name, property.statement);
        let row = format!("| `{name}` | {statement} | {} |\n", property.requirements);
        assert!(README.contains(&row), "{row}");
    }
    for (name, statement) in [
        (BLOCKED_PROPERTY, BLOCKED_STATEMENT),
        (BOUND_PROPERTY, BOUND_STATEMENT),
        (FENCE_PROPERTY, FENCE_STATEMENT),
        (GREATEST_PROPERTY, GREATEST_STATEMENT),
        (RANK_PROPERTY, RANK_STATEMENT),
        (TWO_CLIENTS_PROPERTY, TWO_CLIENTS_STATEMENT),
    ] {
        let row = format!("| `{name}` | {statement} | ");
        assert!(README.contains(&row), "{row}");
    }
}

#[test]
fn each_system_has_its_row() {
    for system in SYSTEMS {
        let bounds = system.bounds;
        let row = format!(
            "| {} | {}, {} | {} | {} | {} | {} |\n",
            bounds.in_flight,
            bounds.revisions,
            bounds.tokens,
            if bounds.ghosts { "yes" } else { "no" },
            grouped(system.states),
            grouped(system.transitions),
            system.depth,
        );
        assert!(README.contains(&row), "{row}");
    }
}

/// A number with a comma before each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
