use std::num::NonZeroU16;
use std::time::{SystemTime, UNIX_EPOCH};

use moorline_model::placement::Verdict;
use moorline_model::poll::{Body, Classified, Exchange, Interruption, PollFault, classify};
use moorline_model::schedule::Next;
use moorline_model::wire::Envelope;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ControlPlane;
use super::error::{PollError, TransportCause};
use super::event::{PollEvent, class, fault_parts};
use super::headers::Lines;
use super::state::Begun;
use super::transport::{Received, ReceivedBody, Transport};

/// How one poll ended.
#[derive(Debug)]
#[must_use]
pub struct PollReport {
    /// The commands, or why there are none. The caller gets its own result even when the commit was
    /// late.
    pub reply: Result<Envelope, PollError>,
    /// What the commit did to the placement.
    pub verdict: Verdict,
    /// When to poll again.
    pub next: Next,
    /// The attempt as logs and traces show it; `None` when nothing was sent because the caller had
    /// cancelled before.
    pub event: Option<PollEvent>,
}

impl<T: Transport> ControlPlane<T> {
    /// Polls once for at most `limit` commands: one HTTP attempt.
    ///
    /// # Cancellation
    ///
    /// Cancelling `cancel` ends the poll at once and commits nothing, unless a success was read to
    /// its end already. Dropping the future does the same and reports nothing.
    // spec: REQ-9, REQ-10
    pub async fn poll(&self, limit: NonZeroU16, cancel: &CancellationToken) -> PollReport {
        if cancel.is_cancelled() {
            return PollReport::cancelled_before_start();
        }
        let begun = self.inner.state.begin();
        let mut dropped = LogIfDropped {
            attempt: begun.number,
            ended: false,
        };
        let (received, cancelled) = self.exchange(&begun, limit, cancel).await;
        dropped.ended = true;
        self.finish(begun, received, cancelled)
    }

    /// Sends the request and reads what comes back, or stops because the caller cancelled. Says, too,
    /// whether the caller has cancelled by then.
    // spec: LOOP-4, LOOP-15
    async fn exchange(
        &self,
        begun: &Begun,
        limit: NonZeroU16,
        cancel: &CancellationToken,
    ) -> (Received, bool) {
        let wait_ms = begun.long_poll.wait_ms();
        let token = begun.attempt.token();
        let Some(request) = self.inner.requests.make(limit.get(), wait_ms, token) else {
            return (
                Received::NotSent(TransportCause::new("the token fits no header")),
                false,
            );
        };
        let deadline = Instant::now() + begun.long_poll.deadline();
        let exchange = self
            .inner
            .transport
            .get(request, deadline, self.inner.envelope_limit);
        tokio::select! {
            biased;
            received = exchange => (received, cancel.is_cancelled()),
            // Abandoned: an error of no further kind, which the model reports as cancelled.
            () = cancel.cancelled() => (Received::NoHead(Interruption::Network, None), true),
        }
    }

    /// Classifies and commits, with no await in between, then tells whoever listens. The report holds
    /// the reply whatever became of the commit.
    // spec: PLC-6
    fn finish(&self, begun: Begun, received: Received, cancelled: bool) -> PollReport {
        let (classified, cause) = classify_received(received, cancelled);
        let Classified {
            outcome,
            reply,
            retry_after,
        } = classified;
        let class = class(&outcome);
        let fault = reply.as_ref().err().copied();
        let result = fault.map_or(Ok(()), Err);
        let taken = begun.at();
        let generation_taken = begun.attempt.generation().get();
        let done = self
            .inner
            .state
            .commit(begun.attempt, taken, outcome, result, retry_after);
        let (fault_name, status) = fault_parts(fault);
        let event = PollEvent {
            sequence: done.sequence,
            attempt: begun.number,
            generation_taken,
            token_sent: begun.token_sent,
            token_offered: done.offered,
            outcome: class,
            fault: fault_name,
            status,
            revision: match fault {
                Some(PollFault::Correction { revision }) => Some(revision),
                _ => None,
            },
            verdict: done.verdict,
            watermark: done.placed.watermark,
            corrections: done.placed.corrections,
            failures: done.placed.failures,
            generation: done.placed.generation.get(),
            has_token: done.placed.has_token,
            commands: reply.as_ref().map_or(0, |envelope| envelope.commands.len()),
            next_delay_ms: delay_ms(done.next),
        };
        log(&event, fault);
        if let Some(observer) = self.inner.observer.get() {
            observer(&event);
        }
        PollReport {
            reply: reply.map_err(|fault| PollError::new(fault, cause)),
            verdict: done.verdict,
            next: done.next,
            event: Some(event),
        }
    }
}

impl PollReport {
    fn cancelled_before_start() -> Self {
        Self {
            reply: Err(PollError::new(PollFault::Cancelled, None)),
            verdict: Verdict::Cancelled,
            next: Next::Never,
            event: None,
        }
    }
}

/// Hands what the transport brought to the model.
fn classify_received(received: Received, cancelled: bool) -> (Classified, Option<TransportCause>) {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let classify = |exchange: Exchange<'_, Lines<'_>>| classify(exchange, cancelled, now);
    match received {
        Received::NotSent(cause) => (classify(Exchange::NotSent), Some(cause)),
        Received::NoHead(by, cause) => (classify(Exchange::NoHead(by)), cause),
        Received::Head {
            status,
            headers,
            body,
        } => {
            let headers = &Lines(&headers);
            let classified = classify(Exchange::Head {
                status,
                headers,
                body: body.as_body(),
            });
            (classified, body.into_cause())
        }
    }
}

impl ReceivedBody {
    fn as_body(&self) -> Body<'_> {
        match self {
            Self::Complete(bytes) => Body::Complete(bytes),
            Self::Interrupted(by, _) => Body::Interrupted(*by),
            Self::OverLimit => Body::OverLimit,
            Self::Unread => Body::Unread,
        }
    }

    fn into_cause(self) -> Option<TransportCause> {
        match self {
            Self::Interrupted(_, cause) => cause,
            Self::Complete(_) | Self::OverLimit | Self::Unread => None,
        }
    }
}

fn delay_ms(next: Next) -> Option<u64> {
    match next {
        Next::After(delay) => Some(u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)),
        Next::AtOnce => Some(0),
        Next::Never => None,
    }
}

/// One log line an attempt, by verdict. What went well is a matter for debugging; what an operator
/// may want to act on is a warning.
// spec: PRIV-1, LOOP-14
fn log(event: &PollEvent, fault: Option<PollFault>) {
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
        Some(PollFault::Correction { .. }) => emit!(info),
        Some(_) => emit!(warn),
    }
    if fault.is_some_and(PollFault::refuses_credentials) {
        tracing::error!("the service refuses the credentials: check the API key and the tunnel id");
    }
}

/// Leaves a trace of a poll whose future was dropped, which ends without a report.
struct LogIfDropped {
    attempt: u64,
    ended: bool,
}

impl Drop for LogIfDropped {
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
