//! Connections, and the limits that they have.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// How many connections are open at once. More wait in the system's queue.
const CONNECTIONS_MAX: usize = 64;

/// How long a client may take to send the head of a request, and how long a connection may idle.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a connection lives. The page simply opens another one.
const CONNECTION_LIFE: Duration = Duration::from_secs(60);

/// How long an answer that is under way may still take once its connection is to close.
const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// The greatest size of the head of a request in bytes, request line included.
const HEAD_MAX: usize = 8_192;

/// The most header lines of a request.
const HEADER_LINES_MAX: usize = 64;

/// How long to wait after the system refused a connection, for want of file descriptors perhaps.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers requests until stopped, then lets answers that are under way go out.
pub(super) async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let free = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    while let Some((socket, permit)) = next_connection(&listener, &free, &stop).await {
        connections.spawn(answer(socket, permit, router.clone(), stop.clone()));
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// The next connection, once there is room for one; `None` when stopped.
async fn next_connection(
    listener: &TcpListener,
    free: &Arc<Semaphore>,
    stop: &CancellationToken,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let next = async {
        let permit = Arc::clone(free).acquire_owned().await.ok()?;
        loop {
            match listener.accept().await {
                Ok((socket, _)) => return Some((socket, permit)),
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    };
    tokio::select! {
        biased;
        () = stop.cancelled() => None,
        next = next => next,
    }
}

/// Answers the requests of one connection, and makes room for another once it is closed.
async fn answer(
    socket: TcpStream,
    permit: OwnedSemaphorePermit,
    router: Router,
    stop: CancellationToken,
) {
    answer_all(socket, router, stop).await;
    drop(permit);
}

/// Whatever is wrong with a connection, nobody but its client suffers.
async fn answer_all(socket: TcpStream, router: Router, stop: CancellationToken) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_MAX)
        .max_headers(HEADER_LINES_MAX)
        .serve_connection(TokioIo::new(socket), TowerToHyperService::new(router));
    tokio::pin!(connection);
    let ended = tokio::select! {
        _ = connection.as_mut() => true,
        () = sleep(CONNECTION_LIFE) => false,
        () = stop.cancelled() => false,
    };
    if !ended {
        connection.as_mut().graceful_shutdown();
        // Too late or not, the connection is dropped here.
        let _ = timeout(CLOSE_GRACE, connection).await;
    }
}
