use std::time::Duration;

use moorline_model::deadline::ResponseDeadline;
use tokio::time::Instant;

use crate::control_plane::Queued;

/// How long a command may be answered, counted from its receipt.
#[derive(Clone, Copy)]
pub(super) struct Wait {
    received: Instant,
    deadline: ResponseDeadline,
}

impl Wait {
    // spec: CMD-18
    pub(super) fn of(queued: &Queued) -> Self {
        let timeout = queued.command.response_timeout;
        Self {
            received: queued.arrived,
            deadline: ResponseDeadline::new(Duration::ZERO, timeout),
        }
    }

    /// The same, but no longer than a connection of `ttl` that begins now.
    pub(super) fn capped(self, ttl: Duration) -> Self {
        Self {
            deadline: self.deadline.capped(self.received.elapsed(), ttl),
            ..self
        }
    }

    /// How long ago the command was received.
    pub(super) fn elapsed(self) -> Duration {
        self.received.elapsed()
    }

    /// Whether nobody waits for the answer any more.
    // spec: CMD-19
    pub(super) fn is_over(self) -> bool {
        self.deadline.expired(self.received.elapsed())
    }

    /// When it is over. `None`, too, for a time that no clock will reach.
    pub(super) fn end(self) -> Option<Instant> {
        self.received.checked_add(self.deadline.at()?)
    }
}
