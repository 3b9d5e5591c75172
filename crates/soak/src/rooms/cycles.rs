//! Items that wait for each other in a circle through cmwq: somebody is told, and all go on.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cmwq::{Work, Workqueue};

use super::Player;
use crate::value::{defuse, quietly};

pub(super) fn play(player: &mut Player) {
    let limit = if player.rng.one_in(3) {
        100
    } else {
        1 + player.rng.below(4)
    };
    let built = Workqueue::builder("cycle").max_active(limit).build();
    let Ok(queue) = built else { return };
    let over = Arc::new(AtomicBool::new(false));
    let items = player.rng.below(3);
    let traffic: Vec<_> = (0..items).map(|_| traffic(&queue, &over)).collect();
    match player.rng.below(4) {
        0 => cancels_who_waits_for_it(player, &queue),
        1 => joins_beyond_the_limit(player, &queue, 3 * limit),
        2 => flushes_its_own_queue(player, &queue),
        _ => waits_for_itself(player, &queue),
    }
    over.store(true, SeqCst);
    traffic.iter().for_each(|work| _ = quietly(|| work.flush()));
}

/// An item that queues itself until it is over: several of them keep a pool busy all the time.
fn traffic(queue: &Workqueue, over: &Arc<AtomicBool>) -> Work {
    let (until, own) = (over.clone(), queue.clone());
    let work = Work::with_data((), move |work| {
        std::thread::sleep(Duration::from_millis(1));
        if !until.load(SeqCst) {
            let _ = own.queue(work);
        }
    });
    let _ = queue.queue(&work);
    work
}

/// One joins a closure that cancels the one and waits.
fn cancels_who_waits_for_it(player: &Player, queue: &Workqueue) {
    player.does("cancels who waits for it");
    let (cell, own) = (Arc::new(OnceLock::<Work>::new()), queue.clone());
    let target = cell.clone();
    let work = Work::new(move || {
        let target = target.clone();
        let cancels = own.spawn(move || target.get().map(|work| work.cancel_sync()).map(drop));
        defuse(cancels.join());
    });
    let _ = cell.set(work.clone());
    let _ = queue.queue(&work);
    wait_idle(&work);
}

/// Without a wait of cmwq's own.
fn wait_idle(work: &Work) {
    while work.busy() != cmwq::Busy::default() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Each item joins another one, more than may run.
fn joins_beyond_the_limit(player: &Player, queue: &Workqueue, n: usize) {
    player.does("joins beyond the limit");
    fn nest(queue: Workqueue, n: usize) {
        if n > 0 {
            let own = queue.clone();
            defuse(queue.spawn(move || nest(own, n - 1)).join());
        }
    }
    nest(queue.clone(), n);
    defuse(queue.flush());
}

/// An item flushes and drains its own queue.
fn flushes_its_own_queue(player: &Player, queue: &Workqueue) {
    player.does("flushes its own queue");
    let own = queue.clone();
    let flushes = queue.spawn(move || {
        defuse(own.flush());
        defuse(own.drain_timeout(Duration::from_millis(20)));
        drop(own);
    });
    defuse(flushes.join());
}

/// An item flushes, cancels and disables itself.
fn waits_for_itself(player: &Player, queue: &Workqueue) {
    player.does("waits for itself");
    let work = Work::with_data((), |work: &Work| {
        defuse(work.flush());
        defuse(work.cancel_sync());
        defuse(work.disable_sync());
        work.enable();
    });
    let _ = queue.queue(&work);
    defuse(work.flush());
    wait_idle(&work);
}
