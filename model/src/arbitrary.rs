//! Values for fuzzers and property tests, drawn from bytes. Each is one that the constructors allow,
//! and every such value can come up. Values that meet again are common: small numbers, short texts.

use arbitrary::{Arbitrary, Result, Unstructured};

use crate::placement::{Correction, Outcome};
use crate::poll::Interruption;
use crate::wire::{
    CapabilitySet, MAX_CAPABILITIES, MAX_CAPABILITY_NAME_BYTES, MAX_SHARD_TOKEN_BYTES, Revision,
    ShardToken,
};

/// How long a text is that the bytes did not ask to be long.
const SHORT: usize = 16;

impl<'a, R: Arbitrary<'a>, T: Arbitrary<'a>> Arbitrary<'a> for Correction<R, T> {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self {
            revision: u.arbitrary()?,
            token: u.arbitrary()?,
        })
    }
}

/// Corrections and failures come up more often than the rest: runs of them are what counts.
impl<'a, R: Arbitrary<'a>, T: Arbitrary<'a>> Arbitrary<'a> for Outcome<R, T> {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(match u.int_in_range(0..=7)? {
            0 => Self::Cancelled,
            1 => Self::Neutral,
            2 | 3 => Self::Success,
            4 | 5 => Self::DestinationFailure,
            _ => Self::Correction(u.arbitrary()?),
        })
    }
}

impl<'a> Arbitrary<'a> for Interruption {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let all = [Self::Closed, Self::Deadline, Self::Network];
        u.choose(&all).copied()
    }
}

/// Mostly below 8, now and then close to the greatest, or any.
impl<'a> Arbitrary<'a> for Revision {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let number = match u.int_in_range(0..=7)? {
            0 => u.int_in_range(0..=Self::MAX.get())?,
            1 => Self::MAX.get() - u.int_in_range(0..=3)?,
            _ => u.int_in_range(0..=7)?,
        };
        Self::new(number).ok_or(arbitrary::Error::IncorrectFormat)
    }
}

impl<'a> Arbitrary<'a> for ShardToken {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let allowed = alphabet(|byte| byte.is_ascii_graphic() && *byte != b',');
        let bytes = text(u, MAX_SHARD_TOKEN_BYTES, &allowed)?;
        Self::from_bytes(&bytes).map_err(|_| arbitrary::Error::IncorrectFormat)
    }
}

/// Sets beyond the limit of bytes are no such values and end the drawing.
impl<'a> Arbitrary<'a> for CapabilitySet {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let allowed =
            alphabet(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte));
        let count = u.int_in_range(0..=MAX_CAPABILITIES)?;
        let mut names = Vec::new();
        for _ in 0..count {
            if u.is_empty() {
                break;
            }
            let name = text(u, MAX_CAPABILITY_NAME_BYTES, &allowed)?;
            names.push(String::from_utf8(name).map_err(|_| arbitrary::Error::IncorrectFormat)?);
        }
        Self::new(names.iter().map(String::as_str)).map_err(|_| arbitrary::Error::IncorrectFormat)
    }
}

fn alphabet(allowed: impl Fn(&u8) -> bool) -> Vec<u8> {
    (0..0x80).filter(allowed).collect()
}

/// 1 to `max` of these bytes, mostly few.
fn text(u: &mut Unstructured<'_>, max: usize, alphabet: &[u8]) -> Result<Vec<u8>> {
    let length = if u.ratio(1, 16)? {
        u.int_in_range(1..=max)?
    } else {
        u.int_in_range(1..=SHORT.min(max))?
    };
    // Bytes that have run out read as 0, so that the whole length is there.
    (0..length).map(|_| u.choose(alphabet).copied()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// So many values from bytes of a fixed generator. A few more than `count` tries must do.
    fn drawn<T: for<'a> Arbitrary<'a>>(count: usize) -> Vec<T> {
        let mut seed = 1_u64;
        let mut bytes = vec![0; 600];
        let mut values = Vec::new();
        for _ in 0..2 * count {
            for byte in &mut bytes {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                *byte = (seed >> 56) as u8;
            }
            values.extend(T::arbitrary(&mut Unstructured::new(&bytes)));
        }
        assert!(values.len() >= count, "{} values", values.len());
        values
    }

    #[test]
    fn every_kind_of_value_comes_up() {
        let kinds: BTreeSet<_> = drawn::<Outcome<Revision, ShardToken>>(500)
            .iter()
            .map(|outcome| match outcome {
                Outcome::Cancelled => 0,
                Outcome::Correction(_) => 1,
                Outcome::DestinationFailure => 2,
                Outcome::Neutral => 3,
                Outcome::Success => 4,
            })
            .collect();
        assert_eq!(kinds.len(), 5);
        let ways: BTreeSet<_> = drawn::<Interruption>(100)
            .iter()
            .map(|by| format!("{by:?}"))
            .collect();
        assert_eq!(ways.len(), 3);
    }

    #[test]
    fn values_meet_again_and_reach_their_limits() {
        let revisions: Vec<u64> = drawn::<Revision>(2_000).iter().map(|r| r.get()).collect();
        assert!(revisions.contains(&0) && revisions.contains(&Revision::MAX.get()));
        assert!(revisions.iter().filter(|number| **number < 8).count() > 1_000);
        assert!(revisions.iter().any(|number| (8..1 << 52).contains(number)));

        let lengths: Vec<usize> = drawn::<ShardToken>(4_000)
            .iter()
            .map(|token| token.expose().len())
            .collect();
        assert!(lengths.contains(&1) && lengths.iter().any(|length| *length > 2_000));

        let sets = drawn::<CapabilitySet>(500);
        let counts = sets.iter().map(|set| set.names().count());
        assert_eq!(counts.clone().min(), Some(0));
        assert!(counts.max() > Some(30));
    }

    #[test]
    fn no_bytes_still_give_values() {
        let none = &mut Unstructured::new(&[]);
        assert_eq!(ShardToken::arbitrary(none).unwrap().expose(), "!");
        assert_eq!(CapabilitySet::arbitrary(none).unwrap().names().count(), 0);
        assert_eq!(
            Revision::arbitrary(none).unwrap(),
            Revision::new(0).unwrap()
        );
    }
}
