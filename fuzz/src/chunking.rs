//! The client's own path from bytes to an outcome, over a real socket: the bytes of one response must
//! come to the same whether they arrive at once or in pieces.

use std::num::NonZeroU16;
use std::time::Duration;

use moorline::model::poll::{Interruption, PollFault};
use moorline::model::schedule::LongPoll;
use moorline::{
    ApiKey, ControlPlane, Endpoint, HttpTransport, PollEvent, PollReport, Settings, TunnelId,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Blanks are put into a response in blocks of so many, to reach the limits of bodies.
const BLOCK: usize = 512;

/// The limit for the bodies of a 200, so small that inputs pass it.
const ENVELOPE_LIMIT: usize = 4096;

/// Far more than any exchange takes on loopback. Nothing waits for it to pass: the service always
/// closes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Takes one response and where to cut it:
///
/// * a byte for how many cuts there are, 15 at most (the low four bits);
/// * a byte for how many blocks of 512 blanks go in, and two for where;
/// * two bytes for each cut;
/// * the bytes of the response, status line and all. Then the service closes.
///
/// Places are counted round the end, the least significant byte first.
pub fn run(data: &[u8]) {
    let Some(response) = Response::read(data) else {
        return;
    };
    RIG.with(|rig| {
        let whole = rig.poll(&[&response.bytes]);
        let pieces = rig.poll(&response.pieces());
        assert_eq!(whole.settled(), pieces.settled());
    });
}

thread_local! {
    static RIG: Rig = Rig::new().expect("loopback takes connections");
}

struct Response {
    bytes: Vec<u8>,
    /// In order; each within the bytes.
    cuts: Vec<usize>,
}

impl Response {
    fn read(data: &[u8]) -> Option<Self> {
        let (&[count, blocks, low, high], rest) = data.split_first_chunk()?;
        let (cuts, bytes) = rest.split_at_checked(2 * usize::from(count & 15))?;
        let mut bytes = bytes.to_vec();
        let round =
            |place: [u8; 2], length: usize| usize::from(u16::from_le_bytes(place)) % (length + 1);
        let at = round([low, high], bytes.len());
        let blanks = vec![b' '; usize::from(blocks) * BLOCK];
        bytes.splice(at..at, blanks);
        let mut cuts: Vec<usize> = cuts
            .as_chunks()
            .0
            .iter()
            .map(|place| round(*place, bytes.len()))
            .collect();
        cuts.sort_unstable();
        Some(Self { bytes, cuts })
    }

    fn pieces(&self) -> Vec<&[u8]> {
        let mut pieces = Vec::new();
        let (mut rest, mut taken) = (self.bytes.as_slice(), 0);
        for cut in &self.cuts {
            let (piece, after) = rest.split_at(cut - taken);
            pieces.push(piece);
            (rest, taken) = (after, *cut);
        }
        pieces.push(rest);
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }
}

/// What one poll comes to, but for times.
#[derive(Debug, PartialEq)]
struct Outcome {
    event: PollEvent,
    fault: Option<PollFault>,
    request_ids: Vec<String>,
}

impl Outcome {
    /// A head that is neither complete nor readable is reported as the one or the other. The HTTP
    /// library reads a head anew only when its end arrives, so that it notices the fault in bytes that
    /// came at once, and the close in bytes that came in pieces. Both are the same failure.
    fn settled(mut self) -> Self {
        if self.fault == Some(PollFault::NoHead(Interruption::Closed)) {
            self.fault = Some(PollFault::NoHead(Interruption::Network));
        }
        self
    }
}

/// A service and the HTTP client that polls it, both on this thread.
struct Rig {
    runtime: Runtime,
    listener: TcpListener,
    settings: Settings,
    transport: HttpTransport,
}

impl Rig {
    fn new() -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0)))?;
        let endpoint = format!("http://{}", listener.local_addr()?);
        let mut settings = Settings::new(
            Endpoint::parse(&endpoint).expect("an endpoint"),
            TunnelId::new("tunnel").expect("a tunnel id"),
            ApiKey::new("key").expect("a key"),
        );
        settings.envelope_limit = ENVELOPE_LIMIT;
        settings.long_poll = LongPoll::new(PATIENCE, PATIENCE);
        let transport = HttpTransport::new(&settings).expect("an HTTP client");
        Ok(Self {
            runtime,
            listener,
            settings,
            transport,
        })
    }

    /// One poll of a new client, answered with these pieces.
    fn poll(&self, pieces: &[&[u8]]) -> Outcome {
        let client = ControlPlane::with_transport(self.settings.clone(), self.transport.clone());
        let cancel = CancellationToken::new();
        let (report, ()) = self.runtime.block_on(async {
            tokio::join!(client.poll(NonZeroU16::MIN, &cancel), self.serve(pieces))
        });
        outcome(report)
    }

    /// Answers one connection, closes, and waits until the client has let go of it too, so that the
    /// next poll finds nothing left.
    async fn serve(&self, pieces: &[&[u8]]) {
        let (mut stream, _) = self.listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("a socket");
        read_request(&mut stream).await;
        write_pieces(&mut stream, pieces).await;
        let closed = timeout(PATIENCE, async {
            let mut more = [0; 64];
            while let Ok(1..) = stream.read(&mut more).await {}
        });
        closed
            .await
            .expect("the client keeps a connection that was closed");
    }
}

