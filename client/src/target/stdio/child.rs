//! One process of a server, and all that it started.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::StdioTargetSettings;
use super::command::is_withheld;

/// How long a group may take to end after SIGTERM, if the caller grants less before it.
const AFTER_SIGTERM: Duration = Duration::from_secs(2);

/// A process group. It is killed when this is dropped: `kill_on_drop` would leave what the server
/// itself started, for example behind a wrapper script.
pub(super) struct Group {
    child: Child,
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

/// The ends of a child's pipes that are ours.
pub(super) struct Pipes {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
}

impl Group {
    /// Starts a server. It gets our working directory, and our environment without what
    /// [`is_withheld`] names.
    pub(super) fn start(settings: &StdioTargetSettings) -> io::Result<(Self, Pipes)> {
        let mut command = Command::new(settings.command.program());
        command
            .args(settings.command.arguments())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        for (name, _) in std::env::vars_os() {
            if is_withheld(&name, &settings.withheld_variables) {
                command.env_remove(name);
            }
        }
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        #[cfg(unix)]
        let leader = child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(rustix::process::Pid::from_raw);
        let group = Self {
            child,
            #[cfg(unix)]
            leader,
        };
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            // All three were asked for.
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let pipes = Pipes {
            stdin,
            stdout,
            stderr,
        };
        Ok((group, pipes))
    }

    /// Waits until the server has ended by itself. Dropping the future changes nothing.
    pub(super) async fn ended(&mut self) {
        // A process that cannot be waited for is none of ours any more.
        let _ = self.child.wait().await;
    }

    /// Gives the server `grace` to end by itself, asks its group to end, and kills what is left.
    pub(super) async fn stop(&mut self, grace: Duration) {
        if timeout(grace, self.ended()).await.is_err() {
            self.terminate();
            // What the timeout says makes no difference to what is to be done.
            let _ = timeout(grace.min(AFTER_SIGTERM), self.ended()).await;
        }
        self.kill().await;
    }

    /// Kills the group and waits until the server is gone.
    pub(super) async fn kill(&mut self) {
        self.kill_now();
        self.ended().await;
    }

    /// Asks the group to end.
    fn terminate(&self) {
        #[cfg(unix)]
        self.signal(rustix::process::Signal::TERM);
    }

    fn kill_now(&mut self) {
        #[cfg(unix)]
        {
            self.signal(rustix::process::Signal::KILL);
            // From here on the number may belong to somebody else.
            self.leader = None;
        }
        // An error means that it has ended.
        let _ = self.child.start_kill();
    }

    /// An ended server's number stays taken for as long as anything of its group lives. When nothing
    /// does, nothing is signalled, unless the system gives out the number anew in the moment between
    /// the end and this call, which takes as many new processes as there are numbers.
    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(leader) = self.leader {
            // An error means that the group has ended.
            let _ = rustix::process::kill_process_group(leader, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill_now();
    }
}
