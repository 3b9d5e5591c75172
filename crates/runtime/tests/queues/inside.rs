//! What an item can ask of its worker.

use std::sync::Arc;

use cmwq::{CurrentWork, Work, Workqueue};

use crate::common::alone::alone;
use crate::common::{Opens, Permits, eventually, limited, watchdog};
use crate::kit::{Flag, Log, cpus, on};

/// Asks until another item is queued, and once before.
fn asks(queue: &Workqueue) -> (bool, bool) {
    let (begun, queued, log) = (Flag::default(), Flag::default(), Log::default());
    let (first, until, answers) = (begun.clone(), queued.clone(), log.clone());
    let cpu = cpus()[0];
    on(queue, cpu, move || {
        let alone = cmwq::others_waiting();
        first.spins_until(&until);
        answers.push((alone, cmwq::others_waiting()));
    });
    begun.wait("it runs");
    on(queue, cpu, || ());
    queued.raise();
    queue.flush().unwrap();
    log.take()[0]
}

#[test]
fn an_item_knows_whether_others_wait_for_its_slot_or_its_worker() {
    alone(
        "inside::an_item_knows_whether_others_wait_for_its_slot_or_its_worker",
        || {
            cmwq::set_cpu_intensive_threshold(std::time::Duration::ZERO);
            assert!(!cmwq::others_waiting(), "this is no item");
            let ordered = Workqueue::builder("ordered").ordered().build().unwrap();
            let percpu = Workqueue::builder("percpu").percpu().build().unwrap();
            let bh = Workqueue::builder("bh").bh().build().unwrap();
            let one = limited("one", 1);
            for queue in [&ordered, &percpu, &bh, &one] {
                assert_eq!(asks(queue), (false, true), "{}", queue.name());
            }
        },
    );
}

#[test]
fn a_long_item_can_step_aside() {
    let _watch = watchdog();
    let (queue, ran) = (limited("polite", 1), Log::default());
    let (own, log) = (queue.clone(), ran.clone());
    let begun = Flag::default();
    let first = begun.clone();
    let long = Work::with_data((), move |work| {
        first.raise();
        while !cmwq::others_waiting() {
            if log.len() > 2 {
                return log.push("done");
            }
            std::thread::yield_now();
        }
        log.push("aside");
        own.queue(work).unwrap();
    });
    assert_eq!(queue.queue(&long), Ok(true));
    begun.wait("it runs");
    for _ in 0..2 {
        let log = ran.clone();
        queue.spawn(move || log.push("short")).join().unwrap();
    }
    queue.drain().unwrap();
    let ran = ran.take();
    assert_eq!(ran.first(), Some(&"aside"));
    assert_eq!(ran.last(), Some(&"done"));
    assert_eq!(ran.iter().filter(|name| **name == "short").count(), 2);
}

#[test]
fn an_item_knows_what_it_is() {
    let _watch = watchdog();
    let (queue, log) = (limited("named", 4), Log::default());
    assert_eq!(cmwq::current_work(), None);
    let seen = log.clone();
    let work = Work::with_data((), move |work| {
        seen.push((cmwq::current_work(), work.is_current()));
        // A wait inside does not change who one is.
        cmwq::system().spawn(|| ()).join().unwrap();
        seen.push((cmwq::current_work(), work.is_current()));
    });
    assert!(!work.is_current());
    assert_eq!(queue.queue(&work), Ok(true));
    work.flush().unwrap();
    for (current, is_current) in log.take() {
        let CurrentWork { queue, item, .. } = current.unwrap();
        assert_eq!(queue, "named");
        assert!(
            item.starts_with("queues::inside::an_item_knows_what_it_is"),
            "{item}"
        );
        assert!(is_current);
    }
    let inner = queue.spawn(|| {
        let inside = cmwq::system().spawn(|| cmwq::current_work().unwrap().queue);
        (inside.join().unwrap(), cmwq::current_work().unwrap().queue)
    });
    let names = inner.join().unwrap();
    assert_eq!((names.0.as_str(), names.1.as_str()), ("system", "named"));
}

#[test]
fn a_description_is_the_items_and_outside_it_does_nothing() {
    let _watch = watchdog();
    cmwq::set_worker_desc("nobody hears this");
    let gate = Arc::new(Permits::new());
    let _opens = Opens(&gate);
    let queue = limited("described", 2);
    let held = gate.clone();
    let item = queue.spawn(move || {
        cmwq::set_worker_desc("first");
        cmwq::set_worker_desc("second, with more to say than the kernel's 31 bytes");
        held.take();
    });
    assert!(!item.is_finished());
    gate.give(1);
    eventually("it ends", || item.is_finished());
}
