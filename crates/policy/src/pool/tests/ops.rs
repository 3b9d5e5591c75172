//! What users of queues do: items are queued, taken back and flushed, limits and attributes change.
//! And what rescuers do.
//!
//! What takes more than one step goes through the rig's list of things to do, so that anything may
//! happen in between.

use super::super::{Claimant, Cx, ItemReport, Queueing};
use super::check::{InFlight, barriers_of};
use super::rig::{Doing, Pool, Rig, Todo};
use super::store::{Instance, TestPwq, TestStore};
use crate::action::Actions;
use crate::colours::Flush;
use crate::pwq::{Drain, PoolWorkqueue, PwqFlags};
use crate::work::WorkWord;
use crate::worker::{Execution, WorkerId};
use std::collections::{BTreeSet, VecDeque};
use std::vec::Vec;

/// A queue: its limit is that of its pwqs.
#[derive(Default)]
pub(super) struct Queue {
    pub(super) ordered: bool,
    flags: PwqFlags,
    /// In use, the oldest first. Of those in one line, the last one takes new items.
    pub(super) pwqs: Vec<usize>,
    /// Retired and empty.
    pub(super) spare: Vec<usize>,
    pub(super) rescuer: Rescuer,
}

/// The thread of a queue that helps where no worker can be made.
#[derive(Default)]
pub(super) struct Rescuer {
    /// For whom it was called.
    pub(super) calls: VecDeque<usize>,
    /// Whom it helps.
    pub(super) at: Option<usize>,
    /// Items that it has run there.
    pub(super) done: u32,
}

/// A flush of one pwq, and what it waits for.
pub(super) struct Flushing {
    pub(super) pwq: usize,
    pub(super) ticket: u64,
    pub(super) instances: BTreeSet<u64>,
}

impl Rig {
    /// A queue with one pwq.
    pub(super) fn pwq(&mut self, pool: usize, max_active: u32) -> usize {
        self.pwq_with(pool, max_active, PwqFlags::default())
    }

    pub(super) fn pwq_with(&mut self, pool: usize, max_active: u32, flags: PwqFlags) -> usize {
        let limit = self.store.add_limit(max_active);
        self.queues.push(Queue {
            flags,
            ..Queue::default()
        });
        self.add_pwq(pool, self.queues.len() - 1, limit, flags)
    }

    /// An ordered queue, with its first pwq.
    pub(super) fn ordered(&mut self, pool: usize) -> usize {
        let pwq = self.pwq(pool, 1);
        self.queues[self.store.pwqs[pwq].queue].ordered = true;
        pwq
    }

    /// One more pwq of that queue, under the same limit.
    pub(super) fn sibling(&mut self, pwq: usize, pool: usize) -> usize {
        let TestPwq { queue, limit, .. } = self.store.pwqs[pwq];
        self.add_pwq(pool, queue, limit, self.queues[queue].flags)
    }

    fn add_pwq(&mut self, pool: usize, queue: usize, limit: usize, flags: PwqFlags) -> usize {
        self.store.pwqs.push(TestPwq {
            pool,
            queue,
            limit,
            state: PoolWorkqueue::new(flags),
            holds: 0,
        });
        let pwq = self.store.pwqs.len() - 1;
        self.queues[queue].pwqs.push(pwq);
        pwq
    }

    pub(super) fn item(&mut self) -> usize {
        self.store.add_item()
    }

    fn set_word(&mut self, work: usize, word: WorkWord) {
        self.store.items[work].word = word;
    }

    /// Queues an item; false if it is pending already.
    pub(super) fn queue(&mut self, work: usize, pwq: usize) -> bool {
        let pended = self.pend(work);
        if pended {
            let (pwq, how) = self.register(work, pwq);
            self.insert(work, pwq, how);
        }
        pended
    }

    /// One call of the core, and what it asks for.
    pub(super) fn hold<R>(
        &mut self,
        pool: usize,
        act: impl FnOnce(&mut Pool, &mut Cx<TestStore>) -> R,
    ) -> (R, Actions<usize>) {
        let mut out = Actions::default();
        self.store.locked = Some(pool);
        let mut cx = Cx {
            store: &mut self.store,
            now: self.now,
            cpu: self.cpu,
            out: &mut out,
        };
        let result = act(&mut self.pools[pool], &mut cx);
        self.store.locked = None;
        (result, out)
    }

    /// Begins to queue an item; the rest comes later.
    pub(super) fn queue_slowly(&mut self, work: usize, pwq: usize) -> bool {
        let pended = self.pend(work);
        if pended {
            let (pwq, how) = self.register(work, pwq);
            let pool = self.store.pwqs[pwq].pool;
            self.todo.push((pool, Todo::Insert(work, pwq, how)));
        }
        pended
    }

