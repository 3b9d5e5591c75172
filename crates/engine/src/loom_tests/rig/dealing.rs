//! A pool that deals to its worker: the engine's hand under the real core. Nothing is left in its
//! inbox, so what it deals was listed, or waited for a slot.

use std::num::NonZero;
use std::ptr::NonNull;
use std::sync::Mutex as Books;
use std::sync::atomic::AtomicBool as Book;
use std::sync::atomic::Ordering::SeqCst;

use cmwq_policy::contract::Machine;
use cmwq_policy::pool::{Dealer, Dealt, Ended, Inbox, Left, Open, Recalled, Step, goes_on_alone};
use cmwq_policy::work::WorkWord;
use cmwq_policy::{Cx, ItemReport, Published, Time, WorkerId, WorkerPool};
use loom::sync::atomic::AtomicBool;

use super::item::header;
use super::store::Items;
use super::{Pool, Rig, WORKER};
use crate::item::Header;
use crate::pool::hand::Hand;
use crate::queue::pwq::PwqRef;

/// Of a short item, after which its worker goes on by itself.
const SHORT: ItemReport = ItemReport {
    ran: Some(0),
    slept: None,
    waited: None,
    foreign: false,
    lingered: false,
};

pub(super) struct Dealing {
    hand: Hand,
    /// The hand is out, for whoever has not the pool: `Inbox::dealt`.
    dealt: AtomicBool,
    /// What the pool's lock guards: whether the hand is out, whether items may be left, and what
    /// was published last.
    out: Book,
    open: Book,
    published: Books<Published>,
}

impl Dealing {
    pub(super) fn new() -> Self {
        Dealing {
            hand: Hand::new(),
            dealt: AtomicBool::new(false),
            out: Book::new(false),
            open: Book::new(false),
            published: Books::default(),
        }
    }

    /// `Pool::run`: one hold of the pool.
    fn run<R>(
        &self,
        core: &mut WorkerPool<Items>,
        cx: &mut Cx<Items>,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>, &mut View) -> R,
    ) -> R {
        let mut inbox = View(self);
        let result = event(core, cx, &mut inbox);
        *self.published.lock().unwrap() = core.publish(cx, &mut inbox);
        let is_out = self.out.load(SeqCst);
        self.dealt.store(is_out, SeqCst);
        match is_out {
            true => core.check(),
            false => core.check_whole(cx.store),
        }
        result
    }

    /// `Pool::with`.
    pub(super) fn with<R>(
        &self,
        core: &mut WorkerPool<Items>,
        cx: &mut Cx<Items>,
        event: impl FnOnce(&mut WorkerPool<Items>, &mut Cx<Items>) -> R,
    ) -> R {
        self.run(core, cx, |core, cx, inbox| {
            core.recall(cx, inbox, None);
            event(core, cx)
        })
    }

    /// `Pool::worker_asks`.
    pub(super) fn worker_asks(
        &self,
        core: &mut WorkerPool<Items>,
        cx: &mut Cx<Items>,
        ended: bool,
    ) -> Step<NonNull<Header>, usize> {
        let before = *self.published.lock().unwrap();
        self.run(core, cx, |core, cx, inbox| match ended {
            true => core.ended_beside(cx, (inbox, &before), WORKER, SHORT).0,
            false => core.next_beside(cx, (inbox, &before), WORKER),
        })
    }
}

impl Rig {
    /// How many items the worker was dealt, which is the caller.
    pub(in crate::loom_tests) fn nr_dealt(&self, pool: u32) -> usize {
        let dealing = self.pools[pool as usize].dealing.as_ref();
        dealing.map_or(0, |dealing| dealing.hand.nr_dealt())
    }

    /// `Slot::go_on`: the worker begins the next item that it was dealt.
    pub(super) fn go_on(&self, pool: u32) -> Option<NonNull<Header>> {
        let dealing = self.pools[pool as usize].dealing.as_ref()?;
        let goes_on = goes_on_alone(&SHORT, &dealing.hand.dealer(), Time(0));
        let item = goes_on
            .then(|| dealing.hand.go_on(Ended::default()))
            .flatten()?;
        header(item.work).set_word(WorkWord::off_queue(pool));
        Some(item.work)
    }

    /// `Real::take_in`.
    pub(super) fn take_in_dealt(&self) -> bool {
        let is_out = |pool: &Pool| {
            let dealing = pool.dealing.as_ref();
            dealing.is_some_and(|dealing| dealing.dealt.load(SeqCst))
        };
        let found = (0..).zip(&self.pools).filter(|(_, pool)| is_out(pool));
        found.map(|(id, _)| self.with_pool(id, |_, _| ())).count() > 0
    }
}

/// The inbox as the pool sees it, whose lock is held.
struct View<'a>(&'a Dealing);

/// The engine's hands have pointers to pool workqueues, which they do not follow.
fn as_ref(to: Dealer<usize>) -> Dealer<PwqRef> {
    let addr = NonZero::new(to.pwq + 1).expect("it is not 0");
    to.with_pwq(NonNull::without_provenance(addr))
}

fn as_number(to: Dealer<PwqRef>) -> Dealer<usize> {
    to.with_pwq(to.pwq.addr().get() - 1)
}

impl Inbox<Items> for View<'_> {
    fn is_open(&self) -> bool {
        self.0.open.load(SeqCst)
    }

    fn open(&mut self, _: Open) {
        self.0.open.store(true, SeqCst);
    }

    fn shut(&mut self) {
        self.0.open.store(false, SeqCst);
    }

    fn has_any(&self) -> bool {
        false
    }

    fn nr_left(&self) -> usize {
        0
    }

    fn take(&mut self) -> Option<Left<NonNull<Header>, usize>> {
        None
    }

    fn deal(
        &mut self,
        to: Dealer<usize>,
        mut next: impl FnMut(&mut Self) -> Option<Dealt<NonNull<Header>>>,
    ) -> Option<usize> {
        self.0.out.store(true, SeqCst);
        Some(self.0.hand.deal(as_ref(to), || next(self)))
    }

    fn recall(
        &mut self,
        _: Option<WorkerId>,
        mut told: impl FnMut(&Dealer<usize>, Recalled<NonNull<Header>>),
    ) {
        if self.0.out.swap(false, SeqCst) {
            let hand = &self.0.hand;
            hand.recall(|dealer, what| told(&as_number(*dealer), what));
        }
    }

    fn is_out(&self) -> bool {
        self.0.out.load(SeqCst)
    }
}
