//! Scopes: borrowed data, and that nothing outlives them.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use common::{Permits, limited, queue, watchdog};

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

/// Spawns into the scope when it is dropped.
struct Spawns<'scope, 'env, F: FnOnce() + Send + 'scope>(
    &'scope cmwq::Scope<'scope, 'env>,
    Option<F>,
);

impl<'scope, F: FnOnce() + Send + 'scope> Drop for Spawns<'scope, '_, F> {
    fn drop(&mut self) {
        drop(self.0.spawn(self.1.take().unwrap()));
    }
}

/// Whatever becomes of a handle, nothing of its task is left when the scope returns.
#[test]
fn what_a_values_destructor_spawns_is_over_when_the_scope_returns() {
    let _watch = watchdog();
    let queue = queue("late");
    for fate in 0..5 {
        let (dropped, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let forgotten = fate == 2;
        queue
            .scope(|scope| {
                let (late, ran) = (&dropped, &ran);
                let value = move || {
                    Spawns(
                        scope,
                        Some(move || {
                            late.fetch_add(1, SeqCst);
                            std::thread::sleep(Duration::from_millis(5));
                            ran.fetch_add(1, SeqCst);
                        }),
                    )
                };
                let handle = scope.spawn(value);
                match fate {
                    0 => drop(handle),
                    1 => {
                        while dropped.load(SeqCst) == 0 && !ended(queue.counts()) {
                            std::thread::yield_now();
                        }
                        drop(handle);
                    }
                    2 => std::mem::forget(handle),
                    3 => drop(handle.join().unwrap()),
                    _ => drop(scope.spawn(move || drop(handle))),
                }
            })
            .unwrap();
        let expected = usize::from(!forgotten);
        assert_eq!(
            (dropped.load(SeqCst), ran.load(SeqCst)),
            (expected, expected),
            "{fate}"
        );
    }
}

fn ended(counts: cmwq::WorkqueueCounts) -> bool {
    counts.nr_active == 0
}

/// The only slot is the caller's: what is spawned never begins.
#[test]
fn what_a_dropped_closure_spawns_is_dropped_too() {
    let _watch = watchdog();
    let queue = limited("gives up", 1);
    let own = queue.clone();
    let gave_up = queue.spawn(move || {
        own.scope(|scope| {
            for _ in 0..3 {
                let inner = Spawns(scope, Some(|| unreachable!("nobody runs it")));
                let outer = Spawns(scope, Some(move || drop(inner)));
                drop(scope.spawn(move || drop(outer)));
            }
        })
        .is_err()
    });
    assert!(gave_up.join().unwrap());
}

/// What has begun waits for an item that only the waiting one would make room for.
#[test]
fn a_scope_that_gave_up_is_a_waiter_to_others() {
    let _watch = watchdog();
    let queue = limited("gives up", 2);
    let (own, inner) = (queue.clone(), queue.clone());
    let gave_up = queue.spawn(move || {
        let waits = AtomicBool::new(false);
        let failed = AtomicUsize::new(0);
        let scoped = own.scope(|scope| {
            drop(scope.spawn(|| {
                for n in 0..3 {
                    waits.store(true, SeqCst);
                    // Not the scope's: it takes back its own.
                    let joined = inner.spawn(move || n).join();
                    failed.fetch_add(usize::from(joined.is_err()), SeqCst);
                }
            }));
            while !waits.load(SeqCst) {
                std::thread::yield_now();
            }
        });
        scoped.is_err() || failed.load(SeqCst) > 0
    });
    assert!(gave_up.join().unwrap(), "somebody was told");
    queue.flush().unwrap();
}

/// How many are open does not matter to the next one.
#[test]
fn spawning_beside_many_open_tasks_costs_no_more() {
    const MORE: usize = 2_000;
    let _watch = watchdog();
    let (queue, gate) = (limited("many", 1), Permits::new());
    let cost = |open: usize| {
        let mut took = Duration::MAX;
        for _ in 0..3 {
            let scoped = queue.scope(|scope| {
                let gate = &gate;
                drop(scope.spawn(|| gate.take()));
                (1..open).for_each(|_| drop(scope.spawn(|| ())));
                // Of those that are over, one in two.
                let begin = std::time::Instant::now();
                (0..MORE).for_each(|_| drop(scope.spawn(|| ())));
                took = took.min(begin.elapsed());
                gate.give(1);
            });
            scoped.unwrap();
        }
        took
    };
    let (few, many) = (cost(1_000), cost(200_000));
    assert!(
        many < few * 12,
        "{few:?} beside 1,000 open ones, {many:?} beside 200,000"
    );
}
