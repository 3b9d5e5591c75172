//! Cancelling, disabling, flushing of single items, delays, kinds of queues, in a few steps each:
//! see `small.rs`.

mod common;

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::time::Duration;

use cmwq::{QueueError, Work, Workqueue};
use common::{Opens, Permits, limited, queue, watchdog};

/// Longer than any test.
const NEVER: Duration = Duration::from_secs(3600);

/// A list without any protection.
#[derive(Default)]
struct Plain(UnsafeCell<Vec<usize>>);

// SAFETY: that no two threads use it at once is what the tests test.
unsafe impl Sync for Plain {}
// SAFETY: numbers may be sent.
unsafe impl Send for Plain {}

impl Plain {
    fn push(&self, n: usize) {
        // SAFETY: as above.
        unsafe { (*self.0.get()).push(n) };
    }

    fn list(&self) -> Vec<usize> {
        // SAFETY: as above.
        unsafe { (*self.0.get()).clone() }
    }
}

/// An item that writes this number down; what it writes on dies with it.
fn writing(n: usize) -> (Work, Arc<Plain>) {
    let data = Arc::new(Plain::default());
    let inside = data.clone();
    let work = Work::new(move || {
        std::thread::yield_now();
        inside.push(n);
    });
    (work, data)
}

fn delayed() -> (Work, Arc<Plain>) {
    let data = Arc::new(Plain::default());
    let inside = data.clone();
    (Work::new(move || inside.push(1)), data)
}

#[test]
fn a_cancelled_item_gives_its_reference_back() {
    let _watch = watchdog();
    let (gate, queue) = (Arc::new(Permits::new()), limited("cancelled", 1));
    let _opens = Opens(&gate);
    let first = gate.clone();
    let running = queue.spawn(move || first.take());
    // One item that waits for the slot, between others.
    let (before, after) = (Work::new(|| ()), Work::new(|| ()));
    let (work, data) = writing(1);
    for work in [&before, &work, &after] {
        assert_eq!(queue.queue(work), Ok(true));
    }
    assert!(work.cancel() && !work.cancel());
    drop(work);
    assert_eq!(Arc::strong_count(&data), 1, "only ours is left");
    gate.open();
    running.join().unwrap();
    queue.flush().unwrap();
    assert!(data.list().is_empty());
}

#[test]
fn nothing_runs_after_cancel_sync() {
    let _watch = watchdog();
    let (queue, (work, data)) = (queue("cancel_sync"), writing(1));
    let mut kept = 0;
    for round in 0..5 {
        assert_eq!(queue.queue(&work), Ok(true));
        // Sometimes it runs by then.
        (0..round).for_each(|_| std::thread::yield_now());
        kept += usize::from(!work.cancel_sync().unwrap());
        data.push(0);
    }
    assert_eq!(data.list().iter().sum::<usize>(), kept);
}

#[test]
fn a_flush_of_an_item_sees_what_it_wrote() {
    let _watch = watchdog();
    let (queue, (work, data)) = (queue("flush item"), writing(1));
    assert!(!work.flush().unwrap());
    for round in 1..=3 {
        assert_eq!(queue.queue(&work), Ok(true));
        work.flush().unwrap();
        assert_eq!(data.list().len(), round);
    }
}

#[test]
fn a_disabled_item_does_not_run() {
    let _watch = watchdog();
    let (queue, (work, data)) = (queue("disabled"), writing(1));
    queue.queue(&work).unwrap();
    work.disable_sync().unwrap();
    let ran = data.list().len();
    assert!(!work.disable());
    assert_eq!(queue.queue(&work), Err(QueueError::Disabled));
    let enabled = queue.enable_and_queue(&work);
    assert_eq!(
        enabled,
        Err(QueueError::Disabled),
        "it is disabled once more"
    );
    assert_eq!(queue.enable_and_queue(&work), Ok(true));
    work.flush().unwrap();
    assert_eq!(data.list().len(), ran + 1);
}

