//! Options of the process, set before first use.

use std::fmt;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicPtr, AtomicUsize};

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

static STACK_SIZE: AtomicUsize = AtomicUsize::new(DFL_STACK_SIZE);
static THREAD_LIMIT: AtomicUsize = AtomicUsize::new(DFL_THREAD_LIMIT);
static THREAD_MOST: AtomicUsize = AtomicUsize::new(MAX_THREAD_LIMIT);

/// Null, or leaked: a forked child finds no lock that somebody held.
static PLACES: AtomicPtr<Places> = AtomicPtr::new(std::ptr::null_mut());

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

/// Where canaries live, where the machine is described, and what threads call.
#[derive(Clone, Copy)]
struct Places {
    canaries: Option<CanaryForm>,
    sysfs_root: &'static str,
    thread_start: Option<ThreadHook>,
    thread_stop: Option<ThreadHook>,
}

impl Places {
    fn installed() -> Self {
        // SAFETY: null or leaked.
        let installed = unsafe { PLACES.load(SeqCst).as_ref() };
        installed.copied().unwrap_or(Places {
            canaries: None,
            sysfs_root: "/",
            thread_start: None,
            thread_stop: None,
        })
    }
}

/// Options of the process.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Bytes of stack of each worker. The system rounds up to what it needs at least.
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
    /// Makes these the ones of the process.
    pub(crate) fn install(self) {
        STACK_SIZE.store(self.stack_size, SeqCst);
        THREAD_LIMIT.store(self.thread_limit, SeqCst);
        THREAD_MOST.store(self.thread_most, SeqCst);
        let places = Places {
            canaries: self.canaries,
            sysfs_root: self.sysfs_root,
            thread_start: self.thread_start,
            thread_stop: self.thread_stop,
        };
        PLACES.store(Box::into_raw(Box::new(places)), SeqCst);
    }

    pub(crate) fn installed() -> Self {
        let places = Places::installed();
        Options {
            stack_size: STACK_SIZE.load(SeqCst),
            thread_limit: THREAD_LIMIT.load(SeqCst),
            thread_most: THREAD_MOST.load(SeqCst),
            canaries: places.canaries,
            sysfs_root: places.sysfs_root,
            thread_start: places.thread_start,
            thread_stop: places.thread_stop,
        }
    }
}
