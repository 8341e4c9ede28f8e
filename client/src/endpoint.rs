use std::fmt;

use thiserror::Error;
use url::{Host, Url};

use crate::secret::TunnelId;

/// The service that an operator configured: parsed once, then immutable. Every request goes there,
/// whatever a server says. It prints nothing of itself.
// spec: END-1
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint {
    base: Url,
}

/// Why a text is no endpoint. The text itself is never repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EndpointFault {
    /// A scheme other than https and http.
    #[error("the endpoint must begin with https:// (or http:// for a service on this machine)")]
    Scheme,
    /// Plain http to a host that is not on this machine.
    #[error(
        "the endpoint must begin with https://: plain http would send the API key readably; \
         allow an insecure endpoint explicitly if you must"
    )]
    PlainHttp,
    /// Something behind the path.
    #[error("the endpoint must have no query and no fragment")]
    QueryOrFragment,
    /// A user name or password.
    #[error("the endpoint must have no user name or password; the API key is a setting of its own")]
    UserInfo,
    /// No URL at all.
    #[error("the endpoint must be an absolute URL, such as https://tunnels.example.com")]
    NotAUrl,
}

impl Endpoint {
    /// Parses an endpoint: `https://HOST[:PORT][/PATH]`, or plain http to a loopback host.
    ///
    /// # Errors
    ///
    /// What is wrong, without repeating the text.
    // spec: END-8
    pub fn parse(text: &str) -> Result<Self, EndpointFault> {
        let endpoint = Self::parse_allowing_plain_http(text)?;
        if endpoint.is_encrypted() || endpoint.is_loopback() {
            Ok(endpoint)
        } else {
            Err(EndpointFault::PlainHttp)
        }
    }

    /// Parses an endpoint and allows plain http to any host, which sends the API key readably.
    ///
    /// # Errors
    ///
    /// As [`Endpoint::parse`], but for [`EndpointFault::PlainHttp`].
    pub fn parse_allowing_plain_http(text: &str) -> Result<Self, EndpointFault> {
        let base = Url::parse(text).map_err(|_| EndpointFault::NotAUrl)?;
        // The URL standard reads `https:host` and `https:///host` like `https://host`. Whoever wrote
        // that may have meant something else.
        let rest = text.trim().split_once("://").map_or("", |(_, rest)| rest);
        if rest.is_empty() || rest.starts_with(['/', '\\']) {
            return Err(EndpointFault::NotAUrl);
        }
        if !matches!(base.scheme(), "https" | "http") {
            return Err(EndpointFault::Scheme);
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err(EndpointFault::UserInfo);
        }
        if base.query().is_some() || base.fragment().is_some() {
            return Err(EndpointFault::QueryOrFragment);
        }
        Ok(Self { base })
    }

    /// Whether requests are encrypted (https).
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// Whether the host is this machine: `localhost`, 127.0.0.0/8 or `::1`.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self.base.host() {
            Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            None => false,
        }
    }

    /// The address of a tunnel's polls, without their query.
    pub(crate) fn poll_url(&self, tunnel: &TunnelId) -> Url {
        self.tunnel_url(tunnel, "/poll")
    }

    /// The address that responses of a tunnel's commands go to.
    pub(crate) fn response_url(&self, tunnel: &TunnelId) -> Url {
        self.tunnel_url(tunnel, "/response")
    }

    /// The address of a tunnel's metadata.
    pub(crate) fn metadata_url(&self, tunnel: &TunnelId) -> Url {
        self.tunnel_url(tunnel, "")
    }

    fn tunnel_url(&self, tunnel: &TunnelId, operation: &str) -> Url {
        let mut url = self.base.clone();
        let path = format!(
            "{}/v1/tunnels/{}{operation}",
            self.base.path().trim_end_matches('/'),
            tunnel.expose()
        );
        url.set_path(&path);
        url
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Endpoint(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_https_anywhere_and_http_on_this_machine() {
        for text in [
            "https://tunnels.example.com",
            "https://tunnels.example.com:8443/base/",
            "http://127.0.0.1:8080",
            "http://127.9.9.9",
            "http://[::1]:1",
            "http://LOCALHOST/",
        ] {
            assert!(Endpoint::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn names_what_is_wrong_with_the_rest() {
        for (text, fault) in [
            ("", EndpointFault::NotAUrl),
            ("tunnels.example.com", EndpointFault::NotAUrl),
            ("https://", EndpointFault::NotAUrl),
            ("https:tunnels.example.com", EndpointFault::NotAUrl),
            ("https:///tunnels.example.com", EndpointFault::NotAUrl),
            ("https:\\\\tunnels.example.com", EndpointFault::NotAUrl),
            ("ftp://tunnels.example.com", EndpointFault::Scheme),
            ("file:///etc/passwd", EndpointFault::NotAUrl),
            ("http://tunnels.example.com", EndpointFault::PlainHttp),
            ("http://127.0.0.1.example.com", EndpointFault::PlainHttp),
            ("http://localhost.example.com", EndpointFault::PlainHttp),
            ("http://0.0.0.0", EndpointFault::PlainHttp),
            ("https://user@tunnels.example.com", EndpointFault::UserInfo),
            ("https://:key@tunnels.example.com", EndpointFault::UserInfo),
            (
                "https://tunnels.example.com?x=1",
                EndpointFault::QueryOrFragment,
            ),
            (
                "https://tunnels.example.com#x",
                EndpointFault::QueryOrFragment,
            ),
        ] {
            assert_eq!(Endpoint::parse(text), Err(fault), "{text}");
        }
        assert!(Endpoint::parse_allowing_plain_http("http://tunnels.example.com").is_ok());
    }

    #[test]
    fn builds_the_poll_address_from_nothing_but_itself() {
        let tunnel = TunnelId::new("t-1").unwrap();
        for (text, url) in [
            ("https://a.example", "https://a.example/v1/tunnels/t-1/poll"),
            (
                "https://a.example/",
                "https://a.example/v1/tunnels/t-1/poll",
            ),
            (
                "https://a.example:444/b/c/",
                "https://a.example:444/b/c/v1/tunnels/t-1/poll",
            ),
        ] {
            assert_eq!(
                Endpoint::parse(text).unwrap().poll_url(&tunnel).as_str(),
                url
            );
        }
    }

    #[test]
    fn prints_nothing_of_itself() {
        let endpoint = Endpoint::parse("https://a.example").unwrap();
        assert_eq!(format!("{endpoint:?}"), "Endpoint(..)");
    }
}
