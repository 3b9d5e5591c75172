//! The rig, and what the machine around it has on its way: what the events of the property tests
//! happen to.

use super::super::{Cx, seen::Plan};
use super::events::Event;
use super::rig::{Doing, Pool, Rig, Todo};
use super::store::TestStore;
use super::*;
use crate::hog::{self, Sample, Switches};
use crate::pool::{Claimant, QueuedIn, Rule};
use crate::pwq::{Drain, PwqFlags};
use crate::store::Store;
use crate::time::MICROSECOND;
use crate::worker::Wait;
use proptest::sample::Index;
use std::collections::BTreeSet;

/// Items of one queue that come before a convoy.
const CROWD: usize = 8;

pub(super) struct Machine {
    pub(super) rig: Rig,
    /// The first so many items are none of the rig's barriers.
    items: usize,
    plan: Option<(usize, Plan)>,
    /// Workers in a hint or a wait, in the order they began.
    open: Vec<(usize, WorkerId, Open)>,
    /// Actions that were looked at for failed waits.
    heard: usize,
    /// Queues whose items go to one pool after the other.
    moving: Vec<usize>,
    /// What events have happened to: a generator that reaches nothing would prove nothing.
    pub(super) reached: BTreeSet<&'static str>,
}

/// A failing case names what it is made of.
impl core::fmt::Debug for Machine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let attrs: Vec<PoolAttrs> = self.rig.pools.iter().map(|p| p.attrs).collect();
        write!(f, "{} items, {attrs:?}", self.items)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Hint,
    Wait,
}

impl Machine {
    /// Two queues per pool, one of them with a rescuer; one queue that several pools share; an
    /// ordered one and one with a rescuer that move from pool to pool. Any item goes anywhere.
    pub(super) fn new(attrs: Vec<PoolAttrs>, items: usize) -> Machine {
        let count = attrs.len();
        let mut rig = Rig::new(attrs);
        let rescued = PwqFlags {
            rescued: true,
            cpu_intensive: true,
            ..PwqFlags::default()
        };
        for pool in 0..count {
            rig.pwq(pool, 1);
            rig.pwq_with(pool, 9, rescued);
        }
        let shared = rig.pwq(0, 2);
        rig.sibling(shared, count - 1);
        rig.sibling(shared, 0);
        let moving = [rig.ordered(0), rig.pwq_with(count - 1, 3, rescued)];
        let moving = moving.iter().map(|&pwq| rig.store.pwqs[pwq].queue);
        let moving = moving.collect();
        (0..items).for_each(|_| _ = rig.item());
        Machine {
            rig,
            items,
            plan: None,
            open: Vec::new(),
            heard: 0,
            moving,
            reached: BTreeSet::new(),
        }
    }

    fn pool(&self, at: Index) -> usize {
        at.index(self.rig.pools.len())
    }

    fn pick<T: Copy>(from: &[T], at: Index) -> Option<T> {
        (!from.is_empty()).then(|| from[at.index(from.len())])
    }

    /// A pwq with its pool.
    fn pwq(&self, at: Index) -> (usize, usize) {
        let pwq = at.index(self.rig.store.pwqs.len());
        (self.rig.store.pwqs[pwq].pool, pwq)
    }

    /// Something happens, if it can; then everybody is checked.
    pub(super) fn event(&mut self, event: Event) -> Option<()> {
        let done = self.happens(event);
        check::at_leisure(&self.rig);
        self.hear();
        done
    }

    fn happens(&mut self, event: Event) -> Option<()> {
        let rig = &mut self.rig;
        match event {
            Event::Deliver(at) if !rig.todo.is_empty() => rig.deliver(at.index(rig.todo.len())),
            Event::Ask(at) => {
                let (pool, id) = Self::pick(&rig.awake(), at)?;
                rig.ask(pool, id);
            }
            Event::Spurious(at) => {
                let pool = at.index(rig.pools.len());
                let ids: Vec<WorkerId> = rig.threads[pool].keys().copied().collect();
                rig.wake(pool, Self::pick(&ids, at)?);
            }
            Event::End(at, report) => self.end(at, report)?,
            Event::Settle => rig.run(),
            Event::Pass(nanos) => rig.advance(nanos),
            Event::SpawnsFail(fail) => rig.spawns_fail = fail,
            Event::HintBegin(at) => self.open(at, None)?,
            Event::Wait(at, queue) => self.open(at, Some(queue))?,
            Event::HintEnd(at) => {
                let found = Self::pick(&self.open, at)?;
                self.close(found);
            }
            Event::WaitOver(at) => {
                let (pool, id, _) = Self::pick(&self.waits(), at)?;
                self.rig.call(pool, |p, _| p.wait_over(id));
            }
            other => self.by_users(other)?,
        }
        Some(())
    }

