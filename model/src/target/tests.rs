use proptest::prelude::*;

use super::*;

/// One `name=value|value` a header.
fn answered(lines: &[(&str, &str)]) -> Vec<String> {
    let lines = lines.iter().map(|(name, value)| (*name, value.as_bytes()));
    answer_headers(lines)
        .iter()
        .map(|(name, values)| format!("{name}={}", values.join("|")))
        .collect()
}

/// One `name: value` a line.
fn requested(headers: &[(&str, &[&str])]) -> Vec<String> {
    let owned = |text: &&str| (*text).to_owned();
    let headers: Vec<(String, Vec<String>)> = headers
        .iter()
        .map(|(name, values)| (owned(name), values.iter().map(owned).collect()))
        .collect();
    request_headers(&headers)
        .iter()
        .map(|(name, value)| format!("{name}: {value}"))
        .collect()
}

// spec-test: CMD-23
#[test]
fn brings_back_six_headers_in_one_spelling_and_order() {
    let lines = [
        ("www-authenticate", "Bearer"),
        ("date", "today"),
        ("ACCESS-CONTROL-EXPOSE-HEADERS", "a, b"),
        ("last-event-id", "7"),
        ("set-cookie", "c=d"),
        ("mcp-protocol-version", "2025-06-18"),
        ("mcp-session-id", "s"),
        ("Content-Type", "application/json; charset=utf-8"),
        ("www-authenticate", "Basic"),
        ("x-tunnel-shard-token", "t"),
        ("content-length", "3"),
    ];
    assert_eq!(
        answered(&lines),
        [
            "Content-Type=application/json; charset=utf-8",
            "Mcp-Session-Id=s",
            "Mcp-Protocol-Version=2025-06-18",
            "Last-Event-Id=7",
            "Access-Control-Expose-Headers=a, b",
            "WWW-Authenticate=Bearer|Basic",
        ]
    );
}

// spec-test: CMD-23
#[test]
fn leaves_out_empty_values_and_names_of_one_connection() {
    for (lines, kept) in [
        (&[("Mcp-Session-Id", "")][..], &[][..]),
        (&[("Mcp-Session-Id", " \t")], &[]),
        (
            &[("Mcp-Session-Id", ""), ("Mcp-Session-Id", " s ")],
            &["Mcp-Session-Id=s"],
        ),
        (
            &[
                ("Mcp-Session-Id", "s"),
                ("connection", "close ,\tMCP-session-ID"),
            ],
            &[],
        ),
        (
            &[
                ("Connection", "close"),
                ("Connection", "Last-Event-Id"),
                ("Last-Event-Id", "1"),
                ("Content-Type", "a"),
            ],
            &["Content-Type=a"],
        ),
        (&[("Mcp-Session-Id", "a\u{1}b")], &[]),
        (&[("Mcp-Session-Id", "é")], &["Mcp-Session-Id=é"]),
    ] {
        assert_eq!(answered(lines), kept, "{lines:?}");
    }
    assert_eq!(answer_headers([("Mcp-Session-Id", b"\xff".as_slice())]), []);
}

#[test]
fn brings_back_at_most_64_kib() {
    let half = "x".repeat(32_768);
    let two = [("Last-Event-Id", &*half), ("Mcp-Session-Id", &half)];
    assert_eq!(answered(&two).len(), 2);
    let three = [two[0], two[1], ("Content-Type", "x")];
    assert_eq!(answered(&three).len(), 2);
}

// spec-test: CMD-23
#[test]
fn what_is_of_one_connection_takes_no_room() {
    let whole = "x".repeat(MAX_ANSWER_HEADER_BYTES);
    let kept = ("Mcp-Session-Id", &*whole);
    let of_connection = ("Last-Event-Id", "7");
    let connection = ("Connection", "last-event-id");
    for lines in [
        [connection, of_connection, kept],
        [of_connection, kept, connection],
        [of_connection, connection, kept],
    ] {
        assert_eq!(answered(&lines), [format!("Mcp-Session-Id={whole}")]);
    }
}

