//! A thread that waits for an item executes it itself: `cmwq_policy::stacking` says which thread may,
//! `pool/README.md` what that means to the pool.

use std::ptr::NonNull;

use cmwq_os::{sched, thread};
use cmwq_policy::stacking::{self, Awaited, ClaimOn, Stacking, Waiter};

use crate::item::Header;
use crate::pool::{self, Pool};
use crate::queue::Queue;
use crate::stay::Confined;
use crate::task;

/// Executes the item, which the caller keeps and was queued through this queue of this process, if no worker
/// has begun it and the calling thread may. False: it is to be waited for.
pub(crate) fn claim(queue: &Queue, work: NonNull<Header>) -> bool {
    if queue.stacking() != Stacking::Claim {
        return false;
    }
    // SAFETY: the caller keeps it.
    let item = unsafe { work.as_ref() };
    let word = item.word();
    let pool = word.pool().filter(|_| word.pwq().is_some());
    let Some(pool) = pool.and_then(|id| queue.engine().pool(id)) else {
        return false;
    };
    let Some(on) = may_claim(queue, pool) else {
        return false;
    };
    let _confined = match on {
        ClaimOn::Anywhere => None,
        ClaimOn::Only(cpus) => match Confined::to(cpus) {
            None => return false,
            confined => confined,
        },
    };
    let Some(claimed) = pool.claim(work) else {
        return false;
    };
    task::awaiting(queue, Some(item.name()), || claimed.execute());
    true
}

fn may_claim(queue: &Queue, pool: &Pool) -> Option<ClaimOn> {
    let item = Awaited {
        kind: queue.made().kind,
        nice: i32::from(pool.nice()),
        cpus: pool.usable(),
        stack: queue.engine().stack_size(),
    };
    let waiter = Waiter {
        nice: sched::nice_self(),
        normal_policy: sched::is_normal_policy_self(),
        cpu: sched::current_cpu(),
        cpus: sched::affinity(0).ok()?,
        stack: thread::stack_left(),
        nested: pool::current().map_or(0, |place| place.claims()),
    };
    stacking::may_claim(queue.stacking(), &item, &waiter)
}