    fn by_users(&mut self, event: Event) -> Option<()> {
        match event {
            Event::Queue(work, pwq, slowly) => {
                let (work, (_, pwq)) = (work.index(self.items), self.pwq(pwq));
                _ = match slowly {
                    true => self.rig.queue_slowly(work, pwq),
                    false => self.rig.queue(work, pwq),
                };
            }
            Event::Steal(work, slowly) => self.steal(work, slowly)?,
            Event::Barrier(work) => self.barrier(work.index(self.items)),
            Event::Claim(work, within, counted) => self.claim(work, within, counted)?,
            Event::Flush(at) => _ = self.rig.flush(self.pwq(at).1),
            Event::Drain(at, orphaned) => self.drain(at, orphaned)?,
            Event::MaxActive(at, n) => {
                let (_, pwq) = self.pwq(at);
                let queue = &self.rig.queues[self.rig.store.pwqs[pwq].queue];
                let most = if queue.ordered { 1 } else { n };
                self.rig.set_max(pwq, n.min(most));
            }
            Event::Replace(queue, pool) => {
                let queue = Self::pick(&self.moving, queue)?;
                self.rig.replace(queue, self.pool(pool));
            }
            other => self.report(other)?,
        }
        Some(())
    }

    /// Only what is queued can be taken back.
    fn steal(&mut self, work: Index, slowly: bool) -> Option<()> {
        let queued = |&w: &usize| self.rig.store.items[w].is_queued();
        let queued: Vec<usize> = (0..self.items).filter(queued).collect();
        let work = Self::pick(&queued, work)?;
        let linked = self.rig.store.items[work].word.flags().linked;
        self.reached.extend(linked.then_some("steal linked"));
        self.reached.extend(match self.queued_in(work) {
            Some(QueuedIn::Inactive) => Some("steal inactive"),
            Some(QueuedIn::Worklist) => Some("steal queued"),
            Some(QueuedIn::Scheduled(_)) => Some("steal scheduled"),
            None => Some("steal deferred"),
        });
        assert!(self.rig.steal(work));
        match slowly {
            true => self.rig.todo.push((0, Todo::Disown(work))),
            false => self.rig.disown(work),
        }
        Some(())
    }

    /// Only what is queued can be claimed, and nothing of ordered queues.
    fn claim(&mut self, work: Index, within: Option<Index>, counted: bool) -> Option<()> {
        let ordered = |pwq: usize| self.rig.queues[self.rig.store.pwqs[pwq].queue].ordered;
        let fits = |&work: &usize| self.rig.store.pwq_of(work).is_some_and(|pwq| !ordered(pwq));
        let queued: Vec<usize> = (0..self.items).filter(fits).collect();
        let work = Self::pick(&queued, work)?;
        let pool = self.rig.store.items[work].word.pool()? as usize;
        let mut at_it = self.rig.at_it();
        // Who waits does nothing else.
        at_it.retain(|&(at, id, _)| at == pool && !self.is_waiting(at, id));
        let within = within.and_then(|at| Self::pick(&at_it, at)).map(|of| of.1);
        self.rig.claim(work, Claimant { within, counted })?;
        let nested = within.is_some();
        self.reached
            .insert(if nested { "claim inside" } else { "claim" });
        Some(())
    }

    fn is_waiting(&self, pool: usize, id: WorkerId) -> bool {
        self.waits().iter().any(|&(p, i, _)| (p, i) == (pool, id))
    }

