//! The worker that the calling thread is: what its item may ask for, and how it waits.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_os::clock;
use cmwq_policy::pool::{Claimant, Stuck};
use cmwq_policy::worker::Wait;
use cmwq_policy::{Cx, ItemKey, Time, WorkerPool};

use crate::error::WouldDeadlock;
use crate::pool::{CURRENT, Pool, Slot};
use crate::queue::pwq::Items;
use crate::queue::pwq::{PwqRef, name_of};

/// The worker that the calling thread is, from the inside: what items may ask for.
#[derive(Clone, Copy)]
pub(crate) struct ThisWorker {
    pub(crate) slot: &'static Slot,
}

/// One wait of a worker, so that news of an earlier one are known as such.
#[derive(Clone, Copy)]
pub(crate) struct WaitRef {
    slot: &'static Slot,
    number: u32,
}

/// The calling thread as a worker, if it is one of this process.
pub(crate) fn current() -> Option<ThisWorker> {
    let current = CURRENT.get()?;
    // In a forked child this thread is no worker any more.
    current
        .slot
        .pool
        .base()
        .is_ours()
        .then_some(ThisWorker { slot: current.slot })
}

/// Runs what is not an item's, and may wait: meanwhile the thread is no worker to the core, which
/// knows of no item that it executes.
pub(crate) fn as_stranger<R>(act: impl FnOnce() -> R) -> R {
    let before = CURRENT.take();
    let _back = OnDrop(move || CURRENT.set(before));
    act()
}

fn current_item() -> Option<(PwqRef, ItemKey)> {
    current().and(CURRENT.get()?.item)
}

/// The pwq whose item the calling worker executes.
pub(crate) fn current_pwq() -> Option<PwqRef> {
    current_item().map(|(pwq, _)| pwq)
}

/// The item that the calling worker executes.
pub(crate) fn current_key() -> Option<ItemKey> {
    current_item().map(|(_, key)| key)
}

/// The error for an item that waits for itself.
pub(crate) fn waits_for_itself() -> WouldDeadlock {
    let name = current_pwq().map_or("", name_of).to_owned();
    WouldDeadlock {
        waiter: name.clone(),
        awaited: name,
    }
}

