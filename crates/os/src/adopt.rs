//! Being given the processes whose parents have ended, below this process
//! (`PR_SET_CHILD_SUBREAPER`, Linux 3.4), so that what a job leaves behind is still known to be of
//! that job.
//!
//! The kernel gives them to the first thread of the process, and the thread that starts a process
//! is its parent until either ends. So the children of the first thread are the adopted ones, as
//! long as that thread starts none itself and every other one reaps what it has started: nobody's
//! wait is taken away when the adopted ones are reaped here. One that goes on when this process
//! ends is given to the next subreaper or to init, and is not touched.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, set_child_subreaper, waitid};

static ON: AtomicBool = AtomicBool::new(false);
/// Held by whoever reaps adopted processes, or needs that nobody does.
static REAPING: Mutex<()> = Mutex::new(());

/// From now on the orphans among the descendants of this process are given to it. It takes on two
/// duties: its first thread starts no process any more, and [`reap`] is called when a child has
/// ended. False if the kernel cannot (it must also have `children` files, to tell who was given):
/// nothing changes then.
pub fn begin() -> bool {
    let listed = children_of_first_thread().is_some();
    let on = listed && set_child_subreaper(Some(getpid())).is_ok();
    // Relaxed: a flag that publishes nothing; who sees it late looks at fewer processes once.
    ON.store(on, Relaxed);
    on
}

/// Whether [`begin`] has succeeded.
pub fn is_on() -> bool {
    // Relaxed: see `begin`.
    ON.load(Relaxed)
}

/// The processes that were given to this one and have not been reaped; none before [`begin`].
pub fn adopted() -> Vec<i32> {
    match is_on() {
        true => children_of_first_thread().unwrap_or_default(),
        false => Vec::new(),
    }
}

/// Calls `f` with the adopted processes, of which none is reaped meanwhile: so each number is that
/// process's own, also if it has ended.
pub fn with_none_reaped<T>(f: impl FnOnce(&[i32]) -> T) -> T {
    let _held = REAPING.lock().unwrap_or_else(PoisonError::into_inner);
    f(&adopted())
}

/// Reaps those that have ended; how many. Waits for none.
pub fn reap() -> usize {
    let _held = REAPING.lock().unwrap_or_else(PoisonError::into_inner);
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    let reaped = |pid: &i32| {
        let pid = Pid::from_raw(*pid);
        pid.is_some_and(|pid| matches!(waitid(WaitId::Pid(pid), options), Ok(Some(_))))
    };
    adopted().into_iter().filter(reaped).count()
}

fn children_of_first_thread() -> Option<Vec<i32>> {
    let pid = getpid().as_raw_pid();
    children_of_thread(Path::new("/proc"), pid, pid)
}

/// The children that a thread has started or was given; `None` if it or the file is not there.
pub(crate) fn children_of_thread(proc_dir: &Path, pid: i32, tid: i32) -> Option<Vec<i32>> {
    let file = proc_dir.join(format!("{pid}/task/{tid}/children"));
    let text = fs::read_to_string(file).ok()?;
    let words = text.split_ascii_whitespace();
    Some(words.filter_map(|word| word.parse().ok()).collect())
}
