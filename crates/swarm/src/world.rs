//! What the programs of a plan share: queues, latches, locks and devices.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use cmwq_policy::affinity::Scope;
use cmwq_policy::queue::{Attrs, Kind};
use cmwq_policy::stacking::Stacking;
use cmwq_policy::time::{MICROSECOND, MILLISECOND};
use cmwq_policy::{CpuMask, Nanos};
use cmwq_sim::{
    DataId, DeviceId, DeviceSpec, ItemId, Latch, LockId, LockSpec, Machine, QueueId, QueueSpec,
    SemId,
};

use crate::plan::{Feature, Plan};
use crate::random::{Random, one_in, streams, time};
use crate::taste::Taste;

/// Latches that are closed at one time, at most.
const CLOSED: usize = 4;

/// What programs wait for beside the workqueue.
pub struct Resources {
    /// Locks of several kinds.
    pub locks: Vec<LockId>,
    /// A semaphore that is taken and given back.
    pub semaphore: SemId,
    /// A disk.
    pub device: DeviceId,
    /// Something that goes from cache to cache.
    pub data: DataId,
}

impl Resources {
    fn of(plan: &Plan, machine: &Machine) -> Resources {
        let mut random = plan.stream(streams::RESOURCES, 0);
        let specs = [
            LockSpec::new("barging"),
            LockSpec::new("fair").handoff(),
            LockSpec::new("spinning").spin(20 * MICROSECOND),
        ];
        let takes = random.one_of(&[20, 100, 4000]) * MICROSECOND;
        let device = DeviceSpec::new("disk", takes).depth(random.one_of(&[1, 2, 8]));
        Resources {
            locks: specs.map(|spec| machine.lock(spec)).into(),
            semaphore: machine.semaphore(random.one_of(&[1, 2, 4])),
            device: machine.device(DeviceSpec {
                jitter: random.one_of(&[0, 400]),
                ..device
            }),
            data: machine.data(),
        }
    }
}

/// What the threads and items of a run share.
pub struct World {
    /// What was drawn.
    pub plan: Plan,
    /// By place: the queue that is there now. A destroyed one is replaced.
    pub queues: RefCell<Vec<QueueId>>,
    /// Whoever looks ends soon.
    pub stop: Cell<bool>,
    /// What its threads and items like to do.
    pub taste: Taste,
    /// What they wait for beside the workqueue.
    pub resources: Resources,
    closed: RefCell<Vec<Latch>>,
    renewed: Cell<u64>,
}

impl World {
    /// The world of this plan on its machine, without items and queues.
    pub fn new(plan: &Plan, machine: &Machine) -> Rc<World> {
        Rc::new(World {
            plan: *plan,
            queues: RefCell::default(),
            stop: Cell::new(false),
            taste: Taste::of(plan),
            resources: Resources::of(plan, machine),
            closed: RefCell::default(),
            renewed: Cell::new(0),
        })
    }

    /// Makes the queues. Items come first.
    pub fn make_queues(&self, machine: &Machine) {
        let specs = (0..self.plan.queues).map(|at| spec(&self.plan, at, 0));
        *self.queues.borrow_mut() = specs.map(|spec| machine.alloc_workqueue(spec)).collect();
    }

    /// Some of the CPUs, if any.
    pub fn mask(&self, random: &mut Random) -> Option<CpuMask> {
        mask(&self.plan, random)
    }

    /// The place of the queue on which an item always goes, where that is so.
    pub fn home(&self, item: ItemId) -> Option<usize> {
        let fixed = self.plan.has(Feature::Chains);
        fixed.then(|| (item.0 as usize * 7 + self.plan.seed as usize) % self.plan.queues as usize)
    }

    /// New attributes for a queue.
    pub fn attrs(&self, random: &mut Random) -> Attrs {
        attrs(&self.plan, random)
    }

