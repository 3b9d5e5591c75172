//! Iterators over results of items, and waiting for whichever of many handles is first.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cmwq::{JoinError, QueueError, Workqueue, WouldDeadlock};
use common::alone::alone;
use common::fork::in_child;
use common::{Opens, Permits, eventually, limited, queue, watchdog};

/// Inputs of a test under an interpreter.
const FEW: usize = 8;

/// Inputs that are counted as they are taken.
fn counted(n: usize, taken: &Arc<AtomicUsize>) -> impl Iterator<Item = usize> + use<> {
    let taken = taken.clone();
    (0..n).inspect(move |_| {
        taken.fetch_add(1, SeqCst);
    })
}

#[test]
fn results_come_in_the_order_of_the_inputs() {
    let _watch = watchdog();
    let inputs = if cfg!(miri) { FEW } else { 3_000 };
    for queue in [queue("managed"), limited("three", 3), limited("one", 1)] {
        let squares = queue.map(0..inputs, |n| {
            (0..n * 7 % 64).for_each(|_| std::hint::spin_loop());
            n * n
        });
        assert_eq!(squares.size_hint(), (inputs, Some(inputs)));
        assert!(squares.eq((0..inputs).map(|n| n * n)));
    }
}

#[test]
fn unordered_results_all_come_once() {
    let _watch = watchdog();
    for queue in [queue("managed"), limited("three", 3), limited("one", 1)] {
        let mut seen: Vec<_> = queue.map_unordered(0..3_000, |n| n).collect();
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..3_000));
    }
}

/// The slow one is first in order, and last as they come.
#[test]
fn a_slow_item_holds_up_nobody_if_order_does_not_matter() {
    let _watch = watchdog();
    let (queue, gate) = (queue("slow"), Arc::new(Permits::new()));
    let _opens = Opens(&gate);
    let entry = gate.clone();
    let mut results = queue.map_unordered(0..100, move |n| {
        if n == 0 {
            entry.take();
        }
        n
    });
    let first: Vec<_> = results.by_ref().take(99).collect();
    assert!(!first.contains(&0));
    gate.give(1);
    assert_eq!(results.next(), Some(0));
    assert_eq!(results.next(), None);
}

#[test]
fn nothing_is_taken_before_somebody_asks_and_not_much_before_the_results_are() {
    let _watch = watchdog();
    let (queue, taken) = (limited("four", 4), Arc::new(AtomicUsize::new(0)));
    let mut results = queue.map(counted(100, &taken), |n| n);
    let mut unordered = queue.map_unordered(counted(100, &taken), |n| n);
    queue.flush().unwrap();
    assert_eq!(taken.load(SeqCst), 0, "lazy");
    for n in 0..10 {
        assert_eq!(results.next(), Some(n));
        assert!(taken.load(SeqCst) <= n + 8, "the results were not taken");
    }
    drop(results);
    taken.store(0, SeqCst);
    for n in 0..10 {
        assert!(unordered.next().is_some());
        assert!(taken.load(SeqCst) <= n + 8, "the results were not taken");
    }
}

/// More than the limit never run; all of the limit does, while the consumer waits.
#[test]
fn all_slots_are_used_and_no_more() {
    let _watch = watchdog();
    let queue = limited("three", 3);
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (at, top) = (now.clone(), most.clone());
    let results = queue.map(0..30, move |_| {
        top.fetch_max(at.fetch_add(1, SeqCst) + 1, SeqCst);
        std::thread::sleep(Duration::from_millis(3));
        at.fetch_sub(1, SeqCst);
    });
    assert_eq!(results.count(), 30);
    assert_eq!(most.load(SeqCst), 3);
}

#[test]
fn a_panic_goes_on_in_the_consumer_and_the_next_call_with_the_next_input() {
    let _watch = watchdog();
    let queue = queue("panics");
    let fails = |n: usize| {
        assert!(n != 3, "three");
        n
    };
    let mut results = queue.map(0..6, fails);
    let ok: Vec<_> = results.by_ref().take(3).collect();
    assert_eq!(ok, [0, 1, 2]);
    let panic = catch_unwind(AssertUnwindSafe(|| results.next())).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"three"));
    assert_eq!(results.collect::<Vec<_>>(), [4, 5]);
    let mut unordered = queue.map_unordered(0..6, fails);
    let ended: Vec<_> = std::iter::from_fn(|| unordered.try_next()).collect();
    let failed = ended.iter().filter(|result| result.is_err());
    assert_eq!((ended.len(), failed.count()), (6, 1));
}

