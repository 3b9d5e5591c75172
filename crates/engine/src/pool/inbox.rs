//! The inbox of a pool in memory: what it is for is in `cmwq_policy::pool::Inbox`.
//!
//! Each tray, and the word that says until when items may be left, is on a cache line of its own. A
//! tray is a stack of items, linked by their headers, with the number of them in its highest bits;
//! the pool takes all of them at once, turns them round, and brings those of several trays in
//! order. `until` is 0 while the inbox is shut. What was taken out and is not queued yet stands in
//! a [`Taken`].
//!
//! | who | does |
//! | --- | --- |
//! | leaves an item | reads `until`; pushes; reads `until` again: if it is 0, has the pool take in |
//! | shuts it, under the lock | `until` = 0; reads each tray: if an item is there, takes it in |
//!
//! So either the first sees that it was shut, or the second sees his item. If the inbox was shut
//! and opened again in between, he sees it open: then a worker runs that will take in.

use std::ptr::NonNull;

use cmwq_policy::pool::{
    Dealer, Dealt, Inbox as Policy, Left, MOST_SEARCHED, Open, Recalled, Was, is_stamped,
    is_too_late, left_at, looks_at_clock, told_behind,
};
use cmwq_policy::stats::Stamp;
use cmwq_policy::{ItemKey, Nanos, Published, Time, WorkerId};

use super::Slot;
use super::hand::{Hand, Item};
use super::row::{LinedUp, Row};
use super::taken::Taken;
use super::tray::{Tray, header};
use crate::item::Header;
use crate::queue::pwq::{Items, PwqRef};
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, SeqCst};

/// When items may be left. What else is on its line would go with it from CPU to CPU.
#[repr(align(128))]
struct Opening {
    /// 0 while the inbox is shut.
    until: AtomicU64,
    /// For so much longer, in nanoseconds, by the clock.
    grace: AtomicU64,
    /// Who leaves one behind so many others in his tray tells the pool. An old value does no harm.
    most: AtomicU32,
}

impl Opening {
    /// What is not as it was is written: others read it all the time.
    fn set(&self, open: Open, trays: usize) {
        let most = told_behind(open.most, trays);
        if self.most.load(SeqCst) != most {
            self.most.store(most, SeqCst);
        }
        if self.grace.load(SeqCst) != open.grace {
            self.grace.store(open.grace, SeqCst);
        }
        let known = Time(self.until.load(SeqCst));
        let told = open.told(known);
        if told != known {
            self.until.store(told.0, SeqCst);
        }
    }
}

/// See the module's page.
pub(crate) struct Inbox {
    /// By number, one at least.
    trays: Box<[Tray]>,
    opening: Opening,
    /// Items were taken out that are not queued yet, and hands are out. Written under the lock.
    rest: AtomicBool,
    dealt: AtomicBool,
}

/// What came of leaving an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leaves {
    /// It was left.
    Left,
    /// It was, behind so many others that the caller tells the pool.
    Crowded,
    /// It may not be left.
    Not,
}

/// Stands between a write to a tray, or to `until`, and the look at the other. All of them are
/// sequentially consistent, which is enough: in their one order one of the writes comes first. loom
/// takes such accesses for weaker than they are, and fences for what they are.
fn after_write() {
    #[cfg(loom)]
    crate::sync::fence(SeqCst);
}

impl Inbox {
    /// Of so many trays.
    pub(super) fn new(trays: usize) -> Self {
        Inbox {
            trays: (0..trays).map(|_| Tray::new()).collect(),
            opening: Opening {
                until: AtomicU64::new(0),
                grace: AtomicU64::new(0),
                most: AtomicU32::new(u32::MAX),
            },
            rest: AtomicBool::new(false),
            dealt: AtomicBool::new(false),
        }
    }

    /// Leaves an item in this tray. The caller owns it; it is of this pwq, and queued on this CPU.
    /// Where it may not be left nothing has happened. Else follow with [`is_open`](Self::is_open).
    /// By the clock it may be too late for outsiders only: who executes an item of the pool is
    /// about to have it take in.
    pub(crate) fn leave(
        &self,
        work: NonNull<Header>,
        pwq: PwqRef,
        (home, tray): (u32, usize),
        (clock, outside): (impl FnOnce() -> Time, bool),
    ) -> Leaves {
        let until = Time(self.opening.until.load(SeqCst));
        if until == Time(0) {
            return Leaves::Not;
        }
        let item = header(work);
        // The links of an owned item are its owner's.
        item.prev.set(Some(pwq.cast()));
        item.home.set(home);
        item.stamp.set(left_at(until).0);
        let tray = &self.trays[tray];
        let mut clock = Some(clock);
        let mut top = tray.top();
        loop {
            let before = top.number();
            let looks = outside && looks_at_clock(before);
            if (looks || is_stamped(self.trays.len()))
                && let Some(now) = clock.take().map(|clock| clock())
            {
                if looks && is_too_late(now, until, self.opening.grace.load(SeqCst)) {
                    return Leaves::Not;
                }
                item.stamp.set(Stamp::of(now).0);
            }
            match tray.push(work, top) {
                Ok(()) if before >= self.opening.most.load(SeqCst) => return Leaves::Crowded,
                Ok(()) => break,
                Err(other) => top = other,
            }
        }
        after_write();
        Leaves::Left
    }