/// The client may hang up in the middle, which ends the writing.
async fn write_pieces(stream: &mut TcpStream, pieces: &[&[u8]]) {
    for piece in pieces {
        if stream.write_all(piece).await.is_err() {
            return;
        }
        // Whoever reads is woken between two pieces, and reads this one by itself.
        for _ in 0..3 {
            yield_now().await;
        }
    }
    // Fails where the client has hung up.
    let _ = stream.shutdown().await;
}

async fn read_request(stream: &mut TcpStream) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let read = stream.read_buf(&mut request).await.expect("a request");
        assert!(read > 0 && request.len() < 65_536, "the request has an end");
    }
}

fn outcome(report: PollReport) -> Outcome {
    let mut event = report.event.expect("a poll that was not cancelled");
    // Drawn by chance.
    event.next_delay_ms = None;
    // Measured.
    event.took = Duration::ZERO;
    let fault = report.reply.as_ref().err().map(|error| error.fault());
    assert_ne!(event.fault, Some("timeout"), "the service has closed");
    let commands = report
        .reply
        .map(|envelope| envelope.commands)
        .unwrap_or_default();
    Outcome {
        event,
        fault,
        request_ids: commands
            .into_iter()
            .map(|command| command.request_id)
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORRECTION: &[u8] = b"HTTP/1.1 409 Conflict\r\nX-Tunnel-Shard-Token: route-a\r\n\
        Content-Length: 54\r\n\r\n{\"error\":{\"code\":\"wrong_cluster\",\"policy_revision\":7}}";

    fn input(cuts: &[u16], bytes: &[u8]) -> Vec<u8> {
        let mut input = vec![cuts.len() as u8, 0, 0, 0];
        input.extend(cuts.iter().flat_map(|cut| cut.to_le_bytes()));
        input.extend(bytes);
        input
    }

    #[test]
    fn a_response_is_cut_where_the_input_says() {
        let response = Response::read(&input(&[3, 1, 3, 7], b"abcdef")).unwrap();
        assert_eq!(response.pieces(), [&b"a"[..], b"bc", b"def"]);
        assert_eq!(response.pieces().concat(), b"abcdef");
    }

    #[test]
    fn each_piece_arrives_by_itself() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let pieces: [&[u8]; 4] = [b"a", b"bc", b"d", b"efg"];
        let read = runtime.block_on(async {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let (reader, accepted) = tokio::join!(
                TcpStream::connect(listener.local_addr().unwrap()),
                listener.accept()
            );
            let (mut reader, mut writer) = (reader.unwrap(), accepted.unwrap().0);
            let reads = async {
                let mut read = Vec::new();
                let mut buffer = [0; 64];
                while let Ok(length @ 1..) = reader.read(&mut buffer).await {
                    read.push(buffer[..length].to_vec());
                }
                read
            };
            tokio::join!(reads, write_pieces(&mut writer, &pieces)).0
        });
        assert_eq!(read, pieces);
    }

    #[test]
    fn the_path_leads_to_real_outcomes() {
        let rig = Rig::new().unwrap();
        let found = rig.poll(&[CORRECTION]);
        assert_eq!(found.event.verdict.name(), "installed");
        assert_eq!(found.event.revision.unwrap().get(), 7);
        // A byte of the body is missing.
        let cut = &CORRECTION[..CORRECTION.len() - 1];
        let found = rig.poll(&[cut]);
        assert_eq!(found.event.outcome, "destination_failure");
        let envelope = b"HTTP/1.1 200 OK\r\n\r\n{\"commands\":[{\"command_type\":\"a\",\
            \"request_id\":\"r\",\"shard_token\":\"t\"}]}";
        assert_eq!(rig.poll(&[envelope]).request_ids, ["r"]);
        let all: Vec<u16> = (0..15).map(|cut| cut * 9).collect();
        run(&input(&all, CORRECTION));
    }
}
