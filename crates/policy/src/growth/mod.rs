//! Growth that helps: more workers only while more workers can help.
//!
//! When many workers are blocked, starting more keeps the CPUs busy, unless they all wait for one
//! lock: then each further one only lengthens the queue at the lock, and may slow the lock down
//! (seed 002: a lock whose waiters sleep is handed over at the pace of wake-ups; a Python GIL).
//! So growth asks what the blocked workers wait for, and whether that queue moves.
//!
//! | most busy workers | and | is | growth |
//! | --- | --- | --- | --- |
//! | wait at one address | items end | a *convoy* | is held: see `hold.rs` |
//! | wait at one address | none ends for longer than usual | a *barrier*, or a chain: they wait for an item that is still queued | is free: it may be all that helps |
//! | do anything else | | no reason to hold back | is free up to twice what the last look saw |
//!
//! A crowd from which nobody gets through while items end may be either: a barrier beside other items, or a
//! lock that is free for all, which one worker takes again and again. It is held, but not hard.
//!
//! Looks are samples: a scan looks at [`MAX_SCAN`](crate::pool::MAX_SCAN) workers, and the others are taken to be alike.

mod hold;
#[cfg(test)]
mod tests;

use hold::Hold;

use crate::probe::hit;
use crate::time::{MILLISECOND, Nanos, Time};

pub use hold::{DAMP_CLOSED, DAMP_FIRST, DAMP_LAST, HOLD_LAST, LEAST, START_BOUND, VERDICT_LOOKS};

/// Workers per target CPU that start without a look at what the others wait for.
pub const FREE_GROWTH: u32 = 2;
/// Items that end closer together than this count as this far apart.
pub const SPACING_LEAST: Nanos = MILLISECOND;
/// A crowd from which nobody got through for so long may be a barrier although items end.
pub const CLOSED: Nanos = 20 * MILLISECOND;
/// A look at the workers is believed for this long: a little more than the time between two looks of
/// the tick while canaries report.
pub const LOOK_VALID: Nanos = 20 * MILLISECOND;
/// As many workers as a look found to do well may start again for this long without another one.
pub const LEVEL_VALID: Nanos = 200 * MILLISECOND;

/// Whether one more worker may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Gate {
    /// Yes.
    Open,
    /// Not before somebody looked at what the busy workers wait for.
    Ask,
    /// Not before this time.
    Wait(Time),
}

/// Why a pool holds back, if it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Holding {
    /// It does not.
    #[default]
    No,
    /// Its workers have queued up at one lock.
    Convoy {
        /// So many workers start without delay.
        workers: u32,
        /// When one more may start.
        until: Time,
    },
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
    /// The futex address that most of those wait at that wait at one.
    pub lock: Option<u64>,
}

impl Look {
    /// More than half of the busy ones, and at least two, wait at one address.
    pub fn is_crowd(&self) -> bool {
        self.crowd >= 2 && self.crowd * 2 > self.busy
    }
}

/// How often a pool was held back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GrowthStats {
    /// Verdicts that most workers wait at one lock.
    pub convoys: u64,
    /// Starts beyond what a pool that is held back was allowed.
    pub probes: u64,
    /// Verdicts that items end more slowly with more workers.
    pub undone: u64,
}

/// What growth knows of one pool.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growth {
    /// When the last look was taken, and how many workers were busy then.
    look: Option<(Time, u32)>,
    /// The most busy workers that a look found without a crowd, and when that was.
    level: (Time, u32),
    queue: Queue,
    hold: Option<Hold>,
    asked: bool,
    stats: GrowthStats,
}

/// The queue at one lock.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    /// Where most of the sleepers were last seen.
    lock: Option<u64>,
    /// Since when each look has seen a crowd there.
    since: Option<Time>,
    /// When somebody last got through who was seen there.
    passed: Option<Time>,
    /// The last item that ended, and the usual time between two (a moving average).
    ended: Option<Time>,
    spacing: Nanos,
}

impl Queue {
    fn looked(&mut self, now: Time, look: &Look) {
        if look.lock.is_some() && look.lock != self.lock {
            (self.lock, self.since, self.passed) = (look.lock, None, None);
        }
        self.since = look.is_crowd().then(|| self.since.unwrap_or(now));
    }

    fn completed(&mut self, now: Time) {
        let Some(last) = self.ended.replace(now) else {
            return;
        };
        let gap = now.since(last);
        self.spacing = match self.spacing {
            0 => gap,
            spacing => (7 * spacing).saturating_add(gap) / 8,
        };
    }

    /// Items end about as fast as they used to.
    fn is_moving(&self, now: Time) -> bool {
        let patience = 4 * self.spacing.max(SPACING_LEAST);
        self.ended.is_some_and(|at| now.since(at) <= patience)
    }

    /// Two looks in a row have seen a crowd, and items end.
    fn is_convoy(&self, now: Time) -> bool {
        self.since.is_some_and(|since| since < now) && self.is_moving(now)
    }

    /// There is a crowd, and nothing ends.
    fn is_stuck(&self, now: Time) -> bool {
        self.since.is_some() && !self.is_moving(now)
    }

    /// Nobody who was seen in the crowd has got through for long.
    fn is_closed(&self, now: Time) -> bool {
        let began = |since: Time| since.max(self.passed.unwrap_or_default());
        self.since
            .is_some_and(|since| now.since(began(since)) > CLOSED)
    }
}

