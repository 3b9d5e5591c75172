use std::sync::mpsc::{RecvTimeoutError, channel};
use threadpool::ThreadPool;

pub fn run() {
    let pool = ThreadPool::new(1);
    let (cancel, cancelled) = channel::<()>();
    pool.execute(move || {
        while cancelled.recv_timeout(super::PERIOD) == Err(RecvTimeoutError::Timeout) {
            super::tick();
        }
    });
    super::wait();
    drop(cancel);
    pool.join();
}
