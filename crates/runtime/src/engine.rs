//! What the process has one of: its pools, the signals, the budget of its CPUs.
//!
//! An engine belongs to one process. A forked child finds the parent's engine not to be its own (by
//! the generation, one load) and makes a new one at first use; it never touches a lock of the old.

use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use cmwq_os::cpus::{self, EffectiveCpus};
use cmwq_os::topology::{self, Topology};
use cmwq_os::{clock, generation, sched, thread};
use cmwq_policy::affinity::{Layout, Place, ProcessCpus};
use cmwq_policy::contract::Freezer;
use cmwq_policy::form::CanaryForm;
use cmwq_policy::pool::PoolKey;
use cmwq_policy::queue::Kind;
use cmwq_policy::{CpuMask, PoolAttrs, Time, contract, work};

use crate::affinity;
use crate::builder::Options;
use crate::error::BuildError;
use crate::faces::Faces;
use crate::machine::{Timers, Waits};
use crate::pool::Pool;
use crate::queue::{Queue, QueueRef};
use crate::report::Reports;
use crate::signals::canary::Canaries;
use crate::signals::tick::Tick;
use crate::sync::{Mutex, MutexGuard};

/// Pools a process may have. Per-CPU ones are at most four per CPU; the others are sets of attributes
/// that its queues use.
pub(crate) const MAX_POOLS: usize = if cfg!(loom) { 64 } else { 8192 };
/// Of those, pools that are not per CPU: a set of attributes has one for each pod.
pub(crate) const MAX_SHARED_POOLS: usize = 1000;

/// Per-CPU and BH pools, each of two nice levels.
const POOLS_OF_A_CPU: usize = 4;

/// See the module's page.
pub(crate) struct Engine {
    generation: u32,
    options: Options,
    base_nice: i32,
    cpus: Mutex<EffectiveCpus>,
    /// Which of the CPUs of its threads are the process's.
    masks: Mutex<ProcessCpus>,
    budget: AtomicU32,
    pools: Box<[AtomicPtr<Pool>]>,
    nr_pools: AtomicUsize,
    /// Held while a pool is made.
    making: Mutex<()>,
    canaries: Canaries,
    tick: Tick,
    faces: Faces,
    next_queue: AtomicU64,
    /// All queues with a handle, and whether the freezable ones are frozen.
    queues: Mutex<Registry>,
    timers: Mutex<Timers>,
    waits: Mutex<Waits>,
    reports: Reports,
    topology: Mutex<Option<Arc<Topology>>>,
    /// Where queues go; made when the first queue is.
    layout: OnceLock<Mutex<Layout>>,
    /// Counts its changes.
    layout_version: AtomicU32,
    /// There are CPUs that queues may not use although the process may.
    some_unbound: AtomicBool,
    /// Its own number: items that have run nowhere have it in their words. The numbers of its pools
    /// follow, those of a parent process are lower.
    nowhere: u32,
    /// Numbers of CPUs are below this.
    nr_cpus: usize,
    closing: AtomicBool,
    spawn_failures: AtomicU64,
    nice_denied: AtomicBool,
}

/// The queues of a process.
#[derive(Default)]
pub(crate) struct Registry {
    /// By number.
    queues: BTreeMap<u64, Weak<Queue>>,
    freezer: Freezer,
}

/// Numbers of pools, and of engines, go on in a forked child, so that an item's word never means another pool there.
static NEXT_POOL: AtomicU32 = AtomicU32::new(0);

/// The engine made last in this process or, right after a fork, in its parent.
static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(std::ptr::null_mut());

/// The number of the process one of whose threads makes the engine, or has made it; 0: none could.
/// A process that was forked meanwhile has another number, so it never waits for its parent.
static MAKER: AtomicU32 = AtomicU32::new(0);

/// How long a thread sleeps while another one makes the engine. It does not spin: it may have a
/// real-time policy, and the CPU that the other one needs.
const MAKING: Duration = Duration::from_micros(50);

/// The process's engine, made at first use.
///
/// # Errors
/// If the system has no page left to tell a forked child by, or no thread, or parents have used up the
/// numbers of pools. The next use tries again.
pub(crate) fn get() -> io::Result<&'static Engine> {
    if let Some(engine) = existing() {
        return Ok(engine);
    }
    let ours = generation::claim()?;
    loop {
        let maker = MAKER.load(SeqCst);
        // After that load: whoever finds no engine here, and the maker unchanged, is the only one.
        if let Some(engine) = existing() {
            return Ok(engine);
        }
        if maker == ours {
            std::thread::sleep(MAKING);
        } else if MAKER.compare_exchange(maker, ours, SeqCst, SeqCst).is_ok() {
            return make(ours);
        }
    }
}

