//! Options of the process, set before first use.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Mutex, MutexGuard, PoisonError};

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

static SYSFS_ROOT: Mutex<&'static str> = Mutex::new("/");

fn sysfs_root() -> MutexGuard<'static, &'static str> {
    SYSFS_ROOT.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) stack_size: usize,
    pub(crate) thread_limit: usize,
    pub(crate) sysfs_root: &'static str,
}

impl Options {
    pub(crate) fn installed() -> Self {
        Options {
            stack_size: STACK_SIZE.load(SeqCst),
            thread_limit: THREAD_LIMIT.load(SeqCst),
            sysfs_root: *sysfs_root(),
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
    /// working with what it has; a wait inside of it that nobody could end returns `WouldDeadlock`.
    ///
    /// ```
    /// let error = cmwq::Builder::new().thread_limit(0).install().unwrap_err();
    /// assert_eq!(error, cmwq::InstallError::ThreadLimit(0));
    /// ```
    pub fn thread_limit(mut self, workers: usize) -> Self {
        self.options.thread_limit = workers;
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
            sysfs_root: root,
        } = self.options;
        if !(1..=MAX_THREAD_LIMIT).contains(&thread_limit) {
            return Err(InstallError::ThreadLimit(thread_limit));
        }
        if engine::existing().is_some() {
            return Err(InstallError::InUse);
        }
        STACK_SIZE.store(stack_size, SeqCst);
        THREAD_LIMIT.store(thread_limit, SeqCst);
        *sysfs_root() = root;
        Ok(())
    }
}
