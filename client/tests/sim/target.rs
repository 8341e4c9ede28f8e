use std::time::Duration;

use moorline::model::wire::{FailureSource, ResponseType, TunnelFailure};
use moorline::target::{Answer, Call, Notes, Target, Termination};
use rand::RngExt;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::world::World;

pub struct SimTarget {
    world: World,
}

impl SimTarget {
    pub fn new(world: &World) -> Self {
        Self {
            world: world.clone(),
        }
    }
}

/// A call that runs, counted until it is dropped.
struct Running {
    world: World,
    /// The command, of a request.
    id: Option<usize>,
}

impl Running {
    fn begin(world: &World, id: Option<usize>) -> Self {
        let mut state = world.lock();
        let running = state.running_mut(id);
        running.now += 1;
        running.most = running.most.max(running.now);
        let world = world.clone();
        Self { world, id }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.world.lock();
        state.running_mut(self.id).now -= 1;
        let order = self.id.map(|id| &state.orders[id]);
        let overdue =
            order.is_some_and(|order| order.deadline().is_some_and(|end| Instant::now() > end));
        if overdue {
            state.overdue += 1;
        }
    }
}

/// What a call will be like.
struct Course {
    notes: u64,
    pause: Duration,
    end: End,
}

enum End {
    Answer,
    Failure,
    Never,
}

impl Target for SimTarget {
    async fn call(&self, call: Call, notes: Notes) -> Answer {
        let message: Value = serde_json::from_str(call.message.get()).unwrap();
        let id = message["id"].as_u64().expect("a request of the simulation");
        let order = usize::try_from(id).unwrap();
        let _running = Running::begin(&self.world, Some(order));
        let course = self.begin(order);
        for n in 0..course.notes {
            sleep(course.pause).await;
            let note =
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"n": n}});
            // Nobody reads on once the call is given up.
            let _ = notes.send(note.to_string()).await;
            self.world.lock().orders[order].notes_sent += 1;
        }
        sleep(course.pause).await;
        match course.end {
            End::Never => std::future::pending().await,
            End::Answer => answer(
                Some(json!({"jsonrpc": "2.0", "id": id, "result": {}}).to_string()),
                None,
            ),
            End::Failure => {
                let failure = TunnelFailure::without_answer(FailureSource::Connect);
                let json = failure.to_jsonrpc_error(&id.to_string(), failure.phrase());
                answer(Some(json), Some(failure))
            }
        }
    }

    async fn terminate(&self, _call: Termination) -> Answer {
        let _running = Running::begin(&self.world, None);
        self.world.lock().step("terminate".to_owned());
        Answer {
            kind: ResponseType::SessionTerminationResponse,
            ..answer(None, None)
        }
    }
}

impl SimTarget {
    fn begin(&self, id: usize) -> Course {
        let mut state = self.world.lock();
        state.step(format!("call {id}"));
        state.orders[id].calls += 1;
        let end = match state.rng.random_range(0..20) {
            0 => {
                state.report.unanswering += 1;
                End::Never
            }
            1 | 2 => End::Failure,
            _ => End::Answer,
        };
        let longest = if state.rng.random_bool(0.1) {
            10_000
        } else {
            300
        };
        Course {
            notes: [0, 0, 1, 5][state.rng.random_range(0..4)],
            pause: Duration::from_millis(state.rng.random_range(0..longest)),
            end,
        }
    }
}

fn answer(json: Option<String>, failure: Option<TunnelFailure>) -> Answer {
    Answer {
        code: 200,
        headers: Vec::new(),
        json,
        kind: ResponseType::JsonRpcResponse,
        failure,
        by_target: true,
    }
}
