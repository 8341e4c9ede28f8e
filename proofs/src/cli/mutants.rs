//! What `mutants` does.

use std::io::IsTerminal as _;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::mutants::{Fault, Report, run, source, workspace};

/// Runs the mutants of the step, and those of the source if they are asked for.
///
/// # Errors
///
/// The mutants of the source could not be run.
pub(super) fn report(with_source: bool) -> Result<Report, source::SourceFault> {
    let bar = bar(Fault::ALL.len() + 1);
    let matrix = run(&|fault| {
        bar.set_message(fault.name());
        bar.inc(1);
    });
    bar.finish_and_clear();
    let source = if with_source {
        let bar = self::bar(source::STAGES);
        let tell = |name: &str| {
            bar.set_message(name.to_owned());
            bar.inc(1);
        };
        let run = source::run(&workspace(), &tell)?;
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