#[test]
fn all_at_once_on_one_item() {
    let _watch = watchdog();
    let far = Workqueue::builder("far").nice(3).build().unwrap();
    let (near, (work, data)) = (queue("near"), writing(1));
    std::thread::scope(|threads| {
        for queue in [&near, &far] {
            threads.spawn(|| {
                for _ in 0..4 {
                    // Refused while it is disabled.
                    let _ = queue.queue(&work);
                    std::thread::yield_now();
                }
            });
        }
        threads.spawn(|| (0..3).for_each(|_| _ = work.cancel()));
        threads.spawn(|| (0..2).for_each(|_| _ = work.cancel_sync().unwrap()));
        threads.spawn(|| {
            work.disable();
            work.enable();
            work.flush().unwrap();
        });
    });
    work.cancel_sync().unwrap();
    assert!(data.list().len() <= 8);
    assert_eq!(work.busy(), cmwq::Busy::default());
}

#[test]
fn a_timer_is_modified_flushed_and_cancelled() {
    let _watch = watchdog();
    let (queue, (work, data)) = (queue("timers"), delayed());
    assert!(
        queue.queue_after(&work, NEVER) == Ok(true) && queue.queue_after(&work, NEVER) == Ok(false)
    );
    assert_eq!(queue.modify(&work, Duration::from_millis(1)), Ok(false));
    while work.busy() != cmwq::Busy::default() {
        std::thread::yield_now();
    }
    assert_eq!(queue.queue_after(&work, NEVER), Ok(true));
    work.flush_now().unwrap();
    assert_eq!(data.list().len(), 2);
    assert_eq!(queue.queue_after(&work, NEVER), Ok(true));
    assert!(work.cancel() && !work.cancel_sync().unwrap());
}

#[test]
fn a_queue_that_goes_cancels_its_timers() {
    let _watch = watchdog();
    let (queue, (work, data)) = (queue("armed"), delayed());
    assert_eq!(queue.queue_after(&work, NEVER), Ok(true));
    drop(work);
    drop(queue);
    assert_eq!(Arc::strong_count(&data), 1, "only ours is left");
}

#[test]
fn an_ordered_queue_keeps_its_order_when_its_workers_change() {
    let _watch = watchdog();
    let queue = Workqueue::builder("ordered").ordered().build().unwrap();
    let order = Arc::new(Plain::default());
    let mut attrs = queue.attrs();
    for n in 0..6 {
        let order = order.clone();
        drop(queue.spawn(move || order.push(n)));
        if n == 2 {
            attrs.nice = 4;
            queue.apply_attrs(&attrs).unwrap();
        }
    }
    queue.flush().unwrap();
    assert_eq!(order.list(), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn queues_of_every_kind_come_and_go() {
    let _watch = watchdog();
    let of = |name| Workqueue::builder(name);
    let builders = [
        of("percpu").percpu(),
        of("unmanaged").unmanaged(),
        of("bh").bh(),
        of("rescued").mem_reclaim(),
        of("intensive").percpu().cpu_intensive(),
    ];
    for builder in builders {
        let (queue, (work, data)) = (builder.build().unwrap(), writing(1));
        assert_eq!(queue.queue(&work), Ok(true));
        queue.drain().unwrap();
        assert_eq!(data.list(), [1], "{}", queue.name());
        assert_eq!(queue.queue(&work), Ok(true));
        drop(queue);
        assert_eq!(data.list(), [1, 1]);
    }
}

#[test]
fn a_frozen_queue_goes_on_where_it_was() {
    let _watch = watchdog();
    let queue = Workqueue::builder("frozen").freezable().build().unwrap();
    let (work, data) = writing(1);
    cmwq::freezer::freeze();
    assert_eq!(queue.queue(&work), Ok(true));
    assert!(data.list().is_empty());
    cmwq::freezer::thaw();
    queue.flush().unwrap();
    assert_eq!(data.list(), [1]);
}

#[test]
fn a_changed_limit_starts_what_waited() {
    let _watch = watchdog();
    let (gate, queue) = (Arc::new(Permits::new()), limited("limits", 1));
    let _opens = Opens(&gate);
    let first = gate.clone();
    let running = queue.spawn(move || cmwq::blocking(|| first.take()));
    let next = queue.spawn(|| 7);
    assert!(queue.set_max_active(2));
    assert_eq!(next.join().unwrap(), 7);
    gate.open();
    running.join().unwrap();
}
