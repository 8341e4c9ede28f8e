//! The system's own name resolution, with failures of a type of their own: the HTTP library wraps all
//! failures to connect in one.

use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use thiserror::Error;

/// Resolves names as the system does.
pub(crate) struct SystemResolver;

/// A name that could not be resolved. It prints neither the name nor the system's words for it.
#[derive(Debug, Error)]
#[error("the name could not be resolved")]
pub(super) struct Unresolved;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await;
            let addresses: Vec<SocketAddr> = found.map_err(|_| Unresolved)?.collect();
            if addresses.is_empty() {
                return Err(Unresolved.into());
            }
            let addresses: Addrs = Box::new(addresses.into_iter());
            Ok(addresses)
        })
    }
}
