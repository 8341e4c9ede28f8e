#![allow(
    clippy::indexing_slicing,
    reason = "every index is a number that the graph gave out, and the tables have its sizes"
)]

use std::cmp::Reverse;
use std::collections::VecDeque;

use moorline_model::placement::{CORRECTION_LIMIT, FAILURE_LIMIT};

use super::graph::{Answer, Graph, Kind, Move, Point, Relation, Told};
use super::{Goal, Grain, Plan, Problem, STEPS_MAX};

/// How many ways are followed at a time.
const BEAM: usize = 48;

/// How many of them may end in the same transition.
const SAME_END: usize = 3;

/// The weight of a new item, more than any number of moves to the next.
const NEW_ITEM: usize = 64;

/// A way through the graph from its start that leaves nothing in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// The transitions, in order.
    pub transitions: Vec<usize>,
    /// Where the probe begins.
    pub probe: usize,
    /// How many items of the goal are in this walk.
    pub covers: usize,
    /// How many of them are in no other walk.
    pub alone: usize,
}

/// Walks that have every item of the plan's goal in them, chosen greedily, none of them needless.
pub(super) fn cover(graph: &Graph, plan: Plan) -> Result<Vec<Walk>, Problem> {
    let mut search = Cover::new(graph, plan);
    let mut walks = Vec::new();
    while search.left > 0 {
        walks.push(search.walk()?);
    }
    Ok(search.without_needless(walks))
}

/// Counts the items of the goal that are in these walks, from the walks alone.
pub(super) fn covered(graph: &Graph, plan: Plan, walks: &[Walk]) -> usize {
    let counter = Cover::new(graph, plan);
    let mut items: Vec<usize> = walks
        .iter()
        .flat_map(|walk| counter.items(&walk.transitions))
        .collect();
    items.sort_unstable();
    items.dedup();
    items.len()
}

/// Whether the end of a request at this place in a walk is that of the request begun right before, so that
/// both are one poll with nothing between. Where another request could be meant as well, places take turns.
pub(super) fn is_one_poll(graph: &Graph, before: Option<usize>, next: usize, place: usize) -> bool {
    let Some(before) = before else {
        return false;
    };
    let (begun, ended) = (graph.transitions[before], graph.transitions[next]);
    let answered =
        matches!(ended.step, Move::End(Kind::Current, answer) if answer != Answer::Cancelled);
    let sole = graph.points[begun.from].current == 0;
    answered && begun.step == Move::Begin && (sole || place.is_multiple_of(2))
}

/// How many steps of a sequence the transition at this place adds.
fn step(graph: &Graph, before: Option<usize>, next: usize, place: usize) -> usize {
    match graph.transitions[next].step {
        Move::Poll(Answer::Cancelled) => 2,
        Move::End(..) if is_one_poll(graph, before, next, place) => 0,
        Move::Begin | Move::End(..) | Move::Poll(_) => 1,
    }
}

/// The beginning of a walk.
#[derive(Clone, Debug, Default)]
struct Way {
    walk: Vec<usize>,
    /// Items in it that no earlier walk covers.
    new: Vec<usize>,
    steps: usize,
}

/// A way, and one move more.
struct Candidate {
    parent: usize,
    next: usize,
    item: Option<usize>,
    steps: usize,
    score: usize,
}

impl Way {
    fn with(&self, candidate: &Candidate) -> Self {
        let mut longer = self.clone();
        longer.walk.push(candidate.next);
        longer.new.extend(candidate.item);
        longer.steps = candidate.steps;
        longer
    }
}

struct Cover<'a> {
    graph: &'a Graph,
    plan: Plan,
    covered: Vec<bool>,
    left: usize,
}

impl<'a> Cover<'a> {
    fn new(graph: &'a Graph, plan: Plan) -> Self {
        let items = match plan.goal {
            Goal::Pairs => graph.pair_count(),
            Goal::Transitions => graph.transitions.len(),
        };
        Self {
            graph,
            plan,
            covered: vec![false; items],
            left: items,
        }
    }

    fn walk(&mut self) -> Result<Walk, Problem> {
        let best = self.best_way();
        if best.new.is_empty() {
            return Err(Problem::OutOfReach { left: self.left });
        }
        let mut walk = Vec::new();
        for next in best.walk {
            self.append(&mut walk, next);
        }
        self.land(&mut walk)?;
        let probe = walk.len();
        self.probe(&mut walk)?;
        let items = self.items(&walk);
        Ok(Walk {
            transitions: walk,
            probe,
            covers: items.len(),
            alone: 0,
        })
    }

