//! Items that wait for each other in a circle, over pools and queues.

use std::collections::BTreeSet;

use super::contract::OnRig;
use super::*;
use crate::contract::{self, Machine, Node, Target, Until, WaitGraph};
use crate::pool::Stuck;

/// A machine whose queues are each in a pool of its number, and who waits for whom.
pub(super) struct World {
    pub(super) machine: OnRig,
    pub(super) graph: WaitGraph<OnRig>,
}

impl World {
    pub(super) fn new(pools: usize) -> World {
        World {
            machine: OnRig::new(pools),
            graph: WaitGraph::default(),
        }
    }

    /// A new item that is executed in this pool, or waits there for a slot.
    pub(super) fn item(&self, pool: usize) -> usize {
        let work = self.machine.rig(|rig| rig.item());
        self.queue(work, pool);
        work
    }

    fn queue(&self, work: usize, pool: usize) {
        contract::queue(&self.machine, pool, None, work).expect("it is not pending");
        self.machine.rig(|rig| {
            rig.run();
            // All others sleep.
            rig.scan(pool, |_| SeenState::Asleep(None));
            rig.run();
        });
    }

    pub(super) fn end(&mut self, work: usize) {
        self.leave(work);
        self.machine
            .rig(|rig| rig.end_and_run(work, ItemReport::default()));
    }

    pub(super) fn node(&self, work: usize) -> Node {
        let (pool, worker) = self.machine.rig(|rig| rig.who(work)).expect("it runs");
        let pool = pool as u32;
        Node { pool, worker }
    }

    fn begin_all(&mut self, nodes: &[Node], targets: &[Target<OnRig>]) -> Result<(), Stuck> {
        self.graph.begin(&self.machine, nodes, Until::All, targets)
    }

    fn begin(&mut self, work: usize, target: Target<OnRig>) -> Result<(), Stuck> {
        let node = self.node(work);
        self.begin_all(&[node], &[target])
    }

    fn leave(&mut self, work: usize) {
        let node = self.node(work);
        self.graph.end(&[node]);
    }

    pub(super) fn joins(&mut self, work: usize, awaited: usize) -> Result<(), Stuck> {
        self.begin(work, Target::Item(awaited))
    }

    /// Waits for the last instance of an item.
    pub(super) fn flushes(&mut self, work: usize, item: usize) -> Result<(), Stuck> {
        let barrier = self
            .machine
            .rig(|rig| rig.barrier(item))
            .expect("it is there");
        self.begin(work, Target::Barrier { barrier, item })
    }

    fn flushes_queue(&mut self, work: usize, queue: usize) -> Result<(), Stuck> {
        let part = contract::begin_flush(&self.machine, queue)[0];
        self.begin(work, Target::Flush(part))
    }
}

#[test]
fn a_circle_over_pools_is_refused_where_it_closes() {
    for length in 2..5 {
        let mut world = World::new(length);
        let items: Vec<usize> = (0..length).map(|pool| world.item(pool)).collect();
        for at in 1..length {
            assert_eq!(world.joins(items[at - 1], items[at]), Ok(()));
        }
        assert_eq!(world.flushes(items[length - 1], items[0]), Err(Stuck));
        world.end(items[length - 1]);
        assert_eq!(
            world.joins(items[0], items[length - 1]),
            Ok(()),
            "it has ended"
        );
    }
}

#[test]
fn a_chain_is_no_circle() {
    let mut world = World::new(3);
    let items: Vec<usize> = (0..3).map(|pool| world.item(pool)).collect();
    assert_eq!(world.flushes(items[0], items[2]), Ok(()));
    assert_eq!(world.flushes(items[1], items[2]), Ok(()));
    let other = world.item(0);
    assert_eq!(world.flushes(other, items[1]), Ok(()));
    assert_eq!(world.flushes(items[2], other), Err(Stuck));
}

#[test]
fn who_flushes_a_queue_waits_for_what_was_queued_before_only() {
    let mut world = World::new(2);
    let (x, y) = (world.item(0), world.item(1));
    assert_eq!(world.flushes_queue(x, 1), Ok(()));
    let late = world.item(1);
    assert_eq!(
        world.flushes(late, x),
        Ok(()),
        "the flush does not wait for it"
    );
    assert_eq!(world.flushes(y, x), Err(Stuck));
    assert_eq!(world.flushes_queue(y, 0), Err(Stuck));
}

