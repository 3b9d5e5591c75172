//! Growth that helps: more workers only while more workers can help.
//!
//! When many workers are blocked, starting more keeps the CPUs busy. The exception is that they all
//! wait for one lock. Then each further one only lengthens the queue at the lock, and may slow the
//! lock down: if its waiters sleep, it is handed over only as fast as they wake up. So growth asks
//! what the blocked workers wait for, and whether that queue moves.
//!
//! What the blocked workers execute shows which items would join a convoy. Items of one queue with
//! one function are of one *kind*. If a kind's executions queue up at one lock, the kind is a
//! [`Crowd`], and its other items are held back. Items of other kinds are not: the pool's workers
//! take them.
//!
//! | most executions of one kind | and | is | its items |
//! | --- | --- | --- | --- |
//! | wait at one address | items of the kind end | a *convoy* | are held back: see `hold.rs` |
//! | all wait at one address | none ends for longer than usual | a *barrier*, or a chain: they wait for an item that is still queued | begin, twice as many each time: it may be all that helps |
//! | most wait at one address, and some do not | none ends for longer than usual | a convoy whose head has lost its CPU, or sleeps | are held back |
//! | waited at one address, and go on all at once | | a barrier that is in use, or a condition that all wait for | begin, until they go on one by one |
//! | do anything else | | no reason to hold back | begin |
//!
//! Of all kinds together a pool grows freely up to twice what the last look saw. After the first
//! look that has seen a crowd, it is only by one worker per CPU more: the second look tells what
//! the crowd is, and a convoy should not have grown to twice its length by then.
//!
//! Items may end while nobody from the crowd gets through. Then it may be a barrier beside other
//! items, or an unfair lock that one worker takes again and again. Such a crowd is held, but not
//! hard.
//!
//! Looks are samples: a scan looks at [`MAX_SCAN`](crate::pool::MAX_SCAN) workers, and the others
//! are taken to be alike.

mod crowd;
mod hold;
mod queue;
#[cfg(test)]
mod tests;

use crate::time::{MILLISECOND, Nanos, Time};

pub use crowd::Crowd;
pub use hold::{DAMP_CLOSED, DAMP_FIRST, DAMP_LAST, HOLD_LAST, LEAST, START_BOUND, VERDICT_LOOKS};

/// Workers per target CPU that start without a look at what the others wait for.
pub const FREE_GROWTH: u32 = 2;
/// Items that end closer together than this count as this far apart.
pub const SPACING_LEAST: Nanos = MILLISECOND;
/// While a crowd is stuck, twice as many may begin each time that this has passed, or less.
pub const STUCK_LAST: Nanos = 100 * MILLISECOND;
/// If nobody from a crowd got through for this long, it may be a barrier although items end.
pub const CLOSED: Nanos = 20 * MILLISECOND;
/// A crowd that has opened to all at once is believed to do so again, until so many times as many
/// items have ended as went on then. Where one lock lets one go on after the other, and fast, looks
/// cannot see that most have stayed.
pub const OPENS_VALID: u32 = 64;
/// A look at the workers is believed for this long: a little more than the time between two looks
/// of the tick while canaries report.
pub const LOOK_VALID: Nanos = 20 * MILLISECOND;
/// A number of workers that a look found to do well is believed for this long: as many may start
/// again without another look.
pub const LEVEL_VALID: Nanos = 200 * MILLISECOND;

/// Whether one more worker may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Gate {
    /// Yes.
    Open,
    /// Not before somebody looked at what the busy workers wait for.
    Ask,
    /// Not before this time. Only a crowd says it (`hold.rs`), never the pool's own gate
    /// ([`Growth::gate`]).
    Wait(Time),
}

/// Why items are held back, if they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Holding {
    /// They are not.
    #[default]
    No,
    /// Workers have queued up at one lock.
    Convoy {
        /// How many workers start without delay.
        workers: u32,
        /// When one more may start.
        until: Time,
    },
}

