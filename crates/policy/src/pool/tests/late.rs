//! What was dealt waits for no longer than is promised.

use super::leaving::{Box, end_by, leave, run};
use super::short::{RAN, two_hands};
use super::*;
use crate::pool::brief::{LATE, WAITS, WAITS_AT_MOST};
use crate::pool::dealt::MOST_DEALT;
use crate::time::MICROSECOND;

/// The two workers of `two_hands`.
fn both(rig: &Rig) -> [WorkerId; 2] {
    [rig.running()[0].1, rig.running()[1].1]
}

/// Both have waited for the lock so long, again and again, and are dealt items after that.
fn hands_after(wait: u64) -> (Rig, Box) {
    let (mut rig, mut inbox) = two_hands();
    (0..100).for_each(|_| rig.pools[0].waited(wait));
    for _ in 0..8 {
        for id in both(&rig) {
            leave(&mut rig, &mut inbox, MOST_DEALT);
            while inbox.dealt_to(id) > 0 {
                rig.advance(RAN);
                end_by(&mut rig, &mut inbox, id, RAN);
            }
            end_by(&mut rig, &mut inbox, id, RAN);
            run(&mut rig, &mut inbox);
        }
    }
    (rig, inbox)
}

/// How long what one of them was dealt waits, while that is at an item that does not end and the
/// other asks again and again; and how long its items take, all together.
fn late(rig: &mut Rig, inbox: &mut Box) -> (u64, u64) {
    let [long, other] = both(rig);
    let behind: Vec<usize> = inbox.plain.not_begun().map(|item| item.work).collect();
    let behind = &behind[..inbox.dealt_to(long)];
    assert!(!behind.is_empty());
    let from = rig.now;
    let begun = |rig: &Rig| behind.iter().all(|work| rig.started.contains(work));
    while !begun(rig) && rig.now.since(from) < 40 * LATE {
        leave(rig, inbox, 1);
        rig.advance(RAN);
        assert!(end_by(rig, inbox, other, RAN));
    }
    (rig.now.since(from), RAN * (behind.len() as u64 + 1))
}

#[test]
fn what_was_dealt_behind_an_item_that_is_not_short_begins_in_time() {
    let (mut rig, mut inbox) = two_hands();
    let (late, all_of_them) = late(&mut rig, &mut inbox);
    // Nobody looks for longer than that, and nobody asks for as long.
    assert!(late <= WAITS + 2 * LATE + all_of_them, "{late}");
}

#[test]
fn where_workers_wait_for_the_lock_it_begins_in_time_too() {
    let (mut rig, mut inbox) = hands_after(31 * MICROSECOND);
    let (late, all_of_them) = late(&mut rig, &mut inbox);
    // The other one goes on by itself for as long as what was dealt may wait.
    assert!(late <= 2 * WAITS_AT_MOST + 2 * LATE + all_of_them, "{late}");
}
