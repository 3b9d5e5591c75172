//! Worker pools around the core: events in, actions out, and the tick.

mod claims;
mod rescuers;
mod sharing;
mod tidy;
mod told;
mod watch;
mod workers;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use cmwq_policy::affinity::{Near, Nearness};
use cmwq_policy::pool::{PoolKey, PoolStats, Served, trays};
use cmwq_policy::{
    Action, Actions, CpuMask, Cx, Nanos, PoolAttrs, Published, Time, WorkerId, WorkerPool, contract,
};

use crate::api::names::{ItemId, PoolId, PwqId, QueueId};
use crate::api::options::Options;
use crate::cpu::ThreadId;
use crate::machine::Machine;
use crate::state::event::{Armed, Event};
use crate::state::pool::{Inbox, Pool};
use crate::state::store::Items;
use sharing::Before;

impl Machine {
    /// The pool with this key, made if there is none.
    pub(crate) fn find_pool(&self, key: PoolKey) -> PoolId {
        let mut pools = self.pools.borrow_mut();
        if let Some(pool) = pools.iter().find(|pool| pool.key == key) {
            return pool.id;
        }
        let id = PoolId(pools.len() as u32);
        let node = self.layout.borrow().node_of(key.counts_in());
        let served = self.served(&key);
        let attrs = PoolAttrs {
            id: id.0,
            rule: served.rule,
            nice: key.nice(),
            target: served.target,
            beyond: served.beyond,
            budget: served.budget,
            thread_limit: key.threads(self.options.thread_limit),
            thread_most: 0,
        };
        let near = key.reach().near.map(|nearness| self.near(nearness));
        let brief = self.options.brief_items;
        let lines = self.add_pool_lines(trays(near.as_deref()));
        pools.push(Rc::new(Pool::new(key, lines, node, near, attrs, brief)));
        id
    }

    /// What a pool is while these CPUs are in use.
    fn served(&self, key: &PoolKey) -> Served {
        key.served(
            self.layout.borrow().online(),
            self.process.quota.get() as usize,
        )
    }

    /// The CPUs in use have changed, or the quota.
    pub(crate) fn follow_cpus(&self) {
        for id in self.pool_ids() {
            let served = self.served(&self.pool(id).key);
            self.in_pool(id, |core, cx| core.follow(cx, &served));
        }
    }

    /// Runs one event of a pool's core, then carries out what it asked for: at once, or when the
    /// queue is let go that is being worked on, or when the action is over that led here. It sees
    /// everything that was queued before.
    pub(crate) fn in_pool<R>(
        &self,
        id: PoolId,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> R,
    ) -> R {
        // An event of its own, so that it can be told what came of which.
        if self.pool(id).inbox.borrow().has_left() {
            self.take_in_of(id);
        }
        self.with_inbox(id, |core, cx, _| event(core, cx))
    }

    /// The same for an event about workers: what was left in the inbox is taken in only if nothing
    /// else waits.
    pub(crate) fn in_pool_of<R>(
        &self,
        id: PoolId,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> R,
    ) -> R {
        self.with_inbox(id, |core, cx, inbox| {
            core.take_in_some(cx, inbox);
            let result = event(core, cx);
            core.start_for_left(cx, inbox);
            result
        })
    }

