//! Queues, and what the policy's protocols run on here: no locks, and nobody else in between.

mod calls;
mod joins;
mod layout;
mod process;
mod waits;

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::rc::Rc;

use cmwq_policy::affinity::Spread;
use cmwq_policy::contract::{self, QueueInfo};
use cmwq_policy::pool::{Left, PoolKey, tray};
use cmwq_policy::queue::{Attrs, Caller, Intake, Kind, Queue as Core, QueueAttrs};
use cmwq_policy::stats::Stamp;
use cmwq_policy::store::PwqInfo;
use cmwq_policy::work::WorkWord;
use cmwq_policy::{CpuMask, Cx, ItemKey, Store, Time, WorkerPool};

use crate::api::names::{ItemId, PoolId, PwqId, QueueId};
use crate::api::report::Trouble;
use crate::api::specs::QueueSpec;
use crate::machine::{Machine, SimTimers};
use crate::state::event::Event;
use crate::state::queue::Queue;
use crate::state::store::Items;

impl Machine {
    /// A new queue.
    pub fn alloc_workqueue(&self, spec: QueueSpec) -> QueueId {
        let made = spec.filled_in();
        let id = QueueId(self.queues.borrow().len() as u32);
        let queue = Rc::new(Queue {
            spec,
            core: RefCell::new(Core::new(made)),
            one_route: Cell::new(false),
            by_cpu: RefCell::new(vec![None; self.topology().len()]),
            limits: self.add_limits(made.max_active),
            admission: Cell::default(),
            dropped: Cell::default(),
            rescuer: Cell::new(None),
            maydays: RefCell::default(),
        });
        self.queues.borrow_mut().push(queue.clone());
        match made.kind.is_per_cpu() {
            true => self.add_percpu_pwqs(id, &queue, made),
            // As in the engine: the other CPUs' are made when they are first queued from.
            false => {
                let Ok(()) = contract::first_pwq(self, id);
            }
        }
        if made.mem_reclaim {
            queue.rescuer.set(Some(self.create_rescuer(id)));
        }
        self.freezer.get().adopt(self, id);
        id
    }

    /// The names of the queues that were made so far, by number.
    pub fn queue_names(&self) -> Vec<String> {
        let queues = self.queues.borrow();
        queues.iter().map(|queue| queue.spec.name.clone()).collect()
    }

    /// What a queue admits now.
    pub(crate) fn admission(&self, queue: QueueId) -> Intake {
        Intake {
            closing: self.process.closing.get(),
            ..self.queue(queue).admission.get()
        }
    }

    fn add_percpu_pwqs(&self, id: QueueId, queue: &Queue, made: QueueAttrs) {
        for cpu in 0..self.topology().len() {
            let pool = self.find_pool(PoolKey::of_cpu(made.kind, cpu, made.attrs.nice));
            let mut core = queue.core.borrow_mut();
            let mut items = self.items.borrow_mut();
            let limit = items.add_limit(made.max_active);
            let pwq = items.add_pwq(id, (pool, None), limit, core.pwq_flags());
            core.add(pwq);
            drop(items);
            contract::limit(self, &core, pwq);
            queue.by_cpu.borrow_mut()[cpu] = Some(pwq);
        }
    }

    fn add_limits(&self, max_active: u32) -> Vec<usize> {
        let parts = self.layout.borrow().nr_parts();
        let mut items = self.items.borrow_mut();
        (0..parts).map(|_| items.add_limit(max_active)).collect()
    }

    /// The pwq for this CPU of a queue that is not per CPU.
    fn pwq_for(&self, id: QueueId, cpu: usize) -> PwqId {
        let Ok(pwq) = contract::pwq_for(self, id, cpu);
        pwq
    }

    /// The number of the pool in which new items of the queue go, from this CPU.
    pub fn pool_of(&self, queue: QueueId, cpu: usize) -> PoolId {
        use contract::Machine as _;
        PoolId(self.info(self.route(queue, Some(cpu))).pool)
    }

