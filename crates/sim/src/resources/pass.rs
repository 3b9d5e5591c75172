//! Waiting for a lock that is had, without taking it: as the readers of a read-write lock do whose
//! own sections are short, beside writers whose are not. All who wait go on at once when it is
//! released.

use cmwq_policy::Nanos;

use crate::api::act::Act;
use crate::api::names::LockId;
use crate::api::trace::What;
use crate::cpu::{ThreadId, ThreadState};
use crate::machine::Machine;
use crate::state::event::Event;
use crate::state::lock::{Doing, Passer};
use crate::state::thread::Sleep;

impl Machine {
    /// The running thread goes on if nobody has the lock, else when it is released. It spins as
    /// those do who wait for the lock itself, then sleeps.
    pub(crate) fn pass(&self, id: ThreadId, lock: LockId) {
        let Some(owner) = self.owner_of(lock) else {
            self.with_lock(lock, |l| l.passers.retain(|p| p.thread != id));
            return;
        };
        assert!(
            owner != id,
            "{} waits for itself: it has the lock {}",
            self.thread_name(id),
            self.lock_name(lock)
        );
        match self.spins_to_pass(id, lock, owner) {
            0 => {
                self.passer_does(id, lock, Doing::Sleeps);
                self.sleep(id, Sleep::Lock(lock));
            }
            spin => {
                let until = self.after(spin, Event::SpinOver(id, lock));
                self.passer_does(id, lock, Doing::Spins(until));
                self.sched().spin(id);
            }
        }
    }

    /// For how long it spins; who has spun already does not again.
    fn spins_to_pass(&self, id: ThreadId, lock: LockId, owner: ThreadId) -> Nanos {
        if self.passes(id, lock) {
            return 0;
        }
        let (thread, since, doing) = (id, self.now(), Doing::Spun);
        let (spin, optimistic) = self.with_lock(lock, |l| {
            l.passers.push(Passer {
                thread,
                since,
                doing,
            });
            (l.spec.spin, l.spec.optimistic)
        });
        self.note(id, What::WaitsFor(lock));
        let owner_runs = self.sched().state(owner) == ThreadState::Running;
        if optimistic && !owner_runs { 0 } else { spin }
    }

    /// Whether the thread waits for the release of the lock.
    pub(super) fn passes(&self, id: ThreadId, lock: LockId) -> bool {
        self.with_lock(lock, |l| l.passers.iter().any(|p| p.thread == id))
    }

    fn passer_does(&self, id: ThreadId, lock: LockId, doing: Doing) {
        self.with_lock(lock, |l| {
            let passer = l.passers.iter_mut().find(|p| p.thread == id);
            passer.expect("it waits").doing = doing;
        });
    }

    /// It has spun for long enough: it looks once more when it has a CPU, then sleeps.
    pub(super) fn pass_spin_over(&self, id: ThreadId, lock: LockId) {
        self.passer_does(id, lock, Doing::Spun);
        self.frame(id, |f| f.act = Some(Act::Pass(lock)));
        self.sched().stop_spin(self.now(), id);
    }

    /// The lock is released: all who waited for that go on.
    pub(super) fn let_pass(&self, lock: LockId) {
        let passers = self.with_lock(lock, |l| std::mem::take(&mut l.passers));
        let now = self.now();
        for passer in passers {
            self.with_lock(lock, |l| l.stats.waited_ns += now.since(passer.since));
            self.go_on(passer.thread, passer.doing);
        }
    }
}
