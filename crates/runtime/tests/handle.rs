//! Handles: awaited, with a timeout, cancelled, asked whether they are finished.

mod common;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use cmwq::{JoinError, JoinHandle, QueueError};
use common::{Opens, Permits, eventually, limited, queue, watchdog};

/// Wakes a thread, and counts how often.
struct Alarm {
    thread: Thread,
    calls: AtomicUsize,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.calls.fetch_add(1, SeqCst);
        self.thread.unpark();
    }
}

fn alarm() -> Arc<Alarm> {
    Arc::new(Alarm {
        thread: thread::current(),
        calls: AtomicUsize::new(0),
    })
}

fn poll<T>(handle: &mut JoinHandle<T>, waker: &Waker) -> Poll<Result<T, JoinError>> {
    Pin::new(handle).poll(&mut Context::from_waker(waker))
}

/// The smallest async runtime.
fn block_on<R>(future: impl Future<Output = R>) -> R {
    let mut future = pin!(future);
    let waker = Waker::from(alarm());
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

#[test]
fn values_and_panics_can_be_awaited() {
    let _watch = watchdog();
    let queue = queue("awaited");
    let rounds: u64 = if cfg!(miri) { 20 } else { 2_000 };
    let sum = async {
        let mut sum = 0;
        for n in 0..rounds {
            sum += queue.spawn(move || n).await.unwrap();
        }
        let gone = queue.spawn(|| panic!("gone")).await;
        assert!(gone.is_err_and(|error: JoinError| error.is_panic()));
        sum
    };
    assert_eq!(block_on(sum), rounds * (rounds - 1) / 2);
    assert_eq!(block_on(cmwq::spawn(|| 7)).unwrap(), 7);
}

#[test]
fn a_poll_may_come_at_any_moment_of_its_item() {
    let _watch = watchdog();
    let queue = queue("moments");
    for n in 0..20_000_u32 {
        let handle = queue.spawn(move || n);
        (0..n % 64).for_each(|_| std::hint::spin_loop());
        assert_eq!(block_on(handle).unwrap(), n);
    }
}

#[test]
fn only_the_last_waker_is_called_and_once() {
    let _watch = watchdog();
    let (queue, gate) = (queue("wakers"), Arc::new(Permits::new()));
    let _opens = Opens(&gate);
    let entry = gate.clone();
    let mut handle = queue.spawn(move || entry.take());
    let (first, second) = (alarm(), alarm());
    assert!(poll(&mut handle, &Waker::from(first.clone())).is_pending());
    let waker = Waker::from(second.clone());
    assert!(poll(&mut handle, &waker).is_pending());
    assert!(poll(&mut handle, &waker).is_pending());
    assert_eq!(Arc::strong_count(&first), 1, "replaced wakers are dropped");
    gate.give(1);
    queue.flush().unwrap();
    assert_eq!(second.calls.load(SeqCst), 1);
    assert_eq!(first.calls.load(SeqCst), 0);
    assert!(poll(&mut handle, &waker).is_ready());
}

#[test]
fn a_handle_dropped_while_awaited_leaves_no_waker_and_the_closure_runs() {
    let _watch = watchdog();
    let (queue, gate) = (queue("dropped"), Arc::new(Permits::new()));
    let _opens = Opens(&gate);
    let (entry, ran) = (gate.clone(), Arc::new(AtomicUsize::new(0)));
    let counts = ran.clone();
    let mut handle = queue.spawn(move || {
        entry.take();
        counts.fetch_add(1, SeqCst);
    });
    let alarm = alarm();
    assert!(poll(&mut handle, &Waker::from(alarm.clone())).is_pending());
    drop(handle);
    assert_eq!(Arc::strong_count(&alarm), 1);
    gate.give(1);
    queue.flush().unwrap();
    assert_eq!((ran.load(SeqCst), alarm.calls.load(SeqCst)), (1, 0));
}

/// Wakers are the program's code: one that panics ends no worker.
#[test]
fn wakers_may_panic() {
    static ON_WAKE: RawWakerVTable = RawWakerVTable::new(
        |data| RawWaker::new(data, &ON_WAKE),
        |_| panic!("in wake"),
        |_| panic!("in wake_by_ref"),
        |_| (),
    );
    static ON_CLONE: RawWakerVTable =
        RawWakerVTable::new(|_| panic!("in clone"), |_| (), |_| (), |_| ());
    // SAFETY: the tables do nothing with the pointer.
    let [wakes, clones] =
        [&ON_WAKE, &ON_CLONE].map(|table| unsafe { Waker::new(std::ptr::null(), table) });
    let _watch = watchdog();
    let (queue, gate) = (queue("bombs"), Arc::new(Permits::new()));
    let _opens = Opens(&gate);
    let entry = gate.clone();
    let mut handle = queue.spawn(move || entry.take());
    assert!(poll(&mut handle, &wakes).is_pending());
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = poll(&mut handle, &clones);
    }));
    assert!(unwound.is_err(), "that one is the caller's affair");
    assert!(poll(&mut handle, &wakes).is_pending());
    gate.give(1);
    queue.flush().unwrap();
    assert!(poll(&mut handle, Waker::noop()).is_ready());
    assert_eq!(queue.spawn(|| 1).join().unwrap(), 1, "workers survive");
}

