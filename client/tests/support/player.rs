//! Plays sequences: on the bare model, and by the real client over a real loopback socket.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::collections::HashMap;
use std::time::Duration;

use moorline::ControlPlane;
use moorline::model::placement::{Attempt, Placement};
use moorline::model::poll::{self, Body, BodyPlan, Exchange, Interruption, body_plan};
use moorline::model::schedule::Next;
use moorline::model::wire::{Envelope, Revision, ShardToken};
use moorline_fixtures::answer::{Answer, CutBy, Seen, SeenBody, TransportFault};
use moorline_fixtures::scripted::{self, RecordedRequest, ScriptedService};
use moorline_fixtures::sequence::{Action, Expect, ExpectedResult, Sequence};

use super::{Flight, assert_is_poll, assert_same_but_for_token, client, hasty_client, token_of};

/// How long polls live in sequences that wait for a deadline: each such step costs this long.
const DEADLINE: Duration = Duration::from_millis(2_500);

/// What sequences write for an endpoint that must hear nothing.
const ELSEWHERE: &[u8] = b"https://elsewhere.example";

/// The model alone, fed with what a client would see of each answer.
#[derive(Default)]
pub struct ModelRun {
    placement: Placement<Revision, ShardToken>,
    flying: HashMap<String, Attempt<ShardToken>>,
}

impl ModelRun {
    /// Plays a whole sequence. Panics where the model disagrees.
    pub fn play(mut self, sequence: &Sequence) {
        for (index, step) in sequence.steps.iter().enumerate() {
            let at = format!("{}, step {}", sequence.name, index + 1);
            self.step(&step.action, &at);
        }
        assert!(
            self.flying.is_empty(),
            "{}: a poll was left in flight",
            sequence.name
        );
    }

    fn step(&mut self, action: &Action, at: &str) {
        match action {
            Action::Poll {
                sends,
                answer,
                expect,
            } => {
                let attempt = self.begin(sends.as_deref(), at);
                self.end(attempt, Some(answer), expect, at);
            }
            Action::Begin { poll, sends } => {
                let attempt = self.begin(sends.as_deref(), at);
                self.flying.insert(poll.clone(), attempt);
            }
            Action::End {
                poll,
                answer,
                expect,
            } => {
                let attempt = self.flying.remove(poll).expect("a poll in flight");
                self.end(attempt, Some(answer), expect, at);
            }
            Action::Cancel { poll, expect } => {
                let attempt = self.flying.remove(poll).expect("a poll in flight");
                self.end(attempt, None, expect, at);
            }
        }
    }

    fn begin(&self, sends: Option<&str>, at: &str) -> Attempt<ShardToken> {
        let attempt = self.placement.snapshot();
        assert_eq!(
            attempt.token().map(ShardToken::expose),
            sends,
            "{at}: token sent"
        );
        attempt
    }

    fn end(
        &mut self,
        attempt: Attempt<ShardToken>,
        answer: Option<&Answer>,
        expect: &Expect,
        at: &str,
    ) {
        let cancelled = answer.is_none();
        let seen = answer.map_or(Seen::NoHead, Answer::seen);
        let classified = match &seen {
            Seen::NoHead => {
                let exchange = Exchange::<[(&str, &[u8])]>::NoHead(Interruption::Network);
                poll::classify(exchange, cancelled, 0)
            }
            Seen::Head {
                status,
                headers,
                body,
            } => {
                let body = planned_body(*status, body);
                poll::classify(
                    Exchange::Head {
                        status: *status,
                        headers,
                        body,
                    },
                    cancelled,
                    0,
                )
            }
        };
        let retry_after = classified.retry_after.map(|wait| wait.as_millis());
        assert_eq!(
            retry_after,
            expect.retry_after_ms.map(u128::from),
            "{at}: retry after"
        );
        let reply = classified.reply.as_ref().map_err(|fault| fault.status());
        assert_reply(reply, cancelled, expect, at);
        let verdict = self.placement.commit(attempt, classified.outcome);
        assert_eq!(verdict.name(), expect.verdict.name(), "{at}: verdict");
        let placement = &self.placement;
        let token = placement.active_token().map(ShardToken::expose);
        assert_eq!(token, expect.token.as_deref(), "{at}: token");
        assert_eq!(
            placement.watermark().map(Revision::get),
            expect.watermark,
            "{at}: watermark"
        );
        assert_eq!(
            u32::from(placement.corrections()),
            expect.corrections,
            "{at}: corrections"
        );
        assert_eq!(
            u32::from(placement.failures()),
            expect.failures,
            "{at}: failures"
        );
    }
}

