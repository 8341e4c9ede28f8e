//! Trace validation: what the real client writes is a behaviour of the model, whatever overlaps; and
//! what no client can have written is refused, with the event where it shows.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod traces;

use std::collections::{BTreeMap, HashSet};
use std::io::Write as _;
use std::num::{NonZeroU64, NonZeroUsize};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use moorline::model::poll::Interruption;
use moorline::{Poller, PollerOptions, Received};
use moorline_model::placement::Verdict;
use moorline_proofs::validate::{
    Class, Event, Fault, LINE_BYTES_MAX, LineFault, Offered, Trace, TraceFault,
};
use tokio::sync::oneshot;
use tokio::time::sleep;
use traces::client::{Observed, answer, correction, cut, no_content, no_head};
use traces::{NIGHT, Random, corruptions, oracle, read};

const fn most(number: u64) -> Option<NonZeroU64> {
    NonZeroU64::new(number)
}

/// The trace that the corruptions are made of, from the client itself.
#[tokio::test(start_paused = true)]
async fn the_committed_night_is_what_the_client_writes() {
    let run = Observed::new(Duration::from_millis(200));
    let (first, second, third) = (run.begin().await, run.begin().await, run.begin().await);
    second.end(correction(5, "route-a")).await;
    first.end(correction(9, "route-late")).await;
    let (fourth, fifth) = (run.begin().await, run.begin().await);
    third.end(no_head(Interruption::Network)).await;
    fourth.end(answer(503, "")).await;
    fifth.end(answer(200, r#"{"commands":[]}"#)).await;
    run.begin()
        .await
        .end(cut(200, Interruption::Deadline))
        .await;
    run.begin().await.end(answer(408, "")).await;
    let (eighth, ninth) = (run.begin().await, run.begin().await);
    eighth.end(correction(5, "route-a")).await;
    ninth.end(answer(401, "")).await;
    for received in [
        no_content(),
        correction(5, "route-rival"),
        correction(3, "route-old"),
    ] {
        run.begin().await.end(received).await;
    }
    run.begin().await.drop().await;
    run.begin().await.end(correction(8, "route-b")).await;
    run.begin().await.cancel().await;
    let text = run.text();
    assert_eq!(text, NIGHT, "the client wrote:\n{text}");

    let valid = read(NIGHT).judge(most(3)).unwrap();
    assert_eq!((valid.attempts, valid.commits), (14, 9));
    assert_eq!((valid.without_event, valid.in_flight), (1, 3));
    assert_eq!(valid.verdicts.len(), Verdict::ALL.len(), "each verdict");
}

/// Four workers poll, the service answers in any order, and the run is stopped in the middle.
#[tokio::test(start_paused = true)]
async fn random_runs_of_four_overlapping_polls_are_behaviours() {
    const RUNS: u64 = 200;
    let mut verdicts = BTreeMap::new();
    let (mut attempts, mut commits, mut without_event) = (0, 0, 0);
    let mut needed = [0_u64; 5];
    for seed in 0..RUNS {
        let drops = seed % 4 == 3;
        let text = random_run(seed, drops).await;
        let trace = read(&text);
        let valid = match trace.judge(if drops { None } else { most(4) }) {
            Ok(valid) => valid,
            Err(finding) => panic!("seed {seed}: {finding}\n{text}"),
        };
        attempts += valid.attempts;
        commits += valid.commits;
        without_event += valid.without_event;
        for (name, count) in valid.verdicts {
            *verdicts.entry(name).or_insert(0) += count;
        }
        if !drops {
            assert_eq!(valid.without_event, 0, "seed {seed}: an orderly stop");
            needed[usize::try_from(valid.in_flight).unwrap()] += 1;
            let fewer = trace.judge(most(valid.in_flight - 1));
            let refused = fewer.map_err(|finding| finding.fault.member());
            assert!(
                valid.in_flight == 1 || refused == Err("attempt"),
                "seed {seed}: {refused:?}"
            );
        }
    }
    println!("{RUNS} runs, {attempts} attempts, {commits} commits, {verdicts:?}");
    assert!(
        attempts > 40 * RUNS && commits > 8 * RUNS,
        "{attempts}, {commits}"
    );
    assert!(without_event > RUNS / 4, "{without_event} polls dropped");
    assert_eq!(verdicts.len(), Verdict::ALL.len(), "{verdicts:?}");
    assert!(verdicts["late"] > RUNS && verdicts["evicted"] > RUNS / 10);
    assert_eq!(needed[4], RUNS * 3 / 4, "each run shows all four in flight");
}

async fn random_run(seed: u64, drops: bool) -> String {
    let mut random = Random(seed);
    let run = Observed::new(Duration::from_millis(1));
    let options = PollerOptions {
        in_flight: NonZeroUsize::new(4).unwrap(),
        ..PollerOptions::default()
    };
    let mut poller = Poller::spawn(&run.client, options);
    let mut held: Vec<oneshot::Sender<Received>> = Vec::new();
    for _ in 0..30 + random.below(40) {
        for _ in 0..100 {
            held.extend(std::iter::from_fn(|| run.held.next()));
            if held.len() == 4 {
                break;
            }
            sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(held.len(), 4, "seed {seed}");
        if drops && random.below(8) == 0 {
            run.begin().await.drop().await;
        }
        let answer = random_answer(&mut random);
        let place = random.below(4);
        held.remove(place).send(answer).unwrap();
    }
    poller.stop().await;
    run.text()
}

/// Failures come in rows, so that three of them meet one token.
fn random_answer(random: &mut Random) -> Received {
    const TOKENS: [&str; 3] = ["route-a", "route-b", "route-c"];
    match random.below(20) {
        0..8 => correction(
            1 + random.below(6) as u64,
            TOKENS[random.below(TOKENS.len())],
        ),
        8..10 => answer([500, 503, 599, 408][random.below(4)], ""),
        10..12 => no_head(
            [
                Interruption::Closed,
                Interruption::Deadline,
                Interruption::Network,
            ][random.below(3)],
        ),
        12..14 => cut(
            [200, 409, 429, 503][random.below(4)],
            Interruption::Deadline,
        ),
        14 => no_content(),
        15 => answer(
            200,
            r#"{"commands":[{"request_id":"r","shard_token":"t","command_type":"jsonrpc","jsonrpc":{}},7]}"#,
        ),
        16 => answer(200, "no envelope"),
        17 => answer(409, r#"{"error":{"code":"wrong_cluster"}}"#),
        _ => answer([401, 404, 409, 429, 302, 206][random.below(6)], "{}"),
    }
}

#[test]
fn each_corruption_is_refused_where_it_is() {
    let corruptions = corruptions::all();
    for corruption in &corruptions {
        let name = corruption.name;
        let finding = match read(&corruption.text).judge(None) {
            Ok(valid) => panic!("{name}: {valid}"),
            Err(finding) => finding,
        };
        let found = (finding.event.sequence, finding.fault.member());
        assert_eq!(found, corruption.found, "{name}: {finding}");
        let said = finding.fault.to_string();
        assert!(said.contains(corruption.said), "{name}: {said}");
    }
    println!("{} corruptions", corruptions.len());
    assert_eq!(corruptions.len(), 67);
}

/// Events are told after the lock is released, so that lines may overtake each other.
#[test]
fn lines_may_come_in_any_order() {
    let valid = read(NIGHT).judge(None).unwrap();
    let mut random = Random(7);
    let mut orders = 0;
    for _ in 0..50 {
        let mut lines: Vec<_> = NIGHT.lines().collect();
        for last in (1..lines.len()).rev() {
            lines.swap(last, random.below(last + 1));
        }
        let trace = read(&lines.join("\n"));
        assert_eq!(trace.judge(None).as_ref(), Ok(&valid));
        orders += 1;
    }
    assert_eq!(orders, 50);

    let mut lines: Vec<_> = NIGHT.lines().map(str::to_owned).collect();
    lines[3] = lines[3].replace("failure_counted", "late");
    lines.reverse();
    let finding = read(&lines.join("\n")).judge(None).unwrap_err();
    assert_eq!((finding.line, finding.event.sequence), (11, 4));
}

/// A client may be stopped, and its file read, at any time.
#[test]
fn every_beginning_of_a_trace_is_one() {
    let lines: Vec<_> = NIGHT.lines().collect();
    for count in 1..=lines.len() {
        let valid = read(&lines[..count].join("\n")).judge(None).unwrap();
        assert_eq!(valid.attempts, count as u64);
    }
}

/// All traces of small runs are accepted, with the number of polls in flight that they need, and a
/// change of any one member is accepted exactly if it makes another of these traces.
#[test]
fn small_traces_are_accepted_exactly_if_a_run_writes_them() {
    let traces = oracle::all();
    let (mut changes, mut accepted) = (0_u64, 0_u64);
    for (number, events) in traces.in_order.iter().enumerate() {
        let trace: Trace = events.iter().cloned().collect();
        match trace.judge(None) {
            Ok(valid) => assert_eq!(valid.in_flight, traces.in_flight[events], "{events:#?}"),
            Err(finding) => panic!("{finding}\n{events:#?}"),
        }
        // Of the longer ones each seventh: all of them take long without optimisation.
        if events.len() == 3 && number % 7 != 0 {
            continue;
        }
        for index in 0..events.len() {
            for changed in changes_of(&events[index]) {
                let mut events = events.clone();
                events[index] = changed;
                changes += 1;
                accepted += u64::from(judged_as_the_oracle_does(&traces, events));
            }
        }
    }
    let (runs, all) = (traces.runs, traces.in_order.len());
    println!("{runs} runs, {all} traces; of {changes} changes {accepted} make other traces");
    assert_eq!((runs, all), (57_957, 12_162));
    assert_eq!((changes, accepted), (331_776, 8_677));
}

/// Events that each happen in some run are accepted together exactly if they do in one.
#[test]
fn events_of_different_runs_are_accepted_exactly_if_one_run_writes_them() {
    let traces = oracle::all();
    let [firsts, seconds, thirds] = [0, 1, 2].map(|place| {
        let events = traces.in_order.iter().filter_map(|trace| trace.get(place));
        events.collect::<HashSet<_>>()
    });
    let (mut tried, mut accepted) = (0_u64, 0_u64);
    for &first in &firsts {
        for &second in &seconds {
            let two = vec![first.clone(), second.clone()];
            tried += 1;
            if !judged_as_the_oracle_does(&traces, two.clone()) {
                continue;
            }
            accepted += 1;
            for &third in &thirds {
                let three = [two.clone(), vec![third.clone()]].concat();
                tried += 1;
                accepted += u64::from(judged_as_the_oracle_does(&traces, three));
            }
        }
    }
    let places = (firsts.len(), seconds.len(), thirds.len());
    println!("{places:?} events; of {tried} combinations {accepted} are traces");
    assert_eq!((places, tried), ((24, 175, 843), 515_058));
    let all = traces.in_order.len() as u64;
    assert_eq!(
        accepted,
        all - firsts.len() as u64,
        "each trace of two or three"
    );
}

/// Whether it is accepted, which must be as it stands among the traces.
fn judged_as_the_oracle_does(traces: &oracle::Traces, mut events: Vec<Event>) -> bool {
    let trace: Trace = events.iter().cloned().collect();
    let accepted = trace.judge(None).is_ok();
    events.sort_by_key(|event| event.sequence);
    assert_eq!(
        accepted,
        traces.in_flight.contains_key(&events),
        "{events:#?}"
    );
    accepted
}

/// The event with one member changed to each other value that small runs can hold, and beyond.
fn changes_of(event: &Event) -> Vec<Event> {
    let mut found = Vec::new();
    let mut put = |edit: &dyn Fn(&mut Event)| {
        let mut changed = event.clone();
        edit(&mut changed);
        if changed != *event {
            found.push(changed);
        }
    };
    for number in 0..=4 {
        put(&|event| event.sequence = number);
        put(&|event| event.attempt = number);
        put(&|event| event.generation_taken = number);
        put(&|event| event.generation = number);
        put(&|event| event.token_sent = Some(number));
        put(&|event| event.token_offered = Some(Offered::Install(number)));
    }
    for offered in [None, Some(Offered::Accepted), Some(Offered::Other)] {
        put(&|event| event.token_offered = offered);
    }
    put(&|event| event.token_sent = None);
    for revision in [None, oracle::revision(1), oracle::revision(2)] {
        put(&|event| event.revision = revision);
        put(&|event| event.watermark = revision);
    }
    for count in 0..=3 {
        put(&|event| event.corrections = count);
        put(&|event| event.failures = count);
    }
    for verdict in Verdict::ALL {
        put(&|event| event.verdict = verdict);
    }
    for has_token in [false, true] {
        put(&|event| event.has_token = has_token);
    }
    for class in [
        Class::Cancelled,
        Class::Correction,
        Class::DestinationFailure,
        Class::Neutral,
        Class::Success,
    ] {
        put(&|event| {
            event.outcome = class;
            (event.fault, event.status, event.next_delay_ms) = oracle::answer(class);
        });
    }
    found
}

#[test]
fn what_is_no_trace_is_told_from_a_wrong_one() {
    let line = NIGHT.lines().next().unwrap();
    let with = |from: &str, to: &str| {
        assert_eq!(line.matches(from).count(), 1, "{from}");
        line.replace(from, to)
    };
    let cases = [
        (with(r#""sequence":1,"#, ""), "missing field `sequence`"),
        (
            with(r#""token_sent":null,"#, ""),
            "missing field `token_sent`",
        ),
        (
            with(r#","next_delay_ms":200"#, ""),
            "missing field `next_delay_ms`",
        ),
        (
            with(r#""attempt":2"#, r#""attempt":2,"attempt":2"#),
            "duplicate field `attempt`",
        ),
        (
            with(r#""attempt":2"#, r#""attempt":2,"token":"x""#),
            "unknown field `token`",
        ),
        (with(r#""attempt":2"#, r#""attempt":-2"#), "invalid value"),
        (
            with(r#""attempt":2"#, r#""attempt":2.0"#),
            "invalid type: floating point",
        ),
        (
            with(r#""attempt":2"#, r#""attempt":"2""#),
            "invalid type: string",
        ),
        (
            with(r#""attempt":2"#, r#""attempt":null"#),
            "invalid type: null",
        ),
        (
            with(
                r#""attempt":2"#,
                r#""attempt":99999999999999999999999999999999"#,
            ),
            "invalid type: floating point",
        ),
        (
            with(r#""corrections":1"#, r#""corrections":256"#),
            "invalid value",
        ),
        (
            with(r#""has_token":true"#, r#""has_token":1"#),
            "invalid type: integer",
        ),
        (
            with(r#""status":409"#, r#""status":65536"#),
            "invalid value",
        ),
        (
            with(r#""revision":5"#, r#""revision":9007199254740992"#),
            "is no revision",
        ),
        (
            with(r#""verdict":"installed""#, r#""verdict":"Installed""#),
            "unknown verdict `Installed`",
        ),
        (
            with(r#""outcome":"correction""#, r#""outcome":"corrected""#),
            "unknown outcome `corrected`",
        ),
        (
            with(
                r#""outcome":"correction""#,
                r#""outcome":{"correction":null}"#,
            ),
            "invalid type: map",
        ),
        (
            with(r#""fault":"http_error""#, r#""fault":"\u001bhttp""#),
            r"unknown fault `\u{1b}http`",
        ),
        (
            with(r#"{"install":1}"#, r#""installed""#),
            "unknown token_offered `installed`",
        ),
        (
            with(r#"{"install":1}"#, r#"{"install":1,"install":1}"#),
            "must have one member",
        ),
        (
            with(r#"{"install":1}"#, r#"{"accepted":null}"#),
            "invalid type: null",
        ),
        (with(r#"{"install":1}"#, "[1]"), "invalid type: sequence"),
        (with(r#"{"install":1}"#, "{}"), "must be an install"),
        (format!("{line} {{}}"), "trailing characters"),
        (with(r#""attempt":2"#, r#""attempt"=2"#), "expected `:`"),
        (
            line[..80].to_owned() + "\n" + line,
            "EOF while parsing an object",
        ),
        (
            line[..80].to_owned(),
            "the input ends before the line does; leave this line out",
        ),
        (
            format!("[{line}]"),
            "line 2: each line must be one JSON object",
        ),
        (
            "[1,1,0,null]".to_owned(),
            "each line must be one JSON object",
        ),
        (String::from("\n"), "each line must be one JSON object"),
        (" ".repeat(LINE_BYTES_MAX) + line, "more than 4096 bytes"),
    ];
    for (second, said) in &cases {
        let fault = Trace::read(format!("{line}\n{second}").as_bytes()).unwrap_err();
        let told = fault.to_string();
        assert!(told.starts_with("line 2: "), "{told}");
        assert!(told.contains(said), "{told}\nnot {said}");
    }
    assert_eq!(cases.len(), 31);

    let not_utf8 = [line.as_bytes(), b"\n{\"\xff\":1}\n"].concat();
    let fault = Trace::read(not_utf8.as_slice()).unwrap_err();
    assert!(
        matches!(
            fault,
            TraceFault::Line {
                line: 2,
                fault: LineFault::NotAnEvent { .. }
            }
        ),
        "{fault:?}"
    );
    assert!(matches!(
        Trace::read(&b""[..]).unwrap_err(),
        TraceFault::Empty
    ));
    // A carriage return is white space of JSON, and the end of the last line may be missing.
    let windows = NIGHT.replace('\n', "\r\n");
    assert!(read(windows.trim_end()).judge(None).is_ok());
    // White space up to the limit is none of our business.
    let padded = " ".repeat(LINE_BYTES_MAX - line.len()) + line;
    assert_eq!(read(&padded).len(), 1);
}

#[test]
fn polls_in_flight_are_bounded_where_asked() {
    let finding = read(NIGHT).judge(most(2)).unwrap_err();
    assert_eq!(
        finding.fault,
        Fault::InFlight {
            attempt: 3,
            ended: 0,
            most: 2
        }
    );
    // A great attempt number is a behaviour only if as many polls were dropped.
    let leap = NIGHT.replace(r#""attempt":15"#, r#""attempt":15000"#);
    let valid = read(&leap).judge(None).unwrap();
    assert_eq!(
        (valid.without_event, valid.in_flight),
        (14_986, 15_000 - 13)
    );
    let finding = read(&leap).judge(most(1_024)).unwrap_err();
    assert_eq!(finding.event.sequence, 14);
}

fn validate(arguments: &[&str], input: &str) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_moorline-proofs"))
        .arg("validate")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = program.stdin.take().unwrap();
    // It may not read to the end, or at all.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    program.wait_with_output().unwrap()
}

#[test]
fn the_program_says_what_it_found_and_exits_accordingly() {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/traces/night.jsonl");
    let output = validate(&[file, "--in-flight", "3"], "");
    assert_eq!(output.status.code(), Some(0));
    let told = text(&output.stdout);
    assert!(
        told.starts_with("valid: 14 attempts, 9 commits\n"),
        "{told}"
    );

    let output = validate(&["-", "--json"], NIGHT);
    assert_eq!(output.status.code(), Some(0));
    let told = text(&output.stdout);
    assert!(
        told.starts_with(r#"{"result":"valid","attempts":14,"commits":9,"#),
        "{told}"
    );

    let wrong = NIGHT.replacen(r#""verdict":"late""#, r#""verdict":"installed""#, 1);
    let output = validate(&["-"], &wrong);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output.stdout),
        "not a behaviour of the model: line 2, sequence 2, attempt 1\n  \
         before   generation 1, watermark 5, install 1 active, corrections 1, failures 0\n  \
         attempt  began at generation 0, no token; correction, fault http_error, status 409, \
         revision 9\n  \
         verdict  says installed; the model allows late\n"
    );
    let output = validate(&["-", "--json"], &wrong);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        text(&output.stdout),
        "{\"result\":\"not_a_behaviour\",\"line\":2,\"sequence\":2,\"attempt\":1,\
         \"before\":{\"generation\":1,\"watermark\":5,\"accepted\":1,\"has_token\":true,\
         \"corrections\":1,\"failures\":0},\"member\":\"verdict\",\
         \"problem\":\"says installed; the model allows late\"}\n"
    );

    for (arguments, input, said) in [
        (&["-"][..], "", "-: the trace is empty"),
        (&["-"], "attempt 1: fine\n", "-: line 1: each line must be"),
        (&["no-such-file"], "", "no-such-file: the trace cannot be"),
        (&["-", "--in-flight", "0"], "", "--in-flight"),
        (&[], "", "<FILE>"),
    ] {
        let output = validate(arguments, input);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let told = text(&output.stderr);
        assert!(told.contains(said), "{arguments:?}: {told}");
    }
}
