//! The items and queues of one run, and what all threads share.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, RwLock, Weak};
use std::time::Duration;

use cmwq::{Stacking, Work, Workqueue};

use super::model::{Checks, Item, Tally};
use crate::hostile::threads;
use crate::rng::Rng;

pub(crate) const ITEMS: usize = 50;

/// The kinds of queues, by index. Queues are named so: an item sees through which it runs.
pub(crate) const KINDS: [&str; 6] = ["managed", "percpu", "ordered", "unmanaged", "bh", "fifo"];
const MANAGED: usize = 0;
pub(crate) const ORDERED: usize = 2;
const UNMANAGED: usize = 3;
const FIFO: usize = 5;
/// No limit of a queue is ever higher than this.
pub(crate) const MOST_ACTIVE: usize = 8;

pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) items: Vec<RwLock<Work<Item>>>,
    pub(crate) queues: Vec<RwLock<Workqueue>>,
    /// This queue is drained now and then, and made anew: what is armed for it may be dropped. No
    /// queue's index in half of the runs, where all sums are exact.
    pub(crate) perishable: usize,
    pub(crate) tallies: Mutex<Vec<Arc<Tally>>>,
    pub(crate) checks: Checks,
    /// Who executes items of each queue.
    occupancy: [Occupancy; KINDS.len()],
    /// Items do nothing any more but run.
    pub(crate) quiet: AtomicBool,
    /// Numbers of what is to run in this order on the ordered queue.
    pub(crate) next_in_order: Mutex<u64>,
    pub(crate) ran_in_order: AtomicU64,
    failures: Mutex<Vec<String>>,
    failed: AtomicBool,
    /// Waits may fail: there are too few threads.
    waits_may_fail: bool,
}

/// How many are inside of something at once.
#[derive(Default)]
struct Occupancy(AtomicUsize);

/// One of them, until it is dropped.
struct Inside<'a>(&'a Occupancy);

impl Occupancy {
    /// With how many there are then.
    fn enter(&self) -> (Inside<'_>, usize) {
        let now = self.0.fetch_add(1, SeqCst) + 1;
        (Inside(self), now)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, SeqCst);
    }
}

/// Looks again until it is so; the bound only ends a run that fails.
pub(super) fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..60_000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("never happened: {what}");
}

/// Makes an item with these books.
type Make = fn(Weak<World>, Arc<Tally>) -> Work<Item>;

impl World {
    /// Its items are made by `make`.
    pub(crate) fn new(seed: u64, waits_may_fail: bool, make: Make) -> Arc<Self> {
        let mut rng = Rng::new(seed);
        let mut world = World {
            seed,
            items: Vec::new(),
            queues: (0..KINDS.len())
                .map(|kind| RwLock::new(new_queue(kind, &mut rng)))
                .collect(),
            perishable: rng.below(2 * KINDS.len()),
            tallies: Mutex::default(),
            checks: Checks::default(),
            occupancy: Default::default(),
            quiet: AtomicBool::new(false),
            next_in_order: Mutex::new(0),
            ran_in_order: AtomicU64::new(0),
            failures: Mutex::default(),
            failed: AtomicBool::new(false),
            waits_may_fail,
        };
        Arc::new_cyclic(|this| {
            world.items = (0..ITEMS)
                .map(|_| RwLock::new(make(this.clone(), world.new_tally())))
                .collect();
            world
        })
    }

    /// The books of one more item.
    pub(crate) fn new_tally(&self) -> Arc<Tally> {
        let mut tallies = self.tallies.lock().unwrap();
        let tally = Arc::new(Tally::new(tallies.len()));
        tallies.push(tally.clone());
        tally
    }

    pub(crate) fn item(&self, n: usize) -> Work<Item> {
        self.items[n].read().unwrap().clone()
    }

    /// Calls with the queue, which is not made anew meanwhile: so nothing but the thread that does
    /// that drops the last handle of a queue, and an item never waits for one.
    pub(crate) fn with_queue<R>(&self, n: usize, call: impl FnOnce(&Workqueue) -> R) -> R {
        call(&self.queues[n].read().unwrap())
    }

    /// Replaces a queue; dropping the old one waits for its items.
    pub(crate) fn renew_queue(&self, n: usize, rng: &mut Rng) {
        let new = new_queue(n, rng);
        let old = std::mem::replace(&mut *self.queues[n].write().unwrap(), new);
        drop(old);
    }

    /// Counts the calling item in. Of a queue made anew, the old one's items may be there as well.
    pub(crate) fn enter(&self) -> impl Drop {
        let current = cmwq::current_work();
        let name = current.expect("an item runs").queue;
        let kind = KINDS.iter().position(|kind| *kind == name);
        let kind = kind.expect("one of our queues");
        let (inside, now) = self.occupancy[kind].enter();
        let most = self.most(kind);
        if now > most {
            self.fail(format!("{now} items of {name} run at once, of {most}"));
        }
        inside
    }

    fn most(&self, kind: usize) -> usize {
        match kind {
            kind if kind == self.perishable => usize::MAX,
            ORDERED => 1,
            MANAGED | UNMANAGED | FIFO => MOST_ACTIVE,
            // Each CPU has a limit of its own.
            _ => usize::MAX,
        }
    }

    /// Panics in items are swallowed, so failures are collected.
    pub(crate) fn fail(&self, what: String) {
        let mut failures = self.failures.lock().unwrap();
        // The first ones say most.
        if failures.len() < 20 {
            failures.push(what);
        }
        self.failed.store(true, SeqCst);
    }

    /// A wait that should end did not.
    pub(crate) fn fail_wait(&self, what: String) {
        if !self.waits_may_fail {
            self.fail(what);
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(SeqCst)
    }

    pub(crate) fn failures(&self) -> Vec<String> {
        self.failures.lock().unwrap().clone()
    }
}

/// A queue of this kind; its other flags are chosen.
fn new_queue(kind: usize, rng: &mut Rng) -> Workqueue {
    let builder = Workqueue::builder(KINDS[kind]);
    let builder = match KINDS[kind] {
        "managed" => builder.max_active(1 + rng.below(MOST_ACTIVE)),
        "fifo" => builder.fifo().max_active(1 + rng.below(MOST_ACTIVE)),
        "percpu" => builder.percpu().max_active(1 + rng.below(MOST_ACTIVE)),
        "ordered" => builder.ordered(),
        "unmanaged" => builder.unmanaged().max_active(MOST_ACTIVE),
        _ => return builder.bh().build().unwrap(),
    };
    let builder = if rng.one_in(2) {
        builder.stacking(Stacking::Claim)
    } else {
        builder
    };
    let builder = if rng.one_in(2) {
        builder.freezable()
    } else {
        builder
    };
    let builder = if rng.one_in(3) {
        builder.mem_reclaim()
    } else {
        builder
    };
    // A rescuer is a thread, and the run does not go on without.
    threads::making(|| builder.build()).unwrap()
}
