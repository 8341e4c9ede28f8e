use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn id(raw: &str) -> RawId {
    RawId::parse(raw).unwrap()
}

fn message(members: &str) -> Result<String, MessageFault> {
    let text = format!(r#"{{"jsonrpc":"2.0",{members}}}"#);
    Message::parse(&text).map(|message| match message {
        Message::Error { id: None } => "error".to_owned(),
        Message::Error { id: Some(id) } => format!("error {}", id.raw()),
        Message::Notification { method } => format!("notification {method}"),
        Message::Request { id, method } => format!("request {} {method}", id.raw()),
        Message::Response { id } => format!("response {}", id.raw()),
    })
}

#[test]
fn tells_four_kinds_apart() {
    for (members, kind) in [
        (r#""id":1,"method":"tools/list""#, "request 1 tools/list"),
        (r#""method":"a","id":"x","params":[]"#, "request \"x\" a"),
        (r#""method":"a""#, "notification a"),
        (r#""method":"\u0061\/b","y":1,"y":2"#, "notification a/b"),
        (r#""id":-7,"result":null"#, "response -7"),
        (r#""result":{},"id":"\u0061""#, r#"response "\u0061""#),
        (
            r#""id":1,"error":{"code":-1,"message":"","data":1e999}"#,
            "error 1",
        ),
        (r#""id":null,"error":{"code":0,"message":"m"}"#, "error"),
        (r#""error":{"message":"m","code":12}"#, "error"),
        (r#""ID":1,"Method":"b","method":"a""#, "notification a"),
    ] {
        assert_eq!(message(members), Ok(kind.to_owned()), "{members}");
    }
    let spaced = " \n{ \"\\u0069d\" : 1 , \"jsonrpc\":\"2\\u002e0\",\"method\":\"a\"}\t";
    assert!(matches!(
        Message::parse(spaced),
        Ok(Message::Request { .. })
    ));
}

#[test]
fn names_each_fault() {
    for (members, fault) in [
        (r#""id":null,"method":"a""#, MessageFault::IdInvalid),
        (r#""id":1.0,"method":"a""#, MessageFault::IdInvalid),
        (r#""id":1e2,"method":"a""#, MessageFault::IdInvalid),
        (r#""id":true,"method":"a""#, MessageFault::IdInvalid),
        (r#""id":[1],"method":"a""#, MessageFault::IdInvalid),
        (r#""id":{},"result":1"#, MessageFault::IdInvalid),
        (r#""id":null,"result":1"#, MessageFault::IdInvalid),
        (r#""result":1"#, MessageFault::IdMissing),
        (
            r#""id":1.5,"error":{"code":1,"message":""}"#,
            MessageFault::IdInvalid,
        ),
        (r#""id":1,"method":7"#, MessageFault::MethodInvalid),
        (r#""id":1,"method":null"#, MessageFault::MethodInvalid),
        (r#""method":"\ud800""#, MessageFault::MethodInvalid),
        (r#""id":1"#, MessageFault::NotOneKind),
        (
            r#""id":1,"method":"a","result":1"#,
            MessageFault::NotOneKind,
        ),
        (
            r#""id":1,"result":1,"error":{"code":1,"message":""}"#,
            MessageFault::NotOneKind,
        ),
        (
            r#""method":"a","error":{"code":1,"message":""}"#,
            MessageFault::NotOneKind,
        ),
        (r#""id":1,"error":null"#, MessageFault::ErrorInvalid),
        (r#""id":1,"error":"x""#, MessageFault::ErrorInvalid),
        (r#""id":1,"error":{}"#, MessageFault::ErrorInvalid),
        (r#""id":1,"error":{"code":1}"#, MessageFault::ErrorInvalid),
        (
            r#""id":1,"error":{"message":"m"}"#,
            MessageFault::ErrorInvalid,
        ),
        (
            r#""id":1,"error":{"code":"1","message":"m"}"#,
            MessageFault::ErrorInvalid,
        ),
        (
            r#""id":1,"error":{"code":1.5,"message":"m"}"#,
            MessageFault::ErrorInvalid,
        ),
        (
            r#""id":1,"error":{"code":1,"message":7}"#,
            MessageFault::ErrorInvalid,
        ),
        (
            r#""id":1,"error":{"code":1,"code":1,"message":"m"}"#,
            MessageFault::ErrorInvalid,
        ),
    ] {
        assert_eq!(message(members), Err(fault), "{members}");
    }
    for (text, fault) in [
        ("", MessageFault::NotJson),
        ("{", MessageFault::NotJson),
        ("{} {}", MessageFault::NotJson),
        ("[]", MessageFault::NotAnObject),
        ("[{}]", MessageFault::NotAnObject),
        ("null", MessageFault::NotAnObject),
        (r#"{"method":"a"}"#, MessageFault::VersionInvalid),
        (
            r#"{"jsonrpc":2.0,"method":"a"}"#,
            MessageFault::VersionInvalid,
        ),
        (
            r#"{"jsonrpc":"2","method":"a"}"#,
            MessageFault::VersionInvalid,
        ),
        (
            r#"{"jsonrpc":"2.0 ","method":"a"}"#,
            MessageFault::VersionInvalid,
        ),
    ] {
        assert_eq!(Message::parse(text), Err(fault), "{text}");
    }
}

#[test]
fn refuses_each_telling_member_that_stands_twice() {
    for name in ["jsonrpc", "id", "method", "params", "result", "error"] {
        let value = r#""2.0""#;
        let text =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","{name}":{value},"{name}":{value}}}"#);
        let fault = Message::parse(&text);
        assert_eq!(fault, Err(MessageFault::MemberRepeated(name)));
    }
}

#[test]
fn ids_are_equal_by_what_they_stand_for() {
    let same = [
        ("1", "1"),
        ("\"a\"", "\"\\u0061\""),
        ("\"/\"", "\"\\/\""),
        ("\"\\u00e9\"", "\"é\""),
        ("\"\\\"\"", "\"\\u0022\""),
        ("\"\"", "\"\""),
    ];
    for (one, other) in same {
        assert_eq!(id(one), id(other));
        let set: HashSet<RawId> = [id(one), id(other)].into();
        assert_eq!(set.len(), 1, "{one} {other}");
    }
    for (one, other) in [
        ("1", "\"1\""),
        ("1", "-1"),
        ("0", "-0"),
        ("\"a\"", "\"A\""),
        ("\"\\\\u0061\"", "\"a\""),
        ("\"\\ud800\"", "\"\\ud801\""),
        (
            "123456789012345678901234567890",
            "123456789012345678901234567891",
        ),
    ] {
        assert_ne!(id(one), id(other));
    }
    assert_eq!(id("\"\\u0061\"").raw(), "\"\\u0061\"");
}

#[test]
fn refuses_what_is_no_id() {
    for raw in [
        "",
        "null",
        "true",
        "1.0",
        "1e1",
        "01",
        "-",
        "--1",
        "+1",
        " 1",
        "1 ",
        "\"",
        "\"a",
        "a\"",
        "\"a\" ",
        "\"a\"b\"",
        "\"a\",\"\":\"a\"",
        "\"\n\"",
        "\"\\x\"",
        "[]",
        "{}",
        "1,",
    ] {
        assert_eq!(RawId::parse(raw), None, "{raw}");
    }
}

#[test]
fn finds_progress_tokens_where_they_belong() {
    let request = |params: &str| {
        let text = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"m","params":{params}}}"#);
        progress_token(&text).map(|token| token.raw().to_owned())
    };
    let found = |raw: &str| Some(raw.to_owned());
    assert_eq!(request(r#"{"_meta":{"progressToken":7}}"#), found("7"));
    assert_eq!(
        request(r#"{"a":[],"_meta":{"b":1,"progress\u0054oken":"\u0061"}}"#),
        found("\"\\u0061\"")
    );
    for params in [
        "{}",
        "[]",
        "null",
        r#"{"progressToken":7}"#,
        r#"{"_meta":null}"#,
        r#"{"_meta":[{"progressToken":7}]}"#,
        r#"{"_meta":{"progressToken":null}}"#,
        r#"{"_meta":{"progressToken":1.5}}"#,
        r#"{"_meta":{"progressToken":1,"progressToken":1}}"#,
        r#"{"_meta":{},"_meta":{"progressToken":7}}"#,
    ] {
        assert_eq!(request(params), None, "{params}");
    }
    let told = |method: &str, params: &str| {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
        progress_token(&text).map(|token| token.raw().to_owned())
    };
    let params = r#"{"progress":1,"progressToken":"t"}"#;
    assert_eq!(told(PROGRESS_METHOD, params), found("\"t\""));
    assert_eq!(told("notifications/message", params), None);
    assert_eq!(
        told(PROGRESS_METHOD, r#"{"_meta":{"progressToken":1}}"#),
        None
    );
    assert_eq!(progress_token("{}"), None);
}

#[test]
fn finds_the_request_that_is_cancelled() {
    let cancelled = |method: &str, params: &str| {
        let text = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#);
        cancelled_request(&text).map(|id| id.raw().to_owned())
    };
    let params = r#"{"reason":"r","requestId":12}"#;
    assert_eq!(cancelled(CANCELLED_METHOD, params), Some("12".to_owned()));
    assert_eq!(cancelled("notifications/other", params), None);
    assert_eq!(
        cancelled(CANCELLED_METHOD, r#"{"requestId":1,"requestId":2}"#),
        None
    );
    let request =
        r#"{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(cancelled_request(request), None);
}

// spec-test: CMD-34
#[test]
fn knows_what_was_meant_as_an_answer() {
    for (text, meant) in [
        (r#"{"id":7,"result":{}}"#, true),
        (r#"{"jsonrpc":"2.0","id":7,"result":{},"error":null}"#, true),
        (r#"{"jsonrpc":"2.0","id":7,"error":"x"}"#, true),
        (r#"{"id":7,"result":1,"result":2}"#, true),
        (r#"{"id":7,"method":"ping"}"#, false),
        (r#"{"id":7,"method":"ping","result":{}}"#, false),
        (r#"{"id":7,"level":"info","msg":"a line of a log"}"#, false),
        (r#"{"id":7,"id":7,"result":{}}"#, false),
        (r#"{"id":null,"result":{}}"#, false),
        (r#"{"result":{}}"#, false),
        (r#"[{"id":7,"result":{}}]"#, false),
        (r#"{"id":7,"result":{}"#, false),
    ] {
        assert_eq!(meant_to_answer(text), meant.then(|| id("7")), "{text}");
    }
}

#[test]
fn exchanges_the_id_alone() {
    for (text, changed) in [
        (r#"{"id":1}"#, r#"{"id":"n-1"}"#),
        (
            "{ \"a\":{\"id\":1} , \"\\u0069d\" :\t17 ,\"id2\":1}\n",
            "{ \"a\":{\"id\":1} , \"\\u0069d\" :\t\"n-1\" ,\"id2\":1}\n",
        ),
        (r#"{"é":"é","id":"é"}"#, r#"{"é":"é","id":"n-1"}"#),
        (r#"{"id":1,"id":2}"#, r#"{"id":1,"id":2}"#),
        ("{}", "{}"),
        ("[1]", "[1]"),
        ("{\"id\":1", "{\"id\":1"),
    ] {
        assert_eq!(with_id(text, &id("\"n-1\"")), changed);
    }
}

#[test]
fn makes_ids_of_any_text() {
    for text in ["", "moorline-1", "\"\\\n", "é"] {
        let made = RawId::of_text(text);
        assert_eq!(made, id(made.raw()), "{text}");
    }
    assert_eq!(RawId::of_text("a"), id("\"\\u0061\""));
}

#[test]
fn depth_costs_no_stack() {
    let depth = 500_000;
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{}{}}}"#,
        "{\"_meta\":".repeat(depth) + "1",
        "}".repeat(depth)
    );
    assert!(matches!(Message::parse(&text), Ok(Message::Request { .. })));
    assert_eq!(progress_token(&text), None);
}

#[test]
fn knows_which_ids_survive_any_reader() {
    for raw in [
        "0",
        "-1",
        "9007199254740991",
        "-9007199254740991",
        "\"\"",
        "\"\\ud83d\\ude00\"",
    ] {
        assert!(id(raw).is_portable(), "{raw}");
    }
    for raw in [
        "-0",
        "9007199254740992",
        "-9007199254740992",
        "9223372036854775808",
        "123456789012345678901234567890",
        "\"\\ud800\"",
    ] {
        assert!(!id(raw).is_portable(), "{raw}");
    }
    assert!(id("\"\\u0061b\"").text_starts_with("a"));
    assert!(!id("\"b\"").text_starts_with("a"));
    assert!(!id("12").text_starts_with("1"));
}

/// A message's pieces before and after its id, in any order of members.
fn around_an_id() -> impl Strategy<Value = (String, String, String)> {
    let raw_id = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<String>().prop_map(|text| RawId::of_text(&text).raw().to_owned()),
    ];
    let member = (any::<String>(), any::<String>()).prop_map(|(key, value)| {
        let key = RawId::of_text(&format!("x{key}"));
        format!("{} :{}", key.raw(), RawId::of_text(&value).raw())
    });
    let members = prop::collection::vec(member, 0..4);
    (raw_id, members.clone(), members).prop_map(|(raw_id, before, after)| {
        let before: String = before.iter().map(|member| format!("{member}, ")).collect();
        let after: String = after.iter().map(|member| format!(", {member}")).collect();
        let before = format!(r#"{{"jsonrpc":"2.0",{before}"id": "#);
        (before, raw_id, format!(r#",	"method":"m"{after} }}"#))
    })
}

proptest! {
    #[test]
    fn keeps_every_byte_around_the_id(
        (before, raw, after) in around_an_id(),
        new in any::<String>(),
    ) {
        let text = format!("{before}{raw}{after}");
        let request = Message::Request { id: id(&raw), method: "m".into() };
        prop_assert_eq!(Message::parse(&text), Ok(request));
        let new = RawId::of_text(&new);
        let changed = with_id(&text, &new);
        prop_assert_eq!(&changed, &format!("{before}{}{after}", new.raw()));
        prop_assert_eq!(with_id(&changed, &id(&raw)), text);
    }

    #[test]
    fn reads_any_text(text in ".*", members in ".*") {
        for text in [&text, &format!(r#"{{"jsonrpc":"2.0","id":1,{members}}}"#)] {
            let _ = Message::parse(text);
            let _ = RawId::parse(text);
            let _ = progress_token(text);
            let _ = cancelled_request(text);
            let _ = with_id(text, &RawId::of_text("x"));
        }
    }
}
