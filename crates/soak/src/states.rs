//! What the system says of processes that hang.

use std::fmt::Write;
use std::fs;
use std::path::Path;

/// All threads of a process: name, state, what it waits for in the kernel, and where.
pub(crate) fn of(pid: i32) -> String {
    let mut text = format!("process {pid}:\n");
    let tasks = format!("/proc/{pid}/task");
    let Ok(entries) = fs::read_dir(&tasks) else {
        return format!("process {pid} cannot be seen\n");
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let state = field(&path.join("status"), "State:");
        let name = line(&path.join("comm"));
        let waits = line(&path.join("wchan"));
        let call = line(&path.join("syscall"));
        let tid = entry.file_name().to_string_lossy().into_owned();
        let _ = writeln!(text, "  {tid} {name:15} {state:14} {waits:24} {call}");
        let stack = fs::read_to_string(path.join("stack")).unwrap_or_default();
        for frame in stack.lines().take(4) {
            let _ = writeln!(text, "      {frame}");
        }
    }
    text
}

fn line(path: &Path) -> String {
    fs::read_to_string(path)
        .unwrap_or_default()
        .trim()
        .to_owned()
}

fn field(path: &Path, key: &str) -> String {
    let status = fs::read_to_string(path).unwrap_or_default();
    let found = status.lines().find_map(|line| line.strip_prefix(key));
    found.unwrap_or_default().trim().to_owned()
}

/// The processes of a group.
pub(crate) fn group(leader: i32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    // SAFETY: getpgid takes no pointer.
    pids.filter(|pid| unsafe { libc::getpgid(*pid) } == leader)
        .collect()
}

/// A debugger's view of all stacks, where there is one.
pub(crate) fn stacks(pid: i32) -> String {
    let gdb = std::process::Command::new("gdb")
        .args([
            "-p",
            &pid.to_string(),
            "-batch",
            "-ex",
            "thread apply all bt 60",
        ])
        .output();
    gdb.map_or_else(
        |_| String::new(),
        |output| {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let is_ours = |line: &&str| {
                line.starts_with('T')
                    || line.contains(" at crates/")
                    || line.contains(" std::sys::")
            };
            let told = text.lines().filter(is_ours);
            // Names of instances of generic functions are long.
            told.map(|line| line.chars().take(160).collect::<String>() + "\n")
                .collect()
        },
    )
}
