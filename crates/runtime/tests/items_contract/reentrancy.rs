//! An item never runs twice at once, and no queueing of it is lost, wherever it is queued.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use cmwq::{Work, Workqueue};
use cmwq_os::sched;

use crate::common::{Occupancy, Opens, elsewhere, queue, watchdog};
use crate::kit::{Dice, KINDS, Kind, cpus, gated, start};

const THREADS: usize = 8;
const ITEMS: usize = 3;

#[derive(Default)]
struct Counts {
    inside: Occupancy,
    queued: AtomicUsize,
    runs: AtomicUsize,
}

fn item(n: usize) -> Work<Counts> {
    Work::with_data(Counts::default(), move |item| {
        let _counted = item.data().inside.enter();
        match (n + item.data().runs.fetch_add(1, SeqCst)) % 4 {
            0 => std::thread::yield_now(),
            1 => std::thread::sleep(std::time::Duration::from_micros(30)),
            _ => {}
        }
    })
}

/// Where something is queued.
type Place = (Workqueue, Option<usize>);

fn put(place: &Place, item: &Work<Counts>) -> bool {
    let (queue, cpu) = place;
    match cpu {
        Some(cpu) => queue.queue_on(*cpu, item).unwrap(),
        None => queue.queue(item).unwrap(),
    }
}

/// Queues the same items from many threads on all of the places.
fn queue_everywhere(what: &str, places: &[Place], times: usize) {
    let items: Vec<_> = (0..ITEMS).map(item).collect();
    std::thread::scope(|threads| {
        for thread in 0..THREADS {
            let items = &items;
            threads.spawn(move || {
                let mut dice = Dice(thread as u64 + 1);
                for _ in 0..times {
                    let item = &items[dice.roll(ITEMS)];
                    let queued = put(&places[dice.roll(places.len())], item);
                    item.data().queued.fetch_add(usize::from(queued), SeqCst);
                }
            });
        }
    });
    for item in &items {
        item.flush().unwrap();
        let (queued, runs) = (
            item.data().queued.load(SeqCst),
            item.data().runs.load(SeqCst),
        );
        assert_eq!((item.data().inside.peak(), runs), (1, queued), "{what}");
    }
}

fn nice(nice: i32) -> Workqueue {
    let queue = Workqueue::builder("nice").nice(nice).build();
    queue.unwrap()
}

#[test]
fn on_one_queue() {
    let _watch = watchdog();
    for kind in KINDS {
        queue_everywhere(&format!("{kind:?}"), &[(kind.queue(), None)], 2_000);
    }
}

#[test]
fn on_two_queues_of_one_pool() {
    let _watch = watchdog();
    let places = [(queue("left"), None), (queue("right"), None)];
    queue_everywhere("two of one pool", &places, 4_000);
}

#[test]
fn on_two_queues_of_different_pools() {
    let _watch = watchdog();
    let there = elsewhere("there").build().unwrap();
    let places = [(queue("here"), None), (there, None)];
    queue_everywhere("two pools", &places, 4_000);
}

#[test]
fn on_queues_of_any_two_kinds() {
    let _watch = watchdog();
    for (n, left) in KINDS.into_iter().enumerate() {
        for right in KINDS.into_iter().skip(n + 1) {
            let places = [(left.queue(), None), (right.queue(), None)];
            queue_everywhere(&format!("{left:?} and {right:?}"), &places, 1_000);
        }
    }
}

#[test]
fn on_queues_of_all_kinds_at_once() {
    let _watch = watchdog();
    let mut places: Vec<Place> = KINDS.map(|kind| (kind.queue(), None)).into();
    places.extend([(nice(5), None), (nice(9), None)]);
    queue_everywhere("all", &places, 4_000);
}

#[test]
fn on_one_queue_from_and_for_different_cpus() {
    let _watch = watchdog();
    for kind in [Kind::PerCpu, Kind::Bh] {
        let queue = kind.queue();
        let on = |cpu| (queue.clone(), Some(cpu));
        let places: Vec<Place> = cpus().into_iter().map(on).collect();
        queue_everywhere(&format!("{kind:?} on each CPU"), &places, 4_000);
    }
}

#[test]
fn a_queue_follows_a_running_item_to_its_cpu() {
    let _watch = watchdog();
    let [first, .., last] = cpus()[..] else {
        eprintln!("skipped: one CPU");
        return;
    };
    for kind in [Kind::PerCpu, Kind::Bh] {
        let queue = kind.queue();
        let item = gated();
        let _opens = Opens(&item.data().gate);
        start(&queue, &item);
        assert_eq!(queue.queue_on(last, &item), Ok(true));
        // The other CPU's worker is free, and does not take it.
        let other = Work::new(move || assert_eq!(sched::current_cpu(), last));
        for _ in 0..50 {
            assert_eq!(queue.queue_on(last, &other), Ok(true));
            other.flush().unwrap();
        }
        assert_eq!(item.data().began(), 1, "{kind:?}");
        item.data().gate.open();
        item.flush().unwrap();
        let cpu_of = |n| item.data().cpu_of_run(n);
        assert_eq!((cpu_of(0), cpu_of(1)), (first, first), "{kind:?}");
    }
}
