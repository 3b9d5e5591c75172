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
//! that are inside. It stands by while several of them compute, and looks again, less and less
//! often.
//!
//! Beside one that computes, each of them has the lock only after an interval. So as many may line
//! up together as are seen to wait inside: the lock goes from one to the next as soon as each waits
//! for something else. If one of them computes as well, those behind it leave again.
//!
//! Who computes is told by how long it wants a CPU: one that computes has the lock for an interval
//! out of each round. One that waits for something else has it for less, also if it is seen to wait
//! for the lock at the moment of a look, as it does after each wait.
//!
//! Nobody stands by for ever: the next item may be one that waits, or the one that those inside
//! wait for. So one begins after some time as a trial. If it computes as well, the next trial is
//! much later. If it waits, the next one is sooner.

mod hold;

use crate::time::{MILLISECOND, Nanos, SECOND, Time};

pub use hold::{Hold, SLICE, slice};

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
/// At most so many line up together.
pub const WIDEST: usize = 64;
/// An interval that was set to less is taken for this: anything keeps the lock for so long.
pub const SHORTEST_INTERVAL: Nanos = MILLISECOND;

/// What a look at the workers inside saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// What those inside do.
    Inside {
        /// So many run, or wait for the lock or for a CPU. On a busy machine one who is about to
        /// wait for the lock is often seen to wait for a CPU.
        computing: usize,
        /// So many wait for something else.
        waiting: usize,
    },
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

/// What the worker does that has got the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Entered {
    /// It begins an item.
    Begin,
    /// It looks first, and asks whether it [`may_begin`](Entrance::may_begin).
    Look,
}

/// How long it takes those that compute to have the lock once each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    interval: Nanos,
    round: Nanos,
}

impl Round {
    /// Whether one that was watched for so long has shown what it does.
    pub fn tells(self, passed: Nanos) -> bool {
        passed >= 2 * self.round
    }

    /// Whether one that ran or waited for a CPU for so long meanwhile does something else than
    /// compute most of the time: it is less than a quarter of what it would be.
    pub fn is_mostly_waiting(self, wanted: Nanos, passed: Nanos) -> bool {
        4 * u128::from(wanted) * u128::from(self.round)
            < u128::from(passed) * u128::from(self.interval)
    }
}

/// What is known of the lock, and of the worker that stands by, if one does.
#[derive(Clone, Copy, Debug)]
pub struct Entrance {
    /// Somebody inside kept the lock until he was made to give it back.
    hogged: bool,
    /// So many may line up together.
    width: usize,
    /// How long workers have waited for the lock, the longest of late.
    waits: Nanos,
    /// When the last one got it.
    last: Time,
    pause: Nanos,
    patience: Nanos,
    /// Since when the worker stands by.
    since: Option<Time>,
    /// How many computed before the last trial, if nobody knows yet what came of it.
    trial: Option<usize>,
}

