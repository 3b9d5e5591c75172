//! The examples of the kernel's document on real threads, by order: `w0` burns, sleeps and burns,
//! `w1` and `w2` burn and sleep, all on one CPU. What sleeps here waits until the document's next
//! event has happened, so the clock decides nothing. The times are checked where time is virtual.

mod common;

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

use cmwq::{Workqueue, WorkqueueBuilder};
use cmwq_os::clock;
use common::{Permits, eventually, watchdog};

/// What has happened so far, as `w0+` and `w0-`.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn note(&self, what: &str) {
        self.0.lock().unwrap().push(what.to_owned());
    }

    fn has(&self, what: &str) -> bool {
        self.0.lock().unwrap().iter().any(|it| it == what)
    }

    fn is(&self, expected: &str) {
        let log = self.0.lock().unwrap();
        let expected: Vec<&str> = expected.split(' ').collect();
        assert_eq!(*log, expected);
    }
}

fn burn() {
    let end = clock::thread_cpu() + 2_000_000;
    while clock::thread_cpu() < end {
        std::hint::spin_loop();
    }
}

/// The three items on one CPU, the last two perhaps on a queue of their own; each sleeps until it
/// is given a permit.
struct Scene {
    log: Log,
    alarms: [Arc<Permits>; 3],
    queues: [Workqueue; 2],
}

impl Scene {
    fn of(first: WorkqueueBuilder, others: Option<WorkqueueBuilder>) -> Scene {
        let first = first.build().unwrap();
        let others = others.map_or(first.clone(), |queue| queue.build().unwrap());
        let scene = Scene {
            log: Log::default(),
            alarms: std::array::from_fn(|_| Arc::new(Permits::default())),
            queues: [first, others],
        };
        for n in 0..3 {
            let (log, alarm) = (scene.log.clone(), scene.alarms[n].clone());
            let work = cmwq::Work::new(move || {
                log.note(&format!("w{n}+"));
                burn();
                alarm.take();
                if n == 0 {
                    burn();
                }
                log.note(&format!("w{n}-"));
            });
            assert!(scene.queues[n.min(1)].queue_on(0, &work).unwrap());
        }
        scene
    }

    /// Waits for an event; none but those of `so_far` has happened when it has.
    fn until(&self, what: &str, so_far: &str) {
        eventually(what, || self.log.has(what));
        self.log.is(so_far);
    }

    /// The alarm of this item goes off, and the item ends.
    fn wake(&self, n: usize) {
        self.alarms[n].give(1);
        eventually("it ends", || self.log.has(&format!("w{n}-")));
    }

    fn end(self) {
        self.queues.iter().for_each(|queue| queue.flush().unwrap());
    }
}

fn percpu(max_active: usize) -> WorkqueueBuilder {
    Workqueue::builder("timeline")
        .percpu()
        .max_active(max_active)
}

#[test]
fn one_thread_runs_them_one_after_the_other() {
    let _watch = watchdog();
    for queue in [percpu(1), Workqueue::builder("timeline").ordered()] {
        let scene = Scene::of(queue, None);
        scene.until("w0+", "w0+");
        scene.wake(0);
        scene.until("w1+", "w0+ w0- w1+");
        scene.wake(1);
        scene.until("w2+", "w0+ w0- w1+ w1- w2+");
        scene.wake(2);
        scene.end();
    }
}

#[test]
fn with_max_active_3_each_begins_when_the_one_before_sleeps() {
    let _watch = watchdog();
    let scene = Scene::of(percpu(3), None);
    scene.until("w2+", "w0+ w1+ w2+");
    (0..3).for_each(|n| scene.wake(n));
    scene.log.is("w0+ w1+ w2+ w0- w1- w2-");
    scene.end();
}

#[test]
fn with_max_active_2_the_third_begins_when_the_first_has_ended() {
    let _watch = watchdog();
    let scene = Scene::of(percpu(2), None);
    scene.until("w1+", "w0+ w1+");
    scene.wake(0);
    scene.until("w2+", "w0+ w1+ w0- w2+");
    scene.wake(1);
    scene.wake(2);
    scene.log.is("w0+ w1+ w0- w2+ w1- w2-");
    scene.end();
}

/// As documented both begin when the first one sleeps, which they do not wait for each other to do.
#[test]
fn cpu_intensive_ones_begin_while_the_one_before_computes() {
    let _watch = watchdog();
    let hogs = Workqueue::builder("hogs")
        .percpu()
        .cpu_intensive()
        .build()
        .unwrap();
    let (first, second) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicBool::new(false)),
    );
    // Neither ever sleeps before the other one has begun.
    let computes = |mine: &Arc<AtomicBool>, other: &Arc<AtomicBool>| {
        let (mine, other) = (mine.clone(), other.clone());
        move || {
            mine.store(true, SeqCst);
            while !other.load(SeqCst) {
                std::hint::spin_loop();
            }
        }
    };
    let works = [
        cmwq::Work::new(computes(&first, &second)),
        cmwq::Work::new(computes(&second, &first)),
    ];
    for work in &works {
        assert!(hogs.queue_on(0, work).unwrap());
    }
    hogs.flush().unwrap();
}
