//! What the engine does with CPUs and threads. Counts and order, no times.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::Duration;

use cmwq::Workqueue;
use cmwq_os::{clock, sched};
use common::alone::{Watched, alone, is_child};
use common::{Occupancy, Opens, Permits, eventually, queue, seccomp, threads, watchdog};

/// Items that all must be inside at once, or none of them ends; each looks again after a sleep.
fn meet(queue: &Workqueue, items: usize, sleep: fn(Duration)) {
    let inside = Arc::new(Occupancy::default());
    for _ in 0..items {
        let inside = inside.clone();
        drop(queue.spawn(move || {
            let _counted = inside.enter();
            while inside.peak() < items {
                sleep(Duration::from_millis(2));
            }
        }));
    }
    queue.flush().unwrap();
    assert_eq!(inside.peak(), items);
}

#[test]
fn items_that_sleep_overlap() {
    let _watch = watchdog();
    meet(&queue("sleepers"), 40, std::thread::sleep);
}

#[test]
fn items_that_say_that_they_block_overlap() {
    let _watch = watchdog();
    meet(&queue("hinters"), 40, |time| {
        cmwq::blocking(|| std::thread::sleep(time))
    });
}

#[test]
fn items_that_meet_at_one_lock_overlap() {
    let _watch = watchdog();
    let (queue, barrier) = (queue("barrier"), Arc::new(std::sync::Barrier::new(30)));
    for _ in 0..30 {
        let barrier = barrier.clone();
        drop(queue.spawn(move || barrier.wait()));
    }
    queue.flush().unwrap();
}

#[test]
fn items_that_read_pipes_overlap() {
    const ITEMS: usize = 20;
    let _watch = watchdog();
    let queue = queue("readers");
    let (readers, writers): (Vec<_>, Vec<_>) = (0..ITEMS).map(|_| std::io::pipe().unwrap()).unzip();
    let handles: Vec<_> = readers
        .into_iter()
        .map(|reader| queue.spawn(move || std::io::read_to_string(reader).unwrap()))
        .collect();
    // The last one first: whoever reads another pipe has to be overtaken.
    for writer in writers.into_iter().rev() {
        std::io::Write::write_all(&mut &writer, b"here").unwrap();
        std::thread::yield_now();
    }
    assert!(
        handles
            .into_iter()
            .all(|handle| handle.join().unwrap() == "here")
    );
}

fn burn(millis: u64) {
    let end = clock::thread_cpu() + millis * 1_000_000;
    while clock::thread_cpu() < end {
        std::hint::spin_loop();
    }
}

/// Asserts that of 200 items that compute, given to these queues in turn, few find more than `most`
/// of them running. On a busy machine one may be seen asleep at the lock of its pool, whose holder
/// has lost its CPU, and another one starts in its place: that must stay the exception.
fn assert_not_crowded(queues: &[Workqueue], most: usize) {
    const ITEMS: usize = 200;
    let (inside, crowded) = (
        Arc::new(Occupancy::default()),
        Arc::new(AtomicUsize::new(0)),
    );
    for n in 0..ITEMS {
        let (inside, crowded) = (inside.clone(), crowded.clone());
        drop(queues[n % queues.len()].spawn(move || {
            let _counted = inside.enter();
            crowded.fetch_add(usize::from(inside.now() > most), SeqCst);
            burn(2);
        }));
    }
    queues.iter().for_each(|queue| queue.flush().unwrap());
    let crowded = crowded.load(SeqCst);
    assert!(
        crowded < ITEMS / 2,
        "{crowded} of {ITEMS} found more than {most}: {:?}",
        cmwq::stats()
    );
}

#[test]
fn items_that_compute_run_one_per_cpu() {
    alone("items_that_compute_run_one_per_cpu", || {
        assert_not_crowded(&[queue("burners")], cmwq::stats().cpus + 2);
    });
}

#[test]
fn many_pools_together_run_about_one_per_cpu() {
    alone("many_pools_together_run_about_one_per_cpu", || {
        let pool = |nice| Workqueue::builder("pool").nice(nice).build().unwrap();
        let pools: Vec<_> = (0..6).map(pool).collect();
        // Every pool with backlog has one that may always run.
        assert_not_crowded(&pools, cmwq::stats().cpus + pools.len() + 1);
    });
}

