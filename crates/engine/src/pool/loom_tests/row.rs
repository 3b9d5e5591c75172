//! Two workers take items of the row while somebody recalls.

use std::ptr::NonNull;
use std::sync::Arc;

use cmwq_policy::pool::{Dealer, Dealt, Recalled, Was};
use cmwq_policy::{Time, WorkerId};
use loom::thread;

use super::super::hand::{Hand, Item};
use super::super::row::Row;
use super::{TABLE, ended, model};
use crate::item::Header;
use crate::sync::Mutex;

/// What was told under the pool's lock.
#[derive(Default)]
struct Told {
    /// Of each worker, what it has begun.
    begun: [Vec<usize>; 2],
    /// What is in nobody's hand.
    rest: Vec<usize>,
}

struct Rig {
    row: Row,
    hands: [Hand; 2],
    items: Vec<Box<Header>>,
    pool: Mutex<Told>,
}

// SAFETY: cells of hands and items are watched by loom.
unsafe impl Sync for Rig {}
// SAFETY: as above.
unsafe impl Send for Rig {}

impl Rig {
    /// Two workers in the row, and so many items, of which so many stand there.
    fn new(items: usize, in_row: usize) -> Arc<Rig> {
        let rig = Rig {
            row: Row::default(),
            hands: [Hand::new(), Hand::new()],
            items: (0..items).map(|_| Box::new(Header::new(&TABLE))).collect(),
            pool: Mutex::default(),
        };
        rig.line_up(0..in_row);
        for hand in &rig.hands {
            let to = Dealer {
                worker: WorkerId(7),
                pwq: NonNull::dangling(),
                told_from: 1000,
                until: Time(u64::MAX),
                more_until: Time(u64::MAX),
                alone: false,
                in_row: true,
            };
            hand.deal(to, || None);
        }
        Arc::new(rig)
    }

    fn line_up(&self, numbers: std::ops::Range<usize>) {
        let _told = self.pool.lock().unwrap();
        self.row
            .line_up(&mut numbers.map(|number| self.item(number)).collect());
    }

    fn item(&self, number: usize) -> Item {
        let header = &*self.items[number];
        Dealt {
            work: NonNull::from(header),
            key: header.key(),
            stamp: Default::default(),
            was: Was::Left,
            home: 0,
            far: false,
        }
    }

    fn number(&self, item: &Item) -> usize {
        let same = |header: &Box<Header>| std::ptr::eq(&raw const **header, item.work.as_ptr());
        self.items.iter().position(same).unwrap()
    }

    /// The worker goes on, so often at most: what it has begun.
    fn go_on(&self, worker: usize, most: u64) -> Vec<usize> {
        let hand = &self.hands[worker];
        let next = |time: u64| self.row.go_on(hand, ended(time));
        let begun = (1..=most).map_while(next);
        begun.map(|(item, _)| self.number(&item)).collect()
    }

    /// A worker asks: its own hand is recalled, and it takes the first one that is there.
    fn ask(&self, worker: usize) -> Option<usize> {
        let mut told = self.pool.lock().unwrap();
        self.recall_hand(&mut told, worker);
        let first = self.row.take().map(|item| self.number(&item));
        told.begun[worker].extend(first);
        first
    }

    fn recall(&self) {
        let mut told = self.pool.lock().unwrap();
        for worker in 0..2 {
            self.recall_hand(&mut told, worker);
        }
        let mut rest = Vec::new();
        self.row.recall(&mut rest);
        told.rest
            .extend(rest.iter().rev().map(|item| self.number(item)));
    }

    fn recall_hand(&self, told: &mut Told, worker: usize) {
        self.hands[worker].recall(|_, what| match what {
            Recalled::Begun { item, before } => {
                assert_eq!(before.at.0, before.ran, "its own step");
                told.begun[worker].push(self.number(item));
            }
            Recalled::Hand { .. } => {}
            Recalled::Rest(_) | Recalled::InRow(_) => unreachable!("it has none of its own"),
        });
    }

    /// After all: what was begun is known, each once, and older than what is given back.
    fn check(&self, begun: [Vec<usize>; 2]) {
        self.recall();
        let told = self.pool.lock().unwrap();
        assert_eq!(told.begun, begun, "each that is begun is told, in order");
        assert!(begun.iter().all(|own| own.is_sorted()));
        let mut all = begun.concat();
        all.sort_unstable();
        all.extend(told.rest.iter().rev());
        assert!(all.into_iter().eq(0..self.items.len()), "{begun:?}");
    }
}

#[test]
fn what_is_in_the_row_is_begun_by_one_or_given_back_in_order() {
    model(|| {
        let rig = Rig::new(3, 3);
        let (other, third) = (rig.clone(), rig.clone());
        let other = thread::spawn(move || other.go_on(1, 1));
        let third = thread::spawn(move || third.recall());
        let begun = rig.go_on(0, 2);
        let others = other.join().unwrap();
        third.join().unwrap();
        rig.check([begun, others]);
    });
}

#[test]
fn a_worker_that_asks_takes_the_first_in_the_row_beside_another_one() {
    model(|| {
        let rig = Rig::new(3, 3);
        let other = rig.clone();
        let other = thread::spawn(move || other.go_on(1, 2));
        let mut begun = rig.go_on(0, 1);
        begun.extend(rig.ask(0));
        let others = other.join().unwrap();
        rig.check([begun, others]);
    });
}

#[test]
fn what_is_lined_up_meanwhile_stands_behind_the_others() {
    model(|| {
        let rig = Rig::new(3, 1);
        let other = rig.clone();
        let other = thread::spawn(move || other.go_on(1, 2));
        rig.line_up(1..3);
        let begun = rig.go_on(0, 2);
        let others = other.join().unwrap();
        rig.check([begun, others]);
    });
}

#[test]
fn who_reads_that_nothing_waits_finds_all_counted_in_hands() {
    model(|| {
        let rig = Rig::new(3, 2);
        assert_eq!(rig.go_on(0, 1), [0], "one more is in front");
        rig.line_up(2..3);
        let other = rig.clone();
        let other = thread::spawn(move || other.go_on(1, 2));
        let told = rig.pool.lock().unwrap();
        if rig.row.waiting() == 0 {
            assert_eq!(rig.hands[1].nr_dealt(), 2);
        }
        drop(told);
        let others = other.join().unwrap();
        rig.check([vec![0], others]);
    });
}
