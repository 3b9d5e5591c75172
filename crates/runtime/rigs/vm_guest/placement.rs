//! Where items of each scope run: near to whoever queues them on an idle machine, strict ones
//! always, and on every CPU that they may use when there are enough of them.

use std::time::Duration;

use cmwq::{AffinityScope, Workqueue};
use cmwq_policy::CpuMask;

use crate::burn::burn;
use crate::checks::{Checks, Outcome};
use crate::expected::Expected;
use crate::ran::{Ran, all_in, queued_on, spawned, woken};

/// From each CPU, one at a time.
const ITEMS: usize = 8;

/// Of which one has to show that most items run in the pod.
const ROUNDS: usize = 4;

/// An item of a queue that says so loses so much in another pod.
const LOST: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Any idle CPU serves its items, where it has nothing nearer.
    Managed,
    /// The same, but items lose much elsewhere.
    Local,
    Unmanaged,
}

/// Queues that have pods, with each scope, strict and not.
pub(crate) fn check(expected: &Expected, checks: &mut Checks) {
    for scope in AffinityScope::ALL {
        for kind in [Kind::Managed, Kind::Local, Kind::Unmanaged] {
            Case::new(expected, kind, scope, false).check(checks);
        }
        // What items lose elsewhere is nothing to those that stay anyway.
        for kind in [Kind::Managed, Kind::Unmanaged] {
            Case::new(expected, kind, scope, true).check(checks);
        }
    }
}

struct Case<'a> {
    expected: &'a Expected,
    name: String,
    kind: Kind,
    scope: AffinityScope,
    strict: bool,
    queue: Workqueue,
}

impl Case<'_> {
    fn new(expected: &Expected, kind: Kind, scope: AffinityScope, strict: bool) -> Case<'_> {
        let builder = Workqueue::builder(scope.name());
        let (kind_name, builder) = match kind {
            Kind::Managed => ("managed", builder),
            Kind::Local => ("local", builder.locality(LOST)),
            Kind::Unmanaged => ("unmanaged", builder.unmanaged()),
        };
        let how = if strict { " strict" } else { "" };
        let queue = builder.affinity_scope(scope).affinity_strict(strict);
        Case {
            expected,
            name: format!("{kind_name} {}{how}", scope.name()),
            kind,
            scope,
            strict,
            queue: queue.build().expect("the attributes are good"),
        }
    }

    fn check(&self, checks: &mut Checks) {
        let cpus = far_apart(&self.expected.cpus());
        let has_other_core = cpus.iter().all(|&cpu| self.has_other_core(cpu));
        let goes_home = self.strict || self.kind != Kind::Managed;
        let spawned = |cpu| spawned(&self.queue, cpu, ITEMS);
        let near = self.rounds(&cpus, spawned, goes_home && has_other_core);
        checks.note(&format!("{}, spawned", self.name), near);
        let queued = |cpu| queued_on(&self.queue, cpu, ITEMS);
        let near = self.rounds(&cpus, queued, goes_home);
        checks.note(&format!("{}, queue_on", self.name), near);
        let burnt = burn(&self.queue, cpus[1], &self.reach(cpus[1]));
        checks.note(&format!("{}, burning", self.name), burnt);
    }

    /// Whoever queues from a CPU keeps its core busy. Where the pod has no other one, the kernel
    /// takes an idle core outside.
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

    /// Whether items ran where they may and, if that is asked for, most of them in the pod: nothing
    /// else runs, so the kernel has little reason to move a worker that started there. Below the
    /// machine, though, CPUs may be busy: then it looks as if theirs were, so one good round is
    /// enough, and so is one in which a thread that has nothing to do with us stays as rarely.
    fn rounds(&self, cpus: &[usize], round: impl Fn(usize) -> Vec<Ran>, near: bool) -> Outcome {
        let mut seen = Vec::new();
        let mut good = !near;
        loop {
            let runs: Vec<Ran> = cpus.iter().flat_map(|&cpu| round(cpu)).collect();
            let nr_near = self.near(&runs)?;
            good |= nr_near * 4 >= runs.len() * 3;
            let mut what = format!("{nr_near} of {}", runs.len());
            if !good {
                let bare = self.bare(cpus);
                what += &format!(" (of a bare thread {bare})");
                good = nr_near * 4 >= bare * 3;
            }
            seen.push(what);
            let said = format!("{} in the pod", seen.join(", "));
            match good {
                true => return Ok(said),
                false if seen.len() == ROUNDS => return Err(said),
                false => {}
            }
        }
    }

    /// How often as many wakes of threads that might go anywhere left them in the pod where they
    /// were before.
    fn bare(&self, cpus: &[usize]) -> usize {
        let stays = |&cpu: &usize| {
            let pod = self.expected.pod(self.scope, cpu);
            let runs = woken(&pod, cpu, &self.expected.cpus(), ITEMS);
            runs.iter().filter(|ran| pod.contains(ran.cpu)).count()
        };
        cpus.iter().map(stays).sum()
    }

    /// How many ran in the pod, if all ran where they may.
    fn near(&self, runs: &[Ran]) -> Result<usize, String> {
        for ran in runs {
            all_in(std::slice::from_ref(ran), &self.reach(ran.from))?;
        }
        let is_near = |ran: &&Ran| self.expected.pod(self.scope, ran.from).contains(ran.cpu);
        Ok(runs.iter().filter(is_near).count())
    }
}

/// Three CPUs in different caches, as far as there are so many.
pub(crate) fn far_apart(cpus: &CpuMask) -> [usize; 3] {
    let all: Vec<usize> = cpus.iter().collect();
    [1, 3, 7].map(|eighth| all[all.len() * eighth / 8])
}
