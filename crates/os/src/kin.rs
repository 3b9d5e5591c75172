//! Signals for descendants of this process, and for nobody else.
//!
//! The number of a process is free for others as soon as the process has been reaped. So each one
//! is pinned before it is signalled. An adopted process is reaped by this one only
//! ([`adopt`]), which does not do so meanwhile. Of every other descendant there is a pidfd, and it
//! is a child of one that is pinned. Where the kernel has no pidfds (before Linux 5.3), only the
//! adopted ones are signalled: the others are adopted when these have ended.

use std::fs;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use crate::adopt;
use crate::observe::{Stat, TaskState, children, is_own_proc, parse_stat};
use crate::thread::getpid;

/// Processes that one call signals, at most: each is a descriptor while it is found.
const MOST: usize = 256;

/// A descendant whose number is its own as long as this lives.
struct Kin {
    pid: i32,
    stat: Stat,
    /// None: it is adopted, and nobody reaps it.
    pin: Option<OwnedFd>,
}

/// Sends `signal`, which is to end them, to the adopted processes that are meant and to all of
/// their descendants: to each for which `is_news` is true. A process that is stopped is let go, or
/// it could not follow. Gives one of those that have not ended.
///
/// Without [`adopt::begin`], or with a `/proc` of another PID namespace, nobody is signalled.
pub fn end(
    signal: i32,
    is_meant: impl Fn(&Stat) -> bool,
    mut is_news: impl FnMut(&Stat) -> bool,
) -> Option<i32> {
    let signal = Signal::from_named_raw(signal)?;
    if !adopt::is_on() || !is_own_proc() {
        return None;
    }
    adopt::with_none_reaped(|adopted| {
        let adopted = adopted.iter().filter_map(|&pid| Kin::adopted(pid));
        // All are found before the first is signalled: who has ended has no children.
        let all = with_descendants(adopted.filter(|kin| is_meant(&kin.stat)).collect());
        for kin in &all {
            if is_news(&kin.stat) {
                kin.tell(signal);
                kin.tell(Signal::CONT);
            }
        }
        all.first().map(|kin| kin.pid)
    })
}

/// These and those below them, the nearest first, up to [`MOST`].
fn with_descendants(mut all: Vec<Kin>) -> Vec<Kin> {
    let mut next = 0;
    while next < all.len().min(MOST) {
        let below = all[next].children(MOST.saturating_sub(all.len()));
        all.extend(below);
        next += 1;
    }
    all
}

impl Kin {
    /// An adopted process, which nobody reaps.
    fn adopted(pid: i32) -> Option<Self> {
        let stat = alive(pid, getpid())?;
        Some(Kin {
            pid,
            stat,
            pin: None,
        })
    }

    /// The children of this one, at most so many.
    fn children(&self, most: usize) -> Vec<Kin> {
        let child = |pid: i32| {
            let pin = Some(pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?);
            let stat = alive(pid, self.pid)?;
            Some(Kin { pid, stat, pin })
        };
        let pids = children(self.pid).into_iter();
        let children = pids.filter_map(child).take(most).collect();
        // Its number was its own all the time, or these are the children of somebody else.
        match self.is_alive() {
            true => children,
            false => Vec::new(),
        }
    }

    fn is_alive(&self) -> bool {
        let Some(pin) = &self.pin else { return true };
        let mut fds = [PollFd::new(pin, PollFlags::IN)];
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        matches!(poll(&mut fds, Some(&at_once)), Ok(0))
    }

    /// Fails where it has ended by now or has another user's rights: nothing to do then.
    fn tell(&self, signal: Signal) {
        let _ = match (&self.pin, Pid::from_raw(self.pid)) {
            (Some(pin), _) => pidfd_send_signal(pin, signal),
            (None, Some(pid)) => kill_process(pid, signal),
            (None, None) => Ok(()),
        };
    }
}

/// What /proc says of a child of `parent` that has not ended.
fn alive(pid: i32, parent: i32) -> Option<Stat> {
    let stat = parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)?;
    (stat.ppid == parent && stat.state != TaskState::Dead).then_some(stat)
}
