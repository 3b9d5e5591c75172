//! What threads had of the CPUs, and how fast a CPU is.
//!
//! A CPU whose sibling is busy has only part of its speed: its threads have it for as long as ever,
//! but get less done. Work is counted in thousandths of nanoseconds, and what is left of it when
//! the speed changes is exact; its end is the first whole nanosecond in which it is all done.

use cmwq_policy::{Nanos, Time};

use super::options::{Costs, FULL_SPEED};
use super::thread::{Thread, ThreadId, ThreadState, Work};
use super::weight::{IDLE_CLASS_WEIGHT, NICE_0_WEIGHT, weight};
use super::{Discipline, Scheduler};
use crate::topology::{Distance, Topology};

/// The CPUs whose being busy slows this one.
pub(super) fn siblings_that_slow(topology: &Topology, costs: &Costs, cpu: usize) -> Vec<usize> {
    let slows = |&other: &usize| topology.distance(cpu, other) == Distance::Core;
    match costs.smt == FULL_SPEED {
        true => Vec::new(),
        false => (0..topology.len()).filter(slows).collect(),
    }
}

/// Nanoseconds of a nice-0 thread as a vruntime: scaled up, so that no weight makes a nanosecond
/// round to nothing.
pub(super) fn vruntime(nanos: Nanos, weight: u32) -> i128 {
    match weight == NICE_0_WEIGHT {
        true => i128::from(nanos) << 20,
        false => ((i128::from(nanos) * i128::from(NICE_0_WEIGHT)) << 20) / i128::from(weight),
    }
}

impl Thread {
    pub(super) fn weight(&self) -> u32 {
        match self.attrs.idle_class {
            true => IDLE_CLASS_WEIGHT,
            false => weight(self.attrs.nice),
        }
    }
}

impl Scheduler {
    /// Counts the time since the last call for what the thread did meanwhile.
    pub(super) fn account(&mut self, id: ThreadId, now: Time) {
        let thread = &mut self.threads[id.0 as usize];
        let passed = now.since(std::mem::replace(&mut thread.since, now));
        let stats = &mut thread.stats;
        match thread.state {
            ThreadState::Running if passed > 0 => self.account_running(id, passed),
            ThreadState::Running => {}
            ThreadState::Ready => stats.waited_ns += passed,
            ThreadState::Asleep => stats.slept_ns += passed,
            ThreadState::Gone => {}
        }
    }

    fn account_running(&mut self, id: ThreadId, passed: Nanos) {
        let thread = &mut self.threads[id.0 as usize];
        let at = &mut self.cpus[thread.cpu];
        let counter = match thread.attrs.idle_class {
            true => &mut at.stats.idle_class_ns,
            false => &mut at.stats.busy_ns,
        };
        *counter += passed;
        thread.stats.cpu_ns += passed;
        thread.vruntime += vruntime(passed, thread.weight());
        let speed = match at.busy_siblings {
            0 => FULL_SPEED,
            _ => self.costs.smt,
        };
        thread.work_off(Work::from(passed) * Work::from(speed));
    }

    /// How long the CPU takes for so much work as things are: until the nanosecond in which it
    /// ends.
    pub(super) fn takes(&self, cpu: usize, left: Work) -> Nanos {
        let speed = match self.cpus[cpu].busy_siblings {
            0 => FULL_SPEED,
            _ => self.costs.smt,
        };
        // Most burns are short, and the longer division is slow.
        if let Ok(left) = u64::try_from(left) {
            return left.div_ceil(u64::from(speed));
        }
        let nanos = left.div_ceil(Work::from(speed));
        Nanos::try_from(nanos).unwrap_or(Nanos::MAX)
    }

    /// Brings what the CPU's current thread has had up to date.
    pub(super) fn charge(&mut self, cpu: usize, now: Time) {
        if let Some(id) = self.cpus[cpu].current {
            self.account(id, now);
        }
        self.raise_least(cpu);
    }

    fn raise_least(&mut self, cpu: usize) {
        let at = &self.cpus[cpu];
        let current = at.current.map(|id| self.thread(id).vruntime);
        let first = at.queue.first().map(|entry| entry.0);
        if let Some(least) = current.into_iter().chain(first).min() {
            let at = &mut self.cpus[cpu];
            at.least = at.least.max(least);
        }
    }

    /// The CPU has got, or lost, its current thread: that changes its siblings' speed.
    pub(super) fn tell_siblings(&mut self, now: Time, cpu: usize, is_busy: bool) {
        for at in 0..self.cpus[cpu].siblings.len() {
            let sibling = self.cpus[cpu].siblings[at];
            if let Some(id) = self.cpus[sibling].current {
                self.account(id, now);
                // What it had to pay before it acts may end in this instant as well: nothing is due
                // then, but it acts.
                if self.thread(id).acts() {
                    self.hot.insert(sibling);
                }
            }
            let busy = &mut self.cpus[sibling].busy_siblings;
            *busy = if is_busy { *busy + 1 } else { *busy - 1 };
            self.changed.insert(sibling);
        }
    }

    /// What the thread burns because it gets this CPU now.
    pub(super) fn charge_start(&mut self, now: Time, id: ThreadId, cpu: usize) {
        let at = &mut self.cpus[cpu];
        let mut burns = 0;
        let idled = at.idle_since.take().map_or(0, |since| now.since(since));
        if idled > 0 {
            at.stats.wakeups += 1;
            at.note_idle(idled);
            burns += self.costs.idle_exit_after(idled);
        }
        if at.last.replace(id).is_some_and(|last| last != id) {
            at.stats.switches += 1;
            burns += self.costs.switch;
        }
        burns += self.charge_migration(id, cpu);
        if burns > 0 {
            self.add_overhead(id, burns);
        }
    }

    fn charge_migration(&mut self, id: ThreadId, cpu: usize) -> Nanos {
        let from = self.thread_mut(id).ran_on.replace(cpu);
        let Some(from) = from.filter(|&from| from != cpu) else {
            return 0;
        };
        let distance = self.topology.distance(from, cpu);
        let thread = self.thread_mut(id);
        thread.stats.migrations += 1;
        thread.stats.moves[distance as usize] += 1;
        let footprint = thread.attrs.footprint;
        self.costs.refill_of(footprint, distance)
    }

    /// How far before the others of its CPU a thread may start that has slept (kernel
    /// `place_entity`): by a slice, if waking up preempts.
    pub(super) fn sleeper_credit(&self, id: ThreadId) -> i128 {
        let earns = self.placement.wakeup_preemption && !self.thread(id).attrs.idle_class;
        match self.discipline {
            Discipline::Fair(slice) if earns => vruntime(slice, NICE_0_WEIGHT),
            _ => 0,
        }
    }

    /// The sum of the weights of those who have the CPU or wait for it.
    pub(super) fn weight_on(&self, cpu: usize) -> u64 {
        let at = &self.cpus[cpu];
        let queued = at.queue.iter().map(|entry| entry.2);
        let threads = at.current.into_iter().chain(queued);
        threads.map(|id| u64::from(self.thread(id).weight())).sum()
    }
}
