//! Where an exchange with a target failed, told by the types of the errors and never by their text.

use std::error::Error;
use std::io;

use moorline_model::wire::{FailureSource, TunnelFailure};

use super::super::failure;
use super::dns::Unresolved;

/// Classifies an error of the HTTP library. `received`: a response head had arrived.
// spec: CMD-22
pub(crate) fn failure_of(error: &reqwest::Error, received: bool) -> TunnelFailure {
    if error.is_builder() {
        return failure(FailureSource::ClientInternal, Some("request"), received);
    }
    // Before there is a connection, whatever breaks it is a failure to connect.
    let broken = if error.is_connect() {
        FailureSource::Connect
    } else {
        FailureSource::TransportClosed
    };
    let mut io_kind_seen = None;
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some((source, kind)) = recognise(cause) {
            return failure(source, kind, received);
        }
        let kind = cause.downcast_ref::<io::Error>().and_then(io_kind);
        io_kind_seen = io_kind_seen.or(kind);
        source = below(cause);
    }
    failure(broken, io_kind_seen, received)
}

/// What an error wraps. What an I/O error wraps is not among its sources.
fn below<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    let wrapped = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    match wrapped {
        Some(wrapped) => Some(wrapped),
        None => error.source(),
    }
}

type Recognised = (FailureSource, Option<&'static str>);

/// An error that says by its type what is wrong. I/O errors wrap many of them.
fn recognise(cause: &(dyn Error + 'static)) -> Option<Recognised> {
    if cause.is::<Unresolved>() {
        return Some((FailureSource::Dns, None));
    }
    if let Some(error) = cause.downcast_ref::<rustls::Error>() {
        return Some(tls(error));
    }
    http(cause.downcast_ref::<hyper::Error>()?)
}

fn tls(error: &rustls::Error) -> Recognised {
    let kind = match error {
        rustls::Error::InvalidCertificate(_) => "invalid_certificate",
        rustls::Error::AlertReceived(_) => "alert_received",
        rustls::Error::InvalidMessage(_) => "invalid_message",
        _ => return (FailureSource::Tls, None),
    };
    (FailureSource::Tls, Some(kind))
}

/// An error of the HTTP library that says what is wrong; others only wrap what does.
fn http(error: &hyper::Error) -> Option<Recognised> {
    if error.is_parse() {
        Some((FailureSource::Protocol, Some("invalid_http")))
    } else if error.is_incomplete_message() {
        Some((FailureSource::TransportClosed, Some("connection_closed")))
    } else {
        None
    }
}

fn io_kind(error: &io::Error) -> Option<&'static str> {
    Some(match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection_refused",
        io::ErrorKind::ConnectionReset => "connection_reset",
        io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => "connection_closed",
        io::ErrorKind::HostUnreachable => "host_unreachable",
        io::ErrorKind::NetworkUnreachable => "network_unreachable",
        io::ErrorKind::TimedOut => "timed_out",
        _ => return None,
    })
}
