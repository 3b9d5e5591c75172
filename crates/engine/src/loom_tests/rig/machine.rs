//! What the protocols run on.

use std::ptr::NonNull;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_policy::affinity::Spread;
use cmwq_policy::contract::{Machine, QueueInfo, TimersOf};
use cmwq_policy::queue::{Attrs, Queue};
use cmwq_policy::store::PwqInfo;
use cmwq_policy::work::WorkWord;
use cmwq_policy::{Actions, CpuMask, Cx, ItemKey, Time, WorkerPool};
use loom::thread;

use super::Rig;
use super::dealing::Dealing;
use super::item::header;
use super::store::Items;
use crate::item::{Header, Ref};

impl Rig {
    /// One hold of the pool's lock, and what that asks for.
    pub(super) fn hold<R>(
        &self,
        pool: u32,
        act: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>, Option<&Dealing>) -> R,
    ) -> R {
        let mut out = Actions::default();
        let dealing = self.pools[pool as usize].dealing.as_ref();
        let mut core = self.pools[pool as usize].core.lock().unwrap();
        let parts = self.parts.clone();
        let mut store = Items { parts, pool };
        let mut cx = Cx {
            store: &mut store,
            now: Time(0),
            cpu: 0,
            out: &mut out,
        };
        let result = act(&mut core, &mut cx, dealing);
        drop(core);
        out.iter().for_each(|action| self.carry_out(pool, action));
        result
    }
}

impl Machine for Rig {
    type Store = Items;
    type Queue = usize;
    type NoPool = ();
    type Group = std::convert::Infallible;

    fn with_pool<R>(
        &self,
        pool: u32,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> R,
    ) -> R {
        self.hold(pool, |core, cx, dealing| match dealing {
            Some(dealing) => dealing.with(core, cx, event),
            None => event(core, cx),
        })
    }

    /// `Real::take_in`.
    fn take_in(&self) -> bool {
        self.take_in_dealt()
    }

    fn with_queue<R>(&self, queue: usize, act: impl FnOnce(&mut Queue<usize>) -> R) -> R {
        act(&mut self.queues[queue].core.lock().unwrap())
    }

    fn with_timers<R>(&self, act: impl FnOnce(&mut TimersOf<Rig>) -> R) -> R {
        act(&mut self.timers.lock().unwrap())
    }

    /// `Tick::timer_armed`.
    fn timer_armed(&self, at: Time) {
        let first = self.with_timers(|timers| timers.next());
        if first.is_some_and(|first| at <= first) {
            self.tick.unpark();
        }
    }

    fn timer_dropped(&self, _: usize) {}

    fn now(&self) -> Time {
        Time(0)
    }

    fn word(&self, work: NonNull<Header>) -> WorkWord {
        header(work).word()
    }

    fn step_word(
        &self,
        work: NonNull<Header>,
        step: impl Fn(WorkWord) -> Option<WorkWord>,
    ) -> Result<WorkWord, WorkWord> {
        header(work).step(step)
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
        unsafe { (header(work).vtable().count)(work, Ref::Dropped) };
    }

    fn retain_queue(&self, queue: usize) {
        self.queues[queue].held.fetch_add(1, SeqCst);
    }

    fn release_queue(&self, queue: usize) {
        self.queues[queue].held.fetch_sub(1, SeqCst);
    }

    fn info(&self, pwq: usize) -> PwqInfo {
        self.parts.pwqs[pwq].info
    }

    fn queue_info(&self, queue: usize) -> QueueInfo {
        self.queues[queue].info
    }

    fn route(&self, queue: usize, cpu: Option<usize>) -> usize {
        self.queues[queue].pwqs[cpu.unwrap_or(0)]
    }

    fn home(&self, _: usize, _: Option<usize>) -> u32 {
        0
    }

    fn route_by(&self, _: usize, _: &Attrs, _: Spread) {
        unreachable!("no attributes are changed");
    }

    fn routed(&self, _: usize) -> CpuMask {
        unreachable!("no attributes are changed");
    }

    fn routed_to(&self, _: usize, _: usize) -> Option<usize> {
        unreachable!("no attributes are changed");
    }

    fn publish(&self, _: usize, _: usize, _: usize) {
        unreachable!("no attributes are changed");
    }

    fn pool_for(&self, _: usize, _: &Attrs, _: Spread, _: usize) -> Result<u32, ()> {
        unreachable!("no attributes are changed");
    }

    /// Every queue of a model has as many nodes as the first one.
    fn share(&self, _: &Attrs, node: Option<u32>, max_active: u32, _: u32) -> u32 {
        match node {
            Some(_) => max_active / self.queues[0].nodes,
            None => max_active,
        }
    }

    fn new_pwq(&self, _: usize, _: &Queue<usize>, _: u32, _: bool) -> usize {
        unreachable!("no attributes are changed");
    }

    fn relax(&self) {
        thread::yield_now();
    }

    fn members(&self, group: Self::Group, _show: impl FnMut(NonNull<Header>)) {
        match group {}
    }
}
