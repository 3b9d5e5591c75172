//! What the page shows: queues, pools, and what workers do. All of it is asked of the core.

use cmwq_os::{clock, inspect};
use cmwq_policy::contract::{self, Machine};
use cmwq_policy::lately::{Had, Whose};
use cmwq_policy::pool::{Waits, WorkerPool};
use cmwq_policy::queue::Kind;
use cmwq_policy::{CpuMask, Rule, Time};
use cmwq_stats::{
    Decision, Lately, Pool as ShownPool, Queue as ShownQueue, Snapshot, WaitReason, Worker,
};

use crate::engine::Engine;
use crate::item::Header;
use crate::pool::Pool;
use crate::queue::Queue;
use crate::queue::pwq::{Items, queue_of};
use crate::report::{Awaited, StalledWorker};
use crate::threads::stall;

/// What the process shows now. `places`: also where each thread that executes an item is.
pub(crate) fn take(engine: &'static Engine, socket: &str, places: bool) -> Snapshot {
    let (queues, cpus) = (engine.queues(), engine.cpus());
    let mut snapshot = Snapshot {
        at: clock::now().0,
        socket: socket.to_owned(),
        cpus: cpus.target as u32,
        allowed: cpus.mask.count() as u32,
        quota_milli_cpus: cpus.quota.map_or(0, |quota| quota.milli_cpus()),
        spawn_failures: engine.spawn_failures(),
        spawn_error: engine
            .spawn_error()
            .map_or(String::new(), |error| error.to_string()),
        queues: queues.iter().map(|queue| of_queue(queue)).collect(),
        pools: engine.pools().map(of_pool).collect(),
        ..Snapshot::default()
    };
    (snapshot.lately_ns, snapshot.lately) = lately(engine, &snapshot.queues);
    if places {
        // This reads files, so no pool is held.
        let busy = snapshot.pools.iter_mut().flat_map(|pool| &mut pool.busy);
        busy.for_each(|worker| worker.place = inspect::where_is(worker.tid));
    }
    snapshot
}

/// Which functions have had CPU time lately, and how much time that is about.
fn lately(engine: &Engine, queues: &[ShownQueue]) -> (u64, Vec<Lately>) {
    let (span, all) = engine.lately().at(clock::now());
    let shown = |(whose, had): (Whose, Had)| {
        let queue = queues.iter().find(|queue| queue.id == whose.queue);
        Lately {
            item: Header::name_of_func(whose.func).to_owned(),
            queue: whose.queue,
            queue_name: queue.map_or(String::new(), |queue| queue.name.clone()),
            pool: whose.pool,
            items: had.items,
            cpu_ns: had.cpu,
            most_ns: had.most,
        }
    };
    (span, all.into_iter().map(shown).collect())
}

/// What is being executed, and for how long at a time after that, which it gives as well.
pub(super) fn busy(engine: &'static Engine) -> (Vec<Worker>, Time) {
    let looked = |pool| (clock::now(), of_pool(pool).busy);
    let looked: Vec<_> = engine.pools().map(looked).collect();
    let at = clock::now();
    let aged = looked.into_iter().flat_map(|(before, busy)| {
        let more = at.since(before);
        busy.into_iter().map(move |worker| Worker {
            since: worker.since + more,
            ..worker
        })
    });
    (aged.collect(), at)
}

fn of_queue(queue: &Queue) -> ShownQueue {
    let m = queue.machine();
    let counts = contract::counts(&m, queue.this());
    let stats = contract::stats(&m, queue.this());
    let core = queue.lock_core();
    let (attrs, frozen) = (core.attrs(), core.is_frozen());
    drop(core);
    let waits = Waits::ALL.map(|why| (counts.waiting(why), words(why, queue, frozen)));
    ShownQueue {
        id: queue.id(),
        name: queue.name().to_owned(),
        kind: queue.made().kind.name().into(),
        sysfs: queue.is_sysfs(),
        frozen,
        max_active: counts.max_active,
        min_active: counts.min_active,
        nice: attrs.nice.into(),
        cpumask: attrs.cpumask.as_ref().map_or(String::new(), list),
        affinity_scope: attrs.scope.map_or("default", |scope| scope.name()).into(),
        affinity_strict: attrs.strict,
        pools: pools_of(queue),
        active: counts.nr_active,
        executing: counts.nr_executing,
        inactive: counts.nr_inactive,
        waits: reasons(&waits),
        started: stats.started(),
        completed: stats.completed(),
        cpu_intensive: stats.cpu_intensive,
        cm_wakeup: stats.cm_wakeup,
        mayday: stats.mayday,
        rescued: stats.rescued,
        waited: stats.waited.0.to_vec(),
        ran: stats.ran.0.to_vec(),
        waited_ns: stats.waited_ns,
        ran_ns: stats.ran_ns,
    }
}

