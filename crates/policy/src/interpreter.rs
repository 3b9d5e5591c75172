//! Who may line up for the lock of an interpreter.
//!
//! A Python thread runs only while it holds the interpreter's lock. Items that wait, for a socket
//! say, give it back meanwhile: as many as there are may run side by side. Items that compute keep
//! it, so CPUs idle beside them although another worker could do nothing but line up for the lock.
//! An idle CPU is therefore no reason to begin such an item while somebody waits for the lock
//! already.
//!
//! Workers come to the lock one at a time: the next one comes when the one before has it. How long
//! that took says whether somebody computes. If so, the next worker first looks at what those do
//! that are inside. It stands by while several of them compute or wait for the lock, and looks
//! again, less and less often.
//!
//! Nobody stands by for ever: the next item may be one that waits, or the one that those inside
//! wait for. So one begins after some time as a trial. If it computes as well, the next trial is
//! much later. If it waits, the next one is sooner.

use crate::time::{MILLISECOND, Nanos, SECOND, Time};

/// The first two looks are so far apart; each further distance is twice the one before.
pub const FIRST_PAUSE: Nanos = 2 * MILLISECOND;
/// The longest time between two looks.
pub const LAST_PAUSE: Nanos = 100 * MILLISECOND;
/// What came of a trial is seen so long after the next worker has come.
pub const VERDICT: Nanos = 10 * MILLISECOND;
/// How long a worker stands by before the first trial.
pub const FIRST_PATIENCE: Nanos = 100 * MILLISECOND;
/// The same after many trials that waited, and after many that computed.
pub const PATIENCE: core::ops::RangeInclusive<Nanos> = 12 * MILLISECOND..=320 * SECOND;
/// So many workers stay although another one stands by: one computes, one is the next.
pub const KEPT: usize = 2;

/// What a look at the workers inside saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// So many wait for the lock, run, or wait for a CPU. On a busy machine one who is about to
    /// wait for the lock is often seen to wait for a CPU.
    Crowd(usize),
    /// The system does not tell.
    Nothing,
}

/// What the worker does that has come to the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Entry {
    /// It lines up.
    Enter,
    /// It looks again at this time.
    LookAt(Time),
}

/// What is known of the lock, and of the worker that stands by, if one does.
#[derive(Clone, Copy, Debug)]
pub struct Entrance {
    /// Somebody inside kept the lock until he was made to give it back.
    hogged: bool,
    pause: Nanos,
    patience: Nanos,
    /// Since when the worker stands by.
    since: Option<Time>,
    /// How many were in the crowd before the last trial, if nobody knows yet what came of it.
    trial: Option<usize>,
}

impl Default for Entrance {
    fn default() -> Self {
        Entrance {
            hogged: false,
            pause: FIRST_PAUSE,
            patience: FIRST_PATIENCE,
            since: None,
            trial: None,
        }
    }
}

impl Entrance {
    /// Whether the next worker must look before it lines up.
    pub fn must_look(&self) -> bool {
        self.hogged
    }

    /// A worker that had to look has `seen` this.
    pub fn looked(&mut self, seen: Seen, now: Time) -> Entry {
        let crowd = match seen {
            Seen::Crowd(crowd) => crowd,
            // As bad as it may be.
            Seen::Nothing => self.trial.map_or(KEPT, |before| before + 1),
        };
        let since = *self.since.get_or_insert(now);
        // One that waits needs the lock, and a CPU, for a moment before that.
        if now.since(since) >= VERDICT
            && let Some(before) = self.trial.take()
        {
            self.tried(crowd <= before);
        }
        let is_trial = now.since(since) >= self.patience;
        if crowd < KEPT || is_trial {
            self.trial = is_trial.then_some(crowd);
            self.pause = FIRST_PAUSE;
            self.since = None;
            return Entry::Enter;
        }
        let trial = since.after(self.patience);
        let at = now.after(self.pause).min(trial);
        self.pause = (2 * self.pause).min(LAST_PAUSE);
        Entry::LookAt(at)
    }

    /// The last trial has waited, or has left after its item because of the crowd.
    fn tried(&mut self, waited: bool) {
        let next = if waited {
            self.patience / 2
        } else {
            4 * self.patience
        };
        self.patience = next.clamp(*PATIENCE.start(), *PATIENCE.end());
    }

    /// A worker has got the lock after this time; a lock that is asked for is given back after
    /// `interval` at the latest.
    pub fn entered(&mut self, waited: Nanos, interval: Nanos) {
        // A little less than the interval: clocks and timeouts round. Behind a crowd, which asks
        // for the lock all the time, one may have it sooner by chance.
        let quiet = match self.trial {
            None => interval - interval / 4,
            Some(_) => interval / 16,
        };
        self.hogged = waited >= quiet;
        if !self.hogged {
            *self = Entrance::default();
        }
    }

