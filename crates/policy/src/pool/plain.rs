//! An inbox for the simulator, and for tests: there is one thread, so it needs no protocol.

mod view;

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::dealt::{
    self, Dealer, Dealt, Ended, MOST_DEALT, Was, goes_on_alone, is_low, keeps_own, low_mark,
    may_linger, tells,
};
use super::inbox::{Left, Open, is_too_late, looks_at_clock, told_behind};
use crate::sampling::ItemReport;
use crate::store::ItemKey;
use crate::time::Time;
use crate::worker::WorkerId;

/// The inbox, and what workers were dealt.
#[derive(Debug)]
pub struct PlainInbox<W, P> {
    open: Option<Open>,
    left: VecDeque<Left<W, P>>,
    /// The first so many lie apart.
    apart: usize,
    /// How many of the others were left in each tray.
    trays: Vec<u32>,
    /// How often some were laid apart, and out of which trays the last time, a bit each.
    emptied: (u64, u32),
    hands: Vec<Hand<W, P>>,
    row: Option<Row<W, P>>,
    /// How often the pool has used the front of the row so far, and anybody what is behind.
    rowed: (u64, u64),
    /// So many are dealt at a time.
    most: usize,
    /// How often an item was dealt or recalled so far.
    moved: u64,
}

#[derive(Debug)]
struct Hand<W, P> {
    dealer: Dealer<P>,
    /// Those that the worker has not begun.
    rest: VecDeque<Dealt<W>>,
    /// Those that it has.
    begun: Vec<(Dealt<W>, Ended)>,
    /// See [`tells`].
    fills: bool,
    /// See [`may_linger`].
    lingers: bool,
}

/// See [`line_up`](super::Inbox::line_up).
#[derive(Debug)]
struct Row<W, P> {
    dealer: Dealer<P>,
    items: VecDeque<Dealt<W>>,
    /// Those that were lined up behind them since.
    behind: VecDeque<Dealt<W>>,
    /// See [`low_mark`].
    low: usize,
}

impl<W, P> Row<W, P> {
    fn of(dealer: Dealer<P>) -> Self {
        Row {
            dealer,
            items: VecDeque::new(),
            behind: VecDeque::new(),
            low: 0,
        }
    }

    fn waiting(&self) -> usize {
        self.items.len() + self.behind.len()
    }

    /// Takes the first one. Whether it is to be filled up.
    fn take(&mut self) -> Option<(Dealt<W>, bool)> {
        if self.items.is_empty() {
            core::mem::swap(&mut self.items, &mut self.behind);
            self.low = low_mark(self.items.len());
        }
        let first = self.items.pop_front()?;
        let behind = !self.behind.is_empty();
        let fills = is_low(self.items.len(), &mut self.low, || behind);
        Some((first, fills))
    }
}

impl<W, P> Default for PlainInbox<W, P> {
    fn default() -> Self {
        PlainInbox::dealing(MOST_DEALT)
    }
}

impl<W, P> PlainInbox<W, P> {
    /// One from which at most so many items are dealt at a time; 0: never any.
    pub fn dealing(most: usize) -> Self {
        PlainInbox {
            open: None,
            left: VecDeque::new(),
            apart: 0,
            trays: vec![0],
            emptied: (0, 0),
            hands: Vec::new(),
            row: None,
            rowed: (0, 0),
            most,
            moved: 0,
        }
    }

    /// The same with so many trays. Here they are only counted: what lies in them is in order.
    #[must_use]
    pub fn with_trays(mut self, trays: usize) -> Self {
        self.trays = vec![0; trays];
        self
    }

    /// When items may be left; `None`: it is shut.
    pub fn opening(&self) -> Option<Open> {
        self.open
    }

    fn hand(&self, id: WorkerId) -> Option<&Hand<W, P>> {
        self.hands.iter().find(|hand| hand.dealer.worker == id)
    }

    /// How many lie there.
    pub fn nr_left(&self) -> usize {
        self.left.len()
    }

