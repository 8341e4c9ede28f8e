//! The matrix and the mutants of the source, as text or as JSON.

use std::fmt::Write as _;

use serde::Serialize;

use super::columns::{Cell, Column, Method};
use super::matrix::{Matrix, Row};
use super::reviewed::{REVIEWED, Reviewed};
use super::source::{Group, Ran, Shard, SourceRun, mutants};

/// All that a run of the mutants shows.
#[derive(Clone, Debug)]
pub struct Report {
    /// The mutants of the step.
    pub matrix: Matrix,
    /// Those of the source, if they were run.
    pub source: Option<SourceRun>,
}

impl Report {
    /// Everything that is not as it must be; none if all mutants are killed as expected.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let of_matrix = self.matrix.problems();
        let of_matrix = of_matrix.iter().map(ToString::to_string);
        let of_source = self.source.iter().flat_map(SourceRun::problems);
        of_matrix
            .chain(of_source.map(|problem| problem.to_string()))
            .collect()
    }

    /// The report as text. The last line counts the mutants.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.matrix.table();
        if let Some(source) = &self.source {
            text.push('\n');
            text.push_str(&source_table(source));
        }
        text.push('\n');
        let problems = self.problems();
        for problem in &problems {
            let _ = writeln!(text, "problem: {problem}");
        }
        if self.source.is_none() {
            let waiting = mutants().count();
            let _ = writeln!(
                text,
                "({waiting} source mutants were not asked for: --source)"
            );
        }
        let result = match problems.len() {
            0 => "all killed".to_owned(),
            count => format!("{count} problems"),
        };
        let _ = writeln!(text, "mutants: {}, {result}", self.counts());
        text
    }

    fn counts(&self) -> String {
        let step = self.matrix.rows.len();
        let source = self.source.as_ref();
        let all = source.map_or(0, |source| source.rows.len());
        let shell = source.map_or(0, |source| source.count(Group::Shell));
        let counts = format!("{step} step mutants, {all} source mutants ({shell} of the shell)");
        match source {
            Some(source) if source.shard != Shard::WHOLE => {
                format!("{counts} in shard {}", source.shard)
            }
            _ => counts,
        }
    }

    /// The report as JSON.
    ///
    /// # Errors
    ///
    /// None that is known of: every part can be written.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        let problems = self.problems();
        serde_json::to_string_pretty(&Told {
            passed: problems.is_empty(),
            step_mutants: self.matrix.rows.iter().map(|row| self.told(row)).collect(),
            source_mutants: self.source.as_ref().map(told_source),
            checks: &self.matrix.columns,
            reviewed: &REVIEWED,
            problems,
        })
    }

    fn told<'a>(&'a self, row: &'a Row) -> ToldStep<'a> {
        ToldStep {
            name: row.fault.name(),
            statement: row.fault.statement(),
            killed_by: self.matrix.killers(row).collect(),
        }
    }
}

#[derive(Serialize)]
struct Told<'a> {
    passed: bool,
    problems: Vec<String>,
    checks: &'a [Column],
    step_mutants: Vec<ToldStep<'a>>,
    reviewed: &'a [Reviewed],
    source_mutants: Option<Vec<ToldSource<'a>>>,
}

#[derive(Serialize)]
struct ToldStep<'a> {
    name: &'a str,
    statement: &'a str,
    killed_by: Vec<&'a Column>,
}

#[derive(Serialize)]
struct ToldSource<'a> {
    name: &'a str,
    group: Group,
    file: &'a str,
    suite: &'a str,
    expected: &'a [&'a str],
    ran: &'a Ran,
    seconds: f64,
}

fn told_source(source: &SourceRun) -> Vec<ToldSource<'_>> {
    let rows = source.rows.iter();
    rows.map(|row| ToldSource {
        name: row.mutant.name,
        group: row.mutant.group(),
        file: row.mutant.file,
        suite: row.mutant.suite.name(),
        expected: row.mutant.killers,
        ran: &row.ran,
        seconds: row.took.as_secs_f64(),
    })
    .collect()
}

