//! Items that are queued without the pool's lock.
//!
//! While those that run are enough, one more item changes nothing: one of them takes it when its
//! turn comes, and nobody is started. So the pool says that its inbox is *open*, and whoever queues
//! leaves his item there. The pool takes items *in*, in the order in which they were left, before
//! each event, so that events see what they always have. Some need not: a worker that goes on with
//! an item that is listed already takes items in when the list is empty, and who gives a slot to an
//! item that has waited for it does not look here.
//!
//! An item in the inbox is pending and owned, as it is while somebody is in the middle of queueing
//! it. Whoever has to have it sees to it that the pool takes it in:
//! [`Machine::take_in`](crate::contract::Machine::take_in).
//!
//! *Nothing is left for ever.* The inbox is open only while a worker runs that will end an item
//! soon, or while as many run as should and reports of idle CPUs are asked for, as items are listed
//! that nobody has begun: whoever finds a worker missing for those finds these. As long as it is
//! open the pool says that items wait ([`Published::backlog`]): the tick looks, and an event of the
//! pool takes everything in. Who leaves an item looks at the clock now and then
//! ([`looks_at_clock`]); if nothing has moved for [as long as a wake takes](super::brief::LATE), or
//! as a hand may last where workers wait for the lock ([`Open::grace`]), he goes by the lock, as if
//! the inbox were shut. When the pool shuts it, it looks once more after that, and whoever leaves
//! an item looks after that whether it is still open: one of the two sees the other. The proof,
//! with the words, is in the README of the engine's pools.

mod left;

use super::brief::{Brief, LATE};
use super::dealt::{Dealer, Dealt, Recalled};
use super::quick::Fed;
use super::start::Asks;
use super::{Cx, Published, Queueing, Rule, Step, WorkerPool, slots};
use crate::probe::hit;
use crate::sampling::ItemReport;
use crate::stats::Stamp;
use crate::store::{ItemKey, Store};
use crate::time::{Nanos, Time};
use crate::worker::{State, WorkerId};

pub use left::{
    MOST_TRAYS, Open, is_stamped, is_too_late, left_after, left_at, looks_at_clock, next_tray,
    told_behind, tray, trays,
};

/// Items that a worker takes in at a time. With more of them, many would only wait for a slot.
const WORKERS_TURN: usize = 64;
/// Items that are taken in under one hold of the lock before another event.
pub const TURN: usize = 256;
/// Who leaves an item behind so many others has them taken out: it is done under the lock.
const MOST_LEFT: u32 = 1024;
/// The time [until](Inbox::open) which items may be left is published anew after this. Who leaves
/// an item reads it, so it is not written for each.
pub(super) const REFRESH: Nanos = LATE / 4;

/// An item as it was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left<W, P> {
    /// The item, which is pending and owned.
    pub work: W,
    /// Where it goes. May have been retired meanwhile.
    pub pwq: P,
    /// The CPU that it was queued on.
    pub home: u32,
    /// When it was queued, about.
    pub stamp: Stamp,
}

