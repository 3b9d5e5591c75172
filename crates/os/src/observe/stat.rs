//! The `stat` file of a process or thread.

use std::ops::Range;

/// What a thread is doing, as far as starting another one in its place matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// On a CPU or waiting for one (`R`).
    Runnable,
    /// Waiting for something (`S`; also `I` and `P` of kernel threads).
    Sleeping,
    /// Waiting for something that no signal interrupts, mostly a disk (`D`).
    DiskSleep,
    /// Stopped by a signal or by a tracer (`T`, `t`): not asleep, it goes on when it is let go.
    Stopped,
    /// Has ended (`Z`, `X`), or is gone altogether.
    Dead,
    /// The system would not say, or said something new.
    Unknown,
}

impl TaskState {
    /// The state that a letter of the `stat` file stands for.
    pub fn from_letter(letter: u8) -> Self {
        match letter {
            b'R' => TaskState::Runnable,
            b'S' | b'I' | b'P' => TaskState::Sleeping,
            b'D' => TaskState::DiskSleep,
            b'T' | b't' => TaskState::Stopped,
            b'Z' | b'X' | b'x' => TaskState::Dead,
            _ => TaskState::Unknown,
        }
    }

    /// Whether the thread waits for something other than a CPU.
    pub fn is_asleep(self) -> bool {
        matches!(self, TaskState::Sleeping | TaskState::DiskSleep)
    }
}

/// Fields of a `stat` file, named as in proc_pid_stat(5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Process id; in a thread's file the thread's.
    pub pid: i32,
    /// Where in the line the name stands, without its parentheses. Any bytes but NUL.
    pub comm: Range<usize>,
    /// What it is doing.
    pub state: TaskState,
    /// The parent process.
    pub ppid: i32,
    /// The process group.
    pub pgrp: i32,
    /// CPU time in user mode, in clock ticks (1/100 s nearly everywhere).
    pub utime_ticks: u64,
    /// CPU time in the kernel, in clock ticks.
    pub stime_ticks: u64,
    /// Nice level, -20 to 19.
    pub nice: i32,
    /// Threads of the process.
    pub num_threads: u64,
    /// When it started, in clock ticks since boot: with the pid, a name that is not used twice.
    pub starttime: u64,
}

/// Reads the line of a `stat` file. `None` if it is cut before `starttime` or malformed.
pub fn parse_stat(line: &[u8]) -> Option<Stat> {
    let (open, close) = comm_bounds(line)?;
    let mut fields = Fields::new(&line[close + 1..])?;
    let state = fields.next()?;
    let [letter] = state.as_bytes() else {
        return None;
    };
    Some(Stat {
        pid: number(std::str::from_utf8(&line[..open]).ok().map(str::trim))?,
        comm: open + 1..close,
        state: TaskState::from_letter(*letter),
        ppid: number(fields.next())?,
        pgrp: number(fields.next())?,
        // Past session, tty, terminal's group, flags and four fault counts.
        utime_ticks: number(fields.nth(8))?,
        stime_ticks: number(fields.next())?,
        // Past the children's times and the priority.
        nice: number(fields.nth(3))?,
        num_threads: number(fields.next())?,
        // Past itrealvalue.
        starttime: number(fields.nth(1))?,
    })
}

/// The session, which stands behind the process group.
pub(crate) fn parse_session(line: &[u8]) -> Option<i32> {
    let (_, close) = comm_bounds(line)?;
    // Past state, parent and group.
    number(Fields::new(&line[close + 1..])?.nth(3))
}

/// Only the state, for callers that read many and want nothing else.
pub(crate) fn parse_state(line: &[u8]) -> Option<TaskState> {
    let (_, close) = comm_bounds(line)?;
    match line[close + 1..] {
        [b' ', letter, b' ', ..] => Some(TaskState::from_letter(letter)),
        _ => None,
    }
}

