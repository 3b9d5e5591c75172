//! Locks: who has one keeps the others waiting, spinning for a while, then asleep.
//!
//! A released lock goes to somebody in one of two ways. A *fair* lock (`handoff`) is the first
//! waiter's from that moment on, even if it sleeps and needs time to get a CPU; meanwhile nobody
//! else may have the lock, and the others queue up behind it: a convoy. Any other lock is free: a
//! waiter that spins on a CPU takes it at once, else the first sleeper is woken and tries again
//! when it has a CPU, unless somebody who came by was faster (barging); then it sleeps on, in its
//! old place.

use std::collections::VecDeque;

use cmwq_policy::Nanos;

use crate::api::act::Act;
use crate::api::names::LockId;
use crate::api::report::LockStats;
use crate::api::specs::LockSpec;
use crate::api::trace::What;
use crate::cpu::{ThreadId, ThreadState};
use crate::machine::Machine;
use crate::state::event::Event;
use crate::state::lock::{Doing, Lock};
use crate::state::resources::add;
use crate::state::thread::Sleep;

impl Machine {
    /// A new lock, free.
    pub fn lock(&self, spec: LockSpec) -> LockId {
        let new = Lock {
            spec,
            owner: None,
            since: self.now(),
            waiters: VecDeque::new(),
            passers: Vec::new(),
            bounces: 0,
            stats: LockStats::default(),
        };
        LockId(add(&self.resources.locks, new))
    }

    pub(super) fn with_lock<R>(&self, lock: LockId, look: impl FnOnce(&mut Lock) -> R) -> R {
        let mut table = self.resources.locks.borrow_mut();
        let found = table.get_mut(lock.0 as usize);
        look(found.unwrap_or_else(|| panic!("there is no lock {}", lock.0)))
    }

    /// A lock's name.
    ///
    /// # Panics
    /// If there is no such lock.
    pub fn lock_name(&self, lock: LockId) -> String {
        self.with_lock(lock, |l| l.spec.name.clone())
    }

    /// Who has a lock.
    ///
    /// # Panics
    /// If there is no such lock.
    pub fn owner_of(&self, lock: LockId) -> Option<ThreadId> {
        self.with_lock(lock, |l| l.owner)
    }

    /// What a lock has seen up to now.
    ///
    /// # Panics
    /// If there is no such lock.
    pub fn lock_stats(&self, lock: LockId) -> LockStats {
        let now = self.now();
        self.with_lock(lock, |l| {
            let held = l.owner.map_or(0, |_| now.since(l.since));
            LockStats {
                held_ns: l.stats.held_ns + held,
                ..l.stats
            }
        })
    }

    /// The running thread takes the lock, or waits for it.
    pub(crate) fn acquire(&self, id: ThreadId, lock: LockId) {
        match self.owner_of(lock) {
            None => self.own(id, lock),
            Some(owner) if owner == id => panic!(
                "{} waits for itself: it has the lock {} already",
                self.thread_name(id),
                self.lock_name(lock)
            ),
            Some(owner) => self.wait_for_lock(id, lock, owner),
        }
    }

    fn own(&self, id: ThreadId, lock: LockId) {
        let now = self.now();
        self.with_lock(lock, |l| l.own(now, id));
        self.note(id, What::Locks(lock));
    }

    fn wait_for_lock(&self, id: ThreadId, lock: LockId, owner: ThreadId) {
        let now = self.now();
        let (is_new, spin, optimistic) = self.with_lock(lock, |l| {
            (l.line_up(now, id), l.spec.spin, l.spec.optimistic)
        });
        if is_new {
            self.note(id, What::WaitsFor(lock));
        }
        let has_cpu = || self.sched().state(owner) == ThreadState::Running;
        if is_new && spin > 0 && (!optimistic || has_cpu()) {
            return self.spin_for_lock(id, lock, spin, optimistic);
        }
        self.with_lock(lock, |l| l.waiter(id).doing = Doing::Sleeps);
        self.sleep(id, Sleep::Lock(lock));
    }

    fn spin_for_lock(&self, id: ThreadId, lock: LockId, spin: Nanos, optimistic: bool) {
        let until = self.after(spin, Event::SpinOver(id, lock));
        self.with_lock(lock, |l| {
            l.waiter(id).doing = Doing::Spins(until);
            l.bounces += 1;
        });
        if optimistic {
            self.resources.spun.borrow_mut().insert(lock);
        }
        self.sched().spin(id);
    }

