//! What the machine tells a pool, and what follows each time.
//!
//! Events of this file go through one of two doors. After [`event`](WorkerPool::event), tokens that
//! are not needed go back, and a worker is started if one is needed ([`start`](super::start)).
//! [`note`](WorkerPool::note) is for events after which none is needed, and for those that start
//! workers themselves. Both doors bring the books in line, and check them in debug builds.
//!
//! Three calls in other files are events as well: [`ended`](WorkerPool::ended) (`quick.rs`), which
//! is the end of an item and the question for the next in one, items that are taken in
//! (`inbox.rs`), and workers that are let go (`life.rs`). The others cannot start or stop a worker,
//! and nothing follows them: barriers, drains and flushes (`items.rs`, `series.rs`), pool
//! workqueues that come and go (`slots.rs`), questions.

use super::Inbox;
use super::decisions::Cause;
use super::{AskSwitches, Claimant};
use super::{
    Cx, Hog, ItemReport, Queueing, Retired, Rule, Seen, Shortage, Step, Stuck, WorkerPool,
};
use crate::hog::Sample;
use crate::probe::{broken, hit};
use crate::store::{SharedLimit, Store};
use crate::time::Nanos;
use crate::worker::{Execution, State, Wait, WorkerId};

/// What an item of this store was queued as, and through which pool workqueue.
type Begun<S> = (<S as crate::list::Links>::Work, <S as Store>::Pwq);

/// What follows.
impl<S: Store> WorkerPool<S> {
    /// An event after which a worker may be needed. `None`: nothing has happened, and nothing
    /// follows.
    fn event<R>(
        &mut self,
        cx: &mut Cx<S>,
        act: impl FnOnce(&mut Self, &mut Cx<S>) -> Option<R>,
    ) -> Option<R> {
        let result = act(self, cx)?;
        self.conclude(cx);
        Some(result)
    }

    /// An event after which none is needed, or which has seen to that.
    fn note<R>(&mut self, cx: &mut Cx<S>, act: impl FnOnce(&mut Self, &mut Cx<S>) -> R) -> R {
        let result = act(self, cx);
        self.settle(cx);
        if cfg!(debug_assertions) {
            self.check();
        }
        result
    }
}

/// Items.
impl<S: Store> WorkerPool<S> {
    /// Queues an item, which the caller owns, through one of this pool's pwqs.
    pub fn queue(
        &mut self,
        cx: &mut Cx<S>,
        work: S::Work,
        pwq: S::Pwq,
        how: Queueing,
    ) -> Result<(), Retired> {
        self.event(cx, |pool, cx| pool.enqueue(cx, work, pwq, how))
            .ok_or(Retired)
    }

    /// Takes a queued item back, for a caller who owns it from then on: it does not run. `None` if
    /// it is not queued in this pool. Barriers behind it go on without it. If it was deferred, the
    /// execution is named: tell it with [`not_deferred`](Self::not_deferred).
    pub fn steal(&mut self, cx: &mut Cx<S>, work: S::Work) -> Option<Option<Execution>> {
        self.event(cx, |pool, cx| pool.take_back(cx, work))
    }

    /// The execution that an item of this pool waited for has ended, unless the item was taken
    /// back in between.
    pub fn undefer(&mut self, cx: &mut Cx<S>, execution: Execution) {
        self.event(cx, |pool, cx| pool.end_deferral(cx, execution));
    }

    /// Changes the limit that `pwq` counts for; 0 freezes it. Items that wait become active in
    /// turn.
    pub fn set_limit(&mut self, cx: &mut Cx<S>, pwq: S::Pwq, max: u32) {
        let _ = cx.store.limit(pwq).step(|limit| Some(limit.with_max(max)));
        self.event(cx, |pool, cx| pool.serve(cx, pwq));
    }

    /// A slot of this queue may be free, and it may be this pool's turn: `Activate` was said. Of a
    /// pool with an inbox it need not know what lies there, and several hands are left alone.
    pub fn activate(&mut self, cx: &mut Cx<S>, inbox: &mut impl Inbox<S>, pwq: S::Pwq) {
        self.recall_for_turn(cx, inbox, pwq);
        hit!(TurnOver if !super::slots::limit_now(cx, pwq).waiting());
        if !broken!(TurnLost) {
            self.event(cx, |pool, cx| pool.serve(cx, pwq));
        }
    }

    /// Items of `pwq` may start: all older ones of its ordered queue have ended.
    pub fn unplug(&mut self, cx: &mut Cx<S>, pwq: S::Pwq) {
        if !broken!(UnplugForgotten) {
            self.event(cx, |pool, cx| pool.pull_plug(cx, pwq));
        }
    }
}

