//! Workers that nobody can see, with and without canaries: nothing hangs.

mod common;

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier, mpsc};
use std::time::{Duration, Instant};

use cmwq::{JoinHandle, Workqueue};
use cmwq_os::clock;
use common::alone::alone;
use common::{Occupancy, Permits, eventually, queue, seccomp};

/// As in a sandbox: no policy but the normal one.
fn deny_canaries() {
    seccomp::deny(&[libc::SYS_sched_setscheduler], libc::EPERM);
}

/// No file can be opened from now on, those of /proc included.
fn deny_files(errno: i32) {
    let mut calls = vec![libc::SYS_openat, libc::SYS_readlinkat];
    if cfg!(target_arch = "x86_64") {
        // `open`, which other architectures have not.
        calls.push(2);
    }
    seccomp::deny(&calls, errno);
}

/// An empty folder over /proc, for this process alone; false where that is not permitted.
fn hide_proc() -> bool {
    let nothing = std::ptr::null();
    // SAFETY: a new mount namespace for the calling thread, and mounts in that.
    unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(
                nothing,
                c"/".as_ptr(),
                nothing,
                libc::MS_REC | libc::MS_PRIVATE,
                nothing.cast(),
            ) == 0
            && libc::mount(
                c"none".as_ptr(),
                c"/proc".as_ptr(),
                c"tmpfs".as_ptr(),
                0,
                nothing.cast(),
            ) == 0
    }
}

/// Runs the body as the first process of a PID namespace that /proc is not of, where that is
/// permitted.
fn in_a_new_pid_namespace(body: fn()) {
    // SAFETY: for children of this process only.
    if unsafe { libc::unshare(libc::CLONE_NEWPID) } != 0 {
        return;
    }
    // SAFETY: the child uses nothing of the other threads: no engine has been made.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends a child that hangs.
        unsafe { libc::alarm(100) };
        let ended = std::panic::catch_unwind(body).is_ok();
        // SAFETY: ends the child without the parent's handlers.
        unsafe { libc::_exit(i32::from(!ended)) }
    }
    let mut status = 0;
    // SAFETY: the status is valid for the write.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!((waited, status), (child, 0));
}

fn all_end<T>(what: &str, handles: &[JoinHandle<T>]) {
    eventually(what, || handles.iter().all(JoinHandle::is_finished));
}

/// Items that all wait for each other, and not through the library.
fn barrier(queue: &Workqueue, items: usize) {
    let barrier = Arc::new(Barrier::new(items));
    let wait = |_| {
        let barrier = barrier.clone();
        queue.spawn(move || {
            barrier.wait();
        })
    };
    let handles: Vec<_> = (0..items).map(wait).collect();
    all_end("the barrier", &handles);
}

/// An item that waits for one that waits for one, and so on.
fn nest(queue: &Workqueue, depth: usize, done: mpsc::Sender<()>) {
    let own = queue.clone();
    drop(queue.spawn(move || {
        if let Some(depth) = depth.checked_sub(1) {
            let (tell, told) = mpsc::channel();
            nest(&own, depth, tell);
            told.recv().unwrap();
        }
        done.send(()).unwrap();
    }));
}

fn everything_ends() {
    let managed = queue("managed");
    barrier(&managed, 12);
    let brief: Vec<_> = (0..2_000).map(|_| managed.spawn(|| ())).collect();
    barrier(&managed, 4);
    all_end("brief ones", &brief);
    let (tell, told) = mpsc::channel();
    nest(&managed, 100, tell);
    told.recv().unwrap();
    // The workers of one pool hold tokens that those of another one need.
    let gate = Arc::new(Permits::new());
    let wait = |_| {
        let gate = gate.clone();
        managed.spawn(move || gate.take())
    };
    let blocked: Vec<_> = (0..6).map(wait).collect();
    let nice = Workqueue::builder("nice").nice(5).build().unwrap();
    barrier(&nice, 6);
    let percpu = Workqueue::builder("percpu").percpu().build().unwrap();
    barrier(&percpu, 6);
    let (tell, told) = mpsc::channel();
    nest(&percpu, 20, tell);
    told.recv().unwrap();
    gate.open();
    all_end("those that were blocked", &blocked);
}

#[test]
fn with_no_signal_at_all_everything_ends() {
    alone("with_no_signal_at_all_everything_ends", || {
        deny_canaries();
        deny_files(libc::EACCES);
        everything_ends();
        let stats = cmwq::stats();
        assert!(
            stats.canary_denied.is_some() && stats.unseen_presumed > 0,
            "{stats:?}"
        );
    });
}

#[test]
fn also_where_not_even_cpu_time_is_told() {
    alone("also_where_not_even_cpu_time_is_told", || {
        deny_canaries();
        deny_files(libc::EMFILE);
        // The monotonic clock is read without a system call.
        seccomp::deny(&[libc::SYS_clock_gettime, libc::SYS_getrusage], libc::EPERM);
        everything_ends();
    });
}

