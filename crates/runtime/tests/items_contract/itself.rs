//! What an item may do to itself, and what is an error because it would wait for itself.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier, Mutex, OnceLock};

use cmwq::{Busy, FlushError, QueueError, Work, Workqueue, WouldDeadlock};

use crate::common::{eventually, queue, watchdog};
use crate::kit::{KINDS, counting};

#[test]
fn it_queues_itself() {
    const TIMES: usize = 200;
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let own = queue.clone();
        let item = Work::with_data(AtomicUsize::new(0), move |item: &Work<AtomicUsize>| {
            let running = Busy {
                pending: false,
                running: true,
            };
            assert_eq!(item.busy(), running);
            if item.data().fetch_add(1, SeqCst) + 1 < TIMES {
                assert!(
                    own.queue(item) == Ok(true)
                        && own.queue(item) == Ok(false)
                        && item.busy().pending
                );
            }
        });
        assert_eq!(queue.queue(&item), Ok(true));
        eventually("it ran that often", || item.data().load(SeqCst) == TIMES);
        item.flush().unwrap();
        assert_eq!(item.busy(), Busy::default(), "{kind:?}");
    }
}

#[test]
fn it_moves_from_queue_to_queue() {
    const ROUNDS: usize = 20;
    let _watch = watchdog();
    let queues = KINDS.map(|kind| kind.queue());
    let (own, names) = (queues.clone(), Arc::new(Mutex::new(Vec::new())));
    let log = names.clone();
    let item = Work::with_data(AtomicUsize::new(0), move |item: &Work<AtomicUsize>| {
        log.lock()
            .unwrap()
            .push(cmwq::current_work().unwrap().queue);
        let next = item.data().fetch_add(1, SeqCst) + 1;
        if next < ROUNDS * own.len() {
            assert_eq!(own[next % own.len()].queue(item), Ok(true));
        }
    });
    assert_eq!(queues[0].queue(&item), Ok(true));
    eventually("it has gone round", || {
        names.lock().unwrap().len() == ROUNDS * KINDS.len()
    });
    let names = names.lock().unwrap();
    for (n, name) in names.iter().enumerate() {
        assert_eq!(*name, format!("{:?}", KINDS[n % KINDS.len()]));
    }
}

#[test]
fn it_cancels_and_disables_itself() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let own = queue.clone();
        let item = Work::with_data(AtomicUsize::new(0), move |item: &Work<AtomicUsize>| {
            item.data().fetch_add(1, SeqCst);
            assert!(!item.cancel() && own.queue(item) == Ok(true) && item.cancel());
            assert!(
                own.queue(item) == Ok(true)
                    && item.disable()
                    && own.queue(item) == Err(QueueError::Disabled)
            );
        });
        assert_eq!(queue.queue(&item), Ok(true));
        queue.flush().unwrap();
        assert_eq!(
            (item.data().load(SeqCst), item.busy()),
            (1, Busy::default())
        );
        assert_eq!(queue.queue(&item), Err(QueueError::Disabled), "{kind:?}");
        assert!(item.enable());
    }
}

/// What the calls returned inside of the item, and what it was doing then.
type Answers = Arc<Mutex<Vec<(Option<WouldDeadlock>, Busy)>>>;

/// Queues an item that queues itself and then makes this call.
fn inside_of_itself(
    queue: &Workqueue,
    call: impl Fn(&Work<AtomicUsize>) -> Option<WouldDeadlock> + Send + Sync + 'static,
) -> (Work<AtomicUsize>, (Option<WouldDeadlock>, Busy)) {
    let (own, answers) = (queue.clone(), Answers::default());
    let log = answers.clone();
    let item = Work::with_data(AtomicUsize::new(0), move |item: &Work<AtomicUsize>| {
        if item.data().fetch_add(1, SeqCst) > 0 {
            return;
        }
        assert_eq!(own.queue(item), Ok(true));
        let answer = call(item);
        log.lock().unwrap().push((answer, item.busy()));
    });
    assert_eq!(queue.queue(&item), Ok(true));
    queue.flush().unwrap();
    let answer = answers.lock().unwrap().remove(0);
    // What it queued of itself may have been queued after the flush began.
    let _ = item.flush();
    (item, answer)
}

fn itself(queue: &Workqueue) -> Option<WouldDeadlock> {
    Some(WouldDeadlock {
        waiter: queue.name().to_owned(),
        awaited: queue.name().to_owned(),
    })
}

fn of_flush<T>(result: Result<T, FlushError>) -> Option<WouldDeadlock> {
    match result {
        Err(FlushError::WouldDeadlock(error)) => Some(error),
        _ => None,
    }
}

const RUNNING: Busy = Busy {
    pending: false,
    running: true,
};
const BOTH: Busy = Busy {
    pending: true,
    running: true,
};