    /// A new queue takes the place of one that is being destroyed, which is returned.
    pub fn replace_queue(&self, machine: &Machine, at: usize) -> QueueId {
        self.renewed.set(self.renewed.get() + 1);
        let new = machine.alloc_workqueue(spec(&self.plan, at as u32, self.renewed.get()));
        std::mem::replace(&mut self.queues.borrow_mut()[at], new)
    }

    /// A latch that is closed, if there may be one more.
    pub fn close_gate(&self, machine: &Machine) {
        let mut closed = self.closed.borrow_mut();
        if closed.len() < CLOSED && !self.stop.get() {
            closed.push(machine.latch());
        }
    }

    /// One of the latches that are closed.
    pub fn closed_latch(&self, random: &mut Random) -> Option<Latch> {
        let closed = self.closed.borrow();
        (!closed.is_empty()).then(|| random.one_of(&closed))
    }

    /// Takes the oldest closed latch: to be opened.
    pub fn take_latch(&self) -> Option<Latch> {
        let mut closed = self.closed.borrow_mut();
        (!closed.is_empty()).then(|| closed.remove(0))
    }
}

/// The queue at this place; the `renewed`th on the machine that takes a destroyed one's place.
fn spec(plan: &Plan, at: u32, renewed: u64) -> QueueSpec {
    let mut random = plan.stream(streams::QUEUE, u64::from(at) | renewed << 32);
    let kind = kind(plan, &mut random);
    let mut spec = QueueSpec::new(format!("q{at}.{renewed}"), kind);
    spec.made.attrs = attrs(plan, &mut random);
    if kind.is_per_cpu() {
        spec.made.attrs = Attrs {
            nice: spec.made.attrs.nice,
            ..Attrs::default()
        };
    }
    spec.made.max_active = random.one_of(&[0, 1, 1, 2, 3, 5, 16]);
    spec.made.exact =
        plan.has(Feature::ExactLimits) && !kind.is_per_cpu() && one_in(&mut random, 2);
    spec.made.cpu_intensive = plan.has(Feature::CpuIntensive) && one_in(&mut random, 3);
    spec.made.mem_reclaim =
        plan.has(Feature::Rescuers) && kind != Kind::Bh && one_in(&mut random, 2);
    spec.made.freezable = plan.has(Feature::Freeze) && one_in(&mut random, 2);
    let claims = plan.has(Feature::Claims) && random.below(4) > 0;
    spec.stacking = claims.then_some(Stacking::Claim);
    spec
}

fn kind(plan: &Plan, random: &mut Random) -> Kind {
    let kinds = [
        (Feature::PerCpu, Kind::PerCpu),
        (Feature::Unmanaged, Kind::Unmanaged),
        (Feature::Ordered, Kind::Ordered),
        (Feature::Bh, Kind::Bh),
        (Feature::InOrder, Kind::Fifo),
    ];
    let mut fitting = vec![Kind::Managed];
    fitting.extend(kinds.iter().filter(|k| plan.has(k.0)).map(|k| k.1));
    random.one_of(&fitting)
}

fn attrs(plan: &Plan, random: &mut Random) -> Attrs {
    let nice = random.one_of(&[0, 0, 5]);
    let masked = plan.has(Feature::Masks) && one_in(random, 2);
    let scoped = plan.has(Feature::Scopes) && one_in(random, 2);
    Attrs {
        nice: if plan.has(Feature::Nice) { nice } else { 0 },
        cpumask: mask(plan, random).filter(|_| masked),
        scope: scoped.then(|| random.one_of(&Scope::ALL)),
        strict: scoped && one_in(random, 2),
        locality: if one_in(random, 2) { MILLISECOND } else { 0 },
    }
}

fn mask(plan: &Plan, random: &mut Random) -> Option<CpuMask> {
    let cpus = 0..plan.cpus as usize;
    let mask: CpuMask = cpus.filter(|_| one_in(random, 2)).collect();
    (!mask.is_empty()).then_some(mask)
}

/// How long a delayed item waits.
pub fn delay(random: &mut Random) -> Nanos {
    match random.below(4) {
        0 => 0,
        1 => 20 * MILLISECOND + time(random),
        _ => time(random),
    }
}
