//! Where items of each scope run: near to whoever queues them on an idle machine, strict ones always,
//! and on every CPU that they may use when there are enough of them.

use cmwq::{AffinityScope, Workqueue};
use cmwq_policy::CpuMask;

use crate::burn::burn;
use crate::checks::{Checks, Outcome};
use crate::expected::Expected;
use crate::ran::{Ran, all_in, queued_on, spawned};

/// From each CPU, one at a time.
const ITEMS: usize = 8;

/// Queues of both kinds that have pods, with each scope, strict and not.
pub(crate) fn check(expected: &Expected, checks: &mut Checks) {
    for managed in [true, false] {
        for scope in AffinityScope::ALL {
            for strict in [false, true] {
                Case::new(expected, managed, scope, strict).check(checks);
            }
        }
    }
}

struct Case<'a> {
    expected: &'a Expected,
    name: String,
    scope: AffinityScope,
    strict: bool,
    queue: Workqueue,
}

impl Case<'_> {
    fn new(expected: &Expected, managed: bool, scope: AffinityScope, strict: bool) -> Case<'_> {
        let kind = if managed { "managed" } else { "unmanaged" };
        let how = if strict { " strict" } else { "" };
        let name = format!("{kind} {}{how}", scope.name());
        let builder = Workqueue::builder(scope.name());
        let builder = if managed {
            builder
        } else {
            builder.unmanaged()
        };
        let builder = builder.affinity_scope(scope).affinity_strict(strict);
        Case {
            expected,
            name,
            scope,
            strict,
            queue: builder.build().expect("the attributes are good"),
        }
    }

    fn check(&self, checks: &mut Checks) {
        let cpus = far_apart(&self.expected.cpus());
        let spawn = |&cpu: &usize| spawned(&self.queue, cpu, ITEMS);
        let spawned: Vec<Ran> = cpus.iter().flat_map(spawn).collect();
        let near = self.stayed(&spawned, cpus.iter().all(|&cpu| self.has_other_core(cpu)));
        checks.note(&format!("{}, spawned", self.name), near);
        let queue_on = |&cpu: &usize| queued_on(&self.queue, cpu, ITEMS);
        let queued: Vec<Ran> = cpus.iter().flat_map(queue_on).collect();
        let near = self.stayed(&queued, true);
        checks.note(&format!("{}, queue_on", self.name), near);
        let burnt = burn(&self.queue, cpus[1], &self.reach(cpus[1]));
        checks.note(&format!("{}, burning", self.name), burnt);
    }

    /// Whoever queues from a CPU keeps its core busy. Where the pod has no other one, the kernel takes an
    /// idle core outside.
    fn has_other_core(&self, cpu: usize) -> bool {
        let core = self.expected.pod(AffinityScope::Smt, cpu);
        self.expected.pod(self.scope, cpu).and(&core) != self.expected.pod(self.scope, cpu)
    }

    /// The CPUs that workers may use for items of this CPU.
    fn reach(&self, cpu: usize) -> CpuMask {
        match self.strict {
            true => self.expected.pod(self.scope, cpu),
            false => self.expected.cpus(),
        }
    }

    /// Whether items ran where they may and, if that is asked for, most of them in the pod: nothing else
    /// runs, so the kernel has little reason to move a worker that started there.
    fn stayed(&self, runs: &[Ran], near: bool) -> Outcome {
        for ran in runs {
            let cpus = self.reach(ran.from);
            all_in(std::slice::from_ref(ran), &cpus)?;
        }
        let is_near = |ran: &&Ran| self.expected.pod(self.scope, ran.from).contains(ran.cpu);
        let nr_near = runs.iter().filter(is_near).count();
        let seen = format!("{nr_near} of {} in the pod", runs.len());
        match !near || nr_near * 4 >= runs.len() * 3 {
            true => Ok(seen),
            false => Err(seen),
        }
    }
}

/// Three CPUs in different caches, as far as there are so many.
pub(crate) fn far_apart(cpus: &CpuMask) -> [usize; 3] {
    let all: Vec<usize> = cpus.iter().collect();
    [1, 3, 7].map(|eighth| all[all.len() * eighth / 8])
}