/// What the inbox of a pool is to the pool, which is held.
pub trait Inbox<S: Store> {
    /// Whether it is open.
    fn is_open(&self) -> bool;
    /// From now on items may be left until this time, or until the earlier one that is
    /// [known](Open::told).
    fn open(&mut self, open: Open);
    /// From now on none may be. Whoever has left one, and has not seen that, is seen by the next
    /// call of [`has_any`](Self::has_any).
    fn shut(&mut self);
    /// Whether there is an item in it.
    fn has_any(&self) -> bool;
    /// Whether one is in it, or in a hand or the row and not begun.
    fn any_waits(&self) -> bool {
        self.has_any()
    }
    /// Whether the hand of a worker is out that was [to ask](Dealer::until) by then.
    fn is_late(&self, _now: Time) -> bool {
        false
    }
    /// How many are in it, about.
    fn nr_left(&self) -> usize;
    /// What was left lies apart from now on from what will be, in order.
    fn empty(&mut self) {}
    /// Takes the one out that was left first.
    fn take(&mut self) -> Option<Left<S::Work, S::Pwq>>;
    /// The one that was left first, which stays.
    fn first(&mut self) -> Option<Left<S::Work, S::Pwq>> {
        None
    }
    /// A worker's hand is out from now on, until it is recalled. It is dealt what `next` gives, at
    /// most [`MOST_DEALT`](super::MOST_DEALT) items, which it begins without the pool; how many it
    /// were. `None`: it has no hand.
    fn deal(
        &mut self,
        _to: Dealer<S::Pwq>,
        _next: impl FnMut(&mut Self) -> Option<Dealt<S::Work>>,
    ) -> Option<usize> {
        None
    }
    /// The same for a hand that is out, of which all is begun: at most `MOST_DEALT` in all.
    fn deal_more(
        &mut self,
        _to: WorkerId,
        _next: impl FnMut(&mut Self) -> Option<Dealt<S::Work>>,
    ) -> usize {
        0
    }
    /// Puts what `next` gives into the row, behind what is there, until so many are: items of this
    /// pool workqueue, of which each worker whose hand is out and [in the row](Dealer::in_row)
    /// takes the first when it has ended one. How many it were.
    fn line_up(
        &mut self,
        _pwq: S::Pwq,
        _most: usize,
        _next: impl FnMut(&mut Self) -> Option<Dealt<S::Work>>,
    ) -> usize {
        0
    }
    /// Of which pool workqueue the row is, and how many items wait in it. Workers take them
    /// meanwhile.
    fn row(&self) -> Option<(S::Pwq, usize)> {
        None
    }
    /// Takes the first one out of the row.
    fn take_of_row(&mut self) -> Option<Dealt<S::Work>> {
        None
    }
    /// What was dealt to this worker, or to anybody, is not any more. Tells of each hand that was
    /// out; of the items that are begun, in order; and then of those that are not begun, the last
    /// one first, but for those that were left: they lie here again, before others. With all hands
    /// the row is recalled. An empty row goes with the last hand that is in it.
    fn recall(
        &mut self,
        _of: Option<WorkerId>,
        _told: impl FnMut(&Dealer<S::Pwq>, Recalled<'_, S::Work>),
    ) {
    }
    /// Whether the hand of any worker is out, or items wait in the row.
    fn is_out(&self) -> bool {
        false
    }
    /// The same without the hand of this worker.
    fn is_out_beside(&self, _id: WorkerId) -> bool {
        false
    }
    /// Whether this item is in such a hand, or was since that is out. True also where that would
    /// take long to find out.
    fn is_held_beside(&self, _id: WorkerId, _key: &ItemKey) -> bool {
        false
    }
}

/// Among so many hands it is found out whether one holds an item.
pub const MOST_SEARCHED: usize = 8;

/// Whether an item may be in another hand than this worker's. One that is new has not been in any.
pub(super) fn may_be_held<S: Store>(
    inbox: &impl Inbox<S>,
    id: WorkerId,
    (key, is_new): (&ItemKey, bool),
) -> bool {
    !is_new && inbox.is_held_beside(id, key)
}

/// Of a pool for which nobody leaves anything.
#[derive(Clone, Copy, Debug)]
pub struct NoInbox;

impl<S: Store> Inbox<S> for NoInbox {
    fn is_open(&self) -> bool {
        false
    }
    fn open(&mut self, _open: Open) {}
    fn shut(&mut self) {}
    fn has_any(&self) -> bool {
        false
    }
    fn nr_left(&self) -> usize {
        0
    }
    fn take(&mut self) -> Option<Left<S::Work, S::Pwq>> {
        None
    }
}

impl<S: Store> WorkerPool<S> {
    /// For tests of the inbox, which is open as often as it can be: items are taken for brief,
    /// whatever they are like.
    #[must_use]
    pub fn with_brief_items(mut self) -> Self {
        self.brief = Brief::presumed();
        self
    }

