//! Eight threads call whatever there is to call, in an order that a seed determines, on fifty items
//! and five queues of all kinds; the items do so as well. Books are kept beside that, by which
//!
//! * no item runs twice at once, and each execution sees what the one before stored;
//! * each queueing that was said to be one is followed by one execution, or one cancel that was
//!   said to be one;
//! * nothing runs when `cancel_sync` or `disable_sync` has returned, until somebody queues it, or
//!   enables it, again;
//! * what was queued before a flush has run after it;
//! * no queue runs more items than its limit, and an ordered one runs them in order;
//! * each closure that is spawned runs once, on a worker or claimed by who waits for it, and its
//!   value comes back;
//! * every item is dropped with its last handle, and not before.

mod actor;
mod calls;
mod item;
mod joins;
mod model;
mod settle;
mod watch;
mod world;

use std::sync::Arc;

use super::Player;
use crate::books;
use crate::hostile::threads;
use actor::Actor;
use watch::{Now, Watch};
use world::World;

const THREADS: usize = 8;

/// One run with so many calls: how often each check was made.
///
/// # Errors
/// What is wrong.
pub fn run(seed: u64, ops: usize, waits_may_fail: bool) -> Result<[u64; 6], Vec<String>> {
    let world = World::new(seed, waits_may_fail, item::new);
    let actors: Arc<Vec<Now>> = Arc::new((0..THREADS).map(|_| Now::default()).collect());
    let _watch = Watch::start(world.clone(), actors.clone());
    std::thread::scope(|scope| {
        for (n, now) in actors.iter().enumerate() {
            let seed = seed * THREADS as u64 + n as u64 + 1;
            let actor = Actor::new(&world, seed, now);
            threads::making(|| scope.spawn(move || actor.run(ops / THREADS)));
        }
    });
    settle::settle(&world);
    let failures = world.failures();
    match failures.is_empty() {
        true => Ok(world.checks.all()),
        false => Err(failures),
    }
}

pub(super) fn play(player: &mut Player) {
    let (seed, ops) = (player.rng.next() >> 40, 200 + player.rng.below(2_000));
    player.does(&format!("{ops} calls with {seed}"));
    if let Err(failures) = run(seed, ops, player.plan.waits_may_fail()) {
        let all = failures.join("\n");
        books::fail(&format!("items with {seed}:\n{all}"));
    }
}
