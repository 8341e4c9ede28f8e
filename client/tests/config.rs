//! `moorline config`, and help, as an operator meets them.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "support/program.rs"]
mod program;

use serde_json::{Value, json};

use program::{Ended, PROGRAM_KEY, PROGRAM_TUNNEL, moorline, run};

const SECRET: &str = "config-secret-3c9f";

fn file(name: &str, text: &str) -> String {
    let path = format!("{}/{name}", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(&path, text).unwrap();
    path
}

fn good(name: &str) -> String {
    let text = format!(
        "[control_plane]\n\
         endpoint = 'https://tunnels.example.com'\n\
         tunnel_id = '{PROGRAM_TUNNEL}'\n\
         api_key = 'env:API_KEY'\n\
         extra_headers = {{x-a = '{SECRET}', 'x!b' = 'env:HEADER'}}\n\
         [target]\n\
         command = 'npx -y {SECRET}'\n\
         [targets.web]\n\
         url = 'http://127.0.0.1:9/mcp?key={SECRET}'\n\
         [log]\n\
         level = 'warn'\n"
    );
    file(name, &text)
}

async fn config(args: &[&str], variables: &[(&str, &str)]) -> Ended {
    let mut command = moorline(&[&["config"], args].concat());
    command.envs(variables.iter().copied());
    run(command).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_in_force_is_shown_with_its_origin_and_without_secrets() {
    let path = good("print.toml");
    let args = ["print", "--config", &path, "--drain", "5s"];
    let variables = [("HEADER", SECRET), ("LOG_FORMAT", "json")];
    let ended = config(&args, &variables).await;
    assert_eq!((ended.status, ended.stderr.as_str()), (0, ""));
    let shown = ended.stdout.replace(&path, "FILE");
    for line in [
        "[control_plane]",
        "endpoint = \"https://tunnels.example.com\"  # FILE, line 2",
        "# tunnel_id = \"(set)\"  # FILE, line 3",
        "api_key = \"env:API_KEY\"  # set; FILE, line 4",
        "poll_timeout = \"30s\"  # default",
        "# extra_headers.x-a = \"(set)\"  # FILE, line 5",
        "extra_headers.\"x!b\" = \"env:HEADER\"  # set; FILE, line 5",
        "[targets.main]",
        "# command = \"npx (and 2 arguments)\"  # FILE, line 7",
        "[targets.web]",
        "# url = \"http://127.0.0.1:9/...\"  # FILE, line 9",
        "max_concurrent_requests = 10  # default",
        "drain = \"5s\"  # --drain",
        "allow_remote = false  # default",
        "level = \"warn\"  # FILE, line 11",
        "format = \"json\"  # LOG_FORMAT",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    for secret in [SECRET, PROGRAM_KEY, PROGRAM_TUNNEL] {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
    // What is printed is a file again, for whoever gives what it does not hold.
    let printed = file("printed.toml", &ended.stdout);
    let more = [
        ("CONTROL_PLANE_TUNNEL_ID", PROGRAM_TUNNEL),
        ("MCP_COMMAND", "x"),
        ("HEADER", SECRET),
    ];
    let again = config(&["check", "--config", &printed], &more).await;
    assert_eq!((again.status, again.stderr.as_str()), (0, ""));

    let ended = config(&[&args[..], &["--json"]].concat(), &variables).await;
    let json: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(json["control_plane"]["poll_timeout"]["value"], "30s");
    assert_eq!(json["control_plane"]["poll_timeout"]["from"], "default");
    let key = json!({ "value": "env:API_KEY", "state": "set", "from": format!("{path}, line 4") });
    assert_eq!(json["control_plane"]["api_key"], key);
    assert_eq!(json["dispatch"]["max_concurrent_requests"]["value"], 10);
    assert_eq!(json["dispatch"]["drain"]["from"], "--drain");
    assert!(!ended.stdout.contains(SECRET));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_names_every_fault_and_nothing_else() {
    let path = good("check.toml");
    let args = ["check", "--config", &path];
    let ended = config(&args, &[("HEADER", "x")]).await;
    assert_eq!(
        (ended.status, ended.stdout.as_str(), ended.stderr.as_str()),
        (0, "the settings are usable\n", "")
    );
    let ended = config(&args, &[("LOG_LEVEL", "loud"), ("MCP_COMMAND", "'")]).await;
    assert_eq!((ended.status, ended.stdout.as_str()), (2, ""));
    let faults: Vec<&str> = ended.stderr.lines().collect();
    let expected = [
        "moorline: PLACE, line 5: extra_headers: the value of x!b is missing: set HEADER",
        "moorline: MCP_COMMAND: the MCP command has an open quotation",
        "moorline: LOG_LEVEL: expected one of off, error, warn, info, debug, trace",
    ]
    .map(|line| line.replace("PLACE", &path));
    assert_eq!(faults, expected);

    // What can be shown is shown, and the faults are told all the same.
    let args = ["print", "--config", &path];
    let ended = config(&args, &[]).await;
    assert_eq!(
        (ended.status, ended.stderr.lines().count()),
        (2, 1),
        "{}",
        ended.stderr
    );
    assert!(ended.stdout.contains("[control_plane]"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_calls_are_explained_in_one_line() {
    for (args, expected) in [
        (
            &["config"][..],
            "what to do? Try `moorline config check`, or `moorline config --help`",
        ),
        (
            &["runn"],
            "unknown command: did you mean run. See `moorline --help`",
        ),
        (
            &["sail"],
            "unknown command: expected run, doctor, config, poll or demo. See `moorline --help`",
        ),
        (
            &["run", "--drain", "5"],
            "--drain <D>: expected a duration up to 1h, such as 200ms, 10s or 1m. See `moorline --help`",
        ),
        (
            &["run", "--mcp-comand", "x"],
            "unknown flag --mcp-comand: did you mean --mcp-command. See `moorline --help`",
        ),
    ] {
        let ended = run(moorline(args)).await;
        assert_eq!(ended.status, 2, "{args:?}");
        assert_eq!(ended.stderr, format!("moorline: {expected}\n"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_yaml_file_is_read_by_every_command() {
    let text = format!(
        "control_plane:\n  base_url: https://e.example\n  tunnel_id: t\n  api_key: env:API_KEY\n  colour: {SECRET}\n"
    );
    let path = file("commands.yaml", &text);
    for args in [
        &["config", "check"][..],
        &["config", "print"],
        &["run"],
        &["poll"],
        &["doctor"],
    ] {
        let ended = run(moorline(&[args, &["--config", &path]].concat())).await;
        assert_eq!(ended.status, 2, "{args:?}");
        let said = ended.stdout + &ended.stderr;
        let fault = format!("{path}, line 5: unknown field `colour`, expected one of `endpoint`");
        assert!(said.contains(&fault), "{args:?}: {said}");
        assert!(!said.contains(SECRET), "{args:?}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn help_fits_80_columns_and_explains_every_flag_and_variable() {
    for args in [
        &["run", "--help"][..],
        &["doctor", "--help"],
        &["config", "--help"],
        &["config", "check", "--help"],
        &["config", "print", "--help"],
    ] {
        let ended = run(moorline(args)).await;
        assert_eq!((ended.status, ended.stderr.as_str()), (0, ""), "{args:?}");
        assert!(ended.stdout.lines().count() > 8, "{}", ended.stdout);
        for line in ended.stdout.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
    let help = run(moorline(&["run", "--help"])).await.stdout;
    for name in [
        "CONTROL_PLANE_BASE_URL",
        "CONTROL_PLANE_TUNNEL_ID",
        "CONTROL_PLANE_API_KEY",
        "CONTROL_PLANE_POLL_TIMEOUT",
        "CONTROL_PLANE_POLL_DEADLINE_GUARDRAIL",
        "CONTROL_PLANE_POLL_CHANNELS",
        "CONTROL_PLANE_MAX_INFLIGHT_REQUESTS",
        "CONTROL_PLANE_HTTP_PROXY",
        "CONTROL_PLANE_EXTRA_HEADERS",
        "MCP_SERVER_URL",
        "MCP_COMMAND",
        "MCP_EXTRA_HEADERS",
        "MCP_MAX_CONCURRENT_REQUESTS",
        "MCP_CONNECTION_MAX_TTL",
        "CA_BUNDLE",
        "LOG_LEVEL",
        "LOG_FORMAT",
        "LOG_FILE",
        "HEALTH_LISTEN_ADDR",
    ] {
        assert!(help.contains(name), "{name} is not explained");
    }
}

/// spec-test: SET-8
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_misspelt_variable_is_warned_of_and_no_error() {
    const WARNING: &str = "moorline: warning: CONTROL_PLANE_TUNEL_ID is no setting: did you mean CONTROL_PLANE_TUNNEL_ID?\n";
    let path = good("misspelt.toml");
    let variables = [("HEADER", SECRET), ("CONTROL_PLANE_TUNEL_ID", SECRET)];
    let ended = config(&["check", "--config", &path], &variables).await;
    assert_eq!((ended.status, ended.stderr.as_str()), (0, WARNING));

    let mut command = moorline(&["run", "--api-key", "env:API_KEY", "--mcp-command", "x"]);
    command.env("CONTROL_PLANE_BASE_URL", "https://tunnels.example.com");
    command.env("CONTROL_PLANE_TUNEL_ID", SECRET);
    let ended = run(command).await;
    assert_eq!(ended.status, 2);
    let rest = ended.stderr.strip_prefix(WARNING).expect("the warning");
    assert!(
        rest.starts_with("moorline: the tunnel id is missing"),
        "{rest}"
    );
    assert_eq!(rest.lines().count(), 1, "{rest}");
}