    /// One event of a pool that has its inbox at hand, and what follows.
    pub(crate) fn with_inbox<R>(
        &self,
        id: PoolId,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>, &mut Inbox) -> R,
    ) -> R {
        self.beside_dealt(id, |core, cx, inbox| {
            core.recall(cx, inbox, None);
            event(core, cx, inbox)
        })
    }

    /// The same for an event that recalls what has to be recalled for it.
    pub(crate) fn beside_dealt<R>(
        &self,
        id: PoolId,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>, &mut Inbox) -> R,
    ) -> R {
        self.hold_inbox(id, 1, event)
    }

    /// The same, where the lock is held for so many events, as far as that costs anything.
    fn hold_inbox<R>(
        &self,
        id: PoolId,
        events: u64,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>, &mut Inbox) -> R,
    ) -> R {
        let pool = self.pool(id);
        let mut out = Actions::default();
        let mut inbox = pool.inbox.borrow_mut();
        let before = Before::of(&inbox);
        let (result, published) = self.call_core(&pool, &mut out, |core, cx| {
            let result = event(core, cx, &mut inbox);
            let published = core.publish(cx, &mut *inbox);
            ((result, published), inbox.nr_out() == 0)
        });
        pool.published.set(published);
        let left = published.open.is_none() && inbox.nr_left() > 0;
        self.charge_hold(&pool, events, &before, &inbox);
        drop(inbox);
        self.observed(|o| o.pool_event(self, id));
        for action in out.iter() {
            if let Action::FailWait(worker) = action {
                // At once, so that it cannot hit a later wait of the same worker.
                self.fail_wait(&pool, worker);
            }
            self.actions.borrow_mut().push_back((id, action));
        }
        self.postpone_actions();
        self.carry_out_postponed();
        self.arm(&pool, published);
        if left {
            self.take_in_of(id);
        }
        result
    }

    /// In the engine this and the event that comes next are one hold of the lock.
    fn take_in_of(&self, id: PoolId) {
        self.hold_inbox(id, 0, |core, cx, inbox| {
            core.recall(cx, inbox, None);
            core.take_in_left(cx, inbox, usize::MAX);
        });
    }

    /// Has all pools take in what was left for them. True if there was anything.
    pub(crate) fn take_in_all(&self) -> bool {
        let pools = self.pools.borrow().clone();
        let left = pools
            .iter()
            .filter(|pool| pool.inbox.borrow().has_left())
            .map(|pool| self.take_in_of(pool.id));
        left.count() > 0
    }

    /// An event, which tells whether the core knows all that its workers have done.
    pub(crate) fn call_core<R>(
        &self,
        pool: &Pool,
        out: &mut Actions<PwqId>,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> (R, bool),
    ) -> R {
        self.hold_core(pool, out, |core, cx| {
            let (result, knows_all) = event(core, cx);
            match self.checks_whole.get() && knows_all {
                true => core.check_whole(cx.store),
                false if cfg!(debug_assertions) => core.check(),
                false => {}
            }
            result
        })
    }

    /// What is no event: the core need not know all that its workers have done.
    pub(crate) fn hold_core<R>(
        &self,
        pool: &Pool,
        out: &mut Actions<PwqId>,
        act: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> R,
    ) -> R {
        let mut cx = Cx {
            store: &mut *self.items.borrow_mut(),
            now: self.now(),
            cpu: self.current_cpu() as u32,
            out,
        };
        act(&mut pool.core.borrow_mut(), &mut cx)
    }

    /// A look at a pool's core, which knows all that its workers have done.
    pub(crate) fn with_core<R>(
        &self,
        pool: PoolId,
        look: impl FnOnce(&WorkerPool<Items>) -> R,
    ) -> R {
        if self.pool(pool).inbox.borrow().has_news() {
            self.with_inbox(pool, |_, _, _| ());
        }
        look(&self.pool(pool).core.borrow())
    }

    /// Carries no actions out before [`carry_out_postponed`](Self::carry_out_postponed) was called
    /// as often.
    pub(crate) fn postpone_actions(&self) {
        self.postponing.set(self.postponing.get() + 1);
    }

    pub(crate) fn carry_out_postponed(&self) {
        while self.postponing.get() == 1 {
            let next = self.actions.borrow_mut().pop_front();
            let Some((pool, action)) = next else { break };
            self.carry_out(pool, action);
        }
        self.postponing.set(self.postponing.get() - 1);
    }

    fn carry_out(&self, pool: PoolId, action: Action<PwqId>) {
        match action {
            Action::Wake(id) => self.wake_worker(&self.pool(pool), id, None),
            Action::WakeNear(id, cpu) => self.wake_worker(&self.pool(pool), id, Some(cpu)),
            Action::FailWait(id) => {
                let thread = self.pool(pool).thread(id);
                thread.into_iter().for_each(|id| self.look_again(id));
            }
            Action::Spawn(id) => self.spawn_worker(pool, id),
            Action::Inspect => self.inspect(&self.pool(pool)),
            Action::Undefer { pool, execution } => {
                self.in_pool(PoolId(pool), |core, cx| core.undefer(cx, execution));
            }
            Action::Flushed(_) | Action::Drained(_) => self.progress(),
            Action::Released(pwq)
            | Action::Emptied(pwq)
            | Action::Activate(pwq)
            | Action::Spread(pwq)
            | Action::Gather(pwq)
            | Action::Mayday(pwq) => self.carry_out_held(pwq, action),
        }
    }

    fn wake_worker(&self, pool: &Pool, id: WorkerId, item: Option<u32>) {
        if let Some(thread) = pool.thread(id) {
            let repatriated = u64::from(self.bring_home(pool, thread, item));
            pool.repatriated.set(pool.repatriated.get() + repatriated);
            self.unpark(thread);
        }
    }

    /// Where a worker is woken that was `last` there, for an item that was queued on this CPU;
    /// `None`: anywhere.
    pub(crate) fn wakes_in(&self, pool: &Pool, item: Option<u32>, last: usize) -> Option<CpuMask> {
        let usable = pool.key.reach().usable(self.layout.borrow().online());
        let item = pool.near.as_deref().zip(item);
        pool.key.wakes_in(item, &usable, last)
    }

    /// A worker is about to be woken, for an item that was queued on this CPU: it starts where the
    /// policy says. False: anywhere.
    pub(crate) fn bring_home(&self, pool: &Pool, thread: ThreadId, item: Option<u32>) -> bool {
        let cpus = self.wakes_in(pool, item, self.sched().cpu_of(thread));
        // Of several, the one that the item comes from, or the next one.
        let item = item.filter(|_| pool.near.is_some());
        let its_own = |cpus: &CpuMask| {
            item.map(|cpu| cpu as usize)
                .filter(|&cpu| cpus.contains(cpu))
        };
        let start =
            cpus.and_then(|cpus| its_own(&cpus).or_else(|| cpus.next_after(pool.turn.get())));
        if let Some(cpu) = start {
            pool.turn.set(cpu);
            self.sched().set_wake_cpu(thread, cpu);
        }
        start.is_some()
    }

    fn near(&self, nearness: Nearness) -> Arc<Near> {
        self.layout.borrow_mut().near(nearness)
    }

    /// Those that keep the queue until they are carried out.
    fn carry_out_held(&self, pwq: PwqId, action: Action<PwqId>) {
        let queue = self.items.borrow().queue_of(pwq);
        match action {
            Action::Emptied(_) => contract::pwq_emptied(self, queue, pwq),
            Action::Activate(_) => contract::activate(self, pwq),
            Action::Spread(_) => contract::spread(self, queue),
            Action::Gather(_) => contract::gather(self, queue),
            Action::Mayday(_) => self.call_rescuer(queue, pwq),
            _ => self.progress(),
        }
        self.items.borrow_mut().let_go(pwq);
    }

    /// Sees to it that somebody looks at the pool when it wants that.
    fn arm(&self, pool: &Pool, published: Published) {
        let now = self.now();
        let (look, cull) = {
            let core = pool.core.borrow();
            (core.look_at(now), core.cull_at())
        };
        self.announce(pool, published);
        self.arm_at(&pool.look, look, Event::Look(pool.id));
        self.arm_at(&pool.cull, cull, Event::Cull(pool.id));
        self.arm_starving(pool);
    }

    /// The event happens at that time, or not at all.
    pub(crate) fn arm_at(&self, armed: &Cell<Armed>, at: Option<Time>, event: Event) {
        let before = armed.get();
        if before.map(|(time, _)| time) == at {
            return;
        }
        if let Some((_, key)) = before {
            self.call_off(key);
        }
        let at = at.map(|at| (at, self.after(at.since(self.now()), event)));
        armed.set(at);
    }

    pub(crate) fn cull(&self, id: PoolId) {
        self.pool(id).cull.set(None);
        match self.user_signals() {
            None => self.cull_now(id),
            Some(_) => self.cull_due(),
        }
    }

    pub(crate) fn cull_now(&self, id: PoolId) {
        while self.in_pool(id, |core, cx| core.cull(cx)) {}
    }

    /// A pool wants to be looked at now.
    pub(crate) fn look_at(&self, id: PoolId) {
        let pool = self.pool(id);
        pool.look.set(None);
        if self.user_signals().is_some() {
            return self.kick_tick();
        }
        self.in_pool(id, |core, cx| core.call_rescuers(cx));
        self.scan(&pool);
    }

    /// Whether a tick would look at anything.
    pub(crate) fn has_backlog(&self) -> bool {
        let waits = |pool: &Rc<Pool>| {
            pool.core.borrow().nr_queued() > 0 || pool.inbox.borrow().has_backlog()
        };
        self.pools.borrow().iter().any(waits)
    }

    /// Looks at the pools with backlog.
    pub(crate) fn tick(&self) {
        if self.user_signals().is_some() {
            return self.tick_due();
        }
        self.tick_is_armed.set(false);
        let pools = self.pools.borrow().clone();
        for pool in pools {
            let waits = pool.core.borrow().nr_queued() > 0;
            if waits || pool.inbox.borrow().has_backlog() {
                self.scan(&pool);
            }
        }
    }

    /// Looks at the workers of one pool.
    pub(crate) fn scan(&self, pool: &Pool) {
        contract::look(self, pool.id.0);
        self.watch_stall(pool);
    }

    /// Makes every attempt to create a worker's thread fail, or succeed again.
    pub fn fail_spawns(&self, fail: bool) {
        self.spawns_fail.set(fail);
    }

    /// Makes so many thousandths of these attempts fail from now on, 0..=1000.
    pub fn set_spawn_fails(&self, per_mille: u32) {
        self.spawn_fails.set(per_mille);
    }

    /// Whether an attempt fails now.
    pub(crate) fn does_spawn_fail(&self) -> bool {
        let now = self.now().0;
        let mut outages = self.options.spawn_outages.iter();
        let by_chance = self
            .random
            .with_spawns(|r| r.chance(self.spawn_fails.get()));
        by_chance || self.spawns_fail.get() || outages.any(|times| times.contains(&now))
    }

    /// How long it takes to create a worker's thread, this time.
    pub(crate) fn spawn_takes(&self) -> Nanos {
        let Options {
            spawn_takes,
            spawn_jitter,
            ..
        } = self.options;
        self.random
            .with_spawns(|r| r.around(spawn_takes, spawn_jitter))
    }

    /// How many attempts to create a worker's thread have failed.
    pub fn spawn_failures(&self) -> u64 {
        self.spawn_failures.get()
    }

    /// Pools that were made so far; they are numbered from 0 on.
    pub fn nr_pools(&self) -> usize {
        self.pools.borrow().len()
    }

    /// The CPUs that a pool's workers may use.
    pub fn pool_cpus(&self, id: PoolId) -> CpuMask {
        self.pool(id).key.reach().allowed
    }

    /// A pool's counters.
    pub fn pool_stats(&self, id: PoolId) -> PoolStats {
        self.pool(id).core.borrow().stats()
    }

    /// Workers of a pool: all, and those that are idle.
    pub fn workers(&self, id: PoolId) -> (u32, u32) {
        let pool = self.pool(id);
        let core = pool.core.borrow();
        (core.nr_workers(), core.nr_idle())
    }

    /// How many of a pool's workers its core takes for runnable.
    pub fn nr_running(&self, id: PoolId) -> u32 {
        self.pool(id).core.borrow().nr_running()
    }

    /// The threads of a pool's workers, and those that help there or have claimed an item of it.
    pub fn worker_threads(&self, id: PoolId) -> Vec<ThreadId> {
        self.pool(id).threads.borrow().values().copied().collect()
    }

    /// Tokens of the CPUs' budget that pools hold.
    pub fn tokens(&self) -> u32 {
        self.items.borrow().budget().used
    }

    /// What queues, timers and actions still refer to; nothing when nothing is queued or armed.
    pub fn referred_to(&self) -> (Vec<ItemId>, Vec<QueueId>) {
        self.items.borrow().referred_to()
    }

    pub(crate) fn pool_ids(&self) -> impl Iterator<Item = PoolId> + use<> {
        (0..self.nr_pools() as u32).map(PoolId)
    }
}
