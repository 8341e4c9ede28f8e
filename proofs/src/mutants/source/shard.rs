//! A part of the mutants, for those who cannot wait for all.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::records::{SourceMutant, mutants};

/// Part K of N: the mutants at the places K, K + N, K + 2 N and so on. The N parts together are all mutants, and none
/// is in two. Never empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    of: usize,
}

/// Why a text names no part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShardFault {
    /// Not two whole numbers with a slash between.
    #[error("expected K/N, such as 1/8")]
    Form,
    /// The number is not among 1 to N.
    #[error("expected K/N with K from 1 to N")]
    Number,
    /// There are more parts than mutants, so that some would be empty.
    #[error("expected at most {most} parts, as there are mutants")]
    Empty {
        /// How many mutants there are.
        most: usize,
    },
}

impl Shard {
    /// The part that is everything.
    pub const WHOLE: Self = Self { number: 1, of: 1 };

    /// The mutants of this part, in order.
    pub fn mutants(self) -> impl Iterator<Item = &'static SourceMutant> {
        mutants().skip(self.number - 1).step_by(self.of)
    }
}

impl FromStr for Shard {
    type Err = ShardFault;

    fn from_str(text: &str) -> Result<Self, ShardFault> {
        let (number, of) = text.split_once('/').ok_or(ShardFault::Form)?;
        let parsed = |digits: &str| match digits.bytes().all(|byte| byte.is_ascii_digit()) {
            true => digits.parse::<usize>().map_err(|_| ShardFault::Form),
            false => Err(ShardFault::Form),
        };
        let (number, of) = (parsed(number)?, parsed(of)?);
        if number == 0 || number > of {
            return Err(ShardFault::Number);
        }
        let most = mutants().count();
        if of > most {
            return Err(ShardFault::Empty { most });
        }
        Ok(Self { number, of })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn names(shard: Shard) -> Vec<&'static str> {
        shard.mutants().map(|mutant| mutant.name).collect()
    }

    #[test]
    fn the_parts_are_everything_once_and_none_is_empty() {
        let all = names(Shard::WHOLE);
        for of in [1, 2, 7, all.len()] {
            let mut found = Vec::new();
            for number in 1..=of {
                let part = names(format!("{number}/{of}").parse().unwrap());
                assert!(!part.is_empty(), "{number}/{of}");
                assert!(part.len().abs_diff(all.len() / of) <= 1, "{number}/{of}");
                found.extend(part);
            }
            assert_eq!(found.len(), all.len());
            let distinct: BTreeSet<_> = found.into_iter().collect();
            assert_eq!(distinct, all.iter().copied().collect());
        }
        assert_eq!(names("2/3".parse().unwrap())[..2], [all[1], all[4]]);
    }

    #[test]
    fn what_names_no_part_is_refused() {
        for text in [
            "", "1", "/", "1/", "/2", "a/2", "1/2/3", "-1/2", "+1/2", " 1/2",
        ] {
            assert_eq!(text.parse::<Shard>(), Err(ShardFault::Form), "{text}");
        }
        for text in ["0/2", "3/2", "0/0", "1/0"] {
            assert_eq!(text.parse::<Shard>(), Err(ShardFault::Number), "{text}");
        }
        let most = mutants().count();
        let parts = format!("1/{}", most + 1);
        assert_eq!(parts.parse::<Shard>(), Err(ShardFault::Empty { most }));
    }
}
