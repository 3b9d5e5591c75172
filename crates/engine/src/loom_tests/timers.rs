//! Items with a timer: arm, disarm and expire, against the sleep of the tick's thread
//! (`../signals/README.md`).
//!
//! Of time there are two kinds: what is due `SOON` is due whenever the thread looks; a sleep until
//! later than that counts as one that never ends. So an arming that it does not notice is a
//! deadlock.

use std::sync::Arc;

use cmwq_policy::Nanos;
use cmwq_policy::contract::{self, Machine};
use loom::thread::{self, JoinHandle};

use super::rig::{Item, Made, Rig, SOON};
use super::{bounded, model};

/// The model is over when an item of the second has expired.
const QUEUES: &[Made] = &[Made::managed(&[0]), Made::managed(&[0])];
const LAST: usize = 1;

/// Delays until something that is due, and until something that is not in the time of a model.
const SHORT: Nanos = 10;
const LATER: Nanos = 20;
const LONG: Nanos = 1_000_000;

/// The tick's thread, of which only the timers are left: `Ticker::run`, `Ticker::sleep`.
fn ticker(rig: &Arc<Rig>) -> JoinHandle<()> {
    let rig = rig.clone();
    thread::spawn(move || {
        while !expires(&rig) {
            let next = rig.with_timers(|timers| timers.next());
            if next.is_none_or(|next| next > SOON) {
                rig.tick.park(None);
            }
        }
    })
}

/// Queues the items whose time has come; true if one of them was the last.
fn expires(rig: &Rig) -> bool {
    let mut over = false;
    let mut expire = || {
        contract::expire(rig, SOON, |queue| {
            over |= queue == LAST;
            Ok(())
        })
    };
    while expire() {}
    over
}

/// A thread that looks once at the timers.
fn glance(rig: &Arc<Rig>) -> JoinHandle<bool> {
    let rig = rig.clone();
    thread::spawn(move || expires(&rig))
}

fn arm(rig: &Rig, queue: usize, item: &Item, delay: Nanos) -> bool {
    contract::queue_delayed(rig, queue, None, item.work(), delay).is_ok()
}

fn modify(rig: &Rig, queue: usize, item: &Item, delay: Nanos) -> bool {
    contract::mod_delayed(rig, queue, None, item.work(), delay) == Some(true)
}

/// The thread goes to sleep, until much later, while an item is armed that is due soon.
///
/// Fails if `timer_armed` does not wake it, or asks before the item is armed.
#[test]
fn it_does_not_sleep_through_an_arming() {
    model(|| {
        let (rig, far, item) = (Rig::new(1, QUEUES), Item::plain(), Item::plain());
        assert!(arm(&rig, 0, &far, LONG));
        let ticker = ticker(&rig);
        assert!(arm(&rig, LAST, &item, SHORT));
        ticker.join().unwrap();
        assert!(rig.cancel(&far));
        rig.end([]);
        assert_eq!((item.runs(), far.runs()), (1, 0));
    });
}

/// The earlier of two that are armed is cancelled, before who armed it has looked whether it is the
/// first: it was, and the other one relied on it.
///
/// Fails if `timer_armed` wakes the thread only where the first expiry is the caller's own.
#[test]
fn the_first_of_two_is_cancelled() {
    bounded(3, || {
        let (rig, first, second) = (Rig::new(1, QUEUES), Item::plain(), Item::plain());
        let ticker = ticker(&rig);
        let (rig2, first2) = (rig.clone(), first.clone());
        let armer = thread::spawn(move || assert!(arm(&rig2, LAST, &first2, LATER)));
        let (rig3, second3) = (rig.clone(), second.clone());
        let sooner = thread::spawn(move || assert!(arm(&rig3, 0, &second3, SHORT)));
        let cancelled = u32::from(rig.cancel(&second));
        for thread in [ticker, armer, sooner] {
            thread.join().unwrap();
        }
        let cancelled = cancelled + u32::from(rig.cancel(&second));
        rig.end([]);
        assert_eq!((first.runs(), second.runs() + cancelled), (1, 1));
    });
}

/// An item that is armed for much later is brought forward.
///
/// Fails if arming it anew wakes nobody.
#[test]
fn an_item_is_brought_forward() {
    model(|| {
        let (rig, item) = (Rig::new(1, QUEUES), Item::plain());
        assert!(arm(&rig, 0, &item, LONG));
        let ticker = ticker(&rig);
        assert!(modify(&rig, LAST, &item, SHORT), "it was armed");
        ticker.join().unwrap();
        rig.end([]);
        assert_eq!(item.runs(), 1);
    });
}