    /// How often items were laid apart so far, and out of which trays the last time, a bit each:
    /// what other threads use is touched for that.
    pub fn emptied(&self) -> (u64, u32) {
        self.emptied
    }

    /// How often an item was dealt or recalled so far, whether it was begun or not.
    pub fn nr_moved(&self) -> u64 {
        self.moved
    }

    /// How often the pool itself has used the front of the row so far, and anybody what is behind.
    pub fn rowed(&self) -> (u64, u64) {
        self.rowed
    }

    /// Those that workers were dealt and have not begun, of each worker in order.
    pub fn not_begun(&self) -> impl Iterator<Item = &Dealt<W>> {
        let in_row = self
            .row
            .iter()
            .flat_map(|row| row.items.iter().chain(&row.behind));
        self.hands.iter().flat_map(|hand| &hand.rest).chain(in_row)
    }

    fn waits_in_row(&self) -> bool {
        self.row.as_ref().is_some_and(|row| row.waiting() > 0)
    }

    /// Whether this worker takes its items of the row.
    pub fn is_in_row(&self, id: WorkerId) -> bool {
        self.hand(id).is_some_and(|hand| hand.dealer.in_row)
    }

    /// Whether the worker, which has ended an item then, [tells the pool](tells) before it takes
    /// the next one of the row.
    pub fn tells(&self, id: WorkerId, at: Time) -> bool {
        let in_row = self.hand(id).filter(|hand| hand.dealer.in_row);
        let fills = |hand: &Hand<W, P>| hand.fills || !self.waits_in_row();
        in_row.is_some_and(|hand| tells(&hand.dealer, at, hand.begun.len(), fills(hand)))
    }

    /// How many this worker was dealt and has not begun.
    pub fn not_begun_by(&self, id: WorkerId) -> usize {
        self.hand(id).map_or(0, |hand| hand.rest.len())
    }

    /// Whether there is an item that this worker goes on to if it may.
    pub fn has_for(&self, id: WorkerId) -> bool {
        match self.is_in_row(id) {
            true => self.waits_in_row(),
            false => self.not_begun_by(id) > 0,
        }
    }

    /// How many workers' hands are out.
    pub fn nr_out(&self) -> usize {
        self.hands.len()
    }

    /// Whether a worker has done something that its pool has not heard of.
    pub fn has_news(&self) -> bool {
        self.hands.iter().any(|hand| !hand.begun.is_empty())
    }

    /// Whether there is an item in it, or a worker was dealt some.
    pub fn has_left(&self) -> bool {
        !self.left.is_empty() || self.has_news() || self.not_begun().next().is_some()
    }

    /// Whether there is an item in it, or may soon be.
    pub fn has_backlog(&self) -> bool {
        self.open.is_some() || self.has_left()
    }

    /// An item lies there from now on, though it be shut.
    pub fn put(&mut self, left: Left<W, P>) {
        self.put_in(left, 0);
    }

    /// It was left, and is not dealt any more.
    fn put_back(&mut self, dealer: &Dealer<P>, item: Dealt<W>)
    where
        P: Copy,
    {
        if item.was == Was::Left {
            self.apart += 1;
            self.left.push_front(Left {
                work: item.work,
                pwq: dealer.pwq,
                home: item.home,
                stamp: item.stamp,
            });
        }
    }

    fn put_in(&mut self, left: Left<W, P>, tray: usize) {
        self.left.push_back(left);
        self.trays[tray] += 1;
    }
}

impl<W: Copy + PartialEq, P: Copy> PlainInbox<W, P> {
    /// Leaves an item in this tray, if that may be. `Some(true)`: behind so many others that the
    /// pool is to be told.
    pub fn leave(&mut self, left: Left<W, P>, tray: usize, now: Time) -> Option<bool> {
        let (open, before) = (self.open?, self.trays[tray]);
        let is_late = looks_at_clock(before) && is_too_late(now, open.until, open.grace);
        (!is_late).then(|| self.put_in(left, tray))?;
        Some(before >= told_behind(open.most, self.trays.len()))
    }

