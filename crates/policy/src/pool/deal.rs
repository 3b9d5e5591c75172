//! Items that a worker is dealt: it goes from one to the next without the pool's lock.
//!
//! While items are short, or light (`brief.rs`) where as many run as should, the end of one leads
//! to the next that waits, and to nothing else that is in a hurry. So the pool deals the worker
//! some of them: the first of the worklist, or else of those that wait for a slot, or else of those
//! that were left in the [inbox](super::inbox). As long as its items turn out so, or brief where
//! one worker serves, it goes on by itself, and notes when each ended.
//!
//! When it has begun all of them, soon, and no event has come since, it is dealt more of what was
//! left meanwhile. That takes the lock, and none of what an event takes: the pool is as it was.
//!
//! Nothing of this is seen. The first act of nearly every event is to
//! [recall](WorkerPool::recall) what was dealt: the pool learns how far the worker has come, and
//! the rest is where it was. So events find the pool as if the worker had told of each item. Where
//! several workers run, each is dealt some, and a worker that just goes on leaves others theirs:
//! when that is right is in "Several hands" of `README.md` in this folder. Of a FIFO queue it never
//! is: there several share a [row].
//!
//! An item that is dealt and not begun is pending and owned, as in the inbox. Once it is begun it
//! has the slot of the one before, of the same pool workqueue; a listed one has its own.
//! The words of the protocol are in the README of the engine's pools.

mod recall;
mod row;

use super::dealt::{Dealer, Dealt, MOST_DEALT, Was};
use super::inbox::{Inbox, may_be_held};
use super::{Cx, WorkerPool};
use crate::probe::hit;
use crate::pwq::Drain;
use crate::store::{ItemKey, Store};
use crate::time::{Nanos, Time};
use crate::work::{QueuedFlags, WorkWord};
use crate::worker::WorkerId;

/// What a pool knows of what it deals. Who recalls items that are not begun has moved them twice
/// for nothing: so next time half as many are dealt, and twice as many where all were begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dealing {
    /// So many at a time.
    most: usize,
    /// When it was last looked for what has waited for long.
    looked: Time,
    /// Since some hand was out others have asked: the pool is not as it was when that was dealt.
    several: bool,
    /// So many items are in hands that waited for a slot and are not known to have begun.
    inactive: usize,
    /// The same of items that were listed, and had one.
    listed: usize,
    /// Until then nothing is put into the row, for so long.
    row_pause: (Time, Nanos),
    /// The worker whose hand is out with items of a FIFO queue, if one is.
    fifo: Option<WorkerId>,
    /// So many hands are out that were [dealt alone](Dealer::alone). Counted, since to look into
    /// hands takes their lines from their workers.
    alone: u32,
}

impl Default for Dealing {
    fn default() -> Self {
        Dealing {
            most: MOST_DEALT,
            looked: Time(0),
            several: false,
            inactive: 0,
            listed: 0,
            row_pause: (Time(0), 0),
            fifo: None,
            alone: 0,
        }
    }
}

impl Dealing {
    /// An item that was this is not in a hand any more, or is known to have begun.
    fn left_hand(&mut self, was: Was) {
        match was {
            Was::Left => {}
            Was::Inactive(_) => self.inactive -= 1,
            Was::Listed(_) => self.listed -= 1,
        }
    }

    /// So many were dealt, and so many of them begun when they were recalled, or when more are to
    /// be dealt.
    fn came_to(&mut self, dealt: usize, begun: usize) {
        self.most = match dealt {
            0 => self.most,
            _ if begun == dealt => (2 * self.most).min(MOST_DEALT),
            _ => (self.most / 2).max(1),
        };
    }
}

/// Of an item that is listed, or else waits for a slot, and nothing else.
fn plain_flags(inactive: bool) -> QueuedFlags {
    QueuedFlags {
        inactive,
        ..QueuedFlags::default()
    }
}

