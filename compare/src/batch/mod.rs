//! A batch that computes without end, at nice 19, beside 100 requests that compute for about 1 ms
//! and come each 2 ms. The time is that of a request in the middle.

mod with_cmwq;
mod with_rayon;
mod with_threadpool;
mod with_tokio;

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use crate::Version;

static ENDS: AtomicBool = AtomicBool::new(false);

fn compute() {
    let hash = (0..500_000_u64).fold(7, |x, n| (x ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    std::hint::black_box(hash);
}

/// Items of the batch, until the requests have ended.
fn more() -> bool {
    !ENDS.load(SeqCst)
}

/// Makes the calling thread's nice value 19, with a library that does not.
fn nice_19() {
    // SAFETY: changes the calling thread's nice value.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
}

/// Makes requests, each of which `request` does.
fn measure(mut request: impl FnMut()) -> Duration {
    let mut took = Vec::new();
    for _ in 0..100 {
        let from = Instant::now();
        request();
        took.push(from.elapsed());
        thread::sleep(Duration::from_millis(2));
    }
    ENDS.store(true, SeqCst);
    crate::median(took)
}

fn check(run: fn() -> Duration) -> Option<Duration> {
    ENDS.store(false, SeqCst);
    Some(run())
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
            cannot: "do it in one pool; change the priority without libc",
            run: || check(with_rayon::run),
        },
        Version {
            library: "tokio",
            source: include_str!("with_tokio.rs"),
            cannot: "do it in one runtime; change the priority without libc",
            run: || check(with_tokio::run),
        },
        Version {
            library: "threadpool",
            source: include_str!("with_threadpool.rs"),
            cannot: "do it in one pool; change the priority without libc; bound what is queued",
            run: || check(with_threadpool::run),
        },
    ]
}
