//! What the tests of trace validation share.

pub(crate) mod client;
pub(crate) mod corruptions;
pub(crate) mod oracle;

use moorline_proofs::validate::Trace;

/// A run of the real client in which each verdict is given and the thirteenth attempt is dropped.
pub(crate) const NIGHT: &str = include_str!("night.jsonl");

pub(crate) fn read(text: &str) -> Trace {
    Trace::read(text.as_bytes()).unwrap()
}

/// A fixed sequence (splitmix64), so that a seed is a run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}
