//! A shared pipe as the list of all requests that ever went on it and what became of each. What may be
//! said of a step is worked out from the whole list. Written from CMD-20, CMD-33 to CMD-36, RPT-4,
//! RPT-6 and what the model's page on the pipe promises.

use std::collections::BTreeSet;

use moorline_model::pipe::{
    Begun, Closed, MAX_IN_FLIGHT, MAX_RETIRED, Pipe, PipeFault, Retirement, Routed,
};
use serde_json::{Value, json};

use super::json::is_json;
use super::jsonrpc::{
    CANCEL, CANCELLED, ID, Meaning, PROGRESS, REQUEST_TOKEN, TOKEN, Told, Twice, id_at, place,
    read, spliced,
};

/// What begins each id that no caller chose.
const SUBSTITUTE: &str = "moorline-";

/// All requests, oldest first, and what else there is to count.
#[derive(Clone, Default)]
pub(crate) struct Log {
    requests: Vec<Request>,
    /// Numbers of retired requests, in the order of their retirement.
    retirements: Vec<usize>,
    substitutes: BTreeSet<String>,
    /// The answers to `initialize`, for each child: the last one is running.
    children: Vec<bool>,
}

#[derive(Clone)]
struct Request {
    owner: u64,
    is_initialize: bool,
    id: Exchange,
    token: Option<Exchange>,
    fate: Fate,
    /// The child may know of it.
    is_written: bool,
    is_cancelled: bool,
}

/// An id or token as its owner wrote it, and on the wire.
#[derive(Clone)]
pub(crate) struct Exchange {
    pub(crate) given: String,
    pub(crate) wire: String,
    given_meaning: Option<Meaning>,
    wire_meaning: Option<Meaning>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    InFlight,
    /// Its answer may come, and is known to be nobody's.
    Retired,
    /// Its answer may come, and nobody knows of it any more.
    Forgotten,
    /// Answered, in time or late, or lost with its child.
    Over,
}

impl Log {
    pub(crate) fn new() -> Self {
        Self {
            children: vec![false],
            ..Self::default()
        }
    }

    /// Takes a request down without looking at the others, of which there are many.
    pub(crate) fn crowded(&mut self, owner: u64, given: &str, wire: &str, is_retired: bool) {
        assert!(self.substitutes.insert(wire.to_owned()), "{wire} twice");
        if is_retired {
            self.retirements.push(self.requests.len());
        }
        self.requests.push(Request {
            owner,
            is_initialize: false,
            id: Exchange::new(given, wire),
            token: None,
            fate: if is_retired {
                Fate::Retired
            } else {
                Fate::InFlight
            },
            is_written: true,
            is_cancelled: false,
        });
    }

    /// The ids and the tokens of the request that went on the pipe so many before the last one.
    pub(crate) fn request(&self, back: usize) -> Option<(&Exchange, Option<&Exchange>)> {
        let at = back.checked_rem(self.requests.len())?;
        let request = self.requests.iter().rev().nth(at)?;
        Some((&request.id, request.token.as_ref()))
    }

    /// Judges what became of a message for the target.
    pub(crate) fn begun(&mut self, owner: u64, text: &str, begun: &Result<Begun, PipeFault>) {
        match read(text) {
            Err(fault) => assert_eq!(*begun, Err(PipeFault::Message(fault))),
            Ok(Told::Request { id, method }) => self.asked(owner, text, id, &method, begun),
            Ok(Told::Notification { method }) if method == CANCEL => self.cancelled(text, begun),
            Ok(_) => passes(begun, text),
        }
    }

    fn asked(
        &mut self,
        owner: u64,
        text: &str,
        id: &str,
        method: &str,
        begun: &Result<Begun, PipeFault>,
    ) {
        let token = match self.token_of(owner, text) {
            Err(fault) => return assert_eq!(*begun, Err(fault)),
            Ok(token) => token,
        };
        let is_initialize = method == "initialize";
        if self.needs_initialize() && !is_initialize && method != "ping" {
            return judge_refusal(begun, id);
        }
        let Ok(Begun::Send {
            wire_text,
            wire_id: Some(wire_id),
            cancels: None,
        }) = begun
        else {
            panic!("a request is sent: {begun:?}");
        };
        let id = self.exchange(id, wire_id.raw(), |request| Some(&request.id));
        let mut expected = spliced(text, ID, &id.wire);
        let token = token.map(|token| {
            let wire = id_at(wire_text, REQUEST_TOKEN).expect("a token, as before");
            let token = self.exchange(token, wire, |request| request.token.as_ref());
            expected = spliced(&expected, REQUEST_TOKEN, &token.wire);
            token
        });
        assert_eq!(*wire_text, one_line(&expected));
        self.requests.push(Request {
            owner,
            is_initialize,
            id,
            token,
            fate: Fate::InFlight,
            is_written: false,
            is_cancelled: false,
        });
    }

