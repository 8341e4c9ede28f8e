//! What came back to the service for one command.

use moorline_fixtures::fake::{AcceptedResponse, Record};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// One POST.
#[derive(Clone, Debug)]
pub struct Post {
    pub kind: String,
    pub token: String,
    pub code: u16,
    /// Names to lists of values; null where there are none.
    pub headers: Value,
    /// The message, byte for byte; empty where there is none.
    pub raw: String,
    /// The message; null where there is none.
    pub json: Value,
}

/// All of a command that was answered.
#[derive(Clone, Debug)]
pub struct Reply {
    /// What came before the answer.
    pub notes: Vec<Post>,
    pub answer: Post,
}

#[derive(Deserialize)]
struct Body {
    channel: String,
    resp_code: u16,
    resp_headers: Option<Value>,
    resp_json: Option<Box<RawValue>>,
}

impl Post {
    fn read(response: &AcceptedResponse) -> Self {
        let body: Body = serde_json::from_slice(&response.body).expect("a body that is JSON");
        assert_eq!(body.channel, "main");
        let raw = body.resp_json.map(|raw| raw.get().to_owned());
        let raw = raw.unwrap_or_default();
        Self {
            kind: response.resp_type.clone(),
            token: String::from_utf8(response.shard_token.clone()).expect("a token that is text"),
            code: body.resp_code,
            headers: body.resp_headers.unwrap_or(Value::Null),
            json: serde_json::from_str(&raw).unwrap_or(Value::Null),
            raw,
        }
    }

    pub fn is_final(&self) -> bool {
        self.kind != "jsonrpc_notify"
    }

    /// The `tunnel_failure` of an answer that the client made, after checking that it is one.
    pub fn failure(&self) -> &Value {
        let error = &self.json["error"];
        assert_eq!(error["code"], -32603, "{self:?}");
        let failure = &error["data"]["tunnel_failure"];
        assert_eq!(failure["version"], 1, "{self:?}");
        failure
    }

    /// The source of such a failure.
    pub fn source(&self) -> &str {
        self.failure()["source"].as_str().expect("a source")
    }
}

impl Reply {
    /// The text of the first content of a tool's result.
    pub fn text(&self) -> &str {
        let text = self.answer.json["result"]["content"][0]["text"].as_str();
        text.unwrap_or_else(|| panic!("no content: {:?}", self.answer))
    }

    /// The methods of what came before the answer. What the everything server says to nobody in particular, when it
    /// has been initialised, is left out: on a pipe it goes to the command that runs.
    pub fn methods(&self) -> Vec<&str> {
        let methods = self
            .notes
            .iter()
            .filter_map(|note| note.json["method"].as_str());
        methods
            .filter(|method| *method != "notifications/tools/list_changed")
            .collect()
    }

    /// The `progress` of each progress notification, after checking that all belong to the token.
    pub fn progress(&self, token: &Value) -> Vec<u64> {
        let notes = self.notes.iter().map(|note| &note.json);
        let notes = notes.filter(|note| note["method"] == "notifications/progress");
        let progress = notes.map(|note| {
            assert_eq!(&note["params"]["progressToken"], token, "{note}");
            // Python writes it as a float.
            note["params"]["progress"].as_f64().expect("a number")
        });
        progress.map(|number| number as u64).collect()
    }
}

/// Every POST for a command, in order.
pub fn posts(record: &Record, request_id: &str) -> Vec<Post> {
    let responses = record.responses.iter();
    let own = responses.filter(|response| response.request_id == request_id);
    own.map(Post::read).collect()
}

/// The tokens of the polls, in order; `None` for a poll without one.
pub fn poll_tokens(record: &Record) -> Vec<Option<String>> {
    let polls = record.polls();
    polls
        .map(|poll| {
            let line = poll.sole_header("x-tunnel-shard-token")?;
            Some(String::from_utf8(line.to_vec()).expect("a token that is text"))
        })
        .collect()
}