    fn barrier(&mut self, work: usize) {
        let place = match self.rig.store.items[work].is_queued() {
            true => Some(self.queued_in(work)),
            false => None,
        };
        if self.rig.barrier(work).is_some() {
            self.reached.insert(match place {
                Some(Some(QueuedIn::Inactive)) => "barrier behind inactive",
                Some(Some(QueuedIn::Worklist)) => "barrier behind queued",
                Some(Some(QueuedIn::Scheduled(_))) => "barrier behind scheduled",
                Some(None) => "barrier behind deferred",
                None => "barrier behind running",
            });
        }
    }

    /// Where a queued item is; nothing if it is deferred.
    fn queued_in(&self, work: usize) -> Option<QueuedIn> {
        let flags = self.rig.store.items[work].word.flags();
        if flags.deferred || flags.inactive {
            return (!flags.deferred).then_some(QueuedIn::Inactive);
        }
        let threads = self.rig.threads.iter().enumerate();
        let mut all = threads.flat_map(|(pool, threads)| threads.keys().map(move |&id| (pool, id)));
        let own = all.find(|&(pool, id)| self.rig.own_list(pool, id).contains(&work));
        Some(own.map_or(QueuedIn::Worklist, |(_, id)| QueuedIn::Scheduled(id)))
    }

    /// Orphans stay orphans.
    fn drain(&mut self, at: Index, orphaned: bool) -> Option<()> {
        let (pool, pwq) = self.pwq(at);
        if self.rig.store.pwqs[pwq].state.drain == Drain::Orphaned {
            return None;
        }
        let drain = if orphaned {
            Drain::Orphaned
        } else {
            Drain::Awaited
        };
        self.rig.drain(pwq, drain);
        self.rig.call(pool, |p, _| p.watch_drain(pwq % 2 == 0));
        Some(())
    }

    /// The events that one call of the core makes.
    fn report(&mut self, event: Event) -> Option<()> {
        let rig = &mut self.rig;
        let count = rig.pools.len();
        let pool = |at: Index| at.index(count);
        match event {
            Event::CpuIdle(at, receiver) => {
                let pool = pool(at);
                let ids: Vec<WorkerId> = rig.threads[pool].keys().copied().collect();
                let receiver = receiver.and_then(|at| Self::pick(&ids, at));
                let receiver = receiver.filter(|id| rig.threads[pool][id].doing == Doing::Parked);
                receiver.inspect(|&id| rig.wake(pool, id));
                rig.call(pool, |p, cx| p.cpu_idle(cx, receiver));
            }
            Event::Plan(at) => {
                let pool = pool(at);
                self.plan = Some((pool, rig.pools[pool].plan_scan()));
            }
            Event::Convoy(at) => self.convoy(pool(at)),
            Event::Scanned(bits, complete) => self.scanned(bits, complete)?,
            Event::Target(at, n, beyond) => {
                let is_managed = rig.pools[pool(at)].attrs.rule == Rule::Managed;
                let beyond = if is_managed { beyond } else { 0 };
                rig.call(pool(at), |p, cx| p.set_target(cx, (n, beyond), n));
            }
            Event::Rule(at) => {
                let pool = pool(at);
                let other = match rig.pools[pool].attrs.rule {
                    Rule::PerCpu => Rule::Unmanaged,
                    Rule::Unmanaged => Rule::PerCpu,
                    _ => return None,
                };
                rig.call(pool, |p, cx| p.set_rule(cx, other));
            }
            Event::CallRescuers(at) => self.call_rescuers(pool(at))?,
            Event::Hog(at) => self.hog(at)?,
            Event::Cull(at) => _ = rig.call(pool(at), |p, cx| p.cull(cx)),
            _ => return None,
        }
        Some(())
    }

    /// It is time to.
    fn call_rescuers(&mut self, pool: usize) -> Option<()> {
        let due = self.rig.pools[pool].mayday_due()?;
        self.rig.now = self.rig.now.max(due);
        self.rig.call(pool, |p, cx| p.call_rescuers(cx));
        Some(())
    }

