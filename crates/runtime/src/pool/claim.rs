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
    work: NonNull<Header>,
    pwq: PwqRef,
}

impl Pool {
    /// Claims an item that its caller keeps, for the calling thread. `None`: it is to wait.
    pub(crate) fn claim(&'static self, work: NonNull<Header>) -> Option<Claimed> {
        let by = current().map(|place| place.claimant(self));
        let claimed = self.with(|core, cx| core.claim(cx, work, by.unwrap_or_default()));
        claimed.map(|(id, pwq)| Claimed {
            pool: self,
            id,
            work,
            pwq,
        })
    }
}

impl Claimed {
    /// Executes it as a worker would.
    pub(crate) fn execute(self) {
        let (pool, id) = (self.pool, self.id);
        let report = self.run();
        // An item that has forked returns in the child too, where the pools are not its own.
        if pool.engine().is_ours() {
            pool.with(|core, cx| core.claim_ended(cx, id, report));
        }
    }

    /// The thread stands for the claim until this returns: then the number may be another one's.
    fn run(self) -> ItemReport {
        let (pool, within) = (self.pool, current());
        let slot = pool.make_slot(self.id);
        slot.visited(within);
        let tidiness = Tidiness::new();
        let mut hands = Hands::stand_for(slot);
        let (report, _) = hands.execute(self.work, self.pwq);
        drop(hands);
        slot.visit_ends();
        if pool.engine().is_ours() {
            self.tidy(tidiness, within);
        }
        report
    }

    /// What the item has left in the thread is taken back, as far as that is possible. The thread is not
    /// ours to end; a worker finds what is left when its own item ends.
    fn tidy(&self, tidiness: Tidiness, within: Option<Place>) {
        let found = tidiness.claimed_ended(|mask| self.is_items_mask(mask, within));
        found.map(|found| {
            say(
                Found {
                    lost: false,
                    ..found
                },
                name_of(self.pwq),
            )
        });
    }

    /// Whether the item may have given the thread this mask: unless somebody outside has changed the CPUs
    /// of the process, or has narrowed the mask of the worker whose thread it is.
    fn is_items_mask(&self, mask: &CpuMask, within: Option<Place>) -> bool {
        let engine = self.pool.engine();
        engine.notice_cpus();
        *mask != engine.cpus().mask && !within.is_some_and(Place::may_be_narrow)
    }
}
