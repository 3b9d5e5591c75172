use super::{compute, measure, more, nice_19};
use std::time::Duration;
use tokio::runtime::Builder;

pub fn run() -> Duration {
    let threads = std::thread::available_parallelism().unwrap().get();
    let batch = Builder::new_multi_thread()
        .max_blocking_threads(threads)
        .on_thread_start(nice_19)
        .build()
        .unwrap();
    let requests = Builder::new_multi_thread().build().unwrap();
    for _ in 0..threads {
        batch.spawn_blocking(|| {
            while more() {
                compute();
            }
        });
    }
    measure(|| requests.block_on(requests.spawn_blocking(compute)).unwrap())
}
