//! Keeps one child: writes and reads its lines until it ends or has to, and leaves nothing behind.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncWriteExt, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::DropGuard;

use super::child::{Group, Pipes};
use super::lines::{Lines, Next};
use super::shared::{Ending, Line, Shared};

/// How long the output of a child that has ended is read on: what it had written is there already,
/// and only something that left its group can hold the pipe open.
const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// Everything of one child.
pub(super) struct Keeper {
    pub(super) shared: Arc<Shared>,
    pub(super) number: u64,
    pub(super) group: Group,
    pub(super) pipes: Pipes,
    pub(super) lines: mpsc::Receiver<Line>,
    pub(super) ended: mpsc::Receiver<Ending>,
    pub(super) gone: DropGuard,
}

/// Runs until the child and its group are gone.
pub(super) async fn keep(keeper: Keeper) {
    let Keeper {
        shared,
        number,
        mut group,
        pipes,
        lines,
        mut ended,
        gone,
    } = keeper;
    let stderr_before = shared.stderr.bytes();
    let mut stderr = Task::spawn(shared.stderr.clone().keep(pipes.stderr));
    let mut writing = Task::spawn(write_lines(Arc::clone(&shared), pipes.stdin, lines));
    let reading = read_lines(&shared, pipes.stdout);
    tokio::pin!(reading);
    let ending = tokio::select! {
        ending = &mut reading => ending,
        () = group.ended() => {
            // What it started is of no use without it, and might hold its output open.
            group.kill().await;
            last(&mut reading).await.unwrap_or(Ending::ByItself)
        }
        // It takes no more messages. What it was asked before may be answered all the same.
        // spec: CMD-37
        () = async { writing.ended().await; shared.calls_ended().await } => {
            last(&mut reading).await.unwrap_or(Ending::InputClosed)
        }
        Some(ending) = ended.recv() => ending,
    };
    let calls_in_flight = if let Ending::Stopped { grace } = ending {
        let calls = shared.child_gone(number, ending);
        // Closes its standard input, and so tells it to end.
        drop(writing);
        tokio::select! {
            () = group.stop(grace) => {}
            // Who cannot write cannot end either.
            () = async { (&mut reading).await; std::future::pending().await } => {}
        }
        calls
    } else {
        // Before the next one may start, and before anybody asks for its last words.
        last(group.kill()).await;
        last(stderr.ended()).await;
        shared.child_gone(number, ending)
    };
    let stderr_bytes = shared.stderr.bytes().saturating_sub(stderr_before);
    let (channel, kind) = (shared.channel.as_str(), ending.kind());
    if matches!(ending, Ending::Stopped { .. }) {
        tracing::info!(
            channel,
            start = number,
            kind,
            calls_in_flight,
            stderr_bytes,
            "target ended"
        );
    } else {
        tracing::warn!(
            channel,
            start = number,
            kind,
            calls_in_flight,
            stderr_bytes,
            "target ended"
        );
    }
    drop(gone);
}

/// Waits for something that ends at once unless something odd holds it up.
async fn last<F: Future>(future: F) -> Option<F::Output> {
    timeout(LAST_OUTPUT, future).await.ok()
}

/// The one writer. With its end, or with that of the calls, standard input is closed.
// spec: RPT-7
async fn write_lines(shared: Arc<Shared>, mut stdin: ChildStdin, mut lines: mpsc::Receiver<Line>) {
    while let Some(line) = lines.recv().await {
        if !shared.writing(&line) {
            continue;
        }
        if let Err(partly) = write(&mut stdin, &line.text).await {
            // The child reads no more. Whether it still answers is up to it.
            shared.not_written(&line, partly);
            break;
        }
        if let Some(written) = line.written {
            // Whoever sent it may have gone.
            let _ = written.send(Ok(String::new()));
        }
    }
    lines.close();
    while let Some(line) = lines.recv().await {
        shared.not_written(&line, false);
    }
}

/// Writes a text as a line. The error says whether some of it may have been written.
async fn write(stdin: &mut ChildStdin, text: &str) -> Result<(), bool> {
    let line = [text.as_bytes(), b"\n"].concat();
    let mut rest = &*line;
    while !rest.is_empty() {
        match stdin.write(rest).await {
            Ok(count @ 1..) => rest = rest.get(count..).unwrap_or_default(),
            Ok(0) | Err(_) => return Err(rest.len() < line.len()),
        }
    }
    stdin.flush().await.map_err(|_| true)
}

/// The one reader: whatever the calls do, it goes on.
async fn read_lines(shared: &Shared, stdout: ChildStdout) -> Ending {
    let reader = BufReader::with_capacity(64 * 1024, stdout);
    let mut lines = Lines::new(reader, shared.settings.line_limit);
    let mut is_first = true;
    loop {
        match lines.next().await {
            Next::Line([]) => {}
            Next::Line(line) => {
                if !std::str::from_utf8(line).is_ok_and(|line| shared.received(line)) {
                    shared.stray(std::mem::take(&mut is_first));
                }
            }
            Next::End => return Ending::ByItself,
            Next::TooLong => return Ending::LineTooLong,
        }
    }
}

/// A task that ends when this is dropped.
struct Task(JoinHandle<()>);

impl Task {
    fn spawn(future: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(future))
    }

    /// Waits for its end. Not to be called again after that.
    async fn ended(&mut self) {
        // An error would be a panic, and the end as well.
        let _ = (&mut self.0).await;
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
