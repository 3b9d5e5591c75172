//! Something each 5 ms. After 20 times it is cancelled: when that returns, it neither runs nor
//! will.

mod with_cmwq;
mod with_rayon;
mod with_threadpool;
mod with_tokio;

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use crate::Version;

const PERIOD: Duration = Duration::from_millis(5);

/// What is done, and how often it was.
static TICKS: AtomicU32 = AtomicU32::new(0);

fn tick() {
    TICKS.fetch_add(1, SeqCst);
}

/// Waits for 20 ticks.
fn wait() {
    while TICKS.load(SeqCst) < 20 {
        thread::sleep(Duration::from_millis(1));
    }
}

fn check(run: fn()) -> Option<Duration> {
    TICKS.store(0, SeqCst);
    run();
    let ticks = TICKS.load(SeqCst);
    thread::sleep(2 * PERIOD);
    assert_eq!(TICKS.load(SeqCst), ticks, "it was cancelled");
    None
}

pub fn versions() -> [Version; 4] {
    [
        Version {
            library: "cmwq",
            source: include_str!("with_cmwq.rs"),
            cannot: "",
            run: || check(with_cmwq::run),
        },
        Version {
            library: "rayon",
            source: include_str!("with_rayon.rs"),
            cannot: "do it without a thread of one's own: it has no timers",
            run: || check(with_rayon::run),
        },
        Version {
            library: "tokio",
            source: include_str!("with_tokio.rs"),
            cannot: "cancel a blocking call; be used without a runtime",
            run: || check(with_tokio::run),
        },
        Version {
            library: "threadpool",
            source: include_str!("with_threadpool.rs"),
            cannot: "do it without a worker that sleeps: it has no timers",
            run: || check(with_threadpool::run),
        },
    ]
}
