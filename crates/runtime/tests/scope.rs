//! Scopes: borrowed data, and that nothing outlives them.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use common::{Permits, queue, watchdog};

fn message(payload: Box<dyn std::any::Any + Send>) -> String {
    let literal = payload.downcast_ref::<&str>().map(|text| text.to_string());
    literal
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_default()
}

#[test]
fn closures_borrow_from_outside() {
    let _watch = watchdog();
    let queue = queue("borrow");
    let mut numbers: Vec<u64> = (0..1_000).collect();
    let total = AtomicUsize::new(0);
    let body = queue.scope(|scope| {
        for chunk in numbers.chunks_mut(10) {
            let total = &total;
            scope.spawn(move || {
                chunk.iter_mut().for_each(|n| *n *= 2);
                total.fetch_add(chunk.len(), SeqCst);
            });
        }
        "the body's value"
    });
    assert_eq!(body.unwrap(), "the body's value");
    assert_eq!(total.load(SeqCst), 1_000);
    assert!(numbers.iter().copied().eq((0..1_000).map(|n| n * 2)));
}

#[test]
fn joined_values_may_borrow() {
    let _watch = watchdog();
    let queue = queue("joined");
    let text = String::from("a few words to look at");
    let longest = queue.scope(|scope| {
        let words: Vec<_> = text
            .split(' ')
            .map(|word| scope.spawn(move || word))
            .collect();
        words
            .into_iter()
            .map(|word| word.join().unwrap())
            .max_by_key(|word| word.len())
    });
    assert_eq!(longest.unwrap(), Some("words"));
}

#[test]
fn a_scope_waits_also_when_its_body_panics() {
    const ITEMS: usize = 50;
    let _watch = watchdog();
    let queue = queue("unwinds");
    let ended = AtomicUsize::new(0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        queue.scope(|scope| {
            for _ in 0..ITEMS {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(1));
                    ended.fetch_add(1, SeqCst);
                });
            }
            panic!("the body");
        })
    }));
    assert_eq!(ended.load(SeqCst), ITEMS);
    assert_eq!(
        message(result.map(|_: Result<(), _>| ()).unwrap_err()),
        "the body"
    );
}

#[test]
fn a_panic_that_nobody_joined_is_the_scopes() {
    let _watch = watchdog();
    let queue = queue("unjoined");
    let others = AtomicUsize::new(0);
    let result = catch_unwind(AssertUnwindSafe(|| {
        queue.scope(|scope| {
            scope.spawn(|| panic!("an item"));
            for _ in 0..20 {
                scope.spawn(|| others.fetch_add(1, SeqCst));
            }
        })
    }));
    assert_eq!(message(result.unwrap_err()), "a scoped item panicked");
    assert_eq!(others.load(SeqCst), 20);
}

#[test]
fn a_panic_that_was_joined_is_not_the_scopes() {
    let _watch = watchdog();
    let queue = queue("joined panic");
    for _ in 0..200 {
        let result = queue.scope(|scope| {
            let handle = scope.spawn(|| panic!("an item"));
            message(handle.join().unwrap_err().into_panic().unwrap())
        });
        assert_eq!(result.unwrap(), "an item");
    }
}

#[test]
fn scopes_nest_inside_items() {
    let _watch = watchdog();
    let queue = queue("nested scopes");
    let leaves = AtomicUsize::new(0);
    queue
        .scope(|outer| {
            for _ in 0..20 {
                outer.spawn(|| {
                    let middle = queue.scope(|middle| {
                        for _ in 0..5 {
                            middle.spawn(|| {
                                let inner = queue.scope(|inner| {
                                    inner.spawn(|| leaves.fetch_add(1, SeqCst));
                                });
                                inner.unwrap();
                            });
                        }
                    });
                    middle.unwrap();
                });
            }
        })
        .unwrap();
    assert_eq!(leaves.load(SeqCst), 100);
}

