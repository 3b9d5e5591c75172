//! Made-up looks, for tests.

use std::collections::HashMap;

use cmwq_os::observe::TaskState;
use cmwq_stats::{Decision, Pool, Queue, Snapshot, WaitReason, Worker};

use super::super::children::Child;
use super::super::target::Seen;
use super::super::threads::Thread;
use super::look::Look;

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

/// Two queues, a pool with one worker, a child.
pub(super) fn look() -> Look {
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
    let child = Child {
        pid: 4_000_000,
        age: 12_000_000_000,
        command: "gzip -9 file".into(),
        doing: "gzip (4000000) reads a pipe".into(),
        ..Child::default()
    };
    let thread = Thread {
        cpu: 1,
        state: TaskState::Sleeping,
    };
    Look {
        seen: Seen {
            pid: 77,
            command: "server".into(),
            snapshot: Snapshot {
                at: 1_000_000_000,
                cpus: 2,
                queues: vec![queue(2, "mail", 0), queue(1, "starved", 3)],
                pools: vec![pool],
                ..Snapshot::default()
            },
            stale: None,
            run: None,
        },
        threads: HashMap::from([(10, thread)]),
        children: vec![child],
    }
}

/// All that a process can say to annoy its reader.
pub(super) fn hostile() -> Look {
    let evil =
        "\x1b[2J\r\n\t\u{9b}31m\u{202e}\u{200b}\u{1f469}\u{200d}\u{1f4bb}宽e\u{301}".repeat(60);
    let mut hostile = look();
    let snapshot = &mut hostile.seen.snapshot;
    let worst = Queue {
        name: evil.clone(),
        kind: evil.clone(),
        max_active: u32::MAX,
        active: u64::MAX,
        executing: u64::MAX,
        started: u64::MAX,
        completed: u64::MAX,
        nice: i32::MIN,
        waits: vec![
            WaitReason {
                items: u64::MAX,
                why: evil.clone(),
            };
            3
        ],
        waited: vec![u64::MAX; 3],
        pools: vec![u32::MAX, 0],
        ..Queue::default()
    };
    snapshot.queues = (0..5000)
        .map(|id| Queue {
            id,
            ..worst.clone()
        })
        .collect();
    let pool = &mut snapshot.pools[0];
    (pool.idle, pool.running, pool.workers) = (u32::MAX, u32::MAX, 0);
    pool.nice = i32::MIN;
    pool.cpus = format!("0-4294967295,{evil}");
    pool.busy = (0..3000)
        .map(|tid| Worker {
            since: u64::MAX,
            place: evil.clone(),
            ..worker(-tid, &evil)
        })
        .collect();
    hostile.threads = (0..3000)
        .map(|tid| {
            let state = TaskState::Runnable;
            (
                -tid,
                Thread {
                    cpu: u32::MAX,
                    state,
                },
            )
        })
        .collect();
    hostile.seen.command = evil.clone();
    hostile.seen.stale = Some(evil.clone());
    hostile.children[0].command = evil.clone();
    hostile.children[0].doing = evil;
    (hostile.children[0].age, hostile.children[0].computed) = (u64::MAX, u64::MAX);
    hostile
}
