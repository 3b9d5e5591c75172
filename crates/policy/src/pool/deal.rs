//! Items that a worker is dealt: it goes from one to the next without the pool's lock.
//!
//! While items are short, the end of one leads to the next that waits, and to nothing else that is
//! in a hurry. So the pool deals the worker some of them: the first of the worklist, or else of
//! those that wait for a slot, or else of those that were left in the [inbox](super::inbox). As
//! long as its items turn out short, or brief where one worker serves, it goes on by itself, and
//! notes when each ended.
//!
//! When it has begun all of them, soon, and no event has come since, it is dealt more of what was
//! left meanwhile. That takes the lock, and none of what an event takes: the pool is as it was.
//!
//! Nothing of this is seen. The first act of every event is to [recall](WorkerPool::recall) what
//! was dealt: the pool learns how far the worker has come, and the rest is where it was. So events
//! find the pool as if the worker had told of each item. Where several workers serve short items,
//! each is dealt some, and a worker that just goes on leaves others theirs: when that is right is
//! in "Several hands" of `README.md` in this folder. Of a FIFO queue it never is.
//!
//! An item that is dealt and not begun is pending and owned, as in the inbox. Once it is begun it
//! has the slot of the one before, of the same pool workqueue; a listed one has its own.
//! The words of the protocol are in the README of the engine's pools.

use super::brief::{LATE, WAITS_AT_MOST};
use super::crew::Current;
use super::dealt::{Dealer, Dealt, MOST_DEALT, Recalled, Was};
use super::inbox::{Inbox, may_be_held};
use super::{Cx, Published, WorkerPool, slots};
use crate::action::Action;
use crate::list::List;
use crate::probe::{broken, hit};
use crate::pwq::Drain;
use crate::store::{ItemKey, SharedLimit, Store};
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
    /// The worker whose hand is out with items of a FIFO queue, if one is.
    fifo: Option<WorkerId>,
}

impl Default for Dealing {
    fn default() -> Self {
        Dealing {
            most: MOST_DEALT,
            looked: Time(0),
            several: false,
            inactive: 0,
            fifo: None,
        }
    }
}

