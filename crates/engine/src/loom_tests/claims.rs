//! Who waits for an item executes it himself, or a worker does: `../pool/README.md`, "Claims".

use std::sync::Arc;

use loom::thread;

use super::model;
use super::rig::{Item, Made, Rig};
use crate::wait::latch::Latch;

const ONE: &[Made] = &[Made::managed(&[0])];
/// With one slot.
const NARROW: &[Made] = &[Made::limited(1, &[0])];

/// An item that sets a latch, as a task does.
fn task() -> (Arc<Item>, Arc<Latch>) {
    let latch = Arc::new(Latch::new());
    let sets = latch.clone();
    (Item::new(move |_| sets.set()), latch)
}

/// `JoinHandle::join`: claims the task, or waits for it.
fn join(rig: &Rig, item: &Item, latch: &Latch) {
    if latch.is_set() || rig.claim(0, item) {
        return;
    }
    if !latch.is_set() {
        latch.announce();
    }
    while !latch.is_set() {
        thread::park();
    }
}

/// The worker and the joiner both want it: one of them runs it, and the other one goes on.
///
/// Fails if a claim believes what the item's word said before the lock was taken.
#[test]
fn the_worker_or_the_joiner_runs_it() {
    model(|| {
        let (rig, (item, latch)) = (Rig::new(1, ONE), task());
        assert!(rig.queue(0, 0, &item));
        let worker = rig.worker(0);
        join(&rig, &item, &latch);
        rig.end([worker]);
        assert_eq!(item.runs(), 1);
    });
}

/// Somebody flushes it meanwhile: when the flush returns, it does not run.
///
/// Fails if a claim is not in the busy table, and if it leaves the barriers behind it.
#[test]
fn a_flush_waits_for_a_claim() {
    model(|| {
        let (rig, item) = (Rig::new(1, ONE), Item::plain());
        assert!(rig.queue(0, 0, &item));
        let worker = rig.worker(0);
        let (rig2, item2) = (rig.clone(), item.clone());
        let joiner = thread::spawn(move || rig2.claim(0, &item2));
        rig.flush(&item);
        item.use_body();
        joiner.join().unwrap();
        rig.end([worker]);
        assert_eq!(item.runs(), 1);
    });
}

/// It is cancelled, or claimed, or run by the worker: one of the three.
///
/// Fails as the first one.
#[test]
fn it_is_claimed_or_cancelled() {
    model(|| {
        let (rig, item) = (Rig::new(1, ONE), Item::plain());
        assert!(rig.queue(0, 0, &item));
        let worker = rig.worker(0);
        let (rig2, item2) = (rig.clone(), item.clone());
        let canceller = thread::spawn(move || u32::from(rig2.cancel(&item2)));
        rig.claim(0, &item);
        let cancelled = canceller.join().unwrap();
        rig.end([worker]);
        assert_eq!(item.runs() + cancelled, 1);
    });
}

/// The claim gives its slot to the item that waits for it, and somebody is woken for that.
///
/// Fails if nobody asks, when a claim ends, whether a worker is needed.
#[test]
fn a_claim_gives_its_slot_on() {
    model(|| {
        let (rig, (item, latch)) = (Rig::new(1, NARROW), task());
        let other = Item::plain();
        assert!(rig.queue(0, 0, &item));
        let worker = rig.worker(0);
        let (rig2, other2) = (rig.clone(), other.clone());
        let queuer = thread::spawn(move || assert!(rig2.queue(0, 0, &other2)));
        join(&rig, &item, &latch);
        queuer.join().unwrap();
        rig.end([worker]);
        assert_eq!((item.runs(), other.runs()), (1, 1));
    });
}
