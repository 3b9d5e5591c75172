//! Who waits for an item executes it himself: `Stacking::Claim`.
//!
//! Where a pool has one thread, and that is kept, nobody else can begin what is queued there.

mod common;

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc;
use std::thread::{self, ThreadId};
use std::time::Duration;

use cmwq::{Builder, JoinError, Stacking, Workqueue, WorkqueueBuilder, freezer};
use cmwq_os::sched;
use cmwq_policy::CpuMask;
use common::alone::{alone, alone_among_levels};
use common::fork::wait;
use common::{Opens, Permits, eventually, queue, watchdog};

fn builder() -> WorkqueueBuilder {
    Workqueue::builder("claiming").stacking(Stacking::Claim)
}

fn claiming() -> Workqueue {
    builder().build().unwrap()
}

/// Each pool has one thread.
fn one_thread() {
    Builder::new().thread_limit(1).install().unwrap();
}

/// Keeps the only thread of this queue's pool until the permits are opened.
fn hold(queue: &Workqueue) -> Arc<Permits> {
    let (gate, began) = (Arc::new(Permits::new()), Arc::new(AtomicBool::new(false)));
    let (held, begins) = (gate.clone(), began.clone());
    drop(queue.spawn(move || {
        begins.store(true, SeqCst);
        held.take();
    }));
    eventually("the thread is held", || began.load(SeqCst));
    gate
}

fn here() -> ThreadId {
    thread::current().id()
}

/// Where the next item of the queue runs if the caller joins it.
fn ran_on(queue: &Workqueue) -> ThreadId {
    queue.spawn(here).join().unwrap()
}

/// The pool goes on in a while: by then, a claim that may be has been.
fn opens_soon(gate: &Arc<Permits>) {
    let gate = gate.clone();
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        gate.open();
    });
}

/// The item is waited for, not claimed.
fn refuses(what: &str, queue: &Workqueue, gate: &Arc<Permits>) {
    let claimed = cmwq::stats().claimed;
    opens_soon(gate);
    assert_ne!(ran_on(queue), here(), "{what}");
    assert_eq!(cmwq::stats().claimed, claimed, "{what}");
}

#[test]
fn it_runs_where_it_is_waited_for() {
    alone("it_runs_where_it_is_waited_for", || {
        one_thread();
        for queue in [claiming(), builder().unmanaged().build().unwrap()] {
            let gate = hold(&queue);
            let _opens = Opens(&gate);
            let before = cmwq::stats();
            assert_eq!(cmwq::current_work(), None);
            let (ran_on, current) = queue
                .spawn(|| (here(), cmwq::current_work()))
                .join()
                .unwrap();
            assert_eq!(ran_on, here());
            assert_eq!(current.unwrap().queue, "claiming");
            assert_eq!(cmwq::current_work(), None);
            let after = cmwq::stats();
            assert_eq!(after.claimed - before.claimed, 1);
            assert_eq!(after.started - before.started, 1);
            assert_eq!(after.completed - before.completed, 1);
            assert_eq!(after.in_flight, before.in_flight);
        }
    });
}

#[test]
fn only_a_queue_that_says_so_is_claimed_from() {
    alone("only_a_queue_that_says_so_is_claimed_from", || {
        one_thread();
        for stacking in [Stacking::Off, Stacking::Stay] {
            let queue = Workqueue::builder("others").stacking(stacking);
            let queue = queue.build().unwrap();
            let gate = hold(&queue);
            refuses("not asked for", &queue, &gate);
        }
    });
}

#[test]
fn ordered_percpu_and_bh_items_are_not_claimed() {
    alone("ordered_percpu_and_bh_items_are_not_claimed", || {
        one_thread();
        // Their pools are those of a CPU.
        let only: CpuMask = [sched::current_cpu()].into_iter().collect();
        sched::set_affinity_self(&only).unwrap();
        let kinds = [builder().percpu(), builder().bh()];
        for (kind, holder) in kinds.clone().into_iter().zip(kinds) {
            let (queue, holder) = (kind.build().unwrap(), holder.build().unwrap());
            let gate = hold(&holder);
            refuses("of a CPU", &queue, &gate);
        }
        // Ordered queues have their pool with others.
        let holder = queue("holder");
        let gate = hold(&holder);
        refuses("ordered", &builder().ordered().build().unwrap(), &gate);
    });
}