    /// Takes down that a request is being written. False if it is not in flight.
    pub(crate) fn writing(&mut self, owner: u64) -> bool {
        let mut mine = self.requests.iter_mut();
        let request = mine.find(|r| r.owner == owner && r.fate == Fate::InFlight);
        request.is_some_and(|request| {
            request.is_written = true;
            true
        })
    }

    /// Judges what follows when a request could not be written.
    pub(crate) fn not_written(&mut self, owner: u64, partly: bool, again: bool) {
        let Some(at) = self.in_flight(owner) else {
            return assert!(!again);
        };
        assert_eq!(again, !partly);
        if partly {
            self.retire(at);
        } else {
            self.at_mut(at).fate = Fate::Over;
        }
    }

    /// The token of a request, unless it cannot go on the pipe.
    fn token_of<'a>(&self, owner: u64, text: &'a str) -> Result<Option<&'a str>, PipeFault> {
        if self
            .all(&[Fate::InFlight])
            .any(|request| request.owner == owner)
        {
            return Err(PipeFault::OwnerBusy);
        }
        if self.all(&[Fate::InFlight]).count() == MAX_IN_FLIGHT {
            return Err(PipeFault::Full);
        }
        match place(text, REQUEST_TOKEN) {
            Err(Twice) => Err(PipeFault::Ambiguous),
            Ok(None | Some("null")) => Ok(None),
            Ok(Some(raw)) if Meaning::of(raw).is_none() => Err(PipeFault::ProgressTokenInvalid),
            Ok(token) => Ok(token),
        }
    }

    /// An id or token keeps its text where nothing else that may still come back has it, and has an id
    /// of its own otherwise.
    fn exchange(
        &mut self,
        given: &str,
        wire: &str,
        of: fn(&Request) -> Option<&Exchange>,
    ) -> Exchange {
        let exchange = Exchange::new(given, wire);
        let meaning = exchange.given_meaning.as_ref().expect("an id");
        let is_used = || {
            let mut used = self.all(&[Fate::InFlight, Fate::Retired]).filter_map(of);
            used.any(|used| used.wire_meaning == exchange.given_meaning)
        };
        let forgets = self.all(&[Fate::Forgotten]).next().is_some();
        let keeps =
            meaning.is_portable() && !meaning.begins_with(SUBSTITUTE) && !forgets && !is_used();
        if keeps {
            assert_eq!(wire, given, "an id that is free is kept");
        } else {
            let plain = wire.trim_matches('"');
            assert!(plain.starts_with(SUBSTITUTE), "{given} became {wire}");
            assert!(self.substitutes.insert(wire.to_owned()), "{wire} twice");
        }
        exchange
    }

    fn cancelled(&mut self, text: &str, begun: &Result<Begun, PipeFault>) {
        let Ok(raw) = place(text, CANCELLED) else {
            return assert_eq!(*begun, Err(PipeFault::Ambiguous));
        };
        let Some(id) = raw.and_then(Meaning::of) else {
            return passes(begun, text);
        };
        let meant = |(_, request): &(usize, &Request)| {
            [Fate::InFlight, Fate::Retired].contains(&request.fate)
                && request.id.given_meaning.as_ref() == Some(&id)
                && !request.is_cancelled
        };
        let meant: Vec<_> = self.requests.iter().enumerate().filter(meant).collect();
        match *meant {
            [(at, one)] => {
                let ends = one.fate == Fate::InFlight && !one.is_initialize;
                let expected = Begun::Send {
                    wire_text: one_line(&spliced(text, CANCELLED, &one.id.wire)),
                    wire_id: None,
                    cancels: ends.then_some(one.owner),
                };
                assert_eq!(*begun, Ok(expected));
                if ends {
                    self.at_mut(at).is_cancelled = true;
                    self.retire(at);
                }
            }
            [] if !id.begins_with(SUBSTITUTE) => passes(begun, text),
            _ => assert_eq!(*begun, Ok(Begun::Dropped)),
        }
    }

    /// Judges whom a line from the target was for.
    pub(crate) fn received(&mut self, line: &str, routed: &Routed) {
        match read(line) {
            Err(fault) => match self.meant_by(line) {
                Some(at) => self.failed(at, "invalid_answer", routed),
                None => assert_eq!(*routed, Routed::Invalid(fault)),
            },
            Ok(Told::Error { id: None }) => match *self.known() {
                [at] => self.failed(at, "error_without_id", routed),
                _ => assert_eq!(*routed, Routed::Unknown),
            },
            Ok(Told::Response { id }) => self.answered(line, id, true, routed),
            Ok(Told::Error { id: Some(id) }) => self.answered(line, id, false, routed),
            Ok(Told::Notification { method }) if method == PROGRESS => {
                self.progressed(line, routed);
            }
            Ok(Told::Notification { .. }) => {
                let oldest = self.oldest();
                self.notified(oldest, line.to_owned(), routed);
            }
            Ok(Told::Request { id, method }) => match (self.oldest(), routed) {
                (
                    Some(oldest),
                    Routed::ServerRequest {
                        owner,
                        text,
                        otherwise,
                    },
                ) => {
                    assert_eq!((*owner, &**text), (oldest, line));
                    judge_reply(otherwise, id, &method, "-32603");
                }
                (None, Routed::Reply(text)) => judge_reply(text, id, &method, "-32601"),
                (oldest, other) => panic!("{line} for {oldest:?}: {other:?}"),
            },
        }
    }

    /// The request in flight that a line answers which is no message: it has one id, and a result or an
    /// error, and no method.
    fn meant_by(&self, line: &str) -> Option<usize> {
        let has = |name: &str| !is_json(line) || place(line, &[name]) != Ok(None);
        if has("method") || !has("result") && !has("error") {
            return None;
        }
        let id = Meaning::of(place(line, ID).ok()??)?;
        let waits = |request: &Request| {
            request.fate == Fate::InFlight && request.id.wire_meaning.as_ref() == Some(&id)
        };
        self.requests.iter().position(waits)
    }

    /// What came for a request is no answer.
    fn failed(&mut self, at: usize, kind: &'static str, routed: &Routed) {
        let Routed::Failed { owner, failure } = *routed else {
            panic!("no valid answer: {routed:?}");
        };
        assert_eq!(owner, self.at(at).owner);
        assert_eq!(failure.source.as_str(), "protocol");
        assert_eq!(failure.transport_error_kind, Some(kind));
        assert!(failure.upstream_response_received);
        self.retire(at);
    }

    /// The answer to a request goes to who asked, once, and with the id as it was given.
    fn answered(&mut self, line: &str, id: &str, is_result: bool, routed: &Routed) {
        let id = Meaning::of(id);
        let waited = [Fate::InFlight, Fate::Retired];
        let requests = self.requests.iter_mut().enumerate();
        let mut found = requests
            .filter(|(_, request)| waited.contains(&request.fate) && request.id.wire_meaning == id);
        let Some((at, request)) = found.next() else {
            return assert_eq!(*routed, Routed::Unknown);
        };
        assert!(found.next().is_none(), "an id twice on the wire");
        let fate = std::mem::replace(&mut request.fate, Fate::Over);
        if fate == Fate::Retired {
            self.retirements.retain(|retired| *retired != at);
            return assert_eq!(*routed, Routed::Retired);
        }
        let expected = Routed::Answer {
            owner: request.owner,
            text: spliced(line, ID, &request.id.given),
        };
        assert_eq!(*routed, expected);
        if request.is_initialize && is_result {
            *self.children.last_mut().expect("a child") = true;
        }
    }

    fn progressed(&self, line: &str, routed: &Routed) {
        let token = id_at(line, TOKEN).and_then(Meaning::of);
        let of = |request: &Request| {
            let exchange = request.token.as_ref()?;
            (token.is_some() && exchange.wire_meaning == token)
                .then(|| (request.owner, exchange.given.clone()))
        };
        let found: Vec<_> = self.all(&[Fate::InFlight]).filter_map(of).collect();
        match &*found {
            [(owner, given)] => self.notified(Some(*owner), spliced(line, TOKEN, given), routed),
            [] => self.notified(None, line.to_owned(), routed),
            _ => panic!("a token twice on the wire"),
        }
    }

    fn notified(&self, owner: Option<u64>, text: String, routed: &Routed) {
        assert_eq!(*routed, Routed::Notification { owner, text });
    }

    /// Judges what is left to do for a request that is given up.
    pub(crate) fn retired(&mut self, owner: u64, retirement: Retirement) {
        let Some(at) = self.in_flight(owner) else {
            return assert_eq!(retirement, Retirement::NotInFlight);
        };
        let expected = if self.at(at).is_initialize {
            Retirement::ClosePipe
        } else {
            Retirement::KeepPipe
        };
        assert_eq!(retirement, expected);
        self.retire(at);
    }

    fn at(&self, at: usize) -> &Request {
        self.requests.get(at).expect("none is ever removed")
    }

    fn at_mut(&mut self, at: usize) -> &mut Request {
        self.requests.get_mut(at).expect("none is ever removed")
    }

    /// Where the request of an owner stands that is in flight.
    fn in_flight(&self, owner: u64) -> Option<usize> {
        let mut requests = self.requests.iter();
        requests.position(|request| request.owner == owner && request.fate == Fate::InFlight)
    }

    fn retire(&mut self, at: usize) {
        self.at_mut(at).fate = Fate::Retired;
        self.retirements.push(at);
        if self.retirements.len() > MAX_RETIRED {
            let oldest = self.retirements.remove(0);
            if let Some(request) = self.requests.get_mut(oldest) {
                request.fate = Fate::Forgotten;
            }
        }
    }

    /// Judges who is told that the child has gone.
    pub(crate) fn closed(&mut self, closed: &Closed) {
        let ended = |is_written| {
            let in_flight = self.all(&[Fate::InFlight]);
            let ended = in_flight.filter(move |request| request.is_written == is_written);
            ended.map(|request| request.owner).collect::<Vec<u64>>()
        };
        assert_eq!(closed.failed, ended(true));
        assert_eq!(closed.unwritten, ended(false));
        for request in &mut self.requests {
            request.fate = Fate::Over;
        }
        self.retirements.clear();
        self.children.push(false);
    }

    /// Judges what the pipe says of itself.
    pub(crate) fn judge(&self, pipe: &Pipe) {
        assert_eq!(pipe.in_flight(), self.all(&[Fate::InFlight]).count());
        assert!(pipe.in_flight() <= MAX_IN_FLIGHT);
    }

    fn needs_initialize(&self) -> bool {
        self.children.contains(&true) && self.children.last() == Some(&false)
    }

    /// The requests in flight that the child may know of.
    fn known(&self) -> Vec<usize> {
        let requests = self.requests.iter().enumerate();
        let known = requests.filter(|(_, r)| r.fate == Fate::InFlight && r.is_written);
        known.map(|(at, _)| at).collect()
    }

    fn oldest(&self) -> Option<u64> {
        let first = self.known().into_iter().next()?;
        Some(self.at(first).owner)
    }

    fn all<'a>(&'a self, fates: &'a [Fate]) -> impl Iterator<Item = &'a Request> {
        self.requests
            .iter()
            .filter(|request| fates.contains(&request.fate))
    }
}

