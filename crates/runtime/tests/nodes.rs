//! Limits on a machine with two memory nodes, on real threads: the machine's description is a
//! folder that says so. Each CPU is a node, with a cache of its own.

mod common;

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

use cmwq::{Work, Workqueue};
use cmwq_policy::CpuMask;
use common::alone::alone;
use common::threads::set_process_mask;
use common::two_nodes::on_two_nodes;
use common::{Occupancy, Permits, eventually};

/// Items that stay until they are let go, and count themselves by node.
#[derive(Default)]
struct Stay {
    by_node: [Occupancy; 2],
    all: Occupancy,
    gate: Permits,
    ended: AtomicUsize,
}

impl Stay {
    fn queue(self: &Arc<Self>, queue: &Workqueue, cpus: [usize; 2], node: usize, items: usize) {
        for _ in 0..items {
            let stay = self.clone();
            let work = Work::new(move || {
                let _all = stay.all.enter();
                let _here = stay.by_node[node].enter();
                stay.gate.take();
                stay.ended.fetch_add(1, SeqCst);
            });
            assert_eq!(queue.queue_on(cpus[node], &work), Ok(true));
        }
    }

    /// So many of each node are inside, and no more come.
    fn settle(&self, inside: [usize; 2]) {
        let now = || [self.by_node[0].now(), self.by_node[1].now()];
        eventually("they have begun", || now() == inside);
        for _ in 0..50 {
            std::thread::yield_now();
            assert_eq!(now(), inside);
        }
    }
}

fn unmanaged(name: &str, max_active: usize) -> Workqueue {
    let queue = Workqueue::builder(name).unmanaged();
    queue.max_active(max_active).build().unwrap()
}

#[test]
fn each_node_has_its_part_of_the_limit() {
    alone("each_node_has_its_part_of_the_limit", || {
        on_two_nodes(|cpus| {
            let (queue, stay) = (unmanaged("parts", 5), Arc::new(Stay::default()));
            assert!(queue.set_min_active(1));
            stay.queue(&queue, cpus, 0, 10);
            // Half of it, rounded up; what the other node does not use is not lent.
            stay.settle([3, 0]);
            stay.queue(&queue, cpus, 1, 10);
            stay.settle([3, 3]);
            // At least `min_active` for each.
            assert!(queue.set_min_active(4));
            stay.settle([4, 4]);
            // Up and down while items wait; who has begun goes on.
            assert!(queue.set_max_active(14));
            stay.settle([7, 7]);
            assert!(queue.set_max_active(2));
            stay.gate.give(1);
            eventually("one has ended", || stay.ended.load(SeqCst) == 1);
            assert_eq!(stay.all.now(), 13);
            stay.gate.open();
            queue.flush().unwrap();
            assert_eq!((stay.ended.load(SeqCst), stay.all.now()), (20, 0));
            assert_eq!(stay.all.peak(), 14);
        })
    });
}

#[test]
fn an_exact_limit_is_one_for_all_nodes() {
    alone("an_exact_limit_is_one_for_all_nodes", || {
        on_two_nodes(|cpus| {
            let queue = Workqueue::builder("exact").unmanaged().max_active_exact(3);
            let (queue, stay) = (queue.build().unwrap(), Arc::new(Stay::default()));
            stay.queue(&queue, cpus, 0, 10);
            // One node has all of it while the other needs nothing.
            stay.settle([3, 0]);
            stay.queue(&queue, cpus, 1, 10);
            stay.settle([3, 0]);
            // Slots that come back go round.
            stay.gate.give(2);
            eventually("turns go round", || stay.by_node[1].now() > 0);
            assert!(queue.set_max_active(5));
            eventually("two more", || stay.all.now() == 5);
            stay.gate.open();
            queue.flush().unwrap();
            assert_eq!(stay.ended.load(SeqCst), 20);
            assert!(stay.all.peak() <= 5, "{} at once", stay.all.peak());
        })
    });
}

/// Each item waits for the next one, which is queued on the other node.
#[test]
fn a_chain_over_both_nodes_ends() {
    alone("a_chain_over_both_nodes_ends", || {
        on_two_nodes(|cpus| {
            const CHAIN: usize = 12;
            let exact = Workqueue::builder("exact").unmanaged();
            let exact = exact.max_active_exact(CHAIN).build().unwrap();
            // Each node may have `min_active` of its own.
            let parts = unmanaged("parts", CHAIN);
            assert!(parts.set_min_active(CHAIN));
            for queue in [exact, parts] {
                let links: Arc<Vec<Permits>> =
                    Arc::new((0..=CHAIN).map(|_| Permits::new()).collect());
                for n in 0..CHAIN {
                    let links = links.clone();
                    let work = Work::new(move || {
                        links[n + 1].take();
                        links[n].give(1);
                    });
                    assert_eq!(queue.queue_on(cpus[n % 2], &work), Ok(true));
                }
                links[CHAIN].give(1);
                links[0].take();
                queue.flush().unwrap();
            }
        })
    });
}

#[test]
fn nothing_is_lost_when_a_node_goes_and_comes_back() {
    alone("nothing_is_lost_when_a_node_goes_and_comes_back", || {
        on_two_nodes(|cpus| {
            let queue = unmanaged("parts", 4);
            assert!(queue.set_min_active(1));
            let (ended, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(0)));
            let both: CpuMask = cpus.into_iter().collect();
            for round in 0..6 {
                let mask = match round % 2 {
                    0 => [cpus[0]].into_iter().collect(),
                    _ => both,
                };
                for n in 0..200 {
                    let (ended, seen) = (ended.clone(), seen.clone());
                    let work = Work::new(move || {
                        *seen.lock().unwrap() += 1;
                        ended.fetch_add(1, SeqCst);
                    });
                    assert_eq!(queue.queue_on(cpus[n % 2], &work), Ok(true));
                }
                set_process_mask(&mask);
            }
            queue.flush().unwrap();
            assert_eq!((ended.load(SeqCst), *seen.lock().unwrap()), (1200, 1200));
        })
    });
}

#[test]
fn limits_go_up_and_down_while_two_nodes_queue() {
    alone("limits_go_up_and_down_while_two_nodes_queue", || {
        on_two_nodes(|cpus| {
            const ITEMS: usize = 2000;
            for exact in [false, true] {
                let queue = Workqueue::builder("hand-over").unmanaged();
                let queue = match exact {
                    true => queue.max_active_exact(1),
                    false => queue.max_active(1),
                };
                let queue = queue.build().unwrap();
                let (inside, ended) = (
                    Arc::new(Occupancy::default()),
                    Arc::new(AtomicUsize::new(0)),
                );
                std::thread::scope(|scope| {
                    for cpu in cpus {
                        let (queue, inside, ended) = (&queue, &inside, &ended);
                        scope.spawn(move || {
                            for n in 0..ITEMS {
                                let (inside, counts) = (inside.clone(), ended.clone());
                                let work = Work::new(move || {
                                    let _inside = inside.enter();
                                    counts.fetch_add(1, SeqCst);
                                });
                                assert_eq!(queue.queue_on(cpu, &work), Ok(true));
                                if n % 64 == 0 && work.cancel() {
                                    ended.fetch_add(1, SeqCst);
                                }
                            }
                        });
                    }
                    for n in 0..200 {
                        queue.set_max_active(1 + n % 3);
                        std::thread::yield_now();
                    }
                });
                queue.flush().unwrap();
                assert_eq!(ended.load(SeqCst), 2 * ITEMS, "exact: {exact}");
                if exact {
                    assert!(inside.peak() <= 3, "{} at once", inside.peak());
                }
            }
        })
    });
}