#[test]
fn a_timeout_gives_the_handle_back() {
    let _watch = watchdog();
    let (queue, gate) = (queue("timeouts"), Arc::new(Permits::new()));
    let _opens = Opens(&gate);
    let entry = gate.clone();
    let handle = queue.spawn(move || {
        entry.take();
        5
    });
    let handle = handle.join_timeout(Duration::from_millis(1)).unwrap_err();
    let handle = handle.join_timeout(Duration::ZERO).unwrap_err();
    let handle = handle.try_join().unwrap_err();
    assert!(!handle.is_finished());
    gate.give(1);
    assert_eq!(handle.join_timeout(Duration::MAX).unwrap().unwrap(), 5);
    let quick = queue.spawn(|| 6);
    assert_eq!(
        quick
            .join_timeout(Duration::from_secs(60))
            .unwrap()
            .unwrap(),
        6
    );
}

/// The wait is a hint, so with one CPU too the awaited item begins.
#[test]
fn an_item_may_wait_with_a_timeout_for_one_that_has_not_begun() {
    let _watch = watchdog();
    let (outer, inner) = (queue("outer"), queue("inner"));
    let waits = outer.spawn(move || {
        let inside = inner.spawn(|| 7);
        let joined = inside.join_timeout(Duration::from_secs(60));
        joined.expect("somebody begins it").unwrap()
    });
    assert_eq!(waits.join().unwrap(), 7);
}

#[test]
fn what_has_not_begun_can_be_cancelled() {
    let _watch = watchdog();
    let (queue, gate) = (limited("one", 1), Arc::new(Permits::new()));
    let _opens = Opens(&gate);
    let entry = gate.clone();
    let running = queue.spawn(move || entry.take());
    let captured = Arc::new(());
    let held = captured.clone();
    let mut waiting = queue.spawn(move || drop(held));
    let alarm = alarm();
    assert!(poll(&mut waiting, &Waker::from(alarm.clone())).is_pending());
    assert!(waiting.cancel());
    assert_eq!(Arc::strong_count(&captured), 1, "its closure is dropped");
    assert_eq!(alarm.calls.load(SeqCst), 1, "whoever awaits it is told");
    assert!(!waiting.cancel(), "once");
    assert!(waiting.is_finished());
    assert!(matches!(block_on(waiting), Err(JoinError::Cancelled)));
    eventually("it has begun", || queue.counts().nr_executing == 1);
    assert!(!running.cancel(), "it has begun");
    gate.give(1);
    running.join().unwrap();
    queue.spawn(|| ()).detach();
    queue.flush().unwrap();
}

#[test]
fn what_is_refused_is_finished() {
    let _watch = watchdog();
    let (queue, gate) = (queue("drained"), Arc::new(Permits::new()));
    let _opens = Opens(&gate);
    let entry = gate.clone();
    queue.spawn(move || entry.take()).detach();
    let drainer = {
        let queue = queue.clone();
        thread::spawn(move || queue.drain().unwrap())
    };
    eventually("it drains", || {
        let error = queue.spawn(|| ()).try_join();
        matches!(error, Ok(Err(JoinError::Refused(QueueError::Draining))))
    });
    let refused = queue.spawn(|| unreachable!());
    assert!(refused.is_finished() && !refused.cancel());
    let error = block_on(refused).unwrap_err();
    assert!(matches!(error, JoinError::Refused(QueueError::Draining)));
    gate.give(1);
    drainer.join().unwrap();
}

#[test]
#[should_panic(expected = "asked again")]
fn a_value_is_given_once() {
    let mut handle = cmwq::spawn(|| 1);
    assert_eq!(block_on(&mut handle).unwrap(), 1);
    let _ = handle.join();
}