#[test]
fn what_waits_for_a_slot_is_not_claimed() {
    alone("what_waits_for_a_slot_is_not_claimed", || {
        one_thread();
        let queue = builder().max_active(1).build().unwrap();
        let gate = hold(&queue);
        refuses("over the limit", &queue, &gate);
        // Its slot is free, and somebody else has the thread.
        eventually("it is over", || queue.counts().nr_active == 0);
        let holder = claiming();
        let gate = hold(&holder);
        let _opens = Opens(&gate);
        assert_eq!(ran_on(&queue), here());
    });
}

#[test]
fn another_nice_level_refuses() {
    alone_among_levels("another_nice_level_refuses", || {
        one_thread();
        let own = sched::nice_self();
        let queue = builder().nice(7).build().unwrap();
        let gate = hold(&queue);
        refuses("nice differs", &queue, &gate);
        let gate = hold(&queue);
        let _opens = Opens(&gate);
        sched::set_nice_self((own + 7).min(19)).unwrap();
        assert_eq!(ran_on(&queue), here());
    });
}

#[test]
fn a_waiter_outside_of_the_mask_refuses_and_one_inside_is_confined() {
    let test = "a_waiter_outside_of_the_mask_refuses_and_one_inside_is_confined";
    alone(test, || {
        one_thread();
        let all = sched::affinity(0).unwrap();
        let mut cpus = all.iter();
        let (Some(first), Some(second)) = (cpus.next(), cpus.next()) else {
            println!("one CPU: nothing to be seen");
            return;
        };
        let queue = builder().cpus([first]).build().unwrap();
        let pin = |cpu| sched::set_affinity_self(&[cpu].into_iter().collect()).unwrap();
        let gate = hold(&queue);
        pin(second);
        refuses("the mask has not the waiter's CPU", &queue, &gate);
        for _ in 0..100 {
            let gate = hold(&queue);
            let handle = queue.spawn(|| (here(), sched::affinity(0).unwrap()));
            opens_soon(&gate);
            pin(first);
            sched::set_affinity_self(&all).unwrap();
            // It may have been moved just now.
            let (ran_on, mask) = handle.join().unwrap();
            assert_eq!(sched::affinity(0).unwrap(), all, "its own mask is back");
            assert_eq!(mask, [first].into_iter().collect::<CpuMask>());
            if ran_on == here() {
                return;
            }
        }
        panic!("never claimed");
    });
}

#[test]
fn a_frozen_queue_is_not_claimed_from() {
    alone("a_frozen_queue_is_not_claimed_from", || {
        one_thread();
        let queue = builder().freezable().build().unwrap();
        let gate = hold(&queue);
        let handle = queue.spawn(here);
        freezer::freeze();
        opens_soon(&gate);
        let thaws = thread::spawn(|| {
            thread::sleep(Duration::from_millis(300));
            freezer::thaw();
        });
        assert_ne!(handle.join().unwrap(), here());
        thaws.join().unwrap();
        assert_eq!(cmwq::stats().claimed, 0);
    });
}

#[test]
fn what_a_worker_has_begun_is_waited_for() {
    let _watch = watchdog();
    let (queue, gate) = (claiming(), Arc::new(Permits::new()));
    let began = Arc::new(AtomicBool::new(false));
    let (held, begins) = (gate.clone(), began.clone());
    let handle = queue.spawn(move || {
        begins.store(true, SeqCst);
        held.take();
        here()
    });
    eventually("it has begun", || began.load(SeqCst));
    opens_soon(&gate);
    assert_ne!(handle.join().unwrap(), here());
}

#[test]
fn a_panic_reaches_the_joiner() {
    alone("a_panic_reaches_the_joiner", || {
        one_thread();
        let queue = claiming();
        let gate = hold(&queue);
        let _opens = Opens(&gate);
        let error = queue.spawn(|| panic!("no luck")).join().unwrap_err();
        assert!(error.is_panic());
        assert_eq!(cmwq::current_work(), None);
        assert_eq!(ran_on(&queue), here(), "and the thread goes on");
        assert_eq!(cmwq::stats().claimed, 2);
    });
}

