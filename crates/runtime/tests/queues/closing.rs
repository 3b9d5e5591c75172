//! Closing: by any handle, with an answer, and for ever.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cmwq::{FlushError, JoinError, QueueError, Work};

use crate::common::{Opens, Permits, eventually, limited, queue, watchdog};

#[test]
fn what_is_queued_runs_also_what_that_queues_and_nothing_else_ever() {
    let _watch = watchdog();
    let (queue, ran) = (queue("closes"), Arc::new(AtomicUsize::new(0)));
    let (own, counts) = (queue.clone(), ran.clone());
    let chain = Work::with_data(AtomicUsize::new(5), move |work| {
        counts.fetch_add(1, SeqCst);
        if work.data().fetch_sub(1, SeqCst) > 1 {
            assert_eq!(own.queue(work), Ok(true), "its own items go on");
        }
    });
    let armed = Work::new(|| unreachable!());
    assert_eq!(
        queue.queue_after(&armed, Duration::from_secs(3600)),
        Ok(true)
    );
    assert_eq!(queue.queue(&chain), Ok(true));
    queue.close().unwrap();
    assert_eq!(ran.load(SeqCst), 5);
    assert!(!armed.is_pending(), "it was disarmed");
    let idle = Work::new(|| ());
    assert_eq!(queue.clone().queue(&idle), Err(QueueError::Closed));
    let refused = queue.spawn(|| ()).join().unwrap_err();
    assert!(matches!(refused, JoinError::Refused(QueueError::Closed)));
    queue.close().unwrap();
    assert!(queue.close_timeout(Duration::ZERO).unwrap(), "it is empty");
    // The item has a handle of the queue.
    drop(chain);
}

#[test]
fn a_close_may_have_a_timeout_and_the_rest_goes_on() {
    let _watch = watchdog();
    let (queue, gate) = (limited("slow", 1), Arc::new(Permits::new()));
    let _opens = Opens(&gate);
    let entry = gate.clone();
    let first = queue.spawn(move || entry.take());
    let second = queue.spawn(|| 2);
    assert!(!queue.close_timeout(Duration::from_millis(1)).unwrap());
    assert!(!second.is_finished());
    let refused = queue.spawn(|| ()).join().unwrap_err();
    assert!(matches!(refused, JoinError::Refused(QueueError::Closed)));
    gate.give(1);
    assert!(queue.close_timeout(Duration::from_secs(600)).unwrap());
    first.join().unwrap();
    assert_eq!(second.join().unwrap(), 2);
}

#[test]
fn an_item_cannot_wait_for_the_close_of_its_own_queue_but_closes_it() {
    let _watch = watchdog();
    let queue = queue("own");
    let own = queue.clone();
    let inside = queue.spawn(move || own.close()).join().unwrap();
    assert!(matches!(inside, Err(FlushError::WouldDeadlock(_))));
    eventually("it is closed", || queue.spawn(|| ()).join().is_err());
    queue.close().unwrap();
}
