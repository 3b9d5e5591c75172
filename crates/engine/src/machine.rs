//! The machine that the protocols of `cmwq_policy::contract` run on: this process.
//!
//! Locks are taken in the order waits, queue, pool, and in the order waits, tasks of a scope, pool.
//! The lock of the timers and those of limits are held for a few instructions, with nothing taken
//! inside.

use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use cmwq_os::{clock, sched};
use cmwq_policy::affinity::Spread;
use cmwq_policy::contract::{self, Decides, Machine, QueueInfo, TimersOf};
use cmwq_policy::pool::PoolKey;
use cmwq_policy::pwq::PwqFlags;
use cmwq_policy::queue::{Attrs, Kind, Queue as QueueCore};
use cmwq_policy::store::PwqInfo;
use cmwq_policy::work::WorkWord;
use cmwq_policy::{CpuMask, Cx, ItemKey, Time, WorkerPool};

use crate::engine::Real;
use crate::error::BuildError;
use crate::group::Group;
use crate::item::{Header, Ref};
use crate::pool::{Leaves, Pool, executes_for};
use crate::queue::pwq::Items;
use crate::queue::pwq::{Pwq, PwqRef};
use crate::queue::{Queue, QueueRef};
use crate::report::{self, Report};
use crate::tracepoints;
use crate::user;

/// Longer than anybody owns an item, unless he is kept off his CPU.
const RELAX: Duration = Duration::from_micros(50);

fn header<'a>(work: NonNull<Header>) -> &'a Header {
    // SAFETY: callers of the protocols keep the item in memory, or own its queue's reference.
    unsafe { work.as_ref() }
}

fn queue_ref<'a>(queue: QueueRef) -> &'a Queue {
    // SAFETY: whoever names a queue keeps it in memory.
    unsafe { queue.as_ref() }
}

impl Real {
    /// The word as this process has it. An item is new in a forked child if it was pending at the
    /// fork, was owned by some thread, or ran before. Its word has a number of the parent: see
    /// [`ours`](Self::ours).
    #[inline]
    fn here(self, word: WorkWord) -> WorkWord {
        match word.pool() {
            Some(pool) if !self.0.has_number(pool) => {
                WorkWord::NEW.with_depth(word.disable_depth())
            }
            Some(pool) if pool == self.0.nowhere() => word.in_pool(None),
            _ => word,
        }
    }

    /// The word as it is written: one that names no pool names this process. So each word that has
    /// changed since its item was made has a number, whatever a thread is in the middle of. By that
    /// a forked child knows it for its parent's.
    #[inline]
    fn ours(self, word: WorkWord) -> WorkWord {
        match word.pool() {
            None => word.in_pool(Some(self.0.nowhere())),
            Some(_) => word,
        }
    }

    /// Makes a [new](Header::set_new_word) item pending; false if it is pending or disabled.
    #[inline]
    pub(crate) fn pend_new(self, work: NonNull<Header>) -> bool {
        let item = header(work);
        let pended = self.here(item.word()).try_pend();
        pended
            .map(|word| item.set_new_word(self.ours(word)))
            .is_ok()
    }

    /// The pool with this number, which is one of this process.
    #[inline]
    pub(crate) fn pool(self, id: u32) -> &'static Pool {
        self.0.pool(id).expect("the pool exists")
    }

    /// The pwq of one CPU, made at first use.
    fn cpu_pwq(self, queue: &Queue, cpu: usize) -> PwqRef {
        self.with_queue(queue.this(), |core| {
            if let Some(pwq) = queue.routes().get(cpu) {
                return pwq;
            }
            let key = PoolKey::of_cpu(queue.made().kind, cpu, self.0.nice(core.attrs().nice));
            let (pool, max) = (self.0.cpu_pool(key), core.effective_max());
            let of = (pool.id(), pool.has_pods());
            let pwq = Pwq::make(queue, of, core.pwq_flags(), max, None);
            core.add(pwq);
            contract::limit(&self, core, pwq);
            queue.routes().set(cpu, pwq);
            pwq
        })
    }
}

impl Machine for Real {
    type Store = Items;
    type Queue = QueueRef;
    type NoPool = BuildError;
    type Group = Group;

    fn with_pool<R>(
        &self,
        pool: u32,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> R,
    ) -> R {
        self.pool(pool).with(event)
    }

    fn with_workers<R>(
        &self,
        pool: u32,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> R,
    ) -> R {
        self.pool(pool).with_workers(clock::now(), event)
    }

