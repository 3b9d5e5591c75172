//! Whether threads that run get a CPU: what the kernel counts of them (`schedstat`), twice.

use std::collections::HashMap;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use cmwq_os::observe::TaskState;

use super::target::Seen;
use super::threads;

/// Between the two readings.
const BETWEEN: Duration = Duration::from_millis(100);
/// Threads that are looked at.
const MOST: usize = 1024;

/// What a thread had of a time, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) ran: u64,
    /// It could have run, and others had the CPU.
    pub(super) waited: u64,
}

/// By number. Of threads that execute items all the time in between; without those of which the
/// kernel does not tell.
pub(super) type Shares = HashMap<i32, Share>;

/// Takes a tenth of a second, if anything is executed.
pub(super) fn of(seen: &Seen) -> Shares {
    let workers = seen.snapshot.pools.iter().flat_map(|pool| &pool.busy);
    let read = |tid: i32| {
        let dir = format!("/proc/{}/task/{tid}", seen.pid);
        let used = parse(&fs::read_to_string(format!("{dir}/schedstat")).ok()?)?;
        let thread = threads::parse(&fs::read(format!("{dir}/stat")).ok()?)?;
        let at = Instant::now();
        Some(Reading {
            used,
            wants: thread.state == TaskState::Runnable,
            at,
        })
    };
    let first = workers
        .take(MOST)
        .filter_map(|worker| Some((worker.tid, read(worker.tid)?)));
    let first: Vec<_> = first.collect();
    if first.is_empty() {
        return Shares::new();
    }
    thread::sleep(BETWEEN);
    let shares = first.into_iter();
    shares
        .filter_map(|(tid, before)| Some((tid, share(&before, &read(tid)?))))
        .collect()
}

/// Of a thread.
struct Reading {
    /// Nanoseconds that it ran, and waited for a CPU.
    used: (u64, u64),
    /// It runs, or wants to.
    wants: bool,
    at: Instant,
}

fn parse(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split_ascii_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

fn share(before: &Reading, after: &Reading) -> Share {
    let time = (after.at - before.at).as_nanos().max(1);
    let of = |before: u64, after: u64| {
        let percent = after.saturating_sub(before) as u128 * 100 / time;
        percent.min(100) as u64
    };
    let ran = of(before.used.0, after.used.0);
    let waited = of(before.used.1, after.used.1);
    // A wait is counted when it ends: one that goes on is the rest of the time.
    let waits_still = before.wants && after.wants;
    let rest = if waits_still { 100 - ran } else { 0 };
    Share {
        ran,
        waited: waited.max(rest),
    }
}

impl Share {
    /// Whether others are the reason that it is slow.
    pub(super) fn is_starved(self) -> bool {
        self.waited >= 50
    }

    /// Whether it computes, or wants to.
    pub(super) fn is_busy(self) -> bool {
        self.ran + self.waited >= 10
    }

    pub(super) fn words(self) -> String {
        format!(
            "in 100 ms it ran for {} % and waited for a CPU for {} %",
            self.ran, self.waited
        )
    }

    /// Of threads that do the same.
    pub(super) fn words_of(several: &[Share]) -> String {
        let sum = |of: fn(&Share) -> u64| several.iter().map(of).sum::<u64>();
        format!(
            "in 100 ms they ran for {} % and waited for a CPU for {} %, all together",
            sum(|share| share.ran),
            sum(|share| share.waited)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_time_in_between() {
        let (ten, begun) = (10_000_000, Instant::now());
        let reading = |used, wants, ms| Reading {
            used,
            wants,
            at: begun + Duration::from_millis(ms),
        };
        let before = |wants| reading((5, 7), wants, 0);
        let after = |waited| reading((5 + ten, 7 + waited), true, 100);
        let expected = Share {
            ran: 10,
            waited: 80,
        };
        assert_eq!(share(&before(false), &after(8 * ten)), expected);
        assert!(expected.is_starved());
        // It wanted to run all the time, and its wait is not over.
        assert_eq!(share(&before(true), &after(0)).waited, 90);
        assert_eq!(share(&before(false), &after(100 * ten)).waited, 100);
        assert_eq!(parse("12 34 5\n"), Some((12, 34)));
        assert_eq!((parse(""), parse("12"), parse("x y")), (None, None, None));
    }
}
