//! The program as a user meets it: help, one-line errors, exit statuses, events.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::num::NonZeroU64;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use moorline_fixtures::answer::{Answer, TransportFault};
use moorline_fixtures::scripted::{ScriptedService, SilentListener};
use moorline_proofs::validate::{Trace, Valid};

const KEY: &str = "cli-test-key-51ab";

fn moorline(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_moorline"));
    command
        .args(args)
        .env_clear()
        .env("API_KEY", KEY)
        .stdin(Stdio::null());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Runs the program and gives its status, stdout and stderr.
fn run(args: &[&str]) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = moorline(args).output().unwrap();
    (status.code().unwrap(), text(&stdout), text(&stderr))
}

/// A good call, to which each test adds what is wrong.
fn poll_args<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let good = [
        "poll",
        "--endpoint",
        "https://tunnels.example.com",
        "--tunnel-id",
        "t",
        "--api-key",
        "env:API_KEY",
    ];
    [&good, more].concat()
}

#[test]
fn help_and_version_explain_themselves_within_80_columns() {
    for args in [
        &["--help"][..],
        &["poll", "--help"],
        &["demo", "--help"],
        &["help", "poll"],
    ] {
        let (status, out, err) = run(args);
        assert_eq!((status, err.as_str()), (0, ""), "{args:?}");
        assert!(out.lines().count() > 8, "{out}");
        for line in out.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
    let (_, help, _) = run(&["poll", "--help"]);
    for flag in [
        "--endpoint",
        "--tunnel-id",
        "--api-key",
        "--max-polls",
        "--limit",
        "--backoff-min",
        "--backoff-max",
        "--poll-timeout",
        "--guardrail",
        "--in-flight",
        "--events",
        "--config",
        "--allow-insecure-endpoint",
    ] {
        assert!(help.contains(flag), "{flag} is not explained");
    }
    let version = format!("moorline {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&["--version"]), (0, version, String::new()));
}

/// spec-test: END-8
#[test]
fn what_is_wrong_is_said_in_one_line_with_status_2() {
    let insecure = [
        "poll",
        "--endpoint",
        "http://tunnels.example.com",
        "--tunnel-id",
        "t",
    ];
    for (args, expected) in [
        (vec![], "what to do? Try `moorline demo`"),
        (vec!["pol"], "unknown command: did you mean poll"),
        (vec!["poll"], "the endpoint is missing: give --endpoint URL"),
        (
            vec!["poll", "--endpont", "x"],
            "unknown flag --endpont: did you mean --endpoint",
        ),
        (vec!["poll", "--colour=red"], "unknown flag --colour"),
        (
            vec!["poll", "stray"],
            "unexpected argument: every setting is a flag",
        ),
        (vec!["demo", "--events"], "unknown flag --events"),
        (
            insecure.to_vec(),
            "--endpoint: the endpoint must begin with https://",
        ),
        (
            vec!["poll", "--endpoint", "tunnels"],
            "--endpoint: the endpoint must be an absolute URL",
        ),
        (
            poll_args(&["--limit", "0"]),
            "--limit <N>: expected a number from 1 to 25",
        ),
        (
            poll_args(&["--limit", "26"]),
            "--limit <N>: expected a number from 1 to 25",
        ),
        (poll_args(&["--limit"]), "--limit <N>: a value is missing"),
        (
            poll_args(&["--limit", "1", "--limit", "2"]),
            "--limit <N> was given twice",
        ),
        (
            poll_args(&["--max-polls", "x"]),
            "--max-polls <N>: expected a whole number",
        ),
        (
            poll_args(&["--in-flight", "0"]),
            "--in-flight <K>: expected a number from 1 to 1024",
        ),
        (
            poll_args(&["--poll-timeout", "5"]),
            "--poll-timeout <D>: expected a duration from 1ms to 1h",
        ),
        (
            poll_args(&["--backoff-min", "0s"]),
            "the shortest backoff must be more than zero",
        ),
        (
            poll_args(&["--backoff-min", "11s"]),
            "the shortest backoff must not exceed the longest",
        ),
        (
            poll_args(&["--events", "xml"]),
            "--events <FORM>: expected json or text",
        ),
        (
            poll_args(&["--config", "no-such-file.toml"]),
            "the configuration cannot be read from no-such-file.toml",
        ),
    ] {
        let (status, out, err) = run(&args);
        assert_eq!((status, out.as_str()), (2, ""), "{args:?}: {err}");
        assert!(
            err.starts_with("moorline: ") && err.contains(expected),
            "{args:?}: {err}"
        );
        assert_eq!(err.lines().count(), 1, "{args:?}: {err}");
    }
}

#[test]
fn secrets_are_read_from_where_they_are_and_never_repeated() {
    let with_key = |source: &str| {
        let args = [
            "poll",
            "--endpoint",
            "https://tunnels.example.com",
            "--tunnel-id",
            "t",
            "--api-key",
            source,
        ];
        run(&args)
    };
    let directory = env!("CARGO_TARGET_TMPDIR");
    let broken = format!("{directory}/broken-key");
    std::fs::write(&broken, "two words").unwrap();
    let empty = format!("{directory}/empty-key");
    std::fs::write(&empty, "\n").unwrap();
    for (source, expected) in [
        ("env:NO_SUCH_KEY", "the API key is missing: set NO_SUCH_KEY"),
        (
            "env:sk-live-secret",
            "expected env:NAME or file:PATH, not the key itself",
        ),
        ("env:", "expected env:NAME or file:PATH, not the key itself"),
        (
            "sk-live-secret",
            "expected env:NAME or file:PATH, not the key itself",
        ),
        (
            "SK:sk-live-secret",
            "expected env:NAME or file:PATH, not the key itself",
        ),
        (
            "file:/no/such/key",
            "the API key cannot be read from /no/such/key: ",
        ),
        (
            &format!("file:{directory}"),
            "the API key cannot be read from ",
        ),
        (
            &format!("file:{broken}"),
            "the API key must hold visible ASCII characters alone",
        ),
        (&format!("file:{empty}"), "the API key must not be empty"),
    ] {
        let (status, _, err) = with_key(source);
        assert_eq!((status, err.lines().count()), (2, 1), "{source}: {err}");
        assert!(err.contains(expected), "{source}: {err}");
        assert!(
            !err.contains("sk-live-secret") && !err.contains("two words"),
            "{err}"
        );
    }
    // Without a flag, the variable of the official client is read.
    let (_, _, err) = run(&[
        "poll",
        "--endpoint",
        "https://tunnels.example.com",
        "--tunnel-id",
        "t",
    ]);
    assert!(err.contains("set CONTROL_PLANE_API_KEY"), "{err}");
}

#[test]
fn the_environment_is_read_and_named_in_errors() {
    let with = |variables: &[(&str, &str)], more: &[&str]| {
        let mut command = moorline(&[&["poll"], more].concat());
        let output = command.envs(variables.iter().copied()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr)
    };
    let url = ("CONTROL_PLANE_BASE_URL", "https://tunnels.example.com");
    let id = ("CONTROL_PLANE_TUNNEL_ID", "t");
    for (variables, expected) in [
        (
            vec![("CONTROL_PLANE_BASE_URL", "http://tunnels.example.com")],
            "CONTROL_PLANE_BASE_URL: the endpoint must begin with https://",
        ),
        // Empty is as good as unset.
        (
            vec![("CONTROL_PLANE_BASE_URL", "")],
            "the endpoint is missing",
        ),
        (vec![url], "the tunnel id is missing"),
        (
            vec![url, ("CONTROL_PLANE_TUNNEL_ID", "a/b")],
            "CONTROL_PLANE_TUNNEL_ID: the tunnel id must hold",
        ),
        (vec![url, id], "set CONTROL_PLANE_API_KEY"),
        (
            vec![url, id, ("CONTROL_PLANE_API_KEY", "a b")],
            "the API key must hold visible ASCII",
        ),
        (
            vec![
                url,
                id,
                ("CONTROL_PLANE_API_KEY", "k"),
                ("CONTROL_PLANE_POLL_TIMEOUT", "0s"),
            ],
            "CONTROL_PLANE_POLL_TIMEOUT: expected a duration from 1ms to 1h",
        ),
        (
            vec![
                url,
                id,
                ("CONTROL_PLANE_API_KEY", "k"),
                ("CONTROL_PLANE_HTTP_PROXY", "proxy:1"),
            ],
            "CONTROL_PLANE_HTTP_PROXY: expected a URL",
        ),
        (
            vec![
                url,
                id,
                ("CONTROL_PLANE_API_KEY", "k"),
                ("CA_BUNDLE", "/no/such/bundle"),
            ],
            "the CA bundle cannot be read from /no/such/bundle",
        ),
    ] {
        let err = with(&variables, &[]);
        assert!(err.contains(expected), "{variables:?}: {err}");
        assert_eq!(err.lines().count(), 1, "{err}");
    }
    // A flag beats the environment.
    let err = with(&[url, id], &["--endpoint", "http://tunnels.example.com"]);
    assert!(
        err.contains("--endpoint: ") && err.contains("--allow-insecure-endpoint"),
        "{err}"
    );
}

#[test]
fn no_value_of_a_configuration_file_is_repeated() {
    let path = format!("{}/secret-in-file.toml", env!("CARGO_TARGET_TMPDIR"));
    for text_ in [
        "[control_plane]\napi_key = 987654321\n",
        "[control_plane]\nextra_headers = 987654321\n",
        "[control_plane.extra_headers]\nx-key = 987654321\n",
        "[control_plane]\napi_key = \"987654321\n",
        "[control_plane]\napi_key = '987654321'\nendpoint='https://e.example'\ntunnel_id='t'\n",
        "987654321\n",
    ] {
        std::fs::write(&path, text_).unwrap();
        let (status, _, err) = run(&["poll", "--config", &path]);
        assert_eq!((status, err.lines().count()), (2, 1), "{text_}: {err}");
        assert!(!err.contains("987654321"), "{err}");
    }
}

#[test]
fn a_configuration_file_is_read_and_its_faults_are_named_by_line() {
    let file = |name: &str, text: &str| {
        let path = format!("{}/{name}.toml", env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(&path, text).unwrap();
        let (status, out, err) = run(&["poll", "--config", &path]);
        assert_eq!(
            (status, out.as_str(), err.lines().count()),
            (2, "", 1),
            "{text}: {err}"
        );
        err
    };
    for (name, text, expected) in [
        (
            "unknown-key",
            "[control_plane]\nendpont = 'x'\n",
            "line 2: unknown field `endpont`, expected one of `endpoint`",
        ),
        (
            "unknown-table",
            "[control]\n",
            "line 1: unknown field `control`, expected `control_plane`",
        ),
        (
            "twice",
            "[control_plane]\nendpoint = 'x'\nendpoint = 'y'\n",
            "line 3: this key was given before",
        ),
        (
            "kind",
            "[control_plane]\nendpoint = 7\n",
            "line 2: endpoint: expected a text in quotation marks",
        ),
        (
            "duration",
            "[control_plane]\n\npoll_timeout = '5'\n",
            "line 3: poll_timeout: expected a duration from 1ms to 1h",
        ),
        ("broken", "[control_plane\n", "line 1: "),
        (
            "endpoint",
            "[control_plane]\nendpoint = 'http://tunnels.example.com'\n",
            "endpoint: the endpoint must begin with https://",
        ),
        (
            "header",
            "[control_plane]\nendpoint = 'https://tunnels.example.com'\ntunnel_id = 't'\napi_key = 'env:API_KEY'\n[control_plane.extra_headers]\n'bad name' = 'x'\n",
            "extra_headers: \"bad name\" is no HTTP header name",
        ),
        (
            "bundle",
            "[control_plane]\nendpoint = 'https://tunnels.example.com'\ntunnel_id = 't'\napi_key = 'env:API_KEY'\nca_bundle = '/no/such/bundle'\n",
            "the CA bundle cannot be read from /no/such/bundle",
        ),
    ] {
        let err = file(name, text);
        assert!(err.contains(expected), "{name}: {err}");
    }
}

fn correction() -> Answer {
    Answer::json(
        409,
        r#"{"error":{"code":"wrong_cluster","policy_revision":42}}"#,
    )
    .with_header("X-Tunnel-Shard-Token", "cli-route-token-99")
}

/// Starts the program and plays the service for it.
async fn play(args: &[&str], answers: Vec<Answer>) -> (i32, String, String) {
    let mut service = ScriptedService::start().unwrap();
    let endpoint = service.endpoint();
    let mut all = vec![
        "poll",
        "--endpoint",
        &endpoint,
        "--tunnel-id",
        "t",
        "--api-key",
        "env:API_KEY",
    ];
    all.extend(["--backoff-min", "1ms", "--backoff-max", "2ms"]);
    all.extend(args);
    let mut command = moorline(&all);
    let program = tokio::task::spawn_blocking(move || command.output().unwrap());
    for answer in answers {
        service.next_request().await.unwrap().answer(answer).await;
    }
    let Output {
        status,
        stdout,
        stderr,
    } = program.await.unwrap();
    (status.code().unwrap(), text(&stdout), text(&stderr))
}

fn session() -> Vec<Answer> {
    let command = r#"{"commands":[{"command_type":"jsonrpc","request_id":"r","shard_token":"cli-command-token","jsonrpc":{}}]}"#;
    vec![
        correction(),
        Answer::status(204),
        Answer::json(200, command),
        Answer::status(503),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn poll_prints_a_line_an_attempt_and_ends_after_n() {
    let (status, out, err) = play(&["--max-polls", "4"], session()).await;
    assert_eq!(status, 0, "{err}");
    let lines: Vec<Vec<&str>> = out
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines.len(), 5, "a heading and four attempts: {out}");
    let columns = |line: &[&str]| line[..11].join(" ");
    assert_eq!(lines[1].last(), Some(&"42"), "the revision comes last");
    assert_eq!(
        columns(&lines[1]),
        "1 1 0>1 - #1 409 correction installed 1 0 T"
    );
    assert_eq!(columns(&lines[2]), "2 2 1>2 #1 - 204 success success 0 0 T");
    assert_eq!(columns(&lines[3]), "3 3 2>3 #1 - 200 success success 0 0 T");
    assert_eq!(
        columns(&lines[4]),
        "4 4 3>4 #1 - 503 failure failure_counted 0 1 T"
    );
    assert_eq!(
        err,
        "moorline: 4 polls ended, 2 succeeded; 1 commands discarded\n"
    );
    for secret in [
        "cli-route-token-99",
        "cli-command-token",
        KEY,
        "127.0.0.1",
        "http://",
    ] {
        assert!(!out.contains(secret) && !err.contains(secret), "{secret}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn poll_prints_json_events_for_machines() {
    let args = [
        "--max-polls",
        "4",
        "--events",
        "json",
        "--in-flight",
        "1",
        "--limit",
        "3",
    ];
    let (status, out, err) = play(&args, session()).await;
    assert_eq!(status, 0, "{err}");
    let events: Vec<serde_json::Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let member = |name: &str| -> Vec<String> {
        events.iter().map(|event| event[name].to_string()).collect()
    };
    assert_eq!(member("sequence"), ["1", "2", "3", "4"]);
    assert_eq!(member("generation_taken"), ["0", "1", "2", "3"]);
    assert_eq!(member("token_sent"), ["null", "1", "1", "1"]);
    assert_eq!(
        member("token_offered"),
        [r#"{"install":1}"#, "null", "null", "null"]
    );
    let outcomes = [
        "\"correction\"",
        "\"success\"",
        "\"success\"",
        "\"destination_failure\"",
    ];
    assert_eq!(member("outcome"), outcomes);
    assert_eq!(member("status"), ["409", "204", "200", "503"]);
    assert_eq!(member("watermark"), ["42", "42", "42", "42"]);
    assert_eq!(member("commands"), ["0", "0", "1", "0"]);
    assert!(!out.contains("cli-route-token-99"));
    let valid = judge(&out, 1);
    assert_eq!((valid.attempts, valid.commits, valid.in_flight), (4, 4, 1));
}

/// Lines of a run are a behaviour of the model, with at most `in_flight` polls in flight.
fn judge(lines: &str, in_flight: u64) -> Valid {
    let trace = Trace::read(lines.as_bytes()).unwrap();
    let judged = trace.judge(NonZeroU64::new(in_flight));
    judged.unwrap_or_else(|finding| panic!("{finding}\n{lines}"))
}

/// spec-test: PLC-3, PLC-4, PLC-5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_overlapping_polls_are_a_behaviour_of_the_model() {
    const POLLS: usize = 120;
    let mut service = ScriptedService::start().unwrap();
    let endpoint = service.endpoint();
    let mut args = vec!["poll", "--endpoint", &endpoint, "--tunnel-id", "t"];
    args.extend(["--api-key", "env:API_KEY", "--events", "json"]);
    args.extend(["--backoff-min", "1ms", "--backoff-max", "1ms"]);
    args.extend(["--in-flight", "4", "--max-polls", "120"]);
    let mut command = moorline(&args);
    let program = tokio::task::spawn_blocking(move || command.output().unwrap());
    let mut held = Vec::new();
    for answered in 0..POLLS {
        // All four are in flight before one ends, and which one it is changes.
        while held.len() < 4.min(POLLS - answered) {
            held.push(service.next_request().await.unwrap());
        }
        let exchange = held.remove(answered * 7 % held.len());
        exchange.answer(answer_of_many(answered)).await;
    }
    let Output { status, stdout, .. } = program.await.unwrap();
    assert_eq!(status.code(), Some(0));
    let valid = judge(&text(&stdout), 4);
    let attempts = u64::try_from(POLLS).unwrap();
    assert_eq!((valid.attempts, valid.without_event), (attempts, 0));
    assert_eq!(valid.in_flight, 4);
    assert!(valid.commits > 20, "{valid}");
    let late = valid.verdicts.get("late").copied().unwrap_or(0);
    assert!(late > 20, "{valid}");
}

fn answer_of_many(number: usize) -> Answer {
    let number = u64::try_from(number).unwrap();
    match number % 9 {
        0 | 4 => placed(number / 3, "route-a"),
        5 => placed(number / 3, "route-b"),
        1 | 2 | 6 => Answer::status(503),
        3 => Answer::status(429),
        7 => Answer::status(204),
        _ => Answer::Fault(TransportFault::CloseBeforeHead),
    }
}

fn placed(revision: u64, token: &str) -> Answer {
    let body = format!(r#"{{"error":{{"code":"wrong_cluster","policy_revision":{revision}}}}}"#);
    Answer::json(409, body).with_header("X-Tunnel-Shard-Token", token)
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_ends_polling_with_status_0() {
    for signal in ["TERM", "INT"] {
        let mut service = ScriptedService::start().unwrap();
        let endpoint = service.endpoint();
        let args = [
            "poll",
            "--endpoint",
            &endpoint,
            "--tunnel-id",
            "t",
            "--api-key",
            "env:API_KEY",
        ];
        let child = moorline(&args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let held = service.next_request().await.unwrap();
        let sent = Command::new("kill")
            .args([format!("-{signal}"), child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
        let ended = tokio::task::spawn_blocking(move || child.wait_with_output().unwrap());
        let output = tokio::time::timeout(Duration::from_secs(30), ended)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{signal}");
        assert!(
            text(&output.stdout).contains("cancelled"),
            "the poll in flight was cancelled"
        );
        drop(held);
    }
}

/// A reader that stops reading must not keep the program from ending.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_ends_polling_even_when_nobody_reads_its_lines() {
    let mut service = ScriptedService::start().unwrap();
    let endpoint = service.endpoint();
    let mut args = vec!["poll", "--endpoint", &endpoint, "--tunnel-id", "t"];
    args.extend([
        "--api-key",
        "env:API_KEY",
        "--backoff-min",
        "1ms",
        "--backoff-max",
        "1ms",
    ]);
    let mut child = moorline(&args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Far more lines than the pipe holds, and fewer than may wait.
    for _ in 0..2_000 {
        service
            .next_request()
            .await
            .unwrap()
            .answer(Answer::status(500))
            .await;
    }
    let killed = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(killed.unwrap().success());
    // The pipe stays open and unread until the program has ended by itself.
    for _ in 0..600 {
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(1));
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    child.kill().unwrap();
    panic!("the program did not end");
}

/// The variables that HTTP libraries read hold for other machines, and for none but those.
/// spec-test: LOOP-20, END-5
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_of_the_environment_is_used_for_other_machines_alone() {
    let proxy = SilentListener::start().await.unwrap();
    let mut service = ScriptedService::start().unwrap();
    let variables: Vec<(&str, String)> = [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
    ]
    .map(|name| (name, proxy.endpoint()))
    .into();
    let own = service.endpoint();
    let args = [
        "poll",
        "--endpoint",
        &own,
        "--tunnel-id",
        "t",
        "--api-key",
        "env:API_KEY",
        "--max-polls",
        "1",
    ];
    let mut command = moorline(&args);
    command.envs(variables.clone());
    let program = tokio::task::spawn_blocking(move || command.output().unwrap());
    let exchange = service.next_request().await.unwrap();
    exchange.answer(Answer::status(204)).await;
    assert_eq!(program.await.unwrap().status.code(), Some(0));
    assert_eq!(proxy.counts().await.unwrap().connections, 0);

    let mut args = poll_args(&[
        "--max-polls",
        "1",
        "--poll-timeout",
        "1s",
        "--guardrail",
        "1s",
    ]);
    args[2] = "https://tunnels.invalid";
    let mut command = moorline(&args);
    command.envs(variables);
    let program = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = program.await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(proxy.counts().await.unwrap().connections, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_that_cannot_be_read_are_not_passed_over_in_silence() {
    let body = r#"{"commands":[{"request_id":"r"},7]}"#;
    let args = ["--max-polls", "1", "--events", "json"];
    let (status, out, err) = play(&args, vec![Answer::json(200, body)]).await;
    assert_eq!(status, 0);
    assert!(out.contains(r#""commands":0,"dropped":2"#), "{out}");
    assert!(
        err.contains("commands dropped: they could not be read"),
        "{err}"
    );
    assert!(
        err.ends_with(
            "1 polls ended, 1 succeeded; 0 commands discarded, 2 more could not be read\n"
        ),
        "{err}"
    );
}

#[test]
fn the_demo_tells_its_whole_story_and_nothing_secret() {
    let (status, out, err) = run(&["demo"]);
    assert_eq!((status, err.as_str()), (0, ""), "{out}");
    assert!(!out.contains('\x1b'), "no colour into a pipe");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    for part in [
        "new token",
        "token dropped",
        "still unavailable",
        "token restored",
        "call 2: step 1 of 2",
        "call 2: held until now",
        "3 tool calls queued, 3 answered",
        "Ready: yes.",
    ] {
        assert!(out.contains(part), "{part} is missing: {out}");
    }
    assert!(!out.contains("berth-") && !out.contains("demo-key") && !out.contains("demo-tunnel"));

    let (status, out, _) = run(&["demo", "--json"]);
    assert_eq!(status, 0);
    let lines: Vec<serde_json::Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let summary = &lines.last().unwrap()["summary"];
    assert_eq!(summary["requests_seen"], summary["requests_as_configured"]);
    let counts = [&summary["calls"], &summary["answers"], &summary["messages"]];
    assert_eq!(counts, [3, 3, 5]);
    assert_eq!(summary["own_tokens"], true);

    let said = lines.iter().position(|line| line["delivered"]["call"] == 2);
    let rest = &lines[said.expect("a notification of the second call")..];
    let moved = rest.iter().position(|line| line["token_sent"] == 2);
    let rest = &rest[moved.expect("a poll with the new token")..];
    let late: Vec<_> = rest
        .iter()
        .map(|line| &line["delivered"])
        .filter(|delivered| delivered["call"] == 2)
        .map(|delivered| (delivered["token"].as_u64(), delivered["final"].as_bool()))
        .collect();
    assert_eq!(late, [(Some(1), Some(false)), (Some(1), Some(true))]);
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_the_demo_with_status_1() {
    let mut child = moorline(&["demo"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "moorline: stdout was closed\n");
}
