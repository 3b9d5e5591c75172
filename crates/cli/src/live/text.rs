//! A look at a process as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use cmwq_stats::{Pool, Queue, Snapshot, Worker};

use super::children;
use super::shares::{Share, Shares};
use super::target::Seen;

const QUEUES: &str = "QUEUE                KIND       MAX   ACT   RUN    WAIT   STARTED      DONE CPUHOG \
                      CMWAKE MAYDAY RESCUED WAIT50 WAIT99  RUN50  RUN99";
const POOLS: &str = "POOL KIND      CPUS         NICE TARGET WORKERS  IDLE RUNNING  QUEUED  CANARY    TICK \
                     BACK  CONVOY  REPAT";
const CHILDREN: &str = "PID         AGE COMPUTED DOING                                    COMMAND";

/// Writing to a string does not fail.
macro_rules! line {
    ($to:expr, $($text:tt)*) => { let _ = writeln!($to, $($text)*); };
}

/// Queues with what waits and why, and pools.
pub(super) fn top(seen: &Seen, before: Option<&Seen>) -> String {
    let mut out = head(seen);
    line!(out, "\n{QUEUES}");
    for queue in &seen.snapshot.queues {
        of_queue(&mut out, queue);
        if let Some(rate) = before.and_then(|before| rate(queue, before, seen)) {
            line!(out, "    {rate:.0} items/s");
        }
        why(&mut out, queue, seen);
    }
    line!(out, "\n{POOLS}");
    seen.snapshot
        .pools
        .iter()
        .for_each(|pool| of_pool(&mut out, pool));
    of_children(&mut out, seen.pid);
    out
}