#[test]
fn it_cannot_flush_itself() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let (item, answer) = inside_of_itself(&queue, |item| of_flush(item.flush()));
        assert_eq!(answer, (itself(&queue), BOTH), "{kind:?}");
        assert_eq!(item.data().load(SeqCst), 2, "{kind:?}");
        let text = answer.0.unwrap().to_string();
        assert_eq!(text.matches(queue.name()).count(), 2, "{text}");
    }
}

#[test]
fn it_cannot_cancel_sync_itself_but_is_cancelled() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let (item, answer) = inside_of_itself(&queue, |item| item.cancel_sync().err());
        assert_eq!(answer, (itself(&queue), RUNNING), "{kind:?}");
        assert_eq!(item.data().load(SeqCst), 1, "{kind:?}");
        assert_eq!(
            queue.queue(&item),
            Ok(true),
            "{kind:?}: it can be queued again"
        );
    }
}

#[test]
fn it_cannot_disable_sync_itself_but_is_disabled() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let (item, answer) = inside_of_itself(&queue, |item| item.disable_sync().err());
        assert_eq!(answer, (itself(&queue), RUNNING), "{kind:?}");
        assert_eq!(item.data().load(SeqCst), 1, "{kind:?}");
        assert_eq!(queue.queue(&item), Err(QueueError::Disabled), "{kind:?}");
        assert!(item.enable());
    }
}

#[test]
fn it_cannot_flush_or_drain_its_queue() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let own = queue.clone();
        let (_, answer) = inside_of_itself(&queue, move |_| of_flush(own.flush()));
        assert_eq!(answer, (itself(&queue), BOTH), "{kind:?}");
        let own = queue.clone();
        let (_, answer) = inside_of_itself(&queue, move |_| of_flush(own.drain()));
        assert_eq!(answer, (itself(&queue), BOTH), "{kind:?}");
        // And nothing of the drain is left.
        assert_eq!(queue.queue(&counting()), Ok(true), "{kind:?}");
    }
}

#[test]
fn a_delayed_one_cannot_flush_itself_now() {
    let _watch = watchdog();
    for kind in KINDS {
        let queue = kind.queue();
        let answer = Arc::new(Mutex::new(None));
        let log = answer.clone();
        let item = Work::with_data((), move |item: &Work| {
            *log.lock().unwrap() = of_flush(item.flush_now());
        });
        assert_eq!(queue.queue(&item), Ok(true));
        queue.flush().unwrap();
        assert_eq!(*answer.lock().unwrap(), itself(&queue), "{kind:?}");
    }
}

#[test]
fn it_may_cancel_sync_and_flush_others() {
    let _watch = watchdog();
    for kind in KINDS.into_iter().filter(|kind| !kind.runs_one_at_a_time()) {
        let queue = kind.queue();
        let other = counting();
        let (own, inner) = (queue.clone(), other.clone());
        let result = queue.spawn(move || {
            assert_eq!(own.queue(&inner), Ok(true));
            let flushed = inner.flush();
            assert!(flushed.is_ok(), "{flushed:?}");
            own.queue(&inner).unwrap();
            inner.cancel_sync().unwrap();
            assert_eq!(inner.busy(), Busy::default());
        });
        result.join().unwrap();
        assert!(other.data().load(SeqCst) >= 1, "{kind:?}");
    }
}

/// How one item waits for another.
type Wait = fn(&Work<Pair>) -> Option<WouldDeadlock>;

/// An item that waits for its partner once both run.
#[derive(Default)]
struct Pair {
    partner: OnceLock<Work<Pair>>,
    refused: OnceLock<Option<WouldDeadlock>>,
}

fn waits_for_each_other(wait: Wait) {
    let queues = [queue("left"), queue("right")];
    let both_run = Arc::new(Barrier::new(2));
    let items = [(); 2].map(|()| {
        let both_run = both_run.clone();
        Work::with_data(Pair::default(), move |item: &Work<Pair>| {
            both_run.wait();
            let refused = wait(item.data().partner.get().unwrap());
            item.data().refused.set(refused).unwrap();
        })
    });
    // Never freed: they keep each other.
    items[0].data().partner.set(items[1].clone()).unwrap();
    items[1].data().partner.set(items[0].clone()).unwrap();
    (0..2).for_each(|n| assert_eq!(queues[n].queue(&items[n]), Ok(true)));
    let refused = items.each_ref().map(|item| {
        eventually("it returns", || item.data().refused.get().is_some());
        item.data().refused.get().unwrap().as_ref()
    });
    let names = refused.map(|error| error.map(|e| (e.waiter.as_str(), e.awaited.as_str())));
    let one = [Some(("left", "right")), None];
    let other = [None, Some(("right", "left"))];
    assert!(names == one || names == other, "{names:?}");
}

#[test]
fn of_two_that_wait_for_each_other_one_is_told() {
    let _watch = watchdog();
    for _ in 0..20 {
        waits_for_each_other(|partner| of_flush(partner.flush()));
        waits_for_each_other(|partner| partner.cancel_sync().err());
    }
}
