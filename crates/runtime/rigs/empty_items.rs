//! Queues empty items and waits for them, round after round: what `cargo xtask limit-cost`
//! measures.
//!
//! Usage: `empty_items ROUNDS inside|outside`. Each round queues 1000 items, which is less than the
//! limit: from an item of the same queue, on one CPU, so that all goes on in one thread and a run
//! is like any other; or from this thread, while workers run them. Prints nanoseconds.

use std::sync::Arc;
use std::time::Instant;

use cmwq::{Work, Workqueue};

const ITEMS: usize = 1000;
const USAGE: &str = "usage: empty_items ROUNDS inside|outside";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let rounds: usize = args.next().ok_or(USAGE)?.parse()?;
    let inside = match args.next().as_deref() {
        Some("inside") => true,
        Some("outside") => false,
        _ => return Err(USAGE.into()),
    };
    let queue = Workqueue::builder("empty").max_active(1024);
    let queue = match inside {
        true => queue.cpus([0]),
        false => queue,
    };
    let queue = Arc::new(queue.build()?);
    let items: Vec<Work> = (0..ITEMS).map(|_| Work::new(|| ())).collect();
    let fill = |queue: &Workqueue, items: &[Work]| {
        items
            .iter()
            .for_each(|item| assert_eq!(queue.queue(item), Ok(true)));
    };
    let (own, inner) = (queue.clone(), items.clone());
    let filler: Work = Work::new(move || fill(&own, &inner));
    let begun = Instant::now();
    for _ in 0..rounds {
        match inside {
            true => assert_eq!(queue.queue(&filler), Ok(true)),
            false => fill(&queue, &items),
        }
        queue.drain()?;
    }
    println!("{}", begun.elapsed().as_nanos());
    Ok(())
}
