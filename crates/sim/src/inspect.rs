//! Everything as seen from outside, for those who check it while the machine runs.

use std::rc::Rc;

use cmwq_policy::contract::{self, Decides, Decision};
use cmwq_policy::limit::Limit;
use cmwq_policy::pool::Census;
use cmwq_policy::queue::{Attrs, Kind};
use cmwq_policy::store::SharedLimit;
use cmwq_policy::{CpuMask, Rule, Store};

use crate::api::names::{ItemId, PoolId, PwqId, QueueId};
use crate::api::report::{ItemView, PwqView};
use crate::cpu::{ThreadId, ThreadState};
use crate::machine::{Machine, Observer};

impl Machine {
    /// From now on this one is told what happens.
    ///
    /// # Panics
    /// If there is one already.
    pub fn observe(&self, observer: Rc<dyn Observer>) {
        let first = self.observer.set(observer).is_ok();
        assert!(first, "a machine has one observer");
    }

    /// Whether lines of the trace are kept from now on; they are unless this says otherwise.
    pub fn keep_trace(&self, keep: bool) {
        self.keeps_trace.set(keep);
    }

    /// Whether each pool checks all that it can know after each of its events; otherwise it
    /// compares its counts, in debug builds.
    pub fn check_whole(&self, whole: bool) {
        self.checks_whole.set(whole);
    }

    /// Pool workqueues that were made so far; they are numbered from 0 on.
    pub fn nr_pwqs(&self) -> usize {
        self.items.borrow().nr_pwqs()
    }

    /// A pool workqueue as it is now.
    pub fn pwq_view(&self, pwq: PwqId) -> PwqView {
        self.items.borrow().pwq_view(pwq)
    }

    /// A limit as it is now.
    pub fn limit_view(&self, limit: usize) -> Limit {
        match self.items.borrow().limit_at(limit).step(|_| None) {
            Ok(limit) | Err(limit) => limit,
        }
    }

    /// Through which pool workqueue an item was left for a pool that has not taken it in.
    fn left_for(&self, item: ItemId) -> Option<PwqId> {
        let pools = self.pools.borrow();
        pools
            .iter()
            .find_map(|pool| pool.inbox.borrow().left_for(item))
    }

    /// An item as it is now.
    pub fn item_view(&self, item: ItemId) -> ItemView {
        let items = self.items.borrow();
        let at = items.item(item);
        let queued = at.word.pwq().map(|(addr, _)| items.pwq_at(addr));
        ItemView {
            word: at.word,
            pwq: queued.or_else(|| self.left_for(item)),
            started: at.started,
            references: at.references,
        }
    }

    /// What holds for items of a queue that are queued on this CPU, now.
    pub fn decision(&self, queue: QueueId, cpu: usize) -> Decision {
        contract::decision(self, queue, cpu, self.topology().len())
    }

    /// What a pool counts.
    pub fn census(&self, pool: PoolId) -> Census {
        self.with_core(pool, |core| core.census())
    }

    /// How a pool chooses.
    pub fn pool_rule(&self, pool: PoolId) -> Rule {
        self.with_core(pool, |core| core.attrs().rule)
    }

    /// The limit that a queue was given, and whether it is frozen.
    pub fn max_active(&self, queue: QueueId) -> (u32, bool) {
        self.queue(queue)
            .with_core(|core| (core.max_active(), core.is_frozen()))
    }

    /// What each node is granted of it at least.
    pub fn min_active(&self, queue: QueueId) -> u32 {
        self.queue(queue).with_core(|core| core.min_active())
    }

    /// Whether its limit has no parts.
    pub fn is_exact(&self, queue: QueueId) -> bool {
        self.queue(queue).spec.made.exact
    }

    /// The attributes of a queue as they are now.
    pub fn attrs(&self, queue: QueueId) -> Attrs {
        self.queue(queue).with_core(|core| core.attrs())
    }

    /// The kind of a queue.
    pub fn queue_kind(&self, queue: QueueId) -> Kind {
        self.queue(queue).spec.made.kind
    }

    /// Whether a queue was made strict.
    pub fn was_made_strict(&self, queue: QueueId) -> bool {
        self.queue(queue).spec.made.attrs.strict
    }

    /// Whether a queue takes part in freezing.
    pub fn is_freezable(&self, queue: QueueId) -> bool {
        self.queue(queue).spec.made.freezable
    }

    /// The rescuer of a queue, if it has one.
    pub fn rescuer_of(&self, queue: QueueId) -> Option<ThreadId> {
        self.queue(queue).rescuer.get()
    }

    /// Queues that were made so far; they are numbered from 0 on.
    pub fn nr_queues(&self) -> usize {
        self.queues.borrow().len()
    }

    /// Whether a CPU is in use that a pool's workers may use.
    pub fn is_served(&self, pool: PoolId) -> bool {
        !self.pool_cpus(pool).and(&self.online_cpus()).is_empty()
    }

    /// Tokens that all pools of a pool's CPUs have together, and how many of them are in use.
    pub fn budget(&self, pool: PoolId) -> (u32, u32) {
        let limit = self.with_core(pool, |core| core.attrs().budget);
        (limit, self.tokens())
    }

    /// Whether each runnable worker of a pool has a token, also the first.
    pub fn has_pod(&self, pool: PoolId) -> bool {
        self.with_core(pool, |core| core.attrs().beyond > 0)
    }

    /// Threads that a pool may have.
    pub fn thread_limit(&self, pool: PoolId) -> u32 {
        self.with_core(pool, |core| core.attrs().thread_limit)
    }

    /// Whether a pool is that of one CPU, in use or not.
    pub fn is_percpu(&self, pool: PoolId) -> bool {
        self.pool(pool).key.rule() == Rule::PerCpu
    }

    /// CPUs in use that nobody has but a SCHED_IDLE thread. Means something between two instants
    /// only.
    pub fn idle_cpus(&self) -> CpuMask {
        let online = self.online_cpus();
        let current = |cpu| self.sched().current(cpu);
        let is_idle = |&cpu: &usize| current(cpu).is_none_or(|id| self.is_idle_class(id));
        online.iter().filter(is_idle).collect()
    }

    /// What a thread is at, and the CPU where it is or was last.
    pub fn whereabouts(&self, id: ThreadId) -> (ThreadState, usize) {
        let scheduler = self.sched();
        (scheduler.state(id), scheduler.cpu_of(id))
    }

    /// CPUs in use.
    pub fn online_cpus(&self) -> CpuMask {
        self.sched().online()
    }

    /// Whether a queue has no handle any more, and nobody else keeps it: it would be freed now.
    pub fn is_gone(&self, queue: QueueId) -> bool {
        let kept = self.referred_to().1.contains(&queue);
        let views = (0..self.nr_pwqs() as u32).map(|pwq| self.pwq_view(PwqId(pwq)));
        let in_flight = |view: PwqView| view.queue == queue && view.nr_in_flight > 0;
        self.queue(queue).dropped.get() && !kept && !views.into_iter().any(in_flight)
    }
}

impl Decides for Machine {
    fn usable(&self, pool: u32) -> CpuMask {
        let pool = self.pool(PoolId(pool));
        pool.key.reach().usable(&self.online_cpus())
    }

    fn wakes_in(&self, pool: u32, cpu: usize, last: usize) -> Option<CpuMask> {
        Machine::wakes_in(self, &self.pool(PoolId(pool)), Some(cpu as u32), last)
    }
}
