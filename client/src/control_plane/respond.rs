use std::future::ready;
use std::num::NonZeroU16;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use moorline_model::delivery::{
    ATTEMPT_TIMEOUT, Delivery, DeliveryFault, DeliveryStep, PostOutcome,
};
use moorline_model::poll::SHARD_TOKEN_HEADER;
use moorline_model::wire::{CommandToken, ResponseBody};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::ControlPlane;
use super::headers::Lines;
use super::transport::{Deliver, Received, RequestHead, Sent};
use crate::clock::time_of_day;

/// The header that echoes the command's own `X-Request-Id`.
// spec: CMD-11
const CLIENT_REQUEST_ID: HeaderName = HeaderName::from_static("x-client-request-id");

/// One message about a command: a notification or its answer, ready to be sent as often as needed.
pub struct Response {
    token: HeaderValue,
    client_request_id: Option<HeaderValue>,
    body: Bytes,
    is_final: bool,
}

/// A message that the service has, or had already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The service had an answer to this command already.
    pub already_fulfilled: bool,
    /// How many attempts it took, 1 to 3.
    pub attempts: NonZeroU16,
}

/// A message that was not delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undelivered {
    /// Why.
    pub fault: DeliveryFault,
    /// How many attempts were made, 0 to 3.
    pub attempts: u16,
}

impl Response {
    /// A message with the command's own token, byte for byte. `x_request_id` is the value of the
    /// command's header `X-Request-Id`, if it has one. `None` for a token that no header can carry,
    /// which no command has that was read from an envelope.
    // spec: CMD-6, CMD-8, CMD-11
    #[must_use]
    pub fn new(
        token: &CommandToken,
        x_request_id: Option<&str>,
        body: &ResponseBody<'_>,
    ) -> Option<Self> {
        let mut token = HeaderValue::from_bytes(token.expose().as_bytes()).ok()?;
        token.set_sensitive(true);
        Some(Self {
            token,
            // One that no header can carry is left out: it helps nobody but those who search logs.
            client_request_id: x_request_id.and_then(|id| HeaderValue::from_str(id).ok()),
            body: body.to_json().into(),
            is_final: body.kind.is_final(),
        })
    }

    /// Whether it answers its command.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.is_final
    }
}

/// Prints no content: token and answer are somebody else's.
impl std::fmt::Debug for Response {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Response")
            .field("is_final", &self.is_final)
            .finish_non_exhaustive()
    }
}

impl<T: Deliver> ControlPlane<T> {
    /// Delivers one message about a command, in at most three attempts that send the same bytes. The
    /// placement is neither read nor changed.
    ///
    /// # Errors
    ///
    /// Why the message was given up. Nothing that the service wrote is in it.
    ///
    /// # Cancellation
    ///
    /// `cancel` and `deadline` end an attempt and the wait before it at once, unless the head of a
    /// response has come by the deadline. Dropping the future does so too; the service may then have
    /// the message or not.
    // spec: CMD-5, CMD-7, CMD-13, CMD-15, CMD-42
    pub async fn respond(
        &self,
        response: &Response,
        deadline: Option<Instant>,
        cancel: &CancellationToken,
    ) -> Result<Delivered, Undelivered> {
        let mut delivery = Delivery::new(response.is_final);
        let mut attempts: u16 = 0;
        loop {
            let (outcome, hint) = tokio::select! {
                biased;
                () = cancel.cancelled() => (PostOutcome::Cancelled, None),
                () = ready(()), if is_past(deadline) => (PostOutcome::DeadlinePassed, None),
                attempt = self.post(response, deadline) => {
                    attempts = attempts.saturating_add(1);
                    attempt
                }
            };
            match delivery.after(outcome) {
                DeliveryStep::Accepted => return Ok(delivered(false, attempts)),
                DeliveryStep::AlreadyFulfilled => return Ok(delivered(true, attempts)),
                DeliveryStep::GiveUp(fault) => return Err(Undelivered { fault, attempts }),
                DeliveryStep::Retry { .. } => {
                    let delay = delivery.delay(self.inner.backoff, hint, self.inner.state.draw());
                    tokio::select! {
                        biased;
                        () = cancel.cancelled() => {}
                        () = sleep_until(first(Instant::now() + delay, deadline)) => {}
                    }
                }
            }
        }
    }

    /// One attempt, and what the response asks to wait for. It ends by the deadline, but an answer of
    /// which the head has come then is one.
    async fn post(
        &self,
        response: &Response,
        deadline: Option<Instant>,
    ) -> (PostOutcome, Option<Duration>) {
        let mut headers = self.inner.requests.common();
        headers.insert(SHARD_TOKEN_HEADER, response.token.clone());
        if let Some(id) = &response.client_request_id {
            headers.insert(CLIENT_REQUEST_ID, id.clone());
        }
        let json = HeaderValue::from_static("application/json");
        headers.insert(http::header::CONTENT_TYPE, json);
        let request = RequestHead {
            url: self.inner.requests.response_url(),
            headers,
        };
        let end = first(Instant::now() + ATTEMPT_TIMEOUT, deadline);
        let sent = self
            .inner
            .transport
            .send(Method::POST, request, response.body.clone(), end)
            .await;
        outcome(&sent, is_past(deadline))
    }
}

/// The status counts once there is a head, whatever becomes of the body.
fn outcome(sent: &Sent, too_late: bool) -> (PostOutcome, Option<Duration>) {
    match &sent.received {
        Received::NotSent(_) | Received::NoHead(..) => {
            (PostOutcome::without_head(sent.written, too_late), None)
        }
        Received::Head {
            status, headers, ..
        } => (PostOutcome::Status(*status), hint(headers)),
    }
}

fn hint(headers: &HeaderMap) -> Option<Duration> {
    Delivery::hint(&Lines(headers), time_of_day().as_secs())
}

fn delivered(already_fulfilled: bool, attempts: u16) -> Delivered {
    Delivered {
        already_fulfilled,
        attempts: NonZeroU16::new(attempts).unwrap_or(NonZeroU16::MIN),
    }
}

fn is_past(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| deadline <= Instant::now())
}

fn first(end: Instant, deadline: Option<Instant>) -> Instant {
    deadline.map_or(end, |deadline| end.min(deadline))
}
