//! `moorline doctor` explains each mistake, with evidence and the next step.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "support/program.rs"]
mod program;
mod support;

use std::os::unix::fs::PermissionsExt;

use moorline_fixtures::answer::Answer;
use moorline_fixtures::fake::{Failure, FakeConfig, FakeService, Outage};
use moorline_fixtures::mcp::{HttpOptions, Sessions, ToyHttp};
use moorline_fixtures::scripted::ScriptedService;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use program::{Ended, PROGRAM_KEY, PROGRAM_TUNNEL, Running, moorline, run};
use support::target::toy;
use support::tls::TlsServer;

fn service() -> FakeService {
    let service = FakeService::start(FakeConfig {
        api_key: PROGRAM_KEY.to_owned(),
        ..FakeConfig::default()
    })
    .unwrap();
    service.add_tunnel(PROGRAM_TUNNEL, "berth-1").unwrap();
    service
}

/// The variables of a client that lacks nothing.
fn good(endpoint: &str) -> Vec<(&'static str, String)> {
    vec![
        ("CONTROL_PLANE_BASE_URL", endpoint.to_owned()),
        ("CONTROL_PLANE_TUNNEL_ID", PROGRAM_TUNNEL.to_owned()),
        ("CONTROL_PLANE_API_KEY", PROGRAM_KEY.to_owned()),
        ("MCP_COMMAND", toy().to_owned()),
        ("HEALTH_LISTEN_ADDR", "127.0.0.1:0".to_owned()),
    ]
}

async fn doctor(variables: &[(&str, String)], args: &[&str]) -> Ended {
    let mut command = moorline(&[&["doctor"], args].concat());
    command.env_remove("API_KEY");
    command.envs(variables.iter().map(|(name, value)| (*name, value)));
    run(command).await
}

/// The checks of `doctor --json`, after a look for what must not be there.
async fn checks(variables: &[(&str, String)], args: &[&str]) -> (i32, Vec<Value>) {
    let ended = doctor(variables, &[args, &["--json"]].concat()).await;
    assert_eq!(ended.stderr, "");
    for secret in [PROGRAM_KEY, PROGRAM_TUNNEL, "berth-1", "hidden-words"] {
        assert!(!ended.stdout.contains(secret), "{secret}: {}", ended.stdout);
    }
    let mut report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let Value::Array(checks) = report["checks"].take() else {
        panic!("{report}")
    };
    let failed = checks
        .iter()
        .filter(|check| check["result"] == "fail")
        .count();
    assert_eq!(report["failed"], failed);
    assert_eq!(ended.status, if failed > 0 { 2 } else { 0 });
    (ended.status, checks)
}

/// Exactly the check `name` fails, and says these things.
async fn assert_fails(variables: &[(&str, String)], args: &[&str], name: &str, says: [&str; 2]) {
    let (_, checks) = checks(variables, args).await;
    let failed: Vec<_> = checks
        .iter()
        .filter(|check| check["result"] == "fail")
        .collect();
    let [failed] = failed.as_slice() else {
        panic!("{name} alone should fail: {checks:?}")
    };
    assert_eq!(failed["check"], name, "{failed}");
    let [evidence, next] = says;
    for (member, text) in [("evidence", evidence), ("next", next)] {
        let said = failed[member].as_str().unwrap();
        assert!(said.contains(text), "{text}: {failed}");
    }
}

