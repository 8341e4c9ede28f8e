//! The reader of JSON-RPC messages: which kind a text is or what is wrong with it, the ids in it, and
//! how they are exchanged without touching another byte. Held against a reader on top of `serde_json`.

use std::hash::{DefaultHasher, Hash, Hasher};

use moorline_model::jsonrpc::{Message, RawId, cancelled_request, progress_token, with_id};

use crate::oracle::json::is_json;
use crate::oracle::jsonrpc::{
    CANCEL, CANCELLED, ID, Meaning, PROGRESS, REQUEST_TOKEN, TOKEN, Told, id_at, read, spliced,
};

/// What takes the place of an id: of another length, with an escape, and one that is odd.
const OTHERS: [&str; 3] = ["7", "\"moorline\\u002d1\\n\"", "-0"];

/// The greatest number of lines that are compared as ids with each other.
const IDS_MAX: usize = 6;

/// Takes a text. It is read as a message, and each line of it as an id.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    message(text);
    exchange(text);
    ids(text);
}

/// What the text is, and the ids in it.
fn message(text: &str) {
    let expected = read(text);
    let found = Message::parse(text);
    assert_eq!(found.as_ref().map_err(|fault| *fault).map(told), expected);
    let (token, cancelled) = match &expected {
        Ok(Told::Request { .. }) => (id_at(text, REQUEST_TOKEN), None),
        Ok(Told::Notification { method }) if method == PROGRESS => (id_at(text, TOKEN), None),
        Ok(Told::Notification { method }) if method == CANCEL => (None, id_at(text, CANCELLED)),
        _ => (None, None),
    };
    assert_eq!(progress_token(text).as_ref().map(RawId::raw), token);
    assert_eq!(cancelled_request(text).as_ref().map(RawId::raw), cancelled);
}

fn told<'a>(message: &'a Message<'_>) -> Told<'a> {
    match message {
        Message::Error { id } => Told::Error {
            id: id.as_ref().map(RawId::raw),
        },
        Message::Notification { method } => Told::Notification {
            method: method.to_string(),
        },
        Message::Request { id, method } => Told::Request {
            id: id.raw(),
            method: method.to_string(),
        },
        Message::Response { id } => Told::Response { id: id.raw() },
    }
}

/// Another id in the place of the one there, and that one back.
fn exchange(text: &str) {
    for other in OTHERS {
        let other = RawId::parse(other).expect("an id");
        let exchanged = with_id(text, &other);
        if !is_json(text) {
            assert_eq!(exchanged, text);
            return;
        }
        assert_eq!(exchanged, spliced(text, ID, other.raw()));
        message(&exchanged);
        if let Some(id) = id_at(text, ID) {
            let id = RawId::parse(id).expect("an id");
            assert_eq!(with_id(&exchanged, &id), text);
        }
    }
}

/// Which lines are ids, and which of those are the same.
fn ids(text: &str) {
    let mut ids = Vec::new();
    for line in text.split('\n').take(IDS_MAX) {
        let (found, expected) = (RawId::parse(line), Meaning::of(line));
        assert_eq!(
            found.as_ref().map(RawId::raw),
            expected.as_ref().map(|_| line)
        );
        ids.extend(found.zip(expected));
    }
    for (one, meaning) in &ids {
        for (other, other_meaning) in &ids {
            let same = meaning == other_meaning;
            assert_eq!(one == other, same, "{one:?} {other:?}");
            assert!(!same || hash(one) == hash(other), "{one:?} {other:?}");
        }
    }
}

fn hash(id: &RawId) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}