#[test]
fn who_stops_early_cancels_what_has_not_begun() {
    let _watch = watchdog();
    for unordered in [false, true] {
        let (queue, gate) = (limited("one", 1), Arc::new(Permits::new()));
        let _opens = Opens(&gate);
        let (entry, ran) = (gate.clone(), Arc::new(AtomicUsize::new(0)));
        let counts = ran.clone();
        let held = Arc::new(());
        let inputs = std::iter::repeat_n(held.clone(), 10);
        let work = move |_| {
            counts.fetch_add(1, SeqCst);
            entry.take();
        };
        gate.give(1);
        match unordered {
            false => queue.map(inputs, work).next().unwrap(),
            true => queue.map_unordered(inputs, work).next().unwrap(),
        }
        // The second one may have begun, but its permit is not there.
        let begun = ran.load(SeqCst);
        assert!(begun <= 2);
        gate.give(10);
        queue.flush().unwrap();
        assert!(ran.load(SeqCst) <= 2, "the others never began");
        assert_eq!(Arc::strong_count(&held), 1, "their inputs are dropped");
    }
}

#[test]
fn what_is_mapped_in_a_scope_may_borrow() {
    let _watch = watchdog();
    let queue = queue("borrows");
    let words = if cfg!(miri) { FEW } else { 500 };
    let words: Vec<String> = (0..words).map(|n| n.to_string()).collect();
    let total = AtomicUsize::new(0);
    let lengths = queue.scope(|scope| {
        let lengths: Vec<usize> = scope.map(&words, |word| word.len()).collect();
        let sum: usize = scope.map_unordered(lengths.clone(), |n| n).sum();
        (lengths, sum)
    });
    let (lengths, sum) = lengths.unwrap();
    assert!(
        lengths
            .iter()
            .eq(words.iter().map(String::len).collect::<Vec<_>>().iter())
    );
    assert_eq!(sum, lengths.iter().sum());
    let add = |word: &String| {
        total.fetch_add(word.len(), SeqCst);
    };
    queue.for_each(&words, add).unwrap();
    assert_eq!(total.load(SeqCst), sum);
}

/// An early end of `for_each`: by a panic, which is the caller's, when nothing borrows any more.
#[test]
fn a_panic_of_for_each_comes_when_all_has_ended() {
    let _watch = watchdog();
    let queue = limited("four", 4);
    let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let panic = catch_unwind(AssertUnwindSafe(|| {
        queue.for_each(0_u64.., |n| {
            begun.fetch_add(1, SeqCst);
            if n == 20 {
                panic!("twenty");
            }
            std::thread::yield_now();
            ended.fetch_add(1, SeqCst);
        })
    }));
    assert_eq!(panic.unwrap_err().downcast_ref::<&str>(), Some(&"twenty"));
    // Of inputs without end.
    assert_eq!(begun.into_inner(), ended.into_inner() + 1);
}

/// A panic of an item that nobody takes is the scope's.
#[test]
fn a_panic_that_nobody_takes_is_the_scopes() {
    let _watch = watchdog();
    let (queue, gate) = (limited("two", 2), Permits::new());
    let (_opens, begun) = (Opens(&gate), AtomicUsize::new(0));
    let panic = catch_unwind(AssertUnwindSafe(|| {
        queue.scope(|scope| {
            let mut results = scope.map_unordered(0..2, |n| {
                if n == 1 {
                    begun.fetch_add(1, SeqCst);
                    gate.take();
                    panic!("late");
                }
            });
            results.next().unwrap();
            // Or it would be cancelled.
            eventually("it has begun", || begun.load(SeqCst) == 1);
            drop(results);
            gate.give(1);
        })
    }));
    let panic = panic.unwrap_err();
    assert_eq!(
        panic.downcast_ref::<&str>(),
        Some(&"a scoped item panicked")
    );
}

/// Items of an item: the only slot is the caller's.
#[test]
fn a_map_that_could_never_end_is_told() {
    let _watch = watchdog();
    let queue = limited("one", 1);
    type Told = (bool, bool, bool, bool);
    let inside = |queue: Workqueue| -> Told {
        let is_stuck = |result: Option<Result<(), JoinError>>| {
            matches!(result, Some(Err(JoinError::WouldDeadlock(_))))
        };
        let ordered = is_stuck(queue.map(0..3, |_| ()).try_next());
        let unordered = is_stuck(queue.map_unordered(0..3, |_| ()).try_next());
        let each = matches!(
            queue.for_each(0..3, |_| ()),
            Err(JoinError::WouldDeadlock(_))
        );
        let mut handles = [queue.spawn(|| ()), queue.spawn(|| ())];
        let selected: Result<usize, WouldDeadlock> = cmwq::select(&mut handles);
        (ordered, unordered, each, selected.is_err())
    };
    let own = queue.clone();
    let told = queue.spawn(move || inside(own)).join().unwrap();
    assert_eq!(told, (true, true, true, true));
    queue.flush().unwrap();
}

