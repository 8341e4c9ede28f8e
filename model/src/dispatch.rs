//! Which received commands run, and when: a pure machine that holds them until their turn.
//!
//! A request waits for an answer, and so many run at once. Everything else (answers and cancellations
//! for the target, notifications, ends of sessions) has places of its own: calls that run may wait for
//! just that.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::fair::FairQueue;
use crate::jsonrpc::{INITIALIZE_METHOD, Message, RawId, cancelled_request};
use crate::wire::{Channel, Command, CommandKind};

/// The received commands, each with what the caller keeps for it.
#[derive(Debug)]
pub struct Dispatch<T> {
    served: BTreeSet<Channel>,
    requests: Lane<T>,
    others: Lane<T>,
    /// The ids of all that wait or run.
    ids: BTreeSet<String>,
    /// How many requests that may be cancelled wait or run under each name.
    calls: HashMap<(Channel, CallName), usize>,
}

/// What must be known of a command to decide when it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    id: String,
    channel: Channel,
    kind: CommandKind,
    is_request: bool,
    /// The name of a request that may be cancelled.
    call: Option<CallName>,
    /// The name of the request that this cancels.
    cancels: Option<CallName>,
}

/// What a cancellation calls a request: ids are chosen by callers, each in a session of its own if there
/// are sessions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CallName {
    session: Option<String>,
    id: RawId,
}

/// Why a command is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// One with the same id waits or runs, and will be answered.
    Repeated,
    /// Its type is of a later version.
    UnknownType,
}

/// The place of a command that runs. It is given back with [`Dispatch::ended`].
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Place {
    id: String,
    channel: Channel,
    is_request: bool,
    call: Option<CallName>,
}

impl<T> Dispatch<T> {
    /// A machine for the channels that are `served`. So many requests run at once as `limit` says, and
    /// so many of everything else.
    #[must_use]
    pub fn new(served: BTreeSet<Channel>, limit: usize) -> Self {
        let channels = served.len();
        Self {
            served,
            requests: Lane::new(channels, limit),
            others: Lane::new(channels, limit),
            ids: BTreeSet::new(),
            calls: HashMap::new(),
        }
    }

    /// Takes a command, to be run when it is its turn. Gives back the one that it cancels while that one
    /// waits still: it is not to be run, nor answered.
    ///
    /// # Errors
    ///
    /// Why it is never to be run.
    // spec: CMD-2, CMD-31
    pub fn receive(&mut self, order: Order, item: T) -> Result<Option<T>, Refusal> {
        if order.kind == CommandKind::Unknown {
            return Err(Refusal::UnknownType);
        }
        if !self.ids.insert(order.id.clone()) {
            return Err(Refusal::Repeated);
        }
        // Nobody runs what is for a channel that is not served: it needs no place.
        let is_request = order.is_request && self.served.contains(&order.channel);
        let channel = order.channel;
        let cancelled = order.cancels.and_then(|call| self.cancel(&channel, &call));
        let place = Place {
            id: order.id,
            channel: channel.clone(),
            is_request,
            call: order.call.filter(|_| is_request),
        };
        if let Some(call) = &place.call {
            let named = self.calls.entry((channel.clone(), call.clone()));
            let count = named.or_default();
            *count = count.saturating_add(1);
        }
        let waiting = Waiting { place, item };
        self.lane(is_request).waiting.push(channel, waiting);
        Ok(cancelled)
    }

    /// Takes out the one request that is meant, if it waits. Where several have this id, nobody can tell
    /// which one is meant.
    // spec: CMD-33
    fn cancel(&mut self, channel: &Channel, call: &CallName) -> Option<T> {
        if self.calls.get(&(channel.clone(), call.clone())) != Some(&1) {
            return None;
        }
        let keep = |waiting: &Waiting<T>| {
            waiting.place.channel != *channel || waiting.place.call.as_ref() != Some(call)
        };
        let removed = self.requests.waiting.remove_unless(keep).pop()?;
        self.forget(&removed.place);
        Some(removed.item)
    }