fn with(
    variables: &[(&'static str, String)],
    name: &'static str,
    value: &str,
) -> Vec<(&'static str, String)> {
    let others = variables.iter().filter(|(known, _)| *known != name);
    let others = others.cloned();
    others.chain([(name, value.to_owned())]).collect()
}

/// spec-test: RPT-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_lacks_nothing_passes_and_takes_no_command() {
    let service = service();
    let command = json!({ "request_id": "r", "command_type": "jsonrpc", "jsonrpc": {} });
    service.enqueue(PROGRAM_TUNNEL, command).unwrap();
    let good = good(&service.endpoint());
    let ended = doctor(&good, &[]).await;
    assert_eq!(
        (ended.status, ended.stderr.as_str()),
        (0, ""),
        "{}",
        ended.stdout
    );
    let expected = [
        "PASS  configuration",
        "PASS  secrets",
        "PASS  certificates",
        "PASS  control plane           the service knows the tunnel and takes the API key",
        "SKIP  poll                    a poll may bring a command, which nobody would answer then",
        "                              next: --poll makes one, if that does no harm",
        "PASS  MCP server main         it starts and answers over stdio: initialize and tools/list,",
        "PASS  monitor                 any free port of 127.0.0.1",
        "6 passed, 0 failed, 1 skipped",
    ];
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{}", ended.stdout);
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{expected}: {line}");
    }
    let record = service.record();
    assert_eq!((record.requests.len(), record.polls().count()), (1, 0));
    let request = &record.requests[0];
    assert_eq!(request.path(), format!("/v1/tunnels/{PROGRAM_TUNNEL}"));
    assert_eq!(request.sole_header("x-tunnel-shard-token"), None);
    assert_eq!(service.queued(PROGRAM_TUNNEL), Ok(1));

    let (status, checks) = checks(&good, &["--poll"]).await;
    let poll = &checks[4];
    assert_eq!(
        (status, &poll["check"], &poll["result"]),
        (0, &json!("poll"), &json!("pass"))
    );
    assert!(
        poll["evidence"]
            .as_str()
            .unwrap()
            .contains("a command, which is lost now")
    );
    assert_eq!(service.queued(PROGRAM_TUNNEL), Ok(0));

    let (_, checks) = self::checks(&good, &["--poll"]).await;
    assert_eq!(checks[4]["evidence"], "the service answered: nothing to do");
    let polls = service.record();
    let waits: Vec<_> = polls
        .polls()
        .map(|poll| poll.query_value("timeout_ms").unwrap().to_owned())
        .collect();
    assert_eq!(waits, ["2000", "2000"]);
}

