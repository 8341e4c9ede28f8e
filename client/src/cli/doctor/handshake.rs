//! The beginning of a session with an MCP server: what it takes to know that it answers.

use std::time::Duration;

use moorline_model::wire::TunnelFailure;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::target::{Answer, Call, Target, Termination};

/// How long a server may take for everything: one that is downloaded when it starts needs a while.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// The protocol version that is asked for; servers answer with one of their own.
const VERSION: &str = "2025-06-18";

/// Header lines, as targets take and give them.
type Lines = Vec<(String, Vec<String>)>;

/// What a server that answers has shown.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) tools: usize,
    pub(super) has_session: bool,
}

/// Why a server is not usable.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It gave no answer that could be passed on.
    Failed(&'static str, TunnelFailure),
    /// It refused, with this code.
    Refused(&'static str, Option<i64>),
    /// It answered something else.
    Odd(&'static str),
}

/// Initialises a session, asks for the tools, and ends the session.
pub(super) async fn shake<T: Target>(target: &T) -> Result<Shown, Trouble> {
    let mut session = Session {
        target,
        headers: Vec::new(),
        deadline: Instant::now() + PATIENCE,
    };
    let greeting = session.initialize().await?;
    session.follow(&greeting);
    let tools = session.tools().await;
    let has_session = session.end().await;
    Ok(Shown {
        tools: tools?,
        has_session,
    })
}

struct Session<'a, T> {
    target: &'a T,
    headers: Lines,
    deadline: Instant,
}

impl<T: Target> Session<'_, T> {
    async fn initialize(&mut self) -> Result<Greeting, Trouble> {
        let client = json!({ "name": "moorline-doctor", "version": env!("CARGO_PKG_VERSION") });
        let params =
            json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": client });
        let answer = self.ask("initialize", &params).await?;
        let result = result(&answer, "initialize")?;
        Ok(Greeting {
            session: header(&answer.headers, "mcp-session-id"),
            version: result
                .get("protocolVersion")
                .and_then(Value::as_str)
                .map(str::to_owned),
        })
    }

    /// Later requests name the session and the version, and the server is told that it may begin.
    fn follow(&mut self, greeting: &Greeting) {
        let lines = [
            ("Mcp-Session-Id", &greeting.session),
            ("Mcp-Protocol-Version", &greeting.version),
        ];
        for (name, value) in lines {
            if let Some(value) = value {
                self.headers.push((name.to_owned(), vec![value.clone()]));
            }
        }
    }

    async fn tools(&self) -> Result<usize, Trouble> {
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let told = self.send(&initialized).await;
        if let Some(failure) = told.failure {
            return Err(Trouble::Failed("notifications/initialized", failure));
        }
        let answer = self.ask("tools/list", &json!({})).await?;
        let tools = result(&answer, "tools/list")?;
        let tools = tools.get("tools").and_then(Value::as_array);
        tools.map(Vec::len).ok_or(Trouble::Odd("tools/list"))
    }

    /// Ends the session, if the server opened one.
    async fn end(&self) -> bool {
        let has_session = self
            .headers
            .iter()
            .any(|(name, _)| name == "Mcp-Session-Id");
        if has_session {
            let call = Termination {
                headers: self.headers.clone(),
                deadline: Some(self.deadline),
            };
            // Servers may refuse this, and the session then ends by itself.
            let _ = self.target.terminate(call).await;
        }
        has_session
    }

    async fn ask(&self, method: &'static str, params: &Value) -> Result<Answer, Trouble> {
        let id = format!("moorline-doctor-{method}");
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let answer = self.send(&message).await;
        match answer.failure {
            Some(failure) => Err(Trouble::Failed(method, failure)),
            None => Ok(answer),
        }
    }

    async fn send(&self, message: &Value) -> Answer {
        // What a server says before its answer is of no interest here.
        let (notes, _) = mpsc::channel(1);
        let call = Call {
            // Compact JSON is what it is made of.
            message: RawValue::from_string(message.to_string())
                .unwrap_or_else(|_| RawValue::NULL.to_owned()),
            headers: self.headers.clone(),
            deadline: Some(self.deadline),
        };
        self.target.call(call, notes).await
    }
}

struct Greeting {
    session: Option<String>,
    version: Option<String>,
}

/// The result of an answer, or the code of its error.
fn result(answer: &Answer, method: &'static str) -> Result<Value, Trouble> {
    let text = answer.json.as_deref().unwrap_or_default();
    let mut message: Value = serde_json::from_str(text).map_err(|_| Trouble::Odd(method))?;
    if let Some(error) = message.get("error") {
        let code = error.get("code").and_then(Value::as_i64);
        return Err(Trouble::Refused(method, code));
    }
    match message.get_mut("result") {
        Some(result) if result.is_object() => Ok(result.take()),
        _ => Err(Trouble::Odd(method)),
    }
}

fn header(lines: &Lines, name: &str) -> Option<String> {
    let (_, values) = lines
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    values.first().cloned()
}
