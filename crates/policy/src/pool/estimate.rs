//! The estimate of who runs, as far as the crew does not know it, and what is paid for it.
//!
//! The crew knows which of the executing workers are in a hint or were seen asleep. The others are
//! *presumable*. A report of an idle CPU says that some of them sleep, but not which: that number
//! is *presumed* asleep. The rest counts as running, and the pool's tokens of the budget follow
//! from it.

use super::unseen::{Found, Presumption};
use crate::probe::{broken, hit};
use crate::store::Store;
use crate::time::Time;

/// What is believed of who runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Estimate {
    /// Workers that are presumed asleep.
    presumed: u32,
    /// Of workers that nobody can see.
    unseen: Presumption,
    /// How many of those were taken for asleep since the pool was made.
    unseen_presumed: u64,
    /// Tokens of the shared budget that the pool holds, and how many it wants in vain.
    tokens: u32,
    wanted: u32,
    wants_for_pod: bool,
    /// The estimate at `at`, and integrated until then.
    running: u32,
    at: Time,
    runnable_ns: u128,
}

impl Estimate {
    pub(super) fn presumed(&self) -> u32 {
        self.presumed
    }

    pub(super) fn tokens(&self) -> u32 {
        self.tokens
    }

    pub(super) fn wanted(&self) -> u32 {
        self.wanted
    }

    pub(super) fn unseen_presumed(&self) -> u64 {
        self.unseen_presumed
    }

    /// Presumes this many more asleep. [`forget_beyond`](Self::forget_beyond) cuts off what is more
    /// than there are.
    pub(super) fn presume(&mut self, more: u32) {
        self.presumed += more;
    }

    /// Fewer can be asleep than before: what was presumed of the others is forgotten.
    pub(super) fn forget_beyond(&mut self, presumable: u32) {
        self.presumed = self.presumed.min(presumable);
    }

    /// An item has ended that had slept, and was not known to.
    pub(super) fn one_had_slept(&mut self) {
        hit!(PresumptionEnds if self.presumed > 0);
        self.presumed = self.presumed.saturating_sub(1);
    }

    /// An item has ended, or nobody could look until now: workers that nobody can see get time
    /// again.
    pub(super) fn begin_anew(&mut self, now: Time) {
        self.unseen.begin_anew(now);
    }

    /// Who was found to run is not presumed asleep. Of those that nobody can see some may be.
    pub(super) fn looked(&mut self, now: Time, found: &Found, presumable: u32) {
        let most = presumable.saturating_sub(found.runnable);
        hit!(ScanCorrects if most < self.presumed);
        self.forget_beyond(most);
        let asleep = self.unseen.looked(now, found, most - self.presumed);
        self.presume_unseen(asleep);
    }

    /// A worker has begun an item: perhaps it is one of those that are taken for asleep.
    pub(super) fn begun(&mut self, presumable: u32) {
        let room = presumable.saturating_sub(self.presumed);
        let asleep = self.unseen.begun(room);
        self.presume_unseen(asleep);
    }

    fn presume_unseen(&mut self, more: u32) {
        hit!(UnseenPresumed if more > 0);
        self.presumed += more;
        self.unseen_presumed += u64::from(more);
    }

    /// One more token of at most `limit`, if one is left.
    pub(super) fn take_token<S: Store>(&mut self, store: &mut S, limit: u32) -> bool {
        let taken = store.step_budget(|b| b.try_take(limit));
        self.tokens += u32::from(taken);
        taken
    }

    /// One token of however many are in use.
    pub(super) fn grant_token<S: Store>(&mut self, store: &mut S) {
        store.step_budget(|b| Some(b.take(1)));
        self.tokens += 1;
    }

    /// So many are wanted from now on, by the pool of a pod or by one for all CPUs.
    pub(super) fn want<S: Store>(&mut self, store: &mut S, for_pod: bool, wanted: u32) {
        if self.wants_for_pod != for_pod && (self.wanted > 0 || wanted > 0) {
            self.want_instead(store, 0);
            self.wants_for_pod = for_pod;
        }
        self.want_instead(store, wanted);
    }

    fn want_instead<S: Store>(&mut self, store: &mut S, wanted: u32) {
        let (before, for_pod) = (self.wanted, self.wants_for_pod);
        if wanted != before && store.step_budget(|b| b.want(for_pod, before, wanted)) {
            self.wanted = wanted;
        }
    }

    /// The tokens that it holds are those that are due.
    pub(super) fn settle_tokens<S: Store>(&mut self, store: &mut S, due: u32) {
        let held = core::mem::replace(&mut self.tokens, due);
        if due > held {
            store.step_budget(|b| Some(b.take(due - held)));
        } else if due < held && !broken!(TokenLeaked) {
            store.step_budget(|b| Some(b.put(held - due)));
        }
    }

    /// So many run from now on.
    pub(super) fn integrate(&mut self, now: Time, running: u32) {
        self.runnable_ns = self.runnable_ns(now);
        self.at = self.at.max(now);
        self.running = running;
    }

    /// The estimate, integrated until the last event.
    pub(super) fn integral(&self) -> u128 {
        self.runnable_ns
    }

    /// The estimate, integrated until `now`: as many have run as after the last event.
    pub(super) fn runnable_ns(&self, now: Time) -> u128 {
        self.runnable_ns + u128::from(self.running) * u128::from(now.since(self.at))
    }
}

/// What a test breaks by hand.
#[cfg(test)]
impl Estimate {
    pub(super) fn break_tokens(&mut self) {
        self.tokens += 1;
    }
}