    /// A way from the start with many items that are not covered yet: a beam search, move by move.
    fn best_way(&self) -> Way {
        let far = self.moves_to_wanted();
        let mut beam = vec![Way::default()];
        let mut best = Way::default();
        while !beam.is_empty() {
            let mut longer = Vec::new();
            for (parent, way) in beam.iter().enumerate() {
                longer.extend(self.longer(parent, way, &far));
            }
            longer.sort_by_key(|candidate| (Reverse(candidate.score), candidate.steps));
            let mut ends = vec![0_usize; self.graph.transitions.len()];
            longer.retain(|candidate| {
                ends[candidate.next] += 1;
                ends[candidate.next] <= SAME_END
            });
            longer.truncate(BEAM);
            beam = longer
                .iter()
                .map(|candidate| beam[candidate.parent].with(candidate))
                .collect();
            for way in &beam {
                if (way.new.len(), Reverse(way.steps)) > (best.new.len(), Reverse(best.steps)) {
                    best = way.clone();
                }
            }
        }
        best
    }

    /// Every way on by one move from which the end of the sequence can still be reached.
    fn longer(&self, parent: usize, way: &Way, far: &[usize]) -> Vec<Candidate> {
        let last = way.walk.last().copied();
        let mut longer = Vec::new();
        for next in self.graph.leaving(self.at(&way.walk)) {
            let to = self.graph.transitions[next].to;
            let steps = way.steps + step(self.graph, last, next, way.walk.len());
            if steps + self.ending(to) > STEPS_MAX {
                continue;
            }
            let item = self
                .item(last, next)
                .filter(|item| !self.covered[*item] && !way.new.contains(item));
            let new = way.new.len() + usize::from(item.is_some());
            // A new item outweighs the moves that it takes to come to the next one.
            let score = (new + 1) * NEW_ITEM - far[next];
            longer.push(Candidate {
                parent,
                next,
                item,
                steps,
                score,
            });
        }
        longer
    }

    /// For each transition, how many moves follow it until one that makes an item that is not covered.
    fn moves_to_wanted(&self) -> Vec<usize> {
        let graph = self.graph;
        let mut far = vec![NEW_ITEM; graph.transitions.len()];
        let mut queue = VecDeque::new();
        for (transition, moves) in far.iter_mut().enumerate() {
            if self.wanted_after(transition) > 0 {
                *moves = 0;
                queue.push_back(transition);
            }
        }
        let mut entering = vec![Vec::new(); graph.points.len()];
        for (number, transition) in graph.transitions.iter().enumerate() {
            entering[transition.to].push(number);
        }
        while let Some(at) = queue.pop_front() {
            for before in &entering[graph.transitions[at].from] {
                if far[*before] == NEW_ITEM {
                    far[*before] = (far[at] + 1).min(NEW_ITEM - 1);
                    queue.push_back(*before);
                }
            }
        }
        far
    }

    fn is_wanted(&self, last: Option<usize>, next: usize) -> bool {
        self.item(last, next)
            .is_some_and(|item| !self.covered[item])
    }

    fn wanted_after(&self, transition: usize) -> usize {
        match self.plan.goal {
            Goal::Pairs => {
                let pairs = self.graph.pairs_of(transition);
                pairs.filter(|pair| !self.covered[*pair]).count()
            }
            Goal::Transitions => {
                let next = self.graph.leaving(self.graph.transitions[transition].to);
                next.filter(|next| !self.covered[*next]).count()
            }
        }
    }

    fn item(&self, last: Option<usize>, next: usize) -> Option<usize> {
        match self.plan.goal {
            Goal::Pairs => last.map(|last| self.graph.pair(last, next)),
            Goal::Transitions => Some(next),
        }
    }

    /// The items in a walk, each once.
    fn items(&self, walk: &[usize]) -> Vec<usize> {
        let mut last = None;
        let mut items = Vec::new();
        for next in walk {
            items.extend(self.item(last, *next));
            last = Some(*next);
        }
        items.sort_unstable();
        items.dedup();
        items
    }

