//! What the process has one of: its pools, the signals, the budget of its CPUs.
//!
//! An engine belongs to one process. A forked child finds the parent's engine not to be its own (by
//! the generation, one load) and makes a new one at first use; it never touches a lock of the old.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use cmwq_os::cpus::{self, EffectiveCpus};
use cmwq_os::topology::{self, Topology};
use cmwq_os::{generation, sched, thread};
use cmwq_policy::affinity::{Layout, Place};
use cmwq_policy::queue::Kind;
use cmwq_policy::{CpuMask, PoolAttrs, contract};

use crate::affinity;
use crate::async_domain::AsyncState;
use crate::builder::Options;
use crate::error::BuildError;
use crate::job::Jobs;
use crate::machine::Timers;
use crate::pool::Pool;
use crate::pool::PoolKey;
use crate::queue::Queue;
use crate::report::Reports;
use crate::signals::canary::Canaries;
use crate::signals::tick::Tick;
use crate::system::SystemQueues;

/// Pools a process may have. Per-CPU ones are at most four per CPU; the others are sets of attributes
/// that its queues use.
pub(crate) const MAX_POOLS: usize = if cfg!(loom) { 64 } else { 8192 };
/// Of those, pools that are not per CPU: a set of attributes has one for each pod.
pub(crate) const MAX_SHARED_POOLS: usize = 1000;

/// See the module's page.
pub(crate) struct Engine {
    generation: u32,
    options: Options,
    base_nice: i32,
    cpus: Mutex<EffectiveCpus>,
    budget: AtomicU32,
    pools: Box<[AtomicPtr<Pool>]>,
    nr_pools: AtomicUsize,
    /// Held while a pool is made.
    making: Mutex<()>,
    canaries: Canaries,
    tick: Tick,
    system: SystemQueues,
    jobs: Jobs,
    asyncs: AsyncState,
    next_queue: AtomicU64,
    /// All queues with a handle, by number, and whether the freezable ones are frozen.
    queues: Mutex<Registry>,
    timers: Mutex<Timers>,
    reports: Reports,
    topology: Mutex<Option<Arc<Topology>>>,
    /// Where queues go; made when the first queue is.
    layout: OnceLock<Mutex<Layout>>,
    /// Counts its changes.
    layout_version: AtomicU32,
    /// There are CPUs that queues may not use although the process may.
    some_unbound: AtomicBool,
    /// Number of its first pool. Those of a parent process are lower.
    first_pool: u32,
    /// Numbers of CPUs are below this.
    nr_cpus: usize,
    closing: AtomicBool,
    spawn_failures: AtomicU64,
    nice_denied: AtomicBool,
}

/// The queues of a process.
#[derive(Default)]
pub(crate) struct Registry {
    pub(crate) queues: BTreeMap<u64, Weak<Queue>>,
    pub(crate) frozen: bool,
}

/// Numbers of pools go on in a forked child, so that an item's word never means another pool there.
static NEXT_POOL: AtomicU32 = AtomicU32::new(0);

/// The engine made last in this process or, right after a fork, in its parent.
static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(std::ptr::null_mut());

/// The process's engine, made at first use.
///
/// # Errors
/// If the system has no page left to tell a forked child by.
pub(crate) fn get() -> io::Result<&'static Engine> {
    loop {
        if let Some(engine) = existing() {
            return Ok(engine);
        }
        let stale = ENGINE.load(SeqCst);
        let fresh = Box::into_raw(Box::new(Engine::new(generation::claim()?)));
        match ENGINE.compare_exchange(stale, fresh, SeqCst, SeqCst) {
            // Here, since nothing is locked yet: who is told may use queues.
            Ok(_) => affinity::check_environment(),
            // SAFETY: made above and seen by nobody: another thread was faster.
            Err(_) => drop(unsafe { Box::from_raw(fresh) }),
        }
    }
}

/// The process's engine, if it has been used.
pub(crate) fn existing() -> Option<&'static Engine> {
    // SAFETY: null or leaked.
    let engine = unsafe { ENGINE.load(SeqCst).as_ref() }?;
    engine.is_ours().then_some(engine)
}