#[test]
fn who_asks_for_a_look_is_told_that_an_item_sleeps_though_no_other_waits() {
    alone(
        "who_asks_for_a_look_is_told_that_an_item_sleeps_though_no_other_waits",
        || {
            let (queue, gate) = (queue("one"), Arc::new(Permits::new()));
            let (taken, sleeps) = (gate.clone(), Arc::new(AtomicBool::new(false)));
            let told = sleeps.clone();
            let handle = queue.spawn(move || {
                while !told.load(SeqCst) {
                    std::hint::spin_loop();
                }
                taken.take();
            });
            eventually("it runs, and nobody looks any more", || {
                let before = cmwq::stats();
                std::thread::sleep(Duration::from_millis(20));
                before.started == 1 && cmwq::stats().ticks == before.ticks
            });
            sleeps.store(true, SeqCst);
            eventually("it is not counted as runnable any more", || {
                cmwq::look();
                let before = cmwq::stats().runnable_ns;
                std::thread::sleep(Duration::from_millis(2));
                cmwq::stats().runnable_ns == before
            });
            gate.open();
            handle.join().unwrap();
        },
    );
}

#[test]
fn threads_have_names() {
    alone("threads_have_names", || {
        let (queue, nice) = (queue("names"), common::elsewhere("nice").build().unwrap());
        meet(&queue, 8, std::thread::sleep);
        meet(&nice, 8, std::thread::sleep);
        let names =
            || -> BTreeSet<String> { threads::ours().into_iter().map(|t| t.name).collect() };
        // A thread has its creator's name for a moment.
        for expected in ["cmwq/tick", "cmwq/u0:0", "cmwq/u0:1", "cmwq/u1:0"] {
            eventually(expected, || names().contains(expected));
        }
        eventually("each CPU has a canary, or the relay of one", || {
            let canaries = names()
                .into_iter()
                .filter(|name| name.starts_with("cmwq/c") || name.starts_with("cmwq/r"));
            canaries.count() == cmwq::stats().cpus
        });
    });
}

#[test]
fn workers_have_their_queues_nice_value() {
    alone("workers_have_their_queues_nice_value", || {
        let base = sched::nice_self();
        for nice in [5, 0, 2] {
            let queue = Workqueue::builder("nice").nice(nice).build().unwrap();
            let niceness = (0..20).map(|_| queue.spawn(sched::nice_self).join().unwrap());
            assert!(niceness.into_iter().all(|of| of == (base + nice).min(19)));
        }
        assert!(!cmwq::stats().nice_denied);
        // Not everybody may: then it is said, and the items run.
        let better = Workqueue::builder("better").nice(-3).build().unwrap();
        let got = better.spawn(sched::nice_self).join().unwrap();
        assert!(got == base - 3 || cmwq::stats().nice_denied, "nice {got}");
    });
}

#[test]
fn queues_with_equal_attributes_share_workers() {
    alone("queues_with_equal_attributes_share_workers", || {
        let queues: Vec<_> = (1..=20).map(|n| common::limited("shared", n)).collect();
        for n in 0..200 {
            queues[n % 20].spawn(|| ()).join().unwrap();
        }
        let workers = threads::ours()
            .into_iter()
            .filter(threads::Thread::is_worker);
        let names: Vec<String> = workers.map(|thread| thread.name).collect();
        assert!(
            names.iter().all(|name| name.starts_with("cmwq/u0:")),
            "{names:?}"
        );
        // One at a time ran: its worker, a spare, and who came while the first did not show.
        assert!(names.len() <= cmwq::stats().cpus + 2, "{names:?}");
    });
}

#[test]
fn ten_thousand_queues_make_no_thread() {
    alone("ten_thousand_queues_make_no_thread", || {
        let queues: Vec<_> = (0..10_000).map(|n| queue(&format!("q{n}"))).collect();
        let mut names: Vec<_> = threads::ours().into_iter().map(|t| t.name).collect();
        names.sort();
        assert_eq!(
            names,
            ["cmwq/page", "cmwq/tick"],
            "whatever the number of queues"
        );
        let ran = Arc::new(AtomicUsize::new(0));
        for queue in &queues {
            let ran = ran.clone();
            drop(queue.spawn(move || ran.fetch_add(1, SeqCst)));
        }
        drop(queues);
        assert_eq!(ran.load(SeqCst), 10_000);
        let workers = cmwq::stats().peak_workers;
        assert!(workers < 100, "{workers} workers for 10,000 queues");
    });
}