    /// Items whose timers expired while their queue admitted nothing, or were armed for one that
    /// was destroyed: they were dropped.
    pub fn timers_dropped(&self) -> u64 {
        self.timers_dropped.get()
    }

    /// All timers that have expired.
    pub(crate) fn expire_timers(&self) {
        self.next_timer.set(None);
        let admits = |queue| self.admission(queue).admits(|| Caller::Outside);
        while contract::expire(self, self.now(), admits) {}
    }
}

impl contract::Machine for Machine {
    type Store = Items;
    type Queue = QueueId;
    type NoPool = Infallible;
    type Group = Infallible;

    fn with_pool<R>(
        &self,
        pool: u32,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> R,
    ) -> R {
        self.in_pool(PoolId(pool), event)
    }

    fn with_workers<R>(
        &self,
        pool: u32,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> R,
    ) -> R {
        self.in_pool_of(PoolId(pool), event)
    }

    fn activate(&self, pool: u32, pwq: PwqId) {
        self.beside_dealt(PoolId(pool), |core, cx, inbox| {
            core.activate(cx, inbox, pwq)
        });
    }

    fn leave(&self, queue: QueueId, work: ItemId, pwq: PwqId, home: u32) -> bool {
        let kind = self.queue(queue).spec.made.kind;
        let pool = self.pool(PoolId(self.info(pwq).pool));
        let now = Machine::now(self);
        let left = Left {
            work,
            pwq,
            home,
            stamp: Stamp::of(now),
        };
        if kind.has_inbox() && self.keeps_own(&pool, &left) {
            return true;
        }
        let one = self.queue(queue).with_core(Core::is_one_at_a_time);
        let tray = tray(pool.near.as_deref(), home, one);
        let crowded = match kind.has_inbox() {
            true => pool.inbox.borrow_mut().leave(left, tray, now),
            false => None,
        };
        if crowded.is_some() {
            self.charge_leave(&pool, tray);
        }
        if crowded == Some(true) {
            self.beside_dealt(pool.id, |core, cx, inbox| core.crowded(cx, inbox));
        }
        crowded.is_some()
    }

    fn take_in(&self) -> bool {
        self.take_in_all()
    }

    fn with_queue<R>(&self, queue: QueueId, act: impl FnOnce(&mut Core<PwqId>) -> R) -> R {
        let queue = self.queue(queue);
        self.postpone_actions();
        let result = act(&mut queue.core.borrow_mut());
        self.carry_out_postponed();
        result
    }

    fn with_timers<R>(&self, act: impl FnOnce(&mut SimTimers) -> R) -> R {
        let result = act(&mut self.timers.borrow_mut());
        let next = self.timers.borrow().next();
        self.arm_at(&self.next_timer, next, Event::Timers);
        result
    }

    fn timer_armed(&self, at: Time) {
        let next = self.next_timer.get();
        let seen_to = next.is_some_and(|(next, _)| next <= at);
        assert!(seen_to, "an item was armed outside of `with_timers`");
    }

    fn now(&self) -> Time {
        Machine::now(self)
    }

    fn word(&self, work: ItemId) -> WorkWord {
        self.items.borrow().item(work).word
    }

    fn step_word(
        &self,
        work: ItemId,
        step: impl Fn(WorkWord) -> Option<WorkWord>,
    ) -> Result<WorkWord, WorkWord> {
        let mut items = self.items.borrow_mut();
        let word = &mut items.item_mut(work).word;
        let before = *word;
        match step(before) {
            Some(next) => {
                *word = next;
                Ok(before)
            }
            None => Err(before),
        }
    }

    fn key(&self, work: ItemId) -> ItemKey {
        self.items.borrow().item(work).key
    }

    fn retain(&self, work: ItemId) {
        self.items.borrow_mut().item_mut(work).references += 1;
    }

    fn release(&self, work: ItemId) {
        let mut items = self.items.borrow_mut();
        let references = &mut items.item_mut(work).references;
        *references = references.checked_sub(1).expect("the queue had the item");
    }