    /// Somebody stands by: whether a worker leaves after its item where so many are inside, itself
    /// among them. They may all have waited for something else before. If it leaves, a trial that
    /// is not decided has computed.
    pub fn leaves(&mut self, inside: usize) -> bool {
        let leaves = inside > KEPT;
        if leaves && self.trial.take().is_some() {
            self.tried(false);
        }
        leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Nanos = 5 * MILLISECOND;

    fn hogged() -> Entrance {
        let mut entrance = Entrance::default();
        entrance.entered(INTERVAL, INTERVAL);
        entrance
    }

    /// Stands by, and sees this until it enters; how long that took.
    fn stands_by(entrance: &mut Entrance, seen: Seen) -> Nanos {
        let begin = Time(7);
        let mut now = begin;
        loop {
            match entrance.looked(seen, now) {
                Entry::Enter => return now.since(begin),
                Entry::LookAt(at) => {
                    assert!(now < at && at.since(now) <= LAST_PAUSE);
                    now = at;
                }
            }
        }
    }

    #[test]
    fn items_that_wait_begin_without_a_look() {
        let mut entrance = Entrance::default();
        for waited in [0, 1_000, INTERVAL / 2] {
            assert!(!entrance.must_look());
            entrance.entered(waited, INTERVAL);
        }
    }

    #[test]
    fn one_looks_once_somebody_has_kept_the_lock_until_nobody_does() {
        let mut entrance = hogged();
        for crowd in 0..KEPT {
            assert!(entrance.must_look());
            assert_eq!(entrance.looked(Seen::Crowd(crowd), Time(1)), Entry::Enter);
        }
        assert!(entrance.must_look(), "nothing has changed");
        entrance.entered(0, INTERVAL);
        assert!(!entrance.must_look());
    }

    #[test]
    fn while_all_compute_few_begin() {
        let (mut entrance, mut total) = (hogged(), 0);
        for crowd in KEPT..KEPT + 4 {
            total += stands_by(&mut entrance, Seen::Crowd(crowd));
            entrance.entered(INTERVAL, INTERVAL);
        }
        assert_eq!(total, (1 + 4 + 16 + 64) * FIRST_PATIENCE);
    }

    #[test]
    fn one_that_left_because_of_the_crowd_has_computed() {
        let mut entrance = hogged();
        stands_by(&mut entrance, Seen::Crowd(KEPT));
        assert!(entrance.leaves(KEPT + 1));
        let next = stands_by(&mut entrance, Seen::Crowd(KEPT));
        assert_eq!(next, 4 * FIRST_PATIENCE);
    }

    #[test]
    fn items_that_wait_begin_beside_some_that_compute_and_ever_sooner() {
        let mut entrance = hogged();
        let begin = |_| {
            let stood = stands_by(&mut entrance, Seen::Crowd(KEPT));
            entrance.entered(INTERVAL, INTERVAL);
            stood
        };
        let total: Nanos = (0..100).map(begin).sum();
        assert!(total < 100 * *PATIENCE.start() + 2 * FIRST_PATIENCE);
    }

    #[test]
    fn a_blind_one_takes_each_trial_for_a_bad_one() {
        let mut entrance = hogged();
        let stood = [0; 3].map(|_| stands_by(&mut entrance, Seen::Nothing));
        assert_eq!(stood, [1, 4, 16].map(|n| n * FIRST_PATIENCE));
    }

    #[test]
    fn a_crowd_that_needs_no_lock_is_told_from_one_that_gives_it_back_soon() {
        let mut entrance = hogged();
        stands_by(&mut entrance, Seen::Crowd(KEPT));
        entrance.entered(INTERVAL / 2, INTERVAL);
        assert!(entrance.must_look());
        stands_by(&mut entrance, Seen::Crowd(KEPT + 1));
        entrance.entered(INTERVAL / 100, INTERVAL);
        assert!(!entrance.must_look());
    }

    #[test]
    fn a_trial_has_a_moment_to_begin_to_wait() {
        let mut entrance = hogged();
        stands_by(&mut entrance, Seen::Crowd(KEPT));
        let first = entrance.looked(Seen::Crowd(KEPT + 1), Time(7));
        assert_ne!(first, Entry::Enter);
        assert!(stands_by(&mut entrance, Seen::Crowd(KEPT)) < FIRST_PATIENCE);
    }

    #[test]
    fn two_stay() {
        let mut entrance = hogged();
        assert_eq!([1, 2, 3].map(|n| entrance.leaves(n)), [false, false, true]);
    }

    #[test]
    fn a_quiet_lock_makes_all_of_it_forgotten() {
        let mut entrance = hogged();
        stands_by(&mut entrance, Seen::Crowd(KEPT));
        stands_by(&mut entrance, Seen::Crowd(KEPT + 1));
        entrance.entered(0, INTERVAL);
        entrance.entered(INTERVAL, INTERVAL);
        assert_eq!(stands_by(&mut entrance, Seen::Crowd(KEPT)), FIRST_PATIENCE);
    }
}
