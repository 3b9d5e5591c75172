//! Where a thread goes that wakes up.

use cmwq_policy::CpuMask;

use super::thread::ThreadId;
use super::{Recent, Scheduler, WakeTo};
use crate::topology::{Distance, Place};

/// How many percent more the previous CPU's load may be before a thread leaves it for its waker's
/// (kernel `imbalance_pct` of 117, halved).
const STAYS_PERCENT: u64 = 108;

/// Who ends a sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waker {
    /// A thread, from where it is.
    Thread(ThreadId),
    /// An interrupt on this CPU.
    Interrupt(usize),
    /// The sleeper's own timer, which expires where it was.
    Timer,
}

impl Scheduler {
    pub(super) fn select_cpu(&mut self, id: ThreadId, waker: Waker) -> usize {
        let hint = self.thread_mut(id).wake_cpu.take();
        let is_new = self.thread(id).ran_on.is_none() && hint.is_none();
        let last = hint.unwrap_or(self.cpu_of(id));
        match self.placement.wake_to {
            WakeTo::Nearest if hint.is_some() => self.nearest_in_cache(id, last),
            WakeTo::Nearest => self.nearest(id, last),
            WakeTo::Linux if is_new => self.idlest(id, self.cpu_of_waker(waker, last)),
            WakeTo::Linux => self.place_as_linux(id, waker, last),
        }
    }

    fn cpu_of_waker(&self, waker: Waker, last: usize) -> usize {
        match waker {
            Waker::Thread(by) => self.cpu_of(by),
            Waker::Interrupt(cpu) => cpu,
            Waker::Timer => last,
        }
    }

    /// An idle CPU that shares this one's cache, else this one.
    fn nearest_in_cache(&self, id: ThreadId, last: usize) -> usize {
        let idle = self.nearest_idle(id, last);
        let near = idle.filter(|&cpu| self.share_cache(cpu, last));
        near.unwrap_or_else(|| match self.may_use(id, last) {
            true => last,
            false => self.nearest(id, last),
        })
    }

    /// An idle CPU near to this one, else one where few are.
    pub(super) fn nearest(&self, id: ThreadId, last: usize) -> usize {
        let usable = &self.thread(id).usable;
        let crowded = || usable.iter().min_by_key(|&cpu| self.cpus[cpu].load());
        let idle = self.nearest_idle(id, last);
        idle.or_else(crowded).expect("a machine has a CPU")
    }

    /// The CPU itself if it idles, else one in the same cache, else on the same node.
    fn nearest_idle(&self, id: ThreadId, last: usize) -> Option<usize> {
        if self.may_use(id, last) && self.is_free(id, last) {
            return Some(last);
        }
        self.free_for(id)
            .min_by_key(|&cpu| (self.reach(last, cpu), cpu))
    }

    /// The CPUs that it would have at once.
    fn free_for(&self, id: ThreadId) -> impl Iterator<Item = usize> {
        let thread = self.thread(id);
        let idle = self.idle.within(&thread.usable);
        let preempts = Some(&self.sched_idle).filter(|_| !thread.attrs.idle_class);
        idle.chain(
            preempts
                .into_iter()
                .flat_map(|cpus| cpus.within(&thread.usable)),
        )
    }

    /// SMT siblings are no better than others of the cache: they share the core's throughput.
    fn reach(&self, from: usize, to: usize) -> Distance {
        match self.topology.distance(from, to) {
            Distance::Core => Distance::Llc,
            other => other,
        }
    }

    /// Whether the thread would have the CPU at once (kernel `available_idle_cpu` or
    /// `sched_idle_cpu`).
    fn is_free(&self, id: ThreadId, cpu: usize) -> bool {
        let can_preempt = !self.thread(id).attrs.idle_class;
        self.idle.contains(cpu) || (can_preempt && self.sched_idle.contains(cpu))
    }

    pub(super) fn share_cache(&self, a: usize, b: usize) -> bool {
        self.topology.cpus[a].llc == self.topology.cpus[b].llc
    }

    /// Kernel `select_task_rq_fair`, without `wake_wide`: the choice between waker and previous CPU
    /// does not ask how many different threads the waker wakes.
    fn place_as_linux(&mut self, id: ThreadId, waker: Waker, last: usize) -> usize {
        let here = self.cpu_of_waker(waker, last);
        let prev = match self.may_use(id, last) {
            true => last,
            false => return self.nearest(id, last),
        };
        let target = match here != prev && self.may_use(id, here) {
            true => self.wake_affine(id, here, prev),
            false => prev,
        };
        let cpu = self.idle_sibling(id, waker, prev, target);
        self.note_wake(id, waker, here);
        cpu
    }

    /// The waker's CPU or the previous one (kernel `wake_affine`).
    fn wake_affine(&self, id: ThreadId, here: usize, prev: usize) -> usize {
        let is_idle = |cpu| self.idle.contains(cpu);
        if is_idle(here) && self.share_cache(here, prev) && !is_idle(prev) {
            return here;
        }
        if is_idle(prev) {
            return prev;
        }
        let own = u64::from(self.thread(id).weight());
        let here_then = (self.weight_on(here) + own) * 100;
        let prev_now = self.weight_on(prev) * STAYS_PERCENT;
        if here_then < prev_now { here } else { prev }
    }

    /// Kernel `select_idle_sibling`.
    fn idle_sibling(&mut self, id: ThreadId, waker: Waker, prev: usize, target: usize) -> usize {
        if self.is_free(id, target) {
            return target;
        }
        if self.share_cache(prev, target) && self.is_free(id, prev) {
            return prev;
        }
        if self.stacks(waker, prev) {
            return prev;
        }
        let recent = self.recently_used(id, prev, target);
        recent.unwrap_or_else(|| self.scan_cache(id, prev, target).unwrap_or(target))
    }

