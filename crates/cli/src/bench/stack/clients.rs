//! Clients, each a thread: round trips, and where they took it.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Barrier;
use std::time::Instant;

use cmwq_os::{sched, thread};

/// What came of the clients of one run.
pub(super) struct Trips {
    /// How long each round trip took, in nanoseconds.
    pub(super) took: Vec<u64>,
    /// How often clients were moved to another CPU.
    pub(super) migrations: u64,
    /// CPUs on which a client found itself: the most of any client.
    pub(super) cpus: usize,
    /// From the first one's beginning to the last one's end, in nanoseconds.
    pub(super) elapsed: u64,
}

/// Runs so many clients side by side, with `ops` round trips each.
pub(super) fn run(clients: u32, ops: u32, trip: impl Fn() + Sync) -> Trips {
    let together = Barrier::new(clients as usize);
    let client = || {
        together.wait();
        one(ops, &trip)
    };
    let began = Instant::now();
    let all: Vec<Trips> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|trips| trips.expect("no panic")).collect()
    });
    Trips {
        migrations: all.iter().map(|trips| trips.migrations).sum(),
        cpus: all.iter().map(|trips| trips.cpus).max().unwrap_or(0),
        elapsed: began.elapsed().as_nanos() as u64,
        took: all.into_iter().flat_map(|trips| trips.took).collect(),
    }
}

fn one(ops: u32, trip: impl Fn()) -> Trips {
    let (before, mut seen) = (migrations(), BTreeSet::new());
    let (mut took, mut moves, mut last) = (Vec::with_capacity(ops as usize), 0, None);
    for _ in 0..ops {
        let began = Instant::now();
        trip();
        took.push(began.elapsed().as_nanos() as u64);
        let here = sched::current_cpu();
        moves += u64::from(last.is_some_and(|last| last != here));
        last = Some(here);
        seen.insert(here);
    }
    let counted = before.zip(migrations()).map(|(before, now)| now - before);
    Trips {
        took,
        // Not every kernel counts them for us. What was seen after each round trip is less at most.
        migrations: counted.unwrap_or(moves),
        cpus: seen.len(),
        elapsed: 0,
    }
}

/// How often the kernel has moved the calling thread (`se.nr_migrations`).
fn migrations() -> Option<u64> {
    let path = format!("/proc/self/task/{}/sched", thread::gettid());
    let text = fs::read_to_string(path).ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}
