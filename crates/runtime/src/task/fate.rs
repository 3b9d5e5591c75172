//! How a task ends, and who is told: one word, and the waker of whoever awaits the task.
//!
//! | bit | means |
//! | --- | --- |
//! | ENDED | the runner has left the stage |
//! | DETACHED | nobody will ask what came of it |
//! | AWAITED | a waker is in the cell, for the runner |
//!
//! While AWAITED is clear the cell is the handle's. The runner reads the word once, as it sets
//! ENDED: if it finds AWAITED, the cell is the runner's from then on, else it stays the handle's.
//! So the handle looks at what it found each time that it sets or clears AWAITED.

use std::task::Waker;

use cmwq_engine::sync::{AtomicU32, SeqCst};
use cmwq_engine::user;

const ENDED: u32 = 1;
const DETACHED: u32 = 2;
const AWAITED: u32 = 4;

/// The end of a task, between its runner and its one handle.
pub(super) struct Fate {
    word: AtomicU32,
    waker: WakerCell,
}

/// What the runner finds at the end.
pub(super) struct End {
    /// The handle is gone: the runner drops what came of the task.
    pub(super) detached: bool,
    /// Who awaits the task. To be woken where nothing is locked.
    pub(super) waker: Option<Waker>,
}

// SAFETY: the protocol above gives the cell to one thread at a time, and wakers may be sent.
unsafe impl Sync for Fate {}

impl Fate {
    pub(super) fn new() -> Self {
        Fate {
            word: AtomicU32::new(0),
            waker: WakerCell::new(None),
        }
    }

    /// The runner has left the stage.
    pub(super) fn end(&self) -> End {
        let before = self.word.fetch_or(ENDED, SeqCst);
        End {
            detached: before & DETACHED != 0,
            // SAFETY: AWAITED was found, so the cell is the runner's.
            waker: (before & AWAITED != 0)
                .then(|| unsafe { self.replace(None) })
                .flatten(),
        }
    }

    /// Whether the runner has left the stage. What it stored is seen then.
    pub(super) fn has_ended(&self) -> bool {
        self.word.load(SeqCst) & ENDED != 0
    }

    /// True if the task has ended. Else the waker is called when it ends, and no earlier one is.
    /// Only the handle calls this.
    pub(super) fn await_end(&self, waker: &Waker) -> bool {
        if self.has_ended() {
            return true;
        }
        let old = self.take_back();
        if self.has_ended() {
            user::discard(old);
            return true;
        }
        let new = match old {
            Some(old) if old.will_wake(waker) => old,
            old => {
                user::discard(old);
                // The program's code, which may panic: nothing is in the cell now, and AWAITED is
                // clear.
                waker.clone()
            }
        };
        // SAFETY: AWAITED is clear, so the cell is the handle's.
        unsafe { self.replace(Some(new)) };
        if self.word.fetch_or(AWAITED, SeqCst) & ENDED == 0 {
            return false;
        }
        // SAFETY: the runner has ended the task in between and found AWAITED clear.
        user::discard(unsafe { self.replace(None) });
        true
    }

    /// Nobody will ask. True if the runner has left the stage: the caller drops what is in it. Only
    /// the handle calls this, for the last time.
    pub(super) fn detach(&self) -> bool {
        user::discard(self.take_back());
        self.word.fetch_or(DETACHED, SeqCst) & ENDED != 0
    }

    /// The waker in the cell, unless the runner has it. AWAITED is clear after this.
    fn take_back(&self) -> Option<Waker> {
        // Only the handle sets it, so a look is enough where nobody awaits.
        if self.word.load(SeqCst) & AWAITED == 0 {
            return None;
        }
        let before = self.word.fetch_and(!AWAITED, SeqCst);
        // SAFETY: the runner had not ended the task, and finds AWAITED clear when it does.
        (before & ENDED == 0).then(|| unsafe { self.replace(None) })?
    }

    /// # Safety
    /// The cell is the caller's.
    unsafe fn replace(&self, with: Option<Waker>) -> Option<Waker> {
        // SAFETY: says the caller.
        self.waker
            .with_mut(|waker| unsafe { std::mem::replace(&mut *waker, with) })
    }
}

#[cfg(loom)]
type WakerCell = loom::cell::UnsafeCell<Option<Waker>>;

