//! The machine that a plan draws: its shape, its scheduler, what things cost, how pools learn who
//! sleeps.

use cmwq_policy::Nanos;
use cmwq_policy::time::{MICROSECOND, MILLISECOND};
use cmwq_sim::{
    Costs, Discipline, Options, Placement, SignalCosts, Signals, Topology, UserSignals,
};

use crate::plan::{Feature, Plan};
use crate::random::{Random, one_in, streams};

/// The machine that a plan draws.
pub fn options(plan: &Plan) -> Options {
    let mut random = plan.stream(streams::MACHINE, 0);
    let mut options = Options::of(topology(plan, &mut random));
    let slice = random.one_of(&[300, 3000, 3000]) * MICROSECOND;
    options.seed = random.bits();
    options.discipline = match plan.has(Feature::Fifo) && one_in(&mut random, 2) {
        true => Discipline::Fifo,
        false => Discipline::Fair(slice),
    };
    if plan.has(Feature::SlowSpawn) {
        options.spawn_takes = random.one_of(&[30, 300, 3000]) * MICROSECOND;
        options.spawn_jitter = random.one_of(&[0, 500]);
    }
    // A chain of items that wait for each other may need a thread for each.
    if plan.has(Feature::ThreadLimit) && !plan.has(Feature::Chains) {
        options.thread_limit = random.one_of(&[1, 2, 3, 8]);
    }
    options.shard_cores = random.one_of(&[1, 2, 8]);
    options.brief_items = plan.has(Feature::BriefItems);
    if plan.has(Feature::Costs) {
        options.costs = costs(&mut random);
    }
    if plan.has(Feature::Smt) {
        options.costs.smt = random.one_of(&[500, 650, 1000]);
    }
    if plan.has(Feature::LinuxScheduler) {
        options.placement = Placement::linux();
    }
    // Who is told everything does not look at workers, and sees no convoy.
    if plan.has(Feature::UserSignals) || plan.has(Feature::Convoy) {
        options.signals = Signals::User(signals(plan, &mut random));
    }
    if plan.has(Feature::LeaveBehind) {
        options.nice_best = random.one_of(&[-20, 0, 19]);
    }
    options
}

/// Items that use so much CPU time without sleeping are hogs.
pub fn hog_threshold(plan: &Plan) -> Nanos {
    let mut random = plan.stream(streams::MACHINE, 1);
    random.one_of(&[1, 4, 10]) * MILLISECOND
}

fn topology(plan: &Plan, random: &mut Random) -> Topology {
    let cpus = plan.cpus;
    let divisors: Vec<u32> = (1..=cpus).filter(|n| cpus.is_multiple_of(*n)).collect();
    let fitting = |of: u32| -> Vec<u32> {
        let fits = |n: &&u32| of.is_multiple_of(**n);
        divisors.iter().filter(fits).copied().collect()
    };
    let per_node = random.one_of(&divisors);
    let per_llc = random.one_of(&fitting(per_node));
    let siblings = plan.has(Feature::Smt) && per_llc.is_multiple_of(2);
    Topology::regular("swarm", cpus, 1 + u32::from(siblings), per_llc, per_node)
}

fn costs(random: &mut Random) -> Costs {
    Costs {
        switch: random.one_of(&[0, 1200]),
        idle_exit: match one_in(random, 2) {
            true => vec![(20 * MICROSECOND, MICROSECOND), (MILLISECOND, 50_000)],
            false => Vec::new(),
        },
        refill: random.one_of(&[[0; 5], [0, 10, 20, 60, 100]]),
        worker_footprint: random.one_of(&[0, 64]),
        call: random.one_of(&[0, 0, 300]),
        ..Costs::default()
    }
}

/// Signals on a fast machine. They take some time, or canaries and tick would wake each other for
/// ever within an instant.
const CHEAP: SignalCosts = SignalCosts {
    yielding: 100,
    round: MICROSECOND,
    look: 200,
};

fn signals(plan: &Plan, random: &mut Random) -> UserSignals {
    let mut drawn = |feature, list: &[Nanos]| match plan.has(feature) {
        true => random.one_of(list),
        false => 0,
    };
    UserSignals {
        canaries: !plan.has(Feature::NoCanaries),
        hints: plan.has(Feature::Hints),
        tick: drawn(Feature::FixedTick, &[0, MILLISECOND, 10 * MILLISECOND]),
        late: drawn(
            Feature::LateReports,
            &[10_000, MILLISECOND, 10 * MILLISECOND],
        ),
        lost: drawn(Feature::LostReports, &[10, 300, 1000]) as u32,
        spurious: drawn(Feature::SpuriousReports, &[10, 300, 1000]) as u32,
        unseen: drawn(Feature::Unseen, &[300, 1000, 1000]) as u32,
        cpu_told: drawn(Feature::Unseen, &[0, 1]) == 0,
        costs: match drawn(Feature::Costs, &[0, 1]) {
            0 => SignalCosts::default(),
            _ => CHEAP,
        },
    }
}