    fn retain_queue(&self, queue: QueueId) {
        self.items.borrow_mut().hold_queue(queue);
    }

    fn release_queue(&self, queue: QueueId) {
        self.items.borrow_mut().let_go_queue(queue);
    }

    fn timer_dropped(&self, queue: QueueId) {
        self.timers_dropped.set(self.timers_dropped.get() + 1);
        self.report(None, queue, Trouble::TimerDropped);
    }

    fn info(&self, pwq: PwqId) -> PwqInfo {
        self.items.borrow().info(pwq)
    }

    fn queue_info(&self, queue: QueueId) -> QueueInfo {
        QueueInfo {
            id: u64::from(queue.0),
            ordered: self.queue(queue).spec.made.kind == Kind::Ordered,
        }
    }

    fn route(&self, id: QueueId, cpu: Option<usize>) -> PwqId {
        let queue = self.queue(id);
        let is_per_cpu = queue.spec.made.kind.is_per_cpu();
        let cpu = cpu.unwrap_or_else(|| match is_per_cpu {
            true => self.current_cpu(),
            false => self.layout.borrow_mut().choose_cpu(self.current_cpu()),
        });
        let slot = queue.slot(cpu);
        let there = queue.by_cpu.borrow()[slot];
        there.unwrap_or_else(|| self.pwq_for(id, slot))
    }

    fn home(&self, _: PwqId, cpu: Option<usize>) -> u32 {
        cpu.unwrap_or_else(|| self.current_cpu()) as u32
    }

    fn route_by(&self, id: QueueId, attrs: &Attrs, spread: Spread) {
        let queue = self.queue(id);
        let kind = queue.spec.made.kind;
        let one_route = self.layout.borrow().has_one_route(kind, attrs, spread);
        queue.one_route.set(one_route);
    }

    fn routed(&self, queue: QueueId) -> CpuMask {
        let queue = self.queue(queue);
        let by_cpu = queue.by_cpu.borrow();
        let cpus = by_cpu.iter().enumerate();
        cpus.filter(|(_, pwq)| pwq.is_some())
            .map(|(cpu, _)| cpu)
            .collect()
    }

    fn routed_to(&self, queue: QueueId, cpu: usize) -> Option<PwqId> {
        self.queue(queue).by_cpu.borrow()[cpu]
    }

    fn publish(&self, queue: QueueId, cpu: usize, pwq: PwqId) {
        self.queue(queue).by_cpu.borrow_mut()[cpu] = Some(pwq);
    }

    fn pool_for(
        &self,
        queue: QueueId,
        attrs: &Attrs,
        spread: Spread,
        cpu: usize,
    ) -> Result<u32, Infallible> {
        let kind = self.queue(queue).spec.made.kind;
        let reach = self.layout.borrow().reach(kind, attrs, spread, cpu);
        Ok(self.find_pool(PoolKey::of(kind, reach, attrs.nice)).0)
    }

    fn share(&self, attrs: &Attrs, node: Option<u32>, max_active: u32, min_active: u32) -> u32 {
        let layout = self.layout.borrow();
        layout.share(attrs, node, max_active, min_active)
    }

    fn new_pwq(&self, queue: QueueId, core: &Core<PwqId>, pool: u32, plugged: bool) -> PwqId {
        let mut flags = core.pwq_flags();
        flags.plugged = plugged;
        let pool = self.pool(PoolId(pool));
        let limits = &self.queue(queue).limits;
        let (node, last) = (core.counts_for(pool.node), limits.len() - 1);
        let limit = limits[node.map_or(last, |node| node as usize)];
        let mut items = self.items.borrow_mut();
        items.add_pwq(queue, (pool.id, node), limit, flags)
    }

    fn relax(&self) {
        unreachable!("nobody owns an item in between here");
    }

    fn members(&self, group: Infallible, _show: impl FnMut(contract::WorkOf<Self>)) {
        match group {}
    }
}
