//! What the tick notices beside missing workers: items that keep their CPU, worklists that stand
//! still.

use cmwq_policy::contract::{self, Witness};
use cmwq_policy::hog::{Sample, Switches};
use cmwq_policy::limit::MAX_LIMIT;
use cmwq_policy::pool::{AskSwitches, Holder, HolderIs, Seen, SeenState};
use cmwq_policy::watchdog::THRESHOLD;
use cmwq_policy::{Actions, Nanos};

use crate::api::names::{ItemId, PoolId, PwqId, QueueId};
use crate::api::report::{Report, SlotHolder, Trouble};
use crate::machine::Machine;
use crate::state::event::Event;
use crate::state::pool::Pool;
use crate::state::thread::Sleep;

impl Witness<PwqId> for Machine {
    type Told = SlotHolder;

    fn tell(&self, holder: &Holder<PwqId>) -> SlotHolder {
        let pool = self.pool(PoolId(holder.pool));
        SlotHolder {
            item: ItemId(holder.item.key.addr as u32),
            awaits: holder.awaits,
            thread: pool.thread(holder.worker).expect("who executes is there"),
        }
    }

    fn awaits_item(&self, told: &SlotHolder) -> bool {
        told.awaits.is_some() || self.calling.borrow().contains(&told.thread)
    }

    /// What `/proc` shows of a thread, and no more: that it waits for another one, not for which.
    fn look(&self, told: &SlotHolder) -> HolderIs {
        match self.frames.borrow()[told.thread.0 as usize].sleep {
            Sleep::Latch(_) | Sleep::Lock(_) | Sleep::Semaphore(_) => HolderIs::AwaitsThread,
            Sleep::Call(_) => HolderIs::AwaitsItem,
            Sleep::Awake | Sleep::Event | Sleep::Await | Sleep::Parked => HolderIs::Slow,
        }
    }
}

impl Machine {
    /// Items that use so much CPU time without sleeping stop counting in per-CPU pools, and are
    /// reported; 0: never.
    pub fn set_hog_threshold(&self, threshold: Nanos) {
        self.hog_threshold.set(threshold);
    }

    /// That threshold.
    pub fn hog_threshold(&self) -> Nanos {
        self.hog_threshold.get()
    }

    /// What a user would have been told so far.
    pub fn reports(&self) -> Vec<Report> {
        self.reports_from(0)
    }

    /// The same from this one on.
    pub fn reports_from(&self, first: usize) -> Vec<Report> {
        self.reports.borrow()[first..].to_vec()
    }

    /// A worker was looked at: does its item keep the CPU?
    pub(crate) fn watch(&self, pool: &Pool, seen: &Seen) {
        let Some(thread) = pool.thread(seen.worker) else {
            return;
        };
        let stats = self.thread_stats(thread);
        let threshold = self.hog_threshold.get();
        let verdict = |switches| {
            let sample = Sample {
                item: u64::from(seen.item),
                cpu: stats.cpu_ns,
                asleep: matches!(seen.state, SeenState::Asleep(_)),
                switches,
            };
            self.in_pool_of(pool.id, |core, cx| {
                core.watched(cx, seen.worker, seen.item, sample, threshold)
            })
        };
        // Voluntary switches are only looked up where it asks for them.
        let switches = match seen.state {
            SeenState::Unknown(_) => Switches::Unknown,
            _ => Switches::Count(stats.voluntary_switches),
        };
        let hog = verdict(Switches::NotRead).or_else(|AskSwitches| verdict(switches));
        if let Ok(Some(hog)) = hog {
            let queue = self.items.borrow().queue_of(hog.pwq);
            let count = self.hogs.borrow_mut().noted(hog.func);
            let func = hog.func;
            let what = count.map(|count| Trouble::Hog { func, count });
            what.into_iter()
                .for_each(|what| self.report(Some(pool.id), queue, what));
        }
    }

    /// Does the worklist stand still?
    pub(crate) fn watch_stall(&self, pool: &Pool) {
        let stall = self.in_pool_of(pool.id, |core, cx| core.stalled(cx, THRESHOLD));
        if let Some(stall) = stall {
            let queue = self.items.borrow().queue_of(stall.first.pwq);
            self.report(Some(pool.id), queue, Trouble::Stall(stall.stood));
        }
    }

