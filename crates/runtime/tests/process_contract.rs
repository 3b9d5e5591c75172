//! What the process around cmwq may count on: signals, CPUs, and waits that count as hints.

mod common;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cmwq::Workqueue;
use cmwq_os::{sched, thread};
use cmwq_policy::CpuMask;
use common::alone::alone;
use common::threads::set_process_mask;
use common::{Occupancy, Permits, eventually, limited, queue, threads, watchdog};

/// Keeps all kinds of our threads busy for a while: items that block and items that wait.
fn use_it(queue: &Workqueue) {
    for _ in 0..40 {
        drop(queue.spawn(|| std::thread::sleep(Duration::from_millis(1))));
    }
    queue.flush().unwrap();
}

const SYNCHRONOUS: [i32; 7] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
];

#[test]
fn our_threads_block_all_signals_but_the_synchronous_ones() {
    alone(
        "our_threads_block_all_signals_but_the_synchronous_ones",
        || {
            let before = thread::sigmask();
            use_it(&queue("signals"));
            assert_eq!(thread::sigmask(), before, "the caller's own mask");
            assert!(threads::count("cmwq/u") >= 1 && threads::count("cmwq/tick") >= 1);
            // A thread that makes another one blocks all signals for that moment: look again.
            eventually("every thread blocks the right signals", || {
                threads::ours().iter().all(blocks_the_right_ones)
            });
        },
    );
}

fn blocks_the_right_ones(thread: &threads::Thread) -> bool {
    (1..=31).all(|signal| {
        let never = [libc::SIGKILL, libc::SIGSTOP].contains(&signal);
        let blocked = thread.blocked() & 1 << (signal - 1) != 0;
        blocked == (!never && !SYNCHRONOUS.contains(&signal))
    })
}

/// Signals that the handler has seen, and those of them in a thread of ours.
static HANDLED: AtomicUsize = AtomicUsize::new(0);
static IN_WORKERS: AtomicUsize = AtomicUsize::new(0);

extern "C" fn handler(_: libc::c_int) {
    let mut name = [0u8; 16];
    // SAFETY: writes at most 16 bytes.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    HANDLED.fetch_add(1, SeqCst);
    IN_WORKERS.fetch_add(usize::from(name.starts_with(b"cmwq/")), SeqCst);
}

#[test]
fn signals_of_the_process_are_handled_by_its_own_threads() {
    alone(
        "signals_of_the_process_are_handled_by_its_own_threads",
        || {
            let function: extern "C" fn(libc::c_int) = handler;
            // SAFETY: the handler only makes a system call and adds to atomics.
            unsafe { libc::signal(libc::SIGUSR1, function as *const () as libc::sighandler_t) };
            let queue = queue("signalled");
            for round in 1..=200 {
                drop(queue.spawn(|| std::thread::sleep(Duration::from_micros(300))));
                // SAFETY: sends a signal, which is handled, to this process.
                unsafe { libc::kill(libc::getpid(), libc::SIGUSR1) };
                eventually("the signal is handled", || HANDLED.load(SeqCst) >= round);
            }
            queue.flush().unwrap();
            assert_eq!(IN_WORKERS.load(SeqCst), 0);
        },
    );
}

fn process_mask() -> CpuMask {
    sched::affinity(thread::getpid()).unwrap()
}

fn one_of(mask: &CpuMask) -> CpuMask {
    mask.iter().take(1).collect()
}

#[test]
fn the_callers_own_mask_is_not_the_processs() {
    alone("the_callers_own_mask_is_not_the_processs", || {
        let whole = process_mask();
        let narrow = one_of(&whole);
        // First use comes from a thread that has narrowed its own mask.
        let first_user = std::thread::spawn(move || {
            sched::set_affinity_self(&narrow).unwrap();
            let queue = queue("first use");
            queue.spawn(|| ()).join().unwrap();
            use_it(&queue);
        });
        first_user.join().unwrap();
        assert_eq!(cmwq::stats().cpus.min(whole.count()), cmwq::stats().cpus);
        workers_follow(&whole);
    });
}

#[test]
fn a_pinned_first_thread_pins_nobody_else() {
    alone("a_pinned_first_thread_pins_nobody_else", || {
        let whole = process_mask();
        let pin = |mask: &CpuMask| sched::set_affinity(thread::getpid(), mask).unwrap();
        // Before the first use, and after it.
        for _ in 0..2 {
            pin(&one_of(&whole));
            use_it(&queue("beside a pinned one"));
            workers_follow(&whole);
            pin(&whole);
            workers_follow(&whole);
        }
    });
}

/// Queues items until each of many in a row ran with this mask.
fn workers_follow(mask: &CpuMask) {
    const IN_A_ROW: usize = 50;
    let (queue, gate) = (limited("followers", 64), Arc::new(Permits::new()));
    let follows = |right: usize| {
        let mask = *mask;
        let ran = queue.spawn(move || sched::affinity(0).unwrap() == mask);
        if ran.join().unwrap() { right + 1 } else { 0 }
    };
    // Others wait meanwhile: there is backlog, so that somebody looks.
    let mut right = 0;
    for _ in 0..40 {
        let gate = gate.clone();
        drop(queue.spawn(move || gate.take()));
    }
    eventually("all workers follow", || {
        gate.give(1);
        drop(queue.spawn(|| std::thread::sleep(Duration::from_micros(500))));
        right = follows(right);
        right >= IN_A_ROW
    });
    gate.open();
    queue.flush().unwrap();
}

#[test]
fn workers_follow_the_processs_mask() {
    alone("workers_follow_the_processs_mask", || {
        let whole = process_mask();
        if whole.count() == 1 {
            // Nothing can be narrowed here.
            return;
        }
        use_it(&queue("before"));
        set_process_mask(&one_of(&whole));
        workers_follow(&one_of(&whole));
        assert_eq!(cmwq::stats().cpus, 1);
        set_process_mask(&whole);
        workers_follow(&whole);
    });
}