/// The children of a process and what each waits for; these are the jobs of a `cmwq run`.
fn of_children(out: &mut String, pid: u32) {
    let children = children::of(pid);
    if children.is_empty() {
        return;
    }
    line!(out, "\n{CHILDREN}");
    for child in children {
        line!(
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

/// The same, with the settings of queues and what each worker does.
pub(super) fn dump(seen: &Seen, shares: &Shares) -> String {
    let mut out = top(seen, None);
    line!(out, "\nSettings:");
    for queue in &seen.snapshot.queues {
        line!(out, "  {}", settings(queue));
    }
    line!(out, "\nWorkers:");
    for pool in &seen.snapshot.pools {
        for worker in &pool.busy {
            of_worker(&mut out, pool, worker, seen);
            // Of those that wait for something else nobody wants to know.
            if let Some(share) = shares.get(&worker.tid).filter(|share| share.is_busy()) {
                line!(out, "    {}", share.words());
            }
        }
    }
    out
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
    line!(
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
    let pools = seen.snapshot.pools.iter();
    for pool in pools.filter(|pool| queue.pools.contains(&pool.id)) {
        decisions(out, pool);
    }
}

/// Says so if workers of the queue do not get the CPUs that they want.
fn starved(out: &mut String, queue: &Queue, seen: &Seen, shares: &Shares) {
    for pool in &seen.snapshot.pools {
        let of_queue = pool.busy.iter().filter(|worker| worker.queue == queue.id);
        let shares = of_queue.filter_map(|worker| shares.get(&worker.tid));
        let starved: Vec<&Share> = shares.filter(|share| share.is_starved()).collect();
        if let Some(worst) = starved.iter().max_by_key(|share| share.waited) {
            line!(
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
    line!(
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
    for decision in decisions {
        line!(
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
    } = seen;
    let mut out = format!(
        "cmwq: process {pid} ({}), {}, {} queues, {} pools\n",
        clean(command),
        cpus(snapshot),
        snapshot.queues.len(),
        snapshot.pools.len()
    );
    if let Some(run) = run {
        line!(out, "cmwq run: {}", run.words());
    }
    if let Some(why) = stale {
        line!(
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
    let time = |time: Option<u64>| time.map_or("-".into(), short);
    line!(
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
    for wait in &queue.waits {
        line!(out, "    {} wait: {}", wait.items, clean(&wait.why));
    }
    let Snapshot {
        spawn_failures: failures,
        spawn_error: error,
        ..
    } = &seen.snapshot;
    if *failures > 0 {
        line!(
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
    let waits = |worker: &&Worker| worker.queue == queue.id && !worker.awaits.is_empty();
    let pools = seen.snapshot.pools.iter();
    for worker in pools.flat_map(|pool| &pool.busy).filter(waits) {
        let (items, longest) = by_awaited.entry(&worker.awaits).or_default();
        *items += 1;
        *longest = worker.since.max(*longest);
    }
    for (awaits, (items, longest)) in by_awaited {
        line!(
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
    let pools = seen.snapshot.pools.iter();
    for worker in pools
        .flat_map(|pool| &pool.busy)
        .filter(|w| w.queue == queue.id)
    {
        let (items, longest) = by_item.entry(&worker.item).or_default();
        *items += 1;
        *longest = worker.since.max(*longest);
    }
    for (item, (items, longest)) in by_item {
        line!(
            out,
            "    {items} executed: {}, for {} at most",
            item_name(item),
            short(longest)
        );
    }
}

/// Items begun per second between two looks.
pub(super) fn rate(queue: &Queue, before: &Seen, now: &Seen) -> Option<f64> {
    let earlier = before.snapshot.queues.iter().find(|q| q.id == queue.id)?;
    let passed = now
        .snapshot
        .at
        .checked_sub(before.snapshot.at)
        .filter(|&ns| ns > 0)?;
    let begun = queue.started.checked_sub(earlier.started)?;
    Some(begun as f64 * 1e9 / passed as f64)
}

fn of_pool(out: &mut String, pool: &Pool) {
    line!(
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

pub(super) fn of_worker(out: &mut String, pool: &Pool, worker: &Worker, seen: &Seen) {
    let _ = write!(
        out,
        "  pool {} thread {} executes {} of queue \"{}\" for {}",
        pool.id,
        worker.tid,
        item_name(&worker.item),
        clean(&worker.queue_name),
        short(worker.since)
    );
    if !worker.desc.is_empty() {
        let _ = write!(out, " ({})", clean(&worker.desc));
    }
    if !worker.awaits.is_empty() {
        let _ = write!(out, ", and waits for {}", clean(&worker.awaits));
    }
    let others = beside(worker, seen);
    if others > 0 {
        let _ = write!(out, ", with {others} others at the same futex");
    }
    for (number, place) in worker.place.lines().enumerate() {
        let lead = if number == 0 { "; it " } else { "\n    " };
        let _ = write!(out, "{lead}{}", clean(place.trim_start()));
    }
    out.push('\n');
}

/// How many other workers sleep at the futex that this one sleeps at.
fn beside(worker: &Worker, seen: &Seen) -> usize {
    let Some(futex) = futex_of(worker) else {
        return 0;
    };
    let all = seen.snapshot.pools.iter().flat_map(|pool| &pool.busy);
    let there = all.filter(|other| futex_of(other) == Some(futex)).count();
    there.saturating_sub(1)
}

fn futex_of(worker: &Worker) -> Option<&str> {
    let call = worker.place.strip_prefix("sleeps in futex(")?;
    call.split_once(',').map(|(address, _)| address)
}

/// A time in at most six characters.
pub(super) fn short(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns}ns"),
        1_000..1_000_000 => format!("{}us", ns / 1_000),
        1_000_000..10_000_000_000 => format!("{}ms", ns / 1_000_000),
        _ => format!("{}s", ns / 1_000_000_000),
    }
}

/// The name of an item's function: that of a closure is the name of the function it is in.
pub(super) fn item_name(name: &str) -> String {
    clean(name.trim_end_matches("::{{closure}}"))
}

/// What another process says, fit for a terminal: no control characters, and none that reverse or
/// hide others.
pub(super) fn clean(text: &str) -> String {
    let shown = |c: char| match c.is_control() || is_unseen(c) {
        true => '\u{fffd}',
        false => c,
    };
    text.chars().map(shown).collect()
}

/// Characters that take no room: marks of direction, joiners, tags, other line ends.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmwq_stats::WaitReason;

    fn seen(queue: Queue, busy: Vec<Worker>) -> Seen {
        Seen {
            pid: 1,
            command: "made up".into(),
            snapshot: Snapshot {
                queues: vec![queue],
                pools: vec![Pool {
                    busy,
                    ..Pool::default()
                }],
                ..Snapshot::default()
            },
            stale: None,
            run: None,
        }
    }

    #[test]
    fn what_a_process_says_cannot_command_the_terminal() {
        let evil = "\x1b[2J\r\n\u{9b}\u{202e}\u{200b}name";
        let queue = Queue {
            name: evil.into(),
            waits: vec![
                WaitReason {
                    items: u64::MAX,
                    why: evil.into()
                };
                2
            ],
            ..Queue::default()
        };
        let worker = Worker {
            item: evil.into(),
            place: evil.into(),
            ..Worker::default()
        };
        let text = dump(&seen(queue, vec![worker]), &Shares::new());
        let commands = ['\x1b', '\r', '\u{9b}', '\u{202e}', '\u{200b}'];
        assert!(!text.contains(commands), "{text}");
    }

    #[test]
    fn who_sleeps_at_one_futex_is_counted() {
        let at = |place: &str| Worker {
            place: place.into(),
            ..Worker::default()
        };
        let busy = vec![
            at("sleeps in futex(0x10, 0x1)"),
            at("sleeps in futex(0x10, 0x2)"),
            at("sleeps in futex(0x1, 0x2)"),
            at("runs, or waits for a CPU"),
        ];
        let text = dump(&seen(Queue::default(), busy), &Shares::new());
        assert_eq!(
            text.matches("with 1 others at the same futex").count(),
            2,
            "{text}"
        );
    }

    #[test]
    fn times_are_short() {
        for (ns, text) in [
            (0, "0ns"),
            (1_500, "1us"),
            (9_999_999_999, "9999ms"),
            (10_000_000_000, "10s"),
        ] {
            assert_eq!(short(ns), text);
        }
    }
}