/// Workers.
impl<S: Store> WorkerPool<S> {
    /// What worker `id` does next. Every awake worker asks, after each thing it has done.
    pub fn next(&mut self, cx: &mut Cx<S>, id: WorkerId) -> Step<S::Work, S::Pwq> {
        // Woken by a report that led to nothing, or by a token that was left over.
        if let State::Idle(_) = self.crew.get(id).state() {
            hit!(WorkerParksAgain);
            return Step::Park;
        }
        self.note(cx, |pool, cx| pool.next_step(cx, id))
    }

    /// The worker has yielded: a long time means that somebody else had the CPU. If nobody wants
    /// it, not so many run as were counted.
    pub fn yielded(&mut self, cx: &mut Cx<S>, id: WorkerId, took: Nanos) {
        self.note(cx, |pool, cx| pool.note_yield(cx, id, took));
    }

    /// The worker, which executes nothing, must not run another item: one has left its thread
    /// unfit. Follow with the end of the thread. What it alone was to run goes to the others.
    pub fn give_up(&mut self, cx: &mut Cx<S>, id: WorkerId) {
        self.event(cx, |pool, cx| pool.leave_unfit(cx, id));
    }

    /// The thread of `id` could not be made: no other is asked for during the cooldown, and a wait
    /// that only it could have ended fails.
    pub fn spawn_failed(&mut self, cx: &mut Cx<S>, id: WorkerId) {
        self.event(cx, |pool, cx| pool.not_created(cx, id));
    }

    /// The limit of its threads doubles, up to `most`: what the system has room for. The limit
    /// before and now; `None` if there is no room, which is then the last word.
    pub fn outgrow_threads(&mut self, cx: &mut Cx<S>, most: u32) -> Option<(u32, u32)> {
        let limits = self.event(cx, |pool, cx| pool.raise_thread_limit(cx, most));
        limits.filter(|(from, to)| to > from)
    }

    /// How it chooses from now on: a per-CPU pool's CPU has gone, or is back (kernel
    /// `unbind_workers`, `rebind_workers`). Pending items stay.
    pub(super) fn set_rule(&mut self, cx: &mut Cx<S>, rule: Rule) {
        self.event(cx, |pool, cx| {
            if !broken!(HotplugIgnored) {
                pool.attrs.rule = rule;
            }
            if !pool.manages() {
                pool.worklist.forget_crowds(cx);
            }
            Some(())
        });
    }

    /// The CPUs it serves have changed.
    pub(super) fn set_target(&mut self, cx: &mut Cx<S>, (target, beyond): (u32, u32), budget: u32) {
        assert!(target > 0 && budget > 0);
        self.event(cx, |pool, _| {
            (pool.attrs.target, pool.attrs.beyond) = (target, beyond);
            pool.attrs.budget = budget;
            Some(())
        });
    }
}

/// Reports of the world. Any may be wrong, late or missing. It moves the estimate, which stays
/// within its bounds whatever was said. It never makes an item wait for ever, because the tick
/// looks again.
impl<S: Store> WorkerPool<S> {
    /// A CPU reported that it would idle, through `receiver` if a parked worker took the report.
    /// So at most one less than the target run: whoever is counted beyond that is presumed asleep,
    /// and another worker starts. True if it does.
    pub fn cpu_idle(&mut self, cx: &mut Cx<S>, receiver: Option<WorkerId>) -> bool {
        self.note(cx, |pool, cx| pool.take_report(cx, receiver))
    }

    /// A scan has looked, at everybody [planned](Self::plan_scan) or until it had seen enough. Its
    /// findings replace what reports had made of the estimate: who was seen to run is not presumed
    /// asleep. Tells whether fewer run than should although items wait: the signals that should
    /// have said so are late.
    pub fn scanned(&mut self, cx: &mut Cx<S>, seen: &[Seen], complete: bool) -> Shortage {
        self.note(cx, |pool, cx| pool.take_look(cx, seen, complete))
    }

    /// A look at the CPU time of a watched item. In a per-CPU pool an item that keeps its CPU does
    /// not hold up the others any more (kernel `wq_worker_tick`); elsewhere it is only reported.
    pub fn watched(
        &mut self,
        cx: &mut Cx<S>,
        id: WorkerId,
        item: u32,
        sample: Sample,
        threshold: Nanos,
    ) -> Result<Option<Hog<S::Pwq>>, AskSwitches> {
        let hog = self.judge_watched(cx, id, item, sample, threshold)?;
        if hog.is_some_and(|hog| hog.uncounted) {
            self.event(cx, |pool, cx| pool.stop_counting(cx, id));
        }
        Ok(hog)
    }

