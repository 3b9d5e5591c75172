//! What the tests of several files need.
#![allow(dead_code, reason = "each test file uses a part")]

pub(crate) mod alone;
pub(crate) mod fork;
pub(crate) mod nproc;
pub(crate) mod seccomp;
pub(crate) mod sysfs;
pub(crate) mod threads;
pub(crate) mod two_nodes;

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// A hang is a failure after this long. Never reached by a test that passes.
const PATIENCE: Duration = Duration::from_secs(120);

/// While it lives, somebody watches the time: a test that hangs ends the process.
pub(crate) struct Watchdog {
    _alive: mpsc::Sender<()>,
}

pub(crate) fn watchdog() -> Watchdog {
    let (alive, watched) = mpsc::channel::<()>();
    let test = std::thread::current().name().unwrap_or("?").to_owned();
    std::thread::spawn(move || {
        if watched.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            eprintln!("{test}: hangs. {:?}", cmwq::stats());
            std::process::abort();
        }
    });
    Watchdog { _alive: alive }
}

/// Looks again until it is so; the bound only ends a test that fails.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..60_000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("never happened: {what}");
}

/// What items of a test wait for: each takes a permit.
#[derive(Default)]
pub(crate) struct Permits {
    left: Mutex<usize>,
    more: Condvar,
}

/// More than any test takes.
const ALL: usize = usize::MAX / 2;

impl Permits {
    pub(crate) const fn new() -> Self {
        Permits {
            left: Mutex::new(0),
            more: Condvar::new(),
        }
    }

    fn left(&self) -> MutexGuard<'_, usize> {
        self.left.lock().expect("nobody panics with it")
    }

    /// Waits until there is one.
    pub(crate) fn take(&self) {
        let mut left = self
            .more
            .wait_while(self.left(), |left| *left == 0)
            .expect("as above");
        *left -= 1;
    }

    pub(crate) fn give(&self, n: usize) {
        *self.left() += n;
        self.more.notify_all();
    }

    /// Lets everybody go, now and later.
    pub(crate) fn open(&self) {
        *self.left() = ALL;
        self.more.notify_all();
    }
}

/// Opens when dropped: a test that fails lets its items go, so that its queues can drain.
pub(crate) struct Opens<'a>(pub(crate) &'a Permits);

impl Drop for Opens<'_> {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// How many are inside of something at once.
#[derive(Default)]
pub(crate) struct Occupancy {
    now: AtomicUsize,
    peak: AtomicUsize,
}

impl Occupancy {
    /// Counts the caller in until the value is dropped.
    pub(crate) fn enter(&self) -> Inside<'_> {
        let now = self.now.fetch_add(1, SeqCst) + 1;
        self.peak.fetch_max(now, SeqCst);
        Inside(self)
    }

    pub(crate) fn now(&self) -> usize {
        self.now.load(SeqCst)
    }

    pub(crate) fn peak(&self) -> usize {
        self.peak.load(SeqCst)
    }
}

pub(crate) struct Inside<'a>(&'a Occupancy);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, SeqCst);
    }
}

/// A queue with the defaults.
pub(crate) fn queue(name: &str) -> cmwq::Workqueue {
    cmwq::Workqueue::builder(name).build().unwrap()
}

/// Of another pool than queues with the defaults. If this process has the last nice level, that
/// takes a second CPU.
pub(crate) fn elsewhere(name: &str) -> cmwq::WorkqueueBuilder {
    let first = cmwq_os::sched::affinity(0).unwrap().iter().next();
    cmwq::Workqueue::builder(name).nice(5).cpus(first)
}

/// A queue that runs this many items at a time.
pub(crate) fn limited(name: &str, max_active: usize) -> cmwq::Workqueue {
    cmwq::Workqueue::builder(name)
        .max_active(max_active)
        .build()
        .unwrap()
}
