//! A thread that waits for an item executes it itself. `cmwq_policy::stacking` says which thread
//! may do that. The section "Claims" of `pool/README.md` says what it means to the pool.

use std::ptr::NonNull;

use cmwq_os::{sched, thread};
use cmwq_policy::contract;
use cmwq_policy::stacking::{self, Awaited, ClaimOn, Stacking, Waiter};
use cmwq_policy::{CpuMask, ItemReport, WorkerId};

use super::meter::{Found, Tidiness};
use super::worker::{Hands, say};
use crate::item::Header;
use crate::pool::Pool;
use crate::queue::Queue;
use crate::queue::pwq::{PwqRef, name_of};
use crate::stay::Confined;
use crate::wait::this_worker::{self, ThisWorker};

/// Executes the item, which the caller keeps and was queued through this queue of this process, if
/// no worker has begun it and the calling thread may. False: it is to be waited for.
pub(crate) fn claim(queue: &Queue, work: NonNull<Header>) -> bool {
    if queue.stacking() != Stacking::Claim {
        return false;
    }
    // SAFETY: the caller keeps it.
    let item = unsafe { work.as_ref() };
    // In its queue, if somebody was about to put it there, or had left it in an inbox.
    let word = contract::settled(&queue.machine(), work);
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
    let Some(claimed) = take(pool, work) else {
        return false;
    };
    queue.awaiting(Some(item.name()), || claimed.execute());
    true
}

fn may_claim(queue: &Queue, pool: &Pool) -> Option<ClaimOn> {
    let item = Awaited {
        kind: queue.made().kind,
        nice: i32::from(pool.nice()),
        cpus: pool.usable(),
        stack: queue.base().stack_size(),
    };
    let waiter = Waiter {
        nice: sched::nice_self(),
        normal_policy: sched::is_normal_policy_self(),
        cpu: sched::current_cpu(),
        cpus: sched::affinity(0).ok()?,
        stack: thread::stack_left(),
        nested: this_worker::current().map_or(0, |worker| worker.claims()),
    };
    stacking::may_claim(queue.stacking(), &item, &waiter)
}

/// A claimed item, which the calling thread is about to execute.
struct Claimed {
    pool: &'static Pool,
    id: WorkerId,
    item: (NonNull<Header>, PwqRef),
}

/// Takes an item that the caller keeps, for the calling thread. `None`: it is to wait.
fn take(pool: &'static Pool, work: NonNull<Header>) -> Option<Claimed> {
    let by = this_worker::current().map(|worker| worker.claimant(pool));
    let claimed = pool.with(|core, cx| {
        let claimed = core.claim(cx, work, by.unwrap_or_default());
        // Before anybody who looks at the workers can see it.
        if let Some((id, _)) = claimed {
            pool.make_slot(id);
        }
        claimed
    });
    claimed.map(|(id, pwq)| Claimed {
        pool,
        id,
        item: (work, pwq),
    })
}

impl Claimed {
    /// Executes it as a worker would, and the barriers behind it.
    fn execute(self) {
        let (pool, id) = (self.pool, self.id);
        let mut next = Some(self.item);
        while let Some(item) = next {
            let report = run(pool, id, item);
            if !pool.base().is_ours() {
                // An item that has forked returns in the child too, where the pools are not its
                // own.
                return;
            }
            next = pool.with(|core, cx| core.claim_ended(cx, id, report));
        }
    }
}

/// The thread stands for the claim until this returns: after that the number may be another one's.
fn run(pool: &'static Pool, id: WorkerId, (work, pwq): (NonNull<Header>, PwqRef)) -> ItemReport {
    let (slot, within) = (pool.slot(id), this_worker::current());
    slot.visited(within.map(|worker| worker.slot));
    let tidiness = Tidiness::new();
    let mut hands = Hands::stand_for(slot);
    let report = hands.execute(work, pwq, None).report;
    drop(hands);
    slot.visit_ends();
    if pool.base().is_ours() {
        tidy(pool, &tidiness, within, pwq);
    }
    report
}

/// What the item has left in the thread is taken back, as far as that is possible. The thread is
/// not ours to end; a worker finds what is left when its own item ends.
fn tidy(pool: &Pool, tidiness: &Tidiness, within: Option<ThisWorker>, pwq: PwqRef) {
    let is_items = |mask: &CpuMask| is_items_mask(pool, within, mask);
    let found = tidiness.claimed_ended(is_items);
    found.map(|found| {
        say(
            Found {
                lost: false,
                ..found
            },
            name_of(pwq),
        )
    });
}

/// Whether the item may have given the thread this mask. Others may have: somebody outside has
/// changed the CPUs of the process, or has narrowed the mask of the worker whose thread it is.
fn is_items_mask(pool: &Pool, within: Option<ThisWorker>, mask: &CpuMask) -> bool {
    let engine = pool.engine();
    engine.notice_cpus();
    !engine.is_from_outside(mask) && !within.is_some_and(ThisWorker::may_be_narrow)
}
