//! Closures that are joined, or waited for by a scope: on queues that may be claimed from, by the
//! caller itself.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use cmwq::{JoinError, Workqueue};

use super::world::World;
use crate::rng::Rng;

/// Most closures at one time.
const MOST: usize = 4;

/// Each closure runs once, and its value comes back, unless the queue is going or is being drained.
pub(crate) fn join(world: &World, rng: &mut Rng, n: usize) {
    // A handle: items need the lock meanwhile.
    let queue = world.with_queue(n, Workqueue::clone);
    let (runs, lets_one_be) = (AtomicUsize::new(0), rng.one_in(2));
    let scoped = queue.scope(|scope| {
        let task = |n| {
            let runs = &runs;
            scope.spawn(move || {
                let _inside = world.enter();
                runs.fetch_add(1, SeqCst);
                n
            })
        };
        let handles: Vec<_> = (0..1 + rng.below(MOST)).map(task).collect();
        let left = usize::from(lets_one_be);
        // The scope waits for who is not joined.
        let joined = handles.into_iter().skip(left).map(|handle| handle.join());
        joined.collect::<Vec<_>>()
    });
    let joined = match scoped {
        Ok(joined) => joined,
        Err(error) => return world.fail_wait(format!("scope: {error}")),
    };
    let values: Vec<usize> = joined.iter().flatten().copied().collect();
    let refused = joined
        .iter()
        .filter(|j| matches!(j, Err(JoinError::Refused(_))));
    let refused = refused.count();
    world.checks.joined.fetch_add(values.len() as u64, SeqCst);
    let (ran, left) = (runs.load(SeqCst), usize::from(lets_one_be));
    let ran_once = (values.len()..=values.len() + left).contains(&ran);
    if !values.is_sorted() || values.len() + refused != joined.len() || !ran_once {
        world.fail(format!("{ran} ran, {left} was not joined: {joined:?}"));
    }
}
