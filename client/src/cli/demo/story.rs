use std::collections::VecDeque;

use moorline_fixtures::fake::{Failure as FakeFailure, FakeService, Follower, Outage, Record};
use moorline_model::placement::Verdict;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::super::Failure;
use super::deliveries::{self, Delivery, berth};
use super::timeline::{Summary, Timeline};
use super::{KEY, TUNNEL, broken};
use crate::dispatch::Drained;
use crate::{ControlPlane, PollEvent};

/// The most that may happen in one scene.
const SCENE_LIMIT: usize = 60;

/// What the second call waits at, and the third one opens.
const DOOR: &str = "moorline demo";

/// The place at which each of the tool calls is queued. Its token belongs to the call for good.
const CALLED_AT: [u64; 3] = [1, 1, 2];

/// What the demo tells, scene by scene. Each scene changes the service and then waits for the client
/// to do what it must.
pub(super) struct Story {
    service: FakeService,
    follower: Follower,
    client: ControlPlane,
    events: mpsc::UnboundedReceiver<PollEvent>,
    /// What the service has accepted and the story has not told yet.
    delivered: VecDeque<Delivery>,
    timeline: Timeline,
    attempts: usize,
}

/// Something that happened.
enum Happening {
    Attempt(PollEvent),
    Delivery(Delivery),
}

impl Story {
    pub(super) fn new(
        service: FakeService,
        client: ControlPlane,
        events: mpsc::UnboundedReceiver<PollEvent>,
        timeline: Timeline,
    ) -> Self {
        Self {
            follower: service.follow(),
            service,
            client,
            events,
            delivered: VecDeque::new(),
            timeline,
            attempts: 0,
        }
    }

    /// Tells it all, and ends the client with it.
    pub(super) async fn tell(
        mut self,
        stop: CancellationToken,
        client: JoinHandle<Drained>,
    ) -> Result<(), Failure> {
        self.bootstrap().await?;
        self.correction().await?;
        self.call().await?;
        self.reassignment().await?;
        self.lost_destination().await?;
        self.outage().await?;
        stop.cancel();
        client.await.map_err(broken)?;
        self.epilogue()
    }

    async fn bootstrap(&mut self) -> Result<(), Failure> {
        self.timeline
            .title(&self.service.endpoint())
            .map_err(|_| closed())?;
        self.scene("Corrections are off. The client polls without a token.")?;
        self.until("an empty poll", |event| event.verdict == Verdict::Success)
            .await?;
        Ok(())
    }

    async fn correction(&mut self) -> Result<(), Failure> {
        self.scene("The service switches corrections on: the client is told which token to send.")?;
        self.service.set_corrections(true);
        self.until("an installed token", |event| {
            event.verdict == Verdict::Installed
        })
        .await?;
        self.until("a success with token 1", |event| {
            event.verdict == Verdict::Success && event.token_sent == Some(1)
        })
        .await?;
        Ok(())
    }

    async fn call(&mut self) -> Result<(), Failure> {
        self.scene("A tool call is queued. It is run once, and answered with its own token.")?;
        self.enqueue(1, "echo", "text", "ahoy")?;
        self.until("a command", |event| event.commands == 1).await?;
        self.until_delivered("an answer", |delivery| delivery.is_final)
            .await?;
        Ok(())
    }

    async fn reassignment(&mut self) -> Result<(), Failure> {
        self.scene("The next call takes its time, and tells its progress.")?;
        self.enqueue(2, "hold", "door", DOOR)?;
        self.until("a command", |event| event.commands == 1).await?;
        self.until_delivered("a notification", |delivery| !delivery.is_final)
            .await?;
        self.scene("Meanwhile the tunnel moves, and another call waits at the new place.")?;
        self.service.reassign(TUNNEL, &berth(2)).map_err(broken)?;
        self.enqueue(3, "release", "door", DOOR)?;
        self.until("a command through token 2", |event| {
            event.commands == 1 && event.token_sent == Some(2)
        })
        .await?;
        self.scene("It lets the held call end. Polls carry token 2, its answer token 1.")?;
        let mut answers = 0;
        self.until_delivered("two answers", |delivery| {
            answers += usize::from(delivery.is_final);
            answers == 2
        })
        .await
    }

    async fn lost_destination(&mut self) -> Result<(), Failure> {
        self.scene("The destination dies. Three failures, and the client drops its token.")?;
        let outage = Outage::Destination {
            token: berth(2),
            failure: FakeFailure::Status(503),
        };
        self.service
            .set_outage(Some(outage))
            .await
            .map_err(broken)?;
        self.until("an eviction", |event| event.verdict == Verdict::Evicted)
            .await?;
        self.scene("The same endpoint gives it a new place.")?;
        self.service.reassign(TUNNEL, &berth(3)).map_err(broken)?;
        self.until("a success with token 3", |event| {
            event.verdict == Verdict::Success && event.token_sent == Some(3)
        })
        .await?;
        Ok(())
    }

    async fn outage(&mut self) -> Result<(), Failure> {
        self.scene("The whole service is gone. The client waits between attempts, and stays.")?;
        self.service
            .set_outage(Some(Outage::Refused))
            .await
            .map_err(broken)?;
        self.until("the third failure", |event| {
            event.verdict == Verdict::Evicted
        })
        .await?;
        self.until("a tokenless failure", |event| {
            event.verdict == Verdict::TokenlessFailure
        })
        .await?;
        self.scene("It comes back, and so does the client, to the token that it knew.")?;
        self.service.set_outage(None).await.map_err(broken)?;
        self.until("a restored token", |event| {
            event.verdict == Verdict::Restored
        })
        .await?;
        self.until("a success with token 3", |event| {
            event.verdict == Verdict::Success && event.token_sent == Some(3)
        })
        .await?;
        Ok(())
    }