impl Default for Entrance {
    fn default() -> Self {
        Entrance {
            hogged: false,
            width: 1,
            waits: 0,
            last: Time(0),
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

    /// How many may be on their way to the lock.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How long a round takes, where a lock that is asked for is given back after `interval`.
    pub fn round(&self, interval: Nanos) -> Round {
        let interval = interval.max(SHORTEST_INTERVAL);
        Round {
            interval,
            round: interval + self.waits.max(interval),
        }
    }

    /// A worker that had to look has `seen` this.
    pub fn looked(&mut self, seen: Seen, now: Time) -> Entry {
        let (computing, waiting) = match seen {
            Seen::Inside { computing, waiting } => (computing, waiting),
            // As bad as it may be.
            Seen::Nothing => (self.trial.map_or(KEPT, |before| before + 1), 0),
        };
        let since = *self.since.get_or_insert(now);
        // One that waits needs the lock, and a CPU, for a moment before that.
        if now.since(since) >= VERDICT
            && let Some(before) = self.trial.take()
        {
            self.tried(computing <= before);
        }
        if computing < KEPT {
            self.width = (1 + waiting).min(WIDEST);
            return self.enter(None);
        }
        self.width = 1;
        if now.since(since) >= self.patience {
            return self.enter(Some(computing));
        }
        let trial = since.after(self.patience);
        let at = now.after(self.pause).min(trial);
        self.pause = (2 * self.pause).min(LAST_PAUSE);
        Entry::LookAt(at)
    }

    fn enter(&mut self, trial: Option<usize>) -> Entry {
        self.trial = trial;
        self.pause = FIRST_PAUSE;
        self.since = None;
        Entry::Enter
    }

    /// The last trial has waited, or has left after its item because others compute.
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
    pub fn entered(&mut self, waited: Nanos, interval: Nanos, now: Time) -> Entered {
        let interval = interval.max(SHORTEST_INTERVAL);
        // A little less than the interval: clocks and timeouts round. Behind a crowd, which asks
        // for the lock all the time, one may have it sooner by chance.
        let quiet = match self.trial {
            None => interval - interval / 4,
            Some(_) => interval / 16,
        };
        let since_last = now.since(self.last);
        self.last = now;
        self.hogged = waited >= quiet;
        if !self.hogged {
            *self = Entrance {
                last: now,
                ..Entrance::default()
            };
            return Entered::Begin;
        }
        self.waits = waited.max(self.waits / 2);
        // The one before it, of those that lined up with it, has soon given the lock back.
        match self.width > 1 && since_last >= interval / 2 {
            true => Entered::Look,
            false => Entered::Begin,
        }
    }

    /// The worker that has got the lock has `seen` this inside: whether it begins an item. If it
    /// does not, it leaves, and so do others that lined up with it.
    pub fn may_begin(&mut self, seen: Seen) -> bool {
        let alone = match seen {
            Seen::Inside { computing, .. } => computing < KEPT,
            Seen::Nothing => false,
        };
        if !alone {
            self.width = 1;
        }
        alone
    }

    /// Somebody stands by: whether a worker leaves after its item that computes, as so many do,
    /// itself among them. They may all have waited for something else before. If it leaves, a trial
    /// that is not decided has computed.
    pub fn leaves(&mut self, computing: usize) -> bool {
        let leaves = computing > KEPT;
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
    /// All that was watched inside computes.
    fn crowd(computing: usize) -> Seen {
        Seen::Inside {
            computing,
            waiting: 0,
        }
    }

    fn enters(entrance: &mut Entrance, waited: Nanos) {
        let entered = entrance.entered(waited, INTERVAL, Time(7));
        assert_eq!(entered, Entered::Begin);
    }

    fn hogged() -> Entrance {
        let mut entrance = Entrance::default();
        enters(&mut entrance, INTERVAL);
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
            enters(&mut entrance, waited);
        }
    }

    #[test]
    fn one_looks_once_somebody_has_kept_the_lock_until_nobody_does() {
        let mut entrance = hogged();
        for computing in 0..KEPT {
            assert!(entrance.must_look());
            assert_eq!(entrance.looked(crowd(computing), Time(1)), Entry::Enter);
        }
        assert!(entrance.must_look(), "nothing has changed");
        enters(&mut entrance, 0);
        assert!(!entrance.must_look());
    }

    #[test]
    fn while_all_compute_few_begin() {
        let (mut entrance, mut total) = (hogged(), 0);
        for computing in KEPT..KEPT + 4 {
            total += stands_by(&mut entrance, crowd(computing));
            assert_eq!(entrance.width(), 1);
            enters(&mut entrance, INTERVAL);
        }
        assert_eq!(total, (1 + 4 + 16 + 64) * FIRST_PATIENCE);
    }

    #[test]
    fn as_many_line_up_together_as_wait_inside() {
        let mut entrance = hogged();
        let mut waiting = 0;
        for burst in 1.. {
            let seen = Seen::Inside {
                computing: 1,
                waiting,
            };
            assert_eq!(entrance.looked(seen, Time(7)), Entry::Enter);
            waiting += entrance.width();
            if waiting >= WIDEST {
                assert!(burst <= 7, "it takes few intervals until many wait");
                break;
            }
        }
        assert_eq!(
            entrance.looked(crowd(KEPT), Time(7)),
            Entry::LookAt(Time(7 + FIRST_PAUSE))
        );
        assert_eq!(entrance.width(), 1);
    }

    /// One computes, and some wait: so many line up together.
    fn wide() -> (Entrance, Seen) {
        let mut entrance = hogged();
        let seen = Seen::Inside {
            computing: 1,
            waiting: 8,
        };
        assert_eq!(entrance.looked(seen, Time(7)), Entry::Enter);
        (entrance, seen)
    }

    #[test]
    fn those_that_have_the_lock_soon_after_each_other_begin() {
        let (mut entrance, seen) = wide();
        let mut now = Time(7 + INTERVAL);
        assert_eq!(entrance.entered(INTERVAL, INTERVAL, now), Entered::Look);
        assert!(
            entrance.may_begin(seen),
            "somebody who was there before computes"
        );
        for _ in 0..entrance.width() {
            now = now.after(INTERVAL / 100);
            assert_eq!(entrance.entered(INTERVAL, INTERVAL, now), Entered::Begin);
        }
    }

    #[test]
    fn those_that_come_behind_one_that_computes_leave_again() {
        let (mut entrance, _) = wide();
        let now = Time(7 + INTERVAL);
        assert_eq!(entrance.entered(2 * INTERVAL, INTERVAL, now), Entered::Look);
        assert!(!entrance.may_begin(crowd(KEPT)));
        assert_eq!(entrance.width(), 1);
        let (mut entrance, _) = wide();
        assert!(!entrance.may_begin(Seen::Nothing));
    }

    #[test]
    fn one_that_computes_beside_others_is_not_taken_for_one_that_waits() {
        for others in 1..100 {
            let mut entrance = Entrance::default();
            enters(&mut entrance, others * INTERVAL);
            let round = entrance.round(INTERVAL);
            let passed = 10 * (others + 1) * INTERVAL;
            assert!(round.tells(passed));
            // Others may have had it twice as often, by chance.
            assert!(!round.is_mostly_waiting(passed / (others + 1) / 2, passed));
            assert!(round.is_mostly_waiting(passed / (others + 1) / 5, passed));
        }
        assert!(
            !hogged().round(INTERVAL).tells(INTERVAL),
            "a round is longer"
        );
    }

    #[test]
    fn one_that_left_because_of_the_crowd_has_computed() {
        let mut entrance = hogged();
        stands_by(&mut entrance, crowd(KEPT));
        assert!(entrance.leaves(KEPT + 1));
        let next = stands_by(&mut entrance, crowd(KEPT));
        assert_eq!(next, 4 * FIRST_PATIENCE);
    }

    #[test]
    fn items_that_wait_begin_beside_some_that_compute_and_ever_sooner() {
        let mut entrance = hogged();
        let begin = |_| {
            let stood = stands_by(&mut entrance, crowd(KEPT));
            enters(&mut entrance, INTERVAL);
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
        stands_by(&mut entrance, crowd(KEPT));
        enters(&mut entrance, INTERVAL / 2);
        assert!(entrance.must_look());
        stands_by(&mut entrance, crowd(KEPT + 1));
        enters(&mut entrance, INTERVAL / 100);
        assert!(!entrance.must_look());
    }

    #[test]
    fn a_trial_has_a_moment_to_begin_to_wait() {
        let mut entrance = hogged();
        stands_by(&mut entrance, crowd(KEPT));
        let first = entrance.looked(crowd(KEPT + 1), Time(7));
        assert_ne!(first, Entry::Enter);
        assert!(stands_by(&mut entrance, crowd(KEPT)) < FIRST_PATIENCE);
    }

    #[test]
    fn two_stay() {
        let mut entrance = hogged();
        assert_eq!([1, 2, 3].map(|n| entrance.leaves(n)), [false, false, true]);
    }

    #[test]
    fn an_interval_of_nothing_makes_nobody_stand_by() {
        let mut entrance = Entrance::default();
        let entered = entrance.entered(MILLISECOND / 10, 1, Time(7));
        assert_eq!(entered, Entered::Begin);
        assert!(!entrance.must_look());
    }

    #[test]
    fn a_quiet_lock_makes_all_of_it_forgotten() {
        let mut entrance = hogged();
        stands_by(&mut entrance, crowd(KEPT));
        stands_by(&mut entrance, crowd(KEPT + 1));
        enters(&mut entrance, 0);
        enters(&mut entrance, INTERVAL);
        assert_eq!(stands_by(&mut entrance, crowd(KEPT)), FIRST_PATIENCE);
    }
}