    /// A new item, which is pending and the caller's.
    pub(super) fn pend_new(&mut self) -> usize {
        let work = self.item();
        assert!(self.pend(work));
        work
    }

    /// The caller owns the item if it was not pending.
    pub(super) fn pend(&mut self, work: usize) -> bool {
        let owned = self.store.items[work].word.try_pend();
        owned.map(|word| self.set_word(work, word)).is_ok()
    }

    /// Where an item that is owned goes. If it is being executed in another pool and cannot go
    /// there, that execution is told who waits for it. Only owners tell: the last one counts.
    pub(super) fn register(&mut self, work: usize, pwq: usize) -> (usize, Queueing) {
        let pwq = self.newest(pwq);
        let TestPwq { pool, queue, .. } = self.store.pwqs[pwq];
        let last = self.store.items[work].word.pool().map(|p| p as usize);
        let key = self.store.items[work].key;
        let elsewhere = last.filter(|&last| last != pool);
        let running = elsewhere.and_then(|at| self.call(at, |p, cx| p.executing(cx, &key)));
        let Some(running) = running else {
            return (pwq, self.queueing());
        };
        if running.queue == queue as u64 && !self.queues[queue].ordered {
            let redirected = true;
            let deferred = None;
            return (
                running.pwq,
                Queueing {
                    deferred,
                    redirected,
                    left: None,
                    home: self.cpu,
                },
            );
        }
        let (at, token) = (running.execution.pool as usize, running.execution);
        assert!(self.call(at, |p, _| p.defer_behind(token, pool as u32, queue as u64)));
        let deferred = Some(token);
        let redirected = false;
        (
            pwq,
            Queueing {
                deferred,
                redirected,
                left: None,
                home: self.cpu,
            },
        )
    }

    pub(super) fn queueing(&self) -> Queueing {
        Queueing {
            home: self.cpu,
            ..Queueing::default()
        }
    }

    /// Who replaces this pwq by now.
    fn newest(&self, pwq: usize) -> usize {
        let state = &self.store.pwqs[pwq];
        match state.state.retired {
            true => *self.queues[state.queue].pwqs.last().expect("one is used"),
            false => pwq,
        }
    }

    /// Queues an owned item, or finds its way anew if the pwq has been replaced meanwhile.
    pub(super) fn insert(&mut self, work: usize, pwq: usize, how: Queueing) {
        if how == self.queueing() && self.leaves(work, pwq) {
            return;
        }
        let pool = self.store.pwqs[pwq].pool;
        self.store.items[work].behind = how.deferred;
        if self
            .call(pool, |p, cx| p.queue(cx, work, pwq, how))
            .is_err()
        {
            self.store.items[work].behind = None;
            let (pwq, how) = self.register(work, pwq);
            return self.insert(work, pwq, how);
        }
        let confirm = |token| (pool, Todo::Confirm(token));
        self.todo.extend(how.deferred.map(confirm));
    }

    /// The execution that an item of this pool was queued behind may have ended before it was.
    pub(super) fn confirm(&mut self, pool: usize, token: Execution) {
        if !self.pools[token.pool as usize].goes_on(token) {
            self.call(pool, |p, cx| p.undefer(cx, token));
        }
    }

    /// Queues so many new items.
    pub(super) fn queue_new(&mut self, count: usize, pwq: usize) -> Vec<usize> {
        let items: Vec<usize> = (0..count).map(|_| self.item()).collect();
        for &work in &items {
            assert!(self.queue(work, pwq));
        }
        items
    }

    /// Queues so many new items and lets everything settle.
    pub(super) fn queue_and_run(&mut self, count: usize, pwq: usize) -> Vec<usize> {
        let items = self.queue_new(count, pwq);
        self.run();
        items
    }

    /// Takes a queued item back; it is the caller's then.
    pub(super) fn steal(&mut self, work: usize) -> bool {
        self.give_way(work);
        let Some(pool) = self.store.items[work].word.pool() else {
            return false;
        };
        let stolen = self.call(pool as usize, |p, cx| p.steal(cx, work));
        if let Some(Some(token)) = stolen {
            self.call(token.pool as usize, |p, _| p.not_deferred(token));
        }
        stolen.is_some()
    }

    pub(super) fn disown(&mut self, work: usize) {
        let word = self.store.items[work].word;
        self.set_word(work, word.disowned());
    }

    /// Takes an item back and lets it go; true if it was queued.
    pub(super) fn cancel(&mut self, work: usize) -> bool {
        let stolen = self.steal(work);
        if stolen {
            self.disown(work);
        }
        stolen
    }

