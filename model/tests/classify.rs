//! Every rule by which a poll's exchange is classified, in its order.

mod exchanges;

use std::error::Error as _;
use std::time::Duration;

use exchanges::{
    CORRECTION, Ended, KnownHeaders, Line, NONE, PADDED_LIMIT, TOKEN, classified, ends_of_a_body,
    padded, summary,
};
use moorline_model::placement::{Placement, Verdict};
use moorline_model::poll::{
    Body, BodyPlan, Classified, ENVELOPE_LIMIT, ERROR_BODY_LIMIT, Exchange, Interruption,
    PollFault, SHARD_TOKEN_HEADER, body_plan, classify,
};
use moorline_model::wire::{CorrectionFault, EnvelopeFault, Revision};

const INTERRUPTIONS: [Interruption; 3] = [
    Interruption::Closed,
    Interruption::Deadline,
    Interruption::Network,
];

/// The rules for an answer, in their order, as an independent table: what is reported, and the status
/// that it names.
fn rule(status: u16, body: Body<'_>, cancelled: bool) -> (Ended, Option<u16>) {
    let correction = body == Body::Complete(CORRECTION);
    let uncancelled = match (status, body) {
        (204, _) => return (Ended::Success, None),
        // An object without commands is an envelope, whatever else it holds.
        (200, Body::Complete(_)) if correction => return (Ended::Success, None),
        (_, Body::Interrupted(Interruption::Deadline)) => (Ended::Failure("timeout"), None),
        (_, Body::Interrupted(_)) => (Ended::Failure("network_error"), None),
        (200, _) => (Ended::Neutral("invalid_response"), Some(200)),
        (409, Body::Complete(_)) if correction => (Ended::Correction, Some(409)),
        (408, _) => (Ended::Failure("http_error"), Some(408)),
        (500.., _) if status < 600 => (Ended::Failure("http_error"), Some(status)),
        _ => (Ended::Neutral("http_error"), Some(status)),
    };
    if cancelled {
        (Ended::Cancelled, None)
    } else {
        uncancelled
    }
}

// spec-test: CLS-1, CLS-2, CLS-6, CLS-7, CLS-8, CLS-9, CLS-10, CLS-12, CLS-14, CLS-15, CLS-16, CLS-17
// spec-test: COR-1
#[test]
fn each_status_with_each_end_of_its_body() {
    let mut counts = [0; 5];
    for status in 100..=999 {
        for body in ends_of_a_body() {
            for cancelled in [false, true] {
                let found = summary(&classified(status, &TOKEN, body, cancelled));
                let what = format!("{status} {body:?}, cancelled: {cancelled}");
                assert_eq!(found, rule(status, body, cancelled), "{what}");
                counts[found.0.index()] += 1;
            }
        }
    }
    // 900 statuses, 7 ends, cancelled or not: 12,600 in all. Successes: the 7 ends of a 204 and one
    // of 200, both ways. One correction. Failures: 3 interruptions for each status but 204, and
    // 4 other ends for each of the 101 statuses that count by themselves.
    let success = 2 * (7 + 1);
    let correction = 1;
    let failure = 899 * 3 + 101 * 4;
    let cancelled = 899 * 7 - 1;
    let neutral = 12_600 - success - correction - failure - cancelled;
    assert_eq!(counts, [success, correction, failure, neutral, cancelled]);
}

// spec-test: CLS-1, CLS-3, CLS-4, CLS-5
#[test]
fn without_a_head_only_a_request_that_left_counts() {
    type NoHeaders = [(&'static str, &'static [u8])];
    let of =
        |exchange: Exchange<'_, NoHeaders>, cancelled| summary(&classify(exchange, cancelled, 0));
    assert_eq!(
        of(Exchange::NotSent, false),
        (Ended::Neutral("request_error"), None)
    );
    assert_eq!(of(Exchange::NotSent, true), (Ended::Cancelled, None));
    for by in INTERRUPTIONS {
        let category = if by == Interruption::Deadline {
            "timeout"
        } else {
            "network_error"
        };
        assert_eq!(
            of(Exchange::NoHead(by), false),
            (Ended::Failure(category), None)
        );
        assert_eq!(of(Exchange::NoHead(by), true), (Ended::Cancelled, None));
    }
}

