//! A kind of items that is held back, because its executions queue up at one lock.
//!
//! It searches for the number of workers that the lock can use: enough to keep it busy, without
//! most of them waiting. That number is *allowed*. A worker that ends an item of the kind while
//! more are busy takes no other one. A start beyond the number is a *probe*: it allows more. Four
//! looks make a verdict. What counts most is how fast items end, beside the best pace so far.
//!
//! | verdict | | then |
//! | --- | --- | --- |
//! | too many | slower than with fewer workers | one less than then is allowed: perhaps that does as well |
//! | too few | slower than with more | the earlier number is allowed again; while it keeps its pace, *convoy* cannot go below it |
//! | convoy | most waited at the lock | twice as many as did not wait are allowed |
//! | elsewhere | most slept, and most not at the lock | the kind is not held any more |
//! | fine | anything else | the next probe allows twice as many more; at once, if this one has paid |
//!
//! After *too many* and *convoy* the next probe waits twice as long as the one before, 4 ms to 100
//! ms. It is put off once at most: within [`START_BOUND`] of one start the next is allowed,
//! whatever is seen, so a chain of dependent items always finishes.

use super::queue::Queue;
use super::{FREE_GROWTH, Gate, GrowthStats, Holding, Look};
use crate::probe::hit;
use crate::rate::Rate;
use crate::time::{MILLISECOND, Nanos, SECOND, Time};

/// How long probes wait before the first verdict: about the time between two looks of the tick.
/// Each verdict against growth doubles it.
pub const DAMP_FIRST: Nanos = 4 * MILLISECOND;
/// No probe waits longer than this, from the last start or from the verdict that has put it off.
pub const DAMP_LAST: Nanos = 100 * MILLISECOND;
/// Nor longer than this while nobody from the lock gets through: it may be a barrier.
pub const DAMP_CLOSED: Nanos = 4 * MILLISECOND;
/// While a kind is held back, the next start is allowed this long after the last one.
pub const START_BOUND: Nanos = 2 * DAMP_LAST;
/// This many workers are always allowed; on one CPU, half as many.
pub const LEAST: u32 = 4;
/// Looks that make a verdict: one alone sees a moment.
pub const VERDICT_LOOKS: u32 = 4;
/// A hold ends when nothing bad was found for this long.
pub const HOLD_LAST: Nanos = SECOND;
/// A pace is known if at least this many items ended.
const PACE_LEAST: u64 = 64;
/// A pace is slower than another if it is less by more than this part of it: a sixteenth.
const PACE_PART: u64 = 16;

/// The search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hold {
    /// How many workers may be busy without delay; never less than `least`.
    allowed: u32,
    least: u32,
    /// With fewer than this, items ended more slowly.
    needed: u32,
    /// What probes wait, and when the next one is due.
    delay: Nanos,
    probe_at: Time,
    /// The next probe was put off.
    put_off: bool,
    /// How many more it allows.
    step: u32,
    /// There was a probe since the last verdict.
    tried: bool,
    /// When growth was last found to be bad, and with how many busy workers.
    bad: (Time, u32),
    /// The best pace so far.
    best: Option<Rate>,
    /// Nobody from the lock gets through.
    is_closed: bool,
    /// Looks that still do not count. With far more or fewer workers than before, other items are
    /// under way, and how fast they end says nothing at first.
    settling: u32,
    sum: Sum,
}

impl Hold {
    /// A convoy was seen in a pool with this target. Nobody goes idle before the first verdict,
    /// which also says how fast they are.
    pub(super) fn begin(now: Time, look: &Look, target: u32) -> Hold {
        let least = LEAST.min(FREE_GROWTH * target);
        Hold {
            allowed: look.busy.max(least),
            least,
            needed: 0,
            delay: DAMP_FIRST,
            probe_at: now.after(u64::from(VERDICT_LOOKS) * DAMP_FIRST),
            put_off: false,
            step: 1,
            tried: false,
            bad: (now, look.busy),
            best: None,
            is_closed: false,
            settling: 0,
            sum: Sum::new(now),
        }
    }

