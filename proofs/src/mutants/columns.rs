//! The checks that mutants are held against.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Fault, Faulty};
use crate::explorer::explore;
use crate::induction::{FENCE_PROPERTY, Supposed, by_oracle, fence};
use crate::properties::ALL;
use crate::recovery::{
    BLOCKED_PROPERTY, BOUND_PROPERTY, Found, GREATEST_PROPERTY, RANK_PROPERTY, blocked_closed,
    greatest_blocks, inductive, rank_falls, worst,
};
use crate::system::{Bounds, System};
use crate::two_clients::{TWO_CLIENTS_PROPERTY, two_clients};

/// One named check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// How it checks.
    pub method: Method,
    /// The name of the property.
    pub check: &'static str,
}

/// A way of checking, for one kind of property.
///
/// Properties of different kinds are not held against each other. The rows of the commit table together say
/// what a commit does to everything but the generation, so that beside them hardly any other property could
/// be the only one to notice a fault. Each kind has to stand by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Method {
    /// The kind of property.
    pub kind: Kind,
    /// What it is checked on.
    pub on: On,
}

/// The kinds of properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// One relation for each row of the commit table.
    Rows,
    /// What holds of the placement over all runs.
    Machine,
    /// What an observer of the wire can say.
    Wire,
    /// Recovery and its complement.
    Recovery,
    /// How generations are used.
    Generations,
    /// Independence of two clients.
    Clients,
}

/// What is checked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    /// All runs of a small system, by our own explorer.
    Runs,
    /// All data, by the inductive step on data without values.
    Data,
    /// Chosen numbers.
    Edges,
}

/// What one check says of one mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// It breaks: the mutant is killed.
    Broken,
    /// It could not be carried out. This kills nothing.
    Failed,
    /// It holds.
    Holds,
    /// It spoke of nothing. This kills nothing.
    Silent,
}

/// Two requests in flight, two revisions and two tokens, observed.
pub const OBSERVED: Bounds = Bounds::observed(2, 2, 2);

/// The same without an observer, for recovery.
pub const PLAIN: Bounds = Bounds::plain(2, 2, 2);

/// The properties of the wire. Those of rows begin with `row-`.
const WIRE: [&str; 3] = [
    "success-teaches-nothing",
    "next-request-carries-the-active-token-or-none",
    "no-token-that-no-correction-gave",
];

/// Every column, by method.
#[must_use]
pub fn columns() -> Vec<Column> {
    let mut columns = Vec::new();
    for on in [On::Runs, On::Data] {
        for property in ALL {
            let kind = kind_of(property.name);
            columns.push(Column::new(kind, on, property.name));
        }
        for check in [RANK_PROPERTY, BLOCKED_PROPERTY] {
            columns.push(Column::new(Kind::Recovery, on, check));
        }
    }
    for check in [BOUND_PROPERTY, GREATEST_PROPERTY] {
        columns.push(Column::new(Kind::Recovery, On::Runs, check));
    }
    columns.push(Column::new(Kind::Generations, On::Edges, FENCE_PROPERTY));
    columns.push(Column::new(Kind::Clients, On::Runs, TWO_CLIENTS_PROPERTY));
    columns.sort_by_key(|column| column.method);
    columns
}

fn kind_of(property: &str) -> Kind {
    if property.starts_with("row-") {
        Kind::Rows
    } else if WIRE.contains(&property) {
        Kind::Wire
    } else {
        Kind::Machine
    }
}

/// Runs every check on a step with this fault: a cell for each of the columns, and why some could not be
/// carried out.
pub(super) fn judge(fault: Fault, columns: &[Column]) -> (Vec<Cell>, Vec<String>) {
    let mut judged = Judged::default();
    // What a faulty step remembers must not go from one check to the next.
    let fresh = || Faulty::new(fault);
    let reports = [
        on_observed_runs(&fresh(), &mut judged),
        on_plain_runs(&fresh(), &mut judged),
        on_data(&fresh(), &mut judged),
        recovery_on_data(&fresh(), &mut judged),
        on_two_clients(&fresh(), &mut judged),
    ];
    judged.found(On::Runs, GREATEST_PROPERTY, &greatest_blocks(&fresh()));
    let edges = fence(&fresh());
    judged.put(
        (On::Edges, FENCE_PROPERTY),
        edges.cases,
        edges.broken.is_some(),
    );
    let cells = columns.iter().map(|column| judged.cell(column)).collect();
    (cells, reports.into_iter().filter_map(Result::err).collect())
}

