//! The scheduling policy that we were started with (`chrt`). Workers make themselves ordinary
//! threads, and a process inherits from the thread that starts it.

/// Not inherited: what we were started with does not hold for our children.
const RESET_ON_FORK: libc::c_long = 0x4000_0000;

/// A scheduling policy that is not the usual one, and its priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scheduling {
    policy: libc::c_long,
    priority: libc::c_int,
}

/// The calling thread's policy, if its children inherit it and it is not SCHED_OTHER.
pub(super) fn other_than_usual() -> Option<Scheduling> {
    let mut priority: libc::c_int = 0;
    // musl's own functions for policies only return ENOSYS, so the calls are made by number.
    // SAFETY: takes a thread id (0: the caller) and touches no memory.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
    // SAFETY: the kernel writes one `struct sched_param`, which on Linux is one int.
    unsafe { libc::syscall(libc::SYS_sched_getparam, 0, &mut priority) };
    let is_inherited = policy > 0 && policy & RESET_ON_FORK == 0;
    is_inherited.then_some(Scheduling { policy, priority })
}

impl Scheduling {
    /// Gives it to the calling thread; where that is denied, the thread stays what it is. Safe
    /// between fork and exec.
    pub(super) fn apply(self) {
        // SAFETY: the kernel reads one `struct sched_param`, which on Linux is one int.
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, self.policy, &self.priority) };
    }
}