impl<S: Store> WorkerPool<S> {
    /// Deals the worker, which has just gone on to an item of this pool workqueue, what waits
    /// behind that.
    pub(super) fn deal<I: Inbox<S>>(
        &mut self,
        cx: &mut Cx<S>,
        inbox: &mut I,
        (id, pwq): (WorkerId, S::Pwq),
    ) {
        // A barrier has no slot to pass on, and what only this worker may run comes first.
        let worker = self.crew.get(id);
        let is_item = worker.current.as_ref().is_some_and(|item| !item.barrier);
        if !is_item || !worker.scheduled.is_empty() {
            return;
        }
        let Some(alone_for) = self.may_deal(cx, (id, pwq)) else {
            return;
        };
        let in_row = self.is_for_row(cx, inbox, pwq);
        let is_flushing = cx.store.pwq(pwq).colours.is_flushing();
        let to = Dealer {
            worker: id,
            pwq,
            told_from: self.brief.told_from(),
            until: cx.now.after(alone_for),
            // What it is dealt last takes time as well.
            more_until: cx.now.after(alone_for / 2),
            alone: !in_row && !is_flushing && self.none_waits(cx, pwq),
            in_row,
        };
        if in_row {
            return self.deal_in_row(cx, inbox, to);
        }
        let mut room = self.room();
        let dealt = inbox.deal(to, |inbox| {
            room = room.checked_sub(1)?;
            self.next_to_deal(cx, inbox, to)
        });
        let Some(dealt) = dealt else { return };
        self.crew.get_mut(id).recalled_at = Some(cx.now.after(self.brief.waits_for()));
        if cx.store.info(pwq).fifo {
            self.dealing.fifo = Some(id);
        }
        self.dealing.alone += u32::from(to.alone);
        hit!(ItemsDealt if dealt > 0);
        hit!(SeveralDealt if dealt > 0 && inbox.is_out_beside(id));
    }

    /// Whether nothing is listed, nor waits for a slot of this pool workqueue.
    pub(super) fn none_waits(&self, cx: &mut Cx<S>, pwq: S::Pwq) -> bool {
        self.nr_queued() == 0 && cx.store.pwq(pwq).inactive.is_empty()
    }

    /// The worker has begun all that it was dealt, which were so many, and no event has come since:
    /// it serves on, and is dealt more.
    pub fn deal_more<I: Inbox<S>>(
        &mut self,
        cx: &mut Cx<S>,
        inbox: &mut I,
        to: Dealer<S::Pwq>,
        dealt: usize,
    ) {
        if self.dealing.several && self.may_deal(cx, (to.worker, to.pwq)).is_none() {
            return;
        }
        self.dealing.came_to(dealt, dealt);
        let mut room = self.room();
        let more = inbox.deal_more(to.worker, |inbox| {
            room = room.checked_sub(1)?;
            self.next_to_deal(cx, inbox, to)
        });
        hit!(MoreDealt if more > 0);
        self.brief.moved(to.worker, cx.now);
        if more > 0
            && let Some(open) = self.opening(cx.now)
        {
            inbox.open(open);
        }
    }

    /// A worker that is about to ask has waited for the lock for so long.
    pub fn waited(&mut self, wait: Nanos) {
        self.brief.waited(wait, self.nr_running());
    }

    /// So many are dealt, of which the last one begins in time.
    fn room(&self) -> usize {
        self.dealing.most.min(self.brief.in_time())
    }

    /// For so long the worker, if it is dealt items, goes on by itself. Where too many run that is
    /// not longer than until it asks whether it stands in somebody's way.
    fn goes_on_for(&self, cx: &mut Cx<S>, id: WorkerId) -> Nanos {
        let most = self.brief.goes_on_for();
        match self.too_many_run(cx) {
            true => most.min(self.crew.get(id).asks_after.since(cx.now)),
            false => most,
        }
    }

    /// Whether nobody is in a hurry for the end of an item of this pool workqueue but who waits for
    /// its own, so that the worker may go on by itself; and for how long.
    fn may_deal(&self, cx: &mut Cx<S>, (id, pwq): (WorkerId, S::Pwq)) -> Option<Nanos> {
        let state = cx.store.pwq(pwq);
        // Of one that is not used any more the last items are not dealt: their end is waited for.
        let is_ending = state.retired && state.nr_in_flight() <= 2 * MOST_DEALT as u64;
        let is_quiet = state.drain == Drain::No && !is_ending && !state.flags.plugged;
        let may = is_quiet
            && self.drain_watchers == 0
            && self.brief.are_light()
            && self.opening(cx.now).is_some()
            && self.keeps_slots(cx, pwq);
        let alone_for = may.then(|| self.goes_on_for(cx, id))?;
        (alone_for > 0).then_some(alone_for)
    }