#[test]
fn items_may_map_on_their_own_queue_if_there_are_slots() {
    let _watch = watchdog();
    let queue = limited("many", 64);
    let own = queue.clone();
    let sums = queue.map(0..8_u64, move |n| {
        let inner: u64 = own.map_unordered(0..n, |m| m).sum();
        inner
    });
    assert!(sums.eq((0..8).map(|n| (0..n).sum::<u64>())));
}

#[test]
fn a_queue_that_refuses_is_an_error() {
    let _watch = watchdog();
    let queue = queue("closed");
    queue.close().unwrap();
    let refused = |result: Option<Result<usize, JoinError>>| {
        let error = result.unwrap().unwrap_err();
        assert!(matches!(error, JoinError::Refused(QueueError::Closed)));
    };
    let mut results = queue.map(0..2, |n| n);
    refused(results.try_next());
    refused(results.try_next());
    assert!(results.try_next().is_none());
    let mut unordered = queue.map_unordered(0..2, |n| n);
    refused(unordered.try_next());
    refused(unordered.try_next());
    assert!(unordered.try_next().is_none());
    assert!(queue.for_each(0..2, |_| ()).is_err());
}

#[test]
fn a_child_is_refused() {
    alone("a_child_is_refused", || {
        let (queue, gate) = (limited("two", 2), Arc::new(Permits::new()));
        let _opens = Opens(&gate);
        let entry = gate.clone();
        let mut unordered = queue.map_unordered(0..3, move |n| {
            if n > 0 {
                entry.take();
            }
        });
        unordered.next().unwrap();
        let parents = queue.clone();
        in_child(move || {
            let is_forked =
                |result| matches!(result, Some(Err(JoinError::Refused(QueueError::Forked))));
            assert!(is_forked(unordered.try_next()));
            drop(unordered);
            assert!(is_forked(parents.map_unordered(0..1, |_| ()).try_next()));
            assert!(is_forked(parents.map(0..1, |_| ()).try_next()));
            assert_eq!(cmwq::system().map(0..3, |n| n).sum::<usize>(), 3);
        });
        gate.open();
        queue.flush().unwrap();
    });
}

#[test]
fn the_first_of_many_handles_is_found() {
    let _watch = watchdog();
    let queue = queue("select");
    let gates: Vec<_> = (0..5).map(|_| Arc::new(Permits::new())).collect();
    let _opens: Vec<_> = gates.iter().map(|gate| Opens(gate)).collect();
    let mut handles: Vec<_> = (0..5)
        .map(|n| {
            let gate = gates[n].clone();
            queue.spawn(move || {
                gate.take();
                n
            })
        })
        .collect();
    assert_eq!(cmwq::select_timeout(&mut handles, Duration::ZERO), None);
    for n in [3, 0, 4, 2, 1] {
        gates[n].give(1);
        let index = cmwq::select(&mut handles).unwrap();
        assert_eq!(handles.swap_remove(index).join().unwrap(), n);
    }
    let mut quick = [queue.spawn(|| ())];
    assert_eq!(cmwq::select_timeout(&mut quick, Duration::MAX), Some(0));
    assert_eq!(cmwq::select(&mut quick).unwrap(), 0);
}

/// Also inside of an item, over queues whose items run in other pools.
#[test]
fn an_item_may_select_over_queues_of_different_pools() {
    let _watch = watchdog();
    let queues = [
        queue("managed"),
        Workqueue::builder("nice").nice(19).build().unwrap(),
        Workqueue::builder("percpu").percpu().build().unwrap(),
    ];
    let selects = cmwq::spawn(move || {
        let mut handles: Vec<_> = (0..300).map(|n| queues[n % 3].spawn(move || n)).collect();
        let mut sum = 0;
        while !handles.is_empty() {
            let index = cmwq::select(&mut handles).unwrap();
            sum += handles.swap_remove(index).join().unwrap();
        }
        sum
    });
    assert_eq!(selects.join().unwrap(), (0..300).sum::<usize>());
}