    fn activate(&self, pool: u32, pwq: PwqRef) {
        self.pool(pool).activate(pwq);
    }

    fn with_queue<R>(&self, queue: QueueRef, act: impl FnOnce(&mut QueueCore<PwqRef>) -> R) -> R {
        act(&mut queue_ref(queue).lock_core())
    }

    fn with_timers<R>(&self, act: impl FnOnce(&mut TimersOf<Real>) -> R) -> R {
        let mut timers = self.0.timers().lock().expect("the core does not panic");
        act(timers.armed())
    }

    fn timer_armed(&self, at: Time) {
        // The tick's thread sleeps no longer than until then.
        let timers = self.0.timers().lock().expect("the core does not panic");
        let first = timers.next();
        drop(timers);
        if first.is_some_and(|first| at <= first) {
            self.0.tick().unpark();
        }
    }

    fn now(&self) -> Time {
        clock::now()
    }

    #[inline]
    fn word(&self, work: NonNull<Header>) -> WorkWord {
        self.here(header(work).word())
    }

    fn step_word(
        &self,
        work: NonNull<Header>,
        step: impl Fn(WorkWord) -> Option<WorkWord>,
    ) -> Result<WorkWord, WorkWord> {
        let result = header(work).step(|word| step(self.here(word)).map(|next| self.ours(next)));
        result
            .map(|word| self.here(word))
            .map_err(|word| self.here(word))
    }

