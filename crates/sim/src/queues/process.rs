//! The process around the queues: handles that are dropped, the end of the program, a CPU quota.

use cmwq_policy::contract::{self, Later, Machine as _};
use cmwq_policy::pwq::Drain;
use cmwq_policy::worker::Wait;
use cmwq_policy::{Cx, Nanos, WorkerPool};

use crate::api::act::Answer;
use crate::api::names::{PoolId, QueueId};
use crate::cpu::ThreadId;
use crate::machine::Machine;
use crate::state::event::Event;
use crate::state::pending::{Awaited, ForAll, ForDropped, Pending, Reply};

impl ForDropped {
    pub(crate) fn look(&mut self, m: &Machine) -> Result<Answer, Awaited> {
        // Not over with the first pass: while it waits for one pwq, others may get items again.
        while !contract::is_drained(m, self.0) {
            for pwq in m.with_queue(self.0, |q| q.pwqs()) {
                let pool = PoolId(m.info(pwq).pool);
                if !m.in_pool(pool, |core, cx| core.begin_drain(cx, pwq, Drain::Awaited)) {
                    return Err(Some(Wait::Flush(pwq)));
                }
            }
        }
        Ok(Answer::Bool(true))
    }
}

impl ForAll {
    /// What of the pool ends after this call.
    fn later(&self, m: &Machine, pool: PoolId) -> Later {
        match self.own.is_empty() {
            true => Later::default(),
            false => m.wait_graph.borrow().later(m, pool.0),
        }
    }

    /// Watches the first pool that is not empty, instead of the one that is watched now.
    fn watch(&mut self, m: &Machine, next: Option<PoolId>) {
        let before = std::mem::replace(&mut self.at, next);
        let watch = |pool, watched| m.in_pool(pool, |core, _| core.watch_drain(watched));
        next.into_iter().for_each(|pool| watch(pool, true));
        before.into_iter().for_each(|pool| watch(pool, false));
    }

    fn report(&self, m: &Machine) -> Answer {
        let ended = m.completed() - self.before;
        let (mut queued, mut running) = (0, 0);
        for pool in m.pool_ids() {
            let later = self.later(m, pool);
            let counts = |core: &mut WorkerPool<_>, _: &mut Cx<_>| {
                (u64::from(core.nr_executing()), core.nr_in_flight())
            };
            let (executing, in_flight) = m.in_pool(pool, counts);
            queued += in_flight - executing - later.barriers;
            running += executing - later.running;
        }
        let armed = m.timers.borrow().len();
        Answer::Text(format!(
            "{ended} ended, {queued} queued, {running} running, {armed} armed"
        ))
    }

    pub(crate) fn look(&mut self, m: &Machine) -> Result<Answer, Awaited> {
        // An event: the pool may have to take in what was left for it.
        let in_flight = |pool: PoolId| m.in_pool(pool, |core, _| core.nr_in_flight());
        // Nothing happens between the looks at two pools, so one pass is enough.
        let busy = m
            .pool_ids()
            .find(|&pool| in_flight(pool) > self.later(m, pool).in_flight());
        let busy = busy.filter(|_| m.now() < self.deadline);
        self.watch(m, busy);
        if busy.is_some() {
            return Err(None);
        }
        m.call_off(self.alarm);
        let report = self.report(m);
        m.wait_graph.borrow_mut().end(&self.own);
        Ok(report)
    }
}

impl Machine {
    pub(crate) fn drop_workqueue(&self, id: ThreadId, queue: QueueId) -> Reply {
        let at = self.queue(queue);
        let first = !at.dropped.replace(true);
        assert!(first, "queue `{}` has no handle any more", at.spec.name);
        self.close_workqueue(queue);
        // Nothing would ever thaw it.
        contract::thaw(self, queue);
        let own = self.pwq_executed(id);
        let own = own.map(|pwq| self.items.borrow().queue_of(pwq));
        if own == Some(queue) {
            self.orphan(queue);
            return Reply::Done(Answer::Bool(false));
        }
        Reply::Wait(Pending::Dropped(ForDropped(queue)))
    }

    /// Leaves the queue to whoever ends the last items.
    pub(crate) fn orphan(&self, queue: QueueId) {
        let pwqs: Vec<_> = self.with_queue(queue, |q| {
            q.orphan();
            q.pwqs()
        });
        for pwq in pwqs {
            let pool = PoolId(self.info(pwq).pool);
            self.in_pool(pool, |core, cx| core.begin_drain(cx, pwq, Drain::Orphaned));
        }
    }

    pub(crate) fn shutdown(&self, id: ThreadId, most: Nanos) -> Reply {
        self.process.closing.set(true);
        let own = self.nodes(id);
        self.wait_graph.borrow_mut().begin_shutdown(&own);
        Reply::Wait(Pending::All(ForAll {
            own,
            deadline: self.now().after(most),
            alarm: self.after(most, Event::CallOver(id)),
            at: None,
            before: self.completed(),
        }))
    }

    fn completed(&self) -> u64 {
        let completed = |pool| self.pool_stats(pool).completed;
        self.pool_ids().map(completed).sum()
    }

    /// The CPUs that a quota leaves the process; `u32::MAX`: there is none.
    pub fn quota(&self) -> u32 {
        self.process.quota.get()
    }

    /// What a CPU quota leaves the process, in whole CPUs, at least 1: pools keep no more workers
    /// runnable, and no more canaries are armed. Nobody is throttled by it. `u32::MAX`: there is
    /// none.
    pub fn set_quota(&self, cpus: u32) {
        self.process.quota.set(cpus.max(1));
        self.layout.borrow_mut().set_quota(self.quota() as usize);
        self.follow_cpus();
        self.refit_queues();
    }
}
