//! Items that wait for a slot while nothing moves, and what is no starvation.

use super::contract::OnRig;
use super::*;
use crate::Nanos;
use crate::contract::{self, Starvation, Witness};
use crate::pool::{Holder, HolderIs, may_starve};
use crate::time::SECOND;
use crate::watchdog::THRESHOLD;
use crate::worker::Wait;

const DONE: ItemReport = ItemReport {
    ran: None,
    slept: None,
    waited: None,
    foreign: false,
    lingered: false,
};

/// Queue 0 has this limit and a pwq in each pool; they are numbered 0, then from `pools` on.
fn machine(pools: usize, max_active: u32) -> (OnRig, Vec<usize>) {
    let machine = OnRig::new(pools);
    contract::set_max_active(&machine, 0, max_active);
    let mut pwqs = std::vec![0];
    for pool in 1..pools {
        let sibling = machine.rig(|rig| rig.sibling(0, pool));
        machine.queues[0].borrow_mut().add(sibling);
        pwqs.push(sibling);
    }
    (machine, pwqs)
}

/// Sees which items wait for others, and which are slow; of the rest that they wait for a thread.
#[derive(Default)]
struct Sees {
    awaiting: Vec<usize>,
    slow: Vec<usize>,
}

impl Witness<usize> for Sees {
    type Told = usize;

    fn tell(&self, holder: &Holder<usize>) -> usize {
        (holder.item.key.addr / 64 - 1) as usize
    }
    fn awaits_item(&self, told: &usize) -> bool {
        self.awaiting.contains(told)
    }
    fn look(&self, told: &usize) -> HolderIs {
        match self.slow.contains(told) {
            true => HolderIs::Slow,
            false => HolderIs::AwaitsThread,
        }
    }
}

/// What is said now: the pwq that waits, and the items that hold slots.
fn looks(machine: &OnRig) -> Vec<(usize, Starvation<usize>)> {
    seen(machine, &Sees::default())
}

/// The same, where this is seen.
fn seen(machine: &OnRig, sees: &Sees) -> Vec<(usize, Starvation<usize>)> {
    let mut said = Vec::new();
    let pools = machine.rig(|rig| rig.pools.len());
    for pool in 0..pools {
        let mut cursor = 0;
        let mut next = || {
            machine.rig(|rig| rig.call(pool, |p, cx| p.next_starving(cx, &mut cursor, THRESHOLD)))
        };
        while let Some(pwq) = next() {
            let queue = machine.rig(|rig| {
                rig.store.pwqs[pwq].holds -= 1;
                rig.store.pwqs[pwq].queue
            });
            let found = contract::starving(machine, queue, pwq, THRESHOLD, sees);
            said.extend(found.map(|found| (pwq, found)));
        }
    }
    said
}

fn pass(machine: &OnRig, nanos: Nanos) {
    machine.rig(|rig| rig.advance(nanos));
}

fn run(machine: &OnRig, count: usize, pwq: usize) -> Vec<usize> {
    machine.rig(|rig| rig.queue_and_run(count, pwq))
}

/// Blocks what runs, so that all that have a slot can begin.
fn all_block(machine: &OnRig) {
    machine.rig(|rig| {
        for pool in 0..rig.pools.len() {
            rig.tick(|_| SeenState::Asleep(None));
            rig.scan(pool, |_| SeenState::Asleep(None));
            rig.run();
        }
    });
}

fn due(machine: &OnRig, pool: usize) -> Time {
    machine.rig(|rig| rig.call(pool, |p, cx| p.starvation_due(cx, THRESHOLD)))
}

const NEVER: Time = Time(Nanos::MAX);

#[test]
fn a_chain_longer_than_the_limit_is_said_once_with_its_links() {
    let (machine, _) = machine(1, 2);
    assert_eq!(due(&machine, 0), NEVER);
    let items = run(&machine, 5, 0);
    assert_eq!(due(&machine, 0), Time(THRESHOLD));
    pass(&machine, 29 * SECOND);
    assert_eq!(looks(&machine), []);
    pass(&machine, SECOND);
    let said = looks(&machine);
    let (pwq, found) = &said[0];
    assert_eq!((said.len(), *pwq), (1, 0));
    assert_eq!(found.stood, THRESHOLD);
    assert_eq!(found.holders, items[..2]);
    assert_eq!(found.first.addr, 64 * (1 + items[2] as u64));
    assert_eq!(
        (found.nr_active, found.max_active, found.nr_inactive),
        (2, 2, 3)
    );
    assert_eq!(due(&machine, 0), NEVER);
    pass(&machine, 1000 * SECOND);
    assert_eq!(looks(&machine), []);
    // It moves, and then stands still again: that is another one.
    machine.rig(|rig| rig.end_and_run(items[1], DONE));
    pass(&machine, 29 * SECOND);
    assert_eq!(looks(&machine), []);
    pass(&machine, SECOND);
    let again = looks(&machine);
    assert_eq!(again[0].1.holders, [items[0], items[2]]);
}