impl Exchange {
    fn new(given: &str, wire: &str) -> Self {
        Self {
            given: given.to_owned(),
            wire: wire.to_owned(),
            given_meaning: Meaning::of(given),
            wire_meaning: Meaning::of(wire),
        }
    }
}

/// The message is written as it is, and nothing is in flight for it.
fn passes(begun: &Result<Begun, PipeFault>, text: &str) {
    let expected = Begun::Send {
        wire_text: one_line(text),
        wire_id: None,
        cancels: None,
    };
    assert_eq!(*begun, Ok(expected));
}

fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c == '\n' || c == '\r' { ' ' } else { c })
        .collect()
}

/// An error for this id that says what is missing, by the rules RPT-6 and CMD-22.
fn judge_refusal(begun: &Result<Begun, PipeFault>, id: &str) {
    let Ok(Begun::Refused { text, .. }) = begun else {
        panic!("the new child knows of no session: {begun:?}");
    };
    assert_eq!(read(text), Ok(Told::Error { id: Some(id) }));
    let error = place(text, &["error"]).ok().flatten();
    let error: Value = serde_json::from_str(error.expect("an error")).expect("JSON");
    let message = error.get("message").and_then(Value::as_str);
    assert!(message.is_some_and(|message| !message.is_empty()));
    let failure = json!({
        "version": 1,
        "source": "protocol",
        "transport_error_kind": "not_initialized",
        "upstream_response_received": false,
    });
    let expected = json!({"code": -32603, "message": message, "data": {"tunnel_failure": failure}});
    assert_eq!(error, expected);
}

/// A target that asks what nobody takes gets an answer to its id.
fn judge_reply(text: &str, id: &str, method: &str, code: &str) {
    if method == "ping" {
        assert_eq!(read(text), Ok(Told::Response { id }));
        assert_eq!(place(text, &["result"]), Ok(Some("{}")));
    } else {
        assert_eq!(read(text), Ok(Told::Error { id: Some(id) }));
        assert_eq!(place(text, &["error", "code"]), Ok(Some(code)));
    }
    assert_eq!(one_line(text), text);
}
