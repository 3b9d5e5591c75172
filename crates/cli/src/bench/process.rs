//! The processes that measure: each measures one thing, prints a row of JSON and ends.

use std::ffi::OsStr;
use std::io;
use std::process::{Child, Command, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use serde::de::DeserializeOwned;

/// Starts `cmwq bench` with `args`, as a process that ends with this thread and has `--child` told
/// it.
pub(super) fn start(args: &[impl AsRef<OsStr>]) -> io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .arg("bench")
        .args(args)
        .args(["--child", &std::process::id().to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
}

/// Waits for the row that `child` prints; `what` names what it measures.
pub(super) fn row<T: DeserializeOwned>(child: Child, what: &str) -> Result<T, String> {
    let output = child.wait_with_output();
    let output = output.map_err(|e| format!("{what}: no output of the measuring process: {e}"))?;
    if !output.status.success() {
        return Err(format!(
            "{what}: the measuring process failed: {}",
            output.status
        ));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("{what}: the measuring process printed no row: {e}"))
}

/// Ends this process when the thread that started it ends, or now if `parent` is gone already.
pub(super) fn die_with_parent(parent: i32) -> Result<(), String> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|e| format!("no death signal: {e}"))?;
    match getppid().map(Pid::as_raw_nonzero) {
        Some(now) if now.get() == parent => Ok(()),
        _ => Err("the parent has died".to_owned()),
    }
}

/// CPUs that this process may use: affinity mask and quota.
pub(super) fn cpus() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}