#[test]
fn an_item_that_goes_behind_its_own_execution_waits_for_that() {
    let mut world = World::new(2);
    let (x, y) = (world.item(0), world.item(1));
    // Its next instance is pending, in its own pool and then in the other one.
    for pool in [0, 1] {
        world.queue(x, pool);
        assert_eq!(world.flushes(y, x), Ok(()));
        assert_eq!(world.flushes(x, y), Err(Stuck), "{pool}");
        world.leave(y);
        assert!(contract::cancel(&world.machine, x));
    }
}

#[test]
fn who_needs_a_slot_waits_for_those_that_hold_them_all() {
    let mut world = World::new(2);
    contract::set_max_active(&world.machine, 1, 2);
    let x = world.item(0);
    let holders = [world.item(1), world.item(1)];
    let waits = world.item(1);
    assert_eq!(world.flushes(holders[0], x), Ok(()));
    assert_eq!(world.flushes(x, waits), Ok(()), "the other one may end");
    assert_eq!(world.joins(holders[1], x), Err(Stuck));
    world.leave(x);
    assert_eq!(world.joins(holders[1], x), Ok(()));
    assert_eq!(world.joins(x, waits), Err(Stuck));
    contract::freeze(&world.machine, 1);
    assert_eq!(world.joins(x, waits), Ok(()), "somebody thaws it");
    world.leave(x);
    contract::thaw(&world.machine, 1);
    contract::set_max_active(&world.machine, 1, 3);
    assert_eq!(world.joins(x, waits), Ok(()), "it has a slot");
}

#[test]
fn who_needs_the_end_of_older_ones_of_an_ordered_queue_waits_for_these() {
    let mut world = World::new(3);
    let (x, older, stranger) = (world.item(0), world.item(1), world.item(2));
    let waits = world.machine.rig(|rig| {
        rig.queues[1].ordered = true;
        rig.replace(1, 2);
        let new = rig.store.pwqs.len() - 1;
        rig.queue_and_run(1, new)[0]
    });
    assert_eq!(world.joins(x, waits), Ok(()), "the older one may end");
    assert_eq!(world.joins(stranger, x), Ok(()), "it is of another queue");
    world.leave(stranger);
    assert_eq!(world.joins(older, x), Err(Stuck));
    world.leave(x);
    assert_eq!(world.joins(older, x), Ok(()));
    assert_eq!(world.flushes(x, waits), Err(Stuck));
    world.end(older);
    assert_eq!(world.joins(x, waits), Ok(()), "it has begun");
}

#[test]
fn a_barrier_whose_item_was_taken_back_and_queued_again_waits_for_nothing() {
    let mut world = World::new(2);
    contract::set_max_active(&world.machine, 1, 1);
    let (x, holder) = (world.item(0), world.item(1));
    let item = world.item(1);
    let barrier = world
        .machine
        .rig(|rig| rig.barrier(item))
        .expect("it waits");
    assert!(contract::cancel(&world.machine, item));
    contract::queue(&world.machine, 1, None, item).expect("it was taken back");
    assert_eq!(world.joins(holder, x), Ok(()));
    assert_eq!(world.begin(x, Target::Barrier { barrier, item }), Ok(()));
}

#[test]
fn a_limit_that_nobody_chose_is_no_reason_to_refuse() {
    let mut world = World::new(2);
    contract::set_max_active(&world.machine, 1, 1);
    let (x, holder) = (world.item(0), world.item(1));
    let waits = world.item(1);
    assert_eq!(world.flushes(holder, x), Ok(()));
    world
        .machine
        .rig(|rig| rig.call(1, |core, cx| core.let_limit_rise(cx, 1, true)));
    assert_eq!(world.joins(x, waits), Ok(()));
}