/// A queue whose items are longer than the threshold is only slow: as long as one of those that
/// have a slot is seen to go on by itself, and none waits for an item.
#[test]
fn behind_who_is_slow_nobody_starves() {
    let (machine, _) = machine(1, 2);
    let items = run(&machine, 5, 0);
    all_block(&machine);
    pass(&machine, 30 * SECOND);
    let slow = |slow: &[usize]| Sees {
        slow: slow.to_vec(),
        ..Sees::default()
    };
    for _ in 0..3 {
        assert_eq!(seen(&machine, &slow(&items[..2])), []);
        assert_eq!(seen(&machine, &slow(&items[1..2])), [], "not asked yet");
        pass(&machine, 30 * SECOND);
        assert_eq!(seen(&machine, &slow(&items[1..2])), [], "one is enough");
        pass(&machine, 30 * SECOND);
    }
    // The one that was slow waits for another thread as well now, or for an item.
    let (awaiting, slow) = (items[..1].to_vec(), items[1..2].to_vec());
    let said = seen(&machine, &Sees { awaiting, slow });
    assert_eq!(said.len(), 1);
    assert_eq!((said[0].1.stood / SECOND, said[0].1.nr_active), (210, 2));
    pass(&machine, 1000 * SECOND);
    assert_eq!(looks(&machine), [], "said");
}

#[test]
fn where_all_wait_for_a_thread_they_may_starve() {
    use HolderIs::{AwaitsItem, AwaitsThread, Slow};
    let starve = |all: &[HolderIs]| may_starve(all, |told| *told == AwaitsItem, |told| *told);
    assert!(starve(&[AwaitsThread, AwaitsThread]) && starve(&[Slow, AwaitsItem]) && starve(&[]));
    assert!(!starve(&[AwaitsThread, Slow]) && !starve(&[Slow]));
    // Nobody looks further than it takes.
    let looked = core::cell::Cell::new(0);
    let look = |told: &HolderIs| {
        looked.set(looked.get() + 1);
        *told
    };
    assert!(may_starve(
        &[Slow, AwaitsItem],
        |told| *told == AwaitsItem,
        look
    ));
    assert!(!may_starve(&[Slow, AwaitsThread], |_| false, look));
    assert_eq!(looked.get(), 1);
}

#[test]
fn what_moves_slowly_does_not_starve() {
    let (machine, _) = machine(1, 1);
    let items = run(&machine, 6, 0);
    for &item in &items {
        pass(&machine, 29 * SECOND);
        assert_eq!(looks(&machine), []);
        machine.rig(|rig| rig.end_and_run(item, DONE));
    }
    assert_eq!(due(&machine, 0), NEVER);
}

#[test]
fn an_item_of_another_pool_that_ends_is_progress() {
    let (machine, pwqs) = machine(2, 1);
    let items = run(&machine, 3, 0);
    let other = run(&machine, 1, pwqs[1])[0];
    for item in [items[0], items[1], other] {
        pass(&machine, 29 * SECOND);
        assert_eq!(looks(&machine), [], "the other pool waits longer than 30 s");
        machine.rig(|rig| rig.end_and_run(item, DONE));
    }
}

#[test]
fn an_end_that_gives_nobody_a_slot_is_progress() {
    let (machine, _) = machine(1, 3);
    let items = run(&machine, 5, 0);
    all_block(&machine);
    contract::set_max_active(&machine, 0, 1);
    pass(&machine, 20 * SECOND);
    machine.rig(|rig| rig.end_and_run(items[0], DONE));
    pass(&machine, 20 * SECOND);
    assert_eq!(looks(&machine), []);
    pass(&machine, 10 * SECOND);
    assert_eq!(looks(&machine).len(), 1);
}

#[test]
fn of_several_pools_one_says_it() {
    let (machine, pwqs) = machine(3, 2);
    let first = run(&machine, 1, pwqs[0]);
    let second = run(&machine, 2, pwqs[1]);
    pass(&machine, SECOND);
    run(&machine, 1, pwqs[2]);
    all_block(&machine);
    pass(&machine, 40 * SECOND);
    let said = looks(&machine);
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(said[0].1.holders, [first[0], second[0]]);
    assert_eq!((said[0].1.nr_active, said[0].1.nr_inactive), (2, 2));
    pass(&machine, 40 * SECOND);
    assert_eq!(looks(&machine), []);
    // Who joins later waits for the same.
    run(&machine, 1, pwqs[0]);
    pass(&machine, 40 * SECOND);
    assert_eq!(looks(&machine), []);
}