/// Makes the engine of the process that has this number. The calling thread alone does so.
fn make(generation: u32) -> io::Result<&'static Engine> {
    let unmade = Unmade;
    let engine = Box::into_raw(Box::new(Engine::new(generation)?));
    // SAFETY: made above; freed only where no thread knows of it.
    if let Err(error) = Tick::start(unsafe { &*engine }) {
        // SAFETY: nobody but the thread that was not made would have known of it.
        drop(unsafe { Box::from_raw(engine) });
        return Err(error);
    }
    // Its own number is taken. Nobody else takes one meanwhile: pools are made in it.
    NEXT_POOL.fetch_add(1, SeqCst);
    ENGINE.store(engine, SeqCst);
    std::mem::forget(unmade);
    // Here, since nothing is locked yet: who is told may use queues.
    affinity::check_environment();
    // SAFETY: leaked.
    Ok(unsafe { &*engine })
}

/// However the making ends that has begun: another one may begin when this is dropped.
struct Unmade;

impl Drop for Unmade {
    fn drop(&mut self) {
        MAKER.store(0, SeqCst);
    }
}

/// The process's engine, if it has been used.
pub(crate) fn existing() -> Option<&'static Engine> {
    // SAFETY: null or leaked.
    let engine = unsafe { ENGINE.load(SeqCst).as_ref() }?;
    engine.is_ours().then_some(engine)
}

impl Engine {
    fn new(generation: u32) -> io::Result<Self> {
        let cpus = cpus::effective();
        let nr_cpus = highest_cpu(&cpus) + 1;
        let nowhere = NEXT_POOL.load(SeqCst);
        check_numbers(nowhere, nr_cpus)?;
        Ok(Engine {
            generation,
            nowhere,
            nr_cpus,
            queues: Mutex::default(),
            timers: Mutex::default(),
            waits: Mutex::default(),
            reports: Reports::new(),
            topology: Mutex::default(),
            layout: OnceLock::new(),
            layout_version: AtomicU32::new(0),
            some_unbound: AtomicBool::new(false),
            options: Options::installed(),
            base_nice: sched::nice_of(thread::getpid()).unwrap_or(0),
            cpus: Mutex::new(cpus),
            masks: Mutex::new(ProcessCpus::new(cpus.first)),
            budget: AtomicU32::new(0),
            pools: (0..MAX_POOLS).map(|_| AtomicPtr::default()).collect(),
            // The first place stays empty: it is the engine's own number.
            nr_pools: AtomicUsize::new(1),
            making: Mutex::new(()),
            canaries: Canaries::new(),
            tick: Tick::new(),
            faces: Faces::default(),
            next_queue: AtomicU64::new(1),
            closing: AtomicBool::new(false),
            spawn_failures: AtomicU64::new(0),
            nice_denied: AtomicBool::new(false),
        })
    }

    /// Whether this is the process that made it, and not a forked child.
    pub(crate) fn is_ours(&self) -> bool {
        generation::current() == self.generation
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
        assert_eq!(id, self.nowhere + index as u32, "one process, one engine");
        let cpus = self.cpus();
        let served = key.served(&cpus.mask, cpus.target);
        let attrs = PoolAttrs {
            id,
            rule: served.rule,
            nice: key.nice(),
            target: served.target,
            budget: served.budget,
            thread_limit: key.threads(self.options.thread_limit as u32),
            thread_most: key.threads(self.options.thread_most as u32),
        };
        let near = |nearness| self.with_layout(|layout| layout.near(nearness));
        let near = key.reach().near.map(near);
        let pool = Box::leak(Box::new(Pool::new(self, key, attrs, near, &served.cpus)));
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
        self.pool_at(id.checked_sub(self.nowhere)? as usize)
    }

    /// Whether this number is of this process: a pool's, or its own.
    pub(crate) fn has_number(&self, id: u32) -> bool {
        id >= self.nowhere
    }

    /// The number of this process, which is no pool's.
    pub(crate) fn nowhere(&self) -> u32 {
        self.nowhere
    }

