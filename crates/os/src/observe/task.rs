//! The state of one thread of this process, read again and again.
//!
//! Two files tell it. `syscall` is the cheaper one, and names the futex; but a thread that is
//! stopped or traced looks there as if it were blocked in the call it was stopped in. `stat` knows
//! the difference. So a thread that `syscall` shows running is runnable, and one that it shows
//! blocked is confirmed by `stat`, once per sleep: while the text of `syscall` stays the same
//! (arguments, stack, program counter) it is taken for the same sleep, and looked at again every
//! [`TRUSTED_SAMPLES`] samples in case it was another sleep in the same place.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::stat::parse_state;
use super::{Blocked, TaskState, is_own_proc, parse_syscall};
use crate::limits;

/// Threads whose files stay open between reads; each has two. The rest open and close at each
/// read, so that a thousand workers do not eat the program's file descriptors.
pub(super) const KEPT_OPEN: usize = 64;

/// [`TaskFiles`] alive that may keep their files open, at most [`KEPT_OPEN`].
static KEEPERS: AtomicUsize = AtomicUsize::new(0);

/// Samples for which an unchanged sleep is believed without another look at `stat`.
const TRUSTED_SAMPLES: u64 = 15;

/// The longest text that is understood: 9 numbers in `syscall`; in `stat` the state stands before
/// the first of about 50 numbers.
const TEXT_MAX: usize = 512;

/// What one look at a thread found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// What it is doing.
    pub state: TaskState,
    /// The address of the futex it sleeps on, if it does.
    pub futex: Option<u64>,
}

/// The `/proc` files of one thread of this process. Reads allocate nothing.
#[derive(Debug)]
pub struct TaskFiles {
    stat: TaskFile,
    syscall: TaskFile,
    /// The `syscall` file is not for us: not dumpable, a sandbox, a kernel without it.
    syscall_denied: AtomicBool,
    /// The last sleep that `stat` confirmed; see [`Confirmed`].
    confirmed: AtomicU64,
    keeps_open: bool,
    /// /proc has this thread under another number, or is not there.
    foreign: bool,
}

/// At two descriptors each they may take an eighth of what the process may open.
fn may_keep() -> usize {
    let eighth = usize::try_from(limits::open_files() / 8).unwrap_or(usize::MAX);
    KEPT_OPEN.min(eighth / 2)
}

impl TaskFiles {
    /// Files of the thread `tid` (an id as the process itself sees it). Opens nothing yet.
    pub fn new(tid: i32) -> Self {
        // Relaxed: a bounded count, it publishes nothing.
        let taken = KEEPERS.fetch_update(Relaxed, Relaxed, |n| (n < may_keep()).then_some(n + 1));
        TaskFiles {
            stat: TaskFile::new(tid, "stat"),
            syscall: TaskFile::new(tid, "syscall"),
            syscall_denied: AtomicBool::new(false),
            confirmed: AtomicU64::new(0),
            keeps_open: taken.is_ok(),
            foreign: !is_own_proc(),
        }
    }

    /// What the thread is doing.
    pub fn state(&self) -> TaskState {
        self.sample().state
    }

    /// What the thread waits in. Says nothing about stops: a thread stopped in a call shows as
    /// blocked in it.
    pub fn blocked(&self) -> Blocked {
        if self.foreign {
            return Blocked::Unknown;
        }
        let mut buffer = [0; TEXT_MAX];
        self.read_syscall(&mut buffer)
            .map_or(Blocked::Unknown, |(blocked, _)| blocked)
    }

    /// What the thread is doing, and on which futex: one read for a thread that runs or still
    /// sleeps as at the last sample, two for one newly asleep.
    pub fn sample(&self) -> Sample {
        let in_no_call = |state| Sample { state, futex: None };
        let mut buffer = [0; TEXT_MAX];
        if self.foreign {
            return in_no_call(TaskState::Unknown);
        }
        match self.read_syscall(&mut buffer) {
            Some((Blocked::Running, _)) => in_no_call(TaskState::Runnable),
            Some((blocked @ Blocked::In { .. }, text)) => {
                let state = self.confirm(fingerprint(text));
                // Between the two reads the thread may have been let go.
                let futex = blocked.futex_address().filter(|_| state.is_asleep());
                Sample { state, futex }
            }
            _ => in_no_call(self.read_state()),
        }
    }

    /// The state of a thread that is blocked in a call with this fingerprint.
    fn confirm(&self, fingerprint: u64) -> TaskState {
        // Relaxed: a cache of one word that stands for itself. If two threads
        // sample at once, `stat` is read once more than needed.
        let known = Confirmed(self.confirmed.load(Relaxed));
        let (state, next) = known.still(fingerprint).unwrap_or_else(|| {
            let state = self.read_state();
            (state, Confirmed::new(fingerprint, state))
        });
        // Relaxed: as above.
        self.confirmed.store(next.0, Relaxed);
        state
    }

