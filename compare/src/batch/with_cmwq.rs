use super::{compute, measure, more};
use cmwq::Workqueue;
use std::time::Duration;

pub fn run() -> Duration {
    let batch = Workqueue::builder("batch").nice(19).build().unwrap();
    std::thread::scope(|threads| {
        threads.spawn(|| batch.for_each((0..).take_while(|_| more()), |_| compute()));
        measure(|| cmwq::spawn(compute).join().unwrap())
    })
}