#[test]
fn items_of_a_scope_spawn_into_it() {
    let _watch = watchdog();
    let queue = queue("into it");
    let ran = AtomicUsize::new(0);
    queue
        .scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| {
                    ran.fetch_add(1, SeqCst);
                    for _ in 0..10 {
                        scope.spawn(|| ran.fetch_add(1, SeqCst));
                    }
                });
            }
        })
        .unwrap();
    assert_eq!(ran.load(SeqCst), 220);
}

/// A value that says when it is dropped that what it borrows is still there.
struct Borrows<'a> {
    scope_is_over: &'a AtomicBool,
    late: &'a AtomicBool,
    dropped: &'a AtomicUsize,
}

impl Drop for Borrows<'_> {
    fn drop(&mut self) {
        self.late.fetch_or(self.scope_is_over.load(SeqCst), SeqCst);
        self.dropped.fetch_add(1, SeqCst);
    }
}

#[test]
fn values_and_captures_are_dropped_before_the_scope_returns() {
    let _watch = watchdog();
    let queue = queue("dropped within");
    for round in 0..4_000 {
        let (scope_is_over, late) = (AtomicBool::new(false), AtomicBool::new(false));
        let dropped = AtomicUsize::new(0);
        let borrows = || Borrows {
            scope_is_over: &scope_is_over,
            late: &late,
            dropped: &dropped,
        };
        queue
            .scope(|scope| {
                let (captured, returned, both) = (borrows(), borrows(), borrows());
                drop(scope.spawn(move || drop(captured)));
                drop(scope.spawn(move || returned));
                let handle = scope.spawn(move || both);
                if round % 2 == 0 {
                    drop(handle.join());
                }
            })
            .unwrap();
        scope_is_over.store(true, SeqCst);
        assert_eq!(dropped.load(SeqCst), 3, "round {round}");
        assert!(!late.load(SeqCst), "round {round}");
    }
}

#[test]
fn what_items_wrote_is_seen_after_the_scope() {
    let _watch = watchdog();
    let queue = queue("visible");
    for round in 1..4_000 {
        let written = [AtomicUsize::new(0), AtomicUsize::new(0)];
        queue
            .scope(|scope| {
                for w in &written {
                    // Relaxed: the end of the scope alone orders these words.
                    drop(scope.spawn(|| w.store(round, Relaxed)));
                }
            })
            .unwrap();
        // Relaxed: as above.
        assert!(written.iter().all(|w| w.load(Relaxed) == round));
    }
}

/// Panics when dropped.
struct Bomb<'a>(&'a AtomicUsize);

impl Drop for Bomb<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        assert!(std::thread::panicking(), "dropped");
    }
}

#[test]
fn values_that_panic_when_dropped_do_not_end_the_wait() {
    let _watch = watchdog();
    let queue = queue("bombs");
    let (dropped, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let result = catch_unwind(AssertUnwindSafe(|| {
        queue.scope(|scope| {
            for _ in 0..100 {
                scope.spawn(|| Bomb(&dropped));
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_micros(100));
                    ended.fetch_add(1, SeqCst);
                });
            }
        })
    }));
    assert_eq!((dropped.load(SeqCst), ended.load(SeqCst)), (100, 100));
    assert!(result.is_err(), "a panic does not get lost");
    assert_eq!(queue.spawn(|| 7).join().unwrap(), 7);
}

#[test]
fn a_scope_on_a_busy_queue_waits_for_its_own_items_only() {
    let _watch = watchdog();
    static GATE: Permits = Permits::new();
    let _opens = common::Opens(&GATE);
    let queue = queue("busy");
    let other = queue.spawn(|| GATE.take());
    let ran = AtomicBool::new(false);
    queue
        .scope(|scope| drop(scope.spawn(|| ran.store(true, SeqCst))))
        .unwrap();
    assert!(ran.load(SeqCst) && !other.is_finished());
    GATE.open();
    other.join().unwrap();
}