    /// An item is seen to keep its CPU.
    fn hog(&mut self, at: Index) -> Option<()> {
        let (pool, id, work) = Self::pick(&self.rig.running(), at)?;
        self.rig.advance(5 * MILLISECOND);
        let seq = self.rig.pools[pool].crew.get(id).item_seq;
        for cpu in [0, 20 * MILLISECOND] {
            let sample = Sample {
                item: self.rig.store.items[work].begun,
                cpu,
                asleep: false,
                switches: Switches::Count(1),
            };
            let look = |p: &mut Pool, cx: &mut Cx<TestStore>| {
                p.watched(cx, id, seq, sample, hog::THRESHOLD)
            };
            let seen = self.rig.call(pool, look);
            let uncounted = seen.is_ok_and(|hog| hog.is_some_and(|hog| hog.uncounted));
            self.reached.extend(uncounted.then_some("hog"));
        }
        Some(())
    }

    fn scanned(&mut self, bits: u16, complete: bool) -> Option<()> {
        let (pool, plan) = self.plan.take()?;
        let seen = plan.iter().enumerate().map(|(at, (worker, item))| Seen {
            worker,
            item,
            state: match (bits >> at) & 1 == 1 {
                true if at % 5 == 4 => SeenState::Stopped,
                true => SeenState::Asleep((at % 3 > 0).then_some(4)),
                false if at % 2 == 1 => SeenState::Threads(at as u32),
                false if at % 3 == 1 => SeenState::Unknown(None),
                false if at % 3 == 2 => SeenState::Unknown(Some(u64::from(bits))),
                false => SeenState::Runnable,
            },
        });
        let seen: Vec<Seen> = seen.collect();
        self.rig.call(pool, |p, cx| p.scanned(cx, &seen, complete));
        Some(())
    }

    /// All sleep for themselves, so that there are many; then they wait at one lock, and some get
    /// through.
    fn convoy(&mut self, pool: usize) {
        let of_pool = |pwq: &super::store::TestPwq| pwq.pool == pool && !pwq.state.retired;
        if let Some(pwq) = self.rig.store.pwqs.iter().position(of_pool) {
            self.rig.queue_new(CROWD, pwq);
        }
        for round in 0..18 {
            self.rig.advance(500 * MICROSECOND);
            let lock = (round > 4).then_some(4);
            self.rig.scan(pool, |_| SeenState::Asleep(lock));
            self.hear();
            let first = self.rig.at_it().into_iter().find(|r| r.0 == pool);
            let ends = matches!(round, 5 | 11 | 16 | 17);
            if let Some((_, id, _)) = first.filter(|_| ends) {
                self.open.retain(|&(p, i, _)| (p, i) != (pool, id));
                self.rig.end(pool, id, ItemReport::default());
            }
            self.rig.run();
        }
    }

    fn end(&mut self, at: Index, report: ItemReport) -> Option<()> {
        let (pool, id, _) = Self::pick(&self.rig.at_it(), at)?;
        self.open.retain(|&(p, i, _)| (p, i) != (pool, id));
        self.rig.yield_takes = if report.foreign {
            MILLISECOND
        } else {
            MICROSECOND
        };
        self.rig.end(pool, id, report);
        Some(())
    }

    fn waits(&self) -> Vec<(usize, WorkerId, Open)> {
        let waits = self.open.iter().filter(|o| o.2 == Open::Wait);
        waits.copied().collect()
    }

    fn open(&mut self, at: Index, queue: Option<Index>) -> Option<()> {
        let (pool, id, _) = Self::pick(&self.rig.at_it(), at)?;
        let waits = self.is_waiting(pool, id);
        let Some(queue) = queue else {
            self.rig.call(pool, |p, cx| p.hint_begin(cx, id));
            self.open.push((pool, id, Open::Hint));
            return Some(());
        };
        let of_pool = |&pwq: &usize| self.rig.store.pwqs[pwq].pool == pool;
        let all = 0..self.rig.store.pwqs.len();
        let pwq = Self::pick(&all.filter(of_pool).collect::<Vec<_>>(), queue)?;
        let wait = if queue.index(4) < 2 {
            Wait::Items(pwq)
        } else {
            Wait::Flush(pwq)
        };
        if waits {
            return None;
        }
        match self.rig.call(pool, |p, cx| p.wait_begin(cx, id, wait)) {
            Ok(()) => self.open.push((pool, id, Open::Wait)),
            Err(_) => assert!(self.would_wait_for_ever(pool, id, pwq), "refused"),
        }
        Some(())
    }

