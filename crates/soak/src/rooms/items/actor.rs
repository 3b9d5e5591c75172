//! One of the threads that call.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use cmwq::{Work, freezer};

use super::calls::{self, Held, LASTING};
use super::item;
use super::joins;
use super::model::Item;
use super::watch::Now;
use super::world::{ITEMS, KINDS, ORDERED, World};
use crate::rng::Rng;

/// How many items one thread has disabled at most.
const HELD: usize = 3;

/// What is done, and how often in a hundred.
const OPS: [(usize, &str); 14] = [
    (29, "queue"),
    (5, "join"),
    (12, "cancel"),
    (9, "cancel_sync"),
    (4, "disable"),
    (6, "disable_sync"),
    (10, "enable"),
    (9, "flush"),
    (3, "flush_queue"),
    (3, "replace"),
    (4, "in_order"),
    (3, "attrs"),
    (2, "freeze"),
    (1, "renew"),
];

pub(crate) struct Actor<'a> {
    world: &'a Arc<World>,
    rng: Rng,
    now: &'a Now,
    held: Vec<(Work<Item>, Held)>,
}

impl<'a> Actor<'a> {
    pub(crate) fn new(world: &'a Arc<World>, seed: u64, now: &'a Now) -> Self {
        Actor {
            world,
            rng: Rng::new(seed),
            now,
            held: Vec::new(),
        }
    }

    pub(crate) fn run(mut self, ops: usize) {
        for _ in 0..ops {
            if self.world.has_failed() {
                break;
            }
            self.step();
        }
        while self.release() {}
        self.now.rest();
    }

    fn step(&mut self) {
        let mut left = self.rng.below(100);
        let chosen = OPS.iter().find(|(weight, _)| {
            let found = left < *weight;
            left = left.saturating_sub(*weight);
            found
        });
        let (_, op) = chosen.expect("they add up to a hundred");
        let (slot, n) = (self.rng.below(ITEMS), self.rng.below(KINDS.len()));
        self.now.begins(op, slot, n);
        self.act(op, slot, n);
    }

    fn act(&mut self, op: &str, slot: usize, n: usize) {
        let world = self.world;
        match op {
            "replace" => return self.replace(slot.max(LASTING), n),
            "in_order" => return self.in_order(),
            "attrs" => return self.attrs(n),
            "join" => return joins::join(world, &mut self.rng, n),
            "freeze" => return self.freeze(),
            "renew" => return self.renew(),
            "enable" => {
                self.release();
                return;
            }
            _ => {}
        }
        let item = world.item(slot);
        match op {
            "cancel" => calls::cancel(&item),
            "cancel_sync" => calls::cancel_sync(world, &item),
            "disable" | "disable_sync" => self.disable(op, item),
            "flush" => calls::queue_and_flush(world, &mut self.rng, &item, n),
            "flush_queue" => calls::queue_and_flush_queue(world, &mut self.rng, &item, n),
            _ => calls::queue(world, &mut self.rng, &item),
        }
    }

    fn disable(&mut self, op: &str, item: Work<Item>) {
        if self.held.len() == HELD {
            self.release();
        }
        let held = match op {
            "disable" => calls::disable(&item),
            _ => calls::disable_sync(self.world, &item),
        };
        self.held.extend(held.map(|held| (item, held)));
    }

    /// Enables the item that was disabled first; false if there is none.
    fn release(&mut self) -> bool {
        if self.held.is_empty() {
            return false;
        }
        let (item, held) = self.held.remove(0);
        let n = self.rng.below(2 * KINDS.len());
        match n < KINDS.len() {
            true => self
                .world
                .with_queue(n, |queue| calls::enable_and_queue(&item, held, queue)),
            false => calls::enable(&item, held),
        }
        true
    }

    /// Another item takes this one's place; the queue gets the last handle of the old one.
    fn replace(&mut self, slot: usize, n: usize) {
        let world = self.world;
        let new = item::new(Arc::downgrade(world), world.new_tally());
        let old = std::mem::replace(&mut *world.items[slot].write().unwrap(), new);
        world.with_queue(n, |queue| calls::give_away(old, queue));
    }

    /// Items of an ordered queue run in the order in which they were queued, whatever else happens.
    fn in_order(&mut self) {
        let world = self.world;
        if world.perishable == ORDERED {
            return;
        }
        let mut next = world.next_in_order.lock().unwrap();
        let (number, run) = (*next, world.clone());
        let check = move || {
            let _inside = run.enter();
            let ran = run.ran_in_order.fetch_add(1, SeqCst);
            run.checks.in_order.fetch_add(1, SeqCst);
            if ran != number {
                run.fail(format!("number {number} in order runs after {ran} others"));
            }
        };
        world.with_queue(ORDERED, |queue| drop(queue.spawn(check)));
        *next += 1;
    }

    fn attrs(&mut self, n: usize) {
        let (limit, rng) = (self.rng.below(super::world::MOST_ACTIVE), &mut self.rng);
        self.world.with_queue(n, |queue| {
            if rng.one_in(2) {
                queue.set_max_active(1 + limit);
                return;
            }
            let mut attrs = queue.attrs();
            attrs.nice = rng.below(3) as i32;
            attrs.cpus = (!rng.one_in(2)).then(|| vec![rng.below(2)]);
            // Refused by kinds that have none.
            let _ = queue.apply_attrs(&attrs);
        });
    }

    /// Whoever freezes waits for nothing before the thaw.
    fn freeze(&mut self) {
        freezer::freeze();
        for _ in 0..self.rng.below(20) {
            std::thread::yield_now();
        }
        freezer::thaw();
    }

    fn renew(&mut self) {
        let (world, n) = (self.world, self.world.perishable);
        if n >= KINDS.len() {
            return;
        }
        match self.rng.one_in(2) {
            true => world.renew_queue(n, &mut self.rng),
            false => {
                let queue = world.with_queue(n, cmwq::Workqueue::clone);
                queue.drain().unwrap();
            }
        }
    }
}
