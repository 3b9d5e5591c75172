//! What items do, and what they see of themselves.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, Weak};
use std::time::Duration;

use cmwq::Work;

use super::calls;
use super::model::{Item, Tally};
use super::world::{ITEMS, World};
use crate::rng::Rng;

/// An item that does what items do.
pub(crate) fn new(world: Weak<World>, tally: Arc<Tally>) -> Work<Item> {
    let rng = AtomicU64::new(tally.id as u64);
    Work::with_data(Item { tally, rng }, move |item| {
        // The run waits for all items before it drops what they use.
        run(item, &world.upgrade().expect("the run goes on"));
    })
}

fn run(item: &Work<Item>, world: &World) {
    let tally = &item.data().tally;
    if tally.inside.swap(true, SeqCst) {
        world.fail(format!("item {} runs twice at once: {tally:?}", tally.id));
    }
    let inside = world.enter();
    let begun = tally.begun.fetch_add(1, SeqCst) + 1;
    // Relaxed: what one execution stores, the next has to see, and no other execution is between
    // the load and the store. That is what is tested.
    let plain = tally.plain.load(Relaxed);
    let version = tally.version.load(SeqCst);
    check_allowed(tally, world, begun);
    if !world.quiet.load(SeqCst) {
        act(item, world);
    }
    check_allowed(tally, world, begun);
    // Relaxed: as above.
    tally.plain.store(plain + 1, Relaxed);
    tally.seen.fetch_max(version, SeqCst);
    drop(inside);
    tally.inside.store(false, SeqCst);
}

fn check_allowed(tally: &Tally, world: &World, begun: u64) {
    if tally.forbidden.load(SeqCst) > 0 {
        world.fail(format!("runs after disable_sync returned: {tally:?}"));
    }
    if begun > tally.tried.load(SeqCst) {
        world.fail(format!("runs more often than it was queued: {tally:?}"));
    }
}

/// Sometimes it sleeps or computes, queues itself or another one, cancels or disables another one.
fn act(item: &Work<Item>, world: &World) {
    // Relaxed: only executions use it, one at a time.
    let mut rng = Rng::new(item.data().rng.load(Relaxed));
    item.data().rng.store(rng.next(), Relaxed);
    match rng.below(12) {
        0 => std::thread::sleep(Duration::from_micros(50)),
        1 => std::thread::yield_now(),
        2 => cmwq::blocking(|| std::thread::sleep(Duration::from_micros(200))),
        3 => (0..2_000).for_each(|_| std::hint::spin_loop()),
        4 | 5 => again(item, world, &mut rng),
        6 => {
            let other = world.item(rng.below(ITEMS));
            calls::queue(world, &mut rng, &other);
        }
        7 => {
            calls::cancel(&world.item(rng.below(ITEMS)));
        }
        8 => later_one(item, world, &mut rng, |other| {
            calls::cancel_sync(world, other);
        }),
        9 => later_one(item, world, &mut rng, |other| {
            if let Some(held) = calls::disable_sync(world, other) {
                std::thread::yield_now();
                calls::enable(other, held);
            }
        }),
        _ => {}
    }
    if rng.one_in(2) {
        again(item, world, &mut rng);
    }
}

fn again(item: &Work<Item>, world: &World, rng: &mut Rng) {
    if item.data().tally.take_fuel() {
        calls::queue_itself(world, rng, item);
    }
}

/// An item only waits for those that are made after it, so that none waits for itself through
/// others.
fn later_one(item: &Work<Item>, world: &World, rng: &mut Rng, call: impl FnOnce(&Work<Item>)) {
    let other = world.item(rng.below(ITEMS));
    if other.data().tally.id > item.data().tally.id {
        call(&other);
    }
}
