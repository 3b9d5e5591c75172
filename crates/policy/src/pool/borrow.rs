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
//!   Where that lock lets hardly more pass than those that run execute, nobody does, and who has
//!   borrowed steps back.
//! * *Who comes first.* A pool below its target that finds no token left says how many it wants.
//!   Nobody borrows those, and the workers of a pool that has borrowed step back as their items
//!   end, until there are enough. No item is interrupted for that: one that has just come waits for
//!   the end of another, as if one pool served all CPUs. What is given back lies there until the
//!   pool that wants it has an event, a report of the idle CPU, or a look.
//! * *Pods, and pools for all CPUs.* Queues that are not spread have pools of which the pod is all.
//!   If such a pool wants CPUs, borrowers give back as for pods. If pods want some, it gives back
//!   what it has beyond half of all. A pod that keeps to its own CPUs gives nothing back: beside
//!   such ones a pool for all has its first worker, and what they leave.
//! * *What is counted.* Each runnable worker of such a pool has a token, also the first one, which
//!   is started in any case. Otherwise the pods together would keep one more runnable each.

use super::start::Asks;
use super::{Cx, Rule, WorkerPool};
use crate::budget::Budget;
use crate::store::Store;

/// For whom tokens were left when a pool that has reached its target last looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Left {
    #[default]
    Nothing,
    ForOthers,
    ForAny,
}

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
        let gains = !self.brief.is_lock_full();
        running < self.most() && self.left == Left::ForAny && may_leave && gains
    }

    /// Whether what is left is for others. Then an idle CPU says nothing about this pool's workers.
    pub(super) fn is_left_to_others(&self) -> bool {
        self.left == Left::ForOthers
    }

    /// Looks at the budget: events ask whether they may borrow. It is read only where that matters.
    pub(super) fn look_at_budget(&mut self, cx: &mut Cx<S>) {
        let reached = self.has_pod() && self.nr_running() >= self.attrs.target;
        self.left = match reached {
            false => Left::Nothing,
            true if !self.finds(cx, Budget::is_spoken_for) => Left::ForAny,
            true if !self.finds(cx, Budget::is_used_up) => Left::ForOthers,
            true => Left::Nothing,
        };
    }

    /// Does it have what others want, who come first, or are pods that have less than half? Or has
    /// it borrowed, and gains nothing by that?
    pub(super) fn gives_back(&self, cx: &mut Cx<S>) -> bool {
        let running = self.nr_running();
        match self.has_pod() {
            true if !self.borrows() => false,
            true => self.brief.is_lock_full() || self.finds(cx, Budget::is_short_for_any),
            false => {
                let has_more = running > 1 && running > self.attrs.budget.div_ceil(2);
                let managed = self.attrs.rule == Rule::Managed;
                managed && has_more && self.finds(cx, Budget::is_short_for_pods)
            }
        }
    }

    /// Whether the budget is like that.
    pub(super) fn finds(&self, cx: &mut Cx<S>, is: impl Fn(Budget, u32) -> bool) -> bool {
        is(cx.store.budget(), self.attrs.budget)
    }

    /// Whether nobody knows yet that there are pods.
    pub(super) fn is_news(&self, cx: &mut Cx<S>) -> bool {
        self.has_pod() && !cx.store.budget().pods
    }

    /// Says how many tokens it wants, if it was last refused one.
    pub(super) fn settle_wanted(&mut self, cx: &mut Cx<S>) {
        let below = self.attrs.target.saturating_sub(self.nr_running());
        if self.is_news(cx) {
            cx.store.step_budget(|b| Some(Budget { pods: true, ..b }));
        }
        let is_managed = self.denied && self.attrs.rule == Rule::Managed;
        let wants = is_managed && cx.store.budget().pods;
        let wanted = if wants {
            below.min(self.nr_unattended())
        } else {
            0
        };
        self.denied &= wanted > 0;
        self.estimate.want(cx.store, self.has_pod(), wanted);
    }
}