    /// The hand of this worker, if it is to be dealt [more](dealt::wants_more) then, and how many
    /// it was.
    pub fn wants_more(&self, id: WorkerId, at: Time) -> Option<(Dealer<P>, usize)> {
        let hand = self.hand(id)?;
        let begun = hand.begun.len();
        let (dealt, waits) = (begun + hand.rest.len(), !self.left.is_empty());
        let wants = dealt::wants_more(&hand.dealer, at, dealt, begun, waits);
        wants.then_some((hand.dealer, begun))
    }

    /// The worker's item has queued this one, which nobody else executes: it [stays
    /// there](keeps_own) if it is the next.
    pub fn keep_own(&mut self, id: WorkerId, left: &Left<W, P>, key: ItemKey) -> bool
    where
        P: PartialEq,
    {
        let waits = !self.left.is_empty();
        let mut hands = self.hands.iter_mut();
        let Some(hand) = hands.find(|hand| hand.dealer.worker == id) else {
            return false;
        };
        let begun = hand.begun.len();
        let dealt = begun + hand.rest.len();
        let keeps = hand.dealer.pwq == left.pwq && keeps_own(&hand.dealer, dealt, begun, waits);
        if keeps {
            hand.rest.push_back(Dealt {
                work: left.work,
                key,
                stamp: left.stamp,
                was: Was::Left,
                home: left.home,
                far: false,
            });
        }
        keeps
    }

    /// Through which pool workqueue this item was left.
    pub fn left_for(&self, work: W) -> Option<P> {
        let left = self.left.iter().find(|left| left.work == work);
        let has_it = |hand: &&Hand<W, P>| hand.rest.iter().any(|dealt| dealt.work == work);
        let dealt = || self.hands.iter().find(has_it).map(|hand| hand.dealer.pwq);
        let is_in = |row: &&Row<W, P>| {
            row.items
                .iter()
                .chain(&row.behind)
                .any(|dealt| dealt.work == work)
        };
        let in_row = || self.row.as_ref().filter(is_in).map(|row| row.dealer.pwq);
        left.map(|left| left.pwq).or_else(dealt).or_else(in_row)
    }

    /// Whether the worker, whose item has ended then, may [go on](Self::go_on).
    pub fn goes_on(&self, id: WorkerId, at: Time, report: &ItemReport) -> bool {
        let may = |hand: &Hand<W, P>| goes_on_alone(report, &hand.dealer, at);
        self.hand(id).is_some_and(may)
    }

    /// The worker, which has ended this item then, lingers if it may. Whether it does.
    pub fn linger(&mut self, id: WorkerId, at: Time, report: &ItemReport) -> bool {
        let waits = !self.left.is_empty();
        let mut hands = self.hands.iter_mut();
        let Some(hand) = hands.find(|hand| hand.dealer.worker == id) else {
            return false;
        };
        let (begun, rest) = (hand.begun.len(), hand.rest.len());
        let until = may_linger(&hand.dealer, (at, report), (begun + rest, begun), waits);
        hand.lingers = until.is_some();
        hand.lingers
    }

    /// The worker has ended an item then, of which that is reported, and goes on to the next one
    /// that it was dealt, if it was, or that is first in the row.
    pub fn go_on(&mut self, id: WorkerId, at: Time, report: &ItemReport) -> Option<(W, P)> {
        let ran = report.ran.filter(|_| self.goes_on(id, at, report));
        let mut hands = self.hands.iter_mut();
        let hand = hands.find(|hand| hand.dealer.worker == id)?;
        hand.lingers = false;
        let ran = ran?;
        let item = match hand.dealer.in_row {
            true => {
                let row = self.row.as_mut()?;
                self.rowed.1 += u64::from(row.items.is_empty());
                let (item, fills) = row.take()?;
                hand.fills |= fills;
                item
            }
            false => hand.rest.pop_front()?,
        };
        let lingered = report.lingered;
        hand.begun.push((item, Ended { at, ran, lingered }));
        Some((item.work, hand.dealer.pwq))
    }
}
