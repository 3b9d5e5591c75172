//! One run: a phase with faults, in which nothing wrong may happen; then one without, in which
//! everything must finish.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use cmwq_policy::affinity::Scope;
use cmwq_policy::pool::IDLE_WORKER_TIMEOUT;
use cmwq_policy::time::{MILLISECOND, SECOND};
use cmwq_policy::{Nanos, Time};
use cmwq_sim::{Act, Call, Ended, Machine, PoolId, Script, ThreadSpec};

use crate::check::{Checker, Invariant, Violation};
use crate::machine::hog_threshold;
use crate::plan::{Feature, Plan};
use crate::random::{Random, one_in, time};
use crate::swarm::FAULT_KINDS;
use crate::world::{World, streams};

/// Once faults have stopped and threads have been told to end, everything finishes within this.
pub const LIVENESS: Nanos = 60 * SECOND;
/// A safety phase ends after so many rounds of faults, even if little happens in it.
const ROUNDS: u32 = 4000;

/// What a run came across.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What went wrong first.
    pub violation: Option<Violation>,
    /// Events that were checked.
    pub events: u64,
    /// Virtual nanoseconds.
    pub time: Nanos,
    /// Items begun.
    pub started: u64,
    /// How often each of [`FAULTS`](crate::swarm::FAULTS) happened.
    pub faults: [u64; FAULT_KINDS],
    /// What happened last, if that was asked for.
    pub trace: Vec<String>,
}

/// Does what the plan says. `trace`: keeps what happened, for the report of a violation.
pub fn run(plan: &Plan, trace: bool) -> Outcome {
    let (world, machine) = World::build(plan);
    let checker = Rc::new(Checker::new(&machine, plan, trace));
    machine.keep_trace(false);
    machine.set_hog_threshold(hog_threshold(plan));
    machine.observe(checker.clone());
    let mut faults = Faults::new(&world);
    let done = catch_unwind(AssertUnwindSafe(|| {
        world.begin(&machine);
        safety(&world, &machine, &checker, &mut faults);
        liveness(&world, &machine, &checker);
    }));
    if let Err(panic) = done {
        checker.fail(Invariant::NoPanic, machine.now(), || text_of(&*panic));
    }
    let mut outcome = checker.outcome();
    outcome.time = machine.now().0;
    outcome.faults = faults.counts(&machine);
    outcome
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
    text.unwrap_or_else(|| "it panicked".to_owned())
}

fn safety(world: &World, machine: &Machine, checker: &Checker, faults: &mut Faults) {
    for _ in 0..ROUNDS {
        let until = machine.now().after(time(&mut faults.random));
        advance(machine, checker, until);
        if checker.has_failed() || checker.events() >= world.plan.events {
            return;
        }
        faults.happen(world, machine);
    }
}

/// Runs to a time; with nothing to do until then, that time has come at once.
fn advance(machine: &Machine, checker: &Checker, until: Time) -> Ended {
    machine.run_while(until, |m| {
        checker.instant(m);
        !checker.has_failed()
    })
}

fn liveness(world: &World, machine: &Machine, checker: &Checker) {
    if checker.has_failed() {
        return;
    }
    Faults::end(world, machine);
    if world.plan.has(Feature::Shutdown) {
        shut_down(world, machine);
    }
    let limit = machine.now().after(LIVENESS);
    let ended = advance(machine, checker, limit);
    match ended {
        Ended::Quiet => {
            checker.finish(machine);
            rest(machine, checker);
        }
        Ended::TimeUp => checker.fail(Invariant::EverythingFinishes, machine.now(), || {
            let busy = busy_pools(machine);
            format!(
                "something still happens after {} s; {busy}",
                LIVENESS / SECOND
            )
        }),
        Ended::Stopped => {}
    }
}

fn busy_pools(machine: &Machine) -> String {
    let pools = (0..machine.nr_pools() as u32).map(PoolId);
    let busy = pools.filter_map(|pool| {
        let census = machine.census(pool);
        let busy = census.queued > 0 || census.executing > 0;
        let threads = machine.worker_threads(pool).into_iter();
        let threads = threads.map(|id| format!("t{} {:?}", id.0, machine.whereabouts(id)));
        let threads = threads.collect::<Vec<_>>().join(", ");
        busy.then(|| format!("pool {}: {threads}: {census:?}", pool.0))
    });
    busy.collect::<Vec<_>>().join(", ")
}

/// Time goes by in which idle workers may retire.
fn rest(machine: &Machine, checker: &Checker) {
    let acts = [Act::Sleep(2 * IDLE_WORKER_TIMEOUT), Act::End];
    machine.spawn(ThreadSpec::named("rest"), Script::boxed(acts));
    advance(
        machine,
        checker,
        machine.now().after(3 * IDLE_WORKER_TIMEOUT),
    );
    checker.rested(machine);
}

/// What goes wrong around the policy.
struct Faults {
    random: Random,
    offline: u64,
    slow: bool,
}

impl Faults {
    fn new(world: &World) -> Faults {
        Faults {
            random: world.plan.stream(streams::FAULTS, 0),
            offline: 0,
            slow: world.plan.has(Feature::SlowSpawn),
        }
    }

    fn counts(&self, machine: &Machine) -> [u64; FAULT_KINDS] {
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

    fn happen(&mut self, world: &World, machine: &Machine) {
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
        if world.plan.has(Feature::Quota) && one_in(random, 4) {
            let some = 1 + random.below(u64::from(world.plan.cpus)) as u32;
            machine.set_quota(random.one_of(&[some, some, u32::MAX]));
        }
        // Threads may all wait for what only another one could do.
        if one_in(random, 4) {
            let gate = world.take_gate();
            gate.into_iter().for_each(|gate| machine.open(gate));
        }
        if world.plan.has(Feature::Freeze) && one_in(random, 12) {
            thaw(machine, 1);
        }
    }

    /// No more faults, and the threads of the program end.
    fn end(world: &World, machine: &Machine) {
        world.stop.set(true);
        machine.fail_spawns(false);
        machine.set_quota(u32::MAX);
        (0..world.plan.cpus as usize).for_each(|cpu| machine.set_online(cpu, true));
        machine.set_unbound_cpus(machine.topology().all());
        while let Some(gate) = world.take_gate() {
            machine.open(gate);
        }
        thaw(machine, 5);
    }
}

/// A thread that ends the process, while items may still go on.
fn shut_down(world: &World, machine: &Machine) {
    let mut random = world.plan.stream(streams::SHUTDOWN, 0);
    let at_once = one_in(&mut random, 2);
    let after = if at_once { 0 } else { time(&mut random) };
    let most = random.one_of(&[0, MILLISECOND, 30 * SECOND]);
    let acts = [Act::Sleep(after), Act::Call(Call::Shutdown(most)), Act::End];
    machine.spawn(ThreadSpec::named("shutdown"), Script::boxed(acts));
}

/// A thread that thaws so often: one that was about to freeze may come in between.
fn thaw(machine: &Machine, times: usize) {
    let acts = [Act::Call(Call::Thaw), Act::Sleep(20 * MILLISECOND)];
    let acts: Vec<Act> = acts.into_iter().cycle().take(2 * times).collect();
    machine.spawn(ThreadSpec::named("thaw"), Script::boxed(acts));
}
