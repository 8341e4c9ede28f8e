use super::Failure;

/// Hears what asks the program to end: SIGINT, SIGTERM, and SIGHUP, which comes when its terminal closes. From when it
/// is made, signals do nothing but be heard, so it is to be made before anything starts that a signal should end in
/// order.
#[cfg(unix)]
pub(super) struct Signals {
    /// `None` where whoever started the program had it ignore this signal, as `nohup` does.
    hangup: Option<tokio::signal::unix::Signal>,
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
        let hangup = (!hangup_is_ignored()).then(|| listen(SignalKind::hangup()));
        Ok(Self {
            hangup: hangup.transpose()?,
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Waits for the next signal. Safe to drop.
    pub(super) async fn next(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => drop(hangup.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = hangup => {}
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Whether SIGHUP is ignored. Where the system does not tell it is taken for not ignored: that a client goes on after
/// its terminal is the rarer wish.
#[cfg(unix)]
fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignores_hangup(&status)
}

/// Reads the set of ignored signals, in which SIGHUP, signal 1, is the lowest bit.
#[cfg(unix)]
fn ignores_hangup(status: &str) -> bool {
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    set.is_some_and(|set| set & 1 == 1)
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