#[test]
fn passes_on_what_the_caller_sent_for_the_server() {
    let headers: &[(&str, &[&str])] = &[
        ("mcp-session-id", &["s"]),
        ("Mcp-Protocol-Version", &["v"]),
        ("Last-Event-ID", &["7"]),
        ("Authorization", &["Bearer of-the-caller"]),
        ("x-custom", &["1", "", "3"]),
        ("X-Request-Id", &["r"]),
        ("x-tunnels", &["t"]),
    ];
    assert_eq!(
        requested(headers),
        [
            "mcp-session-id: s",
            "Mcp-Protocol-Version: v",
            "Last-Event-ID: 7",
            "Authorization: Bearer of-the-caller",
            "x-custom: 1",
            "x-custom: ",
            "x-custom: 3",
            "X-Request-Id: r",
            "x-tunnels: t",
        ]
    );
}

#[test]
fn holds_back_what_belongs_to_one_connection_or_to_the_client() {
    for name in WITHHELD_HEADERS {
        let (upper, value): (_, &[&str]) = (name.to_ascii_uppercase(), &["v"]);
        assert_eq!(requested(&[(name, value), (&upper, value)]), [""; 0]);
    }
    for name in [
        "X-Tunnel-Shard-Token",
        "x-tunnel-",
        "",
        "a b",
        "a:b",
        ":path",
        "é",
        "a\r\nb",
    ] {
        assert_eq!(requested(&[(name, &["v"])]), [""; 0], "{name:?}");
    }
    assert_eq!(
        requested(&[("a", &["x\r\nb: c", "\0", "\u{7f}", "ok\t"])]),
        ["a: ok\t"]
    );
    let named: &[(&str, &[&str])] = &[
        ("x-one", &["1"]),
        ("connection", &["X-One , keep-alive", "x-two"]),
        ("X-Two", &["2"]),
        ("x-three", &["3"]),
    ];
    assert_eq!(requested(named), ["x-three: 3"]);
}

// spec-test: CMD-38
#[test]
fn an_answer_made_here_keeps_the_headers_of_the_targets_but_its_type() {
    let json = || {
        (
            "Content-Type".to_owned(),
            vec![MESSAGE_CONTENT_TYPE.to_owned()],
        )
    };
    let challenge = || ("WWW-Authenticate".to_owned(), vec!["Bearer".to_owned()]);
    let html = ("Content-Type".to_owned(), vec!["text/html".to_owned()]);
    assert_eq!(json_headers(), [json()]);
    assert_eq!(
        made_answer_headers(vec![challenge()]),
        [json(), challenge()]
    );
    let both = made_answer_headers(vec![html, challenge()]);
    assert_eq!(both, [json(), challenge()]);
}

// spec-test: CMD-24
#[test]
fn a_stream_is_told_by_its_type_and_is_never_an_error() {
    for (value, is_stream) in [
        ("text/event-stream", true),
        (" Text/Event-Stream ; charset=utf-8", true),
        ("\ttext/event-stream\t;", true),
        ("text/event-stream\u{a0}", false),
        ("\u{2003}text/event-stream", false),
        ("text/event-stream\u{85};charset=utf-8", false),
        ("application/json", false),
        ("text/event-streams", false),
        ("", false),
    ] {
        for status in [200, 202, 299] {
            let told = is_event_stream(status, Some(value.as_bytes()));
            assert_eq!(told, is_stream, "{value}");
        }
        for status in [199, 300, 401, 500] {
            assert!(!is_event_stream(status, Some(value.as_bytes())), "{value}");
        }
    }
    assert!(!is_event_stream(200, None));
    assert!(!is_event_stream(200, Some(b"\xff")));
}

fn failure(source: FailureSource) -> TunnelFailure {
    TunnelFailure {
        source,
        transport_error_kind: None,
        upstream_response_received: true,
    }
}

// spec-test: CMD-21
#[test]
fn an_answer_to_the_request_passes_with_any_status() {
    let request = RawId::parse("\"a\"").unwrap();
    for text in [
        "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}",
        "\n { \"id\":\"\\u0061\", \"jsonrpc\":\"2.0\",\"result\":1e999,\"x\":1,\"x\":2}",
        r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"no","data":[]}}"#,
    ] {
        for status in [200, 202, 302, 400, 404, 500, 503] {
            let judged = judge_answer(&request, status, text.into());
            assert_eq!(judged.as_deref(), Ok(text));
        }
    }
}

