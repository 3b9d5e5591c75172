//! The worklist: series of items that have a slot and that no worker has taken, in order.
//!
//! | file | |
//! | --- | --- |
//! | `lanes.rs` | items of a kind that queues up at a lock are held back |
//! | `near.rs` | which of the waiting items is near to a CPU |

mod crowds;
mod lanes;
mod near;

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::Cx;
use crate::affinity::Near;
use crate::growth::GrowthStats;
use crate::list::List;
use crate::store::Store;
use crate::time::Time;
use crate::worker::Execution;
use lanes::Lane;
pub(super) use near::Choice;
pub use near::{MOST_OVERTAKEN, NEAR_WINDOW};

/// An item that waits for the end of an execution in another pool.
#[derive(Debug)]
pub(super) struct Deferred<W> {
    pub(super) work: W,
    pub(super) execution: Execution,
}

/// Items that no worker has taken.
#[cfg_attr(test, derive(Debug))]
pub(super) struct Worklist<S: Store> {
    list: List<S>,
    /// Entries of the list that no worker may take by themselves: barriers behind an item, and
    /// deferred items.
    held: usize,
    /// Items that wait for the end of an execution in another pool, here or inactive.
    deferred: Vec<Deferred<S::Work>>,
    /// Kinds of items that queue up at a lock.
    lanes: Vec<Lane<S>>,
    /// The function of the last item that ended, and when that was.
    last_ended: Option<(lanes::Kind, Time)>,
    /// The list had its turn last, not a lane.
    lane_turn: bool,
    /// Of items that come from several pods.
    near: Option<Box<near::Nearness>>,
    /// Counts of lanes that were closed.
    past: GrowthStats,
}

impl<S: Store> Worklist<S> {
    pub(super) fn new() -> Self {
        Worklist {
            list: List::new(),
            held: 0,
            deferred: Vec::new(),
            lanes: Vec::new(),
            last_ended: None,
            lane_turn: false,
            near: None,
            past: GrowthStats::default(),
        }
    }

    /// Its items come from several pods: each CPU takes what is near.
    pub(super) fn set_near(&mut self, near: Arc<Near>) {
        self.near = Some(Box::new(near::Nearness::new(near)));
    }

    /// Whether it matters where an item was queued.
    pub(super) fn has_homes(&self) -> bool {
        self.near.is_some()
    }

    /// Whether its items come from several pods, of a machine with several cache shards. Those of
    /// FIFO queues, and of one that wants one pool, come from one.
    pub(super) fn may_be_spread(&self) -> bool {
        let several = |near: &near::Nearness| near.are_shards_several();
        self.near.as_deref().is_some_and(several)
    }

    /// The list without its lanes.
    pub(super) fn list(&self) -> &List<S> {
        &self.list
    }

    /// Entries of that which no worker may take by themselves.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    pub(super) fn deferred(&self) -> &[Deferred<S::Work>] {
        &self.deferred
    }

    /// The item is to wait for this execution.
    pub(super) fn defer(&mut self, work: S::Work, execution: Execution) {
        self.deferred.push(Deferred { work, execution });
    }

    /// The execution has ended: the item that has waited for it. It is still marked.
    pub(super) fn end_of_deferral(&mut self, execution: Execution) -> Option<S::Work> {
        let at = self
            .deferred
            .iter()
            .position(|d| d.execution == execution)?;
        Some(self.deferred.swap_remove(at).work)
    }

    /// The item does not wait for an execution any more: which one that was.
    pub(super) fn forget_deferred(&mut self, work: S::Work) -> Execution {
        let at = self.deferred.iter().position(|d| d.work == work);
        let at = at.expect("a deferred item is known");
        self.deferred.swap_remove(at).execution
    }

    /// An item of the list, which was deferred, may be taken now.
    pub(super) fn free(&mut self, cx: &Cx<S>, work: S::Work) {
        match self.lane_of(cx, work) {
            Some(at) => self.lanes[at].waiting += 1,
            None => self.held -= 1,
        }
    }

    /// Puts a barrier directly behind an entry.
    pub(super) fn insert_behind(&mut self, cx: &mut Cx<S>, work: S::Work, barrier: S::Work) {
        let lane = self.lane_of(cx, work);
        self.list_at(lane).insert_after(cx.store, work, barrier);
        self.held += usize::from(lane.is_none());
    }

    /// Takes an item out, and leaves the barriers behind it.
    pub(super) fn take_out(&mut self, cx: &mut Cx<S>, work: S::Work) {
        let flags = cx.store.word(work).flags();
        if self.lane_of(cx, work).is_none() {
            self.list.remove(cx.store, work);
            self.held -= usize::from(flags.deferred) + usize::from(flags.linked);
            return;
        }
        // Its barriers are of no kind: nothing holds them back.
        let series = self.series(cx, work);
        self.unlist_series(cx, &series);
        self.list_series(cx, &series[1..], true);
    }

    /// The item and what is linked behind it.
    pub(in crate::pool) fn series(&self, cx: &Cx<S>, work: S::Work) -> alloc::vec::Vec<S::Work> {
        let mut series = alloc::vec![work];
        let mut at = work;
        while cx.store.word(at).flags().linked {
            at = cx.store.next(at).expect("a linked item has one behind it");
            series.push(at);
        }
        series
    }

    /// The first entry of the worklist that a worker may take.
    pub(in crate::pool) fn first_free(&self, cx: &Cx<S>) -> Option<S::Work> {
        self.free_from(cx, self.list.first())
    }

    /// The first one behind that series.
    pub(in crate::pool) fn free_behind(&self, cx: &Cx<S>, work: S::Work) -> Option<S::Work> {
        self.free_from(cx, self.behind_series(cx, work))
    }

    pub(in crate::pool) fn free_from(
        &self,
        cx: &Cx<S>,
        mut at: Option<S::Work>,
    ) -> Option<S::Work> {
        while let Some(work) = at.filter(|&work| cx.store.word(work).flags().deferred) {
            at = self.behind_series(cx, work);
        }
        at
    }

    /// The entry of the worklist behind this series.
    pub(in crate::pool) fn behind_series(&self, cx: &Cx<S>, work: S::Work) -> Option<S::Work> {
        let mut at = work;
        while cx.store.word(at).flags().linked {
            at = cx.store.next(at)?;
        }
        cx.store.next(at)
    }

    /// Moves a series of the worklist that is not deferred to the end of a worker's own list.
    pub(in crate::pool) fn move_series(
        &mut self,
        cx: &mut Cx<S>,
        work: S::Work,
        own: &mut List<S>,
    ) {
        let lane = self.lane_of(cx, work);
        if let Some(at) = lane {
            self.lanes[at].waiting -= 1;
        }
        let mut next = Some(work);
        while let Some(member) = next {
            let linked = cx.store.word(member).flags().linked;
            next = cx.store.next(member).filter(|_| linked);
            self.held -= usize::from(linked && lane.is_none());
            self.list_at(lane).remove(cx.store, member);
            own.push_back(cx.store, member);
        }
    }
}

/// For tests, which look at all of it.
#[cfg(test)]
impl<S: Store> Worklist<S> {
    pub(super) fn break_held(&mut self) {
        self.held += 1;
    }
}
