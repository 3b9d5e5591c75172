//! What a job is doing, in words: the last of its processes, and what each waits for.

use cmwq_os::observe::{Blocked, TaskState, parse_stat, parse_syscall};
use std::fs;
use std::time::Duration;

/// Processes that are named, and that are looked at.
const MOST_NAMED: usize = 2;
const MOST_SEEN: usize = 256;

/// System calls that wait, and what for. With a descriptor as the first argument, it is named.
const WAITS: [(libc::c_long, &str, bool); 21] = [
    (libc::SYS_read, "reads", true),
    (libc::SYS_readv, "reads", true),
    (libc::SYS_write, "writes to", true),
    (libc::SYS_writev, "writes to", true),
    (libc::SYS_recvfrom, "waits for data from", true),
    (libc::SYS_recvmsg, "waits for data from", true),
    (libc::SYS_sendto, "sends to", true),
    (libc::SYS_connect, "connects", true),
    (libc::SYS_accept4, "waits for a connection at", true),
    (libc::SYS_flock, "waits for a lock of", true),
    (libc::SYS_fcntl, "waits for a lock of", true),
    (libc::SYS_fsync, "syncs", true),
    (libc::SYS_futex, "waits for another thread or a lock", false),
    (libc::SYS_wait4, "waits for a child", false),
    (libc::SYS_waitid, "waits for a child", false),
    (libc::SYS_nanosleep, "sleeps", false),
    (libc::SYS_clock_nanosleep, "sleeps", false),
    (libc::SYS_ppoll, "waits for events", false),
    (libc::SYS_pselect6, "waits for events", false),
    (libc::SYS_epoll_pwait, "waits for events", false),
    (libc::SYS_rt_sigsuspend, "waits for a signal", false),
];

/// The same of calls that newer architectures no longer have.
#[cfg(target_arch = "x86_64")]
const OLD_WAITS: [(libc::c_long, &str, bool); 4] = [
    (libc::SYS_poll, "waits for events", false),
    (libc::SYS_select, "waits for events", false),
    (libc::SYS_epoll_wait, "waits for events", false),
    (libc::SYS_pause, "waits for a signal", false),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_WAITS: [(libc::c_long, &str, bool); 0] = [];

/// What is seen of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Whereabouts {
    /// What its processes do that have no children. Empty where `/proc` does not tell.
    pub(crate) doing: String,
    /// CPU time of its processes, and of those that these have waited for.
    pub(crate) computed: Duration,
}

/// Of the job whose first process is `leader`.
pub(crate) fn of(leader: u32) -> Whereabouts {
    let mut queue = vec![leader];
    let (mut told, mut ticks) = (Vec::new(), 0);
    let mut at = 0;
    while let Some(&pid) = queue.get(at).filter(|_| at < MOST_SEEN) {
        at += 1;
        ticks += ticks_of(pid).unwrap_or(0);
        let below = children(pid);
        if below.is_empty() && told.len() <= MOST_NAMED {
            told.extend(process(pid));
        }
        queue.extend(below);
    }
    if told.len() > MOST_NAMED {
        told.truncate(MOST_NAMED);
        told.push("...".to_owned());
    }
    Whereabouts {
        doing: told.join(", "),
        computed: Duration::from_millis(ticks * 1000 / ticks_a_second()),
    }
}

/// A field of the `stat` file of a process, by its number in proc_pid_stat(5), from 4 on.
pub(crate) fn stat_field(pid: u32, number: usize) -> Option<u64> {
    let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let line = String::from_utf8_lossy(&line);
    let (_, behind_name) = line.rsplit_once(") ")?;
    behind_name.split(' ').nth(number - 3)?.parse().ok()
}

/// CPU time of a process and of its ended children, in clock ticks.
fn ticks_of(pid: u32) -> Option<u64> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, behind_name) = line.rsplit_once(") ")?;
    let fields = behind_name.split(' ').skip(11).take(4);
    Some(fields.filter_map(|field| field.parse::<u64>().ok()).sum())
}

