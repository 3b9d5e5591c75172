//! A limit for each customer: each has a queue with two slots, so none keeps the others waiting.
//! Queues share their threads and take less than a kilobyte each, so there may be thousands.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use cmwq::Workqueue;

const MOST: usize = 2;

/// What a customer has under way, and the most that it ever had.
#[derive(Default)]
struct Usage {
    now: AtomicUsize,
    most: AtomicUsize,
}

struct Customer {
    queue: Workqueue,
    usage: Arc<Usage>,
}

impl Customer {
    fn new(name: &str) -> Result<Customer, cmwq::BuildError> {
        let queue = Workqueue::builder(name).max_active_exact(MOST).build()?;
        let usage = Arc::default();
        Ok(Customer { queue, usage })
    }

    fn request(&self) {
        let usage = self.usage.clone();
        let serves = move || {
            let now = usage.now.fetch_add(1, SeqCst) + 1;
            usage.most.fetch_max(now, SeqCst);
            std::thread::sleep(Duration::from_micros(200)); // asks a database
            usage.now.fetch_sub(1, SeqCst);
        };
        self.queue.spawn(serves).detach();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut customers = HashMap::new();
    for n in 0..500 {
        let name = format!("customer {}", n % 50);
        if !customers.contains_key(&name) {
            customers.insert(name.clone(), Customer::new(&name)?);
        }
        customers[&name].request();
    }
    for (name, customer) in &customers {
        customer.queue.close()?;
        let most = customer.usage.most.load(SeqCst);
        assert!((1..=MOST).contains(&most), "{name}: {most} at once");
    }
    let workers = cmwq::stats().peak_workers;
    println!("{} customers, {workers} workers", customers.len());
    Ok(())
}

#[test]
fn it_works() {
    main().unwrap();
}
