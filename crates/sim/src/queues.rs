//! Queues, and what the policy's protocols run on here: no locks, and nobody else in between.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::rc::Rc;

use cmwq_policy::contract::{self, Armed, QueueInfo};
use cmwq_policy::pwq::{DFL_ACTIVE, clamp_max_active};
use cmwq_policy::queue::{Attrs, Caller, Gate as Admission, Kind, Queue as Core, QueueAttrs};
use cmwq_policy::store::PwqInfo;
use cmwq_policy::timers::Timers;
use cmwq_policy::work::WorkWord;
use cmwq_policy::{CpuMask, Cx, ItemKey, Rule, Store, Time, WorkerPool};

use crate::cpu::ThreadId;
use crate::machine::{Event, Machine};
use crate::pools::PoolKey;
use crate::program::{ItemId, PoolId, QueueId};
use crate::store::{Items, PwqId};

/// A queue to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueSpec {
    /// Its name.
    pub name: String,
    /// What it is made of. A `max_active` of 0 stands for the default.
    pub made: QueueAttrs,
    /// It takes part in freezing.
    pub freezable: bool,
}

impl QueueSpec {
    /// A queue of this kind, of nice 0, on all CPUs, with the default limit.
    pub fn new(name: impl Into<String>, kind: Kind) -> QueueSpec {
        let attrs = Attrs {
            nice: 0,
            cpumask: None,
        };
        QueueSpec {
            name: name.into(),
            made: QueueAttrs {
                kind,
                attrs,
                max_active: 0,
                cpu_intensive: false,
                mem_reclaim: false,
            },
            freezable: false,
        }
    }

    /// A queue with a pool for each CPU.
    pub fn percpu(name: impl Into<String>) -> QueueSpec {
        QueueSpec::new(name, Kind::PerCpu)
    }

    /// A queue of the managed pool.
    pub fn managed(name: impl Into<String>) -> QueueSpec {
        QueueSpec::new(name, Kind::Managed)
    }

    /// A queue whose active items all run at once.
    pub fn unmanaged(name: impl Into<String>) -> QueueSpec {
        QueueSpec::new(name, Kind::Unmanaged)
    }

    /// A queue whose items run one at a time, in order.
    pub fn ordered(name: impl Into<String>) -> QueueSpec {
        QueueSpec::new(name, Kind::Ordered)
    }

    /// The same with another limit.
    #[must_use]
    pub fn max_active(mut self, max_active: u32) -> QueueSpec {
        self.made.max_active = max_active;
        self
    }

    /// The same with another nice level, -20..=19.
    #[must_use]
    pub fn at_nice(mut self, nice: i8) -> QueueSpec {
        self.made.attrs.nice = nice;
        self
    }

    /// The same on these CPUs only.
    #[must_use]
    pub fn on(mut self, cpus: CpuMask) -> QueueSpec {
        self.made.attrs.cpumask = Some(cpus);
        self
    }

    /// The same, but its items do not count as running once they have begun.
    #[must_use]
    pub fn cpu_intensive(mut self) -> QueueSpec {
        self.made.cpu_intensive = true;
        self
    }

    /// The same with a rescuer.
    #[must_use]
    pub fn mem_reclaim(mut self) -> QueueSpec {
        self.made.mem_reclaim = true;
        self
    }

    /// The same, but it takes part in freezing.
    #[must_use]
    pub fn freezable(mut self) -> QueueSpec {
        self.freezable = true;
        self
    }

    /// What it is made of, with its default filled in.
    fn filled_in(&self) -> QueueAttrs {
        let max_active = match (self.made.kind, self.made.max_active) {
            (Kind::Ordered, _) => 1,
            (Kind::Bh, _) => u32::MAX >> 1,
            (_, 0) => DFL_ACTIVE,
            (_, max) => clamp_max_active(max),
        };
        QueueAttrs {
            max_active,
            ..self.made
        }
    }
}

/// A queue of the machine.
pub(crate) struct Queue {
    pub(crate) spec: QueueSpec,
    core: RefCell<Core<PwqId>>,
    /// By CPU, of a queue that has a pwq for each.
    by_cpu: RefCell<Vec<PwqId>>,
    /// Takes new items, of a queue that has one for all.
    current: Cell<Option<PwqId>>,
    /// The limit that its pwqs share, where they do.
    limit: usize,
    pub(crate) admission: Cell<Admission>,
    pub(crate) rescuer: Cell<Option<ThreadId>>,
    /// The pwqs that have called it, in order.
    pub(crate) maydays: RefCell<VecDeque<PwqId>>,
}

pub(crate) type SimTimers = Timers<u64, Armed<Machine>>;

