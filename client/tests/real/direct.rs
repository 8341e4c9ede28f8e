//! Asks a server without the client, to know what it says by itself.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::caller::{VERSION, initialize, initialized};

const PATIENCE: Duration = Duration::from_secs(60);

/// The answers to these requests, byte for byte, from a process of its own.
pub async fn over_stdio(words: &[String], requests: &[Value]) -> Vec<String> {
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    answer_by_line(&mut stdin, &mut lines, &initialize(&json!({}))).await;
    write(&mut stdin, &initialized()).await;
    let mut answers = Vec::new();
    for request in requests {
        answers.push(answer_by_line(&mut stdin, &mut lines, request).await);
    }
    drop(stdin);
    timeout(PATIENCE, child.wait())
        .await
        .expect("it ends")
        .unwrap();
    answers
}

/// The answers to these requests, byte for byte, in a session of its own.
pub async fn over_http(url: &str, requests: &[Value]) -> Vec<String> {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let post = |message: &Value| {
        client
            .post(url)
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", VERSION)
            .timeout(PATIENCE)
            .body(message.to_string())
    };
    let welcome = post(&initialize(&json!({}))).send().await.unwrap();
    let session = welcome.headers()["mcp-session-id"].clone();
    welcome.bytes().await.unwrap();
    let post = |message: &Value| post(message).header("mcp-session-id", &session);
    post(&initialized()).send().await.unwrap();
    let mut answers = Vec::new();
    for request in requests {
        let response = post(request).send().await.unwrap();
        let body = response.bytes().await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        // An event of these servers is one line of data. Plain JSON is one line as well.
        let lines = body.split(['\r', '\n']);
        let data = lines.map(|line| line.strip_prefix("data: ").unwrap_or(line));
        let answer = data.into_iter().find(|line| answers_to(line, request));
        answers.push(answer.unwrap_or_else(|| panic!("{body}")).to_owned());
    }
    answers
}

async fn answer_by_line(
    stdin: &mut ChildStdin,
    lines: &mut Lines<BufReader<ChildStdout>>,
    request: &Value,
) -> String {
    write(stdin, request).await;
    loop {
        let line = timeout(PATIENCE, lines.next_line()).await;
        let line = line.expect("it answers").unwrap().expect("it runs");
        if answers_to(&line, request) {
            return line;
        }
    }
}

async fn write(stdin: &mut ChildStdin, message: &Value) {
    let line = format!("{message}\n");
    stdin.write_all(line.as_bytes()).await.unwrap();
}

fn answers_to(line: &str, request: &Value) -> bool {
    let json: Value = serde_json::from_str(line).unwrap_or_default();
    json["id"] == request["id"] && json["method"].is_null()
}