    fn forget(&mut self, place: &Place) {
        self.ids.remove(&place.id);
        let Some(call) = &place.call else { return };
        let name = (place.channel.clone(), call.clone());
        if let Some(count) = self.calls.get_mut(&name) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.calls.remove(&name);
            }
        }
    }

    /// The next command that may run now.
    // spec: RPT-7, CMD-32
    pub fn start(&mut self) -> Option<(Place, T)> {
        let started = self.others.start().or_else(|| self.requests.start())?;
        Some((started.place, started.item))
    }

    /// Gives back the place of a command that has ended.
    pub fn ended(&mut self, place: Place) {
        self.lane(place.is_request).places.give_back(&place.channel);
        self.forget(&place);
    }

    /// Takes out those waiting commands that are not to be kept.
    pub fn remove_unless(&mut self, mut keep: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut removed = Vec::new();
        for lane in [&mut self.requests, &mut self.others] {
            removed.extend(lane.waiting.remove_unless(|waiting| keep(&waiting.item)));
        }
        for waiting in &removed {
            self.forget(&waiting.place);
        }
        removed.into_iter().map(|waiting| waiting.item).collect()
    }

    /// What waits, in no particular order.
    pub fn waiting(&self) -> impl Iterator<Item = &T> {
        let all = self
            .requests
            .waiting
            .iter()
            .chain(self.others.waiting.iter());
        all.map(|waiting| &waiting.item)
    }

    /// How many commands wait.
    #[must_use]
    pub fn waiting_count(&self) -> usize {
        let others = self.others.waiting.len();
        self.requests.waiting.len().saturating_add(others)
    }

    /// How many requests run.
    #[must_use]
    pub fn running_requests(&self) -> usize {
        self.requests.places.running
    }

    fn lane(&mut self, is_request: bool) -> &mut Lane<T> {
        if is_request {
            &mut self.requests
        } else {
            &mut self.others
        }
    }
}

impl Order {
    /// What a command's is.
    #[must_use]
    pub fn of(command: &Command) -> Self {
        let message = command.jsonrpc.as_ref().map(|message| message.get());
        let message = message.filter(|_| command.kind == CommandKind::JsonRpc);
        let session = session(command);
        let name = |id| CallName {
            session: session.clone(),
            id,
        };
        let request = message.and_then(|text| match Message::parse(text).ok()? {
            Message::Request { id, method } => Some((id, method)),
            _ => None,
        });
        Self {
            id: command.request_id.clone(),
            channel: command.channel.clone(),
            kind: command.kind,
            is_request: request.is_some(),
            // MCP: a client must not cancel its initialize.
            call: request
                .filter(|(_, method)| method != INITIALIZE_METHOD)
                .map(|(id, _)| name(id)),
            cancels: message.and_then(cancelled_request).map(name),
        }
    }
}

fn session(command: &Command) -> Option<String> {
    let mut headers = command.headers.iter();
    let (_, values) = headers.find(|(name, _)| name.eq_ignore_ascii_case("mcp-session-id"))?;
    values.first().cloned()
}

/// Commands of one kind.
#[derive(Debug)]
struct Lane<T> {
    waiting: FairQueue<Channel, Waiting<T>>,
    places: Places,
}

#[derive(Debug)]
struct Waiting<T> {
    place: Place,
    item: T,
}

impl<T> Lane<T> {
    fn new(channels: usize, limit: usize) -> Self {
        Self {
            waiting: FairQueue::new(),
            places: Places {
                channels,
                limit,
                running: 0,
                of_each: BTreeMap::new(),
            },
        }
    }

    fn start(&mut self) -> Option<Waiting<T>> {
        let places = &self.places;
        let started = self
            .waiting
            .pop_where(|channel| places.may_start(channel))?;
        self.places.take(&started.place.channel);
        Some(started)
    }
}

