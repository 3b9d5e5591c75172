//! An item that runs on one queue and is queued on another, of another pool: it waits there, in its
//! place and with its slot, and no worker of the first queue runs it.

use std::sync::{Arc, Mutex};

use cmwq::{Busy, QueueError, Work, Workqueue};

use crate::common::{Opens, elsewhere, queue, watchdog};
use crate::kit::{
    Gated, Item, KINDS, Kind, counting, gated, others_run, running_on, start, waiter,
};

const DEFERRED: Busy = Busy {
    pending: true,
    running: true,
};

#[test]
fn it_holds_up_the_later_items_of_an_ordered_queue() {
    let _watch = watchdog();
    let first = queue("first");
    let second = elsewhere("second").ordered().build().unwrap();
    let beside = elsewhere("beside").build().unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let log = order.clone();
    let item = Work::with_data(Gated::default(), move |item: &Item| {
        log.lock().unwrap().push("item");
        item.data().pass();
        log.lock().unwrap().push("item ended");
    });
    let _opens = Opens(&item.data().gate);
    assert_eq!(first.queue(&item), Ok(true));
    item.data().has_begun(1);
    assert!(
        second.queue(&item) == Ok(true)
            && second.queue(&item) == Ok(false)
            && first.queue(&item) == Ok(false)
    );
    assert_eq!(item.busy(), DEFERRED);
    for name in ["later", "last"] {
        let log = order.clone();
        drop(second.spawn(move || log.lock().unwrap().push(name)));
    }
    // Its pool has workers, which could run them.
    others_run(&beside, 100);
    assert_eq!(*order.lock().unwrap(), ["item"]);
    item.data().gate.open();
    second.flush().unwrap();
    let wanted = ["item", "item ended", "item", "item ended", "later", "last"];
    assert_eq!(*order.lock().unwrap(), wanted);
    assert_eq!(item.data().queue_of_run(1), "second");
    assert_ne!(item.data().thread_of_run(0), item.data().thread_of_run(1));
}

#[test]
fn it_keeps_its_slot() {
    let _watch = watchdog();
    let first = queue("first");
    let second = elsewhere("second").max_active(2).build().unwrap();
    let beside = elsewhere("beside").build().unwrap();
    let others = [gated(), gated(), gated()];
    let item = running_on(&first);
    let mut opens: Vec<_> = others
        .iter()
        .map(|other| Opens(&other.data().gate))
        .collect();
    opens.push(Opens(&item.data().gate));
    assert_eq!(second.queue(&item), Ok(true));
    others
        .iter()
        .for_each(|other| assert_eq!(second.queue(other), Ok(true)));
    others[0].data().has_begun(1);
    others_run(&beside, 100);
    // One slot is the item's, the other that of the first of them.
    assert_eq!((others[1].data().began(), others[2].data().began()), (0, 0));
    others[0].data().gate.open();
    others[1].data().has_begun(1);
    others_run(&beside, 100);
    assert_eq!((others[2].data().began(), item.data().began()), (0, 1));
    item.data().gate.open();
    others[2].data().has_begun(1);
    item.data().has_begun(2);
}

#[test]
fn cancelling_it_lets_the_later_items_go() {
    let _watch = watchdog();
    let first = queue("first");
    let second = elsewhere("second").ordered().build().unwrap();
    let item = running_on(&first);
    let _opens = Opens(&item.data().gate);
    assert_eq!(second.queue(&item), Ok(true));
    let later = second.spawn(|| ());
    assert!(item.cancel() && !item.cancel());
    // Although the item still runs.
    later.join().unwrap();
    let running = Busy {
        pending: false,
        running: true,
    };
    assert_eq!(item.busy(), running);
    assert_eq!(second.queue(&item), Ok(true));
    assert_eq!(item.busy(), DEFERRED);
    item.data().gate.open();
    second.flush().unwrap();
    assert_eq!(item.data().ended(), 2);
}

/// For all pairs of kinds: the item runs on the first queue and is queued on the second.
fn in_all_pairs(check: impl Fn(&Workqueue, &Workqueue, &Item)) {
    let _watch = watchdog();
    for left in KINDS {
        for right in KINDS {
            let (first, second) = (left.queue(), right.queue());
            let item = gated();
            let _opens = Opens(&item.data().gate);
            start(&first, &item);
            assert_eq!(second.queue(&item), Ok(true), "{left:?} and {right:?}");
            assert_eq!(item.busy(), DEFERRED, "{left:?} and {right:?}");
            check(&first, &second, &item);
        }
    }
}