    /// Where else the thread was lately, if it would have that CPU at once.
    fn recently_used(&mut self, id: ThreadId, prev: usize, target: usize) -> Option<usize> {
        let recent = self.thread(id).recent;
        let is_other = recent != prev && recent != target && self.may_use(id, recent);
        let fits = is_other && self.share_cache(recent, target) && self.is_free(id, recent);
        if fits || self.placement.recent == Recent::Left {
            self.thread_mut(id).recent = prev;
        }
        fits.then_some(recent)
    }

    /// The waker has found a place for a thread that had a choice.
    fn note_wake(&mut self, id: ThreadId, waker: Waker, here: usize) {
        let Waker::Thread(by) = waker else {
            return;
        };
        let had_choice = self.thread(id).attrs.allowed.count() > 1;
        if self.placement.recent == Recent::Woke && had_choice && self.may_use(id, here) {
            self.thread_mut(by).recent = here;
        }
    }

    /// A thread that a worker bound to this CPU wakes where it was before: the worker is about to
    /// sleep, and the thread had better stay (kernel `is_per_cpu_kthread`, 5.6).
    fn stacks(&self, waker: Waker, prev: usize) -> bool {
        let Waker::Thread(by) = waker else {
            return false;
        };
        let waker = self.thread(by);
        let is_bound = waker.attrs.is_worker && waker.attrs.allowed.count() == 1;
        self.placement.stacking && is_bound && waker.cpu == prev && self.cpus[prev].load() <= 1
    }

    /// An idle core of the cache, else a free sibling, else any free CPU of the cache; from the CPU
    /// after the target on and around, so that who comes again and again walks through them.
    fn scan_cache(&self, id: ThreadId, prev: usize, target: usize) -> Option<usize> {
        let in_cache = |&cpu: &usize| self.share_cache(cpu, target);
        let mut free: Vec<usize> = self.free_for(id).filter(in_cache).collect();
        free.sort_unstable();
        let scanned = self.scanned(target);
        let around = |fits: &dyn Fn(usize) -> bool| {
            let after = free.iter().filter(|&&cpu| cpu > target);
            let before = free.iter().filter(|&&cpu| cpu < target);
            after.chain(before).copied().find(|&cpu| fits(cpu))
        };
        let is_sibling = |cpu| self.topology.distance(cpu, prev) == Distance::Core;
        let has_idle_core = |cpu| self.is_idle_core(cpu);
        let core = around(&has_idle_core);
        core.or_else(|| around(&is_sibling))
            .or_else(|| around(&|cpu| scanned.contains(cpu)))
    }

    /// The CPUs of the cache that are looked at one by one: all, or the fewer the busier the cache
    /// is (kernel `update_idle_cpu_scan`, by what is busy now rather than of late).
    fn scanned(&self, target: usize) -> CpuMask {
        let near = |cpu: &usize| self.share_cache(*cpu, target);
        let cpus: Vec<usize> = (0..self.cpus.len()).filter(near).collect();
        let busy = cpus.len() - self.idle.iter().filter(near).count();
        let load = busy * busy * 117 * 117 / (cpus.len() * 10_000);
        let scans = match self.placement.scan_by_load {
            true => cpus.len().saturating_sub(load),
            false => cpus.len(),
        };
        let after = cpus.iter().filter(|&&cpu| cpu > target);
        let before = cpus.iter().filter(|&&cpu| cpu <= target);
        after.chain(before).take(scans).copied().collect()
    }

    fn is_idle_core(&self, cpu: usize) -> bool {
        let core = self.topology.cpus[cpu].core;
        let mut busy = (0..self.cpus.len()).filter(|&other| !self.idle.contains(other));
        busy.all(|other| self.topology.cpus[other].core != core)
    }

    /// Where a new thread goes: to the node, there to the cache, there to the core where most CPUs
    /// idle; the creator's if that is no worse (kernel `find_idlest_cpu`).
    fn idlest(&self, id: ThreadId, here: usize) -> usize {
        let usable = self.thread(id).usable;
        let levels: [fn(&Place) -> u32; 3] = [|p| p.node, |p| p.llc, |p| p.core];
        let narrow = |cpus: CpuMask, of: &fn(&Place) -> u32| self.idlest_group(&cpus, here, of);
        let group = levels.iter().fold(usable, narrow);
        let cpus = group.iter();
        let best = cpus.min_by_key(|&cpu| (!self.is_free(id, cpu), self.cpus[cpu].load(), cpu));
        best.expect("a machine has a CPU")
    }

    fn idlest_group(&self, cpus: &CpuMask, here: usize, of: &fn(&Place) -> u32) -> CpuMask {
        let group = |cpu: usize| of(&self.topology.cpus[cpu]);
        let mut groups: Vec<u32> = cpus.iter().map(group).collect();
        groups.sort_unstable();
        groups.dedup();
        let members = |of: u32| -> CpuMask { cpus.iter().filter(|&c| group(c) == of).collect() };
        let rank = |at: &u32| {
            let members = members(*at);
            let idle = self.idle.within(&members).count();
            let load: usize = members.iter().map(|cpu| self.cpus[cpu].load()).sum();
            let crowd = if idle == 0 { load } else { 0 };
            (std::cmp::Reverse(idle), crowd, group(here) != *at, *at)
        };
        let best = groups.into_iter().min_by_key(rank);
        members(best.expect("a machine has a CPU"))
    }
}