    pub(super) fn gate(&self, now: Time, busy: u32) -> Gate {
        match self.allows(busy) || now >= self.probe_at {
            true => Gate::Open,
            false => Gate::Wait(self.probe_at),
        }
    }

    /// One more may start without delay.
    pub(super) fn allows(&self, busy: u32) -> bool {
        busy < self.allowed
    }

    /// How many may be busy without delay.
    pub(super) fn allowed(&self) -> u32 {
        self.allowed
    }

    pub(super) fn probe_at(&self) -> Time {
        self.probe_at
    }

    pub(super) fn holding(&self) -> Holding {
        Holding::Convoy {
            workers: self.allowed,
            until: self.probe_at,
        }
    }

    pub(super) fn started(&mut self, now: Time, busy: u32, stats: &mut GrowthStats) {
        if !self.allows(busy) {
            hit!(GrowthProbes);
            stats.probes += 1;
            self.allowed = self.allowed.saturating_add(self.step);
            self.probe_at = now.after(self.delay);
            self.put_off = false;
            if !core::mem::replace(&mut self.tried, true) {
                self.sum = Sum::new(now);
            }
        }
    }

    /// An item has ended.
    pub(super) fn completed(&mut self) {
        self.sum.done += 1;
    }

    /// Takes in a look, which counts for a verdict unless workers are still on their way out. True
    /// if the kind is not to be held any more.
    pub(super) fn looked(
        &mut self,
        now: Time,
        look: &Look,
        queue: &Queue,
        stats: &mut GrowthStats,
    ) -> bool {
        if look.busy > self.allowed && now < self.probe_at {
            self.sum = Sum::new(now);
        } else if self.settling > 0 {
            self.settling -= 1;
            self.sum = Sum::new(now);
        } else {
            self.sum.add(look);
        }
        self.is_closed = queue.is_closed(now);
        if self.sum.looks < VERDICT_LOOKS {
            return false;
        }
        let sum = core::mem::replace(&mut self.sum, Sum::new(now));
        self.judge(now, &sum, queue, stats)
    }

    fn judge(&mut self, now: Time, sum: &Sum, queue: &Queue, stats: &mut GrowthStats) -> bool {
        let before = self.best;
        match self.verdict(now, sum) {
            Finding::TooMany(fewer) => {
                stats.undone += 1;
                self.lower(now, sum, fewer - 1);
            }
            Finding::TooFew(more) => {
                self.needed = more;
                self.allow(self.allowed.max(more));
            }
            Finding::Convoy if !queue.is_stuck(now) => {
                stats.convoys += 1;
                self.lower(now, sum, sum.useful().max(self.needed));
            }
            Finding::Convoy => {}
            Finding::Elsewhere => return true,
            Finding::Fine => self.found_fine(now, before.zip(sum.pace(now))),
        }
        false
    }

    fn verdict(&mut self, now: Time, sum: &Sum) -> Finding {
        let by_pace = sum.pace(now).and_then(|pace| self.compare(pace));
        match by_pace {
            Some(verdict) => verdict,
            None if sum.is_convoy() => Finding::Convoy,
            None if sum.is_elsewhere() => Finding::Elsewhere,
            None => Finding::Fine,
        }
    }

    /// The finding that this pace leads to, if any. Notes the pace if it is the best one.
    fn compare(&mut self, pace: Rate) -> Option<Finding> {
        let best = self.best.get_or_insert(pace);
        let is_slower = pace.is_slower_than(best, PACE_PART);
        if pace.is_near(best) {
            if is_slower && self.needed > 0 {
                // The number that was asked for does not keep what it promised.
                (self.needed, *best) = (0, pace);
            }
            best.ended = (3 * best.ended + pace.ended) / 4;
            return None;
        }
        let is_more = pace.level > best.level;
        if is_slower {
            let busy = best.level as u32;
            return Some(if is_more {
                Finding::TooMany(busy)
            } else {
                Finding::TooFew(busy)
            });
        }
        let is_better = match is_more {
            true => best.is_slower_than(&pace, PACE_PART),
            false => pace.ended >= best.ended,
        };
        if is_better {
            *best = pace;
        }
        None
    }

