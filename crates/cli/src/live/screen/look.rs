//! What is looked at each time, by a thread of its own: a process that does not answer must not
//! keep the screen from taking keys.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::sync::mpsc::{Receiver, Sender};

use cmwq_os::observe::TaskState;
use cmwq_stats::control::Request;

use super::super::children::{self, Child};
use super::super::target::{Process, Seen};

/// Threads whose CPU is asked for.
const MOST_THREADS: usize = 4096;

/// What was seen.
pub(super) struct Look {
    pub(super) seen: Seen,
    /// By number.
    pub(super) threads: HashMap<i32, Thread>,
    pub(super) children: Vec<Child>,
}

/// A thread that executes an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Thread {
    /// Where it runs, or ran last.
    pub(super) cpu: u32,
    pub(super) state: TaskState,
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
        Some((tid, thread(&line)?))
    })
    .collect()
}

/// A thread by its `stat` file; proc_pid_stat(5) numbers the fields.
fn thread(line: &[u8]) -> Option<Thread> {
    let line = String::from_utf8_lossy(line);
    let (_, behind_name) = line.rsplit_once(") ")?;
    let field = |number: usize| behind_name.split_ascii_whitespace().nth(number - 3);
    Some(Thread {
        cpu: field(39)?.parse().ok()?,
        state: TaskState::from_letter(*field(3)?.as_bytes().first()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_of_a_thread_is_read_behind_any_name() {
        let line =
            b"7 (evil) R) S 1 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 3 0 9 0 0 184 1 1 0 0 0 0 0 0 0 0 \
                     0 0 17 5 0 0 0";
        let expected = Thread {
            cpu: 5,
            state: TaskState::Sleeping,
        };
        assert_eq!(thread(line), Some(expected));
        for bad in [&b""[..], b"7 (x) ", b"7 (x) S 1 2", b"\xff) S"] {
            assert_eq!(thread(bad), None);
        }
        let own = fs::read("/proc/thread-self/stat").unwrap();
        assert_eq!(thread(&own).unwrap().state, TaskState::Runnable);
    }
}
