//! The queues that rooms share, and who may wait for whom.
//!
//! A program that waits in a circle through foreign locks, or through queues of different
//! attributes, hangs by its own fault. So items wait upwards: an item of one level waits for items
//! of queues of its own level, which share a pool, and of higher ones. Queues that are loose have
//! limits, attributes and states that change; items do not wait for theirs, but threads do.

use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use cmwq::{AffinityScope, Stacking, Work, Workqueue};

use crate::plan::Plan;
use crate::rng::Rng;

/// Of the queues of the second level, which is how they have a pool of their own.
pub(crate) const NICE: i32 = 2;

/// The least level that an item may wait for.
pub(crate) type Level = u8;

struct World {
    /// With their levels, which ascend.
    nested: Vec<(Level, Workqueue)>,
    loose: Vec<Workqueue>,
    shared: Work,
}

static WORLD: OnceLock<World> = OnceLock::new();

/// Chooses, for whoever has no numbers of its own.
static TURN: AtomicUsize = AtomicUsize::new(0);

/// Makes the queues, once in a process.
pub(crate) fn make(plan: &Plan) {
    let mut rng = Rng::new(plan.seed ^ 0x51);
    let world = World {
        nested: nested_queues(plan, &mut rng),
        loose: loose_queues(&mut rng),
        shared: Work::new(crate::books::step),
    };
    assert!(WORLD.set(world).is_ok(), "once");
}

fn nested_queues(plan: &Plan, rng: &mut Rng) -> Vec<(Level, Workqueue)> {
    let build = |name: &str| Workqueue::builder(name);
    // With few threads, a queue that has pools for several parts of the machine would wait for
    // itself.
    let unmanaged = match plan.thread_limit {
        None => build("unmanaged").unmanaged(),
        Some(_) => build("unmanaged")
            .unmanaged()
            .affinity_scope(AffinityScope::System),
    };
    let mut limit = || 1 + rng.below(4);
    let mut queues = vec![
        (0, build("plain")),
        (0, build("narrow").max_active(limit())),
        (0, build("one-by-one").ordered()),
        (
            0,
            build("claim").max_active(limit()).stacking(Stacking::Claim),
        ),
        (
            0,
            build("ordered-claim").ordered().stacking(Stacking::Claim),
        ),
        (0, build("rescued").max_active(limit()).mem_reclaim()),
        (1, build("nice").nice(NICE).max_active(limit())),
        (1, build("nice-claim").nice(NICE).stacking(Stacking::Claim)),
        (2, unmanaged.max_active(limit())),
    ];
    if plan.thread_limit.is_none() {
        // Of several pools on one level: with few threads these would wait for each other.
        queues.push((3, build("percpu").percpu()));
    }
    let built = queues
        .into_iter()
        .map(|(level, builder)| (level, builder.build()));
    built
        .filter_map(|(level, queue)| Some((level, queue.ok()?)))
        .collect()
}

fn loose_queues(rng: &mut Rng) -> Vec<Workqueue> {
    let build = |name: &str| Workqueue::builder(name);
    let builders = [
        build("wanders").max_active(1 + rng.below(8)),
        build("freezes").freezable(),
        build("percpu-one").percpu().max_active(1),
        build("bh").bh(),
        build("freezes-in-order").ordered().freezable(),
        build("hogs").percpu().cpu_intensive(),
        build("strict").cpus([0]).affinity_strict(true),
    ];
    builders
        .into_iter()
        .filter_map(|builder| builder.build().ok())
        .collect()
}

fn world() -> &'static World {
    WORLD.get().expect("it was made first")
}

fn turn() -> usize {
    TURN.fetch_add(1, SeqCst)
}

/// A queue for whose items an item of this level may wait, and the level of its items.
pub(crate) fn nested(level: Level, salt: usize) -> (&'static Workqueue, Level) {
    let queues = &world().nested;
    let first = queues.partition_point(|(of, _)| *of < level);
    let may = match first < queues.len() {
        true => &queues[first..],
        // There is none on the last level.
        false => &queues[queues.len() - 1..],
    };
    let (level, queue) = &may[(turn() + salt) % may.len()];
    (queue, *level)
}

/// A queue whose items may wait for those of all nested ones.
pub(crate) fn ground() -> &'static Workqueue {
    let queues = &world().nested;
    let ground = queues.partition_point(|(level, _)| *level == 0);
    &queues[turn() % ground].1
}

/// One of those that are waited for from outside only.
pub(crate) fn loose(salt: usize) -> &'static Workqueue {
    let queues = &world().loose;
    &queues[(turn() + salt) % queues.len()]
}

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = &'static Workqueue> {
    let world = WORLD.get().into_iter();
    world.flat_map(|world| {
        let nested = world.nested.iter().map(|(_, queue)| queue);
        nested.chain(&world.loose)
    })
}

/// An item that anybody may queue.
pub(crate) fn shared_item() -> &'static Work {
    &world().shared
}
