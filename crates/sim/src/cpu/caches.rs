//! Balance between the last-level caches of a node, as Linux does it: a CPU that gets idle takes
//! who waits elsewhere, if it has time for that; and from time to time an idle CPU takes threads
//! from the cache that has more of them. When those that wait there may not come, a thread that has
//! a CPU goes in their place after some attempts: what is bound makes what is not wander.

use cmwq_policy::{CpuMask, Time};

use super::thread::{ThreadId, ThreadState};
use super::{Domains, Scheduler};
use crate::topology::Distance;

/// After so many attempts in vain who ran a moment ago is taken as well (kernel
/// `cache_nice_tries`).
const PATIENCE: u32 = 1;
/// And after so many more who has a CPU (kernel `imbalanced_active_balance`).
const MORE_PATIENCE: u32 = 2;

impl Scheduler {
    /// Whom a CPU takes that has just got idle: who waits in the same cache, else in another one,
    /// if there is time for it (kernel `newidle_balance`).
    pub(super) fn newly_idle(&self, now: Time, cpu: usize, domains: Domains) -> Option<ThreadId> {
        let cold = Time(now.0.saturating_sub(domains.hot));
        let has_time = self.cpus[cpu].average_idle >= domains.newidle_cost;
        let sibling = self.busiest(cpu, Distance::Core, now);
        let near = || self.busiest(cpu, Distance::Llc, cold);
        let far = || {
            let id = self.busiest(cpu, Distance::Node, cold)?;
            let (here, there) = (self.idle_near(cpu), self.idle_near(self.cpu_of(id)));
            (here > there + 1 || there == 0).then_some(id)
        };
        sibling.or_else(near).or_else(|| has_time.then(far)?)
    }

    /// How many CPUs idle in the cache of this one.
    fn idle_near(&self, cpu: usize) -> usize {
        self.idle
            .iter()
            .filter(|&other| self.share_cache(cpu, other))
            .count()
    }

    /// Whether there may be something to do for [`balance_caches`](Self::balance_caches).
    pub(super) fn balances_caches(&self, domains: Domains) -> bool {
        domains.cache_period > 0 && self.idle.iter().count() < self.cpus.len()
    }

    /// The first idle CPU of each cache looks at the others.
    pub(super) fn balance_caches(&mut self, now: Time, domains: Domains) {
        let mut seen: Vec<usize> = Vec::new();
        for cpu in self.idle.iter().collect::<Vec<_>>() {
            let is_first = seen.iter().all(|&other| !self.share_cache(cpu, other));
            seen.push(cpu);
            if is_first && self.idle.contains(cpu) {
                let vain = self.balance_cache(now, cpu, domains);
                let first = self.first_of_cache(cpu);
                self.cpus[first].vain = vain;
            }
        }
    }

    /// The CPU takes a thread from the busiest cache; how many attempts were in vain since one was
    /// not.
    fn balance_cache(&mut self, now: Time, cpu: usize, domains: Domains) -> u32 {
        let Some(busiest) = self.busiest_cache(cpu) else {
            return 0;
        };
        let vain = self.cpus[self.first_of_cache(cpu)].vain;
        let hot = if vain > PATIENCE { 0 } else { domains.hot };
        let cold = Time(now.0.saturating_sub(hot));
        if let Some(id) = self.waiting_in(&busiest, cpu, cold) {
            self.take_over(now, cpu, id);
            return 0;
        }
        let pushes = vain > PATIENCE + MORE_PATIENCE;
        match self.running_in(&busiest, cpu).filter(|_| pushes) {
            Some(id) => {
                self.leave_cpu(now, id, ThreadState::Asleep);
                self.enqueue(now, id, cpu, 0);
                0
            }
            None => vain + 1,
        }
    }

    fn first_of_cache(&self, cpu: usize) -> usize {
        let mut cpus = 0..self.cpus.len();
        cpus.find(|&other| self.share_cache(cpu, other))
            .unwrap_or(cpu)
    }

    /// The CPUs of the cache of this node that has most threads, if it has at least two more than
    /// this CPU's (kernel `SD_PREFER_SIBLING`).
    fn busiest_cache(&self, cpu: usize) -> Option<CpuMask> {
        let load = |cache: &CpuMask| {
            cache
                .iter()
                .map(|at| self.cpus[at].nr_normal)
                .sum::<usize>()
        };
        let cache = |at: usize| {
            let members = self
                .online
                .iter()
                .filter(|&other| self.share_cache(at, other));
            members.collect::<CpuMask>()
        };
        let others = |&at: &usize| self.topology.distance(cpu, at) == Distance::Node;
        let caches = self.online.iter().filter(others).map(cache);
        let loads = caches.map(|cache| (load(&cache), cache));
        // Of equals, the first.
        let busiest = loads.reduce(|a, b| if b.0 > a.0 { b } else { a })?;
        (busiest.0 > load(&cache(cpu)) + 1).then_some(busiest.1)
    }

    /// Who waits there, where most do, may come and has not run since `cold`.
    fn waiting_in(&self, cache: &CpuMask, to: usize, cold: Time) -> Option<ThreadId> {
        let fits = |id: &ThreadId| self.may_use(*id, to) && self.thread(*id).left <= cold;
        let waiting = cache.iter().filter_map(|at| {
            let queue = &self.cpus[at].queue;
            let first = queue.iter().map(|entry| entry.2).find(fits)?;
            Some((queue.len(), first))
        });
        let busiest = waiting.reduce(|a, b| if b.0 > a.0 { b } else { a });
        busiest.map(|(_, id)| id)
    }

    /// Who has a CPU there, of the busiest first, and may come.
    fn running_in(&self, cache: &CpuMask, to: usize) -> Option<ThreadId> {
        let running = cache
            .iter()
            .filter_map(|at| Some((self.cpus[at].load(), self.cpus[at].current?)));
        let fits = running.filter(|&(_, id)| self.may_use(id, to));
        let busiest = fits.reduce(|a, b| if b.0 > a.0 { b } else { a });
        busiest.map(|(_, id)| id)
    }
}