    /// The next probe goes further, and comes at once if this one has paid.
    fn found_fine(&mut self, now: Time, paces: Option<(Rate, Rate)>) {
        if core::mem::take(&mut self.tried) {
            self.step = self.step.saturating_mul(2);
            if paces.is_some_and(|(before, pace)| pays(&pace, &before)) {
                self.probe_at = self.probe_at.min(now);
            }
        }
    }

    /// Allows at most `allowed`, and makes the next probe wait longer.
    fn lower(&mut self, now: Time, sum: &Sum, allowed: u32) {
        self.bad = (now, sum.mean_busy());
        self.allow(allowed.min(self.allowed).max(self.least));
        (self.step, self.tried) = (1, false);
        let most = if self.is_closed {
            DAMP_CLOSED
        } else {
            DAMP_LAST
        };
        self.delay = (2 * self.delay).min(most);
        if !core::mem::replace(&mut self.put_off, true) {
            self.probe_at = now.after(self.delay);
        }
    }

    fn allow(&mut self, workers: u32) {
        let (less, more) = (workers.min(self.allowed), workers.max(self.allowed));
        self.settling = if 2 * less <= more { VERDICT_LOOKS } else { 0 };
        self.allowed = workers;
    }

    /// Nothing bad was found for long, or nothing with far more workers.
    pub(super) fn is_over(&self, now: Time) -> bool {
        let (at, busy) = self.bad;
        now.since(at) > HOLD_LAST || self.allowed >= 4 * busy
    }
}

/// What four looks have shown.
enum Finding {
    /// With this many, which are fewer, it went faster.
    TooMany(u32),
    /// With this many, which are more, it did.
    TooFew(u32),
    Convoy,
    Elsewhere,
    Fine,
}

/// The looks since the last verdict.
#[derive(Clone, Copy, Debug)]
struct Sum {
    since: Time,
    looks: u32,
    busy: u32,
    asleep: u32,
    crowd: u32,
    /// Items that ended.
    done: u64,
}

impl Sum {
    fn new(since: Time) -> Sum {
        Sum {
            since,
            looks: 0,
            busy: 0,
            asleep: 0,
            crowd: 0,
            done: 0,
        }
    }

    fn add(&mut self, look: &Look) {
        self.looks += 1;
        self.busy += look.busy;
        self.asleep += look.asleep;
        self.crowd += look.crowd.min(look.busy);
    }

    /// Most of the busy ones waited at the lock.
    fn is_convoy(&self) -> bool {
        self.crowd * 2 > self.busy
    }

    /// Most of them slept. The caller has found that most did not wait at the lock.
    fn is_elsewhere(&self) -> bool {
        self.asleep * 2 > self.busy
    }

    fn mean_busy(&self) -> u32 {
        self.busy.div_ceil(self.looks)
    }

    /// Twice as many as did not wait at the lock.
    fn useful(&self) -> u32 {
        (2 * (self.busy - self.crowd)).div_ceil(self.looks)
    }

    fn pace(&self, now: Time) -> Option<Rate> {
        // Items may begin and end between the looks.
        let busy = u64::from(self.mean_busy().max(1));
        (self.done >= PACE_LEAST).then(|| Rate::new(busy, self.done, now.since(self.since)))
    }
}

/// Whether more workers have brought at least half of what they would with nothing to hold them up.
fn pays(pace: &Rate, before: &Rate) -> bool {
    let (busy, then) = (pace.level, before.level);
    busy > then && 2 * pace.ended * then >= before.ended * (busy + then)
}