#[cfg(not(loom))]
type WakerCell = Cell;

/// `UnsafeCell` with the one method that loom can watch.
#[cfg(not(loom))]
struct Cell(std::cell::UnsafeCell<Option<Waker>>);

#[cfg(not(loom))]
impl Cell {
    fn new(waker: Option<Waker>) -> Self {
        Cell(std::cell::UnsafeCell::new(waker))
    }

    fn with_mut<R>(&self, act: impl FnOnce(*mut Option<Waker>) -> R) -> R {
        act(self.0.get())
    }
}

/// Each order that the memory model allows. Run with
/// `RUSTFLAGS="--cfg loom" cargo test --release -p cmwq --lib loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use std::sync::Arc;
    use std::task::Wake;

    use cmwq_engine::sync::{AtomicBool, AtomicU32};
    use loom::cell::UnsafeCell;
    use loom::thread;

    use super::*;

    /// What the runner leaves, and who looks at it.
    struct Rig {
        fate: Fate,
        stage: UnsafeCell<u32>,
    }

    // SAFETY: what is being tested: the stage is one thread's at a time, or loom fails.
    unsafe impl Sync for Rig {}
    // SAFETY: nothing in it belongs to a thread.
    unsafe impl Send for Rig {}

    impl Rig {
        fn new() -> Arc<Self> {
            Arc::new(Rig {
                fate: Fate::new(),
                stage: UnsafeCell::new(0),
            })
        }

        /// The handle has been told of the end, or the runner that nobody asks.
        fn take(&self) -> u32 {
            // SAFETY: what is being tested.
            self.stage
                .with_mut(|stage| unsafe { std::mem::replace(&mut *stage, 0) })
        }

        fn run(&self, by_runner: &AtomicBool) {
            // SAFETY: the stage is the runner's until it has ended.
            self.stage.with_mut(|stage| unsafe { *stage = 7 });
            let end = self.fate.end();
            if end.detached {
                assert_eq!(self.take(), 7);
                by_runner.store(true, SeqCst);
            }
            end.waker.into_iter().for_each(Waker::wake);
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

    /// A handle that was told "not yet" is woken by the last waker that it gave, once, and by no
    /// earlier one after that.
    ///
    /// Fails if the handle does not look at ENDED when it sets AWAITED, and if it replaces the
    /// waker without clearing AWAITED.
    #[test]
    fn who_was_told_to_wait_is_woken() {
        loom::model(|| {
            let rig = Rig::new();
            let (first, second) = (calls(), calls());
            let runner = {
                let rig = rig.clone();
                thread::spawn(move || rig.run(&AtomicBool::new(false)))
            };
            let ready = [&first, &second].map(|calls| {
                let waker = Waker::from(calls.clone());
                rig.fate.await_end(&waker)
            });
            if ready[1] {
                assert_eq!(rig.take(), 7);
            }
            runner.join().unwrap();
            let woken = [&first, &second].map(|calls| calls.0.load(SeqCst));
            match ready {
                [false, false] => assert_eq!(woken, [0, 1]),
                // The runner may have had the first one already.
                [false, true] => assert!(woken[0] <= 1 && woken[1] == 0),
                _ => assert_eq!(woken, [0, 0]),
            }
            if !ready[1] {
                assert!(rig.fate.has_ended());
                assert_eq!(rig.take(), 7);
            }
        });
    }

    /// Who comes last, handle or runner, drops what came of the task, and a handle that is dropped
    /// while it is awaited leaves no waker behind.
    #[test]
    fn a_handle_that_is_dropped_while_awaited_leaves_nothing() {
        loom::model(|| {
            let rig = Rig::new();
            let by_runner = Arc::new(AtomicBool::new(false));
            let runner = {
                let (rig, by_runner) = (rig.clone(), by_runner.clone());
                thread::spawn(move || rig.run(&by_runner))
            };
            let calls = calls();
            rig.fate.await_end(&Waker::from(calls.clone()));
            if rig.fate.detach() {
                assert_eq!(rig.take(), 7);
            }
            runner.join().unwrap();
            assert_eq!(rig.take(), 0, "dropped by one of them");
            assert_eq!(Arc::strong_count(&calls), 1, "the waker is gone");
        });
    }
}