#[test]
fn a_group_is_waited_for_with_those_that_joined_it_since() {
    let mut world = World::new(2);
    contract::set_max_active(&world.machine, 0, 2);
    let (owner, first) = (world.item(0), world.item(0));
    world.machine.groups.borrow_mut().push([first].into());
    assert_eq!(world.begin(owner, Target::Group(0)), Ok(()));
    let other = world.item(1);
    let (later, last) = (world.item(0), world.item(0));
    world.machine.groups.borrow_mut()[0].push(last);
    // The later one has the slot that is free now, and none is left for the last one.
    world.end(first);
    world.machine.groups.borrow_mut()[0].retain(|work| *work != first);
    assert_eq!(world.joins(other, last), Ok(()), "the later one may end");
    assert_eq!(world.joins(later, other), Err(Stuck));
    world.machine.groups.borrow_mut()[0].clear();
    assert_eq!(world.joins(later, other), Ok(()), "the owner goes on");
}

/// Memory is used again as soon as nobody needs it, and by then the worker need not have said that
/// it is done with what was there. That it soon will gives no slot to the new item, where the
/// worker's is of another limit.
#[test]
fn an_item_at_the_address_of_one_that_is_about_to_end_waits_for_its_slot_as_well() {
    let mut world = World::new(2);
    contract::set_max_active(&world.machine, 1, 1);
    let (x, holder) = (world.item(0), world.item(1));
    let new = world.machine.rig(|rig| {
        let other = rig.pwq(1, 10);
        let old = rig.queue_and_run(1, other)[0];
        let new = rig.item();
        rig.store.items[new].key = rig.store.items[old].key;
        new
    });
    world.queue(new, 1);
    assert_eq!(world.joins(x, new), Ok(()));
    assert_eq!(world.joins(holder, x), Err(Stuck));
    world.leave(x);
    assert_eq!(world.joins(holder, x), Ok(()));
    assert_eq!(world.joins(x, new), Err(Stuck));
}

#[test]
fn an_item_that_waits_for_its_own_execution_waits_for_its_slot_as_well() {
    let mut world = World::new(3);
    contract::set_max_active(&world.machine, 1, 1);
    let (x, item, holder) = (world.item(2), world.item(0), world.item(1));
    world.queue(item, 1);
    assert_eq!(world.flushes(holder, x), Ok(()));
    assert_eq!(world.flushes(x, item), Err(Stuck));
}

#[test]
fn who_shuts_down_does_not_wait_for_those_who_wait_for_it() {
    let mut world = World::new(4);
    contract::set_max_active(&world.machine, 3, 1);
    let (ends, joins, over_it, free) = (world.item(0), world.item(1), world.item(2), world.item(0));
    let (holder, no_slot) = (world.item(3), world.item(3));
    assert_eq!(world.joins(joins, ends), Ok(()));
    assert_eq!(world.joins(over_it, joins), Ok(()));
    assert_eq!(world.joins(free, no_slot), Ok(()));
    let behind = |world: &World| world.graph.behind_shutdown(&world.machine);
    let nodes = |items: &[usize]| -> BTreeSet<Node> {
        items.iter().map(|&item| world.node(item)).collect()
    };
    let (first, second) = (
        nodes(&[ends, joins, over_it]),
        nodes(&[ends, joins, over_it, holder, free]),
    );
    assert_eq!(behind(&world), BTreeSet::new(), "nobody shuts down");
    world.graph.begin_shutdown(&[world.node(ends)]);
    assert_eq!(behind(&world), first);
    world.graph.begin_shutdown(&[world.node(holder)]);
    assert_eq!(behind(&world), second, "also over a slot");
    assert_eq!(
        world.joins(ends, joins),
        Err(Stuck),
        "no longer in that call"
    );
    assert!(!behind(&world).contains(&world.node(ends)));
}

#[test]
fn a_wait_for_one_that_shuts_down_closes_no_circle() {
    let mut world = with_threads(2, 2);
    let (ends, joins) = (world.item(0), world.item(1));
    world.graph.begin_shutdown(&[world.node(ends)]);
    assert_eq!(world.joins(joins, ends), Ok(()));
    let other = world.item(0);
    assert_eq!(world.flushes(other, ends), Ok(()));
    let waits = world.item(0);
    assert_eq!(
        world.begin(joins, Target::Item(waits)),
        Ok(()),
        "the two may end"
    );
}

