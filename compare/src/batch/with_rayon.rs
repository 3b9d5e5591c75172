use super::{compute, measure, more, nice_19};
use rayon::ThreadPoolBuilder;
use std::time::Duration;

pub fn run() -> Duration {
    let batch = ThreadPoolBuilder::new()
        .start_handler(|_| nice_19())
        .build()
        .unwrap();
    std::thread::scope(|threads| {
        threads.spawn(|| {
            batch.broadcast(|_| {
                while more() {
                    compute();
                }
            })
        });
        measure(|| rayon::scope(|scope| scope.spawn(|_| compute())))
    })
}