impl ThisWorker {
    pub(crate) fn pool(self) -> &'static Pool {
        self.slot.pool
    }

    /// Whether this is the process whose worker it is, and not a forked child.
    fn is_ours(self) -> bool {
        self.pool().base().is_ours()
    }

    /// Whether waits for items of this pool are waits for its own.
    pub(crate) fn is_of(self, pool: &'static Pool) -> bool {
        self.slot.pool == pool
    }

    /// The number of the queue in which the next instance of this item is pending.
    pub(crate) fn requeued_to(self) -> Option<u64> {
        self.pool().with(|core, _| core.requeued_to(self.slot.id))
    }

    pub(crate) fn is_rescuer(self) -> bool {
        self.stack().any(|worker| worker.slot.rescues.load(SeqCst))
    }

    /// Whether anything waits for the slot or the worker of this item.
    pub(crate) fn others_waiting(self) -> bool {
        self.pool().with_workers(clock::now(), |core, cx| {
            core.others_waiting(cx, self.slot.id)
        })
    }

    /// Where its pool is, which stays there.
    pub(crate) fn pool_address(self) -> usize {
        std::ptr::from_ref(self.pool()).addr()
    }

    /// What people are told of the item.
    pub(crate) fn describe(self, text: &str) {
        self.slot.describe(text);
    }

    /// Runs `wait`, during which people are told that the item waits for this.
    pub(crate) fn awaiting<R>(
        self,
        awaited: (Arc<str>, Option<&'static str>),
        wait: impl FnOnce() -> R,
    ) -> R {
        let recorder = self.pool().base().recorder();
        let recorded = recorder.here().map(|began| (awaited.clone(), began));
        self.slot.set_awaits(Some(awaited));
        // In a child that was forked meanwhile somebody who is not there may hold the lock.
        let _end = OnDrop(|| {
            if self.is_ours() {
                self.slot.set_awaits(None);
                if let Some(((queue, item), began)) = &recorded {
                    recorder.waited(queue, *item, *began);
                }
            }
        });
        wait()
    }

    /// Itself, and for a claim those whose items are in the middle of it.
    pub(crate) fn stack(self) -> impl Iterator<Item = ThisWorker> + Clone {
        std::iter::successors(Some(self), |worker| worker.beneath())
    }

    fn beneath(self) -> Option<ThisWorker> {
        let slot = self.slot.beneath()?;
        Some(ThisWorker { slot })
    }

    /// How many claims the calling thread is in the middle of.
    pub(crate) fn claims(self) -> u32 {
        let claims = self.stack().filter(|p| p.slot.is_visited());
        claims.count() as u32
    }

    /// Whether somebody may have narrowed the thread's mask.
    pub(crate) fn may_be_narrow(self) -> bool {
        self.stack().any(|worker| worker.slot.may_be_narrow())
    }

    /// As the core of this pool knows the thread, if that claims an item of it.
    pub(crate) fn claimant(self, pool: &'static Pool) -> Claimant {
        let stack = self
            .stack()
            .map(|worker| (worker.pool().id(), worker.slot.id));
        Claimant::of(pool.id(), stack, |of, id| {
            let of = pool.engine().pool(of).expect("the pool exists");
            of.with_workers(clock::now(), |core, _| core.is_counted(id))
        })
    }

    /// Runs `wait`, which blocks, with the worker counted as blocked.
    pub(crate) fn blocking<R>(self, wait: impl FnOnce() -> R) -> R {
        let _end = self.hint();
        wait()
    }

    /// The worker counts as blocked until this is dropped.
    pub(crate) fn hint(self) -> impl Drop + 'static {
        hint(self.stack())
    }

    /// Ends what the item has begun in the core. Not in a child that the item has forked meanwhile:
    /// there the pool's lock may be held by a thread that does not exist.
    fn leave(self, event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>)) {
        if self.is_ours() {
            self.pool().with_workers(clock::now(), event);
        }
    }

    /// The number of the worker's next wait, for whoever will end it.
    pub(crate) fn next_wait(self) -> WaitRef {
        WaitRef {
            slot: self.slot,
            number: self.slot.next_wait(),
        }
    }

    /// Runs `body`, which waits for items of this worker's pool, unless the wait could never end or
    /// is `over`. What it returns is whether it did end: it looks at
    /// [`has_failed`](Self::has_failed) as well.
    fn waiting(
        self,
        wait: Wait<PwqRef>,
        over: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> bool,
        body: impl FnOnce() -> bool,
    ) -> Result<(), Stuck> {
        let slot = self.slot;
        let begun = self.pool().with(|core, cx| {
            slot.wait_failed.store(false, SeqCst);
            // Looked at under the lock: whoever ends the wait later says so under the lock. A
            // worker that counted as waiting for what is over would make others' waits fail.
            match over(core, cx) {
                true => Ok(false),
                false => core.wait_begin(cx, slot.id, wait).map(|()| true),
            }
        })?;
        if !begun {
            return Ok(());
        }
        let _end = OnDrop(|| self.leave(|core, cx| core.wait_end(cx, slot.id)));
        let _beneath = hint(self.stack().skip(1));
        if body() { Ok(()) } else { Err(Stuck) }
    }

    fn has_failed(self) -> bool {
        self.slot.wait_failed.load(SeqCst) || self.slot.gave_up.load(SeqCst)
    }

    /// Waits until `done`, for items that were queued through `pwq` of this worker's pool. Whoever
    /// makes it done says [`WaitRef::is_over`].
    pub(crate) fn wait_for(self, pwq: PwqRef, done: impl Fn() -> bool) -> Result<(), Stuck> {
        self.waiting(
            Wait::Items(pwq),
            |_, _| done(),
            || {
                while !done() && !self.has_failed() {
                    self.slot.parker.park(None);
                }
                done()
            },
        )
    }

    /// As [`wait_for`](Self::wait_for), for items that have all begun: they end, or fail in waits
    /// of their own.
    pub(crate) fn wait_begun(self, pwq: PwqRef, done: impl Fn() -> bool) {
        let ended = self.waiting(
            Wait::Begun(pwq),
            |_, _| done(),
            || {
                while !done() {
                    self.slot.parker.park(None);
                }
                true
            },
        );
        debug_assert!(ended.is_ok(), "such a wait never fails");
    }

    /// Waits until `done` says so under the lock of `pool`, which it asks at each flush or drain of
    /// `pwq` that moves on.
    pub(crate) fn wait_flush(
        self,
        pool: &'static Pool,
        pwq: PwqRef,
        deadline: Option<Time>,
        done: impl FnMut(&mut WorkerPool<Items>, &mut Cx<Items>) -> bool,
    ) -> Result<bool, Stuck> {
        if deadline.is_some() {
            // It ends in any case.
            return Ok(self.blocking(|| pool.wait_progress(deadline, done)));
        }
        if !self.is_of(pool) {
            return self.wait_flush_elsewhere(pool, done);
        }
        // A wait like others: late news of an earlier one that has failed do not end it.
        self.next_wait();
        let done = RefCell::new(done);
        self.waiting(
            Wait::Flush(pwq),
            |core, cx| (done.borrow_mut())(core, cx),
            || {
                let mut over = false;
                pool.wait_progress(None, |core, cx| {
                    over = (done.borrow_mut())(core, cx);
                    let gives_up = !over
                        && (self.has_failed()
                            || core.wait_on(cx, self.slot.id, Wait::Flush(pwq)).is_err());
                    over || gives_up
                });
                over
            },
        )
        .map(|()| true)
    }

    /// The same in a hint: the flush is of another pool.
    fn wait_flush_elsewhere(
        self,
        pool: &'static Pool,
        mut done: impl FnMut(&mut WorkerPool<Items>, &mut Cx<Items>) -> bool,
    ) -> Result<bool, Stuck> {
        let mut over = false;
        self.blocking(|| {
            pool.wait_progress(None, |core, cx| {
                over = done(core, cx);
                over || self.has_failed()
            })
        });
        over.then_some(true).ok_or(Stuck)
    }

    /// Parks until `done`, in a hint: what is waited for belongs to another pool.
    pub(crate) fn wait_elsewhere(self, done: impl Fn() -> bool) -> Result<(), Stuck> {
        self.blocking(|| {
            while !done() && !self.has_failed() {
                self.slot.parker.park(None);
            }
        });
        done().then_some(()).ok_or(Stuck)
    }

    /// From now on the worker's state is that of this process tree; returns what it was before.
    pub(crate) fn attach(self, pid: i32) -> i32 {
        self.slot.attach(pid)
    }
}

impl WaitRef {
    /// What the worker waits for has happened, unless it has gone on to another wait.
    pub(crate) fn is_over(self) {
        let slot = self.slot;
        if !slot.pool.base().is_ours() {
            // In a forked child: the worker is the parent's, and somebody may have held its pool.
            return;
        }
        slot.pool.with_workers(clock::now(), |core, _| {
            if slot.last_wait() == self.number {
                core.wait_over(slot.id);
            }
        });
        slot.parker.unpark();
    }
}

/// The calling thread is about to block: all that it stands for does. Until dropped.
fn hint(stack: impl Iterator<Item = ThisWorker> + Clone) -> impl Drop {
    for worker in stack.clone() {
        let id = worker.slot.id;
        let event = |core: &mut WorkerPool<Items>, cx: &mut Cx<Items>| core.hint_begin(cx, id);
        worker.pool().with_workers(clock::now(), event);
    }
    OnDrop(move || {
        for worker in stack.clone() {
            let id = worker.slot.id;
            worker.leave(|core, cx| core.hint_end(cx, id));
        }
    })
}

pub(crate) struct OnDrop<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
