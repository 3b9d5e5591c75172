//! What a thread or the process has used, by `getrusage`.

use cmwq_policy::Nanos;
use cmwq_policy::time::{MICROSECOND, SECOND};

/// What a thread, or the whole process with its ended threads, has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rusage {
    /// CPU time in user mode.
    pub user_ns: Nanos,
    /// CPU time in the kernel.
    pub system_ns: Nanos,
    /// Times a thread gave up its CPU to wait for something.
    pub voluntary_switches: u64,
    /// Times a thread lost its CPU.
    pub involuntary_switches: u64,
    /// The largest resident set so far, in KiB.
    pub max_rss_kib: u64,
}

impl Rusage {
    /// CPU time, of both kinds.
    pub fn cpu_ns(&self) -> Nanos {
        self.user_ns + self.system_ns
    }
}

/// What the calling thread has used. Its voluntary switches grew during an item if and only if the
/// item blocked. `None` where the system does not tell (a sandbox).
pub fn thread() -> Option<Rusage> {
    rusage(libc::RUSAGE_THREAD)
}

/// What this process has used; nothing where the system does not tell.
pub fn process() -> Rusage {
    rusage(libc::RUSAGE_SELF).unwrap_or_default()
}

/// What a child that has ended and has not been reaped used, with the children that it has waited
/// for: `max_rss_kib` is that of the largest single process. `None` if there is no such child.
///
/// A process begins with the size of the one that started it: the kernel counts what it had between
/// `fork` and `exec`. So a size not above that of this process says nothing.
pub fn ended_child(pid: i32) -> Option<Rusage> {
    let options = libc::WEXITED | libc::WNOWAIT | libc::WNOHANG;
    // SAFETY: structs of integers and pointers that nobody follows, for which zero is a value.
    let (mut info, mut usage): (libc::siginfo_t, libc::rusage) = unsafe { std::mem::zeroed() };
    // SAFETY: both structs are valid for the writes. The C library's `waitid` has no usage.
    let result = unsafe {
        let (info, usage) = (&raw mut info, &raw mut usage);
        libc::syscall(libc::SYS_waitid, libc::P_PID, pid, info, options, usage)
    };
    // SAFETY: the kernel fills it in, or leaves zero where the child has not ended.
    let ended = result == 0 && unsafe { info.si_pid() } == pid;
    ended.then(|| from_kernel(&usage))
}

fn rusage(who: libc::c_int) -> Option<Rusage> {
    getrusage(who).map(|usage| from_kernel(&usage))
}

fn from_kernel(r: &libc::rusage) -> Rusage {
    Rusage {
        user_ns: nanos(r.ru_utime),
        system_ns: nanos(r.ru_stime),
        voluntary_switches: r.ru_nvcsw as u64,
        involuntary_switches: r.ru_nivcsw as u64,
        max_rss_kib: r.ru_maxrss as u64,
    }
}

fn getrusage(who: libc::c_int) -> Option<libc::rusage> {
    // SAFETY: a struct of integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is valid for the write.
    let status = unsafe { libc::getrusage(who, &mut usage) };
    (status == 0).then_some(usage)
}

fn nanos(t: libc::timeval) -> Nanos {
    t.tv_sec as u64 * SECOND + t.tv_usec as u64 * MICROSECOND
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocking_shows_as_voluntary_switches() {
        let before = thread().unwrap().voluntary_switches;
        for _ in 0..5 {
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
        assert!(thread().unwrap().voluntary_switches - before >= 5);
    }

    #[test]
    fn a_child_that_has_ended_tells_before_it_is_reaped() {
        let mut child = std::process::Command::new("sleep")
            .arg("0.1")
            .spawn()
            .unwrap();
        let pid = child.id() as i32;
        let pause = std::time::Duration::from_millis(10);
        let used = (0..10_000).find_map(|_| {
            std::thread::sleep(pause);
            ended_child(pid)
        });
        let used = used.expect("it ends within 100 s");
        assert!(used.max_rss_kib > 0 && used.voluntary_switches > 0);
        assert!(child.wait().unwrap().success(), "it is still there");
        assert_eq!(ended_child(pid), None);
    }

    #[test]
    fn computing_shows_in_the_process() {
        let before = process();
        let start = crate::clock::thread_cpu();
        while crate::clock::thread_cpu() - start < 20_000_000 {}
        let after = process();
        let spent = after.user_ns + after.system_ns - before.user_ns - before.system_ns;
        // The kernel scales user and system time from ticks, but their sum is exact.
        assert!(spent >= 15_000_000, "{spent}");
        assert!(after.max_rss_kib > 0);
        assert!(after.voluntary_switches >= thread().unwrap().voluntary_switches);
    }
}
