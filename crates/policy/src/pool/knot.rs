//! What an item of this pool waits for, as `crate::contract::WaitGraph` asks when it looks for
//! circles.

use alloc::vec::Vec;

use super::slots::limit_now;
use super::{Cx, WorkerPool};
use crate::store::Store;
use crate::worker::{Execution, WorkerId};

/// What has to end before an item does. Of nothing it is over, or begins as soon as a worker takes
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind<P> {
    /// What this worker executes: the item itself, or what it has to wait for.
    Worker(WorkerId),
    /// This execution, of another pool.
    Execution(Execution),
    /// It has no slot of its limit.
    Slot(P),
    /// Everything older of its ordered queue: its pool workqueue is plugged.
    Older(P),
    /// Any worker of this pool, which may have no more of them: the program has set that limit.
    Thread,
}

/// All that an item is behind.
pub type Behinds<P> = [Option<Behind<P>>; 3];

/// Entries of a pool that wait for the same.
#[derive(Clone, Copy, Debug)]
pub struct Held<P> {
    /// What has to end before any of them begins.
    pub behind: Behinds<P>,
    /// How many are items.
    pub items: u64,
    /// How many are barriers.
    pub barriers: u64,
}

impl<S: Store> WorkerPool<S> {
    /// Everything that has not begun and waits for more than a free worker.
    pub fn held(&self, cx: &mut Cx<S>) -> Vec<Held<S::Pwq>> {
        let slots = self.slots.waits().iter();
        let mut all: Vec<_> = slots.map(|&pwq| held_back(cx, pwq)).collect();
        for (id, worker) in self.crew.all() {
            let behind = [Some(Behind::Worker(id)), None, None];
            all.push(held(cx, behind, worker.scheduled.iter(cx.store)));
        }
        let heads: Vec<S::Work> = self.worklist.heads(cx).collect();
        for work in heads {
            let behind = self.item_behind(cx, work);
            all.push(held(cx, behind, self.worklist.series(cx, work).into_iter()));
        }
        all
    }

    /// What `work` waits for, all of it: an item, or a barrier that was put behind `item`.
    pub fn behind(&self, cx: &mut Cx<S>, work: S::Work, item: Option<S::Work>) -> Behinds<S::Pwq> {
        match item {
            None => self.item_behind(cx, work),
            Some(item) => self.barrier_behind(cx, work, item),
        }
    }

    /// An execution of the same key is waited for besides what keeps the pending item: it may be of
    /// an earlier item at this address, about to end.
    fn item_behind(&self, cx: &mut Cx<S>, work: S::Work) -> Behinds<S::Pwq> {
        let executing = self.crew.executing(&cx.store.key(work));
        let [elsewhere, last] = self.pending_behind(cx, work);
        [executing.map(Behind::Worker), elsewhere, last]
    }

    /// What keeps an item from a worker that is free for it.
    fn pending_behind(&self, cx: &mut Cx<S>, work: S::Work) -> [Option<Behind<S::Pwq>>; 2] {
        let word = cx.store.word(work);
        let here = word.pwq().filter(|_| word.pool() == Some(self.attrs.id));
        let Some((addr, _)) = here else {
            return [None; 2];
        };
        let (pwq, flags) = (cx.store.pwq_at(addr), word.flags());
        let state = cx.store.pwq(pwq);
        let needs_thread = self.has_all_threads() && !state.flags.rescued;
        let last = match (flags.inactive, state.is_plugged()) {
            (true, true) => Some(Behind::Older(pwq)),
            (true, false) => Some(Behind::Slot(pwq)),
            (false, _) => needs_thread.then_some(Behind::Thread),
        };
        let deferred = flags.deferred.then(|| self.deferred_for(work)).flatten();
        [deferred.map(Behind::Execution), last]
    }

    /// It has as many workers as it ever may: where none can be made just now, one can be later.
    pub fn has_all_threads(&self) -> bool {
        self.crew.counts().workers >= self.attrs.thread_limit
            && self.crew.counts().creating == 0
            && !self.may_outgrow_threads()
    }

    /// Whether these are all the workers that it may have. Rescuers, and those that claim, begin no
    /// other item.
    pub fn are_all_threads(&self, ids: impl Iterator<Item = WorkerId>) -> bool {
        let workers = ids.filter(|&id| !self.crew.get(id).is_guest()).count();
        self.has_all_threads() && workers >= self.crew.counts().workers as usize
    }

    /// Slots that `pwq` could have and that items hold which only a worker takes, and none has.
    pub fn slots_not_begun(&self, cx: &mut Cx<S>, pwq: S::Pwq) -> u32 {
        let active = |work| {
            let word = cx.store.word(work);
            let holds = !word.flags().inactive && !word.flags().deferred;
            cx.store.pwq_of(work).filter(|_| holds)
        };
        let active: Vec<_> = self.worklist.heads(cx).filter_map(active).collect();
        let of_limit =
            |its: &S::Pwq| self.share_limit(cx, *its, pwq) && !cx.store.pwq(*its).flags.rescued;
        active.into_iter().filter(of_limit).count() as u32
    }