/// What a transport makes of the bytes that arrive, reading as the model plans it.
fn planned_body<'a>(status: u16, seen: &SeenBody<'a>) -> Body<'a> {
    let BodyPlan::Read { limit } = body_plan(status, poll::ENVELOPE_LIMIT) else {
        return Body::Unread;
    };
    match seen {
        SeenBody::Whole(bytes) | SeenBody::Interrupted(bytes) if bytes.len() > limit => {
            Body::OverLimit
        }
        SeenBody::Whole(bytes) => Body::Complete(bytes),
        SeenBody::Interrupted(_) => Body::Interrupted(Interruption::Network),
    }
}

fn assert_reply(reply: Result<&Envelope, Option<u16>>, cancelled: bool, expect: &Expect, at: &str) {
    let (result, commands) = match reply {
        Ok(envelope) => (ExpectedResult::Ok, tokens_of(envelope)),
        Err(_) if cancelled => (ExpectedResult::Cancelled, Vec::new()),
        // A 200 that is no envelope is an error without a status of its own.
        Err(None | Some(200)) => (ExpectedResult::Failure, Vec::new()),
        Err(Some(status)) => (ExpectedResult::Status(status), Vec::new()),
    };
    assert_eq!(result, expect.result, "{at}: result");
    assert_eq!(commands, expect.commands, "{at}: commands");
}

fn tokens_of(envelope: &Envelope) -> Vec<String> {
    envelope
        .commands
        .iter()
        .map(|command| command.shard_token.expose().to_owned())
        .collect()
}

/// The real client against the scripted service.
pub struct WireRun {
    service: ScriptedService,
    host: String,
    client: ControlPlane,
    flying: HashMap<String, (Flight, scripted::Exchange)>,
    elsewhere: String,
    first: Option<RecordedRequest>,
    requests: u64,
}

impl WireRun {
    /// A client of its own for one sequence. `elsewhere` is the base address of a listener that is put in
    /// the place of each other endpoint that the sequence names, and must hear nothing.
    pub fn start(sequence: &Sequence, elsewhere: &str) -> Self {
        let service = ScriptedService::start().unwrap();
        let client = if waits_for_deadline(sequence) {
            hasty_client(&service.endpoint(), DEADLINE)
        } else {
            client(&service.endpoint())
        };
        let host = service.address().to_string();
        Self {
            service,
            host,
            client,
            flying: HashMap::new(),
            elsewhere: elsewhere.to_owned(),
            first: None,
            requests: 0,
        }
    }

    /// Plays a whole sequence and one poll more; returns how many requests the service was sent. Panics
    /// where the client disagrees.
    pub async fn play(mut self, sequence: &Sequence) -> u64 {
        for (index, step) in sequence.steps.iter().enumerate() {
            let at = format!("{}, step {}", sequence.name, index + 1);
            self.step(&step.action, &at).await;
        }
        let last = sequence
            .steps
            .last()
            .and_then(|step| step.action.expect())
            .expect("a last result");
        self.probe(last, &sequence.name).await;
        assert_eq!(
            self.service.counts().requests,
            self.requests,
            "{}: one attempt a poll",
            sequence.name
        );
        self.requests
    }

    async fn step(&mut self, action: &Action, at: &str) {
        match action {
            Action::Poll {
                answer: Answer::Fault(TransportFault::Refuse),
                expect,
                ..
            } => {
                self.service.pause_listening().await;
                let report = Flight::begin(&self.client).end().await;
                self.service.resume_listening().unwrap();
                self.assert_report(&report, false, expect, at);
            }
            Action::Poll {
                sends,
                answer,
                expect,
            } => {
                let (flight, exchange) = self.begin(sends.as_deref(), at).await;
                self.end(flight, exchange, answer, expect, at).await;
            }
            Action::Begin { poll, sends } => {
                let held = self.begin(sends.as_deref(), at).await;
                self.flying.insert(poll.clone(), held);
            }
            Action::End {
                poll,
                answer,
                expect,
            } => {
                let (flight, exchange) = self.flying.remove(poll).expect("a poll in flight");
                self.end(flight, exchange, answer, expect, at).await;
            }
            Action::Cancel { poll, expect } => {
                let (flight, exchange) = self.flying.remove(poll).expect("a poll in flight");
                flight.cancel.cancel();
                let report = flight.end().await;
                drop(exchange);
                self.assert_report(&report, true, expect, at);
            }
        }
    }