/// Where the name's parentheses are. The name may hold anything, `) R 1 (` too, but nothing after
/// it can: the fields that follow are numbers.
fn comm_bounds(line: &[u8]) -> Option<(usize, usize)> {
    let open = line.iter().position(|&b| b == b'(')?;
    let close = line.iter().rposition(|&b| b == b')')?;
    (open < close).then_some((open, close))
}

/// The blank-separated fields after the name.
struct Fields<'a>(std::str::SplitAsciiWhitespace<'a>);

impl<'a> Fields<'a> {
    fn new(rest: &'a [u8]) -> Option<Self> {
        Some(Fields(
            std::str::from_utf8(rest).ok()?.split_ascii_whitespace(),
        ))
    }

    fn next(&mut self) -> Option<&'a str> {
        self.0.next()
    }

    /// The field after `skip` others.
    fn nth(&mut self, skip: usize) -> Option<&'a str> {
        self.0.nth(skip)
    }
}

fn number<N: std::str::FromStr>(field: Option<&str>) -> Option<N> {
    field?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: &str =
        "S 6563 6560 4564 0 -1 4194304 101 0 0 0 7 8 0 0 20 -5 3 0 103639 2998272 415 1844\n";

    fn line(comm: &[u8]) -> Vec<u8> {
        [b"6566 (", comm, b") ", REST.as_bytes()].concat()
    }

    #[test]
    fn any_name_is_read_right() {
        let names: [&[u8]; 8] = [
            b"head",
            b"",
            b"a) R 1 (b",
            b"((",
            b"))",
            b"new\nline )\n",
            b"\xff\xfe) Z ",
            b"tab\t) T 5",
        ];
        for comm in names {
            let line = line(comm);
            let stat = parse_stat(&line).unwrap_or_else(|| panic!("{comm:?}"));
            assert_eq!(&line[stat.comm.clone()], comm);
            assert_eq!(stat.state, TaskState::Sleeping);
            assert_eq!(parse_state(&line), Some(TaskState::Sleeping));
            assert_eq!((stat.pid, stat.ppid, stat.pgrp), (6566, 6563, 6560));
            assert_eq!(parse_session(&line), Some(4564));
            assert_eq!((stat.utime_ticks, stat.stime_ticks), (7, 8));
            assert_eq!(
                (stat.nice, stat.num_threads, stat.starttime),
                (-5, 3, 103639)
            );
        }
    }

    #[test]
    fn a_cut_line_is_no_line() {
        let full = line(b"x");
        let end = full.windows(6).position(|w| w == b"103639").unwrap();
        for length in 0..end {
            assert_eq!(parse_stat(&full[..length]), None, "{length}");
        }
        assert!(parse_stat(&full[..end + 6]).is_some());
    }

    #[test]
    fn garbage_is_no_line() {
        for bad in [
            &b""[..],
            b"()",
            b")(",
            b"1 (a",
            b"a) S",
            b"x (a) S 1 1",
            b"1 (a) SS 1 1 1 1 1",
            b"1 (a)\xff",
        ] {
            assert_eq!(parse_stat(bad), None, "{bad:?}");
            assert_eq!(
                parse_state(bad).filter(|s| *s != TaskState::Sleeping),
                None,
                "{bad:?}"
            );
        }
    }

    #[test]
    fn letters() {
        let cases: [(&[u8], TaskState); 6] = [
            (b"R", TaskState::Runnable),
            (b"SIP", TaskState::Sleeping),
            (b"D", TaskState::DiskSleep),
            (b"Tt", TaskState::Stopped),
            (b"ZXx", TaskState::Dead),
            (b"?q0", TaskState::Unknown),
        ];
        for (letters, state) in cases {
            assert!(letters.iter().all(|&l| TaskState::from_letter(l) == state));
        }
        assert!(TaskState::DiskSleep.is_asleep() && !TaskState::Stopped.is_asleep());
    }

    #[test]
    fn reads_its_own_file() {
        let line = std::fs::read("/proc/self/stat").unwrap();
        let stat = parse_stat(&line).unwrap();
        assert_eq!(stat.pid, crate::thread::getpid());
        assert!(stat.num_threads >= 1 && stat.starttime > 0);
    }
}
