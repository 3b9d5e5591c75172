//! The machine that the protocols of `cmwq_policy::contract` run on: this process.
//!
//! Locks are taken in the order queue, pool; the lock of the timers and those of limits are held for
//! a few instructions, with nothing taken inside.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_os::{clock, sched};
use cmwq_policy::contract::{Machine, QueueInfo, TimersOf};
use cmwq_policy::queue::{Attrs, Kind, Queue as QueueCore};
use cmwq_policy::store::PwqInfo;
use cmwq_policy::work::WorkWord;
use cmwq_policy::{CpuMask, Cx, ItemKey, Time, WorkerPool};

use crate::engine::Engine;
use crate::error::BuildError;
use crate::item::{Header, Ref};
use crate::pool::PoolKey;
use crate::pwq::{Items, Pwq, PwqRef};
use crate::queue::{Queue, QueueRef};

/// This process.
#[derive(Clone, Copy)]
pub(crate) struct Real(pub(crate) &'static Engine);

/// What the engine keeps armed. Guarded by its lock.
#[derive(Default)]
pub(crate) struct Timers {
    armed: TimersOf<Real>,
}

// SAFETY: items may be sent between threads (their owners require `Send`), and each timer keeps the
// queue that it points to.
unsafe impl Send for Timers {}

impl Timers {
    /// When the next one expires.
    pub(crate) fn next(&self) -> Option<Time> {
        self.armed.next()
    }

    /// How many are armed.
    pub(crate) fn len(&self) -> usize {
        self.armed.len()
    }
}

fn header<'a>(work: NonNull<Header>) -> &'a Header {
    // SAFETY: callers of the protocols keep the item in memory, or own its queue's reference.
    unsafe { work.as_ref() }
}

fn queue_ref<'a>(queue: QueueRef) -> &'a Queue {
    // SAFETY: whoever names a queue keeps it in memory.
    unsafe { queue.as_ref() }
}

impl Real {
    /// The word; an item that was pending at fork, or that ran before it, is new in the child.
    fn here(self, word: WorkWord) -> WorkWord {
        match word.pool() {
            Some(pool) if !self.0.has_pool(pool) => WorkWord::NEW.with_depth(word.disable_depth()),
            _ => word,
        }
    }

    fn make_pwq(self, queue: &Queue, core: &QueueCore<PwqRef>, pool: u32, plugged: bool) -> PwqRef {
        let pool = self.0.pool(pool).expect("the pool exists");
        let flags = cmwq_policy::pwq::PwqFlags {
            plugged,
            ..core.pwq_flags()
        };
        Pwq::make(queue.this(), queue.id(), pool, flags, core.effective_max())
    }

    /// The pwq of one CPU, made at first use.
    fn cpu_pwq(self, queue: &Queue, cpu: usize) -> PwqRef {
        let route = &queue.routes()[cpu];
        if let Some(pwq) = NonNull::new(route.load(SeqCst)) {
            return pwq;
        }
        self.with_queue(queue.this(), |core| {
            if let Some(pwq) = NonNull::new(route.load(SeqCst)) {
                return pwq;
            }
            let key = PoolKey::of_cpu(queue.made(), cpu, self.0.nice(core.attrs().nice));
            let pool = self.0.cpu_pool(key);
            let pwq = self.make_pwq(queue, core, pool.id(), false);
            core.add(pwq);
            route.store(pwq.as_ptr(), SeqCst);
            pwq
        })
    }
}

impl Machine for Real {
    type Store = Items;
    type Queue = QueueRef;
    type NoPool = BuildError;

    fn with_pool<R>(
        &self,
        pool: u32,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> R,
    ) -> R {
        self.0.pool(pool).expect("the pool exists").with(event)
    }

    fn with_queue<R>(&self, queue: QueueRef, act: impl FnOnce(&mut QueueCore<PwqRef>) -> R) -> R {
        let mut core = queue_ref(queue)
            .core()
            .lock()
            .expect("the core does not panic");
        act(&mut core)
    }

    fn with_timers<R>(&self, act: impl FnOnce(&mut TimersOf<Real>) -> R) -> R {
        let mut timers = self.0.timers().lock().expect("the core does not panic");
        act(&mut timers.armed)
    }

    fn timer_armed(&self, at: Time) {
        self.0.tick().timer_armed(self.0, at);
    }

    fn now(&self) -> Time {
        clock::now()
    }

    fn word(&self, work: NonNull<Header>) -> WorkWord {
        self.here(header(work).word())
    }

    fn step_word(
        &self,
        work: NonNull<Header>,
        step: impl Fn(WorkWord) -> Option<WorkWord>,
    ) -> Result<WorkWord, WorkWord> {
        let result = header(work).step(|word| step(self.here(word)));
        result
            .map(|word| self.here(word))
            .map_err(|word| self.here(word))
    }

    fn key(&self, work: NonNull<Header>) -> ItemKey {
        header(work).key()
    }

    fn retain(&self, work: NonNull<Header>) {
        // SAFETY: the caller keeps the item; the reference is the queue's.
        unsafe { (header(work).vtable().count)(work, Ref::Taken) };
    }

    fn release(&self, work: NonNull<Header>) {
        // SAFETY: the reference that was taken for the queue.
        let drop_it = || unsafe { (header(work).vtable().count)(work, Ref::Dropped) };
        // It may be the last one. A destructor that panics is its owner's affair, and must not take
        // our threads, or a queue that is being dropped, with it.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(drop_it)) {
            // May be a value that panics when it is dropped as well.
            std::mem::forget(payload);
        }
    }

    fn retain_queue(&self, queue: QueueRef) {
        // SAFETY: queues live in an `Arc`, and the caller keeps this one.
        unsafe { Arc::increment_strong_count(queue.as_ptr()) };
    }

    fn release_queue(&self, queue: QueueRef) {
        // SAFETY: `retain_queue` has counted for this.
        unsafe { Arc::decrement_strong_count(queue.as_ptr()) };
    }

    fn info(&self, pwq: PwqRef) -> PwqInfo {
        // SAFETY: of a queue that the caller keeps.
        unsafe { pwq.as_ref() }.info()
    }

    fn queue_info(&self, queue: QueueRef) -> QueueInfo {
        let queue = queue_ref(queue);
        QueueInfo {
            id: queue.id(),
            ordered: queue.made().kind == Kind::Ordered,
        }
    }

    fn route(&self, queue: QueueRef, cpu: Option<usize>) -> PwqRef {
        let queue = queue_ref(queue);
        if !queue.made().kind.is_per_cpu() {
            return self.routed_to(queue.this(), 0).expect("it has a pwq");
        }
        // A CPU may have come since the process began; its items go to the last that is known.
        let cpu = cpu.unwrap_or_else(sched::current_cpu);
        self.cpu_pwq(queue, cpu.min(queue.routes().len() - 1))
    }

    /// All CPUs share one.
    fn routed(&self, queue: QueueRef) -> CpuMask {
        self.routed_to(queue, 0).map(|_| 0).into_iter().collect()
    }

    fn routed_to(&self, queue: QueueRef, _: usize) -> Option<PwqRef> {
        NonNull::new(queue_ref(queue).routes()[0].load(SeqCst))
    }

    fn publish(&self, queue: QueueRef, _: usize, pwq: PwqRef) {
        queue_ref(queue).routes()[0].store(pwq.as_ptr(), SeqCst);
    }

    fn pool_for(&self, queue: QueueRef, attrs: &Attrs, _: usize) -> Result<u32, BuildError> {
        let key = PoolKey::of(queue_ref(queue).made().kind, attrs, self.0.nice(attrs.nice));
        self.0.pool_for(key).map(|pool| pool.id())
    }

    /// All nodes share one limit.
    fn share(&self, _: &Attrs, _: Option<u32>, max_active: u32, _: u32) -> u32 {
        max_active
    }

    fn new_pwq(
        &self,
        queue: QueueRef,
        core: &QueueCore<PwqRef>,
        pool: u32,
        plugged: bool,
    ) -> PwqRef {
        self.make_pwq(queue_ref(queue), core, pool, plugged)
    }

    fn relax(&self) {
        sched::yield_now();
    }
}
