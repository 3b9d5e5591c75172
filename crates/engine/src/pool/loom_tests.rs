//! Items that are left without the pool's lock while the pool shuts its inbox, tried in every order
//! that the memory model allows. Run with
//! `RUSTFLAGS="--cfg loom" cargo test --release -p cmwq-engine --lib loom`.
//!
//! What the pool queues is noted in a list. The models fail if `leave` or `shut` lacks its fence
//! (`after_write`), if who leaves an item does not look whether the inbox is open, and if the pool
//! does not look into it after it was shut.

mod row;

use std::ptr::NonNull;
use std::sync::Arc;

use cmwq_policy::pool::{Dealer, Dealt as InHand, Ended, Inbox as _, Left, Open, Recalled, Was};
use cmwq_policy::{ItemReport, Time, WorkerId};
use loom::thread;

use super::hand::Hand;
use super::inbox::{Before, Inbox, Leaves, View};
use super::row::{LinedUp, Row};
use super::taken::Taken;
use crate::item::{Header, Vtable};
use crate::queue::pwq::PwqRef;
use crate::sync::Mutex;

static TABLE: Vtable = Vtable {
    run: |_| (),
    count: |_, _| (),
    name: |_| "item",
};

/// The worker has ended an item then, which it was at for as long.
fn ended(time: u64) -> Ended {
    Ended {
        at: Time(time),
        ran: time,
        lingered: false,
    }
}

fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(4);
    builder.max_branches = 10_000;
    builder.check(run);
}

/// Of an inbox with one tray, and with two.
fn models(run: impl Fn(usize) + Copy + Sync + Send + 'static) {
    [1, 2].map(|trays| model(move || run(trays)));
}

/// A pool in small. Items are left in turns in each of its trays.
struct Rig {
    inbox: Inbox,
    trays: usize,
    under_lock: Mutex<(Taken, Vec<usize>)>,
    items: Vec<Box<Header>>,
}

// SAFETY: links and cells of items are watched by loom.
unsafe impl Sync for Rig {}
// SAFETY: as above.
unsafe impl Send for Rig {}

impl Rig {
    /// With an open inbox and so many items.
    fn new(trays: usize, items: usize) -> Arc<Rig> {
        let rig = Rig {
            inbox: Inbox::new(trays),
            trays,
            under_lock: Mutex::new(Default::default()),
            items: (0..items).map(|_| Box::new(Header::new(&TABLE))).collect(),
        };
        rig.locked(|view, _| {
            view.open(Open {
                grace: 0,
                until: Time(100),
                most: u32::MAX,
            })
        });
        Arc::new(rig)
    }

    /// One hold of the pool's lock.
    fn locked<R>(&self, act: impl FnOnce(&mut View, &mut Vec<usize>) -> R) -> R {
        let mut guard = self.under_lock.lock().unwrap();
        let (taken, queued) = &mut *guard;
        let mut view = View {
            inbox: &self.inbox,
            taken,
            out: &mut Vec::new(),
            row: &Row::default(),
            lined_up: &mut LinedUp::default(),
            own: None,
            published: Default::default(),
            now: Time(50),
            waited: 0,
        };
        let result = act(&mut view, queued);
        view.let_go();
        result
    }

    fn number(&self, left: &Left<NonNull<Header>, PwqRef>) -> usize {
        let same = |item: &Box<Header>| std::ptr::eq(&raw const **item, left.work.as_ptr());
        self.items.iter().position(same).unwrap()
    }

    fn take_all(&self, view: &mut View, queued: &mut Vec<usize>) {
        while let Some(left) = view.take() {
            queued.push(self.number(&left));
        }
    }

    /// `Real::leave`, and by the lock where that is not possible.
    fn queue(&self, item: usize) {
        let work = NonNull::from(&*self.items[item]);
        match self.inbox.leave(
            work,
            NonNull::dangling(),
            (0, item % self.trays),
            (|| Time(50), true),
        ) {
            Leaves::Not => self.locked(|view, queued| {
                self.take_all(view, queued);
                queued.push(item);
            }),
            _ if self.inbox.is_open() => {}
            _ => self.locked(|view, queued| self.take_all(view, queued)),
        }
    }

