//! Waiting until a waker is called, at most for a time.

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

use cmwq_engine::worker;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits until `done`, which keeps the waker that it is called with, at most until the deadline.
/// Inside an item the wait counts as a hint. False at the deadline.
pub(crate) fn wait_until(deadline: Instant, mut done: impl FnMut(&Waker) -> bool) -> bool {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    worker::blocking(|| {
        while !done(&waker) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            thread::park_timeout(left);
        }
        true
    })
}
