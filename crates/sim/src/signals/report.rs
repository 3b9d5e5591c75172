//! The report of a canary on its way: to whom it goes, what may become of it, and who takes it.

use cmwq_policy::contract;
use cmwq_policy::{CpuMask, WorkerId, canary};

use crate::api::names::{PoolId, WorkerRef};
use crate::cpu::ThreadId;
use crate::machine::Machine;
use crate::state::event::Event;
use crate::state::pool::Pool;

impl Machine {
    /// The CPU would idle: whoever wants that most is told, if the report gets there.
    pub(super) fn report_idle(&self, cpu: usize) {
        let Some(pool) = self.choose_pool(cpu) else {
            return;
        };
        let user = self.user_signals().expect("there are canaries");
        self.signals.count(|stats| stats.reports += 1);
        if self.signals.happens(user.lost) {
            return self.signals.count(|stats| stats.lost += 1);
        }
        match self.signals.delay(user.late) {
            0 => self.deliver(pool, cpu),
            late => {
                self.signals.count(|stats| stats.late += 1);
                self.after(late, Event::Report(pool, cpu));
            }
        }
    }

    fn choose_pool(&self, cpu: usize) -> Option<PoolId> {
        let pools = self.pools.borrow().clone();
        let wanting = pools.iter().enumerate().filter(|(_, pool)| {
            let wants = pool.signals.published.get().wants;
            wants && self.pool_cpus(pool.id).contains(cpu)
        });
        let wanting = wanting.map(|(index, pool)| (index, pool.key.nice()));
        let index = canary::choose_pool(wanting, self.signals.last_pool.get())?;
        self.signals.last_pool.set(index);
        Some(pools[index].id)
    }

    /// The report is there: its receiver wakes up, a worker on the CPU that it is about.
    pub(crate) fn deliver(&self, id: PoolId, cpu: usize) {
        let pool = self.pool(id);
        let mut reports = pool.signals.reports.get();
        reports.insert(cpu);
        pool.signals.reports.set(reports);
        match pool.standby() {
            Some(thread) => self.unpark_on(thread, cpu),
            None => self.kick_tick(),
        }
    }

    /// Wakes an idle worker on this CPU: its mask is narrowed before the wake, and widened by the
    /// worker.
    fn unpark_on(&self, id: ThreadId, cpu: usize) {
        if self.sched().cpu_of(id) != cpu {
            self.pin(id, [cpu].into_iter().collect());
            self.worker(id, |w| w.narrowed = true);
        }
        self.unpark(id);
    }

    /// A parked worker is awake, and takes the reports. True if there were any.
    pub(crate) fn receive(&self, id: ThreadId, who: WorkerRef) -> bool {
        self.take_reports(id, &self.pool(who.pool), Some(who.id))
    }

    /// A worker, or the tick's thread, is awake and takes the reports. True if there were any.
    pub(super) fn take_reports(&self, id: ThreadId, pool: &Pool, worker: Option<WorkerId>) -> bool {
        let cpus = pool.signals.reports.replace(CpuMask::EMPTY);
        let mut looked = 0;
        for _ in cpus.iter() {
            self.signals.receiving.set(true);
            self.in_pool(pool.id, |core, cx| core.cpu_idle(cx, worker));
            self.signals.receiving.set(false);
            if pool.signals.inspect.take() {
                // Whoever took the report has an idle CPU to look with.
                looked += contract::look(self, pool.id.0).workers;
            }
        }
        self.arm_canaries(&cpus);
        self.signals.count(|stats| stats.looked_at += looked);
        let cost = self
            .user_signals()
            .map_or(0, |user| user.costs.look * looked);
        if cost > 0 {
            self.sched().burn(id, cost);
        }
        !cpus.is_empty()
    }

    /// A worker has ended an item: reports that came meanwhile are old. CPUs that still idle say so
    /// again.
    pub(crate) fn drop_reports(&self, pool: PoolId) {
        let cpus = self.pool(pool).signals.reports.replace(CpuMask::EMPTY);
        let dropped = cpus.count() as u64;
        self.signals.count(|stats| stats.dropped += dropped);
        self.arm_canaries(&cpus);
    }
}
