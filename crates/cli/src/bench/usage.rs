//! What a run has cost this process.

use std::fs;
use std::path::Path;

use cmwq_os::schedstat;

use super::canaries;

/// What a process or a thread has used.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    /// CPU time, user and system, in ns.
    pub(super) cpu: u64,
    pub(super) voluntary: u64,
    pub(super) involuntary: u64,
}

impl Usage {
    /// Of the whole process and of the one that its canaries live in, so that a canary that spins
    /// shows; also of the producers and the delivering thread.
    pub(super) fn now() -> Usage {
        let canaries = canaries::threads();
        let canaries = canaries.iter().filter_map(|thread| of_thread(thread));
        canaries.fold(Usage::of(libc::RUSAGE_SELF), |sum, used| sum.plus(&used))
    }

    /// Of the calling thread.
    pub(super) fn of_this_thread() -> Usage {
        Usage::of(libc::RUSAGE_THREAD)
    }

    /// Of all child processes that have ended and were waited for.
    pub(super) fn of_children() -> Usage {
        Usage::of(libc::RUSAGE_CHILDREN)
    }

    fn of(whom: libc::c_int) -> Usage {
        // SAFETY: all zeros is a valid rusage.
        let mut raw: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `raw` outlives the call, which fills it.
        unsafe { libc::getrusage(whom, &mut raw) };
        Usage {
            cpu: ns(raw.ru_utime) + ns(raw.ru_stime),
            voluntary: raw.ru_nvcsw as u64,
            involuntary: raw.ru_nivcsw as u64,
        }
    }

    pub(super) fn plus(&self, other: &Usage) -> Usage {
        Usage {
            cpu: self.cpu + other.cpu,
            voluntary: self.voluntary + other.voluntary,
            involuntary: self.involuntary + other.involuntary,
        }
    }

    /// At least nothing: canaries that have ended meanwhile take their numbers with them.
    pub(super) fn since(&self, before: &Usage) -> Usage {
        Usage {
            cpu: self.cpu.saturating_sub(before.cpu),
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
        }
    }
}

/// What the thread with this folder in /proc has used. None: it has ended.
fn of_thread(folder: &Path) -> Option<Usage> {
    let status = fs::read_to_string(folder.join("status")).ok()?;
    let times = fs::read(folder.join("schedstat")).ok()?;
    let count = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name))?;
        value.trim().parse().ok()
    };
    Some(Usage {
        cpu: schedstat::parse(&times)?.run,
        voluntary: count("voluntary_ctxt_switches:")?,
        involuntary: count("nonvoluntary_ctxt_switches:")?,
    })
}

fn ns(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}

/// Threads of this process now, without those named `ours`, which may be ending just now and still
/// be listed. No pool gives threads back within a run, so after it this is the peak.
pub(super) fn threads(ours: &str) -> std::io::Result<usize> {
    let mut count = 0;
    for task in std::fs::read_dir("/proc/self/task")? {
        // A thread that has ended since it was listed has no name any more.
        let name = std::fs::read_to_string(task?.path().join("comm"));
        count += usize::from(name.is_ok_and(|name| name.trim_end() != ours));
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::super::clock::{MS, burn, sleep};
    use super::*;

    #[test]
    fn computing_and_waiting_are_seen() {
        let of_a_folder = || of_thread(Path::new("/proc/thread-self")).unwrap();
        for now in [Usage::now, Usage::of_this_thread, of_a_folder] {
            let before = now();
            burn(5 * MS);
            sleep(MS);
            let used = now().since(&before);
            assert!(used.cpu >= 4 * MS, "{}", used.cpu);
            assert!(used.voluntary >= 1);
        }
    }

    #[test]
    fn threads_are_counted_but_for_ours() {
        let held = std::sync::Mutex::new(());
        std::thread::scope(|scope| {
            let guard = held.lock().unwrap();
            let thread = std::thread::Builder::new().name("usage-test".to_owned());
            thread.spawn_scoped(scope, || drop(held.lock())).unwrap();
            // The name is set by the new thread itself.
            while threads("").unwrap() == threads("usage-test").unwrap() {
                std::thread::yield_now();
            }
            drop(guard);
        });
        assert!(threads("usage-test").unwrap() >= 1);
    }
}