/// Switches of each thread so far.
fn switches(pid: i32) -> BTreeMap<String, u64> {
    let switches = |thread: &threads::Thread| (thread.name.clone(), thread.switches());
    threads::of(pid).iter().map(switches).collect()
}

#[test]
fn an_idle_process_does_not_switch() {
    const NAME: &str = "an_idle_process_does_not_switch";
    if is_child(NAME) {
        let queues = [
            queue("plain"),
            Workqueue::builder("nice").nice(4).build().unwrap(),
        ];
        for queue in &queues {
            meet(queue, 12, std::thread::sleep);
            (0..500).for_each(|n| queue.spawn(move || burn(n % 2)).join().unwrap());
        }
        println!("used and idle");
        // Until the parent has seen enough.
        let _ = std::io::read_to_string(std::io::stdin());
        return;
    }
    let _watch = watchdog();
    let mut child = Watched::start(NAME);
    child.wait_for("used and idle");
    let mut seen = switches(child.pid());
    let asleep = |thread: &threads::Thread| thread.field("State:").starts_with('S');
    eventually("it has come to rest", || {
        std::thread::sleep(Duration::from_millis(500));
        let before = std::mem::replace(&mut seen, switches(child.pid()));
        // Beside busy processes it takes a canary long to get a CPU, on which it then parks.
        before == seen && threads::of(child.pid()).iter().all(asleep)
    });
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(switches(child.pid()), seen);
}

fn deny_canaries() {
    seccomp::deny(&[libc::SYS_sched_setscheduler], libc::EPERM);
}

#[test]
fn without_canaries_the_tick_does_it() {
    alone("without_canaries_the_tick_does_it", || {
        deny_canaries();
        let queue = queue("no canaries");
        meet(&queue, 30, std::thread::sleep);
        eventually("it is said", || {
            cmwq::stats().canary_denied == Some(libc::EPERM)
        });
        let stats = cmwq::stats();
        assert!(
            stats.canary_reports == 0 && stats.tick_starts > 0,
            "{stats:?}"
        );
        assert_eq!(queue.spawn(|| 3).join().unwrap(), 3);
    });
}

/// Processes of a test, killed with the value.
struct Children(Vec<Child>);

