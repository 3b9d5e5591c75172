//! What makes a pool: queues with an equal key share one. And which CPUs a pool serves while these
//! are in use.

use super::{Cx, Rule, WorkerPool};
use crate::affinity::{Near, Reach};
use crate::cpumask::CpuMask;
use crate::queue::Kind;
use crate::store::Store;

/// The attributes of a pool (kernel: `worker_pool::attrs` and `::cpu`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolKey {
    rule: Rule,
    cpu: Option<usize>,
    nice: i8,
    reach: Reach,
}

/// What a pool is while these CPUs are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// How it chooses.
    pub rule: Rule,
    /// The CPUs that its workers may use.
    pub cpus: CpuMask,
    /// Workers that it keeps runnable.
    pub target: u32,
    /// So many more where others leave CPUs idle that its workers may use.
    pub beyond: u32,
    /// Workers that all pools together keep runnable.
    pub budget: u32,
}

impl PoolKey {
    /// Of queues of this kind, which is not per CPU, in a pod.
    pub fn of(kind: Kind, reach: Reach, nice: i8) -> Self {
        PoolKey {
            rule: rule(kind),
            cpu: None,
            nice,
            reach,
        }
    }

    /// Of queues of this kind, which is per CPU, for this one.
    pub fn of_cpu(kind: Kind, cpu: usize, nice: i8) -> Self {
        PoolKey {
            rule: rule(kind),
            cpu: Some(cpu),
            nice,
            reach: Reach::of_cpu(cpu),
        }
    }

    /// How its pool chooses while its CPUs are in use.
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The CPU of a pool that has one of its own.
    pub fn cpu(&self) -> Option<usize> {
        self.cpu
    }

    /// Nice value of its workers.
    pub fn nice(&self) -> i8 {
        self.nice
    }

    /// Its CPUs, in use or not.
    pub fn reach(&self) -> &Reach {
        &self.reach
    }

    /// The CPUs whose node has the limit that its items count for, if one node has them. Pools of a
    /// managed queue that is spread count for that of the one pool it had.
    pub fn counts_in(&self) -> &CpuMask {
        match self.rule {
            Rule::Managed => &self.reach.allowed,
            Rule::PerCpu | Rule::Unmanaged | Rule::Bh => &self.reach.pod,
        }
    }

    /// While the process has these CPUs, of which a quota leaves it so many at a time. The pool of
    /// a CPU that is not in use goes on elsewhere, and starts every item at once (kernel
    /// `unbind_workers`).
    pub fn served(&self, online: &CpuMask, quota: usize) -> Served {
        let own = self.cpu.is_none_or(|cpu| online.contains(cpu));
        let cpus = self.reach.usable(online);
        let target = match self.cpu {
            Some(_) => 1,
            None => self.reach.target(online, quota),
        };
        let all = cpus.count().min(quota).max(1) as u32;
        Served {
            rule: self.rule.while_served(own),
            cpus,
            target,
            // Others have CPUs of their own, or start every item at once.
            beyond: match self.rule {
                Rule::Managed => all.saturating_sub(target),
                Rule::PerCpu | Rule::Unmanaged | Rule::Bh => 0,
            },
            budget: online.count().min(quota).max(1) as u32,
        }
    }

    /// Threads it may have where others may have so many.
    pub fn threads(&self, limit: u32) -> u32 {
        match self.rule {
            Rule::Bh => 1,
            _ => limit,
        }
    }

    /// Where its workers are brought back to. Those of managed queues are left where they are, as
    /// far as items do not ask for more ([`HOMING_COST`](crate::affinity::HOMING_COST)).
    fn brings_back(&self) -> Option<CpuMask> {
        let pod = self.reach.starts_in().copied();
        pod.filter(|_| self.rule != Rule::Managed)
    }

    /// Where to wake a worker that was `last` on this CPU (kernel `kick_pool`: repatriation). If
    /// items are near to pods, in the pod of the CPU that its item was queued on, otherwise in the
    /// pool's. `None`: wake it where it was. It was in that pod, or the pod has no usable CPU, or
    /// no pod matters.
    pub fn wakes_in(
        &self,
        item: Option<(&Near, u32)>,
        usable: &CpuMask,
        last: usize,
    ) -> Option<CpuMask> {
        let near = item.map(|(near, cpu)| near.pod(cpu));
        let pod = near.or_else(|| self.brings_back())?;
        let there = pod.and(usable);
        let moves = !there.is_empty() && there != *usable && !there.contains(last);
        moves.then_some(there)
    }
}

