//! Workers that nobody can see: there is no /proc, or one of another PID namespace, a sandbox
//! forbids it, or no descriptor is left.
//!
//! Such a worker is *unknown*, not running. What can still be read is the CPU time of its thread.
//! If even that is denied, only the time that passes counts.
//!
//! | the thread, over at least [`PATIENCE`] | its worker |
//! | --- | --- |
//! | used a CPU for a quarter of the time | runs |
//! | used less, or does not tell | may sleep, or may have no CPU |
//!
//! Nobody knows which of the last two it is. When no item of the pool has ended for [`PATIENCE`],
//! one such worker is taken for asleep. After as long again it is two more, then four. So what they
//! wait for gets its worker. The next end of an item begins anew.

use super::seen::SeenState;
use super::{Cx, WorkerPool};
use crate::store::Store;
use crate::time::{MILLISECOND, Nanos, Time};
use crate::worker::WorkerId;

/// What a look at an unseen worker is compared over, and how long nothing ends before one is taken
/// for asleep.
pub const PATIENCE: Nanos = 10 * MILLISECOND;
/// A thread that used a CPU for one part in so many of the time has run.
const RAN_PART: u64 = 4;

/// What is known of one worker's item from the CPU time of its thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unseen {
    /// CPU time of the thread at `since`, if that was told.
    cpu: Option<Nanos>,
    since: Time,
    verdict: Sight,
}

/// Of an unseen worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// It has not been looked at for long enough.
    Open,
    /// It had a CPU.
    Ran,
    /// It had none, or does not tell.
    Idle,
}

impl Unseen {
    /// The first look that did not see it in its item.
    pub(super) fn new(now: Time, cpu: Option<Nanos>) -> Self {
        Unseen {
            cpu,
            since: now,
            verdict: Sight::Open,
        }
    }

    /// One more look.
    pub(super) fn looked(&mut self, now: Time, cpu: Option<Nanos>) -> Sight {
        let passed = now.since(self.since);
        if passed >= PATIENCE {
            let ran = cpu
                .zip(self.cpu)
                .map(|(now, then)| now.saturating_sub(then));
            let verdict = match ran.is_some_and(|ran| ran >= passed / RAN_PART) {
                true => Sight::Ran,
                false => Sight::Idle,
            };
            let since = now;
            *self = Unseen {
                cpu,
                since,
                verdict,
            };
        }
        self.verdict
    }

    /// Whether it was found to use no CPU, or not to tell.
    pub(super) fn is_idle(&self) -> bool {
        self.verdict == Sight::Idle
    }
}

/// When unseen workers of one pool are taken for asleep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Presumption {
    /// The last item ended then, or this many were last taken for asleep.
    since: Time,
    next: u32,
    /// Some look since then has found an idle one. A look is at a few of many.
    idle: bool,
    /// Workers that are taken for asleep as soon as they have begun.
    credit: u32,
}

impl Default for Presumption {
    fn default() -> Self {
        Presumption {
            since: Time(0),
            next: 1,
            idle: false,
            credit: 0,
        }
    }
}

impl Presumption {
    /// An item has ended, or nobody could look until now.
    pub(super) fn begin_anew(&mut self, now: Time) {
        *self = Presumption {
            since: now,
            ..Presumption::default()
        };
    }

    /// A look has found these; how many of them are taken for asleep now, of at most `room`.
    pub(super) fn looked(&mut self, now: Time, found: &Found, room: u32) -> u32 {
        if !self.is_idle(found.idle) {
            return 0;
        }
        let taken = self.presumes(now);
        let asleep = taken.min(room);
        // Those that are counted are no more than should run: the others are to begin first.
        self.credit = match found.runnable {
            0 => taken - asleep,
            _ => 0,
        };
        asleep
    }

    /// A worker has begun an item: how many are taken for asleep for that, of at most `room`.
    pub(super) fn begun(&mut self, room: u32) -> u32 {
        let one = self.credit.min(1);
        self.credit -= one;
        one.min(room)
    }

    /// A look has found so many idle ones; whether any has since an item last ended.
    fn is_idle(&mut self, found: u32) -> bool {
        self.idle |= found > 0;
        self.idle
    }

    /// How many of those that are idle or do not tell are taken for asleep now.
    pub(super) fn presumes(&mut self, now: Time) -> u32 {
        if now.since(self.since) < PATIENCE {
            return 0;
        }
        self.since = now;
        let twice = self.next.saturating_mul(2);
        core::mem::replace(&mut self.next, twice)
    }
}

/// What one scan has found in all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Found {
    /// For how many that run they count.
    pub(super) runnable: u32,
    /// Workers that nobody can see and that may sleep.
    pub(super) idle: u32,
}

impl<S: Store> WorkerPool<S> {
    /// What is believed of a worker that nobody can see; `None`: as before.
    pub(super) fn judge_unseen(
        &mut self,
        cx: &Cx<S>,
        id: WorkerId,
        cpu: Option<Nanos>,
        found: &mut Found,
    ) -> Option<SeenState> {
        let worker = self.crew.get_mut(id);
        let known = worker
            .unseen
            .get_or_insert_with(|| Unseen::new(cx.now, cpu));
        match known.looked(cx.now, cpu) {
            Sight::Open => None,
            Sight::Ran => Some(SeenState::Runnable),
            Sight::Idle => {
                found.idle += u32::from(worker.hints() == 0 && !worker.is_asleep());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time(n * MILLISECOND)
    }

    #[test]
    fn a_thread_is_judged_by_what_it_used_of_the_time() {
        let used = |share: u64| {
            let mut unseen = Unseen::new(ms(1), Some(5));
            assert_eq!(unseen.looked(ms(10), Some(5)), Sight::Open);
            unseen.looked(ms(21), Some(5 + share * MILLISECOND))
        };
        assert_eq!([used(0), used(4)], [Sight::Idle; 2]);
        assert_eq!([used(5), used(20)], [Sight::Ran; 2]);
    }

    #[test]
    fn a_verdict_holds_until_the_next_one() {
        let mut unseen = Unseen::new(ms(0), Some(0));
        assert_eq!(unseen.looked(ms(10), Some(10 * MILLISECOND)), Sight::Ran);
        assert_eq!(unseen.looked(ms(19), Some(10 * MILLISECOND)), Sight::Ran);
        assert_eq!(unseen.looked(ms(20), Some(10 * MILLISECOND)), Sight::Idle);
        assert_eq!(unseen.looked(ms(30), Some(20 * MILLISECOND)), Sight::Ran);
    }

    #[test]
    fn who_tells_nothing_may_sleep() {
        let mut unseen = Unseen::new(ms(0), None);
        assert_eq!(unseen.looked(ms(9), None), Sight::Open);
        assert_eq!(unseen.looked(ms(10), None), Sight::Idle);
        // It has begun to tell: nothing to compare with yet.
        assert_eq!(unseen.looked(ms(20), Some(7)), Sight::Idle);
    }

    #[test]
    fn while_nothing_ends_twice_as_many_are_taken_for_asleep_each_time() {
        let mut pace = Presumption::default();
        pace.begin_anew(ms(5));
        let taken: std::vec::Vec<u32> = (5..70).map(|at| pace.presumes(ms(at))).collect();
        let taken: std::vec::Vec<u32> = taken.into_iter().filter(|&n| n > 0).collect();
        assert_eq!(taken, [1, 2, 4, 8, 16, 32]);
        pace.begin_anew(ms(70));
        assert_eq!((pace.presumes(ms(79)), pace.presumes(ms(80))), (0, 1));
    }
}
