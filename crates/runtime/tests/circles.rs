//! Items that wait for each other in a circle: whoever closes it is told, whatever else goes on.

mod common;

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::time::Duration;

use cmwq::{JoinHandle, Work, Workqueue};
use cmwq_os::sched;
use cmwq_policy::CpuMask;
use common::{eventually, queue, watchdog};

/// Items that follow each other on this queue for as long as it lives.
struct Traffic {
    stop: Arc<AtomicBool>,
    items: Vec<Work>,
}

impl Traffic {
    fn on(queue: &Workqueue) -> Traffic {
        let stop = Arc::new(AtomicBool::new(false));
        let item = |_| {
            let (stop, own) = (stop.clone(), queue.clone());
            Work::with_data((), move |work: &Work| {
                std::thread::sleep(Duration::from_millis(1));
                if !stop.load(SeqCst) {
                    own.queue(work).unwrap();
                }
            })
        };
        let items: Vec<Work> = (0..3).map(item).collect();
        items
            .iter()
            .for_each(|item| assert_eq!(queue.queue(item), Ok(true)));
        Traffic { stop, items }
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.stop.store(true, SeqCst);
        self.items.iter().for_each(|item| {
            item.flush().unwrap();
        });
    }
}

/// Queues of different pools.
fn pools(count: i32) -> Vec<Workqueue> {
    let queue = |nice| Workqueue::builder("q").nice(nice).build().unwrap();
    (0..count).map(queue).collect()
}

/// How an item waits for the next one, or for its queue; whether it was refused.
type Waits = fn(&Work, &Workqueue) -> bool;

const WAYS: [(&str, Waits); 5] = [
    ("flush", |next, _| next.flush().is_err()),
    ("cancel_sync", |next, _| next.cancel_sync().is_err()),
    ("disable_sync", |next, _| next.disable_sync().is_err()),
    ("flush of the queue", |_, queue| queue.flush().is_err()),
    ("drain of the queue", |_, queue| queue.drain().is_err()),
];

/// A circle of items, each on the queue of its number: how many were refused.
fn circle(queues: &[Workqueue], waits: Waits) -> usize {
    let all = Arc::new(OnceLock::<Vec<Work>>::new());
    let met = Arc::new(Barrier::new(queues.len()));
    let refused = Arc::new(Mutex::new(Vec::new()));
    let item = |at: usize| {
        let (all, met, refused) = (all.clone(), met.clone(), refused.clone());
        let next = (at + 1) % queues.len();
        let queue = queues[next].clone();
        Work::new(move || {
            met.wait();
            let work = all.get().unwrap()[next].clone();
            let was_refused = waits(&work, &queue);
            refused.lock().unwrap().push(was_refused);
        })
    };
    let works: Vec<Work> = (0..queues.len()).map(item).collect();
    all.set(works.clone()).unwrap();
    let queue = |(queue, work): (&Workqueue, &Work)| assert_eq!(queue.queue(work), Ok(true));
    queues.iter().zip(&works).for_each(queue);
    eventually("the circle is open", || {
        refused.lock().unwrap().len() == queues.len()
    });
    let refused = refused.lock().unwrap();
    refused.iter().filter(|refused| **refused).count()
}

#[test]
fn a_circle_of_two_or_three_over_pools_is_told_once() {
    let _watch = watchdog();
    for length in [2, 3] {
        for (name, waits) in WAYS {
            let queues = pools(length);
            assert_eq!(circle(&queues, waits), 1, "{length}: {name}");
        }
    }
}

#[test]
fn so_is_one_beside_other_traffic() {
    let _watch = watchdog();
    for (name, waits) in WAYS {
        let queues = pools(2);
        // A drain would wait for the traffic, which goes on.
        let drains = name.starts_with("drain");
        let traffic: Vec<_> = queues.iter().filter(|_| !drains).map(Traffic::on).collect();
        assert_eq!(circle(&queues, waits), 1, "{name}");
        drop(traffic);
    }
}

#[test]
fn so_is_one_within_a_queue_beside_other_traffic() {
    let _watch = watchdog();
    for (name, waits) in &WAYS[..3] {
        let queue = queue("q");
        let _traffic = Traffic::on(&queue);
        assert_eq!(circle(&[queue.clone(), queue], *waits), 1, "{name}");
    }
}