#[test]
fn a_flush_waits_for_the_second_execution() {
    in_all_pairs(|_, second, item| {
        std::thread::scope(|scope| {
            let flush = waiter(scope, || (item.flush(), item.data().ended()));
            assert!(!flush.is_finished());
            item.data().gate.open();
            assert_eq!(flush.join().unwrap(), (Ok(true), 2));
        });
        assert_eq!(item.data().queue_of_run(1), second.name());
    });
}

#[test]
fn a_flush_of_either_queue_waits_for_its_own_execution() {
    in_all_pairs(|first, second, item| {
        std::thread::scope(|scope| {
            let flush = waiter(scope, || (first.flush(), item.data().ended()));
            assert!(!flush.is_finished());
            item.data().gate.give(1);
            // The second execution waits for a permit that nobody has given yet.
            assert_eq!(flush.join().unwrap(), (Ok(()), 1));
            let flush = waiter(scope, || (second.flush(), item.data().ended()));
            assert!(!flush.is_finished());
            item.data().gate.give(1);
            assert_eq!(flush.join().unwrap(), (Ok(()), 2));
        });
    });
}

#[test]
fn cancel_sync_takes_it_back_and_waits_for_the_first_execution() {
    in_all_pairs(|_, second, item| {
        std::thread::scope(|scope| {
            let cancel = waiter(scope, || (item.cancel_sync(), item.data().ended()));
            assert!(!cancel.is_finished());
            assert_eq!(second.queue(item), Err(QueueError::Disabled), "meanwhile");
            item.data().gate.open();
            assert_eq!(cancel.join().unwrap(), (Ok(true), 1));
        });
        assert_eq!(item.busy(), Busy::default());
        assert_eq!(second.queue(item), Ok(true));
        second.flush().unwrap();
        assert_eq!(item.data().ended(), 2);
    });
}

#[test]
fn disable_sync_takes_it_back_and_waits_for_the_first_execution() {
    in_all_pairs(|first, second, item| {
        std::thread::scope(|scope| {
            let disable = waiter(scope, || (item.disable_sync(), item.data().ended()));
            assert!(!disable.is_finished());
            item.data().gate.open();
            assert_eq!(disable.join().unwrap(), (Ok(true), 1));
        });
        for queue in [second, first] {
            assert_eq!(queue.queue(item), Err(QueueError::Disabled));
        }
        assert!(item.enable());
    });
}

#[test]
fn the_flusher_of_one_that_is_cancelled_goes_on_at_once() {
    in_all_pairs(|first, second, item| {
        if share_a_pool(first, second) {
            return;
        }
        std::thread::scope(|scope| {
            let flush = waiter(scope, || (item.flush(), item.data().ended()));
            assert!(!flush.is_finished());
            assert!(item.cancel());
            assert_eq!(flush.join().unwrap(), (Ok(true), 0), "the first goes on");
        });
    });
}

/// There the pending execution is the running worker's own, and so is what waits for it.
fn share_a_pool(first: &Workqueue, second: &Workqueue) -> bool {
    let plain = |queue: &Workqueue| ["Managed", "Ordered"].contains(&queue.name());
    first.name() == second.name() || (plain(first) && plain(second))
}

#[test]
fn taken_back_it_waits_for_the_first_execution_on_a_third_queue_too() {
    in_all_pairs(|_, _, item| {
        let third = elsewhere("third").build().unwrap();
        assert!(item.cancel());
        assert_eq!(third.queue(item), Ok(true));
        assert_eq!(item.busy(), DEFERRED);
        others_run(&third, 20);
        assert_eq!(item.data().began(), 1);
        item.data().gate.open();
        third.flush().unwrap();
        assert_eq!(
            (item.data().ended(), item.data().queue_of_run(1).as_str()),
            (2, "third")
        );
    });
}

#[test]
fn many_items_run_here_and_wait_there() {
    const ITEMS: usize = 20;
    let _watch = watchdog();
    let (first, second) = (queue("first"), Kind::Ordered.queue());
    let items: Vec<Item> = (0..ITEMS).map(|_| running_on(&first)).collect();
    let opens: Vec<_> = items.iter().map(|item| Opens(&item.data().gate)).collect();
    items
        .iter()
        .for_each(|item| assert_eq!(second.queue(item), Ok(true)));
    let last = counting();
    assert_eq!(second.queue(&last), Ok(true));
    // They end in the other order, and the queue keeps its own.
    items.iter().rev().for_each(|item| item.data().gate.give(1));
    for item in &items {
        item.data().has_begun(2);
        assert!(last.is_pending());
        item.data().gate.give(1);
    }
    last.flush().unwrap();
    drop(opens);
}
