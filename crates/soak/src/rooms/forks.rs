//! Forked children that use everything, while other threads are in the middle of it.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize};
use std::time::{Duration, Instant};

use cmwq::{AsyncDomain, Job, JoinError, QueueError, Work, Workqueue};

use super::Player;
use crate::books;
use crate::hostile::threads;
use crate::plan::Plan;

/// What a child ends with.
const RIGHT: i32 = 0;
const NO_SYSTEM: i32 = 7;
const PANICKED: i32 = 101;

/// A child that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn play(player: &mut Player) {
    match player.rng.below(4) {
        0 => in_the_middle(player),
        1 => first_use(player),
        2 => from_an_item(player),
        _ => (0..20).for_each(|_| first_use(player)),
    }
}

/// Forks; the child calls this and ends with what it returns.
fn child(what: &str, body: impl FnOnce() -> i32) {
    // SAFETY: the child uses the C library's allocator, which is fork-safe, no lock of this
    // program's that another thread may hold, and ends with _exit.
    match unsafe { libc::fork() } {
        0 => {
            let status = catch_unwind(AssertUnwindSafe(body)).unwrap_or(PANICKED);
            // SAFETY: ends the child without the parent's exit handlers.
            unsafe { libc::_exit(status) }
        }
        pid if pid > 0 => reap(what, pid),
        // There may be no processes at times, as no threads.
        _ => {}
    }
}

fn reap(what: &str, pid: i32) {
    let began = Instant::now();
    let mut status = 0;
    loop {
        // SAFETY: reaps our child.
        let reaped = unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) };
        if reaped != 0 {
            break;
        }
        if began.elapsed() > PATIENCE {
            // It stays for the process that looks after us, which sees more of it, and then kills
            // it.
            books::fail(&format!("a child hangs: {what}: process {pid}"));
            return;
        }
        // Most take a millisecond.
        let nap = began.elapsed() / 8;
        std::thread::sleep(nap.min(Duration::from_millis(20)));
        books::step();
    }
    if status != 0 {
        books::fail(&format!("a child ends with {status:#x}: {what}"));
    }
}

/// An item of the parent's that is somewhere between all states.
static SLOT: AtomicPtr<Work> = AtomicPtr::new(std::ptr::null_mut());
static CHURNS: AtomicBool = AtomicBool::new(false);
/// Items are never freed, as a child may look at any of them: so many at most.
static ITEMS: AtomicU64 = AtomicU64::new(0);
const MOST_ITEMS: u64 = 200_000;

/// While it lives, a thread queues and cancels new items.
struct Churn(Option<std::thread::JoinHandle<()>>);

impl Churn {
    fn start(queue: Workqueue) -> Self {
        CHURNS.store(true, SeqCst);
        let body = move || {
            while CHURNS.load(SeqCst) && ITEMS.fetch_add(1, SeqCst) < MOST_ITEMS {
                churn(&queue);
            }
        };
        Churn(Some(threads::making(|| std::thread::spawn(body))))
    }
}

fn churn(queue: &Workqueue) {
    let item: &'static Work = Box::leak(Box::new(Work::new(|| ())));
    SLOT.store(std::ptr::from_ref(item).cast_mut(), SeqCst);
    match ITEMS.load(SeqCst) % 4 {
        0 => _ = queue.queue(item),
        1 => {
            let _ = queue.queue_after(item, Duration::from_micros(50));
            let _ = queue.modify(item, Duration::ZERO);
        }
        2 => {
            let _ = queue.queue(item);
            item.cancel();
        }
        _ => {
            item.disable();
            let _ = queue.queue(item);
            item.enable();
        }
    }
}

impl Drop for Churn {
    fn drop(&mut self) {
        CHURNS.store(false, SeqCst);
        drop(self.0.take().map(|thread| thread.join()));
    }
}

/// While a thread of the parent queues items, which the child queues, cancels and flushes as well.
fn in_the_middle(player: &mut Player) {
    let Ok(queue) = Workqueue::builder("parents").build() else {
        return;
    };
    let churn = Churn::start(queue.clone());
    for n in 0..30 {
        player.does("forks in the middle");
        let handle = queue.spawn(|| ());
        let plan = player.plan;
        child("in the middle", || in_middle(plan, &queue, handle, n));
    }
    drop(churn);
}

/// The system's queue, which says by a panic that no thread can be made; or what the child ends
/// with.
fn system(plan: &Plan) -> Result<&'static Workqueue, i32> {
    if Workqueue::builder("first").build().is_err() {
        return Err(if plan.no_threads { RIGHT } else { NO_SYSTEM });
    }
    Ok(cmwq::system())
}

/// What the child does with items of the parent's.
fn in_middle(plan: &Plan, queue: &Workqueue, handle: cmwq::JoinHandle<()>, n: usize) -> i32 {
    let system = match system(plan) {
        Ok(system) => system,
        Err(status) => return status,
    };
    let slot = SLOT.load(SeqCst);
    if !slot.is_null() {
        // SAFETY: it is never freed.
        let item = unsafe { &*slot };
        match n % 5 {
            0 => _ = item.cancel(),
            1 => drop(item.cancel_sync()),
            2 => drop(item.flush()),
            3 => _ = item.disable_sync().is_ok() && item.enable(),
            _ => {}
        }
        // Nobody has queued it here, and nobody disables it for ever; and it may have been
        // disabled.
        let queued = system.queue(item);
        let _ = (queued, item.flush());
        item.cancel();
    }
    // One that nobody else knows.
    let own = Work::new(|| ());
    if system.queue(&own) != Ok(true) || own.flush().is_err() || own.is_pending() {
        return 2;
    }
    if queue.queue(&own) != Err(QueueError::Forked) {
        return 3;
    }
    // It may have ended in the parent before.
    match handle.join() {
        Ok(()) | Err(JoinError::Refused(QueueError::Forked)) => RIGHT,
        Err(_) => 4,
    }
}