    fn read_state(&self) -> TaskState {
        let mut buffer = [0; TEXT_MAX];
        match self.stat.read(&mut buffer, self.keeps_open) {
            Ok(line) => parse_state(line).unwrap_or(TaskState::Unknown),
            Err(Errno::NOENT | Errno::SRCH) => TaskState::Dead,
            Err(_) => TaskState::Unknown,
        }
    }

    fn read_syscall<'b>(&self, buffer: &'b mut [u8]) -> Option<(Blocked, &'b [u8])> {
        // Relaxed: a hint that saves useless calls.
        if self.syscall_denied.load(Relaxed) {
            return None;
        }
        match self.syscall.read(buffer, self.keeps_open) {
            Ok(text) => parse_syscall(text).map(|blocked| (blocked, text)),
            Err(Errno::ACCESS | Errno::PERM | Errno::NOENT | Errno::NOSYS) => {
                // Relaxed: as above.
                self.syscall_denied.store(true, Relaxed);
                None
            }
            // Too many open files, or the thread has gone: `stat` will tell.
            Err(_) => None,
        }
    }
}

impl Drop for TaskFiles {
    fn drop(&mut self) {
        if self.keeps_open {
            // Relaxed: a bounded count, it publishes nothing.
            KEEPERS.fetch_sub(1, Relaxed);
        }
    }
}

/// A sleep that `stat` has confirmed, in one word: fingerprint in the high bits, then how often it
/// may still be believed, then whether it is a disk sleep. 0: none.
#[derive(Clone, Copy)]
struct Confirmed(u64);

impl Confirmed {
    const DISK: u64 = 1;
    const SAMPLE: u64 = 2;
    const LOW_BITS: u64 = 0xff;

    fn new(fingerprint: u64, state: TaskState) -> Self {
        let disk = u64::from(state == TaskState::DiskSleep) * Self::DISK;
        match state.is_asleep() {
            true => {
                Confirmed((fingerprint & !Self::LOW_BITS) | (TRUSTED_SAMPLES * Self::SAMPLE) | disk)
            }
            false => Confirmed(0),
        }
    }

    /// The state, and what to believe from now on, if this is the same sleep and still believed.
    fn still(self, fingerprint: u64) -> Option<(TaskState, Confirmed)> {
        let same = (self.0 ^ fingerprint) & !Self::LOW_BITS == 0;
        let believed = self.0 & Self::LOW_BITS >= Self::SAMPLE;
        let state = match self.0 & Self::DISK {
            0 => TaskState::Sleeping,
            _ => TaskState::DiskSleep,
        };
        (same && believed).then(|| (state, Confirmed(self.0 - Self::SAMPLE)))
    }
}

/// FNV-1a: short, and good in the high bits, which are the ones kept.
fn fingerprint(text: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    text.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// One file of `/proc/self/task/TID`.
#[derive(Debug)]
struct TaskFile {
    tid: i32,
    name: &'static str,
    open: OnceLock<OwnedFd>,
}

impl TaskFile {
    fn new(tid: i32, name: &'static str) -> Self {
        TaskFile {
            tid,
            name,
            open: OnceLock::new(),
        }
    }

    /// Reads the file from its start. `ESRCH` or `ENOENT`: the thread has gone.
    fn read<'b>(&self, buffer: &'b mut [u8], keep: bool) -> Result<&'b [u8], Errno> {
        if let Some(file) = self.open.get() {
            return read(file, buffer);
        }
        let file = self.open()?;
        let text = read(&file, buffer);
        if keep {
            // If another thread was faster, its file stays and this one is closed.
            let _ = self.open.set(file);
        }
        text
    }

    fn open(&self) -> Result<OwnedFd, Errno> {
        let mut path = [0; 48];
        let mut rest = &mut path[..];
        // Always fits: the longest id has 10 digits.
        let _ = write!(rest, "/proc/self/task/{}/{}", self.tid, self.name);
        let length = 48 - rest.len();
        rustix::fs::open(
            &path[..length],
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )
    }
}

fn read<'b>(file: &OwnedFd, buffer: &'b mut [u8]) -> Result<&'b [u8], Errno> {
    let length = rustix::io::pread(file, &mut *buffer, 0)?;
    Ok(&buffer[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_is_believed_for_so_many_samples_and_only_while_it_is_the_same() {
        let (here, there) = (fingerprint(b"202 0x1"), fingerprint(b"202 0x2"));
        for state in [TaskState::Sleeping, TaskState::DiskSleep] {
            let mut known = Confirmed::new(here, state);
            for _ in 0..TRUSTED_SAMPLES {
                assert!(known.still(there).is_none());
                let (believed, next) = known.still(here).unwrap();
                assert_eq!(believed, state);
                known = next;
            }
            assert!(known.still(here).is_none());
        }
    }

    #[test]
    fn only_sleep_is_believed() {
        let here = fingerprint(b"202 0x1");
        for state in [
            TaskState::Stopped,
            TaskState::Runnable,
            TaskState::Dead,
            TaskState::Unknown,
        ] {
            assert!(Confirmed::new(here, state).still(here).is_none());
        }
        // Nothing confirmed, whatever the fingerprint.
        assert!(Confirmed(0).still(0).is_none());
    }
}
