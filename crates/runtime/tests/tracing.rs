//! Spans and events of `tracing`, heard by a subscriber of our own.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

static HEARD: Mutex<Vec<Heard>> = Mutex::new(Vec::new());

/// An event, or what happened to a span.
#[derive(Clone, Debug, Default, PartialEq)]
struct Heard {
    what: String,
    queue: String,
    item: String,
    work: u64,
}

impl Visit for Heard {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "queue" => self.queue = value.into(),
            "item" => self.item = value.into(),
            _ => {}
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "work" {
            self.work = value;
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.what = format!("{value:?}");
        }
    }
}

/// Panics at each event of the queue "angry".
#[derive(Default)]
struct Ear(AtomicU64);

fn hear(heard: Heard) {
    let angry = heard.queue == "angry";
    HEARD.lock().unwrap().push(heard);
    assert!(!angry, "an angry subscriber");
}

impl Subscriber for Ear {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.target() == "cmwq"
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut heard = Heard::default();
        attributes.record(&mut heard);
        heard.what = format!("span {}", attributes.metadata().name());
        hear(heard);
        Id::from_u64(1 + self.0.fetch_add(1, SeqCst))
    }

    fn event(&self, event: &Event<'_>) {
        let mut heard = Heard::default();
        event.record(&mut heard);
        hear(heard);
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {
        let what = "exit".into();
        HEARD.lock().unwrap().push(Heard {
            what,
            ..Heard::default()
        });
    }
}

fn nothing() {}

/// One test: a process has one subscriber.
#[test]
fn steps_are_heard_in_order_and_a_panic_harms_nobody() {
    tracing::subscriber::set_global_default(Ear::default()).unwrap();
    let queue = cmwq::Workqueue::builder("heard")
        .max_active(1)
        .build()
        .unwrap();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let first = queue.spawn(move || wait.recv().unwrap());
    let second = queue.spawn(nothing);
    go.send(()).unwrap();
    first.join().unwrap();
    second.join().unwrap();
    queue.flush().unwrap();
    let heard: Vec<Heard> = HEARD.lock().unwrap().clone();
    let of_nothing = |heard: &&Heard| heard.item.contains("nothing");
    let steps: Vec<_> = heard
        .iter()
        .filter(of_nothing)
        .map(|heard| heard.what.as_str())
        .collect();
    let expected = [
        "workqueue_queue_work",
        "workqueue_activate_work",
        "span work",
        "workqueue_execute_start",
        "workqueue_execute_end",
    ];
    assert_eq!(steps, expected, "{heard:?}");
    let works: Vec<_> = heard
        .iter()
        .filter(of_nothing)
        .map(|heard| heard.work)
        .collect();
    assert!(
        works[0] != 0 && works.iter().all(|work| *work == works[0]),
        "{works:?}"
    );
    let place = |what: &str| heard.iter().position(|heard| heard.what == what);
    assert!(place("exit") > place("workqueue_execute_end"), "{heard:?}");

    let angry = cmwq::Workqueue::builder("angry").build().unwrap();
    assert_eq!(angry.spawn(|| 7).join().unwrap(), 7);
    let of_angry = HEARD
        .lock()
        .unwrap()
        .iter()
        .filter(|heard| heard.queue == "angry")
        .count();
    assert!(of_angry >= 3, "{of_angry}");
    every_way_to_queue_is_heard();
    each_of_many_is_heard_once();
}

fn count(what: &str, queue: &str) -> usize {
    let heard = HEARD.lock().unwrap();
    let is_it = |heard: &&Heard| heard.what == what && heard.queue == queue;
    heard.iter().filter(is_it).count()
}

/// Debug builds panic where a subscriber would be called with a lock held.
fn every_way_to_queue_is_heard() {
    for (name, per_cpu) in [("delayed", false), ("delayed per CPU", true)] {
        let builder = cmwq::Workqueue::builder(name).max_active(1);
        let builder = if per_cpu { builder.percpu() } else { builder };
        let queue = builder.build().unwrap();
        let delayed = cmwq::Work::new(|| ());
        assert_eq!(
            queue.queue_after(&delayed, Duration::from_millis(1)),
            Ok(true)
        );
        let until = Instant::now() + Duration::from_secs(60);
        while count("workqueue_execute_end", name) + count("workqueue_execute_start", name) == 0 {
            assert!(Instant::now() < until, "the delayed item never starts");
            std::thread::sleep(Duration::from_millis(1));
        }
        // Activated by a change of the limit, and by the end of items.
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let wait = Arc::new(Mutex::new(wait));
        let held = |_| {
            let wait = wait.clone();
            queue.spawn(move || wait.lock().unwrap().recv().unwrap_or_default())
        };
        let held: Vec<_> = (0..20).map(held).collect();
        queue.set_max_active(4);
        drop(go);
        held.into_iter().for_each(|item| item.join().unwrap());
        queue.drain().unwrap();
        for what in [
            "workqueue_queue_work",
            "workqueue_activate_work",
            "workqueue_execute_start",
        ] {
            assert_eq!(count(what, name), 21, "{what} of {name}");
        }
    }
}

/// Also of those that a worker begins without the pool's lock (`--cfg cmwq_brief`).
fn each_of_many_is_heard_once() {
    const ITEMS: usize = 2000;
    let queue = cmwq::Workqueue::builder("many").build().unwrap();
    (0..ITEMS).for_each(|_| drop(queue.spawn(|| ())));
    queue.drain().unwrap();
    for what in [
        "workqueue_queue_work",
        "workqueue_activate_work",
        "workqueue_execute_start",
    ] {
        assert_eq!(count(what, "many"), ITEMS, "{what}");
    }
}
