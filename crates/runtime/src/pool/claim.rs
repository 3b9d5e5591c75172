//! Threads that execute what they would wait for: `README.md` in this folder, "Claims".

use std::ptr::NonNull;

use cmwq_policy::{CpuMask, ItemReport, WorkerId};

use super::Pool;
use super::meter::{Found, Tidiness};
use super::slot::{Place, current};
use super::worker::{Hands, say};
use crate::item::Header;
use crate::pwq::PwqRef;
use crate::queue::name_of;

/// A claimed item, which the calling thread is about to execute.
pub(crate) struct Claimed {
    pool: &'static Pool,
    id: WorkerId,
    item: (NonNull<Header>, PwqRef),
}

impl Pool {
    /// Claims an item that its caller keeps, for the calling thread. `None`: it is to wait.
    pub(crate) fn claim(&'static self, work: NonNull<Header>) -> Option<Claimed> {
        let by = current().map(|place| place.claimant(self));
        let claimed = self.with(|core, cx| {
            let claimed = core.claim(cx, work, by.unwrap_or_default());
            // Before anybody who looks at the workers can see it.
            if let Some((id, _)) = claimed {
                self.make_slot(id);
            }
            claimed
        });
        claimed.map(|(id, pwq)| Claimed {
            pool: self,
            id,
            item: (work, pwq),
        })
    }
}

impl Claimed {
    /// Executes it as a worker would, and the barriers behind it.
    pub(crate) fn execute(self) {
        let (pool, id) = (self.pool, self.id);
        let mut next = Some(self.item);
        while let Some(item) = next {
            let report = run(pool, id, item);
            if !pool.engine().is_ours() {
                // An item that has forked returns in the child too, where the pools are not its own.
                return;
            }
            next = pool.with(|core, cx| core.claim_ended(cx, id, report));
        }
    }
}

/// The thread stands for the claim until this returns: after that the number may be another one's.
fn run(pool: &'static Pool, id: WorkerId, (work, pwq): (NonNull<Header>, PwqRef)) -> ItemReport {
    let (slot, within) = (pool.slot(id), current());
    slot.visited(within);
    let tidiness = Tidiness::new();
    let mut hands = Hands::stand_for(slot);
    let (report, _) = hands.execute(work, pwq);
    drop(hands);
    slot.visit_ends();
    if pool.engine().is_ours() {
        tidy(pool, &tidiness, within, pwq);
    }
    report
}

/// What the item has left in the thread is taken back, as far as that is possible. The thread is not ours to
/// end; a worker finds what is left when its own item ends.
fn tidy(pool: &Pool, tidiness: &Tidiness, within: Option<Place>, pwq: PwqRef) {
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

/// Whether the item may have given the thread this mask: unless somebody outside has changed the CPUs of the
/// process, or has narrowed the mask of the worker whose thread it is.
fn is_items_mask(pool: &Pool, within: Option<Place>, mask: &CpuMask) -> bool {
    let engine = pool.engine();
    engine.notice_cpus();
    !engine.is_from_outside(mask) && !within.is_some_and(Place::may_be_narrow)
}
