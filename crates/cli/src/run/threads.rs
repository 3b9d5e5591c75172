//! The command's own threads, and the first one of the engine. Where none can be made the run ends
//! with an error that says so.

use cmwq::Workqueue;
use std::fmt::Display;
use std::io;
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How often, and for how long each time, to wait for a worker that could not be made.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

pub(super) fn start(
    name: &str,
    body: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    Builder::new().name(name.into()).spawn(body).map_err(none)
}

/// Lets the engine have a worker for each of so many jobs, and one that begins the next, where that
/// is more than it would have. Before its first use.
pub(super) fn allow(jobs: usize) -> io::Result<()> {
    let workers = cmwq::DFL_THREAD_LIMIT.max(jobs + 1);
    let installed = cmwq::Builder::new().thread_limit(workers).install();
    installed.map_err(io::Error::other)
}

/// Gives the queue back once it has a worker. The engine keeps that one; without any, an item would
/// wait for ever.
pub(super) fn with_worker(queue: Workqueue) -> io::Result<Workqueue> {
    let (began, begins) = mpsc::channel();
    let mut refusals = 0;
    while refusals < TRIES {
        let began = began.clone();
        let _unjoined = queue.spawn(move || began.send(()));
        if begins.recv_timeout(PAUSE).is_ok() {
            return Ok(queue);
        }
        // None: the machine is busy.
        refusals += u32::from(cmwq::stats().spawn_failures > 0);
    }
    // Its end would wait for its items.
    std::mem::forget(queue);
    Err(none("not even one worker"))
}

fn none(why: impl Display) -> io::Error {
    let limits = "ulimit -u, or pids.max of the control group";
    io::Error::other(format!("cannot start a thread: {why} ({limits})"))
}
