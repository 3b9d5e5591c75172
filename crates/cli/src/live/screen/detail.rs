//! What is said of one row, in words: in short below the rows, or in full on a page of its own.

use std::fmt::Write;

use cmwq_stats::{Pool, Queue};

use super::super::text::{self, add, percent};
use super::super::words::{clean, item_name, short};
use super::super::workers::of_worker;
use super::look::Look;
use super::table::Key;
use super::views::{View, lanes};

/// Lines that are made; a hostile page could have millions.
const MOST_LINES: usize = 10_000;

/// Below the rows.
pub(super) fn brief(view: View, key: &Key, look: &Look) -> Vec<String> {
    lines(match view {
        View::Queues => queue(key, look).map_or(String::new(), |queue| why(queue, look)),
        View::Pools => pool(key, look).map_or(String::new(), |pool| {
            let mut out = String::new();
            text::decisions(&mut out, pool);
            out
        }),
        View::Cpus | View::Functions | View::Children => full_text(view, key, look),
    })
}

/// On a page of its own.
pub(super) fn full(view: View, key: &Key, look: &Look) -> Vec<String> {
    let lines = lines(full_text(view, key, look));
    match lines.is_empty() {
        true => vec!["It is no longer there.".into()],
        false => lines,
    }
}

fn lines(text: String) -> Vec<String> {
    text.lines().take(MOST_LINES).map(str::to_owned).collect()
}

fn full_text(view: View, key: &Key, look: &Look) -> String {
    match (view, key) {
        (View::Queues, _) => queue(key, look).map_or(String::new(), |queue| of_queue(queue, look)),
        (View::Pools, _) => pool(key, look).map_or(String::new(), |pool| of_pool(pool, look)),
        (View::Cpus, Key::Number(cpu)) => of_cpu(*cpu, look),
        (View::Functions, Key::Name(name)) => of_function(name, look),
        (View::Children, Key::Number(pid)) => of_child(*pid, look),
        _ => String::new(),
    }
}

fn queue<'a>(key: &Key, look: &'a Look) -> Option<&'a Queue> {
    let mut queues = look.seen.snapshot.queues.iter();
    queues.find(|queue| Key::Number(queue.id) == *key)
}

fn pool<'a>(key: &Key, look: &'a Look) -> Option<&'a Pool> {
    let mut pools = look.seen.snapshot.pools.iter();
    pools.find(|pool| Key::Number(pool.id.into()) == *key)
}

/// Why items of the queue wait.
fn why(queue: &Queue, look: &Look) -> String {
    let mut out = String::new();
    text::why(&mut out, queue, &look.seen);
    if queue.waiting() == 0 {
        out.push_str("    nothing waits\n");
        text::executed(&mut out, queue, &look.seen);
    }
    text::kept(&mut out, queue, &look.seen, 1);
    out
}

fn of_queue(queue: &Queue, look: &Look) -> String {
    let mut out = String::new();
    text::explanation(&mut out, queue, &look.seen);
    let _ = writeln!(out, "\nsettings: {}\n", text::settings(queue));
    for (pool, worker) in look.seen.busy_of(queue.id).take(MOST_LINES) {
        of_worker(&mut out, pool, worker, &look.seen);
    }
    out
}

fn of_pool(pool: &Pool, look: &Look) -> String {
    let mut out = String::new();
    text::decisions(&mut out, pool);
    let queues = look.seen.snapshot.queues.iter();
    let queues = queues.filter(|queue| queue.pools.contains(&pool.id));
    let names: Vec<String> = queues.map(|queue| clean(&queue.name)).collect();
    let _ = writeln!(out, "\nqueues: {}\n", names.join(", "));
    for worker in pool.busy.iter().take(MOST_LINES) {
        of_worker(&mut out, pool, worker, &look.seen);
    }
    out
}

fn of_cpu(cpu: u64, look: &Look) -> String {
    let mut out = String::new();
    let lanes = lanes(look);
    let lane = lanes.iter().find(|(number, _)| u64::from(**number) == cpu);
    for (worker, state) in lane.map_or(&[][..], |(_, workers)| workers) {
        let _ = writeln!(
            out,
            "    thread {} ({state:?}) executes {} of queue \"{}\" for {}",
            worker.tid,
            item_name(&worker.item),
            clean(&worker.queue_name),
            short(worker.since)
        );
    }
    if out.is_empty() {
        out.push_str("    no thread that executes an item ran here last\n");
    }
    out
}

fn of_function(name: &str, look: &Look) -> String {
    let mut out = String::new();
    let had = look.seen.snapshot.lately.iter();
    for had in had.filter(|had| had.item == name).take(MOST_LINES) {
        add!(
            out,
            "    pool {}, queue \"{}\": {} % of a CPU in the last {}, {} items ended, one had {}",
            had.pool,
            clean(&had.queue_name),
            percent(had, &look.seen),
            short(look.seen.snapshot.lately_ns),
            had.items,
            short(had.most_ns)
        );
    }
    let pools = look.seen.snapshot.pools.iter();
    let all = pools.flat_map(|pool| pool.busy.iter().map(move |worker| (pool, worker)));
    for (pool, worker) in all
        .filter(|(_, worker)| worker.item == name)
        .take(MOST_LINES)
    {
        of_worker(&mut out, pool, worker, &look.seen);
    }
    out
}

fn of_child(pid: u64, look: &Look) -> String {
    let child = look
        .children
        .iter()
        .find(|child| u64::from(child.pid) == pid);
    child.map_or(String::new(), |child| {
        let doing = match child.doing.as_str() {
            "" => "nothing is known of it",
            doing => doing,
        };
        format!(
            "    {}\n    for {}, with {} of CPU time: {}\n",
            clean(&child.command),
            short(child.age),
            short(child.computed),
            clean(doing)
        )
    })
}
