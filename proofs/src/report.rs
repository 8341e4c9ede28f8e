//! What a run of the checks shows, as a table or as JSON.

use std::fmt::Write as _;
use std::time::Duration;

use serde::{Serialize, Serializer};

/// What one method says of one property.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The name of the property.
    pub property: String,
    /// How it was checked.
    pub method: String,
    /// How many states, commits, paths or queries the property was held against. A row without any
    /// shows nothing and counts as failed.
    pub cases: u64,
    /// What is counted.
    pub unit: Unit,
    /// How long the stage took that made this row, the other properties of the same stage included.
    #[serde(rename = "seconds", serialize_with = "seconds")]
    pub took: Duration,
    /// Whether it holds.
    #[serde(flatten)]
    pub result: Conclusion,
}

/// What is counted in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Cases of another kind.
    Cases,
    /// Commits.
    Commits,
    /// Paths of comparisons.
    Paths,
    /// Questions to a solver.
    Queries,
    /// Searches of whole systems.
    Searches,
    /// Distinct states.
    States,
    /// Transitions.
    Transitions,
}

/// Whether a property holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "result", content = "counterexample")]
pub enum Conclusion {
    /// It does in every case.
    Holds,
    /// It does not; the text shows where.
    Fails(String),
}

/// The count of one system by both explorers.
#[derive(Clone, Debug, Serialize)]
pub struct Counted {
    /// The size of the system.
    pub system: String,
    /// Who counted.
    pub method: String,
    /// Distinct states.
    pub states: u64,
    /// Transitions, those to known states included.
    pub transitions: u64,
    /// Actions to the farthest state.
    pub depth: usize,
    /// How long the search took.
    #[serde(rename = "seconds", serialize_with = "seconds")]
    pub took: Duration,
    /// Whether these are the counts that are expected.
    pub as_expected: bool,
}

/// All that a run shows.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// The systems that were searched.
    pub systems: Vec<Counted>,
    /// What was found of each property.
    pub rows: Vec<Row>,
    /// Results worth telling beside the properties.
    pub notes: Vec<String>,
}

impl Row {
    /// A property that holds in so many cases. None at all is a failure.
    #[must_use]
    pub fn holds(property: &str, method: &str, (cases, unit): (u64, Unit), took: Duration) -> Self {
        let result = match cases {
            0 => Conclusion::Fails("nothing was checked".to_owned()),
            _ => Conclusion::Holds,
        };
        Self {
            property: property.to_owned(),
            method: method.to_owned(),
            cases,
            unit,
            took,
            result,
        }
    }

    /// A property that does not hold, and where.
    #[must_use]
    pub fn fails(
        property: &str,
        method: &str,
        (cases, unit): (u64, Unit),
        took: Duration,
        counterexample: String,
    ) -> Self {
        Self {
            result: Conclusion::Fails(counterexample),
            ..Self::holds(property, method, (cases, unit), took)
        }
    }

    /// A property that holds unless there is a counterexample.
    #[must_use]
    pub fn judged(
        property: &str,
        method: &str,
        cases: (u64, Unit),
        took: Duration,
        counterexample: Option<String>,
    ) -> Self {
        match counterexample {
            None => Self::holds(property, method, cases, took),
            Some(counterexample) => Self::fails(property, method, cases, took, counterexample),
        }
    }

    /// Whether it holds.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.result == Conclusion::Holds && self.cases > 0
    }
}

impl Report {
    /// Whether anything was checked and all of it holds.
    #[must_use]
    pub fn passed(&self) -> bool {
        !self.rows.is_empty()
            && self.rows.iter().all(Row::passed)
            && self.systems.iter().all(|counted| counted.as_expected)
    }

    /// The names of the properties that fail, each once.
    #[must_use]
    pub fn failed(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in self.rows.iter().filter(|row| !row.passed()) {
            if !names.contains(&row.property.as_str()) {
                names.push(&row.property);
            }
        }
        names
    }

