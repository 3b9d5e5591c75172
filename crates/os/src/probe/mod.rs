//! What this system allows. Every verdict comes from trying, because privileges, sandboxes and
//! kernel options cannot be told apart from outside.

mod events;
mod files;

use std::fmt;
use std::io;
use std::sync::mpsc;

use cmwq_policy::CpuMask;
use cmwq_policy::time::MICROSECOND;

use crate::{clock, futex, generation, sched, thread};

/// Whether something works here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Support {
    /// As it should.
    Works,
    /// Not as it should, but cmwq does without; with the reason.
    Degraded(String),
    /// Not at all; with the reason.
    Denied(String),
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Support::Works => f.write_str("works"),
            Support::Degraded(why) => write!(f, "degraded: {why}"),
            Support::Denied(why) => write!(f, "denied: {why}"),
        }
    }
}

/// One verdict for each thing cmwq would like to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// A thread can become `SCHED_IDLE`.
    pub canary: Support,
    /// A thread can be pinned to one CPU.
    pub pinning: Support,
    /// A thread can read how long it waited for a CPU.
    pub schedstat: Support,
    /// `/proc/self/task/TID/syscall` tells what a thread waits in.
    pub syscall_file: Support,
    /// `/proc/self/task/TID/stat` tells whether a thread sleeps.
    pub stat_file: Support,
    /// Short timeouts are short.
    pub tick: Support,
    /// The children of a process are listed in `/proc`.
    pub process_children: Support,
    /// A page can be wiped in forked children.
    pub wipe_on_fork: Support,
    /// A process can be held by a descriptor.
    pub pidfd: Support,
    /// The kernel would report each switch of a thread: `PERF_RECORD_SWITCH`.
    pub perf_switch: Support,
    /// A BPF program can be loaded for the scheduler's trace points.
    pub bpf: Support,
}

/// Tries everything. Takes some milliseconds and starts a few short-lived threads; changes nothing
/// about the calling thread.
pub fn probe() -> Probe {
    Probe {
        canary: on_scratch_thread(canary),
        pinning: on_scratch_thread(pinning),
        schedstat: on_scratch_thread(files::schedstat),
        syscall_file: files::of_a_sleeper("syscall"),
        stat_file: files::of_a_sleeper("stat"),
        tick: on_scratch_thread(tick),
        process_children: files::process_children(),
        wipe_on_fork: wipe_on_fork(),
        pidfd: pidfd(),
        perf_switch: events::perf_switch(),
        bpf: events::bpf(),
    }
}

/// What `trial` finds on a thread whose settings may be spoilt.
fn on_scratch_thread(trial: impl FnOnce() -> Support + Send + 'static) -> Support {
    let (tell, told) = mpsc::channel();
    let body = move || {
        // Nobody listens only if the prober itself is gone.
        let _ = tell.send(trial());
    };
    match thread::spawn("cmwq-probe", 128 * 1024, body) {
        Ok(()) => told
            .recv()
            .unwrap_or_else(|_| Support::Denied("the thread died".to_owned())),
        Err(error) => denied("starting a thread", &error),
    }
}

fn canary() -> Support {
    match sched::set_idle_policy_self() {
        Err(error) => denied("sched_setscheduler(SCHED_IDLE)", &error),
        Ok(()) if sched::policy_self() == i64::from(libc::SCHED_IDLE) => Support::Works,
        Ok(()) => Support::Denied(
            "sched_setscheduler(SCHED_IDLE): accepted, but without effect".to_owned(),
        ),
    }
}

fn pinning() -> Support {
    let first = sched::affinity(0).map(|mask| mask.iter().take(1).collect::<CpuMask>());
    let pinned = first.and_then(|one| {
        sched::set_affinity_self(&one)?;
        Ok(sched::affinity(0)? == one)
    });
    match pinned {
        Ok(true) => Support::Works,
        Ok(false) => Support::Denied("sched_setaffinity: accepted, but without effect".to_owned()),
        Err(error) => denied("sched_setaffinity", &error),
    }
}

/// The best of several tries: a busy machine makes some late, a coarse timer all.
fn tick() -> Support {
    const ASKED: u64 = 250 * MICROSECOND;
    const GOOD: u64 = 4 * ASKED;
    sched::set_timer_slack_self(1);
    let nobody_wakes = std::sync::atomic::AtomicU32::new(0);
    let best = (0..20).map(|_| {
        let start = clock::now();
        futex::wait(&nobody_wakes, 0, Some(ASKED));
        clock::now().since(start)
    });
    match best.min() {
        Some(best) if best > GOOD => {
            let took = best / MICROSECOND;
            Support::Degraded(format!("a wait of 250 us takes {took} us at best"))
        }
        _ => Support::Works,
    }
}

fn wipe_on_fork() -> Support {
    match generation::try_wiped_page() {
        Ok(()) => Support::Works,
        Err(error) => {
            let why = reason("madvise(MADV_WIPEONFORK)", &error);
            Support::Degraded(format!("{why}; a handler of fork() does it instead"))
        }
    }
}

fn pidfd() -> Support {
    let own = rustix::process::getpid();
    match rustix::process::pidfd_open(own, rustix::process::PidfdFlags::empty()) {
        Ok(_) => Support::Works,
        Err(error) => denied("pidfd_open", &error.into()),
    }
}

fn denied(what: &str, error: &io::Error) -> Support {
    Support::Denied(reason(what, error))
}

fn reason(what: &str, error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(errno) => format!("{what}: {}", errno_name(errno)),
        None => format!("{what}: {error}"),
    }
}

/// The name that manual pages use, for the errors that the calls tried here return.
fn errno_name(errno: i32) -> String {
    let name = match errno {
        libc::EPERM => "EPERM",
        libc::ENOENT => "ENOENT",
        libc::ESRCH => "ESRCH",
        libc::EAGAIN => "EAGAIN",
        libc::ENOMEM => "ENOMEM",
        libc::EACCES => "EACCES",
        libc::EBUSY => "EBUSY",
        libc::EINVAL => "EINVAL",
        libc::ENFILE => "ENFILE",
        libc::EMFILE => "EMFILE",
        libc::ENOSYS => "ENOSYS",
        libc::EOPNOTSUPP => "EOPNOTSUPP",
        _ => return io::Error::from_raw_os_error(errno).to_string(),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probing_spoils_nothing() {
        let state = || {
            (
                sched::nice_self(),
                sched::policy_self(),
                sched::affinity(0).unwrap(),
                thread::sigmask(),
            )
        };
        let before = state();
        probe();
        assert_eq!(state(), before);
    }

    #[test]
    fn verdicts_agree_with_the_calls_themselves() {
        let probe = probe();
        let idle = std::thread::spawn(|| sched::set_idle_policy_self().is_ok())
            .join()
            .unwrap();
        assert_eq!(probe.canary == Support::Works, idle);
        let stat = std::fs::read("/proc/thread-self/stat").is_ok();
        assert_eq!(probe.stat_file == Support::Works, stat);
        let children = std::fs::read("/proc/thread-self/children").is_ok();
        assert_eq!(probe.process_children == Support::Works, children);
    }

    #[test]
    fn reasons_name_the_call_and_the_error() {
        let verdict = denied("some call", &io::Error::from_raw_os_error(libc::EPERM));
        assert_eq!(verdict.to_string(), "denied: some call: EPERM");
        assert_eq!(Support::Works.to_string(), "works");
        assert!(reason("x", &io::Error::from_raw_os_error(libc::ELOOP)).contains("40"));
        assert!(reason("x", &io::Error::other("odd")).contains("odd"));
    }
}
