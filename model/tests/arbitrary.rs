//! The generators of the fuzz targets serve property tests too: bytes that proptest draws and shrinks
//! become the same values that a fuzzer draws from its own.

use arbitrary::{Arbitrary, Unstructured};
use moorline_model::placement::{Correction, Outcome, Placement, check, check_attempt};
use moorline_model::wire::{CapabilitySet, Revision, ShardToken, parse_correction};
use proptest::prelude::*;

/// Any value that can be drawn from bytes. Bytes that give none are drawn again.
fn drawn<T: for<'a> Arbitrary<'a> + std::fmt::Debug>(bytes_max: usize) -> impl Strategy<Value = T> {
    prop::collection::vec(any::<u8>(), 0..=bytes_max).prop_filter_map("too few bytes", |bytes| {
        T::arbitrary(&mut Unstructured::new(&bytes)).ok()
    })
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_written_correction_is_read_again(correction in drawn::<Correction<Revision, ShardToken>>(64)) {
        let Correction { revision, token } = &correction;
        let body = format!(r#"{{"error":{{"code":"wrong_cluster","policy_revision":{revision}}}}}"#);
        let lines = [token.expose().as_bytes()];
        prop_assert_eq!(parse_correction(body.as_bytes(), lines), Ok(correction.clone()));
    }

    #[test]
    fn a_written_set_is_read_again(set in drawn::<CapabilitySet>(512)) {
        let value = set.header_value();
        prop_assert_eq!(CapabilitySet::parse([value.as_bytes()]), Ok(set));
    }

    #[test]
    fn invariants_hold_after_every_outcome(outcomes in drawn::<Vec<Outcome<Revision, ShardToken>>>(512)) {
        let mut placement = Placement::new();
        let mut early = placement.snapshot();
        for (index, outcome) in outcomes.into_iter().enumerate() {
            let next = placement.snapshot();
            // Every other result comes one poll late.
            let attempt = if index % 2 == 0 { next } else { std::mem::replace(&mut early, next) };
            placement.commit(attempt, outcome);
            prop_assert_eq!(check(&placement), Ok(()));
            prop_assert_eq!(check_attempt(&placement, &early), Ok(()));
        }
    }
}
