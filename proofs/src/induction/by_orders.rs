use moorline_model::placement::Correction;

use super::skeleton::{Event, RevisionSymbol, Skeleton, TokenSymbol};
use super::{Induction, Supposed, judge_state, take, tell};
use crate::step::Step;
use crate::system::State;

/// The inductive step on small numbers: every weak order of the revisions and every partition of
/// the tokens.
///
/// A step holds three revisions and five tokens at most, so that every concrete case is ordered
/// like one of these.
pub fn by_orders<S: Step>(step: &S, supposed: Supposed) -> Induction {
    let mut found = Induction::new();
    Skeleton::each(|number, skeleton| {
        found.skeletons += 1;
        let (revisions, tokens) = (count(skeleton.revisions()), count(skeleton.tokens()));
        for ranks in weak_orders(revisions) {
            for classes in partitions(tokens) {
                let data = Data::new(skeleton, &ranks, &classes);
                from_state(step, supposed, (number, skeleton), &data, &mut found);
            }
        }
    });
    found
}

fn from_state<S: Step>(
    step: &S,
    supposed: Supposed,
    (number, skeleton): (usize, &Skeleton),
    data: &Data,
    found: &mut Induction,
) {
    let before: State<u8, u8> =
        skeleton.state(|symbol| data.revision(symbol), |symbol| data.token(symbol));
    if !supposed.admits(judge_state(step, &before)) {
        found.pruned += 1;
        return;
    }
    for event in Event::ALL {
        for correction in data.corrections(event) {
            let outcome = event.outcome(|| correction);
            if let Some(seen) = take(step, &before, outcome.as_ref()) {
                found.note(number, event, seen, || {
                    tell(skeleton, event, &format!("{data:?}, {correction:?}"), seen)
                });
            }
        }
    }
}

/// The data of one state. Revisions are odd, so that a correction's can fall between any two.
#[derive(Debug, Default)]
struct Data {
    watermark: u8,
    greatest: u8,
    accepted: u8,
    first: u8,
    ends: u8,
    other: u8,
    top_revision: Option<u8>,
    top_token: Option<u8>,
}

impl Data {
    fn new(skeleton: &Skeleton, ranks: &[u8], classes: &[u8]) -> Self {
        let mut data = Self::default();
        for (symbol, rank) in skeleton.revisions().zip(ranks) {
            let revision = rank * 2 + 1;
            data.top_revision = data.top_revision.max(Some(revision));
            match symbol {
                RevisionSymbol::Watermark => data.watermark = revision,
                RevisionSymbol::Greatest => data.greatest = revision,
                RevisionSymbol::Correction => {}
            }
        }
        for (symbol, class) in skeleton.tokens().zip(classes) {
            data.top_token = data.top_token.max(Some(*class));
            match symbol {
                TokenSymbol::Accepted => data.accepted = *class,
                TokenSymbol::First => data.first = *class,
                TokenSymbol::Ends => data.ends = *class,
                TokenSymbol::Other => data.other = *class,
                TokenSymbol::Correction => {}
            }
        }
        data
    }

    fn revision(&self, symbol: RevisionSymbol) -> u8 {
        match symbol {
            RevisionSymbol::Watermark => self.watermark,
            RevisionSymbol::Greatest => self.greatest,
            RevisionSymbol::Correction => 0,
        }
    }

    fn token(&self, symbol: TokenSymbol) -> u8 {
        match symbol {
            TokenSymbol::Accepted => self.accepted,
            TokenSymbol::First => self.first,
            TokenSymbol::Ends => self.ends,
            TokenSymbol::Other => self.other,
            TokenSymbol::Correction => 0,
        }
    }

    /// Every correction up to order: below, at, between and above the revisions there are, with
    /// each of the tokens there are and a new one. One, of no meaning, where the event is no
    /// correction.
    fn corrections(&self, event: Event) -> Vec<Correction<u8, u8>> {
        let (revisions, tokens) = match event {
            Event::Correction => (
                self.top_revision.map_or(1, |top| top + 2),
                self.top_token.map_or(1, |top| top + 2),
            ),
            _ => (1, 1),
        };
        let with_revision = |revision| (0..tokens).map(move |token| Correction { revision, token });
        (0..revisions).flat_map(with_revision).collect()
    }
}

fn count(items: impl Iterator) -> usize {
    items.count()
}

/// Every weak order of so many values, as ranks from 0 without a gap.
fn weak_orders(values: usize) -> Vec<Vec<u8>> {
    let all = sequences(values, |_| values);
    let gapless = |ranks: &Vec<u8>| {
        let top = ranks.iter().max().copied();
        top.is_none_or(|top| (0..top).all(|rank| ranks.contains(&rank)))
    };
    all.into_iter().filter(gapless).collect()
}

/// Every partition of so many values, as classes numbered in the order in which they first appear.
fn partitions(values: usize) -> Vec<Vec<u8>> {
    sequences(values, |so_far| {
        so_far.iter().max().map_or(1, |top| usize::from(*top) + 2)
    })
}

/// Every sequence of so many numbers in which each is below what `limit` says of those before it.
fn sequences(length: usize, limit: impl Fn(&[u8]) -> usize) -> Vec<Vec<u8>> {
    let mut all = vec![Vec::new()];
    for _ in 0..length {
        all = all
            .into_iter()
            .flat_map(|so_far: Vec<u8>| {
                let limit = limit(&so_far);
                (0..).take(limit).map(move |next| {
                    let mut longer = so_far.clone();
                    longer.push(next);
                    longer
                })
            })
            .collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_partitions_are_all_there() {
        let orders: Vec<usize> = (0..5).map(|n| weak_orders(n).len()).collect();
        assert_eq!(orders, [1, 1, 3, 13, 75]);
        let parts: Vec<usize> = (0..6).map(|n| partitions(n).len()).collect();
        assert_eq!(parts, [1, 1, 2, 5, 15, 52]);
    }

    /// Two revisions and a correction's: 13 weak orders of three.
    #[test]
    fn corrections_extend_an_order_in_every_way() {
        let mut total = 0;
        for ranks in weak_orders(2) {
            let top = ranks.iter().max().map(|rank| rank * 2 + 1);
            let data = Data {
                top_revision: top,
                top_token: Some(1),
                ..Data::default()
            };
            let corrections = data.corrections(Event::Correction);
            assert_eq!(corrections.len() % 3, 0, "three tokens each");
            total += corrections.len() / 3;
        }
        assert_eq!(total, 13);
        assert_eq!(Data::default().corrections(Event::Success).len(), 1);
    }
}
