use moorline_fixtures::fake::{Failure as FakeFailure, FakeService, Outage, Record};
use moorline_model::placement::Verdict;
use serde_json::json;
use tokio::sync::mpsc;

use super::super::Failure;
use super::timeline::{Summary, Timeline};
use super::{KEY, TUNNEL, broken};
use crate::{ControlPlane, PollEvent, Poller};

/// The most attempts that one scene may take.
const SCENE_LIMIT: usize = 60;

/// What the demo tells, scene by scene. Each scene changes the service and then waits for the client
/// to do what it must.
pub(super) struct Story {
    service: FakeService,
    client: ControlPlane,
    poller: Poller,
    events: mpsc::UnboundedReceiver<PollEvent>,
    timeline: Timeline,
    attempts: usize,
    commands: usize,
}

impl Story {
    pub(super) fn new(
        service: FakeService,
        client: ControlPlane,
        poller: Poller,
        events: mpsc::UnboundedReceiver<PollEvent>,
        timeline: Timeline,
    ) -> Self {
        Self {
            service,
            client,
            poller,
            events,
            timeline,
            attempts: 0,
            commands: 0,
        }
    }

    pub(super) async fn tell(mut self) -> Result<(), Failure> {
        self.bootstrap().await?;
        self.correction().await?;
        self.command().await?;
        self.reassignment().await?;
        self.lost_destination().await?;
        self.outage().await?;
        self.poller.stop().await;
        // Whatever is left would be a command that came twice.
        while self.poller.next_command().await.is_some() {
            self.commands += 1;
        }
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

    async fn command(&mut self) -> Result<(), Failure> {
        self.scene("A command is queued. It arrives once, with a token of its own.")?;
        self.enqueue("command-1")?;
        self.until("a command", |event| event.commands == 1).await?;
        self.take_command("command-1").await
    }

    async fn reassignment(&mut self) -> Result<(), Failure> {
        self.scene("The tunnel moves, and a command waits at the new place.")?;
        self.service.reassign(TUNNEL, "berth-2").map_err(broken)?;
        self.enqueue("command-2")?;
        self.until("a command through token 2", |event| {
            event.commands == 1 && event.token_sent == Some(2)
        })
        .await?;
        self.take_command("command-2").await
    }

    async fn lost_destination(&mut self) -> Result<(), Failure> {
        self.scene("The destination dies. Three failures, and the client drops its token.")?;
        let outage = Outage::Destination {
            token: "berth-2".to_owned(),
            failure: FakeFailure::Status(503),
        };
        self.service
            .set_outage(Some(outage))
            .await
            .map_err(broken)?;
        self.until("an eviction", |event| event.verdict == Verdict::Evicted)
            .await?;
        self.scene("The same endpoint gives it a new place.")?;
        self.service.reassign(TUNNEL, "berth-3").map_err(broken)?;
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
        let summary = Summary {
            attempts: self.attempts,
            seen: record.requests.len(),
            same: same_requests(&self.service, &record),
            commands: self.commands,
            watermark: self.client.placed().watermark,
            ready: self.client.readiness().is_ready(),
        };
        self.timeline.summary(&summary).map_err(|_| closed())?;
        if summary.same != summary.seen || summary.commands != 2 || !summary.ready {
            return Err(Failure::Failed(
                "the client did not do what it must".to_owned(),
            ));
        }
        Ok(())
    }

    fn enqueue(&self, request_id: &str) -> Result<(), Failure> {
        let command = json!({
            "command_type": "jsonrpc",
            "request_id": request_id,
            "jsonrpc": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
        });
        self.service.enqueue(TUNNEL, command).map_err(broken)
    }

    async fn take_command(&mut self, request_id: &str) -> Result<(), Failure> {
        match self.poller.next_command().await {
            Some(command) if command.request_id == request_id => {
                self.commands += 1;
                Ok(())
            }
            Some(_) | None => Err(Failure::Failed("a wrong command arrived".to_owned())),
        }
    }

    fn scene(&self, text: &str) -> Result<(), Failure> {
        self.timeline.scene(text).map_err(|_| closed())
    }

    /// Shows attempts until one is as it must be.
    async fn until(
        &mut self,
        what: &str,
        reached: impl Fn(&PollEvent) -> bool,
    ) -> Result<(), Failure> {
        for _ in 0..SCENE_LIMIT {
            let Some(event) = self.events.recv().await else {
                break;
            };
            self.attempts += 1;
            self.show(&event)?;
            if reached(&event) {
                return Ok(());
            }
        }
        Err(Failure::Failed(format!(
            "the client should have come to {what}"
        )))
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
    let path = format!("/v1/tunnels/{TUNNEL}/poll");
    record
        .requests
        .iter()
        .filter(|request| {
            let sole = |name, value: &str| request.sole_header(name) == Some(value.as_bytes());
            request.path() == path
                && sole("host", &host)
                && sole("authorization", &key)
                && sole("x-tunnel-client-capabilities", "wrong-cluster-v1")
        })
        .count()
}

fn closed() -> Failure {
    Failure::Failed("stdout was closed".to_owned())
}