    /// Whether one more item changes nothing, and for how long; `None`: it might.
    pub(super) fn opening(&self, now: Time) -> Option<Open> {
        let running = self.nr_running();
        let all_run = running >= self.attrs.target;
        // Else one more might call for a thread, or for rescuers.
        let has_reserve = self.may_start_working() && self.needs_since.is_none();
        let is_plain = self.attrs.rule == Rule::Managed
            && running > 0
            && (all_run || has_reserve)
            && self.worklist.lanes().is_empty();
        // Reports are asked for already.
        let asks = all_run && self.arming.is_on();
        let until = match self.brief.served_until().filter(|&until| now < until) {
            Some(until) if all_run || self.few_are_enough(now, 0) => until,
            None if asks => now.after(LATE),
            _ => return None,
        };
        let most = self.brief.most_waiting(running).filter(|_| !all_run);
        is_plain.then_some(Open {
            until,
            grace: if all_run { self.brief.grace() } else { 0 },
            most: most.unwrap_or(MOST_LEFT).min(MOST_LEFT),
        })
    }

    /// Behind so many in the inbox an item waits for too long, though more could run.
    fn most_to_wait(&self) -> Option<usize> {
        let running = self.nr_running();
        let most = || self.brief.most_waiting(running);
        (running < self.attrs.target)
            .then(most)?
            .map(|most| most as usize)
    }

    /// Somebody has left an item behind [`most`](Open::most) others. For that nothing is recalled.
    pub fn crowded(&mut self, cx: &mut Cx<S>, inbox: &mut impl Inbox<S>) {
        // One at a time is counted in no time, all of them are not.
        inbox.empty();
        self.others_act();
        self.start_for_left(cx, inbox);
    }

    /// Starts another worker if those that run are too few for what was left. Follows events about
    /// workers, which have not taken all of that in.
    pub fn start_for_left(&mut self, cx: &mut Cx<S>, inbox: &impl Inbox<S>) {
        let Some(most) = self.most_to_wait() else {
            return;
        };
        // Who leaves items writes that number: it is read only where it decides.
        let nr_left = inbox.nr_left();
        if nr_left > most && self.start(cx, Asks::Left(nr_left as u32), None) {
            hit!(StartedForLeft);
            self.settle(cx);
        }
    }

    /// Takes in at most so many of the items that were left; how many it were. Follow with an event
    /// that starts workers.
    fn take_in(&mut self, cx: &mut Cx<S>, inbox: &mut impl Inbox<S>, most: usize) -> usize {
        for taken in 0..most {
            let Some(left) = inbox.take() else {
                return taken;
            };
            let how = Queueing {
                left: Some(left.stamp),
                home: left.home,
                ..Queueing::default()
            };
            let queued = self.enqueue(cx, left.work, left.pwq, how);
            queued.expect("what was left is not refused");
            hit!(ItemLeft);
        }
        most
    }

    /// Takes in the items that were left before, so many at a time: what an event must see.
    pub fn take_in_left(&mut self, cx: &mut Cx<S>, inbox: &mut impl Inbox<S>, most: usize) {
        if self.take_in(cx, inbox, most) > 0 {
            self.conclude(cx);
        }
    }

    /// The same for an event that need not see them all: it is about workers, who may find that
    /// nothing is listed.
    pub fn take_in_some(&mut self, cx: &mut Cx<S>, inbox: &mut impl Inbox<S>) {
        if self.is_to_feed() {
            // What comes behind the first one may be dealt.
            let most = match inbox.is_open() && self.nr_queued() == 0 {
                true => 1,
                false => WORKERS_TURN,
            };
            self.take_in_left(cx, inbox, most);
        }
    }

