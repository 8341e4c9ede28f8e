use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// What one run is like.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub in_flight: usize,
    pub concurrency: usize,
    /// How long things happen.
    pub length: Duration,
    /// Whether the client may finish what there is to do before it is stopped.
    pub settles: bool,
    /// Whether the client is stopped in the moment in which it is sent commands.
    pub stops_early: bool,
    /// Whether the service sends more than it was asked for, at times.
    pub oversends: bool,
    /// How many of 100 exchanges fail.
    pub faults: u32,
}

impl Plan {
    pub fn draw(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed ^ 0x5eed);
        Self {
            in_flight: [1, 1, 1, 2, 3][rng.random_range(0..5)],
            concurrency: rng.random_range(1..=10),
            length: Duration::from_secs(rng.random_range(60..600)),
            settles: rng.random_bool(0.7),
            stops_early: rng.random_bool(0.5),
            oversends: rng.random_bool(0.3),
            faults: [0, 3, 10, 30][rng.random_range(0..4)],
        }
    }
}

/// One command and all that became of it.
#[derive(Clone, Debug)]
pub struct Order {
    pub id: usize,
    pub kind: &'static str,
    pub channel: &'static str,
    pub token: String,
    pub timeout: Option<Duration>,
    /// When a poll handed it out.
    pub handed: Option<Instant>,
    pub calls: u32,
    /// How many notes the target sent, and how many the service has.
    pub notes_sent: u32,
    pub notes_had: u32,
    /// Attempts to deliver its answer.
    pub finals: u32,
    /// When the service took the answer.
    pub answered: Option<Instant>,
    /// Whether the client was told so.
    pub told: bool,
    /// Whether the client was refused for good, or three times.
    pub refused: bool,
    pub body: Option<Vec<u8>>,
}

impl Order {
    /// When nobody waits for its answer any more.
    pub fn deadline(&self) -> Option<Instant> {
        Some(self.handed? + self.timeout?)
    }
}

/// Everything outside of the client, behind one lock.
#[derive(Clone)]
pub struct World {
    state: Arc<Mutex<State>>,
}

pub struct State {
    pub rng: StdRng,
    pub begun: Instant,
    pub orders: Vec<Order>,
    pub queue: std::collections::VecDeque<usize>,
    pub revision: u64,
    pub corrections: bool,
    /// Until when nothing answers.
    pub outage_ends: Option<Instant>,
    pub calm: bool,
    /// Cancelled the moment that a poll is answered with commands, where the client is stopped early.
    pub stop: Option<CancellationToken>,
    /// As in the plan.
    pub faults: u32,
    pub oversends: bool,
    /// Whether one poll is in flight at a time.
    pub single: bool,
    pub requests: Running,
    /// What is no request.
    pub others: Running,
    /// Calls that ran on when nobody waited for them any more.
    pub overdue: u64,
    /// The revision of the last token that a poll carried.
    pub last_sent: u64,
    pub report: Report,
}

/// Calls that the target runs.
#[derive(Clone, Copy, Default)]
pub struct Running {
    pub now: usize,
    pub most: usize,
}

/// What happened in one run or in many.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub steps: u64,
    pub commands: u64,
    pub answered: u64,
    pub expired: u64,
    pub given_up: u64,
    pub corrections: u64,
    pub poll_faults: u64,
    pub post_faults: u64,
    pub doubts: u64,
    pub notes: u64,
    pub cut_short: u64,
    pub unanswering: u64,
    pub repeats: u64,
    pub log: Vec<String>,
}

