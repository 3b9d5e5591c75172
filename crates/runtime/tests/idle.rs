//! A process with nothing to do does nothing. One test, as it looks at the process's only engine.

mod common;

use std::time::Duration;

use common::{eventually, queue, watchdog};

/// What the tick's thread has run, in nanoseconds.
fn tick_ran() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let paths = tasks.map(|task| task.unwrap().path());
    let named = |path: &std::path::PathBuf| {
        std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "cmwq/tick")
    };
    let tick = paths.into_iter().find(named).expect("there is an engine");
    let schedstat = std::fs::read_to_string(tick.join("schedstat")).unwrap();
    let first = schedstat.split(' ').next().unwrap();
    first.parse().unwrap()
}

fn pause() {
    std::thread::sleep(Duration::from_millis(100));
}

/// Workers that are too many are retired after minutes. Until then nobody looks at them.
#[test]
fn the_tick_sleeps_while_workers_idle() {
    let _watch = watchdog();
    let queue = queue("burst");
    let sleeps = || std::thread::sleep(Duration::from_millis(30));
    let handles: Vec<_> = (0..64).map(|_| queue.spawn(sleeps)).collect();
    handles
        .into_iter()
        .for_each(|handle| handle.join().unwrap());
    assert!(cmwq::stats().workers > 8, "too many for what there is");
    // Whatever wakes it, it sleeps again.
    for _ in 0..3 {
        cmwq::look();
        eventually("the tick sleeps", || {
            let before = tick_ran();
            pause();
            tick_ran() - before < 20_000_000
        });
    }
}
