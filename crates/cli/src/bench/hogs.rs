//! Foreign load: processes that compute, of the same cgroup and session as the pool measured.

use std::process::{Child, Command, ExitCode, Stdio};

use super::clock::{self, MS};
use super::process::die_with_parent;

/// CPU hogs; they die with this value, and with the thread that started them.
pub(super) struct Hogs(Vec<Child>);

impl Hogs {
    /// Starts `count` hogs and returns when each of them computes.
    pub(super) fn start(count: usize) -> Result<Hogs, String> {
        let mut hogs = Hogs(Vec::new());
        for _ in 0..count {
            hogs.0.push(spawn().map_err(|e| format!("no hog: {e}"))?);
        }
        for hog in &hogs.0 {
            while cpu_time(hog.id()).ok_or("a hog has died")? < 20 * MS {
                clock::sleep(2 * MS);
            }
        }
        Ok(hogs)
    }

    /// CPU time of all hogs since they began, in ns.
    pub(super) fn cpu_time(&self) -> u64 {
        self.0.iter().filter_map(|hog| cpu_time(hog.id())).sum()
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            // Fails only for a hog that has ended, which is what is wanted.
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

fn spawn() -> std::io::Result<Child> {
    let parent = std::process::id().to_string();
    Command::new(std::env::current_exe()?)
        .args(["bench", "hog", "--parent", &parent])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
}

/// CPU time of a process, in ns. Exact also for a process that is running now, unlike the figures
/// in `/proc`, which lag behind by up to a scheduler tick.
pub(super) fn cpu_time(pid: u32) -> Option<u64> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` outlives the call, which writes one clock id to it.
    if unsafe { libc::clock_getcpuclockid(pid as libc::pid_t, &mut clock) } != 0 {
        return None;
    }
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` outlives the call, which writes one timespec to it.
    let status = unsafe { libc::clock_gettime(clock, &mut time) };
    (status == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// A hog: computes until it is killed.
pub(super) fn hog_main(parent: i32) -> ExitCode {
    if let Err(message) = die_with_parent(parent) {
        eprintln!("cmwq bench hog: {message}");
        return ExitCode::FAILURE;
    }
    loop {
        clock::burn(100 * MS);
    }
}
