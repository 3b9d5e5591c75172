//! CPUs that a pool borrows from others.
//!
//! The pod of a pool may be a part of the CPUs that its workers may use: managed queues have a pool
//! for each cache shard ([`Layout::reach`](crate::affinity::Layout::reach)). Such a pool aims at
//! one worker for each CPU of its pod. If others leave CPUs idle, it *borrows* those: more of its
//! workers run, while tokens of the common [budget](crate::budget) are left. So locality decides
//! where an item starts, and never whether a CPU works.
//!
//! * *Who borrows.* Whoever would start a worker if the target were not reached. Light items
//!   (`brief.rs`) leave their pod only where somebody has seen that CPUs idle: a report has come,
//!   or a look. They are over soon, and it costs more to take the lock of a pool from many caches.
//! * *Who comes first.* A pool below its target that finds no token left says how many it wants.
//!   Nobody borrows those, and the workers of a pool that has borrowed step back as their items
//!   end, until there are enough. No item is interrupted for that: one that has just come waits for
//!   the end of another, as if one pool served all CPUs.
//! * *What is counted.* Each runnable worker of such a pool has a token, also the first one, which
//!   is started in any case. Otherwise the pods together would keep one more runnable each.

use super::start::Asks;
use super::{Cx, WorkerPool};
use crate::budget::Budget;
use crate::store::Store;

impl<S: Store> WorkerPool<S> {
    /// Whether its pod is a part of the CPUs that its workers may use.
    pub(super) fn has_pod(&self) -> bool {
        self.attrs.beyond > 0
    }

    /// So many workers may be runnable, if others leave CPUs idle.
    pub(super) fn most(&self) -> u32 {
        self.attrs.target + self.attrs.beyond
    }

    /// Whether more of its workers run than its pod has CPUs.
    fn borrows(&self) -> bool {
        self.nr_running() > self.attrs.target
    }

    /// Whether one more may run though so many do, as far as the pool knew when it last looked at
    /// the budget.
    pub(super) fn may_borrow(&self, running: u32, asks: Asks) -> bool {
        let has_seen_idle = matches!(asks, Asks::Looked | Asks::Report | Asks::Reported);
        let may_leave = has_seen_idle || !self.brief.are_light();
        running < self.most() && self.can_borrow && may_leave
    }

    /// Looks at the budget: events ask whether they may borrow. It is read only where that matters.
    pub(super) fn look_at_budget(&mut self, cx: &mut Cx<S>) {
        let reached = self.has_pod() && self.nr_running() >= self.attrs.target;
        self.can_borrow = reached && !self.is_spoken_for(cx);
    }

    /// Is nothing left but what others want who come first?
    pub(super) fn is_spoken_for(&self, cx: &mut Cx<S>) -> bool {
        self.finds(cx, Budget::is_spoken_for)
    }

    /// Does it have what others want who come first?
    pub(super) fn gives_back(&self, cx: &mut Cx<S>) -> bool {
        self.has_pod() && self.borrows() && self.finds(cx, Budget::is_short)
    }

    /// Whether the budget is like that.
    pub(super) fn finds(&self, cx: &mut Cx<S>, is: impl Fn(Budget, u32) -> bool) -> bool {
        is(cx.store.budget(), self.attrs.budget)
    }

    /// Says how many tokens it wants, if it was last refused one.
    pub(super) fn settle_wanted(&mut self, cx: &mut Cx<S>) {
        let below = self.attrs.target.saturating_sub(self.nr_running());
        let wants = self.has_pod() && self.denied;
        let wanted = if wants {
            below.min(self.nr_unattended())
        } else {
            0
        };
        self.denied &= wanted > 0;
        self.estimate.want(cx.store, wanted);
    }
}
