//! One worker serves brief items, and what is not brief gets others.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc;
use std::time::Duration;

use cmwq::Work;

use crate::common::{eventually, queue};

/// So many that one worker is thought to be enough.
const MANY: usize = 2_000;
/// A stack for a few calls one inside the other, and not for one for each of many items.
const SMALL: usize = 64 * 1024;

/// An item that waits, unseen by cmwq, for the one behind it: nobody queues anything after them.
#[test]
fn what_a_brief_item_waits_for_begins() {
    let queue = queue("brief");
    for _ in 0..20 {
        let brief: Vec<_> = (0..MANY).map(|_| queue.spawn(|| ())).collect();
        let (tell, told) = mpsc::channel();
        let waits = queue.spawn(move || told.recv().unwrap());
        let tells = queue.spawn(move || tell.send(()).unwrap());
        eventually("both end", || waits.is_finished() && tells.is_finished());
        for item in brief {
            item.join().unwrap();
        }
    }
}

/// The same from within: the one that queues them all is long, and serves nobody.
#[test]
fn brief_items_of_an_item_that_waits_for_them_begin() {
    let queue = queue("brief");
    let own = queue.clone();
    let all = queue.spawn(move || {
        let (tell, told) = mpsc::channel();
        for _ in 0..10 * MANY {
            let tell = tell.clone();
            drop(own.spawn(move || tell.send(()).unwrap()));
        }
        told.iter().take(10 * MANY).count()
    });
    assert_eq!(all.join().unwrap(), 10 * MANY);
}

/// Threads leave items faster than the worker takes them, until that one stays away for a moment:
/// all that lie there go to the pool then, in bounded stack.
#[test]
fn many_that_were_left_are_taken_in_when_the_worker_stays_away() {
    const LEFT: usize = 100_000;
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    let queue = queue("brief");
    let brief = || {
        Work::new(|| {
            if ENDED.fetch_add(1, SeqCst) % (LEFT / 2) == LEFT / 8 {
                std::thread::sleep(Duration::from_millis(1));
            }
        })
    };
    let all: [Vec<_>; 2] = std::array::from_fn(|_| (0..LEFT).map(|_| brief()).collect());
    for round in 1..=5 {
        std::thread::scope(|scope| {
            for half in &all {
                let leaves = || {
                    half.iter()
                        .for_each(|work| assert_eq!(queue.queue(work), Ok(true)))
                };
                let small = std::thread::Builder::new().stack_size(SMALL);
                small.spawn_scoped(scope, leaves).unwrap();
            }
        });
        queue.flush().unwrap();
        assert_eq!(ENDED.load(SeqCst), round * 2 * LEFT);
    }
}
