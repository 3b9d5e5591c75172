//! `schedstat` of threads: how long a thread ran and how long it waited for a CPU.

use std::io;
use std::os::fd::OwnedFd;

use cmwq_policy::Nanos;
use rustix::fs::{Mode, OFlags};

/// The three numbers of a `schedstat` file, counted since the thread started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedStat {
    /// Time on a CPU.
    pub run: Nanos,
    /// Time spent runnable, waiting for a CPU. Time throttled by a cgroup's quota counts too.
    pub run_delay: Nanos,
    /// How often the thread was put on a CPU.
    pub slices: u64,
}

/// Reads the text of a `schedstat` file. `None` if it is not three numbers.
pub fn parse(text: &[u8]) -> Option<SchedStat> {
    let text = std::str::from_utf8(text).ok()?;
    let mut numbers = text.split_ascii_whitespace().map(|n| n.parse().ok());
    let stat = SchedStat {
        run: numbers.next()??,
        run_delay: numbers.next()??,
        slices: numbers.next()??,
    };
    numbers.next().is_none().then_some(stat)
}

/// The numbers of a thread of this process. `None` if it has ended, or without `/proc`.
pub fn of(tid: i32) -> Option<SchedStat> {
    let text = std::fs::read(format!("/proc/self/task/{tid}/schedstat")).ok()?;
    parse(&text)
}

/// The kept-open `schedstat` file of the thread that opened it, readable by any thread of the
/// process.
#[derive(Debug)]
pub struct OwnSchedStat {
    file: OwnedFd,
}

impl OwnSchedStat {
    /// Opens the calling thread's file.
    ///
    /// # Errors
    ///
    /// `ENOENT`: no /proc, or a kernel without `CONFIG_SCHED_INFO`. `EMFILE`: too many open files.
    pub fn open() -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::open("/proc/thread-self/schedstat", flags, Mode::empty())?;
        Ok(OwnSchedStat { file })
    }

    /// One `pread`, no allocation. `None` once the thread has ended.
    pub fn read(&self) -> Option<SchedStat> {
        // Three 64-bit numbers, two spaces, a newline.
        let mut buffer = [0u8; 64];
        let length = rustix::io::pread(&self.file, &mut buffer, 0).ok()?;
        parse(&buffer[..length])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_see_what_a_thread_has_used() {
        let own = OwnSchedStat::open().expect("the kernel counts");
        let (tid, before) = (crate::thread::gettid(), own.read().unwrap());
        let seen = std::thread::spawn(move || of(tid)).join().unwrap();
        let seen = seen.expect("the thread is there");
        assert!(before.run <= seen.run && seen.run <= own.read().unwrap().run);
        assert_eq!(of(i32::MAX), None);
    }

    #[test]
    fn parses_three_numbers_and_nothing_else() {
        let good = SchedStat {
            run: 12,
            run_delay: 3,
            slices: 4,
        };
        assert_eq!(parse(b"12 3 4\n"), Some(good));
        for bad in [
            &b""[..],
            b"\n",
            b"12",
            b"12 3",
            b"12 3 \n",
            b"12 3 4 5",
            b"-1 3 4",
            b"a b c",
            b"1 2 \xff",
        ] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
        assert_eq!(parse(b"18446744073709551616 0 0"), None);
        assert!(parse(b"18446744073709551615 0 0").is_some());
    }

    #[test]
    fn own_run_time_grows_with_computing() {
        let stat = OwnSchedStat::open().unwrap();
        let before = stat.read().unwrap();
        let start = crate::clock::thread_cpu();
        while crate::clock::thread_cpu() - start < 30_000_000 {}
        let after = stat.read().unwrap();
        // The file is brought up to date at each switch and tick only (10 ms at the coarsest).
        assert!(after.run - before.run >= 10_000_000, "{before:?} {after:?}");
        assert!(after.slices >= before.slices && after.run_delay >= before.run_delay);
    }

    #[test]
    fn the_file_of_a_finished_thread_reads_as_none() {
        let stat = std::thread::spawn(|| OwnSchedStat::open().unwrap())
            .join()
            .unwrap();
        // join() returns when the thread is about to be gone for the kernel as well.
        let gone = (0..1000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            stat.read().is_none()
        });
        assert!(gone);
    }
}