/// An item expires while it is cancelled.
///
/// Fails if who has lost an item to another, in the timers, goes on all the same.
#[test]
fn it_is_cancelled_while_it_expires() {
    model(|| {
        let (rig, item) = (Rig::new(1, QUEUES), Item::plain());
        assert!(arm(&rig, 0, &item, SHORT));
        let glance = glance(&rig);
        let cancelled = u32::from(rig.cancel(&item));
        glance.join().unwrap();
        rig.end([]);
        assert_eq!(item.runs() + cancelled, 1);
    });
}

/// An item expires while its time is changed: before that, or after it, or while it runs.
///
/// Fails as the one above.
#[test]
fn it_is_put_off_while_it_expires() {
    model(|| {
        let (rig, item) = (Rig::new(1, QUEUES), Item::plain());
        assert!(arm(&rig, 0, &item, SHORT));
        let worker = rig.worker(0);
        let glance = glance(&rig);
        let armed = 1 + u32::from(!modify(&rig, 0, &item, LONG));
        glance.join().unwrap();
        let cancelled = u32::from(rig.cancel(&item));
        rig.end([worker]);
        assert_eq!(cancelled, 1, "it was armed for much later");
        assert_eq!(item.runs() + cancelled, armed);
    });
}

/// One thread changes the time of an armed item, another cancels it.
///
/// Fails as the ones above.
#[test]
fn it_is_put_off_while_it_is_cancelled() {
    model(|| {
        let (rig, item) = (Rig::new(1, QUEUES), Item::plain());
        assert!(arm(&rig, 0, &item, LONG));
        let (rig2, item2) = (rig.clone(), item.clone());
        let other = thread::spawn(move || u32::from(!modify(&rig2, 0, &item2, LONG)));
        let cancelled = u32::from(rig.cancel(&item));
        let armed = 1 + other.join().unwrap();
        let cancelled = cancelled + u32::from(rig.cancel(&item));
        rig.end([]);
        assert_eq!((item.runs(), cancelled), (0, armed));
    });
}

/// An armed item is disabled while it expires: it does not run or begin to after that, nor is it
/// armed.
///
/// Fails if `flush_item` does not find who executes it.
#[test]
fn it_is_disabled_while_it_expires() {
    model(|| {
        let (rig, item) = (Rig::new(1, QUEUES), Item::plain());
        assert!(arm(&rig, 0, &item, SHORT));
        let worker = rig.worker(0);
        let glance = glance(&rig);
        let cancelled = u32::from(rig.disable_sync(&item));
        item.use_body();
        assert!(!arm(&rig, 0, &item, SHORT), "it is disabled");
        assert!(contract::enable(&*rig, item.work()).enabled);
        glance.join().unwrap();
        rig.end([worker]);
        assert_eq!(item.runs() + cancelled, 1);
    });
}

/// A queue takes its timers back while one of them expires.
///
/// Fails if a timer does not give up its queue.
#[test]
fn a_queue_is_destroyed_while_one_expires() {
    model(|| {
        let rig = Rig::new(1, QUEUES);
        let items = [Item::plain(), Item::plain()];
        assert!(arm(&rig, 0, &items[0], SHORT));
        assert!(arm(&rig, 0, &items[1], LONG));
        let glance = glance(&rig);
        let disarmed = contract::cancel_timers(&*rig, 0);
        glance.join().unwrap();
        rig.end([]);
        assert_eq!(items[0].runs() as usize + disarmed, 2);
        assert_eq!(items[1].runs(), 0);
    });
}

/// `flush_now` of an item that expires at this moment: it is queued, by one of them, and waited
/// for.
///
/// Fails if `flush_item` does not wait while the item is on its way from the timers to its pool.
#[test]
fn it_is_flushed_while_it_expires() {
    model(|| {
        let (rig, item) = (Rig::new(1, QUEUES), Item::plain());
        assert!(arm(&rig, 0, &item, SHORT));
        let worker = rig.worker(0);
        let glance = glance(&rig);
        let flush = |barrier| contract::flush_delayed(&*rig, item.work(), barrier, |_| Ok(()));
        rig.wait_barrier(flush);
        assert_eq!(item.runs(), 1, "it was armed, and was not waited for");
        glance.join().unwrap();
        rig.end([worker]);
    });
}
