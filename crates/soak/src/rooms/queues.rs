//! Queues that are built and dropped while they are used: in their own items, with their last item,
//! by who waits.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cmwq::{Stacking, Work, Workqueue, WorkqueueBuilder};

use super::Player;
use crate::books::{Part, Ticket};
use crate::rng::Rng;
use crate::value::{self, Value, defuse, quietly};

/// Spawns counted closures on a queue that may be going.
fn spawn(rng: &mut Rng, queue: &Workqueue, inside: impl FnOnce() + Send + 'static) {
    let ticket = Ticket::new(format!("on a queue that goes, {}", queue.name()));
    // It may be refused.
    ticket.may_not_run();
    let captured = Value::new(&ticket, Part::Captured, value::mood(rng), 1);
    let mood = value::mood(rng);
    let body = move || {
        ticket.runs();
        quietly(|| drop(captured));
        defuse(inside);
        Value::new(&ticket, Part::Returned, mood, 1)
    };
    // Of a closure that is refused, a panic is ours.
    quietly(|| drop(queue.spawn(body)));
}

fn build(rng: &mut Rng) -> Option<Workqueue> {
    let own = |builder: WorkqueueBuilder, rng: &mut Rng| match rng.below(5) {
        0 => builder.ordered(),
        1 => builder.max_active(1 + rng.below(3)),
        2 => builder.mem_reclaim(),
        3 => builder.freezable(),
        _ => builder,
    };
    let builder = own(Workqueue::builder("goes"), rng);
    let builder = match rng.one_in(3) {
        true => builder.stacking(Stacking::Claim),
        false => builder,
    };
    builder.build().ok()
}

pub(super) fn play(player: &mut Player) {
    let rng = &mut player.rng.clone();
    player.rng.next();
    let Some(queue) = build(rng) else { return };
    let how = rng.below(7);
    player.does(&format!("goes in the way {how}"));
    for _ in 0..rng.below(10) {
        spawn(rng, &queue, || ());
    }
    match how {
        0 => drop(queue),
        1 => in_its_own_item(rng, queue),
        2 => while_others_spawn(rng, &queue),
        3 => while_it_drains(rng, &queue),
        4 => with_an_item(rng, queue),
        5 => with_timers(rng, queue),
        _ => changed(rng, queue),
    }
}

fn in_its_own_item(rng: &mut Rng, queue: Workqueue) {
    let own = queue.clone();
    spawn(rng, &queue, move || drop(own));
    drop(queue);
}

/// Each thread has a handle and drops it.
fn while_others_spawn(rng: &mut Rng, queue: &Workqueue) {
    std::thread::scope(|threads| {
        for _ in 0..2 {
            let (own, mut rng) = (queue.clone(), rng.clone());
            let body = move || {
                (0..rng.below(8)).for_each(|_| spawn(&mut rng, &own, || ()));
                drop(own);
            };
            drop(std::thread::Builder::new().spawn_scoped(threads, body));
        }
    });
}

fn while_it_drains(rng: &mut Rng, queue: &Workqueue) {
    let handle = queue.clone();
    let body = move || defuse(handle.drain());
    let drains = std::thread::Builder::new().spawn(body);
    (0..5).for_each(|_| spawn(rng, queue, || ()));
    drop(drains.map(|thread| thread.join()));
}

/// The last handle is in what an item carries that is queued on it.
fn with_an_item(rng: &mut Rng, queue: Workqueue) {
    let handle = Mutex::new(Some(queue.clone()));
    let once = rng.one_in(2);
    let work = Work::with_data(handle, move |work: &Work<Mutex<Option<Workqueue>>>| {
        let handle = work.data().lock().ok().and_then(|mut handle| handle.take());
        if !once {
            handle.as_ref().map(|queue| queue.queue(work));
        }
        drop(handle);
    });
    let _ = queue.queue(&work);
    defuse(work);
    drop(queue);
}

fn with_timers(rng: &mut Rng, queue: Workqueue) {
    let own = Arc::new(queue.clone());
    let items: Vec<_> = (0..4)
        .map(|n| {
            let own = own.clone();
            let work = Work::new(move || drop(own.clone()));
            let _ = queue.queue_after(&work, Duration::from_micros(300 * n));
            work
        })
        .collect();
    if rng.one_in(2) {
        let _ = queue.modify(&items[0], Duration::from_secs(3600));
        items[0].cancel();
    }
    if rng.one_in(2) {
        items.iter().for_each(|work| defuse(work.disable_sync()));
    }
    // They hold each other: somebody has to let go.
    items.iter().for_each(|work| _ = work.cancel());
    defuse(items);
    drop(own);
    drop(queue);
}

fn changed(rng: &mut Rng, queue: Workqueue) {
    queue.set_max_active(1 + rng.below(5));
    let mut attrs = queue.attrs();
    attrs.nice = rng.below(4) as i32;
    let _ = queue.apply_attrs(&attrs);
    spawn(rng, &queue, || ());
    drop(queue);
}
