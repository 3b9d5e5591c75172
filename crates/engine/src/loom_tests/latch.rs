//! A latch whose waiting side gives wakers, waits as a thread, or leaves.

use std::sync::Arc;
use std::task::{Wake, Waker};

use loom::cell::UnsafeCell;
use loom::thread;

use super::model;
use crate::sync::{AtomicBool, AtomicU32, SeqCst};
use crate::wait::latch::Latch;

/// What the setter leaves, and who looks at it.
struct Rig {
    latch: Latch,
    stage: UnsafeCell<u32>,
}

// SAFETY: what is being tested: the stage is one thread's at a time, or loom fails.
unsafe impl Sync for Rig {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for Rig {}

impl Rig {
    fn new() -> Arc<Self> {
        Arc::new(Rig {
            latch: Latch::new(),
            stage: UnsafeCell::new(0),
        })
    }

    /// The waiting side has been told, or the setter that nobody waits.
    fn take(&self) -> u32 {
        // SAFETY: what is being tested.
        self.stage
            .with_mut(|stage| unsafe { std::mem::replace(&mut *stage, 0) })
    }

    fn run(&self, by_setter: &AtomicBool) {
        // SAFETY: the stage is the setter's until the latch is set.
        self.stage.with_mut(|stage| unsafe { *stage = 7 });
        let end = self.latch.end();
        if end.is_left() {
            assert_eq!(self.take(), 7);
            by_setter.store(true, SeqCst);
        }
        end.tell();
    }
}

/// Counts how often it was called.
struct Calls(AtomicU32);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn calls() -> Arc<Calls> {
    Arc::new(Calls(AtomicU32::new(0)))
}

fn setter(rig: &Arc<Rig>) -> thread::JoinHandle<()> {
    let rig = rig.clone();
    thread::spawn(move || rig.run(&AtomicBool::new(false)))
}

/// Handles of several tasks may set one latch at the same time. The waiter is told once.
///
/// Fails if who finds it set takes the waiter.
#[test]
fn of_two_who_set_it_one_tells_the_waiter() {
    model(|| {
        let (latch, calls) = (Arc::new(Latch::new()), calls());
        let setters = [(); 2].map(|()| {
            let latch = latch.clone();
            thread::spawn(move || latch.set())
        });
        let ready = latch.await_set(&Waker::from(calls.clone()));
        for setter in setters {
            setter.join().unwrap();
        }
        assert_eq!(calls.0.load(SeqCst), u32::from(!ready));
        assert!(latch.leave());
    });
}

/// Who was told "not yet" is woken by the last waker that it gave, once, and by no earlier one
/// after that.
///
/// Fails if the waiting side does not look at SET when it leaves a waiter.
#[test]
fn who_was_told_to_wait_is_woken() {
    model(|| {
        let rig = Rig::new();
        let (first, second) = (calls(), calls());
        let setter = setter(&rig);
        let ready = [&first, &second].map(|calls| {
            let waker = Waker::from(calls.clone());
            rig.latch.await_set(&waker)
        });
        if ready[1] {
            assert_eq!(rig.take(), 7);
        }
        setter.join().unwrap();
        let woken = [&first, &second].map(|calls| calls.0.load(SeqCst));
        match ready {
            [false, false] => assert_eq!(woken, [0, 1]),
            // The setter may have had the first one already.
            [false, true] => assert!(woken[0] <= 1 && woken[1] == 0),
            _ => assert_eq!(woken, [0, 0]),
        }
        if !ready[1] {
            assert!(rig.latch.is_set());
            assert_eq!(rig.take(), 7);
        }
    });
}

/// A thread waits that was about to be told by a waker.
///
/// Fails if the thread is written down while the setter may have the waker.
#[test]
fn a_thread_waits_after_a_waker() {
    model(|| {
        let rig = Rig::new();
        let calls = calls();
        let setter = setter(&rig);
        rig.latch.await_set(&Waker::from(calls.clone()));
        rig.latch.announce();
        while !rig.latch.is_set() {
            thread::park();
        }
        assert_eq!(rig.take(), 7);
        setter.join().unwrap();
        assert_eq!(Arc::strong_count(&calls), 1, "the waker is gone");
    });
}

/// Who comes last drops what the setter has left, and a waiting side that leaves after it has given
/// a waker leaves none behind.
#[test]
fn who_leaves_while_awaiting_leaves_nothing() {
    model(|| {
        let rig = Rig::new();
        let by_setter = Arc::new(AtomicBool::new(false));
        let setter = {
            let (rig, by_setter) = (rig.clone(), by_setter.clone());
            thread::spawn(move || rig.run(&by_setter))
        };
        let calls = calls();
        rig.latch.await_set(&Waker::from(calls.clone()));
        if rig.latch.leave() {
            assert_eq!(rig.take(), 7);
        }
        setter.join().unwrap();
        assert_eq!(rig.take(), 0, "dropped by one of them");
        assert_eq!(Arc::strong_count(&calls), 1, "the waker is gone");
    });
}
