//! What the logs say of a poll: names and numbers of the model, and nothing that the service wrote.

use std::sync::atomic::AtomicU16;
use std::sync::atomic::Ordering::Relaxed;

use moorline_model::poll::PollFault;
use tracing::Span;
use tracing::field::Empty;

use super::event::PollEvent;

/// The span of one attempt; its verdict is recorded when it has ended.
pub(super) fn span(attempt: u64) -> Span {
    tracing::debug_span!("poll", attempt, verdict = Empty)
}

/// The status with which the service refused the credentials in the last attempt; 0 if it did not.
#[derive(Default)]
pub(super) struct Refusal(AtomicU16);

impl Refusal {
    /// Whether this attempt was refused otherwise than the one before it. A poll that was cancelled shows nothing.
    fn is_new(&self, fault: Option<PollFault>) -> bool {
        if fault == Some(PollFault::Cancelled) {
            return false;
        }
        let refused = fault.filter(|fault| fault.refuses_credentials());
        let status = refused.and_then(PollFault::status).unwrap_or(0);
        let before = self.0.swap(status, Relaxed);
        status != 0 && status != before
    }
}

/// One line an attempt. What went well is a matter for debugging, what did not is information, and
/// what somebody has to act on is a warning, once until it changes.
// spec: PRIV-1, LOOP-14
pub(super) fn ended(event: &PollEvent, fault: Option<PollFault>, refusal: &Refusal) {
    Span::current().record("verdict", event.verdict.name());
    macro_rules! emit {
        ($level:ident) => {
            tracing::$level!(
                sequence = event.sequence,
                attempt = event.attempt,
                verdict = event.verdict.name(),
                fault = event.fault,
                status = event.status,
                revision = event.revision.map(|revision| revision.get()),
                corrections = event.corrections,
                failures = event.failures,
                generation = event.generation,
                has_token = event.has_token,
                commands = event.commands,
                next_delay_ms = event.next_delay_ms,
                "poll ended"
            )
        };
    }
    match fault {
        None | Some(PollFault::Cancelled) => emit!(debug),
        Some(_) => emit!(info),
    }
    if event.dropped > 0 {
        tracing::warn!(
            dropped = event.dropped,
            "commands dropped: they could not be read"
        );
    }
    if refusal.is_new(fault) {
        tracing::warn!("the service refuses the credentials: check the API key and the tunnel id");
    }
}

/// Leaves a trace of a poll whose future was dropped, which ends without a report.
pub(super) struct IfDropped {
    attempt: u64,
    ended: bool,
}

impl IfDropped {
    pub(super) fn new(attempt: u64) -> Self {
        Self {
            attempt,
            ended: false,
        }
    }

    pub(super) fn ended(&mut self) {
        self.ended = true;
    }
}

impl Drop for IfDropped {
    fn drop(&mut self) {
        if !self.ended {
            tracing::debug!(
                attempt = self.attempt,
                verdict = "cancelled",
                "poll dropped"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec-test: LOOP-14
    #[test]
    fn a_refusal_is_warned_of_once_until_it_changes() {
        let refusal = Refusal::default();
        let refused = |status| Some(PollFault::Status(status));
        for (fault, warns) in [
            (refused(401), true),
            (refused(401), false),
            (Some(PollFault::Cancelled), false),
            (refused(401), false),
            (refused(403), true),
            (refused(503), false),
            (refused(403), true),
            (None, false),
            (refused(401), true),
        ] {
            assert_eq!(refusal.is_new(fault), warns, "{fault:?}");
        }
    }
}
