//! Options of the process, set before first use.

use cmwq_engine::error::InstallError;
use cmwq_engine::{Options, Process, ThreadHook};
use cmwq_policy::form::CanaryForm;

/// Options of the whole process. Threads belong to pools, which all queues share, so these are not
/// options of a queue. They are for the program to choose, not for a library: the first call of
/// [`install`](Self::install) fixes them, or the first queue, whoever makes it. Later ones get an
/// error, and [`Builder::in_force`] tells what holds.
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

/// The options of the process that hold now: see [`Builder::in_force`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionsInForce {
    /// Bytes of stack of each worker.
    pub stack_size: usize,
    /// Workers that each pool may have.
    pub thread_limit: usize,
    /// Where canaries are to live, if somebody has said so.
    pub canaries: Option<CanaryForm>,
    /// Somebody has installed [`on_thread_start`](Builder::on_thread_start) or
    /// [`on_thread_stop`](Builder::on_thread_stop).
    pub thread_hooks: bool,
    /// A queue has been made, or somebody has installed options, so
    /// [`install`](Builder::install) is an error.
    pub fixed: bool,
}

impl Builder {
    /// The options that hold in this process, or will when its first queue is made. A library that
    /// this program depends on may have installed them, or made a queue, before.
    ///
    /// ```
    /// cmwq::Builder::new().stack_size(8 << 20).install()?;
    /// let options = cmwq::Builder::in_force();
    /// assert_eq!((options.stack_size, options.fixed), (8 << 20, true));
    /// # Ok::<(), cmwq::InstallError>(())
    /// ```
    pub fn in_force() -> OptionsInForce {
        let (options, fixed) = Process::options();
        OptionsInForce {
            stack_size: options.stack_size,
            thread_limit: options.thread_limit,
            canaries: options.canaries,
            thread_hooks: options.thread_start.or(options.thread_stop).is_some(),
            fixed,
        }
    }

    /// The defaults: 2 MiB of stack, at most 1024 workers in each pool.
    ///
    /// ```
    /// cmwq::Builder::new().install()?;
    /// # Ok::<(), cmwq::InstallError>(())
    /// ```
    pub fn new() -> Self {
        Builder {
            options: Options::default(),
        }
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
    /// Without this call the limit is 1024, and is raised where nothing moves under it
    /// ([`Report::ThreadLimitRaised`](crate::Report::ThreadLimitRaised)).
    ///
    /// [`MAX_THREAD_LIMIT`]: crate::MAX_THREAD_LIMIT
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

    /// Where the SCHED_IDLE threads live that see a CPU idle. By default in a forked process, where
    /// that can be had: [`CanaryForm`] says what each form costs,
    /// [`Stats::canary_form`](crate::Stats::canary_form) which one is in use. A process that cannot
    /// be forked becomes threads, or nothing beside a large heap.
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

    /// Calls `hook` on each new thread that executes items, before the first one: to name it for a
    /// profiler, to open a connection in a thread-local, to register it with another library. The
    /// thread is set up after that, so nice level, CPUs and scheduling policy are cmwq's.
    ///
    /// The hook must not wait for items: the thread may be the one that is to execute them. A panic
    /// in it ends the call and nothing else.
    ///
    /// ```
    /// cmwq::Builder::new()
    ///     .on_thread_start(|| println!("{:?}", std::thread::current().name()))
    ///     .on_thread_stop(|| println!("gone"))
    ///     .install()?;
    /// cmwq::spawn(|| ()).join()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_thread_start(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.options.thread_start = Some(ThreadHook::new(hook));
        self
    }

    /// Calls `hook` on each such thread that ends, after its last item. Threads end after minutes
    /// without work; those that are left when the process ends do not call it.
    ///
    /// ```
    /// cmwq::Builder::new().on_thread_stop(|| println!("one thread less")).install()?;
    /// # Ok::<(), cmwq::InstallError>(())
    /// ```
    pub fn on_thread_stop(mut self, hook: impl Fn() + Send + Sync + 'static) -> Self {
        self.options.thread_stop = Some(ThreadHook::new(hook));
        self
    }

    /// The machine's caches and nodes are what `sys/devices/system` in this folder says. For tests
    /// of machines that are not there.
    #[doc(hidden)]
    pub fn sysfs_root(mut self, root: &'static str) -> Self {
        self.options.sysfs_root = root;
        self
    }

    /// Makes these the options of the process.
    ///
    /// # Errors
    /// [`InstallError::InUse`] once a queue has been made, [`InstallError::Installed`] if somebody
    /// has installed options, [`InstallError::ThreadLimit`] for a limit that is out of range.
    /// Nothing is changed then.
    ///
    /// ```
    /// cmwq::Builder::new().thread_limit(8).install()?;
    /// cmwq::system();
    /// assert_eq!(cmwq::Builder::new().install(), Err(cmwq::InstallError::InUse));
    /// # Ok::<(), cmwq::InstallError>(())
    /// ```
    pub fn install(self) -> Result<(), InstallError> {
        Process::install(self.options)
    }
}
