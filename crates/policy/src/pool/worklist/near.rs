//! Items that come from several pods, in one pool: each CPU takes what was queued near it.
//!
//! Locality decides *which* item is next, never whether there is one. A CPU that finds nothing of
//! its own pod takes the nearest item that waits, so none idles while anything waits.
//!
//! The cost is bounded on both sides. Nobody looks further than [`NEAR_WINDOW`] items into the
//! list, and at most [`MOST_OVERTAKEN`] others overtake the first item. Its own pod usually comes
//! by long before: all workers take from this list, unless others have all CPUs of that pod.

use alloc::sync::Arc;

use super::Worklist;
use crate::affinity::Near;
use crate::pool::Cx;
use crate::store::Store;

/// So many waiting items, and so many idle workers, are looked at for a near one.
pub const NEAR_WINDOW: usize = 32;
/// The item that has waited longest is overtaken by at most so many nearer ones.
pub const MOST_OVERTAKEN: u32 = 64;

/// What a pool knows of pods.
#[cfg_attr(test, derive(Debug))]
pub(in crate::pool) struct Nearness {
    near: Arc<Near>,
    /// How many have overtaken the first item of the worklist.
    overtaken: u32,
    /// The machine has several cache shards. To count them takes a look at each CPU.
    several_shards: bool,
}

impl Nearness {
    pub(in crate::pool) fn new(near: Arc<Near>) -> Self {
        Nearness {
            overtaken: 0,
            several_shards: near.nr_shards() > 1,
            near,
        }
    }

    pub(super) fn are_shards_several(&self) -> bool {
        self.several_shards
    }
}

/// The entry of a list that is to be taken next, and how many have overtaken its first one then.
pub(in crate::pool) struct Choice<W> {
    pub(in crate::pool) work: W,
    pub(in crate::pool) overtaken: u32,
}

impl<S: Store> Worklist<S> {
    /// The entry of the worklist that the event's CPU is to take next.
    pub(in crate::pool) fn next_free(&mut self, cx: &Cx<S>) -> Option<S::Work> {
        let choice = self.choose_free(cx)?;
        self.chosen(&choice);
        Some(choice.work)
    }

    /// The same, and nobody has taken it yet.
    pub(in crate::pool) fn choose_free(&self, cx: &Cx<S>) -> Option<Choice<S::Work>> {
        let first = self.first_free(cx)?;
        let overtaken = self.near.as_ref().map_or(0, |near| near.overtaken);
        Some(self.choose_from(cx, first, overtaken))
    }

    /// What was chosen is taken.
    pub(in crate::pool) fn chosen(&mut self, choice: &Choice<S::Work>) {
        if let Some(near) = &mut self.near {
            near.overtaken = choice.overtaken;
        }
    }

    /// Takes what was chosen: an item of the list that nothing is linked to.
    pub(in crate::pool) fn take(&mut self, cx: &mut Cx<S>, choice: &Choice<S::Work>) {
        self.chosen(choice);
        self.list.remove(cx.store, choice.work);
    }

    /// The same of a list with this first entry, which so many have overtaken.
    pub(in crate::pool) fn choose_from(
        &self,
        cx: &Cx<S>,
        first: S::Work,
        overtaken: u32,
    ) -> Choice<S::Work> {
        let near = self.near.as_ref().filter(|_| overtaken < MOST_OVERTAKEN);
        let work = near.map_or(first, |near| self.nearest(cx, &near.near, first));
        let overtakes = work != first;
        let overtaken = if overtakes { overtaken + 1 } else { 0 };
        Choice { work, overtaken }
    }

    /// The nearest one within the window, of equally near ones the first.
    fn nearest(&self, cx: &Cx<S>, near: &Near, first: S::Work) -> S::Work {
        let far = |work| near.distance(cx.store.home(work).cpu(), cx.cpu);
        let (mut best, mut at) = ((far(first), first), first);
        for _ in 1..NEAR_WINDOW {
            let next = self.free_behind(cx, at).filter(|_| best.0 > 0);
            let Some(next) = next else { break };
            let distance = far(next);
            if distance < best.0 {
                best = (distance, next);
            }
            at = next;
        }
        best.1
    }

    /// Would this item begin outside of the pod that it was queued in?
    pub(in crate::pool) fn is_far(&self, cx: &Cx<S>, work: S::Work) -> bool {
        self.has_homes() && self.is_far_from(cx, cx.store.home(work).cpu())
    }

    /// Would one that was queued there?
    pub(in crate::pool) fn is_far_from(&self, cx: &Cx<S>, home: u32) -> bool {
        let is_far = |near: &Nearness| near.near.distance(home, cx.cpu) > 0;
        self.near.as_deref().is_some_and(is_far)
    }

    /// Where the item with this place in the list was queued, if that matters.
    pub(in crate::pool) fn spare_home(&self, cx: &Cx<S>, place: u32) -> Option<(&Near, u32)> {
        let near = &self.near.as_ref().filter(|n| n.near.homes())?.near;
        Some((near, self.home_of(cx, place)?))
    }

    /// Where the item with this place in the list was queued; of one far behind, the last that is
    /// looked at.
    fn home_of(&self, cx: &Cx<S>, place: u32) -> Option<u32> {
        let mut at = self.first_free(cx)?;
        for _ in 0..(place as usize).min(NEAR_WINDOW) {
            at = self.free_behind(cx, at).unwrap_or(at);
        }
        Some(cx.store.home(at).cpu())
    }

    /// How far an item that was queued on `home` is from this CPU; 0 if that does not matter.
    #[cfg(test)]
    pub(in crate::pool) fn distance(&self, home: u32, cpu: u32) -> crate::affinity::Distance {
        let near = self.near.as_ref();
        near.map_or(0, |near| near.near.distance(home, cpu))
    }
}