/// spec-test: RPT-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_service_refuses_is_told_apart() {
    let mut service = service();
    let good = good(&service.endpoint());
    let name = "control plane";
    let wrong_key = with(&good, "CONTROL_PLANE_API_KEY", "another-key");
    assert_fails(
        &wrong_key,
        &[],
        name,
        [
            "status 401: the service does not take the API key",
            "check the key",
        ],
    )
    .await;
    let wrong_tunnel = with(&good, "CONTROL_PLANE_TUNNEL_ID", "another-tunnel");
    assert_fails(
        &wrong_tunnel,
        &[],
        name,
        [
            "status 404: the service knows no such tunnel",
            "check the tunnel id",
        ],
    )
    .await;
    for (status, says) in [
        (302, ["sends its callers elsewhere", "without redirects"]),
        (403, ["no right to this tunnel", "give the key the right"]),
        (429, ["too many requests", "other clients"]),
        (503, ["out of order", "try again later"]),
        (418, ["no service's", "check the endpoint"]),
    ] {
        let outage = Outage::Everywhere(Failure::Status(status));
        service.set_outage(Some(outage)).await.unwrap();
        assert_fails(&good, &[], name, says).await;
    }
    let outage = Outage::Everywhere(Failure::Reset);
    service.set_outage(Some(outage)).await.unwrap();
    assert_fails(
        &good,
        &[],
        name,
        [
            "broke before an answer",
            "between this machine and the service",
        ],
    )
    .await;
    service.set_outage(Some(Outage::Refused)).await.unwrap();
    assert_fails(
        &good,
        &[],
        name,
        [
            "no connection to the configured endpoint (connection_refused)",
            "check the host, the port, and http or https",
        ],
    )
    .await;

    let nowhere = with(&good, "CONTROL_PLANE_BASE_URL", "https://tunnels.invalid");
    assert_fails(
        &nowhere,
        &[],
        name,
        [
            "the name of the configured endpoint cannot be resolved",
            "check its spelling",
        ],
    )
    .await;
    let tls = TlsServer::start("http/1.1").await;
    let endpoint = format!("https://localhost:{}", tls.port());
    let untrusted = with(&good, "CONTROL_PLANE_BASE_URL", &endpoint);
    let says = ["cannot be secured (invalid_certificate)", "CA_BUNDLE"];
    let (served, ()) = tokio::join!(tls.accept(), assert_fails(&untrusted, &[], name, says));
    assert!(served.is_err(), "the handshake fails on both sides");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_poll_that_fails_or_corrects_is_told() {
    let service = service();
    service.set_corrections(true);
    let good = good(&service.endpoint());
    let (_, checks) = checks(&good, &["--poll"]).await;
    assert_eq!(checks[4]["result"], "pass");
    assert!(
        checks[4]["evidence"]
            .as_str()
            .unwrap()
            .contains("a routing correction")
    );

    let mut scripted = ScriptedService::start().unwrap();
    let variables = with(&good, "CONTROL_PLANE_BASE_URL", &scripted.endpoint());
    let play = async {
        for answer in [Answer::json(200, "{}"), Answer::json(200, "[]")] {
            scripted.next_request().await.unwrap().answer(answer).await;
        }
    };
    let says = ["invalid_response: status 200", "the endpoint's path"];
    tokio::join!(play, assert_fails(&variables, &["--poll"], "poll", says));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_with_a_stdio_server_is_told_with_its_last_words() {
    let service = service();
    let good = good(&service.endpoint());
    let name = "MCP server main";
    let script = format!("{}/refusing-server.sh", env!("CARGO_TARGET_TMPDIR"));
    // The client's pipe has ids of its own, so the script answers with the one that it got.
    let lines = [
        "read line",
        r#"id=$(echo "$line" | sed 's/.*"id":\("[^"]*"\).*/\1/')"#,
        r#"echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32001,"message":"hidden-words"}}'"#,
        "read line",
    ];
    std::fs::write(&script, lines.join("\n")).unwrap();
    for (command, says) in [
        (
            "no-such-program-4711",
            [
                "initialize: the program no-such-program-4711 was not found, program_not_found",
                "is the program installed",
            ],
        ),
        (
            "~/no-such-program-4711 && x",
            [
                "the program ~/no-such-program-4711 was not found",
                "sh -c '...'",
            ],
        ),
        (
            script.as_str(),
            [
                "refusing-server.sh may not be run, permission_denied",
                "chmod +x ",
            ],
        ),
        (
            "true",
            [
                "initialize: the MCP server closed the connection before it answered",
                "see why it ends",
            ],
        ),
        (
            &format!("sh {script}"),
            [
                "initialize: it answers with an error, code -32001",
                "another MCP client",
            ],
        ),
    ] {
        let variables = with(&good, "MCP_COMMAND", command);
        assert_fails(&variables, &[], name, says).await;
    }
    let loud = with(
        &good,
        "MCP_COMMAND",
        "sh -c 'echo the file is missing >&2; exit 3'",
    );
    let ended = doctor(&loud, &[]).await;
    assert_eq!(ended.status, 2);
    let line = ended
        .stdout
        .lines()
        .find(|line| line.contains("| the file is missing"));
    assert!(line.is_some(), "{}", ended.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_with_an_http_server_is_told() {
    let service = service();
    let good: Vec<_> = good(&service.endpoint())
        .into_iter()
        .filter(|(name, _)| *name != "MCP_COMMAND")
        .collect();
    let name = "MCP server main";
    let server = ToyHttp::start(HttpOptions {
        sessions: Sessions::Required,
        ..HttpOptions::default()
    })
    .unwrap();
    let (status, found) = checks(&with(&good, "MCP_SERVER_URL", &server.url()), &[]).await;
    assert_eq!(status, 0, "{found:?}");
    let evidence = found[5]["evidence"].as_str().unwrap();
    assert!(evidence.ends_with(" tools, in a session"), "{evidence}");

    let elsewhere = format!("{}/no-such-path", server.url());
    let says = [
        "initialize: the MCP server answered with an HTTP error",
        "check the path",
    ];
    assert_fails(&with(&good, "MCP_SERVER_URL", &elsewhere), &[], name, says).await;

    let plain = server.url().replace("http://", "https://");
    let says = ["could not secure the connection", "is it plain http?"];
    assert_fails(&with(&good, "MCP_SERVER_URL", &plain), &[], name, says).await;

    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refused = format!("http://{}/mcp", taken.local_addr().unwrap());
    drop(taken);
    let says = [
        "could not connect to the MCP server, connection_refused",
        "start the MCP server",
    ];
    assert_fails(&with(&good, "MCP_SERVER_URL", &refused), &[], name, says).await;

    let headers = "Authorization: env:NO_SUCH".to_owned();
    let mut variables = with(&good, "MCP_SERVER_URL", &server.url());
    variables.push(("MCP_EXTRA_HEADERS", headers));
    let says = ["the value of authorization is missing", "set the variable"];
    assert_fails(&variables, &[], "secrets", says).await;
    let (_, found) = checks(&variables, &[]).await;
    let skipped = (&found[5]["check"], &found[5]["result"]);
    assert_eq!(skipped, (&json!(name), &json!("skip")), "{found:?}");

    let mut scripted = ScriptedService::start().unwrap();
    let variables = with(&good, "MCP_SERVER_URL", &scripted.endpoint());
    let play = async {
        scripted
            .next_request()
            .await
            .unwrap()
            .answer(Answer::status(401))
            .await;
    };
    let says = ["status 401", "MCP_EXTRA_HEADERS"];
    tokio::join!(play, assert_fails(&variables, &[], name, says));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_on_this_machine_is_told() {
    let service = service();
    let good = good(&service.endpoint());
    let directory = env!("CARGO_TARGET_TMPDIR");

    // Whatever listens on this machine where the monitor would by default.
    let anywhere = [("HEALTH_LISTEN_ADDR", "127.0.0.1:0".to_owned())];
    let (status, found) = checks(&anywhere, &[]).await;
    assert_eq!(status, 2);
    let results: Vec<_> = found
        .iter()
        .map(|check| check["result"].as_str().unwrap())
        .collect();
    assert_eq!(
        results,
        ["fail", "fail", "pass", "skip", "skip", "skip", "pass"],
        "{found:?}"
    );
    assert_eq!(
        found[0]["details"].as_array().unwrap().len(),
        3,
        "{found:?}"
    );

    let (_, found) = checks(&[], &["--config", "no-such-file.toml"]).await;
    let evidence = "the configuration cannot be read from no-such-file.toml: no such file";
    assert_eq!(found[0]["evidence"], evidence);
    let skipped = found[1..6].iter().all(|check| check["result"] == "skip");
    assert!(skipped, "{found:?}");

    let key = format!("{directory}/doctor-key");
    let missing = format!("file:{key}");
    let _ = std::fs::remove_file(&key);
    let args = ["--api-key", &missing];
    let says = ["the API key cannot be read from", "correct the path"];
    let (_, found) = checks(&good, &args).await;
    assert_eq!(
        (&found[1]["check"], &found[1]["result"]),
        (&json!("secrets"), &json!("fail"))
    );
    assert!(
        found[1]["evidence"].as_str().unwrap().contains(says[0]),
        "{found:?}"
    );
    assert!(
        found[1]["next"].as_str().unwrap().contains(says[1]),
        "{found:?}"
    );
    assert_eq!(found[3]["result"], "skip");

    std::fs::write(&key, PROGRAM_KEY).unwrap();
    let mode = |mode| std::fs::set_permissions(&key, PermissionsExt::from_mode(mode)).unwrap();
    mode(0o602);
    assert_fails(
        &good,
        &args,
        "secrets",
        ["everybody on this machine may write", "chmod 600"],
    )
    .await;
    mode(0o644);
    let (status, found) = checks(&good, &args).await;
    assert_eq!(status, 0, "{found:?}");
    assert!(
        found[1]["evidence"]
            .as_str()
            .unwrap()
            .contains("others on this machine may read")
    );
    mode(0o600);
    let (_, found) = checks(&good, &args).await;
    assert_eq!(found[1]["next"], Value::Null);

    let bundle = format!("{directory}/doctor-bundle");
    std::fs::write(&bundle, "no certificate").unwrap();
    let variables = with(&good, "CONTROL_PLANE_BASE_URL", "https://tunnels.invalid");
    let variables = with(&variables, "CA_BUNDLE", &bundle);
    let says = [
        "doctor-bundle cannot be used: it holds no certificate in PEM",
        "correct the file",
    ];
    assert_fails(&variables, &[], "certificates", says).await;
    let variables = with(&good, "CA_BUNDLE", &bundle);
    assert_fails(&variables, &[], "certificates", says).await;
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    std::fs::write(&bundle, broken).unwrap();
    let says = ["cannot be used: a certificate in it is broken", says[1]];
    assert_fails(&variables, &[], "certificates", says).await;

    let log = format!("{directory}/doctor-new.log");
    let (status, found) = checks(&with(&good, "LOG_FILE", &log), &[]).await;
    assert_eq!((status, &found[2]["check"]), (0, &json!("log")));
    assert!(!std::path::Path::new(&log).exists(), "it leaves nothing");
    let too_long = format!("{directory}/{}", "x".repeat(300));
    let says = ["cannot be written: ", "give LOG_FILE another path"];
    assert_fails(&with(&good, "LOG_FILE", &too_long), &[], "log", says).await;
    std::fs::write(&log, "before\n").unwrap();
    let (status, _) = checks(&with(&good, "LOG_FILE", &log), &[]).await;
    let text = std::fs::read_to_string(&log).unwrap();
    assert_eq!((status, text.as_str()), (0, "before\n"));
    std::fs::remove_file(&log).unwrap();

    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let variables = with(&good, "HEALTH_LISTEN_ADDR", &address);
    assert_fails(
        &variables,
        &[],
        "monitor",
        ["is in use", "stop what listens there"],
    )
    .await;
    let mut client = moorline(&["run"]);
    client.envs(good.iter().map(|(name, value)| (*name, value)));
    let mut client = Running::start(client);
    let line = client.line("status page: http://").await;
    let address = line.rsplit("http://").next().unwrap().trim_end_matches('/');
    let (status, found) = checks(&with(&good, "HEALTH_LISTEN_ADDR", address), &[]).await;
    let evidence = format!("a client runs here already, at {address}");
    assert_eq!((status, &found[6]["evidence"]), (0, &json!(evidence)));
    let (status, found) = checks(&with(&good, "HEALTH_LISTEN_ADDR", "off"), &[]).await;
    assert_eq!((status, &found[6]["result"]), (0, &json!("skip")));
}

/// spec-test: SET-8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_misspelt_variable_is_named() {
    let service = service();
    let mut variables = good(&service.endpoint());
    variables.push(("MCP_COMAND", "hidden-words".to_owned()));
    let (status, found) = checks(&variables, &[]).await;
    assert_eq!(status, 0, "{found:?}");
    assert_eq!(found[0]["check"], "configuration");
    assert_eq!(
        found[0]["details"],
        json!(["MCP_COMAND is no setting: did you mean MCP_COMMAND?"])
    );
    assert_ne!(found[0]["next"], Value::Null);
    variables.retain(|(name, _)| *name != "MCP_COMMAND");
    let (status, found) = checks(&variables, &[]).await;
    assert_eq!((status, &found[0]["result"]), (2, &json!("fail")));
    let details = found[0]["details"].as_array().unwrap();
    let named = |line: &Value| line.as_str().unwrap().contains("did you mean MCP_COMMAND?");
    assert!(details.iter().any(named), "{details:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_logs_to_standard_output_is_told_of() {
    let service = service();
    let banner = format!("sh -c 'echo hidden-words; echo; echo {{}}; exec {}'", toy());
    let variables = with(&good(&service.endpoint()), "MCP_COMMAND", &banner);
    let (status, found) = checks(&variables, &[]).await;
    let server = found
        .iter()
        .find(|check| check["check"] == "MCP server main");
    let details = "lines on its standard output that were no JSON-RPC messages: 2. A server must log to standard error";
    assert_eq!(
        (status, &server.unwrap()["details"]),
        (0, &json!([details]))
    );
}
