//! Who a request says it is talking to. A web page can have its own name resolve to 127.0.0.1 and
//! then read what answers there as its own; the name in the request tells such requests apart.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::address::is_loopback;

/// Which hosts requests may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    /// This machine alone.
    ThisMachine,
    /// Any: whoever lets other machines connect knows under which names.
    Any,
}

impl Policy {
    /// The policy of a monitor that listens on this address.
    pub(super) fn of(address: SocketAddr) -> Self {
        if is_loopback(address.ip()) {
            Self::ThisMachine
        } else {
            Self::Any
        }
    }
}

/// What is wrong with the host that a request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HostFault {
    /// It names none, several, or something that is none.
    Unclear,
    /// It names another machine.
    Elsewhere,
}

/// Answers requests that the policy does not allow, and passes the others on.
pub(super) async fn guard(State(policy): State<Policy>, request: Request, next: Next) -> Response {
    match check(policy, &request) {
        Ok(()) => next.run(request).await,
        Err(HostFault::Unclear) => {
            let text = "The request must name one host.\n";
            (StatusCode::BAD_REQUEST, text).into_response()
        }
        Err(HostFault::Elsewhere) => {
            let text = "This address answers only requests that name this machine: 127.0.0.1, \
                        [::1] or localhost.\n";
            (StatusCode::FORBIDDEN, text).into_response()
        }
    }
}

fn check<B>(policy: Policy, request: &http::Request<B>) -> Result<(), HostFault> {
    if policy == Policy::Any {
        return Ok(());
    }
    let mut lines = request.headers().get_all(header::HOST).iter();
    let named = match (lines.next(), lines.next()) {
        (Some(line), None) => line.to_str().ok().and_then(|host| host.parse().ok()),
        // Browsers always name a host; simple probes that speak HTTP/1.0 may not.
        (None, None) if request.version() < Version::HTTP_11 => return check_target(request),
        (None | Some(_), _) => None,
    };
    let named: Authority = named.ok_or(HostFault::Unclear)?;
    check_target(request)?;
    judge(&named)
}

/// A request line may hold a whole URL.
fn check_target<B>(request: &http::Request<B>) -> Result<(), HostFault> {
    request.uri().authority().map_or(Ok(()), judge)
}

fn judge(authority: &Authority) -> Result<(), HostFault> {
    if is_this_machine(authority.host()) {
        Ok(())
    } else {
        Err(HostFault::Elsewhere)
    }
}

fn is_this_machine(host: &str) -> bool {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    match bare.unwrap_or(host).parse::<IpAddr>() {
        Ok(ip) => is_loopback(ip),
        // Browsers take names under `localhost` to loopback without asking anybody.
        Err(_) => {
            let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
            host == "localhost" || host.ends_with(".localhost")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(version: Version, target: &str, hosts: &[&str]) -> http::Request<()> {
        let mut request = http::Request::builder().version(version).uri(target);
        for host in hosts {
            request = request.header(header::HOST, *host);
        }
        request.body(()).unwrap()
    }

    #[test]
    fn on_loopback_only_names_of_this_machine_are_taken() {
        use HostFault::{Elsewhere, Unclear};
        let (old, new) = (Version::HTTP_10, Version::HTTP_11);
        for (version, target, hosts, expected) in [
            (new, "/", &["127.0.0.1:8080"][..], Ok(())),
            (new, "/", &["127.0.0.1"], Ok(())),
            (new, "/", &["127.200.0.1:1"], Ok(())),
            (new, "/", &["localhost"], Ok(())),
            (new, "/", &["LocalHost.:80"], Ok(())),
            (new, "/", &["moorline.localhost:80"], Ok(())),
            (new, "/", &["[::1]:80"], Ok(())),
            (new, "http://localhost/", &["localhost"], Ok(())),
            (old, "/", &[], Ok(())),
            (new, "/", &["evil.example"], Err(Elsewhere)),
            (new, "/", &["evil.example:8080"], Err(Elsewhere)),
            (new, "/", &["127.0.0.1.evil.example"], Err(Elsewhere)),
            (new, "/", &["evil-localhost"], Err(Elsewhere)),
            (new, "/", &["localhost@evil.example"], Err(Elsewhere)),
            (new, "/", &["0.0.0.0"], Err(Elsewhere)),
            (new, "/", &["192.168.0.1"], Err(Elsewhere)),
            (new, "/", &["[2001:db8::1]:80"], Err(Elsewhere)),
            (new, "http://evil.example/", &["localhost"], Err(Elsewhere)),
            (old, "http://evil.example/", &[], Err(Elsewhere)),
            (old, "/", &["evil.example"], Err(Elsewhere)),
            (new, "/", &[], Err(Unclear)),
            (new, "/", &[""], Err(Unclear)),
            (new, "/", &["a b"], Err(Unclear)),
            (new, "/", &["localhost", "localhost"], Err(Unclear)),
            (new, "/", &["localhost", "evil.example"], Err(Unclear)),
        ] {
            let request = request(version, target, hosts);
            let found = check(Policy::ThisMachine, &request);
            assert_eq!(found, expected, "{version:?} {target} {hosts:?}");
            assert_eq!(check(Policy::Any, &request), Ok(()));
        }
    }

    #[test]
    fn the_policy_follows_the_address() {
        for (address, policy) in [
            ("127.0.0.1:1", Policy::ThisMachine),
            ("[::1]:1", Policy::ThisMachine),
            ("0.0.0.0:1", Policy::Any),
            ("[::]:1", Policy::Any),
            ("192.0.2.1:1", Policy::Any),
        ] {
            assert_eq!(Policy::of(address.parse().unwrap()), policy, "{address}");
        }
    }
}
