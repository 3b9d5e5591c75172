//! What the process has one of: its pools, the signals, the budget of its CPUs.
//!
//! An engine belongs to one process. A forked child finds the parent's engine not to be its own (by
//! the generation, one load) and makes a new one at first use; it never touches a lock of the old.

use std::io;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Mutex, OnceLock};

use cmwq_os::cpus::{self, EffectiveCpus};
use cmwq_os::{generation, sched, thread};
use cmwq_policy::{CpuMask, PoolAttrs};

use crate::Workqueue;
use crate::builder::Options;
use crate::error::BuildError;
use crate::pool::Pool;
use crate::signals::canary::Canaries;
use crate::signals::tick::Tick;

/// Pools a process may have: sets of attributes that its queues use.
pub(crate) const MAX_POOLS: usize = if cfg!(loom) { 64 } else { 256 };

/// See the module's page.
pub(crate) struct Engine {
    generation: u32,
    options: Options,
    base_nice: i32,
    cpus: Mutex<EffectiveCpus>,
    cpus_version: AtomicU32,
    budget: AtomicU32,
    pools: Box<[AtomicPtr<Pool>]>,
    nr_pools: AtomicUsize,
    /// Held while a pool is made.
    making: Mutex<()>,
    canaries: Canaries,
    tick: Tick,
    system: OnceLock<Workqueue>,
    next_queue: AtomicU64,
    closing: AtomicBool,
    spawn_failures: AtomicU64,
    nice_denied: AtomicBool,
}

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
        if ENGINE
            .compare_exchange(stale, fresh, SeqCst, SeqCst)
            .is_err()
        {
            // SAFETY: made above and seen by nobody: another thread was faster.
            drop(unsafe { Box::from_raw(fresh) });
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
        Engine {
            generation,
            options: Options::installed(),
            base_nice: sched::nice_of(thread::getpid()).unwrap_or(0),
            cpus: Mutex::new(cpus::effective()),
            cpus_version: AtomicU32::new(1),
            budget: AtomicU32::new(0),
            pools: (0..MAX_POOLS).map(|_| AtomicPtr::default()).collect(),
            nr_pools: AtomicUsize::new(0),
            making: Mutex::new(()),
            canaries: Canaries::new(),
            tick: Tick::new(),
            system: OnceLock::new(),
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

    pub(crate) fn system(&'static self) -> &'static Workqueue {
        self.system.get_or_init(|| {
            let queue = Workqueue::builder("system").build_in(self);
            queue.expect("the attributes of the system queue are valid")
        })
    }

    /// The pool for these attributes, shared by all queues that have them.
    pub(crate) fn pool_for(&'static self, nice: i32) -> Result<&'static Pool, BuildError> {
        let _making = self.making.lock().expect("nobody panics with it");
        let nice = (self.base_nice + nice).clamp(-20, 19) as i8;
        if let Some(pool) = self.pools().find(|pool| pool.nice() == nice) {
            return Ok(pool);
        }
        let id = self.nr_pools.load(SeqCst);
        let slot = self.pools.get(id).ok_or(BuildError::TooManyPools)?;
        let target = self.cpus().target as u32;
        let thread_limit = self.options.thread_limit as u32;
        let attrs = PoolAttrs {
            nice,
            target,
            budget: target,
            thread_limit,
        };
        let pool = Box::leak(Box::new(Pool::new(self, id as u32, attrs)));
        slot.store(pool, SeqCst);
        self.nr_pools.store(id + 1, SeqCst);
        Ok(pool)
    }

    pub(crate) fn pools(&self) -> impl Iterator<Item = &'static Pool> + use<'_> {
        (0..self.nr_pools.load(SeqCst)).filter_map(|id| self.pool(id))
    }

    pub(crate) fn pool(&self, id: usize) -> Option<&'static Pool> {
        // SAFETY: null or leaked.
        unsafe { self.pools[id].load(SeqCst).as_ref() }
    }

    /// The pools whose bit is set, with their nice levels. Takes no lock.
    pub(crate) fn wanting_pools<'a>(
        &'a self,
        bits: &'a [crate::sync::AtomicU64],
    ) -> impl Iterator<Item = (usize, i8)> + 'a {
        let set = |id: usize| bits[id / 64].load(SeqCst) & (1 << (id % 64)) != 0;
        let ids = (0..self.nr_pools.load(SeqCst)).filter(move |&id| set(id));
        ids.filter_map(|id| Some((id, self.pool(id)?.nice())))
    }

    pub(crate) fn cpus(&self) -> EffectiveCpus {
        *self.cpus.lock().expect("nobody panics with it")
    }

    /// The version of the CPU mask, and the mask if the caller has not seen that version.
    pub(crate) fn cpu_mask(&self, seen: u32) -> (u32, Option<CpuMask>) {
        let version = self.cpus_version.load(SeqCst);
        (version, (version != seen).then(|| self.cpus().mask))
    }

    /// Reads mask and quota again, and tells the pools if they have changed.
    pub(crate) fn refresh_cpus(&self) {
        let fresh = cpus::effective();
        let before = std::mem::replace(
            &mut *self.cpus.lock().expect("nobody panics with it"),
            fresh,
        );
        if before.mask != fresh.mask {
            self.cpus_version.fetch_add(1, SeqCst);
        }
        if before.target != fresh.target {
            let target = fresh.target as u32;
            self.pools()
                .for_each(|pool| pool.with(|core, cx| core.set_target(cx, target, target)));
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
