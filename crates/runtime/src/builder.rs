//! Options of the process, set before first use.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicPtr, AtomicUsize};

use cmwq_policy::form::CanaryForm;

use crate::engine;
use crate::error::InstallError;

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

/// Where canaries live, and where the machine is described.
#[derive(Clone, Copy)]
struct Places {
    canaries: Option<CanaryForm>,
    sysfs_root: &'static str,
}

impl Places {
    fn installed() -> Self {
        // SAFETY: null or leaked.
        let installed = unsafe { PLACES.load(SeqCst).as_ref() };
        installed.copied().unwrap_or(Places {
            canaries: None,
            sysfs_root: "/",
        })
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) stack_size: usize,
    pub(crate) thread_limit: usize,
    /// What that may be raised to where nothing moves.
    pub(crate) thread_most: usize,
    pub(crate) canaries: Option<CanaryForm>,
    pub(crate) sysfs_root: &'static str,
}

impl Options {
    pub(crate) fn installed() -> Self {
        let places = Places::installed();
        Options {
            stack_size: STACK_SIZE.load(SeqCst),
            thread_limit: THREAD_LIMIT.load(SeqCst),
            thread_most: THREAD_MOST.load(SeqCst),
            canaries: places.canaries,
            sysfs_root: places.sysfs_root,
        }
    }
}

/// Options of the whole process. Threads belong to pools, which all queues share, so these are not
/// options of a queue.
///
/// ```
/// cmwq::Builder::new().stack_size(512 * 1024).thread_limit(64).install()?;
/// assert_eq!(cmwq::system().spawn(|| 6 * 7).join()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "options count once installed"]
pub struct Builder {
    options: Options,
}

impl Default for Builder {
    fn default() -> Self {
        Builder::new()
    }
}

impl Builder {
    /// The defaults: 2 MiB of stack, at most 1024 workers in each pool.
    ///
    /// ```
    /// cmwq::Builder::new().install()?;
    /// # Ok::<(), cmwq::InstallError>(())
    /// ```
    pub fn new() -> Self {
        let options = Options {
            stack_size: DFL_STACK_SIZE,
            thread_limit: DFL_THREAD_LIMIT,
            thread_most: MAX_THREAD_LIMIT,
            canaries: None,
            sysfs_root: "/",
        };
        Builder { options }
    }

    /// Bytes of stack of each worker. The system rounds up to what it needs at least.
    ///
    /// ```
    /// cmwq::Builder::new().stack_size(8 << 20).install()?;
    /// # Ok::<(), cmwq::InstallError>(())
    /// ```
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.options.stack_size = bytes;
        self
    }

    /// Workers that each pool may have, from 1 to [`MAX_THREAD_LIMIT`]. A pool at its limit keeps
    /// working with what it has; a wait inside of it that nobody could end returns `WouldDeadlock`. Without this
    /// call the limit is 1024, and is raised where nothing moves under it
    /// ([`Report::ThreadLimitRaised`](crate::Report::ThreadLimitRaised)).
    ///
    /// ```
    /// let error = cmwq::Builder::new().thread_limit(0).install().unwrap_err();
    /// assert_eq!(error, cmwq::InstallError::ThreadLimit(0));
    /// ```
    pub fn thread_limit(mut self, workers: usize) -> Self {
        // Somebody has chosen.
        (self.options.thread_limit, self.options.thread_most) = (workers, workers);
        self
    }

    /// Where the SCHED_IDLE threads live that see a CPU idle. By default in a forked process, where that can
    /// be had: [`CanaryForm`] says what each form costs, [`Stats::canary_form`](crate::Stats::canary_form) which one
    /// is in use. A process that cannot be forked becomes threads, or nothing beside a large heap.
    ///
    /// ```
    /// use cmwq::CanaryForm;
    ///
    /// cmwq::Builder::new().canaries(CanaryForm::Threads).install()?;
    /// # Ok::<(), cmwq::InstallError>(())
    /// ```
    pub fn canaries(mut self, form: CanaryForm) -> Self {
        self.options.canaries = Some(form);
        self
    }

    /// The machine's caches and nodes are what `sys/devices/system` in this folder says. For tests of
    /// machines that are not there.
    #[doc(hidden)]
    pub fn sysfs_root(mut self, root: &'static str) -> Self {
        self.options.sysfs_root = root;
        self
    }

    /// Makes these the options of the process.
    ///
    /// # Errors
    /// [`InstallError::InUse`] once a queue has been made, [`InstallError::ThreadLimit`] for a limit
    /// that is out of range. Nothing is changed then.
    ///
    /// ```
    /// cmwq::Builder::new().thread_limit(8).install()?;
    /// cmwq::system();
    /// assert_eq!(cmwq::Builder::new().install(), Err(cmwq::InstallError::InUse));
    /// # Ok::<(), cmwq::InstallError>(())
    /// ```
    pub fn install(self) -> Result<(), InstallError> {
        let Options {
            stack_size,
            thread_limit,
            thread_most,
            canaries,
            sysfs_root,
        } = self.options;
        if !(1..=MAX_THREAD_LIMIT).contains(&thread_limit) {
            return Err(InstallError::ThreadLimit(thread_limit));
        }
        if engine::existing().is_some() {
            return Err(InstallError::InUse);
        }
        STACK_SIZE.store(stack_size, SeqCst);
        THREAD_LIMIT.store(thread_limit, SeqCst);
        THREAD_MOST.store(thread_most, SeqCst);
        let places = Places {
            canaries,
            sysfs_root,
        };
        PLACES.store(Box::into_raw(Box::new(places)), SeqCst);
        Ok(())
    }
}