/// Nobody begins to wait when a task of a group spawns another one.
#[test]
fn a_circle_that_no_wait_closes_is_found_when_a_wait_has_lasted() {
    let mut world = World::new(3);
    contract::set_max_active(&world.machine, 1, 1);
    let (owner, task, holder) = (world.item(0), world.item(2), world.item(1));
    world.machine.groups.borrow_mut().push([task].into());
    assert_eq!(world.begin(owner, Target::Group(0)), Ok(()));
    assert_eq!(world.joins(holder, owner), Ok(()));
    let spawned = world.item(1);
    world.machine.groups.borrow_mut()[0].push(spawned);
    let look = |world: &mut World| {
        let mut given_up = Vec::new();
        let next = world.graph.look(&world.machine, |node| given_up.push(node));
        (given_up, next)
    };
    let (given_up, next) = look(&mut world);
    assert_eq!(given_up, [], "it is too early");
    let now = world.machine.now();
    world.machine.rig(|rig| rig.advance(next.since(now)));
    let (mut given_up, next) = look(&mut world);
    given_up.extend(look(&mut world).0);
    assert_eq!(given_up.len(), 1, "one is enough");
    assert!(next.0 > now.0);
    world.graph.end(&given_up);
}

#[test]
fn looks_at_waits_leave_the_tick_its_budget() {
    let (now, ms) = (Time(SECOND), 1_000_000);
    let next = |said: Option<u64>, cost| contract::next_look(said.map(Time), now, cost).0 - now.0;
    assert_eq!(next(Some(2 * SECOND), 1), SECOND);
    assert_eq!(next(Some(0), 1), 10 * ms, "many are due");
    assert_eq!(next(None, 1), 10 * ms);
    assert_eq!(next(Some(0), ms), 100 * ms, "a dear one");
}

/// A world in which each pool has so many threads, for the program has said so.
fn with_threads(pools: usize, threads: u32) -> World {
    let world = World::new(pools);
    world.machine.rig(|rig| {
        for pool in &mut rig.pools {
            (pool.attrs.thread_limit, pool.attrs.thread_most) = (threads, threads);
        }
    });
    world
}

#[test]
fn who_needs_a_thread_waits_for_those_that_have_them_all() {
    let mut world = with_threads(2, 2);
    let x = world.item(0);
    let threads = [world.item(1), world.item(1)];
    let waits = world.item(1);
    assert_eq!(world.flushes(threads[0], x), Ok(()));
    assert_eq!(world.flushes(x, waits), Ok(()), "the other one may end");
    assert_eq!(world.joins(threads[1], x), Err(Stuck));
    assert_eq!(
        world.joins(threads[1], waits),
        Err(Stuck),
        "of its own pool"
    );
    world.leave(x);
    assert_eq!(world.joins(threads[1], x), Ok(()));
    assert_eq!(world.joins(x, waits), Err(Stuck));
    assert_eq!(world.flushes_queue(x, 1), Err(Stuck));
    world.leave(threads[1]);
    world.end(threads[1]);
    assert_eq!(world.joins(x, waits), Ok(()), "it has begun");
}

#[test]
fn a_number_of_threads_that_nobody_chose_is_no_reason_to_refuse() {
    let mut world = with_threads(2, 1);
    world.machine.rig(|rig| rig.pools[1].attrs.thread_most = 2);
    let (x, thread) = (world.item(0), world.item(1));
    let waits = world.item(1);
    assert_eq!(world.flushes(thread, x), Ok(()));
    assert_eq!(world.joins(x, waits), Ok(()));
}

#[test]
fn a_slot_whose_item_gets_no_thread_is_given_back_by_nobody() {
    let mut world = with_threads(2, 2);
    contract::set_max_active(&world.machine, 1, 3);
    let x = world.item(0);
    let threads = [world.item(1), world.item(1)];
    let _has_a_slot = world.item(1);
    let waits = world.item(1);
    assert_eq!(world.flushes(threads[0], x), Ok(()));
    assert_eq!(world.flushes(x, waits), Ok(()), "the other one may end");
    assert_eq!(world.joins(threads[1], x), Err(Stuck));
}