    /// A barrier behind the queued item or its execution, if there is either.
    pub(super) fn barrier(&mut self, work: usize) -> Option<usize> {
        self.give_way(work);
        let item = &self.store.items[work];
        let pool = item.word.pool()? as usize;
        let target: Instance = match item.is_queued() {
            true => (work, item.stamp),
            false => (work, item.begun),
        };
        let barrier = self.free_barrier();
        self.set_word(barrier, WorkWord::NEW);
        self.store.items[barrier].target = Some(target);
        let pwq = self.call(pool, |p, cx| p.insert_barrier(cx, work, barrier))?;
        assert_eq!(self.store.pwq_of(barrier), Some(pwq));
        // Kept for the caller.
        self.store.pwqs[pwq].holds -= 1;
        let stamp = self.store.items[barrier].stamp;
        for flush in &mut self.flushes {
            if flush.pwq == pwq && flush.instances.contains(&target.1) {
                flush.instances.insert(stamp);
            }
        }
        Some(barrier)
    }

    fn free_barrier(&mut self) -> usize {
        let is_free = |&w: &usize| {
            let item = &self.store.items[w];
            item.is_barrier() && !item.is_queued() && self.who(w).is_none()
        };
        let free = (0..self.store.items.len()).find(is_free);
        free.unwrap_or_else(|| self.item())
    }

    /// The barriers that come next when this item, or barrier, has ended.
    pub(super) fn barriers_behind(&self, work: usize) -> Vec<usize> {
        let item = &self.store.items[work];
        barriers_of(self, item.target.unwrap_or((work, item.begun)))
    }

    /// Starts a flush.
    pub(super) fn flush(&mut self, pwq: usize) -> Flush {
        self.take_in();
        let instances = InFlight::of(self).instances.swap_remove(pwq);
        let pool = self.store.pwqs[pwq].pool;
        let flush = self.call(pool, |p, cx| p.begin_flush(cx, pwq));
        assert_eq!(flush == Flush::Done, instances.is_empty());
        if let Flush::Wait(ticket) = flush {
            self.flushes.push(Flushing {
                pwq,
                ticket,
                instances,
            });
        }
        flush
    }

    pub(super) fn forget_flushes(&mut self) {
        let done = |f: &Flushing| self.store.pwqs[f.pwq].state.colours.is_done(f.ticket);
        self.flushes.retain(|f| !done(f));
    }

    pub(super) fn drain(&mut self, pwq: usize, drain: Drain) -> bool {
        let TestPwq { pool, queue, .. } = self.store.pwqs[pwq];
        self.queues[queue].flags.orphaned |= drain == Drain::Orphaned;
        self.call(pool, |p, cx| p.begin_drain(cx, pwq, drain))
    }

    /// Changes the limit of this pwq's queue; 0 freezes it.
    pub(super) fn set_max(&mut self, pwq: usize, max: u32) {
        // What was left gets slots of the limit as it is.
        self.take_in();
        let limit = self.store.pwqs[pwq].limit;
        for pwq in 0..self.store.pwqs.len() {
            let TestPwq { pool, limit: l, .. } = self.store.pwqs[pwq];
            if l == limit {
                self.call(pool, |p, cx| p.set_limit(cx, pwq, max));
            }
        }
    }

    /// The queue's attributes change: the pwq that takes its new items is one of this pool now.
    pub(super) fn replace(&mut self, queue: usize, pool: usize) {
        let old = *self.queues[queue].pwqs.last().expect("one is used");
        let TestPwq {
            pool: from, limit, ..
        } = self.store.pwqs[old];
        if from == pool {
            return;
        }
        let plugged = self.queues[queue].ordered;
        match self.spare(queue, pool) {
            Some(pwq) => {
                self.call(pool, |p, cx| p.reuse_pwq(cx, pwq, plugged));
                self.queues[queue].pwqs.push(pwq);
            }
            None => {
                let flags = self.queues[queue].flags;
                self.add_pwq(pool, queue, limit, PwqFlags { plugged, ..flags });
            }
        }
        if self.call(from, |p, cx| p.retire_pwq(cx, old)) {
            self.pwq_emptied(old);
        }
    }

    fn spare(&mut self, queue: usize, pool: usize) -> Option<usize> {
        let spare = &mut self.queues[queue].spare;
        let fits = |&pwq: &usize| self.store.pwqs[pwq].pool == pool;
        let at = spare.iter().position(fits)?;
        Some(spare.swap_remove(at))
    }