    /// The worker says that it is about to block. Nests.
    pub fn hint_begin(&mut self, cx: &mut Cx<S>, id: WorkerId) {
        let worker = self.crew.get(id);
        assert_eq!(worker.state(), State::Executing, "only an item blocks");
        let (first, before) = (self.first_pwq(cx), self.crew.counts().on_their_way());
        let because = self.decisions.because(Cause::Hint);
        self.event(cx, |pool, cx| pool.stop_counting(cx, id));
        self.decisions.because(because);
        let started = self.crew.counts().on_their_way().saturating_sub(before);
        Self::count_wakeups(cx, first, u64::from(started));
    }

    /// Others may start in its place.
    fn stop_counting(&mut self, cx: &mut Cx<S>, id: WorkerId) -> Option<()> {
        self.crew.uncount(id);
        self.brief.left(id);
        self.settle(cx);
        Some(())
    }

    /// The worker is back.
    pub fn hint_end(&mut self, cx: &mut Cx<S>, id: WorkerId) {
        assert!(self.crew.get(id).hints() > 0, "worker {id} was in no hint");
        if !broken!(HintEndIgnored) {
            self.note(cx, |pool, _| pool.crew.recount(id));
        }
    }

    /// The worker is about to wait: a hint. Refused if the items could never be started, because no
    /// other worker is left, or because all slots of their queue wait likewise. Follow with
    /// `wait_end` unless refused.
    pub fn wait_begin(
        &mut self,
        cx: &mut Cx<S>,
        id: WorkerId,
        wait: Wait<S::Pwq>,
    ) -> Result<(), Stuck> {
        self.wait_on(cx, id, wait)?;
        hit!(WaitBegun);
        self.hint_begin(cx, id);
        Ok(())
    }

    /// The worker has stopped waiting.
    pub fn wait_end(&mut self, cx: &mut Cx<S>, id: WorkerId) {
        hit!(WaitEnded);
        self.crew.set_waiting(id, None);
        self.hint_end(cx, id);
    }
}

/// Guests: rescuers, and waiters that execute what they wait for.
impl<S: Store> WorkerPool<S> {
    /// The next item that a rescuer may run: of its own list, then of the worklist while the pool
    /// still needs a worker that cannot be made. `patient`: no other pool waits for this rescuer.
    pub fn rescuer_next(
        &mut self,
        cx: &mut Cx<S>,
        id: WorkerId,
        done: u32,
        patient: bool,
    ) -> Option<Begun<S>> {
        if broken!(RescuerLeavesEarly) && done > 0 {
            return None;
        }
        // What it has ended may have made room for others.
        self.event(cx, |pool, cx| {
            Some(pool.begin_rescue(cx, id, done, patient))
        })?
    }

    /// The rescuer leaves. True if it does so only because others wait for it, and is to come
    /// again after its turns in their pools.
    pub fn rescuer_detach(&mut self, cx: &mut Cx<S>, id: WorkerId, turn_over: bool) -> bool {
        let pwq = self.event(cx, |pool, cx| {
            pool.brief.left(id);
            let pwq = pool.crew.leave(id);
            pool.fail_a_wait(cx);
            pwq
        });
        self.comes_again(cx, pwq.filter(|_| turn_over))
    }

    /// The caller executes this item itself, then says [`claim_ended`](Self::claim_ended). `None`:
    /// it is to wait. Then the item has begun, is not here, or has no slot; or its queue is frozen,
    /// or has been given other attributes; or too many claim already.
    pub fn claim(
        &mut self,
        cx: &mut Cx<S>,
        work: S::Work,
        by: Claimant,
    ) -> Option<(WorkerId, S::Pwq)> {
        let adds = self.claim_adds(by);
        if !self.is_claimable(cx, work) || !self.may_claim(adds) {
            return None;
        }
        Some(self.note(cx, |pool, cx| pool.begin_claim(cx, work, by, adds)))
    }

    /// The claimed item, or a barrier behind it, has ended. `Some`: the next barrier, which is
    /// executed and said to have ended likewise. What else has come to stand behind the item goes
    /// to the workers.
    pub fn claim_ended(
        &mut self,
        cx: &mut Cx<S>,
        id: WorkerId,
        report: ItemReport,
    ) -> Option<Begun<S>> {
        self.event(cx, |pool, cx| Some(pool.end_claim(cx, id, report)))?
    }
}