impl Matrix {
    /// The matrix as text: a letter for each method, a mark for each of its checks, and the first check that
    /// notices; then what is reviewed.
    #[must_use]
    pub fn table(&self) -> String {
        let methods = self.methods();
        let mut text = String::new();
        for (letter, method) in ('A'..).zip(&methods) {
            let checks = self.of(*method).map(|(column, _)| column.check);
            let checks: Vec<&str> = checks.collect();
            let _ = writeln!(text, "{letter}: {} ({})", method.name(), checks.len());
            let _ = writeln!(text, "   {}", checks.join(" "));
        }
        text.push_str(
            "x breaks and so kills, . holds, - speaks of nothing, ! could not be carried out\n\n",
        );
        let _ = write!(text, "{:<30}", "mutant");
        for (letter, method) in ('A'..).zip(&methods) {
            let width = self.of(*method).count();
            let _ = write!(text, " {letter:<width$}");
        }
        text.push_str(" first killed by\n");
        for row in std::iter::once(&self.baseline).chain(&self.rows) {
            self.put_row(row, &methods, &mut text);
        }
        text.push_str("\nchecks that never are the only one of their method, reviewed\n");
        for review in &REVIEWED {
            let method = |on| Method {
                kind: review.kind,
                on,
            };
            let methods: Vec<&str> = review.on.iter().map(|on| method(*on).name()).collect();
            let (check, methods) = (review.check, methods.join("; "));
            let _ = writeln!(text, "{check} ({methods}):\n   {}", review.reason);
        }
        text
    }

    fn put_row(&self, row: &Row, methods: &[Method], text: &mut String) {
        let _ = write!(text, "{:<30}", row.fault);
        for method in methods {
            text.push(' ');
            text.extend(self.of(*method).map(|(_, index)| mark(row, index)));
        }
        match self.killers(row).next() {
            Some(first) => {
                let _ = writeln!(text, " {}", first.check);
            }
            None => text.push_str(" -\n"),
        }
        for report in &row.reports {
            let _ = writeln!(text, "    {report}");
        }
    }

    fn methods(&self) -> Vec<Method> {
        let mut methods: Vec<Method> = self.columns.iter().map(|column| column.method).collect();
        methods.dedup();
        methods
    }

    /// The columns of a method, with their places.
    fn of(&self, method: Method) -> impl Iterator<Item = (&Column, usize)> {
        let columns = self.columns.iter().zip(0..);
        columns.filter(move |(column, _)| column.method == method)
    }
}

fn mark(row: &Row, index: usize) -> char {
    match row.cells.get(index) {
        Some(Cell::Broken) => 'x',
        Some(Cell::Holds) => '.',
        Some(Cell::Silent) => '-',
        Some(Cell::Failed) | None => '!',
    }
}

fn source_table(source: &SourceRun) -> String {
    let mut text = String::new();
    for (suite, ran) in &source.baseline {
        let _ = writeln!(text, "{suite} without a mutant: {ran}");
    }
    for group in Group::ALL {
        if source.count(group) > 0 {
            put_group(source, group, &mut text);
        }
    }
    let seconds = source.took.as_secs_f64();
    let _ = writeln!(
        text,
        "\n{seconds:.0} s in all, tests without a mutant included"
    );
    text
}

fn put_group(source: &SourceRun, group: Group, text: &mut String) {
    let _ = writeln!(
        text,
        "\n{:<62} {:<9} {:>5}  tests that fail",
        format!("wrong source: {group}"),
        "suite",
        "s"
    );
    for row in source.of(group) {
        let (name, suite) = (row.mutant.name, row.mutant.suite);
        let (seconds, failures) = (row.took.as_secs_f64(), row.ran.failures().join(", "));
        let _ = writeln!(text, "{name:<62} {suite:<9} {seconds:>5.1}  {failures}");
    }
    let took: f64 = source.of(group).map(|row| row.took.as_secs_f64()).sum();
    let count = source.count(group);
    let each = took / f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    let _ = writeln!(text, "{count} mutants of {group}, {each:.1} s each");
}
