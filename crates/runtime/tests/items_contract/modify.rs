//! Changing the time of an item, whatever it is doing.

use std::time::Duration;

use cmwq::{Busy, QueueError, Work, Workqueue};

use crate::common::{Opens, eventually, queue, watchdog};
use crate::delayed::{FAR, NEAR, runs};
use crate::flushing::LIMITED;
use crate::kit::{Gated, KINDS, counting, cpus, gated, running_on};

const ARMED: Busy = Busy {
    pending: true,
    running: false,
};

fn has_run(item: &Work<std::sync::atomic::AtomicUsize>, times: usize) {
    eventually("it has run", || runs(item) == times);
    item.flush().unwrap();
    assert_eq!((runs(item), item.busy()), (times, Busy::default()));
}

#[test]
fn an_idle_item() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = counting();
        assert!(queue.modify(&item, NEAR) == Ok(true), "{kind:?}");
        has_run(&item, 1);
        assert!(queue.modify(&item, Duration::ZERO) == Ok(true), "{kind:?}");
        queue.flush().unwrap();
        assert_eq!(runs(&item), 2, "{kind:?}");
    }
}

#[test]
fn an_armed_item_sooner_later_and_at_once() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = counting();
        assert!(queue.modify(&item, FAR) == Ok(true) && queue.modify(&item, FAR * 2) == Ok(false));
        assert_eq!(queue.modify(&item, NEAR), Ok(false), "{kind:?}");
        has_run(&item, 1);
        assert!(
            queue.queue_after(&item, FAR) == Ok(true)
                && queue.modify(&item, Duration::ZERO) == Ok(false)
        );
        queue.flush().unwrap();
        assert_eq!((runs(&item), item.busy()), (2, Busy::default()), "{kind:?}");
    }
}

#[test]
fn a_later_time_replaces_the_earlier_one() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let (item, later) = (counting(), counting());
        let mut in_vain = 0;
        for _ in 0..20 {
            let before = runs(&item);
            assert_eq!(
                queue.queue_after(&item, Duration::from_millis(20)),
                Ok(true)
            );
            if queue.modify(&item, FAR) == Ok(true) {
                // We were not given the CPU in time: it runs, and is armed as well.
                in_vain += 1;
                item.cancel_sync().unwrap();
                continue;
            }
            assert_eq!(
                queue.queue_after(&later, Duration::from_millis(21)),
                Ok(true)
            );
            eventually("a later one has run", || !later.is_pending());
            later.flush().unwrap();
            assert_eq!((runs(&item), item.busy()), (before, ARMED), "{kind:?}");
            assert!(item.cancel());
        }
        assert!(in_vain < 20, "{kind:?}");
    }
}

#[test]
fn an_item_over_the_limit_leaves_its_place() {
    let _watch = watchdog();
    for kind in LIMITED {
        let queue = kind.narrow();
        let blocker = running_on(&queue);
        let item = counting();
        let _opens = Opens(&blocker.data().gate);
        assert_eq!(queue.queue_on(cpus()[0], &item), Ok(true));
        assert_eq!(queue.modify(&item, FAR), Ok(false));
        assert_eq!(item.busy(), ARMED, "{kind:?}");
        blocker.data().gate.open();
        queue.flush().unwrap();
        assert_eq!((runs(&item), item.busy()), (0, ARMED), "{kind:?}");
        assert_eq!(queue.modify(&item, Duration::ZERO), Ok(false));
        queue.flush().unwrap();
        assert_eq!(runs(&item), 1, "{kind:?}");
    }
}

/// The item runs, and waits for a permit.
fn running(queue: &Workqueue) -> Work<Gated> {
    let item = gated();
    assert_eq!(queue.queue(&item), Ok(true));
    item.data().has_begun(1);
    item
}

#[test]
fn a_running_item_runs_again() {
    let _watch = watchdog();
    for kind in KINDS {
        for delay in [Duration::ZERO, NEAR] {
            let queue = kind.queue();
            let item = running(&queue);
            let _opens = Opens(&item.data().gate);
            assert!(
                queue.modify(&item, delay) == Ok(true),
                "{kind:?}: it is not pending"
            );
            item.data().gate.give(1);
            item.data().has_begun(2);
        }
    }
}

#[test]
fn a_running_and_pending_item_runs_once_more() {
    let _watch = watchdog();
    for kind in KINDS {
        for delay in [Duration::ZERO, NEAR] {
            let queue = kind.queue();
            let item = running(&queue);
            let _opens = Opens(&item.data().gate);
            assert!(
                queue.queue(&item) == Ok(true) && queue.modify(&item, delay) == Ok(false),
                "{kind:?}"
            );
            item.data().gate.open();
            item.data().has_begun(2);
            item.flush().unwrap();
            assert_eq!(
                (item.data().ended(), item.busy()),
                (2, Busy::default()),
                "{kind:?}"
            );
        }
    }
}

#[test]
fn an_item_goes_to_another_queue() {
    let _watch = watchdog();
    let other = queue("other");
    for kind in KINDS {
        let queue = kind.queue();
        for delay in [Duration::ZERO, NEAR] {
            let item = gated();
            item.data().gate.open();
            assert!(
                queue.queue_after(&item, FAR) == Ok(true)
                    && other.modify(&item, delay) == Ok(false)
            );
            item.data().has_begun(1);
            assert_eq!(item.data().queue_of_run(0), "other", "{kind:?}");
            // Pending there, behind its own execution here.
            let item = running(&queue);
            let _opens = Opens(&item.data().gate);
            assert!(queue.queue(&item) == Ok(true) && other.modify(&item, delay) == Ok(false));
            item.data().gate.open();
            item.data().has_begun(2);
            assert_eq!(item.data().queue_of_run(1), "other", "{kind:?}");
        }
    }
}

#[test]
fn a_disabled_item_stays_as_it_is() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let item = counting();
        item.disable();
        for delay in [Duration::ZERO, FAR] {
            assert_eq!(queue.modify(&item, delay), Err(QueueError::Disabled));
        }
        assert_eq!((item.busy(), runs(&item)), (Busy::default(), 0), "{kind:?}");
        assert!(item.enable());
        assert_eq!(queue.queue(&item), Ok(true));
        has_run(&item, 1);
    }
}

#[test]
fn the_last_of_many_modifications_counts() {
    let _watch = watchdog();
    let queues = KINDS.map(|kind| kind.queue());
    let item = counting();
    std::thread::scope(|threads| {
        for queue in &queues {
            let item = &item;
            threads.spawn(move || {
                for n in 0..2_000 {
                    queue.modify(item, Duration::from_micros(n % 50)).unwrap();
                }
            });
        }
    });
    queues[0].modify(&item, FAR).unwrap();
    // What had begun ends; nothing else does.
    queues.iter().for_each(|queue| queue.flush().unwrap());
    let before = runs(&item);
    assert_eq!(item.busy(), ARMED);
    item.flush_now().unwrap();
    assert_eq!(runs(&item), before + 1);
}
