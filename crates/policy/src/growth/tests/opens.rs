//! What is no convoy, because its crowds go on all at once.

use super::*;

/// Of those who waited, so many go on, and the others wait.
fn going_on(left: u32, stayed: u32) -> Look {
    Look {
        left,
        stayed,
        ..at_lock(stayed, left + stayed)
    }
}

/// A pool of two CPUs in which such looks have seen a convoy, if it is one.
fn convoy_after(look: Look, busy: u32) -> Crowd {
    let mut crowd = Crowd::default();
    crowd.looked(ms(0), at_lock(busy, busy), 2);
    crowd.looked(ms(1), look, 2);
    for at in 1..4 {
        crowd.completed(ms(4 * at));
        crowd.looked(ms(4 * at), at_lock(busy - 2, busy), 2);
    }
    crowd
}

/// Those of one group end while those of the next arrive.
#[test]
fn what_opens_to_all_at_once_is_no_convoy() {
    assert!(convoy_after(going_on(2, 0), 20).has_hold());
    assert!(convoy_after(going_on(10, 10), 20).has_hold());
    assert!(!convoy_after(going_on(11, 10), 20).has_hold());
    assert!(!convoy_after(going_on(3, 0), 20).has_hold());
}

#[test]
fn what_was_no_crowd_has_not_opened() {
    let mut crowd = convoy_after(going_on(0, 9), 20);
    assert!(crowd.has_hold());
    crowd.looked(ms(20), sleepers(20), 2);
    crowd.looked(ms(24), going_on(11, 10), 2);
    assert!(crowd.has_hold());
}

#[test]
fn a_convoy_that_opens_to_all_at_once_is_let_go() {
    // As many as there are CPUs may have had the lock.
    for (left, is_let_go) in [(96, false), (97, true)] {
        let (mut crowd, now) = settled(40);
        crowd.looked(now, going_on(left, 0), 96);
        assert_eq!(!crowd.has_hold(), is_let_go);
    }
}

#[test]
fn where_one_goes_on_after_the_other_it_is_a_convoy_again() {
    let mut crowd = convoy_after(going_on(11, 10), 20);
    let stays = |stayed| Look {
        stayed,
        ..at_lock(18, 20)
    };
    crowd.looked(ms(16), stays(18), 2);
    assert!(!crowd.has_hold(), "nobody has gone on");
    crowd.passed(ms(17));
    crowd.looked(ms(20), stays(0), 2);
    assert!(!crowd.has_hold(), "nobody has stayed");
    for at in 21..24 {
        crowd.passed(ms(at));
        crowd.completed(ms(at));
        crowd.looked(ms(at), stays(16), 2);
    }
    assert!(crowd.has_hold());
}

/// A lock that is faster than the looks: whoever was seen there has ended its item meanwhile.
#[test]
fn that_a_crowd_has_opened_is_forgotten_when_many_items_have_ended() {
    let mut crowd = convoy_after(going_on(11, 10), 20);
    let mut now = ms(16);
    let mut ended = 3;
    while !crowd.has_hold() {
        now = now.after(4 * MILLISECOND);
        for _ in 0..16 {
            crowd.passed(now);
            crowd.completed(now);
        }
        ended += 16;
        crowd.looked(now, at_lock(18, 20), 2);
        assert!(ended < 2 * 11 * OPENS_VALID, "it is a convoy");
    }
    assert!(ended >= 11 * OPENS_VALID, "perhaps a barrier: {ended}");
}
