//! A look at a process as text.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;

use cmwq_stats::{Lately, Pool, Queue, Snapshot};

use super::children;
use super::shares::{Share, Shares};
use super::target::Seen;
use super::words::{below, clean, item_name, short};

const QUEUES: &str = "QUEUE                KIND       MAX   ACT   RUN    WAIT   STARTED      DONE CPUHOG \
                      CMWAKE MAYDAY RESCUED WAIT50 WAIT99  RUN50  RUN99";
const POOLS: &str = "POOL KIND      CPUS         NICE TARGET WORKERS  IDLE RUNNING  QUEUED  CANARY    TICK \
                     BACK  CONVOY  REPAT";
const LATELY: &str =
    "FUNCTION                                 QUEUE                POOL  CPU%   ITEMS   MOST";
const CHILDREN: &str = "PID         AGE COMPUTED DOING                                    COMMAND";

/// Queues, pools, workers that are shown; a hostile page could have millions.
const MOST: usize = 10_000;
/// Functions that are named among those that had most CPU time lately.
const MOST_LATELY: usize = 10;
/// A process tells of fewer.
const ALL_LATELY: usize = 64;
/// Lists of a page, such as what waits in a queue, are cut there.
const MOST_BELOW: usize = 100;
/// Whoever had less of a CPU than that, in percent, has kept nobody from it.
const SOME_CPU: u64 = 5;

/// Writing to a string does not fail.
macro_rules! add {
    ($to:expr, $($text:tt)*) => { let _ = writeln!($to, $($text)*); };
}
pub(super) use add;

/// Says how many were left out.
pub(super) fn left_out(out: &mut String, all: usize, most: usize) {
    if all > most {
        add!(out, "... and {} more, which --json has", all - most);
    }
}

/// Queues with what waits and why, pools, and who had the CPUs lately.
pub(super) fn top(seen: &Seen, before: Option<&Seen>) -> String {
    let mut out = head(seen);
    let (queues, pools) = (&seen.snapshot.queues, &seen.snapshot.pools);
    add!(out, "\n{QUEUES}");
    for queue in queues.iter().take(MOST) {
        of_queue(&mut out, queue);
        if let Some(rate) = before.and_then(|before| rate(queue, before, seen)) {
            add!(out, "    {rate:.0} items/s");
        }
        why(&mut out, queue, seen);
        if queue.waiting() > 0 {
            kept(&mut out, queue, seen, 1);
        }
    }
    left_out(&mut out, queues.len(), MOST);
    add!(out, "\n{POOLS}");
    for pool in pools.iter().take(MOST) {
        of_pool(&mut out, pool);
    }
    left_out(&mut out, pools.len(), MOST);
    lately(&mut out, seen);
    of_children(&mut out, seen.pid);
    out
}

/// The functions that have had the CPUs lately.
fn lately(out: &mut String, seen: &Seen) {
    let Snapshot {
        lately, lately_ns, ..
    } = &seen.snapshot;
    if lately.is_empty() {
        return;
    }
    add!(
        out,
        "\nCPU time of items that ended in the last {}:\n{LATELY}",
        short(*lately_ns)
    );
    for had in lately.iter().take(MOST_LATELY) {
        add!(
            out,
            "{:<40} {:<20} {:>4} {:>4}% {:>7} {:>6}",
            item_name(&had.item),
            queue_of(had),
            had.pool,
            percent(had, seen),
            had.items,
            short(had.most_ns)
        );
    }
}

fn queue_of(had: &Lately) -> String {
    match had.queue_name.as_str() {
        "" => "(has ended)".into(),
        name => clean(name),
    }
}

/// Of one CPU.
pub(super) fn percent(had: &Lately, seen: &Seen) -> u64 {
    let span = u128::from(seen.snapshot.lately_ns.max(1));
    let percent = u128::from(had.cpu_ns) * 100 / span;
    percent.try_into().unwrap_or(u64::MAX)
}

