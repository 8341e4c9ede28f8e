use std::num::NonZeroU16;
use std::panic::{AssertUnwindSafe, catch_unwind};

use moorline_model::placement::Verdict;
use moorline_model::poll::{Body, Classified, Exchange, Interruption, PollFault, classify};
use moorline_model::schedule::{MAX_POLL_LIMIT, Next};
use moorline_model::wire::Envelope;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::ControlPlane;
use super::error::{PollError, TransportCause};
use super::event::{PollEvent, class};
use super::headers::Lines;
use super::log;
use super::state::Begun;
use super::transport::{Received, ReceivedBody, Transport};
use crate::clock::time_of_day;

/// How one poll ended.
#[derive(Debug)]
#[must_use]
pub struct PollReport {
    /// The commands, or why there are none. The caller gets its own result even when the commit was
    /// late.
    pub reply: Result<Envelope, PollError>,
    /// What the commit did to the placement.
    pub verdict: Verdict,
    /// When the head of the response arrived, if one did: the time from which deadlines of its
    /// commands count.
    // spec: CMD-18
    pub arrived: Option<Instant>,
    /// When to poll again.
    pub next: Next,
    /// The attempt as logs and traces show it; `None` when nothing was sent because the caller had
    /// cancelled before.
    pub event: Option<PollEvent>,
}

impl<T: Transport> ControlPlane<T> {
    /// Polls once for at most `limit` commands (more than 25 count as 25): one HTTP attempt.
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
        let _under_way = self.inner.state.hold(&begun);
        let span = log::span(begun.number);
        self.attempt(begun, limit, cancel).instrument(span).await
    }

    async fn attempt(
        &self,
        begun: Begun,
        limit: NonZeroU16,
        cancel: &CancellationToken,
    ) -> PollReport {
        let mut dropped = log::IfDropped::new(begun.number);
        let (received, cancelled) = self.exchange(&begun, limit, cancel).await;
        dropped.ended();
        self.finish(begun, received, cancelled)
    }

    /// Sends the request and reads what comes back, or stops because the caller cancelled. Says, too,
    /// whether the caller has cancelled by then.
    // spec: LOOP-4, LOOP-15, RPT-10
    async fn exchange(
        &self,
        begun: &Begun,
        limit: NonZeroU16,
        cancel: &CancellationToken,
    ) -> (Received, bool) {
        let wait_ms = begun.long_poll.wait_ms();
        let token = begun.attempt.token();
        let limit = limit.get().min(MAX_POLL_LIMIT);
        let Some(request) = self.inner.requests.make(limit, wait_ms, token) else {
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
        let (head_status, arrived) = received.head();
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
        let event = PollEvent {
            sequence: done.sequence,
            attempt: begun.number,
            generation_taken,
            token_sent: begun.token_sent,
            token_offered: done.offered,
            outcome: class,
            fault: fault.map(PollFault::category),
            status: fault.map_or(head_status, PollFault::status),
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
            dropped: reply.as_ref().map_or(0, |envelope| envelope.dropped),
            next_delay_ms: delay_ms(done.next),
            took: done.took,
        };
        log::ended(&event, fault, &self.inner.refusal);
        self.tell_observer(&event);
        PollReport {
            reply: reply.map_err(|fault| PollError::new(fault, cause)),
            verdict: done.verdict,
            arrived,
            next: done.next,
            event: Some(event),
        }
    }
}

impl<T> ControlPlane<T> {
    /// A panic of the observer ends here: it must cost the caller neither its reply nor its loop.
    fn tell_observer(&self, event: &PollEvent) {
        let Some(observer) = self.inner.observer.get() else {
            return;
        };
        if catch_unwind(AssertUnwindSafe(|| observer(event))).is_err() {
            tracing::error!("the observer of polls panicked");
        }
    }
}

impl PollReport {
    fn cancelled_before_start() -> Self {
        Self {
            reply: Err(PollError::new(PollFault::Cancelled, None)),
            verdict: Verdict::Cancelled,
            arrived: None,
            next: Next::Never,
            event: None,
        }
    }
}

/// Hands what the transport brought to the model.
fn classify_received(received: Received, cancelled: bool) -> (Classified, Option<TransportCause>) {
    let now = time_of_day().as_secs();
    let classify = |exchange: Exchange<'_, Lines<'_>>| classify(exchange, cancelled, now);
    match received {
        Received::NotSent(cause) => (classify(Exchange::NotSent), Some(cause)),
        Received::NoHead(by, cause) => (classify(Exchange::NoHead(by)), cause),
        Received::Head {
            status,
            headers,
            body,
            ..
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

impl Received {
    /// Status and time of arrival of the head.
    fn head(&self) -> (Option<u16>, Option<Instant>) {
        match self {
            Self::Head {
                status, arrived, ..
            } => (Some(*status), Some(*arrived)),
            Self::NoHead(..) | Self::NotSent(_) => (None, None),
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
