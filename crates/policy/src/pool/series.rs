//! What is not first in, first out: barriers behind an item, items that are taken back, and items
//! that wait for the end of an execution in another pool.
//!
//! A *series* is an item and the barriers linked behind it (kernel `WORK_STRUCT_LINKED`). It moves
//! from list to list as one, and the worker that runs the item runs the barriers next.

use super::crew::Current;
use super::{Cx, WorkerPool};
use crate::probe::{broken, hit};
use crate::store::{ItemKey, Store};
use crate::work::{QueuedFlags, WorkWord};
use crate::worker::{Execution, WorkerId};

/// An execution that goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Executing<P> {
    /// Which one.
    pub execution: Execution,
    /// The pool workqueue through which it was queued. May be gone once the pool is let go, unless
    /// it is of a queue that the caller keeps.
    pub pwq: P,
    /// The number of its queue.
    pub queue: u64,
}

/// Where a queued item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueuedIn {
    /// It waits for a slot.
    Inactive,
    /// It waits for a worker.
    Worklist,
    /// It waits for the end of what this worker executes.
    Scheduled(WorkerId),
}

impl<S: Store> WorkerPool<S> {
    /// Who executes this item now.
    pub fn executing(&self, cx: &Cx<S>, key: &ItemKey) -> Option<Executing<S::Pwq>> {
        let id = self.crew.executing(key)?;
        let pwq = self.crew.get(id).current.as_ref()?.pwq;
        Some(Executing {
            execution: self.execution_of(id),
            pwq,
            queue: cx.store.info(pwq).queue,
        })
    }

    /// Whether anybody executes this item now.
    pub fn executes(&self, key: &ItemKey) -> bool {
        self.crew.executing(key).is_some()
    }

    /// Puts a barrier right behind the queued item, or behind the execution of it that goes on: the
    /// pwq that it is counted for, [held](Store::hold) for the caller. `None` if this pool has
    /// neither. The barrier is a new item.
    pub fn insert_barrier(
        &mut self,
        cx: &mut Cx<S>,
        work: S::Work,
        barrier: S::Work,
    ) -> Option<S::Pwq> {
        let (pwq, colour, linked) = match self.queued_here(cx, work) {
            Some((pwq, colour)) => (pwq, colour, self.link_behind(cx, work, barrier)),
            None => {
                let id = self.crew.executing(&cx.store.key(work))?;
                let worker = self.crew.get_mut(id);
                worker.scheduled.push_front(cx.store, barrier);
                let current = worker.current.as_ref().expect("it executes");
                (current.pwq, current.colour, false)
            }
        };
        self.nr_in_flight += 1;
        cx.store.pwq(pwq).colours.queued_as(colour);
        let flags = QueuedFlags {
            inactive: true,
            linked,
            deferred: false,
        };
        let word = WorkWord::queued(cx.store.pwq_addr(pwq), self.attrs.id, colour, flags);
        cx.store.set_word(barrier, word);
        cx.store.hold(pwq);
        Some(pwq)
    }

    /// Links a barrier directly behind a queued item; true if others follow it.
    fn link_behind(&mut self, cx: &mut Cx<S>, work: S::Work, barrier: S::Work) -> bool {
        let word = cx.store.word(work);
        match self.queued_in(cx, work) {
            QueuedIn::Inactive => {
                let pwq = cx.store.pwq_of(work).expect("it is queued");
                self.slots
                    .with_inactive(cx, pwq, |s, list| list.insert_after(s, work, barrier));
            }
            QueuedIn::Scheduled(id) => {
                hit!(BarrierBehindScheduled);
                let list = &mut self.crew.get_mut(id).scheduled;
                list.insert_after(cx.store, work, barrier);
            }
            QueuedIn::Worklist => {
                self.worklist.insert_behind(cx, work, barrier);
            }
        }
        let flags = word.flags();
        let next = QueuedFlags {
            linked: true,
            ..flags
        };
        cx.store.set_word(work, word.with_flags(next));
        flags.linked
    }

    /// See [`steal`](Self::steal).
    pub(super) fn take_back(&mut self, cx: &mut Cx<S>, work: S::Work) -> Option<Option<Execution>> {
        let (pwq, colour) = self.queued_here(cx, work)?;
        let flags = cx.store.word(work).flags();
        let behind = flags.deferred.then(|| self.worklist.forget_deferred(work));
        hit!(ItemStolenDeferred if flags.deferred);
        match self.queued_in(cx, work) {
            QueuedIn::Inactive => self.steal_inactive(cx, work, pwq),
            QueuedIn::Scheduled(id) => {
                hit!(ItemStolenScheduled);
                let list = &mut self.crew.get_mut(id).scheduled;
                list.remove(cx.store, work);
                self.put_stolen_slot(cx, pwq);
            }
            QueuedIn::Worklist => {
                self.worklist.take_out(cx, work);
                self.put_stolen_slot(cx, pwq);
            }
        }
        // While it was deferred it ran, or still runs, in that other pool.
        let last_pool = behind.map_or(self.attrs.id, |execution| execution.pool);
        cx.store.set_word(work, WorkWord::owned(last_pool));
        self.note_requeued(cx, work, None);
        self.count_out(cx, pwq, colour);
        self.fail_at_limit(cx, pwq);
        Some(behind)
    }