    /// A worker goes idle: it takes what there is, and shuts the inbox (`WorkerPool::publish`).
    fn go_idle(&self) {
        self.locked(|view, queued| {
            self.take_all(view, queued);
            view.shut();
            self.take_all(view, queued);
        });
    }

    fn queued(&self) -> Vec<usize> {
        self.under_lock.lock().unwrap().1.clone()
    }
}

#[test]
fn nothing_is_left_in_an_inbox_that_was_shut() {
    models(|trays| {
        let rig = Rig::new(trays, 2);
        let others: Vec<_> = (0..2)
            .map(|item| {
                let rig = rig.clone();
                thread::spawn(move || rig.queue(item))
            })
            .collect();
        rig.go_idle();
        others.into_iter().for_each(|other| other.join().unwrap());
        let mut queued = rig.queued();
        queued.sort_unstable();
        assert_eq!(queued, [0, 1]);
    });
}

#[test]
fn what_one_thread_leaves_in_one_tray_comes_in_order() {
    model(|| {
        let rig = Rig::new(1, 3);
        let other = rig.clone();
        let other = thread::spawn(move || (0..3).for_each(|item| other.queue(item)));
        // A worker that goes on takes one at a time.
        rig.locked(|view, queued| {
            if let Some(left) = view.take() {
                queued.push(rig.number(&left));
            }
        });
        rig.go_idle();
        other.join().unwrap();
        assert_eq!(rig.queued(), [0, 1, 2]);
    });
}

#[test]
fn an_event_sees_what_its_caller_has_left() {
    models(|trays| {
        let rig = Rig::new(trays, 2);
        let other = rig.clone();
        let other = thread::spawn(move || other.queue(1));
        rig.queue(0);
        let mut before = Before::default();
        rig.locked(|view, queued| {
            while !view.has_seen(&mut before) {
                queued.push(rig.number(&view.take().unwrap()));
            }
            assert!(queued.contains(&0));
        });
        rig.go_idle();
        other.join().unwrap();
        assert_eq!(rig.queued().len(), 2);
    });
}

/// A worker's hand, three items, and what is known of them under the pool's lock.
struct Dealt {
    hand: Hand,
    items: Vec<Box<Header>>,
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    /// The hand is out.
    out: bool,
    /// What was told to be begun, and what not.
    begun: Vec<usize>,
    rest: Vec<usize>,
}

// SAFETY: links and cells of items are watched by loom.
unsafe impl Sync for Dealt {}
// SAFETY: as above.
unsafe impl Send for Dealt {}

impl Dealt {
    fn new() -> Arc<Dealt> {
        let make = |_| Box::new(Header::new(&TABLE));
        Arc::new(Dealt {
            hand: Hand::new(),
            items: (0..3).map(make).collect(),
            told: Mutex::default(),
        })
    }

    fn number(&self, work: NonNull<Header>) -> usize {
        let same = |item: &Box<Header>| std::ptr::eq(&raw const **item, work.as_ptr());
        self.items.iter().position(same).unwrap()
    }

    fn item(&self, number: usize) -> InHand<NonNull<Header>> {
        let header = &*self.items[number];
        InHand {
            work: NonNull::from(header),
            key: header.key(),
            stamp: Default::default(),
            was: Was::Left,
            home: 0,
            far: false,
        }
    }

    /// The worker asks, holding the pool, and is dealt these.
    fn deal(&self, mut numbers: std::ops::Range<usize>) {
        let mut told = self.told.lock().unwrap();
        self.recall_held(&mut told);
        let to = Dealer {
            worker: WorkerId(7),
            pwq: NonNull::dangling(),
            told_from: 1000,
            until: Time(u64::MAX),
            more_until: Time(u64::MAX),
            alone: true,
            in_row: false,
        };
        let next = || numbers.next().map(|number| self.item(number));
        self.hand.deal(to, next);
        told.out = true;
    }

