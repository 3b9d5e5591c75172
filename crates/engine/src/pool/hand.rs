//! What a worker was dealt: what for is in `cmwq_policy::pool`'s `deal.rs`.
//!
//! A worker that was ever dealt anything has a hand; several may be out at a time. One word of each
//! says whether it is *out*, how many items were dealt, how many of them are begun, and whether the
//! worker lingers for more; it is 0 while the hand is not out.
//!
//! | who | does |
//! | --- | --- |
//! | deals, or deals more: the worker itself, holding the pool | writes the items; stores the word |
//! | keeps what its item queues: the worker, without the pool | writes the item; counts one more dealt |
//! | goes on: the worker, without the pool | notes its step; counts one more begun |
//! | lingers: the worker, without the pool | says so in the word, and takes it back when that is over |
//! | takes an item of the [row](super::row): the worker, holding that | writes the item and its step; counts one more dealt and begun |
//! | recalls: anybody, holding the pool | swaps the word for 0; reads the steps, and the rest |
//! | looks for an item: anybody, holding the pool | reads what was dealt |
//!
//! Items and steps are written by the worker alone. Without the pool it counts them with a
//! compare-exchange. If that succeeds nobody has recalled, and nobody else counts or deals: so the
//! item is its own, or dealt, and whoever recalls later finds it counted, with its step. If it
//! fails the worker has nothing any more: it asks the pool, or leaves the item in the inbox. Who
//! recalls reads only steps that are counted, which the worker has left behind, and only items that
//! were dealt.

use std::ptr::NonNull;

use cmwq_policy::pool::{
    Dealer, Dealt, Ended, MOST_DEALT, Recalled, keeps_own, may_linger, tells, wants_more,
};
use cmwq_policy::{ItemKey, ItemReport, Time, WorkerId};

use crate::item::Header;
use crate::queue::pwq::PwqRef;
use crate::sync::{AtomicBool, AtomicU32, Relaxed, SeqCst, UnsafeCell};

/// In the word: how many are begun, above that how many were dealt, and above that whether it is
/// out, though nothing was, and whether the worker lingers.
const DEALT_SHIFT: u32 = 8;
const NUMBER: u32 = (1 << DEALT_SHIFT) - 1;
const OUT: u32 = 1 << (2 * DEALT_SHIFT);
const LINGERS: u32 = OUT << 1;

const _: () = assert!(MOST_DEALT <= NUMBER as usize);

pub(crate) type Item = Dealt<NonNull<Header>>;

/// See the module's page.
pub(crate) struct Hand {
    word: AtomicU32,
    dealer: UnsafeCell<Dealer<PwqRef>>,
    items: [UnsafeCell<Option<Item>>; MOST_DEALT],
    /// When each item began, and what the one before it was like.
    steps: [UnsafeCell<Ended>; MOST_DEALT],
    /// The worker was the first to see that the row is to be filled up. Nobody else reads it.
    fills: AtomicBool,
}

// SAFETY: the cells are the worker's, or belong to who holds the pool, as the module's page says;
// items may be sent between threads.
unsafe impl Sync for Hand {}
// SAFETY: as above.
unsafe impl Send for Hand {}

/// How many were dealt, and how many of them are begun.
#[inline]
fn read(word: u32) -> (usize, usize) {
    (
        (word >> DEALT_SHIFT & NUMBER) as usize,
        (word & NUMBER) as usize,
    )
}

impl Hand {
    pub(crate) fn new() -> Self {
        let nobody = Dealer {
            worker: WorkerId(0),
            pwq: NonNull::dangling(),
            told_from: 0,
            until: Time(0),
            more_until: Time(0),
            alone: false,
            in_row: false,
        };
        Hand {
            word: AtomicU32::new(0),
            dealer: UnsafeCell::new(nobody),
            items: std::array::from_fn(|_| UnsafeCell::new(None)),
            steps: std::array::from_fn(|_| UnsafeCell::new(Default::default())),
            fills: AtomicBool::new(false),
        }
    }

    /// Whether something was dealt that is not begun.
    pub(super) fn has_any(&self) -> bool {
        let (dealt, begun) = read(self.word.load(SeqCst));
        begun < dealt
    }