    /// When an item was queued that may be left now and is [kept](super::hand::Hand::keep_own)
    /// instead.
    #[inline]
    pub(super) fn stamp(&self) -> Option<Stamp> {
        let until = Time(self.opening.until.load(SeqCst));
        (until != Time(0)).then(|| left_at(until))
    }

    /// Whether it is open.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.opening.until.load(SeqCst) != 0
    }

    /// Whether there is an item that is not queued, or may be. One may be dealt meanwhile.
    pub(crate) fn has_any(&self) -> bool {
        self.dealt.load(SeqCst) || self.has_rest() || self.dealt.load(SeqCst)
    }

    /// Whether there is one that was not dealt. In this order: who takes all out says so before.
    #[inline]
    pub(crate) fn has_rest(&self) -> bool {
        self.has_new() || self.rest.load(SeqCst)
    }

    fn has_new(&self) -> bool {
        self.trays.iter().any(|tray| tray.top().number() > 0)
    }
}

/// What an event has to see: items that were left before it began.
#[derive(Default)]
pub(crate) struct Before(Option<u64>);

/// The inbox as the pool sees it, whose lock is held.
pub(crate) struct View<'a> {
    pub(super) inbox: &'a Inbox,
    pub(super) taken: &'a mut Taken,
    /// The hands that are out, and whose.
    pub(super) out: &'a mut Vec<(WorkerId, &'static Hand)>,
    pub(super) row: &'a Row,
    pub(super) lined_up: &'a mut LinedUp,
    /// Of the worker that asks.
    pub(super) own: Option<&'static Slot>,
    /// What the pool has published.
    pub(super) published: Published,
    pub(super) now: Time,
    /// How long others had the pool before it was had.
    pub(super) waited: Nanos,
}

impl View<'_> {
    pub(crate) fn published(&self) -> Published {
        self.published
    }

    /// Whether everything is queued that was left before this was first asked.
    pub(crate) fn has_seen(&mut self, before: &mut Before) -> bool {
        let came = *before.0.get_or_insert_with(|| {
            self.empty();
            self.taken.came
        });
        self.taken.went >= came
    }

    /// How long the caller has waited for the pool, in nanoseconds.
    pub(crate) fn waited(&self) -> Nanos {
        self.waited
    }

    /// This worker asks.
    pub(crate) fn asked_by(&mut self, worker: &'static Slot) {
        self.own = Some(worker);
    }

    /// Whether something was dealt to the worker that asks, or it may have lined items up.
    pub(crate) fn has_dealt(&self) -> bool {
        let hand = self.own.and_then(Slot::hand);
        hand.is_some_and(|hand| hand.has_any() || hand.is_in_row())
    }

    /// The pool is about to be let go.
    pub(super) fn let_go(&mut self) {
        let rest = self.taken.ends.is_some();
        if rest {
            say(&self.inbox.rest, true);
        }
        // Whoever does not find an item in the one place finds it in the other.
        say(&self.inbox.dealt, Policy::<Items>::is_out(self));
        say(&self.inbox.rest, rest);
    }

    fn waits_in_row(&self) -> bool {
        self.lined_up.of.is_some() && self.row.waiting() > 0
    }

    /// The hands of others than this worker.
    fn others(&self, id: WorkerId) -> impl Iterator<Item = &'static Hand> {
        let others = self.out.iter().filter(move |(worker, _)| *worker != id);
        others.map(|(_, hand)| *hand)
    }
}

/// Others read it all the time: it is written if it changes.
fn say(flag: &AtomicBool, is: bool) {
    if flag.load(SeqCst) != is {
        flag.store(is, SeqCst);
    }
}