/// Whose items have had the CPUs of this queue's pools lately, in words.
pub(super) fn kept(out: &mut String, queue: &Queue, seen: &Seen, most: usize) {
    let pools: HashSet<u32> = queue.pools.iter().copied().collect();
    let here = |had: &&Lately| pools.contains(&had.pool) && percent(had, seen) >= SOME_CPU;
    let lately = seen.snapshot.lately.iter().take(ALL_LATELY);
    for had in lately.filter(here).take(most) {
        let whose = match had.queue == queue.id {
            true => String::new(),
            false => format!(" of queue \"{}\"", queue_of(had)),
        };
        add!(
            out,
            "    in the last {} {}{whose} had {} % of a CPU: {} items ended, one had {}",
            short(seen.snapshot.lately_ns),
            item_name(&had.item),
            percent(had, seen),
            had.items,
            short(had.most_ns)
        );
    }
}

/// The children of a process and what each waits for; these are the jobs of a `cmwq run`.
fn of_children(out: &mut String, pid: u32) {
    let children = children::of(pid);
    if children.is_empty() {
        return;
    }
    add!(out, "\n{CHILDREN}");
    for child in children {
        add!(
            out,
            "{:<7} {:>7} {:>8} {:<40} {}",
            child.pid,
            short(child.age),
            short(child.computed),
            clean(&child.doing),
            clean(&child.command)
        );
    }
}

/// Why so many, or so few, workers run for a queue: the last decisions first.
pub(super) fn explain(queue: &Queue, seen: &Seen, shares: &Shares) -> String {
    let mut out = head(seen);
    explanation(&mut out, queue, seen);
    starved(&mut out, queue, seen, shares);
    out
}

/// The same without the line about the process.
pub(super) fn explanation(out: &mut String, queue: &Queue, seen: &Seen) {
    add!(
        out,
        "queue \"{}\" ({}): {} of {} slots taken, {} items executed, {} wait",
        clean(&queue.name),
        clean(&queue.kind),
        queue.active,
        queue.max_active,
        queue.executing,
        queue.waiting()
    );
    why(out, queue, seen);
    times(out, queue);
    kept(out, queue, seen, MOST_LATELY);
    let of_queue: HashSet<u32> = queue.pools.iter().copied().collect();
    let pools = seen.snapshot.pools.iter();
    let pools = pools.filter(|pool| of_queue.contains(&pool.id));
    for pool in pools.take(MOST) {
        decisions(out, pool);
    }
}

/// How long its items have waited and run, since it was made.
fn times(out: &mut String, queue: &Queue) {
    let of = |sum: u64, count: u64, half: Option<u64>, most: Option<u64>| {
        let mean = sum.checked_div(count)?;
        let (half, most) = (below(half?), below(most?));
        Some(format!(
            "{} on average, half of them {half}, 99 of 100 {most}",
            short(mean)
        ))
    };
    let Queue {
        started, completed, ..
    } = *queue;
    if let Some(waited) = of(queue.waited_ns, started, queue.waited(50), queue.waited(99)) {
        add!(out, "    since it was made items waited {waited}");
    }
    if let Some(ran) = of(queue.ran_ns, completed, queue.ran(50), queue.ran(99)) {
        add!(out, "    and ran {ran}");
    }
}

/// Says so if workers of the queue do not get the CPUs that they want.
fn starved(out: &mut String, queue: &Queue, seen: &Seen, shares: &Shares) {
    for pool in &seen.snapshot.pools {
        let of_queue = pool.busy.iter().filter(|worker| worker.queue == queue.id);
        let shares = of_queue.filter_map(|worker| shares.get(&worker.tid));
        let starved: Vec<&Share> = shares.filter(|share| share.is_starved()).collect();
        if let Some(worst) = starved.iter().max_by_key(|share| share.waited) {
            add!(
                out,
                "too little of CPUs {} for {} of its workers at nice {}, as others run there: {}",
                clean(&pool.cpus),
                starved.len(),
                pool.nice,
                worst.words()
            );
        }
    }
}

/// What a pool decided last about starting a worker, the latest first.
pub(super) fn decisions(out: &mut String, pool: &Pool) {
    add!(
        out,
        "pool {} ({}, CPUs {}): {} workers run of {} that it aims at, {} threads",
        pool.id,
        clean(&pool.kind),
        clean(&pool.cpus),
        pool.running,
        pool.target,
        pool.workers
    );
    let mut decisions: Vec<_> = pool.decisions.iter().collect();
    decisions.sort_by_key(|decision| decision.ago);
    for decision in decisions.into_iter().take(MOST_BELOW) {
        add!(
            out,
            "    {} ago: {}: {} ({} ran, {} items waited; {} times so far)",
            short(decision.ago),
            clean(&decision.cause),
            clean(&decision.outcome),
            decision.running,
            decision.spare,
            decision.times
        );
    }
}