#[test]
fn flush_and_drain_wait_for_a_claimed_item() {
    alone("flush_and_drain_wait_for_a_claimed_item", || {
        one_thread();
        let holder = queue("holder");
        let gate = hold(&holder);
        let _opens = Opens(&gate);
        let (queue, inner) = (claiming(), Arc::new(Permits::new()));
        let (began, over) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
        );
        let (held, begins, ends) = (inner.clone(), began.clone(), over.clone());
        let handle = queue.spawn(move || {
            begins.store(true, SeqCst);
            held.take();
            ends.store(true, SeqCst);
        });
        thread::scope(|threads| {
            threads.spawn(|| handle.join().unwrap());
            eventually("it has begun", || began.load(SeqCst));
            assert_eq!(cmwq::stats().claimed, 1);
            opens_soon(&inner);
            queue.flush().unwrap();
            assert!(over.load(SeqCst), "flush returns before it has ended");
            queue.drain().unwrap();
        });
    });
}

#[test]
fn a_claimed_item_keeps_its_slot_until_it_ends() {
    alone("a_claimed_item_keeps_its_slot_until_it_ends", || {
        one_thread();
        let holder = self::queue("holder");
        let gate = hold(&holder);
        let _opens = Opens(&gate);
        let queue = builder().max_active(1).build().unwrap();
        let next = queue.clone();
        // The second one has no slot while the first one runs, and gets it then.
        let (first, second) = queue
            .spawn(move || {
                let second = next.spawn(here);
                let active = next.counts().nr_active;
                (active, second)
            })
            .join()
            .unwrap();
        assert_eq!(first, 1);
        assert_eq!(second.join().unwrap(), here());
    });
}

/// An item that joins another one, and so on; how many of them ran in the thread of the first.
fn nest(queue: &Workqueue, depth: usize) -> Result<usize, JoinError> {
    let (outer, next) = (here(), queue.clone());
    let inner = queue.spawn(move || {
        let below = match depth {
            1 => Ok(0),
            _ => nest(&next, depth - 1),
        };
        assert_eq!(cmwq::current_work().unwrap().queue, "claiming");
        below.map(|below| below + usize::from(here() == outer))
    });
    inner.join()?
}

#[test]
fn claims_nest_up_to_a_bound_and_then_wait() {
    alone("claims_nest_up_to_a_bound_and_then_wait", || {
        one_thread();
        let queue = claiming();
        let gate = hold(&queue);
        let _opens = Opens(&gate);
        let most = cmwq_policy::stacking::MOST_NESTED as usize;
        assert_eq!(nest(&queue, most).unwrap(), most);
        gate.open();
        // In a worker: one more would have to wait, and nobody is left who could begin it.
        let (inside, (tell, told)) = (queue.clone(), mpsc::channel());
        drop(queue.spawn(move || {
            let both = (nest(&inside, most), nest(&inside, most + 1));
            tell.send(both).unwrap();
        }));
        let (fits, more) = told.recv().unwrap();
        assert_eq!(fits.unwrap(), most);
        assert!(matches!(more, Err(JoinError::WouldDeadlock(_))), "{more:?}");
    });
}

#[test]
fn a_thousand_joins_deep_is_not_too_deep() {
    let _watch = watchdog();
    let claimed = nest(&claiming(), 1000).unwrap();
    println!("{claimed} of 1000 claimed");
}

#[test]
fn a_thread_with_little_stack_does_not_claim() {
    alone("a_thread_with_little_stack_does_not_claim", || {
        one_thread();
        let queue = claiming();
        let gate = hold(&queue);
        let small = thread::Builder::new().stack_size(cmwq::DFL_STACK_SIZE / 4);
        let small = small.spawn(move || refuses("a small stack", &queue, &gate));
        small.unwrap().join().unwrap();
    });
}

#[test]
fn a_scope_claims_what_nobody_has_begun_and_borrows() {
    alone("a_scope_claims_what_nobody_has_begun_and_borrows", || {
        one_thread();
        let queue = claiming();
        let gate = hold(&queue);
        let _opens = Opens(&gate);
        let (text, sum) = (String::from("borrowed"), AtomicUsize::new(0));
        let all_here = AtomicBool::new(true);
        let outer = here();
        queue
            .scope(|scope| {
                for _ in 0..100 {
                    scope.spawn(|| {
                        sum.fetch_add(text.len(), SeqCst);
                        all_here.fetch_and(here() == outer, SeqCst);
                        scope.spawn(|| sum.fetch_add(1, SeqCst));
                    });
                }
                assert_eq!(scope.spawn(|| text.len()).join().unwrap(), 8);
            })
            .unwrap();
        assert_eq!(sum.load(SeqCst), 100 * 9);
        assert!(all_here.load(SeqCst));
        assert_eq!(cmwq::stats().claimed, 201);
    });
}