/// Those for which any item waits.
fn reasons(waits: &[(u64, &str)]) -> Vec<WaitReason> {
    let any = waits.iter().filter(|(items, _)| *items > 0);
    any.map(|&(items, why)| WaitReason {
        items,
        why: why.to_owned(),
    })
    .collect()
}

/// Why items of this queue wait, in words.
fn words(why: Waits, queue: &Queue, frozen: bool) -> &'static str {
    match why {
        Waits::Limit if frozen => "the queue is frozen: nothing begins until it is thawed",
        Waits::Limit if queue.made().kind == Kind::Ordered => {
            "the queue is ordered: one item at a time"
        }
        Waits::Limit => "all slots of max_active are taken",
        _ => why.words(),
    }
}

fn pools_of(queue: &Queue) -> Vec<u32> {
    let m = queue.machine();
    let pwqs: Vec<_> = queue.lock_core().pwqs();
    let pools = pwqs.into_iter().map(|pwq| m.info(pwq).pool);
    let pools = pools.filter_map(|id| queue.engine().pool(id));
    let mut pools: Vec<u32> = pools.map(Pool::index).collect();
    pools.sort_unstable();
    pools.dedup();
    pools
}

fn rule_name(rule: Rule) -> &'static str {
    match rule {
        Rule::Managed => "managed",
        Rule::PerCpu => "percpu",
        Rule::Unmanaged => "unmanaged",
        Rule::Bh => "bh",
    }
}

/// As the kernel lists CPUs.
fn list(cpus: &CpuMask) -> String {
    cpus.to_string()
}

fn of_pool(pool: &'static Pool) -> ShownPool {
    let cpus = list(&pool.usable());
    pool.with(|core, cx| {
        let (attrs, census, stats) = (core.attrs(), core.census(), core.stats());
        ShownPool {
            id: pool.index(),
            kind: rule_name(attrs.rule).into(),
            cpus,
            nice: attrs.nice.into(),
            target: attrs.target,
            workers: census.workers,
            idle: census.idle,
            running: census.running,
            queued: core.nr_queued() as u64,
            canary_starts: stats.idle_reports,
            tick_starts: stats.tick_starts,
            step_backs: stats.step_backs,
            convoy_step_backs: stats.convoy_step_backs,
            repatriated: pool.repatriated(),
            decisions: decisions(core, cx.now),
            busy: executed(pool, core, cx.now),
        }
    })
}

/// The pool's workers that execute an item. Names are taken under its lock, while the items keep
/// their queues.
fn executed(pool: &'static Pool, core: &WorkerPool<Items>, now: Time) -> Vec<Worker> {
    let shown = core.executed().map(|(id, busy, began)| {
        let queue = queue_of(busy.pwq);
        // SAFETY: an item of it is being executed, and cannot end while the pool is held.
        let queue = unsafe { queue.as_ref() }.id();
        of_worker(stall::worker(pool, id, &busy), queue, now.since(began))
    });
    shown.collect()
}

/// What the pool has decided last.
fn decisions(core: &WorkerPool<Items>, now: Time) -> Vec<Decision> {
    let shown = core.decisions().map(|(cause, outcome, decided)| Decision {
        ago: now.since(decided.at),
        times: decided.times,
        cause: cause.into(),
        outcome: outcome.into(),
        running: decided.running,
        spare: decided.spare,
    });
    shown.collect()
}

fn of_worker(worker: StalledWorker, queue: u64, since: u64) -> Worker {
    let awaits = worker.awaits.map(|Awaited { queue, item }| match item {
        Some(item) => format!("{item} of queue \"{queue}\""),
        None => format!("items of queue \"{queue}\""),
    });
    Worker {
        tid: worker.tid,
        queue,
        queue_name: worker.queue,
        item: worker.item.to_owned(),
        since,
        desc: worker.desc.unwrap_or_default(),
        awaits: awaits.unwrap_or_default(),
        place: worker.place,
    }
}