    /// A waiter has spun for long enough: it tries once more, then sleeps.
    pub(crate) fn spin_over(&self, id: ThreadId, lock: LockId) {
        if self.passes(id, lock) {
            return self.pass_spin_over(id, lock);
        }
        self.with_lock(lock, |l| l.waiter(id).doing = Doing::Spun);
        self.try_again(id, lock);
        self.sched().stop_spin(self.now(), id);
    }

    fn try_again(&self, id: ThreadId, lock: LockId) {
        self.frame(id, |f| f.act = Some(Act::Lock(lock)));
    }

    /// Ends the spinning for optimistic locks whose owners have lost their CPUs.
    pub(crate) fn look_at_spinners(&self) {
        if self.resources.spun.borrow().is_empty() {
            return;
        }
        let spun = self.resources.spun.borrow().clone();
        for lock in spun {
            let owner = self.owner_of(lock);
            let runs = owner.is_some_and(|id| self.sched().state(id) == ThreadState::Running);
            if !runs {
                self.resources.spun.borrow_mut().remove(&lock);
                self.stop_spinners(lock);
            }
        }
    }

    fn stop_spinners(&self, lock: LockId) {
        for id in self.with_lock(lock, |l| l.spinners().collect::<Vec<_>>()) {
            let before = self.with_lock(lock, |l| l.waiter(id).doing);
            if let Doing::Spins(until) = before {
                self.call_off(until);
            }
            self.spin_over(id, lock);
        }
    }

    /// The running thread releases the lock, after it has paid for those who spun.
    pub(crate) fn release(&self, id: ThreadId, lock: LockId) {
        self.check_owner(id, lock);
        let owed = self.with_lock(lock, |l| std::mem::take(&mut l.bounces) * l.spec.bounce);
        if owed > 0 {
            self.frame(id, |f| f.act = Some(Act::Unlock(lock)));
            return self.sched().burn(id, owed);
        }
        let now = self.now();
        self.with_lock(lock, |l| l.disown(now));
        self.note(id, What::Unlocks(lock));
        self.let_pass(lock);
        match self.with_lock(lock, |l| l.spec.handoff) {
            true => self.hand_over(lock),
            false => self.set_free(lock),
        }
    }

    fn check_owner(&self, id: ThreadId, lock: LockId) {
        let owner = self.owner_of(lock);
        assert!(
            owner == Some(id),
            "{} releases the lock {}, which {} has",
            self.thread_name(id),
            self.lock_name(lock),
            owner.map_or("nobody".to_owned(), |owner| self.thread_name(owner))
        );
    }

    /// Gives the lock to the first waiter.
    fn hand_over(&self, lock: LockId) {
        let first = self.with_lock(lock, |l| l.waiters.front().map(|w| (w.thread, w.doing)));
        let Some((id, doing)) = first else { return };
        self.own(id, lock);
        self.go_on(id, doing);
    }

    /// A waiter has got the lock, whatever it was doing.
    pub(super) fn go_on(&self, id: ThreadId, doing: Doing) {
        match doing {
            Doing::Spins(until) => {
                self.call_off(until);
                self.sched().stop_spin(self.now(), id);
            }
            // It need not try again.
            Doing::Spun | Doing::Woken => self.frame(id, |f| f.act = None),
            Doing::Sleeps => self.wake(id),
        }
    }

    /// A spinner that has a CPU takes the lock; the first sleeper comes and tries.
    fn set_free(&self, lock: LockId) {
        let spinners = self.with_lock(lock, |l| l.spinners().collect::<Vec<_>>());
        let has_cpu = |&id: &ThreadId| self.sched().state(id) == ThreadState::Running;
        match spinners.into_iter().find(has_cpu) {
            Some(id) => {
                let doing = self.with_lock(lock, |l| l.waiter(id).doing);
                self.own(id, lock);
                self.go_on(id, doing);
            }
            // Those who have none find it free when they get one, or do not.
            None => self.stop_spinners(lock),
        }
        if let Some(id) = self.with_lock(lock, |l| l.to_wake()) {
            self.with_lock(lock, |l| l.waiter(id).doing = Doing::Woken);
            self.try_again(id, lock);
            self.wake(id);
        }
    }
}
