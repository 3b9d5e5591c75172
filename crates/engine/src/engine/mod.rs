//! What the process has one of: its pools, the signals, the budget of its CPUs.
//!
//! | file | |
//! | --- | --- |
//! | `mod.rs` | the engine, its pools and its queues |
//! | `layout.rs` | the CPUs that it has, and where in the machine they are |
//!
//! An engine belongs to one process. A forked child sees that the parent's engine is not its own
//! (by the generation, one load). It makes a new one at first use, and never touches a lock of the
//! old one.

mod layout;

use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::ops::Deref;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock, Weak};

use cmwq_os::cpus::{self, EffectiveCpus};
use cmwq_os::topology::Topology;
use cmwq_policy::affinity::{Layout, ProcessCpus};
use cmwq_policy::contract::{Freezer, TimersOf, WaitGraph};
use cmwq_policy::pool::PoolKey;
use cmwq_policy::{CpuMask, PoolAttrs, Time};

use crate::base::Base;
use crate::error::BuildError;
use crate::faces::Faces;
use crate::options::{MAX_POOLS, MAX_SHARED_POOLS};
use crate::pool::Pool;
use crate::queue::pwq::{PwqRef, queue_of};
use crate::queue::{Queue, QueueRef};
use crate::sync::{Mutex, MutexGuard};

/// See the module's page.
pub(crate) struct Engine {
    base: Base,
    cpus: Mutex<EffectiveCpus>,
    /// Which of the CPUs of its threads are the process's.
    masks: Mutex<ProcessCpus>,
    pools: Box<[AtomicPtr<Pool>]>,
    nr_pools: AtomicUsize,
    /// Held while a pool is made.
    making: Mutex<()>,
    faces: Faces,
    next_queue: AtomicU64,
    /// All queues with a handle, and whether the freezable ones are frozen.
    queues: Mutex<Registry>,
    timers: Mutex<Timers>,
    waits: Mutex<Waits>,
    topology: Mutex<Option<Arc<Topology>>>,
    /// Where queues go; made when the first queue is.
    layout: OnceLock<Mutex<Layout>>,
    /// Counts its changes.
    layout_version: AtomicU32,
    /// There are CPUs that queues may not use although the process may.
    some_unbound: AtomicBool,
}

/// What pools and queues know of it is part of it.
impl Deref for Engine {
    type Target = Base;

    fn deref(&self) -> &Base {
        &self.base
    }
}

/// The process as the protocols of `cmwq_policy::contract` know it: `machine.rs`.
#[derive(Clone, Copy)]
pub(crate) struct Real(pub(crate) &'static Engine);

/// The queues of a process.
#[derive(Default)]
pub(crate) struct Registry {
    /// By number.
    queues: BTreeMap<u64, Weak<Queue>>,
    freezer: Freezer,
}

/// Numbers of pools, and of engines, go on in a forked child, so that an item's word never means
/// another pool there.
static NEXT_POOL: AtomicU32 = AtomicU32::new(0);

/// The engine made last in this process or, right after a fork, in its parent.
static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(std::ptr::null_mut());

/// The process's engine, if it has been used.
pub(crate) fn existing() -> Option<&'static Engine> {
    // SAFETY: null or leaked.
    let engine = unsafe { ENGINE.load(SeqCst).as_ref() }?;
    engine.is_ours().then_some(engine)
}

/// The engine that this is a part of, whose process the caller knows to be this one.
#[inline]
fn of(base: &'static Base) -> &'static Engine {
    // SAFETY: leaked. Set before there was any pool or queue.
    let engine = unsafe { &*ENGINE.load(SeqCst) };
    debug_assert!(std::ptr::eq(&engine.base, base), "another process's");
    engine
}

impl Pool {
    pub(crate) fn engine(&self) -> &'static Engine {
        of(self.base())
    }
}

impl Queue {
    #[inline]
    pub(crate) fn engine(&self) -> &'static Engine {
        of(self.base())
    }

    #[inline]
    pub(crate) fn machine(&self) -> Real {
        Real(self.engine())
    }
}

/// The pool of a pwq whose queue the caller keeps.
pub(crate) fn pool_of(pwq: PwqRef) -> &'static Pool {
    // SAFETY: says the caller.
    let (queue, info) = unsafe { (queue_of(pwq).as_ref(), pwq.as_ref().info()) };
    queue.engine().pool(info.pool).expect("the pool exists")
}

