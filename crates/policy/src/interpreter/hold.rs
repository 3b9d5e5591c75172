//! How long a thread keeps the lock, and how long it keeps coming back to it.

use super::SHORTEST_INTERVAL;
use crate::time::{MILLISECOND, Nanos, Time};

/// A turn goes on for so long whatever waits, where there is no lock.
pub const SLICE: Nanos = 5 * MILLISECOND;

/// How long a worker executes item after item before it gives way to what else waits, where a lock
/// that is asked for is given back after `interval`.
///
/// It is a multiple, since whoever asks for the lock shortly before the end of a slice begins to
/// wait anew then ([`Hold`]).
pub fn slice(interval: Option<Nanos>) -> Nanos {
    interval.map_or(SLICE, |interval| 4 * interval.max(SHORTEST_INTERVAL))
}

/// How long a thread has kept coming back to the lock.
///
/// Whoever asks for the lock may insist only if nobody gives it back for a whole interval. A
/// thread that gives it back more often, and takes it again at once, for its next turn or for the
/// next step of a job, would keep him out for seconds: so it stays away for a moment after an
/// interval.
#[derive(Clone, Copy, Debug)]
pub struct Hold {
    since: Time,
    left: Time,
}

impl Hold {
    /// Of a thread that has not come yet.
    pub const NEW: Hold = Hold {
        since: Time(0),
        left: Time(0),
    };

    /// So long a thread stays away from the lock, which is enough for whoever it has woken.
    pub const PAUSE: Nanos = 100_000;

    /// It comes to the lock: whether it stays away for a [`PAUSE`](Self::PAUSE) first.
    pub fn comes(&mut self, interval: Nanos, now: Time) -> bool {
        if now.since(self.left) >= Self::PAUSE {
            self.since = now;
        }
        let pauses = now.since(self.since) >= interval.max(SHORTEST_INTERVAL);
        if pauses {
            self.since = now.after(Self::PAUSE);
        }
        pauses
    }

    /// It has given the lock back.
    pub fn leaves(&mut self, now: Time) {
        self.left = now;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::time::SECOND;

    const INTERVAL: Nanos = 5 * MILLISECOND;

    #[test]
    fn a_slice_is_longer_than_who_asks_for_the_lock_has_to_wait() {
        assert_eq!(slice(None), SLICE);
        for interval in [1, SHORTEST_INTERVAL, INTERVAL, SECOND] {
            assert!(slice(Some(interval)) >= 2 * interval.max(SHORTEST_INTERVAL));
        }
    }

    #[test]
    fn a_thread_that_keeps_coming_back_stays_away_after_each_interval() {
        let (mut hold, mut now, mut pauses) = (Hold::NEW, Time(SECOND), Vec::new());
        for _ in 0..100 {
            if hold.comes(INTERVAL, now) {
                pauses.push(now);
                now = now.after(Hold::PAUSE);
            }
            now = now.after(MILLISECOND / 4);
            hold.leaves(now);
        }
        assert_eq!(pauses.len(), 4, "of 25 ms");
        let apart = |pair: &[Time]| pair[1].since(pair[0]);
        assert!(pauses.windows(2).all(|pair| apart(pair) >= INTERVAL));
    }

    #[test]
    fn a_thread_that_was_away_need_not_stay_away() {
        let (mut hold, mut now) = (Hold::NEW, Time(SECOND));
        for _ in 0..100 {
            now = now.after(Hold::PAUSE);
            assert!(!hold.comes(INTERVAL, now));
            now = now.after(MILLISECOND);
            hold.leaves(now);
        }
    }
}