#[test]
fn who_cancels_an_item_that_joins_it_is_told() {
    let _watch = watchdog();
    for pools in [pools(1), pools(2)] {
        let (first, second) = (pools[0].clone(), pools[pools.len() - 1].clone());
        let _traffic = [Traffic::on(&first), Traffic::on(&second)];
        let (cell, told) = (
            Arc::new(OnceLock::<Work>::new()),
            Arc::new(Mutex::new(vec![])),
        );
        let (x, said) = (cell.clone(), told.clone());
        let work = Work::new(move || {
            let (x, own) = (x.clone(), said.clone());
            let y = second.spawn(move || {
                let refused = x.get().unwrap().cancel_sync().is_err();
                own.lock().unwrap().push(("cancel_sync", refused));
            });
            let refused = y.join().is_err();
            said.lock().unwrap().push(("join", refused));
        });
        cell.set(work.clone()).unwrap();
        first.queue(&work).unwrap();
        eventually("both have ended", || told.lock().unwrap().len() == 2);
        let refused = told
            .lock()
            .unwrap()
            .iter()
            .filter(|(_, refused)| *refused)
            .count();
        assert_eq!(refused, 1, "{told:?}");
        work.flush().unwrap();
    }
}

#[test]
fn who_waits_for_an_item_that_has_no_slot_because_of_him_is_told() {
    let _watch = watchdog();
    circle_through_an_ordered_queue(|_| ());
}

/// Later items of an ordered queue begin when all older ones have ended, in whatever pool.
#[test]
fn so_is_one_whose_queue_has_changed_pools_since() {
    let _watch = watchdog();
    circle_through_an_ordered_queue(|queue| {
        let mut attrs = queue.attrs();
        attrs.nice += 1;
        queue.apply_attrs(&attrs).unwrap();
    });
}

/// An item of an ordered queue waits for X, which waits for a later one; `change` comes before
/// that.
fn circle_through_an_ordered_queue(change: fn(&Workqueue)) {
    let free = queue("free");
    let ordered = Workqueue::builder("ordered")
        .ordered()
        .nice(3)
        .build()
        .unwrap();
    let _traffic = Traffic::on(&free);
    let (cell, told) = (
        Arc::new(OnceLock::<Work>::new()),
        Arc::new(Mutex::new(vec![])),
    );
    let met = Arc::new(Barrier::new(2));
    let (x, said, meet) = (cell.clone(), told.clone(), met.clone());
    // It holds the only slot, and waits for X.
    drop(ordered.spawn(move || {
        meet.wait();
        let refused = x.get().unwrap().flush().is_err();
        said.lock().unwrap().push(refused);
    }));
    let (said, own) = (told.clone(), ordered.clone());
    let work = Work::new(move || {
        met.wait();
        change(&own);
        let refused = own.spawn(|| ()).join().is_err();
        said.lock().unwrap().push(refused);
    });
    cell.set(work.clone()).unwrap();
    free.queue(&work).unwrap();
    eventually("both have ended", || told.lock().unwrap().len() == 2);
    let refused = told
        .lock()
        .unwrap()
        .iter()
        .filter(|refused| **refused)
        .count();
    assert_eq!(refused, 1);
    ordered.flush().unwrap();
}

#[test]
fn a_task_of_a_scope_that_waits_for_the_scopes_item_is_told() {
    let _watch = watchdog();
    let (first, second) = (
        queue("first"),
        Workqueue::builder("second").nice(2).build().unwrap(),
    );
    let _traffic = Traffic::on(&first);
    let (cell, told) = (
        Arc::new(OnceLock::<Work>::new()),
        Arc::new(Mutex::new(vec![])),
    );
    let (x, said) = (cell.clone(), told.clone());
    let work = Work::new(move || {
        let waits = AtomicBool::new(false);
        let result = second.scope(|scope| {
            drop(scope.spawn(|| {
                // The scope waits by then, as a rule.
                eventually("the scope waits", || waits.load(SeqCst));
                std::thread::sleep(Duration::from_millis(20));
                let refused = x.get().unwrap().flush().is_err();
                said.lock().unwrap().push(refused);
            }));
            waits.store(true, SeqCst);
        });
        said.lock().unwrap().push(result.is_err());
    });
    cell.set(work.clone()).unwrap();
    first.queue(&work).unwrap();
    eventually("both have ended", || told.lock().unwrap().len() == 2);
    assert_eq!(*told.lock().unwrap(), [true, false]);
    work.flush().unwrap();
}