#[test]
fn what_an_item_changes_in_the_thread_is_taken_back() {
    alone("what_an_item_changes_in_the_thread_is_taken_back", || {
        one_thread();
        let queue = claiming();
        let gate = hold(&queue);
        let _opens = Opens(&gate);
        let state = || (sched::affinity(0).unwrap(), cmwq_os::thread::sigmask());
        let before = state();
        let item = queue.spawn(|| {
            let only = [sched::current_cpu()].into_iter().collect();
            sched::set_affinity_self(&only).unwrap();
            cmwq_os::thread::set_sigmask(1 << (libc::SIGUSR1 - 1));
            here()
        });
        assert_eq!(item.join().unwrap(), here());
        assert_eq!(state(), before);
    });
}

#[test]
fn a_claimed_item_may_fork() {
    alone("a_claimed_item_may_fork", || {
        one_thread();
        let queue = claiming();
        let gate = hold(&queue);
        let _opens = Opens(&gate);
        // SAFETY: the child uses the C library's allocator, cmwq, and then only _exit.
        let child = queue.spawn(|| unsafe { libc::fork() }).join().unwrap();
        if child == 0 {
            // The join has returned here, too: the thread is the one that called it.
            let anew = cmwq::current_work().is_none()
                && cmwq::system().spawn(|| 42).join().unwrap() == 42
                && claiming().spawn(|| 43).join().unwrap() == 43;
            // SAFETY: ends the child without the parent's exit handlers.
            unsafe { libc::_exit(i32::from(!anew)) };
        }
        assert_eq!(wait(child), 0);
        assert_eq!(ran_on(&queue), here());
    });
}

#[test]
fn shutdown_waits_for_a_claimed_item() {
    alone("shutdown_waits_for_a_claimed_item", || {
        one_thread();
        let holder = self::queue("holder");
        let gate = hold(&holder);
        let (queue, inner) = (claiming(), Arc::new(Permits::new()));
        let began = Arc::new(AtomicBool::new(false));
        let (held, begins) = (inner.clone(), began.clone());
        let handle = queue.spawn(move || {
            begins.store(true, SeqCst);
            held.take();
            here()
        });
        let joiner = thread::spawn(move || handle.join().unwrap() == here());
        eventually("it has begun", || began.load(SeqCst));
        gate.open();
        let report = cmwq::shutdown(Duration::from_millis(200));
        assert!(!report.is_complete(), "{report:?}");
        opens_soon(&inner);
        let report = cmwq::shutdown(Duration::from_secs(100));
        assert!(report.is_complete(), "{report:?}");
        assert!(joiner.join().unwrap(), "it was claimed");
    });
}

#[test]
fn shutdown_in_a_claimed_item_does_not_wait_for_those_beneath_it() {
    alone(
        "shutdown_in_a_claimed_item_does_not_wait_for_those_beneath_it",
        || {
            one_thread();
            let queue = claiming();
            // The thread does not take one of the two before it is claimed.
            let (gate, inner) = (hold(&queue), queue.clone());
            let outer = queue.spawn(move || {
                let shuts_down = move || {
                    gate.open();
                    (here(), cmwq::shutdown(Duration::from_secs(100_000)))
                };
                let (ran_on, report) = inner.spawn(shuts_down).join().unwrap();
                assert!(report.is_complete(), "{report:?}");
                ran_on == here()
            });
            assert!(outer.join().unwrap(), "it was claimed within the other");
        },
    );
}

/// The race: a claim against workers that take the item. Each runs once, wherever.
#[test]
fn each_runs_once_whoever_takes_it() {
    let _watch = watchdog();
    let (queue, runs) = (claiming(), AtomicUsize::new(0));
    let claimed = AtomicUsize::new(0);
    thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for n in 0..5_000usize {
                    let result = queue.scope(|scope| {
                        let task = scope.spawn(|| {
                            runs.fetch_add(1, SeqCst);
                            (n, here())
                        });
                        // Sometimes a little later, so that joining meets the worker.
                        (0..n % 64 * 50).for_each(|_| std::hint::spin_loop());
                        task.join().unwrap()
                    });
                    let (value, ran_on) = result.unwrap();
                    assert_eq!(value, n);
                    claimed.fetch_add(usize::from(ran_on == here()), SeqCst);
                }
            });
        }
    });
    assert_eq!(runs.load(SeqCst), 20_000);
    println!("{} of 20000 claimed", claimed.load(SeqCst));
}
