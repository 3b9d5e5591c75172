//! Eight threads call whatever there is to call, in an order that a seed determines, on fifty items and
//! five queues of all kinds; the items do so as well. Books are kept beside that, by which
//!
//! * no item runs twice at once, and each execution sees what the one before stored;
//! * each queueing that was said to be one is followed by one execution, or one cancel that was said
//!   to be one;
//! * nothing runs when `cancel_sync` or `disable_sync` has returned, until somebody queues it, or enables
//!   it, again;
//! * what was queued before a flush has run after it;
//! * no queue runs more items than its limit, and an ordered one runs them in order;
//! * each closure that is spawned runs once, on a worker or claimed by who waits for it, and its value comes back;
//! * every item is dropped with its last handle, and not before.
//!
//! `CMWQ_STRESS_SEED` begins with another seed, `CMWQ_STRESS_OPS` does so many calls with each,
//! `CMWQ_STRESS_SEEDS` takes so many seeds one after the other.

#[path = "../common/mod.rs"]
mod common;

mod actor;
mod calls;
mod item;
mod joins;
mod model;
mod rng;
mod settle;
mod watch;
mod world;

use std::sync::Arc;

use actor::Actor;
use watch::{Now, Watch};
use world::World;

const THREADS: usize = 8;

fn number(variable: &str, otherwise: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{variable}={text} is no number")),
        Err(_) => otherwise,
    }
}

/// One run; how often each check was made.
fn run(seed: u64, ops: usize) -> [u64; 6] {
    let world = World::new(seed);
    let actors: Arc<Vec<Now>> = Arc::new((0..THREADS).map(|_| Now::default()).collect());
    let _watch = Watch::start(world.clone(), actors.clone());
    std::thread::scope(|threads| {
        for (n, now) in actors.iter().enumerate() {
            let seed = seed * THREADS as u64 + n as u64 + 1;
            let actor = Actor::new(&world, seed, now);
            threads.spawn(move || actor.run(ops / THREADS));
        }
    });
    settle::settle(&world);
    let failures = world.failures();
    assert!(failures.is_empty(), "seed {seed}:\n{}", failures.join("\n"));
    world.checks.all()
}

#[test]
fn items_and_queues_keep_their_promises() {
    let (first, seeds) = (
        number("CMWQ_STRESS_SEED", 1),
        number("CMWQ_STRESS_SEEDS", 4),
    );
    let ops = number("CMWQ_STRESS_OPS", 5_000) as usize;
    let mut checks = [0; 6];
    for seed in first..first + seeds {
        let made = run(seed, ops);
        println!("seed {seed}: {made:?}");
        checks
            .iter_mut()
            .zip(made)
            .for_each(|(all, made)| *all += made);
    }
    let claimed = cmwq::stats().claimed;
    println!("{claimed} claimed");
    // Whoever asks for a few calls does not ask for all checks.
    assert!(
        ops < 5_000 || !checks.contains(&0) && claimed > 0,
        "not checked: {checks:?}, {claimed}"
    );
}
