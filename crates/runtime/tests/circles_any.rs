//! Items that wait for whichever of several ends first, and for jobs: a circle is told here, too.

mod common;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::Duration;

use cmwq::{Job, Work, Workqueue};
use common::alone::alone;
use common::watchdog;

/// How an item has another queue call this, and waits for it; whether it was told that this never
/// ends.
type Waits = fn(&Workqueue, Arc<dyn Fn() + Send + Sync>) -> bool;

const WAYS: [(&str, Waits); 4] = [
    ("for_each", |queue, inner| {
        queue.for_each(0..2, |_| inner()).is_err()
    }),
    ("map_unordered", |queue, inner| {
        let mut all = queue.map_unordered(0..2, move |_| inner());
        std::iter::from_fn(|| all.try_next()).any(|result| result.is_err())
    }),
    ("select", |queue, inner| {
        let mut handles = [queue.spawn(move || inner())];
        cmwq::select(&mut handles).is_err()
    }),
    ("select of two", |queue, inner| {
        let again = inner.clone();
        let mut handles = [queue.spawn(move || inner()), queue.spawn(move || again())];
        cmwq::select(&mut handles).is_err()
    }),
];

/// Queues that share a pool, and queues of two pools.
fn pairs() -> [(Workqueue, Workqueue); 2] {
    let queue = |nice| Workqueue::builder("q").nice(nice).build().unwrap();
    [(queue(0), queue(0)), (queue(0), queue(3))]
}

#[test]
fn who_waits_for_any_of_several_that_wait_for_its_item_is_told() {
    let _watchdog = watchdog();
    for (name, waits) in WAYS {
        for (queue, other) in pairs() {
            let told = Arc::new(AtomicUsize::new(0));
            let count = told.clone();
            let work = Work::with_data((), move |work: &Work| {
                let (work, inner) = (work.clone(), count.clone());
                let flush = move || {
                    let refused = work.flush().is_err();
                    inner.fetch_add(usize::from(refused), SeqCst);
                };
                let refused = waits(&other, Arc::new(flush));
                count.fetch_add(usize::from(refused), SeqCst);
            });
            queue.queue(&work).unwrap();
            work.flush().unwrap();
            queue.drain().unwrap();
            assert!(told.load(SeqCst) > 0, "{name}");
        }
    }
}

#[test]
fn one_that_ends_is_enough() {
    let _watchdog = watchdog();
    for (queue, other) in pairs() {
        let ends = queue.spawn(move || {
            let slow = || thread::sleep(Duration::from_millis(20));
            let mut handles = [other.spawn(slow), other.spawn(slow)];
            let selected = cmwq::select(&mut handles).is_ok();
            let all = other.for_each(0..40, |_| slow()).is_ok();
            let sum: usize = other.map_unordered(0..40, |n| n).sum();
            (selected, all, sum)
        });
        assert_eq!(ends.join().unwrap(), (true, true, 780));
    }
}

#[test]
fn an_ordered_queue_that_is_waited_for_in_its_own_item_is_told() {
    let _watchdog = watchdog();
    for (name, waits) in WAYS {
        let ordered = Workqueue::builder("o").ordered().build().unwrap();
        let own = ordered.clone();
        let told = Arc::new(AtomicUsize::new(0));
        let count = told.clone();
        let item = ordered.spawn(move || {
            let inner_count = count.clone();
            let inner = move || {
                let refused = own.spawn(|| ()).join().is_err();
                inner_count.fetch_add(usize::from(refused), SeqCst);
            };
            let refused = waits(cmwq::system(), Arc::new(inner));
            count.fetch_add(usize::from(refused), SeqCst);
        });
        item.join().unwrap();
        ordered.drain().unwrap();
        assert!(told.load(SeqCst) > 0, "{name}");
    }
}

#[test]
fn the_only_threads_of_two_pools_are_told_too() {
    alone("the_only_threads_of_two_pools_are_told_too", || {
        let _watchdog = watchdog();
        cmwq::Builder::new().thread_limit(1).install().unwrap();
        let queue = |nice| Workqueue::builder("q").nice(nice).build().unwrap();
        let (x, y): (&Workqueue, &Workqueue) =
            (Box::leak(Box::new(queue(0))), Box::leak(Box::new(queue(3))));
        let told = x.spawn(|| {
            let inner = AtomicUsize::new(0);
            let outer = y.for_each(0..1, |_| {
                let refused = x.for_each(0..1, |_| ()).is_err();
                inner.fetch_add(usize::from(refused), SeqCst);
            });
            inner.into_inner() + usize::from(outer.is_err())
        });
        assert!(told.join().unwrap() > 0);
    });
}

#[test]
fn a_step_of_a_job_that_waits_for_the_jobs_item_is_told() {
    let _watchdog = watchdog();
    let told = Arc::new(AtomicUsize::new(0));
    let count = told.clone();
    let work = Work::with_data((), move |work: &Work| {
        let (work, caller) = (work.clone(), thread::current().id());
        Job::new(0..64)
            .for_each(|_| {
                if thread::current().id() == caller {
                    return thread::sleep(Duration::from_millis(1));
                }
                let refused = work.flush().is_err();
                count.fetch_add(usize::from(refused), SeqCst);
            })
            .unwrap();
    });
    for _ in 0..500 {
        cmwq::system().queue(&work).unwrap();
        work.flush().unwrap();
        if told.load(SeqCst) > 0 {
            return;
        }
        // No helper took a step: others have the CPUs.
    }
    assert_eq!(cmwq::cpus(), 1, "no helper in so many jobs");
}
