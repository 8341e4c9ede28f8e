//! Recovery and its complement on the shipped step. K = 4 is left to the program's `check`.

use moorline_model::placement::Outcome;
use moorline_proofs::explorer::explore;
use moorline_proofs::recovery::{
    blocked_closed, bound, greatest_blocks, inductive, rank_falls, worst,
};
use moorline_proofs::step::Shipped;
use moorline_proofs::system::{Action, Bounds, System};
use moorline_proofs::two_clients::two_clients;

// spec-test: PLC-9, PLC-10, PLC-15
#[test]
fn the_longest_way_back_is_three_polls_for_each_request_in_flight() {
    // In-flight requests, steps of cooperative services, steps of blocked clients, states.
    for (in_flight, ranked, blocked, cases) in [
        (1, 1_976, 3_375, 1_976),
        (2, 31_648, 68_022, 15_824),
        (3, 298_032, 684_855, 99_344),
    ] {
        let system = System::new(Shipped, Bounds::plain(in_flight, 3, 3)).unwrap();
        let reachable = explore(&system).unwrap();
        let rank = rank_falls(&system, &reachable);
        assert_eq!((rank.cases, rank.broken), (ranked, None));
        let stays = blocked_closed(&system, &reachable);
        assert_eq!((stays.cases, stays.broken), (blocked, None));
        let worst = worst(&system, &reachable);
        assert_eq!((worst.cases, worst.broken), (cases, None));
        assert_eq!(
            (worst.newer, worst.equal),
            (bound(in_flight), bound(in_flight))
        );

        // The witness is what it says: so many polls complete after the turn, the last with a
        // success.
        let after_the_turn = &worst.witness.actions[worst.turns..];
        let ends: Vec<_> = after_the_turn
            .iter()
            .filter_map(|action| match action {
                Action::End(_, outcome) => Some(*outcome == Outcome::Success),
                Action::Begin(_) => None,
            })
            .collect();
        assert_eq!(ends.len(), bound(in_flight));
        assert_eq!(
            ends.iter().position(|success| *success),
            Some(ends.len() - 1)
        );
    }
}

// spec-test: PLC-9, PLC-10, PLC-11, PLC-12, PLC-15
#[test]
fn rank_and_blocking_hold_for_all_data() {
    let found = inductive(&Shipped).unwrap();
    assert_eq!((found.rank.cases, found.rank.broken), (9_536, None));
    assert_eq!((found.blocked.cases, found.blocked.broken), (1_440, None));
}

#[test]
fn one_correction_at_the_greatest_revision_blocks_until_restart() {
    let found = greatest_blocks(&Shipped);
    assert_eq!((found.cases, found.broken), (10_004, None));
}

#[test]
fn two_clients_do_together_what_each_does_alone() {
    let found = two_clients(&Shipped).unwrap();
    assert_eq!(found.broken, None);
    assert_eq!((found.alone, found.together), (218, 218 * 218));
    assert_eq!(found.compared, 2_328_676);
}
