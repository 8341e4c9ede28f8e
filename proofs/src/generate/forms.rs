//! What answers look like on the wire. Each kind of answer has several forms, which take turns.

use serde_json::{Value, json};

use super::text::AnswerText;

const TOKEN_LINE: &str = "X-Tunnel-Shard-Token";

/// One more than an error body may have, in bytes.
const OVER_LIMIT: usize = 65_537;

/// One form of an answer, and what the caller of the poll gets.
#[derive(Clone, Debug)]
pub(super) struct Form {
    /// What it is called in the counts.
    pub(super) name: &'static str,
    pub(super) answer: AnswerText,
    /// `ok`, `status N` or `failure`.
    pub(super) result: String,
    pub(super) commands: Vec<&'static str>,
    pub(super) retry_after_ms: Option<u64>,
    /// Whether it can be played only where nothing else is in flight.
    pub(super) alone: bool,
}

/// A correction that would be taken if the answer around it were one.
#[derive(Clone, Debug)]
pub(super) struct Lure {
    pub(super) revision: u64,
    pub(super) token: &'static str,
}

/// Every form of a failure, but those that wait for the deadline.
pub(super) fn failures(lure: &Lure) -> Vec<Form> {
    let correction = body(lure.revision);
    let whole = correction.len();
    vec![
        status("408", 408),
        status("500", 500),
        status("502", 502).retry_after(2),
        // Not learned from, whatever its body says.
        status("503 with a correction", 503)
            .token(lure)
            .json(correction.clone()),
        status("504", 504),
        status("599", 599).body("no"),
        status("503 over the limit", 503).long_body(),
        fault("reset", "reset_before_head"),
        fault("close", "close_before_head"),
        fault("garbage", "garbage_head"),
        fault("refuse", "refuse").alone(),
        status("200 cut", 200)
            .json(r#"{"commands":[]}"#.to_owned())
            .cut(7, None),
        status("200 without its last chunk", 200)
            .json(r#"{"commands":[]}"#.to_owned())
            .chunked()
            .cut(15, None),
        status("200 reset", 200)
            .json(r#"{"commands":[]}"#.to_owned())
            .cut(3, Some("reset")),
        status("409 without its last chunk", 409)
            .token(lure)
            .json(correction.clone())
            .chunked()
            .cut(whole, None),
        status("409 cut", 409)
            .token(lure)
            .json(correction)
            .cut(20, None),
        status("429 cut", 429)
            .retry_after(1)
            .body("too many")
            .cut(3, None),
        status("401 cut", 401).body("who are you").cut(0, None),
    ]
}

/// The failures that end with the client's own deadline, which takes real time.
pub(super) fn deadlines() -> Vec<Form> {
    vec![
        fault("deadline", "deadline").alone(),
        status("200 stalled", 200)
            .json(r#"{"commands":[]}"#.to_owned())
            .cut(4, Some("deadline"))
            .alone(),
    ]
}

/// Every form of a success. None of the tokens is for polls.
pub(super) fn successes(lure: &Lure) -> Vec<Form> {
    let empty = || r#"{"commands":[]}"#.to_owned();
    let ok = |name, status_code| Form {
        result: "ok".to_owned(),
        ..status(name, status_code)
    };
    let one = r#"{"request_id":"one","shard_token":"s 1,a","command_type":"jsonrpc","jsonrpc":{}}"#;
    vec![
        ok("204", 204),
        ok("200 empty", 200).json(empty()),
        ok("204 with a token", 204)
            .token(lure)
            .header("Retry-After", "9"),
        ok("200 with a command", 200)
            .json(format!(r#"{{"commands":[{one}]}}"#))
            .commands(&["s 1,a"]),
        ok("200 chunked", 200).json(empty()).chunked(),
        ok("200 with a token", 200).token(lure).json(empty()),
        ok("200 until close", 200)
            .json(empty())
            .framing("until-close"),
        ok("200 without a list", 200).json("{}".to_owned()),
        ok("200 with a command dropped", 200)
            .json(format!(
                r#"{{"commands":[7,{one}],"error":{}}}"#,
                error(lure.revision)
            ))
            .commands(&["s 1,a"]),
    ]
}

/// Every form of an answer that says nothing of the placement.
pub(super) fn neutrals(lure: &Lure) -> Vec<Form> {
    let mut forms = rejections(lure);
    forms.extend(not_followed());
    forms.extend(no_envelopes(lure));
    forms.extend(ordinary_conflicts(lure));
    forms.extend(malformed_corrections(lure));
    forms
}

fn rejections(lure: &Lure) -> Vec<Form> {
    vec![
        status("400", 400),
        status("401", 401),
        status("403", 403),
        status("404 with a correction", 404)
            .token(lure)
            .json(body(lure.revision)),
        status("429", 429).retry_after(1),
        status("429 over the limit", 429).long_body(),
        status("422", 422),
        status("202 with an envelope", 202).json(r#"{"commands":[]}"#.to_owned()),
        status("600", 600),
        status("999", 999),
    ]
}

fn not_followed() -> Vec<Form> {
    const ELSEWHERE: &str = "https://elsewhere.example/v1/tunnels/other/poll";
    vec![
        status("301", 301).header("Location", ELSEWHERE),
        status("302", 302).header("Location", ELSEWHERE),
        status("302 to itself", 302).header("Location", "/v1/tunnels/other/poll"),
        status("303", 303).header("Location", ELSEWHERE),
        status("307", 307).header("Location", ELSEWHERE),
        status("308", 308).header("Location", ELSEWHERE),
        status("304", 304).header("Location", ELSEWHERE),
    ]
}

fn no_envelopes(lure: &Lure) -> Vec<Form> {
    let failure = |name, text: &str| Form {
        result: "failure".to_owned(),
        ..status(name, 200).body(text)
    };
    vec![
        failure("200 without a body", ""),
        failure("200 that is no JSON", "<html>"),
        failure("200 with a list", "[]"),
        failure("200 with a list that is none", r#"{"commands":{}}"#).token(lure),
        failure("200 with two lists", r#"{"commands":[],"commands":[]}"#),
    ]
}

fn ordinary_conflicts(lure: &Lure) -> Vec<Form> {
    let conflict = |name, text: String| status(name, 409).token(lure).json(text);
    let revision = lure.revision;
    vec![
        status("409", 409),
        status("409 that is no JSON", 409)
            .token(lure)
            .body("wrong_cluster"),
        conflict(
            "409 other code",
            format!(r#"{{"error":{{"code":"conflict","policy_revision":{revision}}}}}"#),
        ),
        conflict(
            "409 code in capitals",
            format!(r#"{{"error":{{"code":"WRONG_CLUSTER","policy_revision":{revision}}}}}"#),
        ),
        conflict(
            "409 without code",
            format!(r#"{{"error":{{"policy_revision":{revision}}}}}"#),
        ),
        conflict(
            "409 without error",
            format!(r#"{{"Error":{}}}"#, error(revision)),
        ),
        conflict(
            "409 with a list for error",
            format!(r#"{{"error":["wrong_cluster",{revision}]}}"#),
        ),
        conflict(
            "409 with a list",
            format!(r#"[["error",{}]]"#, error(revision)),
        ),
        status("409 not UTF-8", 409)
            .token(lure)
            .bytes(json!({"parts": [body(revision), {"hex": "ff"}]})),
    ]
}

/// One for each fault that makes a correction malformed.
fn malformed_corrections(lure: &Lure) -> Vec<Form> {
    let revision = lure.revision;
    let code = r#""code":"wrong_cluster""#;
    let with = |name, members: String| {
        status(name, 409)
            .token(lure)
            .json(format!(r#"{{"error":{{{members}}}}}"#))
    };
    let line = |name, value: Value| status(name, 409).line(value).json(body(revision));
    let number = |name, text: &str| with(name, format!(r#"{code},"policy_revision":{text}"#));
    let copy = |name, text: &str| {
        with(
            name,
            format!(r#"{code},"policy_revision":{revision},"shard_token":{text}"#),
        )
    };
    vec![
        status("409 no token line", 409).json(body(revision)),
        line("409 two token lines", json!(lure.token)).token(lure),
        line("409 empty token", json!("")),
        line("409 long token", json!({"repeat": ["x", 4097]})),
        line("409 token with a comma", json!("trap,trap")),
        line("409 token with a space", json!("trap trap")),
        line("409 token beyond ASCII", json!({"hex": "74 72 61 70 e9"})),
        with("409 no revision", code.to_owned()),
        number("409 revision as text", &format!("\"{revision}\"")),
        number("409 revision null", "null"),
        number("409 revision negative", "-1"),
        number("409 revision negative zero", "-0"),
        number("409 revision fraction", &format!("{revision}.0")),
        number("409 revision exponent", "1e15"),
        number("409 revision in a list", &format!("[{revision}]")),
        number("409 revision too large", "9007199254740992"),
        number("409 revision with 17 digits", "10000000000000000"),
        with(
            "409 two codes",
            format!(r#"{code},{code},"policy_revision":{revision}"#),
        ),
        with(
            "409 two revisions",
            format!(r#"{code},"policy_revision":{revision},"policy_revision":{revision}"#),
        ),
        status("409 two errors", 409)
            .token(lure)
            .json(format!(r#"{{"error":{0},"error":{0}}}"#, error(revision))),
        copy("409 token copy null", "null"),
        copy("409 token copy in a list", r#"["trap"]"#),
        copy("409 token copy differs", r#""other""#),
        copy("409 token copy twice", r#""trap","shard_token":"trap""#),
        status("409 over the limit", 409)
            .token(lure)
            .bytes(json!({"parts": [
                body(revision),
                {"repeat": [" ", OVER_LIMIT - body(revision).len()]},
            ]})),
    ]
}

/// Every form of this valid correction.
pub(super) fn corrections(revision: u64, token: &str) -> Vec<Form> {
    let plain = |name| status(name, 409).line(json!(token));
    let code = r#""code":"wrong_cluster""#;
    let quoted = Value::from(token).to_string();
    vec![
        plain("correction").json(body(revision)),
        plain("correction with a copy").json(format!(
            r#"{{"error":{{{code},"policy_revision":{revision},"shard_token":{quoted}}}}}"#
        )),
        plain("correction with a delay").retry_after(1).json(body(revision)),
        plain("correction with more members").json(format!(
            r#"{{"id":1,"id":2,"error":{{"routing_shard_token":"trap","policy_revision":{revision},"Code":0,{code}}}}}"#
        )),
        plain("correction in chunks").json(body(revision)).chunked(),
        status("correction with blanks", 409)
            .line(json!(format!(" \t{token} ")))
            .body(&format!(" {{ \"error\" :\t{} }}\r\n", error(revision))),
        plain("correction with escapes").json(format!(
            r#"{{"\u0065rror":{{"c\u006fde":"wrong\u005fcluster","policy_revision":{revision}}}}}"#
        )),
        plain("correction until close").json(body(revision)).framing("until-close"),
        plain("correction as text").header("Content-Type", "text/html").json(body(revision)),
    ]
}

fn body(revision: u64) -> String {
    format!(r#"{{"error":{}}}"#, error(revision))
}

fn error(revision: u64) -> String {
    format!(r#"{{"code":"wrong_cluster","policy_revision":{revision}}}"#)
}

fn status(name: &'static str, status: u16) -> Form {
    let answer = AnswerText {
        status: Some(status),
        ..AnswerText::default()
    };
    Form::new(name, answer, format!("status {status}"))
}

fn fault(name: &'static str, transport: &'static str) -> Form {
    let answer = AnswerText {
        transport: Some(transport),
        ..AnswerText::default()
    };
    Form::new(name, answer, "failure".to_owned())
}

impl Form {
    fn new(name: &'static str, answer: AnswerText, result: String) -> Self {
        Self {
            name,
            answer,
            result,
            commands: Vec::new(),
            retry_after_ms: None,
            alone: false,
        }
    }

    fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    fn header(mut self, name: &'static str, value: &str) -> Self {
        self.answer.headers.push((name, json!(value)));
        self
    }

    fn line(mut self, value: Value) -> Self {
        self.answer.headers.push((TOKEN_LINE, value));
        self
    }

    fn token(self, lure: &Lure) -> Self {
        self.line(json!(lure.token))
    }

    fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_ms = Some(seconds * 1_000);
        self.header("Retry-After", &seconds.to_string())
    }

    fn json(mut self, text: String) -> Self {
        self.answer.json = Some(text);
        self
    }

    fn body(self, text: &str) -> Self {
        self.bytes(json!(text))
    }

    fn bytes(mut self, written: Value) -> Self {
        self.answer.body = Some(written);
        self
    }

    fn long_body(self) -> Self {
        self.bytes(json!({"repeat": ["x", OVER_LIMIT]}))
    }

    fn chunked(self) -> Self {
        self.framing("chunked")
    }

    fn framing(mut self, framing: &'static str) -> Self {
        self.answer.framing = Some(framing);
        self
    }

    /// Breaks the body off, so that whatever it is has no status to tell.
    fn cut(mut self, after: usize, by: Option<&'static str>) -> Self {
        self.answer.cut_after = Some(after);
        self.answer.cut_by = by;
        self.result = "failure".to_owned();
        self
    }

    fn commands(mut self, tokens: &[&'static str]) -> Self {
        self.commands = tokens.to_vec();
        self
    }
}