// spec-test: CLS-6, CLS-7, CLS-11
#[test]
fn plans_how_much_of_each_body_to_read() {
    assert_eq!(ENVELOPE_LIMIT, 32 * 1024 * 1024);
    assert_eq!(ERROR_BODY_LIMIT, 65_536);
    for envelope in [0, 1, ENVELOPE_LIMIT, usize::MAX] {
        for status in 100..=999 {
            let expected = match status {
                200 => BodyPlan::Read { limit: envelope },
                204 => BodyPlan::Skip,
                _ => BodyPlan::Read { limit: 65_536 },
            };
            assert_eq!(body_plan(status, envelope), expected, "{status}");
        }
    }
}

// spec-test: CLS-11, CLS-13
#[test]
fn a_body_at_the_limit_is_judged_like_a_shorter_one() {
    let body = padded(CORRECTION, PADDED_LIMIT);
    assert_eq!(body.len(), 65_536);
    let lies = [
        TOKEN[0],
        ("content-length", b"1"),
        ("content-length", b"99999999"),
    ];
    for headers in [&TOKEN[..], &lies] {
        let found = summary(&classified(409, headers, Body::Complete(&body), false));
        assert_eq!(found, (Ended::Correction, Some(409)));
    }
}

// spec-test: CLS-9, CLS-10
#[test]
fn a_complete_200_succeeds_if_it_is_an_envelope() {
    type Counts = (usize, usize);
    let cases: [(&[u8], Result<Counts, EnvelopeFault>); 13] = [
        (br#"{"commands":[]}"#, Ok((0, 0))),
        (br#"{"commands":null}"#, Ok((0, 0))),
        (b"{}", Ok((0, 0))),
        (br#" {"x":[1e999],"commands":[ ]} "#, Ok((0, 0))),
        (
            br#"{"commands":[{"request_id":"r","shard_token":"s","command_type":"new"}]}"#,
            Ok((1, 0)),
        ),
        (
            br#"{"commands":[7,{"request_id":"r","shard_token":"s","command_type":"c"},{}]}"#,
            Ok((1, 2)),
        ),
        (b"", Err(EnvelopeFault::NotJson)),
        (b"{\"commands\":[", Err(EnvelopeFault::NotJson)),
        (b"<html></html>", Err(EnvelopeFault::NotJson)),
        (b"[]", Err(EnvelopeFault::NotAnObject)),
        (
            br#"{"commands":{}}"#,
            Err(EnvelopeFault::CommandsNotAnArray),
        ),
        (
            br#"{"commands":[],"commands":[]}"#,
            Err(EnvelopeFault::CommandsRepeated),
        ),
        (b"{\"x\":\"\xff\"}", Err(EnvelopeFault::NotUtf8)),
    ];
    for (body, expected) in cases {
        let found = classified(200, &TOKEN, Body::Complete(body), false);
        let ended = if expected.is_ok() {
            Ended::Success
        } else {
            Ended::Neutral("invalid_response")
        };
        assert_eq!(summary(&found).0, ended, "{}", body.escape_ascii());
        let reply = found
            .reply
            .map(|envelope| (envelope.commands.len(), envelope.dropped));
        assert_eq!(reply.map_err(envelope_fault), expected.map_err(Some));
    }
}

fn envelope_fault(fault: PollFault) -> Option<EnvelopeFault> {
    match fault {
        PollFault::Envelope(fault) => Some(fault),
        _ => None,
    }
}

// spec-test: CLS-16, COR-8, COR-9, COR-10
#[test]
fn a_correction_needs_exactly_one_valid_token_line_in_any_case_of_its_name() {
    use CorrectionFault as F;
    let long = [b'x'; 4097];
    let cases: [(&[Line<'_>], Result<&str, F>); 16] = [
        (&[("x-tunnel-shard-token", b"route-a")], Ok("route-a")),
        (&[("X-Tunnel-Shard-Token", b"route-a")], Ok("route-a")),
        (&[("X-TUNNEL-SHARD-TOKEN", &long[1..])], Ok("x")),
        (
            &[("x-tunnel-shard-tokens", b"a"), ("x-tunnel-shard", b"b")],
            Err(F::HeaderMissing),
        ),
        (&[], Err(F::HeaderMissing)),
        (
            &[
                ("x-tunnel-shard-token", b"a"),
                ("X-Tunnel-Shard-Token", b"a"),
            ],
            Err(F::HeaderRepeated),
        ),
        (
            &[
                ("X-Tunnel-Shard-Token", b"a"),
                ("etag", b"1"),
                ("X-TUNNEL-SHARD-TOKEN", b"b"),
            ],
            Err(F::HeaderRepeated),
        ),
        (
            &[
                ("x-tunnel-shard-token", b""),
                ("x-tunnel-shard-token", b"a"),
            ],
            Err(F::HeaderRepeated),
        ),
        (&[("x-tunnel-shard-token", b"")], Err(F::HeaderEmpty)),
        (&[("x-tunnel-shard-token", &long)], Err(F::HeaderTooLong)),
        (
            &[("x-tunnel-shard-token", b"a,b")],
            Err(F::HeaderInvalidByte),
        ),
        (
            &[("x-tunnel-shard-token", b"a b")],
            Err(F::HeaderInvalidByte),
        ),
        (
            &[("x-tunnel-shard-token", b" a")],
            Err(F::HeaderInvalidByte),
        ),
        (
            &[("x-tunnel-shard-token", b"a\t")],
            Err(F::HeaderInvalidByte),
        ),
        (
            &[("x-tunnel-shard-token", b"a\x7f")],
            Err(F::HeaderInvalidByte),
        ),
        (
            &[("x-tunnel-shard-token", b"a\xe9")],
            Err(F::HeaderInvalidByte),
        ),
    ];
    for (headers, expected) in cases {
        let found = classified(409, headers, Body::Complete(CORRECTION), false);
        match expected {
            Ok(start) => {
                assert_eq!(summary(&found), (Ended::Correction, Some(409)));
                let token = exchanges::token_of(&found).expect("a correction has a token");
                assert!(token.starts_with(start));
            }
            Err(fault) => {
                assert_eq!(
                    found.reply.err(),
                    Some(PollFault::MalformedCorrection(fault))
                );
            }
        }
    }
}

// spec-test: CLS-16, COR-1
#[test]
fn a_complete_409_that_is_no_correction_is_neutral_by_its_own_name() {
    let ordinary: [&[u8]; 7] = [
        b"",
        b"conflict",
        b"[]",
        b"{\"x\":\"\xff\"}",
        b"{}",
        br#"{"error":"wrong_cluster"}"#,
        br#"{"error":{"code":"Wrong_Cluster","policy_revision":42}}"#,
    ];
    for body in ordinary {
        let found = classified(409, &TOKEN, Body::Complete(body), false);
        assert_eq!(found.reply.as_ref().err(), Some(&PollFault::Status(409)));
        assert_eq!(summary(&found), (Ended::Neutral("http_error"), Some(409)));
    }
    let malformed: [&[u8]; 4] = [
        br#"{"error":{},"error":{}}"#,
        br#"{"error":{"code":"wrong_cluster"}}"#,
        br#"{"error":{"code":"wrong_cluster","policy_revision":"42"}}"#,
        br#"{"error":{"code":"wrong_cluster","policy_revision":42,"shard_token":null}}"#,
    ];
    for body in malformed {
        let found = classified(409, &TOKEN, Body::Complete(body), false);
        assert_eq!(
            summary(&found),
            (Ended::Neutral("invalid_response"), Some(409))
        );
    }
}

/// A correction anywhere but in a complete 409 is none, and its header teaches nothing.
// spec-test: COR-1, PLC-8
#[test]
fn only_a_complete_409_brings_a_token() {
    let mut brought = Vec::new();
    for status in 100..=999 {
        for body in ends_of_a_body() {
            let found = classified(status, &TOKEN, body, false);
            if exchanges::token_of(&found).is_some() {
                brought.push((status, body));
            }
        }
    }
    assert_eq!(brought, [(409, Body::Complete(CORRECTION))]);
}

// spec-test: PLC-8
#[test]
fn a_success_teaches_no_token_and_keeps_the_one_that_is_active() {
    let commands = br#"{"shard_token":"x","error":{"code":"wrong_cluster","policy_revision":99},
        "commands":[{"request_id":"r","shard_token":"other","command_type":"jsonrpc","jsonrpc":{}}]}"#;
    let successes = [
        (200, Body::Complete(commands.as_slice())),
        (204, Body::Unread),
    ];

    let mut placement = Placement::new();
    for (status, body) in successes {
        let found = classified(status, &[(SHARD_TOKEN_HEADER, b"other")], body, false);
        let attempt = placement.snapshot();
        assert_eq!(placement.commit(attempt, found.outcome), Verdict::Success);
        assert_eq!(
            (placement.has_token(), placement.watermark()),
            (false, None)
        );
    }

    let correction = classified(409, &TOKEN, Body::Complete(CORRECTION), false);
    let attempt = placement.snapshot();
    assert_eq!(
        placement.commit(attempt, correction.outcome),
        Verdict::Installed
    );
    for (status, body) in successes {
        let found = classified(status, &[(SHARD_TOKEN_HEADER, b"other")], body, false);
        let attempt = placement.snapshot();
        assert_eq!(placement.commit(attempt, found.outcome), Verdict::Success);
        assert_eq!(
            placement.active_token().map(|token| token.expose()),
            Some("route-a")
        );
        assert_eq!(placement.watermark(), Revision::new(42));
    }
}

/// [`KnownHeaders`] panics when it is asked for any other name.
// spec-test: CLS-18
#[test]
fn no_other_header_is_asked_for() {
    let headers = KnownHeaders::new(&TOKEN);
    let mut count = 0;
    for status in 100..=999 {
        for body in ends_of_a_body() {
            let exchange = Exchange::Head {
                status,
                headers: &headers,
                body,
            };
            let found = classify(exchange, false, 0);
            assert_eq!(summary(&found), rule(status, body, false));
            count += 1;
        }
    }
    assert_eq!(count, 6_300);
    assert_eq!(headers.asked(), ["retry-after", "x-tunnel-shard-token"]);
}

// spec-test: LOOP-9
#[test]
fn the_first_hint_in_the_head_of_an_unsuccessful_answer_counts_however_its_body_ended() {
    let headers: [(&str, &[u8]); 3] = [TOKEN[0], ("Retry-After", b" 7 "), ("retry-after", b"9")];
    let mut hinted = 0;
    for status in 100..=999 {
        for body in ends_of_a_body() {
            let found = classified(status, &headers, body, false);
            let expected = found.reply.is_err().then_some(Duration::from_secs(7));
            assert_eq!(found.retry_after, expected, "{status} {body:?}");
            hinted += usize::from(found.retry_after.is_some());
            let cancelled = classified(status, &headers, body, true);
            assert_eq!(cancelled.retry_after, None, "{status} {body:?}");
        }
    }
    // All but the 7 ends of a 204 and the one end of a 200 that succeeds.
    assert_eq!(hinted, 900 * 7 - 8);
}

// spec-test: LOOP-9, LOOP-10, LOOP-11, LOOP-12
#[test]
fn a_first_hint_that_asks_for_nothing_hides_the_later_ones() {
    let now = 784_111_777;
    let cases: [(&[u8], Option<u64>); 9] = [
        (b"0", Some(0)),
        (b"61", Some(60)),
        (b"Sun, 06 Nov 1994 08:49:47 GMT", Some(10)),
        (b"Sun, 06 Nov 1994 08:49:36 GMT", None),
        (b"", None),
        (b"+5", None),
        (b"-1", None),
        (b"1.5", None),
        (b"\xff", None),
    ];
    for (value, seconds) in cases {
        let headers = [("retry-after", value), ("retry-after", b"9".as_slice())];
        let exchange = Exchange::Head {
            status: 429,
            headers: headers.as_slice(),
            body: Body::Complete(b""),
        };
        let found = classify(exchange, false, now).retry_after;
        assert_eq!(
            found,
            seconds.map(Duration::from_secs),
            "{}",
            value.escape_ascii()
        );
    }
    let without = classified(503, NONE, Body::Complete(b""), false);
    assert_eq!(without.retry_after, None);
}

// spec-test: LOOP-14
#[test]
fn only_401_and_403_refuse_credentials() {
    let refusing: Vec<u16> = (100..=999)
        .filter(|status| {
            let found = classified(*status, NONE, Body::Complete(b"no"), false);
            found.reply.is_err_and(PollFault::refuses_credentials)
        })
        .collect();
    assert_eq!(refusing, [401, 403]);
}

// spec-test: PRIV-4, PRIV-5
#[test]
fn each_fault_names_its_category_and_status() {
    let revision = Revision::new(42).expect("a small number");
    let by = Interruption::Closed;
    let cut = |by| PollFault::Interrupted { status: 502, by };
    for (fault, category, status, text) in [
        (PollFault::Cancelled, "canceled", None, "canceled"),
        (
            PollFault::Correction { revision },
            "http_error",
            Some(409),
            "http_error: status 409, a correction of revision 42",
        ),
        (
            PollFault::Envelope(EnvelopeFault::NotJson),
            "invalid_response",
            Some(200),
            "invalid_response: status 200, the body must be one JSON value",
        ),
        (
            PollFault::EnvelopeTooLarge,
            "invalid_response",
            Some(200),
            "invalid_response: status 200, the body is larger than the limit",
        ),
        (
            cut(by),
            "network_error",
            None,
            "network_error: status 502, the body was cut off",
        ),
        (
            cut(Interruption::Deadline),
            "timeout",
            None,
            "timeout: status 502, the body was cut off",
        ),
        (
            PollFault::MalformedCorrection(CorrectionFault::HeaderMissing),
            "invalid_response",
            Some(409),
            "invalid_response: status 409, the token header must be present",
        ),
        (
            PollFault::NoHead(by),
            "network_error",
            None,
            "network_error: no response arrived",
        ),
        (
            PollFault::NoHead(Interruption::Network),
            "network_error",
            None,
            "network_error: no response arrived",
        ),
        (
            PollFault::NoHead(Interruption::Deadline),
            "timeout",
            None,
            "timeout: no response arrived",
        ),
        (
            PollFault::NotSent,
            "request_error",
            None,
            "request_error: the request could not be sent",
        ),
        (
            PollFault::Status(503),
            "http_error",
            Some(503),
            "http_error: status 503",
        ),
        (
            PollFault::Status(799),
            "http_error",
            Some(799),
            "http_error: status 799",
        ),
    ] {
        assert_eq!(
            (fault.category(), fault.status()),
            (category, status),
            "{fault:?}"
        );
        assert_eq!(fault.to_string(), text);
        assert!(text.starts_with(category), "the text names the category");
    }
}

/// Everything that the service wrote holds the word; nothing that is printed does.
// spec-test: PRIV-2, PRIV-3
#[test]
fn nothing_that_the_service_wrote_is_printed() {
    const CANARY: &str = "CANARY";
    let headers: [(&str, &[u8]); 4] = [
        (SHARD_TOKEN_HEADER, b"CANARY-token"),
        ("retry-after", b"CANARY"),
        ("location", b"https://CANARY.example/"),
        ("x-CANARY", b"CANARY"),
    ];
    let repeated = [&headers[..], &headers[..1]].concat();
    let invalid: [(&str, &[u8]); 1] = [(SHARD_TOKEN_HEADER, b"CANARY,")];
    let bodies: [&[u8]; 8] = [
        b"CANARY",
        br#"{"CANARY":"CANARY"}"#,
        br#"{"error":{"code":"CANARY","message":"CANARY"}}"#,
        br#"{"error":{"code":"wrong_cluster","message":"CANARY","policy_revision":42}}"#,
        br#"{"error":{"code":"wrong_cluster","policy_revision":"CANARY"}}"#,
        br#"{"error":{"code":"wrong_cluster","policy_revision":1,"shard_token":"CANARY"}}"#,
        br#"{"commands":"CANARY"}"#,
        br#"{"commands":["CANARY",{"request_id":"CANARY","shard_token":"CANARY",
            "command_type":"CANARY","x":"CANARY"}]}"#,
    ];
    let mut printed = 0;
    for status in [200, 204, 302, 401, 408, 409, 429, 503] {
        for headers in [&headers[..], &repeated, &invalid] {
            let complete = bodies.into_iter().map(Body::Complete);
            let cut = INTERRUPTIONS.into_iter().map(Body::Interrupted);
            for body in complete.chain(cut).chain([Body::OverLimit]) {
                let text = everything_printed(classified(status, headers, body, false));
                assert!(!text.contains(CANARY), "{status}: {text}");
                // Bytes could also be printed as a list of numbers.
                assert!(!text.contains("67, 65, 78"), "{status}: {text}");
                printed += 1;
            }
        }
    }
    assert_eq!(printed, 8 * 3 * 12);
}

/// Display and Debug of all parts, the attempt and the placement after the commit included.
fn everything_printed(found: Classified) -> String {
    let mut text = format!("{found:?} {found:#?}");
    if let Err(fault) = &found.reply {
        text += &format!("{fault} {fault:?} {fault:#?} {}", fault.category());
        let mut cause = fault.source();
        while let Some(error) = cause {
            text += &format!("{error} {error:?}");
            cause = error.source();
        }
    }
    let mut placement = Placement::new();
    let attempt = placement.snapshot();
    let verdict = placement.commit(attempt, found.outcome);
    text + &format!(
        "{verdict} {verdict:?} {placement:?} {:?}",
        placement.snapshot()
    )
}
