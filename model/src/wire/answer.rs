use super::channel::Channel;
use super::json::push_string;

/// What kind of message a POST brings to the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResponseType {
    /// A notification, or a request of the target, that comes before the answer.
    JsonRpcNotify,
    /// The answer to a JSON-RPC request.
    JsonRpcResponse,
    /// The command was a notification, and the target took it.
    NotifyAck,
    /// The answer to the termination of a session.
    SessionTerminationResponse,
}

impl ResponseType {
    /// The member `resp_type`.
    // spec: CMD-10
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::JsonRpcNotify => "jsonrpc_notify",
            Self::JsonRpcResponse => "jsonrpc_response",
            Self::NotifyAck => "notify_ack",
            Self::SessionTerminationResponse => "session_termination_response",
        }
    }

    /// Whether the command is answered with this, and nothing may follow it.
    // spec: CMD-10
    #[must_use]
    pub fn is_final(self) -> bool {
        self != Self::JsonRpcNotify
    }
}

/// The body of one POST. It has no place for a token: the command's own one goes into a header, and
/// no other belongs to it.
// spec: CMD-6
#[derive(Clone, Copy)]
pub struct ResponseBody<'a> {
    /// The command's `request_id`.
    pub request_id: &'a str,
    /// The command's channel, or what it asked for in its place.
    pub channel: &'a Channel,
    /// One JSON value, for example as [`Message::parse`](crate::jsonrpc::Message::parse) has accepted
    /// it. It is passed on byte for byte, so whoever gives another text makes a body that is no JSON.
    pub json: Option<&'a str>,
    /// Headers of the target's answer, as [`answer_headers`](crate::target::answer_headers) gives
    /// them. None are left out of the body.
    pub headers: &'a [(String, Vec<String>)],
    /// A status, 100 to 999.
    pub code: u16,
    /// What kind of message it is.
    pub kind: ResponseType,
}

impl ResponseBody<'_> {
    /// The bytes to send, the same ones for every attempt.
    // spec: CMD-5, CMD-13, CMD-28
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let payload = self.json.map_or(0, str::len);
        let mut body = String::with_capacity(payload.saturating_add(256));
        body.push_str(r#"{"request_id":"#);
        push_string(&mut body, self.request_id);
        body.push_str(r#","channel":"#);
        push_string(&mut body, self.channel.as_str());
        if let Some(json) = self.json {
            body.push_str(r#","resp_json":"#);
            body.push_str(json);
        }
        if !self.headers.is_empty() {
            body.push_str(r#","resp_headers":"#);
            push_headers(&mut body, self.headers);
        }
        body.push_str(r#","resp_code":"#);
        body.push_str(&self.code.to_string());
        body.push_str(r#","resp_type":"#);
        push_string(&mut body, self.kind.as_str());
        body.push('}');
        body.into_bytes()
    }
}

/// An object of arrays, as one name may have several values.
fn push_headers(body: &mut String, headers: &[(String, Vec<String>)]) {
    let mut before = '{';
    for (name, values) in headers {
        body.push(before);
        before = ',';
        push_string(body, name);
        body.push(':');
        push_values(body, values);
    }
    body.push('}');
}

fn push_values(body: &mut String, values: &[String]) {
    body.push('[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            body.push(',');
        }
        push_string(body, value);
    }
    body.push(']');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    const ALL: [ResponseType; 4] = [
        ResponseType::JsonRpcNotify,
        ResponseType::JsonRpcResponse,
        ResponseType::NotifyAck,
        ResponseType::SessionTerminationResponse,
    ];

    // spec-test: CMD-10
    #[test]
    fn has_four_types_of_which_one_is_not_final() {
        let named = ALL.map(|kind| (kind.as_str(), kind.is_final()));
        assert_eq!(
            named,
            [
                ("jsonrpc_notify", false),
                ("jsonrpc_response", true),
                ("notify_ack", true),
                ("session_termination_response", true),
            ]
        );
    }

    // spec-test: CMD-5
    #[test]
    fn leaves_out_what_there_is_none_of() {
        let body = ResponseBody {
            request_id: "r-1",
            channel: &Channel::main(),
            json: None,
            headers: &[],
            code: 202,
            kind: ResponseType::NotifyAck,
        };
        assert_eq!(
            String::from_utf8(body.to_json()).unwrap(),
            r#"{"request_id":"r-1","channel":"main","resp_code":202,"resp_type":"notify_ack"}"#
        );
    }

    // spec-test: CMD-5, CMD-28
    #[test]
    fn passes_json_byte_for_byte_and_headers_with_all_their_values() {
        let raw = "{ \"id\" : 1e0,\n\"x\":1.000, \"x\":\"\\ud800\\/\" }";
        let headers = [
            ("Content-Type".to_owned(), vec!["a\"b".to_owned()]),
            (
                "WWW-Authenticate".to_owned(),
                vec!["one".to_owned(), "two\t\\".to_owned()],
            ),
        ];
        let body = ResponseBody {
            request_id: "\"\u{1}\u{e9}",
            channel: &Channel::main(),
            json: Some(raw),
            headers: &headers,
            code: 401,
            kind: ResponseType::JsonRpcResponse,
        };
        let expected = [
            "{\"request_id\":\"\\\"\\u0001\u{e9}\",\"channel\":\"main\",\"resp_json\":",
            raw,
            r#","resp_headers":{"Content-Type":["a\"b"],"WWW-Authenticate":["one","two\u0009\\"]}"#,
            r#","resp_code":401,"resp_type":"jsonrpc_response"}"#,
        ]
        .concat();
        assert_eq!(String::from_utf8(body.to_json()).unwrap(), expected);
    }

    // spec-test: CMD-6
    #[test]
    fn has_no_member_for_a_token() {
        let body = ResponseBody {
            request_id: "r",
            channel: &Channel::main(),
            json: Some("{}"),
            headers: &[("a".to_owned(), vec!["b".to_owned()])],
            code: 200,
            kind: ResponseType::JsonRpcResponse,
        };
        let json: Value = serde_json::from_slice(&body.to_json()).unwrap();
        let mut names: Vec<&str> = json.as_object().unwrap().keys().map(|key| &**key).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "channel",
                "request_id",
                "resp_code",
                "resp_headers",
                "resp_json",
                "resp_type"
            ]
        );
    }

    proptest! {
        // spec-test: CMD-5
        #[test]
        fn any_other_reader_reads_back_what_was_put_in(
            request_id in any::<String>(),
            text in any::<String>(),
            values in prop::collection::vec(any::<String>(), 1..4),
            code in 100..=999_u16,
            kind in prop::sample::select(&ALL[..]),
        ) {
            let payload = json!({"text": text});
            let raw = payload.to_string();
            let headers = [("Mcp-Session-Id".to_owned(), values.clone())];
            let body = ResponseBody {
                request_id: &request_id,
                channel: &Channel::main(),
                json: Some(&raw),
                headers: &headers,
                code,
                kind,
            };
            let read: Value = serde_json::from_slice(&body.to_json()).unwrap();
            prop_assert_eq!(read, json!({
                "request_id": request_id,
                "channel": "main",
                "resp_json": payload,
                "resp_headers": {"Mcp-Session-Id": values},
                "resp_code": code,
                "resp_type": kind.as_str(),
            }));
        }
    }
}