impl Holding {
    /// Both together.
    #[must_use]
    pub fn and(self, other: Holding) -> Holding {
        match (self, other) {
            (Holding::No, one) | (one, Holding::No) => one,
            (
                Holding::Convoy { workers, until },
                Holding::Convoy {
                    workers: more,
                    until: or,
                },
            ) => Holding::Convoy {
                workers: workers.saturating_add(more),
                until: until.min(or),
            },
        }
    }
}

/// What a look at the busy workers saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Workers that are busy.
    pub busy: u32,
    /// About how many of them sleep.
    pub asleep: u32,
    /// About how many of them wait at [`lock`](Self::lock).
    pub crowd: u32,
    /// The futex that the most sleepers wait on, if any waits on one.
    pub lock: Option<u64>,
    /// Of those that waited at the futex of the look before when they were last seen, and are at
    /// the same item: about how many wait there no more. 0 if too few were looked at.
    pub left: u32,
    /// The same, of those that wait there still.
    pub stayed: u32,
}

impl Look {
    /// More than half of the busy ones, and at least two, wait at one address.
    pub fn is_crowd(&self) -> bool {
        self.crowd >= 2 && self.crowd * 2 > self.busy
    }

    /// More of a crowd went on than a lock lets through, and more than stayed: it has opened to all
    /// at once.
    fn has_opened(&self, target: u32) -> bool {
        self.left > target && self.left > self.stayed
    }
}

/// How often items were held back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GrowthStats {
    /// Verdicts that most workers wait at one lock.
    pub convoys: u64,
    /// Items begun beyond what was allowed.
    pub probes: u64,
    /// Verdicts that items end more slowly with more workers.
    pub undone: u64,
}

impl GrowthStats {
    /// Both together.
    #[must_use]
    pub fn and(self, other: GrowthStats) -> GrowthStats {
        GrowthStats {
            convoys: self.convoys + other.convoys,
            probes: self.probes + other.probes,
            undone: self.undone + other.undone,
        }
    }
}

/// What growth knows of one pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growth {
    /// When the last look was taken, and how many workers were busy then.
    look: Option<(Time, u32)>,
    /// The most busy workers that a look found without a crowd, and when that was.
    level: (Time, u32),
    /// So many looks in a row have seen a crowd.
    crowd_looks: u32,
    asked: bool,
}

impl Growth {
    /// Whether one more worker may start while `busy` are busy.
    pub fn gate(&self, now: Time, busy: u32, target: u32) -> Gate {
        // Two looks tell what a crowd is.
        let most = |seen: u32| match self.crowd_looks {
            1 => seen.saturating_add(target),
            _ => 2 * seen.max(target),
        };
        let enough_seen =
            |&(at, seen): &(Time, u32)| now.since(at) <= LOOK_VALID && busy < most(seen);
        let is_free = busy < FREE_GROWTH * target
            || self.look.as_ref().is_some_and(enough_seen)
            || self.is_known_level(now, busy);
        if is_free { Gate::Open } else { Gate::Ask }
    }

    /// Whether one more makes no more than have lately done well together.
    fn is_known_level(&self, now: Time, busy: u32) -> bool {
        let (at, level) = self.level;
        self.crowd_looks == 0 && busy < level && now.since(at) <= LEVEL_VALID
    }

    /// Nobody looked for long, or nobody ran: what was seen is forgotten.
    pub fn rebase(&mut self, now: Time) {
        *self = Growth {
            asked: self.asked,
            ..Growth::default()
        };
        self.level.0 = now;
    }

    /// A look was asked for; true if it was not already on its way.
    pub fn ask(&mut self) -> bool {
        !core::mem::replace(&mut self.asked, true)
    }

    /// Whether a look was asked for and has not come yet.
    pub fn is_asking(&self) -> bool {
        self.asked
    }

    /// Takes in a look at a pool with `busy` busy workers. `is_crowded`: some of them are a crowd.
    pub fn looked(&mut self, now: Time, busy: u32, is_crowded: bool) {
        self.asked = false;
        self.crowd_looks = match is_crowded {
            true => self.crowd_looks.saturating_add(1),
            false => 0,
        };
        self.look = Some((now, busy));
        if !is_crowded && (busy >= self.level.1 || now.since(self.level.0) > LEVEL_VALID) {
            self.level = (now, busy);
        }
    }
}
