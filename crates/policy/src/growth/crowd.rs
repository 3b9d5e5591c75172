//! A kind of items whose executions queue up at one lock.

use super::hold::Hold;
use super::queue::Queue;
use super::{Gate, GrowthStats, Holding, LEVEL_VALID, Look};
use crate::probe::hit;
use crate::time::Time;

/// What is known of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Crowd {
    queue: Queue,
    hold: Option<Hold>,
    looked_at: Time,
    /// When a look has last seen a crowd.
    seen_at: Time,
    stats: GrowthStats,
}

impl Crowd {
    /// Whether one more item may begin while `busy` are executed.
    pub fn gate(&self, now: Time, busy: u32) -> Gate {
        match self.held(now) {
            Some(hold) if busy >= self.most(now, hold) => match hold.gate(now, busy) {
                Gate::Wait(until) => Gate::Wait(self.or_stuck_again(now, until)),
                gate => gate,
            },
            _ => Gate::Open,
        }
    }

    fn or_stuck_again(&self, now: Time, at: Time) -> Time {
        self.queue
            .stuck_again_at(now)
            .map_or(at, |again| at.min(again))
    }

    /// How many more may begin.
    pub fn room(&self, now: Time, busy: u32) -> u32 {
        match (self.held(now), self.gate(now, busy)) {
            (None, _) => u32::MAX,
            (Some(hold), Gate::Open) => self.most(now, hold).saturating_sub(busy).max(1),
            _ => 0,
        }
    }

    fn held(&self, now: Time) -> Option<&Hold> {
        self.hold.as_ref().filter(|hold| !hold.is_over(now))
    }

    /// How many may be executed while it is held. If nothing moves, a held item may be what all
    /// wait for: twice as many, again and again.
    fn most(&self, now: Time, hold: &Hold) -> u32 {
        let doubled = self.queue.times_stuck(now).min(31);
        hold.allowed().saturating_mul(1 << doubled)
    }

    /// Whether its items are held back, or will be when something moves.
    pub fn has_hold(&self) -> bool {
        self.hold.is_some()
    }

    /// Whether it has been no crowd for long.
    pub fn is_over(&self, now: Time) -> bool {
        !self.has_hold() && now.since(self.seen_at) > LEVEL_VALID
    }

    /// Whether a report of an idle CPU is of use.
    ///
    /// While held, it is if one more is allowed and no worker is known to be `missing`. A missing
    /// worker is better woken without a report, since the scheduler places it well. A report calls
    /// it to an idle CPU, perhaps on the core of the lock's holder.
    pub fn wants_reports(&self, now: Time, busy: u32, missing: bool) -> bool {
        self.held(now)
            .is_none_or(|hold| busy < self.most(now, hold) && !missing)
    }

    /// Whether executions queue up at a lock.
    pub fn is_convoy(&self, now: Time) -> bool {
        self.queue.is_convoy(now)
    }

    /// Whether its crowds go on all at once, as at a barrier.
    pub fn opens_at_once(&self) -> bool {
        self.queue.opens_at_once()
    }

    /// Why items are held back.
    pub fn holding(&self, now: Time) -> Holding {
        self.held(now).map_or(Holding::No, Hold::holding)
    }

    /// The futex on which the last look has seen the most sleepers.
    pub fn lock(&self) -> Option<u64> {
        self.queue.lock()
    }

    /// An item was begun while `busy` others were executed.
    pub fn started(&mut self, now: Time, busy: u32) {
        let most = self.hold.as_ref().map(|hold| self.most(now, hold));
        let is_within = most.is_some_and(|most| busy < most);
        // One that begins because nothing moves says nothing of the lock.
        if let Some(hold) = self.hold.as_mut().filter(|_| !is_within) {
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

    /// An item has ended. Its worker was seen asleep at [`lock`](Self::lock).
    pub fn passed(&mut self, now: Time) {
        self.queue.passed(now);
    }

    /// Takes in what was seen of it in a pool with this target.
    pub fn looked(&mut self, now: Time, look: Look, target: u32) {
        self.looked_at = now;
        self.queue.looked(now, &look, target);
        let is_crowd = look.is_crowd();
        if is_crowd {
            self.seen_at = now;
        }
        let is_convoy = self.is_convoy(now);
        hit!(LookSleepers if !is_crowd);
        hit!(LookBarrier if self.queue.is_stuck(now));
        hit!(LookOpens if self.opens_at_once());
        hit!(LookConvoy if is_convoy);
        match &mut self.hold {
            Some(hold) => {
                let released = hold.looked(now, &look, &self.queue, &mut self.stats);
                if released || hold.is_over(now) || self.queue.opens_at_once() {
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

    /// How often it was held back.
    pub fn stats(&self) -> GrowthStats {
        self.stats
    }

    /// When a held item may begin, so that a look happens then. `None` if the last look was late
    /// enough to let it begin: the usual looks suffice.
    pub fn wakes_at(&self, now: Time) -> Option<Time> {
        let probe_at = self.held(now)?.probe_at();
        let probe = (self.looked_at < probe_at).then_some(probe_at);
        probe
            .map(|at| self.or_stuck_again(now, at))
            .or_else(|| self.queue.stuck_again_at(now))
    }
}