impl Dealing {
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

/// How far a worker has come by itself.
struct Progress<P> {
    dealer: Dealer<P>,
    dealt: usize,
    /// Items that have ended, and that have begun.
    count: u32,
    /// Those of them that were counted in, that had a slot, and that are far.
    counted: u32,
    listed: u32,
    far: u32,
    /// A flush may be over.
    flushed: bool,
    /// Items wait for a slot that are in nobody's hand any more, and for which nobody has asked.
    waits: bool,
    /// The item that it executes, with its colour, and when that began.
    key: ItemKey,
    colour: u8,
    began: Time,
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
        let to = Dealer {
            worker: id,
            pwq,
            told_from: self.brief.told_from(),
            until: cx.now.after(alone_for),
            // What it is dealt last takes time as well.
            more_until: cx.now.after(alone_for / 2),
            alone: self.nr_queued() == 0 && cx.store.pwq(pwq).inactive.is_empty(),
        };
        let mut room = self.room();
        let dealt = inbox.deal(to, |inbox| {
            room = room.checked_sub(1)?;
            self.next_to_deal(cx, inbox, to)
        });
        self.crew.get_mut(id).dealt = Some(cx.now);
        if cx.store.info(pwq).fifo {
            self.dealing.fifo = Some(id);
        }
        hit!(ItemsDealt if dealt > 0);
        hit!(SeveralDealt if dealt > 0 && inbox.is_out_beside(id));
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
        self.brief.waited(wait);
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
        let is_quiet = state.drain == Drain::No && !state.retired && !state.flags.plugged;
        let is_ours = |cx: &mut Cx<S>| {
            let (limit, now) = (cx.store.limit(pwq), slots::limit_now(cx, pwq));
            // Of a limit that was lowered, or of a frozen queue, slots are not passed on.
            let is_alone = || limit.with_waiters(|waiters| waiters.is_alone(pwq));
            now.is_kept() && (!now.waiting() || is_alone())
        };
        let may = is_quiet
            && self.drain_watchers == 0
            && self.brief.are_dealt()
            && self.opening(cx.now).is_some()
            && is_ours(cx)
            // The next one that asks would recall it.
            && (!cx.store.info(pwq).fifo || self.nr_running() == 1);
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
        // For what is listed, reports of idle CPUs are asked for. Of items that are not short one
        // stays there, lest this one blocks and nobody hears of it.
        if self.nr_queued() == 1 && !self.brief.are_short() {
            return None;
        }
        if let Some(work) = self.worklist.list().first() {
            let dealt = self.queued(cx, inbox, (work, true), to)?;
            self.worklist.unlist_series(cx, &[work]);
            self.own(cx, work);
            return Some(dealt);
        }
        if self.nr_queued() > 0 {
            return None;
        }
        let Some(work) = cx.store.pwq(to.pwq).inactive.first() else {
            return self.next_left(cx, inbox, to);
        };
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
        let is_new = cx.store.is_new(left.work);
        if !is_its || may_be_held(inbox, to.worker, (&key, is_new)) {
            return None;
        }
        let left = inbox.take()?;
        Some(Dealt {
            work: left.work,
            key,
            stamp: left.stamp,
            was: Was::Left,
            home: left.home,
            far: self.worklist.is_far_from(cx, left.home),
        })
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
        let is_held = || may_be_held(inbox, to.worker, (&key, home.is_new()));
        if !is_plain || !is_its || is_held() {
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
            far: self.worklist.is_far(cx, work),
        })
    }

    /// Whether nobody but this worker executes it, which comes to it later.
    fn is_free_for(&self, id: WorkerId, key: &ItemKey) -> bool {
        self.who_executes(key).is_none_or(|busy| busy == id)
    }

    /// What was dealt to this worker, or to all, and is not begun is where it was, and the pool
    /// knows what they have done. To recall all is the first act of every event, whose time may be
    /// before that of a worker's last step. Exceptions are [`ended_beside`](Self::ended_beside),
    /// [`next_beside`](Self::next_beside) and [`crowded`](Self::crowded).
    pub fn recall(&mut self, cx: &mut Cx<S>, inbox: &mut impl Inbox<S>, of: Option<WorkerId>) {
        let mut hand: Option<Progress<S::Pwq>> = None;
        self.dealing.fifo = self
            .dealing
            .fifo
            .filter(|&id| of.is_some_and(|of| of != id));
        inbox.recall(of, |dealer, what| match what {
            Recalled::Hand { dealt } => {
                self.crew.get_mut(dealer.worker).dealt = None;
                let next = self.progress(*dealer, dealt);
                if let Some(before) = hand.replace(next) {
                    self.note_progress(cx, &before);
                }
            }
            Recalled::Begun { item, at, ran } => {
                let progress = hand.as_mut().expect("it comes first");
                self.note_step(cx, progress, (&item, at, ran));
            }
            Recalled::Rest(item) => {
                let waits = self.put_back(cx, dealer.pwq, &item);
                hand.as_mut().expect("it comes first").waits |= waits;
            }
        });
        if let Some(last) = &hand {
            self.note_progress(cx, last);
        }
    }

    /// The item was dealt, and is not begun. True if it waits for a slot, and none has meanwhile.
    fn put_back(&mut self, cx: &mut Cx<S>, pwq: S::Pwq, item: &Dealt<S::Work>) -> bool {
        let colour = item.was.colour().expect("the inbox has the others again");
        let inactive = item.was == Was::Inactive(colour);
        let addr = cx.store.pwq_addr(pwq);
        let word = WorkWord::queued(addr, self.attrs.id, colour, plain_flags(inactive));
        cx.store.set_dealt(item.work, word);
        if inactive {
            self.dealing.inactive -= 1;
            let none_waits = cx.store.pwq(pwq).inactive.is_empty();
            let back = |s: &mut S, list: &mut List<S>| list.push_front(s, item.work);
            self.slots.with_inactive(cx, pwq, back);
            return none_waits;
        }
        self.worklist.list_series(cx, &[item.work], true);
        false
    }

    /// Before a worker asks: what others were dealt is recalled if it has waited for long, if
    /// nothing more is dealt, or if any of it is of a FIFO queue.
    pub(super) fn recall_others(
        &mut self,
        cx: &mut Cx<S>,
        (inbox, before): (&mut impl Inbox<S>, &Published),
        id: WorkerId,
    ) {
        self.dealing.several = inbox.is_out_beside(id);
        if !self.dealing.several {
            return;
        }
        let fifo = self.dealing.fifo.is_some() && !broken!(FifoOvertaken);
        if before.open.is_none() || fifo {
            return self.recall(cx, inbox, None);
        }
        if cx.now.since(self.dealing.looked) < LATE {
            return;
        }
        self.dealing.looked = cx.now;
        for id in self.crew.ids() {
            let dealt = self.crew.get(id).dealt;
            if dealt.is_some_and(|at| cx.now.since(at) >= WAITS_AT_MOST) {
                hit!(LateRecalled);
                self.recall(cx, inbox, Some(id));
            }
        }
    }

    /// Whether items are in hands for which a slot may be free, or is about to be: this worker's
    /// own goes to nobody else.
    pub(super) fn slots_may_wait(&self, cx: &mut Cx<S>, id: WorkerId) -> bool {
        self.dealing.inactive > 0 && !self.waits_behind(cx, id)
    }

    /// Others were started: the pool is not as it was when items were dealt.
    pub(super) fn others_act(&mut self) {
        self.dealing.several = true;
    }

    /// Of a worker of which nothing was heard since it was dealt so many.
    fn progress(&self, dealer: Dealer<S::Pwq>, dealt: usize) -> Progress<S::Pwq> {
        let worker = self.crew.get(dealer.worker);
        let current = worker.current.as_ref().expect("it executes an item");
        Progress {
            dealer,
            dealt,
            count: 0,
            counted: 0,
            listed: 0,
            far: 0,
            flushed: false,
            waits: false,
            key: current.key,
            colour: current.colour,
            began: worker.began,
        }
    }

    /// The item has ended that it was at, and it has begun this one.
    fn note_step(
        &mut self,
        cx: &mut Cx<S>,
        progress: &mut Progress<S::Pwq>,
        (item, at, ran): (&Dealt<S::Work>, Time, Nanos),
    ) {
        self.dealing.inactive -= usize::from(matches!(item.was, Was::Inactive(_)));
        let more_could = self.more_could_run();
        self.brief.ended(ran, true, more_could);
        let pwq = progress.dealer.pwq;
        self.worklist.note_over(cx, at, (pwq, progress.key.func));
        let state = cx.store.pwq(pwq);
        state.stats.note_ran(ran);
        state.stats.note_waited(item.stamp.age(at));
        // In before out: a flush that waits for both is not told of the first.
        let colour = item.was.colour().unwrap_or_else(|| {
            state.nr_queued += 1;
            state.colours.queued()
        });
        progress.count += 1;
        progress.counted += u32::from(item.was != Was::Left);
        progress.listed += u32::from(!item.was.takes_slot_over());
        progress.far += u32::from(item.far);
        progress.flushed |= state.colours.ended(progress.colour);
        progress.key = item.key;
        progress.colour = colour;
        progress.began = at;
    }

    fn note_progress(&mut self, cx: &mut Cx<S>, progress: &Progress<S::Pwq>) {
        self.dealing
            .came_to(progress.dealt, progress.count as usize);
        if progress.count > 0 {
            self.note_steps(cx, progress);
        }
        if progress.waits {
            self.take_slots(cx, progress.dealer.pwq);
        }
    }

    fn note_steps(&mut self, cx: &mut Cx<S>, progress: &Progress<S::Pwq>) {
        hit!(WorkerWentOn);
        let Dealer {
            worker: id, pwq, ..
        } = progress.dealer;
        let (count, at) = (u64::from(progress.count), progress.began);
        self.brief.moved(id, at);
        self.stats.started += count;
        self.stats.completed += count;
        self.stats.far += u64::from(progress.far);
        self.nr_in_flight -= u64::from(progress.counted);
        // Another one may be known to have begun an item since.
        self.moved = self.moved.max(at);
        self.dog.progressed(self.moved);
        self.estimate.begin_anew(self.moved);
        let state = cx.store.pwq(pwq);
        state.moved = state.moved.max(at);
        let next = Current {
            key: progress.key,
            pwq,
            colour: progress.colour,
            barrier: false,
            deferred_to: None,
            requeued_to: None,
        };
        self.crew.went_on(id, next, progress.count);
        let most = self.most_crowded();
        let worker = self.crew.get_mut(id);
        worker.began = at;
        worker.crowded = worker.crowded.min(most - 1);
        self.put_slots(cx, pwq, progress.listed);
        if progress.flushed {
            self.flush_moved(pwq);
            self.push(cx, Action::Flushed(pwq));
        }
    }
}
