//! Items that a worker was dealt, which were listed or waited for a slot, and which somebody else
//! wants while the worker begins them without the pool (`../pool/README.md`, "What a worker was
//! dealt").
//!
//! The pool checks all its lists after each event that leaves no hand out. Every model ends with
//! all books balanced.
//!
//! All of them fail if an item is not owned once it is dealt: somebody else looks for it in a list
//! then that it has left. And all fail if the worker counts what it begins whether somebody has
//! recalled that or not.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_policy::contract;
use loom::thread;

use super::model;
use super::rig::{Item, Made, Rig};

/// Items of the first one are dealt from the worklist, those of the second one wait for a slot.
const LISTED: &[Made] = &[Made::managed(&[0])];
const INACTIVE: &[Made] = &[Made::limited(1, &[0])];

/// A worker executes an item behind which it was dealt two others. From then on it goes on, and the
/// caller acts on those; in the end all is over. How often each of the two has run.
fn beside(queues: &[Made], act: impl FnOnce(&Rig, &[Arc<Item>; 2])) -> [u32; 2] {
    let rig = Rig::dealing(queues);
    let (caller, is_dealt) = (thread::current(), Arc::new(AtomicBool::new(false)));
    let (says, worker) = (is_dealt.clone(), rig.clone());
    let says = Item::new(move |_| {
        assert_eq!(worker.nr_dealt(0), 2);
        says.store(true, SeqCst);
        caller.unpark();
    });
    // A worker that was just woken is dealt nothing.
    let (first, dealt) = (Item::plain(), [Item::plain(), Item::plain()]);
    for item in [&first, &says, &dealt[0], &dealt[1]] {
        assert!(rig.queue(0, 0, item));
    }
    let worker = rig.worker(0);
    while !is_dealt.load(SeqCst) {
        thread::park();
    }
    act(&rig, &dealt);
    rig.end([worker]);
    dealt.map(|item| {
        assert!(!item.is_pending());
        item.runs()
    })
}

/// Both are cancelled, in this order.
fn cancelled(queues: &'static [Made], order: [usize; 2]) {
    model(move || {
        let mut taken = [0; 2];
        let runs = beside(queues, |rig, dealt| {
            for at in order {
                taken[at] = u32::from(rig.cancel(&dealt[at]));
            }
        });
        let sum = |at: usize| runs[at] + taken[at];
        assert_eq!([sum(0), sum(1)], [1, 1], "{runs:?} ran, {taken:?} taken");
    });
}

/// Listed items that were dealt have run or were cancelled, and not both.
#[test]
fn a_listed_item_that_was_dealt_runs_or_is_cancelled() {
    cancelled(LISTED, [0, 1]);
    cancelled(LISTED, [1, 0]);
}

/// The same of items that wait for a slot, and get that of the one before.
#[test]
fn an_item_that_waited_for_a_slot_and_was_dealt_runs_or_is_cancelled() {
    cancelled(INACTIVE, [0, 1]);
    cancelled(INACTIVE, [1, 0]);
}

/// One is cancelled and queued again.
#[test]
fn an_item_that_was_dealt_is_cancelled_and_queued_again() {
    for queues in [LISTED, INACTIVE] {
        model(move || {
            let (mut taken, mut queued) = (0, 1);
            let runs = beside(queues, |rig, dealt| {
                taken = u32::from(rig.cancel(&dealt[0]));
                queued += u32::from(rig.queue(0, 0, &dealt[0]));
            });
            assert_eq!((runs[0] + taken, runs[1]), (queued, 1));
        });
    }
}

/// Whoever waits for an item that was dealt sees what it did.
#[test]
fn an_item_that_was_dealt_is_waited_for() {
    for queues in [LISTED, INACTIVE] {
        for at in [0, 1] {
            model(move || {
                let runs = beside(queues, |rig, dealt| {
                    rig.flush(&dealt[at]);
                    assert_eq!(dealt[at].runs(), 1);
                    dealt[at].use_body();
                });
                assert_eq!(runs, [1, 1]);
            });
        }
    }
}

/// From the return of `disable_sync` on an item that was dealt does not run.
#[test]
fn an_item_that_was_dealt_does_not_run_once_it_is_disabled() {
    for queues in [LISTED, INACTIVE] {
        model(move || {
            let mut taken = 0;
            let runs = beside(queues, |rig, dealt| {
                taken = u32::from(rig.disable_sync(&dealt[0]));
                dealt[0].use_body();
                contract::enable(rig, dealt[0].work());
            });
            assert_eq!((runs[0] + taken, runs[1]), (1, 1));
        });
    }
}
