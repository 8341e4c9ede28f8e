//! Calls of targets, and the toy server as a program.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use moorline::target::{Answer, Call, Target, Termination};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

/// No test waits for longer than this for anything.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn call(message: &str) -> Call {
    Call {
        message: RawValue::from_string(message.to_owned()).unwrap(),
        headers: Vec::new(),
        deadline: None,
    }
}

pub fn call_with(message: &str, headers: &[(&str, &[&str])]) -> Call {
    Call {
        headers: lines(headers),
        ..call(message)
    }
}

pub fn call_within(message: &str, limit: Duration) -> Call {
    Call {
        deadline: Some(Instant::now() + limit),
        ..call(message)
    }
}

pub fn termination(headers: &[(&str, &[&str])]) -> Termination {
    Termination {
        headers: lines(headers),
        deadline: None,
    }
}

pub fn lines(headers: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    let headers = headers.iter();
    headers
        .map(|(name, values)| {
            let values = values.iter().map(|value| (*value).to_owned());
            ((*name).to_owned(), values.collect())
        })
        .collect()
}

/// A call to a tool of the toy server; `id` is raw JSON.
pub fn tool(id: &str, name: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
    )
}

pub const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// Makes a call and gives its answer and what came before it.
pub async fn run(target: &impl Target, call: Call) -> (Answer, Vec<String>) {
    let (notes, mut noted) = mpsc::channel(1024);
    let call = timeout(PATIENCE, target.call(call, notes));
    let all_notes = async {
        let mut all = Vec::new();
        while let Some(note) = noted.recv().await {
            all.push(note);
        }
        all
    };
    let (answer, all) = tokio::join!(call, all_notes);
    (answer.expect("the call ends"), all)
}

/// The answer to a call alone.
pub async fn answer(target: &impl Target, call: Call) -> Answer {
    run(target, call).await.0
}

/// The text that a tool of the toy server answered with.
pub fn text_of(answer: &Answer) -> String {
    let json: Value = serde_json::from_str(answer.json.as_deref().expect("JSON")).unwrap();
    let text = json["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("no content: {json}"))
        .to_owned()
}

/// The `tunnel_failure` of an answer that was made by the client, after checking that it is one.
pub fn tunnel_failure(answer: &Answer) -> Value {
    let json: Value = serde_json::from_str(answer.json.as_deref().expect("JSON")).unwrap();
    assert_eq!(json["jsonrpc"], "2.0");
    assert_eq!(json["error"]["code"], -32603, "{json}");
    let failure = answer.failure.expect("a failure");
    let told = json["error"]["data"]["tunnel_failure"].clone();
    assert_eq!(told["version"], 1);
    assert_eq!(told["source"], failure.source.as_str());
    assert_eq!(answer.code, failure.resp_code());
    told
}

/// The toy server over standard input and output, as words of a command line.
///
/// `cargo test` builds it with the other examples; for a single test binary it is built here.
pub fn toy() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let tests = std::env::current_exe().unwrap();
        let profile = tests.parent().and_then(|deps| deps.parent()).unwrap();
        let program: PathBuf = profile.join("examples/toy_mcp");
        if !program.exists() {
            let mut build = Command::new(env!("CARGO"));
            build.args(["build", "--package", "moorline", "--example", "toy_mcp"]);
            build.arg("--target-dir").arg(profile.parent().unwrap());
            // With the features of this test, so that little has to be built.
            if !cfg!(feature = "cli") {
                build.arg("--no-default-features");
            }
            if profile.ends_with("release") {
                build.arg("--release");
            }
            let built = build.current_dir(env!("CARGO_MANIFEST_DIR")).status();
            assert!(built.unwrap().success(), "the toy server can be built");
        }
        program.to_str().expect("a path that is text").to_owned()
    })
}