    /// The worker has ended its item and asks for its next step: as [`ended`](Self::ended), of a
    /// pool with an inbox. Tells whether nothing is to be published: it is as `before`.
    ///
    /// What was dealt to others need not be recalled for that: if the worker just goes on, and to
    /// an item that none of them has.
    pub fn ended_beside(
        &mut self,
        cx: &mut Cx<S>,
        (inbox, before): (&mut impl Inbox<S>, &Published),
        id: WorkerId,
        report: ItemReport,
    ) -> (Step<S::Work, S::Pwq>, bool) {
        self.recall(cx, inbox, Some(id));
        if let Some((work, pwq)) = self.goes_on_in_row(cx, (inbox, before), id, &report) {
            let stays = self.stays_in_row(cx, (inbox, before), (id, pwq));
            return (Step::Run(work, pwq), stays);
        }
        self.recall_others(cx, (inbox, before), id);
        self.offer_slot(cx, id);
        let fed = self.feed(cx, (inbox, before), id);
        self.slots.withdraw_offer();
        let way = self.way_on(cx, id, &report, fed);
        let way = way.filter(|way| !may_be_held(inbox, id, (&way.key, way.is_new)));
        let is_alone = way.is_some() || !inbox.is_out_beside(id);
        let slots_wait = |cx: &mut Cx<S>| !inbox.has_any() && self.slots_may_wait(cx, id);
        if !is_alone && (self.nr_queued() > 0 || slots_wait(cx)) {
            hit!(OthersRecalled);
            self.recall(cx, inbox, None);
        }
        let went_on = way.is_some();
        let step = self.goes_on_or_asks(cx, id, report, (way, fed));
        debug_assert!(!self.slots.owes(), "the item has ended");
        if let Step::Run(work, pwq) = step {
            self.ask_to_spread(cx, (work, pwq));
        }
        self.deal_behind(cx, inbox, before, (id, step));
        (step, went_on && self.is_as_published(cx, before))
    }

    /// A worker that has parked, or was made, asks for its next step: as [`next`](Self::next), of a
    /// pool with an inbox.
    pub fn next_beside(
        &mut self,
        cx: &mut Cx<S>,
        (inbox, before): (&mut impl Inbox<S>, &Published),
        id: WorkerId,
    ) -> Step<S::Work, S::Pwq> {
        self.recall_others(cx, (inbox, before), id);
        let fed = self.feed(cx, (inbox, before), id);
        if inbox.is_out_beside(id) && !self.has_one_for(cx, inbox, id) {
            hit!(OthersRecalled);
            self.recall(cx, inbox, None);
        }
        // It may have been woken for nothing, and then nothing follows its question.
        let is_idle = matches!(self.crew.get(id).state(), State::Idle(_));
        if fed.some || is_idle {
            self.conclude(cx);
        }
        let step = self.next(cx, id);
        self.deal_behind(cx, inbox, before, (id, step));
        step
    }

    /// Whether the next item is one that nobody else has, or there is none.
    fn has_one_for(&self, cx: &mut Cx<S>, inbox: &impl Inbox<S>, id: WorkerId) -> bool {
        let Some(choice) = self.worklist.choose_free(cx) else {
            return self.nr_queued() == 0 && !self.slots_may_wait(cx, id);
        };
        let key = cx.store.key(choice.work);
        let is_new = cx.store.home(choice.work).is_new();
        self.who_executes(&key).is_none() && !may_be_held(inbox, id, (&key, is_new))
    }

    /// Deals the worker what waits behind the item that it begins, if it does.
    fn deal_behind(
        &mut self,
        cx: &mut Cx<S>,
        inbox: &mut impl Inbox<S>,
        before: &Published,
        (id, step): (WorkerId, Step<S::Work, S::Pwq>),
    ) {
        let Step::Run(_, pwq) = step else {
            return;
        };
        let none_waits = self.none_waits(cx, pwq);
        let is_alone = || none_waits && !inbox.has_any() && !self.is_for_row(cx, inbox, pwq);
        // With an empty hand it may linger for what comes next.
        if before.open.is_some() || is_alone() {
            self.deal(cx, inbox, (id, pwq));
            self.start_for_left(cx, inbox);
        }
    }

    /// Whether items are taken in for a worker: nothing is listed; or items wait for slots of their
    /// queue, so that what is listed may not come to an end for long, and those of other queues lie
    /// in the inbox. Light ones come to an end.
    fn is_to_feed(&self) -> bool {
        self.nr_queued() == 0 || (!self.slots.waits().is_empty() && !self.brief.are_light())
    }

