//! Spawned closures and what they hand back.

mod common;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use cmwq::{JoinError, Workqueue};
use common::{Opens, Permits, eventually, limited, queue, watchdog};

#[test]
fn values_come_back() {
    let _watch = watchdog();
    let queue = queue("values");
    let words = queue.spawn(|| vec![String::from("moved"), String::from("back")]);
    assert_eq!(words.join().unwrap(), ["moved", "back"]);
    let handles: Vec<_> = (0..5_000u64).map(|n| queue.spawn(move || n * n)).collect();
    let sum: u64 = handles
        .into_iter()
        .map(|handle| handle.join().unwrap())
        .sum();
    assert_eq!(sum, (0..5_000u64).map(|n| n * n).sum());
}

#[test]
fn a_panic_comes_back_as_an_error_with_its_payload() {
    let _watch = watchdog();
    let queue = queue("panics");
    let missing = std::hint::black_box("luck");
    let error = queue
        .spawn(move || panic!("no {missing}"))
        .join()
        .unwrap_err();
    assert!(error.is_panic());
    assert_eq!(error.to_string(), "the item panicked: no luck");
    let payload = error.into_panic().unwrap();
    assert_eq!(payload.downcast_ref::<String>().unwrap(), "no luck");
    let error = queue
        .spawn(|| std::panic::panic_any(17_u8))
        .join()
        .unwrap_err();
    assert_eq!(error.into_panic().unwrap().downcast_ref(), Some(&17_u8));
    assert_eq!(queue.spawn(|| 1).join().unwrap(), 1, "the worker survives");
}

#[test]
fn a_join_may_come_at_any_moment_of_its_item() {
    let _watch = watchdog();
    let queue = queue("moments");
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                for n in 0..40_000u32 {
                    let handle = queue.spawn(move || n);
                    // Sometimes a little later, so that joining meets the end of the item.
                    (0..n % 64).for_each(|_| std::hint::spin_loop());
                    assert_eq!(handle.join().unwrap(), n);
                }
            });
        }
    });
}

#[test]
fn is_finished_says_whether_join_would_wait() {
    let _watch = watchdog();
    let (gate, queue) = (Arc::new(Permits::new()), queue("finished"));
    let _opens = Opens(&gate);
    let entry = gate.clone();
    let handle = queue.spawn(move || entry.take());
    assert!(!handle.is_finished());
    gate.open();
    eventually("it is finished", || handle.is_finished());
    handle.join().unwrap();
}

#[test]
fn a_dropped_handle_lets_its_item_run() {
    let _watch = watchdog();
    let (queue, runs) = (queue("dropped"), Arc::new(AtomicUsize::new(0)));
    for _ in 0..1_000 {
        let runs = runs.clone();
        drop(queue.spawn(move || runs.fetch_add(1, SeqCst)));
    }
    queue.flush().unwrap();
    assert_eq!(runs.load(SeqCst), 1_000);
}

#[test]
fn a_handle_may_be_joined_by_another_thread_or_item() {
    let _watch = watchdog();
    let queue = queue("handed on");
    let handle = queue.spawn(|| 5);
    let joiner = std::thread::spawn(move || handle.join().unwrap());
    assert_eq!(joiner.join().unwrap(), 5);
    let handle = queue.spawn(|| 6);
    assert_eq!(
        queue.spawn(move || handle.join().unwrap()).join().unwrap(),
        6
    );
}

/// The sum over a tree of items, each of which joins its children.
fn tree(queue: &Workqueue, depth: u32, fanout: usize) -> Result<usize, JoinError> {
    if depth == 0 {
        return Ok(1);
    }
    let child = |_| {
        let queue = queue.clone();
        let again = queue.clone();
        queue.spawn(move || tree(&again, depth - 1, fanout))
    };
    let children: Vec<_> = (0..fanout).map(child).collect();
    children
        .into_iter()
        .try_fold(0, |sum, child| Ok(sum + child.join()??))
}

#[test]
fn items_join_items_that_join_items() {
    let _watch = watchdog();
    let queue = queue("nested");
    // 3 levels, 7^2 items that wait for children at once, many more than there are CPUs.
    assert_eq!(tree(&queue, 3, 7).unwrap(), 343);
    let chains: Vec<_> = (0..100)
        .map(|_| {
            let own = queue.clone();
            queue.spawn(move || tree(&own, 3, 1).unwrap())
        })
        .collect();
    assert_eq!(
        chains
            .into_iter()
            .map(|chain| chain.join().unwrap())
            .sum::<usize>(),
        100
    );
}

#[test]
fn items_of_different_pools_join_each_other() {
    let _watch = watchdog();
    let queues: Vec<Workqueue> = (0..3)
        .map(|n| Workqueue::builder("levels").nice(n).build().unwrap())
        .collect();
    let handles: Vec<_> = (0..50usize)
        .map(|n| {
            let (middle, inner) = (queues[1].clone(), queues[2].clone());
            queues[0].spawn(move || {
                let inside = middle.spawn(move || inner.spawn(move || n).join().unwrap() + 1);
                inside.join().unwrap() + 1
            })
        })
        .collect();
    for (n, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.join().unwrap(), n + 2);
    }
}

#[test]
fn a_chain_of_items_each_of_which_waits_for_the_next() {
    let _watch = watchdog();
    const LENGTH: usize = 60;
    let queue = limited("chain", LENGTH);
    let gates: Arc<Vec<Permits>> = Arc::new((0..=LENGTH).map(|_| Permits::new()).collect());
    // Each waits, without saying so, for the one queued behind it.
    let handles: Vec<_> = (0..LENGTH)
        .map(|n| {
            let gates = gates.clone();
            queue.spawn(move || {
                gates[n + 1].take();
                gates[n].give(1);
            })
        })
        .collect();
    gates[LENGTH].give(1);
    gates[0].take();
    handles
        .into_iter()
        .for_each(|handle| handle.join().unwrap());
}