    /// All threads here wait, or all items do that hold a slot of the queue; this one would, too.
    fn would_wait_for_ever(&self, pool: usize, id: WorkerId, pwq: usize) -> bool {
        let workers = &self.rig.pools[pool].crew;
        let beneath = |w: &WorkerId| self.rig.pools[pool].crew.beneath(*w);
        let stack: Vec<WorkerId> = core::iter::successors(Some(id), beneath).collect();
        let waits = |w: &WorkerId| stack.contains(w) || workers.get(*w).waiting().is_some();
        let exists = |w: &WorkerId| !matches!(workers.get(*w).state(), State::Free);
        let limit = self.rig.store.pwqs[pwq].limit;
        let holds = |w: &WorkerId| {
            let current = workers.get(*w).current.as_ref();
            current.is_some_and(|c| !c.barrier && self.rig.store.pwqs[c.pwq].limit == limit)
        };
        let holders: Vec<WorkerId> = workers.ids().filter(holds).collect();
        let nr = self.rig.store.limits[limit].now().nr() as usize;
        // Their next instances, which come after them.
        let next = self.rig.store.items.iter().filter(|item| {
            let pwq = item.word.pwq().map(|(addr, _)| self.rig.store.pwq_at(addr));
            let of_limit = pwq.is_some_and(|pwq| self.rig.store.pwqs[pwq].limit == limit);
            let here = item.word.pool() == Some(pool as u32);
            let waits = || workers.executing(&item.key).is_some_and(|w| waits(&w));
            item.is_active() && !item.is_barrier() && of_limit && here && waits()
        });
        let all = holders.len() + next.count();
        let slots_wait = nr > 0 && all == nr && holders.iter().all(waits);
        slots_wait || workers.ids().filter(exists).all(|w| waits(&w))
    }

    /// The last hint or wait that this worker began ends.
    fn close(&mut self, (pool, id, _): (usize, WorkerId, Open)) {
        let of_it = |o: &(usize, WorkerId, Open)| (o.0, o.1) == (pool, id);
        let last = self.open.iter().rposition(of_it).expect("one is open");
        let (.., open) = self.open.remove(last);
        self.rig.call(pool, |p, cx| match open {
            Open::Hint => p.hint_end(cx, id),
            Open::Wait => p.wait_end(cx, id),
        });
    }

    /// A wait that the pool failed was one.
    fn hear(&mut self) {
        for &(pool, action) in &self.rig.said[self.heard..] {
            if let Action::FailWait(id) = action {
                assert!(self.open.contains(&(pool, id, Open::Wait)), "{id}");
            }
        }
        self.heard = self.rig.said.len();
    }

    /// The faults stop: threads can be made, queues are thawed, everybody goes on, the ticks see
    /// the truth.
    pub(super) fn finish(&mut self) {
        self.rig.spawns_fail = false;
        self.rig.yield_takes = MILLISECOND;
        for pwq in 0..self.rig.store.pwqs.len() {
            let limit = &self.rig.store.limits[self.rig.store.pwqs[pwq].limit];
            let max = limit.now().max().max(1);
            self.rig.set_max(pwq, max);
        }
        let entries = self.rig.store.items.len();
        // A creation that failed a moment ago costs 250 ticks; growth may be damped for 25 each.
        for _ in 0..400 + 60 * entries {
            self.rig.run();
            while let Some(&found) = self.open.first() {
                self.close(found);
            }
            if let Some(&(pool, id, _)) = self.rig.at_it().first() {
                self.rig.end(pool, id, ItemReport::default());
            }
            self.rig.run();
            if self.rig.pools.iter().all(|p| p.nr_in_flight() == 0) {
                return;
            }
            self.rig.tick(|_| SeenState::Runnable);
        }
        panic!("items are left that nobody starts");
    }
}
