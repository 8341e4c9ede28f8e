//! Both explorers count the same, and what is pinned. The two largest systems are left to the
//! program's `check`: they take too long for a test.

use moorline_proofs::check::{SYSTEMS, search_and_agree};
use moorline_proofs::step::Shipped;

#[test]
fn both_explorers_agree_with_the_pinned_counts() {
    let mut searched = 0;
    for pinned in SYSTEMS.iter().filter(|pinned| pinned.states < 100_000) {
        let agree = search_and_agree(&Shipped, pinned).unwrap();
        assert!(agree, "{}", pinned.bounds);
        searched += 1;
    }
    assert_eq!((searched, SYSTEMS.len()), (7, 9));
}

#[test]
fn a_wrong_pin_is_noticed() {
    let mut wrong = SYSTEMS[1];
    wrong.transitions += 1;
    assert_eq!(search_and_agree(&Shipped, &wrong), Ok(false));
}
