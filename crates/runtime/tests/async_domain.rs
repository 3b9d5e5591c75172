//! Asynchronous calls, waited for in the order of scheduling.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};

use cmwq::{AsyncDomain, FlushError, Work};
use common::alone::alone;
use common::{eventually, queue, watchdog};

#[test]
fn cookies_go_up() {
    let (one, other) = (AsyncDomain::new(), AsyncDomain::exclusive());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut given = Vec::new();
    for turn in 0..100 {
        let seen = seen.clone();
        let domain = if turn % 3 == 0 { &other } else { &one };
        given.push(domain.schedule(move |cookie| seen.lock().unwrap().push(cookie)));
    }
    one.synchronize_full().unwrap();
    other.synchronize_full().unwrap();
    assert!(given.is_sorted_by(|one, next| one < next));
    let mut seen = std::mem::take(&mut *seen.lock().unwrap());
    seen.sort();
    assert_eq!(seen, given);
}

#[test]
fn a_chain_of_a_thousand_ends_in_order() {
    let _watch = watchdog();
    let domain = AsyncDomain::new();
    let order = Arc::new(Mutex::new(Vec::new()));
    for link in 0..1000 {
        let (chain, order) = (domain.clone(), order.clone());
        domain.schedule(move |cookie| {
            chain.synchronize_cookie(cookie).unwrap();
            order.lock().unwrap().push(link);
        });
    }
    domain.synchronize_full().unwrap();
    assert!(order.lock().unwrap().iter().copied().eq(0..1000));
}

/// The first one is held up: all others wait at the same time, on a worker each.
#[test]
fn a_chain_that_waits_as_a_whole() {
    let _watch = watchdog();
    let domain = AsyncDomain::new();
    let (go, begun, ended) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicUsize::new(0)),
    );
    for link in 0..100 {
        let (chain, go, begun, ended) = (domain.clone(), go.clone(), begun.clone(), ended.clone());
        domain.schedule(move |cookie| {
            begun.fetch_add(1, SeqCst);
            if link == 0 {
                eventually("the gate", || go.load(SeqCst));
            }
            chain.synchronize_cookie(cookie).unwrap();
            assert_eq!(ended.fetch_add(1, SeqCst), link);
        });
    }
    eventually("all wait", || begun.load(SeqCst) == 100);
    assert_eq!((ended.load(SeqCst), domain.pending()), (0, 100));
    go.store(true, SeqCst);
    domain.synchronize_full().unwrap();
    assert_eq!((ended.load(SeqCst), domain.pending()), (100, 0));
}

#[test]
fn waiting_goes_by_the_order_of_scheduling() {
    let _watch = watchdog();
    let domain = AsyncDomain::new();
    let go = Arc::new(AtomicBool::new(false));
    let gate = go.clone();
    let first = domain.schedule(move |_| eventually("the gate", || gate.load(SeqCst)));
    let second = domain.schedule(|_| ());
    eventually("the second has ended", || domain.pending() == 1);
    // Nothing was before the first one, whatever has become of it.
    domain.synchronize_cookie(first).unwrap();
    let passed = Arc::new(AtomicBool::new(false));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            domain.synchronize_cookie(second).unwrap();
            passed.store(true, SeqCst);
        });
        std::thread::sleep(std::time::Duration::from_millis(5));
        assert!(!passed.load(SeqCst), "the first one is still there");
        go.store(true, SeqCst);
    });
    assert!(passed.load(SeqCst));
}

#[test]
fn all_are_waited_for_but_exclusive_ones() {
    alone("all_are_waited_for_but_exclusive_ones", || {
        let (go, done) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicUsize::new(0)),
        );
        let (gate, exclusive) = (go.clone(), AsyncDomain::exclusive());
        exclusive.schedule(move |_| eventually("the gate", || gate.load(SeqCst)));
        for domain in [AsyncDomain::global(), AsyncDomain::new()] {
            let done = done.clone();
            domain.schedule(move |_| {
                assert!(AsyncDomain::is_current());
                std::thread::sleep(std::time::Duration::from_millis(5));
                done.fetch_add(1, SeqCst);
            });
        }
        AsyncDomain::synchronize_all().unwrap();
        assert_eq!((done.load(SeqCst), exclusive.pending()), (2, 1));
        go.store(true, SeqCst);
        exclusive.synchronize_full().unwrap();
        assert_eq!(exclusive.pending(), 0);
    });
}

#[test]
fn who_waits_for_itself_is_told() {
    let _watch = watchdog();
    let (domain, results) = (AsyncDomain::new(), Arc::new(Mutex::new(Vec::new())));
    let (inner, tell) = (domain.clone(), results.clone());
    domain.schedule(move |own| {
        let later = inner.schedule(|_| ());
        *tell.lock().unwrap() = vec![
            inner.synchronize_full(),
            inner.synchronize_cookie(later),
            AsyncDomain::synchronize_all(),
            inner.synchronize_cookie(own),
        ];
    });
    domain.synchronize_full().unwrap();
    let results = results.lock().unwrap();
    let stuck =
        |result: &Result<(), FlushError>| matches!(result, Err(FlushError::WouldDeadlock(_)));
    assert!(
        results[..3].iter().all(stuck) && results[3].is_ok(),
        "{results:?}"
    );
}

