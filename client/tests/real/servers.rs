//! The servers as processes.

use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::installed::{Installed, LOOPBACK, PYTHON_SERVER};

/// How long a server may take to listen, or to end.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    Everything,
    Filesystem,
    Python,
}

/// How the client reaches a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    /// Streamable HTTP, whose answers are streams of events.
    Http,
    /// Streamable HTTP, whose answers are plain JSON. Only the Python server offers it.
    HttpJson,
}

impl Server {
    /// What it calls itself.
    pub fn name(self) -> &'static str {
        match self {
            Self::Everything => "mcp-servers/everything",
            Self::Filesystem => "secure-filesystem-server",
            Self::Python => "moorline-python",
        }
    }

    /// The words that start it.
    pub fn words(self, transport: Transport, installed: &Installed, files: &Path) -> Vec<String> {
        let text = |path: &Path| path.to_str().expect("a path that is text").to_owned();
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let python = |mode: &str| words(&[&text(&installed.python), PYTHON_SERVER, mode]);
        let everything = text(&installed.everything);
        match (self, transport) {
            (Self::Everything, Transport::Stdio) => words(&["node", &everything, "stdio"]),
            (Self::Everything, Transport::Http) => {
                words(&["node", "--require", LOOPBACK, &everything, "streamableHttp"])
            }
            (Self::Filesystem, Transport::Stdio) => {
                words(&["node", &text(&installed.filesystem), &text(files)])
            }
            (Self::Python, Transport::Stdio) => python("stdio"),
            (Self::Python, Transport::Http) => python("http"),
            (Self::Python, Transport::HttpJson) => python("http-json"),
            _ => panic!("{self:?} does not offer {transport:?}"),
        }
    }
}

/// Words that start the same process, which then is one line in a file: its number. The file tells how
/// many were started, and which.
pub fn noted(words: &[String], pids: &Path) -> Vec<String> {
    let script = r#"echo $$ >> "$0"; exec "$@""#;
    let pids = pids.to_str().expect("a path that is text");
    let first = ["sh", "-c", script, pids].map(str::to_owned);
    first.into_iter().chain(words.iter().cloned()).collect()
}

/// A server on a free port of 127.0.0.1. It is killed when this is dropped.
pub struct HttpServer {
    child: Child,
    url: String,
}

impl HttpServer {
    /// Starts it and waits until it listens. What it writes to standard error goes into a file.
    pub async fn start(words: Vec<String>, stderr: PathBuf) -> Self {
        let start = move || {
            let mut child = Command::new(&words[0])
                .args(&words[1..])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(File::create(&stderr).unwrap())
                .spawn()
                .unwrap();
            let stdout = BufReader::new(child.stdout.take().unwrap());
            let (sender, ports) = mpsc::channel();
            // Reads to the end, so that the server never waits for a reader.
            std::thread::spawn(move || {
                for line in stdout.lines().map_while(Result::ok) {
                    if let Some(port) = line.strip_prefix("listening on ") {
                        let _ = sender.send(port.to_owned());
                    }
                }
            });
            let mut server = Self {
                child,
                url: String::new(),
            };
            let port = ports.recv_timeout(PATIENCE);
            let port = port.unwrap_or_else(|_| panic!("it does not listen: {}", stderr.display()));
            server.url = format!("http://127.0.0.1:{port}/mcp");
            server
        };
        tokio::task::spawn_blocking(start).await.unwrap()
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Kills it on the spot.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it, and panics if it does not end by itself.
    pub async fn stop(mut self) {
        let stop = move || {
            drop(self.child.stdin.take());
            for _ in 0..PATIENCE.as_millis() / 20 {
                if self.child.try_wait().unwrap().is_some() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            panic!("a server does not end with its standard input");
        };
        tokio::task::spawn_blocking(stop).await.unwrap();
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        // Errors mean that it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Everything => "everything",
            Self::Filesystem => "filesystem",
            Self::Python => "python",
        })
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::HttpJson => "http-json",
        })
    }
}
