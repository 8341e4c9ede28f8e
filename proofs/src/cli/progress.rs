use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::check::{Lane, Progress};

/// Two lines that say what is being done; none where standard error is no terminal.
pub(super) struct Lines {
    own: ProgressBar,
    stateright: ProgressBar,
}

impl Lines {
    pub(super) fn new() -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let lines = MultiProgress::with_draw_target(target);
        let line = |name: &'static str| {
            let style = ProgressStyle::with_template("{spinner} {prefix:<12} {msg} {elapsed}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner());
            let line = lines.add(ProgressBar::new_spinner().with_style(style));
            line.set_prefix(name);
            line.enable_steady_tick(Duration::from_millis(200));
            line
        };
        Self {
            own: line("own checks"),
            stateright: line("stateright"),
        }
    }

    pub(super) fn finish(&self) {
        self.own.finish_and_clear();
        self.stateright.finish_and_clear();
    }
}

impl Progress for Lines {
    fn stage(&self, lane: Lane, name: &str) {
        let line = match lane {
            Lane::Own => &self.own,
            Lane::Stateright => &self.stateright,
        };
        line.set_message(name.to_owned());
    }
}
