use super::Failure;

/// Hears what asks the program to end: SIGINT and SIGTERM. From when it is made, signals do nothing
/// but be heard, so it is to be made before anything starts that a signal should end in order.
#[cfg(unix)]
pub(super) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn listen() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};
        let listen = |kind| {
            signal(kind)
                .map_err(|_| Failure::Failed("the system lets no signal be heard".to_owned()))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Waits for the next signal. Safe to drop.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Hears Ctrl-C.
#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(super) fn listen() -> Result<Self, Failure> {
        Ok(Self)
    }

    /// Waits for the next Ctrl-C.
    pub(super) async fn next(&mut self) {
        // Where Ctrl-C cannot be heard the program can still be ended from outside.
        let _ = tokio::signal::ctrl_c().await;
    }
}
