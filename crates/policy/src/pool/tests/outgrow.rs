//! Limits that nobody has chosen.

use super::contract::OnRig;
use super::*;
use crate::contract;
use crate::pool::{PATIENCE, Stuck, most_threads};

/// A pool of one thread, a number that nobody has chosen, and items that wait for each other.
fn one_thread() -> Rig {
    let attrs = PoolAttrs {
        thread_limit: 1,
        thread_most: 3,
        ..attrs(1)
    };
    let mut rig = Rig::one(attrs, 10);
    rig.queue_and_run(3, 0);
    rig
}

fn outgrow(rig: &mut Rig, most: u32) -> Option<(u32, u32)> {
    let raised = rig.call(0, |core, cx| core.outgrow_threads(cx, most));
    rig.run();
    raised
}

#[test]
fn threads_that_stand_still_get_company_and_their_waits_are_not_refused() {
    let mut rig = one_thread();
    rig.wait(0, 0).expect("there will be another thread");
    rig.run();
    assert_eq!(rig.executing(), [0]);
    rig.advance(PATIENCE - 1);
    assert_eq!(outgrow(&mut rig, 100), None, "not yet");
    rig.advance(1);
    assert_eq!(outgrow(&mut rig, 100), Some((1, 2)));
    assert_eq!(rig.executing(), [0, 1]);
    rig.wait(1, 0).expect("and yet another one");
    rig.advance(PATIENCE);
    assert_eq!(outgrow(&mut rig, 100), Some((2, 3)));
    // Growth wants to know first what the others wait for.
    rig.tick(|_| SeenState::Asleep(None));
    rig.run();
    assert_eq!(rig.executing(), [0, 1, 2]);
}

#[test]
fn where_there_is_no_room_or_no_thread_can_be_made_a_wait_fails() {
    let mut rig = one_thread();
    rig.wait(0, 0).expect("there will be another thread");
    rig.advance(PATIENCE);
    assert_eq!(outgrow(&mut rig, 1), None);
    let failed = |rig: &Rig| {
        let fails = |said: &&(usize, Action<usize>)| matches!(said.1, Action::FailWait(_));
        rig.said.iter().filter(fails).count()
    };
    assert_eq!(failed(&rig), 1);
    let mut rig = one_thread();
    rig.spawns_fail = true;
    rig.wait(0, 0).expect("there will be another thread");
    rig.advance(PATIENCE);
    assert_eq!(outgrow(&mut rig, 100), Some((1, 2)));
    assert_eq!(failed(&rig), 1, "there was none");
    assert_eq!(rig.wait(0, 0), Err(Stuck));
}

/// Raises the limit of queue 0, if that is to be.
fn raise(machine: &OnRig, most: u32) -> Option<(u32, u32)> {
    let mut cursor = 0;
    let pwq = machine.rig(|rig| rig.call(0, |core, cx| core.next_at_dfl(cx, &mut cursor)))?;
    let raised = contract::outgrow(machine, 0, pwq, || most);
    machine.rig(|rig| {
        rig.store.pwqs[pwq].holds -= 1;
        rig.run();
    });
    raised.map(|raised| (raised.from, raised.to))
}

/// A queue of two slots, both held, for which three more items wait.
fn two_slots(chosen: bool) -> OnRig {
    let machine = OnRig::with_limit(1, 2, !chosen);
    machine.rig(|rig| {
        rig.queue_and_run(5, 0);
        rig.scan(0, |_| SeenState::Asleep(None));
        rig.run();
        assert_eq!(rig.executing(), [0, 1]);
        rig.advance(PATIENCE);
    });
    machine
}

#[test]
fn a_limit_under_which_nothing_moves_is_doubled_until_something_does() {
    let machine = two_slots(false);
    assert_eq!(raise(&machine, 100), Some((2, 4)));
    assert_eq!(raise(&machine, 100), None, "these have just begun");
    machine.rig(|rig| {
        rig.scan(0, |_| SeenState::Asleep(None));
        rig.run();
        rig.advance(PATIENCE - 1);
        rig.end_and_run(0, ItemReport::default());
        rig.advance(1);
    });
    assert_eq!(
        raise(&machine, 100),
        None,
        "one has ended, and nobody waits"
    );
}

#[test]
fn a_limit_that_was_chosen_or_for_which_there_is_no_room_stays() {
    assert_eq!(raise(&two_slots(true), 100), None);
    let machine = two_slots(false);
    contract::set_max_active(&machine, 0, 2);
    assert_eq!(raise(&machine, 100), None, "it was chosen just now");
    let machine = two_slots(false);
    assert_eq!(raise(&machine, 2), None);
    assert_eq!(raise(&machine, 100), None, "which is the last word");
    let machine = two_slots(false);
    contract::freeze(&machine, 0);
    assert_eq!(raise(&machine, 100), None);
    contract::thaw(&machine, 0);
    assert_eq!(raise(&machine, 100), Some((2, 4)));
}

#[test]
fn a_system_has_room_for_what_its_memory_and_its_limits_allow() {
    assert_eq!(most_threads(10, None, None), u32::MAX);
    assert_eq!(most_threads(10, Some(1 << 20), None), 18);
    assert_eq!(most_threads(10, Some(1 << 40), Some(500)), 500);
    assert_eq!(most_threads(10, Some(0), Some(500)), 10);
}
