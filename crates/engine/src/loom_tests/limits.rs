//! Two pools share the limit of a queue: who gets a free slot
//! (`../../../policy/src/pool/README.md`).
//!
//! Never more than the limit: with a limit of 1 all items use one cell, which loom watches. Nobody
//! is stranded: in the end nothing is in flight, and nobody waits for a slot.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32};

use cmwq_policy::contract;
use loom::cell::UnsafeCell;
use loom::thread;

use super::rig::{Item, Made, Rig};
use super::{bounded, model};
use crate::park::Parker;

/// A queue with a limit of 1 that meets two pools.
const SHARED: &[Made] = &[Made::limited(1, &[0, 1])];
/// A queue with a limit of 2 on two nodes: 1 for each.
const PARTS: &[Made] = &[Made::on_nodes(2, &[0, 1], &[0, 1])];
/// The same, with two pools in the second node.
const THREE: &[Made] = &[Made::on_nodes(2, &[0, 1, 2], &[0, 1, 1])];

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
/// Fails if saying that somebody waits and the last look for a free slot are not one step, if who
/// gives a slot back believes a look of before, if nobody is told whose turn it is (`Activate`),
/// and if a slot is given to a waiter without being counted.
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

/// The limit is raised while an item joins those who wait, and the holder of the only slot does not
/// end before that item has run.
///
/// Fails if a new limit does not serve those who wait.
#[test]
fn the_limit_is_raised() {
    bounded(3, || {
        let (rig, parker) = (Rig::new(2, SHARED), Arc::new(<Parker>::default()));
        let awaited = parker.clone();
        let holder = Item::new(move |_| parker.park(None));
        let other = Item::new(move |_| awaited.unpark());
        assert!(rig.queue(0, 0, &holder));
        let workers = [rig.worker(0), rig.worker(1)];
        let (rig2, other2) = (rig.clone(), other.clone());
        let queuer = thread::spawn(move || assert!(rig2.queue(0, 1, &other2)));
        assert!(contract::set_max_active(&*rig, 0, 2));
        queuer.join().unwrap();
        rig.end(workers);
        assert_eq!((holder.runs(), other.runs()), (1, 1));
    });
}

/// The queue is frozen, and thaws while an item comes.
///
/// Fails if thawing serves nobody, and if a slot is taken in a frozen queue.
#[test]
fn a_frozen_queue_thaws() {
    bounded(3, || {
        let (rig, thaws) = (Rig::new(2, SHARED), Arc::new(AtomicBool::new(false)));
        let items = [thaws.clone(), thaws.clone()]
            .map(|thaws| Item::new(move |_| assert!(thaws.load(SeqCst), "it runs while frozen")));
        contract::freeze(&*rig, 0);
        assert!(rig.queue(0, 1, &items[0]));
        let workers = [rig.worker(0), rig.worker(1)];
        let (rig2, other) = (rig.clone(), items[1].clone());
        let queuer = thread::spawn(move || assert!(rig2.queue(0, 0, &other)));
        // For loom, a place to let others go first.
        thread::yield_now();
        thaws.store(true, SeqCst);
        contract::thaw(&*rig, 0);
        queuer.join().unwrap();
        rig.end(workers);
        assert!(items.iter().all(|item| item.runs() == 1));
    });
}

/// Each of two nodes hands its own slot over: items join those who wait in one node while the slot
/// is given back there, and in the other one.
///
/// Fails if a node's slot is used twice at once, and if a release in one node is taken for one in
/// the other.
#[test]
fn each_node_hands_its_own_slot_over() {
    bounded(3, || {
        let (rig, slots) = (Rig::new(2, PARTS), [Slot::new(), Slot::new()]);
        let items = [0, 1, 0, 1].map(|node: usize| (node, slots[node].item()));
        for (node, item) in &items[..2] {
            assert!(rig.queue(0, *node, item));
        }
        let workers = [rig.worker(0), rig.worker(1)];
        let (rig2, other) = (rig.clone(), items[3].1.clone());
        let queuer = thread::spawn(move || assert!(rig2.queue(0, 1, &other)));
        assert!(rig.queue(0, 0, &items[2].1));
        queuer.join().unwrap();
        rig.end(workers);
        assert_eq!(slots.map(|slot| slot.used.load(SeqCst)), [2, 2]);
    });
}

/// The limit is raised for both nodes while an item joins those who wait in the second one, and the
/// holder of that node's slot does not end before that item has run.
///
/// Fails if a new limit serves the first node only.
#[test]
fn the_limit_is_raised_in_each_node() {
    bounded(3, || {
        let (rig, parker) = (Rig::new(3, THREE), Arc::new(<Parker>::default()));
        let awaited = parker.clone();
        let holder = Item::new(move |_| parker.park(None));
        let other = Item::new(move |_| awaited.unpark());
        assert!(rig.queue(0, 1, &holder));
        let workers = [rig.worker(1), rig.worker(2)];
        let (rig2, other2) = (rig.clone(), other.clone());
        let queuer = thread::spawn(move || assert!(rig2.queue(0, 2, &other2)));
        assert!(contract::set_max_active(&*rig, 0, 4));
        queuer.join().unwrap();
        rig.end(workers);
        assert_eq!((holder.runs(), other.runs()), (1, 1));
    });
}
