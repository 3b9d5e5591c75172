//! Threads that cannot be made at times, and signal masks.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::books;
use crate::plan::Plan;
use crate::rng::Rng;

/// Held while no thread can be made.
static DENIED: Mutex<()> = Mutex::new(());

fn gate() -> MutexGuard<'static, ()> {
    DENIED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a thread of the soak's own, which is not to fail.
pub(crate) fn making<R>(make: impl FnOnce() -> R) -> R {
    let _allowed = gate();
    make()
}

/// The limit of a user does not bind root: becomes a user who has no other threads.
pub(crate) fn become_bound() {
    let user = 70_000 + std::process::id();
    // SAFETY: changes the user of this process; then lets it see its own files again, as if it had
    // been started by that user.
    unsafe {
        if libc::geteuid() == 0 && libc::setuid(user) == 0 {
            libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0);
        }
    }
}

fn limit(most: Option<libc::rlim_t>) {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the kernel fills the struct.
    unsafe { libc::getrlimit(libc::RLIMIT_NPROC, &mut limit) };
    limit.rlim_cur = most.unwrap_or(limit.rlim_max);
    // SAFETY: the kernel reads the struct.
    unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &limit) };
}

/// The first item, and the first timer, of a process in which no thread can be made for a moment.
/// They are waited for without cmwq.
pub(crate) fn first_use_without() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let other = sender.clone();
    let timer = cmwq::Work::new(move || {
        let _ = other.send(());
    });
    let queue = {
        let _denied = gate();
        limit(Some(0));
        let queue = cmwq::Workqueue::builder("first").build();
        if let Ok(queue) = &queue {
            let _ = queue.queue_after(&timer, Duration::from_millis(1));
            match std::process::id() % 2 {
                0 => drop(sender),
                _ => drop(queue.spawn(move || sender.send(()).is_ok())),
            }
        }
        limit(None);
        queue
    };
    if queue.is_ok() {
        let _ = receiver.recv();
        books::step();
    }
    drop(timer);
}

/// Threads can and cannot be made, in turns, until the books say that it is over.
pub(crate) fn deny_at_times(plan: &'static Plan) {
    let mut rng = Rng::new(plan.seed ^ 0x7e);
    let body = move || {
        while !books::is_over() {
            let denied = gate();
            limit(Some(0));
            std::thread::sleep(Duration::from_millis(1 + rng.below(30) as u64));
            limit(None);
            drop(denied);
            std::thread::sleep(Duration::from_millis(1 + rng.below(30) as u64));
        }
    };
    drop(making(|| std::thread::spawn(body)));
}

/// The calling thread blocks no signals any more, as a worker does.
pub(crate) fn unblock_signals() {
    // SAFETY: an empty set is a valid one.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: changes the mask of this thread.
    unsafe {
        libc::sigemptyset(&mut set);
        libc::pthread_sigmask(libc::SIG_SETMASK, &set, std::ptr::null_mut());
    }
}