/// What the engine keeps armed. Guarded by its lock.
#[derive(Default)]
pub(crate) struct Timers {
    armed: TimersOf<Real>,
}

// SAFETY: items may be sent between threads (their owners require `Send`), and each timer keeps the
// queue that it points to.
unsafe impl Send for Timers {}

impl Timers {
    pub(crate) fn armed(&mut self) -> &mut TimersOf<Real> {
        &mut self.armed
    }

    /// When the next one expires.
    pub(crate) fn next(&self) -> Option<Time> {
        self.armed.next()
    }

    /// How many are armed.
    pub(crate) fn len(&self) -> usize {
        self.armed.len()
    }
}

/// Which items wait for which. Guarded by its lock.
#[derive(Default)]
pub(crate) struct Waits(pub(crate) WaitGraph<Real>);

// SAFETY: items may be sent between threads, and whoever waits keeps what it waits for in memory
// until it has left the graph.
unsafe impl Send for Waits {}

impl Engine {
    /// Of a process with this number.
    ///
    /// # Errors
    /// If there are not enough numbers left for its pools.
    pub(crate) fn new(generation: u32) -> io::Result<Self> {
        let cpus = cpus::effective();
        let nowhere = NEXT_POOL.load(SeqCst);
        Ok(Engine {
            base: Base::new(generation, nowhere, highest_cpu(&cpus) + 1)?,
            queues: Mutex::default(),
            timers: Mutex::default(),
            waits: Mutex::default(),
            topology: Mutex::default(),
            layout: OnceLock::new(),
            layout_version: AtomicU32::new(0),
            some_unbound: AtomicBool::new(false),
            cpus: Mutex::new(cpus),
            masks: Mutex::new(ProcessCpus::new(cpus.first)),
            pools: (0..MAX_POOLS).map(|_| AtomicPtr::default()).collect(),
            // The first place stays empty: it is the engine's own number.
            nr_pools: AtomicUsize::new(1),
            making: Mutex::new(()),
            faces: Faces::default(),
            next_queue: AtomicU64::new(1),
        })
    }

    /// It is the one of this process from now on. The calling thread alone makes one.
    pub(crate) fn publish(engine: *mut Engine) {
        // Its own number is taken. Nobody else takes one meanwhile: pools are made in it.
        NEXT_POOL.fetch_add(1, SeqCst);
        ENGINE.store(engine, SeqCst);
    }

    /// What it has in common with its pools and queues.
    #[inline]
    pub(crate) fn base(&self) -> &Base {
        &self.base
    }

    /// What a face keeps for the process, made at first use.
    pub(crate) fn state<T: Any + Default + Send + Sync>(&self) -> &T {
        self.faces.state()
    }

    /// The CPUs of each NUMA node that the process may use.
    pub(crate) fn node_cpus(&self) -> Vec<CpuMask> {
        let mask = self.cpus().mask;
        let topology = self.topology();
        let nodes = topology.nodes.iter();
        nodes.map(|node| node.and(&mask)).collect()
    }

