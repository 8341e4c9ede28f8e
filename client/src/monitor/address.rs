use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use thiserror::Error;

/// An address to listen on. Loopback, unless another one was allowed by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenAddress(SocketAddr);

/// Why a text is no address to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ListenFault {
    /// Not `IP:PORT`, `localhost:PORT` or `:PORT`.
    #[error("expected IP:PORT, such as 127.0.0.1:8080")]
    Malformed,
    /// Other machines could connect, which was not allowed.
    #[error("{0} can be reached from other machines, which has to be allowed explicitly")]
    Remote(SocketAddr),
}

impl ListenAddress {
    /// 127.0.0.1:8080.
    pub const DEFAULT: Self = Self(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080));

    /// Reads `IP:PORT`; `localhost:PORT`, which is 127.0.0.1; or `:PORT`, which is every IPv4
    /// address of this machine. Port 0 lets the system choose one. `allow_remote` says whether
    /// other addresses than loopback may be named.
    ///
    /// # Errors
    ///
    /// Another form, or an address that is not allowed.
    pub fn parse(text: &str, allow_remote: bool) -> Result<Self, ListenFault> {
        let address = read(text.trim()).ok_or(ListenFault::Malformed)?;
        if allow_remote || is_loopback(address.ip()) {
            Ok(Self(address))
        } else {
            Err(ListenFault::Remote(address))
        }
    }

    /// The address.
    #[must_use]
    pub fn get(self) -> SocketAddr {
        self.0
    }
}

impl Default for ListenAddress {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Whether only this machine can reach it. IPv4 addresses in IPv6 form count as what they are.
pub(super) fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

fn read(text: &str) -> Option<SocketAddr> {
    let with_port = |ip: Ipv4Addr, port: &str| {
        // A number alone: `parse` would take a sign.
        let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let port = digits.then(|| port.parse().ok()).flatten()?;
        Some(SocketAddr::new(ip.into(), port))
    };
    if let Some(port) = text.strip_prefix(':') {
        return with_port(Ipv4Addr::UNSPECIFIED, port);
    }
    if let Some(port) = text.strip_prefix("localhost:") {
        return with_port(Ipv4Addr::LOCALHOST, port);
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_addresses_than_loopback_have_to_be_allowed() {
        for (text, address) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            (" 127.9.9.9:0 ", "127.9.9.9:0"),
            ("localhost:81", "127.0.0.1:81"),
            ("[::1]:9", "[::1]:9"),
            ("[::ffff:127.0.0.1]:9", "[::ffff:127.0.0.1]:9"),
        ] {
            for allow_remote in [false, true] {
                let parsed = ListenAddress::parse(text, allow_remote).unwrap();
                assert_eq!(parsed.get(), address.parse().unwrap(), "{text}");
            }
        }
        for (text, address) in [
            (":8080", "0.0.0.0:8080"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::]:80", "[::]:80"),
            ("192.0.2.1:80", "192.0.2.1:80"),
            ("[::ffff:192.0.2.1]:9", "[::ffff:192.0.2.1]:9"),
        ] {
            let address = address.parse().unwrap();
            let refused = ListenAddress::parse(text, false);
            assert_eq!(refused, Err(ListenFault::Remote(address)), "{text}");
            assert_eq!(ListenAddress::parse(text, true), Ok(ListenAddress(address)));
        }
        assert!(is_loopback(ListenAddress::default().get().ip()));
    }

    #[test]
    fn anything_else_is_no_address() {
        for text in [
            "",
            ":",
            "8080",
            "127.0.0.1",
            "127.0.0.1:",
            "localhost",
            "localhost:+1",
            ":+1",
            ":65536",
            "::1:80",
            "[::1]",
            "example.com:80",
            "127.1:80",
            "127.0.0.1:80/",
        ] {
            for allow_remote in [false, true] {
                let parsed = ListenAddress::parse(text, allow_remote);
                assert_eq!(parsed, Err(ListenFault::Malformed), "{text:?}");
            }
        }
    }
}