    /// The report as JSON, with a member `passed`.
    ///
    /// # Errors
    ///
    /// None that is known of: every part can be written.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        let told = Told {
            passed: self.passed(),
            report: self,
        };
        serde_json::to_string_pretty(&told)
    }

    /// The report as text: systems, properties, notes, then what fails.
    #[must_use]
    pub fn table(&self) -> String {
        let mut text = String::new();
        self.put_systems(&mut text);
        self.put_rows(&mut text);
        for note in &self.notes {
            let _ = writeln!(text, "{note}");
        }
        self.put_failures(&mut text);
        text
    }

    fn put_systems(&self, text: &mut String) {
        if self.systems.is_empty() {
            return;
        }
        let _ = writeln!(
            text,
            "{:<40} {:<16} {:>9} {:>12} {:>6} {:>8}  counts",
            "system", "method", "states", "transitions", "depth", "time"
        );
        for counted in &self.systems {
            let _ = writeln!(
                text,
                "{:<40} {:<16} {:>9} {:>12} {:>6} {:>7.2}s  {}",
                counted.system,
                counted.method,
                counted.states,
                counted.transitions,
                counted.depth,
                counted.took.as_secs_f64(),
                if counted.as_expected {
                    "as pinned"
                } else {
                    "NOT AS PINNED"
                }
            );
        }
        text.push('\n');
    }

    /// Rows of one property stand together, in the order in which properties first appear.
    fn put_rows(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "{:<48} {:<16} {:>12} {:<12} {:>7}  result",
            "property", "method", "cases", "", "time"
        );
        let mut told: Vec<&str> = Vec::new();
        for first in &self.rows {
            if told.contains(&first.property.as_str()) {
                continue;
            }
            told.push(&first.property);
            let of_property = self
                .rows
                .iter()
                .filter(|row| row.property == first.property);
            for (index, row) in of_property.enumerate() {
                let name = if index == 0 {
                    row.property.as_str()
                } else {
                    ""
                };
                let _ = writeln!(
                    text,
                    "{name:<48} {:<16} {:>12} {:<12} {:>6.2}s  {}",
                    row.method,
                    row.cases,
                    row.unit.name(),
                    row.took.as_secs_f64(),
                    if row.passed() { "holds" } else { "FAILS" }
                );
            }
        }
        text.push('\n');
    }

    fn put_failures(&self, text: &mut String) {
        for row in &self.rows {
            if let Conclusion::Fails(counterexample) = &row.result {
                let _ = writeln!(
                    text,
                    "\n{} fails ({}):\n{counterexample}",
                    row.property, row.method
                );
            }
        }
        let rows = self.rows.len();
        let _ = if self.passed() {
            writeln!(text, "All {rows} rows hold.")
        } else {
            writeln!(text, "\nNot shown: {}.", self.failed().join(", "))
        };
    }
}

#[derive(Serialize)]
struct Told<'a> {
    passed: bool,
    #[serde(flatten)]
    report: &'a Report,
}

impl Unit {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cases => "cases",
            Self::Commits => "commits",
            Self::Paths => "paths",
            Self::Queries => "queries",
            Self::Searches => "searches",
            Self::States => "states",
            Self::Transitions => "transitions",
        }
    }
}

// The signature is serde's.
fn seconds<S: Serializer>(took: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cases: u64) -> Row {
        Row::holds("a", "m", (cases, Unit::States), Duration::ZERO)
    }

    #[test]
    fn nothing_checked_is_a_failure() {
        assert!(!Report::default().passed());
        assert!(!row(0).passed());
        let report = Report {
            rows: vec![row(1), row(0)],
            ..Report::default()
        };
        assert!(!report.passed());
        assert_eq!(report.failed(), ["a"]);
        assert!(report.table().contains("nothing was checked"));
    }

    #[test]
    fn counts_that_are_not_pinned_fail_the_run() {
        let counted = Counted {
            system: "s".to_owned(),
            method: "m".to_owned(),
            states: 1,
            transitions: 1,
            depth: 1,
            took: Duration::ZERO,
            as_expected: false,
        };
        let report = Report {
            systems: vec![counted],
            rows: vec![row(1)],
            notes: Vec::new(),
        };
        assert!(!report.passed());
        assert!(report.table().contains("NOT AS PINNED"));
    }

    #[test]
    fn the_table_names_what_fails_and_where() {
        let fails = Row::fails(
            "b",
            "m",
            (3, Unit::Commits),
            Duration::ZERO,
            "there".to_owned(),
        );
        let report = Report {
            rows: vec![row(1), fails],
            ..Report::default()
        };
        assert!(
            report
                .table()
                .ends_with("b fails (m):\nthere\n\nNot shown: b.\n")
        );
        let json: String = report.json().unwrap().split_whitespace().collect();
        assert!(
            json.starts_with(r#"{"passed":false,"systems":[]"#),
            "{json}"
        );
        assert!(
            json.contains(r#""result":"fails","counterexample":"there""#),
            "{json}"
        );
    }
}
