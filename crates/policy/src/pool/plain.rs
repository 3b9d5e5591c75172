//! An inbox for the simulator, and for tests: there is one thread, so it needs no protocol.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::dealt::{self, Dealer, Dealt, MOST_DEALT, Recalled};
use super::inbox::{Inbox, Left, looks_at_clock};
use crate::store::Store;
use crate::time::{Nanos, Time};
use crate::worker::WorkerId;

/// The inbox, and what one worker was dealt.
#[derive(Debug)]
pub struct PlainInbox<W, P> {
    until: Option<Time>,
    left: VecDeque<Left<W, P>>,
    hand: Option<Hand<W, P>>,
    /// So many are dealt at a time.
    most: usize,
}

#[derive(Debug)]
struct Hand<W, P> {
    dealer: Dealer<P>,
    /// Those that the worker has not begun.
    rest: VecDeque<Dealt<W>>,
    /// What it has done.
    begun: Vec<Recalled<W>>,
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
            until: None,
            left: VecDeque::new(),
            hand: None,
            most,
        }
    }

    /// Until when items may be left; `None`: it is shut.
    pub fn until(&self) -> Option<Time> {
        self.until
    }

    /// How many lie there.
    pub fn nr_left(&self) -> usize {
        self.left.len()
    }

    /// How many a worker was dealt, of which the pool has not heard since.
    pub fn nr_dealt(&self) -> usize {
        let hand = self.hand.as_ref();
        hand.map_or(0, |hand| hand.rest.len() + hand.begun.len())
    }

    /// Those that a worker was dealt and has not begun, in order.
    pub fn not_begun(&self) -> impl ExactSizeIterator<Item = &Dealt<W>> {
        let none = const { &VecDeque::new() };
        self.hand.as_ref().map_or(none, |hand| &hand.rest).iter()
    }

    /// Whether a worker has done something that its pool has not heard of.
    pub fn has_news(&self) -> bool {
        let hand = self.hand.as_ref();
        hand.is_some_and(|hand| !hand.begun.is_empty())
    }

    /// Whether there is an item in it, or a worker was dealt some.
    pub fn has_left(&self) -> bool {
        !self.left.is_empty() || self.has_news() || self.not_begun().len() > 0
    }

    /// Whether there is an item in it, or may soon be.
    pub fn has_backlog(&self) -> bool {
        self.until.is_some() || self.has_left()
    }

    /// An item lies there from now on, though it be shut.
    pub fn put(&mut self, left: Left<W, P>) {
        self.left.push_back(left);
    }
}

impl<W: Copy + PartialEq, P: Copy> PlainInbox<W, P> {
    /// Leaves an item, if that may be.
    pub fn leave(&mut self, left: Left<W, P>, now: Time) -> bool {
        let Some(until) = self.until else {
            return false;
        };
        let is_late = looks_at_clock(self.left.len() as u32) && now >= until;
        if !is_late {
            self.put(left);
        }
        !is_late
    }

    /// The hand of this worker, if it is to be dealt [more](dealt::wants_more).
    pub fn wants_more(&self, id: WorkerId) -> Option<Dealer<P>> {
        let hand = self.hand.as_ref().filter(|hand| hand.dealer.worker == id)?;
        let begun = hand.begun.len();
        let wants = dealt::wants_more(begun + hand.rest.len(), begun, !self.left.is_empty());
        wants.then_some(hand.dealer)
    }

    /// Through which pool workqueue this item was left.
    pub fn left_for(&self, work: W) -> Option<P> {
        let left = self.left.iter().find(|left| left.work == work);
        let is_dealt = || self.not_begun().any(|dealt| dealt.work == work);
        let hand = self.hand.as_ref().filter(|_| is_dealt());
        left.map(|left| left.pwq)
            .or_else(|| hand.map(|hand| hand.dealer.pwq))
    }

    /// The worker has ended an item then, which took so long, and goes on to the next one that it
    /// was dealt, if it was.
    pub fn go_on(&mut self, id: WorkerId, at: Time, ran: Nanos) -> Option<(W, P)> {
        let hand = self.hand.as_mut().filter(|hand| hand.dealer.worker == id)?;
        let item = hand.rest.pop_front()?;
        hand.begun.push(Recalled::Begun { item, at, ran });
        Some((item.work, hand.dealer.pwq))
    }
}

impl<S: Store> Inbox<S> for PlainInbox<S::Work, S::Pwq> {
    fn is_open(&self) -> bool {
        self.until.is_some()
    }

    fn open(&mut self, until: Time) {
        self.until = Some(until);
    }

    fn shut(&mut self) {
        self.until = None;
    }

    fn has_any(&self) -> bool {
        !self.left.is_empty()
    }

    fn take(&mut self) -> Option<Left<S::Work, S::Pwq>> {
        self.left.pop_front()
    }

    fn first(&mut self) -> Option<Left<S::Work, S::Pwq>> {
        self.left.front().copied()
    }

    fn deal(
        &mut self,
        dealer: Dealer<S::Pwq>,
        next: impl FnMut(&mut Self) -> Option<Dealt<S::Work>>,
    ) -> usize {
        debug_assert!(self.hand.is_none(), "one hand at a time");
        if self.most == 0 {
            return 0;
        }
        let (rest, begun) = Default::default();
        self.hand = Some(Hand {
            dealer,
            rest,
            begun,
        });
        Inbox::<S>::deal_more(self, next)
    }

    fn deal_more(&mut self, mut next: impl FnMut(&mut Self) -> Option<Dealt<S::Work>>) -> usize {
        let Some(mut hand) = self.hand.take() else {
            return 0;
        };
        let room = self.most.saturating_sub(hand.begun.len());
        let dealt = core::iter::from_fn(|| next(self));
        hand.rest.extend(dealt.take(room));
        let dealt = hand.rest.len();
        self.hand = Some(hand);
        dealt
    }

    fn recall(&mut self, mut told: impl FnMut(Dealer<S::Pwq>, Recalled<S::Work>)) {
        let Some(hand) = self.hand.take() else {
            return;
        };
        hand.begun.iter().for_each(|&step| told(hand.dealer, step));
        for item in hand.rest.into_iter().rev() {
            match item.listed {
                Some(_) => told(hand.dealer, Recalled::Rest(item)),
                None => self.left.push_front(Left {
                    work: item.work,
                    pwq: hand.dealer.pwq,
                    home: 0,
                    stamp: item.stamp,
                }),
            }
        }
    }
}
