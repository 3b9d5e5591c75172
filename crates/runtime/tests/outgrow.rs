//! Limits that nobody has chosen stop no program; those that somebody has chosen stay.

mod common;

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use cmwq::{Builder, Report, Workqueue};
use common::alone::alone;
use common::{Opens, Permits, eventually, limited, queue};

/// A request that waits for an item that waits for an item, and so on, through channels.
fn nest(queue: &Workqueue, depth: usize, done: mpsc::Sender<()>) {
    let own = queue.clone();
    drop(queue.spawn(move || {
        if let Some(depth) = depth.checked_sub(1) {
            let (tell, told) = mpsc::channel();
            nest(&own, depth, tell);
            told.recv().unwrap();
        }
        done.send(()).unwrap();
    }));
}

fn requests(queue: &Workqueue, count: usize, depth: usize) {
    let (tell, told) = mpsc::channel();
    (0..count).for_each(|_| nest(queue, depth, tell.clone()));
    drop(tell);
    assert_eq!(told.iter().count(), count);
}

/// What was reported of limits.
fn raised() -> Arc<Mutex<Vec<Report>>> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let said = log.clone();
    cmwq::set_report_hook(move |report| {
        let of_limits = matches!(
            report,
            Report::LimitRaised { .. } | Report::ThreadLimitRaised { .. }
        );
        if of_limits {
            said.lock().unwrap().push(report.clone());
        }
    });
    log
}

#[test]
fn a_limit_and_a_number_of_threads_that_nobody_chose_are_raised_and_told_once() {
    let test = "a_limit_and_a_number_of_threads_that_nobody_chose_are_raised_and_told_once";
    alone(test, || {
        let log = raised();
        let queue = queue("nest");
        requests(&queue, 700, 3);
        assert!(queue.max_active() > 1024, "{}", queue.max_active());
        requests(&queue, 700, 3);
        let log = log.lock().unwrap();
        let limits = log
            .iter()
            .filter(|r| matches!(r, Report::LimitRaised { .. }));
        assert_eq!((limits.count(), log.len()), (1, 2), "{log:?}");
    });
}

#[test]
fn so_it_is_for_every_kind() {
    alone("so_it_is_for_every_kind", || {
        drop(raised());
        let builder = Workqueue::builder;
        requests(&builder("unmanaged").unmanaged().build().unwrap(), 400, 3);
        requests(&builder("percpu").percpu().build().unwrap(), 400, 3);
        requests(
            &builder("nice").nice(2).mem_reclaim().build().unwrap(),
            400,
            3,
        );
        requests(cmwq::system(), 400, 3);
    });
}

#[test]
fn joins_at_a_limit_that_nobody_chose_are_not_refused() {
    alone("joins_at_a_limit_that_nobody_chose_are_not_refused", || {
        drop(raised());
        fn join(queue: &Workqueue, depth: usize) -> Result<(), cmwq::JoinError> {
            match depth.checked_sub(1) {
                None => Ok(()),
                Some(depth) => {
                    let own = queue.clone();
                    queue.spawn(move || join(&own, depth)).join()?
                }
            }
        }
        let queue = queue("joins");
        let own = queue.clone();
        queue
            .spawn(move || join(&own, 1100))
            .join()
            .unwrap()
            .unwrap();
        assert!(queue.max_active() > 1024);
    });
}

#[test]
fn a_limit_that_was_set_stays() {
    alone("a_limit_that_was_set_stays", || {
        let log = raised();
        for queue in [limited("built", 4), queue("set")] {
            queue.set_max_active(4);
            let gate = Arc::new(Permits::new());
            let _opens = Opens(&gate);
            for _ in 0..8 {
                let gate = gate.clone();
                drop(queue.spawn(move || gate.take()));
            }
            eventually("all slots are held", || queue.counts().nr_executing == 4);
            std::thread::sleep(Duration::from_millis(200));
            assert_eq!((queue.max_active(), queue.counts().nr_executing), (4, 4));
        }
        assert!(log.lock().unwrap().is_empty());
    });
}

#[test]
fn a_number_of_threads_that_was_set_stays() {
    alone("a_number_of_threads_that_was_set_stays", || {
        let log = raised();
        Builder::new().thread_limit(3).install().unwrap();
        let queue = queue("q");
        let gate = Arc::new(Permits::new());
        let _opens = Opens(&gate);
        for _ in 0..8 {
            let gate = gate.clone();
            drop(queue.spawn(move || gate.take()));
        }
        eventually("all threads are used", || queue.counts().nr_executing == 3);
        std::thread::sleep(Duration::from_millis(200));
        assert_eq!((cmwq::stats().workers, queue.counts().nr_executing), (3, 3));
        assert!(log.lock().unwrap().is_empty());
    });
}