    /// The next item that waits, if it can be dealt. Compiled into the hand, as what it calls is:
    /// handed on from one to the other, what is dealt was copied three times.
    #[inline(always)]
    fn next_to_deal(
        &mut self,
        cx: &mut Cx<S>,
        inbox: &mut impl Inbox<S>,
        to: Dealer<S::Pwq>,
    ) -> Option<Dealt<S::Work>> {
        // For what is listed, reports of idle CPUs are asked for, unless those that run will have
        // begun it soon. So of items that are not over soon one stays there, where any is: the
        // worker's own may block, and somebody has to hear of that.
        if self.nr_queued() == 1 && !self.brief.are_over_soon() {
            return None;
        }
        if let Some(work) = self.worklist.list().first() {
            let dealt = self.queued(cx, inbox, (work, true), to)?;
            self.worklist.unlist_series(cx, &[work]);
            self.dealing.listed += 1;
            self.own(cx, work);
            return Some(dealt);
        }
        if self.nr_queued() > 0 {
            return None;
        }
        let Some(work) = cx.store.pwq(to.pwq).inactive.first() else {
            return self.next_left(cx, inbox, to);
        };
        // When it is known that a listed one has begun, the slot of the one before that goes to the
        // first that waits: in the row older ones would wait.
        if to.in_row && self.dealing.listed > 0 {
            return None;
        }
        let dealt = self.queued(cx, inbox, (work, false), to)?;
        hit!(InactiveDealt);
        self.slots
            .with_inactive(cx, to.pwq, |s, list| list.remove(s, work));
        self.leave_waiters(cx, to.pwq);
        self.dealing.inactive += 1;
        self.own(cx, work);
        Some(dealt)
    }

    /// The item is dealt, so its word names no list any more: until it has begun, whoever takes it
    /// back or waits for it has it recalled first.
    fn own(&self, cx: &mut Cx<S>, work: S::Work) {
        cx.store.set_dealt(work, WorkWord::owned(self.attrs.id));
    }

    #[inline(always)]
    fn next_left(
        &self,
        cx: &mut Cx<S>,
        inbox: &mut impl Inbox<S>,
        to: Dealer<S::Pwq>,
    ) -> Option<Dealt<S::Work>> {
        let left = inbox.first()?;
        let key = cx.store.key(left.work);
        let is_its = left.pwq == to.pwq && self.is_free_for(to.worker, &key);
        let far = self.worklist.is_far_from(cx, left.home);
        let is_new = cx.store.is_new(left.work);
        let is_held = || match to.in_row {
            true => !is_new,
            false => may_be_held(inbox, to.worker, (&key, is_new)),
        };
        if !is_its || self.is_for_others(far) || is_held() {
            return None;
        }
        let left = inbox.take()?;
        Some(Dealt {
            work: left.work,
            key,
            stamp: left.stamp,
            was: Was::Left,
            home: left.home,
            far,
        })
    }

    /// Short items are over before it matters where they run. Others are left to who is nearer.
    fn is_for_others(&self, far: bool) -> bool {
        far && !self.brief.are_short()
    }

    /// This one, if it can be dealt. It is listed, or else it waits for a slot.
    #[inline(always)]
    fn queued(
        &self,
        cx: &mut Cx<S>,
        inbox: &impl Inbox<S>,
        (work, listed): (S::Work, bool),
        to: Dealer<S::Pwq>,
    ) -> Option<Dealt<S::Work>> {
        let is_plain = cx.store.word(work).flags() == plain_flags(!listed);
        let key = cx.store.key(work);
        let (its, colour) = cx.store.queued_as(work)?;
        let is_its = its == to.pwq && self.is_free_for(to.worker, &key);
        let home = cx.store.home(work);
        // Nobody knows who takes it of the row: somebody may be at its last execution.
        let is_held = || match to.in_row {
            true => !home.is_new(),
            false => may_be_held(inbox, to.worker, (&key, home.is_new())),
        };
        let far = self.worklist.is_far(cx, work);
        if !is_plain || !is_its || self.is_for_others(far) || is_held() {
            return None;
        }
        Some(Dealt {
            work,
            key,
            stamp: cx.store.stamp(work),
            was: match listed {
                true => Was::Listed(colour),
                false => Was::Inactive(colour),
            },
            home: home.cpu(),
            far,
        })
    }

    /// Whether nobody but this worker executes it, which comes to it later.
    fn is_free_for(&self, id: WorkerId, key: &ItemKey) -> bool {
        self.who_executes(key).is_none_or(|busy| busy == id)
    }
}
