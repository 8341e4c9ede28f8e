//! Who listens where the monitor would.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a neighbour on this machine may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most of its answer that is read, in bytes. The metrics begin with what they are of.
const MOST: u64 = 64 * 1024;

/// What the metrics of a client begin with, and those of nobody else.
const SIGN: &str = "service_name=\"moorline\"";

/// Whether a Moorline client shows itself at an address of this machine, which is in use. Its metrics tell: the
/// answers of its probes could be anybody's.
pub(super) async fn is_moorline(address: SocketAddr) -> bool {
    let asked = timeout(PATIENCE, ask(reachable(address))).await;
    asked.is_ok_and(|answer| answer.is_ok_and(|answer| is_ours(&answer)))
}

async fn ask(address: SocketAddr) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(MOST).read_to_end(&mut answer).await?;
    Ok(answer)
}

fn is_ours(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let is_ok = text.starts_with("HTTP/1.1 200 ") || text.starts_with("HTTP/1.0 200 ");
    is_ok && text.contains(SIGN)
}

/// Where this machine reaches what listens on all its addresses.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip: IpAddr = match address.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_known_by_its_metrics() {
        for (answer, ours) in [
            (
                "HTTP/1.1 200 OK\r\n\r\ntarget_info{service_name=\"moorline\"} 1\n",
                true,
            ),
            (
                "HTTP/1.1 404 Not Found\r\n\r\nservice_name=\"moorline\"\n",
                false,
            ),
            ("HTTP/1.1 200 OK\r\n\r\nok\n", false),
            ("", false),
        ] {
            assert_eq!(is_ours(answer.as_bytes()), ours, "{answer}");
        }
        for (address, asked) in [
            ("0.0.0.0:8080", "127.0.0.1:8080"),
            ("[::]:8080", "[::1]:8080"),
            ("127.0.0.2:8080", "127.0.0.2:8080"),
        ] {
            assert_eq!(reachable(address.parse().unwrap()), asked.parse().unwrap());
        }
    }
}
