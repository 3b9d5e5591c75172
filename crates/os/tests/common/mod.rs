//! What the tests of several files need.
#![allow(dead_code, reason = "each test file uses a part")]

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cmwq_os::{futex, thread};

/// Looks again until it is so; the bound only ends a test that fails.
pub(crate) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..20_000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("never happened: {what}");
}

/// Starts a thread, waits for its id.
pub(crate) fn start<'s>(
    scope: &'s std::thread::Scope<'s, '_>,
    body: impl FnOnce() + Send + 's,
) -> i32 {
    let (tell, told) = std::sync::mpsc::channel();
    scope.spawn(move || {
        tell.send(thread::gettid()).unwrap();
        body();
    });
    told.recv().unwrap()
}

/// What threads of a test wait for, by sleeping or spinning.
#[derive(Default)]
pub(crate) struct Gate(AtomicU32);

impl Gate {
    /// Opens the gate when dropped: a test that fails lets its threads go, too.
    pub(crate) fn opens(&self) -> Opens<'_> {
        Opens(self)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.0.load(SeqCst) != 0
    }

    pub(crate) fn sleep(&self) {
        while !self.is_open() {
            futex::wait(&self.0, 0, None);
        }
    }

    pub(crate) fn spin(&self) {
        while !self.is_open() {
            std::hint::spin_loop();
        }
    }

    /// Where its word is.
    pub(crate) fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }
}

pub(crate) struct Opens<'a>(&'a Gate);

impl Drop for Opens<'_> {
    fn drop(&mut self) {
        self.0.0.store(1, SeqCst);
        futex::wake(&self.0.0, u32::MAX);
    }
}

/// A forked child and what it forks, in a process group of its own. Killed and reaped with the
/// value.
pub(crate) struct Child(pub(crate) i32);

impl Child {
    /// `body` may call only what is safe after a fork of a threaded process; it never returns.
    pub(crate) fn fork(body: impl FnOnce()) -> Self {
        // SAFETY: the child calls only `body`, see above, and _exit.
        match unsafe { libc::fork() } {
            0 => {
                // SAFETY: moves the child itself. The parent does the same: whoever is first.
                unsafe { libc::setpgid(0, 0) };
                body();
                // SAFETY: ends the child at once.
                unsafe { libc::_exit(0) }
            }
            pid => {
                assert!(pid > 0, "fork: {}", std::io::Error::last_os_error());
                // SAFETY: moves our own child, which has not been reaped.
                unsafe { libc::setpgid(pid, pid) };
                Child(pid)
            }
        }
    }

    pub(crate) fn signal(&self, signal: i32) {
        // SAFETY: the group of our own child, not yet reaped, so the id is its.
        unsafe { libc::kill(-self.0, signal) };
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(libc::SIGKILL);
        // SAFETY: reaps our child; no status is asked for.
        unsafe { libc::waitpid(self.0, std::ptr::null_mut(), 0) };
    }
}

pub(crate) fn pause_for_ever() {
    loop {
        // SAFETY: sleeps until a signal.
        unsafe { libc::pause() };
    }
}

/// The child's exit status.
pub(crate) fn status_of(child: Child) -> i32 {
    let mut status = 0;
    // SAFETY: reaps our child and writes its status.
    unsafe { libc::waitpid(child.0, &mut status, 0) };
    // Reaped here: its number may be somebody else's by now.
    std::mem::forget(child);
    status
}
