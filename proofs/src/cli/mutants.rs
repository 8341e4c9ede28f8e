//! What `mutants` does.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::mutants::source::{self, Shard};
use crate::mutants::{Fault, Report, run, workspace};

/// Runs the mutants of the step, and the part of those of the source that is asked for.
///
/// # Errors
///
/// The mutants of the source could not be run.
pub(super) fn report(shard: Option<Shard>) -> Result<Report, source::SourceFault> {
    let bar = bar(Fault::ALL.len() + 1);
    let matrix = run(&|fault| {
        bar.set_message(fault.name());
        bar.inc(1);
    });
    bar.finish_and_clear();
    let source = if let Some(shard) = shard {
        let bar = self::bar(source::stages(shard));
        let tell = |name: &str| {
            bar.set_message(name.to_owned());
            bar.inc(1);
        };
        let run = source::run(&workspace(), shard, &tell)?;
        bar.finish_and_clear();
        Some(run)
    } else {
        None
    };
    Ok(Report { matrix, source })
}

/// Shown only where standard error is a terminal.
fn bar(length: usize) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(length as u64), target).with_style(style)
}
