//! What holds for the thread that the process began with. A harness of its own: others run tests in
//! threads.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

fn main() {
    the_main_threads_waits_do_not_change_the_cpus_of_the_process();
    println!("test result: ok. 1 passed; 0 failed");
}

/// Its mask is what everybody takes for the process's. Who waits for an item that runs on its own
/// CPU stays there by a mask of one CPU, so the main thread must not.
fn the_main_threads_waits_do_not_change_the_cpus_of_the_process() {
    cmwq::system().spawn(|| ()).join().unwrap();
    let cpus = cmwq::stats().cpus;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Backlog, and new workers: these are the occasions to look at the mask.
        scope.spawn(|| {
            while !over.load(SeqCst) {
                let items: Vec<_> = (0..16).map(|_| cmwq::system().spawn(compute)).collect();
                items.into_iter().for_each(|item| item.join().unwrap());
            }
        });
        let changes = (0..1000).filter(|_| {
            let item = cmwq::system_percpu().spawn(|| std::thread::sleep(Duration::from_millis(1)));
            item.join().unwrap();
            cmwq::stats().cpus != cpus
        });
        let changes = changes.count();
        over.store(true, SeqCst);
        assert_eq!(changes, 0, "of 1000");
    });
}

fn compute() {
    let end = Instant::now() + Duration::from_millis(2);
    while Instant::now() < end {}
    std::thread::sleep(Duration::from_micros(100));
}
