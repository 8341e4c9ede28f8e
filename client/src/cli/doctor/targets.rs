//! Checks that contact an MCP server.

use std::time::Duration;

use moorline_model::wire::{Channel, FailureSource, TunnelFailure};

use super::command::{Advice, advise};
use super::handshake::{Shown, Trouble, shake};
use super::report::Check;
use crate::target::{AnyTarget, CommandLine};

/// How long a server that was started may take to end.
const GRACE: Duration = Duration::from_secs(2);

/// The most lines of a server's standard error that are shown, and the longest of them.
const STDERR_LINES: usize = 12;
const STDERR_COLUMNS: usize = 160;

/// Greets a server and asks for its tools. One over stdio is started for this, and ended.
pub(super) async fn check(
    channel: &Channel,
    target: AnyTarget,
    command: Option<&CommandLine>,
) -> Check {
    let name = format!("MCP server {channel}");
    match &target {
        AnyTarget::Http(http) => match shake(http).await {
            Ok(shown) => Check::pass(name, passed("it answers over HTTP", &shown)),
            Err(trouble) => failed(name, &trouble, over_http),
        },
        AnyTarget::Stdio(stdio) => {
            let shaken = shake(stdio).await;
            stdio.stop(GRACE).await;
            let check = match shaken {
                Ok(shown) => Check::pass(name, passed("it starts and answers over stdio", &shown)),
                Err(trouble) => {
                    // The operator's own program, on the operator's own terminal.
                    let details = last_lines(&stdio.stderr().last_words);
                    failed(name, &trouble, |failure| over_stdio(command, failure))
                        .with_details(details)
                }
            };
            check.with_details(strays(stdio.stray_lines()))
        }
    }
}

/// What is to be said of lines on standard output that were no messages. They do no harm but to whoever
/// looks for them.
fn strays(lines: u64) -> Vec<String> {
    match lines {
        0 => Vec::new(),
        lines => vec![format!(
            "lines on its standard output that were no JSON-RPC messages: {lines}. A server must log to \
             standard error"
        )],
    }
}

fn passed(how: &str, shown: &Shown) -> String {
    let session = if shown.has_session {
        ", in a session"
    } else {
        ""
    };
    format!(
        "{how}: initialize and tools/list, {} tools{session}",
        shown.tools
    )
}

fn failed(name: String, trouble: &Trouble, advise: impl Fn(TunnelFailure) -> Advice) -> Check {
    match trouble {
        Trouble::Failed(method, failure) => {
            let status = failure
                .upstream_status()
                .map(|status| format!(", status {status}"));
            let kind = failure.transport_error_kind.map(|kind| format!(", {kind}"));
            let Advice { evidence, next } = advise(*failure);
            let what = evidence.as_deref().unwrap_or(failure.phrase());
            let evidence = format!(
                "{method}: {what}{}{}",
                status.unwrap_or_default(),
                kind.unwrap_or_default()
            );
            Check::fail(name, evidence).then(next)
        }
        Trouble::Refused(method, code) => {
            let code = code.map_or_else(String::new, |code| format!(", code {code}"));
            Check::fail(name, format!("{method}: it answers with an error{code}"))
                .then("try the server with another MCP client")
        }
        Trouble::Odd(method) => Check::fail(
            name,
            format!("{method}: it answers, and not as an MCP server does"),
        )
        .then("is that an MCP server, and the right address or command?"),
    }
}

fn over_http(failure: TunnelFailure) -> Advice {
    Advice {
        evidence: None,
        next: next_over_http(failure).to_owned(),
    }
}

fn next_over_http(failure: TunnelFailure) -> &'static str {
    match failure.source {
        FailureSource::Dns => "check the host in the URL of the MCP server",
        FailureSource::Connect => "start the MCP server, or check the host and port of its URL",
        FailureSource::Tls if failure.transport_error_kind == Some("invalid_message") => {
            "is it plain http? Then the URL begins with http://; or is something else at this port?"
        }
        FailureSource::Tls => {
            "name its authority with CA_BUNDLE; if it asks for a certificate, give MCP_CLIENT_CERT \
             and MCP_CLIENT_KEY"
        }
        FailureSource::Timeout => "see what keeps the MCP server busy",
        FailureSource::TargetHttp {
            status: Some(401 | 403),
        } => "give the credentials that it wants: MCP_EXTRA_HEADERS='Authorization: env:NAME'",
        FailureSource::TargetHttp {
            status: Some(404 | 405),
        } => "check the path of the URL: many servers answer at /mcp",
        FailureSource::TargetHttp { .. } => "look into the log of the MCP server",
        FailureSource::Protocol
        | FailureSource::TransportClosed
        | FailureSource::ClientInternal => {
            "check that the URL is that of an MCP server with streamable HTTP"
        }
    }
}

fn over_stdio(command: Option<&CommandLine>, failure: TunnelFailure) -> Advice {
    match command {
        Some(command) => advise(command, failure),
        // Whatever is started has a command.
        None => over_http(failure),
    }
}

/// The end of what a server wrote, fit for a terminal.
fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let first = lines.len().saturating_sub(STDERR_LINES);
    let fit = |line: &&str| {
        line.chars()
            .take(STDERR_COLUMNS)
            .map(|letter| if letter.is_control() { '?' } else { letter })
            .collect()
    };
    lines.iter().skip(first).map(fit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_cannot_move_the_cursor_or_flood() {
        let text = format!("\u{1b}[2Jred\u{7}\n\n{}\n", "x".repeat(1_000));
        let lines = last_lines(&text);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0], "?[2Jred?");
        assert_eq!(lines[1].len(), STDERR_COLUMNS);
        let many: String = (0..100).map(|number| format!("{number}\n")).collect();
        let lines = last_lines(&many);
        assert_eq!((lines.len(), lines[0].as_str()), (STDERR_LINES, "88"));
    }
}