    /// The worker has begun what it was dealt, and is dealt this one more, if nobody has recalled.
    fn deal_more(&self, number: usize) -> bool {
        let told = self.told.lock().unwrap();
        let mut item = Some(self.item(number)).filter(|_| told.out);
        told.out
            && self.hand.wants_more(Time(0), || true)
            && self.hand.deal_more(|| item.take()) == 1
    }

    /// The worker goes on as long as it can: what it has begun.
    fn go_on(&self) -> Vec<usize> {
        let next = |time: u64| self.hand.go_on(ended(time));
        let begun = (1..).map_while(next);
        begun.map(|item| self.number(item.work)).collect()
    }

    fn recall(&self) {
        let mut told = self.told.lock().unwrap();
        self.recall_held(&mut told);
    }

    fn recall_held(&self, told: &mut Told) {
        if !std::mem::take(&mut told.out) {
            return;
        }
        self.hand.recall(|_, what| match what {
            Recalled::Hand { .. } => {}
            Recalled::Begun { item, before } => {
                assert_eq!(before.at.0, before.ran, "its own step");
                told.begun.push(self.number(item.work));
            }
            Recalled::Rest(item) | Recalled::InRow(item) => {
                told.rest.push(self.number(item.work));
            }
        });
    }

    /// After all: each was begun and told so, in order, or given back.
    fn check(&self, begun: &[usize]) {
        self.recall();
        let told = self.told.lock().unwrap();
        assert_eq!(told.begun, begun, "each that is begun is told, in order");
        let mut all = [begun, &told.rest].concat();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2], "each is begun or given back");
    }
}

#[test]
fn what_was_dealt_is_begun_and_told_or_given_back() {
    model(|| {
        let dealt = Dealt::new();
        dealt.deal(0..2);
        let other = dealt.clone();
        let other = thread::spawn(move || other.recall());
        let mut begun = dealt.go_on();
        // It asks, and is dealt the third one; the other may not have come yet.
        dealt.deal(2..3);
        begun.extend(dealt.go_on());
        other.join().unwrap();
        dealt.check(&begun);
    });
}

#[test]
fn another_worker_that_asks_finds_what_was_dealt_whether_it_is_begun_or_not() {
    model(|| {
        let dealt = Dealt::new();
        dealt.deal(0..2);
        let other = dealt.clone();
        let other = thread::spawn(move || {
            let _told = other.told.lock().unwrap();
            let has = |number: usize| other.hand.has(&other.items[number].key());
            assert_eq!([has(0), has(1), has(2)], [true, true, false]);
        });
        let begun = dealt.go_on();
        other.join().unwrap();
        dealt.deal(2..3);
        dealt.check(&[begun, dealt.go_on()].concat());
    });
}

/// The worker begins an item, and then two more that it comes to have in this way, or else is
/// dealt, while another thread recalls.
fn begin_more(has_more: impl Fn(&Dealt, usize) -> bool + Send + Sync + 'static) {
    model(move || {
        let dealt = Dealt::new();
        dealt.deal(0..1);
        let other = dealt.clone();
        let other = thread::spawn(move || other.recall());
        let mut begun = dealt.go_on();
        for number in 1..3 {
            if !has_more(&dealt, number) {
                dealt.deal(number..number + 1);
            }
            begun.extend(dealt.go_on());
        }
        other.join().unwrap();
        dealt.check(&begun);
    });
}

#[test]
fn what_an_item_queues_is_kept_or_left_and_begun_once() {
    begin_more(|dealt, number| dealt.hand.keep_own(dealt.item(number), || false));
}

#[test]
fn what_is_dealt_on_top_is_begun_and_told_or_given_back() {
    begin_more(Dealt::deal_more);
}

#[test]
fn a_hand_that_is_recalled_while_its_worker_lingers_keeps_nothing() {
    begin_more(|dealt, number| {
        let report = ItemReport {
            ran: Some(0),
            ..ItemReport::default()
        };
        if dealt.hand.linger(Time(0), &report, || false).is_some() {
            dealt.hand.lingers_no_more();
        }
        dealt.hand.keep_own(dealt.item(number), || false)
    });
}