    fn epilogue(&mut self) -> Result<(), Failure> {
        // The poll in flight was cancelled by the end of the story, and is no part of it.
        while let Ok(event) = self.events.try_recv() {
            self.attempts += 1;
            if event.verdict != Verdict::Cancelled {
                self.show(&event)?;
            }
        }
        let record = self.service.record();
        let deliveries: Vec<_> = record.responses.iter().map(Delivery::read).collect();
        let answers = deliveries.iter().filter(|delivery| delivery.is_final);
        let summary = Summary {
            attempts: self.attempts,
            seen: record.requests.len(),
            same: same_requests(&self.service, &record),
            calls: CALLED_AT.len(),
            answers: answers.count(),
            messages: deliveries.len(),
            own_tokens: deliveries::each_once_under_its_own_token(&deliveries, &CALLED_AT),
            watermark: self.client.placed().watermark,
            ready: self.client.readiness().is_ready(),
        };
        self.timeline.summary(&summary).map_err(|_| closed())?;
        if summary.same != summary.seen || !summary.own_tokens || !summary.ready {
            return Err(Failure::Failed(
                "the client did not do what it must".to_owned(),
            ));
        }
        Ok(())
    }

    /// Queues a tool call where the tunnel is now.
    fn enqueue(&self, call: u64, tool: &str, argument: &str, value: &str) -> Result<(), Failure> {
        let params = json!({
            "name": tool,
            "arguments": { argument: value },
            "_meta": { "progressToken": call },
        });
        let message =
            json!({ "jsonrpc": "2.0", "id": call, "method": "tools/call", "params": params });
        let command = json!({
            "command_type": "jsonrpc",
            "request_id": deliveries::call(call),
            "jsonrpc": message,
        });
        self.service.enqueue(TUNNEL, command).map_err(broken)
    }

    fn scene(&self, text: &str) -> Result<(), Failure> {
        self.timeline.scene(text).map_err(|_| closed())
    }

    /// Shows what happens until an attempt is as it must be.
    async fn until(
        &mut self,
        what: &str,
        reached: impl Fn(&PollEvent) -> bool,
    ) -> Result<(), Failure> {
        self.until_happening(what, |happening| match happening {
            Happening::Attempt(event) => reached(event),
            Happening::Delivery(_) => false,
        })
        .await
    }

    /// Shows what happens until a delivery is as it must be.
    async fn until_delivered(
        &mut self,
        what: &str,
        mut reached: impl FnMut(&Delivery) -> bool,
    ) -> Result<(), Failure> {
        self.until_happening(what, |happening| match happening {
            Happening::Attempt(_) => false,
            Happening::Delivery(delivery) => reached(delivery),
        })
        .await
    }

    async fn until_happening(
        &mut self,
        what: &str,
        mut reached: impl FnMut(&Happening) -> bool,
    ) -> Result<(), Failure> {
        for _ in 0..SCENE_LIMIT {
            let Some(happening) = self.next().await else {
                break;
            };
            match &happening {
                Happening::Attempt(event) => {
                    self.attempts += 1;
                    self.show(event)?;
                }
                Happening::Delivery(delivery) => {
                    let shown = self.timeline.delivery(delivery, self.client.uptime());
                    shown.map_err(|_| closed())?;
                }
            }
            if reached(&happening) {
                return Ok(());
            }
        }
        Err(Failure::Failed(format!(
            "the client should have come to {what}"
        )))
    }

    /// Waits for what happens next. An attempt that brings a command comes before what is delivered
    /// about it: it is over when the command begins.
    async fn next(&mut self) -> Option<Happening> {
        loop {
            tokio::select! {
                biased;
                event = self.events.recv() => return event.map(Happening::Attempt),
                news = self.follower.next(), if self.delivered.is_empty() => {
                    let responses = news?.responses;
                    self.delivered.extend(responses.iter().map(Delivery::read));
                }
                () = std::future::ready(()), if !self.delivered.is_empty() => {
                    return self.delivered.pop_front().map(Happening::Delivery);
                }
            }
        }
    }

    fn show(&self, event: &PollEvent) -> Result<(), Failure> {
        self.timeline
            .attempt(event, self.client.uptime())
            .map_err(|_| closed())
    }
}

/// How many requests went to the one endpoint, tunnel and key, with the one capability.
fn same_requests(service: &FakeService, record: &Record) -> usize {
    let host = service.address().to_string();
    let key = format!("Bearer {KEY}");
    let paths = ["poll", "response"].map(|operation| format!("/v1/tunnels/{TUNNEL}/{operation}"));
    record
        .requests
        .iter()
        .filter(|request| {
            let sole = |name, value: &str| request.sole_header(name) == Some(value.as_bytes());
            paths.iter().any(|path| request.path() == path)
                && sole("host", &host)
                && sole("authorization", &key)
                && sole("x-tunnel-client-capabilities", "wrong-cluster-v1")
        })
        .count()
}

fn closed() -> Failure {
    Failure::Failed("stdout was closed".to_owned())
}
