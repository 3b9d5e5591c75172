//! Calls of the library with their entries in the books.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cmwq::{QueueError, Workqueue};

use super::model::{Item, Tally, add};
use super::world::{KINDS, World};
use crate::rng::Rng;

type Work = cmwq::Work<Item>;

/// Longer than any run: only who changes his mind lets such an item run.
const FAR: Duration = Duration::from_secs(24 * 3600);
/// Items below this number may be armed for that long, and are never replaced.
pub(crate) const LASTING: usize = 25;

/// Queues an item somehow, from outside of it.
pub(crate) fn queue(world: &World, rng: &mut Rng, item: &Work) {
    item.data()
        .tally
        .attempts
        .during(|| queue_itself(world, rng, item));
}

/// As [`queue`], by the item itself.
pub(crate) fn queue_itself(world: &World, rng: &mut Rng, item: &Work) {
    item.data().tally.version.fetch_add(1, SeqCst);
    let n = rng.below(KINDS.len());
    world.with_queue(n, |queue| match rng.below(4) {
        0 => after(world, rng, item, n, queue),
        1 => modify(world, rng, item, n, queue),
        _ => drop(at_once(rng, item, queue)),
    });
}

/// Queues an item without a delay; what the library said.
pub(crate) fn at_once(rng: &mut Rng, item: &Work, queue: &Workqueue) -> Result<bool, QueueError> {
    item.data().tally.tried.fetch_add(1, SeqCst);
    let queued = match rng.below(4) {
        0 => queue.queue_on(cpu(rng), item),
        1 => queue.queue_on_node(0, item),
        _ => queue.queue(item),
    };
    add(&item.data().tally.queued, queued == Ok(true));
    queued
}

fn cpu(rng: &mut Rng) -> usize {
    rng.below(std::thread::available_parallelism().map_or(1, usize::from))
}

fn delay(rng: &mut Rng, tally: &Tally) -> Duration {
    match rng.below(8) {
        0 | 1 => Duration::ZERO,
        2 if tally.id < LASTING => FAR,
        n => Duration::from_micros(60 * n as u64),
    }
}

fn after(world: &World, rng: &mut Rng, item: &Work, n: usize, queue: &Workqueue) {
    let tally = &item.data().tally;
    let (delay, cpu) = (delay(rng, tally), rng.one_in(2).then(|| cpu(rng)));
    tally.tried.fetch_add(1, SeqCst);
    // Before: it may be dropped before we are back.
    add(
        &tally.perishable,
        n == world.perishable && delay > Duration::ZERO,
    );
    let queued = match cpu {
        Some(cpu) => queue.queue_after_on(cpu, item, delay),
        None => queue.queue_after(item, delay),
    };
    add(&tally.queued, queued == Ok(true));
}

fn modify(world: &World, rng: &mut Rng, item: &Work, n: usize, queue: &Workqueue) {
    let tally = &item.data().tally;
    let (delay, cpu) = (delay(rng, tally), rng.one_in(2).then(|| cpu(rng)));
    tally.tried.fetch_add(1, SeqCst);
    add(
        &tally.perishable,
        n == world.perishable && delay > Duration::ZERO,
    );
    let modified = tally.thefts.during(|| match cpu {
        Some(cpu) => queue.modify_on(cpu, item, delay),
        None => queue.modify(item, delay),
    });
    // What was pending is another instance now.
    add(&tally.taken, modified == Ok(false));
    add(&tally.queued, modified.is_ok());
}

/// Drops the item's last handle once it is queued.
pub(crate) fn give_away(item: Work, queue: &Workqueue) {
    let tally = item.data().tally.clone();
    tally.version.fetch_add(1, SeqCst);
    tally.attempts.during(|| {
        tally.tried.fetch_add(1, SeqCst);
        let queued = queue.queue(&item);
        drop(item);
        add(&tally.queued, queued == Ok(true));
    });
}

pub(crate) fn cancel(item: &Work) {
    let tally = &item.data().tally;
    let taken = tally.thefts.during(|| item.cancel());
    add(&tally.taken, taken);
}

