//! Two pools share the limit of a queue: who gets a free slot (`../../../policy/src/pool/README.md`).
//!
//! Never more than the limit: with a limit of 1 all items use one cell, which loom watches. Nobody is
//! stranded: in the end nothing is in flight, and nobody waits for a slot.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_policy::contract;
use loom::cell::UnsafeCell;
use loom::thread;

use super::{bounded, model};
use super::rig::{Item, Made, Rig};

/// A queue with a limit of 1 that meets two pools.
const SHARED: &[Made] = &[Made::limited(1, &[0, 1])];

/// What the holder of the only slot uses.
struct Slot {
    cell: UnsafeCell<u32>,
    used: AtomicU32,
}

// SAFETY: loom watches the cell.
unsafe impl Sync for Slot {}
// SAFETY: as above.
unsafe impl Send for Slot {}

impl Slot {
    fn new() -> Arc<Slot> {
        Arc::new(Slot {
            cell: UnsafeCell::new(0),
            used: AtomicU32::new(0),
        })
    }

    fn item(self: &Arc<Self>) -> Arc<Item> {
        let slot = self.clone();
        Item::new(move |_| {
            // SAFETY: loom watches the cell.
            slot.cell.with_mut(|used| unsafe { *used += 1 });
            slot.used.fetch_add(1, SeqCst);
        })
    }
}

/// An item joins those who wait while the slot is given back in another pool.
///
/// Fails if a joiner does not look again after it has said that it waits, if who gives a slot back
/// looks at a word of before, if nobody is told whose turn it is (`Activate`), and if a slot is
/// given to a waiter without being counted.
#[test]
fn a_slot_goes_to_another_pool() {
    bounded(3, || {
        let (rig, slot) = (Rig::new(2, SHARED), Slot::new());
        let items = [slot.item(), slot.item(), slot.item()];
        assert!(rig.queue(0, 0, &items[0]));
        let workers = [rig.worker(0), rig.worker(1)];
        let (rig2, other) = (rig.clone(), items[1].clone());
        let queuer = thread::spawn(move || assert!(rig2.queue(0, 1, &other)));
        assert!(rig.queue(0, 0, &items[2]));
        queuer.join().unwrap();
        rig.end(workers);
        assert_eq!(slot.used.load(SeqCst), 3);
    });
}

/// The one whose turn it is has been taken back: the turn goes to the next.
///
/// Fails if a cancelled waiter stays in the list, or if `Activate` serves only the one it names.
#[test]
fn the_first_waiter_is_cancelled() {
    model(|| {
        let (rig, slot) = (Rig::new(2, SHARED), Slot::new());
        let items = [slot.item(), slot.item(), slot.item()];
        assert!(rig.queue(0, 0, &items[0]));
        assert!(rig.queue(0, 1, &items[1]));
        assert!(rig.queue(0, 0, &items[2]));
        let workers = [rig.worker(0), rig.worker(1)];
        let cancelled = u32::from(rig.cancel(&items[1]));
        rig.end(workers);
        assert_eq!(slot.used.load(SeqCst) + cancelled, 3);
    });
}

/// The limit is raised while slots are given back and asked for.
///
/// Fails if a new limit does not serve those who wait.
#[test]
fn the_limit_is_raised() {
    bounded(3, || {
        let rig = Rig::new(2, SHARED);
        let items = [Item::plain(), Item::plain(), Item::plain()];
        assert!(rig.queue(0, 0, &items[0]));
        assert!(rig.queue(0, 1, &items[1]));
        let workers = [rig.worker(0), rig.worker(1)];
        let (rig2, other) = (rig.clone(), items[2].clone());
        let queuer = thread::spawn(move || assert!(rig2.queue(0, 1, &other)));
        assert!(contract::set_max_active(&*rig, 0, 2));
        queuer.join().unwrap();
        rig.end(workers);
        assert!(items.iter().all(|item| item.runs() == 1));
    });
}

/// The queue is frozen, and thaws while an item comes.
///
/// Fails if thawing serves nobody.
#[test]
fn a_frozen_queue_thaws() {
    bounded(3, || {
        let (rig, slot) = (Rig::new(2, SHARED), Slot::new());
        let items = [slot.item(), slot.item()];
        contract::freeze(&*rig, 0);
        assert!(rig.queue(0, 1, &items[0]));
        let workers = [rig.worker(0), rig.worker(1)];
        let (rig2, other) = (rig.clone(), items[1].clone());
        let queuer = thread::spawn(move || assert!(rig2.queue(0, 0, &other)));
        assert_eq!(items[0].runs() + items[1].runs(), 0);
        contract::thaw(&*rig, 0);
        queuer.join().unwrap();
        rig.end(workers);
        assert_eq!(slot.used.load(SeqCst), 2);
    });
}
