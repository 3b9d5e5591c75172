//! A thread of another process, as its `stat` file shows it.

use cmwq_os::observe::TaskState;

/// Where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Thread {
    /// Where it runs, or ran last.
    pub(super) cpu: u32,
    pub(super) state: TaskState,
}

/// From the text of the file; proc_pid_stat(5) numbers the fields.
pub(super) fn parse(line: &[u8]) -> Option<Thread> {
    let line = String::from_utf8_lossy(line);
    let (_, behind_name) = line.rsplit_once(") ")?;
    let field = |number: usize| behind_name.split_ascii_whitespace().nth(number - 3);
    Some(Thread {
        cpu: field(39)?.parse().ok()?,
        state: TaskState::from_letter(*field(3)?.as_bytes().first()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_of_a_thread_is_read_behind_any_name() {
        let line =
            b"7 (evil) R) S 1 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 3 0 9 0 0 184 1 1 0 0 0 0 0 0 0 0 \
                     0 0 17 5 0 0 0";
        let expected = Thread {
            cpu: 5,
            state: TaskState::Sleeping,
        };
        assert_eq!(parse(line), Some(expected));
        for bad in [&b""[..], b"7 (x) ", b"7 (x) S 1 2", b"\xff) S"] {
            assert_eq!(parse(bad), None);
        }
        let own = std::fs::read("/proc/thread-self/stat").unwrap();
        assert_eq!(parse(&own).unwrap().state, TaskState::Runnable);
    }
}
