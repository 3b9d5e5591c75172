//! What can be turned while others work: limits, attributes, the freezer, thresholds, CPUs.

use std::time::Duration;

use cmwq::{AffinityScope, Attrs, Workqueue, freezer};

use super::Player;
use crate::hostile::masks;
use crate::rng::Rng;
use crate::world::{self, NICE};

pub(super) fn play(player: &mut Player) {
    let what = player.rng.below(10);
    player.does(&format!("turns knob {what}"));
    // These move queues to other pools, one after the other: of queues whose items wait for each
    // other some are in one pool, and some in another. With few threads in each, that may be a
    // circle which cmwq does not see.
    let moves = player.plan.thread_limit.is_none();
    let rng = &mut player.rng;
    match what {
        0 | 1 => limits(rng),
        2 | 3 => attrs(rng, world::loose(rng.clone().below(8)), moves),
        4 => freeze(rng),
        5 if moves => scope(rng),
        6 if moves => unbound(rng),
        7 => masks::change(rng),
        8 => look(rng),
        _ => thresholds(rng),
    }
    std::thread::sleep(Duration::from_micros(rng.below(3000) as u64));
}

/// Also of queues whose items wait for each other: such waits may fail, and do not hang.
fn limits(rng: &mut Rng) {
    let all: Vec<_> = world::all().collect();
    let queue = all[rng.below(all.len())];
    queue.set_max_active(1 + rng.below(12));
    queue.set_min_active(rng.below(4));
}

/// With few threads it `shares` no pool with queues of a higher level, whose items its own wait
/// for: these would have the threads that those need.
fn attrs(rng: &mut Rng, queue: &Workqueue, shares: bool) {
    let mut attrs: Attrs = queue.attrs();
    let nice = rng.below(4) as i32;
    attrs.nice = if nice == NICE && !shares {
        NICE - 1
    } else {
        nice
    };
    attrs.cpus = rng.one_in(2).then(|| vec![rng.below(2)]);
    attrs.affinity_strict = rng.one_in(2);
    attrs.affinity_scope = (!rng.one_in(3)).then(|| any_scope(rng));
    // Some kinds have none.
    let _ = queue.apply_attrs(&attrs);
}

fn any_scope(rng: &mut Rng) -> AffinityScope {
    AffinityScope::ALL[rng.below(AffinityScope::ALL.len())]
}

/// Whoever freezes waits for nothing before the thaw.
fn freeze(rng: &mut Rng) {
    freezer::freeze();
    for _ in 0..rng.below(20) {
        if !freezer::is_busy() {
            break;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    freezer::thaw();
}

fn scope(rng: &mut Rng) {
    let _ = cmwq::set_default_affinity_scope(any_scope(rng));
}

fn unbound(rng: &mut Rng) {
    let mask = match rng.below(3) {
        0 => vec![0],
        1 => vec![1],
        _ => (0..1024).collect(),
    };
    let _ = cmwq::set_unbound_cpus(&mask);
}

fn look(rng: &mut Rng) {
    match rng.below(4) {
        0 => drop(cmwq::stats()),
        1 => cmwq::look(),
        2 => world::all().for_each(|queue| drop(queue.counts())),
        _ => world::all().for_each(|queue| _ = queue.is_congested(None)),
    }
}

/// Reports come soon, and so do those that are wrong.
fn thresholds(rng: &mut Rng) {
    cmwq::set_watchdog_threshold(Duration::from_millis(1 + rng.below(50) as u64));
    cmwq::set_cpu_intensive_threshold(Duration::from_micros(100 + rng.below(5000) as u64));
}

/// As it should be at the end.
pub(crate) fn rest() {
    freezer::thaw();
    let all: Vec<usize> = (0..1024).collect();
    let _ = cmwq::set_unbound_cpus(&all);
    masks::rest();
}