/// Cancels and waits; if nobody else was near, it is idle then.
pub(crate) fn cancel_sync(world: &World, item: &Work) {
    let tally = &item.data().tally;
    if tally.is_never_disabled() {
        return cancel(item);
    }
    let attempts = tally.attempts.shut();
    let cancelled = tally.thefts.during(|| item.cancel_sync());
    add(&tally.taken, cancelled == Ok(true));
    if let Err(error) = cancelled {
        return world.fail_wait(format!("cancel_sync of {}: {error}", tally.id));
    }
    let (inside, running) = (tally.inside.load(SeqCst), item.busy().running);
    if attempts == Some(tally.attempts.begun()) {
        world.checks.idle_after_cancel.fetch_add(1, SeqCst);
        if inside || running {
            world.fail(format!(
                "runs ({inside}, {running}) after cancel_sync: {tally:?}"
            ));
        }
    }
}

/// How an item is disabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Only,
    Sync,
}

/// `None` for items that are never disabled.
pub(crate) fn disable(item: &Work) -> Option<Held> {
    let tally = &item.data().tally;
    if tally.is_never_disabled() {
        return None;
    }
    tally.thefts.open();
    add(&tally.taken, item.disable());
    Some(Held::Only)
}

/// As [`disable`], and from when it returns to the enable the item does not run.
pub(crate) fn disable_sync(world: &World, item: &Work) -> Option<Held> {
    let tally = &item.data().tally;
    if tally.is_never_disabled() {
        return None;
    }
    tally.thefts.open();
    let disabled = item.disable_sync();
    add(&tally.taken, disabled == Ok(true));
    if let Err(error) = disabled {
        // It is disabled, and may run on.
        world.fail_wait(format!("disable_sync of {}: {error}", tally.id));
        return Some(Held::Only);
    }
    tally.forbidden.fetch_add(1, SeqCst);
    world.checks.while_forbidden.fetch_add(1, SeqCst);
    if tally.inside.load(SeqCst) {
        world.fail(format!("runs when disable_sync returns: {tally:?}"));
    }
    Some(Held::Sync)
}

pub(crate) fn enable(item: &Work, held: Held) {
    allow(item, held);
    item.enable();
    item.data().tally.thefts.close();
}

pub(crate) fn enable_and_queue(item: &Work, held: Held, queue: &Workqueue) {
    let tally = &item.data().tally;
    allow(item, held);
    tally.version.fetch_add(1, SeqCst);
    tally.tried.fetch_add(1, SeqCst);
    let queued = tally.attempts.during(|| queue.enable_and_queue(item));
    add(&tally.queued, queued == Ok(true));
    tally.thefts.close();
}

fn allow(item: &Work, held: Held) {
    if held == Held::Sync {
        item.data().tally.forbidden.fetch_sub(1, SeqCst);
    }
}

/// Queues an item and waits for it: unless somebody has taken it away, what was said before is
/// done.
pub(crate) fn queue_and_flush(world: &World, rng: &mut Rng, item: &Work, n: usize) {
    let tally = &item.data().tally;
    let thefts = tally.thefts.shut();
    let version = tally.version.fetch_add(1, SeqCst) + 1;
    let attempt = || world.with_queue(n, |queue| at_once(rng, item, queue));
    let queued = tally.attempts.during(attempt);
    // Now: whoever has armed it, and made this false, has counted that before.
    let perished = tally.perishable.load(SeqCst);
    let flushed = match queued {
        Ok(true) => item.flush(),
        // Only its timer may be armed.
        _ => item.flush_now(),
    };
    if let Err(error) = &flushed {
        world.fail(format!("flush of {}: {error}", tally.id));
    }
    let alone = thefts == Some(tally.thefts.begun());
    if queued.is_ok() && alone && (queued == Ok(true) || perished == 0) {
        world.checks.done_after_flush.fetch_add(1, SeqCst);
        if tally.seen.load(SeqCst) < version {
            world.fail(format!(
                "not done after flush {queued:?} {flushed:?} {version}: {tally:?}"
            ));
        }
    }
}

/// Queues an item and waits for all of its queue.
pub(crate) fn queue_and_flush_queue(world: &World, rng: &mut Rng, item: &Work, n: usize) {
    let tally = &item.data().tally;
    let thefts = tally.thefts.shut();
    let version = tally.version.fetch_add(1, SeqCst) + 1;
    let queue = world.with_queue(n, Workqueue::clone);
    let queued = tally.attempts.during(|| at_once(rng, item, &queue));
    if let Err(error) = queue.flush() {
        world.fail(format!("flush of {}: {error}", queue.name()));
    }
    if queued == Ok(true) && thefts == Some(tally.thefts.begun()) {
        world.checks.done_after_queue_flush.fetch_add(1, SeqCst);
        if tally.seen.load(SeqCst) < version {
            world.fail(format!(
                "not done after the flush of {}: {tally:?}",
                queue.name()
            ));
        }
    }
}
