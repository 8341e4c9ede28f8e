#![allow(
    clippy::indexing_slicing,
    reason = "every index is masked by the length of the table, a power of two"
)]

/// An exact set of packed states: open addressing over the words themselves.
pub(super) struct Known {
    words: Vec<u64>,
    len: usize,
}

/// No packed state has its top bits set.
const EMPTY: u64 = u64::MAX;

const FIRST_CAPACITY: usize = 1 << 10;

impl Known {
    pub(super) fn new() -> Self {
        Self {
            words: vec![EMPTY; FIRST_CAPACITY],
            len: 0,
        }
    }

    /// Whether the word was new.
    pub(super) fn insert(&mut self, word: u64) -> bool {
        if self.len * 2 >= self.words.len() {
            self.grow();
        }
        let new = put(&mut self.words, word);
        if new {
            self.len += 1;
        }
        new
    }

    /// In bytes.
    pub(super) fn memory(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }

    fn grow(&mut self) {
        let mut wider = vec![EMPTY; self.words.len() * 2];
        for word in self.words.iter().filter(|word| **word != EMPTY) {
            put(&mut wider, *word);
        }
        self.words = wider;
    }
}

/// Linear probing. At least half of the places are empty, so it ends.
fn put(words: &mut [u64], word: u64) -> bool {
    let mask = words.len() - 1;
    let mut place = spread(word) & mask;
    loop {
        match words[place] {
            found if found == word => return false,
            EMPTY => {
                words[place] = word;
                return true;
            }
            _ => place = (place + 1) & mask,
        }
    }
}

/// Mixes all bits into the low ones.
fn spread(word: u64) -> usize {
    let mixed = (word ^ (word >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_each_word_once_through_growth() {
        let mut known = Known::new();
        let words = || (0..10_000_u64).map(|n| n.wrapping_mul(0x0123_4567_89ab) >> 3);
        let expected: std::collections::HashSet<u64> = words().collect();
        assert_eq!(
            words().filter(|word| known.insert(*word)).count(),
            expected.len()
        );
        assert!(words().all(|word| !known.insert(word)));
    }
}
