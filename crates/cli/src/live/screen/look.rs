//! What is looked at each time, by a thread of its own: a process that does not answer must not
//! keep the screen from taking keys.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::sync::mpsc::{Receiver, Sender};

use cmwq_stats::control::Request;

use super::super::children::{self, Child};
use super::super::target::{Process, Seen};
use super::super::threads::{Thread, parse};

/// Threads whose CPU is asked for.
const MOST_THREADS: usize = 4096;

/// What was seen.
pub(super) struct Look {
    pub(super) seen: Seen,
    /// By number.
    pub(super) threads: HashMap<i32, Thread>,
    pub(super) children: Vec<Child>,
}

/// Looks whenever that is wanted, until nobody wants it any more or it fails.
pub(super) fn serve<E>(
    process: &Process,
    wanted: &Receiver<Request>,
    events: &Sender<E>,
    event: impl Fn(io::Result<Look>) -> E,
) {
    for request in wanted {
        let looked = look(process, &request);
        let failed = looked.is_err();
        if events.send(event(looked)).is_err() || failed {
            return;
        }
    }
}

/// Once. Threads and children are looked at whatever is shown, so that a screen that is paused has
/// all of the same moment.
pub(super) fn look(process: &Process, request: &Request) -> io::Result<Look> {
    let seen = process.look(request)?;
    Ok(Look {
        threads: threads(&seen),
        children: children::of(seen.pid),
        seen,
    })
}

fn threads(seen: &Seen) -> HashMap<i32, Thread> {
    let workers = seen.snapshot.pools.iter().flat_map(|pool| &pool.busy);
    let tids = workers.map(|worker| worker.tid).take(MOST_THREADS);
    tids.filter_map(|tid| {
        let line = fs::read(format!("/proc/{}/task/{tid}/stat", seen.pid)).ok()?;
        Some((tid, parse(&line)?))
    })
    .collect()
}
