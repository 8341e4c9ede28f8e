//! What is played, and with which servers.

mod deaths;
mod files;
mod moves;
mod protocol;
mod sessions;
mod times;

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use crate::installed::Installed;
use crate::servers::Server::{self, Everything, Filesystem, Python};
use crate::servers::Transport::{self, Http, HttpJson, Stdio};

/// How the client runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    /// In this process, so that its counters can be read.
    Inside,
    /// As `moorline run`.
    Program,
}

use Runner::{Inside, Program};

/// Where a case plays.
#[derive(Clone, Debug)]
pub struct Scene {
    play: &'static str,
    pub server: Server,
    pub transport: Transport,
    pub runner: Runner,
}

type Play = fn(Scene, Arc<Installed>) -> Pin<Box<dyn Future<Output = ()> + Send>>;

pub struct Case {
    pub name: String,
    pub scene: Scene,
    pub play: Play,
}

/// A play in several scenes.
macro_rules! cases {
    ($cases:ident, $play:path, [$($server:ident $transport:ident $runner:ident),+ $(,)?]) => {
        $(
            let scene = Scene {
                play: stringify!($play),
                server: $server,
                transport: $transport,
                runner: $runner,
            };
            let play: Play = |scene, installed| Box::pin($play(scene, installed));
            $cases.push(Case { name: scene.to_string(), scene, play });
        )+
    };
}

/// Every case.
pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    cases!(cases, protocol::a_conversation, [
        Everything Stdio Inside,
        Everything Http Inside,
        Python Stdio Inside,
        Python Http Inside,
        Python HttpJson Inside,
        Filesystem Stdio Inside,
        Everything Stdio Program,
        Python HttpJson Program,
    ]);
    cases!(cases, protocol::answers_and_errors_are_the_bytes_of_the_server, [
        Everything Stdio Inside,
        Everything Http Inside,
        Python Stdio Inside,
        Python Http Inside,
        Python HttpJson Inside,
        Filesystem Stdio Inside,
    ]);
    cases!(cases, protocol::progress_comes_before_the_answer, [
        Everything Stdio Inside,
        Everything Http Inside,
        Python Stdio Inside,
        Python Http Inside,
    ]);
    cases!(cases, protocol::a_request_of_the_server_is_answered, [
        Everything Stdio Inside,
        Everything Http Inside,
    ]);
    cases!(cases, protocol::callers_with_the_same_ids_share_a_pipe, [
        Everything Stdio Inside,
        Python Stdio Inside,
    ]);
    cases!(cases, sessions::sessions_live_apart_and_end, [
        Everything Http Inside,
        Python Http Inside,
        Python HttpJson Inside,
        Everything Http Program,
    ]);
    cases!(cases, sessions::a_pipe_has_no_session_to_end, [
        Everything Stdio Inside,
        Python Stdio Inside,
    ]);
    cases!(cases, moves::a_call_that_ends_after_a_reassignment, [
        Everything Stdio Inside,
        Everything Http Inside,
        Python Http Inside,
        Python Stdio Program,
        Everything Http Program,
    ]);
    cases!(cases, times::an_expired_call_is_answered_with_silence, [
        Everything Stdio Inside,
        Everything Http Inside,
        Python Stdio Inside,
        Python Http Inside,
    ]);
    cases!(cases, times::the_life_of_a_call_ends_in_an_error, [
        Everything Stdio Inside,
        Everything Http Inside,
        Everything Stdio Program,
    ]);
    cases!(cases, times::a_slow_call_blocks_nobody, [
        Everything Stdio Inside,
        Everything Http Inside,
    ]);
    cases!(cases, deaths::a_killed_child_is_noticed_and_replaced, [
        Everything Stdio Inside,
        Python Stdio Inside,
        Everything Stdio Program,
    ]);
    cases!(cases, deaths::a_killed_server_is_noticed, [
        Everything Http Inside,
        Python Http Inside,
    ]);
    cases!(cases, files::a_file_is_written_and_read, [
        Filesystem Stdio Inside,
        Filesystem Stdio Program,
    ]);
    cases
}

impl Scene {
    /// A folder that no other case has.
    pub fn folder(&self) -> PathBuf {
        let name = self.to_string().replace([':', ',', ' '], "_");
        Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("real")
            .join(name)
    }
}

impl fmt::Display for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let play = self.play.rsplit("::").next().unwrap_or_default();
        let runner = match self.runner {
            Inside => "",
            Program => ", moorline run",
        };
        let Self {
            server, transport, ..
        } = self;
        write!(f, "{play}: {server}, {transport}{runner}")
    }
}
