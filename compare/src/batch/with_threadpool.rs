use super::{compute, measure, more, nice_19};
use std::sync::mpsc::channel;
use std::time::Duration;
use threadpool::ThreadPool;

pub fn run() -> Duration {
    let threads = std::thread::available_parallelism().unwrap().get();
    let (batch, requests) = (ThreadPool::new(threads), ThreadPool::new(threads));
    for _ in 0..threads {
        batch.execute(|| {
            nice_19();
            while more() {
                compute();
            }
        });
    }
    measure(|| {
        let (tell, done) = channel();
        requests.execute(move || {
            compute();
            tell.send(()).unwrap();
        });
        done.recv().unwrap();
    })
}