    fn append(&mut self, walk: &mut Vec<usize>, next: usize) {
        if let Some(item) = self.item(walk.last().copied(), next)
            && !std::mem::replace(&mut self.covered[item], true)
        {
            self.left -= 1;
        }
        walk.push(next);
    }

    fn at(&self, walk: &[usize]) -> usize {
        walk.last()
            .map_or(0, |last| self.graph.transitions[*last].to)
    }

    /// At most so many steps are needed to end a walk here: landing and probe.
    fn ending(&self, point: usize) -> usize {
        let point = self.graph.points[point];
        let failures = match point.active {
            Some(true) => FAILURE_LIMIT - point.failures,
            Some(false) | None => 0,
        };
        let corrections = CORRECTION_LIMIT - point.corrections;
        usize::from(point.in_flight() + failures + corrections) + 2
    }

    /// Ends all requests in flight in ways that must leave the placement alone.
    fn land(&mut self, walk: &mut Vec<usize>) -> Result<(), Problem> {
        loop {
            let at = self.at(walk);
            let point = self.graph.points[at];
            if point.in_flight() == 0 {
                return Ok(());
            }
            let last = walk.last().copied();
            let leaves_alone = |next: &usize| {
                let transition = self.graph.transitions[*next];
                matches!(transition.step, Move::End(..))
                    && self.graph.points[transition.to].is_placed_as(point)
                    && !transition.verdict.committed()
            };
            let ends: Vec<usize> = self.graph.leaving(at).filter(leaves_alone).collect();
            let wanted = ends.iter().find(|next| self.is_wanted(last, **next));
            let turn = ends.get(walk.len() % ends.len().max(1));
            let next = *wanted.or(turn).ok_or(Problem::ProbeStuck { point })?;
            self.append(walk, next);
        }
    }

    /// Makes what cannot be seen show in the tokens of the next requests: failures until the token is
    /// cleared, the accepted pair until the round is exhausted, an older correction, and a last poll.
    fn probe(&mut self, walk: &mut Vec<usize>) -> Result<(), Problem> {
        let older = match self.plan.grain {
            Grain::Polls => Told::Other,
            Grain::Full | Grain::Merged => Told::Either,
        };
        for _ in 0..FAILURE_LIMIT {
            if self.graph.points[self.at(walk)].active == Some(true) {
                self.poll(walk, Answer::Failure)?;
            }
        }
        for _ in 0..CORRECTION_LIMIT {
            let point = self.graph.points[self.at(walk)];
            let relation = match point.active {
                None => Relation::First,
                Some(_) => Relation::Equal(Told::Same),
            };
            self.poll(walk, Answer::Correction(relation))?;
            if self.graph.points[self.at(walk)].corrections == 0 {
                break;
            }
        }
        self.poll(walk, Answer::Correction(Relation::Older(older)))?;
        self.poll(walk, Answer::Success)
    }

    fn poll(&mut self, walk: &mut Vec<usize>, answer: Answer) -> Result<(), Problem> {
        let moves: &[Move] = match self.plan.grain {
            Grain::Polls => &[Move::Poll(answer)],
            Grain::Full | Grain::Merged => &[Move::Begin, Move::End(Kind::Current, answer)],
        };
        for happens in moves {
            let at = self.at(walk);
            let point: Point = self.graph.points[at];
            let next = self
                .graph
                .leaving(at)
                .find(|next| self.graph.transitions[*next].step == *happens)
                .ok_or(Problem::ProbeStuck { point })?;
            self.append(walk, next);
        }
        Ok(())
    }

    /// Leaves out, latest first, each walk whose items are all in others.
    fn without_needless(&self, walks: Vec<Walk>) -> Vec<Walk> {
        let items: Vec<Vec<usize>> = walks
            .iter()
            .map(|walk| self.items(&walk.transitions))
            .collect();
        let mut times = vec![0_usize; self.covered.len()];
        items.iter().flatten().for_each(|item| times[*item] += 1);
        let mut kept = vec![true; walks.len()];
        for index in (0..walks.len()).rev() {
            if items[index].iter().all(|item| times[*item] > 1) {
                kept[index] = false;
                items[index].iter().for_each(|item| times[*item] -= 1);
            }
        }
        let needed = walks.into_iter().zip(items).zip(kept);
        needed
            .filter(|(_, kept)| *kept)
            .map(|((mut walk, items), _)| {
                walk.alone = items.iter().filter(|item| times[**item] == 1).count();
                walk
            })
            .collect()
    }
}
