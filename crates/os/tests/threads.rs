//! Real threads: names, signal masks, failure to start, nice levels and policies.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc;

use cmwq_os::{sched, thread};
use cmwq_policy::CpuMask;

const STACK: usize = 64 * 1024;

/// What `body` says on a new thread.
fn on_new_thread<T: Send + 'static>(name: &str, body: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    thread::spawn(name, STACK, move || tell.send(body()).unwrap()).unwrap();
    told.recv().unwrap()
}

fn kernel_name() -> String {
    let name = std::fs::read_to_string("/proc/thread-self/comm").unwrap();
    name.trim_end_matches('\n').to_owned()
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

#[test]
fn names_are_cut_between_characters() {
    for (given, want) in [
        ("w0", "w0"),
        ("fifteen-letters", "fifteen-letters"),
        ("sixteen--letters", "sixteen--letter"),
        ("fourteen------\u{e9}", "fourteen------"),
        ("a\0b", "ab"),
    ] {
        assert_eq!(on_new_thread(given, kernel_name), want);
        let renamed = move || {
            thread::set_name(given);
            kernel_name()
        };
        assert_eq!(on_new_thread("other", renamed), want);
    }
}

#[test]
fn a_new_thread_blocks_all_but_synchronous_signals() {
    let mask = on_new_thread("w", thread::sigmask);
    for signal in [
        libc::SIGTERM,
        libc::SIGINT,
        libc::SIGCHLD,
        libc::SIGPROF,
        libc::SIGUSR1,
        libc::SIGPIPE,
        64,
    ] {
        assert_ne!(mask & bit(signal), 0, "{signal} is not blocked");
    }
    let synchronous = [
        libc::SIGSEGV,
        libc::SIGBUS,
        libc::SIGFPE,
        libc::SIGILL,
        libc::SIGTRAP,
        libc::SIGSYS,
    ];
    // 32 and 33 belong to the C library.
    for signal in
        synchronous
            .into_iter()
            .chain([libc::SIGABRT, libc::SIGKILL, libc::SIGSTOP, 32, 33])
    {
        assert_eq!(mask & bit(signal), 0, "{signal} is blocked");
    }
}

#[test]
fn the_creators_mask_is_as_before_also_after_a_failure() {
    // In a thread of its own: the test harness's mask is not ours to change.
    let masks = std::thread::spawn(|| {
        let odd = bit(libc::SIGUSR2) | bit(libc::SIGSEGV);
        thread::set_sigmask(odd);
        let seen = on_new_thread("w", thread::sigmask);
        let after_success = thread::sigmask();
        thread::spawn("w", 1 << 46, || ()).unwrap_err();
        (odd, seen, after_success, thread::sigmask())
    });
    let (odd, seen, after_success, after_failure) = masks.join().unwrap();
    assert_eq!((after_success, after_failure), (odd, odd));
    assert_eq!(
        seen & bit(libc::SIGSEGV),
        0,
        "a worker that crashes must crash loudly"
    );
}

#[test]
fn no_memory_for_a_stack_is_an_error() {
    let error = thread::spawn("w", 1 << 46, || ()).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EAGAIN));
}

#[test]
fn a_changed_mask_can_be_seen_and_put_back() {
    std::thread::spawn(|| {
        let before = thread::sigmask();
        // SAFETY: a signal set is integers; zero is a value, and the calls are given valid ones.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigaddset(&mut set, libc::SIGUSR1);
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        }
        assert_eq!(thread::sigmask(), before | bit(libc::SIGUSR1));
        thread::set_sigmask(before);
        assert_eq!(thread::sigmask(), before);
        thread::set_sigmask(u64::MAX);
        assert_eq!(
            thread::sigmask() & (bit(32) | bit(33) | bit(libc::SIGKILL)),
            0
        );
    })
    .join()
    .unwrap();
}

#[test]
fn thread_ids() {
    assert_eq!(thread::getpid(), std::process::id() as i32);
    assert_ne!(on_new_thread("w", thread::gettid), thread::gettid());
}

#[test]
fn nice_belongs_to_the_thread() {
    let before = sched::nice_self();
    let raised = (before + 3).min(19);
    let seen = on_new_thread("w", move || {
        sched::set_nice_self(raised).unwrap();
        (
            sched::nice_self(),
            sched::nice_of(thread::gettid()).unwrap(),
        )
    });
    assert_eq!(seen, (raised, raised));
    assert_eq!(sched::nice_self(), before);
    assert_eq!(
        sched::nice_of(i32::MAX).unwrap_err().raw_os_error(),
        Some(libc::ESRCH)
    );
}

#[test]
fn policies_belong_to_the_thread() {
    let was_normal = sched::is_normal_policy_self();
    let idle_is_normal = on_new_thread("w", || {
        sched::set_idle_policy_self().unwrap();
        sched::is_normal_policy_self()
    });
    assert!(!idle_is_normal);
    let normal = on_new_thread("w", || {
        sched::set_normal_policy_self().unwrap();
        sched::is_normal_policy_self()
    });
    assert!(normal);
    assert_eq!(sched::is_normal_policy_self(), was_normal);
}

#[test]
fn pinning_moves_the_thread() {
    for cpu in sched::affinity(0).unwrap().iter().take(4) {
        let seen = on_new_thread("w", move || {
            sched::set_affinity_self(&[cpu].into_iter().collect()).unwrap();
            (
                sched::affinity(0).unwrap().iter().collect::<Vec<_>>(),
                sched::current_cpu(),
            )
        });
        assert_eq!(seen, (vec![cpu], cpu));
    }
    let error = sched::set_affinity_self(&CpuMask::EMPTY).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
    assert_eq!(
        sched::affinity(i32::MAX).unwrap_err().raw_os_error(),
        Some(libc::ESRCH)
    );
}

#[test]
fn timer_slack_is_set_and_yield_returns() {
    let slack = on_new_thread("w", || {
        sched::set_timer_slack_self(1_000);
        sched::yield_now();
        // SAFETY: asks for a number, touches no memory.
        unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) }
    });
    assert_eq!(slack, 1_000);
}

/// No window: a storm of process signals while threads start never runs a handler in a worker.
#[test]
fn a_signal_storm_never_hits_a_worker() {
    static HIT_A_WORKER: AtomicBool = AtomicBool::new(false);
    extern "C" fn handler(_: i32) {
        // A worker is told by its mask; no other test here blocks this signal alone.
        if thread::sigmask() & bit(libc::SIGTERM) != 0 {
            HIT_A_WORKER.store(true, SeqCst);
        }
    }
    // SAFETY: the handler makes one system call and one store; both are safe in a handler.
    unsafe { libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t) };
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(SeqCst) {
                // SAFETY: signals this process, which handles it.
                unsafe { libc::kill(libc::getpid(), libc::SIGUSR1) };
            }
        });
        for _ in 0..200 {
            on_new_thread("w", sched::yield_now);
        }
        over.store(true, SeqCst);
    });
    assert!(!HIT_A_WORKER.load(SeqCst));
}
