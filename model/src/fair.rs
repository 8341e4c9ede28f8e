//! Whose turn it is: a queue that is first come, first served within a lane, and serves lanes in
//! turn, so that a busy lane keeps no other waiting.

use std::collections::{BTreeMap, VecDeque};

/// Items of lanes `K`. Never holds an empty lane. Takes whatever it is given: who fills it limits it.
#[derive(Clone, Debug)]
pub struct FairQueue<K, T> {
    lanes: BTreeMap<K, VecDeque<T>>,
    /// The lanes that hold something, next one first.
    turns: VecDeque<K>,
    len: usize,
}

impl<K: Clone + Ord, T> FairQueue<K, T> {
    /// A queue without items.
    #[must_use]
    pub fn new() -> Self {
        Self {
            lanes: BTreeMap::new(),
            turns: VecDeque::new(),
            len: 0,
        }
    }

    /// Adds an item behind those of its lane. A lane that was empty gets its turn after all others.
    pub fn push(&mut self, lane: K, item: T) {
        let items = self.lanes.entry(lane.clone()).or_default();
        if items.is_empty() {
            self.turns.push_back(lane);
        }
        items.push_back(item);
        self.len = self.len.saturating_add(1);
    }

    /// The oldest item of the lane whose turn it is.
    pub fn pop(&mut self) -> Option<T> {
        self.pop_where(|_| true)
    }

    /// The same among the lanes that `may` have a turn. The others keep their turns.
    pub fn pop_where(&mut self, may: impl Fn(&K) -> bool) -> Option<T> {
        let turn = self.turns.iter().position(may)?;
        let lane = self.turns.remove(turn)?;
        let items = self.lanes.get_mut(&lane)?;
        let item = items.pop_front();
        if items.is_empty() {
            self.lanes.remove(&lane);
        } else {
            self.turns.push_back(lane);
        }
        self.len = self.len.saturating_sub(1);
        item
    }

    /// Every item, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.lanes.values().flatten()
    }

    /// Takes out every item that is not to be kept, lane by lane.
    pub fn remove_unless(&mut self, mut keep: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut removed = Vec::new();
        for items in self.lanes.values_mut() {
            for item in std::mem::take(items) {
                if keep(&item) {
                    items.push_back(item);
                } else {
                    removed.push(item);
                }
            }
        }
        self.lanes.retain(|_, items| !items.is_empty());
        self.turns.retain(|lane| self.lanes.contains_key(lane));
        self.len = self.len.saturating_sub(removed.len());
        removed
    }

    /// How many items wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<K: Clone + Ord, T> Default for FairQueue<K, T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queue: &mut FairQueue<char, u32>) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn serves_lanes_in_turn_and_each_in_order() {
        let mut queue = FairQueue::new();
        for item in [1, 2, 3, 4] {
            queue.push('a', item);
        }
        queue.push('b', 10);
        queue.push('c', 20);
        queue.push('b', 11);
        assert_eq!((queue.len(), queue.is_empty()), (7, false));
        assert_eq!(drain(&mut queue), [1, 10, 20, 2, 11, 3, 4]);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_lane_that_may_not_have_its_turn_keeps_it() {
        let mut queue = FairQueue::new();
        for (lane, item) in [('a', 1), ('b', 10), ('a', 2), ('b', 11), ('c', 20)] {
            queue.push(lane, item);
        }
        assert_eq!(queue.pop_where(|lane| *lane != 'a'), Some(10));
        assert_eq!(queue.pop_where(|_| false), None);
        assert_eq!(queue.len(), 4);
        assert_eq!(drain(&mut queue), [1, 20, 11, 2]);
    }

    #[test]
    fn a_lane_that_comes_back_waits_for_the_others() {
        let mut queue = FairQueue::new();
        queue.push('a', 1);
        queue.push('b', 10);
        queue.push('b', 11);
        assert_eq!(queue.pop(), Some(1));
        queue.push('a', 2);
        assert_eq!(drain(&mut queue), [10, 2, 11]);
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn what_is_taken_out_leaves_order_and_turns_as_they_were() {
        let mut queue = FairQueue::new();
        for (lane, item) in [
            ('a', 1),
            ('b', 10),
            ('a', 2),
            ('c', 21),
            ('b', 11),
            ('a', 3),
        ] {
            queue.push(lane, item);
        }
        assert_eq!(queue.remove_unless(|item| item % 2 == 0), [1, 3, 11, 21]);
        assert_eq!((queue.len(), queue.iter().count()), (2, 2));
        queue.push('c', 22);
        assert_eq!(drain(&mut queue), [2, 10, 22]);
        queue.push('a', 1);
        queue.push('b', 2);
        assert_eq!(queue.remove_unless(|item| item % 2 == 0), [1]);
        assert_eq!(drain(&mut queue), [2], "what is empty has no turn");
    }

    #[test]
    fn a_busy_lane_delays_another_by_one_item_at_most() {
        let mut queue = FairQueue::new();
        for item in 0..100 {
            queue.push('a', item);
        }
        assert_eq!(queue.pop(), Some(0));
        queue.push('b', 1_000);
        assert_eq!([queue.pop(), queue.pop()], [Some(1), Some(1_000)]);
        assert_eq!(queue.len(), 98);
    }
}
