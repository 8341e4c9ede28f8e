use std::error::Error;
use std::fmt;

use moorline_model::poll::PollFault;
use thiserror::Error as ThisError;

/// Why a poll brought no commands.
///
/// Its text names a category and nothing that the service wrote. It has no `source()`, since error
/// reporters print those, and the HTTP library's errors name hosts; [`PollError::cause`] is for code.
#[derive(Debug)]
pub struct PollError {
    fault: PollFault,
    cause: Option<TransportCause>,
}

/// An error of the HTTP library. It prints nothing of itself.
pub struct TransportCause(Box<dyn Error + Send + Sync>);

/// Why a client could not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum SetupError {
    /// The CA bundle holds no certificate, or something else than certificates.
    #[error("the CA bundle must hold PEM certificates, at least one")]
    CaBundle,
    /// The client's own certificate and key are not usable.
    #[error("the client identity must hold a PEM certificate and its PEM private key")]
    ClientIdentity,
    /// The HTTP library refused its configuration.
    #[error("the HTTP client could not be set up: check the system's certificates")]
    HttpClient,
    /// The proxy is no proxy URL.
    #[error("the proxy must be a URL such as http://proxy.example.com:3128")]
    Proxy,
    /// The target's address is not usable.
    #[error("the MCP server's URL must begin with http:// or https:// and name a host")]
    TargetUrl,
}

/// The client has an observer already, and keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
#[error("the client has an observer already")]
pub struct AlreadyObserved;

impl PollError {
    pub(super) fn new(fault: PollFault, cause: Option<TransportCause>) -> Self {
        Self { fault, cause }
    }

    /// What went wrong, as the model classified it.
    #[must_use]
    pub fn fault(&self) -> PollFault {
        self.fault
    }

    /// The HTTP library's error, where there is one. It may name the host: do not print it.
    // spec: PRIV-4
    #[must_use]
    pub fn cause(&self) -> Option<&(dyn Error + Send + Sync + 'static)> {
        self.cause.as_ref().map(TransportCause::get)
    }
}

impl TransportCause {
    /// Wraps an error so that it prints nothing.
    pub fn new(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self(error.into())
    }

    /// The error itself.
    #[must_use]
    pub fn get(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0
    }
}

impl fmt::Display for PollError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

impl Error for PollError {}

impl fmt::Debug for TransportCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TransportCause(..)")
    }
}
