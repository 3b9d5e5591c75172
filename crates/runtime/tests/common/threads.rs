//! What /proc says of the threads of a process.

use std::fs;
use std::path::PathBuf;

/// One thread, as its status file describes it.
pub(crate) struct Thread {
    pub(crate) tid: i32,
    pub(crate) name: String,
    status: String,
}

impl Thread {
    fn read(tid: i32, path: PathBuf) -> Option<Self> {
        // The thread may have ended since.
        let status = fs::read_to_string(path.join("status")).ok()?;
        let name = field(&status, "Name:")?.to_owned();
        Some(Thread { tid, name, status })
    }

    pub(crate) fn field(&self, key: &str) -> &str {
        field(&self.status, key).unwrap_or_else(|| panic!("no {key} in {}", self.status))
    }

    /// Voluntary and other switches so far.
    pub(crate) fn switches(&self) -> u64 {
        let count = |key| self.field(key).parse::<u64>().unwrap();
        count("voluntary_ctxt_switches:") + count("nonvoluntary_ctxt_switches:")
    }

    /// Whether it sleeps, and can be woken by a signal.
    pub(crate) fn is_asleep(&self) -> bool {
        self.field("State:").starts_with('S')
    }

    /// Blocked signals: bit `n - 1` for signal `n`.
    pub(crate) fn blocked(&self) -> u64 {
        u64::from_str_radix(self.field("SigBlk:"), 16).unwrap()
    }

    pub(crate) fn is_worker(&self) -> bool {
        self.name.starts_with("cmwq/u")
    }
}

fn field<'a>(status: &'a str, key: &str) -> Option<&'a str> {
    status
        .lines()
        .find_map(|line| line.strip_prefix(key))
        .map(str::trim)
}

/// All threads of a process.
pub(crate) fn of(pid: i32) -> Vec<Thread> {
    let dir = PathBuf::from(format!("/proc/{pid}/task"));
    let entries = fs::read_dir(&dir)
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let tids = entries.filter_map(|name| name.parse::<i32>().ok());
    tids.filter_map(|tid| Thread::read(tid, dir.join(tid.to_string())))
        .collect()
}

/// The threads of cmwq in this process.
pub(crate) fn ours() -> Vec<Thread> {
    let all = of(std::process::id() as i32);
    all.into_iter()
        .filter(|thread| thread.name.starts_with("cmwq/"))
        .collect()
}

/// How many of them have a name that begins like this.
pub(crate) fn count(prefix: &str) -> usize {
    let named = |thread: &&Thread| thread.name.starts_with(prefix);
    ours().iter().filter(named).count()
}

/// What `taskset -ap` does: gives all threads of the process these CPUs, its first one first.
pub(crate) fn set_process_mask(mask: &cmwq_policy::CpuMask) {
    let pid = std::process::id() as i32;
    cmwq_os::sched::set_affinity(pid, mask).unwrap();
    for thread in of(pid) {
        // It may have ended since.
        let _ = cmwq_os::sched::set_affinity(thread.tid, mask);
    }
}