    /// Index of a pool of this process.
    pub(crate) fn index_of(&self, pool: u32) -> usize {
        (pool - self.nowhere) as usize
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

    pub(crate) fn timers(&self) -> &Mutex<Timers> {
        &self.timers
    }

    /// Which items wait for which. Taken before the locks of queues and pools.
    pub(crate) fn waits(&self) -> &Mutex<Waits> {
        &self.waits
    }

    /// A queue has its first handle.
    pub(crate) fn remember_queue(&self, queue: &Arc<Queue>) {
        let mut registry = self.registry();
        registry.queues.insert(queue.id(), Arc::downgrade(queue));
        registry.freezer.adopt(&queue.machine(), queue.this());
    }

    /// And has lost its last one.
    pub(crate) fn forget_queue(&self, id: u64) {
        self.registry().queues.remove(&id);
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.queues.lock().expect("nobody panics with it")
    }

    /// Changes, or asks, what is frozen, with all queues that have a handle. None is made, and none loses its
    /// last handle, meanwhile.
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
            self.follow_cpus();
            // They may have changed again.
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

    /// When the masks of all threads are to be read again, as the first one's has changed.
    pub(crate) fn cpus_due(&self) -> Option<Time> {
        self.masks().due()
    }

    fn read_cpus(&self) -> EffectiveCpus {
        let fresh = cpus::effective();
        let mut masks = self.masks();
        let before = masks.due();
        let mask = masks.read(clock::now(), fresh.first, fresh.mask);
        let due = masks.due();
        drop(masks);
        if due.is_some() && due != before {
            // It looks how long it may sleep.
            self.tick.unpark();
        }
        fresh.with_mask(mask)
    }

    fn masks(&self) -> MutexGuard<'_, ProcessCpus> {
        self.masks.lock().expect("nobody panics with it")
    }

    /// Whether the mask of the first thread is not the one that is known, or was not long ago: that is quickly
    /// seen, and who changes the CPUs of a process changes it first.
    fn has_other_cpus(&self) -> bool {
        let first = sched::affinity(thread::getpid());
        first.is_ok_and(|first| {
            first != self.cpus().first || self.masks().is_stale(clock::now(), first)
        })
    }

    /// Whether somebody outside may have given a thread this mask, who changes the CPUs of the process
    /// thread by thread.
    pub(crate) fn is_from_outside(&self, mask: &CpuMask) -> bool {
        let cpus = self.cpus();
        *mask == cpus.mask || *mask == cpus.first
    }

    fn follow_cpus(&'static self) {
        if self.tell_pools() {
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

    /// Reads the CPUs, and tells the pools if they are others than before.
    fn tell_pools(&'static self) -> bool {
        // So that no pool is made meanwhile with what was known before, and nobody tells them what was read earlier.
        let _making = self.making.lock().expect("nobody panics with it");
        let fresh = self.read_cpus();
        let before = self.cpus();
        let changed = (before.mask, before.target) != (fresh.mask, fresh.target);
        if changed {
            self.pools().for_each(|pool| pool.follow_cpus(&fresh));
        }
        // After the pools: a worker that finds no news here has the mask of its pool.
        *self.cpus.lock().expect("nobody panics with it") = fresh;
        changed
    }

    /// Pods and nodes' parts of limits follow the CPUs.
    fn refit_queues(&self) {
        let registry = self.registry();
        let queues: Vec<_> = registry.queues.values().filter_map(Weak::upgrade).collect();
        // A queue that is freed may not be freed under the lock.
        drop(registry);
        for queue in &queues {
            // Where there is no pool to be had, the queue stays as it is.
            let _ = contract::refit(&queue.machine(), queue.this());
        }
        if let Some(queue) = queues.first() {
            crate::pool::relieve(queue.engine());
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

    /// Where the program wants the canaries to live, if it has said so.
    pub(crate) fn canary_wish(&self) -> Option<CanaryForm> {
        self.options.canaries
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

/// Whether all pools that a process with so many CPUs may make can have numbers, from this one on. Asked once, so
/// that no pool lacks one later.
fn check_numbers(first: u32, nr_cpus: usize) -> io::Result<()> {
    // One is the engine's own.
    let most = (1 + MAX_SHARED_POOLS + POOLS_OF_A_CPU * nr_cpus).min(MAX_POOLS);
    match work::has_numbers(first, most as u32) {
        true => Ok(()),
        false => Err(io::Error::other(
            "too long a chain of forks: their parents have used up the numbers of pools",
        )),
    }
}

/// The highest CPU number that a thread of this process may be on.
fn highest_cpu(cpus: &EffectiveCpus) -> usize {
    let online = cpus.online.saturating_sub(1);
    cpus.mask.iter().last().unwrap_or(0).max(online)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_numbers_for_all_its_pools_or_none() {
        let most = (1 + MAX_SHARED_POOLS + 2 * POOLS_OF_A_CPU) as u32;
        let last = work::MAX_POOLS - most;
        assert!(check_numbers(0, 2).is_ok() && check_numbers(last, 2).is_ok());
        let error = check_numbers(last + 1, 2).unwrap_err().to_string();
        assert!(error.starts_with("too long a chain of forks"), "{error}");
    }
}