#[test]
fn who_waits_for_the_item_of_a_scope_that_cannot_return_is_told() {
    let _watch = watchdog();
    for nice in [0, 2] {
        let first = queue("first");
        let second = Workqueue::builder("second").nice(nice).build().unwrap();
        let _traffic = [Traffic::on(&first), Traffic::on(&second)];
        let (cell, told) = (
            Arc::new(OnceLock::<Work>::new()),
            Arc::new(Mutex::new(vec![])),
        );
        let (x, said) = (cell.clone(), told.clone());
        let work = Work::new(move || {
            let waiting = AtomicUsize::new(0);
            let result = second.scope(|scope| {
                for cancels in [false, true] {
                    let (x, said, waiting) = (x.get().unwrap(), &said, &waiting);
                    drop(scope.spawn(move || {
                        waiting.fetch_add(1, SeqCst);
                        let refused = match cancels {
                            true => x.cancel_sync().is_err(),
                            false => x.flush().is_err(),
                        };
                        said.lock().unwrap().push(refused);
                    }));
                }
                // They wait by then, as a rule.
                eventually("both have begun", || waiting.load(SeqCst) == 2);
                std::thread::sleep(Duration::from_millis(20));
            });
            said.lock().unwrap().push(result.is_err());
        });
        cell.set(work.clone()).unwrap();
        first.queue(&work).unwrap();
        eventually("all have ended", || told.lock().unwrap().len() == 3);
        assert_eq!(told.lock().unwrap()[..2], [true, true]);
        work.flush().unwrap();
    }
}

#[test]
fn a_circle_through_a_task_that_was_spawned_while_its_scope_waits_is_told() {
    let _watch = watchdog();
    let first = Workqueue::builder("first").max_active(2).build().unwrap();
    let second = Workqueue::builder("second")
        .nice(2)
        .max_active(1)
        .build()
        .unwrap();
    let refused = Arc::new(AtomicUsize::new(0));
    let note = move |refusals: &AtomicUsize, was_refused: bool| {
        refusals.fetch_add(usize::from(was_refused), SeqCst);
    };
    let (own, other, count) = (first.clone(), second.clone(), refused.clone());
    // It has one slot of the first queue, and its task the other one.
    let owner = first.spawn(move || {
        let returns = AtomicBool::new(false);
        let left = own.scope(|scope| {
            let task = || {
                eventually("the scope's body ends", || returns.load(SeqCst));
                // The scope waits by then, as a rule: for this task, and for what follows.
                std::thread::sleep(Duration::from_millis(20));
                let (told, after) = std::sync::mpsc::channel();
                // Of the second queue it has the slot, and waits for the last one of the first
                // queue.
                let (last_of, counted) = (own.clone(), count.clone());
                drop(other.spawn(move || {
                    let last: cmwq::JoinHandle<()> = after.recv().unwrap();
                    drop(last_of);
                    note(&counted, last.join().is_err());
                }));
                // It has the slot of this task next, and waits for the second queue.
                let (behind, counted) = (other.clone(), count.clone());
                drop(own.spawn(move || {
                    std::thread::sleep(Duration::from_millis(20));
                    note(&counted, behind.spawn(|| ()).join().is_err());
                }));
                drop(scope.spawn(|| ()));
                told.send(own.spawn(|| ())).unwrap();
            };
            drop(scope.spawn(task));
            returns.store(true, SeqCst);
        });
        note(&count, left.is_err());
    });
    owner.join().unwrap();
    first.flush().unwrap();
    second.flush().unwrap();
    assert_eq!(refused.load(SeqCst), 1);
}

/// As from a thread of the program that is on this CPU.
fn on_cpu<R: Send>(cpu: usize, act: impl FnOnce() -> R + Send) -> R {
    let mut mask = CpuMask::first(0);
    mask.insert(cpu);
    let pinned = || {
        sched::set_affinity_self(&mask).unwrap();
        act()
    };
    std::thread::scope(|scope| scope.spawn(pinned).join().unwrap())
}

/// Nobody begins to wait when it closes.
#[test]
fn a_circle_that_a_task_closes_as_it_spawns_another_one_is_told() {
    let _watch = watchdog();
    let cpus: Vec<usize> = sched::affinity(0).unwrap().iter().take(2).collect();
    let [here, there] = cpus[..] else {
        return println!("not on one CPU");
    };
    let percpu = Workqueue::builder("percpu").percpu().max_active(1);
    let (first, percpu) = (queue("first"), percpu.build().unwrap());
    let (handle_to, handle) = std::sync::mpsc::channel();
    // True if either of them was refused: whoever is told first lets the other one go on.
    let joins = move || {
        let owner: JoinHandle<bool> = handle.recv().unwrap();
        owner.join().unwrap_or(true)
    };
    let holder = on_cpu(there, || percpu.spawn(joins));
    let own = percpu.clone();
    let owner = first.spawn(move || {
        let left = own.scope(|scope| {
            let closes = || {
                // By then the scope waits, as a rule, and the holder of the other CPU's slot waits
                // for its item.
                std::thread::sleep(Duration::from_millis(40));
                on_cpu(there, || drop(scope.spawn(|| ())));
            };
            on_cpu(here, || drop(scope.spawn(closes)));
        });
        left.is_err()
    });
    handle_to.send(owner).unwrap();
    assert!(holder.join().unwrap());
    percpu.flush().unwrap();
}

