//! Who asks a server through the tunnel, and holds a session with it.

use serde_json::{Value, json};

use crate::house::{House, Order};
use crate::record::Reply;

pub struct Caller<'a> {
    house: &'a House,
    /// The headers that every command of the session carries. Empty over stdio.
    pub headers: Value,
    /// The server's answer to `initialize`.
    pub welcome: Reply,
}

/// The protocol version that callers ask for.
pub const VERSION: &str = "2025-06-18";

/// The first message of a caller.
pub fn initialize(capabilities: &Value) -> Value {
    let client = json!({ "name": "far-end", "version": "1" });
    let params = json!({
        "protocolVersion": VERSION,
        "capabilities": capabilities,
        "clientInfo": client,
    });
    request(&json!("initialize"), "initialize", params)
}

/// The second one.
pub fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

pub fn request(id: &Value, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub fn tool(id: &Value, name: &str, arguments: Value) -> Value {
    let params = json!({ "name": name, "arguments": arguments });
    request(id, "tools/call", params)
}

/// The same, asking for progress notifications.
pub fn tool_with_progress(id: &Value, name: &str, arguments: Value, token: &Value) -> Value {
    let mut message = tool(id, name, arguments);
    message["params"]["_meta"] = json!({ "progressToken": token });
    message
}

impl<'a> Caller<'a> {
    /// Opens a session.
    pub async fn meet(house: &'a House) -> Self {
        Self::meet_with(house, json!({})).await
    }

    /// Opens a session of a caller that says what it is capable of.
    pub async fn meet_with(house: &'a House, capabilities: Value) -> Self {
        let order = Order {
            message: Some(initialize(&capabilities)),
            ..Order::default()
        };
        let welcome = house.reply(&house.order(order)).await;
        assert_eq!(welcome.answer.code, 200, "{welcome:?}");
        let mut headers = json!({});
        if house.http.is_some() {
            let session = &welcome.answer.headers["Mcp-Session-Id"];
            assert_eq!(session.as_array().map(Vec::len), Some(1), "{welcome:?}");
            headers = json!({ "Mcp-Session-Id": session, "Mcp-Protocol-Version": [VERSION] });
        }
        let caller = Self {
            house,
            headers,
            welcome,
        };
        let reply = caller.ask(initialized()).await;
        assert_eq!(reply.answer.kind, "notify_ack");
        assert_eq!((reply.answer.code, &*reply.answer.raw), (202, ""));
        caller
    }

    /// Queues a message and gives the `request_id`.
    pub fn send(&self, message: Value) -> String {
        self.house.order(Order {
            message: Some(message),
            headers: self.headers.clone(),
            response_timeout: None,
        })
    }

    /// Queues a message that nobody waits for longer than this.
    pub fn send_within(&self, message: Value, limit: &'static str) -> String {
        self.house.order(Order {
            message: Some(message),
            headers: self.headers.clone(),
            response_timeout: Some(limit),
        })
    }

    /// Queues a message and waits for its answer.
    pub async fn ask(&self, message: Value) -> Reply {
        self.house.reply(&self.send(message)).await
    }

    /// Ends the session.
    pub async fn leave(&self) -> Reply {
        let order = Order {
            headers: self.headers.clone(),
            ..Order::default()
        };
        let reply = self.house.reply(&self.house.order(order)).await;
        assert_eq!(reply.answer.kind, "session_termination_response");
        assert!(reply.notes.is_empty());
        reply
    }
}