impl Growth {
    /// Whether one more worker may start while `busy` are busy.
    pub fn gate(&self, now: Time, busy: u32, target: u32) -> Gate {
        match self.held(now) {
            Some(hold) => hold.gate(now, busy),
            None => self.free_gate(now, busy, target),
        }
    }

    /// Not while nothing moves: then it may be what all wait for that is held back.
    fn held(&self, now: Time) -> Option<&Hold> {
        let hold = self.hold.as_ref()?;
        (!self.queue.is_stuck(now) && !hold.is_over(now)).then_some(hold)
    }

    /// Whether a report of an idle CPU is of use. While held, only if it is needed to see that a worker
    /// is `missing`: one that is woken instead is placed well, while one that is called to an idle CPU
    /// may come beside who has the lock, on the same core.
    pub fn wants_reports(&self, now: Time, busy: u32, missing: bool) -> bool {
        self.held(now)
            .is_none_or(|hold| hold.allows(busy) && !missing)
    }

    fn free_gate(&self, now: Time, busy: u32, target: u32) -> Gate {
        let enough_seen =
            |&(at, seen): &(Time, u32)| now.since(at) <= LOOK_VALID && busy < 2 * seen.max(target);
        let is_free = busy < FREE_GROWTH * target
            || self.look.as_ref().is_some_and(enough_seen)
            || self.is_known_level(now, busy);
        if is_free { Gate::Open } else { Gate::Ask }
    }

    /// Not more than have lately done well together.
    fn is_known_level(&self, now: Time, busy: u32) -> bool {
        let (at, level) = self.level;
        self.queue.since.is_none() && busy < level && now.since(at) <= LEVEL_VALID
    }

    /// Nobody looked for long, or nobody ran: what was known of the pace is forgotten.
    pub fn rebase(&mut self, now: Time) {
        *self = Growth {
            asked: self.asked,
            stats: self.stats,
            ..Growth::default()
        };
        self.level.0 = now;
    }

    /// Whether the pool is held back by a lock that its workers queue up at.
    pub fn is_convoy(&self, now: Time) -> bool {
        self.queue.is_convoy(now)
    }

    /// Why the pool holds back.
    pub fn holding(&self, now: Time) -> Holding {
        self.held(now).map_or(Holding::No, Hold::holding)
    }

    /// The futex address at which the last look has seen most sleepers.
    pub fn lock(&self) -> Option<u64> {
        self.queue.lock
    }

    /// A look was asked for; true if it was not already on its way.
    pub fn ask(&mut self) -> bool {
        !core::mem::replace(&mut self.asked, true)
    }

    /// Whether a look was asked for and has not come yet.
    pub fn is_asking(&self) -> bool {
        self.asked
    }

    /// Whether looks should be at as many as can be, rather than until enough are seen to run.
    pub fn wants_whole_looks(&self) -> bool {
        self.asked || self.hold.is_some()
    }

    /// A worker was started while `busy` others were busy.
    pub fn started(&mut self, now: Time, busy: u32) {
        if let Some(hold) = &mut self.hold {
            hold.started(now, busy, &mut self.stats);
        }
    }

    /// An item has ended.
    pub fn completed(&mut self, now: Time) {
        self.queue.completed(now);
        if let Some(hold) = &mut self.hold {
            hold.completed();
        }
    }

    /// An item has ended whose worker was seen asleep at [`lock`](Self::lock).
    pub fn passed(&mut self, now: Time) {
        self.queue.passed = Some(now);
    }

    /// A worker that ended its item goes idle although there is more: fewer do as well at a lock.
    pub fn should_shrink(&self, now: Time, busy: u32) -> bool {
        self.held(now).is_some_and(|hold| hold.should_shrink(busy))
    }

    /// Takes in what was seen of a pool with this target.
    pub fn looked(&mut self, now: Time, look: Look, target: u32) {
        self.asked = false;
        self.look = Some((now, look.busy));
        self.queue.looked(now, &look);
        let is_crowd = look.is_crowd();
        if !is_crowd && (look.busy >= self.level.1 || now.since(self.level.0) > LEVEL_VALID) {
            self.level = (now, look.busy);
        }
        let is_convoy = self.is_convoy(now);
        hit!(LookSleepers if !is_crowd);
        hit!(LookBarrier if self.queue.is_stuck(now));
        hit!(LookConvoy if is_convoy);
        match &mut self.hold {
            Some(hold) => {
                let released = hold.looked(now, &look, &self.queue, &mut self.stats);
                if released || hold.is_over(now) {
                    self.hold = None;
                }
            }
            None if is_convoy => {
                self.stats.convoys += 1;
                self.hold = Some(Hold::begin(now, &look, target));
            }
            None => {}
        }
    }

    /// How often the pool was held back.
    pub fn stats(&self) -> GrowthStats {
        self.stats
    }

    /// When a pool that is held may start one more worker, so that somebody sees to it. After a look that
    /// could have started one, the usual looks are enough.
    pub fn wakes_at(&self, now: Time) -> Option<Time> {
        let probe_at = self.held(now)?.probe_at();
        let is_seen_to = self.look.is_some_and(|(at, _)| at >= probe_at);
        (!is_seen_to).then_some(probe_at)
    }
}
