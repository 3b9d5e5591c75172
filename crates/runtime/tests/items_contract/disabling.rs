//! Disabling and enabling.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use cmwq::{QueueError, Report, Work};

use crate::common::alone::alone;
use crate::common::{Occupancy, Opens, queue, watchdog};
use crate::kit::{KINDS, counting, reports, running_on};

/// Most disables that are counted.
const MAX_DEPTH: usize = 65_535;

#[test]
fn disables_nest() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = counting();
        assert!((0..3).all(|_| !item.disable()));
        for enabled in [false, false, true] {
            let no = Err(QueueError::Disabled);
            let delays = [Duration::ZERO, Duration::from_secs(9)];
            assert_eq!(queue.queue(&item), no, "{kind:?}");
            assert_eq!(queue.queue_on(crate::kit::cpus()[0], &item), no);
            assert_eq!(queue.queue_on_node(0, &item), no);
            assert!(
                delays
                    .iter()
                    .all(|delay| queue.queue_after(&item, *delay) == no)
            );
            assert!(delays.iter().all(|delay| queue.modify(&item, *delay) == no));
            assert_eq!(item.enable(), enabled, "{kind:?}");
        }
        queue.flush().unwrap();
        assert_eq!(item.data().load(SeqCst), 0, "what was refused is forgotten");
        assert_eq!(queue.queue(&item), Ok(true));
        queue.flush().unwrap();
        assert_eq!(item.data().load(SeqCst), 1, "{kind:?}");
    }
}

#[test]
fn enable_and_queue_queues_with_the_last_enable() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = counting();
        item.disable();
        item.disable();
        assert_eq!(queue.enable_and_queue(&item), Err(QueueError::Disabled));
        assert!(!item.is_pending());
        assert_eq!(queue.enable_and_queue(&item), Ok(true));
        queue.flush().unwrap();
        assert_eq!(item.data().load(SeqCst), 1, "{kind:?}");
    }
}

#[test]
fn one_disable_more_than_can_be_counted_is_reported() {
    alone(
        "disabling::one_disable_more_than_can_be_counted_is_reported",
        || {
            let reports = reports();
            let queue = queue("depth");
            let item = Work::new(|| ());
            (0..MAX_DEPTH).for_each(|_| assert!(!item.disable()));
            assert_eq!(reports.lock().unwrap().len(), 0);
            assert!(!item.disable() && !item.disable_sync().unwrap());
            // It is no reason to fail for who only wants it stopped.
            assert!(!item.cancel_sync().unwrap());
            let is_overflow = |report: &Report| matches!(report, Report::DisableOverflow { .. });
            let said = std::mem::take(&mut *reports.lock().unwrap());
            assert!(said.len() == 2 && said.iter().all(is_overflow), "{said:?}");
            assert!((1..MAX_DEPTH).all(|_| !item.enable()));
            assert!(
                queue.queue(&item) == Err(QueueError::Disabled)
                    && item.enable()
                    && queue.queue(&item) == Ok(true)
            );
            assert_eq!(reports.lock().unwrap().len(), 0);
        },
    );
}

#[test]
fn an_enable_too_many_is_reported_and_keeps_the_pending_execution() {
    alone(
        "disabling::an_enable_too_many_is_reported_and_keeps_the_pending_execution",
        || {
            let reports = reports();
            for kind in KINDS {
                let queue = kind.narrow();
                let blocker = running_on(&queue);
                let _opens = Opens(&blocker.data().gate);
                let item = counting();
                assert_eq!(queue.queue_on(crate::kit::cpus()[0], &item), Ok(true));
                assert!(item.enable() && item.is_pending(), "{kind:?}");
                let said = std::mem::take(&mut *reports.lock().unwrap());
                let [Report::EnableUnderflow { item: name }] = said[..] else {
                    panic!("{said:?}");
                };
                assert!(name.contains("counting"), "{name}");
                blocker.data().gate.open();
                queue.flush().unwrap();
                assert_eq!(item.data().load(SeqCst), 1, "{kind:?}");
            }
        },
    );
}

#[test]
fn a_disabled_item_does_not_run_whoever_queues_it() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = Work::with_data(Occupancy::default(), |inside: &Work<Occupancy>| {
            drop(inside.data().enter());
        });
        let left = AtomicUsize::new(4);
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    for _ in 0..100 {
                        item.disable_sync().unwrap();
                        for _ in 0..20 {
                            assert_eq!(item.data().now(), 0, "{kind:?}");
                        }
                        item.enable();
                    }
                    left.fetch_sub(1, SeqCst);
                });
                threads.spawn(|| {
                    while left.load(SeqCst) > 0 {
                        let _ = queue.queue(&item);
                        std::thread::yield_now();
                    }
                });
            }
        });
        // As often enabled as disabled.
        queue.flush().unwrap();
        assert_eq!(queue.queue(&item), Ok(true), "{kind:?}");
        queue.flush().unwrap();
    }
}