    /// Whether it is out, and its worker, which is the caller, is to be dealt [more](wants_more)
    /// then.
    #[inline]
    pub(super) fn wants_more(&self, at: Time, waits: impl FnOnce() -> bool) -> bool {
        let word = self.word.load(SeqCst);
        let (dealt, begun) = read(word);
        // Whether items wait is read from lines that others write: last.
        let wants = || wants_more(&self.dealer(), at, dealt, begun, true);
        word & OUT != 0 && wants() && waits()
    }

    /// Its worker, which is the caller and has ended this item then, lingers from now on, if it
    /// [may](may_linger) where others wait or not: until when.
    #[inline]
    pub(super) fn linger(
        &self,
        at: Time,
        report: &ItemReport,
        waits: impl FnOnce() -> bool,
    ) -> Option<Time> {
        let word = self.word.load(SeqCst);
        let until = may_linger(&self.dealer(), (at, report), read(word), false);
        // Whether items wait is read from lines that others write: last.
        let until = until.filter(|_| word & OUT != 0 && !waits())?;
        let lingers = self
            .word
            .compare_exchange(word, word | LINGERS, SeqCst, SeqCst);
        lingers.is_ok().then_some(until)
    }

    /// Whether nobody has recalled it since the worker, which is the caller, lingers.
    pub(crate) fn lingers(&self) -> bool {
        self.word.load(SeqCst) & LINGERS != 0
    }

    /// The worker does not linger any more.
    pub(crate) fn lingers_no_more(&self) {
        self.word.fetch_and(!LINGERS, SeqCst);
    }

    /// How many were dealt. The caller is the worker.
    pub(crate) fn nr_dealt(&self) -> usize {
        read(self.word.load(SeqCst)).0
    }

    /// Whether this is among the items that were dealt, begun or not. The caller holds the pool,
    /// and the hand is out.
    pub(super) fn has(&self, key: &ItemKey) -> bool {
        (0..self.nr_dealt()).any(|at| self.item(at).key == *key)
    }

    /// An item that was dealt. The caller is the worker, or holds the pool.
    #[inline]
    fn item(&self, at: usize) -> Item {
        // SAFETY: written by the worker before it was counted.
        let item = self.items[at].with(|item| unsafe { *item });
        item.expect("it was dealt")
    }

    /// Deals what `next` gives to the worker whose hand it is, which is the caller and holds the
    /// pool. The hand is not out before. How many it were.
    pub(crate) fn deal(&self, to: Dealer<PwqRef>, next: impl FnMut() -> Option<Item>) -> usize {
        // SAFETY: it is not out: only who holds the pool is here, and the worker is the caller.
        self.dealer.with_mut(|dealer| unsafe { *dealer = to });
        self.word.store(OUT, SeqCst);
        self.note_fills(false);
        self.deal_more(next)
    }

    /// The same for a hand that is out, and of which all is begun.
    pub(super) fn deal_more(&self, mut next: impl FnMut() -> Option<Item>) -> usize {
        let word = self.word.load(SeqCst);
        let (before, _) = read(word);
        let mut dealt = before;
        while dealt < MOST_DEALT
            && let Some(item) = next()
        {
            // SAFETY: it is not dealt yet: only the worker is here, which is the caller.
            self.items[dealt].with_mut(|cell| unsafe { *cell = Some(item) });
            dealt += 1;
        }
        let more = dealt - before;
        self.word
            .store(word + ((more as u32) << DEALT_SHIFT), SeqCst);
        more
    }

    /// The worker's item, which is the caller, has queued this one, of the pool workqueue of what
    /// was dealt. Whether the hand [keeps it](keeps_own), where others wait or not: then it is
    /// dealt.
    #[inline]
    pub(super) fn keep_own(&self, item: Item, waits: impl FnOnce() -> bool) -> bool {
        let word = self.word.load(SeqCst);
        let (dealt, begun) = read(word);
        let is_next = || keeps_own(&self.dealer(), dealt, begun, false);
        if word & OUT == 0 || !is_next() || waits() {
            return false;
        }
        // SAFETY: it is not dealt yet, so nobody else is here.
        self.items[dealt].with_mut(|cell| unsafe { *cell = Some(item) });
        let next = word + (1 << DEALT_SHIFT);
        self.word
            .compare_exchange(word, next, SeqCst, SeqCst)
            .is_ok()
    }