impl Children {
    /// Starts so many of them, and waits until each has said that it is there.
    fn start(count: usize, then: &str) -> Self {
        let script = format!("echo here; {then}");
        let start = |_| {
            let mut command = Command::new("sh");
            command.args(["-c", &script]).stdout(Stdio::piped());
            command.spawn().unwrap()
        };
        let mut children = Children((0..count).map(start).collect());
        for child in &mut children.0 {
            let mut line = [0; 5];
            child
                .stdout
                .as_mut()
                .unwrap()
                .read_exact(&mut line)
                .unwrap();
        }
        children
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// How many items are inside, each of which stands for one of the children, after this many ticks
/// or when all are.
fn attached(children: &Children, ticks: u64) -> usize {
    let (queue, gate) = (queue("attached"), Arc::new(Permits::new()));
    let _opens = Opens(&gate);
    let inside = Arc::new(Occupancy::default());
    for child in &children.0 {
        let (pid, gate, inside) = (child.id(), gate.clone(), inside.clone());
        drop(queue.spawn(move || {
            let _as_busy_as_the_child = cmwq::process::attach(pid);
            let _counted = inside.enter();
            gate.take();
        }));
    }
    let until = cmwq::stats().ticks + ticks;
    eventually("enough ticks", || {
        inside.peak() == children.0.len() || cmwq::stats().ticks >= until
    });
    gate.open();
    inside.peak()
}

#[test]
fn items_are_as_busy_as_their_processes() {
    alone("items_are_as_busy_as_their_processes", || {
        // Beside busy processes a canary may be right for a moment: until the kernel moves one of
        // them to an idle CPU. This is about what the tick sees.
        deny_canaries();
        let count = 4 + 2 * cmwq::system().spawn(|| cmwq::stats().cpus).join().unwrap();
        let sleeping = Children::start(count, "exec sleep 1000");
        assert_eq!(
            attached(&sleeping, u64::MAX / 2),
            count,
            "all of them sleep"
        );
        drop(sleeping);
        let spinning = Children::start(count, "while :; do :; done");
        let most = cmwq::stats().cpus + 2;
        let peak = attached(&spinning, 60);
        let stats = cmwq::stats();
        assert!(
            peak <= most,
            "{peak} items beside busy processes, at most {most}: {stats:?}"
        );
    });
}

#[test]
fn stopped_processes_keep_nobody_from_starting() {
    alone("stopped_processes_keep_nobody_from_starting", || {
        // Canaries would see that the CPUs idle: this is about the tick.
        deny_canaries();
        let count = 4 + 2 * cmwq::system().spawn(|| cmwq::stats().cpus).join().unwrap();
        let stopped = Children::start(count, "kill -STOP $$; exec sleep 1000");
        let is_stopped = |child: &Child| {
            let all = threads::of(child.id() as i32);
            all.iter()
                .all(|thread| thread.field("State:").starts_with('T'))
        };
        eventually("all have stopped", || stopped.0.iter().all(is_stopped));
        assert_eq!(attached(&stopped, u64::MAX / 2), count);
    });
}

#[test]
fn a_process_tree_is_as_busy_as_its_threads() {
    alone("a_process_tree_is_as_busy_as_its_threads", || {
        deny_canaries();
        let cpus = cmwq::system().spawn(|| cmwq::stats().cpus).join().unwrap();
        // Like a make -j8: its leader waits for children that compute.
        let spin = "while kill -0 $$; do :; done 2>&- &".repeat(8);
        let mut trees = Children::start(1, &format!("{spin} wait"));
        let mut sleeping = Children::start(2 * cpus + 2, "exec sleep 1000");
        trees.0.append(&mut sleeping.0);
        let peak = attached(&trees, 60);
        let stats = cmwq::stats();
        assert!(
            peak <= cpus + 2,
            "{peak} items beside a tree that fills {cpus} CPUs: {stats:?}"
        );
    });
}

#[test]
fn attaching_outside_of_an_item_does_nothing() {
    let _watch = watchdog();
    let _attached = cmwq::process::attach(1);
    assert_eq!(queue("outside").spawn(|| 1).join().unwrap(), 1);
    let nested = queue("nested").spawn(|| {
        let _outer = cmwq::process::attach(1);
        let _inner = cmwq::process::attach(u32::MAX);
        2
    });
    assert_eq!(nested.join().unwrap(), 2);
}

/// What an item finds that runs when this one has ended, on the same worker.
fn found_after(item: fn()) -> i32 {
    let queue = queue("attached");
    let ends = |handle: cmwq::JoinHandle<i32>| {
        // Nobody who waits for it claims it.
        eventually("it has ended", || handle.is_finished());
        handle.join().unwrap()
    };
    let first = queue.spawn(move || {
        item();
        cmwq_os::thread::gettid()
    });
    let (first, next) = (ends(first), queue.spawn(cmwq_os::thread::gettid));
    assert_eq!(first, ends(next), "there is one worker");
    ends(queue.spawn(|| cmwq_engine::worker::attach(0)))
}

#[test]
fn a_process_that_is_left_attached_does_not_stand_for_later_items() {
    let test = "a_process_that_is_left_attached_does_not_stand_for_later_items";
    alone(test, || {
        cmwq::Builder::new().thread_limit(1).install().unwrap();
        let forgets = || std::mem::forget(cmwq::process::attach(std::process::id()));
        assert_eq!(found_after(forgets), 0);
        let leaves = || assert_eq!(cmwq_engine::worker::attach(1), 0);
        assert_eq!(found_after(leaves), 0);
    });
}

#[test]
fn processes_may_be_let_go_in_any_order() {
    let _watch = watchdog();
    let left = queue("any order").spawn(|| {
        let (outer, inner) = (cmwq::process::attach(1), cmwq::process::attach(2));
        drop(outer);
        let while_inner = cmwq_engine::worker::attach(2);
        drop(inner);
        (while_inner, cmwq_engine::worker::attach(0))
    });
    assert_eq!(left.join().unwrap(), (2, 0));
}
