//! What goes wrong around the policy.

use cmwq_policy::Nanos;
use cmwq_policy::affinity::Scope;
use cmwq_policy::time::MILLISECOND;
use cmwq_sim::{Act, Call, Machine, QueueId, Script, ThreadSpec};

use crate::plan::Feature;
use crate::random::{Random, one_in, streams, time};
use crate::world::World;

/// How many there are.
pub const FAULT_KINDS: usize = 8;

/// What goes wrong in some runs.
pub const FAULTS: [&str; FAULT_KINDS] = [
    "thread creation failed",
    "thread creation was slow",
    "CPU taken offline",
    "timer dropped by a drained queue",
    "report late",
    "report lost",
    "report spurious",
    "worker unseen",
];

/// The faults of one run.
pub struct Faults {
    random: Random,
    offline: u64,
    slow: bool,
}

impl Faults {
    /// None yet.
    pub fn new(world: &World) -> Faults {
        Faults {
            random: world.plan.stream(streams::FAULTS, 0),
            offline: 0,
            slow: world.plan.has(Feature::SlowSpawn),
        }
    }

    /// How often each of [`FAULTS`] happened.
    pub fn counts(&self, machine: &Machine) -> [u64; FAULT_KINDS] {
        let reports = machine.signal_stats();
        [
            machine.spawn_failures(),
            u64::from(self.slow),
            self.offline,
            machine.timers_dropped(),
            reports.late,
            reports.lost,
            reports.spurious,
            reports.unseen,
        ]
    }

    /// For how long nothing new goes wrong.
    pub fn pause(&mut self) -> Nanos {
        time(&mut self.random)
    }

    /// One round of them.
    pub fn happen(&mut self, world: &World, machine: &Machine) {
        let random = &mut self.random;
        if world.plan.has(Feature::SpawnFails) {
            machine.fail_spawns(world.plan.has(Feature::Outage) || one_in(random, 6));
        }
        if world.plan.has(Feature::Hotplug) && one_in(random, 3) {
            let cpu = random.below(u64::from(world.plan.cpus)) as usize;
            // CPU 0 stays.
            let online = cpu == 0 || random.below(3) > 0;
            self.offline += u64::from(!online && machine.online_cpus().contains(cpu));
            machine.set_online(cpu, online);
        }
        if world.plan.has(Feature::UnboundCpus) && one_in(random, 6) {
            let mask = world.mask(random).unwrap_or(machine.topology().all());
            machine.set_unbound_cpus(mask);
        }
        if world.plan.has(Feature::DefaultScope) && one_in(random, 6) {
            machine.set_default_scope(random.one_of(&Scope::ALL));
        }
        if world.plan.has(Feature::Scopes) && one_in(random, 3) {
            let queue = QueueId(random.below(machine.nr_queues() as u64) as u32);
            machine.respread(queue, random.below(4) > 0);
        }
        if world.plan.has(Feature::Quota) && one_in(random, 4) {
            let some = 1 + random.below(u64::from(world.plan.cpus)) as u32;
            machine.set_quota(random.one_of(&[some, some, u32::MAX]));
        }
        // Threads may all wait for what only another one could do.
        if one_in(random, 4) {
            let latch = world.take_latch();
            latch.into_iter().for_each(|latch| machine.open(latch));
        }
        if world.plan.has(Feature::Freeze) && one_in(random, 12) {
            thaw(machine, 1);
        }
    }

    /// No more faults, and the threads of the program end.
    pub fn end(world: &World, machine: &Machine) {
        world.stop.set(true);
        machine.fail_spawns(false);
        machine.set_quota(u32::MAX);
        (0..world.plan.cpus as usize).for_each(|cpu| machine.set_online(cpu, true));
        machine.set_unbound_cpus(machine.topology().all());
        while let Some(latch) = world.take_latch() {
            machine.open(latch);
        }
        thaw(machine, 5);
    }
}

/// A thread that thaws so often: one that was about to freeze may come in between.
fn thaw(machine: &Machine, times: usize) {
    let acts = [Act::Call(Call::Thaw), Act::Sleep(20 * MILLISECOND)];
    let acts: Vec<Act> = acts.into_iter().cycle().take(2 * times).collect();
    machine.spawn(ThreadSpec::named("thaw"), Script::boxed(acts));
}