fn rule(kind: Kind) -> Rule {
    match kind {
        // One item at a time is a limit, and no reason to start it beside others that have the
        // CPUs.
        Kind::Managed | Kind::Fifo | Kind::Ordered => Rule::Managed,
        Kind::PerCpu => Rule::PerCpu,
        Kind::Unmanaged => Rule::Unmanaged,
        Kind::Bh => Rule::Bh,
    }
}

impl<S: Store> WorkerPool<S> {
    /// The CPUs in use have changed, or the quota has.
    pub fn follow(&mut self, cx: &mut Cx<S>, served: &Served) {
        self.set_rule(cx, served.rule);
        self.set_target(cx, (served.target, served.beyond), served.budget);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(of: &[usize]) -> CpuMask {
        of.iter().copied().collect()
    }

    fn key(pod: &[usize]) -> PoolKey {
        let reach = Reach {
            pod: cpus(pod),
            allowed: (0..8).collect(),
            near: None,
        };
        PoolKey::of(Kind::Unmanaged, reach, 0)
    }

    #[test]
    fn a_worker_wakes_in_what_is_left_of_its_pod() {
        let woken = |pod, usable: &[usize], last| key(pod).wakes_in(None, &cpus(usable), last);
        let all = [0, 1, 2, 3, 4, 5, 6, 7];
        assert_eq!(woken(&[4, 5], &all, 0), Some(cpus(&[4, 5])));
        assert_eq!(woken(&[4, 5], &all, 4), None, "it is there");
        assert_eq!(woken(&[4, 5], &[0, 5], 4), Some(cpus(&[5])));
        assert_eq!(woken(&[4, 5], &[0, 1], 0), None, "nothing is left");
        assert_eq!(woken(&[4, 5], &[4], 0), None, "nowhere else to be");
        assert_eq!(woken(&all, &all, 0), None);
    }

    #[test]
    fn a_pool_serves_the_cpus_in_use_as_far_as_the_quota_goes() {
        let of = |key: PoolKey, online: &[usize], quota| {
            let served = key.served(&cpus(online), quota);
            (served.target, served.budget, served.cpus)
        };
        let pod = || key(&[4, 5, 6, 7]);
        assert_eq!(of(pod(), &[0, 1, 4, 5], 8), (2, 4, cpus(&[0, 1, 4, 5])));
        assert_eq!(of(pod(), &[0, 4, 5, 6], 2), (2, 2, cpus(&[0, 4, 5, 6])));
        assert_eq!(of(pod(), &[0, 1, 2], 8), (3, 3, cpus(&[0, 1, 2])));
        assert_eq!(of(pod(), &[0], 0), (1, 1, cpus(&[0])), "one at least");
    }

    #[test]
    fn the_pool_of_a_cpu_goes_on_elsewhere_without_it() {
        let of = |kind, online: &[usize]| {
            let served = PoolKey::of_cpu(kind, 3, 0).served(&cpus(online), 8);
            (served.rule, served.target, served.cpus)
        };
        assert_eq!(of(Kind::PerCpu, &[1, 3]), (Rule::PerCpu, 1, cpus(&[3])));
        let away = (Rule::Unmanaged, 1, cpus(&[1, 2]));
        assert_eq!(of(Kind::PerCpu, &[1, 2]), away);
        let bh = (Rule::Bh, 1, cpus(&[1, 2]));
        assert_eq!(of(Kind::Bh, &[1, 2]), bh);
    }

    #[test]
    fn items_of_an_ordered_queue_start_as_those_of_a_managed_one_do() {
        let reach = *key(&[0, 1]).reach();
        let of = |kind| PoolKey::of(kind, reach, 0);
        assert_eq!(of(Kind::Ordered), of(Kind::Managed));
        assert_ne!(of(Kind::Unmanaged), of(Kind::Managed));
    }
}