impl Engine {
    fn new(generation: u32) -> Self {
        let cpus = cpus::effective();
        let first_pool = NEXT_POOL.load(SeqCst);
        assert!(
            first_pool < cmwq_policy::work::MAX_POOLS,
            "too deep a tree of forks"
        );
        Engine {
            generation,
            first_pool,
            nr_cpus: highest_cpu(&cpus) + 1,
            queues: Mutex::default(),
            timers: Mutex::default(),
            reports: Reports::new(),
            topology: Mutex::default(),
            layout: OnceLock::new(),
            layout_version: AtomicU32::new(0),
            some_unbound: AtomicBool::new(false),
            options: Options::installed(),
            base_nice: sched::nice_of(thread::getpid()).unwrap_or(0),
            cpus: Mutex::new(cpus),
            budget: AtomicU32::new(0),
            pools: (0..MAX_POOLS).map(|_| AtomicPtr::default()).collect(),
            nr_pools: AtomicUsize::new(0),
            making: Mutex::new(()),
            canaries: Canaries::new(),
            tick: Tick::new(),
            system: SystemQueues::default(),
            jobs: Jobs::default(),
            asyncs: AsyncState::default(),
            next_queue: AtomicU64::new(1),
            closing: AtomicBool::new(false),
            spawn_failures: AtomicU64::new(0),
            nice_denied: AtomicBool::new(false),
        }
    }

    /// Whether this is the process that made it, and not a forked child.
    pub(crate) fn is_ours(&self) -> bool {
        generation::current() == self.generation
    }

    pub(crate) fn system(&self) -> &SystemQueues {
        &self.system
    }

    pub(crate) fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    pub(crate) fn asyncs(&self) -> &AsyncState {
        &self.asyncs
    }

    /// The CPUs of each NUMA node that the process may use.
    pub(crate) fn node_cpus(&self) -> Vec<CpuMask> {
        let mask = self.cpus().mask;
        let topology = self.topology();
        let nodes = topology.nodes.iter();
        nodes.map(|node| node.and(&mask)).collect()
    }

    /// A queue's nice value is on top of the process's at first use, as with nice(1).
    pub(crate) fn nice(&self, nice: i8) -> i8 {
        (self.base_nice + i32::from(nice)).clamp(-20, 19) as i8
    }

    /// The pool with these attributes, shared by all queues that have them.
    pub(crate) fn pool_for(&'static self, key: PoolKey) -> Result<&'static Pool, BuildError> {
        let _making = self.making.lock().expect("nobody panics with it");
        if let Some(pool) = self.find_pool(&key) {
            return Ok(pool);
        }
        let shared = self.pools().filter(|pool| pool.key().cpu.is_none()).count();
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
        assert_eq!(
            id,
            self.first_pool + index as u32,
            "one process, one engine"
        );
        let (rule, cpus) = key.serves(&self.cpus());
        let attrs = PoolAttrs {
            id,
            rule,
            nice: key.nice,
            target: key.target(&self.cpus()),
            budget: self.cpus().target as u32,
            thread_limit: key.thread_limit(self.options.thread_limit as u32),
        };
        let near = |nearness| self.with_layout(|layout| layout.near(nearness));
        let near = key.near().map(near);
        let pool = Box::leak(Box::new(Pool::new(self, key, attrs, near, &cpus)));
        self.pools[index].store(pool, SeqCst);
        self.nr_pools.store(index + 1, SeqCst);
        pool
    }

    pub(crate) fn pools(&self) -> impl Iterator<Item = &'static Pool> + use<'_> {
        (0..self.nr_pools.load(SeqCst)).filter_map(|index| self.pool_at(index))
    }

    /// The pool with this index: its number, counted from the engine's first.
    pub(crate) fn pool_at(&self, index: usize) -> Option<&'static Pool> {
        // SAFETY: null or leaked.
        unsafe { self.pools.get(index)?.load(SeqCst).as_ref() }
    }

