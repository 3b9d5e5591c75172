//! The end of a run: everything becomes idle, and the books are closed.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use cmwq::{Busy, Work, Workqueue, freezer};

use super::model::{Item, Tally};
use super::world::eventually;
use super::world::{ITEMS, World};

pub(crate) fn settle(world: &Arc<World>) {
    world.quiet.store(true, SeqCst);
    freezer::thaw();
    let items: Vec<_> = (0..ITEMS).map(|n| world.item(n)).collect();
    while !finish(world, &items) {}
    items.iter().for_each(|item| runs_once_more(world, item));
    check_order(world);
    drop(items);
    let tallies = world.tallies.lock().unwrap().clone();
    give_back(world);
    let retired = || tallies.iter().all(|tally| tally.dropped.load(SeqCst));
    if !world.has_failed() {
        eventually("every item is dropped", retired);
    }
    for tally in tallies.iter() {
        check_sums(world, tally);
    }
}

/// Waits for what is queued. True if nothing was.
fn finish(world: &World, items: &[Work<Item>]) -> bool {
    for item in items {
        let _ = item.flush_now();
    }
    for n in 0..world.queues.len() {
        // A handle: items need the lock meanwhile.
        let queue = world.with_queue(n, Workqueue::clone);
        queue.flush().unwrap();
    }
    items.iter().all(|item| item.busy() == Busy::default())
}

/// It can still be queued, and sees what was said before.
fn runs_once_more(world: &World, item: &Work<Item>) {
    let tally = &item.data().tally;
    let version = tally.version.fetch_add(1, SeqCst) + 1;
    tally.tried.fetch_add(1, SeqCst);
    tally.queued.fetch_add(1, SeqCst);
    let queued = world.with_queue(tally.id % world.queues.len(), |queue| queue.queue(item));
    let flushed = item.flush();
    let seen = tally.seen.load(SeqCst);
    if queued != Ok(true) || seen != version {
        world.fail(format!(
            "once more: {queued:?} {flushed:?}, {seen} of {version}: {tally:?}"
        ));
    }
}

fn check_order(world: &World) {
    let (queued, ran) = (
        *world.next_in_order.lock().unwrap(),
        world.ran_in_order.load(SeqCst),
    );
    if queued != ran {
        world.fail(format!("{ran} of {queued} in order have run"));
    }
}

/// Drops the handles: nobody else has any, of those that were flushed.
fn give_back(world: &Arc<World>) {
    for slot in &world.items {
        let idle = super::item::new(Arc::downgrade(world), world.new_tally());
        let last = std::mem::replace(&mut *slot.write().unwrap(), idle);
        let tally = last.data().tally.clone();
        drop(last);
        if !tally.dropped.load(SeqCst) {
            world.fail(format!("somebody keeps an idle item: {tally:?}"));
        }
    }
}

fn check_sums(world: &World, tally: &Tally) {
    if let Some(what) = tally.unbalanced() {
        world.fail(format!("{what}: {tally:?}"));
    }
}