    /// A retired pwq is empty, unless an item has come back to it: the next one may start.
    pub(super) fn pwq_emptied(&mut self, pwq: usize) {
        let TestPwq { pool, queue, .. } = self.store.pwqs[pwq];
        if !self.call(pool, |p, cx| p.is_retired_and_empty(cx, pwq)) {
            return;
        }
        let queue = &mut self.queues[queue];
        let Some(at) = queue.pwqs.iter().position(|&p| p == pwq) else {
            return;
        };
        queue.pwqs.remove(at);
        queue.spare.push(pwq);
        let oldest = queue.pwqs[0];
        let TestPwq { pool, state, .. } = &self.store.pwqs[oldest];
        if state.is_plugged() {
            self.call(*pool, |p, cx| p.unplug(cx, oldest));
        }
    }

    /// A rescuer is called: it comes at once, or after its turns elsewhere.
    pub(super) fn mayday(&mut self, pwq: usize) {
        let TestPwq { pool, queue, .. } = self.store.pwqs[pwq];
        let rescuer = &mut self.queues[queue].rescuer;
        if rescuer.at.is_some() {
            return rescuer.calls.push_back(pwq);
        }
        (rescuer.at, rescuer.done) = (Some(pwq), 0);
        let Some(id) = self.call(pool, |p, cx| p.rescuer_attach(cx, pwq)) else {
            // It will be called again.
            self.queues[queue].rescuer.at = None;
            self.store.pwqs[pwq].holds -= 1;
            return;
        };
        self.add_thread(pool, id);
    }

    /// Somebody who waits for this item executes it, if he may.
    pub(super) fn claim(&mut self, work: usize, by: Claimant) -> Option<WorkerId> {
        let pool = self.store.items[work].word.pool()? as usize;
        let (id, pwq) = self.call(pool, |p, cx| p.claim(cx, work, by))?;
        assert!(self.pools[pool].executes(&self.store.items[work].key));
        assert_eq!(
            self.pools[pool]
                .crew
                .get(id)
                .current
                .as_ref()
                .map(|c| c.pwq),
            Some(pwq)
        );
        // It may overtake others.
        self.begins(work, &[work]);
        self.add_thread(pool, id);
        self.thread(pool, id).doing = Doing::Running(work);
        Some(id)
    }

    pub(super) fn claim_ends(&mut self, pool: usize, id: WorkerId, report: ItemReport) {
        let next = self.call(pool, |p, cx| p.claim_ended(cx, id, report));
        let Some((barrier, _)) = next else {
            self.threads[pool].remove(&id);
            return;
        };
        assert!(self.store.items[barrier].is_barrier());
        self.begins(barrier, &[barrier]);
        self.thread(pool, id).doing = Doing::Running(barrier);
    }

    fn rescuer_of(&mut self, pool: usize, id: WorkerId) -> (usize, &mut Rescuer) {
        let pwq = self.pools[pool].crew.get(id).rescues;
        let pwq = pwq.expect("it is a rescuer");
        let queue = self.store.pwqs[pwq].queue;
        (pwq, &mut self.queues[queue].rescuer)
    }

    pub(super) fn rescuer_step(&mut self, pool: usize, id: WorkerId, ended: Option<ItemReport>) {
        let own = self.own_list(pool, id);
        let (helped, rescuer) = self.rescuer_of(pool, id);
        let (done, patient) = (rescuer.done, rescuer.calls.is_empty());
        let next = self.call(pool, |p, cx| {
            if let Some(report) = ended {
                p.item_ended(cx, id, report);
            }
            p.rescuer_next(cx, id, done, patient)
        });
        let Some((work, pwq)) = next else {
            self.thread(pool, id).doing = Doing::Leaving;
            return;
        };
        assert!(pwq == helped || own.contains(&work), "an item of others");
        self.rescuer_of(pool, id).1.done += 1;
        self.begins(work, &own);
        self.thread(pool, id).doing = Doing::Running(work);
    }

    pub(super) fn rescuer_leaves(&mut self, pool: usize, id: WorkerId) {
        let (pwq, rescuer) = self.rescuer_of(pool, id);
        rescuer.at = None;
        let mut calls: Vec<usize> = rescuer.calls.drain(..).collect();
        let turn_over = Pool::is_turn_over(rescuer.done, calls.is_empty());
        match self.call(pool, |p, cx| p.rescuer_detach(cx, id, turn_over)) {
            true => calls.push(pwq),
            false => self.store.pwqs[pwq].holds -= 1,
        }
        self.threads[pool].remove(&id);
        let of = |pwq: usize| (self.store.pwqs[pwq].pool, Todo::Mayday(pwq));
        self.todo.extend(calls.into_iter().map(of));
    }
}
