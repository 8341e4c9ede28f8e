//! Runs of messages over a shared pipe, from callers that choose the same ids and a target that answers
//! late, twice, or what nobody asked: after every step what the pipe says must follow from the list of
//! all requests.

use std::sync::LazyLock;

use moorline_model::pipe::{Begun, MAX_IN_FLIGHT, MAX_RETIRED, Pipe, Retirement};

use crate::oracle::pipe::Log;

/// The greatest number of steps in one run.
const STEPS_MAX: usize = 150;

/// The first owner of what is on the pipe at first. Those of the steps are numbered by a character.
const CROWD: u64 = 1_000;

/// Takes a line for what is on the pipe at first, then a line for each step.
///
/// The first line says `flying` for as many requests in flight as there may be, but for two, or
/// `retired` for as many retired ones as are remembered, but for two; anything else is nothing. A step
/// begins with a letter. An owner is one character, and an earlier request a digit that says how many
/// others went on the pipe after it. The rest is raw text, JSON or not:
///
/// | step | what happens |
/// | --- | --- |
/// | `a`, owner, method (`i`, `p` or another), style (`n`, `l`, `2` or another), id, perhaps a space and a progress token | a caller asks |
/// | `c`, id | a caller cancels |
/// | `r`, id | a caller answers the target |
/// | `w`, owner, text | anything is for the target |
/// | `t`, owner | a caller's time is over |
/// | `=`, request, style (`e`: an error; `s`: another spelling, `b`: both) | the target answers |
/// | `+`, request, style (`s`) | the target tells of progress |
/// | `h`, text | the target says anything |
/// | `n` | the target notifies |
/// | `q`, method (`p` or another), id | the target asks |
/// | `u` | from here on nothing is written, until the next `u` |
/// | `o`, owner | a request that waits is written |
/// | `f`, owner, `p` or another | the child reads no more: a part of a request is written, or nothing |
/// | `x` | the child ends, and another comes |
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let mut lines = text.split('\n');
    let mut run = match lines.next() {
        Some("flying") => FLYING.clone(),
        Some("retired") => RETIRED.clone(),
        _ => Run::new(0, false),
    };
    for line in lines.take(STEPS_MAX) {
        // A step that is too short is none.
        if run.step(line).is_some() {
            run.log.judge(&run.pipe);
        }
    }
}

/// Made once, since there are so many.
static FLYING: LazyLock<Run> = LazyLock::new(|| Run::new(MAX_IN_FLIGHT - 2, false));
static RETIRED: LazyLock<Run> = LazyLock::new(|| Run::new(MAX_RETIRED - 2, true));

#[derive(Clone)]
struct Run {
    pipe: Pipe,
    log: Log,
    leaves_unwritten: bool,
}

impl Run {
    /// A pipe with so many requests of others, whose ids are all exchanged.
    fn new(count: usize, retire: bool) -> Self {
        const ID: &str = "-0";
        let mut run = Self {
            pipe: Pipe::new(),
            log: Log::new(),
            leaves_unwritten: false,
        };
        let text = format!(r#"{{"jsonrpc":"2.0","id":{ID},"method":"m"}}"#);
        for owner in (CROWD..).take(count) {
            let begun = run.pipe.begin(owner, &text);
            let Ok(Begun::Send {
                wire_id: Some(wire),
                ..
            }) = begun
            else {
                panic!("there is room: {begun:?}");
            };
            assert!(run.pipe.writing(owner));
            if retire {
                assert_eq!(run.pipe.retire(owner), Retirement::KeepPipe);
            }
            run.log.crowded(owner, ID, wire.raw(), retire);
        }
        run.log.judge(&run.pipe);
        run
    }

    fn step(&mut self, line: &str) -> Option<()> {
        let (step, rest) = first(line)?;
        match step {
            'a' => {
                let (owner, rest) = first(rest)?;
                let (method, rest) = first(rest)?;
                let (style, rest) = first(rest)?;
                let (id, token) = rest.split_once(' ').unwrap_or((rest, ""));
                self.write(owner.into(), &request(id, method, token, style));
            }
            'c' => self.write(
                0,
                &notification("cancelled", &format!("\"requestId\":{rest}")),
            ),
            'r' => self.write(0, &response(rest, false)),
            'w' => {
                let (owner, text) = first(rest)?;
                self.write(owner.into(), text);
            }
            't' => self.retire(first(rest)?.0.into()),
            '=' => {
                let (request, style) = first(rest)?;
                let (id, _) = self.log.request(back(request))?;
                let respelt = style.starts_with(['s', 'b']);
                let line = response(&spelling(&id.wire, respelt), style.starts_with(['e', 'b']));
                self.hear(&line);
            }
            '+' => {
                let (request, style) = first(rest)?;
                let (_, token) = self.log.request(back(request))?;
                let token = spelling(&token?.wire, style.starts_with('s'));
                let params = format!("\"progress\":1,\"progressToken\":{token}");
                self.hear(&notification("progress", &params));
            }
            'h' => self.hear(rest),
            'n' => self.hear(&notification("message", "\"data\":1e999")),
            'q' => {
                let (method, id) = first(rest)?;
                let method = if method == 'p' { "ping" } else { "roots/list" };
                self.hear(&format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#
                ));
            }
            'u' => self.leaves_unwritten = !self.leaves_unwritten,
            'o' => {
                let owner = first(rest)?.0.into();
                assert_eq!(self.pipe.writing(owner), self.log.writing(owner));
            }
            'f' => {
                let (owner, part) = first(rest)?;
                let (owner, partly) = (owner.into(), part.starts_with('p'));
                let again = self.pipe.not_written(owner, partly);
                self.log.not_written(owner, partly, again);
            }
            'x' => {
                let closed = self.pipe.closed();
                self.log.closed(&closed);
            }
            _ => return None,
        }
        Some(())
    }

