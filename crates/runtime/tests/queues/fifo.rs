//! FIFO queues: items begin in the order of queueing, on several workers.

use std::sync::OnceLock;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use cmwq::{Work, Workqueue};

use crate::common::{Occupancy, watchdog};

const ITEMS: usize = 20_000;
/// An item looks at so many that were queued before it.
const LOOKS_AT: usize = 100;
/// One in so many sleeps, unseen: others begin meanwhile.
const SLEEPS: usize = 500;

#[derive(Default)]
struct Seen {
    all: OnceLock<Vec<Work>>,
    /// Older items that were pending when one had begun, at most.
    overtaken: AtomicUsize,
    inside: Occupancy,
}

impl Seen {
    fn item(&self, number: usize) {
        let _counted = self.inside.enter();
        let all = self.all.get().expect("all were made before one was queued");
        let older = &all[number.saturating_sub(LOOKS_AT)..number];
        let pending = older.iter().filter(|work| work.is_pending()).count();
        self.overtaken.fetch_max(pending, SeqCst);
        if number.is_multiple_of(SLEEPS) {
            std::thread::sleep(Duration::from_micros(200));
        }
        // Short, and no briefer: several workers serve them.
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_micros(2) {}
    }
}

#[test]
fn an_item_begins_when_all_older_ones_have_begun() {
    let _watch = watchdog();
    let queue = Workqueue::builder("in-order").fifo().build().unwrap();
    let seen: &'static Seen = Box::leak(Box::default());
    let made = (0..ITEMS).map(|number| Work::new(move || seen.item(number)));
    let all = seen.all.get_or_init(|| made.collect());
    for _ in 0..3 {
        all.iter()
            .for_each(|work| assert_eq!(queue.queue(work), Ok(true)));
        queue.flush().unwrap();
    }
    assert!(seen.inside.peak() > 1, "several ran at once");
    // Who was dealt items, alone, may be about to say that it has begun one.
    let overtaken = seen.overtaken.load(SeqCst);
    assert!(overtaken <= 1, "{overtaken} at once");
}

/// What is taken by several workers, one item after the other, and has begun nowhere before.
#[test]
fn at_most_one_item_for_each_worker_is_on_its_way() {
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    static BEHIND: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = THREADS.fetch_add(1, SeqCst);
    }
    let _watch = watchdog();
    let queue = Workqueue::builder("new-in-order").fifo().build().unwrap();
    for number in 0..5 * ITEMS {
        let item = move || {
            let older_that_have_not = number.saturating_sub(BEGUN.fetch_add(1, SeqCst));
            BEHIND.fetch_max(older_that_have_not, SeqCst);
            NUMBER.with(|_| ());
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_micros(2) {}
        };
        drop(queue.spawn(item));
    }
    queue.flush().unwrap();
    let all = [&BEGUN, &THREADS, &BEHIND].map(|number| number.load(SeqCst));
    let [begun, threads, behind] = all;
    assert_eq!(begun, 5 * ITEMS, "each once");
    assert!(behind < threads, "{behind} of {threads}");
}

/// Items that go on across a change of attributes hold up neither what comes after it nor those who
/// wait for that.
#[test]
fn an_item_may_wait_for_another_one_after_a_change_of_attributes() {
    let _watch = watchdog();
    let queue = Workqueue::builder("changes").fifo().build().unwrap();
    let own = queue.clone();
    let sum = queue.spawn(move || {
        let mut attrs = own.attrs();
        attrs.nice = 3;
        own.apply_attrs(&attrs).unwrap();
        own.spawn(|| 7).join().map_err(|error| error.to_string())
    });
    assert_eq!(sum.join().unwrap(), Ok(7));
}
