//! An item's word: queue, cancel, disable, enable and run at once
//! (`../../../policy/src/contract/README.md`).
//!
//! Every model ends with all books balanced: each queueing that was accepted has run once or was
//! taken back once, and the queue's references are back.

use std::sync::Arc;
use std::sync::atomic::AtomicU32 as Count;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_policy::contract;
use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;

use super::rig::{Item, Made, Rig};
use super::{bounded, model};

const ONE: &[Made] = &[Made::managed(&[0])];
const TWO: &[Made] = &[Made::managed(&[0]), Made::managed(&[1])];

/// Nothing is left of the item but what the model has.
fn assert_free(item: &Arc<Item>) {
    assert!(!item.is_pending());
    assert_eq!(Arc::strong_count(item), 1, "references are left");
}

/// A queued item is cancelled, and queued again, while its worker comes for it.
///
/// Fails if `cancel` goes on although it has not found the item in its pool any more.
#[test]
fn each_queueing_runs_or_is_cancelled() {
    model(|| {
        let (rig, item) = (Rig::new(1, ONE), Item::plain());
        assert!(rig.queue(0, 0, &item));
        let worker = rig.worker(0);
        let (rig2, item2) = (rig.clone(), item.clone());
        let canceller = thread::spawn(move || u32::from(rig2.cancel(&item2)));
        let queued = 1 + u32::from(rig.queue(0, 0, &item));
        let cancelled = canceller.join().unwrap();
        rig.end([worker]);
        assert_eq!(item.runs() + cancelled, queued);
        assert_free(&item);
    });
}

/// Who cancels an item that is not pending, or enables one that is not disabled, leaves it alone:
/// nobody is refused for that, to rely on an instance that is not there.
///
/// Fails if `cancel` or `enable` takes such an item for a moment.
#[test]
fn cancelling_nothing_refuses_nobody() {
    model(|| {
        let (rig, item) = (Rig::new(1, ONE), Item::plain());
        let (rig2, item2) = (rig.clone(), item.clone());
        let canceller = thread::spawn(move || {
            assert!(contract::enable(&*rig2, item2.work()).underflow);
            u32::from(rig2.cancel(&item2))
        });
        assert!(rig.queue(0, 0, &item), "refused, and it was not pending");
        let cancelled = canceller.join().unwrap();
        rig.end([]);
        assert_eq!(item.runs() + cancelled, 1);
    });
}

/// Two threads queue an idle item, to two queues of two pools.
///
/// Fails if the loser of the race for the pending bit queues the item too.
#[test]
fn one_of_two_queueings_counts() {
    bounded(3, || {
        let (rig, item) = (Rig::new(2, TWO), Item::plain());
        let workers = [rig.worker(0), rig.worker(1)];
        let (rig2, item2) = (rig.clone(), item.clone());
        let other = thread::spawn(move || u32::from(rig2.queue(1, 0, &item2)));
        let queued = u32::from(rig.queue(0, 0, &item));
        let queued = queued + other.join().unwrap();
        rig.end(workers);
        assert!(queued > 0);
        assert_eq!(item.runs(), queued);
        assert_free(&item);
    });
}

/// A queueing that is refused because the item is pending: the execution that it relies on sees
/// what was stored before, wherever between queueing and running the refusal fell. Nothing but the
/// word carries it over: who is refused takes no lock.
///
/// Fails if `pend` only loads the word where it refuses, or if the word is stored to, and not
/// swapped, on the way to the worker.
#[test]
fn what_was_stored_before_a_refusal_is_seen() {
    model(|| {
        let (data, seen) = (Arc::new(AtomicU32::new(0)), Arc::new(Count::new(0)));
        let (read, saw) = (data.clone(), seen.clone());
        // Relaxed: the item's word has to carry it over.
        let item = Item::new(move |_| saw.store(read.load(Relaxed), SeqCst));
        let rig = Rig::new(1, ONE);
        assert!(rig.queue(0, 0, &item));
        let worker = rig.worker(0);
        // Relaxed: as above.
        data.store(1, Relaxed);
        rig.queue(0, 0, &item);
        rig.end([worker]);
        assert_eq!(seen.load(SeqCst), 1, "refused, and not seen");
    });
}