#[test]
fn a_call_that_panics_has_ended() {
    let _watch = watchdog();
    let domain = AsyncDomain::new();
    domain.schedule(|_| panic!("as planned"));
    domain.schedule(|_| assert!(AsyncDomain::is_current()));
    domain.synchronize_full().unwrap();
    assert_eq!(domain.pending(), 0);
    assert!(!AsyncDomain::is_current());
}

#[test]
fn calls_may_use_other_domains() {
    let _watch = watchdog();
    let (outer, inner) = (AsyncDomain::new(), AsyncDomain::new());
    let done = Arc::new(AtomicUsize::new(0));
    for _ in 0..50 {
        let (inner, done) = (inner.clone(), done.clone());
        outer.schedule(move |_| {
            let count = done.clone();
            let cookie = inner.schedule(move |_| {
                count.fetch_add(1, SeqCst);
            });
            inner.synchronize_cookie(cookie).unwrap();
        });
    }
    outer.synchronize_full().unwrap();
    inner.synchronize_full().unwrap();
    assert_eq!(done.load(SeqCst), 50);
}

#[test]
fn after_the_shutdown_the_caller_executes_it() {
    alone("after_the_shutdown_the_caller_executes_it", || {
        let domain = AsyncDomain::new();
        domain.schedule(|_| ());
        domain.synchronize_full().unwrap();
        cmwq::shutdown(std::time::Duration::from_secs(10));
        let here = Arc::new(Mutex::new(None));
        let tell = here.clone();
        domain.schedule(move |_| *tell.lock().unwrap() = Some(std::thread::current().id()));
        assert_eq!(*here.lock().unwrap(), Some(std::thread::current().id()));
        assert_eq!(domain.pending(), 0);
        domain.synchronize_full().unwrap();
    });
}

#[test]
fn a_forked_child_has_none_of_its_parents_calls() {
    alone("a_forked_child_has_none_of_its_parents_calls", || {
        let domain = AsyncDomain::global();
        let go = Arc::new(AtomicBool::new(false));
        let gate = go.clone();
        domain.schedule(move |_| eventually("the gate", || gate.load(SeqCst)));
        common::fork::in_child(|| {
            AsyncDomain::global().synchronize_full().unwrap();
            let own = AsyncDomain::global();
            own.schedule(|_| ());
            own.synchronize_full().unwrap();
        });
        go.store(true, SeqCst);
        domain.synchronize_full().unwrap();
    });
}

/// Panics when it is dropped, unless something panics already.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("dropped");
        }
    }
}

/// Who schedules may be the last that has the call, and drops what came of it.
#[test]
fn a_payload_that_panics_is_nobodys_but_the_calls() {
    alone("a_payload_that_panics_is_nobodys_but_the_calls", || {
        std::panic::set_hook(Box::new(|_| ()));
        let domain = AsyncDomain::new();
        for _ in 0..3_000 {
            domain.schedule(|_| std::panic::panic_any(Bomb));
        }
        domain.synchronize_full().unwrap();
        cmwq::shutdown(std::time::Duration::from_secs(1000));
        // Refused from here on, and called by who schedules.
        domain.schedule(|_| std::panic::panic_any(Bomb));
        assert_eq!(domain.pending(), 0);
    });
}

#[test]
fn a_circle_through_an_asynchronous_call_is_told() {
    let _watch = watchdog();
    let (domain, queue) = (AsyncDomain::exclusive(), queue("waits"));
    let (met, refused) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
    let note = |refused: &AtomicUsize, was: bool| _ = refused.fetch_add(usize::from(was), SeqCst);
    let (own, there, count) = (domain.clone(), met.clone(), refused.clone());
    let item = Work::new(move || {
        there.wait();
        note(&count, own.synchronize_full().is_err());
    });
    let (awaited, count) = (item.clone(), refused.clone());
    domain.schedule(move |_| {
        met.wait();
        note(&count, awaited.flush().is_err());
    });
    assert_eq!(queue.queue(&item), Ok(true));
    domain.synchronize_full().unwrap();
    item.flush().unwrap();
    assert_eq!(refused.load(SeqCst), 1);
}

#[test]
fn calls_of_two_domains_that_wait_for_each_other_are_told() {
    let _watch = watchdog();
    let domains = [AsyncDomain::exclusive(), AsyncDomain::exclusive()];
    let (met, refused) = (Arc::new(Barrier::new(2)), Arc::new(AtomicUsize::new(0)));
    for at in [0, 1] {
        let (other, met, refused) = (domains[1 - at].clone(), met.clone(), refused.clone());
        domains[at].schedule(move |_| {
            met.wait();
            refused.fetch_add(usize::from(other.synchronize_full().is_err()), SeqCst);
        });
    }
    for domain in &domains {
        domain.synchronize_full().unwrap();
    }
    assert_eq!(refused.load(SeqCst), 1);
}
