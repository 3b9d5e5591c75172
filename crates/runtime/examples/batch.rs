//! A batch job that uses only what a foreground leaves: at nice 19, beside requests that come every
//! 2 ms. Prints how long the requests took, alone and beside the batch.

use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use cmwq::Workqueue;

/// Computes for about a millisecond.
fn compute(seed: u64) -> u64 {
    (0..500_000).fold(seed, |x, n| {
        (x ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7)
    })
}

/// The time of a request in the middle, of a hundred.
fn requests(queue: &Workqueue) -> Result<Duration, cmwq::JoinError> {
    let mut took = Vec::new();
    for n in 0..100 {
        let from = Instant::now();
        queue.spawn(move || compute(n)).join()?;
        took.push(from.elapsed());
        std::thread::sleep(Duration::from_millis(2));
    }
    took.sort_unstable();
    Ok(took[took.len() / 2])
}

fn main() -> Result<(), Box<dyn Error>> {
    let foreground = Workqueue::builder("requests").build()?;
    let batch = Workqueue::builder("batch").nice(19).build()?;
    let alone = requests(&foreground)?;
    let (ends, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let beside = std::thread::scope(|threads| {
        let feeder = threads.spawn(|| {
            // Inputs without end: the next one is taken when there is room.
            let inputs = (0..).take_while(|_| !ends.load(SeqCst));
            batch.for_each(inputs, |n| {
                std::hint::black_box(compute(n));
                done.fetch_add(1, SeqCst);
            })
        });
        let beside = requests(&foreground);
        ends.store(true, SeqCst);
        feeder.join().expect("items do not panic")?;
        beside
    })?;
    println!("a request took {alone:?} alone, {beside:?} beside {done:?} items of the batch");
    assert!(done.into_inner() > 0);
    Ok(())
}

#[test]
fn it_works() {
    main().unwrap();
}
