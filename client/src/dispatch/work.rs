//! One command, from its turn to the delivery of its answer.

use moorline_model::awaited::{
    Awaited, CANCELLED, INVALID_MESSAGE, NOTIFY_CODE, SHUTTING_DOWN, UNKNOWN_CHANNEL,
    UNKNOWN_CHANNEL_CODE,
};
use moorline_model::delivery::{DeliveryFault, NotificationLane};
use moorline_model::note_lane::MAX_WAITING_NOTES;
use moorline_model::target_health::Evidence;
use moorline_model::wire::{
    Command, CommandKind, FailureSource, ResponseBody, ResponseType, TunnelFailure,
};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::wait::Wait;
use super::{Dispatcher, Ends, at};
use crate::control_plane::{Deliver, Delivered, Queued, Response, Undelivered};
use crate::target::{Answer, Call, Notes, Target, Termination};
use crate::telemetry::AnswerTimes;

/// A command whose turn has come.
pub(super) struct Work {
    command: Command,
    wait: Wait,
    ends: Ends,
}

/// How the work on a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worked {
    /// It was answered, whatever became of the answer on its way.
    Answered,
    /// Its caller wants no answer any more.
    Cancelled,
    /// It was answered with a failure because the time to drain was over.
    CutShort,
    /// Its deadline passed before its answer was delivered.
    Expired,
}

impl Work {
    /// Takes a command out of the queue, and gives its place back.
    pub(super) fn new(queued: Queued, ends: Ends) -> Self {
        Self {
            wait: Wait::of(&queued),
            command: queued.command,
            ends,
        }
    }

    /// What is answered for this command in place of its target.
    fn failed(&self, failure: TunnelFailure) -> Answer {
        Answer::failed(&Awaited::by_command(&self.command), failure)
    }

    fn response(&self, body: &ResponseBody<'_>) -> Option<Response> {
        Response::new(
            &self.command.shard_token,
            self.command.client_request_id(),
            body,
        )
    }
}

impl<T: Deliver, G: Target> Dispatcher<T, G> {
    /// Runs one command and delivers its answer, unless its deadline passes before.
    // spec: CMD-18, CMD-19, CMD-33
    pub(super) async fn work(&self, work: Work) -> Worked {
        let answer = self.answer_and_notes(&work).await;
        let worked = match answer.failure {
            Some(CANCELLED) => Worked::Cancelled,
            _ if work.wait.is_over() => Worked::Expired,
            _ if !self.deliver_answer(&work, &answer).await => Worked::Expired,
            Some(SHUTTING_DOWN) => Worked::CutShort,
            _ => Worked::Answered,
        };
        self.count(worked, answer.failure);
        log(worked, answer.failure, &work.command);
        worked
    }

    /// Asks the target and delivers what it says before its answer, which this gives. The call and each
    /// delivery keep to the deadline.
    // spec: CMD-30
    async fn answer_and_notes(&self, work: &Work) -> Answer {
        let (notes, received) = mpsc::channel(MAX_WAITING_NOTES);
        let ended = CancellationToken::new();
        let answer = async {
            let answer = self.answer_of(work, notes).await;
            ended.cancel();
            let evidence = Evidence::of(answer.failure, answer.by_target);
            self.telemetry.target(&work.command.channel, evidence);
            answer
        };
        tokio::join!(answer, self.deliver_notes(work, received, &ended)).0
    }

    /// Asks the target once. The messages that it sends meanwhile end when this does.
    // spec: CMD-16, CMD-25
    async fn answer_of(&self, work: &Work, notes: Notes) -> Answer {
        let Some(target) = self.targets.get(&work.command.channel) else {
            return Answer {
                code: UNKNOWN_CHANNEL_CODE,
                ..work.failed(UNKNOWN_CHANNEL)
            };
        };
        let deadline = work.wait.capped(self.options.max_ttl).end();
        let headers = work.command.headers.clone();
        let asked = async {
            match (work.command.kind, &work.command.jsonrpc) {
                (CommandKind::JsonRpc, Some(message)) => {
                    let message = message.clone();
                    let call = Call {
                        message,
                        headers,
                        deadline,
                    };
                    target.call(call, notes).await
                }
                (CommandKind::SessionTermination, _) => {
                    target.terminate(Termination { headers, deadline }).await
                }
                (CommandKind::JsonRpc | CommandKind::Unknown, _) => work.failed(INVALID_MESSAGE),
            }
        };
        tokio::select! {
            biased;
            () = work.ends.calls.cancelled() => work.failed(SHUTTING_DOWN),
            answer = asked => answer,
            () = at(deadline) => work.failed(TunnelFailure::without_answer(FailureSource::Timeout)),
        }
    }

