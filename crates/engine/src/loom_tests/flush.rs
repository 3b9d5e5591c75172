//! Flush: of one item, by a barrier behind it, and of a queue, by colours
//! (`../../../policy/src/contract/README.md`).

use std::sync::Arc;

use loom::thread;

use super::rig::{Item, Made, Rig};
use super::{bounded, model};

const ONE: &[Made] = &[Made::managed(&[0])];

/// A queue with two pool workqueues, whose items end while it is flushed: what they did is seen.
///
/// Fails if the flusher reads the word that it sleeps on after it has asked, and if the word is
/// changed before the colours are (both sleep for ever).
#[test]
fn a_queue_with_two_pool_workqueues() {
    bounded(3, || {
        let rig = Rig::new(2, &[Made::managed(&[0, 1])]);
        let items = [Item::plain(), Item::plain()];
        assert!(rig.queue(0, 0, &items[0]));
        assert!(rig.queue(0, 1, &items[1]));
        let workers = [rig.worker(0), rig.worker(1)];
        rig.flush_queue(0);
        items.iter().for_each(|item| {
            assert_eq!(item.runs(), 1);
            item.use_body();
        });
        rig.end(workers);
    });
}

/// Two flush at once, one of them while the item may be over already: both are woken.
///
/// Fails if the word that they sleep on is changed before the colours are.
#[test]
fn two_flush_one_queue() {
    bounded(3, || {
        let (rig, item) = (Rig::new(1, ONE), Item::plain());
        assert!(rig.queue(0, 0, &item));
        let worker = rig.worker(0);
        let (rig2, item2) = (rig.clone(), item.clone());
        let other = thread::spawn(move || {
            rig2.flush_queue(0);
            assert_eq!(item2.runs(), 1);
        });
        rig.flush_queue(0);
        assert_eq!(item.runs(), 1);
        other.join().unwrap();
        rig.end([worker]);
    });
}

/// A flush of one item comes while it waits, while it runs and when it is over; each time, what it
/// did is seen.
///
/// Fails if `flush_item` looks for the item in its queue only, and not for who executes it.
#[test]
fn an_item_that_ends() {
    model(|| {
        let (rig, item) = (Rig::new(1, ONE), Item::plain());
        assert!(rig.queue(0, 0, &item));
        let worker = rig.worker(0);
        rig.flush(&item);
        assert_eq!(item.runs(), 1);
        item.use_body();
        rig.end([worker]);
    });
}

/// The flushed item is cancelled: its barrier goes on without it, also where it waits for a slot.
///
/// Fails if stealing an item that waits for a slot takes its barriers along.
#[test]
fn an_item_that_is_cancelled() {
    model(|| {
        let rig = Rig::new(1, &[Made::limited(1, &[0])]);
        let (before, item) = (Item::plain(), Item::plain());
        assert!(rig.queue(0, 0, &before));
        assert!(rig.queue(0, 0, &item));
        let worker = rig.worker(0);
        let (rig2, item2) = (rig.clone(), item.clone());
        let canceller = thread::spawn(move || u32::from(rig2.cancel(&item2)));
        rig.flush(&item);
        item.use_body();
        let cancelled = canceller.join().unwrap();
        rig.end([worker]);
        assert_eq!(item.runs() + cancelled, 1);
    });
}

/// It runs in one pool and waits in another: the last one counts.
///
/// Fails if the barrier goes behind the execution.
#[test]
fn an_item_that_is_deferred() {
    model(|| {
        let rig = Rig::new(2, &[Made::managed(&[0]), Made::managed(&[1])]);
        let item: Arc<Item> = Item::plain();
        assert!(rig.queue(0, 0, &item));
        let workers = [rig.worker(0), rig.worker(1)];
        let queued = 1 + u32::from(rig.queue(1, 0, &item));
        rig.flush(&item);
        assert_eq!(item.runs(), queued);
        item.use_body();
        rig.end(workers);
    });
}

/// Somebody queues an item; another thread, who is refused because of that, flushes it: the
/// instance that it relies on has ended then.
///
/// Fails if `flush_item` does not wait while the item is on its way to its pool, where it can be
/// found nowhere.
#[test]
fn who_is_refused_can_wait_for_the_pending_one() {
    bounded(3, || {
        let (rig, item) = (Rig::new(1, ONE), Item::plain());
        let worker = rig.worker(0);
        let (rig2, item2) = (rig.clone(), item.clone());
        let other = thread::spawn(move || {
            rig2.queue(0, 0, &item2);
            rig2.flush(&item2);
            assert!(item2.runs() > 0, "queued or refused, and not waited for");
        });
        rig.queue(0, 0, &item);
        other.join().unwrap();
        rig.end([worker]);
    });
}
