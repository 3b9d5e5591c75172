//! Non-reentrancy across pools: an item that runs in one pool is queued to another, and waits there
//! (`../../../policy/src/contract/README.md`).
//!
//! That an item runs twice at once shows in its body, a cell that loom watches; a deferral that
//! nobody ends shows as an item left in its pool.

use std::sync::{Arc, Mutex};

use loom::thread;

use super::rig::{Item, Made, Rig};
use super::{bounded, model};

const TWO: &[Made] = &[Made::managed(&[0]), Made::managed(&[1])];

/// The execution ends while the other queue takes the item.
///
/// Fails if `defer` does not ask again, after it has queued the item, whether the execution goes on
/// (nobody ends the deferral), if the end of an item does not say `Undefer` (the same), and if
/// `enqueue` does not look for the execution (two at once).
#[test]
fn it_waits_for_its_end_elsewhere() {
    model(|| {
        let (rig, item) = (Rig::new(2, TWO), Item::plain());
        assert!(rig.queue(0, 0, &item));
        let workers = [rig.worker(0), rig.worker(1)];
        let queued = 1 + u32::from(rig.queue(1, 0, &item));
        rig.end(workers);
        assert_eq!(item.runs(), queued);
    });
}

/// A deferred item is stolen and queued to a third pool, while the execution ends.
///
/// Fails if the pool that the execution tells is named after the item was queued: the thief's pool
/// is then forgotten for one that does not have the item any more.
#[test]
fn a_thief_takes_it_elsewhere() {
    const THREE: &[Made] = &[
        Made::managed(&[0]),
        Made::managed(&[1]),
        Made::managed(&[2]),
    ];
    model(|| {
        let (rig, item) = (Rig::new(3, THREE), Item::plain());
        assert!(rig.queue(0, 0, &item));
        let workers = [rig.worker(0)];
        let (rig2, item2) = (rig.clone(), item.clone());
        let thief = thread::spawn(move || {
            let cancelled = u32::from(rig2.cancel(&item2));
            (u32::from(rig2.queue(2, 0, &item2)), cancelled)
        });
        let mine = u32::from(rig.queue(1, 0, &item));
        let (theirs, cancelled) = thief.join().unwrap();
        rig.end(workers);
        assert_eq!(item.runs() + cancelled, 1 + mine + theirs);
    });
}

/// It is disabled while it runs in one pool and is deferred in the other: disable waits for the
/// execution, wherever that is.
///
/// Fails if stealing a deferred item leaves its own pool, and not that of the execution, as the
/// last pool in its word.
#[test]
fn it_is_disabled_while_deferred() {
    bounded(3, || {
        let (rig, item) = (Rig::new(2, TWO), Item::plain());
        assert!(rig.queue(0, 0, &item));
        let workers = [rig.worker(0), rig.worker(1)];
        let (rig2, item2) = (rig.clone(), item.clone());
        let other = thread::spawn(move || u32::from(rig2.queue(1, 0, &item2)));
        let cancelled = u32::from(rig.disable_sync(&item));
        item.use_body();
        let queued = 1 + other.join().unwrap();
        rig.end(workers);
        assert_eq!(item.runs() + cancelled, queued);
    });
}

/// In an ordered queue a deferred item keeps its place: what was queued behind it comes later.
///
/// Fails if a deferred item holds no slot: the next one gets it.
#[test]
fn it_keeps_its_place() {
    const QUEUES: &[Made] = &[Made::managed(&[0]), Made::ordered(&[1])];
    model(|| {
        let log = Arc::new(Mutex::new(Vec::new()));
        let (log1, log2) = (log.clone(), log.clone());
        let first = Item::new(move |_| log1.lock().unwrap().push(1));
        let second = Item::new(move |_| log2.lock().unwrap().push(2));
        let rig = Rig::new(2, QUEUES);
        assert!(rig.queue(0, 0, &first));
        let workers = [rig.worker(0), rig.worker(1)];
        let queued = rig.queue(1, 0, &first);
        assert!(rig.queue(1, 0, &second));
        rig.end(workers);
        let log = log.lock().unwrap();
        match queued {
            true => assert_eq!(*log, [1, 1, 2]),
            // Refused: its instance in the first queue had not begun.
            false => assert_eq!(log.len(), 2),
        }
    });
}
