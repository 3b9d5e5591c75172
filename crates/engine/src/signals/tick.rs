//! The tick as others see it: what its thread (`threads/ticker.rs`) is to look at, and waking that
//! thread.

use cmwq_policy::Nanos;

use crate::park::Parker;
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Relaxed, SeqCst, fence};

/// What others see of the tick thread.
pub(crate) struct Tick {
    parker: Parker,
    /// How many pools have items that wait.
    backlog: AtomicU32,
    /// The thread will look at the backlog by itself.
    armed: AtomicBool,
    /// It was armed, or was to be, since it asked last.
    came: AtomicBool,
    /// Some pool has idle workers that may have to retire.
    culling: AtomicBool,
    /// Items of some pool may wait for slots.
    watching: AtomicBool,
    /// Of limits that nobody has chosen.
    watching_dfl: AtomicBool,
    /// Somebody wants to know what runs.
    asked: AtomicBool,
    ticks: AtomicU64,
    cpu_ns: AtomicU64,
}

impl Tick {
    pub(crate) fn new() -> Self {
        Tick {
            parker: Parker::default(),
            backlog: AtomicU32::new(0),
            armed: AtomicBool::new(false),
            came: AtomicBool::new(false),
            culling: AtomicBool::new(false),
            watching: AtomicBool::new(false),
            watching_dfl: AtomicBool::new(false),
            asked: AtomicBool::new(false),
            ticks: AtomicU64::new(0),
            cpu_ns: AtomicU64::new(0),
        }
    }

    /// Publishes that items of a pool newly wait, or none any more. Said under the pool's lock.
    /// Follow with [`arm`](Self::arm) where they do.
    pub(crate) fn set_backlog(&self, waits: bool) {
        match waits {
            true => self.backlog.fetch_add(1, SeqCst),
            false => self.backlog.fetch_sub(1, SeqCst),
        };
    }

    pub(crate) fn has_backlog(&self) -> bool {
        self.backlog.load(SeqCst) != 0
    }

    /// Items wait: somebody must look in time.
    pub(crate) fn arm(&self) {
        if self.set_armed() {
            self.unpark();
        }
    }

    /// Arms; true if the thread may be asleep and must be woken.
    pub(crate) fn set_armed(&self) -> bool {
        // Relaxed: a hint, by which the thread wakes less often.
        if !self.came.load(Relaxed) {
            self.came.store(true, Relaxed);
        }
        // Partner: the fence in `disarm`, before its last look.
        fence(SeqCst);
        !self.armed.load(SeqCst) && !self.armed.swap(true, SeqCst)
    }

    /// Whether items began to wait since this was called last, though they may have gone again.
    pub(crate) fn take_came(&self) -> bool {
        // Relaxed: as where it is set.
        self.came.swap(false, Relaxed)
    }

    /// Workers idle that may be too many: somebody must look in time. Does not arm: the thread
    /// itself says this at each of its looks, and would wake itself for ever.
    pub(crate) fn watch_idle(&self) {
        self.watch(&self.culling);
    }

    /// Disarms, if nothing waits. Whoever publishes a backlog that is not seen here finds the tick
    /// disarmed, and wakes it. False if it stays, or is again, armed.
    pub(crate) fn disarm(&self) -> bool {
        if self.has_backlog() {
            return false;
        }
        self.armed.store(false, SeqCst);
        // Partner: the fence in `set_armed`.
        fence(SeqCst);
        // If somebody has armed it in between, his wake-up is on its way.
        !self.has_backlog() || self.armed.swap(true, SeqCst)
    }

    /// Stops watching idle workers, unless `look` finds some now. It looks under the locks of the
    /// pools: whoever goes idle after it finds that nobody watches, and wakes the thread.
    pub(crate) fn stop_culling<T>(&self, look: impl FnOnce() -> Option<T>) -> Option<T> {
        self.culling.store(false, SeqCst);
        let found = look();
        if found.is_some() {
            self.culling.store(true, SeqCst);
        }
        found
    }

    /// Items wait for slots: somebody must look in time whether they ever get some.
    pub(crate) fn watch_slots(&self) {
        self.watch(&self.watching);
    }

    /// They do under a limit that nobody has chosen: somebody must look soon.
    pub(crate) fn watch_dfl(&self) {
        self.watch(&self.watching_dfl);
    }

    fn watch(&self, flag: &AtomicBool) {
        if !flag.load(SeqCst) && !flag.swap(true, SeqCst) {
            self.unpark();
        }
    }

    /// Stops looking at items that wait for slots, unless `waits` finds some now. As for
    /// [`stop_culling`](Self::stop_culling): it looks under the locks of the pools.
    pub(crate) fn stop_watching(&self, waits: impl FnOnce() -> bool) -> bool {
        stop(&self.watching, waits)
    }

    /// The same for limits that nobody has chosen.
    pub(crate) fn stop_watching_dfl(&self, waits: impl FnOnce() -> bool) -> bool {
        stop(&self.watching_dfl, waits)
    }

    /// Looks at all workers once, soon, also where no item waits.
    pub(crate) fn ask(&self) {
        self.asked.store(true, SeqCst);
        self.unpark();
    }

    /// Whether somebody has asked for that, since this was called last.
    pub(crate) fn take_asked(&self) -> bool {
        self.asked.swap(false, SeqCst)
    }

    /// Whether idle workers may have to retire.
    pub(crate) fn is_culling(&self) -> bool {
        self.culling.load(SeqCst)
    }

    /// Whether items may wait for slots.
    pub(crate) fn is_watching_slots(&self) -> bool {
        self.watching.load(SeqCst)
    }

    /// The same under limits that nobody has chosen.
    pub(crate) fn is_watching_dfl(&self) -> bool {
        self.watching_dfl.load(SeqCst)
    }

    /// The thread has looked once more, and has used so much CPU time in all.
    pub(crate) fn ticked(&self, cpu: Nanos) {
        self.ticks.fetch_add(1, SeqCst);
        self.cpu_ns.store(cpu, SeqCst);
    }

    /// Sleeps until woken, at most `timeout`.
    pub(crate) fn park(&self, timeout: Option<Nanos>) {
        self.parker.park(timeout);
    }

    /// Wakes the thread.
    pub(crate) fn unpark(&self) {
        self.parker.unpark();
    }

    pub(crate) fn ticks(&self) -> u64 {
        self.ticks.load(SeqCst)
    }

    /// CPU time that the thread has used, in nanoseconds.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.cpu_ns.load(SeqCst)
    }
}

fn stop(flag: &AtomicBool, waits: impl FnOnce() -> bool) -> bool {
    flag.store(false, SeqCst);
    let waits = waits();
    if waits {
        flag.store(true, SeqCst);
    }
    !waits
}
