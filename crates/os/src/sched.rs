//! Which CPUs, which nice level, which policy. On Linux all three belong to a thread.

use std::io;
use std::num::NonZeroU64;

use cmwq_policy::{CpuMask, MAX_CPUS};
use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::{self, CpuSet, Pid};

/// Set in a policy by whoever wants children to start with the normal one; no policy of its own.
const SCHED_RESET_ON_FORK: i64 = 0x4000_0000;

/// CPUs the thread `tid` may run on; 0 is the calling thread. The process's mask is that of its
/// first thread: `affinity(getpid())`.
///
/// # Errors
///
/// `ESRCH`: no such thread. `EINVAL`: the kernel has more CPUs than a mask can name.
pub fn affinity(tid: i32) -> io::Result<CpuMask> {
    let set = thread::sched_getaffinity(Pid::from_raw(tid))?;
    // Not all 1,024: that took 2 us, and workers ask after many items.
    let cpus = (0..MAX_CPUS).filter(|&cpu| set.is_set(cpu));
    Ok(cpus.take(set.count() as usize).collect())
}

/// Pins the calling thread to `mask`.
///
/// # Errors
///
/// `EINVAL`: no CPU of the mask is online and in the process's cpuset.
pub fn set_affinity_self(mask: &CpuMask) -> io::Result<()> {
    set_affinity(0, mask)
}

/// Pins the thread `tid`, one of the same user's, to `mask`; 0 is the calling thread. A thread that
/// sleeps wakes up inside of the mask.
///
/// # Errors
///
/// `EINVAL`: no CPU of the mask is online and in the process's cpuset. `ESRCH`: no such thread.
pub fn set_affinity(tid: i32, mask: &CpuMask) -> io::Result<()> {
    let mut set = CpuSet::new();
    mask.iter().for_each(|cpu| set.set(cpu));
    Ok(thread::sched_setaffinity(Pid::from_raw(tid), &set)?)
}

/// The calling thread's nice level, -20 to 19.
pub fn nice_self() -> i32 {
    nice_of(0).unwrap_or(0)
}

/// The nice level of the thread `tid`; 0 is the calling thread.
///
/// # Errors
///
/// `ESRCH`: no such thread.
pub fn nice_of(tid: i32) -> io::Result<i32> {
    Ok(getpriority_process(Pid::from_raw(tid))?)
}

/// Sets the calling thread's nice level; numbers outside -20 to 19 are clamped.
///
/// # Errors
///
/// `EACCES` or `EPERM`: a lower level than `RLIMIT_NICE` allows. Without privilege there is no way
/// back from a higher level.
pub fn set_nice_self(nice: i32) -> io::Result<()> {
    Ok(setpriority_process(None, nice)?)
}

/// Sets the nice level of the thread `tid`, one of the same user's, as [`set_nice_self`] does.
///
/// # Errors
///
/// As there; `ESRCH`: no such thread.
pub fn set_nice(tid: i32, nice: i32) -> io::Result<()> {
    Ok(setpriority_process(Pid::from_raw(tid), nice)?)
}

/// Makes the calling thread run only when (almost) nothing else wants its CPU: `SCHED_IDLE`.
///
/// # Errors
///
/// `EPERM`: a sandbox forbids it; the kernel itself asks no privilege. The way back needs
/// `RLIMIT_NICE` to cover the thread's nice level.
pub fn set_idle_policy_self() -> io::Result<()> {
    set_policy(0, libc::SCHED_IDLE)
}

/// Makes the calling thread an ordinary one, `SCHED_OTHER`: a thread starts with its creator's
/// policy, which may be a real-time one.
///
/// # Errors
///
/// `EPERM`: the thread is `SCHED_IDLE` and `RLIMIT_NICE` does not cover its nice level.
pub fn set_normal_policy_self() -> io::Result<()> {
    set_policy(0, libc::SCHED_OTHER)
}

/// The same for the thread `tid`, one of the same user's.
///
/// # Errors
///
/// As there; `ESRCH`: no such thread.
pub fn set_normal_policy(tid: i32) -> io::Result<()> {
    set_policy(tid, libc::SCHED_OTHER)
}

/// As the kernel has it, in its first version.
#[repr(C)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

impl SchedAttr {
    /// An ordinary thread at the caller's nice level with the kernel's shortest time slice, 0.1 ms:
    /// it gets a CPU sooner where others compute, and for less long.
    fn short_slice() -> Self {
        SchedAttr {
            size: size_of::<SchedAttr>() as u32,
            policy: libc::SCHED_OTHER as u32,
            flags: 0,
            nice: nice_self(),
            priority: 0,
            runtime: 100_000,
            deadline: 0,
            period: 0,
        }
    }
}

/// Makes the calling thread, an ordinary one, have the shortest time slice; it stays with the
/// thread if the policy changes.
///
/// Only for a thread that sleeps nearly always: while it is on a CPU or waits for it, the kernel
/// (since 6.17) lets nobody else there run longer than the shortest slice in one go.
///
/// # Errors
///
/// `EPERM`: a sandbox forbids it. Kernels before 6.12 answer nothing, and do nothing.
pub fn set_short_slice_self() -> io::Result<()> {
    if cfg!(miri) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let attr = SchedAttr::short_slice();
    // SAFETY: the kernel reads as many bytes as the struct says that it has.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &attr, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Whether the calling thread's policy is `SCHED_OTHER`.
pub fn is_normal_policy_self() -> bool {
    policy_self() == i64::from(libc::SCHED_OTHER)
}

pub(crate) fn policy_self() -> i64 {
    if cfg!(miri) {
        return i64::from(libc::SCHED_OTHER);
    }
    // musl's own functions for policies only return ENOSYS, so the call is made by number.
    // SAFETY: takes a thread id (0: the caller) and touches no memory.
    let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
    policy & !SCHED_RESET_ON_FORK
}

fn set_policy(tid: i32, policy: i32) -> io::Result<()> {
    if cfg!(miri) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // Only real-time policies have a priority.
    let priority: libc::c_int = 0;
    // SAFETY: the kernel reads one `struct sched_param`, which on Linux is one int.
    let status = unsafe { libc::syscall(libc::SYS_sched_setscheduler, tid, policy, &priority) };
    match status {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets another thread of the same CPU run, if there is one that wants to.
pub fn yield_now() {
    thread::sched_yield();
}

/// The CPU the calling thread is on; it may have moved by the time the caller looks. 0 where the
/// system does not tell (a sandbox on an old C library, which makes a system call of it).
#[inline]
pub fn current_cpu() -> usize {
    // SAFETY: reads what the kernel keeps for the thread.
    let cpu = unsafe { libc::sched_getcpu() };
    cpu.try_into().unwrap_or(0)
}

/// How much later than asked, in nanoseconds, the calling thread's timeouts may fire so that the
/// kernel can batch them; at least 1. The default is 50 us. No effect on real-time threads.
pub fn set_timer_slack_self(nanos: u64) {
    let slack = NonZeroU64::new(nanos.max(1));
    // Cannot fail for a thread's own slack.
    let _ = thread::set_current_timer_slack(slack);
}