impl Column {
    fn new(kind: Kind, on: On, check: &'static str) -> Self {
        let method = Method { kind, on };
        Self { method, check }
    }
}

impl Method {
    /// The words for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match (self.kind, self.on) {
            (Kind::Rows, On::Data) => "rows, all data",
            (Kind::Rows, _) => "rows, all runs",
            (Kind::Machine, On::Data) => "machine, all data",
            (Kind::Machine, _) => "machine, all runs",
            (Kind::Wire, On::Data) => "wire, all data",
            (Kind::Wire, _) => "wire, all runs",
            (Kind::Recovery, On::Data) => "recovery, all data",
            (Kind::Recovery, _) => "recovery, all runs",
            (Kind::Generations, _) => "generations, edges",
            (Kind::Clients, _) => "two clients, all runs",
        }
    }
}

/// What was found by now; a check that is not here was not carried out.
#[derive(Default)]
struct Judged(BTreeMap<(On, &'static str), Cell>);

impl Judged {
    fn put(&mut self, check: (On, &'static str), cases: u64, broken: bool) {
        let cell = match (broken, cases) {
            (true, _) => Cell::Broken,
            (false, 0) => Cell::Silent,
            (false, _) => Cell::Holds,
        };
        self.0.insert(check, cell);
    }

    fn found(&mut self, on: On, check: &'static str, found: &Found) {
        self.put((on, check), found.cases, found.broken.is_some());
    }

    fn cell(&self, column: &Column) -> Cell {
        let check = (column.method.on, column.check);
        self.0.get(&check).copied().unwrap_or(Cell::Failed)
    }
}

fn on_observed_runs(step: &Faulty, judged: &mut Judged) -> Result<(), String> {
    let system = System::new(step.clone(), OBSERVED).map_err(|fault| fault.to_string())?;
    let found = explore(&system).map_err(|fault| fault.to_string())?;
    for (property, tally) in ALL.iter().zip(&found.tallies) {
        let broken = tally.broken.is_some();
        judged.put((On::Runs, property.name), tally.concerned, broken);
    }
    Ok(())
}

fn on_plain_runs(step: &Faulty, judged: &mut Judged) -> Result<(), String> {
    let system = System::new(step.clone(), PLAIN).map_err(|fault| fault.to_string())?;
    let found = explore(&system).map_err(|fault| fault.to_string())?;
    judged.found(On::Runs, RANK_PROPERTY, &rank_falls(&system, &found));
    judged.found(On::Runs, BLOCKED_PROPERTY, &blocked_closed(&system, &found));
    let worst = worst(&system, &found);
    judged.put(
        (On::Runs, BOUND_PROPERTY),
        worst.cases,
        worst.broken.is_some(),
    );
    Ok(())
}

fn on_data(step: &Faulty, judged: &mut Judged) -> Result<(), String> {
    let found = by_oracle(step, Supposed::all()).map_err(|fault| fault.to_string())?;
    for (index, (property, concerned)) in ALL.iter().zip(&found.concerned).enumerate() {
        let broken = found.broken.contains_key(&index);
        judged.put((On::Data, property.name), *concerned, broken);
    }
    Ok(())
}

fn recovery_on_data(step: &Faulty, judged: &mut Judged) -> Result<(), String> {
    let found = inductive(step).map_err(|fault| fault.to_string())?;
    judged.found(On::Data, RANK_PROPERTY, &found.rank);
    judged.found(On::Data, BLOCKED_PROPERTY, &found.blocked);
    Ok(())
}

fn on_two_clients(step: &Faulty, judged: &mut Judged) -> Result<(), String> {
    let found = two_clients(step).map_err(|fault| fault.to_string())?;
    let broken = found.broken.is_some();
    judged.put((On::Runs, TWO_CLIENTS_PROPERTY), found.compared, broken);
    Ok(())
}