#[test]
fn a_circle_that_a_lower_limit_closes_is_told() {
    let _watch = watchdog();
    let narrow = Workqueue::builder("narrow").max_active(2).build().unwrap();
    let other = Workqueue::builder("other").nice(2).build().unwrap();
    // One of two slots goes to an item that waits for one that has none yet, over another pool.
    let (ends, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(Barrier::new(2)));
    let until = ends.clone();
    let long = narrow.spawn(move || eventually("it may end", || until.load(SeqCst)));
    let (own, there, met) = (narrow.clone(), other.clone(), begun.clone());
    let waits = narrow.spawn(move || {
        met.wait();
        let inner = own.clone();
        let over = there.spawn(move || inner.spawn(|| ()).join().is_err());
        over.join().map_or(true, |inner| inner)
    });
    begun.wait();
    eventually("an item has no slot", || narrow.counts().nr_inactive == 1);
    // It waits by then, as a rule.
    std::thread::sleep(Duration::from_millis(20));
    assert!(narrow.set_max_active(1));
    assert!(waits.join().unwrap(), "one of the two waits was refused");
    ends.store(true, SeqCst);
    long.join().unwrap();
    narrow.flush().unwrap();
}

#[test]
fn a_delayed_item_in_a_circle_is_told() {
    let _watch = watchdog();
    let (first, second) = (
        queue("first"),
        Workqueue::builder("second").nice(4).build().unwrap(),
    );
    let _traffic = Traffic::on(&second);
    let told = Arc::new(Mutex::new(vec![]));
    let met = Arc::new(Barrier::new(2));
    let cells = [(); 2].map(|()| Arc::new(OnceLock::<Work>::new()));
    let item = |at: usize| {
        let (other, said, met) = (cells[1 - at].clone(), told.clone(), met.clone());
        Work::new(move || {
            met.wait();
            let refused = other.get().unwrap().cancel_sync().is_err();
            said.lock().unwrap().push(refused);
        })
    };
    let works = [item(0), item(1)];
    for (work, cell) in works.iter().zip(&cells) {
        assert!(cell.set(work.clone()).is_ok());
    }
    first
        .queue_after(&works[0], Duration::from_millis(1))
        .unwrap();
    second
        .queue_after(&works[1], Duration::from_millis(2))
        .unwrap();
    eventually("both have ended", || told.lock().unwrap().len() == 2);
    let refused = told
        .lock()
        .unwrap()
        .iter()
        .filter(|refused| **refused)
        .count();
    assert_eq!(refused, 1);
}

#[test]
fn items_that_wait_for_later_ones_only_are_never_refused() {
    let _watch = watchdog();
    let queues = pools(3);
    let works = Arc::new(OnceLock::<Vec<Work>>::new());
    let refused = Arc::new(Mutex::new(0));
    let item = |at: usize| {
        let (works, refused, queues) = (works.clone(), refused.clone(), queues.clone());
        Work::new(move || {
            let works = works.get().unwrap();
            let (own, mut seed) = (queues[at % 3].clone(), at as u64 * 0x9e37_79b9 + 1);
            for _ in 0..3 {
                seed = seed
                    .wrapping_mul(0x5851_f42d_4c95_7f2d)
                    .wrapping_add(at as u64 | 1);
                let later = at + 1 + (seed >> 33) as usize % 9;
                let failed = match works.get(later) {
                    Some(work) if seed.is_multiple_of(3) => work.cancel_sync().is_err(),
                    Some(work) => work.flush().is_err(),
                    None => own.spawn(|| ()).join().is_err(),
                };
                *refused.lock().unwrap() += u32::from(failed);
            }
        })
    };
    let all: Vec<Work> = (0..60).map(item).collect();
    works.set(all.clone()).unwrap();
    for _ in 0..20 {
        for (at, work) in all.iter().enumerate() {
            // Refused while another item cancels it.
            let _ = queues[(at * 7) % 3].queue(work);
        }
        all.iter().for_each(|work| {
            work.flush().unwrap();
        });
    }
    assert_eq!(*refused.lock().unwrap(), 0);
}