/// What `cmwq set` can change, and its name.
pub(super) fn settings(queue: &Queue) -> String {
    let cpumask = match queue.cpumask.as_str() {
        "" => "all",
        list => list,
    };
    let (name, cpumask) = (clean(&queue.name), clean(cpumask));
    let may = if queue.sysfs {
        ""
    } else {
        " (cannot be set: built without sysfs())"
    };
    format!(
        "\"{name}\" id:{} max_active={} min_active={} nice={} affinity_scope={} affinity_strict={} \
         cpumask={cpumask}{may}",
        queue.id,
        queue.max_active,
        queue.min_active,
        queue.nice,
        clean(&queue.affinity_scope),
        u8::from(queue.affinity_strict),
    )
}

pub(super) fn head(seen: &Seen) -> String {
    let Seen {
        pid,
        command,
        snapshot,
        stale,
        run,
        ..
    } = seen;
    let mut out = format!(
        "cmwq: process {pid} ({}), {}, {} queues, {} pools\n",
        clean(command),
        cpus(snapshot),
        snapshot.queues.len(),
        snapshot.pools.len()
    );
    if let Some(run) = run {
        add!(out, "cmwq run: {}", run.words());
    }
    if let Some(why) = stale {
        add!(
            out,
            "This is what it showed last, not what it does now: {}",
            clean(why)
        );
    }
    out
}

/// What it can keep busy, and why that is less than it may use.
fn cpus(snapshot: &Snapshot) -> String {
    let Snapshot {
        cpus,
        allowed,
        quota_milli_cpus: milli,
        ..
    } = snapshot;
    match milli {
        0 => format!("{cpus} CPUs"),
        _ => format!(
            "{cpus} of {allowed} CPUs, as a cgroup's quota is {}.{:03} CPUs",
            milli / 1000,
            milli % 1000
        ),
    }
}

fn of_queue(out: &mut String, queue: &Queue) {
    let time = |time: Option<u64>| time.map_or("-".into(), below);
    add!(
        out,
        "{:<20} {:<9} {:>4} {:>5} {:>5} {:>7} {:>9} {:>9} {:>6} {:>6} {:>6} {:>7} {:>6} {:>6} {:>6} {:>6}",
        clean(&queue.name),
        clean(&queue.kind),
        queue.max_active,
        queue.active,
        queue.executing,
        queue.waiting(),
        queue.started,
        queue.completed,
        queue.cpu_intensive,
        queue.cm_wakeup,
        queue.mayday,
        queue.rescued,
        time(queue.waited(50)),
        time(queue.waited(99)),
        time(queue.ran(50)),
        time(queue.ran(99)),
    );
}

/// Why items of the queue wait, and what those are at that run.
pub(super) fn why(out: &mut String, queue: &Queue, seen: &Seen) {
    awaited(out, queue, seen);
    if queue.waiting() == 0 {
        return;
    }
    for wait in queue.waits.iter().take(MOST_BELOW) {
        add!(out, "    {} wait: {}", wait.items, clean(&wait.why));
    }
    let Snapshot {
        spawn_failures: failures,
        spawn_error: error,
        ..
    } = &seen.snapshot;
    if *failures > 0 {
        add!(
            out,
            "    {failures} threads could not be made so far, the last one: {}",
            clean(error)
        );
    }
    executed(out, queue, seen);
}

/// What items of the queue that are being executed wait for, in calls of the library.
fn awaited(out: &mut String, queue: &Queue, seen: &Seen) {
    let mut by_awaited = BTreeMap::<&str, (u64, u64)>::new();
    let busy = seen.busy_of(queue.id).map(|(_, worker)| worker);
    for worker in busy.filter(|worker| !worker.awaits.is_empty()) {
        let (items, longest) = by_awaited.entry(&worker.awaits).or_default();
        *items += 1;
        *longest = worker.since.max(*longest);
    }
    for (awaits, (items, longest)) in by_awaited.into_iter().take(MOST_BELOW) {
        add!(
            out,
            "    {items} executed wait for {}, begun {} ago at most",
            clean(awaits),
            short(longest)
        );
    }
}