    /// Takes in what a worker needs that is about to ask.
    fn feed(
        &mut self,
        cx: &mut Cx<S>,
        (inbox, before): (&mut impl Inbox<S>, &Published),
        id: WorkerId,
    ) -> Fed {
        let is_open = before.open.is_some();
        let mut taken = 0;
        if !is_open && self.is_to_feed() {
            taken = self.take_in(cx, inbox, WORKERS_TURN);
        }
        // What comes behind the first one that can be begun may be dealt.
        let takes = is_open && !self.passes_slot_on(cx, id);
        while takes && taken < WORKERS_TURN && (self.is_to_feed() || self.is_others(cx, id)) {
            self.recall_for_first(cx, inbox, id);
            if self.take_in(cx, inbox, 1) == 0 {
                break;
            }
            taken += 1;
        }
        Fed {
            some: taken > 0,
            more: taken > 0 && inbox.has_any(),
            any: is_open && self.brief.are_short(),
        }
    }

    /// Whether the end of its light item lets the worker go on to one that waits for a slot.
    fn passes_slot_on(&self, cx: &mut Cx<S>, id: WorkerId) -> bool {
        self.brief.are_light() && self.waits_behind(cx, id)
    }

    /// Whether an item waits for a slot of the pool workqueue whose item the worker executes.
    pub(super) fn waits_behind(&self, cx: &mut Cx<S>, id: WorkerId) -> bool {
        let pwq = self.crew.get(id).current.as_ref().map(|item| item.pwq);
        pwq.is_some_and(|pwq| !cx.store.pwq(pwq).inactive.is_empty())
    }

    /// Whether the next listed item is executed by another worker, to which it goes then.
    fn is_others(&self, cx: &Cx<S>, id: WorkerId) -> bool {
        let next = self.worklist.choose_free(cx);
        let busy = next.and_then(|choice| self.who_executes(&cx.store.key(choice.work)));
        busy.is_some_and(|busy| busy != id)
    }

    /// Before the first one that was left is taken in while hands of others are out.
    fn recall_for_first(&mut self, cx: &mut Cx<S>, inbox: &mut impl Inbox<S>, id: WorkerId) {
        let Some(left) = inbox.first().filter(|_| inbox.is_out_beside(id)) else {
            return;
        };
        // Where the next instance of an execution is queued is known while that goes on.
        let key = cx.store.key(left.work);
        let is_held = may_be_held(inbox, id, (&key, cx.store.is_new(left.work)));
        // What was dealt or kept before is not to come behind what waits for a slot.
        let is_taken = slots::limit_now(cx, left.pwq).try_take().is_none();
        let waits = is_taken && !self.slots.offers(left.pwq);
        if is_held || waits {
            hit!(OthersRecalled);
            self.recall(cx, inbox, None);
        }
    }

    /// Whether a worker that went on has changed nothing of what was published, and the inbox is
    /// open for as long as need be known.
    pub(super) fn is_as_published(&self, cx: &Cx<S>, before: &Published) -> bool {
        let is_fresh = |open: Open| open.until.since(cx.now) > LATE - REFRESH;
        before.open.is_some_and(is_fresh)
            && cx.out.is_empty()
            && self.published(cx.now).tells_no_other(before)
    }

    /// What may be published after an event, the inbox opened or shut accordingly. The last act
    /// under the pool's lock.
    pub fn publish(&mut self, cx: &mut Cx<S>, inbox: &mut impl Inbox<S>) -> Published {
        let mut published = self.published(cx.now);
        if published.open.is_none() && (inbox.is_open() || inbox.is_out()) {
            inbox.shut();
            if inbox.is_out() {
                self.recall(cx, inbox, None);
                self.conclude(cx);
            }
            // Left in between, by somebody who has seen it open.
            hit!(InboxShutLate if inbox.has_any());
            self.take_in_left(cx, inbox, TURN);
            published = self.published(cx.now);
        }
        if let Some(open) = published.open {
            inbox.open(open);
        }
        // Who lets the pool go takes the rest in.
        published.backlog |= inbox.has_any() && published.open.is_none();
        published
    }
}
