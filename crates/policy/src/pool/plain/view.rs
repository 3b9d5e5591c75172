//! The inbox as the pool sees it.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::super::dealt::{Dealer, Dealt, Recalled, Was};
use super::super::inbox::{Inbox, Left, MOST_SEARCHED, Open};
use super::{Hand, PlainInbox, Row};
use crate::store::{ItemKey, Store};
use crate::time::Time;
use crate::worker::WorkerId;

impl<S: Store> Inbox<S> for PlainInbox<S::Work, S::Pwq> {
    fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn open(&mut self, open: Open) {
        let known = self.open.map_or(Time(0), |open| open.until);
        let until = open.told(known);
        self.open = Some(Open { until, ..open });
    }

    fn shut(&mut self) {
        self.open = None;
    }

    fn has_any(&self) -> bool {
        !self.left.is_empty()
    }

    fn any_waits(&self) -> bool {
        let deals = |hand: &Hand<_, _>| !hand.rest.is_empty();
        !self.left.is_empty() || self.hands.iter().any(deals) || self.waits_in_row()
    }

    fn is_late(&self, now: Time) -> bool {
        self.hands.iter().any(|hand| now >= hand.dealer.until)
    }

    fn nr_left(&self) -> usize {
        self.left.len()
    }

    fn empty(&mut self) {
        if self.apart < self.left.len() {
            let of = |(tray, left): (usize, &mut u32)| u32::from(core::mem::take(left) > 0) << tray;
            let trays = self.trays.iter_mut().enumerate().map(of);
            self.emptied = (self.emptied.0 + 1, trays.sum());
        }
        self.apart = self.left.len();
    }

    fn take(&mut self) -> Option<Left<S::Work, S::Pwq>> {
        Inbox::<S>::first(self)?;
        self.apart -= 1;
        self.left.pop_front()
    }

    fn first(&mut self) -> Option<Left<S::Work, S::Pwq>> {
        if self.apart == 0 {
            Inbox::<S>::empty(self);
        }
        self.left.front().copied()
    }

    fn deal(
        &mut self,
        dealer: Dealer<S::Pwq>,
        next: impl FnMut(&mut Self) -> Option<Dealt<S::Work>>,
    ) -> Option<usize> {
        debug_assert!(self.hand(dealer.worker).is_none(), "it is recalled before");
        if self.most == 0 {
            return None;
        }
        let (rest, begun) = Default::default();
        self.hands.push(Hand {
            dealer,
            rest,
            begun,
            fills: false,
            lingers: false,
        });
        Some(Inbox::<S>::deal_more(self, dealer.worker, next))
    }

    fn deal_more(
        &mut self,
        to: WorkerId,
        mut next: impl FnMut(&mut Self) -> Option<Dealt<S::Work>>,
    ) -> usize {
        let Some(at) = self.hands.iter().position(|hand| hand.dealer.worker == to) else {
            return 0;
        };
        let room = self.most.saturating_sub(self.hands[at].begun.len());
        let dealt: VecDeque<_> = core::iter::from_fn(|| next(self)).take(room).collect();
        let more = dealt.len();
        self.moved += more as u64;
        self.hands[at].rest.extend(dealt);
        more
    }

    fn line_up(
        &mut self,
        pwq: S::Pwq,
        most: usize,
        mut next: impl FnMut(&mut Self) -> Option<Dealt<S::Work>>,
    ) -> usize {
        let of = self.hands.iter().find(|hand| hand.dealer.pwq == pwq);
        let Some(&dealer) = of.map(|hand| &hand.dealer) else {
            return 0;
        };
        let row = self.row.get_or_insert_with(|| Row::of(dealer));
        let room = most.saturating_sub(row.waiting());
        let more: Vec<_> = core::iter::from_fn(|| next(self)).take(room).collect();
        self.moved += more.len() as u64;
        let row = self.row.as_mut().expect("it is there");
        row.behind.extend(&more);
        self.rowed.1 += u64::from(!more.is_empty());
        more.len()
    }

    fn row(&self) -> Option<(S::Pwq, usize)> {
        let row = self.row.as_ref()?;
        Some((row.dealer.pwq, row.waiting()))
    }

    fn take_of_row(&mut self) -> Option<Dealt<S::Work>> {
        self.rowed.0 += 1;
        let row = self.row.as_mut()?;
        self.rowed.1 += u64::from(row.items.is_empty());
        let (first, _) = row.take()?;
        Some(first)
    }

    fn recall(
        &mut self,
        of: Option<WorkerId>,
        mut told: impl FnMut(&Dealer<S::Pwq>, Recalled<'_, S::Work>),
    ) {
        let is_recalled = |hand: &Hand<_, _>| of.is_none_or(|id| hand.dealer.worker == id);
        let (out, stay) = core::mem::take(&mut self.hands)
            .into_iter()
            .partition(is_recalled);
        self.hands = stay;
        let out: Vec<Hand<_, _>> = out;
        // The last one was dealt what came last.
        for hand in out.into_iter().rev() {
            let dealt = hand.begun.len() + hand.rest.len();
            self.moved += dealt as u64;
            let lingers = hand.lingers;
            told(&hand.dealer, Recalled::Hand { dealt, lingers });
            for (item, before) in &hand.begun {
                told(&hand.dealer, Recalled::Begun { item, before });
            }
            for item in hand.rest.into_iter().rev() {
                self.put_back(&hand.dealer, item);
                if item.was != Was::Left {
                    told(&hand.dealer, Recalled::Rest(item));
                }
            }
        }
        let is_left = !self.hands.iter().any(|hand| hand.dealer.in_row);
        let goes = |row: &mut Row<_, _>| of.is_none() || (is_left && row.waiting() == 0);
        if let Some(row) = self.row.take_if(goes) {
            let (dealer, mut items) = (row.dealer, row.items);
            items.extend(row.behind);
            self.moved += items.len() as u64;
            self.rowed.0 += u64::from(!items.is_empty());
            for item in items.into_iter().rev() {
                self.put_back(&dealer, item);
                told(&dealer, Recalled::InRow(item));
            }
        }
    }

    fn is_out(&self) -> bool {
        !self.hands.is_empty() || self.waits_in_row()
    }

    fn is_out_beside(&self, id: WorkerId) -> bool {
        self.hands.iter().any(|hand| hand.dealer.worker != id) || self.waits_in_row()
    }

    fn is_held_beside(&self, id: WorkerId, key: &ItemKey) -> bool {
        let mut others = self.hands.iter().filter(|hand| hand.dealer.worker != id);
        let has_it = |hand: &Hand<_, _>| {
            let begun = hand.begun.iter().map(|(item, _)| item);
            begun.chain(&hand.rest).any(|item| item.key == *key)
        };
        self.hands.len() > MOST_SEARCHED || others.any(has_it)
    }
}