#[test]
fn a_narrowed_process_keeps_as_many_busy_as_it_has_cpus() {
    alone(
        "a_narrowed_process_keeps_as_many_busy_as_it_has_cpus",
        || {
            set_process_mask(&one_of(&process_mask()));
            let queue = queue("one CPU");
            assert_eq!(queue.spawn(|| cmwq::stats().cpus).join().unwrap(), 1);
            use_it(&queue);
            let canaries = threads::ours()
                .iter()
                .filter(|t| t.name.starts_with("cmwq/c") || t.name.starts_with("cmwq/r"))
                .count();
            assert!(canaries <= 1, "{canaries} canaries for one CPU");
        },
    );
}

/// Waits inside of `CPUs + 2` items; meanwhile plain items must get on.
fn counts_as_a_hint(wait: fn(&Workqueue, Arc<Permits>)) {
    let _watch = watchdog();
    let (outer, inner, plain) = (queue("outer"), queue("inner"), queue("plain"));
    let (gate, waiting) = (Arc::new(Permits::new()), Arc::new(Occupancy::default()));
    let waiters = cmwq::stats().cpus + 2;
    let handles: Vec<_> = (0..waiters)
        .map(|_| {
            let (inner, gate, waiting) = (inner.clone(), gate.clone(), waiting.clone());
            outer.spawn(move || {
                let _counted = waiting.enter();
                wait(&inner, gate);
            })
        })
        .collect();
    eventually("all of them run", || waiting.now() == waiters);
    // With all CPUs' worth of workers waiting, these run.
    let sum: usize = (0..100)
        .map(|n| plain.spawn(move || n).join().unwrap())
        .sum();
    assert_eq!((sum, waiting.now()), (4_950, waiters));
    gate.open();
    handles
        .into_iter()
        .for_each(|handle| handle.join().unwrap());
}

#[test]
fn a_join_in_an_item_counts_as_a_hint() {
    counts_as_a_hint(|inner, gate| inner.spawn(move || gate.take()).join().unwrap());
}

#[test]
fn a_scope_in_an_item_counts_as_a_hint() {
    counts_as_a_hint(|inner, gate| {
        inner
            .scope(|scope| drop(scope.spawn(|| gate.take())))
            .unwrap()
    });
}

#[test]
fn a_flush_in_an_item_counts_as_a_hint() {
    counts_as_a_hint(|inner, gate| {
        drop(inner.spawn(move || gate.take()));
        inner.flush().unwrap();
    });
}

#[test]
fn dropping_a_queue_in_an_item_counts_as_a_hint() {
    counts_as_a_hint(|_, gate| {
        let own = queue("own");
        drop(own.spawn(move || gate.take()));
    });
}

/// Panics when it is dropped, unless something panics already.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("dropped");
        }
    }
}

/// The thread that reports is one that everybody needs.
#[test]
fn a_hook_whose_panic_panics_ends_nobody() {
    alone("a_hook_whose_panic_panics_ends_nobody", || {
        std::panic::set_hook(Box::new(|_| ()));
        cmwq::set_report_hook(|_| std::panic::panic_any(Bomb));
        let queue = queue("drained");
        let gate = Arc::new(common::Permits::new());
        let entry = gate.clone();
        drop(queue.spawn(move || entry.take()));
        let late = cmwq::Work::new(|| unreachable!("its queue takes no more"));
        assert_eq!(
            queue.queue_after(&late, Duration::from_millis(30)),
            Ok(true)
        );
        let own = queue.clone();
        let drain = std::thread::spawn(move || own.drain().unwrap());
        // Its time comes while the queue is drained: that is reported by the timers' thread.
        eventually("it was dropped", || !late.is_pending());
        gate.open();
        drain.join().unwrap();
        let timer = cmwq::Work::new(|| ());
        assert_eq!(
            queue.queue_after(&timer, Duration::from_millis(1)),
            Ok(true)
        );
        eventually("timers expire", || !timer.is_pending());
        assert_eq!(queue.spawn(|| 5).join().unwrap(), 5);
    });
}

/// What a thread was told at its start.
#[derive(Default)]
struct Told {
    starts: AtomicUsize,
    stops: AtomicUsize,
}

static TOLD: Told = Told {
    starts: AtomicUsize::new(0),
    stops: AtomicUsize::new(0),
};

thread_local! {
    static STARTED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

#[test]
fn hooks_are_called_as_threads_start_and_stop() {
    alone("hooks_are_called_as_threads_start_and_stop", || {
        let builder = cmwq::Builder::new().on_thread_start(|| {
            TOLD.starts.fetch_add(1, SeqCst);
            STARTED.set(true);
            panic!("ends the call and nothing else");
        });
        let builder = builder.on_thread_stop(|| {
            assert!(STARTED.get(), "of the same thread");
            TOLD.stops.fetch_add(1, SeqCst);
        });
        builder.install().unwrap();
        let kinds = [
            Workqueue::builder("managed"),
            Workqueue::builder("percpu").percpu(),
            Workqueue::builder("bh").bh(),
        ];
        for kind in kinds {
            let queue = kind.build().unwrap();
            assert!(queue.spawn(|| STARTED.get()).join().unwrap());
        }
        let workers = TOLD.starts.load(SeqCst);
        assert!(workers >= 3);
        // A thread that ends: the queue's own.
        drop(Workqueue::builder("rescued").mem_reclaim().build().unwrap());
        eventually("its thread is gone", || TOLD.stops.load(SeqCst) == 1);
        assert!(TOLD.starts.load(SeqCst) > workers);
    });
}