impl World {
    pub fn new(seed: u64, plan: Plan) -> Self {
        let state = State {
            rng: StdRng::seed_from_u64(seed),
            begun: Instant::now(),
            orders: Vec::new(),
            queue: std::collections::VecDeque::new(),
            revision: 1,
            corrections: false,
            outage_ends: None,
            calm: false,
            stop: None,
            faults: plan.faults,
            oversends: plan.oversends,
            single: plan.in_flight == 1,
            requests: Running::default(),
            others: Running::default(),
            overdue: 0,
            last_sent: 0,
            report: Report::default(),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn pause(&self) -> Duration {
        Duration::from_millis(self.lock().rng.random_range(1..2_000))
    }

    /// One thing happens.
    pub fn happen(&self) {
        let mut state = self.lock();
        let count = state.rng.random_range(1..=4);
        match state.rng.random_range(0..20) {
            0 => state.move_tunnel(),
            1 => state.corrections = !state.corrections,
            2 if state.faults > 0 => {
                let length = Duration::from_millis(state.rng.random_range(1..20_000));
                state.outage_ends = Some(Instant::now() + length);
                state.note("outage".to_owned());
            }
            _ => (0..count).for_each(|_| state.order()),
        }
    }

    /// From now on nothing fails any more.
    pub fn calm(&self) {
        let mut state = self.lock();
        (state.calm, state.outage_ends) = (true, None);
        state.note("calm".to_owned());
    }

    /// Stops the client in the very moment in which it is sent commands, or after a while where there are none.
    pub async fn stop_in_the_middle(&self, stop: &CancellationToken) {
        {
            let mut state = self.lock();
            state.order();
            state.stop = Some(stop.clone());
        }
        let _ = tokio::time::timeout(Duration::from_secs(600), stop.cancelled()).await;
    }

    /// Waits until everything that was ordered is answered or given up: hours, for a slow target.
    pub async fn settled(&self) {
        for _ in 0..10_000 {
            sleep(Duration::from_secs(10)).await;
            if self.lock().queue.is_empty() {
                return sleep(Duration::from_secs(180)).await;
            }
        }
        panic!("commands were left at the service");
    }

    pub fn report(&self) -> Report {
        let mut state = self.lock();
        std::mem::take(&mut state.report)
    }
}

impl State {
    pub fn running_mut(&mut self, request: Option<usize>) -> &mut Running {
        match request {
            Some(_) => &mut self.requests,
            None => &mut self.others,
        }
    }

    pub fn note(&mut self, text: String) {
        let at = self.begun.elapsed().as_millis();
        self.report.log.push(format!("{at:>8} {text}"));
    }

    pub fn step(&mut self, text: String) {
        self.report.steps += 1;
        self.note(text);
    }

    /// Whether the next thing goes wrong.
    pub fn fails(&mut self, percent: u32) -> bool {
        !self.calm && self.rng.random_ratio(percent.min(100), 100)
    }

    pub fn is_out(&self) -> bool {
        self.outage_ends.is_some_and(|end| Instant::now() < end)
    }

    fn move_tunnel(&mut self) {
        self.revision += self.rng.random_range(1..4);
        let revision = self.revision;
        self.note(format!("moved to {revision}"));
    }

    fn order(&mut self) {
        let id = self.orders.len();
        let timeout = match self.rng.random_range(0..10) {
            0 => Some(Duration::ZERO),
            1..=3 => Some(Duration::from_millis(self.rng.random_range(1..20_000))),
            _ => None,
        };
        let channel = ["main", "main", "side", "nowhere"][self.rng.random_range(0..4)];
        let kind = match self.rng.random_range(0..20) {
            0 => "session_termination",
            1 => "of_a_later_version",
            _ => "jsonrpc",
        };
        self.orders.push(Order {
            id,
            kind,
            channel,
            // Old tokens may hold spaces and commas.
            token: format!("command, {id} of {}", self.revision),
            timeout,
            handed: None,
            calls: 0,
            notes_sent: 0,
            notes_had: 0,
            finals: 0,
            answered: None,
            told: false,
            refused: false,
            body: None,
        });
        self.queue.push_back(id);
        self.report.commands += 1;
    }
}

impl Report {
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.counts().into_iter().zip(other.clone().counts()) {
            *mine += *theirs;
        }
    }

    pub fn summary(&self) -> String {
        format!(
            "{} steps, {} commands: {} answered, {} expired, {} not delivered; {} corrections, {} failed polls, \
             {} failed posts",
            self.steps,
            self.commands,
            self.answered,
            self.expired,
            self.given_up,
            self.corrections,
            self.poll_faults,
            self.post_faults
        )
    }

    /// What must have come up at least once in a long run.
    pub fn witnesses(&self) -> [(&'static str, u64); 11] {
        [
            ("answered command", self.answered),
            ("expired command", self.expired),
            ("answer that was given up", self.given_up),
            ("correction", self.corrections),
            ("failed poll", self.poll_faults),
            ("failed post", self.post_faults),
            ("answer taken though its response was lost", self.doubts),
            ("note", self.notes),
            ("command that draining cut short", self.cut_short),
            ("call that was never answered", self.unanswering),
            ("command that was handed out twice", self.repeats),
        ]
    }

    fn counts(&mut self) -> [&mut u64; 13] {
        [
            &mut self.steps,
            &mut self.commands,
            &mut self.answered,
            &mut self.expired,
            &mut self.given_up,
            &mut self.corrections,
            &mut self.poll_faults,
            &mut self.post_faults,
            &mut self.doubts,
            &mut self.notes,
            &mut self.cut_short,
            &mut self.unanswering,
            &mut self.repeats,
        ]
    }
}
