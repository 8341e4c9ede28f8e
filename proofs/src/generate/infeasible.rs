//! What cannot happen: points that no run reaches, and pairs of classes that no run has next to each other.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Plan;
use super::graph::{Answer, Graph, Kind, Move, Point, Relation, Transition};

/// A class of transitions: the same happens, and the commit says the same.
type Class = (Move, &'static str);

/// What the search of a graph did not find.
#[derive(Clone, Debug, Serialize)]
pub struct Infeasible {
    /// Points that the invariants allow, and that were not reached.
    pub points: Vec<String>,
    /// How many classes of transitions there are.
    pub classes: usize,
    /// How many ordered pairs of classes are adjacent somewhere.
    pub feasible_pairs: usize,
    /// How many are adjacent nowhere.
    pub infeasible_pairs: usize,
    /// These, by their first class, with the reason.
    pub after: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

/// Goes through all points and all pairs of classes.
pub(super) fn infeasible(graph: &Graph, plan: Plan) -> Infeasible {
    let reached: BTreeSet<Point> = graph.points.iter().copied().collect();
    let points = Point::typed(plan)
        .into_iter()
        .filter(|point| !reached.contains(point))
        .map(|point| point.to_string())
        .collect();
    let mut leads_to: BTreeMap<Class, BTreeSet<usize>> = BTreeMap::new();
    for transition in &graph.transitions {
        leads_to
            .entry(class(transition))
            .or_default()
            .insert(transition.to);
    }
    let mut found = Infeasible {
        points,
        classes: leads_to.len(),
        feasible_pairs: 0,
        infeasible_pairs: 0,
        after: BTreeMap::new(),
    };
    for (first, ends) in &leads_to {
        for second in leads_to.keys() {
            let Some(reason) = why_never(graph, plan, ends, *second) else {
                found.feasible_pairs += 1;
                continue;
            };
            found.infeasible_pairs += 1;
            let reasons = found.after.entry(name(*first)).or_default();
            reasons.entry(reason).or_default().push(name(*second));
        }
    }
    found
}

/// Why this class leaves none of these points; `None` where it leaves one of them.
fn why_never(
    graph: &Graph,
    plan: Plan,
    ends: &BTreeSet<usize>,
    (happens, verdict): Class,
) -> Option<String> {
    let leaving = ends.iter().flat_map(|point| {
        let transitions = graph.transitions.get(graph.leaving(*point));
        transitions.unwrap_or_default()
    });
    let verdicts: BTreeSet<&str> = leaving
        .filter(|transition| transition.step == happens)
        .map(|transition| transition.verdict.name())
        .collect();
    if verdicts.contains(verdict) {
        return None;
    }
    if !verdicts.is_empty() {
        let verdicts: Vec<&str> = verdicts.into_iter().collect();
        return Some(format!("the verdict is {}", verdicts.join(" or ")));
    }
    let any = |holds: &dyn Fn(&Point) -> bool| {
        let mut points = ends.iter().filter_map(|point| graph.points.get(*point));
        points.any(holds)
    };
    let (kind, answer) = match happens {
        Move::Begin => return Some("no place is free".to_owned()),
        Move::Poll(answer) => (None, answer),
        Move::End(kind, answer) => (Some(kind), answer),
    };
    let is_flying = |point: &Point| kind.is_none_or(|kind: Kind| point.flying(plan.kind(kind)) > 0);
    Some(match answer {
        _ if !any(&is_flying) => "no such request is in flight".to_owned(),
        Answer::Correction(Relation::First) => "there is a watermark".to_owned(),
        _ => "there is no watermark".to_owned(),
    })
}

fn class(transition: &Transition) -> Class {
    (transition.step, transition.verdict.name())
}

fn name((happens, verdict): Class) -> String {
    match happens {
        Move::Begin => happens.to_string(),
        Move::End(..) | Move::Poll(_) => format!("{happens}: {verdict}"),
    }
}
