//! One run: a phase with faults, in which nothing wrong may happen; then one without, in which
//! everything must finish.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use cmwq_policy::pool::IDLE_WORKER_TIMEOUT;
use cmwq_policy::time::{MILLISECOND, SECOND};
use cmwq_policy::{Nanos, Time};
use cmwq_sim::{Act, Call, Ended, Machine, PoolId, Script, ThreadSpec};

use crate::check::{Checker, Invariant, Violation};
use crate::faults::{FAULT_KINDS, Faults};
use crate::machine::hog_threshold;
use crate::plan::{Feature, Plan};
use crate::program;
use crate::random::{one_in, streams, time};
use crate::world::World;

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
    /// Of those, begun by who joined them.
    pub claimed: u64,
    /// How often each of [`FAULTS`](crate::faults::FAULTS) happened.
    pub faults: [u64; FAULT_KINDS],
    /// What happened last, if that was asked for.
    pub trace: Vec<String>,
}

/// Does what the plan says. `trace`: keeps what happened, for the report of a violation.
pub fn run(plan: &Plan, trace: bool) -> Outcome {
    let (world, machine) = program::build(plan);
    let checker = Rc::new(Checker::new(&machine, plan, trace));
    machine.keep_trace(false);
    machine.set_hog_threshold(hog_threshold(plan));
    machine.observe(checker.clone());
    let mut faults = Faults::new(&world);
    let done = catch_unwind(AssertUnwindSafe(|| {
        program::begin(&world, &machine);
        safety(&world, &machine, &checker, &mut faults);
        liveness(&world, &machine, &checker);
    }));
    if let Err(panic) = done {
        checker.fail(Invariant::NoPanic, machine.now(), || text_of(&*panic));
    }
    Outcome {
        violation: checker.violation(),
        events: checker.events(),
        time: machine.now().0,
        started: checker.started(),
        claimed: checker.claimed(),
        faults: faults.counts(&machine),
        trace: checker.trace(),
    }
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
    text.unwrap_or_else(|| "it panicked".to_owned())
}

fn safety(world: &World, machine: &Machine, checker: &Checker, faults: &mut Faults) {
    for _ in 0..ROUNDS {
        let until = machine.now().after(faults.pause());
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

/// A thread that ends the process, while items may still go on.
fn shut_down(world: &World, machine: &Machine) {
    let mut random = world.plan.stream(streams::SHUTDOWN, 0);
    let at_once = one_in(&mut random, 2);
    let after = if at_once { 0 } else { time(&mut random) };
    let most = random.one_of(&[0, MILLISECOND, 30 * SECOND]);
    let acts = [Act::Sleep(after), Act::Call(Call::Shutdown(most)), Act::End];
    machine.spawn(ThreadSpec::named("shutdown"), Script::boxed(acts));
}
