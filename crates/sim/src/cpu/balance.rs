//! Who takes over whose threads.

use std::cmp::Reverse;

use cmwq_policy::{CpuMask, Nanos, Time};

use super::run_queue::Entry;
use super::thread::ThreadId;
use super::{Balance, Domains, Scheduler};
use crate::topology::Distance;

impl Scheduler {
    /// The CPU has nothing better to do than to take a thread that waits elsewhere.
    pub(super) fn pull(&mut self, now: Time, cpu: usize) {
        if self.queued == 0 || self.cpus[cpu].offline {
            return;
        }
        let found = match self.placement.balance {
            Balance::AtOnce => self.busiest(cpu, Distance::Machine, now),
            Balance::Domains(domains) if self.cpus[cpu].load() == 0 => {
                self.newly_idle(now, cpu, domains)
            }
            Balance::Domains(_) => None,
        };
        if let Some(id) = found {
            self.take_over(now, cpu, id);
        }
    }

    pub(super) fn take_over(&mut self, now: Time, cpu: usize, id: ThreadId) {
        self.account(id, now);
        self.dequeue(id);
        self.enqueue(now, id, cpu, 0);
        self.check_preemption(id, cpu);
    }

    /// The first thread that may come, of the CPU where most wait, not farther away than this.
    /// Who ran since `cold` does not come.
    pub(super) fn busiest(&self, cpu: usize, reach: Distance, cold: Time) -> Option<ThreadId> {
        // Who is alone with SCHED_IDLE threads wants no more of them.
        let any = self.cpus[cpu].load() == 0;
        let may_come = |&&(.., id): &&Entry| {
            let thread = self.thread(id);
            let fits = (any || !thread.attrs.idle_class) && self.may_use(id, cpu);
            fits && thread.left <= cold
        };
        // Who is about to get its CPU does not wait.
        let is_given = |&from: &usize| self.cpus[from].current.is_some();
        let near = |from: &usize| self.topology.distance(cpu, *from) <= reach;
        let crowded = self.contended.iter().filter(is_given).filter(near);
        let waiting = crowded.filter_map(|from| {
            let queue = &self.cpus[from].queue;
            Some((queue.len(), queue.iter().find(may_come)?.2))
        });
        // Of equals, the first: `max_by_key` would take the last.
        let busiest = waiting.reduce(|a, b| if b.0 > a.0 { b } else { a });
        busiest.map(|(_, id)| id)
    }

    /// When CPUs next look for threads to take over, if any waits.
    pub(super) fn balance_at(&self) -> Option<Time> {
        let Balance::Domains(domains) = self.placement.balance else {
            return None;
        };
        let next = |period: Nanos| Time((self.clock.0 / period + 1) * period);
        let at = next(domains.idle_period).min(next(domains.busy_period));
        let waiting = (self.queued > 0).then_some(at);
        let caches = self
            .balances_caches(domains)
            .then(|| next(domains.cache_period));
        waiting.into_iter().chain(caches).min()
    }

    /// CPUs look for threads to take over, if it is time.
    pub(super) fn balance(&mut self, now: Time) {
        let Balance::Domains(domains) = self.placement.balance else {
            return;
        };
        if now.0.is_multiple_of(domains.idle_period) {
            let idle = self.idle.iter().chain(self.sched_idle.iter());
            for cpu in idle.collect::<CpuMask>().iter() {
                self.balance_idle(now, cpu, domains);
            }
        }
        if domains.cache_period > 0 && now.0.is_multiple_of(domains.cache_period) {
            self.balance_caches(now, domains);
        }
        if now.0.is_multiple_of(domains.busy_period) {
            // Who has just given a thread away does not take one in its place.
            let mut gave = CpuMask::EMPTY;
            for cpu in self.online.iter().collect::<Vec<_>>() {
                if !gave.contains(cpu) {
                    self.balance_busy(now, cpu)
                        .into_iter()
                        .for_each(|from| gave.insert(from));
                }
            }
        }
    }

    fn balance_idle(&mut self, now: Time, cpu: usize, domains: Domains) {
        let idled = self.cpus[cpu]
            .idle_since
            .map_or(Nanos::MAX, |since| now.since(since));
        let reach = match idled < domains.delay || domains.cache_period > 0 {
            true => Distance::Llc,
            false => Distance::Node,
        };
        let near = self.busiest(cpu, reach, now);
        let far =
            || (reach == Distance::Node).then(|| self.found_on_other_nodes(now, cpu, domains))?;
        if let Some(id) = near.or_else(far) {
            self.take_over(now, cpu, id);
        }
    }

    fn found_on_other_nodes(&self, now: Time, cpu: usize, domains: Domains) -> Option<ThreadId> {
        let id = self.busiest(cpu, Distance::Machine, now)?;
        let (here, there) = (self.node_load(cpu), self.node_load(self.cpu_of(id)));
        (there > here + domains.node_imbalance as usize).then_some(id)
    }

    /// Threads that have or want a CPU of this one's node.
    fn node_load(&self, cpu: usize) -> usize {
        let near = |&other: &usize| self.topology.distance(cpu, other) <= Distance::Node;
        let cpus = (0..self.cpus.len()).filter(near);
        cpus.map(|cpu| self.cpus[cpu].nr_normal).sum()
    }

    /// Takes a thread from the CPU that is loaded most, the nearest one first, and says from where.
    fn balance_busy(&mut self, now: Time, cpu: usize) -> Option<usize> {
        let own = self.weight_on(cpu);
        for reach in [Distance::Llc, Distance::Node, Distance::Machine] {
            let near = |&from: &usize| self.topology.distance(cpu, from) <= reach;
            let others = self
                .contended
                .iter()
                .filter(|&from| from != cpu)
                .filter(near);
            // Of equals, the next one around.
            let around = |from: usize| (from + self.cpus.len() - cpu) % self.cpus.len();
            let Some(from) =
                others.max_by_key(|&from| (self.weight_on(from), Reverse(around(from))))
            else {
                continue;
            };
            let more = self.weight_on(from).saturating_sub(own);
            if let Some(id) = self.heaviest(from, cpu, more) {
                self.take_over(now, cpu, id);
                return Some(from);
            }
        }
        None
    }

    /// The heaviest thread that waits there and is no heavier than this: so that the loads become
    /// more equal, or change places. The latter makes what cannot be divided go round (kernel
    /// `fix_small_imbalance`, and since 5.5 `nr_balance_failed`).
    fn heaviest(&self, from: usize, to: usize, most: u64) -> Option<ThreadId> {
        let queue = self.cpus[from].queue.iter().map(|entry| entry.2);
        let weight = |id: &ThreadId| u64::from(self.thread(*id).weight());
        let fits = |id: &ThreadId| weight(id) <= most && self.may_use(*id, to);
        queue
            .filter(fits)
            .max_by_key(|id| (weight(id), Reverse(*id)))
    }
}
