//! Tells the queue how many jobs may run at this moment. How many: [`Admission`].

use cmwq::Workqueue;
use cmwq_admission::{Admission, Crowd, Spent};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The jobs' admission, and the limit that the queue was told last.
pub(super) struct Limit {
    state: Mutex<(Admission, usize)>,
}

impl Limit {
    /// `most`: what the user allows.
    pub(super) fn new(most: usize) -> Self {
        let admission = Admission::new(cmwq_os::clock::now(), cmwq::cpus() as u32, most as u64);
        let first = limit(&admission);
        Self {
            state: Mutex::new((admission, first)),
        }
    }

    pub(super) fn now(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1
    }

    /// A job has ended beside `running` others, which makes `completed`.
    pub(super) fn ended(&self, completed: u64, running: usize, spent: Spent, queue: &Workqueue) {
        self.change(queue, |admission| {
            admission.completed(completed);
            admission.ended(cmwq_os::clock::now(), running as u64, spent);
        });
    }

    /// Whether the `left` jobs begin now, beside the `begun` ones; there are no others.
    pub(super) fn is_last_round(&self, begun: usize, left: usize) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0.is_last_round(begun as u64, left as u64)
    }

    /// How many times as long as the others a job has run, if that is worth a word.
    pub(super) fn is_long(&self, ran: Duration) -> Option<u64> {
        let ran = u64::try_from(ran.as_nanos()).unwrap_or(u64::MAX);
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0.is_long(ran)
    }

    /// A job has run for [`SHOWS_AFTER`](cmwq_admission::SHOWS_AFTER), and runs on.
    pub(super) fn shown(&self, queue: &Workqueue) {
        self.change(queue, Admission::shown);
    }

    /// One of those has ended.
    pub(super) fn shown_over(&self, queue: &Workqueue) {
        self.change(queue, Admission::shown_over);
    }

    /// Somebody has looked at the jobs.
    pub(super) fn looked(&self, crowd: &Crowd, queue: &Workqueue) {
        self.change(queue, |admission| {
            admission.looked(cmwq_os::clock::now(), crowd.found());
        });
    }

    /// The system had no room for another job while `running` ran.
    pub(super) fn lower(&self, running: usize, queue: &Workqueue) {
        self.change(queue, |admission| admission.had_no_room(running as u64));
    }

    /// There is room for the processes of this many jobs.
    pub(super) fn has_room(&self, jobs: u64, queue: &Workqueue) {
        self.change(queue, |admission| admission.has_room(jobs));
    }

    /// There is no memory for another job beside the `running` ones.
    pub(super) fn refused(&self, running: usize, queue: &Workqueue) {
        self.change(queue, |admission| admission.refused(running as u64));
    }

    /// There was memory for one that had been refused.
    pub(super) fn granted(&self, queue: &Workqueue) {
        self.change(queue, Admission::granted);
    }

    fn change(&self, queue: &Workqueue, event: impl FnOnce(&mut Admission)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        event(&mut state.0);
        let now = limit(&state.0);
        if now != state.1 {
            state.1 = now;
            // Under the lock, so that the queue hears of limits in their order.
            queue.set_max_active(now);
        }
    }
}

fn limit(admission: &Admission) -> usize {
    usize::try_from(admission.limit()).unwrap_or(usize::MAX)
}
