//! Made-up looks, for tests.

use std::collections::HashMap;

use cmwq_os::observe::TaskState;
use cmwq_stats::{Lately, Queue, WaitReason, Worker};

use crate::live::children::Child;
use crate::live::rig::seen;
pub(in crate::live::screen) use crate::live::rig::{queue, worker};
use crate::live::screen::look::Look;
use crate::live::threads::Thread;

/// Two queues, a pool with one worker, a child.
pub(in crate::live::screen) fn look() -> Look {
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
        seen: seen(),
        threads: HashMap::from([(10, thread)]),
        children: vec![child],
    }
}

/// All that a process can say to annoy its reader.
pub(in crate::live::screen) fn hostile() -> Look {
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
    snapshot.lately = (0..3000)
        .map(|number| Lately {
            item: format!("{number}{evil}"),
            queue_name: evil.clone(),
            cpu_ns: u64::MAX,
            items: u64::MAX,
            most_ns: u64::MAX,
            ..Lately::default()
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
