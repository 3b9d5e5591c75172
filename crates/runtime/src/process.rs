//! Items that stand for processes: a worker that waits for a child is as busy as the child.

use cmwq_engine::worker;

/// While it lives, the state of its worker is that of a process tree.
#[derive(Debug)]
#[must_use = "the worker speaks for itself again when this is dropped"]
pub struct Attached {
    // A worker's, so it stays on its thread.
    _held: worker::Attached,
}

/// From now on the engine looks at the process tree of `pid` to see whether the calling worker is
/// busy, and not at its thread, which waits for the process. The worker counts as so many runnable
/// ones as threads of the tree run, at most the CPUs there are: a `make -j8` fills a machine, and a
/// tree that is stopped counts as nothing. Outside of a worker it does nothing.
///
/// This holds until what it returns is dropped, and no longer than the calling item runs: one that
/// is forgotten does not speak for later items of the worker. Several may be dropped in any order.
/// Of those that are left, the one that was made last counts.
///
/// ```
/// let status = cmwq::system().spawn(|| {
///     let mut child = std::process::Command::new("true").spawn()?;
///     let _busy = cmwq::process::attach(child.id());
///     child.wait()
/// });
/// assert!(status.join()??.success());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn attach(pid: u32) -> Attached {
    let pid = i32::try_from(pid).unwrap_or(0);
    Attached {
        _held: worker::attached(pid),
    }
}