    /// Sees to it that somebody looks in time at items of the pool that wait for slots.
    pub(crate) fn arm_starving(&self, pool: &Pool) {
        let waits = pool.core.borrow().waits_for_slots();
        let is_armed = pool.starving.get().is_some();
        if waits != is_armed {
            let mut out = Actions::default();
            let knows_all = pool.inbox.borrow().nr_out() == 0;
            let due = self.call_core(pool, &mut out, |core, cx| {
                (core.starvation_due(cx, THRESHOLD), knows_all)
            });
            let at = (due.0 != Nanos::MAX).then_some(due);
            self.arm_at(&pool.starving, at, Event::Starving(pool.id));
        }
    }

    pub(crate) fn starving(&self, id: PoolId) {
        let pool = self.pool(id);
        pool.starving.set(None);
        match self.user_signals() {
            None => self.watch_slots(&pool),
            Some(_) => self.starving_due(),
        }
    }

    /// Do items wait for slots while nothing moves?
    pub(crate) fn watch_slots(&self, pool: &Pool) {
        let mut cursor = 0;
        let mut next = || {
            self.in_pool_of(pool.id, |core, cx| {
                core.next_starving(cx, &mut cursor, THRESHOLD)
            })
        };
        while let Some(pwq) = next() {
            let queue = self.items.borrow().queue_of(pwq);
            if let Some(found) = contract::starving(self, queue, pwq, THRESHOLD, self) {
                self.report(Some(pool.id), queue, Trouble::Starvation(found));
            }
            self.items.borrow_mut().let_go(pwq);
        }
        self.outgrow(pool);
    }

    /// Limits that nobody has chosen are raised where nothing moves.
    fn outgrow(&self, pool: &Pool) {
        let mut cursor = 0;
        let mut next = || self.in_pool_of(pool.id, |core, cx| core.next_at_dfl(cx, &mut cursor));
        while let Some(pwq) = next() {
            let queue = self.items.borrow().queue_of(pwq);
            contract::outgrow(self, queue, pwq, || MAX_LIMIT);
            self.items.borrow_mut().let_go(pwq);
        }
    }

    pub(crate) fn report(&self, pool: Option<PoolId>, queue: QueueId, what: Trouble) {
        self.reports.borrow_mut().push(Report {
            at: self.now(),
            pool,
            queue,
            what,
        });
    }
}

#[cfg(test)]
mod tests {
    use cmwq_policy::Time;

    use crate::api::act::Act;
    use crate::api::call::Call;
    use crate::api::names::{PoolId, QueueId};
    use crate::api::options::Options;
    use crate::api::specs::{QueueSpec, ThreadSpec};
    use crate::machine::Machine;
    use crate::programs::Script;
    use crate::topology::Topology;

    const ITEMS: usize = 5_000;

    fn calls(machine: &Machine, queue: QueueId, of: Vec<Act>) -> Act {
        let item = machine.item("i", move |_| Script::boxed(of.clone()));
        let cpu = None;
        Act::Call(Call::QueueWork { queue, cpu, item })
    }

    /// A machine in which an item that goes on has left many others.
    fn with_many_left() -> Machine {
        let mut options = Options::of(Topology::regular("two", 2, 1, 2, 2));
        options.brief_items = true;
        let machine = Machine::new(options);
        let queue = machine.alloc_workqueue(QueueSpec::managed("q"));
        // The pool has its workers then.
        let warm_up: Vec<Act> = (0..10)
            .map(|_| calls(&machine, queue, vec![Act::Burn(10_000)]))
            .collect();
        machine.spawn(ThreadSpec::named("w"), Script::boxed(warm_up));
        machine.run_while(Time(1_000_000), |_| true);
        let mut acts: Vec<Act> = (0..ITEMS)
            .map(|_| calls(&machine, queue, vec![Act::Burn(100)]))
            .collect();
        acts.push(Act::Burn(1_000_000));
        let first = calls(&machine, queue, acts);
        machine.spawn(ThreadSpec::named("p"), Script::boxed(vec![first]));
        machine.run_while(Time(2_000_000), |m| nr_left(m) < ITEMS / 2);
        assert!(nr_left(&machine) >= ITEMS / 2);
        machine
    }

    fn nr_left(machine: &Machine) -> usize {
        let pools = machine.pools.borrow();
        pools.first().map_or(0, |p| p.inbox.borrow().nr_left())
    }

    #[test]
    fn a_look_takes_in_no_more_than_somebody_may_need() {
        let machine = with_many_left();
        let before = nr_left(&machine);
        for _ in 0..10 {
            machine.tick();
            machine.scan(&machine.pool(PoolId(0)));
        }
        let after = nr_left(&machine);
        assert!(after > before / 2, "{before}, {after}");
    }
}