/// From the return of `disable_sync` to the enable nothing runs, whoever queues; what was accepted
/// before has run or was taken back.
///
/// Fails if `disable` does not cancel, if a disabled item can be made pending, and if `flush_item`
/// does not find who executes it.
#[test]
fn nothing_runs_while_disabled() {
    model(|| {
        let (rig, item) = (Rig::new(1, ONE), Item::plain());
        let first = u32::from(rig.queue(0, 0, &item));
        let worker = rig.worker(0);
        let (rig2, item2) = (rig.clone(), item.clone());
        let disabler = thread::spawn(move || {
            let cancelled = rig2.disable_sync(&item2);
            item2.use_body();
            let refused = !rig2.queue(0, 0, &item2);
            assert!(refused && !item2.is_pending(), "queued while disabled");
            assert!(contract::enable(&*rig2, item2.work()).enabled);
            u32::from(cancelled)
        });
        let queued = first + u32::from(rig.queue(0, 0, &item));
        let cancelled = disabler.join().unwrap();
        rig.end([worker]);
        assert_eq!(item.runs() + cancelled, queued);
        assert_free(&item);
    });
}

/// Whatever others disable and enable meanwhile: an item that is disabled is not pending, and one
/// that is not queued neither.
///
/// Fails if who changes the depth owns the item meanwhile.
#[test]
fn who_is_disabled_is_not_pending() {
    model(|| {
        let (rig, item) = (Rig::new(1, ONE), Item::plain());
        let (rig2, item2) = (rig.clone(), item.clone());
        let other = thread::spawn(move || {
            contract::disable(&*rig2, item2.work());
            contract::enable(&*rig2, item2.work());
        });
        assert!(!item.is_pending());
        contract::disable(&*rig, item.work());
        assert!(!item.is_pending() && !rig.queue(0, 0, &item));
        other.join().unwrap();
        assert!(contract::enable(&*rig, item.work()).enabled);
        assert_free(&item);
    });
}

/// An item that queues itself is cancelled for good.
///
/// Fails if `cancel_sync` enables the item before it has waited.
#[test]
fn a_requeueing_item_ends_when_cancelled() {
    model(|| {
        let rig = Rig::new(1, ONE);
        let (again, queued) = (rig.clone(), Arc::new(Count::new(1)));
        let count = queued.clone();
        let item = Item::new(move |item| {
            if item.runs() < 3 && again.queue(0, 0, item) {
                count.fetch_add(1, SeqCst);
            }
        });
        assert!(rig.queue(0, 0, &item));
        let worker = rig.worker(0);
        let cancelled = u32::from(rig.cancel_sync(&item));
        item.use_body();
        assert!(!item.is_pending());
        rig.end([worker]);
        assert_eq!(item.runs() + cancelled, queued.load(SeqCst));
    });
}

/// Disables nest across threads, and each enable takes one back.
///
/// Fails if the depth is changed by whoever does not own the item.
#[test]
fn disables_are_counted() {
    model(|| {
        let (rig, item) = (Rig::new(1, ONE), Item::plain());
        assert!(rig.queue(0, 0, &item));
        let (rig2, item2) = (rig.clone(), item.clone());
        let other = thread::spawn(move || {
            let cancelled = contract::disable(&*rig2, item2.work()).was_pending;
            assert!(!rig2.queue(0, 0, &item2));
            let enabled = contract::enable(&*rig2, item2.work());
            assert!(!enabled.underflow);
            (cancelled, enabled.enabled)
        });
        let cancelled = contract::disable(&*rig, item.work()).was_pending;
        assert!(!rig.queue(0, 0, &item));
        let enabled = contract::enable(&*rig, item.work());
        assert!(!enabled.underflow);
        let theirs = other.join().unwrap();
        assert_ne!(cancelled, theirs.0, "one of them has taken it back");
        assert!(enabled.enabled || theirs.1, "nobody was the last");
        rig.end([]);
        assert_eq!(item.runs(), 0);
        assert!(rig.queue(0, 0, &item), "it can be queued again");
        rig.end([]);
        assert_eq!(item.runs(), 1);
        assert_free(&item);
    });
}