// spec-test: CMD-21, CMD-22
#[test]
fn anything_else_is_a_failure_by_its_status() {
    let request = RawId::parse("1").unwrap();
    for body in [
        b"".as_slice(),
        b"not found",
        b"\xff",
        br#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
        br#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
        br#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}"#,
        br#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#,
        br#"{"jsonrpc":"1.0","id":1,"result":{}}"#,
        br#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
        br#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#,
        br#"{"error":"unauthorized"}"#,
    ] {
        for status in [200, 202, 204, 299] {
            let judged = judge_answer(&request, status, body.into());
            assert_eq!(judged, Err(failure(FailureSource::Protocol)), "{status}");
        }
        for status in [100, 199, 300, 302, 401, 404, 500, 599, 700] {
            let judged = judge_answer(&request, status, body.into());
            let status = Some(status);
            assert_eq!(judged, Err(failure(FailureSource::TargetHttp { status })));
        }
    }
}

// spec-test: CMD-22, CMD-39
#[test]
fn what_asks_for_no_answer_is_judged_by_the_status_alone() {
    for (code, accepts, ends) in [
        (199, false, false),
        (200, true, true),
        (299, true, true),
        (300, false, false),
        (400, false, true),
        (404, false, true),
        (405, false, true),
        (499, false, true),
        (500, false, false),
        (503, false, false),
        (600, false, false),
    ] {
        let source = FailureSource::TargetHttp { status: Some(code) };
        let judged = |good: bool| if good { Ok(()) } else { Err(failure(source)) };
        assert_eq!(judge_acceptance(code), judged(accepts), "{code}");
        assert_eq!(judge_termination(code), judged(ends), "{code}");
    }
}

// spec-test: CMD-22
#[test]
fn an_error_keeps_its_status_whatever_becomes_of_its_body() {
    for (status, source) in [
        (200, FailureSource::Protocol),
        (401, FailureSource::TargetHttp { status: Some(401) }),
        (503, FailureSource::TargetHttp { status: Some(503) }),
    ] {
        let fault = TunnelFailure {
            transport_error_kind: Some("answer_too_large"),
            ..failure(FailureSource::Protocol)
        };
        assert_eq!(by_status(status, fault), TunnelFailure { source, ..fault });
    }
}

// spec-test: CMD-24
#[test]
fn tells_the_answer_in_a_stream_from_what_comes_before_it() {
    let request = RawId::parse("1").unwrap();
    let event = |kind: &str, data: &str| Event {
        event: kind.to_owned(),
        data: data.to_owned(),
        id: None,
    };
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    for (data, meaning) in [
        (answer, EventMeaning::Answer),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}"#,
            EventMeaning::Answer,
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"result":{}}"#,
            EventMeaning::Nothing,
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#,
            EventMeaning::Nothing,
        ),
        (
            r#"{"jsonrpc":"2.0","method":"a"}"#,
            EventMeaning::Notification,
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#,
            EventMeaning::Notification,
        ),
        ("", EventMeaning::Nothing),
        ("{}", EventMeaning::Nothing),
    ] {
        let found = judge_event(&request, &event("message", data));
        assert_eq!(found, meaning, "{data}");
        let other = judge_event(&request, &event("other", data));
        assert_eq!(other, EventMeaning::Nothing, "{data}");
    }
}

proptest! {
    #[test]
    fn reads_any_bytes(
        name in ".*",
        value in prop::collection::vec(any::<u8>(), 0..16),
        text in ".*",
        status in any::<u16>(),
    ) {
        let id = RawId::of_text(&text);
        let _ = judge_answer(&id, status, value.clone());
        let _ = is_event_stream(status, Some(&value));
        let lines = [(&*name, &*value), ("connection", &value), ("Mcp-Session-Id", &value)];
        prop_assert!(answer_headers(lines).len() <= 1);
        let _ = request_headers(&[(name, vec![text])]);
    }
}