/// Its rescuer comes, and gives the slot of what it executes back.
#[test]
fn an_item_with_a_rescuer_waits_for_no_thread_of_its_pool() {
    let mut world = with_threads(2, 1);
    world
        .machine
        .rig(|rig| rig.store.pwqs[1].state.flags.rescued = true);
    contract::set_max_active(&world.machine, 1, 2);
    let (x, thread) = (world.item(0), world.item(1));
    let (has_a_slot, waits) = (world.item(1), world.item(1));
    assert_eq!(world.flushes(thread, x), Ok(()));
    for awaited in [has_a_slot, waits] {
        assert_eq!(world.joins(x, awaited), Ok(()));
        world.leave(x);
    }
}

#[test]
fn slots_beyond_a_limit_that_was_lowered_are_given_to_nobody() {
    let mut world = World::new(2);
    contract::set_max_active(&world.machine, 1, 3);
    let x = world.item(0);
    let holders = [world.item(1), world.item(1), world.item(1)];
    let waits = world.item(1);
    contract::set_max_active(&world.machine, 1, 2);
    assert_eq!(world.flushes(holders[0], x), Ok(()));
    assert_eq!(world.flushes(x, waits), Ok(()), "two may end");
    assert_eq!(world.joins(holders[1], x), Err(Stuck), "one may, of three");
}

#[test]
fn who_is_in_a_circle_that_a_lower_limit_closes_gives_up() {
    let mut world = World::new(2);
    contract::set_max_active(&world.machine, 1, 3);
    let (behind, x) = (world.item(0), world.item(0));
    let holders = [world.item(1), world.item(1), world.item(1)];
    let waits = world.item(1);
    assert_eq!(world.flushes(behind, x), Ok(()));
    assert_eq!(world.flushes(holders[0], x), Ok(()));
    assert_eq!(world.flushes(holders[1], x), Ok(()));
    assert_eq!(world.flushes(x, waits), Ok(()), "the third one may end");
    let relieve = |world: &mut World| {
        let mut given_up = Vec::new();
        let give_up = |node| given_up.push(node);
        world.graph.relieve(&world.machine, give_up);
        given_up
    };
    assert_eq!(relieve(&mut world), []);
    contract::set_max_active(&world.machine, 1, 2);
    assert_eq!(relieve(&mut world), [world.node(x)]);
    assert_eq!(relieve(&mut world), [], "all others go on");
}

#[test]
fn others_give_up_for_one_that_cannot() {
    let mut world = World::new(3);
    let items: Vec<usize> = (0..3).map(|pool| world.item(pool)).collect();
    let bystander = world.item(2);
    for item in &items[1..] {
        assert_eq!(world.flushes(*item, items[0]), Ok(()));
    }
    assert_eq!(world.flushes(bystander, items[1]), Ok(()));
    let targets = [Target::Item(items[1]), Target::Item(items[2])];
    let mut given_up = Vec::new();
    let own = [world.node(items[0])];
    world
        .graph
        .begin_bound(&world.machine, &own, &targets, |node| given_up.push(node));
    assert_eq!(given_up, [world.node(items[1]), world.node(items[2])]);
    assert_eq!(world.flushes(items[1], items[0]), Err(Stuck), "not again");
    world.graph.end(&own);
    assert_eq!(world.flushes(items[1], items[0]), Ok(()));
}

#[test]
fn a_thread_waits_with_all_that_it_executes() {
    let mut world = World::new(3);
    let items: Vec<usize> = (0..3).map(|pool| world.item(pool)).collect();
    // One thread: the second is a claim in the middle of the first.
    let stack = [world.node(items[1]), world.node(items[0])];
    let targets = [Target::Item(items[2])];
    assert_eq!(world.begin_all(&stack, &targets), Ok(()));
    for item in &items[..2] {
        assert_eq!(world.flushes(items[2], *item), Err(Stuck));
    }
    world.graph.end(&stack);
    assert!(world.graph.is_empty());
}