/// How many commands of one kind run, of which channel, and how many may.
#[derive(Debug)]
struct Places {
    channels: usize,
    limit: usize,
    running: usize,
    /// Channels of which something runs.
    of_each: BTreeMap<Channel, usize>,
}

impl Places {
    /// A channel of which nothing runs finds a place kept for it, as long as half of the places are
    /// enough for that: calls that hang on one channel are no reason to serve no other.
    fn may_start(&self, channel: &Channel) -> bool {
        if !self.of_each.contains_key(channel) {
            return self.running < self.limit;
        }
        let idle = self.channels.saturating_sub(self.of_each.len());
        let kept = idle.min(self.limit / 2);
        self.running.saturating_add(kept) < self.limit
    }

    fn take(&mut self, channel: &Channel) {
        self.running = self.running.saturating_add(1);
        let of_this = self.of_each.entry(channel.clone()).or_default();
        *of_this = of_this.saturating_add(1);
    }

    fn give_back(&mut self, channel: &Channel) {
        self.running = self.running.saturating_sub(1);
        if let Some(of_this) = self.of_each.get_mut(channel) {
            *of_this = of_this.saturating_sub(1);
            if *of_this == 0 {
                self.of_each.remove(channel);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const REQUEST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#;
    const CANCELLED: &str = r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#;
    const REPLY: &str = r#"{"jsonrpc":"2.0","id":"s","result":{}}"#;

    fn order(id: u32, channel: &str, kind: &str, message: &str) -> Order {
        let text = format!(
            r#"{{"request_id":"{id}","shard_token":"t","command_type":"{kind}","channel":"{channel}","jsonrpc":{message}}}"#
        );
        Order::of(&Command::parse(&text).unwrap())
    }

    fn dispatch(channels: &[&str], limit: usize) -> Dispatch<u32> {
        let served = channels.iter().map(|name| Channel::parse(name).unwrap());
        Dispatch::new(served.collect(), limit)
    }

    fn receive(dispatch: &mut Dispatch<u32>, id: u32, channel: &str, message: &str) {
        let order = order(id, channel, "jsonrpc", message);
        assert_eq!(dispatch.receive(order, id), Ok(None));
    }

    fn start(dispatch: &mut Dispatch<u32>) -> (Vec<Place>, Vec<u32>) {
        std::iter::from_fn(|| dispatch.start()).unzip()
    }

    // spec-test: RPT-7, CMD-32
    #[test]
    fn what_running_calls_may_wait_for_finds_a_place() {
        let mut dispatch = dispatch(&["main"], 2);
        for id in 1..=4 {
            receive(&mut dispatch, id, "main", REQUEST);
        }
        let (mut places, started) = start(&mut dispatch);
        assert_eq!(started, [1, 2]);
        receive(&mut dispatch, 5, "main", REPLY);
        receive(&mut dispatch, 6, "main", CANCELLED);
        receive(&mut dispatch, 7, "nowhere", REQUEST);
        let end = order(8, "main", "session_termination", "null");
        assert_eq!(dispatch.receive(end, 8), Ok(None));
        let (others, started) = start(&mut dispatch);
        assert_eq!(started, [5, 7], "as many as there are places");
        for place in others {
            dispatch.ended(place);
        }
        assert_eq!(start(&mut dispatch).1, [6, 8]);
        dispatch.ended(places.remove(0));
        assert_eq!(start(&mut dispatch).1, [3]);
        assert_eq!(
            (dispatch.waiting_count(), dispatch.running_requests()),
            (1, 2)
        );
    }

    // spec-test: RPT-7, CMD-32
    #[test]
    fn calls_that_hang_on_one_channel_leave_room_for_the_others() {
        for (channels, limit, of_one) in [
            (&["a"][..], 10, 10),
            (&["a", "b"], 10, 9),
            (&["a", "b", "c"], 10, 8),
            (&["a", "b", "c", "d"], 4, 2),
            (&["a", "b"], 1, 1),
            (&["a", "b"], 0, 0),
        ] {
            let mut dispatch = dispatch(channels, limit);
            // What has ended takes no room from anybody.
            for (id, channel) in (100..).zip(channels) {
                receive(&mut dispatch, id, channel, REQUEST);
                for place in start(&mut dispatch).0 {
                    dispatch.ended(place);
                }
            }
            dispatch.remove_unless(|_| false);
            for id in 0..20 {
                receive(&mut dispatch, id, "a", REQUEST);
            }
            let started = start(&mut dispatch).1;
            assert_eq!(started.len(), of_one, "{channels:?} {limit}");
            for (id, channel) in (20..).zip(&channels[1..]) {
                receive(&mut dispatch, id, channel, REQUEST);
            }
            let others = start(&mut dispatch).1.len();
            let kept = (channels.len() - 1).min(limit / 2);
            assert_eq!(others, kept, "{channels:?} {limit}");
        }
    }

    // spec-test: CMD-31
    #[test]
    fn a_command_that_comes_twice_runs_once() {
        let mut dispatch = dispatch(&["main"], 1);
        let twice = || order(1, "main", "jsonrpc", REQUEST);
        assert_eq!(dispatch.receive(twice(), 1), Ok(None));
        assert_eq!(dispatch.receive(twice(), 2), Err(Refusal::Repeated));
        let (place, item) = dispatch.start().unwrap();
        assert_eq!(item, 1);
        assert_eq!(dispatch.receive(twice(), 3), Err(Refusal::Repeated));
        dispatch.ended(place);
        assert_eq!(dispatch.receive(twice(), 4), Ok(None), "another command");
        assert_eq!(dispatch.remove_unless(|_| false), [4]);
        assert_eq!(dispatch.receive(twice(), 5), Ok(None));
        let later = || order(9, "main", "of_a_later_version", REQUEST);
        assert_eq!(dispatch.receive(later(), 9), Err(Refusal::UnknownType));
        assert_eq!(dispatch.receive(later(), 9), Err(Refusal::UnknownType));
        assert_eq!(dispatch.waiting().collect::<Vec<_>>(), [&5]);
    }

    /// A request with the id that the message gives it, in a session.
    fn named(request_id: &str, session: &str, message: &str) -> Order {
        let text = format!(
            r#"{{"request_id":"{request_id}","shard_token":"t","command_type":"jsonrpc","headers":{{"MCP-Session-ID":["{session}"]}},"jsonrpc":{message}}}"#
        );
        Order::of(&Command::parse(&text).unwrap())
    }

    fn call(id: &str, method: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#)
    }

    fn cancel(id: &str) -> String {
        let params = format!(r#"{{"requestId":{id}}}"#);
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{params}}}"#)
    }

    // spec-test: CMD-33
    #[test]
    fn a_request_that_is_cancelled_while_it_waits_is_never_run() {
        let mut dispatch = dispatch(&["main"], 1);
        let receive = |dispatch: &mut Dispatch<u32>, number: u32, session, message: &str| {
            dispatch.receive(named(&number.to_string(), session, message), number)
        };
        for (number, session, message) in [
            (1, "s", call("7", "tools/call")),
            (2, "s", call("8", "tools/call")),
            (3, "t", call("8", "tools/call")),
            (4, "s", call("9", "initialize")),
            (5, "s", call("\"a\"", "tools/call")),
            (6, "s", call("\"\\u0061\"", "tools/call")),
        ] {
            assert_eq!(receive(&mut dispatch, number, session, &message), Ok(None));
        }
        let (place, first) = dispatch.start().unwrap();
        assert_eq!(first, 1);
        for (number, session, id, cancelled) in [
            (11, "s", "7", None),
            (12, "u", "8", None),
            (13, "s", "\"8\"", None),
            (14, "s", "8", Some(2)),
            (15, "s", "8", None),
            (16, "s", "9", None),
            (17, "s", "\"a\"", None),
        ] {
            let found = receive(&mut dispatch, number, session, &cancel(id));
            assert_eq!(found, Ok(cancelled), "{session} {id}");
        }
        // It has left nothing behind: neither its id nor its name.
        let again = call("8", "tools/call");
        assert_eq!(receive(&mut dispatch, 2, "s", &again), Ok(None));
        assert_eq!(receive(&mut dispatch, 18, "s", &cancel("8")), Ok(Some(2)));
        dispatch.ended(place);
        let waiting: BTreeSet<u32> = dispatch.waiting().copied().collect();
        let cancellations = (11..=18).collect::<BTreeSet<u32>>();
        let left = waiting.difference(&cancellations).copied();
        assert_eq!(left.collect::<Vec<_>>(), [3, 4, 5, 6]);
    }

    // spec-test: CMD-33
    #[test]
    fn a_request_can_be_cancelled_once_no_other_has_its_name() {
        let mut dispatch = dispatch(&["main"], 1);
        for number in [1, 2] {
            let request = named(&number.to_string(), "s", &call("7", "tools/call"));
            assert_eq!(dispatch.receive(request, number), Ok(None));
        }
        let (place, first) = dispatch.start().unwrap();
        assert_eq!(first, 1);
        let both = named("3", "s", &cancel("7"));
        assert_eq!(dispatch.receive(both, 3), Ok(None), "which one?");
        dispatch.ended(place);
        let one = named("4", "s", &cancel("7"));
        assert_eq!(dispatch.receive(one, 4), Ok(Some(2)));
    }

    proptest! {
        /// Whatever comes and ends in whatever order: limits hold, nothing is lost, nothing runs twice, and a
        /// free place is never left empty while something that may have it waits.
        // spec-test: RPT-7
        #[test]
        fn limits_hold_and_nothing_is_lost(
            limit in 0_usize..6,
            channels in 1_usize..5,
            steps in proptest::collection::vec((0_u8..4, 0_usize..5, 0_usize..8), 0..80),
        ) {
            let names = ["a", "b", "c", "d", "unserved"];
            let mut dispatch = dispatch(&names[..channels], limit);
            let mut running: Vec<(Place, u32)> = Vec::new();
            let (mut taken, mut ended) = (BTreeSet::new(), BTreeSet::new());
            for (id, (step, channel, which)) in (0..).zip(steps) {
                match step {
                    0 => receive(&mut dispatch, id, names[channel], REQUEST),
                    1 => receive(&mut dispatch, id, names[channel], REPLY),
                    2 => running.extend(dispatch.start()),
                    _ if !running.is_empty() => {
                        let (place, item) = running.remove(which % running.len());
                        prop_assert!(ended.insert(item));
                        dispatch.ended(place);
                    }
                    _ => {}
                }
                if step < 2 {
                    taken.insert(id);
                }
                let requests = running.iter().filter(|(place, _)| place.is_request).count();
                prop_assert!(requests <= limit && running.len() - requests <= limit);
                prop_assert_eq!(dispatch.running_requests(), requests);
                prop_assert_eq!(dispatch.waiting_count(), dispatch.waiting().count());
                let waiting: BTreeSet<u32> = dispatch.waiting().copied().collect();
                let runs = running.iter().map(|(_, item)| *item);
                let all: BTreeSet<u32> = waiting.iter().copied().chain(runs).chain(ended.clone()).collect();
                prop_assert_eq!(&all, &taken);
                prop_assert_eq!(waiting.len() + running.len() + ended.len(), taken.len());
            }
            if limit > 0 {
                // Whoever ends what runs, in the end everything has run.
                for _ in 0..200 {
                    while let Some(started) = dispatch.start() {
                        running.push(started);
                    }
                    match running.pop() {
                        Some((place, item)) => {
                            prop_assert!(ended.insert(item));
                            dispatch.ended(place);
                        }
                        None => break,
                    }
                }
                prop_assert_eq!(ended, taken);
            }
        }
    }
}
