//! Every client of these tests is watched: the events that it told, from its first poll to the end of
//! its last, must be a behaviour of the model.
//!
//! The validator is a library of `proofs`, which is a dependency of these tests alone. The other
//! way round, tests there that play what is played here, would need every test twice.

use std::io::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use moorline::{ControlPlane, PollEvent, Settings, Transport};
use moorline_proofs::validate::{Trace, Valid};

static TRACES: AtomicU64 = AtomicU64::new(0);
static ATTEMPTS: AtomicU64 = AtomicU64::new(0);

/// A watched client over HTTP.
pub fn connect(settings: Settings) -> ControlPlane {
    watched(ControlPlane::connect(settings).unwrap())
}

/// Keeps what the client tells, and validates it once the last handle of the client is gone. Takes
/// the place of its one observer.
pub fn watched<T: Transport>(client: ControlPlane<T>) -> ControlPlane<T> {
    let kept = Kept::default();
    client.observe(move |event| kept.keep(event)).unwrap();
    client
}

/// How many traces were validated in this process until now, and how many attempts they hold.
pub fn validated() -> (u64, u64) {
    (TRACES.load(SeqCst), ATTEMPTS.load(SeqCst))
}

/// Validates lines as the program writes them.
pub fn validate(lines: &str) -> Result<Valid, String> {
    let trace = Trace::read(lines.as_bytes()).map_err(|fault| fault.to_string())?;
    let judged = trace.judge(None);
    judged.map_err(|finding| format!("{finding}\nof the trace\n{lines}"))
}

#[derive(Default)]
struct Kept {
    lines: Mutex<String>,
}

impl Kept {
    fn keep(&self, event: &PollEvent) {
        let line = serde_json::to_string(event).unwrap();
        let mut lines = self.lines.lock().unwrap();
        lines.push_str(&line);
        lines.push('\n');
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let lines = self.lines.lock().unwrap();
        if lines.is_empty() {
            // No poll of this client has ended.
            return;
        }
        if std::thread::panicking() {
            // The test fails already, and should do so under its own name.
            return;
        }
        match validate(&lines) {
            Ok(valid) => {
                TRACES.fetch_add(1, SeqCst);
                ATTEMPTS.fetch_add(valid.attempts, SeqCst);
            }
            Err(problem) => give_up(&problem),
        }
    }
}

/// Ends the tests at once. The last handle may be dropped on a task that was cancelled, and what
/// panics there panics unheard.
fn give_up(problem: &str) -> ! {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("?");
    // Not `eprintln!`, whose output is kept for a test that then never ends.
    let _ = writeln!(std::io::stderr(), "\nin {name}: {problem}");
    std::process::abort();
}