    /// An item that was begun, and what its worker has noted of the one before. The caller holds
    /// the pool, and has taken the hand in.
    fn with_begun(&self, number: usize, told: impl FnOnce(&Item, &Ended)) {
        self.steps[number].with(|before| {
            self.items[number].with(|item| {
                // SAFETY: both are counted, and the worker does not come back to them.
                let (item, before) = unsafe { ((*item).as_ref(), &*before) };
                told(item.expect("it was dealt"), before);
            });
        });
    }

    /// To whom it was dealt last. The caller is that worker, or holds the pool.
    #[inline]
    pub(crate) fn dealer(&self) -> Dealer<PwqRef> {
        // SAFETY: written by the worker alone, holding the pool.
        self.dealer.with(|dealer| unsafe { *dealer })
    }

    /// The worker, whose hand it is, has ended an item, and goes on to the next one that it was
    /// dealt. `None`: it has none.
    #[inline]
    pub(crate) fn go_on(&self, ended: Ended) -> Option<Item> {
        let word = self.word.load(SeqCst);
        let (dealt, begun) = read(word);
        if begun >= dealt {
            return None;
        }
        // SAFETY: it is not counted yet, so the worker is the only one here.
        self.steps[begun].with_mut(|cell| unsafe { *cell = ended });
        self.word
            .compare_exchange(word, word + 1, SeqCst, SeqCst)
            .ok()?;
        Some(self.item(begun))
    }

    /// Whether it is out for items of the row.
    pub(super) fn is_in_row(&self) -> bool {
        self.word.load(SeqCst) & OUT != 0 && self.dealer().in_row
    }

    /// The worker is the first to see that the row is to be filled up, or tells.
    pub(super) fn note_fills(&self, fills: bool) {
        // Relaxed: it is a note of the worker to itself.
        self.fills.store(fills, Relaxed);
    }

    /// Whether the worker, which has ended an item then, [tells](tells) what it has taken of the
    /// row.
    pub(super) fn tells(&self, at: Time) -> bool {
        // Relaxed: as above.
        let (taken, fills) = (self.nr_dealt(), self.fills.load(Relaxed));
        tells(&self.dealer(), at, taken, fills)
    }

    /// The worker, whose hand it is, and to which nothing was dealt, has ended an item, and goes on
    /// to this one. False: the hand is not out any more.
    pub(super) fn take(&self, item: Item, ended: Ended) -> bool {
        let word = self.word.load(SeqCst);
        let (dealt, begun) = read(word);
        if word & OUT == 0 || begun < dealt || dealt == MOST_DEALT {
            return false;
        }
        // SAFETY: neither is counted yet, so the worker is the only one here.
        self.items[dealt].with_mut(|cell| unsafe { *cell = Some(item) });
        // SAFETY: as above.
        self.steps[dealt].with_mut(|cell| unsafe { *cell = ended });
        let next = word + (1 << DEALT_SHIFT) + 1;
        self.word
            .compare_exchange(word, next, SeqCst, SeqCst)
            .is_ok()
    }

    /// Tells how many were dealt, of each item that the worker has begun, then of those that it has
    /// not, the last one first. The caller holds the pool.
    pub(crate) fn recall(
        &self,
        mut told: impl FnMut(&Dealer<PwqRef>, Recalled<'_, NonNull<Header>>),
    ) {
        let word = self.word.swap(0, SeqCst);
        let ((dealt, done), lingers) = (read(word), word & LINGERS != 0);
        let dealer = self.dealer();
        told(&dealer, Recalled::Hand { dealt, lingers });
        for number in 0..done {
            // Lent, as a copy of both for each item is a part of what an item costs.
            self.with_begun(number, |item, before| {
                told(&dealer, Recalled::Begun { item, before });
            });
        }
        for number in (done..dealt).rev() {
            told(&dealer, Recalled::Rest(self.item(number)));
        }
    }
}
