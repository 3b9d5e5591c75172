//! Options of the process, set before first use.

use std::fmt;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_policy::form::CanaryForm;

use crate::user;

/// Pools a process may have. Per-CPU ones are at most four per CPU; the others are sets of
/// attributes that its queues use.
pub(crate) const MAX_POOLS: usize = if cfg!(loom) { 64 } else { 8192 };
/// Of those, pools that are not per CPU: a set of attributes has one for each pod.
pub(crate) const MAX_SHARED_POOLS: usize = 1000;

/// Bytes of stack of a worker, unless set: what Rust gives its own threads.
pub const DFL_STACK_SIZE: usize = 2 * 1024 * 1024;
/// Workers that each pool may have, unless set.
pub const DFL_THREAD_LIMIT: usize = 1024;
/// Most workers that a pool may be allowed.
pub const MAX_THREAD_LIMIT: usize = 32 * 1024;

/// Null, or leaked: a forked child finds no lock that somebody held.
static INSTALLED: AtomicPtr<Installed> = AtomicPtr::new(std::ptr::null_mut());

/// Options that somebody has chosen, and in which process: its children go by them, and may choose
/// anew.
struct Installed {
    options: Options,
    pid: u32,
}

impl Installed {
    fn get() -> Option<&'static Installed> {
        // SAFETY: null or leaked.
        unsafe { INSTALLED.load(SeqCst).as_ref() }
    }
}

/// Code of the program that threads call. Leaked: threads may outlive whoever made it.
#[derive(Clone, Copy)]
pub struct ThreadHook(&'static (dyn Fn() + Send + Sync));

impl ThreadHook {
    /// A hook that calls this.
    pub fn new(hook: impl Fn() + Send + Sync + 'static) -> Self {
        ThreadHook(Box::leak(Box::new(hook)))
    }

    /// Calls it. A panic ends here.
    pub(crate) fn call(self) {
        user::run(self.0);
    }
}

impl fmt::Debug for ThreadHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ThreadHook")
    }
}

/// Options of the process.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Bytes of stack of each worker, 64 KiB at least. The system rounds up to what it needs.
    pub stack_size: usize,
    /// Workers that each pool may have, from 1 to [`MAX_THREAD_LIMIT`].
    pub thread_limit: usize,
    /// What that may be raised to where nothing moves.
    pub thread_most: usize,
    /// Where canaries are to live, if somebody wants them somewhere.
    pub canaries: Option<CanaryForm>,
    /// The machine's caches and nodes are what `sys/devices/system` in this folder says.
    pub sysfs_root: &'static str,
    /// Called on each new thread that executes items, before the first one.
    pub thread_start: Option<ThreadHook>,
    /// Called on such a thread when it ends, after the last one.
    pub thread_stop: Option<ThreadHook>,
}

/// What holds if nothing is installed.
impl Default for Options {
    fn default() -> Self {
        Options {
            stack_size: DFL_STACK_SIZE,
            thread_limit: DFL_THREAD_LIMIT,
            thread_most: MAX_THREAD_LIMIT,
            canaries: None,
            sysfs_root: "/",
            thread_start: None,
            thread_stop: None,
        }
    }
}

impl Options {
    /// Makes these the ones of the process. False if there are some: nothing changes then.
    pub(crate) fn install(self) -> bool {
        // Before the look: of two at a time one fails.
        let before = INSTALLED.load(SeqCst);
        if Self::are_installed() {
            return false;
        }
        let (options, pid) = (self, std::process::id());
        let new = Box::into_raw(Box::new(Installed { options, pid }));
        let swapped = INSTALLED.compare_exchange(before, new, SeqCst, SeqCst);
        if swapped.is_err() {
            // SAFETY: it is ours: nobody has seen it.
            drop(unsafe { Box::from_raw(new) });
        }
        swapped.is_ok()
    }

    /// Whether somebody has chosen some in this process.
    pub(crate) fn are_installed() -> bool {
        Installed::get().is_some_and(|installed| installed.pid == std::process::id())
    }

    pub(crate) fn installed() -> Self {
        Installed::get().map_or_else(Options::default, |installed| installed.options)
    }
}