impl Policy<Items> for View<'_> {
    fn is_open(&self) -> bool {
        self.inbox.is_open()
    }

    fn open(&mut self, open: Open) {
        self.inbox.opening.set(open, self.inbox.trays.len());
    }

    fn shut(&mut self) {
        self.inbox.opening.until.store(0, SeqCst);
        after_write();
    }

    fn has_any(&self) -> bool {
        self.taken.ends.is_some() || self.inbox.has_new()
    }

    fn any_waits(&self) -> bool {
        let deals = || self.out.iter().any(|(_, hand)| hand.has_any());
        self.has_any() || deals() || self.waits_in_row()
    }

    fn is_late(&self, now: Time) -> bool {
        let late = |(_, hand): &(WorkerId, &'static Hand)| now >= hand.dealer().until;
        self.out.iter().any(late)
    }

    fn nr_left(&self) -> usize {
        let trays = self.inbox.trays.iter();
        let new = trays.map(|tray| tray.top().number() as usize);
        (self.taken.came - self.taken.went) as usize + new.sum::<usize>()
    }

    fn empty(&mut self) {
        if self.inbox.has_new() {
            say(&self.inbox.rest, true);
            self.taken.empty(&self.inbox.trays, self.now);
        }
    }

    fn take(&mut self) -> Option<Left<NonNull<Header>, PwqRef>> {
        if self.taken.ends.is_none() {
            self.empty();
        }
        self.taken.pop()
    }

    fn first(&mut self) -> Option<Left<NonNull<Header>, PwqRef>> {
        if self.taken.ends.is_none() {
            self.empty();
        }
        self.taken.first()
    }

    fn deal(
        &mut self,
        to: Dealer<PwqRef>,
        mut next: impl FnMut(&mut Self) -> Option<Dealt<NonNull<Header>>>,
    ) -> Option<usize> {
        let hand = self.own.and_then(Slot::hand)?;
        let dealt = hand.deal(to, || next(self));
        self.out.push((to.worker, hand));
        Some(dealt)
    }

    fn deal_more(
        &mut self,
        to: WorkerId,
        mut next: impl FnMut(&mut Self) -> Option<Dealt<NonNull<Header>>>,
    ) -> usize {
        let mut out = self.out.iter().copied();
        let own = out.find(|(worker, _)| *worker == to);
        own.map_or(0, |(_, hand)| hand.deal_more(|| next(self)))
    }

    fn line_up(
        &mut self,
        pwq: PwqRef,
        most: usize,
        mut next: impl FnMut(&mut Self) -> Option<Item>,
    ) -> usize {
        let own = self.out.iter().map(|(_, hand)| hand.dealer());
        let dealer = || own.rev().find(|dealer| dealer.pwq == pwq);
        self.lined_up.of = self.lined_up.of.or_else(dealer);
        if self.lined_up.of.is_none() {
            return 0;
        }
        let room = most.saturating_sub(self.row.waiting());
        let mut items = std::mem::take(&mut self.lined_up.items);
        items.extend(std::iter::from_fn(|| next(self)).take(room));
        let more = items.len();
        if more > 0 {
            self.row.line_up(&mut items);
        }
        self.lined_up.items = items;
        more
    }

    fn row(&self) -> Option<(PwqRef, usize)> {
        let of = self.lined_up.of.as_ref()?;
        Some((of.pwq, self.row.waiting()))
    }

    fn take_of_row(&mut self) -> Option<Item> {
        self.lined_up.of.as_ref().and_then(|_| self.row.take())
    }

    fn recall(
        &mut self,
        of: Option<WorkerId>,
        mut told: impl FnMut(&Dealer<PwqRef>, Recalled<'_, NonNull<Header>>),
    ) {
        // The last one was dealt what came last.
        for at in (0..self.out.len()).rev() {
            let (worker, hand) = self.out[at];
            if of.is_some_and(|id| id != worker) {
                continue;
            }
            self.out.remove(at);
            hand.recall(|dealer, what| match what {
                Recalled::Rest(item) if item.was == Was::Left => {
                    self.taken.put_back(item.work, dealer.pwq);
                }
                what => told(dealer, what),
            });
        }
        let is_left = || !self.out.iter().any(|(_, hand)| hand.dealer().in_row);
        let goes = of.is_none() || (self.row.waiting() == 0 && is_left());
        if let Some(dealer) = self.lined_up.of.take_if(|_| goes) {
            let mut items = std::mem::take(&mut self.lined_up.items);
            self.row.recall(&mut items);
            for item in items.drain(..).rev() {
                if item.was == Was::Left {
                    self.taken.put_back(item.work, dealer.pwq);
                }
                told(&dealer, Recalled::InRow(item));
            }
            self.lined_up.items = items;
        }
    }

    fn is_out(&self) -> bool {
        !self.out.is_empty() || self.waits_in_row()
    }

    fn is_out_beside(&self, id: WorkerId) -> bool {
        self.others(id).next().is_some() || self.waits_in_row()
    }

    fn is_held_beside(&self, id: WorkerId, key: &ItemKey) -> bool {
        self.out.len() > MOST_SEARCHED || self.others(id).any(|hand| hand.has(key))
    }
}