    /// Delivers messages in their order, those that are there when the call has ended included. After
    /// one is lost the later ones are only read.
    // spec: CMD-15
    async fn deliver_notes(
        &self,
        work: &Work,
        mut notes: mpsc::Receiver<String>,
        ended: &CancellationToken,
    ) {
        let mut lane = NotificationLane::default();
        while let Some(note) = next_note(&mut notes, ended).await {
            let body = ResponseBody {
                request_id: &work.command.request_id,
                channel: &work.command.channel,
                json: Some(&note),
                headers: &[],
                code: NOTIFY_CODE,
                kind: ResponseType::JsonRpcNotify,
            };
            let sent = match work.response(&body) {
                Some(response) if lane.may_send() => {
                    let cancel = &work.ends.calls;
                    self.client
                        .respond(&response, work.wait.end(), cancel)
                        .await
                }
                _ => Err(GIVEN_UP),
            };
            let accepted = sent.is_ok_and(|delivered| !delivered.already_fulfilled);
            lane.ended(accepted);
            self.count_note(sent, accepted);
        }
    }

    /// False when the deadline passed before it was delivered.
    async fn deliver_answer(&self, work: &Work, answer: &Answer) -> bool {
        let body = ResponseBody {
            request_id: &work.command.request_id,
            channel: &work.command.channel,
            json: answer.json.as_deref(),
            headers: &answer.headers,
            code: answer.code,
            kind: answer.kind,
        };
        let Some(response) = work.response(&body) else {
            return true;
        };
        let began = Instant::now();
        let (until, cancel) = (work.wait.end(), &work.ends.deliveries);
        let sent = self.client.respond(&response, until, cancel).await;
        let times = AnswerTimes {
            command: work.wait.elapsed(),
            delivery: began.elapsed(),
        };
        let given_up = sent.err().map(|undelivered| undelivered.fault);
        self.telemetry.answer_ended(times, answer.failure, given_up);
        if sent.is_err_and(|undelivered| undelivered.fault == DeliveryFault::DeadlinePassed) {
            return false;
        }
        self.count_answer(sent);
        true
    }
}

/// What became of a message that was not sent.
const GIVEN_UP: Undelivered = Undelivered {
    fault: DeliveryFault::Cancelled,
    attempts: 0,
};

/// The next message; `None` when there is none left and there will be none, whoever could still send.
async fn next_note(
    notes: &mut mpsc::Receiver<String>,
    ended: &CancellationToken,
) -> Option<String> {
    tokio::select! {
        biased;
        note = notes.recv() => return note,
        () = ended.cancelled() => {}
    }
    notes.close();
    notes.recv().await
}

impl<T, G> Dispatcher<T, G> {
    pub(super) fn count(&self, worked: Worked, failure: Option<TunnelFailure>) {
        self.telemetry.commands(|counts| {
            let count = match (worked, failure) {
                (Worked::Cancelled, _) => &mut counts.cancelled,
                (Worked::Expired, _) => &mut counts.expired,
                (Worked::Answered | Worked::CutShort, None) => &mut counts.answered,
                (Worked::Answered | Worked::CutShort, Some(_)) => &mut counts.failed,
            };
            *count = count.saturating_add(1);
        });
    }

    fn count_note(&self, sent: Result<Delivered, Undelivered>, accepted: bool) {
        self.telemetry.deliveries(accepted, |counts| {
            counts.retries = counts.retries.saturating_add(retries(sent));
            let count = if accepted {
                &mut counts.notifications
            } else {
                &mut counts.notifications_lost
            };
            *count = count.saturating_add(1);
        });
    }

    fn count_answer(&self, sent: Result<Delivered, Undelivered>) {
        self.telemetry.deliveries(sent.is_ok(), |counts| {
            counts.retries = counts.retries.saturating_add(retries(sent));
            let count = match sent {
                Ok(delivered) if delivered.already_fulfilled => &mut counts.already_fulfilled,
                Ok(_) => &mut counts.accepted,
                Err(_) => &mut counts.given_up,
            };
            *count = count.saturating_add(1);
        });
        match sent {
            Ok(delivered) => tracing::debug!(
                attempts = delivered.attempts,
                already_fulfilled = delivered.already_fulfilled,
                "answer delivered"
            ),
            Err(undelivered) => tracing::warn!(
                attempts = undelivered.attempts,
                fault = %undelivered.fault,
                "answer not delivered"
            ),
        }
    }
}

/// Says what became of a command that was not answered by its target, in fixed words beside what its receipt may
/// hold.
pub(super) fn log(worked: Worked, failure: Option<TunnelFailure>, command: &Command) {
    let request_id = command.receipt().request_id;
    match (worked, failure) {
        (Worked::Answered, None) => {}
        (Worked::Answered | Worked::CutShort, failure) => tracing::info!(
            request_id,
            source = failure.map(|failure| failure.source.as_str()),
            kind = failure.and_then(|failure| failure.transport_error_kind),
            status = failure.and_then(|failure| failure.upstream_status()),
            "command answered with a failure"
        ),
        (Worked::Cancelled, _) => tracing::info!(request_id, "command cancelled: not answered"),
        (Worked::Expired, _) => tracing::info!(request_id, "command expired: not answered"),
    }
}

fn retries(sent: Result<Delivered, Undelivered>) -> u64 {
    let attempts = match sent {
        Ok(delivered) => delivered.attempts.get(),
        Err(undelivered) => undelivered.attempts,
    };
    u64::from(attempts.saturating_sub(1))
}