    fn put_stolen_slot(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) {
        cx.store.pwq(pwq).moved = cx.now;
        if !broken!(CancelKeepsSlot) {
            self.put_slot(cx, pwq);
        }
    }

    /// If the item is being executed here: its next instance is pending in that queue, or no more.
    pub(super) fn note_requeued(&mut self, cx: &Cx<S>, work: S::Work, queue: Option<u64>) {
        if let Some(id) = self.crew.executing(&cx.store.key(work)) {
            let current = self.crew.get_mut(id).current.as_mut();
            current.expect("it executes").requeued_to = queue;
        }
    }

    /// An item that waits for a slot. Its barriers need none: they go to the worklist, and, unlike
    /// in the kernel, somebody is woken to run them.
    fn steal_inactive(&mut self, cx: &mut Cx<S>, work: S::Work, pwq: S::Pwq) {
        let series = self.worklist.series(cx, work);
        hit!(BarrierFreed if series.len() > 1);
        for &member in &series {
            self.slots
                .with_inactive(cx, pwq, |s, list| list.remove(s, member));
        }
        self.push_series(cx, &series[1..]);
        self.leave_waiters(cx, pwq);
    }

    /// The pwq and colour of an item that is queued in this pool.
    fn queued_here(&self, cx: &Cx<S>, work: S::Work) -> Option<(S::Pwq, u8)> {
        let word = cx.store.word(work);
        let (addr, colour) = word.pwq()?;
        // Only then is the pwq known to be there.
        let here = word.pool() == Some(self.attrs.id);
        here.then(|| (cx.store.pwq_at(addr), colour))
    }

    /// Where a queued item of this pool is. Lists are linked through the items, so whoever takes
    /// one out, or puts one behind it, must know the head.
    pub(super) fn queued_in(&self, cx: &Cx<S>, work: S::Work) -> QueuedIn {
        let word = cx.store.word(work);
        if word.flags().inactive {
            return QueuedIn::Inactive;
        }
        // Workers have items of their own only where an item was queued while it ran.
        let has = |&id: &WorkerId| {
            let scheduled = &self.crew.get(id).scheduled;
            !scheduled.is_empty() && scheduled.iter(cx.store).any(|w| w == work)
        };
        let own = match self.crew.executing(&cx.store.key(work)) {
            Some(id) if has(&id) => Some(id),
            _ => self.crew.ids().find(has),
        };
        own.map_or(QueuedIn::Worklist, QueuedIn::Scheduled)
    }

    /// Appends a series, which is in no list, to the worklist.
    pub(super) fn push_series(&mut self, cx: &mut Cx<S>, series: &[S::Work]) {
        if self.nr_queued() == 0 {
            self.dog.progressed(cx.now);
        }
        self.worklist.list_series(cx, series, false);
    }

    /// Asks the execution to say `Undefer` to that pool when it ends: its next instance waits
    /// there, in that queue. False if it has ended.
    pub fn defer_behind(&mut self, execution: Execution, pool: u32, queue: u64) -> bool {
        let current = self.current_of(execution);
        current
            .map(|current| {
                current.deferred_to = Some(pool);
                current.requeued_to = Some(queue);
            })
            .is_some()
    }

    /// Whether the execution has not ended.
    pub fn goes_on(&self, execution: Execution) -> bool {
        let worker = self.crew.get(execution.worker);
        worker.is_at(execution.seq)
    }

    /// The item that waited for this execution in another pool was taken back.
    pub fn not_deferred(&mut self, execution: Execution) {
        if let Some(current) = self.current_of(execution) {
            current.requeued_to = None;
        }
    }

    /// The queue in which the next instance of what this worker executes is pending: waiting for
    /// that queue, it would wait for itself.
    pub fn requeued_to(&self, id: WorkerId) -> Option<u64> {
        self.crew.get(id).current.as_ref()?.requeued_to
    }

    fn current_of(&mut self, execution: Execution) -> Option<&mut Current<S::Pwq>> {
        let same = self.goes_on(execution);
        let current = self.crew.get_mut(execution.worker).current.as_mut();
        current.filter(|_| same)
    }

    /// See [`undefer`](Self::undefer).
    pub(super) fn end_deferral(&mut self, cx: &mut Cx<S>, execution: Execution) -> Option<()> {
        if broken!(DeferralLost) {
            return None;
        }
        let Some(work) = self.worklist.end_of_deferral(execution) else {
            hit!(ItemUndeferStale);
            return None;
        };
        let word = cx.store.word(work);
        let flags = QueuedFlags {
            deferred: false,
            ..word.flags()
        };
        let waits = !flags.inactive;
        if waits && self.nr_queued() == 0 {
            self.dog.progressed(cx.now);
        }
        cx.store.set_word(work, word.with_flags(flags));
        if waits {
            self.worklist.free(cx, work);
        }
        Some(())
    }

    /// The execution that this item of the pool waits for, if it does.
    pub fn deferred_for(&self, work: S::Work) -> Option<Execution> {
        let found = self.worklist.deferred().iter().find(|d| d.work == work);
        found.map(|d| d.execution)
    }

    /// Moves a series of the worklist that is not deferred to the end of a worker's own list.
    pub(super) fn schedule_series(&mut self, cx: &mut Cx<S>, work: S::Work, id: WorkerId) {
        let own = &mut self.crew.get_mut(id).scheduled;
        self.worklist.move_series(cx, work, own);
    }
}
