//! Checks that contact the service.

use std::num::NonZeroU16;

use moorline_model::poll::PollFault;
use moorline_model::wire::{FailureSource, TunnelFailure};
use tokio_util::sync::CancellationToken;

use super::report::Check;
use crate::target::failure_of;
use crate::{ControlPlane, MetadataFault};

const METADATA: &str = "control plane";
const POLL: &str = "poll";

/// Asks for the tunnel's metadata, which takes no command.
// spec: RPT-2
pub(super) async fn metadata(client: &ControlPlane) -> Check {
    match client.metadata().await {
        Ok(()) => Check::pass(
            METADATA,
            "the service knows the tunnel and takes the API key",
        ),
        Err(MetadataFault::Status(status)) => of_status(METADATA, status),
        Err(MetadataFault::Timeout) => no_answer(
            METADATA,
            TunnelFailure::without_answer(FailureSource::Timeout),
        ),
        Err(fault @ MetadataFault::NoAnswer(_)) => of_cause(METADATA, fault.cause()),
    }
}

pub(super) fn no_poll() -> Check {
    Check::skip(
        POLL,
        "a poll may bring a command, which nobody would answer then",
    )
    .then("--poll makes one, if that does no harm")
}

/// Polls once.
pub(super) async fn poll(client: &ControlPlane) -> Check {
    let report = client
        .poll(NonZeroU16::MIN, &CancellationToken::new())
        .await;
    let error = match report.reply {
        Ok(envelope) if envelope.commands.is_empty() && envelope.dropped == 0 => {
            return Check::pass(POLL, "the service answered: nothing to do");
        }
        Ok(_) => {
            return Check::pass(
                POLL,
                "the service answered with a command, which is lost now",
            )
            .then("whoever waits for its answer has to ask again");
        }
        Err(error) => error,
    };
    match error.fault() {
        PollFault::Correction { .. } => Check::pass(
            POLL,
            "the service answered with a routing correction, as it may: a client that runs \
             follows it",
        ),
        PollFault::Status(status) => of_status(POLL, status),
        PollFault::NoHead(_) => of_cause(POLL, error.cause()),
        fault => Check::fail(POLL, fault.to_string())
            .then("check what is between this machine and the service, and the endpoint's path"),
    }
}

fn of_status(name: &str, status: u16) -> Check {
    let (what, next) = match status {
        300..=399 => (
            "the configured endpoint sends its callers elsewhere, which no request follows",
            "configure the address that it should be, without redirects",
        ),
        401 => (
            "the service does not take the API key",
            "check the key: is it whole, of this service, and not withdrawn?",
        ),
        403 => (
            "the API key is known, and has no right to this tunnel",
            "give the key the right to use the tunnel, or check the tunnel id",
        ),
        404 => (
            "the service knows no such tunnel, or nothing under this path",
            "check the tunnel id, and the path of the endpoint",
        ),
        407 => (
            "a proxy wants credentials",
            "give them in the proxy's URL: CONTROL_PLANE_HTTP_PROXY=env:NAME",
        ),
        429 => (
            "the service has had too many requests",
            "wait, and look for other clients with the same key",
        ),
        500..=599 => (
            "the configured endpoint is there, and out of order",
            "try again later; a client that runs goes on trying by itself",
        ),
        _ => (
            "the configured endpoint gave an answer that is no service's",
            "check the endpoint: does it name the service, and its path?",
        ),
    };
    Check::fail(name, format!("status {status}: {what}")).then(next)
}

fn of_cause(name: &str, cause: Option<&(dyn std::error::Error + Send + Sync + 'static)>) -> Check {
    let failure = cause
        .and_then(|cause| cause.downcast_ref::<reqwest::Error>())
        .map_or(
            TunnelFailure::without_answer(FailureSource::TransportClosed),
            |error| failure_of(error, false),
        );
    no_answer(name, failure)
}

/// No answer at all; the stage at which it ended says what to look at.
fn no_answer(name: &str, failure: TunnelFailure) -> Check {
    let (what, next) = match failure.source {
        FailureSource::Dns => (
            "the name of the configured endpoint cannot be resolved",
            "check its spelling, and this machine's name service",
        ),
        FailureSource::Connect => (
            "no connection to the configured endpoint",
            "check the host, the port, and http or https; is a firewall or a proxy in the way?",
        ),
        FailureSource::Tls if failure.transport_error_kind == Some("invalid_message") => (
            "what is at the configured endpoint does not speak https",
            "is it plain http, or something else at this port? Check the port and the endpoint",
        ),
        FailureSource::Tls => (
            "the connection to the configured endpoint cannot be secured",
            "if its certificate comes from an authority of your own, name that with CA_BUNDLE",
        ),
        FailureSource::Timeout => (
            "the configured endpoint does not answer in time",
            "check whether a firewall swallows the connection",
        ),
        _ => (
            "the connection to the configured endpoint broke before an answer",
            "check what is between this machine and the service: https and http mixed up, a proxy?",
        ),
    };
    let kind = failure
        .transport_error_kind
        .map(|kind| format!(" ({kind})"))
        .unwrap_or_default();
    Check::fail(name, format!("{what}{kind}")).then(next)
}
