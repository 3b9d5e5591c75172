//! Prints what each reading costs here: `cargo run --release -p cmwq-os --example costs`.

use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32};

use cmwq_os::observe::{TaskFiles, TaskState};
use cmwq_os::stopwatch::Stopwatch;
use cmwq_os::{cgroup, clock, cpus, futex, generation, sched, schedstat, thread, usage};

/// The median of several rounds: a busy machine spoils some of them.
fn cost<T>(what: &str, mut call: impl FnMut() -> T) {
    const ROUNDS: usize = 15;
    const CALLS: u64 = 1_000;
    let mut rounds = [0; ROUNDS];
    for round in &mut rounds {
        let start = clock::thread_cpu();
        (0..CALLS).for_each(|_| drop(black_box(call())));
        *round = (clock::thread_cpu() - start) / CALLS;
    }
    rounds.sort_unstable();
    println!("{:>8} ns  {what}", rounds[ROUNDS / 2]);
}

fn main() {
    generation::claim().expect("a page");
    let word = AtomicU32::new(0);
    let own = schedstat::OwnSchedStat::open().expect("schedstat");
    let groups = cgroup::CpuGroups::find(Path::new("/"));

    cost("clock::now", clock::now);
    let mut watch = Stopwatch::default();
    // It learns how fast the counter counts.
    watch.now();
    std::thread::sleep(std::time::Duration::from_millis(3));
    cost("Stopwatch::now", || watch.now());
    cost("clock::thread_cpu", clock::thread_cpu);
    cost("generation::current", generation::current);
    cost("futex::wake, nobody sleeps", || futex::wake(&word, 1));
    cost("futex::wait, value differs", || futex::wait(&word, 1, None));
    cost("sched::current_cpu", sched::current_cpu);
    cost("sched::nice_self", sched::nice_self);
    cost("sched::is_normal_policy_self", sched::is_normal_policy_self);
    cost("sched::affinity(0)", || sched::affinity(0).is_ok());
    cost("thread::sigmask", thread::sigmask);
    cost("usage::thread", usage::thread);
    cost("OwnSchedStat::read", || own.read());
    cost("CpuGroups::nr_throttled", || groups.nr_throttled());
    cost("cpus::effective", cpus::effective);
    observed(&word);
}

/// Reads of a thread that sleeps on a futex, then of one that runs.
fn observed(word: &AtomicU32) {
    std::thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        scope.spawn(move || {
            let _ = tell.send(thread::gettid());
            while word.load(SeqCst) == 0 {
                futex::wait(word, 0, None);
            }
        });
        let tid = told.recv().expect("the thread's id");
        let sleeper = TaskFiles::new(tid);
        while sleeper.state() != TaskState::Sleeping {
            sched::yield_now();
        }
        cost("TaskFiles::blocked, sleeping", || sleeper.blocked());
        cost("TaskFiles::sample, still sleeping", || sleeper.sample());
        cost(
            "TaskFiles::sample, newly asleep, opening both files",
            || TaskFiles::new(tid).sample(),
        );
        let path = format!("/proc/self/task/{tid}/stat");
        let stat = std::fs::File::open(path).expect("stat");
        let mut buffer = [0; 512];
        cost("pread of stat", || {
            std::os::unix::fs::FileExt::read_at(&stat, &mut buffer, 0).is_ok()
        });
        word.store(1, SeqCst);
        futex::wake(word, 1);
    });
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        let done = &done;
        scope.spawn(move || {
            let _ = tell.send(thread::gettid());
            while !done.load(SeqCst) {
                std::hint::spin_loop();
            }
        });
        let runner = TaskFiles::new(told.recv().expect("the thread's id"));
        cost("TaskFiles::sample, running", || runner.sample());
        done.store(true, SeqCst);
    });
}