    async fn begin(&mut self, sends: Option<&str>, at: &str) -> (Flight, scripted::Exchange) {
        let flight = Flight::begin(&self.client);
        let exchange = self.service.next_request().await.unwrap();
        self.requests += 1;
        assert_is_poll(&exchange.request, &self.host);
        let first = self.first.get_or_insert_with(|| exchange.request.clone());
        assert_same_but_for_token(first, &exchange.request);
        assert_eq!(
            token_of(&exchange.request).as_deref(),
            sends,
            "{at}: token sent"
        );
        (flight, exchange)
    }

    async fn end(
        &self,
        flight: Flight,
        exchange: scripted::Exchange,
        answer: &Answer,
        expect: &Expect,
        at: &str,
    ) {
        // An answer that waits for the client's deadline ends only with the client's poll.
        let answer = self.with_elsewhere(answer.clone());
        let (_, report) = tokio::join!(exchange.answer(answer), flight.end());
        self.assert_report(&report, false, expect, at);
    }

    fn assert_report(
        &self,
        report: &moorline::PollReport,
        cancelled: bool,
        expect: &Expect,
        at: &str,
    ) {
        let reply = report
            .reply
            .as_ref()
            .map_err(|error| error.fault().status());
        assert_reply(reply, cancelled, expect, at);
        assert_eq!(
            report.verdict.name(),
            expect.verdict.name(),
            "{at}: verdict"
        );
        let placed = self.client.placed();
        assert_eq!(placed.has_token, expect.token.is_some(), "{at}: has token");
        assert_eq!(
            placed.watermark.map(Revision::get),
            expect.watermark,
            "{at}: watermark"
        );
        assert_eq!(
            u32::from(placed.corrections),
            expect.corrections,
            "{at}: corrections"
        );
        assert_eq!(
            u32::from(placed.failures),
            expect.failures,
            "{at}: failures"
        );
        match report.next {
            Next::AtOnce => assert!(report.reply.is_ok(), "{at}: only a success polls at once"),
            Next::Never => assert!(cancelled, "{at}: only a cancellation ends polling"),
            Next::After(delay) => {
                let hint = Duration::from_millis(expect.retry_after_ms.unwrap_or(0));
                // Beyond the longest backoff only a hint goes, and no further than itself.
                let least = hint.max(Duration::from_millis(200));
                let most = hint.max(Duration::from_secs(10));
                assert!(delay >= least && delay <= most, "{at}: {delay:?}");
            }
        }
    }

    /// One more poll shows on the wire which token the sequence left active.
    async fn probe(&mut self, last: &Expect, name: &str) {
        let at = format!("{name}, probe");
        let (flight, exchange) = self.begin(last.token.as_deref(), &at).await;
        exchange.answer(Answer::status(204)).await;
        assert!(flight.end().await.reply.is_ok(), "{at}");
    }

    /// The answer with the listener's address for each other endpoint that it names.
    fn with_elsewhere(&self, mut answer: Answer) -> Answer {
        if let Answer::Response(response) = &mut answer {
            for (_, value) in &mut response.headers {
                if let Some(rest) = value.strip_prefix(ELSEWHERE) {
                    *value = [self.elsewhere.as_bytes(), rest].concat();
                }
            }
        }
        answer
    }
}

fn waits_for_deadline(sequence: &Sequence) -> bool {
    sequence
        .steps
        .iter()
        .filter_map(|step| step.action.answer())
        .any(|answer| match answer {
            Answer::Fault(fault) => *fault == TransportFault::Deadline,
            Answer::Response(response) => response.cut.is_some_and(|cut| cut.by == CutBy::Deadline),
        })
}
