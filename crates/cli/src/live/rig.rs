//! Made-up processes, for tests.

use cmwq_stats::{Decision, Pool, Queue, Snapshot, WaitReason, Worker};

use super::target::Seen;

/// A thread that executes a function.
pub(super) fn worker(tid: i32, item: &str) -> Worker {
    Worker {
        tid,
        item: item.into(),
        since: 5_000_000,
        queue: 1,
        queue_name: "starved".into(),
        ..Worker::default()
    }
}

/// A queue of which items wait.
pub(super) fn queue(id: u64, name: &str, waiting: u64) -> Queue {
    Queue {
        id,
        name: name.into(),
        kind: "managed".into(),
        max_active: 1,
        active: 1,
        executing: 1,
        started: 10 * id,
        waits: vec![WaitReason {
            items: waiting,
            why: "all slots of max_active are taken".into(),
        }],
        pools: vec![0],
        ..Queue::default()
    }
}

/// Two queues, a pool with one worker.
pub(super) fn seen() -> Seen {
    let pool = Pool {
        kind: "managed".into(),
        cpus: "0-1".into(),
        workers: 4,
        idle: 1,
        running: 2,
        decisions: vec![Decision {
            cause: "an item was queued".into(),
            outcome: "a worker was woken".into(),
            ..Decision::default()
        }],
        busy: vec![worker(10, "server::resize")],
        ..Pool::default()
    };
    Seen {
        pid: 77,
        command: "server".into(),
        snapshot: Snapshot {
            at: 1_000_000_000,
            cpus: 2,
            queues: vec![queue(2, "mail", 0), queue(1, "starved", 3)],
            pools: vec![pool],
            ..Snapshot::default()
        },
        ..Seen::default()
    }
}