/// The first readings of a process, by several threads at once, are no system call either.
#[test]
fn the_clock_and_the_cpu_are_told_without_system_calls_from_the_first_time_on() {
    let test = "the_clock_and_the_cpu_are_told_without_system_calls_from_the_first_time_on";
    alone(test, || {
        seccomp::deny(&[libc::SYS_clock_gettime, libc::SYS_getcpu], libc::EPERM);
        let barrier = Barrier::new(8);
        let read = || {
            barrier.wait();
            (clock::now(), cmwq_os::sched::current_cpu())
        };
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..8).map(|_| scope.spawn(read)).collect();
            for reader in readers {
                reader.join().unwrap();
            }
        });
    });
}

#[test]
fn without_proc_everything_ends() {
    alone("without_proc_everything_ends", || {
        let hidden = std::thread::spawn(|| {
            let hidden = hide_proc();
            if hidden {
                deny_canaries();
                everything_ends();
            }
            hidden
        });
        println!("hidden: {}", hidden.join().unwrap());
    });
}

#[test]
fn with_canaries_and_without_proc_everything_ends() {
    alone("with_canaries_and_without_proc_everything_ends", || {
        deny_files(libc::ENOENT);
        everything_ends();
    });
}

#[test]
fn in_a_pid_namespace_that_proc_is_not_of_everything_ends() {
    let test = "in_a_pid_namespace_that_proc_is_not_of_everything_ends";
    alone(test, || {
        in_a_new_pid_namespace(|| {
            deny_canaries();
            everything_ends();
        });
    });
}

#[test]
fn what_vanishes_in_mid_life_is_made_up_for() {
    alone("what_vanishes_in_mid_life_is_made_up_for", || {
        deny_canaries();
        let queue = queue("q");
        barrier(&queue, 5);
        assert_eq!(cmwq::stats().unseen_presumed, 0);
        let gate = Arc::new(Permits::new());
        let wait = |_| {
            let gate = gate.clone();
            queue.spawn(move || gate.take())
        };
        let blocked: Vec<_> = (0..3).map(wait).collect();
        eventually("they were seen", || cmwq::stats().started >= 8);
        deny_files(libc::EMFILE);
        barrier(&queue, 20);
        gate.open();
        all_end("those that were blocked", &blocked);
    });
}

#[test]
fn an_unseen_hog_does_not_hold_up_its_cpu() {
    alone("an_unseen_hog_does_not_hold_up_its_cpu", || {
        deny_canaries();
        deny_files(libc::EACCES);
        let percpu = Workqueue::builder("percpu").percpu().build().unwrap();
        let let_go = Arc::new(AtomicBool::new(false));
        let (spins, ends) = (let_go.clone(), let_go.clone());
        let hog = cmwq::Work::new(move || {
            while !spins.load(SeqCst) {
                std::hint::spin_loop();
            }
        });
        let next = cmwq::Work::new(move || ends.store(true, SeqCst));
        percpu.queue_on(0, &hog).unwrap();
        percpu.queue_on(0, &next).unwrap();
        eventually("the next one begins", || let_go.load(SeqCst));
        percpu.flush().unwrap();
    });
}

#[test]
fn unseen_items_that_compute_are_not_taken_for_asleep() {
    alone("unseen_items_that_compute_are_not_taken_for_asleep", || {
        deny_canaries();
        deny_files(libc::EACCES);
        let queue = queue("q");
        // Beside other programs each has its CPU for less than a quarter of the time, and nobody
        // can tell.
        let mut rounds = Vec::new();
        let is_right = (0..5).any(|_| {
            let (peak, share) = spinning(&queue);
            rounds.push((peak, share));
            peak < 12 || share < 0.8
        });
        assert!(is_right, "at once, part of the CPUs: {rounds:?}");
    });
}

/// Sixteen items that compute: how many did at once, and which part of the CPUs they had together.
fn spinning(queue: &Workqueue) -> (usize, f64) {
    let (inside, begin) = (Arc::new(Occupancy::default()), Instant::now());
    let spin = |_| {
        let inside = inside.clone();
        queue.spawn(move || {
            let _counted = inside.enter();
            let (end, cpu) = (
                Instant::now() + Duration::from_millis(60),
                clock::thread_cpu(),
            );
            while Instant::now() < end {
                std::hint::spin_loop();
            }
            clock::thread_cpu() - cpu
        })
    };
    let handles: Vec<_> = (0..16).map(spin).collect();
    all_end("they end", &handles);
    let used: u64 = handles.into_iter().map(|item| item.join().unwrap()).sum();
    let had = begin.elapsed().as_nanos() as f64 * cmwq::cpus() as f64;
    (inside.peak(), used as f64 / had)
}
