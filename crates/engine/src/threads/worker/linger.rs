//! A worker that has nothing to do yields some times before it sleeps, or before it says that its
//! item has ended. `cmwq_policy::linger` says when.

use std::sync::atomic::Ordering::SeqCst;

use cmwq_os::{clock, sched};
use cmwq_policy::linger::Yields;
use cmwq_policy::{Time, sampling};

use super::super::scan;
use super::{Executed, Worker};
use crate::pool::NOWHERE;

impl Worker {
    /// Lingers for a moment before it says that the item has ended, if it may, and that has been of
    /// use.
    pub(super) fn linger_before_telling(&mut self, done: &mut Executed) {
        let (slot, inbox) = (self.hands.slot, self.hands.slot.pool.inbox());
        let yields = self.linger.yields_before_telling(slot.pool.has_pods());
        let may_linger = || slot.linger(done.at, &done.report);
        let Some((hand, until)) = (yields > 0).then(may_linger).flatten() else {
            return;
        };
        let is_over = || !hand.lingers() || inbox.has_rest();
        let (over, now) = yields_until(yields, until, is_over);
        hand.lingers_no_more();
        let (came, whole) = (inbox.has_rest(), !over && now < until);
        self.linger.lingered((done.at, now), came, whole);
        self.hands.meter.lingered(now.since(done.at));
        (done.at, done.report.lingered) = (now, true);
    }

    /// Lingers for a moment when there is nothing to do, if that has been of use. True if it was.
    /// Whoever wakes it meanwhile may bring it to the item, as if it had parked.
    fn linger_before_parking(&mut self) -> bool {
        let slot = self.hands.slot;
        let yields = self.linger.yields(slot.pool.has_pods());
        if yields == 0 {
            return false;
        }
        // Now, since an item that comes meanwhile should not wait for that.
        self.hands.meter.restart();
        slot.parks_here();
        let is_woken = || {
            slot.parker.is_woken() || {
                slot.parks_here();
                false
            }
        };
        yields_until(yields, Time(u64::MAX), is_woken).0
    }

    pub(super) fn park(&mut self) {
        let slot = self.hands.slot;
        if slot.may_be_narrow() {
            // It was woken on a CPU that it may have lost meanwhile, and others got its item.
            self.follow_cpus();
        }
        let idle_from = clock::now();
        let woken = self.linger_before_parking();
        if !woken {
            slot.parks_here();
        }
        slot.parker.park(None);
        slot.parked_on.store(NOWHERE, SeqCst);
        let idle = clock::now().since(idle_from);
        if sampling::begins_anew(woken, idle) {
            self.hands.meter.restart();
        }
        self.linger.spell_ended(woken, idle);
        if slot.pool.has_reports() {
            scan::handle_reports(slot.pool, Some(slot.id));
        }
    }
}

/// Yields until it is over, so often at most, and no more after that time: whether it is over, and
/// when that was.
fn yields_until(yields: u32, last: Time, is_over: impl Fn() -> bool) -> (bool, Time) {
    let (mut yields, mut now) = (Yields::new(yields), clock::now());
    while yields.is_left() {
        sched::yield_now();
        let before = std::mem::replace(&mut now, clock::now());
        if is_over() {
            return (true, now);
        }
        yields.took(now.since(before));
        if now >= last {
            break;
        }
    }
    (false, now)
}
