//! One thing wrong with a good trace, in each way.

use serde_json::{Value, json};

use super::NIGHT;

/// A trace with one thing wrong, and where that is found.
pub(crate) struct Corruption {
    pub(crate) name: &'static str,
    pub(crate) text: String,
    /// The sequence number of the event that is refused, and the member.
    pub(crate) found: (u64, &'static str),
    /// Part of what is said of it.
    pub(crate) said: &'static str,
}

/// The members of `changes` in place of those of the event with this sequence number.
fn changed(sequence: u64, changes: Value) -> String {
    edited(|events| {
        let event = event(events, sequence);
        for (name, value) in changes.as_object().unwrap() {
            assert_ne!(event.get(name), Some(value), "{name} is changed");
            assert!(event.insert(name.clone(), value.clone()).is_some());
        }
    })
}

fn edited(edit: impl FnOnce(&mut Vec<Value>)) -> String {
    let mut events: Vec<Value> = NIGHT
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    edit(&mut events);
    events.iter().map(|event| format!("{event}\n")).collect()
}

fn event(events: &mut [Value], sequence: u64) -> &mut serde_json::Map<String, Value> {
    let index = usize::try_from(sequence - 1).unwrap();
    events[index].as_object_mut().unwrap()
}

pub(crate) fn all() -> Vec<Corruption> {
    let mut all = of_whole_lines();
    all.extend(of_beginnings());
    all.extend(of_answers());
    all.extend(of_verdicts());
    all.extend(of_placements());
    all
}

fn row(
    name: &'static str,
    text: String,
    found: (u64, &'static str),
    said: &'static str,
) -> Corruption {
    Corruption {
        name,
        text,
        found,
        said,
    }
}

fn of_whole_lines() -> Vec<Corruption> {
    vec![
        row(
            "the first line is lost",
            edited(|events| drop(events.remove(0))),
            (2, "sequence"),
            "says 2; the next event of this client has 1",
        ),
        row(
            "a line is lost",
            edited(|events| drop(events.remove(6))),
            (8, "sequence"),
            "says 8; the next event of this client has 7",
        ),
        row(
            "a line stands twice",
            edited(|events| events.insert(5, events[4].clone())),
            (5, "sequence"),
            "says 5, and so does line 5",
        ),
        row(
            "two runs in one file",
            format!("{NIGHT}{NIGHT}"),
            (1, "sequence"),
            "says 1, and so does line 1; if the trace holds more than one run",
        ),
        row(
            "two sequence numbers are swapped",
            edited(|events| {
                event(events, 4).insert("sequence".into(), json!(5));
                event(events, 5).insert("sequence".into(), json!(4));
            }),
            (4, "verdict"),
            "says late; the model allows success",
        ),
        row(
            "a sequence number of zero",
            changed(1, json!({"sequence": 0})),
            (0, "sequence"),
            "says 0; the next event of this client has 1",
        ),
        row(
            "a sequence number too large",
            changed(14, json!({"sequence": 15})),
            (15, "sequence"),
            "says 15; the next event of this client has 14",
        ),
    ]
}

fn of_beginnings() -> Vec<Corruption> {
    vec![
        row(
            "attempt zero",
            changed(1, json!({"attempt": 0})),
            (1, "attempt"),
            "says 0; attempts are numbered from 1",
        ),
        row(
            "an attempt ends twice",
            changed(7, json!({"attempt": 6})),
            (7, "attempt"),
            "says 6, and so does line 6; an attempt ends once",
        ),
        row(
            "two attempt numbers are swapped",
            edited(|events| {
                event(events, 6).insert("attempt".into(), json!(7));
                event(events, 7).insert("attempt".into(), json!(6));
            }),
            (7, "generation_taken"),
            "attempt 7 (line 6) began at generation 2, so this one began there or earlier",
        ),
        row(
            "an attempt began before one that is numbered before it",
            changed(9, json!({"generation_taken": 3})),
            (9, "generation_taken"),
            "attempt 8 (line 8) began at generation 4, so this one began there or later",
        ),
        row(
            "an attempt began at a generation to come",
            changed(4, json!({"generation_taken": 2})),
            (4, "generation_taken"),
            "says 2; generation 1 was current before this event",
        ),
        row(
            "an attempt began far in the future",
            changed(4, json!({"generation_taken": u64::MAX})),
            (4, "generation_taken"),
            "generation 1 was current",
        ),
        row(
            "a token before there was one",
            changed(1, json!({"token_sent": 1})),
            (1, "token_sent"),
            "says 1; the model allows null, for that was active at generation 0",
        ),
        row(
            "no token where one was active",
            changed(4, json!({"token_sent": null})),
            (4, "token_sent"),
            "says null; the model allows 1",
        ),
        row(
            "the token of a later install",
            changed(4, json!({"token_sent": 2})),
            (4, "token_sent"),
            "says 2; the model allows 1",
        ),
        row(
            "a token that had been evicted",
            changed(8, json!({"token_sent": 1})),
            (8, "token_sent"),
            "says 1; the model allows null, for that was active at generation 4",
        ),
        row(
            "a token that a conflict had cleared",
            changed(12, json!({"token_sent": 1})),
            (12, "token_sent"),
            "says 1; the model allows null",
        ),
        row(
            "a token that a full round had cleared",
            changed(14, json!({"token_sent": 2})),
            (14, "token_sent"),
            "says 2; the model allows null",
        ),
    ]
}

fn of_answers() -> Vec<Corruption> {
    vec![
        row(
            "a 503 that counts as neutral",
            changed(4, json!({"outcome": "neutral"})),
            (4, "outcome"),
            "says neutral, fault http_error, status 503; the model allows destination_failure",
        ),
        row(
            "a 401 that counts as a failure",
            changed(9, json!({"outcome": "destination_failure"})),
            (9, "outcome"),
            "the model allows neutral, fault http_error, status 401",
        ),
        row(
            "a success with a fault",
            changed(10, json!({"fault": "http_error"})),
            (10, "outcome"),
            "the model allows success, no fault, status 204",
        ),
        row(
            "a failure without a fault",
            changed(6, json!({"fault": null})),
            (6, "outcome"),
            "fault timeout, no status",
        ),
        row(
            "a correction with another status",
            changed(1, json!({"status": 410})),
            (1, "outcome"),
            "the model allows neutral, fault http_error, status 410",
        ),
        row(
            "a status that is none",
            changed(9, json!({"status": 99})),
            (9, "outcome"),
            "the model allows nothing there",
        ),
        row(
            "a cancellation with a status",
            changed(14, json!({"status": 200})),
            (14, "outcome"),
            "the model allows success, no fault, status 200 or neutral",
        ),
        row(
            "a correction without a revision",
            changed(1, json!({"revision": null})),
            (1, "revision"),
            "says null; a correction has a revision",
        ),
        row(
            "a success with a revision",
            changed(10, json!({"revision": 5})),
            (10, "revision"),
            "says 5; a correction has a revision, and nothing else has",
        ),
        row(
            "a correction without a token",
            changed(1, json!({"token_offered": null})),
            (1, "token_offered"),
            "says null",
        ),
        row(
            "a success that teaches a token",
            changed(10, json!({"token_offered": "other"})),
            (10, "token_offered"),
            "says other; the model allows nothing there",
        ),
        row(
            "an install that offered some other token",
            changed(1, json!({"token_offered": "other"})),
            (1, "token_offered"),
            "says other; the model allows install 1",
        ),
        row(
            "an install with the next number but one",
            changed(13, json!({"token_offered": {"install": 3}})),
            (13, "token_offered"),
            "says install 3; the model allows install 2",
        ),
        row(
            "a late correction that was installed",
            changed(2, json!({"token_offered": {"install": 2}})),
            (2, "token_offered"),
            "says install 2; the model allows other",
        ),
        row(
            "the accepted token where another was offered",
            changed(11, json!({"token_offered": "accepted"})),
            (11, "verdict"),
            "says conflicted; the model allows restored",
        ),
        row(
            "commands from a 204",
            changed(10, json!({"commands": 1})),
            (10, "commands"),
            "says 1 commands and 0 dropped; only a successful 200 brings any",
        ),
        row(
            "commands from a failure",
            changed(4, json!({"dropped": 1})),
            (4, "commands"),
            "says 0 commands and 1 dropped",
        ),
        row(
            "a delay after a success",
            changed(10, json!({"next_delay_ms": 200})),
            (10, "next_delay_ms"),
            "says 200; the model allows 0, as after each success",
        ),
        row(
            "a poll after a cancellation",
            changed(14, json!({"next_delay_ms": 200})),
            (14, "next_delay_ms"),
            "says 200; the model allows null",
        ),
        row(
            "no poll after a failure",
            changed(4, json!({"next_delay_ms": null})),
            (4, "next_delay_ms"),
            "says null; the model allows a delay",
        ),
    ]
}

fn of_verdicts() -> Vec<Corruption> {
    let verdict = |sequence, said: &str| changed(sequence, json!({"verdict": said}));
    vec![
        row(
            "an install marked late",
            verdict(1, "late"),
            (1, "verdict"),
            "says late; the model allows installed",
        ),
        row(
            "a late correction marked installed",
            verdict(2, "installed"),
            (2, "verdict"),
            "says installed; the model allows late",
        ),
        row(
            "a tokenless failure that counted",
            verdict(3, "failure_counted"),
            (3, "verdict"),
            "says failure_counted; the model allows tokenless_failure",
        ),
        row(
            "a late success marked as one",
            verdict(5, "success"),
            (5, "verdict"),
            "says success; the model allows late",
        ),
        row(
            "a second failure that evicts",
            verdict(6, "evicted"),
            (6, "verdict"),
            "says evicted; the model allows failure_counted",
        ),
        row(
            "a third failure that does not evict",
            verdict(7, "failure_counted"),
            (7, "verdict"),
            "says failure_counted; the model allows evicted",
        ),
        row(
            "a restored token marked installed",
            verdict(8, "installed"),
            (8, "verdict"),
            "says installed; the model allows restored",
        ),
        row(
            "a neutral answer marked as a success",
            verdict(9, "success"),
            (9, "verdict"),
            "says success; the model allows neutral",
        ),
        row(
            "a conflict marked stale",
            verdict(11, "stale_revision"),
            (11, "verdict"),
            "says stale_revision; the model allows conflicted",
        ),
        row(
            "an older correction marked installed",
            verdict(12, "installed"),
            (12, "verdict"),
            "says installed; the model allows stale_revision",
        ),
        row(
            "a third correction marked installed",
            verdict(13, "installed"),
            (13, "verdict"),
            "says installed; the model allows round_exhausted",
        ),
        row(
            "a cancellation marked late",
            verdict(14, "late"),
            (14, "verdict"),
            "says late; the model allows cancelled",
        ),
        row(
            "a newer revision where an older one came",
            changed(12, json!({"revision": 6})),
            (12, "verdict"),
            "says stale_revision; the model allows installed",
        ),
    ]
}

fn of_placements() -> Vec<Corruption> {
    vec![
        row(
            "no watermark after an install",
            changed(1, json!({"watermark": null})),
            (1, "watermark"),
            "says null; the model allows 5",
        ),
        row(
            "a late correction that moves the watermark",
            changed(2, json!({"watermark": 9})),
            (2, "watermark"),
            "says 9; the model allows 5",
        ),
        row(
            "an older correction that lowers the watermark",
            changed(12, json!({"watermark": 3})),
            (12, "watermark"),
            "says 3; the model allows 5",
        ),
        row(
            "an eviction that forgets the watermark",
            changed(7, json!({"watermark": null})),
            (7, "watermark"),
            "says null; the model allows 5",
        ),
        row(
            "a correction that is not counted",
            changed(12, json!({"corrections": 1})),
            (12, "corrections"),
            "says 1; the model allows 2",
        ),
        row(
            "a success that keeps the corrections",
            changed(10, json!({"corrections": 2})),
            (10, "corrections"),
            "says 2; the model allows 0",
        ),
        row(
            "a third correction that is left standing",
            changed(13, json!({"corrections": 3})),
            (13, "corrections"),
            "says 3; the model allows 0",
        ),
        row(
            "a failure that is not counted",
            changed(6, json!({"failures": 1})),
            (6, "failures"),
            "says 1; the model allows 2",
        ),
        row(
            "a late success that resets failures",
            changed(5, json!({"failures": 0})),
            (5, "failures"),
            "says 0; the model allows 1",
        ),
        row(
            "a late correction that advances the generation",
            changed(2, json!({"generation": 2})),
            (2, "generation"),
            "says 2; the model allows 1",
        ),
        row(
            "a neutral answer that advances the generation",
            changed(9, json!({"generation": 6})),
            (9, "generation"),
            "says 6; the model allows 5",
        ),
        row(
            "a success that does not advance the generation",
            changed(10, json!({"generation": 5})),
            (10, "generation"),
            "says 5; the model allows 6",
        ),
        row(
            "an eviction that leaves the token",
            changed(7, json!({"has_token": true})),
            (7, "has_token"),
            "says true; the model allows false",
        ),
        row(
            "a restored token that is not active",
            changed(8, json!({"has_token": false})),
            (8, "has_token"),
            "says false; the model allows true",
        ),
        row(
            "a full round that leaves the token",
            changed(13, json!({"has_token": true})),
            (13, "has_token"),
            "says true; the model allows false",
        ),
    ]
}
