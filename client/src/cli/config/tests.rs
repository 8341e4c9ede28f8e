//! Whole configurations, read in the process.

use std::fmt::Write;
use std::path::PathBuf;

use super::*;

const URL: &str = "https://tunnels.example.com";

/// A configuration that lacks nothing, as variables.
const GOOD: [(&str, &str); 4] = [
    ("CONTROL_PLANE_BASE_URL", URL),
    ("CONTROL_PLANE_TUNNEL_ID", "t"),
    ("CONTROL_PLANE_API_KEY", "key-of-the-test"),
    ("MCP_COMMAND", "server --stdio"),
];

/// A file for secrets, and its path.
fn key_file(name: &str, text: &str) -> String {
    let name = format!("moorline-{}-{name}", std::process::id());
    let path = std::env::temp_dir().join(name).display().to_string();
    std::fs::write(&path, text).unwrap();
    path
}

#[derive(Default)]
struct Trial {
    flags: Flags,
    variables: Vec<(String, String)>,
    file: Option<PathBuf>,
}

impl Trial {
    fn good() -> Self {
        Self::default().with(&GOOD)
    }

    fn with(mut self, variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter();
        let owned = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        self.variables.extend(owned);
        self
    }

    fn file(mut self, name: &str, text: &str) -> Self {
        let directory = std::env::temp_dir().join("moorline-config-tests");
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join(format!("{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        self.file = Some(path);
        self
    }

    fn flag(mut self, flag: &'static str, text: &str) -> Self {
        self.flags = self.flags.text(flag, Some(&text.to_owned()));
        self
    }

    fn load(self) -> Loaded {
        let call = Call {
            flags: self.flags,
            file: self.file.clone(),
            allow_insecure_endpoint: false,
        };
        let loaded = load(&call, &self.variables.into_iter().collect());
        if let Some(path) = self.file {
            std::fs::remove_file(path).unwrap();
        }
        loaded
    }

    fn faults(self) -> Vec<String> {
        let prefix = self
            .file
            .as_ref()
            .map(|path| format!("{}, ", path.display()));
        let faults = self.load().faults.into_iter();
        let short = |text: String| match &prefix {
            Some(prefix) => text.replace(prefix, "FILE, "),
            None => text,
        };
        faults.map(|fault| short(fault.text)).collect()
    }
}

fn shown(loaded: &Loaded, table: &str, key: &str) -> (String, String) {
    let found = loaded
        .shown
        .iter()
        .find(|shown| (shown.table.as_str(), shown.key.as_str()) == (table, key))
        .unwrap_or_else(|| panic!("{table}.{key}: {:?}", loaded.shown));
    let value = match &found.value {
        ShownValue::List(items) => items.join("+"),
        ShownValue::Number(number) => number.to_string(),
        ShownValue::Switch(on) => on.to_string(),
        ShownValue::Part(text) | ShownValue::Text(text) => text.clone(),
    };
    (value, found.from.clone())
}

/// One setting, with a good value for each of the layers.
struct Row {
    setting: &'static Setting,
    /// In the file, as TOML.
    file: &'static str,
    values: [&'static str; 3],
}

fn row(setting: &'static Setting, file: &'static str, values: [&'static str; 3]) -> Row {
    Row {
        setting,
        file,
        values,
    }
}

/// spec-test: SET-1, SET-2, SET-3, SET-4
#[test]
fn a_flag_beats_a_variable_beats_the_file_beats_the_default() {
    use known::*;
    let rows = [
        row(
            &ENDPOINT,
            "'https://file.example'",
            [
                "https://file.example",
                "https://env.example",
                "https://flag.example",
            ],
        ),
        row(&POLL_TIMEOUT, "'3s'", ["3s", "4s", "5s"]),
        row(&GUARDRAIL, "'3s'", ["3s", "4s", "5s"]),
        row(&BACKOFF_MIN, "'1ms'", ["1ms", "2ms", "3ms"]),
        row(&BACKOFF_MAX, "'3s'", ["3s", "4s", "5s"]),
        row(&MAX_INFLIGHT, "3", ["3", "4", "5"]),
        row(&MAX_CONCURRENT, "3", ["3", "4", "5"]),
        row(&MAX_TTL, "'3m'", ["3m", "1day", "5m"]),
        row(&DRAIN, "'3s'", ["3s", "4s", "5s"]),
        row(
            &LISTEN,
            "'127.0.0.1:1'",
            ["127.0.0.1:1", "127.0.0.1:2", "off"],
        ),
        row(&LOG_LEVEL, "'error'", ["error", "debug", "off"]),
        row(&LOG_FORMAT, "'json'", ["json", "text", "json"]),
        row(&LOG_FILE, "'a.log'", ["a.log", "b.log", "stdout"]),
    ];
    let mut tried = 0;
    for Row {
        setting,
        file,
        values,
    } in rows
    {
        let Setting {
            table,
            key,
            variable,
            flag,
            ..
        } = setting;
        let [in_file, in_variable, in_flag] = values;
        let text = format!("[{table}]\n{key} = {file}\n");
        let name = format!("{table}-{key}.toml");
        let trial = || {
            let others = GOOD.iter().filter(|(name, _)| *name != setting.variable);
            let others: Vec<_> = others.copied().collect();
            Trial::default().with(&others).file(&name, &text)
        };
        let (value, from) = shown(&trial().load(), table, key);
        assert_eq!(value, in_file, "{key}");
        assert!(from.ends_with(".toml, line 2"), "{key}: {from}");
        if !variable.is_empty() {
            let loaded = trial().with(&[(variable, in_variable)]).load();
            assert_eq!(
                shown(&loaded, table, key),
                (in_variable.to_owned(), (*variable).to_owned())
            );
            tried += 1;
        }
        let loaded = trial()
            .with(&[(variable, in_variable)])
            .flag(flag, in_flag)
            .load();
        assert_eq!(
            shown(&loaded, table, key),
            (in_flag.to_owned(), (*flag).to_owned())
        );
        assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
        tried += 2;
    }
    assert_eq!(tried, 13 * 2 + 10);
}

#[test]
fn every_flag_that_a_setting_names_is_a_flag() {
    use clap::CommandFactory;
    let mut program = crate::cli::args::Args::command();
    program.build();
    for command in ["run", "doctor"] {
        let command = program.find_subcommand(command).unwrap();
        let flags: Vec<_> = command
            .get_arguments()
            .filter_map(clap::Arg::get_long)
            .map(|name| format!("--{name}"))
            .collect();
        let more = [&UNSAFE_HTTP_DUMPS];
        for setting in known::ALL.into_iter().chain(more) {
            assert!(
                flags.iter().any(|flag| flag == setting.flag),
                "{}",
                setting.flag
            );
        }
    }
}

/// spec-test: SET-3, SET-4
#[test]
fn without_more_the_defaults_are_those_that_are_documented() {
    let loaded = Trial::good().load();
    assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
    for (table, key, value) in [
        ("control_plane", "poll_timeout", "30s"),
        ("control_plane", "guardrail", "5s"),
        ("control_plane", "backoff_min", "200ms"),
        ("control_plane", "backoff_max", "10s"),
        ("control_plane", "max_inflight_requests", "20"),
        ("dispatch", "max_concurrent_requests", "10"),
        ("dispatch", "connection_max_ttl", "10m"),
        ("dispatch", "drain", "30s"),
        ("monitor", "listen", "127.0.0.1:8080"),
        ("monitor", "allow_remote", "false"),
        ("log", "level", "info"),
        ("log", "format", "text"),
        ("log", "file", "stderr"),
    ] {
        let expected = (value.to_owned(), "default".to_owned());
        assert_eq!(shown(&loaded, table, key), expected);
    }
    assert_eq!(loaded.queue, 20);
    assert_eq!(loaded.dispatch, DispatchOptions::default());
    assert_eq!(loaded.monitor, Some(ListenAddress::DEFAULT));
    assert_eq!(loaded.log, LogSettings::default());
    let (settings, _) = loaded.finish().ok().unwrap();
    assert_eq!(settings.poller, PollerOptions::default());
    assert_eq!(settings.targets.len(), 1);
}

/// spec-test: SET-2, SET-3
#[test]
fn every_variable_of_the_official_client_has_its_effect() {
    let loaded = Trial::good()
        .with(&[
            ("CONTROL_PLANE_POLL_TIMEOUT", "30000ms"),
            ("CONTROL_PLANE_POLL_DEADLINE_GUARDRAIL", "500ms"),
            ("CONTROL_PLANE_POLL_CHANNELS", "main, Tools"),
            ("CONTROL_PLANE_MAX_INFLIGHT_REQUESTS", "25"),
            ("CONTROL_PLANE_HTTP_PROXY", "env:MY_PROXY"),
            ("MY_PROXY", "http://user:word@proxy.example:3128"),
            ("CONTROL_PLANE_EXTRA_HEADERS", "X-A: 1, X-B: env:MY_HEADER"),
            ("MY_HEADER", "two"),
            (
                "MCP_SERVER_URL",
                "channel=tools,url=http://127.0.0.1:9/mcp?key=hidden\nchannel=spare,url=http://127.0.0.1:8/",
            ),
            ("MCP_EXTRA_HEADERS", "Authorization: env:MY_HEADER"),
            ("MCP_MAX_CONCURRENT_REQUESTS", "3"),
            ("MCP_CONNECTION_MAX_TTL", "24h"),
            ("LOG_LEVEL", "warn"),
            ("LOG_FORMAT", "struct-text"),
            ("LOG_FILE", "/dev/null"),
            ("HEALTH_LISTEN_ADDR", "127.0.0.1:0"),
        ])
        .load();
    assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
    let control_plane = loaded.control_plane.as_ref().unwrap();
    assert_eq!(
        control_plane.long_poll.guardrail(),
        Duration::from_millis(500)
    );
    let names: Vec<_> = control_plane
        .extra_headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap()))
        .collect();
    assert_eq!(names, [("x-a", "1"), ("x-b", "two")]);
    assert!(matches!(
        control_plane.proxy,
        crate::ProxyChoice::Explicit(_)
    ));
    assert_eq!(loaded.queue, 25);
    assert_eq!(loaded.dispatch.concurrency.get(), 3);
    assert_eq!(loaded.dispatch.max_ttl, Duration::from_secs(24 * 3600));
    assert_eq!(loaded.log.form, Form::Text);
    assert_eq!(
        loaded.log.destination,
        Destination::File("/dev/null".into())
    );
    assert_eq!(loaded.monitor.unwrap().get().port(), 0);
    // The channel `spare` is not served, since it was not named.
    let channels: Vec<_> = loaded.targets.keys().map(Channel::as_str).collect();
    assert_eq!(channels, ["main", "tools"]);
    let Some(TargetSettings::Stdio(stdio)) = loaded.targets.get(&Channel::main()) else {
        panic!("a command")
    };
    for secret in ["MY_HEADER", "MY_PROXY", "MCP_EXTRA_HEADERS"] {
        let withheld = stdio.withheld_variables.iter().any(|name| name == secret);
        assert!(withheld, "{secret}");
    }
    let mut all = String::new();
    for item in &loaded.shown {
        writeln!(all, "{item:?}").unwrap();
    }
    for secret in [
        "key-of-the-test",
        "hidden",
        "two",
        "word",
        "--stdio",
        "\"t\"",
    ] {
        assert!(!all.contains(secret), "{secret}: {all}");
    }
}

/// spec-test: SET-4
#[test]
fn levels_and_forms_are_taken_as_other_programs_write_them() {
    let variables = [("LOG_LEVEL", "WARNING"), ("LOG_FORMAT", "JSON")];
    let by_variable = Trial::good().with(&variables);
    let text = "[log]\nlevel = 'Warning'\nformat = 'Json'\n";
    let by_file = Trial::good().file("case.toml", text);
    for loaded in [by_variable.load(), by_file.load()] {
        assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
        assert_eq!(loaded.log.level, LevelFilter::WARN);
        assert_eq!(loaded.log.form, Form::Json);
        assert_eq!(shown(&loaded, "log", "level").0, "warn");
        assert_eq!(shown(&loaded, "log", "format").0, "json");
    }
}

/// spec-test: SET-5, SET-6
#[test]
fn each_mistake_has_its_message() {
    let mut table = String::new();
    let mut tell = |what: &str, faults: Vec<String>| {
        writeln!(table, "{what}").unwrap();
        for fault in faults {
            writeln!(table, "    {fault}").unwrap();
        }
    };
    tell("nothing at all", Trial::default().faults());
    for (name, value) in [
        ("CONTROL_PLANE_BASE_URL", "http://tunnels.example.com"),
        ("CONTROL_PLANE_BASE_URL", "tunnels.example.com"),
        ("CONTROL_PLANE_TUNNEL_ID", "a/b"),
        ("CONTROL_PLANE_API_KEY", "two words"),
        ("CONTROL_PLANE_API_KEY", "file:/secret"),
        ("CONTROL_PLANE_API_KEY", "env:secret"),
        ("CONTROL_PLANE_API_KEY", "\"secret\""),
        ("CONTROL_PLANE_API_KEY", "secret\nsecret"),
        ("CONTROL_PLANE_POLL_TIMEOUT", "30"),
        ("CONTROL_PLANE_POLL_DEADLINE_GUARDRAIL", "2h"),
        ("CONTROL_PLANE_POLL_CHANNELS", "main,tools"),
        ("CONTROL_PLANE_POLL_CHANNELS", "a b"),
        ("CONTROL_PLANE_MAX_INFLIGHT_REQUESTS", "0"),
        ("CONTROL_PLANE_HTTP_PROXY", "proxy:1"),
        ("CONTROL_PLANE_HTTP_PROXY", "env:NO_SUCH_PROXY"),
        ("CONTROL_PLANE_EXTRA_HEADERS", "X-A"),
        ("CONTROL_PLANE_EXTRA_HEADERS", "X-A: file:/no/such/file"),
        ("MCP_COMMAND", "'open"),
        ("MCP_COMMAND", "API_TOKEN=sk-live npx x"),
        ("MCP_COMMAND", "chanel=tools,command=x"),
        ("MCP_COMMAND", "http://127.0.0.1/secret"),
        ("MCP_COMMAND", "channel=a b,command=x"),
        ("MCP_COMMAND", "channel=a,url=http://127.0.0.1/"),
        ("MCP_SERVER_URL", "http://127.0.0.1:9/mcp"),
        ("MCP_SERVER_URL", "channel=a,url=ftp://127.0.0.1/"),
        (
            "MCP_SERVER_URL",
            "channel=a,url=http://user:word@127.0.0.1/",
        ),
        ("MCP_MAX_CONCURRENT_REQUESTS", "many"),
        ("MCP_CONNECTION_MAX_TTL", "0s"),
        ("HEALTH_LISTEN_ADDR", "8080"),
        ("HEALTH_LISTEN_ADDR", ":8080"),
        ("LOG_LEVEL", "loud"),
        ("LOG_FORMAT", "xml"),
        ("LOG_FILE", "/no/such/directory/a.log"),
        ("LOG_FILE", "/"),
        ("CA_BUNDLE", "/no/such/bundle"),
        (
            "CA_BUNDLE",
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
        ),
        ("MOORLINE_UNSAFE_HTTP_DUMPS", "true"),
    ] {
        tell(
            &format!("{name}={}", value.replace('\n', "\\n")),
            Trial::good().with(&[(name, value)]).faults(),
        );
    }
    let empty = key_file("empty-key", "\n");
    let two = key_file("two-keys", "secret\nsecret\n");
    for (name, path) in [("empty", &empty), ("two", &two)] {
        let faults = Trial::good().flag("--api-key", &format!("file:{path}"));
        let faults = faults.faults().into_iter();
        let faults = faults.map(|fault| fault.replace(path.as_str(), "KEY"));
        tell(&format!("a key file: {name}"), faults.collect());
        std::fs::remove_file(path).unwrap();
    }
    for (flag, value) in [
        ("--api-key", "sk-live"),
        ("--api-key", "env:api_key"),
        ("--extra-header", "Authorization: secret"),
        ("--mcp-extra-header", "X-A: secret"),
        ("--mcp-client-key", "/secret"),
        ("--max-inflight", "-1"),
        ("--log-level", "loud"),
    ] {
        tell(
            &format!("{flag} {value}"),
            Trial::good().flag(flag, value).faults(),
        );
    }
    for (name, text) in [
        ("key.toml", "[control_plane]\nendpont = 'x'\n"),
        ("key.yaml", "control_plane:\n  endpont: x\n"),
        ("table.toml", "[controlplane]\n"),
        (
            "several.toml",
            "[log]\nlevle = 'info'\ncolour = true\n[montor]\n",
        ),
        ("plain.toml", "[control_plane]\napi_key = 'sk-live'\n"),
        (
            "kind.toml",
            "[control_plane]\nmax_inflight_requests = 'x'\nextra_headers = 7\npoll_channels = 'main'\n",
        ),
        (
            "headers.toml",
            "[target]\nurl = 'http://127.0.0.1/'\nextra_headers = {authorization = 'secret'}\n",
        ),
        (
            "both.toml",
            "[target]\nurl = 'http://127.0.0.1/'\ncommand = 'x'\n",
        ),
        (
            "twice.toml",
            "[target]\nurl = 'http://127.0.0.1/'\n[targets.MAIN]\nurl = 'http://127.0.0.1/'\n",
        ),
        (
            "kinds.toml",
            "[control_plane]\npoll_timeout = 30\nendpoint = 5\n[dispatch]\nconnection_max_ttl = 1\n[log]\nlevel = 3\n",
        ),
        ("name.toml", "[targets.'a b']\nurl = 'http://127.0.0.1/'\n"),
        (
            "cert.toml",
            "[target]\nurl = 'https://127.0.0.1/'\nclient_cert = '/a'\n",
        ),
        (
            "pem.toml",
            "[target]\nurl = 'https://127.0.0.1/'\nclient_cert = '-----BEGIN'\nclient_key = '/no/such/key'\n",
        ),
        (
            "idle.toml",
            "[target]\ncommand = 'x'\nextra_headers = {a = 'b'}\nproxy = 'http://127.0.0.1/'\n",
        ),
        (
            "identity.toml",
            concat!(
                "[target]\nurl = 'http://127.0.0.1/'\nclient_cert = '",
                env!("CARGO_MANIFEST_DIR"),
                "/Cargo.toml'\nclient_key = '",
                env!("CARGO_MANIFEST_DIR"),
                "/Cargo.toml'\n"
            ),
        ),
        (
            "alias.toml",
            "[control_plane]\nendpoint = 'https://a.example'\nbase_url = 'https://b.example'\n",
        ),
        ("not.toml", "[log\n"),
        ("not.yaml", "log: [\n"),
        ("switch.toml", "[monitor]\nallow_remote = 'yes'\n"),
    ] {
        let others = GOOD.iter().filter(|(name, _)| *name != "MCP_COMMAND");
        let others: Vec<_> = others.copied().collect();
        let trial = Trial::default().with(&others).file(name, text);
        // The file's own faults: that there is no server is told elsewhere.
        let faults = trial.faults().into_iter();
        let faults = faults.filter(|fault| !fault.starts_with("the MCP server is missing"));
        tell(name, faults.collect());
    }
    let table = table.replace(env!("CARGO_MANIFEST_DIR"), "HERE");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/cli/config/mistakes.txt");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(path, &table).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap();
    assert_eq!(
        table, expected,
        "run again with UPDATE_SNAPSHOTS=1 and look at the difference"
    );
    for secret in ["sk-live", "secret", "two words"] {
        let faults = table.lines().filter(|line| line.starts_with("    "));
        assert_eq!(
            faults.filter(|line| line.contains(secret)).count(),
            0,
            "{secret}"
        );
    }
}

/// spec-test: SET-9
#[test]
fn what_has_no_effect_in_the_environment_is_warned_of() {
    let variables = [
        ("MCP_EXTRA_HEADERS", "X-A: hidden"),
        ("MCP_HTTP_PROXY", "x"),
    ];
    let trial = || Trial::good().with(&variables);
    let loaded = trial().load();
    assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
    let expected = [
        "MCP_EXTRA_HEADERS has no effect: no MCP server has a URL",
        "MCP_HTTP_PROXY has no effect: no MCP server has a URL",
    ];
    assert_eq!(loaded.warnings, expected);
    let url = ("MCP_SERVER_URL", "channel=web,url=http://127.0.0.1/");
    assert_eq!(trial().with(&[url]).load().warnings, [""; 0]);
    assert_eq!(
        trial().with(&[("MCP_COMMAND", "")]).load().warnings,
        [""; 0]
    );
}

/// spec-test: SET-1
#[test]
fn a_layer_that_names_a_channels_target_hides_the_lower_ones() {
    let text = "[target]\nurl = 'http://127.0.0.1:1/'\n[targets.tools]\ncommand = 'tools'\n";
    let kinds = |trial: Trial| {
        let loaded = trial.load();
        assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
        let kind = |(channel, target): (Channel, TargetSettings)| match target {
            TargetSettings::Http(_) => format!("{channel} http"),
            TargetSettings::Stdio(_) => format!("{channel} stdio"),
        };
        loaded.targets.into_iter().map(kind).collect::<Vec<_>>()
    };
    let base = || {
        let others: Vec<_> = GOOD.iter().take(3).copied().collect();
        Trial::default().with(&others).file("layers.toml", text)
    };
    assert_eq!(kinds(base()), ["main http", "tools stdio"]);
    let variable = [("MCP_COMMAND", "x")];
    assert_eq!(kinds(base().with(&variable)), ["main stdio", "tools stdio"]);
    let flag = base()
        .with(&variable)
        .flag("--mcp-server-url", "channel=main,url=http://127.0.0.1:2/");
    assert_eq!(kinds(flag), ["main http", "tools stdio"]);
}

#[test]
fn what_is_misspelt_or_of_another_kind_is_not_missing_too() {
    let rest = "tunnel_id = 't'\napi_key = 'env:API_KEY'\n";
    let target = "[target]\ncommand = 'x'\n";
    for (text, line) in [
        (format!("[control_plane]\n{rest}endpont = 'x'\n{target}"), 4),
        (format!("[control_plane]\n{rest}endpoint = 5\n{target}"), 4),
        (format!("[controlplane]\nendpoint = 'x'\n{rest}{target}"), 1),
        (
            format!("[control_plane]\nendpoint = '{URL}'\n{rest}[target]\ncomand = 'x'\n"),
            6,
        ),
        (
            format!("[control_plane]\nendpoint = '{URL}'\n{rest}[targt]\ncommand = 'x'\n"),
            5,
        ),
        (
            format!("[control_plane]\nendpoint = '{URL}'\ntunnel_id = 't'\napikey = 'x'\n{target}"),
            4,
        ),
    ] {
        let key = [("API_KEY", "k")];
        let faults = Trial::default()
            .with(&key)
            .file("meant.toml", &text)
            .faults();
        let [fault] = faults.as_slice() else {
            panic!("{text}: {faults:?}")
        };
        assert!(
            fault.starts_with(&format!("FILE, line {line}: ")),
            "{fault}"
        );
    }
}

#[test]
fn toml_and_yaml_say_the_same() {
    let toml = "[control_plane]\nendpoint = 'https://a.example'\nextra_headers = {x-a = '1'}\npoll_channels = ['main']\n[target]\ncommand = 'x'\n[monitor]\nlisten = 'off'\n[log]\nlevel = 'off'\n";
    let yaml = "control_plane:\n  base_url: https://a.example\n  extra_headers:\n    x-a: '1'\n  poll_channels: [main]\ntarget:\n  command: x\nmonitor:\n  listen: off\nlog:\n  level: off\n";
    let read = |name: &str, text: &str| {
        let variables: Vec<_> = GOOD[1..3].to_vec();
        let loaded = Trial::default().with(&variables).file(name, text).load();
        assert!(loaded.faults.is_empty(), "{:?}", loaded.faults);
        assert_eq!(loaded.monitor, None);
        let shown = loaded.shown.into_iter();
        shown
            .map(|shown| (shown.table, shown.key, shown.value))
            .collect::<Vec<_>>()
    };
    assert_eq!(read("same.toml", toml), read("same.yaml", yaml));
}
