//! A look at a process as JSON: the fields of the page, and what follows from them.

use cmwq_stats::{Lately, Pool, Queue, Snapshot};
use serde::Serialize;

use super::children::{self, Child};
use super::target::Seen;
use crate::so_far::SoFar;

/// The object.
#[derive(Serialize)]
struct Whole<'a> {
    version: u32,
    pid: u32,
    command: &'a str,
    stale: Option<&'a str>,
    run: Option<&'a SoFar>,
    process: Process<'a>,
    children: Vec<Child>,
}

/// A snapshot whose queues have more to say.
#[derive(Serialize)]
struct Process<'a> {
    at: u64,
    socket: &'a str,
    cpus: u32,
    allowed: u32,
    quota_milli_cpus: u64,
    spawn_failures: u64,
    spawn_error: &'a str,
    queues: Vec<ShownQueue<'a>>,
    pools: &'a [Pool],
    lately_ns: u64,
    lately: &'a [Lately],
}

#[derive(Serialize)]
struct ShownQueue<'a> {
    #[serde(flatten)]
    queue: &'a Queue,
    waiting: u64,
    waited_p50_ns: Option<u64>,
    waited_p99_ns: Option<u64>,
    ran_p50_ns: Option<u64>,
    ran_p99_ns: Option<u64>,
}

/// One line, an object.
pub(super) fn of(seen: &Seen) -> String {
    let whole = Whole {
        version: 1,
        pid: seen.pid,
        command: &seen.command,
        stale: seen.stale.as_deref(),
        run: seen.run.as_ref(),
        process: process(&seen.snapshot),
        children: children::of(seen.pid),
    };
    let mut line = serde_json::to_string(&whole).expect("numbers and texts are JSON");
    line.push('\n');
    line
}

/// Each field is named: a new one is not forgotten here.
fn process(snapshot: &Snapshot) -> Process<'_> {
    let Snapshot {
        at,
        socket,
        cpus,
        allowed,
        quota_milli_cpus,
        spawn_failures,
        spawn_error,
        queues,
        pools,
        lately_ns,
        lately,
    } = snapshot;
    Process {
        at: *at,
        socket,
        cpus: *cpus,
        allowed: *allowed,
        quota_milli_cpus: *quota_milli_cpus,
        spawn_failures: *spawn_failures,
        spawn_error,
        queues: queues.iter().map(shown_queue).collect(),
        pools,
        lately_ns: *lately_ns,
        lately,
    }
}

fn shown_queue(queue: &Queue) -> ShownQueue<'_> {
    ShownQueue {
        queue,
        waiting: queue.waiting(),
        waited_p50_ns: queue.waited(50),
        waited_p99_ns: queue.waited(99),
        ran_p50_ns: queue.ran(50),
        ran_p99_ns: queue.ran(99),
    }
}