/// How long the first use takes a child, in nanoseconds, in memory that children share with us.
fn first_use_takes() -> &'static AtomicU64 {
    static SHARED: AtomicUsize = AtomicUsize::new(0);
    if SHARED.load(SeqCst) == 0 {
        let (flags, rights) = (
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            libc::PROT_READ | libc::PROT_WRITE,
        );
        // SAFETY: new memory, at an address of the kernel's choice.
        let page = unsafe { libc::mmap(std::ptr::null_mut(), 4096, rights, flags, -1, 0) };
        assert_ne!(page, libc::MAP_FAILED, "a page");
        SHARED.store(page as usize, SeqCst);
    }
    // SAFETY: a page that is never given back, of zeroes at first.
    unsafe { &*(SHARED.load(SeqCst) as *const AtomicU64) }
}

/// Two threads of a child use it for the first time, about when the other one is done.
fn first_use(player: &mut Player) {
    player.does("forks; two threads are first");
    let (takes, spread) = (first_use_takes(), player.rng.below(60_000) as u64);
    let delay = takes.load(SeqCst).saturating_sub(30_000) + spread;
    let more = player.rng.one_in(8);
    let plan = player.plan;
    child("two threads are first", || {
        two_first(plan, takes, delay, more)
    });
}

/// The second thread of a child, which comes first or last.
struct Second {
    plan: &'static Plan,
    ready: AtomicUsize,
    delay: u64,
    /// The address of its queue, or what the child ends with.
    seen: Result<usize, i32>,
}

/// Begins when both are there.
fn meet(ready: &AtomicUsize) -> Instant {
    ready.fetch_add(1, SeqCst);
    while ready.load(SeqCst) != 2 {
        std::hint::spin_loop();
    }
    Instant::now()
}

fn address(plan: &Plan) -> Result<usize, i32> {
    system(plan).map(|queue| std::ptr::from_ref(queue).addr())
}

extern "C" fn second(data: *mut c_void) -> *mut c_void {
    let body = || {
        // SAFETY: the first thread joins this one before it looks at the data again, but for
        // `ready`.
        let data = unsafe { &*data.cast::<Second>() };
        let at = meet(&data.ready);
        while (at.elapsed().as_nanos() as u64) < data.delay {
            std::hint::spin_loop();
        }
        address(data.plan)
    };
    let seen = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(PANICKED));
    // SAFETY: as above.
    unsafe { (*data.cast::<Second>()).seen = seen };
    std::ptr::null_mut()
}

/// Runs `first` beside [`second`], for which `data` is. Not by the standard library, whose new
/// threads may wait for threads of the parent. `None` if threads cannot be made.
fn beside_second<R>(data: *mut Second, first: impl FnOnce() -> R) -> Option<R> {
    let (mut thread, attr) = (0, std::ptr::null());
    // SAFETY: the thread is joined below, before the data ends.
    if unsafe { libc::pthread_create(&mut thread, attr, second, data.cast()) } != 0 {
        return None;
    }
    let result = first();
    // SAFETY: made above, and joined once.
    unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
    Some(result)
}

fn two_first(plan: &'static Plan, takes: &AtomicU64, delay: u64, more: bool) -> i32 {
    let mut data = Second {
        plan,
        ready: AtomicUsize::new(0),
        delay,
        seen: Err(PANICKED),
    };
    let data = &raw mut data;
    let own = beside_second(data, || {
        // SAFETY: the other one writes to another field.
        let at = meet(unsafe { &(*data).ready });
        cmwq::freezer::thaw();
        note(takes, at.elapsed().as_nanos() as u64);
        address(plan)
    });
    // SAFETY: the other thread has ended, or never was.
    match (own, unsafe { (*data).seen }) {
        (None, _) => RIGHT,
        (Some(Err(status)), _) | (_, Err(status)) => status,
        (Some(Ok(own)), Ok(seen)) if own != seen => {
            books::say("two engines in one process");
            5
        }
        _ if more => use_everything(),
        _ => RIGHT,
    }
}

/// The first use has taken so many nanoseconds.
fn note(takes: &AtomicU64, took: u64) {
    let usual = match takes.load(SeqCst) {
        0 => took,
        before => (before * 15 + took) / 16,
    };
    takes.store(usual, SeqCst);
}

fn use_everything() -> i32 {
    let Ok(queue) = Workqueue::builder("childs").max_active(2).build() else {
        return RIGHT;
    };
    let data = [1_u64, 2, 3];
    let sum = queue.scope(|scope| {
        let handles = data.each_ref().map(|n| scope.spawn(move || *n));
        handles
            .map(|handle| handle.join().unwrap_or(0))
            .iter()
            .sum::<u64>()
    });
    let delayed = Work::new(|| ());
    let _ = queue.queue_after(&delayed, Duration::from_millis(1));
    let job = Job::new(0..50).for_each(|_| ());
    let domain = AsyncDomain::new();
    domain.schedule(|_| ());
    let waited = domain.synchronize_full();
    let flushed = delayed.flush();
    let right = matches!(sum, Ok(6) | Err(_)) && job.is_ok() && waited.is_ok() && flushed.is_ok();
    drop(queue);
    if right { RIGHT } else { 6 }
}

/// An item forks.
fn from_an_item(player: &mut Player) {
    player.does("forks in an item");
    let Ok(queue) = Workqueue::builder("forks").build() else {
        return;
    };
    let work = Work::new(|| child("in an item", use_everything));
    let _ = queue.queue(&work);
    crate::value::defuse(work.flush());
}