    /// The pool with these attributes, shared by all queues that have them.
    pub(crate) fn pool_for(&'static self, key: PoolKey) -> Result<&'static Pool, BuildError> {
        let _making = self.making.lock().expect("nobody panics with it");
        if let Some(pool) = self.find_pool(&key) {
            return Ok(pool);
        }
        let shared = self
            .pools()
            .filter(|pool| pool.key().cpu().is_none())
            .count();
        match shared < MAX_SHARED_POOLS {
            true => Ok(self.make_pool(key)),
            false => Err(BuildError::TooManyPools),
        }
    }

    /// The pool of one CPU.
    pub(crate) fn cpu_pool(&'static self, key: PoolKey) -> &'static Pool {
        let _making = self.making.lock().expect("nobody panics with it");
        self.find_pool(&key).unwrap_or_else(|| self.make_pool(key))
    }

    fn find_pool(&self, key: &PoolKey) -> Option<&'static Pool> {
        self.pools().find(|pool| pool.key() == key)
    }

    /// Called with `making` held.
    fn make_pool(&'static self, key: PoolKey) -> &'static Pool {
        let index = self.nr_pools.load(SeqCst);
        let id = NEXT_POOL.fetch_add(1, SeqCst);
        assert_eq!(id, self.nowhere() + index as u32, "one process, one engine");
        let cpus = self.cpus();
        let served = key.served(&cpus.mask, cpus.target);
        let attrs = PoolAttrs {
            id,
            rule: served.rule,
            nice: key.nice(),
            target: served.target,
            beyond: served.beyond,
            budget: served.budget,
            thread_limit: key.threads(self.options().thread_limit as u32),
            thread_most: key.threads(self.options().thread_most as u32),
        };
        let near = |nearness| self.with_layout(|layout| layout.near(nearness));
        let near = key.reach().near.map(near);
        let pool = Box::leak(Box::new(Pool::new(
            &self.base,
            key,
            attrs,
            near,
            &served.cpus,
        )));
        self.pools[index].store(pool, SeqCst);
        self.nr_pools.store(index + 1, SeqCst);
        pool
    }

    pub(crate) fn pools(&self) -> impl Iterator<Item = &'static Pool> + use<'_> {
        (0..self.nr_pools.load(SeqCst)).filter_map(|index| self.pool_at(index))
    }

    /// The pool with this index: its number, counted from the engine's first.
    #[inline]
    pub(crate) fn pool_at(&self, index: usize) -> Option<&'static Pool> {
        // SAFETY: null or leaked.
        unsafe { self.pools.get(index)?.load(SeqCst).as_ref() }
    }

    /// The pool with this number; `None` if it is a parent process's.
    #[inline]
    pub(crate) fn pool(&self, id: u32) -> Option<&'static Pool> {
        self.pool_at(id.checked_sub(self.nowhere())? as usize)
    }

    /// The pools whose bit is set and that this CPU may serve, with their nice levels. Takes no
    /// lock.
    pub(crate) fn wanting_pools<'a>(
        &'a self,
        bits: &'a [crate::sync::AtomicU64],
        cpu: usize,
    ) -> impl Iterator<Item = (usize, i8)> + 'a {
        let set = |index: usize| bits[index / 64].load(SeqCst) & (1 << (index % 64)) != 0;
        let all = (0..self.nr_pools.load(SeqCst)).filter(move |&index| set(index));
        let pools = all.filter_map(|index| Some((index, self.pool_at(index)?)));
        pools
            .filter(move |(_, pool)| pool.serves(cpu))
            .map(|(index, pool)| (index, pool.nice()))
    }

    /// 64-bit words that hold a bit for each pool.
    pub(crate) fn pool_words(&self) -> usize {
        self.nr_pools.load(SeqCst).div_ceil(64)
    }

    pub(crate) fn timers(&self) -> &Mutex<Timers> {
        &self.timers
    }

    /// Which items wait for which. Taken before the locks of queues and pools.
    pub(crate) fn waits(&self) -> &Mutex<Waits> {
        &self.waits
    }

    /// A queue has its first handle.
    pub(crate) fn remember_queue(&'static self, queue: &Arc<Queue>) {
        let mut registry = self.registry();
        registry.queues.insert(queue.id(), Arc::downgrade(queue));
        registry.freezer.adopt(&Real(self), queue.this());
    }

    /// And has lost its last one.
    pub(crate) fn forget_queue(&self, id: u64) {
        self.registry().queues.remove(&id);
    }

    /// All queues that have a handle.
    pub(crate) fn queues(&self) -> Vec<Arc<Queue>> {
        // The lock is not held when they are dropped: one may be the last reference.
        self.registry()
            .queues
            .values()
            .filter_map(Weak::upgrade)
            .collect()
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.queues.lock().expect("nobody panics with it")
    }

    /// Changes, or asks, what is frozen, with all queues that have a handle. None is made, and none
    /// loses its last handle, meanwhile.
    pub(crate) fn with_freezer<R>(&self, act: impl FnOnce(&mut Freezer, Vec<QueueRef>) -> R) -> R {
        let mut registry = self.registry();
        let kept: Vec<_> = registry.queues.values().filter_map(Weak::upgrade).collect();
        let queues = kept.iter().map(|queue| queue.this()).collect();
        let result = act(&mut registry.freezer, queues);
        // Last: a queue that is freed may not be freed under the lock.
        drop(registry);
        drop(kept);
        result
    }

    pub(crate) fn next_queue_id(&self) -> u64 {
        self.next_queue.fetch_add(1, SeqCst)
    }
}

/// The highest CPU number that a thread of this process may be on.
fn highest_cpu(cpus: &EffectiveCpus) -> usize {
    let online = cpus.online.saturating_sub(1);
    cpus.mask.iter().last().unwrap_or(0).max(online)
}