    /// The pool with this number; `None` if it is a parent process's.
    pub(crate) fn pool(&self, id: u32) -> Option<&'static Pool> {
        self.pool_at(id.checked_sub(self.first_pool)? as usize)
    }

    /// Whether a pool with this number is of this process.
    pub(crate) fn has_pool(&self, id: u32) -> bool {
        id >= self.first_pool
    }

    /// Index of a pool of this process.
    pub(crate) fn index_of(&self, pool: u32) -> usize {
        (pool - self.first_pool) as usize
    }

    /// The pools whose bit is set and that this CPU may serve, with their nice levels. Takes no lock.
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

    pub(crate) fn nr_cpus(&self) -> usize {
        self.nr_cpus
    }

    pub(crate) fn queues(&self) -> &Mutex<Registry> {
        &self.queues
    }

    pub(crate) fn timers(&self) -> &Mutex<Timers> {
        &self.timers
    }

    /// A queue has its first handle. It begins frozen if others are.
    pub(crate) fn remember_queue(&self, queue: &Arc<Queue>) {
        let mut registry = self.queues.lock().expect("nobody panics with it");
        registry.queues.insert(queue.id(), Arc::downgrade(queue));
        if registry.frozen && queue.is_freezable() {
            contract::freeze(&queue.machine(), queue.this());
        }
    }

    /// And has lost its last one.
    pub(crate) fn forget_queue(&self, id: u64) {
        let mut registry = self.queues.lock().expect("nobody panics with it");
        registry.queues.remove(&id);
    }

    /// Where an item for this node goes: the caller's CPU if it is of the node, else the first one that
    /// the process may use; `None` if there is none.
    pub(crate) fn cpu_of_node(&self, node: usize) -> Option<usize> {
        let cpus = self.topology().nodes.get(node)?.and(&self.cpus().mask);
        let here = sched::current_cpu();
        cpus.contains(here)
            .then_some(here)
            .or_else(|| cpus.iter().next())
    }

    /// The CPU that an item of this kind of queue goes to if nobody names one.
    pub(crate) fn cpu_for(&self, kind: Kind) -> usize {
        let here = sched::current_cpu();
        match !kind.is_per_cpu() && self.some_unbound.load(SeqCst) {
            true => self.with_layout(|layout| layout.choose_cpu(here)),
            false => here,
        }
    }

    /// The machine as it was when it was last looked at.
    fn topology(&self) -> Arc<Topology> {
        let mut topology = self.topology.lock().expect("nobody panics with it");
        topology.get_or_insert_with(|| self.read_topology()).clone()
    }

    fn read_topology(&self) -> Arc<Topology> {
        Arc::new(topology::read(Path::new(self.options.sysfs_root)))
    }

    /// Looks at, or changes, what decides where queues go. Nothing else is locked inside.
    pub(crate) fn with_layout<R>(&self, act: impl FnOnce(&mut Layout) -> R) -> R {
        let layout = self.layout.get_or_init(|| Mutex::new(self.read_layout()));
        act(&mut layout.lock().expect("nobody panics with it"))
    }

    /// Where queues go has changed so often.
    pub(crate) fn layout_version(&self) -> u32 {
        self.layout_version.load(SeqCst)
    }

    /// Changes what holds for all queues, which follow.
    pub(crate) fn change_layout<R>(&self, change: impl FnOnce(&mut Layout) -> R) -> R {
        let result = self.with_layout(change);
        self.note_layout();
        self.refit_queues();
        result
    }

    fn read_layout(&self) -> Layout {
        let mut layout = self.layout_of(&self.topology());
        layout.set_all_online(&self.cpus().mask);
        if let Some(scope) = affinity::scope_of_environment() {
            layout.set_default_scope(scope);
        }
        layout
    }

    fn layout_of(&self, topology: &Topology) -> Layout {
        let mut places = topology.places();
        // A CPU of which nothing is known is a core of its own.
        let more = (places.len()..self.nr_cpus).map(|cpu| Place {
            core: cpu as u32,
            llc: 0,
            node: 0,
        });
        places.extend(more);
        Layout::new(places).with_distances(topology.distances.clone())
    }

    pub(crate) fn reports(&self) -> &Reports {
        &self.reports
    }

    pub(crate) fn cpus(&self) -> EffectiveCpus {
        *self.cpus.lock().expect("nobody panics with it")
    }

    /// Reads mask and quota again, and tells the pools if they have changed.
    pub(crate) fn refresh_cpus(&'static self) {
        loop {
            self.follow_cpus(cpus::effective());
            // Several threads may do this, and the last one need not be the one that read last.
            if !self.has_other_cpus() {
                return;
            }
        }
    }

    /// As [`refresh_cpus`](Self::refresh_cpus), where there is reason to think that the mask has changed.
    pub(crate) fn notice_cpus(&'static self) {
        if self.has_other_cpus() {
            self.refresh_cpus();
        }
    }

    /// Whether the mask of the process is not the one that is known.
    fn has_other_cpus(&self) -> bool {
        let mask = sched::affinity(thread::getpid());
        mask.is_ok_and(|mask| mask != self.cpus().mask)
    }

    fn follow_cpus(&'static self, fresh: EffectiveCpus) {
        if self.tell_pools(fresh) {
            // Made before the topology is locked: it is made of that.
            self.with_layout(|_| ());
            self.follow_topology();
            self.refit_queues();
        }
    }

    /// The layout gets the CPUs that the process has now. The machine is looked at again if one of them was
    /// offline before. Not if one has gone: nothing tells any more of what that was a part.
    fn follow_topology(&self) {
        let mut topology = self.topology.lock().expect("nobody panics with it");
        let known = topology
            .get_or_insert_with(|| self.read_topology())
            .online();
        // With the topology locked, so that what was read last is what counts.
        let mask = self.cpus().mask;
        if mask.and(&known) != mask {
            let fresh = topology.insert(self.read_topology());
            let machine = self.layout_of(fresh);
            self.with_layout(|layout| layout.follow(machine));
        }
        self.with_layout(|layout| layout.set_all_online(&mask));
        self.note_layout();
    }

    /// What is known of the layout without its lock.
    fn note_layout(&self) {
        let some = self.with_layout(|layout| !layout.is_all_unbound());
        self.some_unbound.store(some, SeqCst);
        self.layout_version.fetch_add(1, SeqCst);
    }

    /// True if these are other CPUs than before.
    fn tell_pools(&'static self, fresh: EffectiveCpus) -> bool {
        // So that no pool is made meanwhile with what was known before.
        let _making = self.making.lock().expect("nobody panics with it");
        let before = std::mem::replace(
            &mut *self.cpus.lock().expect("nobody panics with it"),
            fresh,
        );
        let changed = (before.mask, before.target) != (fresh.mask, fresh.target);
        if changed {
            self.pools().for_each(|pool| pool.follow_cpus(&fresh));
        }
        changed
    }

    /// Pods and nodes' parts of limits follow the CPUs.
    fn refit_queues(&self) {
        let registry = self.queues.lock().expect("nobody panics with it");
        let queues: Vec<_> = registry.queues.values().filter_map(Weak::upgrade).collect();
        // A queue that is freed may not be freed under the lock.
        drop(registry);
        for queue in &queues {
            // Where there is no pool to be had, the queue stays as it is.
            let _ = contract::refit(&queue.machine(), queue.this());
        }
    }

    pub(crate) fn base_nice(&self) -> i32 {
        self.base_nice
    }

    pub(crate) fn stack_size(&self) -> usize {
        self.options.stack_size
    }

    pub(crate) fn budget(&self) -> &AtomicU32 {
        &self.budget
    }

    pub(crate) fn canaries(&self) -> &Canaries {
        &self.canaries
    }

    pub(crate) fn tick(&self) -> &Tick {
        &self.tick
    }

    pub(crate) fn next_queue_id(&self) -> u64 {
        self.next_queue.fetch_add(1, SeqCst)
    }

    /// From now on only running items queue.
    pub(crate) fn close(&self) {
        self.closing.store(true, SeqCst);
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(SeqCst)
    }

    pub(crate) fn note_spawn_failure(&self, _error: &io::Error) {
        self.spawn_failures.fetch_add(1, SeqCst);
    }

    pub(crate) fn spawn_failures(&self) -> u64 {
        self.spawn_failures.load(SeqCst)
    }

    pub(crate) fn note_denied_nice(&self) {
        self.nice_denied.store(true, SeqCst);
    }

    pub(crate) fn is_nice_denied(&self) -> bool {
        self.nice_denied.load(SeqCst)
    }
}

/// The highest CPU number that a thread of this process may be on.
fn highest_cpu(cpus: &EffectiveCpus) -> usize {
    let online = cpus.online.saturating_sub(1);
    cpus.mask.iter().last().unwrap_or(0).max(online)
}