    #[inline]
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
        user::run(drop_it);
    }

    fn retain_queue(&self, queue: QueueRef) {
        // SAFETY: queues live in an `Arc`, and the caller keeps this one.
        unsafe { Arc::increment_strong_count(queue.as_ptr()) };
    }

    fn release_queue(&self, queue: QueueRef) {
        // SAFETY: `retain_queue` has counted for this.
        unsafe { Arc::decrement_strong_count(queue.as_ptr()) };
    }

    /// Read after the item was queued: whoever drops the last handle later than that finds it in
    /// flight.
    fn timer_has_queued(&self, queue: QueueRef) {
        let queue = queue_ref(queue);
        if queue.intake().destroying {
            queue.orphan();
        }
    }

    fn timer_dropped(&self, queue: QueueRef) {
        report::say(&Report::TimerDropped {
            queue: queue_ref(queue).name().to_owned(),
        });
    }

    #[inline]
    fn queueing(&self, queue: QueueRef, cpu: Option<usize>, work: NonNull<Header>) {
        let (name, key) = (queue_ref(queue).name(), header(work).key());
        tracepoints::queue_work(name, cpu, key);
        if self.0.recorder().is_on() {
            self.0.recorder().queued(name, key);
        }
    }

    #[inline]
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

    #[inline]
    fn route(&self, queue: QueueRef, cpu: Option<usize>) -> PwqRef {
        let this = queue_ref(queue);
        let slot = this
            .routes()
            .slot(|| cpu.unwrap_or_else(|| self.0.cpu_for(this.made().kind)));
        if let Some(pwq) = this.routes().get(slot) {
            return pwq;
        }
        match this.made().kind.is_per_cpu() {
            true => self.cpu_pwq(this, slot),
            false => {
                contract::pwq_for(self, queue, slot).expect("it has had a pwq since it was made")
            }
        }
    }

    #[inline]
    fn home(&self, pwq: PwqRef, cpu: Option<usize>) -> u32 {
        // SAFETY: of a queue that the caller keeps.
        match unsafe { pwq.as_ref() }.has_pods() {
            true => cpu.unwrap_or_else(sched::current_cpu) as u32,
            false => 0,
        }
    }

    fn one_at_a_time(&self, queue: QueueRef, is: bool) {
        queue_ref(queue).set_one_at_a_time(is);
    }

    #[inline]
    fn leave(&self, queue: QueueRef, work: NonNull<Header>, pwq: PwqRef, home: u32) -> bool {
        let queue = queue_ref(queue);
        if !queue.made().kind.has_inbox() {
            return false;
        }
        let pool = self.pool(self.info(pwq).pool);
        let executes = executes_for(pool);
        let tray = || pool.tray(home, queue.is_one_at_a_time());
        let mut is_elsewhere = false;
        // From here on the item is the pool's.
        if !executes.is_some_and(|(slot, own)| slot.keep_own(work, pwq, home, own)) {
            let (inbox, own) = (pool.inbox(), tray());
            match inbox.leave(work, pwq, (home, own), (clock::now, executes.is_none())) {
                Leaves::Not => return false,
                Leaves::Crowded => pool.crowded(),
                Leaves::Left => {}
            }
            // Who has changed the limit meanwhile may have had everything taken in before.
            is_elsewhere = tray() != own;
        }
        // A queue that nobody holds any more is freed by the pools, which know of its items only.
        if !pool.inbox().is_open() || queue.intake().destroying || is_elsewhere {
            pool.take_in();
        }
        true
    }

    fn take_in(&self) -> bool {
        let left = self.0.pools().filter(|pool| pool.inbox().has_any());
        left.map(Pool::take_in).count() > 0
    }

    fn route_by(&self, queue: QueueRef, attrs: &Attrs, spread: Spread) {
        let queue = queue_ref(queue);
        let kind = queue.made().kind;
        let one_route = self.0.with_layout(|l| l.has_one_route(kind, attrs, spread));
        queue.routes().set_one(one_route);
    }

    fn routed(&self, queue: QueueRef) -> CpuMask {
        queue_ref(queue).routes().routed()
    }

    fn routed_to(&self, queue: QueueRef, cpu: usize) -> Option<PwqRef> {
        queue_ref(queue).routes().get(cpu)
    }

    fn publish(&self, queue: QueueRef, cpu: usize, pwq: PwqRef) {
        queue_ref(queue).routes().set(cpu, pwq);
    }

    fn pool_for(
        &self,
        queue: QueueRef,
        attrs: &Attrs,
        spread: Spread,
        cpu: usize,
    ) -> Result<u32, BuildError> {
        let kind = queue_ref(queue).made().kind;
        let reach = self
            .0
            .with_layout(|layout| layout.reach(kind, attrs, spread, cpu));
        let key = PoolKey::of(kind, reach, self.0.nice(attrs.nice));
        self.0.pool_for(key).map(|pool| pool.id())
    }

    fn share(&self, attrs: &Attrs, node: Option<u32>, max_active: u32, min_active: u32) -> u32 {
        self.0
            .with_layout(|layout| layout.share(attrs, node, max_active, min_active))
    }

    fn new_pwq(
        &self,
        queue: QueueRef,
        core: &QueueCore<PwqRef>,
        pool: u32,
        plugged: bool,
    ) -> PwqRef {
        let pool = self.pool(pool);
        let node = self
            .0
            .with_layout(|layout| layout.node_of(pool.key().counts_in()));
        let flags = PwqFlags {
            plugged,
            ..core.pwq_flags()
        };
        let node = core.counts_for(node);
        let of = (pool.id(), pool.has_pods());
        Pwq::make(queue_ref(queue), of, flags, core.effective_max(), node)
    }

    /// A real-time thread yields to its like only, and who owns the item may need its CPU.
    fn relax(&self) {
        match sched::is_normal_policy_self() {
            true => sched::yield_now(),
            false => std::thread::sleep(RELAX),
        }
    }

    fn members(&self, group: Group, mut show: impl FnMut(NonNull<Header>)) {
        group.show(&mut show);
    }
}

impl Decides for Real {
    fn usable(&self, pool: u32) -> CpuMask {
        self.pool(pool).usable()
    }

    fn wakes_in(&self, pool: u32, cpu: usize, last: usize) -> Option<CpuMask> {
        self.pool(pool).wakes_in(Some(cpu as u32), last)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::item::Vtable;

    static TABLE: Vtable = Vtable {
        run: |_| unreachable!(),
        count: |_, _| (),
        name: |_| "item",
    };

    /// What a forked child goes by: see `Real::ours`.
    #[test]
    fn a_word_that_anybody_has_changed_names_its_process() {
        let m = Real(crate::start::get().unwrap());
        let steps: [fn(WorkWord) -> Option<WorkWord>; 3] =
            [|w| w.try_pend().ok(), WorkWord::try_disable, Some];
        for step in steps {
            let item = Header::new(&TABLE);
            let work = NonNull::from(&item);
            let new = header(work).word();
            assert_eq!((new, new.pool()), (WorkWord::NEW, None));
            m.step_word(work, step).unwrap();
            assert_eq!(header(work).word().pool(), Some(m.0.nowhere()));
            assert_eq!(m.word(work).pool(), None, "and it has run nowhere");
        }
    }
}