#[test]
fn a_frozen_queue_does_not_starve() {
    let (machine, _) = machine(1, 1);
    let items = run(&machine, 2, 0);
    contract::freeze(&machine, 0);
    assert_eq!(due(&machine, 0), NEVER);
    pass(&machine, 100 * SECOND);
    assert_eq!(looks(&machine), []);
    contract::thaw(&machine, 0);
    assert_eq!(looks(&machine)[0].1.holders, [items[0]]);
}

#[test]
fn items_with_a_slot_that_wait_for_a_worker_are_the_other_watchdogs() {
    let (machine, _) = machine(1, 3);
    run(&machine, 5, 0);
    // Two run, one more has a slot.
    pass(&machine, 100 * SECOND);
    assert_eq!(looks(&machine), []);
    let stalled = |machine: &OnRig| {
        machine.rig(|rig| rig.call(0, |p, cx| p.stalled(cx, THRESHOLD)).is_some())
    };
    assert!(stalled(&machine));
    all_block(&machine);
    pass(&machine, 30 * SECOND);
    assert_eq!(looks(&machine)[0].1.holders.len(), 3);
    assert!(!stalled(&machine), "its worklist is empty");
}

#[test]
fn a_plugged_queue_starves_behind_its_older_items() {
    let mut rig = Rig::new([attrs(2), attrs(2)]);
    let old = rig.ordered(0);
    let long = rig.queue_and_run(1, old)[0];
    rig.replace(0, 1);
    let new = rig.store.pwqs.len() - 1;
    let waits = rig.queue_and_run(1, new)[0];
    assert!(rig.store.pwqs[new].state.is_plugged());
    rig.advance(30 * SECOND);
    let seen = [(0, old), (1, new)];
    let seen = seen.map(|(pool, pwq)| rig.call(pool, |p, cx| p.slots_seen(cx, pwq)));
    let seen = seen[0].and(seen[1]);
    let stood = rig.call(1, |p, cx| p.starves(cx, new, &seen, THRESHOLD));
    assert_eq!(stood, Some(THRESHOLD));
    let holders: Vec<_> = rig.pools[0].holders(old).collect();
    assert_eq!(holders[0].item.key, rig.store.items[long].key);
    let first = rig.call(1, |p, cx| p.first_waiting(cx, new));
    assert_eq!(first, Some(rig.store.items[waits].key));
}

#[test]
fn time_that_nobody_has_seen_does_not_count() {
    let (machine, _) = machine(1, 1);
    run(&machine, 2, 0);
    pass(&machine, 3600 * SECOND);
    machine.rig(|rig| rig.call(0, |p, cx| p.clock_was_away(cx, 3600 * SECOND)));
    assert_eq!(looks(&machine), []);
    pass(&machine, 30 * SECOND);
    assert_eq!(looks(&machine).len(), 1);
    // What was said stays said.
    pass(&machine, 3600 * SECOND);
    machine.rig(|rig| rig.call(0, |p, cx| p.clock_was_away(cx, 3600 * SECOND)));
    pass(&machine, 100 * SECOND);
    assert_eq!(looks(&machine), []);
}

#[test]
fn a_holder_says_what_it_waits_for() {
    let mut rig = Rig::one(attrs(2), 2);
    let other = rig.pwq(0, 1);
    let waiter = rig.queue_and_run(1, 0)[0];
    let (_, id) = rig.who(waiter).unwrap();
    let holder = |rig: &Rig| rig.pools[0].holders(0).next().expect("it runs");
    assert_eq!(holder(&rig).awaits, None);
    rig.call(0, |p, cx| p.wait_begin(cx, id, Wait::Items(other)))
        .unwrap();
    assert_eq!(
        (holder(&rig).worker, holder(&rig).awaits),
        (id, Some(other))
    );
}

#[test]
fn a_cancelled_first_one_is_progress_and_a_later_one_is_not() {
    let (machine, _) = machine(1, 1);
    let items = run(&machine, 4, 0);
    pass(&machine, 20 * SECOND);
    assert!(machine.rig(|rig| rig.cancel(items[2])));
    pass(&machine, 9 * SECOND);
    assert!(machine.rig(|rig| rig.cancel(items[1])));
    pass(&machine, SECOND);
    assert_eq!(looks(&machine), []);
    pass(&machine, 29 * SECOND);
    assert_eq!(looks(&machine).len(), 1);
    assert!(machine.rig(|rig| rig.cancel(items[3])));
    assert_eq!(due(&machine, 0), NEVER);
}
