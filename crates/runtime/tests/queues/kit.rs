//! What the tests of queues have in common.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cmwq::{Report, Workqueue};
use cmwq_os::{clock, sched, thread};

use crate::common::{Occupancy, Permits, eventually, seccomp};

/// The CPUs of the process.
pub(crate) fn cpus() -> Vec<usize> {
    let mask = sched::affinity(thread::getpid()).unwrap();
    mask.iter().collect()
}

/// The first and the last of them; says so if there is only one.
pub(crate) fn two_cpus() -> Option<(usize, usize)> {
    let cpus = cpus();
    if cpus.len() < 2 {
        eprintln!("skipped: one CPU");
        return None;
    }
    Some((cpus[0], cpus[cpus.len() - 1]))
}

/// Whether threads of this process may get a lower nice level.
pub(crate) fn may_renice() -> bool {
    cmwq_os::limits::read().nice_best == -20
}

/// What a queue's nice level is in this process.
pub(crate) fn nice(nice: i32) -> i32 {
    (sched::nice_of(thread::getpid()).unwrap() + nice).clamp(-20, 19)
}

/// A flag that items wait for without sleeping.
#[derive(Clone, Default)]
pub(crate) struct Flag(Arc<AtomicBool>);

impl Flag {
    pub(crate) fn raise(&self) {
        self.0.store(true, SeqCst);
    }

    pub(crate) fn is_up(&self) -> bool {
        self.0.load(SeqCst)
    }

    /// Whether it was up; it is not any more.
    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, SeqCst)
    }

    /// Keeps the CPU until it is raised.
    pub(crate) fn spin(&self) {
        while !self.is_up() {
            std::hint::spin_loop();
        }
    }

    /// Raises this one, and keeps the CPU until `end` is raised. It has gone round before it says
    /// so: to wait for a page of the loop is to sleep, and lets another item start.
    pub(crate) fn spins_until(&self, end: &Flag) {
        let mut turns = 0_u64;
        while !end.is_up() {
            turns += 1;
            self.0.store(turns > 1_000, SeqCst);
            std::hint::spin_loop();
        }
        self.raise();
    }

    pub(crate) fn wait(&self, what: &str) {
        eventually(what, || self.is_up());
    }
}

/// Raised when dropped: a test that fails lets its spinning items go.
pub(crate) struct Raises<'a>(pub(crate) &'a Flag);

impl Drop for Raises<'_> {
    fn drop(&mut self) {
        self.0.raise();
    }
}

/// Uses this much CPU time.
pub(crate) fn burn(millis: u64) {
    let end = clock::thread_cpu() + millis * 1_000_000;
    while clock::thread_cpu() < end {
        std::hint::spin_loop();
    }
}

/// For tests of what does not start, before the first item: no canaries in this process, only the
/// tick's looks. Beside other programs a canary's word may come late, when the CPU that was idle is
/// busy again, and another item starts. The vain attempt to make them is over when this returns: it
/// forks, and after that each item waits for its pages once.
pub(crate) fn without_canaries() {
    seccomp::deny(&[libc::SYS_sched_setscheduler], libc::EPERM);
    let end = Flag::default();
    let _raises = Raises(&end);
    for _ in 0..=cpus().len() {
        let end = end.clone();
        drop(cmwq::system().spawn(move || end.spin()));
    }
    eventually("there are none", || cmwq::stats().canary_denied.is_some());
    end.raise();
    eventually("none is left", || cmwq::stats().in_flight == 0);
}

/// Waits until the tick has looked so often, as it does while items wait: time enough for whoever
/// would start one.
pub(crate) fn ticks_pass(ticks: u64) {
    let before = cmwq::stats();
    for _ in 0..60_000 {
        if cmwq::stats().ticks >= before.ticks + ticks {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("no ticks: {before:?}\n then {:?}", cmwq::stats());
}

/// Has other items run, one after another: time enough where nothing waits for a worker.
pub(crate) fn others_run(items: usize) {
    for _ in 0..items {
        cmwq::system().spawn(|| ()).join().unwrap();
    }
}

/// Queues `func` for one CPU.
pub(crate) fn on(queue: &Workqueue, cpu: usize, func: impl Fn() + Send + Sync + 'static) {
    let queued = queue.queue_on(cpu, &cmwq::Work::new(func));
    assert_eq!(queued, Ok(true));
}

/// A list that items write.
pub(crate) struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Default for Log<T> {
    fn default() -> Self {
        Log(Arc::default())
    }
}

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Log(self.0.clone())
    }
}

impl<T> Log<T> {
    pub(crate) fn push(&self, entry: T) {
        self.0.lock().unwrap().push(entry);
    }

    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

/// Takes over the reports of the process.
pub(crate) fn reports() -> Log<Report> {
    let log = Log::default();
    let hook = log.clone();
    cmwq::set_report_hook(move |report| hook.push(report.clone()));
    log
}

/// Items that count themselves in and out and wait for a permit each.
#[derive(Default)]
pub(crate) struct Stage {
    pub(crate) inside: Occupancy,
    pub(crate) started: AtomicUsize,
    pub(crate) ended: AtomicUsize,
    pub(crate) permits: Permits,
}

impl Stage {
    pub(crate) fn spawn(self: &Arc<Self>, queue: &Workqueue, items: usize) {
        for _ in 0..items {
            let stage = self.clone();
            drop(queue.spawn(move || stage.run()));
        }
    }

    pub(crate) fn run(&self) {
        let _counted = self.inside.enter();
        self.started.fetch_add(1, SeqCst);
        self.permits.take();
        self.ended.fetch_add(1, SeqCst);
    }

    pub(crate) fn has_started(&self, items: usize) {
        eventually("that many have started", || {
            self.started.load(SeqCst) == items
        });
    }

    pub(crate) fn started(&self) -> usize {
        self.started.load(SeqCst)
    }
}

/// Counts what is allocated.
struct Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: what it demands is said where the trait declares it.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, SeqCst);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: what it demands is said where the trait declares it.
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, SeqCst);
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Bytes that are allocated now.
pub(crate) fn allocated() -> isize {
    LIVE.load(SeqCst)
}