    /// Whether a flush of this pwq is for items that no worker has taken, and that only one can
    /// take.
    pub fn flush_needs_thread(&self, cx: &mut Cx<S>, pwq: S::Pwq, ticket: Option<u64>) -> bool {
        if !self.has_all_threads() || cx.store.pwq(pwq).flags.rescued {
            return false;
        }
        let queued = |work| {
            let deferred = cx.store.word(work).flags().deferred;
            cx.store.queued_as(work).filter(|_| !deferred)
        };
        let queued: Vec<_> = self.worklist.heads(cx).filter_map(queued).collect();
        let colours = &cx.store.pwq(pwq).colours;
        let is_covered =
            |&(its, colour): &(S::Pwq, u8)| its == pwq && colours.covers(ticket, colour);
        queued.iter().any(is_covered)
    }

    fn barrier_behind(&self, cx: &mut Cx<S>, barrier: S::Work, item: S::Work) -> Behinds<S::Pwq> {
        let word = cx.store.word(barrier);
        if word.pwq().is_none() || word.pool() != Some(self.attrs.id) {
            return [None; 3];
        }
        let has = |&id: &WorkerId| {
            let scheduled = &self.crew.get(id).scheduled;
            !scheduled.is_empty() && scheduled.iter(cx.store).any(|work| work == barrier)
        };
        if let Some(id) = self.crew.ids().find(has) {
            return [Some(Behind::Worker(id)), None, None];
        }
        // Behind an instance that is pending; if not, that was taken back, and the barrier goes on
        // alone.
        let word = cx.store.word(item);
        let pending = word.pwq().is_some() && word.pool() == Some(self.attrs.id);
        match pending && self.worklist.series(cx, item).contains(&barrier) {
            true => self.item_behind(cx, item),
            false => [None; 3],
        }
    }

    /// Through which pwq the item that this worker executes was queued.
    pub fn executes_of(&self, id: WorkerId) -> Option<S::Pwq> {
        let current = self.crew.get(id).current.as_ref();
        current.map(|current| current.pwq)
    }

    /// Whether a flush of `pwq` with this ticket waits for the end of what this worker executes;
    /// without one, for everything in flight.
    pub fn is_flushed_with(
        &self,
        cx: &mut Cx<S>,
        pwq: S::Pwq,
        ticket: Option<u64>,
        id: WorkerId,
    ) -> bool {
        let worker = self.crew.get(id);
        let own = worker
            .current
            .as_ref()
            .map(|current| (current.pwq, current.colour));
        let of = |work| cx.store.queued_as(work);
        let next: Vec<_> = worker.scheduled.iter(cx.store).filter_map(of).collect();
        let colours = &cx.store.pwq(pwq).colours;
        let is_covered =
            |&(one, colour): &(S::Pwq, u8)| one == pwq && colours.covers(ticket, colour);
        own.iter().chain(&next).any(is_covered)
    }

    /// Executions of other pools that such a flush waits for, as items of `pwq` are deferred behind
    /// them.
    pub fn deferred_and_flushed(
        &self,
        cx: &mut Cx<S>,
        pwq: S::Pwq,
        ticket: Option<u64>,
    ) -> impl Iterator<Item = Execution> {
        let mut tokens = Vec::new();
        for deferred in self.worklist.deferred() {
            let of = cx.store.queued_as(deferred.work);
            let colours = &cx.store.pwq(pwq).colours;
            let covered =
                |&(one, colour): &(S::Pwq, u8)| one == pwq && colours.covers(ticket, colour);
            tokens.extend(of.filter(covered).map(|_| deferred.execution));
        }
        tokens.into_iter()
    }

    /// Whether so many slots are all that an item of `pwq` could get. More may be held at this
    /// time, since the limit was lowered: those are given to nobody.
    pub fn are_all_slots(&self, cx: &Cx<S>, pwq: S::Pwq, held: u32) -> bool {
        let limit = limit_now(cx, pwq);
        let frozen = limit.max() == 0;
        !frozen && !limit.may_rise() && held >= limit.max()
    }
}

/// These entries of a worklist, or of a worker's own list: barriers are the inactive ones.
fn held<S: Store>(
    cx: &Cx<S>,
    behind: Behinds<S::Pwq>,
    entries: impl Iterator<Item = S::Work>,
) -> Held<S::Pwq> {
    let (mut items, mut barriers) = (0, 0);
    for work in entries {
        match cx.store.word(work).flags().inactive {
            true => barriers += 1,
            false => items += 1,
        }
    }
    Held {
        behind,
        items,
        barriers,
    }
}

/// What waits for a slot of this pwq, or for its plug. There all are inactive, and each barrier is
/// linked to what is before it.
fn held_back<S: Store>(cx: &mut Cx<S>, pwq: S::Pwq) -> Held<S::Pwq> {
    let state = cx.store.pwq(pwq);
    let behind = match state.is_plugged() {
        true => Behind::Older(pwq),
        false => Behind::Slot(pwq),
    };
    let first = state.inactive.first();
    let entries = core::iter::successors(first, |&work| cx.store.next(work));
    let (mut items, mut barriers) = (0, 0);
    for work in entries {
        items += 1;
        barriers += u64::from(cx.store.word(work).flags().linked);
    }
    Held {
        behind: [Some(behind), None, None],
        items: items - barriers,
        barriers,
    }
}