impl Machine {
    /// A new queue.
    pub fn alloc_workqueue(&self, spec: QueueSpec) -> QueueId {
        let made = spec.filled_in();
        let limit = self.items.borrow_mut().add_limit(made.max_active);
        let id = QueueId(self.queues.borrow().len() as u32);
        let queue = Rc::new(Queue {
            spec,
            core: RefCell::new(Core::new(made)),
            by_cpu: RefCell::default(),
            current: Cell::new(None),
            limit,
            admission: Cell::default(),
            rescuer: Cell::new(None),
            maydays: RefCell::default(),
        });
        self.queues.borrow_mut().push(queue.clone());
        match made.kind.is_per_cpu() {
            true => self.add_percpu_pwqs(id, &queue, made),
            false => self.add_first_pwq(id, made.attrs),
        }
        if made.mem_reclaim {
            queue.rescuer.set(Some(self.create_rescuer(id)));
        }
        id
    }

    pub(crate) fn queue(&self, id: QueueId) -> Rc<Queue> {
        self.queues.borrow()[id.0 as usize].clone()
    }

    fn add_percpu_pwqs(&self, id: QueueId, queue: &Queue, made: QueueAttrs) {
        let rule = match made.kind {
            Kind::Bh => Rule::Bh,
            _ => Rule::PerCpu,
        };
        for cpu in 0..self.topology().len() {
            let pool = self.find_pool(PoolKey {
                rule,
                cpus: [cpu].into_iter().collect(),
                nice: made.attrs.nice,
            });
            let mut core = queue.core.borrow_mut();
            let mut items = self.items.borrow_mut();
            let limit = items.add_limit(made.max_active);
            let pwq = items.add_pwq(id, pool, limit, core.pwq_flags());
            core.add(pwq);
            queue.by_cpu.borrow_mut().push(pwq);
        }
    }

    fn add_first_pwq(&self, id: QueueId, attrs: Attrs) {
        use contract::Machine as _;
        let Ok(pool) = self.pool_for(id, &attrs);
        let pwq = self.with_queue(id, |q| {
            let pwq = self.new_pwq(id, q, pool, false);
            q.add(pwq);
            pwq
        });
        self.publish(id, pwq);
    }

    /// The number of the pool in which new items of the queue go, from this CPU.
    pub fn pool_of(&self, queue: QueueId, cpu: usize) -> PoolId {
        use contract::Machine as _;
        PoolId(self.info(self.route(queue, Some(cpu))).pool)
    }

    /// Items whose timers expired while their queue admitted nothing: they were dropped.
    pub fn timers_dropped(&self) -> u64 {
        self.timers_dropped.get()
    }

    /// All timers that have expired.
    pub(crate) fn expire_timers(&self) {
        self.next_timer.set(None);
        let admits = |queue| {
            let admission = self.queue(queue).admission.get();
            let admitted = admission.admits(Caller::Outside);
            let dropped = u64::from(admitted.is_err());
            self.timers_dropped.set(self.timers_dropped.get() + dropped);
            admitted
        };
        while contract::expire(self, self.now(), admits) {}
    }
}

impl contract::Machine for Machine {
    type Store = Items;
    type Queue = QueueId;
    type NoPool = Infallible;

    fn with_pool<R>(
        &self,
        pool: u32,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> R,
    ) -> R {
        self.in_pool(PoolId(pool), event)
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

    fn info(&self, pwq: PwqId) -> PwqInfo {
        self.items.borrow().info(pwq)
    }

    fn queue_info(&self, queue: QueueId) -> QueueInfo {
        QueueInfo {
            id: u64::from(queue.0),
            ordered: self.queue(queue).spec.made.kind == Kind::Ordered,
        }
    }

    fn route(&self, queue: QueueId, cpu: Option<usize>) -> PwqId {
        let queue = self.queue(queue);
        let by_cpu = queue.by_cpu.borrow();
        let here = || by_cpu[cpu.unwrap_or_else(|| self.current_cpu())];
        queue.current.get().unwrap_or_else(here)
    }

    fn publish(&self, queue: QueueId, pwq: PwqId) {
        self.queue(queue).current.set(Some(pwq));
    }

    fn pool_for(&self, queue: QueueId, attrs: &Attrs) -> Result<u32, Infallible> {
        let rule = match self.queue(queue).spec.made.kind {
            Kind::Managed => Rule::Managed,
            _ => Rule::Unmanaged,
        };
        let all = self.topology().all();
        let cpus = attrs.cpumask.map_or(all, |mask| mask.and(&all));
        let pool = self.find_pool(PoolKey {
            rule,
            cpus: if cpus.is_empty() { all } else { cpus },
            nice: attrs.nice,
        });
        Ok(pool.0)
    }

    fn new_pwq(&self, queue: QueueId, core: &Core<PwqId>, pool: u32, plugged: bool) -> PwqId {
        let mut flags = core.pwq_flags();
        flags.plugged = plugged;
        let limit = self.queue(queue).limit;
        self.items
            .borrow_mut()
            .add_pwq(queue, PoolId(pool), limit, flags)
    }

    fn relax(&self) {
        unreachable!("nobody owns an item in between here");
    }
}