/// What items of the queue are being executed, by function.
pub(super) fn executed(out: &mut String, queue: &Queue, seen: &Seen) {
    let mut by_item = BTreeMap::<&str, (u64, u64)>::new();
    for (_, worker) in seen.busy_of(queue.id) {
        let (items, longest) = by_item.entry(&worker.item).or_default();
        *items += 1;
        *longest = worker.since.max(*longest);
    }
    for (item, (items, longest)) in by_item.into_iter().take(MOST_BELOW) {
        add!(
            out,
            "    {items} executed: {}, for {} at most",
            item_name(item),
            short(longest)
        );
    }
}

/// Items begun per second between two looks.
pub(super) fn rate(queue: &Queue, before: &Seen, now: &Seen) -> Option<f64> {
    let earlier = before.queue(queue.id)?;
    let passed = now
        .snapshot
        .at
        .checked_sub(before.snapshot.at)
        .filter(|&ns| ns > 0)?;
    let begun = queue.started.checked_sub(earlier.started)?;
    Some(begun as f64 * 1e9 / passed as f64)
}

fn of_pool(out: &mut String, pool: &Pool) {
    add!(
        out,
        "{:<4} {:<9} {:<12} {:>4} {:>6} {:>7} {:>5} {:>7} {:>7} {:>7} {:>7} {:>4} {:>7} {:>6}",
        pool.id,
        clean(&pool.kind),
        clean(&pool.cpus),
        pool.nice,
        pool.target,
        pool.workers,
        pool.idle,
        pool.running,
        pool.queued,
        pool.canary_starts,
        pool.tick_starts,
        pool.step_backs,
        pool.convoy_step_backs,
        pool.repatriated,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::rig::{queue, seen, worker};

    #[test]
    fn a_function_that_had_the_cpu_lately_is_named_where_items_wait() {
        let mut seen = seen();
        let had = |item: &str, pool, cpu_ns| Lately {
            item: item.into(),
            queue: 7,
            queue_name: "tables".into(),
            pool,
            items: 3,
            cpu_ns,
            most_ns: 300_000_000,
        };
        seen.snapshot.lately_ns = 9_000_000_000;
        seen.snapshot.lately = vec![
            had("elsewhere", 5, 4_500_000_000),
            had("rebuild", 0, 900_000_000),
            had("small", 0, 90_000_000),
        ];
        // Nothing is executed: it is between two items.
        seen.snapshot.pools[0].busy.clear();
        let shown = top(&seen, None);
        let why = "in the last 9000ms rebuild of queue \"tables\" had 10 % of a CPU: 3 items ended, \
                   one had 300ms";
        assert!(shown.contains(why), "{shown}");
        assert_eq!(shown.matches("elsewhere").count(), 1, "{shown}");
        let line = shown.lines().find(|line| line.starts_with("elsewhere"));
        assert!(line.is_some_and(|line| line.contains("  50% ")), "{shown}");
        for waiting in [0, 3] {
            let explained = explain(&queue(2, "mail", waiting), &seen, &Shares::new());
            assert_eq!(explained.matches(why).count(), 1, "{explained}");
            assert!(!explained.contains("small"), "{explained}");
        }
    }

    #[test]
    fn times_of_a_histogram_are_said_as_what_they_are() {
        let mut counts = vec![0; cmwq_stats::BUCKETS];
        counts[29] = 4;
        let slow = Queue {
            ran: counts,
            ran_ns: 4 * 300_000_000,
            completed: 4,
            ..queue(1, "slow", 0)
        };
        let mut seen = seen();
        seen.snapshot.queues = vec![slow];
        let explained = explain(&seen.snapshot.queues[0], &seen, &Shares::new());
        let ran = "and ran 300ms on average, half of them <537ms, 99 of 100 <537ms";
        assert!(explained.contains(ran), "{explained}");
        assert!(top(&seen, None).contains(" <537ms <537ms\n"));
    }

    #[test]
    fn who_is_executed_is_said_by_queue() {
        let mut seen = seen();
        seen.snapshot.pools[0].busy = vec![worker(1, "send"), worker(2, "send")];
        let shown = top(&seen, None);
        assert!(shown.contains("2 executed: send, for 5ms"), "{shown}");
    }
}
