//! The page that a helper and its parent share.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, AtomicUsize};

use cmwq_policy::MAX_CPUS;

/// What a pinned thread runs, with the shared memory and its CPU.
pub type Body = extern "C" fn(*mut c_void, usize) -> !;

const WORDS: usize = MAX_CPUS / 64;
/// The word of a `pthread_mutex_t` that the kernel knows as the lock.
const LOCK_WORD: usize = if cfg!(target_env = "musl") { 1 } else { 0 };

/// All zero to begin with. The parent fills it in before there is a helper; what both change is
/// atomic.
#[repr(C, align(64))]
pub(super) struct Control {
    /// Held by the thread that stands for the parent.
    pub(super) lock: UnsafeCell<libc::pthread_mutex_t>,
    /// Counts what the first thread is to look at; it sleeps on it.
    pub(super) order: AtomicU32,
    pub(super) quit: AtomicU32,
    /// An `errno`, if `SCHED_IDLE` is denied.
    pub(super) denied: AtomicI32,
    pub(super) parent: AtomicI32,
    /// CPUs that are to have a thread, and those that have one.
    pub(super) wanted: [AtomicU64; WORDS],
    pub(super) made: [AtomicU64; WORDS],
    /// The thread of each CPU; 0: none.
    pub(super) threads: [AtomicI32; MAX_CPUS],
    /// What stays mapped: the code, the thread's own memory, the shared pages. From, to.
    pub(super) keep: [[AtomicUsize; 2]; 3],
    /// Where memory of a process ends.
    pub(super) end: AtomicUsize,
    /// Where the kernel tells the forking thread its CPU; 0: unknown.
    pub(super) rseq: AtomicUsize,
    /// Address of a [`Body`], and what it is given.
    pub(super) body: AtomicUsize,
    pub(super) memory: AtomicUsize,
    pub(super) waiters: UnsafeCell<[u64; 6]>,
    no_limit: [u64; 2],
}

impl Control {
    pub(super) fn lock_word(&self) -> &AtomicU32 {
        // SAFETY: the lock is longer than that, lives as long as this, and its word is only used as
        // an atomic.
        unsafe { &*self.lock.get().cast::<AtomicU32>().add(LOCK_WORD) }
    }

    /// Address of a `struct rlimit` with two zeros.
    pub(super) fn no_limit(&self) -> usize {
        self.no_limit.as_ptr().addr()
    }

    pub(super) fn body(&self) -> Body {
        // SAFETY: the parent has stored the address of one, and this process was forked from it.
        unsafe { std::mem::transmute::<usize, Body>(self.body.load(SeqCst)) }
    }

    /// The first thread has something to look at.
    pub(super) fn give_order(&self) {
        self.order.fetch_add(1, SeqCst);
        crate::futex::wake_shared(&self.order, 1);
    }
}