/// Clock ticks of a second, the unit of times in `/proc`.
pub(crate) fn ticks_a_second() -> u64 {
    // SAFETY: sysconf takes a number and touches no memory of ours.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).unwrap_or(100).max(1)
}

/// The children of all threads. A number that is used again meanwhile may lead astray, but not in
/// a circle for ever.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten();
    let texts = tasks.flatten().map(|task| {
        let text = fs::read_to_string(task.path().join("children"));
        text.unwrap_or_default()
    });
    let numbers = |text: String| -> Vec<u32> {
        let words = text.split_ascii_whitespace();
        words.filter_map(|word| word.parse().ok()).collect()
    };
    texts.flat_map(numbers).collect()
}

/// `None`: it has ended.
fn process(pid: u32) -> Option<String> {
    let line = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = parse_stat(&line)?;
    let name = String::from_utf8_lossy(&line[stat.comm]).into_owned();
    let does = match stat.state {
        TaskState::Dead => return None,
        TaskState::Runnable => "computes".to_owned(),
        TaskState::Stopped => "is stopped".to_owned(),
        TaskState::DiskSleep => format!("{} (uninterruptibly)", waits(pid)),
        TaskState::Sleeping | TaskState::Unknown => waits(pid),
    };
    Some(format!("{name} ({pid}) {does}"))
}

/// What a process or a thread that sleeps waits for.
pub(crate) fn waits(pid: u32) -> String {
    let text = fs::read(format!("/proc/{pid}/syscall")).unwrap_or_default();
    if let Some(Blocked::In { nr, args }) = parse_syscall(&text) {
        let mut known = WAITS.iter().chain(&OLD_WAITS);
        if let Some((_, words, has_file)) = known.find(|(known, ..)| *known == nr) {
            return match has_file {
                true => format!("{words} {}", file(pid, args[0])),
                false => (*words).to_owned(),
            };
        }
    }
    let place = fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
    match place.trim() {
        "" | "0" => "waits".to_owned(),
        place => format!("waits in {place}"),
    }
}

/// What a descriptor is open for.
fn file(pid: u32, descriptor: u64) -> String {
    let target = fs::read_link(format!("/proc/{pid}/fd/{descriptor}"));
    let target = target.map(|target| target.display().to_string());
    match target.unwrap_or_default() {
        target if target.starts_with("pipe:") => "a pipe".to_owned(),
        target if target.starts_with("socket:") => "a socket".to_owned(),
        target if target.is_empty() => format!("descriptor {descriptor}"),
        target => target,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// What a shell's last process comes to do.
    fn comes_to(script: &str, expected: &str) {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", script]).stdin(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let mut seen = String::new();
        let found = (0..3000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            seen = of(shell.id()).doing;
            seen.contains(expected)
        });
        drop(shell.stdin.take());
        for pid in children(shell.id()) {
            // SAFETY: kill takes no pointer; it is a child of the shell, which has not waited.
            unsafe { libc::kill(pid as i32, libc::SIGKILL) };
        }
        let _ = shell.kill();
        shell.wait().unwrap();
        assert!(found, "{script}: {seen}");
    }

    #[test]
    fn what_processes_wait_for_is_said() {
        comes_to("cat; :", ") reads a pipe");
        comes_to("sleep 1000; :", ") sleeps");
        comes_to("while :; do :; done", ") computes");
        comes_to("kill -STOP $$", ") is stopped");
        comes_to("sleep 1000 & sleep 1001 & sleep 1002 & wait", "sleeps, ...");
        assert_eq!(of(u32::MAX), Whereabouts::default());
        let began = std::time::Instant::now();
        while began.elapsed() < Duration::from_secs(20) && of(std::process::id()).computed.is_zero()
        {
        }
        assert!(!of(std::process::id()).computed.is_zero());
    }
}
