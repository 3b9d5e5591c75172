//! Where threads sleep, and workers that go idle while items come: `../pool/README.md`.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::atomic::Ordering::Relaxed;
use loom::sync::atomic::{AtomicBool, AtomicU32};
use loom::thread;

use super::model;
use super::rig::{Item, Made, Rig};
use crate::park::Parker;
use crate::wait::latch::Latch;

/// No wake is lost, and who takes one sees what its giver stored.
///
/// Fails if a wake is left only for who sleeps already.
#[test]
fn every_unpark_is_noticed() {
    model(|| {
        let parker = Arc::new(<Parker>::default());
        let news = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
        let givers = [0, 1].map(|i| {
            let (parker, news) = (parker.clone(), news.clone());
            thread::spawn(move || {
                // Relaxed: the wake has to carry it over.
                news[i].store(true, Relaxed);
                parker.unpark();
            })
        });
        // Relaxed: as above.
        while !news.iter().all(|one| one.load(Relaxed)) {
            parker.park(None);
        }
        givers.into_iter().for_each(|giver| giver.join().unwrap());
    });
}

/// A wake-up that comes late, after its wake was taken, ends no later sleep for good.
///
/// Fails as the one above.
#[test]
fn a_wake_is_for_one_sleep() {
    model(|| {
        let parker = Arc::new(<Parker>::default());
        let round = Arc::new(AtomicU32::new(0));
        let (giver, count) = (parker.clone(), round.clone());
        let giver = thread::spawn(move || {
            for _ in 0..2 {
                // Relaxed: the wake has to carry it over.
                count.fetch_add(1, Relaxed);
                giver.unpark();
            }
        });
        for reached in 1..=2 {
            // Relaxed: as above.
            while round.load(Relaxed) < reached {
                parker.park(None);
            }
        }
        giver.join().unwrap();
    });
}

struct Shared {
    latch: Latch,
    value: UnsafeCell<u32>,
}

// SAFETY: loom watches the cell.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

/// The waiter wakes, and the value is its own then; loom watches the latch's own cell as well.
///
/// Fails if the waiter writes itself down over a latch that was set meanwhile.
#[test]
fn what_is_set_is_noticed_and_seen() {
    model(|| {
        let shared = Arc::new(Shared {
            latch: Latch::new(),
            value: UnsafeCell::new(0),
        });
        let setting = shared.clone();
        let setter = thread::spawn(move || {
            // SAFETY: the latch is not set, so the value is the setter's.
            setting.value.with_mut(|value| unsafe { *value = 7 });
            setting.latch.set();
        });
        if !shared.latch.is_set() {
            shared.latch.announce();
        }
        while !shared.latch.is_set() {
            thread::park();
        }
        // SAFETY: the latch is set, so the value is the waiter's.
        assert_eq!(shared.value.with(|value| unsafe { *value }), 7);
        setter.join().unwrap();
    });
}

/// Two threads queue items while the worker ends one and looks whether to go idle.
///
/// Fails if the pool asks whether it needs a worker before the item is in its list.
#[test]
fn it_does_not_go_idle_beside_an_item() {
    model(|| {
        let rig = Rig::new(1, &[Made::managed(&[0])]);
        let items = [Item::plain(), Item::plain(), Item::plain()];
        assert!(rig.queue(0, 0, &items[0]));
        let worker = rig.worker(0);
        let (rig2, other) = (rig.clone(), items[1].clone());
        let queuer = thread::spawn(move || assert!(rig2.queue(0, 0, &other)));
        assert!(rig.queue(0, 0, &items[2]));
        queuer.join().unwrap();
        rig.end([worker]);
        assert!(items.iter().all(|item| item.runs() == 1));
    });
}