    fn write(&mut self, owner: u64, text: &str) {
        let begun = self.pipe.begin(owner, text);
        self.log.begun(owner, text, &begun);
        if self.leaves_unwritten {
            return;
        }
        let writes = matches!(
            begun,
            Ok(Begun::Send {
                wire_id: Some(_),
                ..
            })
        );
        if writes {
            assert!(self.pipe.writing(owner));
            self.log.writing(owner);
        }
    }

    fn hear(&mut self, line: &str) {
        let routed = self.pipe.received(line);
        self.log.received(line, &routed);
    }

    fn retire(&mut self, owner: u64) {
        let retirement = self.pipe.retire(owner);
        self.log.retired(owner, retirement);
    }
}

fn first(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    chars.next().map(|first| (first, chars.as_str()))
}

/// How many requests back a digit says.
fn back(digit: char) -> usize {
    u32::from(digit).wrapping_sub(u32::from('0')) as usize
}

fn request(id: &str, method: char, token: &str, style: char) -> String {
    let method = match method {
        'i' => "initialize",
        'p' => "ping",
        _ => "tools/call",
    };
    let token = if token.is_empty() {
        String::new()
    } else {
        format!(r#""progressToken":{token}"#)
    };
    match style {
        // Over lines, and with escapes.
        'l' => format!(
            "{{\r\n\"method\":\"{method}\",\n\"params\" : {{ \"_meta\":\r{{{token}}}}},\"i\\u0064\":\t{id} ,\"jsonrpc\":\"2\\u002e0\"\n}}\n"
        ),
        // With members of the same names elsewhere.
        'n' => format!(
            r#"{{"x":{{"id":9}},"params":{{"id":8,"progressToken":7,"_meta":{{{token}}}}},"method":"{method}","jsonrpc":"2.0","id":{id}}}"#
        ),
        // With two places for its token.
        '2' => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{{token}}},"\u005fmeta":null}}}}"#
        ),
        _ => format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{{token}}}}}}}"#
        ),
    }
}

fn response(id: &str, is_error: bool) -> String {
    let told = if is_error {
        r#""error":{"code":-32602,"message":"no","data":{"id":5}}"#
    } else {
        r#""result":{"id":5}"#
    };
    format!(r#"{{ "id" : {id} ,{told},"jsonrpc":"2.0"}}"#)
}

fn notification(name: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/{name}","params":{{{params}}}}}"#)
}

/// A string with its first character as an escape, where that is another spelling of the same.
fn spelling(raw: &str, respelt: bool) -> String {
    let inner = raw.strip_prefix('"');
    let first = inner.and_then(|inner| inner.chars().next());
    match (inner, first) {
        (Some(inner), Some(first)) if respelt && first.is_ascii_alphanumeric() => {
            let rest: String = inner.chars().skip(1).collect();
            format!("\"\\u{:04X}{rest}", u32::from(first))
        }
        _ => raw.to_owned(),
    }
}
